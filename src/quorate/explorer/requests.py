"""What a page may ask for, checked before any work: an answer is a method, its parameters, members and a k."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quorate._utils.checks import nearest_name
from quorate.algorithms.registry import AUTO, DEFAULT_METHOD, MethodInfo, methods
from quorate.errors import QuorateError

MOST_CLUSTERS = 200
"""The largest number of clusters the explorer shows."""
MOST_ROWS = 200
"""How many rows one page of rows may hold."""
_LONGEST_TEXT = 1000
# Of no use in a page.
_NOT_ASKED = ("random_state",)


@dataclass(frozen=True)
class Ask:
    """One answer that is asked for; everything that decides its labels."""

    method: str
    k: int | None
    """None: chosen by the method."""
    members: tuple[int, ...]
    """Positions of the members that take part, ascending."""
    weights: tuple[tuple[int, float], ...] = ()
    """Members whose influence was set by hand, in [0, 1]."""
    params: tuple[tuple[str, Any], ...] = ()

    @property
    def solved_by(self) -> Ask:
        """The same without k: what is solved once for all numbers of clusters."""
        return Ask(self.method, None, self.members, self.weights, self.params)


@functools.cache
def offered_methods() -> tuple[MethodInfo, ...]:
    """Return the methods a page may ask for, the default one first, under its own name."""
    known = methods()
    default = next(info for info in known if info.name == DEFAULT_METHOD)
    return (replace(default, name=AUTO), *known)


def parameters_of(info: MethodInfo) -> dict[str, Any]:
    """Return the parameters of a method that a page may set, with their default values."""
    return {name: value for name, value in info.parameters.items() if name not in _NOT_ASKED}


def parse_ask(data: Any, n_members: int) -> Ask:
    """Return what was asked for, or say in one sentence what is wrong with it."""
    fields = check_fields(data, required=(), optional=("method", "k", "members", "weights", "params"))
    method = fields.get("method", AUTO)
    known = tuple(info.name for info in offered_methods())
    if not isinstance(method, str) or method not in known:
        raise QuorateError(
            f"method must be one of {', '.join(known)}; got {_shown(method)}.{nearest_name(method, known)}"
        )
    k = fields.get("k")
    members = fields.get("members")
    chosen = range(n_members) if members is None else _positions("members", members, n_members)
    if not chosen:
        raise QuorateError("members must hold at least one member. Switch one on.")
    return Ask(
        method,
        None if k is None else check_whole("k", k, 1, MOST_CLUSTERS),
        tuple(sorted(chosen)),
        _weights(fields.get("weights"), n_members),
        _params(fields.get("params"), method),
    )


def check_fields(data: Any, required: Sequence[str], optional: Sequence[str] = ()) -> Mapping[str, Any]:
    """Return the fields of a JSON object that has these and no others."""
    if not isinstance(data, dict):
        raise QuorateError(f"A JSON object is required; got {_shown(data)}.")
    for name in required:
        if name not in data:
            raise QuorateError(f"The field {name!r} is missing.")
    for name in data:
        if name not in (*required, *optional):
            raise QuorateError(f"There is no field {_shown(name)}.{nearest_name(name, (*required, *optional))}")
    return data


def check_whole(name: str, value: Any, low: int, high: int) -> int:
    """Return a whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise QuorateError(f"{name} must be a whole number from {low} to {high}; got {_shown(value)}.")
    return value


def check_real(name: str, value: Any, low: float = -math.inf, high: float = math.inf) -> float:
    """Return a finite number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise QuorateError(f"{name} must be a finite number; got {_shown(value)}.")
    if not low <= value <= high:
        raise QuorateError(f"{name} must be from {low:g} to {high:g}; got {value:g}.")
    return float(value)


def check_text(name: str, value: Any) -> str:
    """Return text that is not too long."""
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        raise QuorateError(f"{name} must be text of at most {_LONGEST_TEXT} characters; got {_shown(value)}.")
    return value


def _positions(name: str, value: Any, n_members: int) -> list[int]:
    if not isinstance(value, list):
        raise QuorateError(f"{name} must be a list of positions; got {_shown(value)}.")
    found = [check_whole(name, one, 0, n_members - 1) for one in value]
    if len(set(found)) < len(found):
        raise QuorateError(f"{name} names a member twice.")
    return found


def _weights(value: Any, n_members: int) -> tuple[tuple[int, float], ...]:
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise QuorateError(f"weights must be an object of positions and numbers; got {_shown(value)}.")
    found = []
    for place, weight in value.items():
        if not (place.isascii() and place.isdigit() and len(place) < 10):
            raise QuorateError(f"weights must be given by the positions of members; got {_shown(place)}.")
        position = check_whole("weights", int(place), 0, n_members - 1)
        found.append((position, check_real("weights", weight, 0.0, 1.0)))
    return tuple(sorted(dict(found).items()))


def _params(value: Any, method: str) -> tuple[tuple[str, Any], ...]:
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise QuorateError(f"params must be an object of names and values; got {_shown(value)}.")
    allowed = parameters_of(next(info for info in offered_methods() if info.name == method))
    found = {}
    for name, given in value.items():
        if name not in allowed:
            raise QuorateError(f"{method} has no parameter {_shown(name)} to set.{nearest_name(name, allowed)}")
        found[name] = _value(name, given, allowed[name])
    return tuple(sorted((name, one) for name, one in found.items() if one != allowed[name]))


def _value(name: str, given: Any, default: Any) -> Any:
    """Return a parameter's value of the kind that its default has; what it may be, the method checks."""
    if isinstance(default, bool):
        if not isinstance(given, bool):
            raise QuorateError(f"{name} must be true or false; got {_shown(given)}.")
        return given
    if isinstance(default, int):
        return check_whole(name, given, 0, 1000)
    if isinstance(default, float):
        return check_real(name, given, -1e6, 1e6)
    if given is None and default is None:
        return None
    return check_text(name, given)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
