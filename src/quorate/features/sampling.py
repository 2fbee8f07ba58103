"""The rows that members are fitted on: a sample that depends on what is in the rows, not on where they are.

Every row has a hash, and the sample are the distinct rows of the smallest hashes, with the number of times each occurs
(a bottom-k sketch). So the same rows are in it for any order, partitions and engine, and sketches of parts add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _kernels
from quorate._runtime import threads
from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_integer
from quorate.errors import InputError, Setting

ALL_ROWS = 20_000
"""Up to this many rows, members are fitted on all of them unless told otherwise."""
FIT_ROWS = 10_000
"""How many rows a member is fitted on where there are more."""
SAMPLE_TIMES = 5
"""The sample holds this many times the rows of one member, so that members see different rows."""
KINDS_ROWS = 5_000
"""How many rows clusterings of different kinds are fitted on where there are too many."""
_MOST_DISTANCES = 8e9  # between all pairs of rows, times columns: those of 20,000 rows and 20 columns
_BLOCK = 1 << 14
_SLACK = 1.25  # times the size of a sample that a sketch holds before it is cut to that size


def check_fit_rows(fit_rows: Any, n_rows: int) -> int | None:
    """Return how many rows a member is fitted on, or None for all."""
    if fit_rows is None:
        return None
    if isinstance(fit_rows, str):
        if fit_rows != "auto":
            raise InputError(
                f'must be "auto", a number of rows, or None for all rows; got {fit_rows!r}.',
                code="fit-rows",
                parameter="fit_rows",
            )
        return None if n_rows <= ALL_ROWS else FIT_ROWS
    # At least as many rows as there are means all rows.
    fit_rows = check_integer("fit_rows", fit_rows, low=4)
    return None if fit_rows >= n_rows else fit_rows


def kinds_fit_rows(fit_rows: Any, n_rows: int, n_columns: int) -> int | None:
    """Return how many rows clusterings of different kinds are fitted on, or None for all.

    "auto" is all rows as long as the distances between them can be computed in a second or two.
    """
    if isinstance(fit_rows, str) and fit_rows == "auto":
        # Distances between all rows take time with the square of the rows.
        few = n_rows <= ALL_ROWS and n_rows**2 * n_columns <= _MOST_DISTANCES
        return check_fit_rows(None if few else KINDS_ROWS, n_rows)
    return check_fit_rows(fit_rows, n_rows)


def check_k_range(k_range: Any, fit_rows: int | None) -> tuple[int, int] | None:
    """Return the range of the numbers of clusters of members; None for what each generator draws by itself."""
    if isinstance(k_range, str) and k_range == "auto":
        return None
    if not isinstance(k_range, tuple | list) or len(k_range) != 2:
        raise InputError(
            f'must be "auto" or two numbers of clusters such as (20, 60); got {k_range!r}.',
            code="k-range",
            parameter="k_range",
        )
    low = check_integer("k_range", k_range[0], low=2)
    high = check_integer("k_range", k_range[1], low=low)
    if fit_rows is not None and high > fit_rows:
        raise InputError(
            f"allows members of up to {high} clusters, which cannot be fitted on {fit_rows} rows.",
            code="k-range",
            parameter="k_range",
            hint=("Raise ", Setting("fit_rows"), ", or lower ", Setting("k_range"), "."),
        )
    return low, high


@dataclass(frozen=True)
class Sample:
    """Distinct rows in the order of their hashes, and how often each occurs."""

    hashes: NDArray[np.uint64]
    rows: Floats
    counts: Ints
    first: Ints
    """The number of the row where each occurs first, in the order in which the rows were added."""

    def part(self, n: int, seed: int) -> Sample:
        """Return n of the rows, each as often as it occurs at most; all of them where there are fewer."""
        ends = np.cumsum(self.counts)
        if n >= ends[-1]:
            return self
        # Occurrences are drawn, not distinct rows.
        chosen = np.random.default_rng([seed, 1]).choice(int(ends[-1]), n, replace=False)
        rows, counts = np.unique(np.searchsorted(ends, chosen, side="right"), return_counts=True)
        return Sample(self.hashes[rows], self.rows[rows], counts, self.first[rows])

    def at(self, hashes: NDArray[np.uint64]) -> Sample:
        """Return the rows of some hashes, which are all in the sample."""
        rows = np.searchsorted(self.hashes, hashes)
        return Sample(hashes, self.rows[rows], self.counts[rows], self.first[rows])

    def draw(self, n: int, seed: int) -> Floats:
        """Return the rows of a part, as often as they occur in it."""
        part = self.part(n, seed)
        return np.repeat(part.rows, part.counts, axis=0)


def sample_rows(X: NDArray[Any], fit_rows: int, seed: int) -> Sample:
    """Return the sample that members of `fit_rows` rows each are fitted on."""
    sketch = Sketch(fit_rows, seed)
    for rows in threads.blocks(len(X), _BLOCK):
        sketch.add(X[rows])
    return sketch.sample


def hash_rows(rows: Floats, seed: int) -> NDArray[np.uint64]:
    """Return a number for each row (n, d) that depends on nothing but what is in it."""
    hashes = np.empty(len(rows), dtype=np.uint64)
    plain = np.ascontiguousarray(rows, dtype=np.float64) + 0.0  # no -0, which has other bits than 0
    _kernels.sample_hashes.hash_rows(plain.view(np.uint64), np.uint64(seed), hashes)
    return hashes


class Sketch:
    """A sample that grows block by block; the order of the blocks does not matter.

    Parameters
    ----------
    fit_rows : int
        How many rows each member is fitted on.
    seed : int
    """

    def __init__(self, fit_rows: int, seed: int) -> None:
        self._size = SAMPLE_TIMES * fit_rows
        self._seed = seed
        self._hashes: list[NDArray[np.uint64]] = []
        self._rows: list[Floats] = []
        self._counts: list[Ints] = []
        self._first: list[Ints] = []
        self._n_rows = 0
        self._held = 0
        self._largest = np.uint64(np.iinfo(np.uint64).max)

    def add(self, block: NDArray[Any], numbers: Ints | None = None) -> None:
        """Add some rows (b, d); their `numbers` are those after the rows before, unless they are given."""
        if numbers is None:
            numbers = np.arange(self._n_rows, self._n_rows + len(block))
            self._n_rows += len(block)
        # float64 for every source, so that equal numbers have equal bits.
        rows = np.ascontiguousarray(block, dtype=np.float64)
        hashes = hash_rows(rows, self._seed)
        # Rows beyond the largest hash of a full sketch can never enter it.
        near = np.flatnonzero(hashes <= self._largest)
        self._hold(hashes[near], rows[near], np.ones(len(near), dtype=np.int64), numbers[near])

    def merge(self, other: Sample) -> None:
        """Add the sample of other rows."""
        self._hold(other.hashes, other.rows, other.counts, other.first)

    def _hold(self, hashes: NDArray[np.uint64], rows: Floats, counts: Ints, first: Ints) -> None:
        self._hashes.append(hashes)
        self._rows.append(rows)
        self._counts.append(counts)
        self._first.append(first)
        self._held += len(hashes)
        # Shrinking now and then keeps the cost per row constant.
        if self._held > _SLACK * self._size:
            self._shrink()

    def _shrink(self) -> None:
        """Keep the distinct rows of the smallest hashes."""
        hashes, counts = np.concatenate(self._hashes), np.concatenate(self._counts)
        rows, numbers = np.concatenate(self._rows), np.concatenate(self._first)
        self._rows.clear()  # the parts are not needed in memory any more
        smallest, first, which = np.unique(hashes, return_index=True, return_inverse=True)
        smallest, first = smallest[: self._size], first[: self._size]
        totals = np.bincount(which, weights=counts).astype(np.int64)[: self._size]
        self._hashes, self._rows, self._counts = [smallest], [rows[first]], [totals]
        self._first = [numbers[first]]
        self._held = len(smallest)
        if len(smallest) == self._size:
            self._largest = smallest[-1]

    @property
    def sample(self) -> Sample:
        """The sample of the rows so far."""
        self._shrink()
        return Sample(self._hashes[0], self._rows[0], self._counts[0], self._first[0])
