"""Votes of members for the consensus clusters of rows."""

import numpy as np

from quorate._kernels._jit import jit


@jit
def count_votes(
    patterns,
    own,
    labels,
    weights,
    first,
    groups,
    votes,
    shared,
    labeled,
    held,
    chance,
    totals,
    start,
    stop,
    amounts,
    runner_up,
):
    """Write confidence, margin and runner-up of the patterns start..stop; zeros and -1 for those without a label.

    patterns : (m, M) cluster ids, -1 for missing
    own : (m,) weight of one of the pattern's rows
    labels : (m,) consensus cluster (group) of each pattern, -1 for none
    weights : (M,) of the members
    first, groups, votes, shared : of each cluster id in CSC form, the groups that share rows with it, the vote for
        each, in [0, 1], and the number of shared rows
    labeled : (M, groups) rows of each group that a member labels
    held : (M,) share of the rows that the counterparts of all groups hold in a member
    chance : (M, groups) how far a member cannot tell a group from the rest, in [0, 1]
    totals : (n_clusters,) rows of each cluster that are in any group
    amounts : (2, m) float64
    runner_up : (m,) int64
    """
    n_groups = labeled.shape[1]
    total, seen, found = np.zeros(n_groups), np.full(n_groups, -1, dtype=np.int64), np.empty(n_groups, np.int64)
    for i in range(start, stop):
        mine = labels[i]
        amounts[:, i], runner_up[i] = 0.0, -1
        if mine < 0:
            continue
        n_found = 0
        for_mine = voting = 0.0
        for j in range(patterns.shape[1]):
            cluster = patterns[i, j]
            # A member that puts the row together with no other row has no vote.
            if weights[j] == 0.0 or cluster < 0 or totals[cluster] - own[i] <= 1e-9 * own[i]:
                continue
            voting += weights[j]
            for place in range(first[cluster], first[cluster + 1]):
                group = groups[place]
                if group == mine:
                    others = max(shared[place] - own[i], 0.0)
                    vote = chance[j, mine] * others / (totals[cluster] - own[i])
                    if others > 0.0:
                        vote += (1.0 - chance[j, mine]) * min(others / ((labeled[j, mine] - own[i]) * held[j]), 1.0)
                    for_mine += weights[j] * vote
                    continue
                if seen[group] != i:
                    seen[group], total[group] = i, 0.0
                    found[n_found] = group
                    n_found += 1
                total[group] += weights[j] * votes[place]
        if voting == 0.0:
            continue
        best, best_rounded = 0.0, 0.0
        for place in range(n_found):
            group = found[place]
            share = total[group] / voting
            rounded = np.rint(share * 1e12)  # ties, to twelve decimals, to the smaller label
            if rounded > best_rounded or (rounded == best_rounded and rounded > 0 and group < runner_up[i]):
                best, best_rounded, runner_up[i] = share, rounded, group
        amounts[0, i], amounts[1, i] = for_mine / voting, for_mine / voting - best
