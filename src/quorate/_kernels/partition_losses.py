"""Moves of patterns between groups, and merges of groups, that lower a loss of partitions.

The loss is a sum over groups and features: sum_g sum_f weight_f term(h_gf), where h_gf is the number of rows of group g
that have feature f. Features are the clusters of all members, with negative weight, and the sets of rows that members
label, with positive weight. `term(x)` is x ln x (variation of information) or x^2 (Binder).

`indptr` and `indices` list the features of each pattern, in CSR form; `counts` (m,) are its rows. `histogram`
(features, capacity) is h, and `terms` (features, capacity) its terms; groups without patterns are columns of zeros.
"""

import numpy as np

from quorate._kernels._jit import jit


@jit
def term(x, entropy):
    """Return x ln x, or x^2."""
    if entropy:
        return x * np.log(x) if x > 0.0 else 0.0
    return x * x


@jit
def move_patterns(
    indptr, indices, counts, weights, entropy, fixed, tolerance, groups, members, histogram, terms, n_groups
):
    """Move patterns one after the other to the group where the loss is least; ties stay, or go to the first group.

    Parameters as in the module, and:
    fixed : whether the number of groups stays the same; otherwise a pattern may form a group of its own
    tolerance : the least decrease of the loss that counts
    groups : (m,) changed in place
    members : (capacity,) patterns of each group, changed in place
    n_groups : groups in use; later ones are empty

    Returns the number of moves, the next pattern (m: all are done; less: no group is free), and the groups in use.
    """
    increase = np.empty(len(members))
    n_moved = 0
    for u in range(len(groups)):
        own, count = groups[u], counts[u]
        # A fixed number of groups forbids emptying one.
        if fixed and members[own] == 1:
            continue
        # What the loss loses if the pattern leaves its group, and what it would have on its own.
        alone, leaving = 0.0, 0.0
        for e in range(indptr[u], indptr[u + 1]):
            f = indices[e]
            alone += weights[f] * term(count, entropy)
            leaving += weights[f] * (terms[f, own] - term(histogram[f, own] - count, entropy))
        increase[:n_groups] = alone
        # What it adds to each other group: only features that the group has rows of can differ from being alone.
        for e in range(indptr[u], indptr[u + 1]):
            f = indices[e]
            weight, rows, row_terms = weights[f], histogram[f], terms[f]
            own_term = term(count, entropy)
            for g in range(n_groups):
                if rows[g] > 0.0:
                    increase[g] += weight * (term(rows[g] + count, entropy) - row_terms[g] - own_term)
        # Stay unless a group is better by more than the tolerance; the first of equals wins.
        target, best = own, leaving - tolerance
        for g in range(n_groups):
            if g != own and members[g] > 0 and increase[g] < best:
                target, best = g, increase[g] - tolerance
        # A group of its own takes the first free number.
        if not fixed and members[own] > 1 and alone < best:
            target = 0
            while target < n_groups and members[target] > 0:
                target += 1
            if target == len(members):
                return n_moved, u, n_groups
            n_groups = max(n_groups, target + 1)
        if target == own:
            continue
        groups[u] = target
        members[own] -= 1
        members[target] += 1
        n_moved += 1
        # Update only the features of the pattern, for both groups.
        for e in range(indptr[u], indptr[u + 1]):
            f = indices[e]
            histogram[f, target] += count
            terms[f, target] = term(histogram[f, target], entropy)
            # A group without patterns must have exactly 0 rows, whatever the rounding of weighted counts.
            histogram[f, own] = histogram[f, own] - count if members[own] > 0 else 0.0
            terms[f, own] = term(histogram[f, own], entropy)
    return n_moved, len(groups), n_groups


@jit
def _merge_increases(first, weights, entropy, alive, histogram, terms, increase):
    """Write the increase of the loss if `first` merges with each later group in use into a row of `increase`."""
    increase[:] = 0.0
    for f in range(len(weights)):
        rows = histogram[f, first]
        if rows > 0.0:
            for g in range(len(alive)):
                if alive[g] and g != first and histogram[f, g] > 0.0:
                    both = term(rows + histogram[f, g], entropy)
                    increase[g] += weights[f] * (both - terms[f, first] - terms[f, g])


@jit
def merge_groups(weights, entropy, tolerance, fewest, forced, histogram, terms):
    """Merge, again and again, the two groups whose merger lowers the loss most; ties go to the first pair.

    fewest : the number of groups to stop at
    forced : whether groups merge down to `fewest` even if the loss increases
    histogram, terms : (features, groups) changed in place

    Returns (groups,) the group that each one has become.
    """
    n = histogram.shape[1]
    into, alive = np.arange(n), np.ones(n, dtype=np.bool_)
    increase = np.empty((n, n))
    # All pairs once; after a merge only the row of the merged group is recomputed.
    for g in range(n):
        _merge_increases(g, weights, entropy, alive, histogram, terms, increase[g])
    n_left = n
    while n_left > fewest:
        best, a, b = np.inf if forced else -tolerance, -1, -1
        for i in range(n):
            if alive[i]:
                for j in range(i + 1, n):
                    if alive[j] and increase[i, j] < best:
                        best, a, b = increase[i, j] - tolerance, i, j
        if a < 0:
            break
        alive[b] = False
        n_left -= 1
        # Groups merged earlier follow into the new group.
        for g in range(n):
            if into[g] == b:
                into[g] = a
        for f in range(len(weights)):
            histogram[f, a] += histogram[f, b]
            terms[f, a] = term(histogram[f, a], entropy)
        _merge_increases(a, weights, entropy, alive, histogram, terms, increase[a])
        increase[:, a] = increase[a]
    return into
