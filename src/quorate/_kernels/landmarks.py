"""Rows and their nearest landmarks, and the cluster a row belongs to by its links to them (U-SPEC)."""

import numpy as np

from quorate._kernels._jit import jit, jit_fused

_LARGEST = np.float32(3e38)


@jit_fused
def _distance(x, y):
    """Return the squared distance of two float32 vectors."""
    total = np.float32(0)
    for t in range(x.shape[0]):
        difference = x[t] - y[t]
        total += difference * difference
    return total


@jit_fused
def _find(x, points, group_centres, first, member, candidates, index, distance):
    """Write the nearest landmarks of a row, nearest first, and their squared distances; ties to the smaller index.

    They are the nearest among the candidates of the nearest landmark in the group of the nearest centre.

    points : (p, d); group_centres : (z, d); first : (z + 1,), member : (p,) the landmarks of each group
    candidates : (p, c) ascending; index, distance : (K,) written
    """
    nearest, group = _LARGEST, 0
    for g in range(group_centres.shape[0]):
        value = _distance(x, group_centres[g])
        if value < nearest:
            nearest, group = value, g
    nearest, centre = _LARGEST, 0
    for e in range(first[group], first[group + 1]):
        value = _distance(x, points[member[e]])
        if value < nearest:
            nearest, centre = value, member[e]
    last = index.shape[0] - 1
    distance[:] = _LARGEST
    for e in range(candidates.shape[1]):
        value = _distance(x, points[candidates[centre, e]])
        if value < distance[last]:
            place = last
            while place > 0 and distance[place - 1] > value:
                distance[place] = distance[place - 1]
                index[place] = index[place - 1]
                place -= 1
            distance[place] = value
            index[place] = candidates[centre, e]


@jit
def _load(X, shift, factor, i, x):
    for t in range(X.shape[1]):
        x[t] = min(max((X[i, t] - shift[t]) * factor[t], -1e15), 1e15)


@jit
def find_nearest(X, shift, factor, points, group_centres, first, member, candidates, start, stop, index, distance):
    """Write the nearest landmarks of the rows start..stop and their squared distances: index, distance (n, K)."""
    x = np.empty(X.shape[1], dtype=np.float32)
    for i in range(start, stop):
        _load(X, shift, factor, i, x)
        _find(x, points, group_centres, first, member, candidates, index[i], distance[i])


@jit_fused
def _label(index, distance, width, products, gram, squares, link, value):
    """Return the centre nearest to a row in the embedding, from the row's links to its landmarks.

    The row is the mean of its landmarks' vectors, at unit length. So its product with a centre is a mean of products of
    landmarks with centres (products, (p, k)), and its length follows from products of landmarks (gram, (p, p)).
    """
    total = 0.0
    for a in range(index.shape[0]):
        link[a] = max(np.exp(-np.float64(distance[a]) * width), 2.220446049250313e-16)
        total += link[a]
    length = 0.0
    for a in range(index.shape[0]):
        link[a] /= total
        for b in range(a):
            length += 2 * link[a] * link[b] * gram[index[a], index[b]]
        length += link[a] * link[a] * gram[index[a], index[a]]
    scale = 2.0 / (np.sqrt(max(length, 0.0)) + 1e-10)
    value[:] = squares
    for a in range(index.shape[0]):
        factor = np.float32(scale * link[a])
        row = products[index[a]]
        for c in range(row.shape[0]):
            value[c] -= factor * row[c]
    best, label = value[0], 0
    for c in range(1, value.shape[0]):
        if value[c] < best:
            best, label = value[c], c
    return label


@jit
def label_rows(
    X,
    shift,
    factor,
    points,
    group_centres,
    first,
    member,
    candidates,
    n_neighbours,
    width,
    products,
    gram,
    squares,
    start,
    stop,
    labels,
):
    """Write the cluster of the rows start..stop to labels (stop - start,)."""
    x = np.empty(X.shape[1], dtype=np.float32)
    index, distance = np.zeros(n_neighbours, dtype=np.int64), np.empty(n_neighbours, dtype=np.float32)
    link, value = np.empty(n_neighbours), np.empty(products.shape[1], dtype=np.float32)
    for i in range(start, stop):
        _load(X, shift, factor, i, x)
        _find(x, points, group_centres, first, member, candidates, index, distance)
        labels[i - start] = _label(index, distance, width, products, gram, squares, link, value)
