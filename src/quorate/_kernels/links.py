"""Similarities of clusters through their common neighbours."""

import numpy as np

from quorate._kernels._jit import jit


@jit
def shared_neighbours(indptr, indices, values, influence, start, stop, out):
    """Write rows start..stop of the upper triangle of sum over k of influence[k] min(v_ik, v_jk).

    indptr, indices, values : symmetric sparse matrix v in CSR form, sorted indices; the neighbours of each cluster
    influence : (n,) float64
    out : (n, n) float64, zero on entry in these rows
    """
    for i in range(start, stop):
        row = out[i]
        for e in range(indptr[i], indptr[i + 1]):
            k = indices[e]
            v_ik = values[e]
            first = indptr[k] + np.searchsorted(indices[indptr[k] : indptr[k + 1]], i)
            for f in range(first, indptr[k + 1]):
                row[indices[f]] += influence[k] * min(v_ik, values[f])


@jit
def mirror(start, stop, out):
    """Copy the upper triangle of `out` below the diagonal, columns start..stop, tile by tile."""
    n = out.shape[0]
    tile = 64
    for top in range(start, n, tile):
        for j in range(start, stop):
            for i in range(max(top, j + 1), min(top + tile, n)):
                out[i, j] = out[j, i]


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
