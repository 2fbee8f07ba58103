"""DuckDB relations: all queries run on the relation's own connection and leave nothing behind there.

Answers enter the connection as text inside a query. That needs no permission to read Python's variables, and no table
name that the connection could already have.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.columns.column_roles import ANSWER_COLUMNS
from quorate.errors import InputError
from quorate.labels import Vector
from quorate.persistence.feature_models import FeatureModel
from quorate.tables.engines.frame_engine import (
    BLOCK,
    Answer,
    CountedLines,
    NewProfile,
    arrow_values,
    require_distinct,
    unused_name,
)
from quorate.tables.feature_profile import FeatureProfile
from quorate.tables.io import quote_name, quote_text

_WIDE = ("HUGEINT", "UHUGEINT", "DECIMAL", "BIGNUM", "VARINT")
"""Numbers without a NumPy type; they are fetched as text."""


def count(native: Any, members: Sequence[str], limit: int) -> CountedLines:
    """Return up to `limit` distinct rows of labels with their counts; the lines stay in DuckDB, in their own types."""
    keys = _keys(native, len(members))
    columns = ", ".join(f"{label} AS {key}" for label, key in zip(_labels(native, members), keys[1:], strict=True))
    # Counted where the rows are; only distinct lines leave the engine.
    counted = native.set_alias("quorate_rows").aggregate(f"{columns}, count(*) AS n").limit(limit)
    # Lines are numbered before they are held, so that numbers do not change between queries.
    lines = _held(native, counted.project(f"row_number() OVER () AS {keys[0]}, *"))
    # Numbers without a NumPy type are fetched as text and compared exactly.
    wide = [str(kind).startswith(_WIDE) for kind in lines.types[1:-1]]
    shown = ", ".join(f"CAST({key} AS VARCHAR) AS {key}" if w else key for key, w in zip(keys[1:], wide, strict=True))
    fetched = lines.project(f"{shown}, n, {keys[0]}").order(keys[0]).fetchnumpy()
    vectors = [_exact(fetched[key]) if w else fetched[key] for key, w in zip(keys[1:], wide, strict=True)]
    return CountedLines(lines, vectors, np.asarray(fetched["n"], dtype=np.int64))


def _held(native: Any, relation: Any) -> Any:
    """Return a relation over the rows that a relation on the connection of `native` has now.

    DuckDB before 2.0 cannot hold them, so they are text inside a query.
    """
    if _holds_rows(native):
        return relation.materialize()
    rows = relation.project(", ".join(f"CAST({quote_name(name)} AS VARCHAR)" for name in relation.columns)).fetchall()
    columns = []
    for j, (name, kind) in enumerate(zip(relation.columns, relation.types, strict=True)):
        cells = ", ".join("NULL" if row[j] is None else quote_text(row[j]) for row in rows)
        columns.append(f"CAST(unnest(CAST([{cells}] AS VARCHAR[])) AS {kind}) AS {quote_name(name)}")
    return _constant(native, ", ".join(columns))


def _holds_rows(native: Any) -> bool:
    """Return whether this version of DuckDB can hold the rows of a relation, as 2.0 does."""
    return hasattr(type(native), "materialize")


def _constant(native: Any, columns: str) -> Any:
    """Return a relation of columns that depend on no table, on the connection of `native`.

    It starts from a count of no rows, which is one row. `native.query` would need a name for a view, and DuckDB before
    2.0 creates that view.
    """
    return native.limit(0).aggregate("count(*)").project(columns)


def _keys(native: Any, n_keys: int) -> list[str]:
    """Return names that no column of the relation has: of the line, and of each key of a join."""
    taken = [name.lower() for name in (*native.columns, "n")]
    return [unused_name(f"quorate_{j}", taken) for j in range(1 + n_keys)]


def _labels(native: Any, members: Sequence[str]) -> list[str]:
    """Return the SQL of each member's label: NaN is NULL, and categories are text."""
    types = dict(zip(native.columns, map(str, native.types), strict=True))
    labels = []
    for name in members:
        cell = f"quorate_rows.{quote_name(name)}"
        if types[name] == "VARIANT" and not _holds_rows(native):
            raise InputError(
                f"Member {name!r} has type VARIANT, which needs DuckDB 2.0 or newer.",
                code="label-type",
                hint="Update DuckDB, or cast the column to VARCHAR.",
            )
        if types[name] in ("FLOAT", "DOUBLE"):
            cell = f"CASE WHEN isnan({cell}) THEN NULL ELSE {cell} END"
        elif types[name].startswith(("ENUM", "UUID")):
            cell = f"CAST({cell} AS VARCHAR)"
        labels.append(cell)
    return labels


def _exact(texts: Vector) -> Vector:
    """Return numbers written as text as Python's exact numbers, None where they are missing."""
    from decimal import Decimal

    numbers = [None if text is None or text is np.ma.masked else Decimal(text) for text in texts]
    return np.array([*numbers, None], dtype=object)[:-1]


def join(native: Any, lines: Any, members: Sequence[str], answer: Answer) -> Any:
    """Return the relation with the columns of an answer, given line by line."""
    keys = _keys(native, len(members))
    # Types that compare equal in DuckDB but not here would make the join ambiguous.
    distinct = lines.project(", ".join(keys[1:])).distinct()
    require_distinct(lines.shape[0] != distinct.shape[0])
    number = unused_name("quorate_answer", [name.lower() for name in native.columns])
    answers = _held(native, _constant(native, _as_columns(answer, number)))
    right = lines.set_alias("quorate_lines").join(answers.set_alias("quorate_answers"), f"{keys[0]} = {number}")
    return _joined(native, right, _labels(native, members), keys[1:], list(answer))


def _joined(native: Any, right: Any, cells: Sequence[str], keys: Sequence[str], names: Sequence[str]) -> Any:
    """Return the rows with some columns of a small relation, joined where cells equal its keys."""
    # NULL equals NULL here: missing labels are part of a line.
    on = " AND ".join(f"{cell} IS NOT DISTINCT FROM quorate_right.{key}" for cell, key in zip(cells, keys, strict=True))
    columns = ", ".join([*(f"quorate_rows.{quote_name(name)}" for name in native.columns), *map(quote_name, names)])
    small = _held(native, right.project(", ".join([*keys, *names]))).set_alias("quorate_right")
    return native.set_alias("quorate_rows").join(small, on, how="left").project(columns)


def _as_columns(answer: Answer, number: str) -> str:
    """Return the SQL of columns whose rows are the answer, line by line, and the number of the line."""
    columns = []
    for name, values in answer.items():
        kind = "DOUBLE" if values.dtype.kind == "f" else "BIGINT"
        # repr keeps all digits of a float.
        cells = ",".join(map(repr, values.tolist()))
        columns.append(f"CAST(unnest(string_split('{cells}', ',')) AS {kind}) AS {name}")
    n_lines = len(next(iter(answer.values())))
    return f"{', '.join(columns)}, unnest(range(1, {n_lines + 1})) AS {number}"


def profile(native: Any, names: Sequence[str], new: NewProfile) -> FeatureProfile:
    """Return the profile of the features of all rows, which are streamed."""
    cells = ", ".join(f"CAST({quote_name(name)} AS DOUBLE) AS c{j}" for j, name in enumerate(names))
    whole = new()
    for batch in native.project(cells).to_arrow_reader(BLOCK):
        whole.add(arrow_values(batch))
    return whole


def label(native: Any, model: FeatureModel) -> Any:
    """Return the relation with the columns of the model's answer, joined on the features.

    Only the distinct rows of features leave DuckDB, so that other columns keep their types.
    """
    import pyarrow as pa

    keys = _keys(native, len(model.features))[1:]
    cells = [f"CAST(quorate_rows.{quote_name(name)} AS DOUBLE)" for name in model.features]
    columns = ", ".join(f"{cell} AS {key}" for cell, key in zip(cells, keys, strict=True))
    # Rows with equal features have equal answers.
    distinct = native.set_alias("quorate_rows").project(columns).distinct()
    parts = []
    for batch in distinct.to_arrow_reader(BLOCK):
        assigned = model.assign(arrow_values(batch))
        parts.append(pa.RecordBatch.from_arrays([*batch.columns, *map(pa.array, assigned)], [*keys, *ANSWER_COLUMNS]))
    kinds = (pa.int32(), pa.float32(), pa.float32(), pa.int32())
    schema = [*((key, pa.float64()) for key in keys), *zip(ANSWER_COLUMNS, kinds, strict=True)]
    quorate_labeled = pa.Table.from_batches(parts, pa.schema(schema))
    assert quorate_labeled is not None  # DuckDB finds the local variable by its name
    view = f"quorate_{uuid.uuid4().hex}"
    right = native.query(view, "SELECT * FROM quorate_labeled")
    labeled = _joined(native, right, cells, keys, ANSWER_COLUMNS)
    if not _holds_rows(native):  # then the query has created its view
        native.query(view, f"DROP VIEW {view}")
    return labeled
