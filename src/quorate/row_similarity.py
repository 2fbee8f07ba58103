"""Co-association of patterns: the weighted share of members that put two rows into one cluster (paper, section 6.1).

The co-association of two rows is the inner product of their weighted cluster indicators. The mean co-association of a
row and a group therefore needs only the group's histogram over clusters, never a matrix of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate import _kernels
from quorate._runtime import threads
from quorate._runtime.memory import USE_NO_MATRIX, require_memory
from quorate._utils.array_types import Floats, Ints, Labels
from quorate.ensemble import Ensemble, as_ensemble, one_row
from quorate.errors import InputError
from quorate.numerics.mutual_information import ratio
from quorate.reliability import resolve_influence

_ROWS_PER_TASK = 64
_SEARCHES_PER_TASK = 128
_PATTERNS_PER_TASK = 1 << 12
_EDGES_PER_TASK = 1 << 18
_LINES_AT_ONCE = 1024
_FEW_CELLS = 1 << 20
_ROUNDS_OF_ORDER = 3
SCORE_ROUNDING = 10_000
"""Scores of groups (`cluster_scores`) are compared after rounding to multiples of this: to twelve decimals."""


def covering_weight(patterns: NDArray[np.int32], weights: Floats) -> Floats:
    """(m,) share W of the total member weight that labels each pattern; exactly 1 if all members do."""
    covered = np.empty(len(patterns))
    for block in threads.blocks(len(patterns), _PATTERNS_PER_TASK):
        present = patterns[block] >= 0
        if present.all():
            covered[block] = 1.0
            continue
        missing = np.where(present, 0.0, weights).sum(axis=1)
        covered[block] = 1.0 - missing / weights.sum()
        covered[block][~np.any(present & (weights > 0), axis=1)] = 0.0  # exactly 0, not a rounding error
    return covered


def indicators(ens: Ensemble, weights: Floats) -> sp.csr_array:
    """(m, n_clusters) each pattern's cluster indicator over sqrt(W), so that co-association is a weighted inner
    product.
    """
    weight = covering_weight(ens.patterns, weights)
    scale = ratio(1.0, np.sqrt(weight))
    scaled = ens.incidence.copy()
    scaled.data = np.repeat(scale, np.diff(scaled.indptr))
    return scaled


def pattern_coassociation(ens: Ensemble, weights: Floats, certainty: Floats | None = None) -> Floats:
    """(m, m) co-association of every two patterns (equation 12): the weight of the members in which they agree.

    With `certainty` (n_clusters,), clusters also count by their certainty: the locally weighted co-association of Huang
    et al. 2018.
    """
    n_patterns = ens.n_patterns
    require_memory(8.0 * n_patterns**2, f"The co-association matrix of {n_patterns:,} patterns", USE_NO_MATRIX)
    phi = indicators(ens, weights)
    share = weights[ens.cluster_member] / weights.sum()
    if certainty is not None:
        share = share * certainty
    scaled, by_cluster = sp.csr_array(phi @ sp.diags_array(share)), phi.T.tocsr()
    shares = np.empty((n_patterns, n_patterns))
    blocks = threads.blocks(n_patterns, _LINES_AT_ONCE)
    for block in blocks:
        shares[block] = (scaled[block] @ by_cluster).toarray()
    # The last bits of the product depend on which factor was scaled, so the result is made symmetric.
    for a, block in enumerate(blocks):
        for other in blocks[a:]:
            mean = (shares[block, other] + shares[other, block].T) / 2
            shares[block, other], shares[other, block] = mean, mean.T
    if certainty is None:
        np.fill_diagonal(shares, covering_weight(ens.patterns, weights) > 0)
    return np.minimum(shares, 1.0, out=shares)


@dataclass(frozen=True)
class ThroughClusters:
    """The similarity of every two patterns, or groups of patterns, through that of their clusters: Phi T Phi'."""

    phi: sp.csr_array
    """(groups, n_clusters) weight of each cluster in each group, not negative."""
    similarity: Floats
    """(n_clusters, n_clusters) symmetric similarity T of clusters, not negative."""
    similar: tuple[Ints, Ints]
    """(n_clusters,), (n_clusters,) the range first .. last + 1 of clusters that each one may be similar to."""
    most: float = np.inf
    """Upper bound of all similarities, apart from rounding."""

    @classmethod
    def of_all(cls, phi: sp.csr_array, similarity: Floats) -> ThroughClusters:
        """Return the similarity in which any two clusters may be similar."""
        n = len(similarity)
        return cls(phi, similarity, (np.zeros(n, dtype=np.int64), np.full(n, n)))

    @classmethod
    def of_members(cls, ens: Ensemble, weights: Floats, similarity: Floats, patterns: Ints) -> ThroughClusters:
        """Return the weighted mean over members of the similarity of their clusters, for a selection of patterns.

        Where labels are missing, it is the sum over the members that label both rows, divided by sqrt(W_i W_j), W the
        weight of the members that label a row.

        Parameters
        ----------
        similarity : (n_clusters, n_clusters)
            Of clusters of the same member, at most 1; 0 between members.
        patterns : (p,)
            The selected patterns.
        """
        member = ens.cluster_member
        phi = sp.csr_array(indicators(ens, weights)[patterns])
        phi.data *= np.sqrt(weights / weights.sum())[member][phi.indices]
        similar = np.searchsorted(member, member, "left"), np.searchsorted(member, member, "right")
        return cls(phi, similarity, similar, 1.0)

    def __len__(self) -> int:
        return int(self.phi.shape[0])

    def joined(self, shares: sp.csr_array) -> ThroughClusters:
        """Return the mean similarity of larger groups; `shares` (larger, groups) are the shares of these groups."""
        return replace(self, phi=sp.csr_array(shares @ self.phi))

    def matrix(self) -> Floats:
        """(groups, groups) all similarities, symmetric to the last bit."""
        n = len(self)
        require_memory(
            8.0 * n * (n + _ROWS_PER_TASK * len(self.similarity) / max(n, 1)),
            f"The similarity matrix of {n:,} groups of rows",
            USE_NO_MATRIX,
        )
        out = np.empty((n, n))

        def fill(task: slice) -> None:
            carried = np.empty((len(self.similarity), task.stop - task.start))
            _kernels.neighbor_sums.carry(np.arange(task.start, task.stop), *self._arrays, carried)
            _kernels.neighbor_sums.add_up(carried, *self._arrays[:3], task.start, self.most, out)

        threads.in_threads(fill, threads.blocks(n, _ROWS_PER_TASK))
        return out

    def find_nearest(
        self,
        todo: Ints,
        partner: Ints,
        best: Floats,
        second: Floats,
        on_progress: Callable[[float], None] | None = None,
    ) -> None:
        """Write, for the groups `todo`, the most similar other group and the two largest similarities, in threads."""

        def find(task: slice) -> None:
            _kernels.neighbor_sums.nearest(todo[task], *self._arrays, partner, best, second)

        threads.in_threads(find, threads.blocks(len(todo), _SEARCHES_PER_TASK), on_progress)

    @property
    def _arrays(self) -> tuple[Any, ...]:
        """The arguments of the kernels: Phi in CSR form, T, and the range of similar clusters."""
        return self.phi.indptr, self.phi.indices, self.phi.data, self.similarity, *self.similar


def coassociation(ens: Any, weights: Any = None, rows: bool = False) -> Floats:
    """Return the weighted co-association matrix: the weight of the members that join two rows (equation 12).

    Definitions 7 and 8 of the paper.

    With missing labels it is divided by sqrt(W_i W_j), W the weight of the members that label a row.

    Parameters
    ----------
    ens : Ensemble or anything `Ensemble` takes
    weights : {"equal", "trust", "ncai"} or (M,) array, optional
        Weights of the members; "ncai" means `member_weights(ens)`, "trust" the same by `trust`. Default: all equal.
    rows : bool, default False
        Whether to return the matrix over rows instead of over patterns.

    Returns
    -------
    (m, m) array over patterns, or (n, n) array over rows; symmetric, in [0, 1], with unit diagonal.

    Examples
    --------
    >>> import quorate as qt
    >>> qt.coassociation([[0, 0, 1], [0, 1, 1], [0, 0, 1]]).round(2)
    array([[1.  , 0.67, 0.  ],
           [0.67, 1.  , 0.33],
           [0.  , 0.33, 1.  ]])
    """
    ens = as_ensemble(ens)
    share = resolve_influence(ens, "equal" if weights is None else weights, beta=2.0)
    by_pattern = pattern_coassociation(ens, share)
    if not rows:
        return by_pattern
    require_memory(8.0 * ens.n_rows**2, f"The co-association matrix of {ens.n_rows:,} rows", "Use rows=False.")
    return by_pattern[np.ix_(ens.row_pattern, ens.row_pattern)]


def edge_evidence(edges: Any, ens: Any, weights: Any = None) -> Floats:
    """Return the co-association of the two ends of each edge of a graph over the rows.

    Edges between rows that members group are strong, others weak. A graph weighted in this way, as in ECG and
    FastEnsemble, gives more stable communities. Each edge is one look-up of two patterns.

    Parameters
    ----------
    edges : (e, 2) integers
        The rows at both ends of each edge.
    ens : Ensemble or anything `Ensemble` takes
    weights : {"equal", "trust", "ncai"} or (M,) array, optional
        Weights of the members, as in `coassociation`. Default: all equal.

    Returns
    -------
    (e,) array in [0, 1]: the weighted share of members that put both ends together. Missing labels count as in
    `coassociation`.

    Examples
    --------
    >>> import quorate as qt
    >>> qt.edge_evidence([[0, 1], [1, 2]], [[0, 0, 1], [0, 0, 0]])
    array([1. , 0.5])
    """
    ens = as_ensemble(ens)
    edges = np.asarray(edges)
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise InputError(
            f"must be an (e, 2) array of integers; got shape {edges.shape} of {edges.dtype}.",
            code="edges",
            parameter="edges",
        )
    if len(edges) and (edges.min() < 0 or edges.max() >= ens.n_rows):
        raise InputError(
            f"must name rows 0 to {ens.n_rows - 1:,}; got {edges.min():,} to {edges.max():,}.",
            code="edges",
            parameter="edges",
        )
    share = resolve_influence(ens, "equal" if weights is None else weights, beta=2.0)
    # Weights sum to 1, so that the result is a share.
    share = share / share.sum()
    scale = ratio(1.0, np.sqrt(covering_weight(ens.patterns, share)))
    evidence = np.empty(len(edges))

    def fill(part: slice) -> None:
        _kernels.edges.weight_edges(edges[part], ens.row_pattern, ens.patterns, share, scale, evidence[part])

    threads.in_threads(fill, threads.blocks(len(edges), _EDGES_PER_TASK))
    return evidence


def histograms(ens: Ensemble, weights: Floats, labels: Labels, n_groups: int | None = None) -> sp.csr_array:
    """(groups, n_clusters) histogram h of each group of patterns: counts times indicators; label -1 is no group."""
    n_groups = int(labels.max(initial=-1)) + 1 if n_groups is None else n_groups
    scale = ratio(1.0, np.sqrt(covering_weight(ens.patterns, weights)))
    return _sparse_sums(ens, ens.counts * scale, labels, n_groups)


def shared_rows(ens: Ensemble, labels: Labels, n_groups: int, *, squared: bool = False) -> sp.csr_array:
    """(groups, n_clusters) number of rows (or their weight) that each group of patterns shares with each cluster.

    If `squared`: the sum of their squared weights; a row of weight 2 counts like two rows.
    """
    return _sparse_sums(ens, ens.counts * one_row(ens) if squared else ens.counts, labels, n_groups)


def _sparse_sums(ens: Ensemble, amounts: Floats | Ints, labels: Labels, n_groups: int) -> sp.csr_array:
    """(groups, n_clusters) `sum_by_group` as a sparse table, not larger than the patterns however many groups exist."""
    # A dense table is faster if it is not much larger than the patterns.
    if n_groups * ens.n_clusters <= max(_FEW_CELLS, ens.patterns.size):
        return sp.csr_array(sum_by_group(ens, amounts, labels, n_groups))
    grouped = np.flatnonzero(labels >= 0)
    cells = (amounts[grouped].astype(np.float64), (labels[grouped], grouped))
    sums = sp.csr_array(sp.csr_array(cells, shape=(n_groups, ens.n_patterns)) @ ens.incidence)
    sums.sort_indices()
    return sums


def sum_by_group(ens: Ensemble, amounts: Floats | Ints, labels: Labels, n_groups: int) -> Floats:
    """(groups, n_clusters) sum of the `amounts` (m,) of the patterns of each group, added to each of their clusters."""
    require_memory(
        8.0 * n_groups * ens.n_clusters,
        f"A table of {n_groups:,} clusters by {ens.n_clusters:,} clusters of the members",
        "Use fewer clusters.",
    )
    sums = np.zeros((n_groups, ens.n_clusters))
    _kernels.row_hashing.add_by_group(ens.patterns, amounts.astype(np.float64), labels, sums)
    return sums


def group_sizes(ens: Ensemble, labels: Labels, n_groups: int = 0) -> Floats:
    """(groups,) number of rows (or their weight) of each group of patterns; label -1 is no group."""
    grouped = labels >= 0
    return np.bincount(labels[grouped], weights=ens.counts[grouped], minlength=n_groups).astype(np.float64)


def group_sums(ens: Ensemble, labels: Labels, values: Floats, n_groups: int) -> Floats:
    """(groups,) weighted sum over the rows of each group of the values (m,) of their patterns."""
    grouped = labels >= 0
    return np.bincount(labels[grouped], weights=(values * ens.counts)[grouped], minlength=n_groups).astype(np.float64)


def cluster_shares(ens: Ensemble, weights: Floats, labels: Labels) -> sp.csr_array:
    """(n_clusters, groups) what a label of each cluster adds to the mean co-association of a row with each group."""
    shares = sp.csr_array(histograms(ens, weights, labels).T)
    cluster = np.repeat(np.arange(ens.n_clusters), np.diff(shares.indptr))
    shares.data *= (weights / weights.sum())[ens.cluster_member[cluster]]
    shares.data /= group_sizes(ens, labels)[shares.indices]
    return shares


def mean_coassociation(ens: Ensemble, weights: Floats, labels: Labels, cluster_ids: NDArray[np.int32]) -> Floats:
    """(groups,) mean co-association of a row with the rows of each group, given its (M,) clusters, -1 for missing."""
    return np.asarray(cluster_shares(ens, weights, labels)[cluster_ids[cluster_ids >= 0]].sum(axis=0))


def cluster_scores(ens: Ensemble, weights: Floats, labels: Labels) -> sp.csr_array:
    """(n_clusters, groups) `cluster_shares` in units of 10^-16, so that sums are exact in any order and in SQL."""
    scores = cluster_shares(ens, weights, labels)
    scores.data = np.rint(scores.data * 1e16).astype(np.int64)
    scores.eliminate_zeros()
    return scores


def nearest_group(ens: Ensemble, weights: Floats, labels: Labels, cluster_ids: NDArray[np.int32]) -> Labels:
    """(rows,) the group of highest mean co-association for each row of cluster ids, -1 for rows without labels.

    Ties, after rounding to twelve decimals, go to the smaller label.
    """
    nearest = np.full(len(cluster_ids), -1, dtype=np.int64)
    n_groups = int(labels.max(initial=-1)) + 1
    if n_groups == 0:
        return nearest
    scores = cluster_scores(ens, weights, labels)

    def find(rows: slice) -> None:
        _kernels.vote_shares.elect(
            cluster_ids[rows], weights, scores.indptr, scores.indices, scores.data, n_groups, SCORE_ROUNDING,
            nearest[rows],
        )  # fmt: skip

    threads.in_threads(find, threads.blocks(len(cluster_ids), max(_PATTERNS_PER_TASK, n_groups)))
    return nearest


def covered_patterns(ens: Ensemble, weights: Floats) -> Ints:
    """Return the patterns that at least one member of positive weight labels."""
    return np.flatnonzero(covering_weight(ens.patterns, weights) > 0)


def canonical_order(ens: Ensemble, weights: Floats, covered: Ints) -> Ints:
    """Return covered patterns in an order that names of labels and the order of members do not change.

    Moves that are made in this order, and ties that are broken by it, do not depend on names either. Patterns are
    ordered by their rows, then by their mean co-association with all rows, then by the same weighted by the squares of
    these means, three times.
    """
    # Mean co-association with all rows, through clusters: no matrix over patterns is formed.
    phi, counts = indicators(ens, weights)[covered], ens.counts[covered]
    share = (weights / weights.sum())[ens.cluster_member]
    total, index, keys = counts.sum(), np.ones(len(covered)), [-counts / counts.sum()]
    for _ in range(_ROUNDS_OF_ORDER):
        index = phi @ (share * (phi.T @ (counts * index**2))) / total
        keys.append(np.round(index, 12))
    # lexsort takes the last key as the most important one, hence the reversed order.
    return covered[np.lexsort(keys[::-1])]
