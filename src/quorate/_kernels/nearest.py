"""Nearest centres in float32: the centres of all members at once, a block of rows at a time.

A block is held feature by feature, so that every loop over its rows uses all lanes of the processor. The value compared
is |c|^2 - 2 x.c, the squared distance but for |x|^2. Every row is treated by the same operations wherever it stands in
a block, since blocks are padded to full length: labels do not depend on how rows are cut into blocks.
"""

import numpy as np

from quorate._kernels._jit import jit, jit_fused

BLOCK = 256
_LARGEST = np.float32(3e38)
_FAR = 1e15  # a row farther away than this is as near to each centre as at this distance: squares must not overflow


@jit
def gather(X, offset, scale, start, stop, block):
    """Write (X[i] - offset) * scale of the rows start..stop to block (d, BLOCK), feature by feature; the rest is 0.

    X : (n, d) float32 or float64; offset, scale : (d,) float64; a block with more features than X keeps 0 there
    """
    for i in range(start, stop):
        for t in range(X.shape[1]):
            block[t, i - start] = min(max((X[i, t] - offset[t]) * scale[t], -_FAR), _FAR)
    for i in range(stop - start, BLOCK):
        for t in range(X.shape[1]):
            block[t, i] = 0


@jit
def _start(best, label):
    for i in range(BLOCK):
        best[i] = _LARGEST
        label[i] = 0


@jit_fused
def _begin_two(block, c, factors, constants, one, other):
    """Write the values of the centres c and c + 1 for all rows by all features but the last four.

    Features come in fours, so that sums stay in registers.
    """
    first, second = constants[c], constants[c + 1]
    if block.shape[0] == 4:
        for i in range(BLOCK):
            one[i] = first
            other[i] = second
        return
    a0, a1, a2, a3 = factors[c, 0], factors[c, 1], factors[c, 2], factors[c, 3]
    b0, b1, b2, b3 = factors[c + 1, 0], factors[c + 1, 1], factors[c + 1, 2], factors[c + 1, 3]
    x0, x1, x2, x3 = block[0], block[1], block[2], block[3]
    for i in range(BLOCK):
        one[i] = first + (a0 * x0[i] + a1 * x1[i] + a2 * x2[i] + a3 * x3[i])
        other[i] = second + (b0 * x0[i] + b1 * x1[i] + b2 * x2[i] + b3 * x3[i])
    for t in range(4, block.shape[0] - 4, 4):
        a0, a1, a2, a3 = factors[c, t], factors[c, t + 1], factors[c, t + 2], factors[c, t + 3]
        b0, b1, b2, b3 = factors[c + 1, t], factors[c + 1, t + 1], factors[c + 1, t + 2], factors[c + 1, t + 3]
        x0, x1, x2, x3 = block[t], block[t + 1], block[t + 2], block[t + 3]
        for i in range(BLOCK):
            one[i] += a0 * x0[i] + a1 * x1[i] + a2 * x2[i] + a3 * x3[i]
            other[i] += b0 * x0[i] + b1 * x1[i] + b2 * x2[i] + b3 * x3[i]


@jit_fused
def _end_two(block, c, factors, one, other, number, best, label):
    """Add the last four features to the values of the centres c and c + 1, and lower `best` by the smaller of them."""
    t = block.shape[0] - 4
    a0, a1, a2, a3 = factors[c, t], factors[c, t + 1], factors[c, t + 2], factors[c, t + 3]
    b0, b1, b2, b3 = factors[c + 1, t], factors[c + 1, t + 1], factors[c + 1, t + 2], factors[c + 1, t + 3]
    x0, x1, x2, x3 = block[t], block[t + 1], block[t + 2], block[t + 3]
    next_number = number + np.float32(1)
    for i in range(BLOCK):
        value = one[i] + (a0 * x0[i] + a1 * x1[i] + a2 * x2[i] + a3 * x3[i])
        second = other[i] + (b0 * x0[i] + b1 * x1[i] + b2 * x2[i] + b3 * x3[i])
        later = second < value
        value = second if later else value
        which = next_number if later else number
        smaller = value < best[i]
        best[i] = value if smaller else best[i]
        label[i] = which if smaller else label[i]


@jit_fused
def _two_features(block, c, factors, constants, number, best, label):
    """Lower `best` by the values of the centres c .. c + 3 for rows of two features."""
    x, y = block[0], block[1]
    a0, a1, a2, a3 = factors[c, 0], factors[c + 1, 0], factors[c + 2, 0], factors[c + 3, 0]
    b0, b1, b2, b3 = factors[c, 1], factors[c + 1, 1], factors[c + 2, 1], factors[c + 3, 1]
    c0, c1, c2, c3 = constants[c], constants[c + 1], constants[c + 2], constants[c + 3]
    n0, n1, n2, n3 = number, number + np.float32(1), number + np.float32(2), number + np.float32(3)
    for i in range(BLOCK):
        v0 = a0 * x[i] + b0 * y[i] + c0
        v1 = a1 * x[i] + b1 * y[i] + c1
        v2 = a2 * x[i] + b2 * y[i] + c2
        v3 = a3 * x[i] + b3 * y[i] + c3
        second, fourth = v1 < v0, v3 < v2
        v0 = v1 if second else v0
        low = n1 if second else n0
        v2 = v3 if fourth else v2
        high = n3 if fourth else n2
        later = v2 < v0
        v0 = v2 if later else v0
        low = high if later else low
        smaller = v0 < best[i]
        best[i] = v0 if smaller else best[i]
        label[i] = low if smaller else label[i]


@jit
def label_rows(X, offset, scale, factors, constants, first, of_centre, start, stop, labels):
    """Write the label of the nearest centre of each member for the rows start..stop.

    X : (n, d) float32 or float64; offset, scale : (d,) float64, how rows are brought to the centres' scale
    factors : (centres, features padded to a multiple of 4, or 2) float32, -2 c; constants : (centres,) float32, |c|^2
    first : (M + 1,) where the centres of each member begin, all even, in 2-D multiples of 4; a centre that only fills
        up has a constant larger than any value
    of_centre : (centres,) the label of each centre, among those of its member
    labels : (M, stop - start), written
    """
    block = np.zeros((factors.shape[1], BLOCK), dtype=np.float32)
    best, label = np.empty(BLOCK, dtype=np.float32), np.empty(BLOCK, dtype=np.float32)
    one, other = np.empty(BLOCK, dtype=np.float32), np.empty(BLOCK, dtype=np.float32)
    plane = factors.shape[1] == 2
    for low in range(start, stop, BLOCK):
        high = min(low + BLOCK, stop)
        gather(X, offset, scale, low, high, block)
        for member in range(first.shape[0] - 1):
            _start(best, label)
            if plane:
                for c in range(first[member], first[member + 1], 4):
                    _two_features(block, c, factors, constants, np.float32(c - first[member]), best, label)
            else:
                for c in range(first[member], first[member + 1], 2):
                    _begin_two(block, c, factors, constants, one, other)
                    _end_two(block, c, factors, one, other, np.float32(c - first[member]), best, label)
            for i in range(high - low):
                labels[member, low - start + i] = of_centre[first[member] + np.int64(label[i])]
