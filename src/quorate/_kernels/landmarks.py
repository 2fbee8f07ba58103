"""Nearest landmarks of rows, and the cluster of a row by its links to them (U-SPEC).

Design. A row needs its K nearest of p landmarks. In the general case (`_find`) it is compared with z group centers,
with the landmarks of the nearest group, and with the stored candidates of the nearest landmark: about z + p / z + c
distances instead of p. With two features a grid over the plane is faster and exact: for each cell, `near_cells` stores
all landmarks that can be among the K nearest of any row in it, by the triangle inequality. `label_rows` skips even that
where all landmarks of a cell belong to one cluster. tests/kernels/test_comparisons.py counts the distances.
"""

import numpy as np

from quorate._kernels._jit import jit, jit_fused

TILES, IN_TILE = 16, 16  # tiles along a side of the grid over the plane, and cells along a side of a tile
_LARGEST = np.float32(3e38)
_SMALLEST_LINK = np.float32(2.220446049250313e-16)
_FAR = 1e15  # larger coordinates are cut to this, because squares must not overflow


@jit_fused
def _distance(x, y):
    """Return the squared distance of two float32 vectors."""
    total = np.float32(0)
    for t in range(x.shape[0]):
        difference = x[t] - y[t]
        total += difference * difference
    return total


@jit_fused
def _insert(landmark, value, index, distance):
    """Insert a landmark into the sorted list of the K nearest so far, instead of the last one; K is small."""
    rank = index.shape[0] - 1
    while rank > 0 and distance[rank - 1] > value:
        distance[rank] = distance[rank - 1]
        index[rank] = index[rank - 1]
        rank -= 1
    distance[rank] = value
    index[rank] = landmark


@jit_fused
def _keep_nearest(x, points, candidates, index, distance):
    """Write the nearest of the given landmarks (ascending numbers), and their squared distances."""
    last = index.shape[0] - 1
    distance[:] = _LARGEST
    for e in range(candidates.shape[0]):
        value = _distance(x, points[candidates[e]])
        if value < distance[last]:
            _insert(candidates[e], value, index, distance)


@jit_fused
def _keep_nearest_in_plane(x, points, near, low, high, index, distance):
    """Write the nearest of the landmarks near[low:high] of a row of two features; without slices, which would cost
    most.
    """
    last = index.shape[0] - 1
    for rank in range(last + 1):
        distance[rank] = _LARGEST
    across, up = x[0], x[1]
    for e in range(low, high):
        j = near[e]
        # The distance is computed inline: a call per candidate would cost as much as the arithmetic.
        a, b = points[j, 0] - across, points[j, 1] - up
        value = a * a + b * b
        if value < distance[last]:
            _insert(j, value, index, distance)


@jit_fused
def _cell(x, corner, per_unit):
    """Return the cell of the grid over the plane that contains a row, numbered tile by tile, or -1."""
    across, up = (x[0] - corner[0]) * per_unit, (x[1] - corner[1]) * per_unit
    if not (across >= 0 and up >= 0 and across < TILES * IN_TILE and up < TILES * IN_TILE):
        return -1
    a, b = np.int64(across), np.int64(up)
    # Cells of a tile are adjacent in memory, because neighboring rows often share a tile.
    return ((a // IN_TILE * TILES + b // IN_TILE) * IN_TILE + a % IN_TILE) * IN_TILE + b % IN_TILE


@jit
def _near(points, candidates, n_candidates, x, y, half, nearest, squared, near_squared, near, most):
    """Write the landmarks that may be among the K nearest of any row in a square around (x, y); return their number.

    With h half the diagonal of the square and r the distance of its center to the K-th nearest landmark, the K nearest
    landmarks of any row in it are within r + 2 h of the center. If these are more than `most`, 0 is returned.

    candidates : landmarks to examine, n_candidates of them; nearest (K,), squared, near_squared : scratch
    near : written, nearest first
    """
    last = nearest.shape[0] - 1
    nearest[:] = _LARGEST
    for e in range(n_candidates):
        a, b = points[candidates[e], 0] - x, points[candidates[e], 1] - y
        squared[e] = a * a + b * b
        if squared[e] < nearest[last]:
            rank = last
            while rank > 0 and nearest[rank - 1] > squared[e]:
                nearest[rank] = nearest[rank - 1]
                rank -= 1
            nearest[rank] = squared[e]
    reach = (np.sqrt(nearest[last]) + 2 * half) * np.float32(1.0001)  # the factor covers rounding in float32
    n = 0
    for e in range(n_candidates):
        if squared[e] <= reach * reach:
            if n == most:
                return 0
            # Nearest to the center first: a row then finds its nearest early, and skips most of the others.
            rank = n
            while rank > 0 and near_squared[rank - 1] > squared[e]:
                near[rank], near_squared[rank] = near[rank - 1], near_squared[rank - 1]
                rank -= 1
            near[rank], near_squared[rank] = candidates[e], squared[e]
            n += 1
    return n


@jit
def near_cells(points, corner, size, n_neighbors, most, first, near):
    """Write the landmarks that may be among the nearest of any row in each cell of a square grid over the plane.

    Those of a cell are searched among those of its tile. Cells with more than `most` of them stay empty.

    points : (p, 2) float32; corner, size : corner of the grid, and side of a cell
    first : (cells + 1,) written; near : (cells * most,) int32 written
    """
    half = size * np.float32(0.70710678)
    nearest = np.empty(n_neighbors, dtype=np.float32)
    squared, near_squared = np.empty((2, points.shape[0]), dtype=np.float32)
    everywhere, in_tile = np.arange(points.shape[0]), np.empty(points.shape[0], dtype=np.int64)
    total = cell = 0
    # Whole tiles first: the cells of a tile then examine only the landmarks near the tile.
    for tile in range(TILES * TILES):
        left, low = tile // TILES * IN_TILE, tile % TILES * IN_TILE
        x = corner[0] + (left + np.float32(IN_TILE / 2)) * size
        y = corner[1] + (low + np.float32(IN_TILE / 2)) * size
        n_near = _near(
            points,
            everywhere,
            len(everywhere),
            x,
            y,
            IN_TILE * half,
            nearest,
            squared,
            near_squared,
            in_tile,
            len(everywhere),
        )
        for inside in range(IN_TILE * IN_TILE):
            first[cell] = total
            x = corner[0] + (left + inside // IN_TILE + np.float32(0.5)) * size
            y = corner[1] + (low + inside % IN_TILE + np.float32(0.5)) * size
            total += _near(points, in_tile, n_near, x, y, half, nearest, squared, near_squared, near[total:], most)
            cell += 1
    first[cell] = total


@jit
def label_cells(cells, near, own, labels):
    """Write the cluster of each cell whose landmarks are all in one cluster (own, (p,)); -1 for any other cell."""
    for cell in range(cells.shape[0] - 1):
        # An empty cell has no label of its own; rows in it are compared with landmarks.
        label = own[near[cells[cell]]] if cells[cell + 1] > cells[cell] else -1
        for e in range(cells[cell], cells[cell + 1]):
            if own[near[e]] != label:
                label = -1
                break
        labels[cell] = label


@jit_fused
def _find(x, points, group_centers, first, member, candidates, index, distance):
    """Write the nearest landmarks of a row, nearest first, and their squared distances; ties to the smaller index.

    They are the nearest among the candidates of the nearest landmark in the group of the nearest center.

    points : (p, d); group_centers : (z, d); first : (z + 1,), member : (p,) the landmarks of each group
    candidates : (p, c) ascending; index, distance : (K,) written
    """
    # Step 1: the nearest group of landmarks.
    nearest, group = _LARGEST, 0
    for g in range(group_centers.shape[0]):
        value = _distance(x, group_centers[g])
        if value < nearest:
            nearest, group = value, g
    # Step 2: the nearest landmark in that group.
    nearest, center = _LARGEST, 0
    for e in range(first[group], first[group + 1]):
        value = _distance(x, points[member[e]])
        if value < nearest:
            nearest, center = value, member[e]
    # Step 3: the K nearest among the candidates of that landmark.
    _keep_nearest(x, points, candidates[center], index, distance)


@jit
def _load(X, shift, factor, i, x):
    for t in range(X.shape[1]):
        value = (X[i, t] - shift[t]) * factor[t]
        if abs(value) > _FAR:
            value = np.copysign(_FAR, value)
        x[t] = value


@jit
def find_cells(X, shift, factor, corner, per_unit, start, stop, cell):
    """Write the cells of the rows start..stop; 0 for a row outside of the grid."""
    x = np.empty(2, dtype=np.float32)
    for i in range(start, stop):
        _load(X, shift, factor, i, x)
        cell[i] = max(_cell(x, corner, per_unit), 0)


@jit
def find_nearest(
    X,
    shift,
    factor,
    points,
    group_centers,
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
    """Write the nearest landmarks of the rows start..stop and their squared distances: index, distance (n, K).

    They are searched among those of the row's cell of the plane (`near_cells`), if it is in one.
    """
    # Without a grid (other than two features) every row takes the general search.
    plane = cells.shape[0] > 1
    x = np.empty(X.shape[1], dtype=np.float32)
    for i in range(start, stop):
        _load(X, shift, factor, i, x)
        cell = _cell(x, corner, per_unit) if plane else -1
        if cell >= 0 and cells[cell + 1] > cells[cell]:
            _keep_nearest_in_plane(x, points, near, cells[cell], cells[cell + 1], index[i], distance[i])
        else:
            _find(x, points, group_centers, first, member, candidates, index[i], distance[i])


@jit_fused
def _label(index, distance, width, vectors, products, squares, link, point, value):
    """Return the center nearest to a row in the embedding, from the row's links to its landmarks.

    The row is the mean of its landmarks' vectors, scaled to unit length. So its product with a center is a mean of
    products of landmarks with centers (products, (p, k)).
    """
    # Gaussian links, never 0, so that a far row still has a mean.
    total = np.float32(0)
    for a in range(index.shape[0]):
        link[a] = max(np.exp(-distance[a] * width), _SMALLEST_LINK)
        total += link[a]
    point[:] = 0
    value[:] = 0
    # A mean of landmarks, weighted by the links.
    for a in range(index.shape[0]):
        share, j = link[a] / total, index[a]
        for c in range(point.shape[0]):
            point[c] += share * vectors[j, c]
        for c in range(value.shape[0]):
            value[c] += share * products[j, c]
    # Squared distance to a center, without the row's own square: |center|^2 - 2 <row, center>.
    length = 0.0
    for c in range(point.shape[0]):
        length += np.float64(point[c]) * np.float64(point[c])
    scale = np.float32(2.0 / (np.sqrt(length) + 1e-10))
    best = _LARGEST
    for c in range(value.shape[0]):
        value[c] = squares[c] - scale * value[c]
        best = min(best, value[c])
    # The first center with the smallest value, so that ties go to the smaller label.
    label = 0
    while value[label] != best:
        label += 1
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
    group_centers,
    first,
    member,
    candidates,
    corner,
    per_unit,
    cells,
    near,
    n_neighbors,
    width,
    vectors,
    products,
    squares,
    own,
    cell_label,
    start,
    stop,
    labels,
):
    """Write the cluster of the rows start..stop to labels (stop - start,).

    A row whose landmarks are all in one cluster (own, (p,)) is in it too; in some cells that holds for every row
    (`label_cells`).
    """
    plane = cells.shape[0] > 1
    x = np.empty(X.shape[1], dtype=np.float32)
    index, distance = np.zeros(n_neighbors, dtype=np.int64), np.empty(n_neighbors, dtype=np.float32)
    link, point = np.empty(n_neighbors, dtype=np.float32), np.empty(vectors.shape[1], dtype=np.float32)
    value = np.empty(products.shape[1], dtype=np.float32)
    for i in range(start, stop):
        _load(X, shift, factor, i, x)
        # Three ways, cheapest first: the cell has one label, all nearest landmarks have one label, or the embedding
        # decides.
        cell = _cell(x, corner, per_unit) if plane else -1
        label = cell_label[cell] if cell >= 0 else -1
        if label < 0:
            if cell >= 0 and cells[cell + 1] > cells[cell]:
                _keep_nearest_in_plane(x, points, near, cells[cell], cells[cell + 1], index, distance)
            else:
                _find(x, points, group_centers, first, member, candidates, index, distance)
            label = _common(own, index)
        if label < 0:
            label = _label(index, distance, width, vectors, products, squares, link, point, value)
        labels[i - start] = label
