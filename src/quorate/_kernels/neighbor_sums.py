"""Similarities of clusters and groups through common neighbors: SACT products, random walks, nearest groups.

Design. Three kinds of loops are in here. (1) `shared_neighbors` forms the matrix of connected triples for blocks of
rows, so that the list of a common neighbor is read once for all of them. (2) `add_triples` multiplies that matrix with
eight vectors without forming it: for one neighbor k with its neighbors sorted by value, the sum over j of min(v_ki,
v_kj) x_j takes constant time per i, because each step in value counts for all larger ones. Vectors of eight stay in
registers (`vector_lanes`). (3) `nearest` finds the most similar group of 64 groups together and skips groups whose
upper bound cannot reach any of them; tests/kernels/test_comparisons.py counts the comparisons.
"""

import numpy as np

from quorate._kernels import vector_lanes
from quorate._kernels._jit import jit

_SLACK = 1e-9  # far above the rounding errors of a bound
_REFRESH = 64  # groups after which the smallest best similarity is computed again
_SIDE_BY_SIDE = 64  # groups whose nearest groups are searched together


@jit
def shared_neighbors(indptr, indices, values, order, start, stop, width, out):
    """Write the sum over k of min(v_ki, v_kj) for each i in start..stop and each j not before it.

    Successive clusters i are summed together, `width` at a time: the list of a cluster k that is a neighbor of any of
    them is read once for all. Because the width is unknown at compile time, the inner loop stays a loop and is compiled
    to vector instructions.

    indptr, indices, values : v (n, n) in CSR form, sorted indices; v_kj = 0 if and only if v_jk = 0
    order : (n,) the position in `out` of each cluster
    out : (n, n) float64, written in the rows of these i only
    """
    n = len(order)
    neighbor = np.zeros(n, dtype=np.bool_)
    total = np.zeros((n, width))
    own = np.empty(width)
    for block in range(start, stop, width):
        n_rows = min(width, stop - block)
        # Mark every k that is a neighbor of any row of the block; other k contribute nothing.
        neighbor[indices[indptr[block] : indptr[block + n_rows]]] = True
        for k in range(n):
            if not neighbor[k]:
                continue
            neighbor[k] = False
            end = indptr[k + 1]
            first = indptr[k] + np.searchsorted(indices[indptr[k] : end], block)
            # own[q] = v_k of row q of the block, 0 where k is no neighbor of it: the minimum is then 0 as well.
            own[:] = 0.0
            for e in range(first, end):
                if indices[e] >= block + n_rows:
                    break
                own[indices[e] - block] = values[e]
            for e in range(first, end):
                value = values[e]
                sums = total[indices[e]]
                for q in range(len(own)):
                    sums[q] += own[q] if own[q] < value else value
        # Only columns from the block on: the matrix is symmetric, and `symmetrize` mirrors them.
        for j in range(block, n):
            for q in range(n_rows):
                out[order[block + q], order[j]] = total[j, q]
            total[j] = 0.0


@jit
def sorted_lists(indptr, indices, values, order, position, start, stop, list_ptr, list_indices, list_values):
    """Write the rows start..stop of a CSR matrix in another order, each sorted by value.

    order, position : (n,) the row at each position, and the position of each row
    list_ptr, list_indices, list_values : the same matrix in that order, list_ptr given; indices unsigned
    """
    for i in range(start, stop):
        entries = slice(indptr[order[i]], indptr[order[i] + 1])
        # Sorted by value, because `_add_triples_through` adds up steps from one value to the next.
        by_value = np.argsort(values[entries])
        list_indices[list_ptr[i] : list_ptr[i + 1]] = position[indices[entries][by_value]]
        list_values[list_ptr[i] : list_ptr[i + 1]] = values[entries][by_value]


@jit
def values_in_lists(list_ptr, list_indices, order, position, indptr, indices, values, start, stop, out):
    """Write the values of a CSR matrix at the entries of the lists start..stop, 0 where it has none.

    list_ptr, list_indices : the lists; the matrix has no other entries
    order, position : (n,) the row of the matrix at each position of the lists, and the position of each row
    out : as list_indices, float64
    """
    line = np.empty(len(order))
    for k in range(start, stop):
        entries = slice(indptr[order[k]], indptr[order[k] + 1])
        columns, entry_values = indices[entries], values[entries]
        listed = list_indices[list_ptr[k] : list_ptr[k + 1]]
        if len(columns) < len(listed):  # entries that the matrix lacks are 0
            for e in range(len(listed)):
                line[listed[e]] = 0.0
        for e in range(len(columns)):
            line[position[columns[e]]] = entry_values[e]
        written = out[list_ptr[k] : list_ptr[k + 1]]
        for e in range(len(listed)):
            written[e] = line[listed[e]]


# Lists are sliced before they are read: numba then knows that indices from 0 on are not negative.


@jit
def add_triples(indptr, indices, values, weights, x, start, stop, out):
    """Write for each i the sum over k in start..stop and over j of I_k min(v_ki, v_kj) x_j, for eight x together.

    indptr, indices, values : v (n, n) in CSR form, each row sorted by value; indices unsigned, which is faster
    weights : (n,) I
    x, out : (n, 8)
    """
    _clear(out)
    for k in range(start, stop):
        entries = slice(indptr[k], indptr[k + 1])
        neighbors = indices[entries]
        _add_triples_through(neighbors, values[entries], weights[k], x, _sum_of_rows(neighbors, x), out)


@jit
def add_triples_and_product(indptr, indices, values, weights, other_values, x, start, stop, out, product):
    """Do what `add_triples` does and multiply the rows start..stop of another matrix with the same x in the same pass.

    other_values : the values of the other matrix at the entries of v
    product : (n, 8)
    """
    _clear(out)
    for k in range(start, stop):
        entries = slice(indptr[k], indptr[k + 1])
        neighbors = indices[entries]
        together, own = _sums_of_rows(neighbors, other_values[entries], x)
        vector_lanes.store(product, k, own)
        _add_triples_through(neighbors, values[entries], weights[k], x, together, out)


@jit
def _clear(out):
    """Write zeros, in the thread that adds up, so that their cache lines are near it."""
    for i in range(len(out)):
        vector_lanes.store(out, i, vector_lanes.zeros())


@jit
def _add_triples_through(neighbors, values, weights, x, together, out):
    """Add for each neighbor i of one k the sum over its neighbors j of I_k min(v_ki, v_kj) x_j.

    With the neighbors in ascending order of v, the step from one v to the next counts for all that are not smaller. So
    the sum of their x, at first `together`, the sum of all, and the sum of the steps so far serve all i.
    """
    larger, total, value = together, vector_lanes.zeros(), 0.0
    for e in range(len(neighbors)):
        total = vector_lanes.add(total, vector_lanes.scale(weights * (values[e] - value), larger))
        larger = vector_lanes.subtract(larger, vector_lanes.load(x, neighbors[e]))
        value = values[e]
        vector_lanes.store(out, neighbors[e], vector_lanes.add(vector_lanes.load(out, neighbors[e]), total))


@jit
def add_up_triples(sums, scale, own, x, out):
    """Write the scaled sum of the parts, plus the diagonal times x.

    sums : (parts n, 8) one part after the other
    own : (n,) the diagonal
    x, out : (n, 8)
    """
    for i in range(len(out)):
        total = vector_lanes.zeros()
        for row in range(i, len(sums), len(out)):
            total = vector_lanes.add(total, vector_lanes.load(sums, row))
        vector_lanes.store(
            out,
            i,
            vector_lanes.add(vector_lanes.scale(scale, total), vector_lanes.scale(own[i], vector_lanes.load(x, i))),
        )


@jit
def _sum_of_rows(rows, x):
    """Return the sum of rows of x; four sums, which do not wait for each other."""
    sum_0, sum_1, sum_2, sum_3 = vector_lanes.zeros(), vector_lanes.zeros(), vector_lanes.zeros(), vector_lanes.zeros()
    by_fours = len(rows) // 4 * 4
    for e in range(0, by_fours, 4):
        sum_0 = vector_lanes.add(sum_0, vector_lanes.load(x, rows[e]))
        sum_1 = vector_lanes.add(sum_1, vector_lanes.load(x, rows[e + 1]))
        sum_2 = vector_lanes.add(sum_2, vector_lanes.load(x, rows[e + 2]))
        sum_3 = vector_lanes.add(sum_3, vector_lanes.load(x, rows[e + 3]))
    for e in range(by_fours, len(rows)):
        sum_0 = vector_lanes.add(sum_0, vector_lanes.load(x, rows[e]))
    return vector_lanes.add(vector_lanes.add(sum_0, sum_1), vector_lanes.add(sum_2, sum_3))


@jit
def _sums_of_rows(rows, values, x):
    """Return the sum of rows of x, and their sum times the values; two sums each."""
    sum_0, sum_1 = vector_lanes.zeros(), vector_lanes.zeros()
    scaled_0, scaled_1 = vector_lanes.zeros(), vector_lanes.zeros()
    by_twos = len(rows) // 2 * 2
    for e in range(0, by_twos, 2):
        row, next_row = vector_lanes.load(x, rows[e]), vector_lanes.load(x, rows[e + 1])
        sum_0, scaled_0 = vector_lanes.add(sum_0, row), vector_lanes.add(scaled_0, vector_lanes.scale(values[e], row))
        sum_1, scaled_1 = (
            vector_lanes.add(sum_1, next_row),
            vector_lanes.add(scaled_1, vector_lanes.scale(values[e + 1], next_row)),
        )
    for e in range(by_twos, len(rows)):
        row = vector_lanes.load(x, rows[e])
        sum_0, scaled_0 = vector_lanes.add(sum_0, row), vector_lanes.add(scaled_0, vector_lanes.scale(values[e], row))
    return vector_lanes.add(sum_0, sum_1), vector_lanes.add(scaled_0, scaled_1)


@jit
def multiply_rows(indptr, indices, values, x, start, stop, out):
    """Write the rows start..stop of the product of a CSR matrix and x (n, 8); indices unsigned."""
    for i in range(start, stop):
        entries = slice(indptr[i], indptr[i + 1])
        columns, factors = indices[entries], values[entries]
        total = vector_lanes.zeros()
        for e in range(len(columns)):
            total = vector_lanes.add(total, vector_lanes.scale(factors[e], vector_lanes.load(x, columns[e])))
        vector_lanes.store(out, i, total)


@jit
def step(indptr, indices, values, before, after):
    """Write the product of a CSR matrix and `before` (n, b) to `after`; b is a multiple of 48.

    Both are given as rows of eight, (n b / 8, 8), of which six are summed together: sums do not wait for each other.
    """
    n = len(indptr) - 1
    width = len(before) // n
    for q in range(0, width, 6):
        for j in range(n):
            sum_0, sum_1, sum_2 = vector_lanes.zeros(), vector_lanes.zeros(), vector_lanes.zeros()
            sum_3, sum_4, sum_5 = vector_lanes.zeros(), vector_lanes.zeros(), vector_lanes.zeros()
            for e in range(indptr[j], indptr[j + 1]):
                row, value = np.int64(indices[e]) * width + q, values[e]
                sum_0 = vector_lanes.add(sum_0, vector_lanes.scale(value, vector_lanes.load(before, row)))
                sum_1 = vector_lanes.add(sum_1, vector_lanes.scale(value, vector_lanes.load(before, row + 1)))
                sum_2 = vector_lanes.add(sum_2, vector_lanes.scale(value, vector_lanes.load(before, row + 2)))
                sum_3 = vector_lanes.add(sum_3, vector_lanes.scale(value, vector_lanes.load(before, row + 3)))
                sum_4 = vector_lanes.add(sum_4, vector_lanes.scale(value, vector_lanes.load(before, row + 4)))
                sum_5 = vector_lanes.add(sum_5, vector_lanes.scale(value, vector_lanes.load(before, row + 5)))
            first_row = j * width + q
            vector_lanes.store(after, first_row, sum_0)
            vector_lanes.store(after, first_row + 1, sum_1)
            vector_lanes.store(after, first_row + 2, sum_2)
            vector_lanes.store(after, first_row + 3, sum_3)
            vector_lanes.store(after, first_row + 4, sum_4)
            vector_lanes.store(after, first_row + 5, sum_5)


@jit
def symmetrize(start, stop, out):
    """Set every two entries out[i, j], out[j, i] to the larger of both, for columns j in start..stop, i > j.

    No entry is negative, and an entry not written yet is 0. The order is tile by tile, for the cache.
    """
    n = out.shape[0]
    tile = 64
    for top in range(start, n, tile):
        for j in range(start, stop):
            for i in range(max(top, j + 1), min(top + tile, n)):
                value = max(out[i, j], out[j, i])
                out[i, j] = value
                out[j, i] = value


@jit
def carry(groups, indptr, indices, values, similarity, first, last, carried):
    """Write T Phi' for b groups of patterns: the similarity of each cluster to each of the groups.

    groups : (b,) numbers of the groups
    indptr, indices, values : Phi (m, n_clusters) in CSR form
    similarity : (n_clusters, n_clusters) symmetric T
    first, last : (n_clusters,) only the clusters first..last are similar to each
    carried : (n_clusters, b)
    """
    n_clusters, b = carried.shape
    lines = np.empty((vector_lanes.WIDTH, n_clusters), dtype=np.float64)
    for top in range(0, b, vector_lanes.WIDTH):
        n_lines = min(vector_lanes.WIDTH, b - top)
        lines[:] = 0.0
        for i in range(n_lines):
            g, total = groups[top + i], lines[i]
            for e in range(indptr[g], indptr[g + 1]):
                value, part = values[e], similarity[indices[e]]
                for c in range(first[indices[e]], last[indices[e]]):
                    total[c] += value * part[c]
        for c in range(n_clusters):
            for i in range(n_lines):
                carried[c, top + i] = lines[i, c]


@jit
def add_up(carried, indptr, indices, values, start, most, out):
    """Write the similarity of the b patterns start, start + 1, ... to all patterns from `start` on, and its mirror
    image.

    No similarity exceeds `most`. The order is tile by tile: the patterns of a tile are summed together with vector
    instructions, and the tile is still in the cache when it is mirrored.

    carried : (n_clusters, b) float64, the similarity of each cluster to each of the b patterns
    indptr, indices, values : Phi (m, n_clusters) in CSR form
    out : (m, m) float64
    """
    m, b = out.shape[0], carried.shape[1]
    tile = np.empty((b, b), dtype=np.float64)
    for top in range(start, m, b):
        n_rows = min(b, m - top)
        for i in range(n_rows):
            total = tile[i]
            _have_in_common(carried, top + i, indptr, indices, values, total)
            for j in range(b):
                total[j] = min(total[j], most)
        if top == start:
            for i in range(n_rows):
                for j in range(i):
                    tile[j, i] = tile[i, j]
        for i in range(n_rows):
            out[top + i, start : start + b] = tile[i]
        for j in range(b):
            for i in range(n_rows):
                out[start + j, top + i] = tile[i, j]


@jit
def _have_in_common(carried, g, indptr, indices, values, total):
    """Write the similarity of group g to each of b groups, which are adjacent in memory for vector instructions."""
    total[:] = 0.0
    for e in range(indptr[g], indptr[g + 1]):
        value, part = values[e], carried[indices[e]]
        for j in range(len(total)):
            total[j] += value * part[j]


@jit
def nearest(todo, indptr, indices, values, similarity, first, last, partner, best, second):
    """Write for some groups the most similar group, the similarity to it, and that to the second one.

    todo : numbers of the groups, ascending; searched in blocks of _SIDE_BY_SIDE
    indptr, indices, values, similarity, first, last : as in `carry`; no value is negative
    partner, best, second : (m,) written at the positions `todo`
    """
    for start in range(0, len(todo), _SIDE_BY_SIDE):
        block = todo[start : start + _SIDE_BY_SIDE]
        carried = np.empty((len(similarity), len(block)), dtype=np.float64)
        carry(block, indptr, indices, values, similarity, first, last, carried)
        _nearest_to_block(carried, block, indptr, indices, values, partner, best, second)


@jit
def _nearest_to_block(carried, todo, indptr, indices, values, partner, best, second):
    """Find the nearest groups of b groups; `carried` (n_clusters, b) is the similarity of each cluster to them.

    The b groups themselves come first. Any other group is skipped if its upper bound is below the smallest of the b
    best similarities: no similarity to a cluster exceeds the largest of that cluster.
    """
    n_clusters, b = carried.shape
    # Upper bound per cluster: the largest similarity to any of the b groups.
    largest = np.empty(n_clusters, dtype=np.float64)
    for c in range(n_clusters):
        largest[c] = vector_lanes.highest(carried[c])
    total = np.empty(b, dtype=np.float64)
    highest, next_highest = np.full(b, -np.inf), np.full(b, -np.inf)
    where = np.zeros(b, dtype=np.float64)
    # Groups of the block first: they are often near each other, which makes the bound effective from the start.
    for j in range(b):
        _have_in_common(carried, todo[j], indptr, indices, values, total)
        total[j] = -np.inf  # not with itself
        _keep_two(total, todo[j], highest, next_highest, where)
    least, position = highest.min(), 0
    for g in range(len(indptr) - 1):
        if position < b and todo[position] == g:
            position += 1
            continue
        bound = _SLACK
        for e in range(indptr[g], indptr[g + 1]):
            bound += values[e] * largest[indices[e]]
        if bound >= least:  # it may be nearer to at least one of the b groups
            _have_in_common(carried, g, indptr, indices, values, total)
            _keep_two(total, g, highest, next_highest, where)
        if g % _REFRESH == 0:
            least = highest.min()
    for j in range(b):
        partner[todo[j]], best[todo[j]], second[todo[j]] = np.int64(where[j]), highest[j], next_highest[j]


@jit
def _keep_two(total, g, first, second, where):
    """Update the two largest values, and the group of the first; as a float, for vector instructions."""
    here = np.float64(g)
    for j in range(len(total)):
        value, before = total[j], first[j]
        smaller = value if value < before else before
        second[j] = smaller if smaller > second[j] else second[j]
        where[j] = here if value > before else where[j]
        first[j] = value if value > before else before
