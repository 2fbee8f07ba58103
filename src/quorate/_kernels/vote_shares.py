"""Votes of members for the consensus clusters of rows.

Tables of groups and clusters are sparse: members may have as many clusters as there are rows.
"""

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
    reach,
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
    first, groups, votes, shared : of each cluster id in CSC form, the groups that share rows with it in ascending
        order, the vote for each before division by reach, and the number of rows that they share
    reach : (n_clusters,) sum of the recalls for all groups
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
            entry = first[cluster] + np.searchsorted(groups[first[cluster] : first[cluster + 1]], mine)
            others, recall = shared[entry] - own[i], 0.0
            if others > 0.0:
                recall = others / (labeled[j, mine] - own[i])
            total = reach[cluster] - shared[entry] / labeled[j, mine] + recall
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


@jit
def elect(ids, weights, first, groups, scores, n_groups, rounding, winner):
    """Write the group with the largest sum of scores for each row, the smallest label among equals after rounding.

    Rows without a label of a member of positive weight are left as they are. A row whose scores all round to 0 is in
    group 0.

    ids : (rows, M) cluster ids, -1 for missing
    weights : (M,) of the members
    first, groups, scores : of each cluster id in CSR form, the groups that it scores for, and the whole scores
    rounding : scores are compared as multiples of this
    winner : (rows,) int64
    """
    sums, last_row, scored = np.zeros(n_groups, np.int64), np.full(n_groups, -1, np.int64), np.empty(n_groups, np.int64)
    for i in range(ids.shape[0]):
        n_scored, labeled = 0, False
        for j in range(ids.shape[1]):
            cluster = ids[i, j]
            if cluster < 0:
                continue
            labeled = labeled or weights[j] > 0.0
            for entry in range(first[cluster], first[cluster + 1]):
                group = groups[entry]
                # Sums are reset lazily, as in `count_votes`.
                if last_row[group] != i:
                    last_row[group], sums[group] = i, 0
                    scored[n_scored] = group
                    n_scored += 1
                sums[group] += scores[entry]
        if not labeled:
            continue
        best, most = 0, 0
        for entry in range(n_scored):
            group = scored[entry]
            rounded = (sums[group] + rounding // 2) // rounding
            if rounded > most or (rounded == most and most > 0 and group < best):
                best, most = group, rounded
        winner[i] = best
