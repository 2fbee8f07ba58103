"""The summary of a consensus: plain values ready for JSON, from which the report is rendered."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp

import quorate
from quorate._utils.array_types import Floats, Ints
from quorate._utils.optional_imports import has_package
from quorate.algorithms.base import ConsensusMethod
from quorate.algorithms.graph import GraphMethod
from quorate.algorithms.portfolio import Portfolio
from quorate.algorithms.registry import method_title
from quorate.algorithms.tree import LinkageMethod
from quorate.analysis.clusters import Split, next_split, opposition
from quorate.analysis.core_rows import nested_cores
from quorate.analysis.diagnosis import Diagnosis
from quorate.analysis.scores import score_table
from quorate.analysis.structure.label_structure import label_structure
from quorate.ensemble import Clusterings, Ensemble
from quorate.reliability import EnsembleTrust, ensemble_trust
from quorate.reporting.cut_views import Cut, SweepView, sweep_view, transition
from quorate.reporting.feature_view import view_features
from quorate.reporting.figure_views import sample_coassociation, sample_patterns
from quorate.reporting.member_views import MemberRow, agreement_view, member_rows, seriate
from quorate.reporting.origin import KnownClasses, Origin
from quorate.reporting.plain_values import (
    ball_values,
    camp_values,
    candidate_values,
    change_values,
    choice_values,
    cluster_values,
    core_values,
    layer_values,
    member_values,
    outlook,
    reliability_values,
    structure_values,
)
from quorate.reporting.row_facts import RowFacts, facts_in_memory
from quorate.reporting.row_sample import embedded_rows, rows_that_fit, summarize_columns
from quorate.reporting.sentences import (
    candidate_sentence,
    choice_sentence,
    confidence_sentence,
    found_clusters,
    headline,
)
from quorate.row_similarity import shared_rows
from quorate.tables.out_of_core.block_consensus import BlockedConsensus

SUMMARY_VERSION = 8
"""Increases when a field of the summary changes its meaning, is removed, or is new and needed by the report."""

_UNCERTAIN_SHOWN = 12
_MEMBERS_IN_HEATMAP = 150
_CLASSES_SHOWN = 40
# The largest number of figures per member and cluster in a summary.
_MOST_SEPARATED = 20_000
# Labels of patterns above which only the written result has a core, and groups of members are not combined.
_LARGE = 2_000_000
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def summarize(
    fitted: ConsensusMethod, origin: Origin | None = None, *, n_clusters: Iterable[int] | None = None
) -> dict[str, Any]:
    """Return the summary of a consensus as plain values that `json.dumps` accepts.

    Parameters
    ----------
    fitted : a fitted consensus function
    origin : Origin, optional
        The source of the ensemble.
    n_clusters : iterable of int, optional
        The numbers of clusters to describe in addition to the fitted one. Default: up to twenty.
    """
    origin = origin or Origin()
    ens = fitted.ensemble_
    # The fitted number of clusters is always described.
    ks = None if n_clusters is None else {*n_clusters, fitted.n_clusters_}
    diagnosis = Diagnosis(fitted.solution_, fitted.n_clusters_, origin.structure)
    sweep = sweep_view(diagnosis, ks)
    splits = _splits(fitted, sweep)
    answers = [_answer(fitted, cut, split, origin) for cut, split in zip(sweep.cuts, splits, strict=True)]
    is_large = ens.n_patterns * ens.n_members > _LARGE
    for answer, cut in zip(answers, sweep.cuts, strict=True):
        if cut.n_clusters == fitted.n_clusters_ or not is_large:
            answer["core"] = core_values(nested_cores(ens, cut.labels, cut.weights))
    facts = _name_rows(answers, ens, origin)
    for answer, cut in zip(answers, sweep.cuts, strict=True):
        answer["columns"] = summarize_columns(facts, cut)
    # Beyond that the summary would be too large for a page.
    if ens.n_members * sum(sweep.ks) <= _MOST_SEPARATED:
        for answer, cut in zip(answers, sweep.cuts, strict=True):
            answer["separated"] = _separated(ens, cut)
    members = member_rows(ens, fitted.member_weights_, normalize=fitted.normalize, member_trust=fitted.ensemble_trust_)
    written = next(cut for cut in sweep.cuts if cut.n_clusters == fitted.n_clusters_)
    summary = {
        **_outline(ens, origin, fitted, members, fitted.ensemble_trust_),
        "camps": camp_values(diagnosis.camps, None if is_large else written.labels, _cluster_ids(written, origin)),
        "structure": structure_values(diagnosis.structure),
        "choice": _choice(fitted, sweep, origin),
        "agreement": _agreement(fitted, members),
        "layers": _layers(fitted, sweep, origin),
        "answers": answers,
        "steps": [
            transition(coarse.labels, fine.labels, ens.counts)
            for coarse, fine in zip(sweep.cuts, sweep.cuts[1:], strict=False)
        ],
        "matrix": _matrix(fitted, sweep),
        "rows": embedded_rows(ens, sweep, facts),
        "skipped_columns": list(facts.too_many),
        "features": None
        if origin.features is None
        else view_features(
            origin.features, sweep.cuts, {cut.n_clusters: _cluster_ids(cut, origin) for cut in sweep.cuts}
        ),
    }
    return {**summary, "headline": headline(summary)}


def summarize_blocks(consensus: BlockedConsensus, origin: Origin, class_table: Floats | None = None) -> dict[str, Any]:
    """Return the summary of a consensus whose patterns were read in blocks; what needs all of them is empty.

    class_table : (k, classes)
        The number of rows of each cluster in each known class, if there are any.
    """
    ens, method, k = consensus.ensemble, consensus.estimator, consensus.n_clusters
    member_trust = ensemble_trust(ens, method.normalize, method.groups)
    members = member_rows(ens, consensus.member_weights, normalize=method.normalize, member_trust=member_trust)
    total, automatic = sum(cluster.size for cluster in consensus.clusters), consensus.choice is not None
    scores = None if class_table is None else _rounded(asdict(score_table(class_table)))
    summary = {
        **_outline(ens, origin, method, members, member_trust),
        "structure": structure_values(label_structure(ens, k)),
        "choice": {
            "k": k,
            "automatic": automatic,
            "explanation": f"{choice_sentence(k, consensus.choice, automatic=automatic)} {ens.n_patterns:,} distinct "
            "rows of labels exceed the memory limit and were read in blocks.",
            "scores": {},
            "suggested": None if consensus.choice is None else consensus.choice.n_clusters,
            **(
                {"candidates": [], "curve": [], "kinds": False}
                if consensus.choice is None
                else choice_values(consensus.choice)
            ),
        },
        "answers": [
            {
                **_EMPTY_ANSWER,
                "k": k,
                "finding": found_clusters([cluster.size for cluster in consensus.clusters], ens.n_members),
                "clusters": [cluster_values(cluster, total) for cluster in consensus.clusters],
                "outlook": outlook(consensus.clusters, None),
                "unlabeled": ens.n_rows - total,
                "scores": scores,
                "command": None if origin.command_at is None else origin.command_at(k),
            }
        ],
    }
    return {**summary, "headline": headline(summary)}


_EMPTY_ANSWER: dict[str, Any] = {
    "change": None,
    "mean_confidence": None,
    "chance_confidence": None,
    "confidence_sentence": None,
    "agreement": None,
    "ball": None,
    "core": None,
    "confidence_histogram": [],
    "uncertain": [],
    "scores": None,
    "classes": None,
    "separated": None,
    "columns": [],
}
"""What an answer lacks if the patterns are not in memory."""


def _outline(
    ens: Clusterings, origin: Origin, method: ConsensusMethod, members: Sequence[MemberRow], agreement: EnsembleTrust
) -> dict[str, Any]:
    """Return the parts that every summary has; those that need all patterns are empty."""
    weights = np.array([row.weight for row in members])
    candidates = candidate_values(method.candidates_) if isinstance(method, Portfolio) else []
    return {
        "schema": "quorate-summary",
        "version": SUMMARY_VERSION,
        "source": _source(ens, origin),
        "method": {
            "name": method.name,
            "title": method_title(method.name),
            "citation": method.citation,
            "parameters": _parameters(method),
            "candidates": candidates,
            "choice": candidate_sentence(candidates) if candidates else None,
        },
        "members": [member_values(row) for row in members],
        "reliability": reliability_values(agreement, ens.names, weights),
        "camps": None,
        "agreement": None,
        "layers": None,
        "steps": [],
        "matrix": None,
        "rows": None,
        "skipped_columns": [],
        "features": None,
        "repeat": {"command": origin.command, "versions": _versions()},
    }


def _source(ens: Clusterings, origin: Origin) -> dict[str, Any]:
    labeled = float(np.sum(ens.cluster_sizes) / (ens.total_weight * ens.n_members))
    return {
        "name": origin.name,
        "rows": ens.n_rows,
        "members": ens.n_members,
        "clusters": ens.n_clusters,
        "patterns": ens.n_patterns,
        "missing": round(1.0 - labeled, 6),
        "id": origin.id_column,
        "truth": None if origin.classes is None else origin.classes.column,
        "classes": None if origin.classes is None else _class_names(origin.classes),
    }


def _parameters(fitted: ConsensusMethod) -> dict[str, Any]:
    return {name: _plain(value) for name, value in fitted.get_params().items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(item) for item in np.asarray(value).tolist()]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _choice(fitted: ConsensusMethod, sweep: SweepView, origin: Origin) -> dict[str, Any]:
    """Return the number of clusters and how it was chosen."""
    automatic = origin.automatic or isinstance(fitted.n_clusters, str)
    k, choice = fitted.n_clusters_, origin.choice or sweep.choice
    scores = {candidate.n_clusters: candidate.score for candidate in choice.curve}
    values = [round(scores[k], 6) if np.isfinite(scores.get(k, np.nan)) else None for k in sweep.ks]
    return {
        "k": k,
        "automatic": automatic,
        "explanation": choice_sentence(k, choice, automatic=automatic, requested=origin.requested),
        "scores": dict(zip(map(str, sweep.ks), values, strict=True)),
        "suggested": choice.n_clusters,
        **choice_values(choice),
    }


def _layers(fitted: ConsensusMethod, sweep: SweepView, origin: Origin) -> dict[str, Any] | None:
    """Return nested partitions at the requested numbers of clusters, or at the best-supported ones; None if one."""
    choice = origin.choice or sweep.choice
    ks = set(origin.layers) or {fitted.n_clusters_, *(candidate.n_clusters for candidate in choice.candidates)}
    ks = {min(k, fitted.solution_.max_clusters) for k in ks}
    return layer_values(fitted.layers(ks)) if len(ks) > 1 and min(ks) > 0 else None


def _agreement(fitted: ConsensusMethod, members: Sequence[MemberRow]) -> dict[str, Any]:
    """Return the agreement (AMI) of members; of many members, a bounded number spread evenly over their ranks."""
    ens = fitted.ensemble_
    shown = np.arange(ens.n_members)
    # Evenly over the ranks, so that both reliable and unreliable members are shown.
    if ens.n_members > _MEMBERS_IN_HEATMAP:
        ranked = np.argsort([-row.trust for row in members], kind="stable")
        shown = np.sort(ranked[np.linspace(0, ens.n_members - 1, _MEMBERS_IN_HEATMAP).astype(int)])
        ens = ens.select(shown.tolist())
    view = agreement_view(ens, normalize=fitted.normalize)
    return {
        "names": list(view.names),
        "members": shown[view.order].tolist(),
        "values": [[round(float(value), 3) for value in row] for row in view.values],
        "all_shown": len(shown) == len(members),
    }


def _splits(fitted: ConsensusMethod, sweep: SweepView) -> list[Split | None]:
    """Return what the result with one more cluster splits, at each k where that result is available or cheap."""
    finer: list[Ints | None] = [
        other.labels if other.n_clusters == cut.n_clusters + 1 else None
        for cut, other in zip(sweep.cuts, sweep.cuts[1:], strict=False)
    ]
    finer.append(None)
    # A method that solves each k separately would need another solution.
    solved = isinstance(fitted, LinkageMethod | GraphMethod)  # other methods solve each number of clusters separately
    for i, cut in enumerate(sweep.cuts):
        if finer[i] is None and solved and cut.n_clusters == fitted.n_clusters_ < fitted.solution_.max_clusters:
            finer[i] = fitted.solution_.cut(cut.n_clusters + 1)
    return [
        None if labels is None else next_split(fitted.ensemble_, cut.weights, cut.labels, labels)
        for cut, labels in zip(sweep.cuts, finer, strict=True)
    ]


def _answer(fitted: ConsensusMethod, cut: Cut, split: Split | None, origin: Origin) -> dict[str, Any]:
    ens, total = fitted.ensemble_, fitted.ensemble_.total_weight
    ids = _cluster_ids(cut, origin)
    change = None if origin.earlier is None else change_values(origin.earlier.compare(cut.labels, ids))
    answer = {
        "k": cut.n_clusters,
        "finding": found_clusters(cut.sizes.tolist(), ens.n_members),
        "clusters": [cluster_values(cluster, total, ids) for cluster in cut.clusters],
        "outlook": outlook(cut.clusters, split, ids),
        "change": change,
        "unlabeled": float(ens.counts[cut.labels < 0].sum()),
        "mean_confidence": round(cut.mean_confidence, 4),
        "chance_confidence": round(cut.chance_confidence, 4),
        # With one cluster there is nothing to vote on.
        "confidence_sentence": confidence_sentence(
            cut.mean_confidence, cut.chance_confidence, cut.n_outvoted, float(cut.sizes.sum())
        )
        if cut.n_clusters > 1
        else None,
        "agreement": round(cut.agreement, 4),
        "ball": ball_values(ens.names, cut.weights, cut.distances),
        "core": None,
        "confidence_histogram": cut.histogram.tolist(),
        "uncertain": _uncertain(fitted, cut),
        "scores": None,
        "classes": None,
        "separated": None,
        "command": _call(fitted, cut.n_clusters) if origin.command_at is None else origin.command_at(cut.n_clusters),
    }
    if origin.classes is not None:
        table = _class_table(cut.labels, origin.classes.counts)
        answer["scores"] = _rounded(asdict(score_table(table)))
        answer["classes"] = _shown_classes(table, origin.classes).tolist()
    return answer


def _cluster_ids(cut: Cut, origin: Origin) -> list[int]:
    """Return the ids of the clusters: those of an earlier partition if there is one, else 0, 1, ..."""
    if origin.earlier is None:
        return list(range(cut.n_clusters))
    return origin.earlier.cluster_ids(cut.labels, cut.sizes).tolist()


def _separated(ens: Ensemble, cut: Cut) -> list[list[int]]:
    """Return, for each cluster, the percentage of its pairs of rows that each member puts in different clusters."""
    shared, squared = (shared_rows(ens, cut.labels, cut.n_clusters, squared=squared) for squared in (False, True))
    return np.rint(100 * opposition(ens, shared, squared)).astype(int).tolist()


def _call(fitted: ConsensusMethod, k: int) -> str:
    """Return the Python code that computes the labels at k clusters."""
    # Only parameters that differ from the defaults are part of the call.
    defaults = type(fitted)(k).get_params()
    given = {**_parameters(fitted), "n_clusters": k}
    settings = "".join(f", {name}={value!r}" for name, value in given.items() if value != defaults[name])
    return f'quorate.consensus(labels, {k}, "{fitted.name}"{settings}).labels'


def _largest_classes(classes: KnownClasses) -> Ints:
    """Return the classes to show: all, or the largest of many."""
    sizes = np.asarray(classes.counts.sum(axis=0)).ravel()
    return np.sort(
        np.argsort(-sizes, kind="stable")[: len(sizes) if len(sizes) <= _CLASSES_SHOWN else _CLASSES_SHOWN - 1]
    )


def _class_names(classes: KnownClasses) -> list[str]:
    shown = [classes.names[c] for c in _largest_classes(classes)]
    others = len(classes.names) - len(shown)
    return shown if not others else [*shown, f"{others} others"]


def _shown_classes(table: Floats, classes: KnownClasses) -> Floats:
    """(k, classes shown) the table of classes by cluster; the smallest of many classes are merged."""
    shown = _largest_classes(classes)
    if len(shown) == table.shape[1]:
        return table
    rest = np.delete(table, shown, axis=1).sum(axis=1, keepdims=True)
    return np.concatenate([table[:, shown], rest], axis=1)


def _class_table(labels: Ints, class_counts: sp.csr_array) -> Floats:
    """(k, classes) the number of rows of each consensus cluster in each class."""
    labeled = np.flatnonzero(labels >= 0)
    shape = (int(labels.max(initial=-1)) + 1, len(labels))
    clusters = sp.csr_array((np.ones(len(labeled)), (labels[labeled], labeled)), shape=shape)
    return np.asarray((clusters @ class_counts).toarray())


def _uncertain(fitted: ConsensusMethod, cut: Cut) -> list[dict[str, Any]]:
    """Return the patterns with the least certain rows, and their second-best cluster."""
    ens = fitted.ensemble_
    labeled = np.flatnonzero(cut.labels >= 0)
    least = labeled[np.lexsort((labeled, cut.confidence[labeled]))[:_UNCERTAIN_SHOWN]]
    return [
        {
            "example": int(pattern),
            "rows": float(ens.counts[pattern]),
            "label": int(cut.labels[pattern]),
            "confidence": round(float(cut.confidence[pattern]), 4),
            "margin": round(float(cut.margin[pattern]), 4),
            "runner_up": int(cut.runner_up[pattern]) if cut.runner_up[pattern] >= 0 else None,
        }
        for pattern in least
    ]


def _name_rows(answers: Sequence[dict[str, Any]], ens: Ensemble, origin: Origin) -> RowFacts:
    """Replace the number of each uncertain pattern by the name of an example row; return the facts about rows.

    One request gathers everything, so that a file is read once.
    """
    lines = [line for answer in answers for line in answer["uncertain"]]
    patterns = np.unique(np.array([line["example"] for line in lines], dtype=np.int64))
    most = rows_that_fit(ens, len(answers))
    facts = facts_in_memory(ens, patterns, most) if origin.row_facts is None else origin.row_facts(patterns, most)
    name_of = dict(zip(patterns.tolist(), facts.examples, strict=True))
    for line in lines:
        line["example"] = name_of[line["example"]]
    return facts


def _matrix(fitted: ConsensusMethod, sweep: SweepView) -> dict[str, Any]:
    """Return the consensus matrix on samples, in hundredths, and the samples' cluster at each k."""
    chosen, rows = sample_patterns(fitted.ensemble_, fitted.pattern_labels_)
    matrix = sample_coassociation(fitted.ensemble_, fitted.member_weights_, chosen)
    order = seriate(matrix)
    chosen, rows, matrix = chosen[order], rows[order], matrix[np.ix_(order, order)]
    return {
        "rows": rows.tolist(),
        "values": np.rint(100 * matrix).astype(int).tolist(),
        "labels": {str(cut.n_clusters): cut.labels[chosen].tolist() for cut in sweep.cuts},
        "patterns": len(chosen),
    }


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {key: round(value, 6) if isinstance(value, float) else value for key, value in values.items()}


def _versions() -> dict[str, str]:
    packages = (*_PACKAGES, "duckdb") if has_package("duckdb") else _PACKAGES
    return {
        "quorate": quorate.__version__,
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }
