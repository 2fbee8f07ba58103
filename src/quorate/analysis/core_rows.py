"""The core: the rows on which most members agree exactly with the consensus.

A member agrees with the consensus on a set of rows if its partition of these rows is the same up to renaming. Each
member's clusters are first matched one-to-one to the consensus clusters (largest number of shared rows). A row then
opposes a member if the member's label of the row is not the matched one; a missing label opposes nothing. The core at
agreement a holds the rows that no member opposes once members of at most 1 - a of the weight are set aside. Which
members to set aside is chosen greedily, one after the other, so the cores for falling a are nested. The idea follows
credible partial partitions (CHIPS, arXiv 2511.16040).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from quorate._utils.array_types import Bools, Floats, Ints, Labels
from quorate._utils.checks import check_number
from quorate.algorithms.registry import ConsensusResult, consensus
from quorate.ensemble import Ensemble
from quorate.row_similarity import group_sizes, shared_rows


@dataclass(frozen=True)
class CoreStep:
    """A point of the curve of rows kept against the agreement that is required."""

    agreement: float
    """Share of the members' weight that agrees exactly on the rows kept."""
    share: float
    """Share of the rows kept."""
    set_aside: str | None
    """The member that was set aside to get here; None at the first point."""


@dataclass(frozen=True)
class Core:
    """The rows on which the required share of the members' weight agrees exactly with the consensus."""

    labels: Labels
    """(n,) the consensus label of the rows of the core, -1 elsewhere."""
    share: float
    """Share of the rows in the core."""
    cluster_shares: Floats
    """(k,) share of each consensus cluster in the core."""
    agreement: float
    """Share of the members' weight that agrees exactly on the core; at least what was required."""
    set_aside: tuple[str, ...]
    """The members that may disagree on the core."""
    curve: tuple[CoreStep, ...]
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
    ens, groups = result.ensemble, result.estimator.pattern_labels_
    opposed = oppositions(ens, groups) & (result.member_weights > 0)  # members without weight do not count
    path = _set_aside_in_turn(ens, groups, opposed, result.member_weights)
    step = max(i for i, point in enumerate(path) if point.agreement >= agreement - 1e-12)
    aside = np.array([ens.names.index(str(point.set_aside)) for point in path[1 : step + 1]], dtype=np.int64)
    in_core = _not_opposed(groups, opposed, aside)
    kept = np.where(in_core, groups, -1)
    sizes = group_sizes(ens, groups, result.n_clusters)
    return Core(
        labels=kept[ens.row_pattern],
        share=path[step].share,
        cluster_shares=group_sizes(ens, kept, result.n_clusters) / sizes,
        agreement=path[step].agreement,
        set_aside=tuple(ens.names[j] for j in aside),
        curve=tuple(path),
    )


def oppositions(ens: Ensemble, groups: Labels) -> Bools:
    """Return (m, M): whether the label of a pattern in a member is not the one matched to its consensus cluster."""
    n_groups = int(groups.max()) + 1
    shared = shared_rows(ens, groups, n_groups)
    opposed = np.empty((ens.n_patterns, ens.n_members), dtype=np.bool_)
    for member in range(ens.n_members):
        clusters = np.flatnonzero(ens.cluster_member == member)
        partner = np.full(n_groups, -1)
        matched, columns = linear_sum_assignment(shared[:, clusters], maximize=True)
        partner[matched] = clusters[columns]
        given = ens.patterns[:, member]
        opposed[:, member] = (given >= 0) & (given != partner[groups])
    return opposed


def _set_aside_in_turn(ens: Ensemble, groups: Labels, opposed: Bools, weights: Floats) -> list[CoreStep]:
    """Set members aside one after the other, each time the one whose absence adds most rows per weight."""
    n_rows = float(ens.counts.sum())
    counts = np.where(groups >= 0, ens.counts, 0).astype(np.float64)
    left = np.flatnonzero(weights > 0)
    opposed = opposed.copy()
    path = [CoreStep(1.0, float(counts[~opposed.any(axis=1)].sum()) / n_rows, None)]
    agreeing = float(weights.sum())
    while len(left) > 1:
        n_opposed = opposed[:, left].sum(axis=1)
        only = counts * (n_opposed == 1)  # rows that one member alone keeps out
        gains = only @ opposed[:, left]
        dissent = counts @ opposed[:, left]  # breaks ties: the member that opposes most rows
        chosen = left[np.lexsort((left, -dissent, -gains / weights[left]))[0]]
        left = left[left != chosen]
        opposed[:, chosen] = False
        agreeing -= float(weights[chosen])
        share = float(counts[~opposed.any(axis=1)].sum()) / n_rows
        path.append(CoreStep(agreeing / float(weights.sum()), share, ens.names[chosen]))
    return path


def _not_opposed(groups: Labels, opposed: Bools, aside: Ints) -> Bools:
    rest = np.delete(opposed, aside, axis=1)
    return (groups >= 0) & ~rest.any(axis=1)
