"""Minimum spanning trees of points, and the order in which Genie merges their edges."""

import numpy as np

from quorate._kernels._jit import jit, jit_fused
from quorate._kernels.segments import root_of


@jit_fused
def _squared_distance(a, b):
    total = 0.0
    for j in range(a.shape[0]):
        total += (a[j] - b[j]) ** 2
    return total


@jit
def prim(points, least, edges, squared):
    """Write the minimum spanning tree of points by Prim's algorithm: n^2 / 2 distances, memory linear in n.

    points : (n, d) float64
    least : (n,) float64, squared; no edge of a point counts as shorter than this (0: plain Euclidean distances)
    edges : (n - 1, 2) int64, written: the two points of each edge
    squared : (n - 1,) float64, written: squared length of each edge
    """
    n = points.shape[0]
    outside = np.arange(1, n)  # points that are not in the tree yet; the first `left` entries count
    nearest = np.zeros(n, dtype=np.int64)  # for each of them, the nearest point in the tree
    distance = np.full(n, np.inf)
    added = 0
    for step in range(n - 1):
        left = n - 1 - step
        best = 0
        # Update the distances to the tree by the point added last, and find the nearest point in the same pass.
        for position in range(left):
            point = outside[position]
            new = max(_squared_distance(points[added], points[point]), least[added], least[point])
            if new < distance[point]:
                distance[point], nearest[point] = new, added
            other = outside[best]
            if distance[point] < distance[other] or (distance[point] == distance[other] and point < other):
                best = position
        # The last outside point takes the free position, so that no array is shifted.
        added = outside[best]
        outside[best] = outside[left - 1]
        edges[step, 0], edges[step, 1] = nearest[added], added
        squared[step] = distance[added]


@jit
def _change_count(count, larger, size, change):
    """Add `change` to the number of clusters of a size; `larger` links the sizes present, ascending from entry 0."""
    count[size] += change
    # Few different sizes are present at a time, so that a linear walk over them is cheap.
    previous = 0
    while larger[previous] < size:
        previous = larger[previous]
    if count[size] == 0:
        larger[previous] = larger[size]
    elif larger[previous] != size:
        larger[size], larger[previous] = larger[previous], size


@jit
def genie_order(edges, threshold, order):
    """Write the order in which Genie merges the edges of a minimum spanning tree, which are sorted by length.

    The shortest edge comes next while the Gini index of the cluster sizes is at most the threshold; above it, the
    shortest edge that touches a cluster of the smallest size.

    edges : (n - 1, 2) int64, shortest first
    order : (n - 1,) int64, written: edges in the order of their merges
    """
    n = edges.shape[0] + 1
    parent, size = np.arange(n), np.ones(n, dtype=np.int64)
    # The edges not merged yet, as a doubly linked list; entry n - 1 is the head.
    following, preceding = np.arange(1, n + 1), np.arange(-1, n - 1)
    following[n - 1], preceding[0] = 0, n - 1
    count, larger = np.zeros(n + 1, dtype=np.int64), np.full(n + 1, n + 1)
    _change_count(count, larger, 1, n)
    differences = 0  # sum over pairs of clusters of the difference of their sizes
    # No edge before `resume` touches a cluster of size `smallest`: merging never makes one. The search goes on there.
    resume, smallest = 0, 1
    for step in range(n - 1):
        # The smallest size changed: every edge may touch a cluster of the new size.
        if larger[0] != smallest:
            resume, smallest = following[n - 1], larger[0]
        n_clusters = n - step
        edge = following[n - 1]
        # Gini index above the threshold, without division: differences / ((n_clusters - 1) n).
        uneven = differences > threshold * (n_clusters - 1) * n
        if uneven:
            edge = resume
            while (
                size[root_of(parent, edges[edge, 0])] != smallest and size[root_of(parent, edges[edge, 1])] != smallest
            ):
                edge = following[edge]
        if uneven or edge == resume:
            resume = following[edge]
        # Take the edge out of the list of edges that are left.
        order[step] = edge
        following[preceding[edge]] = following[edge]
        if following[edge] < n - 1:
            preceding[following[edge]] = preceding[edge]
        root, absorbed = root_of(parent, edges[edge, 0]), root_of(parent, edges[edge, 1])
        a, b = size[root], size[absorbed]
        # The pairs of the two clusters leave the sum, those of their union enter it.
        differences += abs(a - b) - (a + b)
        present = larger[0]
        while present <= n:
            differences += count[present] * (abs(present - (a + b)) - abs(present - a) - abs(present - b))
            present = larger[present]
        _change_count(count, larger, a, -1)
        _change_count(count, larger, b, -1)
        _change_count(count, larger, a + b, 1)
        parent[absorbed], size[root] = root, a + b


@jit
def cut(edges, order, n_clusters, labels):
    """Write the clusters left after the first n - n_clusters merges, numbered by their first point.

    edges : (n - 1, 2) int64
    order : (n - 1,) int64, edges in the order of their merges
    labels : (n,) int64, written
    """
    n = labels.shape[0]
    parent = np.arange(n)
    for step in range(n - n_clusters):
        first_root, second_root = root_of(parent, edges[order[step], 0]), root_of(parent, edges[order[step], 1])
        # The lower point represents the cluster, so that numbers follow the first points.
        parent[max(first_root, second_root)] = min(first_root, second_root)
    n_numbered = 0
    for point in range(n):
        root = root_of(parent, point)
        if root == point:
            labels[point] = n_numbered
            n_numbered += 1
        else:
            labels[point] = labels[root]
