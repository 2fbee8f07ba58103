"""Which columns of a table are clusterings, which one names the rows, and which one holds known classes."""

from __future__ import annotations

from dataclasses import dataclass

from quorate._support.checks import check_choice
from quorate.cli.output import note
from quorate.errors import QuorateError
from quorate.scale.counted import CountedTable
from quorate.scale.files import LabelTable, match_columns, open_table

_ID_NAMES = ("id", "index", "row", "rowid", "row_id", "name", "key", "__index_level_0__")
# In fewer rows all labels may differ by chance.
_FEW_ROWS = 20


@dataclass(frozen=True)
class Source:
    """A table and what was said about its columns."""

    file: str
    members: str | None
    id_column: str | None
    truth: str | None
    keep: str | None
    noise: str
    format: str | None
    delimiter: str | None
    header: bool | None

    def open(self) -> LabelTable:
        """Open the table."""
        delimiter = {"\\t": "\t", "tab": "\t"}.get(self.delimiter or "", self.delimiter)
        if delimiter is not None and len(delimiter) != 1:
            raise QuorateError(f"--delimiter must be one sign, or tab; got {delimiter!r}.")
        return open_table(self.file, format=self.format, delimiter=delimiter, header=self.header)


@dataclass(frozen=True)
class Columns:
    """The columns of a table by their use."""

    members: tuple[str, ...]
    id: str | None
    truth: str | None
    keep: tuple[str, ...]
    """What goes to the output before the answer: the id, known classes, and what was asked for."""
    guessed_id: bool = False


def choose_columns(table: LabelTable, source: Source, *, labels: bool = True) -> Columns:
    """Return the columns by their use; where members are not named, they are all columns without another use."""
    asked = match_columns(table, _listed(source.keep))
    named = match_columns(table, _listed(source.members))
    truth = None if source.truth is None else table.column(source.truth).name
    row_id = None if source.id_column is None else table.column(source.id_column).name
    guessed = False
    if row_id is None:
        row_id = _guess_id(table, {*named, *asked, truth})
        guessed = row_id is not None
    members = named or [name for name in table.columns if name not in (row_id, truth, *asked)]
    if source.members is not None and not named:
        raise QuorateError("--members names no column. Name columns, split by commas.")
    for name, use in ((row_id, "--id"), (truth, "--truth")):
        if name in members:
            raise QuorateError(f"Column {name!r} is both a member and {use}. Name it once.")
    if not members:
        raise QuorateError(f"{table.path} has no column left to combine. Name the clusterings with --members.")
    if labels:
        for name in members:
            _refuse_unless_labels(table, name)
    kept = dict.fromkeys(name for name in (row_id, truth, *asked) if name is not None)
    return Columns(tuple(members), row_id, truth, tuple(kept), guessed)


def _listed(text: str | None) -> list[str]:
    return [] if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _guess_id(table: LabelTable, taken: set[str | None]) -> str | None:
    """Return the first column if it names rows: by its own name, or because its values all differ."""
    first = table.columns[0]
    if first in taken or len(table.columns) == 1:
        return None
    profile = table.profile[first]
    if first.lower() in _ID_NAMES:
        return first
    distinct = profile.n_distinct > 0.9 * table.n_rows and profile.n_missing == 0 and profile.kind != "number"
    return first if distinct and table.n_rows >= _FEW_ROWS else None


def _refuse_unless_labels(table: LabelTable, name: str) -> None:
    """Refuse a column that is a feature or a name, not a clustering, before any counting."""
    profile = table.profile[name]
    present = table.n_rows - profile.n_missing
    if present < _FEW_ROWS or profile.n_distinct <= present / 2:
        return
    what = "a feature" if profile.kind == "number" else "a feature or a name"
    raise QuorateError(
        f"Column {name!r} of {table.path} holds about {min(profile.n_distinct, present):,} distinct values in "
        f"{present:,} rows: that is {what}, not a clustering. Leave it out with --members, name it with --id, or "
        "cluster features first with `quorate generate`."
    )


def count_members(table: LabelTable, columns: Columns, noise: str) -> CountedTable:
    """Return the members of a table, ready to be counted."""
    check_choice("--noise", noise, ("missing", "cluster"))
    return CountedTable(table, columns.members, columns.truth, noise)  # type: ignore[arg-type]


def note_id(columns: Columns, *, quiet: bool) -> None:
    """Say which column was taken for the row id, if nobody named it."""
    if columns.guessed_id:
        note(f"Rows are named by column {columns.id!r}.", quiet=quiet)
