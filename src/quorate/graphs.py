"""Graphs over clusters that several methods share: links of rows to clusters, connected components, and cuts."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from quorate import _kernels
from quorate._runtime import threads
from quorate._runtime.memory import USE_LINKAGE, require_memory
from quorate._runtime.recent_cache import RecentCache
from quorate._runtime.time_limit import require_time
from quorate._utils.array_types import Floats, Ints
from quorate.cluster_similarity import SactOperator, jaccard, neighbor_lists
from quorate.ensemble import Clusterings, Ensemble, cooccurrence_by_degree, pattern_clusters, pattern_degrees
from quorate.numerics.mutual_information import ratio
from quorate.numerics.transfer_cut import EIGENVECTOR_BATCH, ReducedGraph, largest_eigenpairs
from quorate.overlaps import submatrix
from quorate.random_walks import trajectory_similarity
from quorate.row_similarity import pattern_coassociation, sum_by_group
from quorate.soft_ensemble import SoftEnsemble

_SMALLEST_LINK = 1e-6
_MAX_ROTATIONS = 21
_ALMOST_ZERO = 1e-20  # positive, so that a pattern without links can still be merged
_NOTHING = 1e-10  # far above the rounding errors of a unit vector


def row_links(ens: Ensemble, weights: Floats) -> sp.csr_array:
    """(m, n_clusters) weight of the links of a pattern's rows to their clusters, divided by the row's degree.

    Equation 15 links a row to each of its clusters with alpha times the weight (n_clusters,) of the cluster. The row's
    degree is the sum of these, so alpha cancels. Memberships of soft members multiply the weights.
    """
    if isinstance(ens, SoftEnsemble):
        return _soft_links(ens, weights)
    clusters, first = pattern_clusters(ens)
    values = np.empty(len(clusters))
    _kernels.row_hashing.share_weights(clusters, first, weights, values)
    links = sp.csr_array((values, clusters, first), shape=(ens.n_patterns, ens.n_clusters))
    if not values.all():
        links = links.copy()  # the indices belong to the ensemble
        links.eliminate_zeros()
    return links


def _soft_links(ens: SoftEnsemble, weights: Floats) -> sp.csr_array:
    links = sp.csr_array(ens.memberships @ sp.diags_array(weights))
    links = sp.csr_array(sp.diags_array(ratio(1.0, row_degrees(ens, weights))) @ links)
    links.eliminate_zeros()
    return links


def row_degrees(ens: Ensemble, weights: Floats) -> Floats:
    """(m,) sum of the weights (n_clusters,) of the clusters of each pattern's rows, times their memberships."""
    return np.asarray(ens.memberships @ weights) if isinstance(ens, SoftEnsemble) else pattern_degrees(ens, weights)


def sum_by_label(ens: Ensemble, amounts: Floats, member: int) -> Floats:
    """(clusters of the member + 1, n_clusters) sum of `amounts` (m,) over the rows that two clusters share.

    Rows without a label of the member come last. Shares of soft members count by their product.
    """
    start, stop = ens.cluster_offsets[member : member + 2]
    if isinstance(ens, SoftEnsemble):
        own = ens.memberships[:, start:stop]
        rest = sp.csr_array((ens.patterns[:, [member]] < 0).astype(np.float64))
        scaled = sp.hstack([own, rest]).T @ sp.diags_array(amounts)
        return np.asarray((scaled @ ens.memberships).toarray())
    ids = ens.patterns[:, member]
    return sum_by_group(ens, amounts, np.where(ids >= 0, ids, stop) - start, stop - start + 1)


def links_through_rows(ens: Clusterings, weights: Floats) -> sp.csr_array:
    """(n_clusters, n_clusters) contribution of rows, linked to their clusters by weight, to the reduced graph.

    diag(I) C diag(I) / (sum of I), with C the co-occurrence in which each row counts 1 over the weight of its clusters.
    """
    if isinstance(ens, SoftEnsemble):
        weighted = sp.diags_array(weights)
        shared = ens.cooccurrence_within(ens.counts * ratio(1.0, row_degrees(ens, weights)))
        return sp.csr_array(weighted @ ((shared + shared.T) / 2) @ weighted)
    shared, degree = cooccurrence_by_degree(ens, weights)
    values = np.empty(len(shared.data))

    def scale(task: slice) -> None:
        _kernels.contingency.scale_entries(
            shared.indptr, shared.indices, shared.data, degree, weights, task.start, task.stop, values
        )

    threads.in_threads(scale, threads.parts_of_lists(shared.indptr))
    return sp.csr_array((values, shared.indices, shared.indptr), shape=shared.shape)


def components(graph: sp.csr_array) -> Ints:
    """Return the connected component of each node of a symmetric graph; links of weight 0 are ignored.

    In a symmetric graph the strong components are the connected ones, and finding them needs no transpose.
    """
    # Stored zeros would connect components.
    if (graph.data == 0).any():
        graph = graph.copy()
        graph.eliminate_zeros()
    if _kernels.contingency.is_connected(graph.indptr, graph.indices):  # much faster than the general search
        return np.zeros(graph.shape[0], dtype=np.int64)
    return sp.csgraph.connected_components(graph, connection="strong")[1].astype(np.int64)


def bipartite_graph(ens: Clusterings, weights: Floats) -> ReducedGraph:
    """Return the graph over clusters of positive weight that rows induce, linked by weight to their clusters."""
    active = np.flatnonzero(weights > 0)
    through_rows = submatrix(links_through_rows(ens, weights), active)
    degrees = (weights * ens.cluster_sizes)[active]
    return ReducedGraph(through_rows, degrees, components(through_rows))


def bipartite_links(ens: Ensemble, weights: Floats) -> sp.csr_array:
    """(m, nodes) links of each pattern's rows to the clusters of positive weight, divided by the degree."""
    active = np.flatnonzero(weights > 0)
    links = row_links(ens, weights)
    return links if len(active) == len(weights) else sp.csr_array(links[:, active])


def multi_granularity_graph(ens: Clusterings, weights: Floats, alpha: float, nodes: Ints | None = None) -> ReducedGraph:
    """Return the graph over clusters that rows and clusters induce (equations 14 and 15), without any row.

    W = alpha (links through rows) + R' diag(1 / R1) R, with R the SACT similarity. `weights` is the weight of each
    cluster; `nodes` are the clusters in the graph, by default all.
    """
    nodes = np.arange(ens.n_clusters) if nodes is None else nodes
    through_rows = links_through_rows(ens, weights)
    through_rows.data *= alpha
    lists = neighbor_lists(ens)
    is_subset = len(nodes) < ens.n_clusters
    similarity = SactOperator(lists.select_clusters(nodes) if is_subset else lists, weights[nodes])
    link_degrees = similarity @ np.ones(len(nodes))
    return ReducedGraph(
        through_rows=submatrix(through_rows, nodes),
        degrees=(alpha * weights * ens.cluster_sizes)[nodes] + link_degrees,
        component=_components(submatrix(_shared_rows(ens, through_rows), nodes), weights[nodes]),
        links=similarity,
        link_degrees=link_degrees,
    )


def _shared_rows(ens: Clusterings, through_rows: sp.csr_array) -> sp.csr_array:
    """Return a matrix that is positive where two clusters share rows; those of a soft member may."""
    return sp.csr_array(ens.cooccurrence + through_rows) if isinstance(ens, SoftEnsemble) else ens.cooccurrence


def _components(shared: sp.csr_array, weights: Floats) -> Ints:
    """Return the connected component of each cluster: two that share rows are linked if either has positive weight."""
    if (weights > 0).all():
        return components(shared)
    either = np.repeat(weights, np.diff(shared.indptr)) + weights[shared.indices]
    return components(sp.csr_array((either, shared.indices, shared.indptr), shape=shared.shape))


@dataclass(frozen=True)
class ClusterCut:
    """A graph over clusters, cut into any number of groups of clusters by the normalized cut (Yu and Shi 2003)."""

    similarity: Floats = field(repr=False)
    """(n_clusters, n_clusters) symmetric and not negative."""
    sizes: Floats = field(repr=False)
    """(n_clusters,) the discretization starts from the largest cluster, the first one in a tie."""
    _spectra: RecentCache = field(default_factory=lambda: RecentCache(1), init=False, repr=False)

    def spectrum(self, k: int) -> tuple[Floats, Floats]:
        """Return at least the k leading eigenvalues of the graph, descending, and D^-1/2 times the eigenvectors.

        As in the authors' program, links up to 1e-6 are dropped, every node gets a link of 1/2 to itself, and every
        degree is increased by 1.
        """
        n_computed = min(-(-k // EIGENVECTOR_BATCH) * EIGENVECTOR_BATCH, len(self.sizes))
        return self._spectra.get("spectrum", lambda: self._solve(n_computed), lambda spectrum: len(spectrum[0]) >= k)

    def _solve(self, k: int) -> tuple[Floats, Floats]:
        n = len(self.sizes)
        require_memory(8.0 * 3 * n**2, f"The eigenvectors of a graph of {n:,} clusters", USE_LINKAGE)
        require_time(4.0 * n**3, f"The eigenvectors of a graph of {n:,} clusters", USE_LINKAGE)
        links = np.where(self.similarity > _SMALLEST_LINK, self.similarity, 0.0)
        degrees = links.sum(axis=1) + 1.0
        links[np.diag_indices(n)] += 0.5
        root = 1.0 / np.sqrt(degrees)
        with threads.linear_algebra(n // 4):
            values, vectors = largest_eigenpairs(lambda: root[:, None] * links * root, k)
        vectors = vectors[:, ::-1] * root[:, None]
        return values[::-1], vectors / np.linalg.norm(vectors, axis=0)

    def groups(self, k: int) -> Ints:
        """(n_clusters,) group of each cluster, for k groups; some may be empty."""
        return discretize(self.spectrum(k)[1][:, :k], int(np.argmax(self.sizes)))


def discretize(vectors: Floats, start: int) -> Ints:
    """Return the group of each node nearest to the eigenvectors, which are unique up to a rotation (Yu and Shi 2003).

    Rows are scaled to unit length. The rotation starts from the row of one node, then repeatedly the row least similar
    to those chosen (ties, after rounding to ten decimals, to the first), and alternates with the groups.
    """
    n, k = vectors.shape
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    # A node of a component that none of the eigenvectors reaches has rounding errors here, which scaling would magnify.
    rows = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > _NOTHING)
    rotation = np.empty((k, k))
    rotation[:, 0] = rows[start]
    similarity_to_chosen = np.zeros(n)
    for j in range(1, k):
        similarity_to_chosen += np.abs(rows @ rotation[:, j - 1])
        rotation[:, j] = rows[np.argmin(np.round(similarity_to_chosen, 10))]
    # Alternate: groups for the present rotation, then the rotation that fits these groups best (SVD).
    before = 0.0
    for _ in range(_MAX_ROTATIONS):
        groups = k - 1 - np.argmax(np.round(rows @ rotation, 12)[:, ::-1], axis=1)  # ties to the row chosen last
        chosen = sp.csr_array((np.ones(n), (groups, np.arange(n))), shape=(k, n))
        left, sizes, right = np.linalg.svd(chosen @ rows)
        objective = 2.0 * (n - sizes.sum())
        if abs(objective - before) < np.finfo(np.float64).eps:
            break
        before = objective
        rotation = right.T @ left.T
    return groups


def propagated_similarity(ens: Ensemble, n_steps: int) -> Floats:
    """(n_clusters, n_clusters) similarity of random walks from two clusters over Jaccard coefficients (ECPCS).

    Huang et al. 2018. A cluster without overlap has similarity 0 to all clusters, including itself.
    """
    links = jaccard(ens)
    np.fill_diagonal(links, 0.0)
    return trajectory_similarity(links, np.ones(ens.n_clusters), n_steps)


def pattern_trajectory_similarity(
    ens: Ensemble, weights: Floats, leaves: Ints, n_neighbors: int | None, n_steps: int | None
) -> Floats:
    """(leaves, leaves) similarity of random walks from two patterns over their strongest co-associations (PTA, PTGP).

    Huang, Lai, Wang 2016. A link is used if it is among the strongest `n_neighbors` of either end, ties included; the
    walks of `n_steps` steps prefer patterns of many rows. Both default to half the square root of the number of
    patterns, at least 1 and at most 20. A pattern without links has a similarity of almost 0 to all patterns, including
    itself.
    """
    n = len(leaves)
    # Half the square root of the number of patterns, as in the authors' program.
    default = max(1, min(20, int(np.sqrt(n) / 2)))
    links = np.round(pattern_coassociation(ens, weights), 12)
    links = links if n == len(links) else links[np.ix_(leaves, leaves)]
    np.fill_diagonal(links, 0.0)
    n_links = min(n_neighbors or default, n)
    threshold = np.partition(links, n - n_links, axis=1)[:, n - n_links] if n else np.empty(0)
    links[links < threshold[:, None]] = 0.0
    links = np.maximum(links, links.T)
    similarity = trajectory_similarity(links, ens.counts[leaves].astype(np.float64), n_steps or default)
    isolated = ~links.any(axis=1)
    similarity[isolated] = similarity[:, isolated] = _ALMOST_ZERO
    return similarity
