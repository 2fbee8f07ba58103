"""Weighted k-means on points."""

import numpy as np

from quorate._kernels._jit import jit


@jit
def squared_distances(points, center, start, stop, out):
    """Lower out[start:stop] to the squared distance of each point to `center` where that is smaller."""
    for i in range(start, stop):
        distance = 0.0
        for d in range(points.shape[1]):
            difference = points[i, d] - center[d]
            distance += difference * difference
        if distance < out[i]:
            out[i] = distance


@jit
def assign(points, centers, scale, start, stop, labels, distances):
    """Write the nearest center of each point and the squared distance to it; ties go to the first center.

    points : (m, d), rows start..stop are handled
    centers : (d, k), one column per center, so that the innermost loop runs over all centers
    scale : distances are compared after rounding to 1 / scale; 0 compares them exactly
    """
    n_dims, k = centers.shape
    distance = np.empty(k, dtype=np.float64)
    for i in range(start, stop):
        distance[:] = 0.0
        # Feature by feature, so that the innermost loop over centers uses vector instructions.
        for d in range(n_dims):
            for j in range(k):
                difference = points[i, d] - centers[d, j]
                distance[j] += difference * difference
        nearest = 0
        nearest_key = np.inf
        # Rounding makes ties equal whatever the order of summation, so that the first center wins everywhere.
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
def _cost(means, weights, a, b, scale):
    """Return the increase of the weighted sum of squares by a merge: w_a w_b / (w_a + w_b) |a - b|^2, rounded."""
    distance = 0.0
    for d in range(means.shape[1]):
        difference = means[a, d] - means[b, d]
        distance += difference * difference
    return weights[a] * weights[b] / (weights[a] + weights[b]) * np.rint(distance * scale)


@jit
def _find_cheapest(means, weights, a, scale, partner, cost):
    """Write the later group whose merge with group `a` costs least, the first in a tie, and its cost."""
    cost[a] = np.inf
    for b in range(a + 1, len(weights)):
        if weights[b] > 0:
            this = _cost(means, weights, a, b, scale)
            if this < cost[a]:
                partner[a], cost[a] = b, this


@jit
def merge_groups(means, weights, k, scale):
    """Return the means (at most k, d) that remain after merging the cheapest pairs of groups (Ward).

    means : (g, d); weights : (g,), positive
    scale : squared distances are rounded to 1 / scale; in a tie the first pair is merged
    """
    means, weights = means.copy(), weights.copy()
    n_groups = len(weights)
    partner = np.zeros(n_groups, dtype=np.int64)
    cost = np.full(n_groups, np.inf)
    # The cheapest later partner of every group; only groups whose partner was merged are searched again.
    for a in range(n_groups):
        _find_cheapest(means, weights, a, scale, partner, cost)
    for _ in range(n_groups - k):
        a = int(np.argmin(cost))
        b = int(partner[a])
        # The mean of the union, weighted by the parts.
        total = weights[a] + weights[b]
        for d in range(means.shape[1]):
            means[a, d] = (weights[a] * means[a, d] + weights[b] * means[b, d]) / total
        weights[a], weights[b], cost[b] = total, 0.0, np.inf
        # A merged group never costs less to merge than the cheaper of its parts did, so other partners stay valid.
        for c in range(b):
            if weights[c] > 0 and (c == a or partner[c] == a or partner[c] == b):
                _find_cheapest(means, weights, c, scale, partner, cost)
    return means[weights > 0]
