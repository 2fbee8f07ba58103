"""Choose the roles of the columns of a table: members or features, identifier, known classes, columns to keep.

Where the caller does not list the members, every column is one except those with another role: known classes and
earlier answers (by name), the identifier (the first column, by name or because all its values differ), dates, other
columns that are unique in every row, and features. A table with no more clusterings than features is refused. The same
rule serves frames of every engine, files and the command. It returns codes; `column_messages` has the wording.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from quorate.columns.column_heuristics import (
    FEW_ROWS,
    ColumnSummary,
    has_decimal_commas,
    head_rows,
    holds_dates,
    is_answer,
    is_class,
    is_id,
    looks_transposed,
    one_hot_clusterings,
    summarize_cells,
)
from quorate.columns.column_messages import (
    USE_CLUSTER,
    both_roles,
    no_features,
    no_members,
    not_a_list,
    not_clusterings,
    not_numeric,
    role_message,
    soft_member_columns,
    too_many_members,
    unknown_columns,
)
from quorate.errors import InputError, QuorateWarning, issue

ANSWER_COLUMNS = ("consensus", "confidence", "margin", "runner_up")
"""The columns that an answer adds to a table: the cluster, and how certain the row's placement is."""
MAX_MEMBERS = 2000
"""Largest number of members combined from a table: time and memory grow with its square."""


@dataclass(frozen=True)
class ColumnRequest:
    """Roles of columns that the caller gives."""

    members: Sequence[str] | None = None
    """Columns of labels or features; None: choose them."""
    id: str | None = None
    truth: str | None = None
    keep: Sequence[str] = ()
    soft: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The columns of memberships of each soft member, by its name."""


@dataclass(frozen=True)
class RoleNote:
    """A decision about columns, or a doubt about them, by its code."""

    code: str
    columns: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)
    """What the message mentions."""


@dataclass(frozen=True)
class ColumnRoles:
    """The columns of a table by role."""

    members: tuple[str, ...]
    """Columns of labels, or of features."""
    id: str | None = None
    truth: str | None = None
    keep: tuple[str, ...] = ()
    """Columns that are written before the answer: identifier, known classes, and those that the caller keeps."""
    soft: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns of memberships of each soft member, by its name."""
    listed: bool = False
    """Whether the caller listed the members."""
    decisions: tuple[RoleNote, ...] = ()
    doubts: tuple[RoleNote, ...] = ()
    table: str = "the frame"
    """The name of the table in messages."""
    by_name: bool = True
    """Whether the caller can list the members by name."""

    @property
    def cells(self) -> tuple[str, ...]:
        """The columns of all members: those of labels, then those of memberships."""
        return (*self.members, *soft_columns(self.soft))

    def messages(self, notes: Sequence[RoleNote]) -> list[QuorateWarning]:
        """Return decisions or doubts as messages."""
        return [
            role_message(note.code, note.columns, self.table, by_name=self.by_name, **note.figures) for note in notes
        ]

    def warn(self) -> None:
        """Warn of all decisions and doubts."""
        for message in self.messages((*self.decisions, *self.doubts)):
            issue(message)


class ColumnSource(Protocol):
    """A table that shows its first rows, and counts values in all rows."""

    @property
    def path(self) -> str:
        """The name of the table in messages."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""

    @property
    def head(self) -> Mapping[str, NDArray[Any]]:
        """The first rows: the cells of each column."""

    @property
    def head_is_all(self) -> bool:
        """Whether there are no other rows."""

    def summaries(self, names: Sequence[str]) -> Mapping[str, ColumnSummary]:
        """Return counts of some columns over all rows."""

    def is_numeric(self, name: str) -> bool:
        """Return whether all cells of a column are numbers."""


@dataclass(frozen=True)
class FrameColumns:
    """The columns of a narwhals frame of any engine."""

    frame: Any
    path: str = "the frame"

    @cached_property
    def _schema(self) -> Any:
        return self.frame.collect_schema()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._schema.names())

    @cached_property
    def head(self) -> dict[str, NDArray[Any]]:
        """The first rows: the cells of each column, None or NaN where they are missing."""
        # One row more than needed shows whether there are others.
        first = _collected(self.frame.head(head_rows(len(self.columns)) + 1))
        return {name: _cells(first, name) for name in self.columns}

    @property
    def head_is_all(self) -> bool:
        """Whether the first rows are all rows."""
        return len(self.head[self.columns[0]]) <= head_rows(len(self.columns))

    def summaries(self, names: Sequence[str]) -> dict[str, ColumnSummary]:
        """Return counts of some columns over all rows; fractions are detected in the first rows."""
        import narwhals as nw

        parts = [nw.len().alias("n")]
        # One query counts all columns, because every query reads the whole frame.
        for j, name in enumerate(names):
            parts += [nw.col(name).n_unique().alias(f"distinct_{j}"), nw.col(name).null_count().alias(f"missing_{j}")]
        counted = _collected(self.frame.select(*parts)).to_dict(as_series=False)
        counts = {name: int(values[0]) for name, values in counted.items()}
        summaries = {}
        for j, name in enumerate(names):
            missing, fractions = counts[f"missing_{j}"], summarize_cells(self.head[name]).fractions
            summaries[name] = ColumnSummary(counts["n"] - missing, missing, counts[f"distinct_{j}"], fractions)
        return summaries

    def is_numeric(self, name: str) -> bool:
        """Return whether a column has a type of numbers."""
        kind = self._schema[name]
        return bool(kind.is_numeric()) or str(kind) == "Boolean"


def _cells(frame: Any, name: str) -> NDArray[Any]:
    """Return a column of a frame in memory as objects."""
    try:
        # None at the end forces objects, also for columns of equal-length lists.
        return np.array([*frame.get_column(name).to_list(), None], dtype=object)[:-1]
    except UnicodeDecodeError:
        raise InputError(
            f"Column {name!r} has text that is not UTF-8.", code="not-utf8", hint="Decode it first."
        ) from None


def _collected(frame: Any) -> Any:
    return frame.collect() if hasattr(frame, "collect") else frame


@dataclass(frozen=True)
class VectorColumns:
    """Columns of a frame that are in memory as arrays, of which the caller cannot list the members."""

    names: Sequence[str]
    vectors: Sequence[NDArray[Any]]
    path: str = "the frame"

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""
        return self.names

    @cached_property
    def head(self) -> dict[str, NDArray[Any]]:
        """The first rows: the cells of each column."""
        n_rows = head_rows(len(self.names))
        return {name: vector[:n_rows] for name, vector in zip(self.names, self.vectors, strict=True)}

    @property
    def head_is_all(self) -> bool:
        """Whether the first rows are all rows."""
        return len(self.vectors[0]) <= head_rows(len(self.names))

    def summaries(self, names: Sequence[str]) -> dict[str, ColumnSummary]:
        """Return counts of some columns over all rows."""
        vectors = dict(zip(self.names, self.vectors, strict=True))
        return {name: _summarize_vector(vectors[name]) for name in names}

    def is_numeric(self, name: str) -> bool:
        """Return whether a column has a type of numbers."""
        return self.vectors[list(self.names).index(name)].dtype.kind in "iufb"


def _summarize_vector(vector: NDArray[Any]) -> ColumnSummary:
    """Return counts of a vector of any length."""
    if vector.dtype.kind not in "iuf" or isinstance(vector, np.ma.MaskedArray):
        return summarize_cells(vector)
    present = vector[~np.isnan(vector)] if vector.dtype.kind == "f" else vector
    values = np.unique(present)
    fractions = vector.dtype.kind == "f" and bool((values != np.floor(values)).any())
    return ColumnSummary(len(present), len(vector) - len(present), len(values), fractions)


def choose_members(names: Sequence[str], vectors: Sequence[NDArray[Any]]) -> list[int]:
    """Return the places of the members among the columns of a frame in memory, and warn of the others."""
    try:
        roles = replace(label_roles(VectorColumns(names, vectors), ColumnRequest()), by_name=False)
    except InputError as error:
        if error.code not in ("features", "no-members"):
            raise
        # The caller cannot list the members here, but a dictionary of columns is taken as it is.
        hint = f"If all columns are clusterings, pass a dictionary of them, or use ensemble_from_frame. {USE_CLUSTER}"
        raise InputError(error.problem, code=error.code, hint=hint) from None
    roles.warn()
    return [list(names).index(name) for name in roles.members]


def soft_columns(soft: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the columns of all soft members."""
    return [name for names in soft.values() for name in names]


# Labels -------------------------------------------------------------------------------------------------------------


def label_roles(
    table: ColumnSource, request: ColumnRequest, *, find_id: bool = True, by_values: bool = True
) -> ColumnRoles:
    """Return the roles of the columns of a table of labels.

    Parameters
    ----------
    table : ColumnSource
    request : ColumnRequest
        Roles that the caller gives; column names without patterns.
    find_id : bool, default True
        Whether the identifier matters where the members are listed.
    by_values : bool, default True
        Whether columns are judged by their values; otherwise every column without another role by name is a member.
    """
    given = _given_roles(table, request, "members")
    # Listed members need no reading at all.
    if given.listed and not find_id:
        return given
    n_members = len(given.members) if given.listed else len(_free(table, given))
    if by_values and n_members > MAX_MEMBERS:
        raise too_many_members(n_members, MAX_MEMBERS, table.path)
    row_id, decisions = _with_id(table, given)
    if given.listed:
        return _finished(replace(given, id=row_id, decisions=tuple(decisions)))
    free = [name for name in _free(table, given) if name != row_id]
    # Roles by name come first; they need no values.
    classes = [name for name in free if is_class(name)]
    free = [name for name in free if name not in classes]
    decisions += [RoleNote("class-columns", tuple(classes))] if classes else []
    truth = given.truth or (classes[0] if classes else None)
    if not by_values:
        if not free and not given.soft:
            raise no_members(table.path, ())
        return _finished(replace(given, members=tuple(free), id=row_id, truth=truth, decisions=tuple(decisions)))
    # A table of answers only is combined; among other columns, answers are results of an earlier run.
    answers = [name for name in free if is_answer(name)]
    if 0 < len(answers) < len(free):
        decisions.append(RoleNote("answer-columns", tuple(answers)))
        free = [name for name in free if name not in answers]
    dates = [name for name in free if holds_dates(table.head[name])]
    rest = [name for name in free if name not in dates]
    # A table that is mostly dates is refused later; a few dates are ignored.
    if dates and outnumbered(dates, rest):
        decisions.append(RoleNote("date-columns", tuple(dates)))
        free = rest
    # Columns of many different values: identifiers or features.
    diverse = _diverse_columns(table, free)
    if given.soft:
        # Further columns of memberships often have few values; they are not labels either.
        heads = {name: summarize_cells(table.head[name]) for name in free if name not in diverse}
        diverse |= {name: summary for name, summary in heads.items() if summary.fractions}
    unique = [name for name, summary in diverse.items() if summary.is_identifier]
    decisions += [RoleNote("unique-columns", tuple(unique))] if unique else []
    features = {name: summary for name, summary in diverse.items() if name not in unique}
    members = tuple(name for name in free if name not in diverse)
    if not members and not given.soft:
        # Decimal commas make numbers look like text, which deserves its own message.
        commas = _comma_columns(table, table.columns)
        if commas or not features:
            raise no_members(table.path, commas)
    # As many features as clusterings: probably not a table of clusterings, unless the caller names soft members.
    if not given.soft and not outnumbered(features, members):
        refuse_features(table.path, features)
    if features:
        decisions.append(_feature_note(features))
    roles = replace(
        given,
        members=members,
        id=row_id,
        truth=truth,
        decisions=tuple(decisions),
        doubts=tuple(_doubts(table, members, row_id, len(given.soft))),
    )
    return _finished(roles)


def outnumbered(others: Sized, members: Sized) -> bool:
    """Return whether members are the majority, so that the other columns are no reason to refuse the table."""
    return len(members) > max(len(others), 1)


def refuse_features(path: str, features: Mapping[str, ColumnSummary]) -> None:
    """Refuse columns that are features or identifiers, not clusterings."""
    if features:
        raise not_clusterings(path, features)


def _feature_note(features: Mapping[str, ColumnSummary]) -> RoleNote:
    first = next(iter(features.values()))
    return RoleNote("feature-columns", tuple(features), {"distinct": first.distinct, "present": first.present})


def _given_roles(table: ColumnSource, request: ColumnRequest, parameter: str) -> ColumnRoles:
    """Return the roles that the caller gives, after checking them."""
    empty = request.members is not None and not isinstance(request.members, int) and not len(request.members)
    if isinstance(request.members, str | int) or (empty and not request.soft):
        raise not_a_list(parameter, request.members)
    members = tuple(dict.fromkeys(request.members or ()))
    if len(members) < len(request.members or ()):
        raise not_a_list(parameter, request.members)
    # All unknown names in one message.
    unknown = [
        name
        for name in (*members, *request.keep, request.id, request.truth, *soft_columns(request.soft))
        if name not in (None, *table.columns)
    ]
    if unknown:
        raise unknown_columns(parameter, unknown, table.columns, table.path)
    soft = {name: tuple(columns) for name, columns in request.soft.items()}
    columns_of_soft = soft_columns(soft)
    for column, role in ((request.id, "id"), (request.truth, "truth"), *((name, "soft") for name in columns_of_soft)):
        if column is not None and column in members:
            raise both_roles(column, parameter, role)
    for column, role in ((request.id, "id"), (request.truth, "truth")):
        if column is not None and column in columns_of_soft:
            raise both_roles(column, "soft", role)
    for name, columns in soft.items():
        if len(columns) < 2 or any(columns_of_soft.count(column) > 1 for column in columns):
            raise soft_member_columns(name, columns)
    keep = tuple(request.keep)
    return _finished(
        ColumnRoles(members, request.id, request.truth, keep, soft, listed=bool(members) or empty, table=table.path)
    )


def _finished(roles: ColumnRoles) -> ColumnRoles:
    """Return roles with identifier and known classes among the columns to keep."""
    keep = dict.fromkeys(name for name in (roles.id, roles.truth, *roles.keep) if name is not None)
    return replace(roles, keep=tuple(keep))


def _free(table: ColumnSource, given: ColumnRoles) -> list[str]:
    """Return the columns without a role."""
    used = {*given.cells, given.id, given.truth, *given.keep}
    return [name for name in table.columns if name not in used]


def _with_id(table: ColumnSource, given: ColumnRoles) -> tuple[str | None, list[RoleNote]]:
    """Return the identifier, and the note if it was chosen: the first column, by name or if all its values differ."""
    first = table.columns[0]
    if given.id is not None or len(table.columns) == 1 or first not in _free(table, given):
        return given.id, []
    if not is_id(first):
        diverse = _diverse_columns(table, [first])
        if first not in diverse or not diverse[first].is_identifier:
            return None, []
    return first, [RoleNote("id-column", (first,))]


def _diverse_columns(table: ColumnSource, names: Sequence[str]) -> dict[str, ColumnSummary]:
    """Return the columns in which more than half of all values differ."""
    if not names:
        return {}
    heads = {name: summarize_cells(table.head[name]) for name in names}
    diverse = {name: summary for name, summary in heads.items() if summary.is_diverse}
    if diverse and not table.head_is_all:
        counted = table.summaries(list(diverse))
        diverse = {name: summary for name, summary in counted.items() if summary.is_diverse}
    return diverse


def _comma_columns(table: ColumnSource, names: Sequence[str]) -> list[str]:
    return [name for name in names if not table.is_numeric(name) and has_decimal_commas(table.head[name])]


def _doubts(table: ColumnSource, members: Sequence[str], row_id: str | None, n_soft: int) -> list[RoleNote]:
    """Return what looks wrong about a table, judged by its first rows."""
    doubts = []
    if len(members) == 1 and not n_soft:
        doubts.append(RoleNote("one-member", tuple(members)))
    if row_id is not None:
        summary = summarize_cells(table.head[row_id])
        if summary.distinct < summary.present:
            doubts.append(RoleNote("repeated-ids", (row_id,), {"repeated": summary.present - summary.distinct}))
    heads = [table.head[name] for name in members]
    n_rows = len(table.head[table.columns[0]])
    n_codes = one_hot_clusterings(heads) if heads and n_rows >= FEW_ROWS else None
    if n_codes is not None:
        doubts.append(RoleNote("one-hot", tuple(members), {"n_codes": n_codes}))
    if table.head_is_all and n_rows < len(members) and len(members) >= FEW_ROWS:
        rows = list(zip(*(cells.tolist() for cells in heads), strict=True))
        largest = looks_transposed(rows, len(members))
        if largest is not None:
            doubts.append(RoleNote("transposed", tuple(members), {"n_rows": n_rows, "largest": largest}))
    fractions = tuple(name for name in members if summarize_cells(table.head[name]).fractions)
    return [*doubts, *([RoleNote("fraction-columns", fractions)] if fractions else [])]


# Features -----------------------------------------------------------------------------------------------------------


def feature_roles(
    table: ColumnSource, request: ColumnRequest, *, find_id: bool = True, drawn: Sequence[str] = ()
) -> ColumnRoles:
    """Return the roles of the columns of a table of features.

    Features are all numeric columns except the identifier, known classes and earlier answers, unless the caller lists
    them; `find_id` says whether the identifier matters then. Columns in `drawn` have a use of their own and are not
    reported as ignored.
    """
    given = _given_roles(table, request, "features")
    numeric = [name for name in table.columns if table.is_numeric(name)]
    commas = _comma_columns(table, table.columns)
    text = [name for name in given.members if name not in numeric]
    if text:
        raise not_numeric(text, commas)
    if given.listed and not find_id:
        return given
    row_id, decisions = _with_id(table, given)
    if given.listed:
        return _finished(replace(given, id=row_id, decisions=tuple(decisions)))
    free = [name for name in _free(table, given) if name not in (row_id, *drawn)]
    reasons = {name: _why_no_feature(table, name, name in numeric, name in commas) for name in free}
    features = tuple(name for name, reason in reasons.items() if reason is None)
    if not features:
        raise no_features(table.path, commas)
    ignored = {} if row_id is None or given.id is not None else {row_id: "ID"}
    ignored |= {name: reason for name, reason in reasons.items() if reason is not None}
    classes = [name for name in free if is_class(name)]
    notes = (RoleNote("ignored-columns", tuple(ignored), {"reasons": tuple(ignored.values())}),) if ignored else ()
    truth = given.truth or (classes[0] if classes else None)
    return _finished(replace(given, members=features, id=row_id, truth=truth, decisions=notes))


def _why_no_feature(table: ColumnSource, name: str, numeric: bool, commas: bool) -> str | None:
    """Return why a column is not a feature; None if it is one."""
    if is_class(name):
        return "ground truth"
    if is_id(name):
        return "ID"
    if is_answer(name):
        return "earlier answer"
    if numeric:
        return None
    if commas:
        return "numbers with a decimal comma"
    if holds_dates(table.head[name]):
        return "dates"
    return "text" if summarize_cells(table.head[name]).present else "empty"
