"""Joining of equilibrium points that a sphere in kernel space encloses together (support vector clustering)."""

import numpy as np
from numpy.typing import NDArray

from quorate._kernels._jit import jit


@jit
def root_of(parent: NDArray[np.int64], point: int) -> int:
    """Return the root of a point's tree, halving the path to it."""
    while parent[point] != point:
        parent[point] = parent[parent[point]]
        point = parent[point]
    return point


@jit
def kernel_sum(
    point: NDArray[np.float64], vectors: NDArray[np.float64], weights: NDArray[np.float64], width: float
) -> float:
    """Return the sum of weights[j] exp(-width |point - vectors[j]|^2)."""
    total = 0.0
    for j in range(len(vectors)):
        square = 0.0
        for feature in range(len(point)):
            difference = point[feature] - vectors[j, feature]
            square += difference * difference
        total += weights[j] * np.exp(-width * square)
    return total


@jit
def join_along_segments(
    parent: NDArray[np.int64],
    pairs: NDArray[np.int64],
    points: NDArray[np.float64],
    vectors: NDArray[np.float64],
    weights: NDArray[np.float64],
    width: float,
    threshold: float,
    stops: NDArray[np.float64],
) -> None:
    """Join pairs of points whose segment stays where the kernel sum is high, changing `parent` in place.

    parent (s,), the forest of joined points; in the end it holds the lowest point of each component. pairs (e, 2),
    tested in this order and only while their ends are separate; points (s, d); vectors (v, d); weights (v,). A pair is
    joined if the sum reaches `threshold` at every fraction in `stops` of the way between its ends.
    """
    for e in range(len(pairs)):
        # Pairs that are joined already need no test, which is the expensive part.
        a, b = root_of(parent, pairs[e, 0]), root_of(parent, pairs[e, 1])
        if a == b:
            continue
        start, end = points[pairs[e, 0]], points[pairs[e, 1]]
        inside = True
        for stop in stops:
            if kernel_sum(start + stop * (end - start), vectors, weights, width) < threshold:
                inside = False
                break
        if inside:
            parent[max(a, b)] = min(a, b)
    # Flatten the forest, so that the caller reads components directly.
    for point in range(len(parent)):
        parent[point] = root_of(parent, point)
