"""Losses of merging columns of votes."""

import numpy as np

from quorate._kernels._jit import jit


@jit
def joint_terms(votes, terms, column, others, out):
    """Write for each other column the sum over patterns of f(a + b) - f(a) - f(b), f(x) = x ln x.

    votes, terms : (columns, m) float64, the votes and f of them
    others : (j,) columns
    out : (j,) float64
    """
    own, own_terms = votes[column], terms[column]
    for position in range(len(others)):
        other, other_terms = votes[others[position]], terms[others[position]]
        total = 0.0
        # Where either vote is 0 the term vanishes, so that most patterns are skipped.
        for u in range(len(own)):
            if own[u] > 0.0 and other[u] > 0.0:
                both = own[u] + other[u]
                total += both * np.log(both) - own_terms[u] - other_terms[u]
        out[position] = total


@jit
def shared_terms(indptr, indices, links, per_row, column, other, start, stop):
    """Return the sum over patterns start..stop of f(a + b) - f(a) - f(b), f(x) = x ln x, without a matrix of votes.

    indptr, indices, links : (m, n_clusters) in CSR form; a and b are a pattern's links times `column` and `other`
    per_row : (m,) weight of each pattern
    column, other : (n_clusters,) two columns of the votes of clusters
    """
    total = 0.0
    for u in range(start, stop):
        a = 0.0
        b = 0.0
        for e in range(indptr[u], indptr[u + 1]):
            c = indices[e]
            a += links[e] * column[c]
            b += links[e] * other[c]
        if a > 0.0 and b > 0.0:
            total += per_row[u] * ((a + b) * np.log(a + b) - a * np.log(a) - b * np.log(b))
    return total
