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
