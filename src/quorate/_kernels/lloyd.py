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

    points : (m, d), centres : (k, d), rows start..stop are written
    scale : distances are compared after rounding to 1 / scale; 0 compares them as they are
    """
    k, n_dims = centres.shape
    for i in range(start, stop):
        nearest = -1
        nearest_key = np.inf
        nearest_distance = np.inf
        for j in range(k):
            distance = 0.0
            for d in range(n_dims):
                difference = points[i, d] - centres[j, d]
                distance += difference * difference
            key = np.rint(distance * scale) if scale > 0 else distance
            if key < nearest_key:
                nearest, nearest_key, nearest_distance = j, key, distance
        labels[i] = nearest
        distances[i] = nearest_distance


@jit
def weighted_means(points, weights, labels, k):
    """Return the weighted mean of the points of each cluster (k, d), NaN for an empty one, summed in order."""
    centres = np.zeros((k, points.shape[1]), dtype=np.float64)
    total = np.zeros(k, dtype=np.float64)
    for i in range(points.shape[0]):
        total[labels[i]] += weights[i]
        for d in range(points.shape[1]):
            centres[labels[i], d] += weights[i] * points[i, d]
    for j in range(k):
        for d in range(points.shape[1]):
            centres[j, d] = centres[j, d] / total[j] if total[j] > 0 else np.nan
    return centres
