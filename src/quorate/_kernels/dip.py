"""The dip: how far a distribution is from having one mode."""

import numpy as np

from quorate._kernels._jit import jit


@jit
def hull(x, y, first, last, sign, knots):
    """Fill `knots` with the corners of the convex minorant (sign 1) or concave majorant (-1) of points first..last.

    x, y : (n,) float64, x ascending; knots : (n,) int64. Returns how many corners there are.
    """
    count = 0
    for i in range(first, last + 1):
        # Remove corners that the new point makes superfluous (Andrew's monotone chain).
        while count >= 2:
            a, b = knots[count - 2], knots[count - 1]
            turn = (y[b] - y[a]) * (x[i] - x[a]) - (y[i] - y[a]) * (x[b] - x[a])
            if sign * turn < 0:
                break
            count -= 1
        knots[count] = i
        count += 1
    return count


@jit
def along(x, y, knots, count, first, values):
    """Fill values[i - first] with the line through the corners at every point they span."""
    for j in range(count - 1):
        a, b = knots[j], knots[j + 1]
        slope = (y[b] - y[a]) / (x[b] - x[a])
        for i in range(a, b + 1):
            values[i - first] = y[a] + slope * (x[i] - x[a])
    if count == 1:
        values[knots[0] - first] = y[knots[0]]


@jit
def dip(x, below, upto):
    """Return the dip of a sample times twice its size.

    x : (n,) float64, distinct and ascending; below, upto : (n,) float64, how many of the sample are less than each, and
    how many are at most each. The interval that may hold the mode shrinks until the convex minorant left of it and the
    concave majorant right of it are nowhere further apart than the sample is from either (Hartigan, Hartigan 1985).
    """
    n = len(x)
    low, high, largest = 0, n - 1, 1.0
    lower_knots, upper_knots = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    lower, upper = np.empty(n), np.empty(n)
    while low < high:
        # Step 1: convex minorant of the lower steps and concave majorant of the upper steps over the current interval.
        n_lower = hull(x, below, low, high, 1.0, lower_knots)
        n_upper = hull(x, upto, low, high, -1.0, upper_knots)
        along(x, below, lower_knots, n_lower, low, lower)
        along(x, upto, upper_knots, n_upper, low, upper)
        # Step 2: their largest distance, at a corner of either; it bounds the next interval.
        apart, new_low, new_high = -1.0, low, high
        follow = 0
        for j in range(n_lower):
            i = lower_knots[j]
            while upper_knots[follow] < i:
                follow += 1
            if upper[i - low] - lower[i - low] > apart:
                apart, new_low, new_high = upper[i - low] - lower[i - low], i, upper_knots[follow]
        follow = n_lower - 1
        for j in range(n_upper - 1, -1, -1):
            i = upper_knots[j]
            while lower_knots[follow] > i:
                follow -= 1
            if upper[i - low] - lower[i - low] > apart:
                apart, new_low, new_high = upper[i - low] - lower[i - low], lower_knots[follow], i
        # Step 3: stop if they are nowhere further apart than the dip so far.
        if apart <= largest:
            break
        # Step 4: outside of the next interval, the distance of the sample to its hull counts for the dip.
        for i in range(low, new_low):
            largest = max(largest, upto[i] - lower[i - low])
        for i in range(new_high + 1, high + 1):
            largest = max(largest, upper[i - low] - below[i])
        if new_low == low and new_high == high:
            break
        low, high = new_low, new_high
    return largest
