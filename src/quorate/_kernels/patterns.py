"""Grouping equal rows by hashing."""

import numpy as np

from quorate._kernels._jit import jit

_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)


@jit
def _slot(words, row, mask):
    """Return the home slot of one row of words in a table of mask + 1 slots."""
    key = np.uint64(0)
    for w in range(words.shape[1]):
        key = (key ^ np.uint64(words[row, w])) * _MIX
        key ^= key >> _SHIFT
    return np.int64(key & np.uint64(mask))


@jit
def _equal(words, row, store, group):
    equal = True
    for w in range(words.shape[1]):
        equal &= words[row, w] == store[group, w]
    return equal


@jit
def group_rows(words, base, slots, store, first, n_groups, group_of):
    """Give every row of `words` the number of its group, adding groups not seen before; return how many there are.

    words : (b, p) int64, one row per data row, equal rows belong together
    base : the data row of words[0]
    slots : (s,) int32, s a power of two, open addressing; group or -1
    store : (>= n_groups + b, p) int64, the words of each group
    first : (>= n_groups + b,) int64, the first data row of each group
    group_of : (b,) int32, written
    """
    mask = slots.shape[0] - 1
    for row in range(words.shape[0]):
        slot = _slot(words, row, mask)
        while slots[slot] >= 0 and not _equal(words, row, store, slots[slot]):
            slot = (slot + 1) & mask
        group = slots[slot]
        if group < 0:
            group = n_groups
            slots[slot] = group
            store[group] = words[row]
            first[group] = base + row
            n_groups += 1
        group_of[row] = group
    return n_groups


@jit
def fill_slots(store, n_groups, slots):
    """Enter the first `n_groups` distinct rows of `store` in an empty table `slots`."""
    mask = slots.shape[0] - 1
    for group in range(n_groups):
        slot = _slot(store, group, mask)
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = group
