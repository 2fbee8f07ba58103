"""Statistics of all contingency tables of two members, read from the co-occurrence of clusters in CSR form."""

import numpy as np

from quorate._kernels._jit import jit


@jit
def add_coverage(first, indptr, indices, shared, member, out):
    """Add to `out` the number of rows of consecutive clusters, starting with `first`, that each member labels.

    member : (n_clusters,) the member of each cluster
    out : (n_clusters, M) float64
    """
    for a in range(len(indptr) - 1):
        for e in range(indptr[a], indptr[a + 1]):
            out[first + a, member[indices[e]]] += shared[e]


@jit
def add_largest_overlaps(first, indptr, indices, shared, member, out):
    """Add up, over the clusters of each member, the rows of its largest overlap with any cluster of each other member.

    Lines are those of some clusters, of which `first` is the first.

    member : (n_clusters,) the member of each cluster
    out : (M, M) float64, to which is added
    """
    largest = np.empty(out.shape[0])
    # The largest overlap is kept per member while the row of one cluster is read.
    for a in range(len(indptr) - 1):
        largest[:] = 0.0
        for e in range(indptr[a], indptr[a + 1]):
            j = member[indices[e]]
            largest[j] = max(largest[j], shared[e])
        out[member[first + a]] += largest


@jit
def count_selected(indptr, indices, rows, number, start, stop, out):
    """Write into out[r + 1] the number of selected entries of row rows[r], for r in start..stop.

    number : (n,) the new number of each column, negative for columns that are not selected
    out : (rows + 1,)
    """
    for r in range(start, stop):
        n_selected = 0
        for e in range(indptr[rows[r]], indptr[rows[r] + 1]):
            n_selected += number[indices[e]] >= 0
        out[r + 1] = n_selected


@jit
def select_entries(indptr, indices, values, rows, number, start, stop, new_ptr, new_indices, new_values):
    """Write the selected entries of the rows rows[start:stop], with the new numbers of their columns.

    number : as in `count_selected`
    new_ptr, new_indices, new_values : the selected matrix in CSR form, new_ptr given
    """
    for r in range(start, stop):
        entry = new_ptr[r]
        for e in range(indptr[rows[r]], indptr[rows[r] + 1]):
            if number[indices[e]] >= 0:
                new_indices[entry] = number[indices[e]]
                new_values[entry] = values[e]
                entry += 1


@jit
def mutual_information(first, indptr, indices, shared, member, common, coverage, out):
    """Add up the mutual information of every two members i < j over the rows that both label.

    Each cell n_ab of their table adds (n_ab / n_ij) log(n_ab n_ij / (n_a n_b)). The rows are those of consecutive
    clusters, starting with `first`.

    member : (n_clusters,) the member of each cluster
    common : (M, M) n_ij
    coverage : (n_clusters, M) number of rows of each cluster that each member labels
    out : (M, M) float64, added to
    """
    for line in range(len(indptr) - 1):
        a = first + line
        i = member[a]
        for e in range(indptr[line], indptr[line + 1]):
            b = indices[e]
            j = member[b]
            if i < j:  # each pair once; the matrix is symmetric
                share = shared[e] / common[i, j]
                out[i, j] += share * np.log(shared[e] * common[i, j] / (coverage[a, j] * coverage[b, i]))


@jit
def add_uncertainty(first, indptr, indices, shared, member, counted, coverage, out):
    """Add up the entropies, in bits, of the labels of the rows of clusters, each times the number of labeled rows.

    The rows are those of consecutive clusters, starting with `first`.

    member : (n_clusters,) the member of each cluster
    counted : (M,) weight of the labels of each member
    coverage : (n_clusters, M) number of rows of each cluster that each member labels
    out : (n_clusters,) float64, added to
    """
    for line in range(len(indptr) - 1):
        a = first + line
        for e in range(indptr[line], indptr[line + 1]):
            j = member[indices[e]]
            out[a] -= shared[e] * np.log2(shared[e] / coverage[a, j]) * counted[j]


@jit
def jaccard(indptr, indices, shared, member, coverage, out):
    """Write for every two clusters that share rows the number of shared rows divided by the number in either.

    out : as `shared`, float64
    """
    for a in range(len(member)):
        for e in range(indptr[a], indptr[a + 1]):
            b = indices[e]
            out[e] = shared[e] / (coverage[a, member[b]] + coverage[b, member[a]] - shared[e])


@jit
def scale_entries(indptr, indices, values, divisor, factor, start, stop, out):
    """Write the rows start..stop of a CSR matrix, divided by a number, times the factors of row and column."""
    for i in range(start, stop):
        share = factor[i] / divisor
        for e in range(indptr[i], indptr[i + 1]):
            out[e] = values[e] * (share * factor[indices[e]])


@jit
def is_connected(indptr, indices):
    """Return whether all rows of a symmetric CSR matrix can be reached from the first one."""
    n = len(indptr) - 1
    reached = np.zeros(n, dtype=np.bool_)
    waiting = np.empty(n, dtype=np.int64)
    n_reached = n_left = min(n, 1)
    waiting[:n_left] = 0
    reached[:n_left] = True
    # Depth-first search with an explicit stack; it stops early once everything is reached.
    while n_left > 0 and n_reached < n:
        n_left -= 1
        i = waiting[n_left]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if not reached[j]:
                reached[j] = True
                waiting[n_left] = j
                n_left += 1
                n_reached += 1
    return n_reached == n
