"""The core: the rows on which most members agree exactly with the consensus.

A member agrees with the consensus on a set of rows if its partition of these rows is the same up to renaming. Each
member's clusters are first matched one-to-one to the consensus clusters (largest number of shared rows). A row then
opposes a member if the member's label of the row is not the matched one; a missing label opposes nothing. The core at
agreement a holds the rows that no member opposes once members of at most 1 - a of the weight are set aside. Which
members to set aside is chosen greedily, one after the other, so the cores for falling a are nested. The idea follows
credible partial partitions (CHIPS, arXiv 2511.16040).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from quorate._utils.array_types import Bools, Floats, Ints, Labels
from quorate._utils.checks import check_number
from quorate.algorithms.answer import Answer
from quorate.algorithms.registry import ConsensusResult, consensus
from quorate.ensemble import Ensemble
from quorate.row_similarity import group_sizes, shared_rows

_ROUNDING = 1e-12  # of sums of weights
_WORTH_ANOTHER_ROUND = 0.001  # share of the pairs of a group and a cluster that are certain


@dataclass(frozen=True)
class CoreStep:
    """A point of the curve of rows kept against the agreement that is required."""

    agreement: float
    """Share of the members' weight that agrees exactly on the rows kept."""
    share: float
    """Share of the rows kept."""
    set_aside: str | None
    """The member that was set aside to get here; None at the first point."""
    cluster_shares: tuple[float, ...] = field(repr=False)
    """(k,) share of each consensus cluster that is kept."""


@dataclass(frozen=True)
class Core:
    """The rows on which the required share of the members' weight agrees exactly with the consensus."""

    labels: Labels = field(repr=False)
    """(n,) the consensus label of the rows of the core, -1 elsewhere."""
    share: float
    """Share of the rows in the core."""
    cluster_shares: Floats
    """(k,) share of each consensus cluster in the core."""
    agreement: float
    """Share of the members' weight that agrees exactly on the core; at least what was required."""
    set_aside: tuple[str, ...]
    """The members that may disagree on the core."""
    curve: tuple[CoreStep, ...] = field(repr=False)
    """Rows kept against the required agreement, from all members down to a single one."""


def core(labels: Any, agreement: float = 0.9, **options: Any) -> Core:
    """Find the rows on which members of a share of the weight agree exactly with the consensus.

    Parameters
    ----------
    labels : ConsensusResult, or an Ensemble or anything `Ensemble` takes
    agreement : float in (0, 1], default 0.9
        The required share of the members' weight.
    **options
        Options of `consensus`, such as `n_clusters` and `method`, unless `labels` is a result.

    Returns
    -------
    Core

    Examples
    --------
    >>> import quorate as qt
    >>> kept = qt.core([[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1]], agreement=1.0, n_clusters=2)
    >>> kept.labels
    array([ 0,  0, -1,  1,  1,  1])
    """
    agreement = check_number("agreement", agreement, above=0, high=1)
    result = labels if isinstance(labels, ConsensusResult) else consensus(labels, **options)
    return core_of(result.estimator.answer_, agreement)


def core_of(answer: Answer, agreement: float) -> Core:
    """Return the core of a consensus at a required agreement."""
    cores = nested_cores(answer.ensemble, answer.labels, answer.weights)
    used = cores.steps_at(agreement)
    return Core(
        labels=np.where(cores.holds(agreement), answer.labels, -1)[answer.ensemble.row_pattern],
        share=used[-1].share,
        cluster_shares=np.array(used[-1].cluster_shares),
        agreement=used[-1].agreement,
        set_aside=tuple(str(step.set_aside) for step in used[1:]),
        curve=cores.curve,
    )


@dataclass(frozen=True)
class NestedCores:
    """The cores of a consensus for every required agreement; each contains those of higher agreement."""

    curve: tuple[CoreStep, ...]
    """Rows kept against the required agreement, from all members down to a single one."""
    reach: Floats = field(repr=False)
    """(m,) the highest agreement whose core holds a pattern; 0 if none does."""

    def steps_at(self, agreement: float) -> tuple[CoreStep, ...]:
        """Return the steps up to the core at a required agreement, which is the last one."""
        return tuple(step for step in self.curve if step.agreement >= agreement - _ROUNDING)

    def holds(self, agreement: float) -> Bools:
        """Return (m,) whether the core at a required agreement holds a pattern."""
        return self.reach >= max(agreement - _ROUNDING, _ROUNDING)


def nested_cores(ens: Ensemble, groups: Labels, weights: Floats) -> NestedCores:
    """Return the cores of a consensus, given by the label (m,) of each pattern, for every required agreement."""
    curve, reach = [], np.zeros(ens.n_patterns)
    for step, in_core in _set_aside_in_turn(ens, groups, weights):
        curve.append(step)
        reach[in_core & (reach == 0)] = step.agreement
    return NestedCores(tuple(curve), reach)


def oppositions(ens: Ensemble, groups: Labels) -> Bools:
    """Return (m, M): whether the label of a pattern in a member is not the one matched to its consensus cluster."""
    n_groups = int(groups.max()) + 1
    shared = sp.csc_array(shared_rows(ens, groups, n_groups))
    opposed = np.empty((ens.n_patterns, ens.n_members), dtype=np.bool_)
    for member in range(ens.n_members):
        start, stop = ens.cluster_offsets[member : member + 2]
        counterpart = _counterparts(shared[:, start:stop])
        label = ens.patterns[:, member] - start
        opposed[:, member] = (label >= 0) & (label != counterpart[groups])
    return opposed


def _counterparts(shared: sp.csc_array) -> Ints:
    """(groups,) the cluster matched to each group so that matched pairs share most rows; -1 for none.

    One-to-one, because two consensus clusters cannot both be the same cluster of a member.
    """
    pairs = shared.tocoo()
    group, cluster, rows = pairs.row, pairs.col, pairs.data
    counterpart = np.full(shared.shape[0], -1)
    while len(rows):
        # A pair that shares at least as many rows as any two pairs that it excludes belongs to a best matching.
        certain = np.flatnonzero(rows >= _largest_other(group, rows) + _largest_other(cluster, rows))
        certain = certain[np.unique(group[certain], return_index=True)[1]]
        certain = certain[np.unique(cluster[certain], return_index=True)[1]]
        if len(certain) < _WORTH_ANOTHER_ROUND * len(rows):
            break
        counterpart[group[certain]] = cluster[certain]
        left = ~np.isin(group, group[certain]) & ~np.isin(cluster, cluster[certain])
        group, cluster, rows = group[left], cluster[left], rows[left]
    if len(rows):
        groups, line = np.unique(group, return_inverse=True)
        clusters, column = np.unique(cluster, return_inverse=True)
        matched = _match(sp.csr_array((rows, (line, column))))
        counterpart[groups] = np.where(matched >= 0, clusters[matched], -1)
    return counterpart


def _largest_other(key: Ints, values: Floats) -> Floats:
    """Return for each entry the largest value of the other entries with the same key; 0 if there is none."""
    order = np.lexsort((-values, key))
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    rank_of_key = np.repeat(np.arange(len(first)), np.diff(first, append=len(order)))
    ordered = np.append(values[order], 0.0)
    second = np.where(np.diff(first, append=len(order)) > 1, ordered[first + 1], 0.0)
    other = np.empty(len(values))
    other[order] = ordered[first][rank_of_key]
    other[order[first]] = second
    return other


def _match(shared: sp.csr_array) -> Ints:
    """(groups,) the matching of largest weight between groups and clusters; -1 for a group without a cluster."""
    n_groups, n_clusters = shared.shape
    # Every group may also be matched to a column of its own, which shares nothing. The solver needs positive weights.
    pairs = sp.csr_array(sp.hstack([shared, sp.eye_array(n_groups)]))
    pairs.data[pairs.indices < n_clusters] += 1.0
    columns = min_weight_full_bipartite_matching(pairs, maximize=True)[1]
    return np.where(columns < n_clusters, columns, -1)


def _set_aside_in_turn(ens: Ensemble, groups: Labels, weights: Floats) -> Iterator[tuple[CoreStep, Bools]]:
    """Set members aside one after the other, each time the one whose absence adds most rows per weight.

    Yields each step with the patterns (m,) in the core.
    """
    opposed = oppositions(ens, groups) & (weights > 0)  # members without weight do not count
    counts = np.where(groups >= 0, ens.counts, 0).astype(np.float64)
    sizes = group_sizes(ens, groups, int(groups.max()) + 1)
    dissent = counts @ opposed  # breaks ties: the member that opposes most rows
    n_opposed = opposed.sum(axis=1)
    left = np.flatnonzero(weights > 0)

    def step(set_aside: str | None) -> tuple[CoreStep, Bools]:
        in_core = (groups >= 0) & (n_opposed == 0)
        in_core_sizes = np.bincount(groups[in_core], weights=counts[in_core], minlength=len(sizes))
        share = float(in_core_sizes.sum() / ens.counts.sum())
        agreeing = float(weights[left].sum() / weights.sum())
        return CoreStep(agreeing, share, set_aside, tuple((in_core_sizes / sizes).tolist())), in_core

    yield step(None)
    while len(left) > 1:
        alone = np.flatnonzero(n_opposed == 1)  # rows that one member alone keeps out
        gains = np.bincount(opposed[alone].argmax(axis=1), weights=counts[alone], minlength=ens.n_members)
        # Rows gained per weight; ties go to the member that opposes most rows.
        chosen = left[np.lexsort((left, -dissent[left], -gains[left] / weights[left]))[0]]
        left = left[left != chosen]
        n_opposed = n_opposed - opposed[:, chosen]
        opposed[:, chosen] = False
        yield step(ens.names[chosen])
