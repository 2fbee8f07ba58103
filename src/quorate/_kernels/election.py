"""Consensus clusters of rows from the labels of the members, by lookup tables."""

import numpy as np

from quorate._kernels._jit import jit, jit_fused


@jit_fused
def _add(row, total):
    for c in range(total.shape[0]):
        total[c] += row[c]


@jit
def elect(codes, first, votes, evidence, start, stop, labels, confidence, margin, runner_up):
    """Write the cluster with most votes of each row start..stop, and the row's confidence for it; -1 without any vote.

    Also write the margin to the second cluster, and that cluster; -1 if there is none.

    codes : (M, n) labels from 0, negative for missing; too large ones count as missing
    first : (M + 1,) the row of the tables for label 0 of each member
    votes, evidence : (rows, k) float32
    """
    total, sure = np.empty(votes.shape[1], dtype=np.float32), np.empty(votes.shape[1], dtype=np.float32)
    for i in range(start, stop):
        # Tables of votes are added row by row: one lookup per member instead of a loop over its clusters.
        total[:], sure[:] = 0, 0
        for member in range(codes.shape[0]):
            line = first[member] + np.int64(codes[member, i])
            if codes[member, i] >= 0 and line < first[member + 1]:
                _add(votes[line], total)
                _add(evidence[line], sure)
        # The winner has most votes; confidence and runner-up are measured by evidence, which is a share in [0, 1].
        best = 0
        for c in range(1, total.shape[0]):
            if total[c] > total[best]:
                best = c
        sure[best] = min(sure[best], np.float32(1))  # sums of rounded shares may exceed 1
        second = -1
        for c in range(total.shape[0]):
            if c != best and sure[c] > (sure[second] if second >= 0 else 0):
                second = c
        labels[i] = best if total[best] > 0 else -1
        confidence[i], margin[i] = sure[best], sure[best] - (sure[second] if second >= 0 else 0)
        runner_up[i] = second
