"""Help on a method's parameters, from its docstring."""

from __future__ import annotations

import inspect
import re
from typing import Any

from quorate.reliability import WEIGHTS

# On the page, families can only be given as a pattern.
_GROUPS = (
    'A pattern such as "{tool}_*": members with the same text at "{tool}" are one family and count as one member. '
    "Default: detected from the labels."
)


def parameter_help(estimator: type, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    """Return name, default, choices and meaning of an estimator's parameters."""
    described = _described(inspect.getdoc(estimator) or "")
    entries = []
    for name, default in parameters.items():
        kind, meaning = described.get(name, ("", ""))
        meaning = _GROUPS if name == "groups" else meaning
        choices = re.match(r"\{([^}]*)\}", kind)
        listed = [choice.strip().strip("\"'") for choice in choices.group(1).split(",")] if choices else None
        entries.append(
            {
                "name": name,
                "default": default,
                "kind": type(default).__name__,
                "choices": _weights(estimator) if name == "weights" else listed,
                "meaning": meaning,
            }
        )
    return entries


def _weights(estimator: type) -> list[str]:
    """Return the values of `weights` that a method accepts."""
    return [*WEIGHTS, "local"] if getattr(estimator, "local_weights", False) else list(WEIGHTS)


def _described(text: str) -> dict[str, tuple[str, str]]:
    """Return the type and the meaning of each parameter in a numpydoc docstring."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?:\n\n\w|\Z)", text, re.DOTALL | re.MULTILINE)
    entries: dict[str, tuple[str, str]] = {}
    for match in re.finditer(
        r"^(\S[^:\n]*) : ([^\n]*)\n((?:    [^\n]*\n?)*)", section.group(1) if section else "", re.MULTILINE
    ):
        meaning = " ".join(match.group(3).split()).replace("`", "")
        for name in match.group(1).split(", "):
            entries[name] = (match.group(2), meaning)
    return entries
