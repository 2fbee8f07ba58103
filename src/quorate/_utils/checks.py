"""Checks of parameters. Every error names the parameter, what is required and what was received."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from quorate.errors import InputError

if TYPE_CHECKING:  # the command checks parameters before it imports NumPy
    from quorate._utils.array_types import Floats


_LONGEST_VALUE = 100


def nearest_name(name: object, names: Iterable[str]) -> str:
    """Return ' Did you mean ...?' for the valid name most similar to `name`, or '' if none is similar."""
    near = difflib.get_close_matches(str(name).lower(), list(names), n=1, cutoff=0.5)
    return f" Did you mean {near[0]!r}?" if near else ""


def check_choice(parameter: str, value: object, choices: Sequence[str]) -> str:
    """Return `value` if it is one of `choices`."""
    if isinstance(value, str) and value in choices:
        return value
    listed = ", ".join(repr(choice) for choice in choices)
    raise InputError(
        f"must be one of {listed}; got {brief_repr(value)}.{nearest_name(value, choices)}",
        code="choice",
        parameter=parameter,
    )


def check_flag(parameter: str, value: object) -> bool:
    """Return `value` if it is True or False."""
    if isinstance(value, bool):
        return value
    raise InputError(f"must be True or False; got {brief_repr(value)}.", code="flag", parameter=parameter)


def check_number(
    parameter: str, value: Any, *, low: float = -math.inf, above: float = -math.inf, high: float = math.inf
) -> float:
    """Return `value` as a finite float with low <= value <= high and value > above."""
    required = "a finite number"
    if low > -math.inf:
        required += f" of at least {low:g}"
    if above > -math.inf:
        required += f" greater than {above:g}"
    if high < math.inf:
        required += f" and at most {high:g}"
    # bool is a number in Python, but never meant as one here.
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    try:
        number = float(value) if is_number else math.nan
    except OverflowError:  # an integer beyond the range of floats
        number = math.inf
    if not math.isfinite(number) or number < low or number <= above or number > high:
        raise InputError(f"must be {required}; got {brief_repr(value)}.", code="number", parameter=parameter)
    return number


def check_weight_range(parameter: str, weights: Floats) -> Floats:
    """Return weights whose sums, products and quotients do not overflow; zeros are allowed."""
    smallest, largest = 1e-12, 1e12
    positive = weights[weights > 0]
    if len(positive) and (positive.min() < smallest or positive.max() > largest):
        raise InputError(
            f"must lie between {smallest:g} and {largest:g}; got {positive.min():g} to {positive.max():g}.",
            code="weight-range",
            parameter=parameter,
            hint="Multiply all weights by a constant.",
        )
    return weights


def check_jobs(value: Any) -> int | None:
    """Return a number of processes as joblib takes it: None, or an integer other than 0."""
    if value is not None and (not isinstance(value, numbers.Integral) or value == 0):
        raise InputError(
            f"must be None or an integer other than 0 (-1: all cores); got {brief_repr(value)}.",
            code="integer",
            parameter="n_jobs",
        )
    return None if value is None else int(value)


def check_integer(parameter: str, value: Any, *, low: int, high: int | None = None) -> int:
    """Return `value` as an int with low <= value <= high."""
    required = f"an integer of at least {low}" + ("" if high is None else f" and at most {high}")
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_integer or value < low or (high is not None and value > high):
        raise InputError(f"must be {required}; got {brief_repr(value)}.", code="integer", parameter=parameter)
    return int(value)


def brief_repr(value: object) -> str:
    """Return a value for a message: its representation, shortened if it is long."""
    if isinstance(value, int) and value.bit_length() > 1000:  # Python refuses to write more than 4,300 digits
        return f"an integer of about {int(value.bit_length() * math.log10(2)):,} digits"
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
