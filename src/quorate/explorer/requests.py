"""Requests of the page, checked before any work. A query is a method, its parameters, members and k."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quorate._utils.checks import nearest_name
from quorate.algorithms.registry import AUTO, MethodInfo, methods
from quorate.errors import InputError

MOST_CLUSTERS = 200
"""The largest number of clusters that the explorer shows."""
MOST_ROWS = 200
"""The largest number of rows on one page of rows."""
_LONGEST_TEXT = 1000
# Parameters that a page does not offer.
_HIDDEN = ("random_state",)


@dataclass(frozen=True)
class Query:
    """Everything that determines the labels of a result."""

    method: str
    k: int | None
    """None: automatic."""
    members: tuple[int, ...]
    """Positions of the enabled members, ascending."""
    weights: tuple[tuple[int, float], ...] = ()
    """Manual weights of single members, in [0, 1] (1 = highest)."""
    params: tuple[tuple[str, Any], ...] = ()

    @property
    def solved_by(self) -> Query:
        """The query without k: it is solved once for all numbers of clusters."""
        return Query(self.method, None, self.members, self.weights, self.params)


OFFERED_METHODS = methods()
"""The methods that a page offers, the default first."""


def parameters_of(info: MethodInfo) -> dict[str, Any]:
    """Return the parameters of a method that a page offers, with their default values."""
    return {name: value for name, value in info.parameters.items() if name not in _HIDDEN}


def parse_query(data: Any, n_members: int) -> Query:
    """Return the query of a JSON object; raise an error that names what is wrong with it."""
    fields = check_fields(data, required=(), optional=("method", "k", "members", "weights", "params"))
    method = fields.get("method", AUTO)
    names = tuple(info.name for info in OFFERED_METHODS)
    if not isinstance(method, str) or method not in names:
        raise InputError(
            f"must be one of {', '.join(names)}; got {_shown(method)}.{nearest_name(method, names)}",
            code="choice",
            parameter="method",
        )
    k = fields.get("k")
    members = fields.get("members")
    # No list means all members.
    chosen = range(n_members) if members is None else _positions("members", members, n_members)
    if not chosen:
        raise InputError(
            "must have at least one member.", code="no-member", parameter="members", hint="Enable a member."
        )
    return Query(
        method,
        None if k is None else check_whole("k", k, 1, MOST_CLUSTERS),
        tuple(sorted(chosen)),
        _weights(fields.get("weights"), n_members),
        _params(fields.get("params"), method),
    )


def check_fields(data: Any, required: Sequence[str], optional: Sequence[str] = ()) -> Mapping[str, Any]:
    """Return the fields of a JSON object that has these fields and no others."""
    if not isinstance(data, dict):
        raise InputError(f"A JSON object is required; got {_shown(data)}.", code="json-object")
    for name in required:
        if name not in data:
            raise InputError(f"The field {name!r} is missing.", code="missing-field")
    for name in data:
        if name not in (*required, *optional):
            suggestion = nearest_name(name, (*required, *optional))
            raise InputError(f"The field {_shown(name)} is unknown.{suggestion}", code="unknown-field")
    return data


def check_whole(name: str, value: Any, low: int, high: int) -> int:
    """Return an integer within bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(
            f"must be an integer from {low} to {high}; got {_shown(value)}.", code="integer", parameter=name
        )
    return value


def check_real(name: str, value: Any, low: float = -math.inf, high: float = math.inf) -> float:
    """Return a finite number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"must be a finite number; got {_shown(value)}.", code="number", parameter=name)
    if not low <= value <= high:
        raise InputError(f"must be from {low:g} to {high:g}; got {value:g}.", code="range", parameter=name)
    return float(value)


def check_text(name: str, value: Any) -> str:
    """Return text of limited length."""
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        raise InputError(
            f"must be text of at most {_LONGEST_TEXT} characters; got {_shown(value)}.", code="text", parameter=name
        )
    return value


def _positions(name: str, value: Any, n_members: int) -> list[int]:
    if not isinstance(value, list):
        raise InputError(f"must be a list of positions; got {_shown(value)}.", code="list", parameter=name)
    positions = [check_whole(name, position, 0, n_members - 1) for position in value]
    if len(set(positions)) < len(positions):
        raise InputError("must not contain a member twice.", code="duplicate", parameter=name)
    return positions


def _weights(value: Any, n_members: int) -> tuple[tuple[int, float], ...]:
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise InputError(
            f"must be an object of positions and numbers; got {_shown(value)}.", code="json-object", parameter="weights"
        )
    weights = {}
    for key, weight in value.items():
        if not (key.isascii() and key.isdigit() and len(key) < 10):
            raise InputError(
                f"must have positions of members as keys; got {_shown(key)}.", code="position", parameter="weights"
            )
        weights[check_whole("weights", int(key), 0, n_members - 1)] = check_real("weights", weight, 0.0, 1.0)
    return tuple(sorted(weights.items()))


def _params(value: Any, method: str) -> tuple[tuple[str, Any], ...]:
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise InputError(
            f"must be an object of names and values; got {_shown(value)}.", code="json-object", parameter="params"
        )
    defaults = parameters_of(next(info for info in OFFERED_METHODS if info.name == method))
    params = {}
    for name, given in value.items():
        if name not in defaults:
            raise InputError(
                f"{method} has no parameter {_shown(name)}.{nearest_name(name, defaults)}", code="unknown-parameter"
            )
        params[name] = _value(name, given, defaults[name])
    # Defaults are dropped, so that equal requests share one result.
    return tuple(sorted((name, given) for name, given in params.items() if given != defaults[name]))


# The type of the default decides what is accepted; the method itself checks ranges.
def _value(name: str, given: Any, default: Any) -> Any:
    """Return a parameter's value if it has the type of its default; the method checks the value itself."""
    if isinstance(default, bool):
        if not isinstance(given, bool):
            raise InputError(f"must be true or false; got {_shown(given)}.", code="boolean", parameter=name)
        return given
    if isinstance(default, int):
        return check_whole(name, given, 0, 1000)
    if isinstance(default, float):
        return check_real(name, given, -1e6, 1e6)
    if default is None and given is None:
        return None
    if default is None and isinstance(given, int | float):
        number = check_real(name, given, -1e6, 1e6)
        return int(number) if isinstance(given, int) else number
    return check_text(name, given)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
