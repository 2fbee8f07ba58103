"""The verdicts on cluster structure in words: the only place where they are worded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quorate.analysis.structure.feature_structure import Node, Structure

_SHOWN = 5
FEATURE_LIMITS = (
    "The test finds gaps along straight lines: rings and other shapes that no line separates may be missed."
)


def describe_feature_structure(found: Structure) -> str:
    """Return what the tests of the features found; a test that is not significant is no statement about clusters."""
    if found.verdict == "unknown":
        return "The clusters are too small to test whether the rows form clusters."
    if found.verdict == "none":
        text = f"No evidence of clusters: no gap between clusters is significant (p = {found.p_value:.2g}; not proof"
        text += " that there are none)."
    else:
        text = f"The rows form clusters (p = {found.p_value:.2g}). {_separation(found.nodes)}"
    return text + (" Tests used a sample of the rows." if found.sampled else "")


def _separation(nodes: Sequence[Node]) -> str:
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


def _pairs(pairs: Sequence[tuple[int, int]]) -> str:
    ordered = sorted((min(pair), max(pair)) for pair in pairs)
    named = ", ".join(f"{one} and {other}" for one, other in ordered[:_SHOWN])
    return named + (f" and {len(ordered) - _SHOWN} more pairs" if len(ordered) > _SHOWN else "")
