"""Results as plain values ready for JSON, each with its sentence: choice, structure, clusters, members.

The summary, the explorer and the command show these, so that all of them use the same words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from quorate._utils.array_types import Floats, Labels
from quorate.algorithms.layers import Layers
from quorate.algorithms.portfolio import CandidateAnswer
from quorate.analysis.choose_k import Candidate, Choice
from quorate.analysis.clusters import ConsensusCluster, Split, next_merge
from quorate.analysis.compare import PartitionComparison
from quorate.analysis.core_rows import NestedCores
from quorate.analysis.member_camps import Camps, ball_around, difference, member_camps
from quorate.analysis.structure.feature_structure import Structure
from quorate.analysis.structure.label_structure import LabelStructure
from quorate.analysis.structure.wording import FEATURE_LIMITS
from quorate.ensemble import Clusterings
from quorate.features.kinds import KindCandidate
from quorate.reliability import NO_AGREEMENT, EnsembleTrust
from quorate.reporting.member_views import MemberRow
from quorate.reporting.sentences import (
    ball_sentence,
    camp_sentence,
    family_sentences,
    lowered_agreement_sentence,
    member_sentence,
    outlook_sentences,
)

_LONGEST_TEXT = 120
# Required agreements, in percent, at which the curve of the core is exact.
_CORE_LEVELS = range(100, 0, -2)
_CANDIDATE_SCORES = ("score", "eigengap", "stability", "agreement", "density")


def cluster_values(cluster: ConsensusCluster, total: float, ids: Sequence[int] | None = None) -> dict[str, Any]:
    """Return the figures of a cluster; `total` is the number of all rows, `ids` are the ids of all clusters."""
    return {
        "label": cluster.label,
        "id": cluster.label if ids is None else int(ids[cluster.label]),
        "size": cluster.size,
        "share": round(cluster.size / total, 6),
        "stability": round(cluster.stability, 4),
        "cohesion": round(cluster.cohesion, 4),
        "nearest": cluster.nearest if cluster.nearest >= 0 else None,
        "merge_cost": round(cluster.merge_cost, 4),
        "label_shares": [[text, round(share, 4)] for text, share in cluster.label_shares],
        "opponents": [[name, round(share, 4)] for name, share in cluster.opponents],
        "texts": text_values(cluster),
    }


def text_values(cluster: ConsensusCluster) -> list[list[Any]]:
    """Return the commonest text labels of a cluster's rows in the members, shortened, with their shares."""
    return [[text[:_LONGEST_TEXT], round(share, 4)] for text, share in cluster.label_shares]


def layer_values(layers: Layers) -> dict[str, Any]:
    """Return nested partitions, the coarsest first: sizes of clusters, and the cluster of the layer above of each."""
    above = (*layers.parents, None)
    return {
        "exact": layers.exact,
        "layers": [
            {"k": k, "sizes": sizes.tolist(), "parents": None if parents is None else parents.tolist()}
            for k, sizes, parents in zip(layers.n_clusters[::-1], layers.sizes[::-1], above[::-1], strict=True)
        ],
    }


def change_values(change: PartitionComparison) -> dict[str, Any]:
    """Return what changed since an earlier partition."""
    return {
        "rows": change.n_rows,
        "added": change.n_added,
        "removed": change.n_removed,
        "n_moved": change.n_moved,
        "share_moved": round(change.share_moved, 6),
        "ari": round(change.ari, 6),
        "matches": [
            {
                **{key: round(value, 6) if isinstance(value, float) else value for key, value in asdict(pair).items()},
                "relation": pair.relation,
            }
            for pair in change.matches
        ],
        "kept": [[pair.first, pair.second] for pair in change.kept],
        "split": [[old, list(new)] for old, new in change.split.items()],
        "merged": [[list(old), new] for new, old in change.merged.items()],
        "new": list(change.new),
        "gone": list(change.gone),
        "sentence": change.sentence,
    }


def camp_sentences(ens: Clusterings) -> list[str]:
    """Return how many members each group has; nothing for one group. The groups are not combined."""
    camp_of, _ = member_camps(ens)
    sizes = np.bincount(camp_of[camp_of >= 0]).tolist()
    return [camp_sentence(sizes)] if len(sizes) > 1 else []


def camp_values(camps: Camps, labels: Labels | None, ids: Sequence[int] | None = None) -> dict[str, Any] | None:
    """Return the groups of members that support different partitions; None for one group.

    With the labels (m,) of a result, whose clusters have these `ids`, each group is combined and compared with it.
    """
    if len(camps.camps) < 2:
        return None
    groups: list[dict[str, Any]] = [
        {
            "members": camp.members.tolist(),
            "weight": round(camp.weight, 6),
            "agreement": round(camp.agreement, 6),
            "most_central": camp.most_central,
        }
        for camp in camps.camps
    ]
    sentence = camp_sentence([len(camp.members) for camp in camps.camps])
    if labels is not None:
        changes = camps.compared_with(labels, ids)
        sentence = camps.sentence_about([difference(change) for change in changes], [change.ari for change in changes])
        for group, camp, change in zip(groups, camps.camps, changes, strict=True):
            group |= {
                "n_clusters": camp.consensus.n_clusters,
                "difference": difference(change),
                "ari": round(change.ari, 6),
            }
    return {
        "sentence": sentence,
        "between": round(camps.agreement_between, 6),
        "outliers": list(camps.outliers),
        "groups": groups,
    }


def core_values(cores: NestedCores) -> list[dict[str, Any]]:
    """Return the curve of rows kept against the required agreement, at most fifty steps; shares are percentages.

    `set_aside` are the members that may disagree in addition to those of the steps before.
    """
    values: list[dict[str, Any]] = []
    n_used = 1
    for level in _CORE_LEVELS:
        used = cores.steps_at(level / 100)
        step = used[-1]
        if values and len(used) == n_used:
            continue
        values.append(
            {
                "agreement": round(step.agreement, 6),
                "share": round(step.share, 6),
                "set_aside": [part.set_aside for part in used[n_used:]],
                "clusters": [round(100 * share) for share in step.cluster_shares],
            }
        )
        n_used = len(used)
    return values


def ball_values(names: Sequence[str], weights: Floats, distances: Floats) -> dict[str, Any]:
    """Return the distance of each member from the result, and the ball that holds 95 % of the weight."""
    ball = ball_around(names, weights, distances)
    weighted = weights > 0
    n_inside = int(np.sum(weighted & (distances <= ball.radius)))
    return {
        "distances": np.round(distances, 4).tolist(),
        "radius": round(ball.radius, 4),
        "outermost": list(ball.outermost),
        "sentence": ball_sentence(n_inside, int(weighted.sum()), ball.radius, ball.outermost),
    }


def outlook(
    clusters: Sequence[ConsensusCluster], split: Split | None, ids: Sequence[int] | None = None
) -> dict[str, Any]:
    """Return which clusters would merge next and which would split, as values and in sentences."""
    next_pair = next_merge(tuple(clusters))
    merge = None
    if next_pair is not None:
        merge = {"clusters": sorted(next_pair[:2]), "cost": round(next_pair[2], 4)}
    parts = None
    if split is not None:
        parts = {"cluster": split.label, "sizes": list(split.sizes), "cost": round(split.merge_cost, 4)}
    sentences = outlook_sentences(merge, parts, [cluster.size for cluster in clusters], ids)
    return {"merge": merge, "split": parts, "sentences": sentences}


def choice_values(choice: Choice) -> dict[str, Any]:
    """Return the candidates for the number of clusters, best first, and the scores of all numbers, ascending.

    `kinds` is true if the choice compares kinds of clusterings of features.
    """
    return {
        "candidates": [_candidate(candidate) for candidate in choice.candidates],
        "curve": [_candidate(candidate) for candidate in choice.curve],
        "kinds": any(isinstance(candidate, KindCandidate) for candidate in choice.curve),
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    """Return a number of clusters with its scores; None where a score is not available."""
    # Candidates of labels and of features have different scores.
    scores = {name: getattr(candidate, name, np.nan) for name in _CANDIDATE_SCORES}
    return {
        "k": candidate.n_clusters,
        **{name: None if np.isnan(value) else round(value, 6) for name, value in scores.items()},
    }


def candidate_values(candidates: Sequence[CandidateAnswer]) -> list[dict[str, Any]]:
    """Return the methods that the default compared, with their agreement with the members, the best first."""
    return [
        {
            "method": candidate.method,
            "agreement": round(candidate.agreement, 6),
            "n_clusters": candidate.n_clusters,
            "chosen": candidate.chosen,
        }
        # The chosen one first, then by agreement.
        for candidate in sorted(candidates, key=lambda candidate: (not candidate.chosen, -candidate.agreement))
    ]


def structure_values(structure: Structure | LabelStructure) -> dict[str, Any]:
    """Return whether there is cluster structure, by the test of the features or by the labels.

    `verdict` is one of "clear", "weak", "none" and "unknown"; `k` is the number of clusters that was checked, and
    `limits` is what the check can miss.
    """
    if isinstance(structure, Structure):
        return {
            "from": "features",
            "verdict": structure.verdict,
            "k": structure.n_clusters,
            "value": None,
            "p_value": round(structure.p_value, 6),
            "sentence": structure.sentence,
            "limits": FEATURE_LIMITS,
            "nodes": [asdict(node) for node in structure.nodes],
        }
    return {
        "from": "labels",
        "verdict": structure.verdict,
        "k": structure.n_clusters,
        "value": None if structure.stability is None else round(structure.stability, 6),
        "p_value": None,
        "sentence": structure.sentence,
        "limits": structure.limits,
        "nodes": [],
    }


def member_values(row: MemberRow) -> dict[str, Any]:
    """Return the figures of a member, its reliability (`status`), and the `reason` as a sentence."""
    figures = {key: round(value, 6) if isinstance(value, float) else value for key, value in asdict(row).items()}
    return {**figures, "reason": member_sentence(row)}


def reliability_values(agreement: EnsembleTrust, names: Sequence[str], weights: Floats) -> dict[str, Any]:
    """Return whether members agree more than random clusterings would, and which are near-identical."""
    sentences = {
        "beyond chance": None,
        "no more than chance": NO_AGREEMENT,
        "too few rows to tell": "There are too few rows to distinguish the members' agreement from chance.",
    }
    copies = [
        {
            "members": [names[j] for j in group],
            "weight": round(float(weights[list(group)].sum()), 6),
            "kind": agreement.families.kind(group),
            "same_rows": agreement.families.same_rows(group),
        }
        for group in agreement.copies
    ]
    n_alone = int(np.sum(~agreement.agrees)) if agreement.verdict == "beyond chance" else 0
    notes = [lowered_agreement_sentence(n_alone)] if n_alone else []
    return {
        "verdict": agreement.verdict,
        "sentence": sentences[agreement.verdict],
        "copies": copies,
        "notes": [*notes, *family_sentences(copies)],
        "families_given": agreement.families.given,
        "effective_members": round(agreement.families.effective_members, 2),
    }
