"""A table of labels in a file, counted by DuckDB: its ensemble, and the answer joined to its rows.

The rows stay in the file. One group-by counts the distinct lines of the members' cells, from which the ensemble is
built, and one join adds an answer to the rows in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate._runtime.memory import labels_memory, require_memory
from quorate._utils.array_types import Ints
from quorate.analysis.compare import EarlierPartition
from quorate.columns.column_heuristics import ColumnSummary
from quorate.columns.column_roles import refuse_features, soft_columns
from quorate.ensemble import Ensemble, from_counted_labels
from quorate.errors import InputError, Setting
from quorate.labels import CountedLabels, Noise
from quorate.soft_ensemble import Memberships, from_counted_memberships, invalid_memberships, memberships_of_columns
from quorate.tables.io import ROW, LabelTable, explained, quote_name
from quorate.tables.io.label_table import no_rows

if TYPE_CHECKING:
    import duckdb


LINES, _CLASSES, ANSWER = "quorate_lines", "quorate_classes", "quorate_answer"


@dataclass(frozen=True)
class StoredPartition:
    """The cluster labels of a table, and the ids of its rows if it has any."""

    path: str
    """The name of the file in messages."""
    labels: NDArray[Any]
    ids: NDArray[Any] | None = None


def read_memberships(
    table: LabelTable,
    soft: Mapping[str, Sequence[str]],
    vectors: Sequence[NDArray[Any]],
    row_numbers: Callable[[Ints], Ints],
) -> dict[str, Memberships]:
    """Return the clusters and memberships of each soft member.

    Parameters
    ----------
    table : LabelTable
    soft : mapping of str to sequence of str
        The columns of each soft member.
    vectors : sequence of array
        The cells of all these columns as numbers.
    row_numbers : function
        Returns the rows in the file, from 0, of positions in the vectors, for messages.
    """

    def first_row(positions: Ints) -> tuple[int, str]:
        rows = row_numbers(positions)
        first = int(rows.argmin())
        return positions[first], f"row {rows[first] + 1} of {table.path}"

    columns_of = dict(zip(soft_columns(soft), vectors, strict=True))
    memberships = {}
    for name, columns in soft.items():
        # Text became NULL, which would be taken for a missing membership.
        text = [column for column in columns if not table.is_numeric(column)]
        if text:
            raise invalid_memberships(f"must be numbers; column {text[0]!r} of {table.path} has other values")
        own = {column: columns_of[column] for column in columns}
        memberships[name] = memberships_of_columns(own, name, first_row)
    return memberships


@dataclass
class CountedTable:
    """The members of a table, and its known classes if there are any."""

    table: LabelTable
    members: Sequence[str]
    truth: str | None = None
    noise: Noise = "missing"
    soft: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The columns of memberships of each soft member, by its name."""

    @property
    def cells(self) -> list[str]:
        """The columns of all members: those of labels, then those of memberships."""
        return [*self.members, *soft_columns(self.soft)]

    @cached_property
    def lines(self) -> LabelTable:
        """The distinct lines of the members' cells, as a table of the same connection."""
        columns = tuple(replace(self.table.column(name), sql_name=f"k{j}") for j, name in enumerate(self.cells))
        cells = ", ".join(f"{self.table.raw(column.name)} AS {column.sql_name}" for column in columns)
        source, counted = self.table.view, "count(*)"
        with explained(self.table.path):
            # With known classes, rows are counted by members and class first, so that the file is read once.
            if self.truth is not None:
                self.table.connection.execute(
                    f"CREATE OR REPLACE TEMP TABLE {_CLASSES} AS SELECT {cells}, "
                    f"CAST({self.table.raw(self.truth)} AS VARCHAR) AS truth, count(*) AS n FROM {source} GROUP BY ALL"
                )
                cells, source, counted = ", ".join(column.sql_name for column in columns), _CLASSES, "sum(n)::BIGINT"
            self.table.connection.execute(
                f"CREATE OR REPLACE TEMP TABLE {LINES} AS SELECT {cells}, {counted} AS n FROM {source} GROUP BY ALL"
            )
        return LabelTable(self.table.path, self.table.format, self.table.connection, columns, view=LINES)

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        # DuckDB adds up to HUGEINT; the cast keeps Python integers small.
        ((n_lines, n_rows),) = self.lines.connection.execute(f"SELECT count(*), sum(n)::BIGINT FROM {LINES}").fetchall()
        if n_lines == 0:
            raise no_rows(self.table.path)
        return int(n_lines), int(n_rows)

    @property
    def n_lines(self) -> int:
        """Number of distinct lines of cells."""
        return self._sizes[0]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._sizes[1]

    @property
    def bytes_needed(self) -> int:
        """Approximate memory of a consensus that holds all patterns."""
        return labels_memory(self.n_lines, len(self.cells))

    def refuse_features(self) -> None:
        """Refuse members in which more than half of all values differ, although the first rows do not."""
        summaries = {
            name: ColumnSummary(self.n_rows, 0, profile.n_distinct, profile.kind == "number")
            for name, profile in self.lines.profile.items()
            if name in self.members
        }
        refuse_features(self.table.path, {name: summary for name, summary in summaries.items() if summary.is_diverse})

    @cached_property
    def counted(self) -> tuple[Ensemble, Ints, Ints]:
        """The ensemble, and for each line its number in DuckDB and its pattern."""
        lines = self.lines
        require_memory(
            self.bytes_needed,
            f"The {self.n_lines:,} distinct rows of labels",
            "Raise the memory limit, or combine fewer members.",
        )
        # Lines keep their number in DuckDB, by which the answer is joined back.
        values = [*map(lines.label, self.members), *map(lines.number, soft_columns(self.soft))]
        selected = ", ".join(f"{value} AS m{j}" for j, value in enumerate(values))
        fetched = lines.fetch(f"SELECT {selected}, n, rowid AS line FROM {LINES}")
        n, line = np.asarray(fetched.pop("n"), dtype=np.int64), np.asarray(fetched.pop("line"))
        vectors = list(fetched.values())
        labels = CountedLabels(self.members, vectors[: len(self.members)], n)
        if not self.soft:
            ens, pattern = from_counted_labels(labels, noise=self.noise)
        else:
            memberships = self._memberships(vectors[len(self.members) :], line)
            ens, pattern = from_counted_memberships(labels, memberships, noise=self.noise)
        return ens, line, pattern.astype(np.int64)

    def _memberships(self, vectors: Sequence[NDArray[Any]], line: Ints) -> dict[str, Memberships]:
        # Lines are in the order in which DuckDB counted them, which is not that of the file.
        def row_numbers(positions: Ints) -> Ints:
            self.register("quorate_wrong", {"position": np.arange(len(positions)), "line": line[positions]})
            query = (
                f"SELECT min(t.{ROW}) AS row FROM {self.rows_with(LINES)} JOIN quorate_wrong w ON a.rowid = w.line "
                "GROUP BY w.position ORDER BY w.position"
            )
            return np.asarray(self.table.fetch(query)["row"])

        return read_memberships(self.lines, self.soft, vectors, row_numbers)

    @property
    def ensemble(self) -> Ensemble:
        """The ensemble of the members; the rows stay in the file."""
        return self.counted[0]

    def class_table(self) -> NDArray[np.float64]:
        """(clusters, classes) number of rows of each consensus cluster in each known class, from the stored answer."""
        counted = self.table.fetch(
            f"SELECT a.a0 AS cluster, c.truth AS truth, sum(c.n)::BIGINT AS n FROM {_CLASSES} c JOIN {ANSWER} a "
            f"ON {self._same('c', 'a')} WHERE c.truth IS NOT NULL AND a.a0 >= 0 GROUP BY ALL"
        )
        classes, code = self._classes(counted)
        counts = np.zeros((int(np.max(counted["cluster"])) + 1, len(classes)))
        counts[np.asarray(counted["cluster"]), code] = np.asarray(counted["n"])
        return counts

    def _classes(self, counted: Mapping[str, Any]) -> tuple[NDArray[np.str_], Ints]:
        """Return the names of the known classes in some counts, and the index of each count's class."""
        if len(counted["n"]) == 0:
            raise InputError(
                f"Column {self.truth!r} of {self.table.path} is empty, so there are no classes to score.",
                code="empty-classes",
                hint=("Set another column as ", Setting("truth"), "."),
            )
        return np.unique(np.asarray(counted["truth"], dtype=str), return_inverse=True)

    def class_counts(self) -> tuple[tuple[str, ...], sp.csr_array]:
        """Return the known classes, and (m, classes) the number of rows of each pattern in each class."""
        ens, line, pattern = self.counted
        same = self._same("c", "l")
        counted = self.table.fetch(
            f"SELECT l.rowid AS line, c.truth AS truth, c.n AS n FROM {_CLASSES} c JOIN {LINES} l ON {same} "
            "WHERE c.truth IS NOT NULL"
        )
        classes, code = self._classes(counted)
        # Numbers of lines may have gaps after deletions, so that a lookup table is used.
        pattern_of = np.empty(int(line.max()) + 1, dtype=np.int64)
        pattern_of[line] = pattern
        cells = (pattern_of[np.asarray(counted["line"])], code)
        counts = sp.coo_array((np.asarray(counted["n"], dtype=np.float64), cells), shape=(ens.n_patterns, len(classes)))
        return tuple(classes.tolist()), sp.csr_array(counts)

    def earlier(self, old: StoredPartition, id_column: str | None) -> EarlierPartition:
        """Return how many rows of each pattern are in each cluster of an earlier partition.

        Rows are matched by the column of row IDs; without one, by their order.
        """
        if id_column is None and len(old.labels) != self.n_rows:
            raise InputError(
                f"must have one label per row; {old.path} has {len(old.labels):,} rows, {self.table.path} has "
                f"{self.n_rows:,}.",
                code="row-count",
                parameter="like",
                hint=("Name the column of row IDs with ", Setting("id"), " if rows came or went."),
            )
        ens, line, pattern = self.counted
        keys = np.arange(len(old.labels)) if old.ids is None else old.ids
        self.register("quorate_earlier", {"key": keys, "position": np.arange(len(old.labels))})
        key = f"t.{ROW}" if id_column is None else f"CAST(t.{self.table.raw(id_column)} AS VARCHAR)"
        common = self.table.fetch(
            f"SELECT a.rowid AS line, e.position AS position FROM {self.rows_with(LINES)} "
            f"JOIN quorate_earlier e ON {key} = e.key"
        )
        n_common = len(common["line"])
        if not n_common:
            raise InputError(
                f"{old.path} and {self.table.path} have no row ID in common.", code="no-common-rows", parameter="like"
            )
        position = np.asarray(common["position"])
        # An ID that repeats on either side would match rows many times.
        if len(np.unique(keys)) < len(keys) or len(np.unique(position)) < n_common:
            raise InputError(
                f"Row IDs must be unique; some repeat in {old.path} or {self.table.path}.",
                code="repeated-ids",
                parameter="like",
            )
        pattern_of = np.empty(int(line.max()) + 1, dtype=np.int64)
        pattern_of[line] = pattern
        rows = pattern_of[np.asarray(common["line"])], ens.n_patterns
        return EarlierPartition.of_rows(*rows, old.labels, position, self.n_rows - n_common)

    def _same(self, left: str, right: str) -> str:
        """Return the condition that two lines have the same cells, missing ones included."""
        # NULL equals NULL here: missing labels are part of a line.
        return " AND ".join(f"{left}.k{j} IS NOT DISTINCT FROM {right}.k{j}" for j in range(len(self.cells)))

    def rows_with(self, answers: str, numbered: bool = True) -> str:
        """Return the rows, numbered in their order, joined with a table of answers by their cells."""
        same = " AND ".join(
            f"t.{self.table.raw(name)} IS NOT DISTINCT FROM a.k{j}" for j, name in enumerate(self.cells)
        )
        return f"{self.table.numbered if numbered else self.table.view} t LEFT JOIN {answers} a ON {same}"

    def store(self, answers: dict[str, NDArray[Any]]) -> None:
        """Store an answer in DuckDB: the value of each new column for each pattern."""
        _, line, pattern = self.counted
        values = {f"a{i}": answer[pattern] for i, answer in enumerate(answers.values())}
        self.register("quorate_fitted", {"line": line, **values})
        with explained(self.table.path):
            self.table.connection.execute(
                f"CREATE OR REPLACE TEMP TABLE {ANSWER} AS SELECT {LINES}.* EXCLUDE (n), {', '.join(values)} "
                f"FROM {LINES} JOIN quorate_fitted ON {LINES}.rowid = quorate_fitted.line"
            )

    def rows(
        self, names: Sequence[str], keep: Sequence[str], *, keep_order: bool = True, typed: bool = False
    ) -> duckdb.DuckDBPyRelation:
        """Return the rows: the columns to keep, then one column per stored answer.

        Parameters
        ----------
        names : sequence of str
            Names of the answers.
        keep : sequence of str
            Columns of the file before them.
        keep_order : bool, default True
            Whether the rows keep their order, which needs one more sort.
        typed : bool, default False
            Whether members of a text table are returned as labels (numbers, NULL) instead of text.
        """
        kept_columns = ""
        for name in keep:
            cells = replace(self.table.column(name), alias="t")
            cell = self.lines.label(name, cells) if typed and name in self.cells else cells.raw
            kept_columns += f"{cell} AS {quote_name(name)}, "
        named = ", ".join(f"a.a{i} AS {quote_name(name)}" for i, name in enumerate(names))
        order = f" ORDER BY t.{ROW}" if keep_order else ""
        return self.table.sql(f"SELECT {kept_columns}{named} FROM {self.rows_with(ANSWER, keep_order)}{order}")

    def register(self, name: str, columns: dict[str, Any]) -> None:
        """Make arrays available to queries, as the columns of a table of this name."""
        connection = self.table.connection
        connection.unregister(name)
        connection.register(name, {key: np.ascontiguousarray(values) for key, values in columns.items()})
