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
def _keep_nearest(x, points, some, index, distance):
    """Write the nearest of some landmarks, given in ascending order, and their squared distances."""
    last = index.shape[0] - 1
    distance[:] = _LARGEST
    for e in range(some.shape[0]):
        value = _distance(x, points[some[e]])
        if value < distance[last]:
            place = last
            while place > 0 and distance[place - 1] > value:
                distance[place] = distance[place - 1]
                index[place] = index[place - 1]
                place -= 1
            distance[place] = value
            index[place] = some[e]


@jit_fused
def _keep_nearest_in_plane(x, points, near, low, high, index, distance):
    """Write the nearest of the landmarks near[low:high] of a row of two features; no slices, which would cost most."""
    last = index.shape[0] - 1
    for place in range(last + 1):
        distance[place] = _LARGEST
    across, up = x[0], x[1]
    for e in range(low, high):
        j = near[e]
        a, b = points[j, 0] - across, points[j, 1] - up
        value = a * a + b * b
        if value < distance[last]:
            place = last
            while place > 0 and distance[place - 1] > value:
                distance[place] = distance[place - 1]
                index[place] = index[place - 1]
                place -= 1
            distance[place] = value
            index[place] = j


@jit_fused
def _cell(x, corner, per_unit, n_cells):
    """Return the cell of a grid over the plane that a row is in, or -1."""
    if x.shape[0] != 2 or n_cells == 0:
        return -1
    across, up = (x[0] - corner[0]) * per_unit, (x[1] - corner[1]) * per_unit
    if across < 0 or up < 0 or across >= n_cells or up >= n_cells:
        return -1
    return np.int64(across) * n_cells + np.int64(up)


@jit
def near_cells(points, corner, size, n_cells, n_neighbours, most, first, found):
    """Write the landmarks that may be among the nearest of some row in each cell of a square grid over the plane.

    With h half the diagonal of a cell and r the distance of its middle to the K-th nearest landmark, the K nearest of
    any row in it are within r + 2 h of the middle. Cells where these are more than `most` stay empty.

    points : (p, 2) float32; corner, size : where the grid begins, and the side of a cell
    first : (cells + 1,) written; found : (cells * most,) int32 written
    """
    half = size * np.float32(0.70710678)
    nearest = np.empty(n_neighbours, dtype=np.float32)
    squared = np.empty(points.shape[0], dtype=np.float32)
    total = 0
    for cell in range(n_cells * n_cells):
        first[cell] = total
        x = corner[0] + (cell // n_cells + np.float32(0.5)) * size
        y = corner[1] + (cell % n_cells + np.float32(0.5)) * size
        nearest[:] = _LARGEST
        for j in range(points.shape[0]):
            a, b = points[j, 0] - x, points[j, 1] - y
            squared[j] = a * a + b * b
            if squared[j] < nearest[n_neighbours - 1]:
                place = n_neighbours - 1
                while place > 0 and nearest[place - 1] > squared[j]:
                    nearest[place] = nearest[place - 1]
                    place -= 1
                nearest[place] = squared[j]
        reach = (np.sqrt(nearest[n_neighbours - 1]) + 2 * half) * np.float32(1.0001)
        here = total
        for j in range(points.shape[0]):
            if squared[j] <= reach * reach:
                if here == total + most:
                    here = total
                    break
                # Nearest to the middle first: a row then finds its nearest early, and the rest is soon passed over.
                place = here
                while place > total and squared[found[place - 1]] > squared[j]:
                    found[place] = found[place - 1]
                    place -= 1
                found[place] = j
                here += 1
        total = here
    first[n_cells * n_cells] = total


@jit_fused
def _find(x, points, group_centres, first, member, candidates, corner, per_unit, cells, near, index, distance):
    """Write the nearest landmarks of a row, nearest first, and their squared distances; ties to the smaller index.

    They are the nearest among those near its cell of the plane, where there is a grid (`near_cells`); otherwise among
    the candidates of the nearest landmark in the group of the nearest centre.

    points : (p, d); group_centres : (z, d); first : (z + 1,), member : (p,) the landmarks of each group
    candidates : (p, c) ascending; index, distance : (K,) written
    """
    cell = _cell(x, corner, per_unit, np.int64(np.sqrt(cells.shape[0] - 1)))
    if cell >= 0 and cells[cell + 1] > cells[cell]:
        _keep_nearest_in_plane(x, points, near, cells[cell], cells[cell + 1], index, distance)
        return
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
    _keep_nearest(x, points, candidates[centre], index, distance)


@jit
def _load(X, shift, factor, i, x):
    for t in range(X.shape[1]):
        x[t] = min(max((X[i, t] - shift[t]) * factor[t], -1e15), 1e15)


@jit
def find_nearest(
    X,
    shift,
    factor,
    points,
    group_centres,
    first,
    member,
    candidates,
    corner,
    per_unit,
    cells,
    near,
    start,
    stop,
    index,
    distance,
):
    """Write the nearest landmarks of the rows start..stop and their squared distances: index, distance (n, K)."""
    x = np.empty(X.shape[1], dtype=np.float32)
    for i in range(start, stop):
        _load(X, shift, factor, i, x)
        _find(
            x,
            points,
            group_centres,
            first,
            member,
            candidates,
            corner,
            per_unit,
            cells,
            near,
            index[i],
            distance[i],
        )


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
def _common(own, index):
    """Return the label that all these landmarks have, or -1."""
    label = own[index[0]]
    for a in range(1, index.shape[0]):
        if own[index[a]] != label:
            return -1
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
    corner,
    per_unit,
    cells,
    near,
    n_neighbours,
    width,
    products,
    gram,
    squares,
    own,
    start,
    stop,
    labels,
):
    """Write the cluster of the rows start..stop to labels (stop - start,).

    A row whose landmarks all are in one cluster (own, (p,)) is in it too.
    """
    x = np.empty(X.shape[1], dtype=np.float32)
    index, distance = np.zeros(n_neighbours, dtype=np.int64), np.empty(n_neighbours, dtype=np.float32)
    link, value = np.empty(n_neighbours), np.empty(products.shape[1], dtype=np.float32)
    for i in range(start, stop):
        _load(X, shift, factor, i, x)
        _find(x, points, group_centres, first, member, candidates, corner, per_unit, cells, near, index, distance)
        label = _common(own, index)
        if label < 0:
            label = _label(index, distance, width, products, gram, squares, link, value)
        labels[i - start] = label
