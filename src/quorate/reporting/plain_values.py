"""Results as plain values ready for JSON, each with its sentence: choice, structure, clusters, members.

The summary, the explorer and the command show these, so that all of them use the same words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from quorate._utils.array_types import Floats
from quorate.algorithms.portfolio import CandidateAnswer
from quorate.analysis.choose_k import Candidate, Choice, split_in_halves
from quorate.analysis.clusters import ConsensusCluster, Split, next_merge
from quorate.analysis.structure.feature_structure import Structure
from quorate.analysis.structure.label_structure import label_structure
from quorate.analysis.structure.wording import FEATURE_LIMITS
from quorate.ensemble import Clusterings
from quorate.reliability import NO_AGREEMENT, CrowdTrust, crowd_trust
from quorate.reporting.member_views import MemberRow
from quorate.reporting.sentences import (
    copy_sentences,
    lowered_agreement_sentence,
    member_sentence,
    outlook_sentences,
)


def cluster_values(cluster: ConsensusCluster, total: float) -> dict[str, Any]:
    """Return the figures of a cluster; `total` is the number of all rows."""
    return {
        "label": cluster.label,
        "size": cluster.size,
        "share": round(cluster.size / total, 6),
        "stability": round(cluster.stability, 4),
        "chance": round(cluster.chance, 4),
        "cohesion": round(cluster.cohesion, 4),
        "nearest": cluster.nearest if cluster.nearest >= 0 else None,
        "merge_cost": round(cluster.merge_cost, 4),
        "opponents": [[name, round(share, 4)] for name, share in cluster.opponents],
    }


def outlook(clusters: Sequence[ConsensusCluster], split: Split | None) -> dict[str, Any]:
    """Return which clusters would merge next and which would split, as values and in sentences."""
    next_pair = next_merge(tuple(clusters))
    merge = None
    if next_pair is not None:
        merge = {"clusters": sorted(next_pair[:2]), "cost": round(next_pair[2], 4)}
    parts = None
    if split is not None:
        parts = {"cluster": split.label, "sizes": list(split.sizes), "cost": round(split.merge_cost, 4)}
    sentences = outlook_sentences(merge, parts, [cluster.size for cluster in clusters])
    return {"merge": merge, "split": parts, "sentences": sentences}


def choice_values(choice: Choice) -> dict[str, Any]:
    """Return the candidates for the number of clusters, best first, and the scores of all numbers, ascending."""
    return {
        "candidates": [_candidate(candidate) for candidate in choice.candidates],
        "curve": [_candidate(candidate) for candidate in choice.curve],
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    """Return a number of clusters with its scores; None where a score is not available."""
    scores = {name: getattr(candidate, name) for name in ("score", "eigengap", "stability")}
    return {
        "k": candidate.n_clusters,
        **{name: None if np.isnan(value) else round(value, 6) for name, value in scores.items()},
    }


def candidate_values(candidates: Sequence[CandidateAnswer]) -> list[dict[str, Any]]:
    """Return the methods that the default compared, with their agreement with the members, the best first."""
    return [
        {
            "method": candidate.method,
            "agreement": round(candidate.agreement, 4),
            "n_clusters": candidate.n_clusters,
            "chosen": candidate.chosen,
        }
        for candidate in sorted(candidates, key=lambda candidate: (not candidate.chosen, -candidate.agreement))
    ]


def structure_values(ens: Clusterings, features: Structure | None = None) -> dict[str, Any]:
    """Return whether there is cluster structure: by the features if their test is given, else by the labels.

    `verdict` is one of "clear", "weak", "none" and "unknown"; `limits` is what the check can miss.
    """
    if features is not None:
        return {
            "from": "features",
            "verdict": features.verdict,
            "value": None,
            "p_value": round(features.p_value, 6),
            "sentence": features.sentence,
            "limits": FEATURE_LIMITS,
            "nodes": [asdict(node) for node in features.nodes],
        }
    structure = label_structure(ens)
    return {
        "from": "labels",
        "verdict": "unknown" if structure is None else structure.verdict,
        "value": None if structure is None else round(structure.value, 6),
        "p_value": None,
        "sentence": _no_label_structure(ens) if structure is None else structure.sentence,
        "limits": None if structure is None else structure.limits,
        "nodes": [],
    }


def _no_label_structure(ens: Clusterings) -> str:
    """Return why structure cannot be checked by labels alone."""
    if split_in_halves(ens) is None:
        return f"Too few members ({ens.n_members}) for a split-half check; at least 4 are needed."
    if crowd_trust(ens).verdict == "too few rows to tell":
        return "Too few rows for a check of cluster structure by labels alone."
    return "Too few members agree with any other for a split-half check; at least 4 are needed."


def member_values(row: MemberRow) -> dict[str, Any]:
    """Return the figures of a member, its reliability (`status`), and the `reason` as a sentence."""
    figures = {key: round(value, 6) if isinstance(value, float) else value for key, value in asdict(row).items()}
    return {**figures, "reason": member_sentence(row)}


def reliability_values(agreement: CrowdTrust, names: Sequence[str], weights: Floats) -> dict[str, Any]:
    """Return whether members agree more than random clusterings would, and which are near-identical."""
    sentences = {
        "beyond chance": None,
        "no more than chance": NO_AGREEMENT,
        "too few rows to tell": "There are too few rows to distinguish the members' agreement from chance.",
    }
    copies = [
        {"members": [names[j] for j in group], "weight": round(float(weights[list(group)].sum()), 6)}
        for group in agreement.copies
    ]
    n_alone = int(np.sum(~agreement.agrees)) if agreement.verdict == "beyond chance" else 0
    notes = [lowered_agreement_sentence(n_alone)] if n_alone else []
    return {
        "verdict": agreement.verdict,
        "sentence": sentences[agreement.verdict],
        "copies": copies,
        "notes": [*notes, *copy_sentences(copies)],
    }
