"""Which rows of a table the rows of a sample are: their numbers, and what other columns hold there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._utils.array_types import Ints
from quorate.features.sampling import Sample, hash_rows
from quorate.tables.feature_profile import plain_values


class Trace:
    """Finds the rows of a sample among the rows that pass by, each where it occurs first.

    Parameters
    ----------
    sample : Sample
    seed : int
        The seed with which the sample was drawn.
    columns : sequence of str
        Columns whose cells are kept.

    Attributes
    ----------
    numbers : ndarray of shape (sample,)
        The rows' numbers, counted from 0; -1 before they passed by.
    cells : dict of lists
        What the columns hold there.
    """

    def __init__(self, sample: Sample, seed: int, columns: Sequence[str] = ()) -> None:
        self._hashes, self._seed = sample.hashes, seed
        self._passed = 0
        self.numbers: Ints = np.full(len(sample.hashes), -1, dtype=np.int64)
        self.cells: dict[str, list[Any]] = {name: [None] * len(sample.hashes) for name in columns}

    def add(self, values: NDArray[Any], columns: Sequence[Any]) -> None:
        """Look at a block: its features (b, d), and its cells in each of the columns, as Arrow arrays."""
        hashes = hash_rows(plain_values(values), self._seed)
        place = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        rows = np.flatnonzero((self._hashes[place] == hashes) & (self.numbers[place] < 0))
        found, first = np.unique(place[rows], return_index=True)
        rows = rows[first]
        self.numbers[found] = self._passed + rows
        for kept, column in zip(self.cells.values(), columns, strict=True):
            for where, cell in zip(found.tolist(), column.take(rows).to_pylist(), strict=True):
                kept[where] = cell
        self._passed += len(values)
