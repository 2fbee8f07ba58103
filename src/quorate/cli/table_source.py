"""The table that a command reads, and what its options say about the columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import cast

from quorate._runtime.memory import memory_limit as limited_memory
from quorate._utils.checks import check_choice
from quorate.cli.options import in_flags
from quorate.cli.output import note
from quorate.errors import warn
from quorate.labels import Noise
from quorate.tables.counted_table import CountedTable
from quorate.tables.io import LabelTable, open_table
from quorate.tables.roles import Columns, Wanted, choose_columns


@dataclass(frozen=True)
class Source:
    """A table and what was said about it."""

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

    @contextmanager
    def open(self) -> Iterator[LabelTable]:
        """Open the table; what is done in the block keeps to the memory limit."""
        with ExitStack() as stack:
            if self.memory_limit is not None:
                stack.enter_context(limited_memory(self.memory_limit))
            yield stack.enter_context(
                open_table(
                    self.file,
                    format=self.format,
                    delimiter=self.delimiter,
                    header=self.header,
                    encoding=self.encoding,
                    memory_limit=self.memory_limit,
                )
            )

    def choose(self, table: LabelTable, *, labels: bool = True) -> Columns:
        """Return the columns of the table by their use."""
        members = None if self.members is None else listed(self.members, table)
        return choose_columns(
            table, Wanted(members, self.id_column, self.truth, listed(self.keep or (), table)), labels=labels
        )

    def count(self, table: LabelTable, columns: Columns) -> CountedTable:
        """Return the members of the table, ready to be counted."""
        return CountedTable(table, columns.members, columns.truth, self.checked_noise)

    @property
    def checked_noise(self) -> Noise:
        """What negative labels mean."""
        return cast(Noise, check_choice("noise", self.noise, ("missing", "cluster")))


def listed(options: Sequence[str], table: LabelTable) -> list[str]:
    """Return the names in options: each is a column, or several split by commas, quoted if they hold some."""
    names = []
    for option in options:
        parts = [option] if option in table.columns else next(csv.reader([option], skipinitialspace=True), [])
        names += [part.strip() for part in parts if part.strip()]
    return names


def say_guesses(columns: Columns, *, quiet: bool) -> None:
    """Say what was guessed about the columns, and warn of what looks wrong."""
    for guess in columns.guesses:
        note(in_flags(guess), quiet=quiet)
    for doubt in columns.doubts:
        warn(doubt)
