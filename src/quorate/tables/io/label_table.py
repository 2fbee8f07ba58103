"""A table in a file, read through DuckDB: its columns, their kinds, and their cells as text or as labels.

Words such as "NA" stand for a missing label in text tables. They apply where a column is read as labels
(`LabelTable.label`); ids, kept columns and known classes are read as they are written (`LabelTable.raw`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any

from quorate._utils.checks import nearest_name
from quorate.columns.column_heuristics import ColumnSummary, head_rows
from quorate.columns.column_roles import ColumnRequest
from quorate.errors import InputError, Setting
from quorate.tables.io.formats import FileFormat, explained

if TYPE_CHECKING:
    import duckdb

VIEW = "label_table"
"""Name of the view on a table's connection."""
NUMBERED = "label_table_numbered"
"""Name of the same view with one more column, `ROW`: the row number, from 0."""
ROW = "quorate_row"
MISSING_WORDS = ("", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL", "None")
"""Cells of a text table that stand for a missing label, also with blanks around them."""

_BATCH = 50


@dataclass(frozen=True)
class ColumnProfile:
    """Statistics of a column from one pass over the file."""

    kind: str
    """"integer", "number", "text", "boolean", or "other" for what cannot be a label."""
    n_missing: int
    n_distinct: int
    """Approximate number of distinct values."""
    n_rows: int

    @property
    def summary(self) -> ColumnSummary:
        """The statistics that the rules for columns use."""
        return ColumnSummary(self.n_rows - self.n_missing, self.n_missing, self.n_distinct, self.kind == "number")


@dataclass(frozen=True)
class Column:
    """A column of a table: its name in the file, and its name and type in DuckDB."""

    name: str
    sql_name: str
    sql_type: str
    is_text_cell: bool = False
    """Whether the cells come from a text table, where `MISSING_WORDS` stand for a missing label."""
    alias: str = ""
    """The alias of the table in a join."""

    @property
    def raw(self) -> str:
        """The SQL expression of the cells as they are written."""
        return f"{self.alias}.{quote_name(self.sql_name)}" if self.alias else quote_name(self.sql_name)

    @property
    def present(self) -> str:
        """The SQL expression of the cells, NULL where a cell spells a missing label."""
        if not self.is_text_cell:
            return self.raw
        words = ", ".join(f"'{word}'" for word in MISSING_WORDS)
        return f"CASE WHEN trim({self.raw}) IN ({words}) THEN NULL ELSE {self.raw} END"


@dataclass
class LabelTable:
    """A table in a file, opened as a view on a DuckDB connection; close it, or use it in a `with` block."""

    path: str
    """The name of the file in messages."""
    format: FileFormat
    connection: duckdb.DuckDBPyConnection
    all_columns: tuple[Column, ...]
    view: str = VIEW
    numbered_view: str | None = None
    """A view with row numbers, if the format has them; otherwise rows are numbered as they are read."""
    resources: ExitStack = field(default_factory=ExitStack, repr=False)

    @property
    def numbered(self) -> str:
        """The rows with one more column, `ROW`: the row number, from 0."""
        return self.numbered_view or f"(SELECT *, row_number() OVER () - 1 AS {ROW} FROM {self.view})"

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.all_columns)

    def column(self, name: str) -> Column:
        """Return a column by name."""
        if name in self._by_name:
            return self._by_name[name]
        raise InputError(
            f"{self.path} has no column {name!r}.{nearest_name(name, self.columns)} "
            f"Its columns are: {_listed(self.columns)}.",
            code="unknown-column",
        )

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.all_columns}

    def raw(self, name: str) -> str:
        """Return the SQL expression of a column's cells as they are written in the file."""
        return self.column(name).raw

    def label(self, name: str, source: Column | None = None) -> str:
        """Return the SQL expression of a column's cells as labels: BIGINT, DOUBLE, BOOLEAN or VARCHAR, or NULL.

        `source`, if given, is the column of another table that holds the cells.
        """
        column, kind = source or self.column(name), self.profile[name].kind
        if kind == "other":
            raise InputError(
                f"Labels must be numbers, text or categories; column {name!r} of {self.path} holds {column.sql_type}.",
                code="label-type",
                hint=("Leave it out: list the clusterings in ", Setting("members"), "."),
            )
        if kind == "integer":
            # Cells were checked by the profile: every value fits.
            return f"TRY_CAST({column.raw} AS BIGINT)"  # all values fit except NaN, which is a missing label
        if kind == "number":
            number = f"TRY_CAST({column.raw} AS DOUBLE)"
            return f"CASE WHEN isnan({number}) THEN NULL ELSE {number} END"
        return column.raw if kind == "boolean" else f"CAST({column.present} AS VARCHAR)"

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """Return the relation of a query on this table's connection; read errors name the file."""
        with explained(self.path):
            return self.connection.sql(query)

    def fetch(self, query: str) -> dict[str, Any]:
        """Return the columns of a query's result as NumPy arrays, masked where cells are missing."""
        with explained(self.path):
            return self.connection.sql(query).fetchnumpy()

    @cached_property
    def head(self) -> dict[str, Any]:
        """The first rows: the cells of each column as an array, masked where they are missing."""
        # One row more shows whether there are others.
        n_rows = head_rows(len(self.all_columns)) + 1
        columns = ", ".join(f"{column.present} AS c{j}" for j, column in enumerate(self.all_columns))
        cells = self.fetch(f"SELECT {columns} FROM {self.view} LIMIT {n_rows}")
        if len(cells["c0"]) == 0:
            raise no_rows(self.path)
        return dict(zip(self.columns, cells.values(), strict=True))

    @property
    def head_is_all(self) -> bool:
        """Whether the first rows are all rows."""
        return len(self.head[self.columns[0]]) <= head_rows(len(self.all_columns))

    def profiled(self, names: Sequence[str]) -> dict[str, ColumnProfile]:
        """Return the statistics of some columns, from one pass over the file for each batch of columns.

        Batches are small because DuckDB's memory grows with the square of the number of aggregates.
        """
        profiles = {}
        for start in range(0, len(names), _BATCH):
            columns = [self.column(name) for name in names[start : start + _BATCH]]
            # All aggregates of a batch in one query: one pass over the file.
            parts = ["count(*)", *(part for column in columns for part in _profile_sql(column))]
            with explained(self.path):
                n_rows, *figures = self.connection.execute(f"SELECT {', '.join(parts)} FROM {self.view}").fetchall()[0]
            if n_rows == 0:
                raise no_rows(self.path)
            for j, column in enumerate(columns):
                present, distinct, not_numbers, fractions, largest = figures[5 * j : 5 * j + 5]
                kind = _kind(column.sql_type, not_numbers, fractions, largest)
                # The approximate count may exceed the number of cells.
                profiles[column.name] = ColumnProfile(kind, n_rows - present, min(distinct, present), n_rows)
        return profiles

    def summaries(self, names: Sequence[str]) -> dict[str, ColumnSummary]:
        """Return the statistics of some columns that the rules for columns use."""
        return {name: profile.summary for name, profile in self.profiled(names).items()}

    def is_numeric(self, name: str) -> bool:
        """Return whether a column holds numbers: by its type or, in a text table, by all of its cells."""
        kind = self.column(name).sql_type
        if kind == "VARCHAR":
            return self.profile[name].kind in ("integer", "number", "boolean") or self._holds_booleans(name)
        return kind == "BOOLEAN" or _family(kind) in (*_INTEGERS, *_NUMBERS)

    def number(self, name: str) -> str:
        """Return the SQL expression of a column's cells as DOUBLE; true is 1 and false is 0, also as text."""
        column = self.column(name)
        number = f"TRY_CAST({column.raw} AS DOUBLE)"
        if column.sql_type != "VARCHAR":
            return number
        return f"coalesce({number}, CASE lower({column.raw}) WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0 END)"

    def _holds_booleans(self, name: str) -> bool:
        """Return whether all cells of a text column that are present are true or false."""
        cell = self.column(name).present
        # More spellings than true and false can have.
        if self.profile[name].n_distinct > _MOST_SPELLINGS:
            return False
        query = f"SELECT bool_and(lower({cell}) IN ('true', 'false')) FROM {self.view}"
        with explained(self.path):
            return bool(self.connection.execute(query).fetchall()[0][0])

    @cached_property
    def profile(self) -> dict[str, ColumnProfile]:
        """The statistics of every column, from one pass over the file."""
        return self.profiled(self.columns)

    @property
    def n_rows(self) -> int:
        """Number of rows; computed with `profile`."""
        return self.profile[self.columns[0]].n_rows

    def close(self) -> None:
        """Close the connection and remove temporary files."""
        self.resources.close()

    def __enter__(self) -> LabelTable:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


_MOST_SPELLINGS = 8  # of true and false; the count is approximate
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_FLOATS = ("FLOAT", "DOUBLE")
_NUMBERS = (*_FLOATS, "UBIGINT", "HUGEINT", "UHUGEINT", "DECIMAL")
_TEXTS = ("VARCHAR", "ENUM", "UUID")


def _family(sql_type: str) -> str:
    return sql_type.partition("(")[0] if not sql_type.endswith("]") else "LIST"


def _profile_sql(column: Column) -> list[str]:
    """Return aggregates over a column: cells present, distinct, not numeric, fractions, and the largest number."""
    cell, family = column.present, _family(column.sql_type)
    counted = [f"count({cell})", f"approx_count_distinct({cell})"]
    if family not in ("VARCHAR", *_NUMBERS):
        return [*counted, "0", "0", "0"]
    number = f"TRY_CAST({cell} AS DOUBLE)"
    return [
        *counted,
        # Cells that are present but not numbers make the column text.
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
    """Return "integer" where all values fit into 64 bits; larger integers are compared as text, unless they are floats.

    Labels in memory follow the same rule: floats without fractions are integers.
    """
    if fractions or largest is None or math.isinf(largest):
        return "number"
    if largest < 2**63:
        return "integer"
    return "number" if family in _FLOATS else "text"


def quote_name(name: str) -> str:
    """Return a column name quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(value: str) -> str:
    """Return text quoted for SQL."""
    return "'" + value.replace("'", "''") + "'"


def no_rows(path: str) -> InputError:
    """Return the error for a table without rows."""
    return InputError(f"{path} has columns but no rows.", code="no-rows", hint="Pass one row per instance.")


def resolve(table: LabelTable, request: ColumnRequest) -> ColumnRequest:
    """Return a request with the columns that its patterns, such as "kmeans_*", select."""
    members = request.members
    if members is not None and not isinstance(members, str | int):
        members = match_columns(table, members)
    for name in (request.id, request.truth):
        if name is not None:
            table.column(name)
    soft = {name: match_columns(table, columns) for name, columns in request.soft.items()}
    return replace(request, members=members, keep=match_columns(table, request.keep), soft=soft)


def match_columns(table: LabelTable, names: Sequence[str]) -> list[str]:
    """Return the columns that names or patterns such as "kmeans_*" select, in the order given, each once."""
    matched: list[str] = []
    columns = set(table.columns)
    # All unknown names in one message.
    unknown = [name for name in dict.fromkeys(names) if name not in columns and not is_glob(name)]
    if len(unknown) > 1:
        raise InputError(
            f"{table.path} has no columns {', '.join(map(repr, unknown))}. Its columns are: {_listed(table.columns)}.",
            code="unknown-column",
        )
    for name in names:
        matches = [name] if name in columns else [column for column in table.columns if fnmatchcase(column, name)]
        if not matches and is_glob(name):
            raise InputError(
                f"No column of {table.path} matches {name!r}. Its columns are: {_listed(table.columns)}.",
                code="unknown-column",
            )
        # Each column once, in the order given.
        matched += matches or [table.column(name).name]
    return list(dict.fromkeys(matched))


def is_glob(text: str) -> bool:
    """Return whether text is a pattern that may match several names."""
    return any(character in text for character in "*?[")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
