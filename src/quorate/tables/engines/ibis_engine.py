"""Ibis tables: the backend counts the labels and joins the answer, which enters it as an in-memory table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.errors import InputError
from quorate.labels import frame_vectors
from quorate.tables.engines.frame_engine import Answer, CountedLines, NewProfile, unused_name


def count(native: Any, members: Sequence[str], limit: int) -> CountedLines:
    """Return up to `limit` distinct rows of labels with their counts."""
    import narwhals as nw

    n = unused_name("rows", members)
    labels = native.select(**{name: _label(native, name) for name in members})
    grouped = labels.group_by(*members).agg(**{n: labels.count()}).limit(limit).to_pyarrow()
    lines = grouped.drop_columns(n)
    return CountedLines(lines, frame_vectors(nw.from_native(lines)), grouped[n].to_numpy().astype(np.int64))


def _label(native: Any, name: str) -> Any:
    """Return a column in which NaN is NULL; SQLite, for example, has no NaN."""
    import ibis

    column, has_nan = native[name], native.get_backend().has_operation(ibis.expr.operations.IsNan)
    return ibis.ifelse(column.isnan(), ibis.null(), column) if column.type().is_floating() and has_nan else column


def join(native: Any, lines: Any, members: Sequence[str], answer: Answer) -> Any:
    """Return the table with the columns of an answer, given line by line."""
    import ibis

    keys = [unused_name(f"quorate_{j}", native.columns) for j in range(len(members))]
    right = lines.rename_columns(keys)
    for name, values in answer.items():
        right = right.append_column(name, [values])
    right = ibis.memtable(right)
    same = [_label(native, name).identical_to(right[key]) for name, key in zip(members, keys, strict=True)]
    return native.join(right, same, how="left").select(*native.columns, *answer)


def profile(native: Any, names: Sequence[str], new: NewProfile) -> Any:
    """Refuse to cluster features: their rows would have to leave the backend."""
    raise InputError(
        "must not be an Ibis table of features, whose rows would have to leave the backend.",
        code="frame-type",
        parameter="frame",
        hint="Pass table.to_pyarrow().",
    )
