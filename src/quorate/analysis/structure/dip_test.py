"""The dip test of unimodality, and how to combine several p-values.

The dip of Hartigan and Hartigan (1985) measures how far a sample is from having one mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from quorate import _kernels
from quorate._utils.array_types import Floats


def dip(sample: Any) -> float:
    """Return the dip of a sample: the largest distance of its distribution from the nearest unimodal distribution.

    J. A. Hartigan, P. M. Hartigan: The Dip Test of Unimodality. Annals of Statistics 13 (1985).

    Examples
    --------
    >>> from quorate.analysis.structure.dip_test import dip
    >>> round(dip([0, 1, 2, 3]), 3), round(dip([0, 0.01, 1, 1.01]), 3)
    (0.125, 0.247)
    """
    values, counts = np.unique(np.asarray(sample, dtype=np.float64), return_counts=True)
    upto = np.cumsum(counts).astype(np.float64)
    return float(_kernels.dip.dip(values, upto - counts, upto) / (2 * upto[-1]))


def _quantiles() -> tuple[Floats, Floats, Floats]:
    """Return sample sizes, probabilities, and the quantiles of sqrt(n) dip of uniform samples (tools/dips.py)."""
    with (files("quorate.analysis.structure") / "dip_quantiles.npz").open("rb") as file:
        table = np.load(file)
        return table["sizes"].astype(np.float64), table["probabilities"], table["quantiles"]


_QUANTILES = _quantiles()


def dip_p_value(value: float, n: int) -> float:
    """Return the probability that the dip of n uniform draws is at least `value`.

    The uniform distribution is the least favorable unimodal one. Quantiles are interpolated in 1 / sqrt(n) between the
    simulated sizes. The smallest value that is returned is the smallest simulated probability.
    """
    sizes, probabilities, quantiles = _QUANTILES
    # In 1 / sqrt(n) the quantiles are nearly linear.
    at = np.array([np.interp(-1 / np.sqrt(n), -1 / np.sqrt(sizes), column) for column in quantiles.T])
    scaled = np.sqrt(n) * value
    # Beyond the simulated quantiles, only bounds are known.
    if scaled <= at[0]:
        return 1.0 if scaled < at[0] else float(probabilities[0])
    return float(np.exp(np.interp(scaled, at, np.log(probabilities))))


def simes(p_values: Sequence[float]) -> float:
    """Return one p-value for several tests: the least of n p_(j) / j, p_(j) the j-th smallest of n (Simes 1986)."""
    ascending = np.sort(p_values)
    n = len(ascending)
    return min([1.0, *(n * ascending / np.arange(1, n + 1)).tolist()])


def holm(p_values: Sequence[float], factor: float = 1.0) -> list[float]:
    """Return p-values adjusted for several tests: the family-wise error is at most the level (Holm 1979).

    `factor` is what each p-value is multiplied by first.
    """
    order = np.argsort(p_values, kind="stable")
    ascending = np.asarray(p_values, dtype=np.float64)[order]
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(factor * np.arange(len(order), 0, -1) * ascending), 1.0)
    return adjusted.tolist()
