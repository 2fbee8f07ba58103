"""Evidence: how similar two rows are, by the members that put them in one cluster (paper, section 6.1).

The evidence of two rows is the inner product of their weighted cluster indicators, so the mean evidence of a row and a
group needs only the group's histogram over clusters, never a matrix of rows.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate import _kernels
from quorate._support.memory import USE_NO_MATRIX, require_memory
from quorate._support.typing import Floats, Labels
from quorate.crowd import ratio, resolve_influence
from quorate.ensemble import Ensemble, as_ensemble
from quorate.links import symmetrise

_ROWS_PER_TASK = 64


def covering_weight(patterns: NDArray[np.int32], weights: Floats) -> Floats:
    """(m,) the total weight W of the members that label each pattern, over that of all members; exactly 1 if all do."""
    missing = np.where(patterns < 0, weights, 0.0).sum(axis=1)
    covered = 1.0 - missing / weights.sum()
    return np.where(np.any((patterns >= 0) & (weights > 0), axis=1), covered, 0.0)


def indicators(ens: Ensemble, weights: Floats) -> sp.csr_array:
    """(m, n_clusters) each pattern's cluster indicator over sqrt(W), so that evidence is a weighted inner product."""
    weight = covering_weight(ens.patterns, weights)
    scale = ratio(1.0, np.sqrt(weight))
    scaled = ens.incidence.copy()
    scaled.data = np.repeat(scale, np.diff(scaled.indptr))
    return scaled


def pattern_evidence(ens: Ensemble, weights: Floats, certainty: Floats | None = None) -> Floats:
    """(m, m) evidence of every two patterns (equation 12): the weight of the members in which they agree.

    Clusters may count by their `certainty` (n_clusters,) too: the locally weighted co-association of Huang et al. 2018.
    """
    require_memory(
        24.0 * ens.n_patterns**2,
        f"The evidence of every two of {ens.n_patterns:,} patterns",
        USE_NO_MATRIX,
    )
    phi = indicators(ens, weights)
    share = weights[ens.cluster_member] / weights.sum()
    if certainty is not None:
        share = share * certainty
    evidence = np.asarray((phi @ sp.diags_array(share) @ phi.T).toarray())
    evidence = (evidence + evidence.T) / 2  # the last bits of the product depend on which factor was scaled
    if certainty is None:
        np.fill_diagonal(evidence, covering_weight(ens.patterns, weights) > 0)
    return np.minimum(evidence, 1.0, out=evidence)


def through_clusters(phi: sp.csr_array, similarity: Floats) -> Floats:
    """(m, m) similarity of every two patterns through that of their clusters: Phi T Phi', symmetric to the last bit.

    Parameters
    ----------
    phi : sparse (m, n_clusters)
        How much each cluster of a pattern counts.
    similarity : (n_clusters, n_clusters)
        Symmetric similarity T of clusters.
    """
    n_patterns, n_clusters = phi.shape
    require_memory(
        8.0 * n_patterns * (n_patterns + _ROWS_PER_TASK * n_clusters / max(n_patterns, 1)),
        f"The similarity of every two of {n_patterns:,} patterns",
        USE_NO_MATRIX,
    )
    out = np.zeros((n_patterns, n_patterns))
    tasks = _kernels.threads.blocks(n_patterns, _ROWS_PER_TASK)

    def fill(rows: slice) -> None:
        carried = np.asarray(phi[rows] @ similarity)
        _kernels.links.add_up(carried, phi.indptr, phi.indices, phi.data, rows.start, out)

    _kernels.threads.in_threads(fill, tasks)
    symmetrise(out)
    return out


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
    evidence = pattern_evidence(ens, share)
    if not rows:
        return evidence
    require_memory(8.0 * ens.n_rows**2, f"The evidence of every two of {ens.n_rows:,} rows", "Leave rows=False.")
    row_pattern = ens.require_rows("coassociation(rows=True)")
    return evidence[np.ix_(row_pattern, row_pattern)]


def histograms(ens: Ensemble, weights: Floats, labels: Labels, n_groups: int | None = None) -> Floats:
    """(groups, n_clusters) histogram h of each group of patterns: counts times indicators; label -1 is no group."""
    n_groups = int(labels.max(initial=-1)) + 1 if n_groups is None else n_groups
    scale = ratio(1.0, np.sqrt(covering_weight(ens.patterns, weights)))
    return _by_group(ens, ens.counts * scale, labels, n_groups)


def shared_rows(ens: Ensemble, labels: Labels, n_groups: int, *, squared: bool = False) -> Floats:
    """(groups, n_clusters) number of rows (or their weight) that each group of patterns shares with each cluster.

    Squared: the sum of their squared weights, a row weighing as much as the rows of its pattern on average.
    """
    counts = ens.counts.astype(np.float64)
    return _by_group(ens, counts**2 / ens.row_counts if squared else counts, labels, n_groups)


def _by_group(ens: Ensemble, amounts: Floats, labels: Labels, n_groups: int) -> Floats:
    """(groups, n_clusters) what the patterns of each group bring to each of their clusters."""
    found = np.zeros((n_groups, ens.n_clusters))
    _kernels.patterns.add_by_group(ens.patterns, amounts, labels, found)
    return found


def group_sizes(ens: Ensemble, labels: Labels, n_groups: int = 0) -> Floats:
    """(groups,) number of rows (or their weight) of each group of patterns; label -1 is no group."""
    kept = labels >= 0
    return np.bincount(labels[kept], weights=ens.counts[kept], minlength=n_groups).astype(np.float64)


def confidence(ens: Ensemble, weights: Floats, labels: Labels) -> Floats:
    """(m,) mean evidence of a row of each pattern with the other rows of its consensus cluster, in [0, 1].

    It is (phi . h - 1) / (|K| - 1) from the cluster's histogram h; 0 for a cluster of one row. Under row weights the
    row itself counts by the mean weight of its pattern's rows.
    """
    return confidence_within(ens, weights, labels, histograms(ens, weights, labels), group_sizes(ens, labels))


def confidence_within(ens: Ensemble, weights: Floats, labels: Labels, histogram: Floats, sizes: Floats) -> Floats:
    """Return `confidence` in groups whose histograms over clusters and sizes are known."""
    result = np.zeros(ens.n_patterns)
    if not np.any(labels >= 0):
        return result
    share = histogram * (weights[ens.cluster_member] / weights.sum())
    phi = indicators(ens, weights).tocoo()
    total = np.bincount(phi.row, weights=phi.data * share[labels[phi.row], phi.col], minlength=ens.n_patterns)
    own = ens.counts / ens.row_counts
    others = sizes[labels] - own
    has_others = (labels >= 0) & (others > 1e-9 * own)
    np.divide(total - own, others, out=result, where=has_others)
    return np.clip(result, 0.0, 1.0)


def mean_evidence(ens: Ensemble, weights: Floats, labels: Labels, cluster_ids: NDArray[np.int32]) -> Floats:
    """(rows, groups) mean evidence between each row of cluster ids, -1 for missing, and the rows of each group."""
    share = histograms(ens, weights, labels) * (weights[ens.cluster_member] / weights.sum())
    share /= group_sizes(ens, labels)[:, None]
    by_cluster = np.concatenate([share.T, np.zeros((1, len(share)))])  # id -1 is the row of zeros
    evidence = np.zeros((len(cluster_ids), len(share)))
    for ids in cluster_ids.T:
        evidence += by_cluster[ids]
    return evidence


def most_evident(ens: Ensemble, weights: Floats, labels: Labels, cluster_ids: NDArray[np.int32]) -> Labels:
    """(rows,) the group with the highest mean evidence for each row of cluster ids, -1 where there is no evidence.

    Ties, after rounding to twelve decimals, go to the smaller label.
    """
    evidence = mean_evidence(ens, weights, labels, cluster_ids)
    if evidence.size == 0:
        return np.full(len(cluster_ids), -1, dtype=np.int64)
    best = np.argmax(np.round(evidence, 12), axis=1)
    known = np.any((cluster_ids >= 0) & (weights > 0), axis=1)
    return np.where(known, best, -1)
