"""Group rows that have the same labels in every member, in one hash pass.

Label codes are packed into a few 64-bit words per row (mixed radix, first member most significant), so that comparing
words compares rows lexicographically. Rows are hashed in blocks, in threads, and the distinct rows are then sorted. The
result depends neither on the order of the rows nor on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from quorate import _kernels
from quorate._runtime import threads
from quorate._utils.array_types import Bools, Ints
from quorate.errors import InputError, Setting
from quorate.labels import CountedLabels, Noise, Vector, encode, encode_all, is_plain

_BLOCK = 1 << 14
# Integers that span at most this many values are grouped as they are and encoded afterwards, on patterns only.
_WIDEST_SPAN = 1 << 12


class Codes(Protocol):
    """A column of label codes that can be read in blocks: 0 .. size - 1, or -1 for a missing label."""

    @property
    def size(self) -> int:
        """Number of distinct codes."""

    @property
    def base(self) -> int:
        """The digit that stands for code 0."""

    def digits(self, rows: slice) -> NDArray[np.integer]:
        """Return the codes of consecutive rows, plus `base`."""


@dataclass(frozen=True)
class CodeColumn:
    """Codes in memory, plus `base`."""

    values: NDArray[np.integer]
    size: int
    base: int = 0

    def digits(self, rows: slice) -> NDArray[np.integer]:
        """Return the codes of consecutive rows, plus `base`."""
        return self.values[rows]


@dataclass(frozen=True)
class Grouping:
    """The distinct rows of columns of codes, in lexicographic order."""

    codes: NDArray[np.int32]
    """(m, M) codes of each pattern, -1 for missing."""
    first_row: Ints
    """(m,) the first row of each pattern."""
    row_pattern: NDArray[np.int32]
    """(n,) pattern of each row."""
    counts: Ints
    """(m,) number of rows of each pattern."""


class LabelGroups(NamedTuple):
    """Rows grouped by their labels: the label values of each member, and the grouping by their codes."""

    levels: tuple[Vector, ...]
    grouping: Grouping

    @property
    def noise_codes(self) -> list[int]:
        """The code of each member's noise (the only level that is a negative whole number), or -2 without noise."""
        return [_noise_code(levels) for levels in self.levels]

    @property
    def noisy(self) -> Bools:
        """(m,) whether a pattern is noise to any member, where noise is a label."""
        return np.any(self.grouping.codes == self.noise_codes, axis=1)


def _noise_code(levels: Vector) -> int:
    if levels.dtype.kind not in "if":
        return -2
    noise = np.flatnonzero((levels < 0) & (levels == np.floor(levels)))
    return int(noise[0]) if len(noise) else -2


def group_rows(columns: Sequence[Codes], n_rows: int) -> Grouping:
    """Group the distinct rows of `columns` by hashing."""
    packing = Packing([column.size for column in columns])
    n_parts = max(1, min(threads.n_threads(), -(-n_rows // _BLOCK)))
    bounds = np.linspace(0, n_rows, n_parts + 1).astype(int)
    parts = [slice(start, stop) for start, stop in pairwise(bounds)]
    row_pattern = np.empty(n_rows, dtype=np.int32)
    pack = packing.reader(columns)

    def hash_part(part: slice) -> _HashTable:
        table = _HashTable(packing.n_words)
        for start in range(part.start, part.stop, _BLOCK):
            rows = slice(start, min(start + _BLOCK, part.stop))
            table.add(pack(rows), start, row_pattern[rows])
        return table

    # Each thread has a hash table of its own; merging small tables is cheaper than sharing one.
    table, *others = threads.in_threads(hash_part, parts)
    translations = [np.arange(table.n_groups, dtype=np.int32), *(table.merge(other) for other in others)]
    # Sorting the distinct rows makes the result independent of the order of the rows.
    # lexsort takes the last key as the most important one, hence the reversed words.
    order = np.lexsort(table.words.T[::-1])
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)

    def finish_part(task: tuple[slice, NDArray[np.int32]]) -> Ints:
        part, translation = task
        counts = np.zeros(len(order), dtype=np.int64)
        # Provisional numbers of each thread become the final ones, and are counted in the same pass.
        _kernels.row_hashing.translate_and_count(row_pattern[part], rank[translation], counts)
        return counts

    counts = threads.in_threads(finish_part, list(zip(parts, translations, strict=True)))
    return Grouping(packing.unpack(table.words[order]), table.first[order], row_pattern, np.sum(counts, axis=0))


def extents(vectors: Sequence[NDArray[np.integer]]) -> list[tuple[int, int]]:
    """Return the smallest and the largest value of each vector, reading all vectors together, block by block.

    The vectors may be the columns of one row-major matrix; each block of it is then read from memory only once.
    """
    matrix = _matrix_of(vectors)

    def of_block(rows: slice) -> list[tuple[int, int]]:
        if matrix is None:
            return [_kernels.row_hashing.extent(vector, rows.start, rows.stop) for vector in vectors]
        low, high = _column_extents(matrix[rows])
        return list(zip(low.tolist(), high.tolist(), strict=True))

    tasks = threads.blocks(len(vectors[0]), _BLOCK)
    bounds = np.array(threads.in_threads(of_block, tasks))  # (blocks, vectors, 2)
    return list(zip(bounds[:, :, 0].min(axis=0).tolist(), bounds[:, :, 1].max(axis=0).tolist(), strict=True))


def _matrix_of(vectors: Sequence[NDArray[np.integer]]) -> NDArray[np.integer] | None:
    """Return the row-major matrix whose columns these vectors are, in this order, or None."""
    matrix = vectors[0].base
    if not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or not matrix.flags.c_contiguous:
        return None
    if matrix.shape != (len(vectors[0]), len(vectors)) or matrix.dtype != vectors[0].dtype:
        return None
    # Columns of one matrix are recognized by their addresses: no copy is made to find out.
    address, step = matrix.__array_interface__["data"][0], matrix.itemsize
    expected = [(address + j * step, matrix.strides[:1]) for j in range(len(vectors))]
    actual = [(vector.__array_interface__["data"][0], vector.strides) for vector in vectors]
    return matrix if actual == expected and all(vector.base is matrix for vector in vectors) else None


def _column_extents(block: NDArray[np.integer]) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Return the smallest and the largest value of each column."""
    # NumPy reduces long rows much faster than short ones, so 64 rows are first reshaped into one.
    n_joined = 64
    whole = len(block) // n_joined * n_joined
    parts = [block[whole:]]
    if whole:
        wide = block[:whole].reshape(whole // n_joined, -1)
        parts += [wide.min(axis=0).reshape(n_joined, -1), wide.max(axis=0).reshape(n_joined, -1)]
    candidates = np.concatenate(parts)
    return candidates.min(axis=0), candidates.max(axis=0)


def merge_groups(grouping: Grouping, columns: Sequence[Codes]) -> Grouping:
    """Return the grouping by new codes of its groups, under which some groups may become equal."""
    merged = group_rows(columns, len(grouping.codes))
    # Groups stay distinct: only their order may have changed.
    if len(merged.codes) == len(grouping.codes):
        first_row = grouping.first_row[merged.first_row]
    else:
        first_row = np.full(len(merged.codes), len(grouping.row_pattern), dtype=np.int64)
        # Groups that became equal have the smallest of their first rows.
        np.minimum.at(first_row, merged.row_pattern, grouping.first_row)
    counts = np.bincount(merged.row_pattern, weights=grouping.counts, minlength=len(merged.codes)).astype(np.int64)
    same = np.array_equal(merged.row_pattern, np.arange(len(grouping.codes)))
    row_pattern = grouping.row_pattern if same else merged.row_pattern[grouping.row_pattern]
    return Grouping(merged.codes, first_row, row_pattern, counts)


def _renumber(grouping: Grouping, columns: Sequence[Codes]) -> Grouping:
    """Return the grouping with new codes under which all groups stay distinct and in order."""
    codes = np.stack([column.digits(slice(None)) for column in columns], axis=1, dtype=np.int32, casting="same_kind")
    return replace(grouping, codes=codes)


def find_rows(codes: NDArray[np.int32], sizes: Sequence[int], queries: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the position of each row of `queries` among the distinct rows `codes`, or -1."""
    packing = Packing(sizes)
    table = _HashTable(packing.n_words)
    # The known rows first, so that their groups are their positions.
    table.add(packing.pack(list(codes.T)), 0, np.empty(len(codes), dtype=np.int32))
    position = np.empty(len(queries), dtype=np.int32)
    table.add(packing.pack(list(queries.T)), 0, position)
    return np.where(position < len(codes), position, -1)  # groups that the queries added are new


class Packing:
    """The word that each member's code is packed into, and its factor there."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.radix = [size + 1 for size in sizes]  # one more for missing
        self.word = []
        # Codes are digits of a number with mixed radix; as many as fit share one word.
        word, product = 0, 1
        for radix in self.radix:
            if product * radix >= 2**63:  # the next code would overflow the word
                word, product = word + 1, 1
            product *= radix
            self.word.append(word)
        self.n_words = word + 1
        self.weight = [1] * len(self.radix)
        # The last digit of a word has weight 1, so that words sort like rows of codes.
        for j in reversed(range(len(self.radix) - 1)):
            if self.word[j] == self.word[j + 1]:
                self.weight[j] = self.weight[j + 1] * self.radix[j + 1]

    def pack(self, codes: Sequence[NDArray[np.integer]]) -> Ints:
        """Return (rows, n_words) words from one vector of codes per member."""
        columns = [CodeColumn(values, size - 1) for values, size in zip(codes, self.radix, strict=True)]
        return self.reader(columns)(slice(len(codes[0])))

    def reader(self, columns: Sequence[Codes]) -> Callable[[slice], Ints]:
        """Return a function that returns the (rows, n_words) words of consecutive rows of the columns."""
        shifts = np.array([1 - column.base for column in columns], dtype=np.int64)
        values = [column.values for column in columns if isinstance(column, CodeColumn)]
        matrix = _matrix_of(values) if len(values) == len(columns) else None
        weights, word_of = np.array(self.weight, dtype=np.int64), np.array(self.word)

        def read(rows: slice) -> Ints:
            words = np.zeros((rows.stop - (rows.start or 0), self.n_words), dtype=np.int64)
            if matrix is not None:
                _kernels.row_hashing.pack_rows(matrix[rows], shifts, weights, word_of, words)
            else:
                for j, column in enumerate(columns):
                    _kernels.row_hashing.add_digits(column.digits(rows), shifts[j], weights[j], words, word_of[j])
            return words

        return read

    def unpack(self, words: Ints) -> NDArray[np.int32]:
        """Invert `pack`: (rows, members) codes."""
        remaining = words.copy()
        codes = np.empty((len(words), len(self.radix)), dtype=np.int32)
        for j in reversed(range(len(self.radix))):
            remaining[:, self.word[j]], codes[:, j] = np.divmod(remaining[:, self.word[j]], self.radix[j])
        # Codes were shifted by one, because 0 stands for missing.
        codes -= 1
        return codes


class _HashTable:
    """The distinct rows so far, numbered in order of appearance."""

    def __init__(self, n_words: int) -> None:
        self.n_groups = 0
        self._store = np.empty((0, n_words), dtype=np.int64)
        self.first = np.empty(0, dtype=np.int64)
        self._slots = np.empty(0, dtype=np.int32)

    @property
    def words(self) -> Ints:
        """(n_groups, n_words) words of each group."""
        return self._store[: self.n_groups]

    def add(self, words: Ints, base: int, group_of: NDArray[np.int32]) -> None:
        """Write the group of each row of `words` into `group_of`; the first row is data row `base`."""
        self._reserve(self.n_groups + len(words))
        group = _kernels.row_hashing.group_words if words.shape[1] == 1 else _kernels.row_hashing.group_rows
        self.n_groups = group(words, base, self._slots, self._store, self.first, self.n_groups, group_of)

    def merge(self, other: _HashTable) -> NDArray[np.int32]:
        """Add the groups of a table of later rows, and return their numbers in this table."""
        translation = np.empty(other.n_groups, dtype=np.int32)
        n_before = self.n_groups
        self.add(other.words, 0, translation)
        new = translation >= n_before
        # A group that is new here keeps its first row from the other table.
        self.first[translation[new]] = other.first[: other.n_groups][new]
        return translation

    def _reserve(self, capacity: int) -> None:
        if capacity <= len(self._store):
            return
        # Doubling keeps the cost of growing proportional to the rows.
        capacity = max(capacity, 2 * len(self._store))
        grown = np.empty((capacity, self._store.shape[1]), dtype=np.int64)
        grown[: self.n_groups] = self.words
        self._store = grown
        self.first = np.concatenate([self.first[: self.n_groups], np.empty(capacity - self.n_groups, dtype=np.int64)])
        # At least two slots per group keep probe sequences short.
        self._slots = np.full(1 << (2 * capacity - 1).bit_length(), -1, dtype=np.int32)
        _kernels.row_hashing.fill_slots(self._store, self.n_groups, self._slots)


def group_labels(vectors: Sequence[Vector], names: Sequence[str], noise: Noise) -> LabelGroups:
    """Group rows by their labels.

    Integers of a small range are grouped as they are. Their levels are then read from the groups instead of from all
    rows.
    """
    order = range(len(vectors))
    # Plain integers need no encoding before hashing; everything else becomes codes first.
    plain = [j for j, vector in enumerate(vectors) if is_plain(vector)]
    columns: dict[int, Codes] = {}
    if plain:
        bounds = extents([np.asarray(vectors[j]) for j in plain])
        for j, (low, high) in zip(plain, bounds, strict=True):
            # A wide range would waste bits of the words, and is encoded like other labels.
            if high - low < _WIDEST_SPAN:
                columns[j] = CodeColumn(np.asarray(vectors[j]), high - low + 1, low)
    others = [j for j in order if j not in columns]
    encoded = dict(zip(others, encode_all({names[j]: vectors[j] for j in others}, noise), strict=True))
    grouping = group_rows([encoded.get(j) or columns[j] for j in order], len(vectors[0]))
    # Several negative numbers may become one noise level, so that groups merge; otherwise only codes change.
    with_noise = any(column.base < 0 for column in columns.values())
    for j, column in columns.items():
        encoded[j] = encode(grouping.codes[:, j].astype(np.int64) + column.base, names[j], noise)
        columns[j] = encoded[j]
    for j in encoded.keys() - columns.keys():
        columns[j] = CodeColumn(grouping.codes[:, j], encoded[j].size)
    levels, ordered = tuple(encoded[j].levels for j in order), [columns[j] for j in order]
    merged = merge_groups(grouping, ordered) if with_noise else _renumber(grouping, ordered)
    return _with_noise_alone(LabelGroups(levels, merged), noise)


def group_counted_labels(counted: CountedLabels, noise: Noise) -> LabelGroups:
    """Group labels with row counts."""
    columns = encode_all(dict(zip(counted.names, counted.vectors, strict=True)), noise, counted.row_counts)
    groups = LabelGroups(tuple(column.levels for column in columns), group_rows(columns, len(counted.row_counts)))
    if noise == "singletons" and np.any(counted.row_counts[groups.noisy[groups.grouping.row_pattern]] > 1):
        raise InputError(
            'must not be "singletons" for a table that counts equal rows: single rows of noise are not available.',
            code="counted-noise",
            parameter="noise",
            hint=("Use ", Setting("noise", "missing"), " or ", Setting("noise", "cluster"), ", or collect the frame."),
        )
    return _with_noise_alone(groups, noise)


def _with_noise_alone(groups: LabelGroups, noise: Noise) -> LabelGroups:
    """Make every row of noise a cluster of its own if noise is "singletons", numbered before its member's other
    clusters.

    Rows of noise are numbered in the order of their patterns, so that the order of equal rows does not matter.
    """
    if noise != "singletons" or not groups.noisy.any():
        return groups
    noisy, grouping = groups.noisy, groups.grouping
    order = np.argsort(grouping.row_pattern, kind="stable")
    own = order[noisy[grouping.row_pattern[order]]]  # rows that become patterns of their own
    # One line per new pattern: the old patterns without noise, then those rows.
    lines = np.concatenate([np.flatnonzero(~noisy), grouping.row_pattern[own]])
    codes = grouping.codes[lines].astype(np.int64)
    levels = list(groups.levels)
    for j, code in enumerate(groups.noise_codes):
        if code < 0:
            continue
        # The noise cluster is replaced by one cluster per row, which are numbered before all others.
        alone, before, after = codes[:, j] == code, (codes[:, j] >= 0) & (codes[:, j] < code), codes[:, j] > code
        n_alone = int(alone.sum())
        codes[before, j] += n_alone
        codes[after, j] += n_alone - 1
        codes[alone, j] = np.arange(n_alone)
        levels[j] = np.concatenate([np.full(n_alone, -1, dtype=levels[j].dtype), np.delete(levels[j], code)])
    # Rows that were noise point to their own lines, all others to the line of their pattern.
    line_of = np.empty(len(grouping.codes), dtype=np.int64)
    line_of[~noisy] = np.arange((~noisy).sum())
    row_line = line_of[grouping.row_pattern]
    row_line[own] = (~noisy).sum() + np.arange(len(own))
    first_row = np.concatenate([grouping.first_row[~noisy], own])
    regrouped = group_rows([CodeColumn(codes[:, j], len(levels[j])) for j in range(codes.shape[1])], len(codes))
    counts = np.concatenate([grouping.counts[~noisy], np.ones(len(own), dtype=np.int64)])
    summed = np.bincount(regrouped.row_pattern, weights=counts).astype(np.int64)
    row_pattern = regrouped.row_pattern[row_line].astype(np.int32)
    return LabelGroups(tuple(levels), Grouping(regrouped.codes, first_row[regrouped.first_row], row_pattern, summed))
