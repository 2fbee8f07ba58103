"""What is known of rows beside their labels, gathered by pattern: names, a sample of rows, and columns kept along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from quorate._utils.array_types import Floats, Ints
from quorate.ensemble import Ensemble
from quorate.errors import QuorateError
from quorate.labels import encode, split_members

MOST_VALUES = 200
"""A column of text with more distinct values than this is not told apart by cluster."""


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers: how many rows of each pattern have one, their mean, variance, least and largest."""

    name: str
    moments: Floats
    """(m, 5) number of cells, mean, variance, least, largest; a pattern without any cell has the number 0."""

    def by_cluster(self, labels: Ints, k: int) -> list[dict[str, float] | None]:
        """Return cells, mean, standard deviation, least and largest of each cluster; None without any cell."""
        found: list[dict[str, float] | None] = []
        for c in range(k):
            n, mean, variance, low, high = self.moments[(labels == c) & (self.moments[:, 0] > 0)].T
            if len(n) == 0:
                found.append(None)
                continue
            center = float(n @ mean / n.sum())
            spread = float(np.sqrt(n @ (variance + (mean - center) ** 2) / n.sum()))
            found.append(
                {
                    "n": float(n.sum()),
                    "mean": center,
                    "sd": spread,
                    "least": float(low.min()),
                    "most": float(high.max()),
                }
            )
        return found


@dataclass(frozen=True)
class ValueColumn:
    """A column of few distinct values: how many rows of each pattern hold each."""

    name: str
    values: tuple[str, ...]
    counts: sp.csr_array
    """(m, values) numbers of rows."""

    def by_cluster(self, labels: Ints, k: int, most: int = 3) -> list[list[tuple[str, float]]]:
        """Return the commonest values of each cluster with their shares of its cells."""
        found = []
        for c in range(k):
            rows = np.asarray(self.counts[np.flatnonzero(labels == c)].sum(axis=0)).ravel()
            top = np.argsort(-rows, kind="stable")[:most]
            found.append([(self.values[v], float(rows[v] / rows.sum())) for v in top if rows[v] > 0])
        return found


@dataclass(frozen=True)
class RowFacts:
    """Names of rows, a sample of them, and the columns kept along."""

    examples: list[str]
    """A row (its id, or its number) for each of the patterns asked for."""
    sample: list[str]
    """The names of some rows, at even steps in their order; of all rows where they are few."""
    sample_pattern: Ints
    """The pattern of each of them."""
    columns: tuple[NumberColumn | ValueColumn, ...] = ()
    too_many: tuple[str, ...] = ()
    """Columns with too many distinct values to be told by cluster."""


def facts_in_memory(
    ens: Ensemble, patterns: Ints, most: int, *, ids: Sequence[Any] | None = None, columns: Any = None
) -> RowFacts:
    """Return what is known of the rows of an ensemble in memory: names of some patterns, at most so many rows."""
    if not ens.has_rows:
        return RowFacts([f"pattern {pattern}" for pattern in patterns], [], np.empty(0, dtype=np.int64))
    rows = np.arange(0, ens.n_rows, step(ens.n_rows, most))
    kept, too_many = _kept(ens, columns)
    return RowFacts(
        examples=[row_name(row, ids) for row in ens.first_row[patterns]],
        sample=[row_name(row, ids) for row in rows],
        sample_pattern=ens.row_pattern[rows].astype(np.int64),
        columns=kept,
        too_many=too_many,
    )


def step(n_rows: int, most: int) -> int:
    """Return the distance between the rows of a sample of at most so many."""
    return max(1, -(-n_rows // max(most, 1)))


def row_name(row: Any, ids: Sequence[Any] | None) -> str:
    """Return what a row is called: its id, or its number counted from 0."""
    return f"row {row}" if ids is None else str(ids[row])


def _kept(ens: Ensemble, columns: Any) -> tuple[tuple[NumberColumn | ValueColumn, ...], tuple[str, ...]]:
    if columns is None:
        return (), ()
    vectors, names = split_members(columns)
    kept: list[NumberColumn | ValueColumn] = []
    too_many = []
    for j, vector in enumerate(vectors):
        name = names[j] if names else f"column {j}"
        if len(vector) != ens.n_rows:
            raise QuorateError(f"columns must have one cell per row; {name!r} has {len(vector)}, not {ens.n_rows}.")
        if np.asarray(vector).dtype.kind in "iuf":
            kept.append(NumberColumn(name, _moments(ens, np.ma.filled(vector.astype(np.float64), np.nan))))
            continue
        labels = encode(vector, name, "cluster")
        if labels.size > MOST_VALUES:
            too_many.append(name)
        else:
            kept.append(value_column(name, labels.levels.tolist(), ens, labels.digits(slice(None))))
    return tuple(kept), tuple(too_many)


def value_column(name: str, values: Sequence[Any], ens: Ensemble, code: Ints) -> ValueColumn:
    """Return how many rows of each pattern hold each value; `code` is the value of each row, -1 for none."""
    present = code >= 0
    cells = (ens.row_pattern[present], code[present])
    counts = sp.coo_array((np.ones(int(present.sum())), cells), shape=(ens.n_patterns, len(values)))
    return ValueColumn(name, tuple(map(str, values)), sp.csr_array(counts))


def _moments(ens: Ensemble, numbers: Floats) -> Floats:
    present = np.isfinite(numbers)
    pattern, x = ens.row_pattern[present], numbers[present]
    n = np.bincount(pattern, minlength=ens.n_patterns).astype(np.float64)
    mean = np.bincount(pattern, weights=x, minlength=ens.n_patterns) / np.maximum(n, 1)
    variance = np.bincount(pattern, weights=(x - mean[pattern]) ** 2, minlength=ens.n_patterns) / np.maximum(n, 1)
    low, high = np.full(ens.n_patterns, np.inf), np.full(ens.n_patterns, -np.inf)
    np.minimum.at(low, pattern, x)
    np.maximum.at(high, pattern, x)
    return np.column_stack([n, mean, variance, low, high])
