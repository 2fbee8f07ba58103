"""Nearest centers in float32: the centers of all members together, for a block of rows at a time.

A block is stored feature by feature, so that every loop over its rows uses vector instructions. The value compared is
|c|^2 - 2 x.c, the squared distance without |x|^2. Blocks are padded to full length, so that every row is treated by the
same operations wherever it is in a block: labels do not depend on how rows are split into blocks.
"""

import numpy as np

from quorate._kernels._jit import jit, jit_fused

BLOCK = 256
_LARGEST = np.float32(3e38)
_FAR = 1e15  # larger coordinates are cut to this, because squares must not overflow


@jit
def gather(X, offset, scale, start, stop, block):
    """Write (X[i] - offset) * scale of the rows start..stop to block (d, BLOCK), feature by feature; the rest is 0.

    X : (n, d) float32 or float64; offset, scale : (d,) float64; features that X lacks stay 0 in the block
    """
    for i in range(start, stop):
        for t in range(X.shape[1]):
            block[t, i - start] = min(max((X[i, t] - offset[t]) * scale[t], -_FAR), _FAR)
    for i in range(stop - start, BLOCK):
        for t in range(X.shape[1]):
            block[t, i] = 0


@jit
def _start(nearest):
    for i in range(BLOCK):
        nearest[i] = _LARGEST
        nearest[BLOCK + i] = 0


# Centers and features are processed in fours, so that sums stay in registers. Values of consecutive rows are in one
# array (x: features; values: of the four centers; nearest: smallest value, then the name of its center): with more
# arrays, which could overlap, the compiler would not use vector instructions.


@jit_fused
def _begin(x, factors, constants, values):
    """Write the values of four centers by the first four features."""
    a0, a1, a2, a3 = factors[0, 0], factors[0, 1], factors[0, 2], factors[0, 3]
    b0, b1, b2, b3 = factors[1, 0], factors[1, 1], factors[1, 2], factors[1, 3]
    c0, c1, c2, c3 = factors[2, 0], factors[2, 1], factors[2, 2], factors[2, 3]
    d0, d1, d2, d3 = factors[3, 0], factors[3, 1], factors[3, 2], factors[3, 3]
    k0, k1, k2, k3 = constants[0], constants[1], constants[2], constants[3]
    for i in range(BLOCK):
        x0, x1, x2, x3 = x[i], x[BLOCK + i], x[2 * BLOCK + i], x[3 * BLOCK + i]
        values[i] = k0 + (a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3)
        values[BLOCK + i] = k1 + (b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3)
        values[2 * BLOCK + i] = k2 + (c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3)
        values[3 * BLOCK + i] = k3 + (d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3)


@jit_fused
def _add(x, factors, values):
    """Add four features to the values of four centers."""
    a0, a1, a2, a3 = factors[0, 0], factors[0, 1], factors[0, 2], factors[0, 3]
    b0, b1, b2, b3 = factors[1, 0], factors[1, 1], factors[1, 2], factors[1, 3]
    c0, c1, c2, c3 = factors[2, 0], factors[2, 1], factors[2, 2], factors[2, 3]
    d0, d1, d2, d3 = factors[3, 0], factors[3, 1], factors[3, 2], factors[3, 3]
    for i in range(BLOCK):
        x0, x1, x2, x3 = x[i], x[BLOCK + i], x[2 * BLOCK + i], x[3 * BLOCK + i]
        values[i] += a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
        values[BLOCK + i] += b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
        values[2 * BLOCK + i] += c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3
        values[3 * BLOCK + i] += d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3


@jit_fused
def _lower(i, v0, v1, v2, v3, n0, n1, n2, n3, nearest):
    """Lower `nearest` of a row to the smallest of the values of four centers, the first in a tie, and store its
    name.
    """
    second, fourth = v1 < v0, v3 < v2
    low, high = n1 if second else n0, n3 if fourth else n2
    v0, v2 = min(v0, v1), min(v2, v3)
    low, v0 = high if v2 < v0 else low, min(v0, v2)
    smaller = v0 < nearest[i]
    nearest[i] = min(v0, nearest[i])
    nearest[BLOCK + i] = low if smaller else nearest[BLOCK + i]


@jit_fused
def _end(x, factors, values, names, nearest):
    """Add the last four features to the values of four centers, and lower `nearest` by the smallest of them."""
    a0, a1, a2, a3 = factors[0, 0], factors[0, 1], factors[0, 2], factors[0, 3]
    b0, b1, b2, b3 = factors[1, 0], factors[1, 1], factors[1, 2], factors[1, 3]
    c0, c1, c2, c3 = factors[2, 0], factors[2, 1], factors[2, 2], factors[2, 3]
    d0, d1, d2, d3 = factors[3, 0], factors[3, 1], factors[3, 2], factors[3, 3]
    n0, n1, n2, n3 = names[0], names[1], names[2], names[3]
    for i in range(BLOCK):
        x0, x1, x2, x3 = x[i], x[BLOCK + i], x[2 * BLOCK + i], x[3 * BLOCK + i]
        v0 = values[i] + (a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3)
        v1 = values[BLOCK + i] + (b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3)
        v2 = values[2 * BLOCK + i] + (c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3)
        v3 = values[3 * BLOCK + i] + (d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3)
        _lower(i, v0, v1, v2, v3, n0, n1, n2, n3, nearest)


@jit_fused
def _two_features(x, factors, constants, names, nearest):
    """Lower `nearest` by the values of four centers for rows of two features."""
    a0, a1, a2, a3 = factors[0, 0], factors[1, 0], factors[2, 0], factors[3, 0]
    b0, b1, b2, b3 = factors[0, 1], factors[1, 1], factors[2, 1], factors[3, 1]
    c0, c1, c2, c3 = constants[0], constants[1], constants[2], constants[3]
    n0, n1, n2, n3 = names[0], names[1], names[2], names[3]
    for i in range(BLOCK):
        x0, x1 = x[i], x[BLOCK + i]
        v0 = a0 * x0 + b0 * x1 + c0
        v1 = a1 * x0 + b1 * x1 + c1
        v2 = a2 * x0 + b2 * x1 + c2
        v3 = a3 * x0 + b3 * x1 + c3
        _lower(i, v0, v1, v2, v3, n0, n1, n2, n3, nearest)


@jit
def _four_centers(x, factors, constants, names, values, nearest):
    """Lower `nearest` by the values of four centers: factors (4, width), constants and names (4,)."""
    width = factors.shape[1]
    if width == 2:
        _two_features(x, factors, constants, names, nearest)
        return
    if width == 4:
        for q in range(4):
            values[q * BLOCK : (q + 1) * BLOCK] = constants[q]
    else:
        _begin(x, factors, constants, values)
    for t in range(4, width - 4, 4):
        _add(x[t * BLOCK :], factors[:, t:], values)
    _end(x[(width - 4) * BLOCK :], factors[:, width - 4 :], values, names, nearest)


@jit
def label_rows(X, offset, scale, factors, constants, names, first, start, stop, labels):
    """Write the label of the nearest center of each member for the rows start..stop.

    X : (n, d) float32 or float64; offset, scale : (d,) float64, the scaling of rows to that of the centers
    factors : (centers, features padded to a multiple of 4, or 2) float32, -2 c; constants : (centers,) float32, |c|^2
    names : (centers,) float32, the label of each center
    first : (M + 1,) first center of each member, all multiples of 4; padding centers have a constant larger than any
        value
    labels : (M, stop - start), written
    """
    block = np.zeros((factors.shape[1], BLOCK), dtype=np.float32)
    values, nearest = np.empty(4 * BLOCK, dtype=np.float32), np.empty(2 * BLOCK, dtype=np.float32)
    for low in range(start, stop, BLOCK):
        high = min(low + BLOCK, stop)
        gather(X, offset, scale, low, high, block)
        x = block.ravel()
        for member in range(first.shape[0] - 1):
            _start(nearest)
            for c in range(first[member], first[member + 1], 4):
                four = slice(c, c + 4)
                _four_centers(x, factors[four], constants[four], names[four], values, nearest)
            for i in range(high - low):
                labels[member, low - start + i] = np.int64(nearest[BLOCK + i])
