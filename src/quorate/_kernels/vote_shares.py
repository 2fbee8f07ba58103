"""How firmly rows sit in their consensus clusters: evidence for each cluster, and votes for their own."""

import numpy as np

from quorate._kernels._jit import jit


@jit
def weigh_rows(
    patterns,
    scale,
    own,
    labels,
    weights,
    first,
    groups,
    evidence,
    shared,
    sizes,
    totals,
    start,
    stop,
    amounts,
    runner_up,
):
    """Write confidence, margin, vote share and runner-up of the patterns start..stop; zeros and -1 without a label.

    patterns : (m, M) cluster ids, -1 for missing
    scale : (m,) 1 / sqrt(W) of the members that label each pattern
    own : (m,) weight of one of the pattern's rows
    weights : (M,) of the members
    first, groups, evidence, shared : of each cluster id in CSC form, the groups that have rows in it, the evidence and
        the number of those rows
    sizes : (groups,) rows of each group
    totals : (n_clusters,) rows of each cluster that are in any group
    amounts : (3, m) float64
    runner_up : (m,) int64
    """
    total, seen, found = np.zeros(len(sizes)), np.full(len(sizes), -1, dtype=np.int64), np.empty(len(sizes), np.int64)
    for i in range(start, stop):
        mine = labels[i]
        amounts[:, i], runner_up[i] = 0.0, -1
        if mine < 0:
            continue
        n_found, votes, voting = 0, 0.0, 0.0
        for j in range(patterns.shape[1]):
            cluster = patterns[i, j]
            if cluster < 0 or weights[j] == 0.0:
                continue
            mates = 0.0
            for place in range(first[cluster], first[cluster + 1]):
                group = groups[place]
                if seen[group] != i:
                    seen[group], total[group] = i, 0.0
                    found[n_found] = group
                    n_found += 1
                total[group] += scale[i] * evidence[place]
                if group == mine:
                    mates = shared[place]
            if totals[cluster] - own[i] > 1e-9 * own[i]:
                votes += weights[j] * (mates - own[i]) / (totals[cluster] - own[i])
                voting += weights[j]
        best, best_rounded = 0.0, 0.0
        for place in range(n_found):
            group = found[place]
            if group == mine:
                continue
            mean = min(total[group] / sizes[group], 1.0)
            rounded = np.rint(mean * 1e12)  # ties, to twelve decimals, to the smaller label
            if rounded > best_rounded or (rounded == best_rounded and group < runner_up[i]):
                best, best_rounded, runner_up[i] = mean, rounded, group
        confidence = 0.0
        if seen[mine] == i and sizes[mine] - own[i] > 1e-9 * own[i]:
            confidence = min(max((total[mine] - own[i]) / (sizes[mine] - own[i]), 0.0), 1.0)
        amounts[0, i], amounts[1, i] = confidence, confidence - best
        if voting > 0.0:
            amounts[2, i] = min(max(votes / voting, 0.0), 1.0)
