"""Graphs over clusters that several methods share: rows linked to their clusters, and what is connected."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from quorate._support.typing import Floats, Ints
from quorate.crowd import ratio
from quorate.ensemble import Clusterings, Ensemble
from quorate.tcut import ReducedGraph


def row_links(ens: Ensemble, influence: Floats) -> sp.csr_array:
    """(m, n_clusters) weight of the links of a pattern's rows to their clusters, over the row's degree.

    Equation 15 links a row to each of its clusters with alpha times the influence (n_clusters,) of the cluster; the
    row's degree is the sum, so alpha cancels.
    """
    links = ens.incidence @ sp.diags_array(influence)
    degree = links.sum(axis=1)
    links = sp.csr_array(sp.diags_array(ratio(1.0, degree)) @ links)
    links.eliminate_zeros()
    return links


def links_through_rows(ens: Clusterings, influence: Floats) -> sp.csr_array:
    """(n_clusters, n_clusters) what rows that are linked to their clusters by influence add to the reduced graph.

    diag(I) C diag(I) / (sum of I), with C the co-occurrence, which counts each row over the influence of its clusters.
    """
    links = ens.cooccurrence_by_degree(influence)
    data = links.data * np.repeat(influence, np.diff(links.indptr)) * influence[links.indices]
    return sp.csr_array((data, links.indices, links.indptr), shape=links.shape)


def components(graph: sp.csr_array) -> Ints:
    """Return the connected component of each node of a symmetric graph; links of weight 0 are none.

    In a symmetric graph strong components are the connected ones, and need no transpose.
    """
    if (graph.data == 0).any():
        graph = graph.copy()
        graph.eliminate_zeros()
    return sp.csgraph.connected_components(graph, connection="strong")[1].astype(np.int64)


def bipartite_graph(ens: Clusterings, influence: Floats) -> ReducedGraph:
    """Return the graph over clusters that rows induce, linked by influence to their clusters; those without are out."""
    active = np.flatnonzero(influence > 0)
    through_rows = sp.csr_array(links_through_rows(ens, influence)[active][:, active])
    degrees = (influence * ens.cluster_sizes)[active]
    return ReducedGraph(through_rows, degrees, components(through_rows))


def bipartite_links(ens: Ensemble, influence: Floats) -> sp.csr_array:
    """(m, nodes) links of each pattern's rows to the clusters of positive influence, over the degree."""
    active = np.flatnonzero(influence > 0)
    return sp.csr_array(row_links(ens, influence)[:, active])
