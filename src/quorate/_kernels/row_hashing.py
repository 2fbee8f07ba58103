"""Grouping of equal rows by hashing, and sums over patterns."""

import numpy as np

from quorate._kernels._jit import jit

_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)


@jit
def extent(values, start, stop):
    """Return the smallest and the largest of at least one integer."""
    low = high = np.int64(values[start])
    for i in range(start + 1, stop):
        value = np.int64(values[i])
        low = min(low, value)
        high = max(high, value)
    return low, high


@jit
def add_digits(values, shift, weight, words, word):
    """Add (value + shift) * weight to one word of each row: words (b, p), values (b,) integers."""
    for i in range(words.shape[0]):
        words[i, word] += (np.int64(values[i]) + shift) * weight


@jit
def pack_rows(matrix, shifts, weights, word_of, words):
    """Write sum over columns j of (matrix[i, j] + shifts[j]) * weights[j] to the word `word_of[j]` of each row.

    matrix : (b, M) integers, row by row, so that each row is read once
    word_of : (M,) ascending; words : (b, p) int64
    """
    for i in range(matrix.shape[0]):
        word = 0
        total = np.int64(0)
        for j in range(matrix.shape[1]):
            if word_of[j] != word:
                words[i, word] = total
                word = word_of[j]
                total = np.int64(0)
            total += (np.int64(matrix[i, j]) + shifts[j]) * weights[j]
        words[i, word] = total


@jit
def translate_and_count(group_of, translation, counts):
    """Replace each entry of `group_of` by its translation, and count the results; counts is zero on entry."""
    for i in range(group_of.shape[0]):
        group = translation[group_of[i]]
        group_of[i] = group
        counts[group] += 1


@jit
def add_by_group(patterns, amounts, labels, out):
    """Add amounts[p] to out[labels[p], c] for every cluster c of each pattern p; -1 is no cluster, and no group."""
    for p in range(patterns.shape[0]):
        if labels[p] < 0:
            continue
        line = out[labels[p]]
        for j in range(patterns.shape[1]):
            if patterns[p, j] >= 0:
                line[patterns[p, j]] += amounts[p]


@jit
def add_weights(patterns, influence, out):
    """Write the sum of the weights (n_clusters,) of the clusters of each pattern; -1 is no cluster."""
    for p in range(patterns.shape[0]):
        total = 0.0
        for j in range(patterns.shape[1]):
            if patterns[p, j] >= 0:
                total += influence[patterns[p, j]]
        out[p] = total


@jit
def share_weights(clusters, first, influence, out):
    """Write the weight of each cluster of each pattern, divided by the sum over its clusters; 0 where that is 0.

    clusters, first : the clusters of all patterns, pattern by pattern, and the start of those of each pattern
    """
    for p in range(len(first) - 1):
        total = 0.0
        for e in range(first[p], first[p + 1]):
            total += influence[clusters[e]]
        share = 1.0 / total if total > 0 else 0.0
        for e in range(first[p], first[p + 1]):
            out[e] = influence[clusters[e]] * share


@jit
def _row(a, n):
    """Return the offset of row a in the upper half of an (n, n) matrix that is stored as one vector."""
    return a * n - a * (a + 1) // 2


@jit
def add_pairs(patterns, scale, n_clusters):
    """Return the upper half of the sum over patterns of scale[p] times the outer product of p's clusters, row by row.

    patterns : (m, M) int32, ascending in each row except for missing ones, which are -1
    """
    upper = np.zeros(n_clusters * (n_clusters + 1) // 2, dtype=scale.dtype)
    for p in range(patterns.shape[0]):
        for j in range(patterns.shape[1]):
            a = np.int64(patterns[p, j])
            if a >= 0:
                row = _row(a, n_clusters)
                for other in range(j, patterns.shape[1]):
                    b = patterns[p, other]
                    if b >= 0:
                        upper[np.uint64(row + b)] += scale[p]
    return upper


@jit
def mirrored(upper, n):
    """Return values, columns and (n + 1,) row starts of the nonzero entries of the matrix with this upper half."""
    columns_of, end = np.empty(len(upper), dtype=np.int32), np.zeros(n + 1, dtype=np.int64)
    first = np.zeros(n + 1, dtype=np.int32)
    n_entries = 0
    # First pass: columns of the entries of the upper half, and the number of entries of each full row.
    for a in range(n):
        row = upper[_row(a, n) + a : _row(a, n) + n]
        for offset in range(n - a):
            if row[offset] != 0:
                columns_of[n_entries] = a + offset
                n_entries += 1
        end[a + 1] = n_entries
        for b in columns_of[end[a] : n_entries]:
            first[b + 1] += 1
            first[a + 1] += b > a
    first = np.cumsum(first).astype(np.int32)
    values, columns, filled = np.empty(first[n], upper.dtype), np.empty(first[n], np.int32), first.copy()
    # Second pass: write every entry in its row and, mirrored, in the row of its column.
    for a in range(n):  # entries left of the diagonal were written with the rows before
        row = _row(a, n)
        for b in columns_of[end[a] : end[a + 1]]:
            columns[filled[a]], values[filled[a]] = b, upper[row + b]
            filled[a] += 1
            if b > a:
                columns[filled[b]], values[filled[b]] = a, upper[row + b]
                filled[b] += 1
    return values, columns, first


@jit
def count_met(patterns, n_clusters, clusters):
    """Return the number of clusters that share a pattern with each of the given clusters, added up; -1 is no
    cluster.
    """
    # First the patterns of each cluster as lists, then one walk over them per cluster.
    number = np.full(n_clusters, -1, dtype=np.int32)
    for i in range(len(clusters)):
        number[clusters[i]] = i
    last = np.zeros(len(clusters) + 1, dtype=np.int64)  # end of the patterns of each cluster in one common list
    for p in range(patterns.shape[0]):
        for c in patterns[p]:
            if c >= 0 and number[c] >= 0:
                last[number[c] + 1] += 1
    last = np.cumsum(last)
    pattern, end = np.empty(last[-1], dtype=np.int64), last[:-1].copy()
    for p in range(patterns.shape[0]):
        for c in patterns[p]:
            if c >= 0 and number[c] >= 0:
                pattern[end[number[c]]] = p
                end[number[c]] += 1
    last_met = np.full(n_clusters, -1, dtype=np.int32)
    total = 0
    # A cluster is counted once per walk, whatever the number of patterns it shares.
    for i in range(len(clusters)):
        for p in pattern[last[i] : last[i + 1]]:
            for c in patterns[p]:
                if c >= 0 and last_met[c] != i:
                    last_met[c] = i
                    total += 1
    return total


@jit
def _slot(words, row, mask):
    """Return the home slot of one row of words in a table of mask + 1 slots."""
    key = np.uint64(0)
    # A product spreads each word over the high bits, the shift brings them down: every bit influences the slot.
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
    """Write the group of every row of `words`, adding new groups; return the number of groups.

    words : (b, p) int64, one row per data row; equal rows belong together
    base : the data row of words[0]
    slots : (s,) int32, s a power of two, open addressing; group or -1
    store : (>= n_groups + b, p) int64, the words of each group
    first : (>= n_groups + b,) int64, the first data row of each group
    group_of : (b,) int32, written
    """
    mask = slots.shape[0] - 1
    for row in range(words.shape[0]):
        slot = _slot(words, row, mask)
        # Linear probing: the next free slot, or the slot of an equal row.
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
def group_words(words, base, slots, store, first, n_groups, group_of):
    """Do what `group_rows` does for rows of one word: words (b, 1), store (>= n_groups + b, 1)."""
    mask = np.uint64(slots.shape[0] - 1)
    for row in range(words.shape[0]):
        word = words[row, 0]
        # The words of most ensembles fit into one; this path avoids loops over words.
        key = np.uint64(word) * _MIX
        slot = (key ^ (key >> _SHIFT)) & mask
        group = slots[slot]
        while group >= 0 and store[group, 0] != word:
            slot = (slot + np.uint64(1)) & mask
            group = slots[slot]
        if group < 0:
            group = n_groups
            slots[slot] = group
            store[group, 0] = word
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


@jit
def shared_rows(patterns, scale, lists, pattern, start, stop):
    """Return the rows start..stop of the sum over patterns of scale[p] times the outer product of p's clusters.

    patterns : (m, M) int32 clusters of each pattern, -1 for missing
    scale : (m,)
    lists, pattern : the patterns of each cluster c: pattern[lists[c] : lists[c + 1]]

    Returns the number of entries of each row, their columns, ascending, and their values.
    """
    n = len(lists) - 1
    total = np.zeros(n, dtype=scale.dtype)
    met = np.zeros(n, dtype=np.bool_)
    lengths = np.empty(stop - start, dtype=np.int64)
    columns = np.empty((stop - start) * n, dtype=np.int32)
    values = np.empty((stop - start) * n, dtype=scale.dtype)
    end = 0
    # Row by row: sums in a dense vector, with a list of the columns that were met.
    for c in range(start, stop):
        first = end
        for e in range(lists[c], lists[c + 1]):
            p = pattern[e]
            for d in patterns[p]:
                if d >= 0:
                    if not met[d]:
                        met[d] = True
                        columns[end] = d
                        end += 1
                    total[d] += scale[p]
        # Columns ascending, as sparse matrices require them.
        columns[first:end].sort()
        for e in range(first, end):
            d = columns[e]
            values[e] = total[d]
            total[d] = 0
            met[d] = False
        lengths[c - start] = end - first
    return lengths, columns[:end].copy(), values[:end].copy()
