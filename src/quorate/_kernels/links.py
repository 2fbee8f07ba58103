"""Similarities of clusters through their common neighbours."""

import numpy as np

from quorate._kernels._jit import jit


@jit
def shared_neighbours(indptr, indices, values, order, start, stop, width, out):
    """Write the sum over k of min(v_ki, v_kj) for each i in start..stop and each j not before it.

    Successive clusters i are added up side by side, `width` at a time: the list of a cluster k that is a neighbour of
    any of them is read once for all. As the width is not known when this is compiled, the inner loop stays a loop, and
    runs on vector instructions.

    indptr, indices, values : v (n, n) in CSR form, sorted indices; v_kj = 0 if and only if v_jk = 0
    order : (n,) the place in `out` of each cluster
    out : (n, n) float64, written in the rows of these i only
    """
    n = len(order)
    neighbour = np.zeros(n, dtype=np.bool_)
    total = np.zeros((n, width))
    own = np.empty(width)
    for block in range(start, stop, width):
        n_rows = min(width, stop - block)
        neighbour[indices[indptr[block] : indptr[block + n_rows]]] = True
        for k in range(n):
            if not neighbour[k]:
                continue
            neighbour[k] = False
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
def sort_lists(indptr, indices, values, start, stop):
    """Sort the entries of the rows start..stop of a matrix in CSR form by value, in place."""
    for row in range(start, stop):
        entries = slice(indptr[row], indptr[row + 1])
        order = np.argsort(values[entries])
        indices[entries] = indices[entries][order]
        values[entries] = values[entries][order]


@jit
def add_triples(indptr, indices, values, x, start, stop, out):
    """Add for each i the sum over k in start..stop and over j of min(v_ki, v_kj) x_j.

    With the neighbours of k in ascending order of v, the smaller ones count by their own v and the larger ones by that
    of i, so that two running sums serve all i.

    indptr, indices, values : v (n, n) in CSR form, each row sorted by value; indices unsigned, which reads faster
    x, out : (n,)
    """
    of_neighbour = np.empty(len(x))
    for k in range(start, stop):
        first = indptr[k]
        n_neighbours = indptr[k + 1] - first
        larger = 0.0
        for e in range(n_neighbours):
            of_neighbour[e] = x[indices[first + e]]
            larger += of_neighbour[e]
        smaller = 0.0
        for e in range(n_neighbours):
            value = values[first + e]
            smaller += value * of_neighbour[e]
            larger -= of_neighbour[e]
            out[indices[first + e]] += smaller + value * larger


@jit
def multiply_rows(indptr, indices, values, x, start, stop, out):
    """Write the entries start..stop of the product of a matrix in CSR form and a vector x; indices unsigned."""
    for i in range(start, stop):
        total = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            total += values[e] * x[indices[e]]
        out[i] = total


@jit
def symmetrise(start, stop, out):
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
def add_up(carried, indptr, indices, values, start, out):
    """Write rows start, start + 1, ... of the upper triangle of carried Phi', Phi sparse over clusters.

    carried : (b, n_clusters) float64, what each of b patterns sends to each cluster
    indptr, indices, values : Phi (m, n_clusters) in CSR form
    out : (m, m) float64
    """
    m = out.shape[0]
    for position in range(carried.shape[0]):
        row = carried[position]
        for v in range(start + position, m):
            total = 0.0
            for e in range(indptr[v], indptr[v + 1]):
                total += values[e] * row[indices[e]]
            out[start + position, v] = total
