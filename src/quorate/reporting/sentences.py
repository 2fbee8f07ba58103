"""Clusters as plain values, and in words: how firm they are beside chance, what would merge next and what split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from quorate.analysis.choose_k import Candidate, Choice, split_in_halves
from quorate.analysis.clusters import ConsensusCluster, Split, next_merge
from quorate.analysis.structure.feature_structure import Structure
from quorate.analysis.structure.label_structure import label_structure
from quorate.analysis.structure.wording import FEATURE_LIMITS
from quorate.ensemble import Clusterings
from quorate.reliability import crowd_trust


def cluster_values(cluster: ConsensusCluster, total: float) -> dict[str, Any]:
    """Return what there is to say about a cluster, as values ready for JSON; `total` is the size of all rows."""
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
    merge = next_merge(tuple(clusters))
    told: dict[str, Any] = {"merge": None, "split": None, "sentences": []}
    if merge is not None:
        one, other = sorted(merge[:2])
        told["merge"] = {"clusters": [one, other], "cost": round(merge[2], 4)}
        told["sentences"].append(
            f"Clusters {one} and {other} would merge first: {_apart(merge[2], 'rows of the two')}."
        )
    elif len(clusters) > 1:
        told["sentences"].append("No two clusters would merge: no member puts rows of different clusters together.")
    if split is not None:
        told["split"] = {"cluster": split.label, "sizes": list(split.sizes), "cost": round(split.merge_cost, 4)}
        sizes = " and ".join(f"{size:,.0f}" if size.is_integer() else f"{size:,.1f}" for size in split.sizes)
        apart = _apart(split.merge_cost, "rows of the two parts")
        told["sentences"].append(f"Cluster {split.label} would split first, into {sizes} rows: {apart}.")
    if merge is not None and split is not None and split.merge_cost >= merge[2]:
        told["sentences"].append("More clusters would be told apart as well as these: nothing holds at this number.")
    return told


def _apart(cost: float, rows: str) -> str:
    """Return in words how much less often rows of two clusters are together than those of the looser one."""
    if cost >= 0.995:
        return f"{rows} are hardly ever together"
    if cost < 0.005:
        return f"{rows} are together as often as those of the looser one"
    return f"{rows} are together {cost:.0%} less often than those of the looser one"


def beside_chance(mean_confidence: float, by_chance: float) -> str:
    """Return what the mean confidence means, beside what it would be for rows picked at random."""
    return (
        f"Two rows of a cluster are together in {mean_confidence:.0%} of the members, by weight (mean confidence); two "
        f"rows picked at random are in {by_chance:.0%}."
    )


_UNKNOWN = "labels alone cannot tell whether there are clusters at all."


def describe_choice(choice: Choice) -> dict[str, Any]:
    """Return the best candidates and the whole curve of a choice: best first, and by number of clusters."""
    return {
        "candidates": [_candidate(candidate) for candidate in choice.candidates],
        "curve": [_candidate(candidate) for candidate in choice.curve],
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    """Return a number of clusters with its evidence; None where a part of it is unknown."""
    evidence = {name: getattr(candidate, name) for name in ("score", "eigengap", "stability")}
    return {
        "k": candidate.n_clusters,
        **{name: None if np.isnan(value) else round(value, 6) for name, value in evidence.items()},
    }


def explain_choice(k: int, choice: Choice | None, *, automatic: bool, asked: Sequence[int] = ()) -> str:
    """Return why there are k clusters, and if they (or several numbers) were asked for, what the choice would be."""
    if automatic and choice is not None:
        return choice.sentence
    several = f"{min(asked)} to {max(asked)} clusters were asked for; these are the {k}." if len(asked) > 1 else None
    asked_for = several or f"{k} clusters were asked for."
    if choice is None:
        return asked_for
    return f"{asked_for} {'The automatic choice would be ' if choice.candidates else ''}{choice.sentence}"


def describe_structure(ens: Clusterings, features: Structure | None = None) -> dict[str, Any]:
    """Return whether there is anything to find: by the features where their structure is known, else by the labels.

    `verdict` is one of "clear", "weak", "none" and "unknown"; `limits` says what this cannot tell.
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
    found = label_structure(ens)
    return {
        "from": "labels",
        "verdict": "unknown" if found is None else found.verdict,
        "value": None if found is None else round(found.value, 6),
        "p_value": None,
        "sentence": _unknown(ens) if found is None else found.sentence,
        "limits": None if found is None else found.limits,
        "nodes": [],
    }


def _unknown(ens: Clusterings) -> str:
    """Return why labels alone cannot tell whether there are clusters."""
    if split_in_halves(ens) is None:
        return f"Fewer than four members: {_UNKNOWN}"
    if crowd_trust(ens).verdict == "too few rows to tell":
        return f"Too few rows: {_UNKNOWN}"
    return f"Fewer than four members agree with any other beyond chance: {_UNKNOWN}"


SAID_FIRST = {
    "none": "No evidence of clusters.",
    "weak": "Evidence of clusters is weak.",
}
"""What is said of noise, and where labels cannot tell."""
_NAMED = 3
_HARDLY = 0.25  # of what the member that counts most counts


def verdict(summary: dict[str, Any]) -> str:
    """Return one sentence: how many clusters, how they share the rows, whether they are clear, and whom to doubt.

    Where members agree no more than chance would, or clusters are doubtful, that is said first.
    """
    crowd, structure = summary["crowd"], summary["structure"]
    said_first = [crowd["sentence"]] if crowd["verdict"] == "no more than chance" else []
    if structure["verdict"] in SAID_FIRST:
        said_first.append(SAID_FIRST[structure["verdict"]])
    answer = next(answer for answer in summary["answers"] if answer["k"] == summary["choice"]["k"])
    sizes = [cluster["size"] for cluster in answer["clusters"]]
    members = summary["members"]
    parts = [f"{_count(len(members), 'clustering')} combined {_sizes(sizes)}"]
    parts += _clarity(structure)
    doubted = [member for member in members if member["trust"] == "hardly"]
    if doubted and len(members) > 1:
        parts.append(_doubt(doubted, len(members)))
    elif len(members) > 1:
        parts.append("no member stands apart from the others")
    return " ".join([*said_first, "; ".join(parts) + "."])


def _clarity(structure: dict[str, Any]) -> list[str]:
    """Return whether the clusters are clear; nothing where doubt is said first, or nothing is known."""
    if structure["verdict"] != "clear":
        return []
    doubtful = sum(node["verdict"] != "separated" for node in structure["nodes"])
    if doubtful:
        return [f"there are clusters, but {_count(doubtful, 'gap')} between them {_are(doubtful)} not significant"]
    return ["they are clear"]


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _sizes(sizes: Sequence[float]) -> str:
    if len(sizes) == 1:
        return "make one cluster: they do not tell any groups of rows apart"
    share = max(sizes) / sum(sizes)
    spread = f"the largest with {share:.0%} of the rows"
    if len(sizes) <= 4:
        spread = "of " + _joined([_rows(size) for size in sizes]) + " rows"
    return f"make {len(sizes)} clusters, {spread}" if len(sizes) > 4 else f"make {len(sizes)} clusters {spread}"


def _doubt(doubted: Sequence[dict[str, Any]], n_members: int) -> str:
    """Return who agrees with hardly any other, and whether that keeps them from counting."""
    named = _joined([_quoted(member["name"]) for member in doubted])
    who = named if len(doubted) <= _NAMED else f"{len(doubted)} of the {n_members}"
    agree, count = ("agrees", "counts") if len(doubted) == 1 else ("agree", "count")
    hardly = max(member["influence"] for member in doubted) < _HARDLY
    return f"{who} {agree} with hardly any other " + (f"and hardly {count}" if hardly else f"but {count} all the same")


def _quoted(name: str) -> str:
    return f"“{name if len(name) <= 40 else name[:39] + '…'}”"


def _rows(size: float) -> str:
    return f"{size:,.0f}" if float(size).is_integer() else f"{size:,.1f}"


def _count(n: int, noun: str) -> str:
    return f"{n:,} " + (noun if n == 1 else f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s")


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
