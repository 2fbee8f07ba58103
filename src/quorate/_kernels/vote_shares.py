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
    reach,
    shared,
    totals,
    labeled,
    held,
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
    first, groups, votes : of each cluster id in CSC form, the groups that share rows with it, and the vote for each
        before division by reach
    reach : (n_clusters,) sum of the recalls for all groups
    shared : (groups, n_clusters) rows that each group shares with each cluster
    totals : (n_clusters,) rows of each cluster that are in any group
    labeled : (M, groups) rows of each group that a member labels
    held : (M,) share of the rows that the counterparts of all groups hold in a member
    amounts : (2, m) float64
    runner_up : (m,) int64
    """
    n_groups = labeled.shape[1]
    sums, last_row, voted = np.zeros(n_groups), np.full(n_groups, -1, dtype=np.int64), np.empty(n_groups, np.int64)
    for i in range(start, stop):
        mine = labels[i]
        amounts[:, i], runner_up[i] = 0.0, -1
        if mine < 0:
            continue
        n_voted = 0
        for_mine = voting = 0.0
        for j in range(patterns.shape[1]):
            cluster = patterns[i, j]
            # A member that puts the row together with no other row has no vote.
            if weights[j] == 0.0 or cluster < 0 or totals[cluster] - own[i] <= 1e-9 * own[i]:
                continue
            voting += weights[j]
            # The row itself does not count: neither in the recall of its own group nor in the sum of all recalls.
            others, recall = shared[mine, cluster] - own[i], 0.0
            if others > 0.0:
                recall = others / (labeled[j, mine] - own[i])
            total = reach[cluster] - shared[mine, cluster] / labeled[j, mine] + recall
            # The share first: it is at most 1 in floating point too, so confidence is.
            for_mine += weights[j] * (recall / total) * np.sqrt(min(recall / held[j], 1.0))
            # Sums are reset lazily per row: clearing all groups would cost more than the votes.
            for entry in range(first[cluster], first[cluster + 1]):
                group = groups[entry]
                if group == mine:
                    continue
                if last_row[group] != i:
                    last_row[group], sums[group] = i, 0.0
                    voted[n_voted] = group
                    n_voted += 1
                sums[group] += weights[j] * votes[entry] / total
        if voting == 0.0:
            continue
        # The runner-up is the other group with the largest share.
        best, best_rounded = 0.0, 0.0
        for entry in range(n_voted):
            group = voted[entry]
            share = sums[group] / voting
            rounded = np.rint(share * 1e12)  # ties, to twelve decimals, to the smaller label
            if rounded > best_rounded or (rounded == best_rounded and rounded > 0 and group < runner_up[i]):
                best, best_rounded, runner_up[i] = share, rounded, group
        amounts[0, i], amounts[1, i] = for_mine / voting, for_mine / voting - best
