"""Facts about rows in addition to their labels, by pattern: names, a sample of rows, and further columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from quorate._utils.array_types import Floats, Ints
from quorate.ensemble import Ensemble
from quorate.errors import InputError
from quorate.labels import encode, split_members

MOST_VALUES = 200
"""A text column with more distinct values than this is not summarized by cluster."""


@dataclass(frozen=True)
class NumberColumn:
    """A numeric column: count, mean, variance, minimum and maximum of each pattern."""

    name: str
    moments: Floats
    """(m, 5) count, mean, variance, minimum, maximum; the count is 0 for a pattern without values."""

    def by_cluster(self, labels: Ints, k: int) -> list[dict[str, float] | None]:
        """Return count, mean, standard deviation, minimum and maximum of each cluster; None without values."""
        summaries: list[dict[str, float] | None] = []
        for c in range(k):
            n, mean, variance, low, high = self.moments[(labels == c) & (self.moments[:, 0] > 0)].T
            if len(n) == 0:
                summaries.append(None)
                continue
            # Means of patterns are combined by their counts.
            center = float(n @ mean / n.sum())
            # Variance within patterns plus variance between their means.
            spread = float(np.sqrt(n @ (variance + (mean - center) ** 2) / n.sum()))
            summaries.append(
                {
                    "n": float(n.sum()),
                    "mean": center,
                    "sd": spread,
                    "min": float(low.min()),
                    "max": float(high.max()),
                }
            )
        return summaries


@dataclass(frozen=True)
class ValueColumn:
    """A column with few distinct values: the number of rows of each pattern with each value."""

    name: str
    values: tuple[str, ...]
    counts: sp.csr_array
    """(m, values) numbers of rows."""

    def by_cluster(self, labels: Ints, k: int, most: int = 3) -> list[list[tuple[str, float]]]:
        """Return the most frequent values of each cluster with their shares."""
        frequent = []
        for c in range(k):
            rows = np.asarray(self.counts[np.flatnonzero(labels == c)].sum(axis=0)).ravel()
            top = np.argsort(-rows, kind="stable")[:most]
            frequent.append([(self.values[v], float(rows[v] / rows.sum())) for v in top if rows[v] > 0])
        return frequent


@dataclass(frozen=True)
class RowFacts:
    """Names of rows, a sample of rows, and further columns."""

    examples: list[str]
    """A row (its ID or its number) for each requested pattern."""
    sample: list[str]
    """The names of sampled rows, at regular intervals; of all rows if they are few."""
    sample_pattern: Ints
    """The pattern of each sampled row."""
    columns: tuple[NumberColumn | ValueColumn, ...] = ()
    too_many: tuple[str, ...] = ()
    """Columns with too many distinct values for a summary."""


def facts_in_memory(
    ens: Ensemble, patterns: Ints, most: int, *, ids: Sequence[Any] | None = None, columns: Any = None
) -> RowFacts:
    """Return names for some patterns, a sample of at most `most` rows, and columns, from an ensemble in memory."""
    if not ens.has_rows:
        return RowFacts([f"pattern {pattern}" for pattern in patterns], [], np.empty(0, dtype=np.int64))
    # At regular intervals, so that the sample does not depend on chance.
    rows = np.arange(0, ens.n_rows, step(ens.n_rows, most))
    summarized, too_many = _columns(ens, columns)
    return RowFacts(
        examples=[row_name(row, ids) for row in ens.first_row[patterns]],
        sample=[row_name(row, ids) for row in rows],
        sample_pattern=ens.row_pattern[rows].astype(np.int64),
        columns=summarized,
        too_many=too_many,
    )


def step(n_rows: int, most: int) -> int:
    """Return the interval between sampled rows, for at most `most` of them."""
    return max(1, -(-n_rows // max(most, 1)))


def row_name(row: Any, ids: Sequence[Any] | None) -> str:
    """Return the name of a row: its ID, or its number counted from 0."""
    return f"row {row}" if ids is None else str(ids[row])


def _columns(ens: Ensemble, columns: Any) -> tuple[tuple[NumberColumn | ValueColumn, ...], tuple[str, ...]]:
    if columns is None:
        return (), ()
    vectors, names = split_members(columns)
    summarized: list[NumberColumn | ValueColumn] = []
    too_many = []
    for j, vector in enumerate(vectors):
        name = names[j] if names else f"column {j}"
        if len(vector) != ens.n_rows:
            raise InputError(
                f"must have one value for each of {ens.n_rows:,} rows; {name!r} has {len(vector):,}.",
                code="length",
                parameter="columns",
            )
        if np.asarray(vector).dtype.kind in "iuf":
            summarized.append(NumberColumn(name, _moments(ens, np.ma.filled(vector.astype(np.float64), np.nan))))
            continue
        # Negative values are values here, not noise.
        labels = encode(vector, name, "cluster")
        if labels.size > MOST_VALUES:
            too_many.append(name)
        else:
            summarized.append(value_column(name, labels.levels.tolist(), ens, labels.digits(slice(None))))
    return tuple(summarized), tuple(too_many)


def value_column(name: str, values: Sequence[Any], ens: Ensemble, code: Ints) -> ValueColumn:
    """Return the number of rows of each pattern with each value; `code` is the value of each row, -1 for none."""
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
