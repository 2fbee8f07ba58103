"""The position of a sample's rows in a table: their row numbers, and their cells in other columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._utils.array_types import Ints
from quorate.features.sampling import Sample, hash_rows
from quorate.tables.feature_profile import plain_values


class Trace:
    """Find the rows of a sample among the rows of a table, each where it occurs first.

    Parameters
    ----------
    sample : Sample
    seed : int
        The seed with which the sample was drawn.
    columns : sequence of str
        Columns whose cells are stored.

    Attributes
    ----------
    numbers : ndarray of shape (sample,)
        Row numbers, from 0; -1 for rows that have not occurred yet.
    cells : dict of lists
        The cells of the columns in these rows.
    """

    def __init__(self, sample: Sample, seed: int, columns: Sequence[str] = ()) -> None:
        self._hashes, self._seed = sample.hashes, seed
        self._passed = 0
        self.numbers: Ints = np.full(len(sample.hashes), -1, dtype=np.int64)
        self.cells: dict[str, list[Any]] = {name: [None] * len(sample.hashes) for name in columns}

    def add(self, values: NDArray[Any], columns: Sequence[Any]) -> None:
        """Search a block: its features (b, d), and its cells in each of the columns, as Arrow arrays."""
        hashes = hash_rows(plain_values(values), self._seed)
        place = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        rows = np.flatnonzero((self._hashes[place] == hashes) & (self.numbers[place] < 0))
        hits, first = np.unique(place[rows], return_index=True)
        rows = rows[first]
        self.numbers[hits] = self._passed + rows
        for cells, column in zip(self.cells.values(), columns, strict=True):
            for where, cell in zip(hits.tolist(), column.take(rows).to_pylist(), strict=True):
                cells[where] = cell
        self._passed += len(values)
