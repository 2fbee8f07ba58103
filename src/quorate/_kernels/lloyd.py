"""Weighted k-means on points."""

import numpy as np

from quorate._kernels._jit import jit


@jit
def squared_distances(points, centre, start, stop, out):
    """Lower out[start:stop] to the squared distance of each point to `centre` where that is smaller."""
    for i in range(start, stop):
        distance = 0.0
        for d in range(points.shape[1]):
            difference = points[i, d] - centre[d]
            distance += difference * difference
        if distance < out[i]:
            out[i] = distance


@jit
def assign(points, centres, scale, start, stop, labels, distances):
    """Write the nearest centre of each point and the squared distance to it; ties go to the first centre.

    points : (m, d), rows start..stop are handled
    centres : (d, k), one column per centre, so that the innermost loop runs over all centres at once
    scale : distances are compared after rounding to 1 / scale; 0 compares them as they are
    """
    n_dims, k = centres.shape
    distance = np.empty(k, dtype=np.float64)
    for i in range(start, stop):
        distance[:] = 0.0
        for d in range(n_dims):
            for j in range(k):
                difference = points[i, d] - centres[d, j]
                distance[j] += difference * difference
        nearest = 0
        nearest_key = np.inf
        for j in range(k):
            key = np.rint(distance[j] * scale) if scale > 0 else distance[j]
            if key < nearest_key:
                nearest, nearest_key = j, key
        labels[i] = nearest
        distances[i] = distance[nearest]


@jit
def add_up(points, weights, labels, sums, total):
    """Add the weighted points of each cluster to `sums` (k, d) and their weights to `total` (k,), in order."""
    for i in range(points.shape[0]):
        total[labels[i]] += weights[i]
        for d in range(points.shape[1]):
            sums[labels[i], d] += weights[i] * points[i, d]


@jit
def weighted_means(points, weights, labels, k):
    """Return the weighted mean of the points of each cluster (k, d), NaN for an empty one, summed in order."""
    centres = np.zeros((k, points.shape[1]), dtype=np.float64)
    total = np.zeros(k, dtype=np.float64)
    add_up(points, weights, labels, centres, total)
    for j in range(k):
        for d in range(points.shape[1]):
            centres[j, d] = centres[j, d] / total[j] if total[j] > 0 else np.nan
    return centres
