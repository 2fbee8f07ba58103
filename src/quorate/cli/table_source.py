"""The table that a command reads, and the options about its columns."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from quorate._utils.checks import check_choice
from quorate.cli.join_tables import join_tables
from quorate.cli.output import note
from quorate.columns.column_roles import ColumnRequest, ColumnRoles, feature_roles, label_roles
from quorate.errors import Setting, issue
from quorate.labels import Noise
from quorate.soft_ensemble import cluster_names
from quorate.tables.counted_table import CountedTable
from quorate.tables.io import STREAM, LabelTable, match_columns, open_limited, resolve


@dataclass(frozen=True)
class Source:
    """A table and the options about its columns and format."""

    file: str
    members: Sequence[str] | None = None
    id_column: str | None = None
    truth: str | None = None
    keep: Sequence[str] | None = None
    noise: str = "missing"
    format: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None
    memory_limit: str | None = None
    others: tuple[str, ...] = ()
    """Further tables, joined to `file` by their row IDs."""
    sheet: str | None = None
    soft: Sequence[str] | None = None
    """The columns of memberships of each soft member: names or patterns."""

    @property
    def name(self) -> str:
        """The name of the table in reports."""
        names = ["standard input" if file == STREAM else Path(file).name for file in (self.file, *self.others)]
        return ", ".join(names)

    @contextmanager
    def open(self) -> Iterator[LabelTable]:
        """Open the table; the memory limit holds inside the block."""
        if self.others:
            tables = [replace(self, file=file, others=()) for file in (self.file, *self.others)]
            with join_tables(tables) as joined, open_limited(joined, memory_limit=self.memory_limit) as table:
                yield table
            return
        text = {name: getattr(self, name) for name in ("format", "delimiter", "header", "encoding", "sheet")}
        with open_limited(self.file, memory_limit=self.memory_limit, **text) as table:
            yield table

    def request(self, table: LabelTable) -> ColumnRequest:
        """Return the roles of columns that the options give."""
        members = None if self.members is None else split_names(self.members, table)
        keep = split_names(self.keep or (), table)
        return resolve(table, ColumnRequest(members, self.id_column, self.truth, keep, self._soft_members(table)))

    def _soft_members(self, table: LabelTable) -> dict[str, list[str]]:
        """Return the columns of each soft member by its name: what they begin with, or else the option."""
        soft: dict[str, list[str]] = {}
        for option in self.soft or ():
            columns = match_columns(table, split_names([option], table))
            name = cluster_names(columns)[0]
            soft[name if name and name not in (*table.columns, *soft) else option] = columns
        return soft

    def find_id(self, table: LabelTable) -> str | None:
        """Return the column of row IDs, if there is one."""
        # By names alone: a table of memberships only is not refused.
        return replace(self, members=None, truth=None, keep=None, soft=None).choose(table, by_values=False).id

    def choose(self, table: LabelTable, *, by_values: bool = True) -> ColumnRoles:
        """Return the roles of the columns of a table of labels."""
        return label_roles(table, self.request(table), by_values=by_values)

    def choose_features(self, table: LabelTable, *, drawn: Sequence[str] = ()) -> ColumnRoles:
        """Return the roles of the columns of a table of features; `drawn` are the axes of a plot."""
        return feature_roles(table, self.request(table), drawn=drawn)

    def count(self, table: LabelTable, columns: ColumnRoles) -> CountedTable:
        """Return the members of the table, whose patterns are counted when needed."""
        return CountedTable(table, columns.members, columns.truth, self.checked_noise, columns.soft)

    @property
    def checked_noise(self) -> Noise:
        """How negative labels are treated."""
        return cast(Noise, check_choice("noise", self.noise, ("missing", "cluster")))


def split_names(options: Sequence[str], table: LabelTable) -> list[str]:
    """Return the column names in options: each is a column, or a comma-separated list in CSV quoting."""
    names = []
    for option in options:
        parts = [option] if option in table.columns else next(csv.reader([option], skipinitialspace=True), [])
        names += [part.strip() for part in parts if part.strip()]
    return names


def join_names(names: Iterable[object]) -> str:
    """Return names as the comma-separated list that `split_names` reads."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def column_flag(setting: Setting) -> str:
    """Return a parameter that lists columns as the flag that sets it."""
    columns = cast(Sequence[str] | None, setting.value)
    return f"--{setting.parameter}" + ("" if columns is None else f" {shlex.quote(join_names(columns))}")


def note_roles(columns: ColumnRoles, *, quiet: bool) -> None:
    """Print which roles the columns were given, and warn of what looks wrong."""
    for message in columns.messages(columns.decisions):
        note(message.render(column_flag), quiet=quiet)
    for message in columns.messages(columns.doubts):
        issue(message)
