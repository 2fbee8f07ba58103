"""Evidence: how similar two rows are, by the members that put them in one cluster (paper, section 6.1).

The evidence of two rows is the inner product of their weighted cluster indicators, so the mean evidence of a row and a
group needs only the group's histogram over clusters, never a matrix of rows.
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
from quorate.ensemble import Ensemble, as_ensemble
from quorate.reliability import ratio, resolve_influence

_ROWS_PER_TASK = 64
_SEARCHES_PER_TASK = 128
_PATTERNS_PER_TASK = 1 << 12
_LINES_AT_ONCE = 1024


def covering_weight(patterns: NDArray[np.int32], weights: Floats) -> Floats:
    """(m,) the total weight W of the members that label each pattern, over that of all members; exactly 1 if all do."""
    covered = np.empty(len(patterns))
    for some in threads.blocks(len(patterns), _PATTERNS_PER_TASK):
        present = patterns[some] >= 0
        if present.all():
            covered[some] = 1.0
            continue
        missing = np.where(present, 0.0, weights).sum(axis=1)
        covered[some] = 1.0 - missing / weights.sum()
        covered[some][~np.any(present & (weights > 0), axis=1)] = 0.0
    return covered


def indicators(ens: Ensemble, weights: Floats) -> sp.csr_array:
    """(m, n_clusters) each pattern's cluster indicator over sqrt(W), so that evidence is a weighted inner product."""
    weight = covering_weight(ens.patterns, weights)
    scale = ratio(1.0, np.sqrt(weight))
    scaled = ens.incidence.copy()
    scaled.data = np.repeat(scale, np.diff(scaled.indptr))
    return scaled


def pattern_coassociation(ens: Ensemble, weights: Floats, certainty: Floats | None = None) -> Floats:
    """(m, m) evidence of every two patterns (equation 12): the weight of the members in which they agree.

    Clusters may count by their `certainty` (n_clusters,) too: the locally weighted co-association of Huang et al. 2018.
    """
    n_patterns = ens.n_patterns
    require_memory(8.0 * n_patterns**2, f"The evidence of every two of {n_patterns:,} patterns", USE_NO_MATRIX)
    phi = indicators(ens, weights)
    share = weights[ens.cluster_member] / weights.sum()
    if certainty is not None:
        share = share * certainty
    scaled, by_cluster = sp.csr_array(phi @ sp.diags_array(share)), phi.T.tocsr()
    evidence = np.empty((n_patterns, n_patterns))
    blocks = threads.blocks(n_patterns, _LINES_AT_ONCE)
    for some in blocks:
        evidence[some] = (scaled[some] @ by_cluster).toarray()
    # The last bits of the product depend on which factor was scaled.
    for a, some in enumerate(blocks):
        for other in blocks[a:]:
            mean = (evidence[some, other] + evidence[other, some].T) / 2
            evidence[some, other], evidence[other, some] = mean, mean.T
    if certainty is None:
        np.fill_diagonal(evidence, covering_weight(ens.patterns, weights) > 0)
    return np.minimum(evidence, 1.0, out=evidence)


@dataclass(frozen=True)
class ThroughClusters:
    """The similarity of every two patterns, or groups of them, through that of their clusters: Phi T Phi'."""

    phi: sp.csr_array
    """(groups, n_clusters) how much each cluster of a group counts, not negative."""
    similarity: Floats
    """(n_clusters, n_clusters) symmetric similarity T of clusters, not negative."""
    similar: tuple[Ints, Ints]
    """(n_clusters,), (n_clusters,) the first and the last cluster, plus one, that each is similar to."""
    most: float = np.inf
    """What no similarity exceeds but for rounding."""

    @classmethod
    def of_all(cls, phi: sp.csr_array, similarity: Floats) -> ThroughClusters:
        """Return what any two clusters make similar."""
        n = len(similarity)
        return cls(phi, similarity, (np.zeros(n, dtype=np.int64), np.full(n, n)))

    @classmethod
    def of_members(cls, ens: Ensemble, influence: Floats, similarity: Floats, patterns: Ints) -> ThroughClusters:
        """Return the weighted mean over members of the similarity of their clusters, for some patterns.

        Where labels are missing it is the sum over the members that label both rows, over sqrt(W_i W_j), W the weight
        of the members that label a row.

        Parameters
        ----------
        similarity : (n_clusters, n_clusters)
            Of clusters of the same member, at most 1; 0 between members.
        patterns : (p,)
            Which patterns.
        """
        member = ens.cluster_member
        phi = sp.csr_array(indicators(ens, influence)[patterns])
        phi.data *= np.sqrt(influence / influence.sum())[member][phi.indices]
        similar = np.searchsorted(member, member, "left"), np.searchsorted(member, member, "right")
        return cls(phi, similarity, similar, 1.0)

    def __len__(self) -> int:
        return int(self.phi.shape[0])

    def joined(self, shares: sp.csr_array) -> ThroughClusters:
        """Return the mean similarity of larger groups, of which `shares` (larger, groups) are the shares of these."""
        return replace(self, phi=sp.csr_array(shares @ self.phi))

    def matrix(self) -> Floats:
        """(groups, groups) all similarities, symmetric to the last bit."""
        n = len(self)
        require_memory(
            8.0 * n * (n + _ROWS_PER_TASK * len(self.similarity) / max(n, 1)),
            f"The similarity of every two of {n:,} groups of rows",
            USE_NO_MATRIX,
        )
        out = np.empty((n, n))

        def fill(some: slice) -> None:
            carried = np.empty((len(self.similarity), some.stop - some.start))
            _kernels.neighbor_sums.carry(np.arange(some.start, some.stop), *self._arrays, carried)
            _kernels.neighbor_sums.add_up(carried, *self._arrays[:3], some.start, self.most, out)

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
        """Write for the groups `todo` the most similar other group, how similar it and the next are, in threads."""

        def find(some: slice) -> None:
            _kernels.neighbor_sums.nearest(todo[some], *self._arrays, partner, best, second)

        threads.in_threads(find, threads.blocks(len(todo), _SEARCHES_PER_TASK), on_progress)

    @property
    def _arrays(self) -> tuple[Any, ...]:
        """What kernels take: Phi in CSR form, T, and which clusters are similar to each."""
        return self.phi.indptr, self.phi.indices, self.phi.data, self.similarity, *self.similar


def coassociation(ens: Any, weights: Any = None, rows: bool = False) -> Floats:
    """Return the weighted co-association matrix: the weight of the members that join two rows (Definitions 7 and 8).

    With missing labels the evidence is divided by sqrt(W_i W_j), W the weight of the members that label a row.

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
    """
    ens = as_ensemble(ens)
    share = resolve_influence(ens, "equal" if weights is None else weights, beta=2.0)
    evidence = pattern_coassociation(ens, share)
    if not rows:
        return evidence
    require_memory(8.0 * ens.n_rows**2, f"The evidence of every two of {ens.n_rows:,} rows", "Leave rows=False.")
    row_pattern = ens.row_pattern
    return evidence[np.ix_(row_pattern, row_pattern)]


def histograms(ens: Ensemble, weights: Floats, labels: Labels, n_groups: int | None = None) -> Floats:
    """(groups, n_clusters) histogram h of each group of patterns: counts times indicators; label -1 is no group."""
    n_groups = int(labels.max(initial=-1)) + 1 if n_groups is None else n_groups
    scale = ratio(1.0, np.sqrt(covering_weight(ens.patterns, weights)))
    return sum_by_group(ens, ens.counts * scale, labels, n_groups)


def shared_rows(ens: Ensemble, labels: Labels, n_groups: int, *, squared: bool = False) -> Floats:
    """(groups, n_clusters) number of rows (or their weight) that each group of patterns shares with each cluster.

    Squared: the sum of their squared weights, a row weighing as much as the rows of its pattern on average.
    """
    counts = ens.counts.astype(np.float64)
    return sum_by_group(ens, counts**2 / ens.row_counts if squared else counts, labels, n_groups)


def sum_by_group(ens: Ensemble, amounts: Floats, labels: Labels, n_groups: int) -> Floats:
    """(groups, n_clusters) what the patterns of each group bring to each of their clusters."""
    found = np.zeros((n_groups, ens.n_clusters))
    _kernels.row_hashing.add_by_group(ens.patterns, amounts, labels, found)
    return found


def group_sizes(ens: Ensemble, labels: Labels, n_groups: int = 0) -> Floats:
    """(groups,) number of rows (or their weight) of each group of patterns; label -1 is no group."""
    kept = labels >= 0
    return np.bincount(labels[kept], weights=ens.counts[kept], minlength=n_groups).astype(np.float64)


def group_sums(ens: Ensemble, labels: Labels, values: Floats, n_groups: int) -> Floats:
    """(groups,) sum over the rows of each group, by their weight, of what is known of their patterns."""
    kept = labels >= 0
    return np.bincount(labels[kept], weights=(values * ens.counts)[kept], minlength=n_groups).astype(np.float64)


def mean_coassociation(ens: Ensemble, weights: Floats, labels: Labels, cluster_ids: NDArray[np.int32]) -> Floats:
    """(rows, groups) mean evidence between each row of cluster ids, -1 for missing, and the rows of each group."""
    share = histograms(ens, weights, labels) * (weights[ens.cluster_member] / weights.sum())
    share /= group_sizes(ens, labels)[:, None]
    by_cluster = np.concatenate([share.T, np.zeros((1, len(share)))])  # id -1 is the row of zeros
    evidence = np.zeros((len(cluster_ids), len(share)))
    for ids in cluster_ids.T:
        evidence += by_cluster[ids]
    return evidence


def nearest_group(ens: Ensemble, weights: Floats, labels: Labels, cluster_ids: NDArray[np.int32]) -> Labels:
    """(rows,) the group with the highest mean evidence for each row of cluster ids, -1 where there is no evidence.

    Ties, after rounding to twelve decimals, go to the smaller label.
    """
    evidence = mean_coassociation(ens, weights, labels, cluster_ids)
    if evidence.size == 0:
        return np.full(len(cluster_ids), -1, dtype=np.int64)
    best = np.argmax(np.round(evidence, 12), axis=1)
    known = np.any((cluster_ids >= 0) & (weights > 0), axis=1)
    return np.where(known, best, -1)


def covered_patterns(ens: Ensemble, influence: Floats) -> Ints:
    """Return the patterns that some member of positive influence labels."""
    return np.flatnonzero(covering_weight(ens.patterns, influence) > 0)
