"""A table of labels in a file, seen through DuckDB: its columns, their kinds, and their cells as labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any

from quorate._utils.checks import nearest_name
from quorate.column_roles import Seen, head_rows
from quorate.errors import QuorateError
from quorate.tables.io.formats import FileFormat, explained

if TYPE_CHECKING:
    import duckdb

VIEW = "label_table"
"""The name of the view of a table's connection."""
NUMBERED = "label_table_numbered"
"""The name of the same view with one more column, `ROW`: the number of the row, from 0."""
ROW = "quorate_row"

_BATCH = 50


@dataclass(frozen=True)
class ColumnProfile:
    """What one pass over the file tells about a column."""

    kind: str
    """"integer", "number", "text", "boolean", or "other" for what cannot be a label."""
    n_missing: int
    n_distinct: int
    """About how many distinct values there are."""
    n_rows: int

    @property
    def seen(self) -> Seen:
        """What the rule for columns wants to know."""
        return Seen(self.n_rows - self.n_missing, self.n_missing, self.n_distinct, self.kind == "number")


@dataclass(frozen=True)
class Column:
    """A column of a label table: its name in the file, and its name and type in the engine."""

    name: str
    sql_name: str
    sql_type: str


@dataclass
class LabelTable:
    """A table in a file, opened as a view of a DuckDB connection; close it, or use it in a `with` block."""

    path: str
    """What to call the file in messages."""
    format: FileFormat
    connection: duckdb.DuckDBPyConnection
    all_columns: tuple[Column, ...]
    view: str = VIEW
    numbered_view: str | None = None
    """A view with the number of each row, if the format has one; otherwise rows are numbered as they are read."""
    resources: ExitStack = field(default_factory=ExitStack, repr=False)

    @property
    def numbered(self) -> str:
        """The rows with one more column, `ROW`: the number of the row, from 0."""
        return self.numbered_view or f"(SELECT *, row_number() OVER () - 1 AS {ROW} FROM {self.view})"

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.all_columns)

    def column(self, name: str) -> Column:
        """Return a column by name."""
        if name in self._by_name:
            return self._by_name[name]
        raise QuorateError(
            f"{self.path} has no column {name!r}.{nearest_name(name, self.columns)} "
            f"Its columns are: {_listed(self.columns)}."
        )

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.all_columns}

    def raw(self, name: str) -> str:
        """Return the SQL expression of a column's cells as they stand in the file."""
        return quote_name(self.column(name).sql_name)

    def label(self, name: str) -> str:
        """Return the SQL expression of a column's cells as labels: BIGINT, DOUBLE, BOOLEAN or VARCHAR, or NULL."""
        column, kind, cell = self.column(name), self.profile[name].kind, self.raw(name)
        if kind == "other":
            raise QuorateError(
                f"Labels must be numbers, text or categories; column {name!r} of {self.path} holds "
                f"{column.sql_type}. Leave it out: name the clusterings with members=."
            )
        if kind == "integer":
            return f"TRY_CAST({cell} AS BIGINT)"  # all of them fit but NaN, which is no label
        if kind == "number":
            number = f"CAST({cell} AS DOUBLE)"
            return f"CASE WHEN isnan({number}) THEN NULL ELSE {number} END"
        return cell if kind == "boolean" else f"CAST({cell} AS VARCHAR)"

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """Return the relation of a query on this table's connection; errors of reading name the file."""
        with explained(self.path):
            return self.connection.sql(query)

    def fetch(self, query: str) -> dict[str, Any]:
        """Return the columns of a query's answer as NumPy arrays, masked where cells are missing."""
        with explained(self.path):
            return self.connection.sql(query).fetchnumpy()

    @cached_property
    def head(self) -> dict[str, Any]:
        """The first rows: the cells of each column as an array, masked where they are missing."""
        n_rows = head_rows(len(self.all_columns)) + 1
        columns = ", ".join(f"{quote_name(column.sql_name)} AS c{j}" for j, column in enumerate(self.all_columns))
        cells = self.fetch(f"SELECT {columns} FROM {self.view} LIMIT {n_rows}")
        if len(cells["c0"]) == 0:
            raise QuorateError(f"{self.path} has columns but no rows. Pass a table with one row per instance.")
        return dict(zip(self.columns, cells.values(), strict=True))

    @property
    def head_is_all(self) -> bool:
        """Whether the first rows are all rows."""
        return len(self.head[self.columns[0]]) <= head_rows(len(self.all_columns))

    def profiled(self, names: Sequence[str]) -> dict[str, ColumnProfile]:
        """Return what one pass over the file tells about some columns.

        Of many columns it is a pass for each batch of them: the engine's memory grows with the square of their number.
        """
        profiles = {}
        for start in range(0, len(names), _BATCH):
            columns = [self.column(name) for name in names[start : start + _BATCH]]
            parts = ["count(*)", *(part for column in columns for part in _profile_sql(column))]
            with explained(self.path):
                n_rows, *figures = self.connection.execute(f"SELECT {', '.join(parts)} FROM {self.view}").fetchall()[0]
            if n_rows == 0:
                raise QuorateError(f"{self.path} has columns but no rows. Pass a table with one row per instance.")
            for j, column in enumerate(columns):
                present, distinct, not_numbers, fractions, largest = figures[5 * j : 5 * j + 5]
                kind = _kind(column.sql_type, not_numbers, fractions, largest)
                profiles[column.name] = ColumnProfile(kind, n_rows - present, min(distinct, present), n_rows)
        return profiles

    def seen(self, names: Sequence[str]) -> dict[str, Seen]:
        """Return what the rule for columns wants to know of some columns."""
        return {name: profile.seen for name, profile in self.profiled(names).items()}

    @cached_property
    def profile(self) -> dict[str, ColumnProfile]:
        """What one pass over the file tells about each column."""
        return self.profiled(self.columns)

    @property
    def n_rows(self) -> int:
        """Number of rows; found with `profile`."""
        return self.profile[self.columns[0]].n_rows

    def close(self) -> None:
        """Close the connection and remove temporary files."""
        self.resources.close()

    def __enter__(self) -> LabelTable:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_FLOATS = ("FLOAT", "DOUBLE")
_NUMBERS = (*_FLOATS, "UBIGINT", "HUGEINT", "UHUGEINT", "DECIMAL")
_TEXTS = ("VARCHAR", "ENUM", "UUID")


def _family(sql_type: str) -> str:
    return sql_type.partition("(")[0] if not sql_type.endswith("]") else "LIST"


def _profile_sql(column: Column) -> list[str]:
    """Return aggregates over a column: cells present, distinct, no numbers, fractions, and the largest number."""
    cell, family = quote_name(column.sql_name), _family(column.sql_type)
    counted = [f"count({cell})", f"approx_count_distinct({cell})"]
    if family not in ("VARCHAR", *_NUMBERS):
        return [*counted, "0", "0", "0"]
    number = f"TRY_CAST({cell} AS DOUBLE)"
    return [
        *counted,
        f"count(*) FILTER ({cell} IS NOT NULL AND {number} IS NULL)",
        f"count(*) FILTER ({number} <> floor({number}))",
        f"max(abs({number})) FILTER (NOT isnan({number}))",
    ]


def _kind(sql_type: str, not_numbers: int, fractions: int, largest: float | None) -> str:
    family = _family(sql_type)
    if family in _NUMBERS or (family == "VARCHAR" and not not_numbers and largest is not None):
        return _kind_of_numbers(family, fractions, largest)
    for kind, families in (("integer", _INTEGERS), ("text", _TEXTS), ("boolean", ("BOOLEAN",))):
        if family in families:
            return kind
    return "text" if family == '"NULL"' else "other"


def _kind_of_numbers(family: str, fractions: int, largest: float | None) -> str:
    """Return "integer" where all fit into 64 bits; larger whole numbers are told apart as text, unless they are floats.

    In memory it is the same: floats without fractions are whole numbers.
    """
    if fractions or largest is None or math.isinf(largest):
        return "number"
    if largest < 2**63:
        return "integer"
    return "number" if family in _FLOATS else "text"


def quote_name(name: str) -> str:
    """Return a column name quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def match_columns(table: LabelTable, wanted: Sequence[str]) -> list[str]:
    """Return the columns that names or patterns such as "kmeans_*" stand for, in the order given, each once."""
    found: list[str] = []
    known = set(table.columns)
    unknown = [name for name in dict.fromkeys(wanted) if name not in known and not any(sign in name for sign in "*?[")]
    if len(unknown) > 1:
        listed = ", ".join(map(repr, unknown))
        raise QuorateError(f"{table.path} has no columns {listed}. Its columns are: {_listed(table.columns)}.")
    for name in wanted:
        matches = [name] if name in known else [c for c in table.columns if fnmatchcase(c, name)]
        if not matches and any(sign in name for sign in "*?["):
            raise QuorateError(
                f"No column of {table.path} matches {name!r}. Its columns are: {_listed(table.columns)}."
            )
        found += matches or [table.column(name).name]
    return list(dict.fromkeys(found))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
