"""One hash pass over the rows: which rows carry the same labels in every member?

Label codes are packed into a few 64-bit words per row (mixed radix, first member most significant), so that comparing
words compares rows lexicographically. Rows are hashed in blocks, in threads, and the distinct rows are then sorted:
the result does not depend on the order of the rows nor on the number of threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quorate import _kernels

Ints = NDArray[np.int64]

_BLOCK = 1 << 14


class Codes(Protocol):
    """A column of label codes that can be read in blocks: 0 .. size - 1, or -1 for a missing label."""

    @property
    def size(self) -> int:
        """Number of distinct codes."""

    def codes(self, rows: slice) -> Ints:
        """Return the codes of some consecutive rows."""


@dataclass(frozen=True)
class CodeColumn:
    """Codes that are already in memory."""

    values: NDArray[np.integer]
    size: int

    def codes(self, rows: slice) -> Ints:
        """Return the codes of some consecutive rows."""
        return self.values[rows]  # type: ignore[return-value]


@dataclass(frozen=True)
class Grouping:
    """The distinct rows of some columns, in lexicographic order."""

    codes: NDArray[np.int32]
    """(m, M) codes of each pattern, -1 for missing."""
    first_row: Ints
    """(m,) the first row of each pattern."""
    row_pattern: NDArray[np.int32]
    """(n,) pattern of each row."""


def group_rows(columns: Sequence[Codes], n_rows: int) -> Grouping:
    """Find the distinct rows of `columns` by hashing."""
    packing = Packing([column.size for column in columns])
    n_parts = min(_kernels.threads.n_threads(), -(-n_rows // _BLOCK))
    bounds = np.linspace(0, n_rows, n_parts + 1).astype(int)
    parts = [slice(start, stop) for start, stop in pairwise(bounds)]
    row_pattern = np.empty(n_rows, dtype=np.int32)

    def hash_part(part: slice) -> _HashTable:
        table = _HashTable(packing.n_words)
        for start in range(part.start, part.stop, _BLOCK):
            rows = slice(start, min(start + _BLOCK, part.stop))
            table.add(packing.pack([column.codes(rows) for column in columns]), start, row_pattern[rows])
        return table

    table, *others = _kernels.threads.in_threads(hash_part, parts)
    for part, other in zip(parts[1:], others, strict=True):
        # The groups of a later part are rows themselves: adding them to the first table translates their numbers.
        translation = np.empty(other.n_groups, dtype=np.int32)
        n_before = table.n_groups
        table.add(other.words, 0, translation)
        new = translation >= n_before
        table.first[translation[new]] = other.first[: other.n_groups][new]
        row_pattern[part] = translation[row_pattern[part]]

    order = np.lexsort(table.words.T[::-1])
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    for part in parts:
        row_pattern[part] = rank[row_pattern[part]]
    return Grouping(packing.unpack(table.words[order]), table.first[order], row_pattern)


def find_rows(codes: NDArray[np.int32], sizes: Sequence[int], wanted: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return, for each row of `wanted`, its place among the distinct rows `codes`, or -1."""
    packing = Packing(sizes)
    table = _HashTable(packing.n_words)
    table.add(packing.pack(list(codes.T)), 0, np.empty(len(codes), dtype=np.int32))
    place = np.empty(len(wanted), dtype=np.int32)
    table.add(packing.pack(list(wanted.T)), 0, place)
    return np.where(place < len(codes), place, -1)


class Packing:
    """Which word each member's code goes into, and multiplied by what."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.radix = [size + 1 for size in sizes]  # one more for missing
        self.word = []
        word, product = 0, 1
        for radix in self.radix:
            if product * radix >= 2**63:
                word, product = word + 1, 1
            product *= radix
            self.word.append(word)
        self.n_words = word + 1

    def pack(self, codes: Sequence[NDArray[np.integer]]) -> Ints:
        """Return (rows, n_words) words from one code vector per member."""
        words = np.zeros((self.n_words, len(codes[0])), dtype=np.int64)
        for word, radix, code in zip(self.word, self.radix, codes, strict=True):
            target = words[word]
            target *= radix
            target += code
            target += 1
        return np.ascontiguousarray(words.T)

    def unpack(self, words: Ints) -> NDArray[np.int32]:
        """Invert `pack`: (rows, members) codes."""
        remaining = words.copy()
        codes = np.empty((len(words), len(self.radix)), dtype=np.int32)
        for j in reversed(range(len(self.radix))):
            remaining[:, self.word[j]], codes[:, j] = np.divmod(remaining[:, self.word[j]], self.radix[j])
        codes -= 1
        return codes


class _HashTable:
    """The distinct rows met so far, numbered in order of appearance; grows as needed."""

    def __init__(self, n_words: int) -> None:
        self.n_groups = 0
        self._store = np.empty((0, n_words), dtype=np.int64)
        self.first = np.empty(0, dtype=np.int64)
        self._slots = np.full(1, -1, dtype=np.int32)

    @property
    def words(self) -> Ints:
        """(n_groups, n_words) words of each group."""
        return self._store[: self.n_groups]

    def add(self, words: Ints, base: int, group_of: NDArray[np.int32]) -> None:
        """Number the rows of `words`, whose first is data row `base`, into `group_of`."""
        self._reserve(self.n_groups + len(words))
        self.n_groups = _kernels.patterns.group_rows(
            words, base, self._slots, self._store, self.first, self.n_groups, group_of
        )

    def _reserve(self, capacity: int) -> None:
        if capacity <= len(self._store):
            return
        capacity = max(capacity, 2 * len(self._store))
        grown = np.empty((capacity, self._store.shape[1]), dtype=np.int64)
        grown[: self.n_groups] = self.words
        self._store = grown
        self.first = np.concatenate([self.first[: self.n_groups], np.empty(capacity - self.n_groups, dtype=np.int64)])
        self._slots = np.full(1 << (2 * capacity - 1).bit_length(), -1, dtype=np.int32)
        _kernels.patterns.fill_slots(self._store, self.n_groups, self._slots)
