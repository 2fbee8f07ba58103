"""Similarities of clusters through their common neighbors."""

import numpy as np

from quorate._kernels import vector_lanes
from quorate._kernels._jit import jit

_SLACK = 1e-9  # far above rounding errors of a bound
_LOOK_AGAIN = 64  # groups after which a bound is made sharper
_SIDE_BY_SIDE = 64  # groups whose nearest are searched for at once


@jit
def shared_neighbors(indptr, indices, values, order, start, stop, width, out):
    """Write the sum over k of min(v_ki, v_kj) for each i in start..stop and each j not before it.

    Successive clusters i are added up side by side, `width` at a time: the list of a cluster k that is a neighbor of
    any of them is read once for all. As the width is not known when this is compiled, the inner loop stays a loop, and
    runs on vector instructions.

    indptr, indices, values : v (n, n) in CSR form, sorted indices; v_kj = 0 if and only if v_jk = 0
    order : (n,) the place in `out` of each cluster
    out : (n, n) float64, written in the rows of these i only
    """
    n = len(order)
    neighbor = np.zeros(n, dtype=np.bool_)
    total = np.zeros((n, width))
    own = np.empty(width)
    for block in range(start, stop, width):
        n_rows = min(width, stop - block)
        neighbor[indices[indptr[block] : indptr[block + n_rows]]] = True
        for k in range(n):
            if not neighbor[k]:
                continue
            neighbor[k] = False
            end = indptr[k + 1]
            first = indptr[k] + np.searchsorted(indices[indptr[k] : end], block)
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
        for j in range(block, n):
            for q in range(n_rows):
                out[order[block + q], order[j]] = total[j, q]
            total[j] = 0.0


@jit
def sorted_lists(indptr, indices, values, order, place, start, stop, list_ptr, list_indices, list_values):
    """Write the rows start..stop of a matrix in CSR form in another order, each sorted by value.

    order, place : (n,) the row at each place, and the place of each row
    list_ptr, list_indices, list_values : the same matrix in that order, list_ptr given; indices unsigned
    """
    for i in range(start, stop):
        entries = slice(indptr[order[i]], indptr[order[i] + 1])
        by_value = np.argsort(values[entries])
        list_indices[list_ptr[i] : list_ptr[i + 1]] = place[indices[entries][by_value]]
        list_values[list_ptr[i] : list_ptr[i + 1]] = values[entries][by_value]


@jit
def values_in_lists(list_ptr, list_indices, order, place, indptr, indices, values, start, stop, out):
    """Write the values of a matrix in CSR form where the lists start..stop have the same entries, 0 where it has none.

    list_ptr, list_indices : the lists; it has no entries but theirs
    order, place : (n,) the row of the matrix at each place of the lists, and the place of each row
    out : as list_indices, float64
    """
    line = np.empty(len(order))
    for k in range(start, stop):
        entries = slice(indptr[order[k]], indptr[order[k] + 1])
        columns, entry_values = indices[entries], values[entries]
        listed = list_indices[list_ptr[k] : list_ptr[k + 1]]
        if len(columns) < len(listed):
            for e in range(len(listed)):
                line[listed[e]] = 0.0
        for e in range(len(columns)):
            line[place[columns[e]]] = entry_values[e]
        found = out[list_ptr[k] : list_ptr[k + 1]]
        for e in range(len(listed)):
            found[e] = line[listed[e]]


# Lists are cut out before they are read: places that count from 0 need no look at whether they are negative.


@jit
def add_triples(indptr, indices, values, influence, x, start, stop, out):
    """Write for each i the sum over k in start..stop and over j of I_k min(v_ki, v_kj) x_j, for eight x at once.

    indptr, indices, values : v (n, n) in CSR form, each row sorted by value; indices unsigned, which reads faster
    influence : (n,) I
    x, out : (n, 8)
    """
    _clear(out)
    for k in range(start, stop):
        entries = slice(indptr[k], indptr[k + 1])
        neighbors = indices[entries]
        _add_triples_through(neighbors, values[entries], influence[k], x, _sum_of_rows(neighbors, x), out)


@jit
def add_triples_beside(indptr, indices, values, influence, beside, x, start, stop, out, product):
    """Do what `add_triples` does, and multiply the rows start..stop of another matrix with the same x on the way.

    beside : the values of the other matrix where those of v are
    product : (n, 8)
    """
    _clear(out)
    for k in range(start, stop):
        entries = slice(indptr[k], indptr[k + 1])
        neighbors = indices[entries]
        together, own = _sums_of_rows(neighbors, beside[entries], x)
        vector_lanes.store(product, k, own)
        _add_triples_through(neighbors, values[entries], influence[k], x, together, out)


@jit
def _clear(out):
    """Write zeros; where the sums are added up, so that their lines of the cache are near this thread then."""
    for i in range(len(out)):
        vector_lanes.store(out, i, vector_lanes.zeros())


@jit
def _add_triples_through(neighbors, values, influence, x, together, out):
    """Add for each neighbor i of one k the sum over its neighbors j of I_k min(v_ki, v_kj) x_j.

    With the neighbors in ascending order of v, the step from one v to the next counts for all that are not smaller, so
    that the sum of their x, at first that of all `together`, and that of the steps so far serve all i.
    """
    larger, total, value = together, vector_lanes.zeros(), 0.0
    for e in range(len(neighbors)):
        total = vector_lanes.add(total, vector_lanes.scale(influence * (values[e] - value), larger))
        larger = vector_lanes.subtract(larger, vector_lanes.load(x, neighbors[e]))
        value = values[e]
        vector_lanes.store(out, neighbors[e], vector_lanes.add(vector_lanes.load(out, neighbors[e]), total))


@jit
def add_up_triples(sums, scale, own, x, out):
    """Write the scaled sum of what the parts have added, and x times what each has of its own.

    sums : (parts n, 8) one part after the other
    own : (n,)
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
    """Return the sum of some rows of x; by fours, which do not wait for each other."""
    one, two, three, four = vector_lanes.zeros(), vector_lanes.zeros(), vector_lanes.zeros(), vector_lanes.zeros()
    by_fours = len(rows) // 4 * 4
    for e in range(0, by_fours, 4):
        one = vector_lanes.add(one, vector_lanes.load(x, rows[e]))
        two = vector_lanes.add(two, vector_lanes.load(x, rows[e + 1]))
        three = vector_lanes.add(three, vector_lanes.load(x, rows[e + 2]))
        four = vector_lanes.add(four, vector_lanes.load(x, rows[e + 3]))
    for e in range(by_fours, len(rows)):
        one = vector_lanes.add(one, vector_lanes.load(x, rows[e]))
    return vector_lanes.add(vector_lanes.add(one, two), vector_lanes.add(three, four))


@jit
def _sums_of_rows(rows, values, x):
    """Return the sum of some rows of x, and their sum times the values; by twos."""
    one, two = vector_lanes.zeros(), vector_lanes.zeros()
    scaled_one, scaled_two = vector_lanes.zeros(), vector_lanes.zeros()
    by_twos = len(rows) // 2 * 2
    for e in range(0, by_twos, 2):
        row, next_row = vector_lanes.load(x, rows[e]), vector_lanes.load(x, rows[e + 1])
        one, scaled_one = vector_lanes.add(one, row), vector_lanes.add(scaled_one, vector_lanes.scale(values[e], row))
        two, scaled_two = (
            vector_lanes.add(two, next_row),
            vector_lanes.add(scaled_two, vector_lanes.scale(values[e + 1], next_row)),
        )
    for e in range(by_twos, len(rows)):
        row = vector_lanes.load(x, rows[e])
        one, scaled_one = vector_lanes.add(one, row), vector_lanes.add(scaled_one, vector_lanes.scale(values[e], row))
    return vector_lanes.add(one, two), vector_lanes.add(scaled_one, scaled_two)


@jit
def multiply_rows(indptr, indices, values, x, start, stop, out):
    """Write the rows start..stop of the product of a matrix in CSR form and x (n, 8); indices unsigned."""
    for i in range(start, stop):
        entries = slice(indptr[i], indptr[i + 1])
        columns, factors = indices[entries], values[entries]
        total = vector_lanes.zeros()
        for e in range(len(columns)):
            total = vector_lanes.add(total, vector_lanes.scale(factors[e], vector_lanes.load(x, columns[e])))
        vector_lanes.store(out, i, total)


@jit
def step(indptr, indices, values, before, after):
    """Write the product of a matrix in CSR form and `before` (n, b) to `after`; b is a multiple of 48.

    Both are given as rows of eight, (n b / 8, 8), of which six are added up at once: sums do not wait for each other.
    """
    n = len(indptr) - 1
    width = len(before) // n
    for q in range(0, width, 6):
        for j in range(n):
            one, two, three = vector_lanes.zeros(), vector_lanes.zeros(), vector_lanes.zeros()
            four, five, six = vector_lanes.zeros(), vector_lanes.zeros(), vector_lanes.zeros()
            for e in range(indptr[j], indptr[j + 1]):
                row, value = np.int64(indices[e]) * width + q, values[e]
                one = vector_lanes.add(one, vector_lanes.scale(value, vector_lanes.load(before, row)))
                two = vector_lanes.add(two, vector_lanes.scale(value, vector_lanes.load(before, row + 1)))
                three = vector_lanes.add(three, vector_lanes.scale(value, vector_lanes.load(before, row + 2)))
                four = vector_lanes.add(four, vector_lanes.scale(value, vector_lanes.load(before, row + 3)))
                five = vector_lanes.add(five, vector_lanes.scale(value, vector_lanes.load(before, row + 4)))
                six = vector_lanes.add(six, vector_lanes.scale(value, vector_lanes.load(before, row + 5)))
            place = j * width + q
            vector_lanes.store(after, place, one)
            vector_lanes.store(after, place + 1, two)
            vector_lanes.store(after, place + 2, three)
            vector_lanes.store(after, place + 3, four)
            vector_lanes.store(after, place + 4, five)
            vector_lanes.store(after, place + 5, six)


@jit
def symmetrize(start, stop, out):
    """Give every two entries out[i, j], out[j, i] the larger value of both, for columns j in start..stop, i > j.

    Nothing in `out` is negative, and an entry not written yet is 0. It goes tile by tile, which is kind to the cache.
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
    """Write what each cluster gets from b groups of patterns: T Phi' of these.

    groups : (b,) numbers of the groups
    indptr, indices, values : Phi (m, n_clusters) in CSR form
    similarity : (n_clusters, n_clusters) symmetric T
    first, last : (n_clusters,) the clusters first..last alone are similar to each
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
    """Write what b patterns start, start + 1, ... have in common with all from `start` on: Phi carried, and its mirror.

    Nothing is more than `most`.

    It goes tile by tile: the patterns of a tile are added up side by side, on vector instructions, and the tile is
    still in the cache when it is mirrored.

    carried : (n_clusters, b) float64, what each cluster gets from each of the b patterns
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
    """Write what group g has in common with each of b groups; they stand side by side, for vector instructions."""
    total[:] = 0.0
    for e in range(indptr[g], indptr[g + 1]):
        value, part = values[e], carried[indices[e]]
        for j in range(len(total)):
            total[j] += value * part[j]


@jit
def nearest(todo, indptr, indices, values, similarity, first, last, partner, best, second):
    """Write for some groups the group that each has most in common with, how much, and how much with the next.

    todo : numbers of the groups, ascending; _SIDE_BY_SIDE are searched for at once
    indptr, indices, values, similarity, first, last : as in `carry`; nothing is negative
    partner, best, second : (m,) written at the places `todo`
    """
    for start in range(0, len(todo), _SIDE_BY_SIDE):
        some = todo[start : start + _SIDE_BY_SIDE]
        carried = np.empty((len(similarity), len(some)), dtype=np.float64)
        carry(some, indptr, indices, values, similarity, first, last, carried)
        _nearest_to_some(carried, some, indptr, indices, values, partner, best, second)


@jit
def _nearest_to_some(carried, todo, indptr, indices, values, partner, best, second):
    """Search for the nearest of b groups; `carried` (n_clusters, b) is what each cluster gets from them.

    The groups themselves come first. Any other is left out if it cannot have more in common with one of them than what
    was found for all: no entry of theirs is more than the largest of its cluster.
    """
    n_clusters, b = carried.shape
    largest = np.empty(n_clusters, dtype=np.float64)
    for c in range(n_clusters):
        largest[c] = vector_lanes.highest(carried[c])
    total = np.empty(b, dtype=np.float64)
    highest, next_highest = np.full(b, -np.inf), np.full(b, -np.inf)
    where = np.zeros(b, dtype=np.float64)
    for j in range(b):
        _have_in_common(carried, todo[j], indptr, indices, values, total)
        total[j] = -np.inf
        _keep_two(total, todo[j], highest, next_highest, where)
    least, place = highest.min(), 0
    for g in range(len(indptr) - 1):
        if place < b and todo[place] == g:
            place += 1
            continue
        bound = _SLACK
        for e in range(indptr[g], indptr[g + 1]):
            bound += values[e] * largest[indices[e]]
        if bound >= least:
            _have_in_common(carried, g, indptr, indices, values, total)
            _keep_two(total, g, highest, next_highest, where)
        if g % _LOOK_AGAIN == 0:
            least = highest.min()
    for j in range(b):
        partner[todo[j]], best[todo[j]], second[todo[j]] = np.int64(where[j]), highest[j], next_highest[j]


@jit
def _keep_two(total, g, first, second, where):
    """Keep the two largest numbers, and of the first where it was found; as a float, for vector instructions."""
    here = np.float64(g)
    for j in range(len(total)):
        value, before = total[j], first[j]
        smaller = value if value < before else before
        second[j] = smaller if smaller > second[j] else second[j]
        where[j] = here if value > before else where[j]
        first[j] = value if value > before else before
