"""The scale on which rows are compared: one rule for arrays, frames and files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._runtime.threads import blocks
from quorate._utils.array_types import Floats, Ints
from quorate.errors import InputError
from quorate.persistence.archive import Arrays

SCALES = ("auto", "standard", "minmax", "none")
UNEQUAL_SCALES = 10.0
"""Columns count as measured in different units if their standard deviations differ by more than this factor."""
SMALLEST_DIFFERENCE = 1e-160
"""Squares of much smaller differences are 0."""
_DIGITS = 4  # of mean and deviation: the last bits of their sums depend on the order of the rows
_BLOCK = 1 << 14


@dataclass(frozen=True)
class Scaling:
    """How features are brought to the scale that members were fitted on: (x - shift) * factor."""

    shift: Floats
    factor: Floats

    def apply(self, X: NDArray[Any]) -> Floats:
        """Return scaled rows."""
        return (np.asarray(X, dtype=np.float64) - self.shift) * self.factor

    def before(self, shift: Floats, factor: Floats) -> tuple[Floats, Floats]:
        """Return shift and factor that do both: this scaling, and then (x - shift) * factor.

        A feature of factor 0 is constant: it is 0 after both, as far as rows are compared.
        """
        inverse = np.divide(1.0, self.factor, out=np.zeros(len(self.factor)), where=self.factor != 0)
        return self.shift + shift * inverse, self.factor * factor

    def to_arrays(self) -> Arrays:
        """Return shift and factor under the names they have in a file."""
        return {"scale_shift": self.shift, "scale_factor": self.factor}


@dataclass(frozen=True)
class Moments:
    """Number, mean, squared deviations and range of the numbers in each column, which add up over blocks."""

    n: Ints
    mean: Floats
    squares: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, values: Floats) -> Moments:
        """Return those of a block, NaN where a number is missing."""
        present = ~np.isnan(values)
        n = present.sum(axis=0)
        filled = np.where(present, values, 0.0)
        # Missing numbers count neither in the sum nor in the number.
        mean = np.divide(filled.sum(axis=0), n, out=np.zeros(values.shape[1]), where=n > 0)
        squares = (np.where(present, values - mean, 0.0) ** 2).sum(axis=0)
        low, high = (
            edge(np.where(present, values, empty), axis=0, initial=empty)
            for edge, empty in ((np.min, np.inf), (np.max, -np.inf))
        )
        return cls(n, mean, squares, low, high)

    @classmethod
    def of_rows(cls, X: NDArray[Any]) -> Moments:
        """Return those of a matrix, block by block, so that no copy of it is made."""
        first, *others = (cls.of(X[rows].astype(np.float64)) for rows in blocks(len(X), _BLOCK))
        return sum(others, first)

    # The parallel update of means and squares (Chan et al. 1983), without loss of digits.
    def __add__(self, other: Moments) -> Moments:
        n = self.n + other.n
        share = np.divide(other.n, n, out=np.zeros(len(n)), where=n > 0)
        apart = other.mean - self.mean
        return Moments(
            n,
            self.mean + apart * share,
            self.squares + other.squares + apart**2 * self.n * share,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    @property
    def deviation(self) -> Floats:
        """Standard deviation of each column; exactly 0 where it is constant."""
        variance = np.divide(self.squares, self.n, out=np.zeros(len(self.n)), where=self.n > 0)
        return np.where(self.low < self.high, np.sqrt(variance), 0.0)

    @property
    def center(self) -> Floats:
        """Mean of each column to a few digits of its deviation, which are the same for any order of the rows."""
        size = np.where(self.deviation > 0, self.deviation, 1.0)
        # Rounded: sums in another order differ in the last bits, and the scale must not.
        return np.round(self.mean / size, _DIGITS) * _rounded(size)


def choose_scaling(scale: str, moments: Moments) -> Scaling:
    """Return the requested scaling; a constant column becomes 0.

    "auto" standardizes columns that are measured in different units, which their standard deviations show, and leaves
    columns of about the same scale as they are: to stretch the shorter axis of a map bends the shapes on it.
    """
    deviation = moments.deviation
    constant = deviation == 0
    varying = deviation[~constant]
    if not len(varying):
        raise InputError(
            f"The features vary by less than {SMALLEST_DIFFERENCE:g}.",
            code="tiny-features",
            hint="Multiply them by a large number.",
        )
    if scale == "auto":
        scale = "standard" if varying.max() > UNEQUAL_SCALES * varying.min() else "none"
    if scale == "standard":
        size, shift = _rounded(np.where(constant, 1.0, deviation)), moments.center
    elif scale == "minmax":
        size, shift = np.where(constant, 1.0, moments.high - moments.low), np.where(constant, 0.0, moments.low)
    else:
        size, shift = np.ones(len(deviation)), np.zeros(len(deviation))
    return Scaling(shift, np.where(constant, 0.0, 1.0 / size))


def _rounded(values: Floats) -> Floats:
    """Return positive numbers to a few digits."""
    unit = 10.0 ** (np.floor(np.log10(values)) - _DIGITS)
    return np.round(values / unit) * unit
