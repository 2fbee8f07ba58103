"""Sums of Gaussian kernels: mean-shift steps and densities."""

import numpy as np

from quorate._kernels._jit import jit

_NEGLIGIBLE = -40.0  # smaller exponents vanish by rounding next to the largest term, 1


@jit
def weighted_mean(exponents, offset, centers, out):
    """Write for each climber the mean of the centers, weighted by exp(exponents + offset).

    The largest exponent is subtracted first, so that a tiny bandwidth does not underflow. Centers too far away to
    change any digit are skipped: with a small bandwidth, nearly all.

    exponents : (b, n_centers)
    offset : (n_centers,)
    centers : (n_centers, d)
    out : (b, d)
    """
    n_centers, d = centers.shape
    for climber in range(len(exponents)):
        row = exponents[climber]
        largest = -np.inf
        for i in range(n_centers):
            row[i] += offset[i]
            largest = max(largest, row[i])
        total = 0.0
        mean = out[climber]
        mean[:] = 0.0
        # Weights are relative to the largest, which cancels in the mean.
        for i in range(n_centers):
            if row[i] - largest > _NEGLIGIBLE:
                weight = np.exp(row[i] - largest)
                total += weight
                for c in range(d):
                    mean[c] += weight * centers[i, c]
        mean /= total


@jit
def weighted_sum(exponents, offset, weights, out):
    """Write for each point the sum over centers of weights * exp(exponents + offset); far centers add nothing.

    exponents : (b, n_centers)
    offset : (n_centers,)
    weights : (n_centers,)
    out : (b,), on entry the amount that is added to every exponent of the point
    """
    for point in range(len(exponents)):
        row = exponents[point]
        own = out[point]
        total = 0.0
        for i in range(len(weights)):
            exponent = row[i] + offset[i] + own
            if exponent > _NEGLIGIBLE:
                total += weights[i] * np.exp(min(exponent, 0.0))
        out[point] = total
