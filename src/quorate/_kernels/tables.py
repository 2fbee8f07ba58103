"""Figures from all contingency tables of members at once: the co-occurrence of clusters in CSR form."""

import numpy as np

from quorate._kernels._jit import jit


@jit
def add_coverage(first, indptr, indices, shared, member, out):
    """Add up how many rows of some clusters, of which `first` is the first, each member labels.

    member : (n_clusters,) the member of each cluster
    out : (n_clusters, M) float64
    """
    for a in range(len(indptr) - 1):
        for e in range(indptr[a], indptr[a + 1]):
            out[first + a, member[indices[e]]] += shared[e]


@jit
def keep(indptr, indices, values, rows, number):
    """Return values, indices and indptr of some rows and columns of a matrix in CSR form.

    rows : (r,) the rows, in their new order
    number : (n,) the new number of each column, negative for those that go
    """
    length = np.zeros(len(rows) + 1, dtype=indptr.dtype)
    for r in range(len(rows)):
        for e in range(indptr[rows[r]], indptr[rows[r] + 1]):
            length[r + 1] += number[indices[e]] >= 0
    kept_ptr = np.cumsum(length).astype(indptr.dtype)
    kept_indices = np.empty(kept_ptr[-1], dtype=indices.dtype)
    kept_values = np.empty(kept_ptr[-1], dtype=values.dtype)
    for r in range(len(rows)):
        place = kept_ptr[r]
        for e in range(indptr[rows[r]], indptr[rows[r] + 1]):
            if number[indices[e]] >= 0:
                kept_indices[place] = number[indices[e]]
                kept_values[place] = values[e]
                place += 1
    return kept_values, kept_indices, kept_ptr


@jit
def mutual_information(first, indptr, indices, shared, member, common, coverage, out):
    """Add up the mutual information of every two members i < j over the rows that both label.

    Each cell n_ab of their table adds (n_ab / n_ij) log(n_ab n_ij / (n_a n_b)). Lines are those of some clusters, of
    which `first` is the first.

    member : (n_clusters,) the member of each cluster
    common : (M, M) n_ij
    coverage : (n_clusters, M) how many rows of each cluster each member labels
    out : (M, M) float64, to which is added
    """
    for line in range(len(indptr) - 1):
        a = first + line
        i = member[a]
        for e in range(indptr[line], indptr[line + 1]):
            b = indices[e]
            j = member[b]
            if i < j:
                share = shared[e] / common[i, j]
                out[i, j] += share * np.log(shared[e] * common[i, j] / (coverage[a, j] * coverage[b, i]))


@jit
def jaccard(indptr, indices, shared, member, coverage, out):
    """Write for every two clusters that share rows how many they share, over how many are in either.

    out : as `shared`, float64
    """
    for a in range(len(member)):
        for e in range(indptr[a], indptr[a + 1]):
            b = indices[e]
            out[e] = shared[e] / (coverage[a, member[b]] + coverage[b, member[a]] - shared[e])
