"""How many clusters, and whether there are any: the evidence as plain values, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from quorate.boundaries import LEVEL, Structure
from quorate.choice import Candidate, Choice, split_in_halves
from quorate.consensus.examine import label_structure
from quorate.crowd import crowd_trust
from quorate.ensemble import Clusterings

_FROM_FEATURES = (
    "The features tell whether anything parts two clusters along the line between them: rings and spirals, which no "
    "line parts, may go unseen."
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

    `verdict` is one of "clear", "doubtful", "none to be seen" and "unknown"; `limits` says what this cannot tell.
    """
    if features is not None:
        return {
            "from": "features",
            "verdict": _verdict(features),
            "value": None,
            "p_value": round(features.p_value, 6),
            "sentence": features.sentence,
            "limits": _FROM_FEATURES,
            "boundaries": [{**asdict(boundary), "real": boundary.real} for boundary in features.boundaries],
        }
    found = label_structure(ens)
    return {
        "from": "labels",
        "verdict": "unknown" if found is None else found.verdict,
        "value": None if found is None else round(found.value, 6),
        "p_value": None,
        "sentence": _unknown(ens) if found is None else found.sentence,
        "limits": None if found is None else found.limits,
        "boundaries": [],
    }


def _verdict(features: Structure) -> str:
    if not features.testable:
        return "unknown"
    return "clear" if features.p_value < LEVEL else "none to be seen"


def _unknown(ens: Clusterings) -> str:
    """Return why labels alone cannot tell whether there are clusters."""
    if split_in_halves(ens) is None:
        return f"Fewer than four members: {_UNKNOWN}"
    if crowd_trust(ens).verdict == "too few rows to tell":
        return f"Too few rows: {_UNKNOWN}"
    return f"Fewer than four members agree with any other beyond chance: {_UNKNOWN}"
