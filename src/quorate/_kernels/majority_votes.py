"""Patterns that a majority of the members joins: components, and moves between groups.

`patterns` is (m, M), the cluster of each pattern in each member, -1 where it is missing, and `weights` (M,) the weights
of the members. `start` and `member_patterns` list the patterns of each cluster: cluster c has those at start[c] to
start[c + 1]. A pattern meets only patterns with which it shares a cluster, so work is linear in the sum of squared
cluster sizes.
"""

import numpy as np

from quorate._kernels._jit import jit
from quorate._kernels.segments import root_of


@jit
def _meet(p, patterns, weights, start, member_patterns, joined, met):
    """Add up the weight that joins p with each pattern it meets; return how many are listed in `met`."""
    n_met = 0
    for j in range(patterns.shape[1]):
        c = patterns[p, j]
        if c < 0 or weights[j] == 0.0:
            continue
        for f in range(start[c], start[c + 1]):
            q = member_patterns[f]
            if joined[q] == 0.0:
                met[n_met] = q
                n_met += 1
            joined[q] += weights[j]
    return n_met


@jit
def join_majority(patterns, weights, start, member_patterns):
    """(m,) int64 component of each pattern: two are connected if most of the weight that labels both joins them."""
    m, n_members = patterns.shape
    parent = np.arange(m)
    joined, met = np.zeros(m), np.empty(m, dtype=np.int64)
    for p in range(m):
        for i in range(_meet(p, patterns, weights, start, member_patterns, joined, met)):
            q = met[i]
            if q > p:
                # Weight of the members that label both; missing labels neither join nor separate.
                both = 0.0
                for j in range(n_members):
                    if patterns[p, j] >= 0 and patterns[q, j] >= 0:
                        both += weights[j]
                if joined[q] > 0.5 * both * (1.0 + 1e-12):  # exactly half is not a majority
                    a, b = root_of(parent, p), root_of(parent, q)
                    parent[max(a, b)] = min(a, b)  # the first pattern names the component, in any order of merges
            joined[q] = 0.0
    component = np.empty(m, dtype=np.int64)
    for p in range(m):
        component[p] = root_of(parent, p)
    return component


@jit
def move_patterns(patterns, weights, start, member_patterns, counts, group, coverage, next_empty):
    """Move each pattern to the group where its rows gain most; return how many moved.

    A row gains in a group, without itself, the sum over its rows of the weight that joins the two minus the weight that
    separates them, and 0 in a group of its own. `coverage` (groups, M) is the number of rows of each group that each
    member labels; it has room for one more group per pattern, from `next_empty` on.
    """
    m, n_members = patterns.shape
    joined, met = np.zeros(m), np.empty(m, dtype=np.int64)
    gain, listed = np.zeros(len(coverage)), np.zeros(len(coverage), dtype=np.bool_)
    candidates = np.empty(m + 1, dtype=np.int64)
    moved = 0
    for p in range(m):
        home = group[p]
        # Candidates are the groups of the patterns that it meets, and its own; elsewhere it can only lose.
        candidates[0], listed[home], n_candidates = home, True, 1
        for i in range(_meet(p, patterns, weights, start, member_patterns, joined, met)):
            q = met[i]
            if q != p:
                g = group[q]
                if not listed[g]:
                    candidates[n_candidates], listed[g] = g, True
                    n_candidates += 1
                # Twice the joining weight, because separating weight is subtracted for all rows below.
                gain[g] += 2.0 * counts[q] * joined[q]
            joined[q] = 0.0
        # The pattern leaves its group while it is judged, so that its own rows count nowhere.
        for j in range(n_members):
            if patterns[p, j] >= 0:
                coverage[home, j] -= counts[p]
                for i in range(n_candidates):
                    gain[candidates[i]] -= weights[j] * coverage[candidates[i], j]
        best, slack = home, 1e-9 * (1.0 + abs(gain[home]))
        best_gain = gain[home] + slack  # ties and rounding do not move a pattern
        for i in range(1, n_candidates):
            if gain[candidates[i]] > best_gain:
                best, best_gain = candidates[i], gain[candidates[i]]
        # Alone rather than where as much weight separates it as joins it: exactly half is not a majority.
        if best_gain < 0.0 or (best != home and best_gain <= slack):
            best = next_empty
            next_empty += 1
        for i in range(n_candidates):
            gain[candidates[i]], listed[candidates[i]] = 0.0, False
        for j in range(n_members):
            if patterns[p, j] >= 0:
                coverage[best, j] += counts[p]
        group[p] = best
        moved += best != home
    return moved
