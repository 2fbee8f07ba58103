"""Which columns of a table are clusterings, which one names the rows, and which one holds known classes.

Where nobody says which columns hold clusterings, all do but those with another use: known classes and earlier answers
(by their name), the name of the rows (the first column, by its name or because its values all differ), whatever else
differs from row to row, and features. A table with no more clusterings than features is one of features, and refused.
What was guessed is said in words. One rule serves files and frames of every engine; it looks at the first rows, and
counts in all rows only those columns that look odd there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from quorate.column_roles import (
    FEW_ROWS,
    Seen,
    features_left_out,
    holds_times,
    is_answer,
    is_class,
    is_id,
    look_at,
    look_one_hot,
    looks_transposed,
    of_columns,
    outnumbered,
    times_left_out,
    what_they_hold,
)
from quorate.errors import QuorateError, warn
from quorate.tables.io import LabelTable, match_columns

ANSWERS = ("consensus", "confidence", "margin", "runner_up")
"""The columns that an answer adds to a table: the cluster, and how firmly the row sits in it."""

MOST_MEMBERS = 2000
"""So many members are combined from a table: time and memory grow with their square."""


@dataclass(frozen=True)
class Wanted:
    """What was said about the columns of a table."""

    members: Sequence[str] | None = None
    """Names or patterns; None: nobody said."""
    id: str | None = None
    truth: str | None = None
    keep: Sequence[str] = ()


@dataclass(frozen=True)
class Columns:
    """The columns of a table by their use."""

    members: tuple[str, ...]
    id: str | None = None
    truth: str | None = None
    keep: tuple[str, ...] = ()
    """What goes to the output before the answer: the id, known classes, and what was asked for."""
    named: bool = False
    """Whether somebody named the members."""
    guesses: tuple[str, ...] = ()
    """What was guessed, in sentences."""
    doubts: tuple[str, ...] = ()
    """What looks wrong, in sentences."""

    def warn(self) -> None:
        """Warn of what was guessed and of what looks wrong."""
        if self.guesses or self.doubts:
            warn(" ".join((*self.guesses, *self.doubts)))


class Peek(Protocol):
    """A table that shows its first rows and counts in all of them."""

    @property
    def path(self) -> str:
        """What to call the table in messages."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of its columns."""

    @property
    def head(self) -> dict[str, Any]:
        """The first rows: the cells of each column."""

    @property
    def head_is_all(self) -> bool:
        """Whether there are no other rows."""

    def seen(self, names: Sequence[str]) -> dict[str, Seen]:
        """Return what all rows show of some columns."""


def choose_columns(table: LabelTable, wanted: Wanted, *, labels: bool = True, find_id: bool = True) -> Columns:
    """Return the columns of a file by their use.

    Parameters
    ----------
    table : LabelTable
    wanted : Wanted
        What was said about them.
    labels : bool, default True
        Whether members must be clusterings; otherwise they may be features.
    find_id : bool, default True
        Whether the name of the rows matters where members are named.
    """
    if isinstance(wanted.members, str):
        raise QuorateError(
            f"members must be a list of column names; got the text {wanted.members!r}. Pass [{wanted.members!r}]."
        )
    kept = match_columns(table, wanted.keep)
    named = match_columns(table, wanted.members or ())
    if wanted.members is not None and not named:
        raise QuorateError("members names no column; name at least one column that holds labels.")
    row_id, truth = (None if name is None else table.column(name).name for name in (wanted.id, wanted.truth))
    for name, use in ((row_id, "id="), (truth, "truth=")):
        if name in named:
            raise QuorateError(f"Column {name!r} is both a member and {use}. Name it once.")
    said = Columns(tuple(named), row_id, truth, tuple(kept), named=bool(named))
    if find_id or not named:
        said = guess_columns(table, said, labels=labels)
    everything = dict.fromkeys(name for name in (said.id, said.truth, *kept) if name is not None)
    return replace(said, keep=tuple(everything))


def guess_columns(table: Peek, said: Columns, *, labels: bool = True) -> Columns:
    """Fill in what was not said: the name of the rows and, unless members are named, known classes and members."""
    if labels:
        _refuse_too_many(len(said.members) if said.named else len(table.columns), table.path)
    used = {*said.members, said.id, said.truth, *said.keep}
    free = [name for name in table.columns if name not in used]
    guesses = []
    row_id = said.id
    if row_id is None and len(table.columns) > 1:
        row_id = _find_id(table, free)
        guesses += [] if row_id is None else [f"Rows are named by column {row_id!r}, which is no member."]
    if said.named:
        return replace(said, id=row_id, guesses=tuple(guesses))
    classes = [name for name in free if is_class(name) and name != row_id]
    guesses += [_say_classes(classes)] if classes else []
    free = [name for name in free if name not in (row_id, *classes)]
    answers = [name for name in free if labels and is_answer(name)]
    if 0 < len(answers) < len(free):
        guesses.append(_say_answers(answers))
        free = [name for name in free if name not in answers]
    times = [name for name in free if labels and holds_times(table.head[name])]
    rest = [name for name in free if name not in times]
    if times and outnumbered(times, rest):
        guesses.append(times_left_out(times))
        free = rest
    odd = _odd_columns(table, free) if labels else {}
    others = [name for name, seen in odd.items() if seen.names_rows]
    guesses += [_say_names(others)] if others else []
    features = {name: seen for name, seen in odd.items() if name not in others}
    members = tuple(name for name in free if name not in odd)
    if not members and not features:
        raise QuorateError(f"{table.path} has no column left to combine. Name the clusterings with members=.")
    if not outnumbered(features, members):
        refuse_features(table.path, features)
    if features:
        guesses.append(f"{features_left_out(features)} Name the clusterings with members= if that is wrong.")
    truth = said.truth or (classes[0] if classes else None)
    doubts = [*_doubts(table, members, row_id), *_say_fractions(table, members)] if labels else []
    return replace(said, members=members, id=row_id, truth=truth, guesses=tuple(guesses), doubts=tuple(doubts))


def _refuse_too_many(n_members: int, path: str) -> None:
    """Refuse, before any reading, more members than an engine of tables groups rows by in bearable time."""
    if n_members > MOST_MEMBERS:
        raise QuorateError(
            f"{n_members:,} columns of {path} would be members; a table may have up to {MOST_MEMBERS:,}. Name some of "
            "them with members=, or transpose the table if its columns are rows."
        )


def _find_id(table: Peek, free: Sequence[str]) -> str | None:
    """Return the first column if it names the rows: by its own name, or because its values all differ."""
    first = table.columns[0]
    if first not in free:
        return None
    if is_id(first):
        return first
    odd = _odd_columns(table, [first])
    return first if first in odd and odd[first].names_rows else None


def _odd_columns(table: Peek, names: Sequence[str]) -> dict[str, Seen]:
    """Return the columns in which more than half of all values differ."""
    if not names:
        return {}
    seen = {name: look_at(table.head[name]) for name in names}
    odd = {name: one for name, one in seen.items() if one.is_odd}
    if odd and not table.head_is_all:
        odd = {name: one for name, one in table.seen(list(odd)).items() if one.is_odd}
    return odd


def refuse_features(path: str, features: dict[str, Seen]) -> None:
    """Refuse columns that are features or names, not clusterings, before any counting."""
    if not features:
        return
    what = "a feature" if all(seen.fractions for seen in features.values()) else "a feature or a name"
    that = "that" if len(features) == 1 else "each"
    raise QuorateError(
        f"{what_they_hold(features, f' of {path}')}: {that} is {what}, not a clustering. Name the clusterings with "
        "members=; `quorate cluster` and `ConsensusClustering` cluster features."
    )


def _say_answers(names: Sequence[str]) -> str:
    columns, verb = of_columns(names)
    return (
        f"{columns} {verb} taken for an earlier answer, by name, and {verb} {_no_members(names)}. "
        "Name the clusterings with members= if that is wrong."
    )


def _say_classes(names: Sequence[str]) -> str:
    columns, verb = of_columns(names)
    return (
        f"{columns} {verb} taken for known classes, by name, and {verb} {_no_members(names)}. "
        "Name the clusterings with members= if that is wrong."
    )


def _say_names(names: Sequence[str]) -> str:
    columns, verb = of_columns(names)
    has = "has" if verb == "is" else "have"
    return (
        f"{columns} {has} another value in every row, as names of rows and no clusterings do, and {verb} left out. "
        "Name the clusterings with members= if that is wrong."
    )


def _say_fractions(table: Peek, members: Sequence[str]) -> list[str]:
    """Return a doubt about members that hold numbers with fractions: few enough to be labels, but hardly meant so."""
    names = [name for name in members if look_at(table.head[name]).fractions]
    if not names:
        return []
    columns, verb = of_columns(names)
    hold, count = ("holds", "counts as a member") if verb == "is" else ("hold", "count as members")
    return [
        f"{columns} {hold} numbers with fractions, as features do, and {count}. Name the clusterings with members= if "
        "that is wrong; `quorate cluster` and `ConsensusClustering` cluster features."
    ]


def _no_members(names: Sequence[str]) -> str:
    return "no member" if len(names) == 1 else "no members"


def _doubts(table: Peek, members: Sequence[str], row_id: str | None) -> list[str]:
    """Return what looks wrong about a table, going by its first rows."""
    doubts = []
    if len(members) == 1:
        doubts.append(f"There is one member only in {table.path}, {members[0]!r}: nothing to combine it with.")
    if row_id is not None:
        seen = look_at(table.head[row_id])
        if seen.distinct < seen.present:
            doubts.append(
                f"Column {row_id!r} names {seen.present - seen.distinct:,} of the rows as others before them."
            )
    n_seen = len(table.head[members[0]])
    one_hot = look_one_hot([table.head[name] for name in members]) if n_seen >= FEW_ROWS else None
    doubts += [one_hot] if one_hot else []
    if table.head_is_all and n_seen < len(members):
        rows = list(zip(*(table.head[name].tolist() for name in members), strict=True))
        most = looks_transposed(rows, len(members))
        if most is not None:
            doubts.append(
                f"There are {n_seen} rows and {len(members)} members in {table.path}, and each row holds at most "
                f"{most} distinct labels: it looks transposed. Rows are data instances and columns are members."
            )
    return doubts
