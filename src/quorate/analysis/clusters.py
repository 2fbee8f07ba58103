"""Describe consensus clusters: stability, members that oppose them, and which would merge or split next.

All of it is computed from the co-association of rows, for any method, through histograms over the members' clusters:
exact, and without a matrix of rows or patterns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate._runtime import threads
from quorate._utils.array_types import Floats, Ints, Labels
from quorate.certainty import Groups, Votes, cluster_stability
from quorate.ensemble import Clusterings, Ensemble, member_indicator, one_row
from quorate.numerics.cells import largest_first
from quorate.numerics.mutual_information import ratio
from quorate.row_similarity import group_sums, shared_rows

_OPPONENTS_SHOWN = 3
_TEXTS_SHOWN = 3
_GROUPS_AT_ONCE = 256
_NO_EVIDENCE = 1e-12  # what rounding leaves of none


@dataclass(frozen=True)
class ConsensusCluster:
    """One cluster of the consensus."""

    label: int
    size: float
    """Number of rows, or their weight."""
    stability: float
    """How well the members reproduce the cluster, in [0, 1]: near 0 for rows picked at random (`cluster_stability`)."""
    opponents: tuple[tuple[str, float], ...]
    """The members that oppose it most, with the share of its pairs of rows that each separates."""
    cohesion: float
    """Mean co-association of two of its rows: the weight of the members that put them together."""
    nearest: int
    """The cluster that it would be merged with at the least cost; -1 if no member puts rows of it with others."""
    merge_cost: float
    """How much less often pairs of rows across the two are together than pairs within the less cohesive one.

    From 0, as often, to 1, never: 1 - E / min(cohesion of both), where E is the mean co-association between their rows.
    """
    label_shares: tuple[tuple[str, float], ...] = ()
    """The commonest text labels of its rows, with their share of the members' weight; empty if no member has text."""

    @property
    def name(self) -> str | None:
        """The commonest text label of its rows; None if no member has text labels."""
        return self.label_shares[0][0] if self.label_shares else None


@dataclass(frozen=True)
class Split:
    """How the answer with one more cluster splits a cluster."""

    label: int
    sizes: tuple[float, float]
    """Rows of its two largest parts."""
    merge_cost: float
    """The cost of merging them again: near 0 the two parts barely differ."""


def describe_clusters(
    ens: Ensemble, weights: Floats, labels: Labels, groups: Groups | None = None
) -> tuple[ConsensusCluster, ...]:
    """Return the description of consensus clusters of patterns."""
    groups = Groups.of(ens, weights, labels) if groups is None else groups
    n_groups = len(groups.sizes)
    alone = group_sums(ens, labels, one_row(ens), n_groups)
    squared = shared_rows(ens, labels, n_groups, squared=True)
    return cluster_table(ens, weights, groups, alone, squared)


def cluster_table(
    ens: Clusterings, weights: Floats, groups: Groups, alone: Floats, squared: sp.csr_array
) -> tuple[ConsensusCluster, ...]:
    """Return what there is to say about consensus clusters, from their histograms.

    Parameters
    ----------
    alone : (groups,)
        Sum of the squared weights of their rows; the number of rows if rows have no weights.
    squared : (groups, n_clusters)
        `shared_rows`, squared.
    """
    # Members without weight did not contribute, so that they are not listed as opponents.
    separated = np.where(weights > 0, opposition(ens, groups.shared, squared), 0.0)
    cohesion = mean_coassociation(ens, weights, groups, alone)
    nearest, cost = cheapest_merges(ens, weights, groups, cohesion)
    stability = cluster_stability(ens, weights, groups, squared)
    texts = text_shares(ens, weights, groups.shared)
    described = []
    for label, size in enumerate(groups.sizes):
        strongest = np.argsort(-separated[label], kind="stable")[:_OPPONENTS_SHOWN]
        opponents = tuple((ens.names[j], float(separated[label, j])) for j in strongest if separated[label, j] > 0)
        described.append(
            ConsensusCluster(
                label,
                float(size * ens.weight_unit),
                float(stability[label]),
                opponents,
                float(cohesion[label]),
                int(nearest[label]),
                float(cost[label]),
                texts[label],
            )
        )
    return tuple(described)


def text_shares(ens: Clusterings, weights: Floats, shared: sp.csr_array) -> list[tuple[tuple[str, float], ...]]:
    """Return for each consensus cluster the commonest text labels of its rows, with their shares of the weight.

    Equal texts of several members are added up. Members whose labels are numbers, or text that reads as numbers, do not
    count. `shared` (k, n_clusters) are the rows that each consensus cluster shares with each cluster.
    """
    named = [j for j, levels in enumerate(ens.levels) if weights[j] > 0 and _are_texts(levels)]
    n_groups = shared.shape[0]
    if not named:
        return [()] * n_groups
    clusters = np.flatnonzero(np.isin(ens.cluster_member, named))
    texts, text = np.unique(np.concatenate([ens.levels[j].astype(str) for j in named]), return_inverse=True)
    member_weight = weights[ens.cluster_member[clusters]]
    of_text = sp.csr_array((member_weight, (clusters, text)), shape=(ens.n_clusters, len(texts)))
    amounts = sp.csr_array(shared @ of_text)
    amounts = sp.csr_array(sp.diags_array(ratio(1.0, amounts.sum(axis=1))) @ amounts)
    group = np.repeat(np.arange(n_groups), np.diff(amounts.indptr))
    order = largest_first(group, amounts.indices, amounts.data)
    return [
        tuple((str(texts[amounts.indices[entry]]), float(amounts.data[entry])) for entry in first[:_TEXTS_SHOWN])
        for first in np.split(order, amounts.indptr[1:-1])
    ]


def _are_texts(levels: NDArray[Any]) -> bool:
    """Return whether labels are text and at least one does not read as a number."""
    if levels.dtype.kind not in "OUT":
        return False
    for level in levels:
        try:
            float(level)
        except ValueError:
            return True
    return False


def mean_coassociation(ens: Clusterings, weights: Floats, groups: Groups, alone: Floats) -> Floats:
    """(groups,) mean co-association of two different rows of each group; 0 for a group of one row.

    It is (sum_c w_c h(c)^2 - sum of squares) / (n^2 - sum of squares), with the group's histogram h and the squares of
    the rows' weights, which are the pairs of a row with itself (`alone`).
    """
    share = weights[ens.cluster_member] / weights.sum()
    pairs = groups.sizes**2 - alone
    together = groups.histogram.power(2) @ share - alone
    return np.clip(ratio(together, np.where(pairs > 1e-9 * alone, pairs, 0.0)), 0.0, 1.0)


def confidence_by_chance(ens: Clusterings, weights: Floats, groups: Groups) -> float:
    """Return the mean confidence that rows picked at random would have: the chance of each group, by its size."""
    chance = Votes.of(ens, weights, groups).by_chance
    return float(chance @ groups.sizes / groups.sizes.sum()) if len(chance) else 0.0


def opposition(ens: Clusterings, shared: sp.csr_array, squared: sp.csr_array) -> Floats:
    """(k, M) the share of the pairs of rows of each consensus cluster that each member puts in different clusters.

    `shared` are the rows (or their weight) that each shares with each cluster, `squared` the sum of their squares.
    """
    of_member = sp.csr_array(member_indicator(ens).T)
    # Pairs of a row with itself do not count, neither in the numerator nor in the denominator.
    inside, together, alone = ((table @ of_member).toarray() for table in (shared, shared.power(2), squared))
    pairs = inside**2 - alone
    has_pairs = pairs > 1e-9 * alone
    return 1.0 - np.divide(together - alone, pairs, out=np.ones_like(pairs), where=has_pairs)


def cheapest_merges(ens: Clusterings, weights: Floats, groups: Groups, cohesion: Floats) -> tuple[Ints, Floats]:
    """(k,) the group that each could be merged with at the least cost, -1 for none, and that cost.

    A group without any evidence within itself, such as a single row, is measured by the other's. Ties, after rounding
    to twelve decimals, go to the smaller label.
    """
    n_groups = len(groups.sizes)
    means = sp.csr_array(sp.diags_array(1.0 / groups.sizes) @ groups.histogram)
    weighted = sp.csr_array(sp.diags_array((weights / weights.sum())[ens.cluster_member]) @ means.T)
    # A group without evidence within itself must not look infinitely close to others.
    within = np.where(cohesion > _NO_EVIDENCE, cohesion, np.inf)
    nearest, cost = np.full(n_groups, -1, dtype=np.int64), np.ones(n_groups)
    for block in threads.blocks(n_groups, _GROUPS_AT_ONCE):
        between = sp.coo_array(means[block] @ weighted)
        group, other = between.row + block.start, between.col
        looser = np.minimum(within[group], within[other])
        # Relative to the looser of the two: a merge with a loose cluster costs little.
        closeness = np.minimum(between.data / np.where(np.isfinite(looser), looser, 1.0), 1.0)
        # A cluster does not merge with itself.
        tied = (group != other) & (closeness > 0)
        group, other, closeness = group[tied], other[tied], closeness[tied]
        order = largest_first(group, other, closeness)
        linked, first = np.unique(group[order], return_index=True)
        best = order[first]
        nearest[linked], cost[linked] = other[best], 1.0 - closeness[best]
    return nearest, cost


def next_merge(clusters: tuple[ConsensusCluster, ...]) -> tuple[int, int, float] | None:
    """Return the two clusters that merge at the least cost, and the cost; None if no evidence ties any two."""
    tied = [cluster for cluster in clusters if cluster.nearest >= 0]
    if not tied:
        return None
    cheapest = min(tied, key=lambda cluster: (round(cluster.merge_cost, 12), cluster.label))
    return cheapest.label, cheapest.nearest, cheapest.merge_cost


def next_split(ens: Ensemble, weights: Floats, labels: Labels, finer: Labels) -> Split | None:
    """Return which cluster of an answer the next finer answer splits; None if it splits none.

    A cluster of the finer answer is a part of the one that most of its rows come from. If more than one is split, it
    is the one with the largest second part.
    """
    labeled = (labels >= 0) & (finer >= 0)
    n_parts = int(finer.max(initial=-1)) + 1
    cells = np.bincount(labels[labeled] * n_parts + finer[labeled], weights=ens.counts[labeled])
    # Padded to full lines, because the last labels may not occur.
    shared = np.pad(cells, (0, -len(cells) % max(n_parts, 1))).reshape(-1, max(n_parts, 1))
    # The cluster that most rows of a part come from.
    whole = np.argmax(shared, axis=0)
    second = [(np.sort(shared[c, whole == c])[-2], -c) for c in np.unique(whole) if np.sum(whole == c) > 1]
    if not second:
        return None
    split = -max(second)[1]
    parts = np.flatnonzero(whole == split)
    largest_part, second_part = parts[np.argsort(-shared[split, parts], kind="stable")[:2]]
    part = np.where(labels == split, np.where(finer == largest_part, 0, np.where(finer == second_part, 1, -1)), -1)
    groups = Groups.of(ens, weights, part, 2)
    cohesion = mean_coassociation(ens, weights, groups, group_sums(ens, part, one_row(ens), 2))
    sizes = float(groups.sizes[0]), float(groups.sizes[1])
    return Split(int(split), sizes, float(cheapest_merges(ens, weights, groups, cohesion)[1][0]))
