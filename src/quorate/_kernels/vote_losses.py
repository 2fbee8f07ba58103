"""Losses of merging columns of votes, and moves of patterns between groups."""

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
    for place in range(len(others)):
        other, other_terms = votes[others[place]], terms[others[place]]
        total = 0.0
        for u in range(len(own)):
            if own[u] > 0.0 and other[u] > 0.0:
                both = own[u] + other[u]
                total += both * np.log(both) - own_terms[u] - other_terms[u]
        out[place] = total


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


@jit
def move_patterns(indptr, indices, values, counts, share, gamma, fixed, groups, sizes, members, histogram, first):
    """Move patterns one after the other to the group of largest gain; stop at the end, or if no group is free.

    A pattern u gains in a group g, without itself, sum_c share_c phi_u(c) h_g(c) - gamma n_g for each of its rows; 0 in
    a group of its own.

    indptr, indices, values : phi (m, n_clusters) in CSR form
    counts : (m,) rows of each pattern
    share : (n_clusters,) weight of each cluster
    fixed : whether the number of groups stays the same
    groups : (m,) changed in place
    sizes, members : (capacity,) rows and patterns of each group, changed in place
    histogram : (n_clusters, capacity) counts times phi of each group, changed in place
    first : the first pattern to move

    Returns the next pattern (m: all are done) and the number of patterns moved.
    """
    n_groups = len(sizes)
    score = np.empty(n_groups, dtype=np.float64)
    n_moved = 0
    for u in range(first, len(groups)):
        own = groups[u]
        if fixed and members[own] == 1:
            continue
        for g in range(n_groups):
            score[g] = -gamma * sizes[g]
        own_part = 0.0
        for e in range(indptr[u], indptr[u + 1]):
            c, value = indices[e], share[indices[e]] * values[e]
            row = histogram[c]
            for g in range(n_groups):
                score[g] += value * row[g]
            own_part += value * values[e]
        score[own] -= counts[u] * (own_part - gamma)
        best, target, empty = -np.inf, -1, -1
        for g in range(n_groups):
            if members[g] == 0:
                if empty < 0:
                    empty = g
            elif score[g] > best + 1e-9:
                best, target = score[g], g
        alone = members[own] == 1
        if not fixed and best < -1e-9 and not alone:
            if empty < 0:
                return u, n_moved
            best, target = 0.0, empty
        if target == own or counts[u] * (best - score[own]) <= 1e-9:
            continue
        groups[u] = target
        sizes[own] -= counts[u]
        sizes[target] += counts[u]
        members[own] -= 1
        members[target] += 1
        for e in range(indptr[u], indptr[u + 1]):
            c = indices[e]
            histogram[c, own] -= counts[u] * values[e]
            histogram[c, target] += counts[u] * values[e]
        n_moved += 1
    return len(groups), n_moved
