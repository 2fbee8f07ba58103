"""Rival penalized competitive learning: the sequential pass over the rows."""

import numpy as np
from numpy.typing import NDArray

from quorate._kernels._jit import jit


@jit
def compete(
    rows: NDArray[np.float64],
    order: NDArray[np.int64],
    units: NDArray[np.float64],
    wins: NDArray[np.float64],
    learning_rate: float,
    rival_rate: float,
) -> None:
    """Let the units compete for rows[order], one row after the other, changing `units` and `wins` in place.

    rows (n, d); order (n,); units (d, k), one column per unit so that the inner loop runs over units; wins (k,). The
    unit with the smallest wins * squared distance moves towards the row by `learning_rate`, the second one away by
    `rival_rate`. The total of the wins would divide every score alike and is omitted. Ties go to the lower unit.
    """
    n_features, n_units = units.shape
    scores = np.empty(n_units)
    for row in order:
        # Distances to all units feature by feature: the inner loop over adjacent units uses vector instructions.
        scores[:] = 0.0
        for feature in range(n_features):
            value = rows[row, feature]
            for unit in range(n_units):
                difference = value - units[feature, unit]
                scores[unit] += difference * difference
        # Smallest and second smallest score in one pass.
        winner = rival = -1
        best = second = np.inf
        for unit in range(n_units):
            score = scores[unit] * wins[unit]
            if score < best:
                rival, second = winner, best
                winner, best = unit, score
            elif score < second:
                rival, second = unit, score
        # The winner learns; the rival is pushed away.
        for feature in range(n_features):
            value = rows[row, feature]
            units[feature, winner] += learning_rate * (value - units[feature, winner])
            if rival >= 0:
                units[feature, rival] -= rival_rate * (value - units[feature, rival])
        wins[winner] += 1.0
