"""The cells of a sample's rows in other columns of the table that it was drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate._utils.array_types import Ints
from quorate.features.sampling import Sample


class Trace:
    """Collect the cells of a sample's rows, each where it occurs first, while the rows of the table are read again.

    Parameters
    ----------
    sample : Sample
    columns : sequence of str
        Columns whose cells are stored.

    Attributes
    ----------
    numbers : ndarray of shape (sample,)
        Row numbers, from 0.
    cells : dict of lists
        The cells of the columns in these rows.
    """

    def __init__(self, sample: Sample, columns: Sequence[str] = ()) -> None:
        self.numbers: Ints = sample.first
        self._order = np.argsort(sample.first)
        self._n_read = 0
        self.cells: dict[str, list[Any]] = {name: [None] * len(sample.first) for name in columns}

    def add(self, n_rows: int, columns: Sequence[Any]) -> None:
        """Store the cells of a block of rows, given as one Arrow array per column."""
        start, stop = np.searchsorted(self.numbers[self._order], (self._n_read, self._n_read + n_rows))
        positions = self._order[start:stop]
        rows = self.numbers[positions] - self._n_read
        for cells, column in zip(self.cells.values(), columns, strict=True):
            for position, cell in zip(positions.tolist(), column.take(rows).to_pylist(), strict=True):
                cells[position] = cell
        self._n_read += n_rows
