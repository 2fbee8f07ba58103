"""The result at one number of clusters and at several, with all figures that pages and plots show of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate._utils.array_types import Floats, Ints
from quorate.algorithms.answer import Answer
from quorate.algorithms.base import ConsensusMethod
from quorate.analysis.choose_k import Choice
from quorate.analysis.clusters import ConsensusCluster, confidence_by_chance
from quorate.analysis.diagnosis import Diagnosis
from quorate.analysis.member_camps import information_distances
from quorate.certainty import Votes
from quorate.ensemble import Ensemble, member_codes
from quorate.numerics.mutual_information import agreement_with
from quorate.row_similarity import shared_rows

_BINS = 20
_USUAL_KS = 20
_ROUNDING = 1e-9  # of margins
_MOST_SWEPT = 512


def answer_at(fitted: ConsensusMethod, n_clusters: int | None) -> Answer:
    """Return the consensus at a number of clusters; None: as fitted."""
    return fitted.answer_ if n_clusters is None else fitted.solution_.answer(n_clusters)


@dataclass(frozen=True)
class Cut:
    """The result at one number of clusters."""

    n_clusters: int
    labels: Ints
    """(m,) consensus label of each pattern."""
    weights: Floats
    """(M,) weights of the members."""
    confidence: Floats
    """(m,) confidence of each pattern's rows."""
    margin: Floats
    """(m,) confidence minus that of the runner-up; negative if the runner-up fits better."""
    runner_up: Ints
    """(m,) the second-best cluster, -1 for none."""
    sizes: Floats
    stability: Floats
    """(k,) how well the members reproduce each cluster."""
    opponents: tuple[tuple[tuple[str, float], ...], ...]
    """For each cluster, the members that separate its rows most, with the share of pairs they separate."""
    clusters: tuple[ConsensusCluster, ...]
    mean_confidence: float
    chance_confidence: float
    """The mean confidence of random rows."""
    n_outvoted: float
    """Number of rows for which the runner-up has more votes: the margin is negative."""
    agreement: float
    """Weighted mean chance-corrected agreement (AMI) of the result with the members."""
    distances: Floats
    """(M,) variation of information between the result and each member, in bits."""
    histogram: Floats
    """Number of rows per twentieth of confidence."""


def cut_view(answer: Answer) -> Cut:
    """Return the figures of a consensus."""
    ens, labels, weights = answer.ensemble, answer.labels, answer.weights
    groups, certainties, clusters = answer.groups, answer.certainty, answer.clusters
    labeled = labels >= 0
    counts = ens.counts[labeled].astype(np.float64)
    # A confidence of 1 belongs to the last bin.
    bins = np.minimum((certainties.confidence[labeled] * _BINS).astype(int), _BINS - 1)
    return Cut(
        n_clusters=len(clusters),
        labels=labels,
        weights=weights,
        confidence=certainties.confidence,
        margin=certainties.margin,
        runner_up=certainties.runner_up,
        sizes=np.array([cluster.size for cluster in clusters]),
        stability=np.array([cluster.stability for cluster in clusters]),
        opponents=tuple(cluster.opponents for cluster in clusters),
        clusters=clusters,
        mean_confidence=float(np.average(certainties.confidence[labeled], weights=counts)) if len(counts) else 0.0,
        chance_confidence=confidence_by_chance(ens, weights, groups),
        n_outvoted=float(ens.weight_unit * (counts @ (certainties.margin[labeled] < -_ROUNDING))),
        agreement=float(weights @ agreement_with(ens, groups.shared)),
        distances=information_distances(ens, groups.shared),
        histogram=np.bincount(bins, weights=counts, minlength=_BINS).astype(np.float64),
    )


@dataclass(frozen=True)
class SweepView:
    """Results at several numbers of clusters."""

    ks: tuple[int, ...]
    cuts: tuple[Cut, ...]
    scores: Floats
    """The score of `choose_k` at each k; NaN where it has none."""
    choice: Choice
    """The automatic choice of the number of clusters."""


def sweep_view(diagnosis: Diagnosis, n_clusters: Iterable[int] | None = None) -> SweepView:
    """Return the results at several numbers of clusters; by default 2 to 20, or twenty around the one diagnosed."""
    if n_clusters is None:
        n_clusters = usual_ks(diagnosis.k, diagnosis.solution.max_clusters)
    answers = diagnosis.sweep(n_clusters)
    scores = {candidate.n_clusters: candidate.score for candidate in diagnosis.choice.curve}
    return SweepView(
        ks=tuple(answers),
        cuts=tuple(cut_view(answer) for answer in answers.values()),
        scores=np.array([scores.get(k, np.nan) for k in answers]),
        choice=diagnosis.choice,
    )


def usual_ks(fitted_k: int, most: int) -> list[int]:
    """Return about twenty numbers of clusters, including the fitted one; only that one if it is large."""
    if fitted_k > _MOST_SWEPT:
        return [fitted_k]
    if fitted_k <= _USUAL_KS:
        return sorted({fitted_k, *range(min(2, most), min(most, _USUAL_KS) + 1)})
    # Evenly spread numbers up to a quarter beyond the fitted one.
    spread = np.linspace(2, min(most, 1.25 * fitted_k), _USUAL_KS - 1)
    return sorted({fitted_k, *(int(k) for k in spread.round())})


def strongest_votes(ens: Ensemble, cut: Cut) -> tuple[Ints, Floats]:
    """(n_clusters,), (n_clusters,) the consensus cluster that each cluster of a member votes for most, and its vote.

    The mean of the members' votes, by weight, is the confidence of a row (`quorate.certainty`).
    """
    shared = shared_rows(ens, cut.labels, cut.n_clusters)
    return Votes.of_clusters(ens.cluster_member, cut.weights, shared).strongest


def contingency(ens: Ensemble, member: int, labels: Ints) -> Floats:
    """(clusters of the member, k) the number of rows that a member's clusters share with the consensus clusters."""
    offset = int(ens.cluster_offsets[member])
    codes = ens.patterns[:, member] - offset
    labeled = (ens.patterns[:, member] >= 0) & (labels >= 0)
    n_groups = int(labels.max(initial=-1)) + 1
    n_clusters = len(ens.levels[member])
    # One count for all pairs of a cluster and a group.
    cells = codes[labeled] * n_groups + labels[labeled]
    table = np.bincount(cells, weights=ens.counts[labeled], minlength=n_clusters * n_groups)
    return table.reshape(n_clusters, n_groups).astype(np.float64)


def member_contingency(ens: Ensemble, first: int, second: int) -> Floats:
    """(clusters of a member, clusters of another) the number of rows that they share."""
    table = contingency(ens, first, member_codes(ens, second).astype(np.int64))
    # Clusters without shared rows have empty columns.
    return np.pad(table, ((0, 0), (0, len(ens.levels[second]) - table.shape[1])))


def transition(first: Sequence[int] | Ints, second: Sequence[int] | Ints, counts: Any) -> list[list[int | float]]:
    """Return the nonempty cells [cluster of one, cluster of the other, rows] of two clusterings."""
    a, b = np.asarray(first), np.asarray(second)
    labeled = (a >= 0) & (b >= 0)
    width = int(b.max(initial=0)) + 1
    cells, position = np.unique(a[labeled] * width + b[labeled], return_inverse=True)
    rows = np.bincount(position, weights=np.asarray(counts, dtype=np.float64)[labeled], minlength=len(cells))
    return [[int(cell // width), int(cell % width), float(n)] for cell, n in zip(cells, rows, strict=True)]
