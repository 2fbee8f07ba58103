"""Clusterings read off a minimum spanning tree: Genie, and density clusters (HDBSCAN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import HDBSCAN

from quorate import _kernels
from quorate._utils.array_types import Floats, Labels

_SHORTEST = 1e-300  # an edge of length 0 would be no entry of a sparse matrix


class SpanningTree(NamedTuple):
    """The minimum spanning tree of points, its edges in ascending order of length."""

    edges: Labels
    """(n - 1, 2) the two points of each edge."""
    lengths: Floats
    """(n - 1,)"""


def spanning_tree(points: Floats, core_distances: Floats | None = None) -> SpanningTree:
    """Return the minimum spanning tree of points (n, d) under Euclidean distances.

    With core distances (n,) the length of an edge is the mutual reachability distance of HDBSCAN: the largest of the
    Euclidean distance and the core distances of its two points.
    """
    n = len(points)
    least = np.zeros(n) if core_distances is None else core_distances**2
    edges, squared = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1)
    _kernels.tree_edges.prim(np.ascontiguousarray(points, dtype=np.float64), least, edges, squared)
    # Stable: edges of equal length keep their order.
    order = np.argsort(squared, kind="stable")
    return SpanningTree(edges[order], np.sqrt(squared[order]))


@dataclass(frozen=True)
class Genie:
    """The merges of Genie, from which any number of clusters is cut.

    M. Gagolewski, M. Bartoszuk, A. Cena: Genie: A new, fast, and outlier-resistant hierarchical clustering algorithm.
    Information Sciences 363 (2016).
    """

    edges: Labels
    """(n - 1, 2) of the spanning tree."""
    order: Labels
    """(n - 1,) edges in the order of their merges."""

    @classmethod
    def fit(cls, tree: SpanningTree, threshold: float) -> Genie:
        """Merge along the edges of a spanning tree, shortest first, as long as cluster sizes are even enough.

        While the Gini index of the cluster sizes exceeds the threshold, only merges of a smallest cluster are allowed.
        """
        order = np.empty(len(tree.edges), dtype=np.int64)
        _kernels.tree_edges.genie_order(tree.edges, threshold, order)
        return cls(tree.edges, order)

    def cut(self, k: int) -> Labels:
        """Return the labels (n,) of k clusters."""
        labels = np.empty(len(self.order) + 1, dtype=np.int64)
        _kernels.tree_edges.cut(self.edges, self.order, k, labels)
        return labels


def density_clusters(tree: SpanningTree, min_cluster_size: int) -> Labels:
    """Return the clusters (n,) of HDBSCAN from the spanning tree of mutual reachability distances; noise is -1.

    scikit-learn finds the clusters: the tree is handed over as a sparse matrix of distances, which has the same tree.
    """
    n = len(tree.lengths) + 1
    # Both directions, because scikit-learn expects a symmetric matrix.
    graph = sp.coo_array((np.maximum(tree.lengths, _SHORTEST), tuple(tree.edges.T)), shape=(n, n)).tocsr()
    clusterer = HDBSCAN(min_cluster_size=min_cluster_size, min_samples=1, metric="precomputed", copy=True)
    return clusterer.fit_predict(sp.csr_matrix(graph + graph.T)).astype(np.int64)
