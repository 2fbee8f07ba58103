"""The verdicts on cluster structure in words: the only place where they are worded.

Records are passed as they are and not imported: they call these functions for their sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_SHOWN = 5
FEATURE_LIMITS = (
    "The test finds gaps along straight lines: rings and other shapes that no line separates may be missed."
)


def describe_feature_structure(structure: Any) -> str:
    """Return what the tests of the features found; a test that is not significant is no statement about clusters."""
    if structure.verdict == "unknown":
        return "The clusters are too small to test whether the rows form clusters."
    if structure.verdict == "none":
        text = (
            f"No evidence of clusters: no gap between clusters is significant (p = {structure.p_value:.2g}; not proof"
        )
        text += " that there are none)."
    else:
        text = f"The rows form clusters (p = {structure.p_value:.2g}). {_separation(structure.nodes)}"
    return text + (" Tests used a sample of the rows." if structure.sampled else "")


def _separation(nodes: Sequence[Any]) -> str:
    """Return which clusters are separated significantly, and which cannot be tested."""
    doubtful = [node.closest for node in nodes if node.verdict == "not significant"]
    untested = [node.closest for node in nodes if node.verdict == "too small"]
    if not doubtful and not untested:
        return "Each cluster is significantly separated from the others."
    text = []
    if doubtful:
        text.append(f"No significant gap between clusters {_pairs(doubtful)} (not proof that they are one).")
    if untested:
        text.append(f"Too small to test: clusters {_pairs(untested)}.")
    return " ".join(text)


def _pairs(pairs: Sequence[tuple[Any, Any]]) -> str:
    ordered = sorted((min(pair), max(pair)) for pair in pairs)
    named = "; ".join(f"{first} and {second}" for first, second in ordered[:_SHOWN])
    return named + (f"; and {len(ordered) - _SHOWN} more pairs" if len(ordered) > _SHOWN else "")


_FINDINGS = {
    "clear": "Clear clusters",
    "weak": "Weak evidence of clusters",
    "none": "No evidence of these clusters",
}
_REASONS = {
    "one cluster": "there is a single cluster",
    "too few members": "there are fewer than four members",
    "too many clusters": "the check is made for at most 512 clusters",
    "too few agreeing members": "fewer than four members agree with any other more than chance",
    "too few rows": "there are too few rows",
}


def describe_label_structure(structure: Any) -> str:
    """Return how far halves of the members find the same clusters, and at which number of clusters."""
    if structure.reason is not None:
        return f"Labels cannot show whether there are clusters: {_REASONS[structure.reason]}."
    at = f"consensus stability {structure.stability:.2f} at {structure.n_clusters} clusters"
    return f"{_FINDINGS[structure.verdict]}, judged by labels only ({at})."


def label_limits(structure: Any) -> str | None:
    """Return what labels cannot show; None if nothing was checked."""
    if structure.verdict == "unknown":
        return None
    if structure.verdict == "none":
        return "Clusters that the members miss, or cut much finer, do not show in labels."
    return "Members that cut one elongated group in the same way are stable too; only features show the difference."
