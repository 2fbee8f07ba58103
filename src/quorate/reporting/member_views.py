"""Figures of the members: their pairwise agreement and one row of figures for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform

from quorate._utils.array_types import Floats, Ints
from quorate.ensemble import Clusterings
from quorate.numerics.mutual_information import Measure, Normalize, agreement
from quorate.reliability import EnsembleTrust, cai, ensemble_trust, member_reliability
from quorate.reporting.fitted_input import ensemble_of

_MOST_OPTIMAL = 300  # items whose leaf order is optimized, in cubic time


@dataclass(frozen=True)
class AgreementView:
    """The agreement of every two members, similar members next to each other."""

    names: tuple[str, ...]
    values: Floats
    """(M, M) agreement, in the order of `names`."""
    order: Ints
    """(M,) the member at each position."""


def agreement_view(
    ens: Any, *, measure: Measure = "ami", normalize: Normalize = "sqrt", order: bool = True
) -> AgreementView:
    """Return the agreement of every two members, ordered so that similar members are neighbors."""
    ens = ensemble_of(ens)
    values = agreement(ens, normalize, measure)
    positions = seriate(values) if order else np.arange(ens.n_members)
    return AgreementView(tuple(ens.names[j] for j in positions), values[np.ix_(positions, positions)], positions)


def seriate(similarity: Floats) -> Ints:
    """Return an order that puts similar items next to each other (leaves of average linkage, optimally flipped)."""
    if len(similarity) < 3:
        return np.arange(len(similarity))
    distance = 1.0 - (similarity + similarity.T) / 2
    np.fill_diagonal(distance, 0.0)
    condensed = np.clip(squareform(distance, checks=False), 0.0, None)
    tree = linkage(condensed, "average")
    if len(similarity) <= _MOST_OPTIMAL:
        tree = optimal_leaf_ordering(tree, condensed)
    return leaves_list(tree).astype(np.int64)


@dataclass(frozen=True)
class MemberRow:
    """The figures of a member."""

    name: str
    n_clusters: int
    coverage: float
    """Share of the rows it labels."""
    trust: float
    """Its mean chance-corrected agreement (AMI) with the other members, in [0, 1]."""
    trust_among_agreeing: float
    """The same over the others that agree with any: random members do not lower it."""
    beyond_chance: bool
    """Whether it agrees with any other member more than by chance; True if there are too few rows to test."""
    cai: float
    """The paper's index: its mean agreement (NMI) with the others, not corrected for chance."""
    ncai: float
    """`cai` over the largest of all members."""
    relative_weight: float
    """Its weight over the largest of all members, in [0, 1]."""
    weight: float
    status: str
    """Its reliability by agreement and weight: reliable, partly reliable, unreliable, not tested or ignored."""
    reason_code: str
    """The reason for the status (`quorate.reliability.MemberReliability`)."""
    family: int | None
    """The number of its family (`quorate.families`), counted from 1; None for a member on its own."""
    counts: float
    """How many members it counts for: 1 for a member on its own."""


def member_rows(
    ens: Any, weights: Floats | None = None, *, normalize: Normalize = "sqrt", member_trust: EnsembleTrust | None = None
) -> tuple[MemberRow, ...]:
    """Return the figures of each member, in the ensemble's order; weights default to NCAI squared.

    The agreement of the members, with their families, is computed from the labels unless it is given.
    """
    ens = ens if isinstance(ens, Clusterings) else ensemble_of(ens)
    mean_agreement = cai(ens, normalize)
    largest = mean_agreement.max()
    index = mean_agreement / largest if largest > 0 else np.ones(ens.n_members)  # NCAI, without a second pass
    weights = index**2 / np.sum(index**2) if weights is None else weights
    corrected = ensemble_trust(ens, normalize) if member_trust is None else member_trust
    untestable = corrected.verdict == "too few rows to tell"
    coverage = np.bincount(ens.cluster_member, weights=ens.cluster_sizes, minlength=ens.n_members) / ens.total_weight
    reliability = member_reliability(ens, corrected, weights)
    family = {j: number for number, group in enumerate(corrected.families.groups, start=1) for j in group}
    return tuple(
        MemberRow(
            name=ens.names[j],
            n_clusters=len(ens.levels[j]),
            coverage=float(coverage[j]),
            trust=float(corrected.index[j]),
            trust_among_agreeing=float(corrected.among_agreeing[j]),
            beyond_chance=bool(corrected.agrees[j]) or untestable,
            cai=float(mean_agreement[j]),
            ncai=float(index[j]),
            relative_weight=float(weights[j] / weights.max()),
            weight=float(weights[j]),
            status=reliability[j].word,
            reason_code=reliability[j].reason,
            family=family.get(j),
            counts=float(corrected.families.counts[j]),
        )
        for j in range(ens.n_members)
    )
