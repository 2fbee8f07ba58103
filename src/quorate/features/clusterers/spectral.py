"""Spectral clustering on a graph of nearest neighbors, one eigenproblem for every number of clusters."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, qr, svd
from scipy.sparse.linalg import eigsh

from quorate._utils.array_types import Floats, Labels
from quorate.features.clusterers.spanning_tree import SpanningTree

_TREE_WEIGHT = 0.01
_TOLERANCE = 1e-6
_FEW_ROWS = 200  # a dense solver is faster for so few


def neighbor_graph(neighbors: Labels, tree: SpanningTree) -> sp.csr_array:
    """Return the symmetric weights (n, n) of a graph of nearest neighbors, kept in one piece by a spanning tree.

    An edge weighs 1 where both rows are among each other's neighbors (n, q), and 1/2 where only one is. The edges of
    the tree weigh at least 0.01: groups without a common neighbor stay connected, which gives their eigenvectors an
    order (in a graph of several components the first ones are arbitrary).
    """
    n, q = neighbors.shape
    nearest = sp.csr_array((np.ones(n * q), neighbors.ravel(), np.arange(0, n * q + 1, q)), shape=(n, n))
    # A weak spanning tree keeps the graph connected without changing its clusters.
    thread = sp.coo_array((np.full(n - 1, _TREE_WEIGHT), tuple(tree.edges.T)), shape=(n, n)).tocsr()
    return (0.5 * (nearest + nearest.T)).maximum(thread + thread.T)


def spectral_embedding(graph: sp.csr_array, n_vectors: int) -> Floats:
    """Return the rows (n, n_vectors) in the leading eigenvectors of the random walk on a graph."""
    n = graph.shape[0]
    scale = 1 / np.sqrt(np.asarray(graph.sum(axis=1)).ravel())
    walk = sp.diags_array(scale) @ graph @ sp.diags_array(scale)
    # Lanczos iterations need many more rows than vectors.
    if n <= max(_FEW_ROWS, 3 * n_vectors):
        vectors = eigh(walk.toarray())[1][:, ::-1][:, :n_vectors]
    else:
        # A fixed start vector, so that every run gives the same bits.
        start = np.random.default_rng(0).uniform(-1, 1, n)
        values, vectors = eigsh(walk, n_vectors, which="LA", v0=start, ncv=3 * n_vectors, tol=_TOLERANCE, maxiter=1000)
        vectors = vectors[:, np.argsort(-values, kind="stable")]
    return vectors * scale[:, None]


def cut_embedding(vectors: Floats) -> Labels:
    """Return the clusters (n,) of rows in k eigenvectors (n, k): a pivoted QR chooses k rows, one for each cluster.

    A. Damle, V. Minden, L. Ying: Simple, direct and efficient multi-way spectral clustering. Information and
    Inference 8 (2019).
    """
    # Pivots are rows that point in the most different directions: one per cluster.
    pivots = qr(vectors.T, mode="r", pivoting=True)[1][: vectors.shape[1]]
    # The orthogonal matrix nearest to these rows turns eigenvectors into memberships.
    left, _, right = svd(vectors[pivots].T)
    return np.abs(vectors @ (left @ right)).argmax(axis=1)
