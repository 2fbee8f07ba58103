"""Hashes of rows: whether a row is in a sample depends on its values alone."""

import numpy as np

from quorate._kernels._jit import jit

_MIX = np.uint64(0x9E3779B97F4A7C15)
_MORE = np.uint64(0xBF58476D1CE4E5B9)
_HIGH, _LOW = np.uint64(32), np.uint64(29)


@jit
def hash_rows(bits, seed, out):
    """Write a hash of each row: bits (n, d) uint64, the bits of the numbers; seed uint64; out (n,) uint64."""
    for i in range(bits.shape[0]):
        key = seed
        for t in range(bits.shape[1]):
            key = (key ^ bits[i, t]) * _MIX
            key ^= key >> _HIGH
        # A final mix (splitmix64), because the sample takes the rows with the smallest hashes.
        key = (key ^ (key >> _LOW)) * _MORE
        out[i] = key ^ (key >> _HIGH)
