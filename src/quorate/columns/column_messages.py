"""Messages about the columns of a table: which roles they were given, what looks wrong, and why they are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from quorate._utils.checks import nearest_name
from quorate.columns.column_heuristics import ColumnSummary, as_numbers
from quorate.errors import InputError, QuorateWarning, Setting

USE_MEMBERS = ("To use other columns, list them in ", Setting("members"), ".")
USE_DICTIONARY = ("To choose the members yourself, pass a dictionary of columns.",)
USE_CLUSTER = "`quorate cluster` and `ConsensusClustering` cluster features."
Texts = tuple[str, Sequence[str | Setting]]
"""A problem and a hint."""


def quoted(names: Iterable[object], most: int = 8) -> str:
    """Return names for a message, at most a few of them."""
    listed = [repr(name) for name in names]
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")


def subject(names: Sequence[object], singular: str = "is", plural: str = "are") -> str:
    """Return columns as the subject of a sentence, with its verb: "Column 'a' is", "Columns 'a', 'b' are"."""
    return f"Column {quoted(names)} {singular}" if len(names) == 1 else f"Columns {quoted(names)} {plural}"


def role_message(
    code: str, columns: Sequence[str], table: str, *, by_name: bool = True, **figures: Any
) -> QuorateWarning:
    """Return the message of a decision or a doubt about columns; `by_name`: the caller can list the members."""
    problem, hint = _ROLES[code](columns, table, **figures)
    # A caller who cannot list members by name gets another hint.
    return QuorateWarning(problem, code=code, hint=USE_DICTIONARY if hint is USE_MEMBERS and not by_name else hint)


def _id_column(columns: Sequence[str], table: str) -> Texts:
    return f"Using column {columns[0]!r} as the row ID.", ()


def _class_columns(columns: Sequence[str], table: str) -> Texts:
    looks = subject(columns, "looks like known classes and is", "look like known classes and are")
    return f"{looks} not used as {_members(columns)}.", USE_MEMBERS


def _answer_columns(columns: Sequence[str], table: str) -> Texts:
    looks = subject(columns, "looks like an earlier answer and is", "look like an earlier answer and are")
    return f"{looks} not used as {_members(columns)}.", USE_MEMBERS


def _date_columns(columns: Sequence[str], table: str) -> Texts:
    return f"{subject(columns, 'holds dates and is', 'hold dates and are')} ignored.", USE_MEMBERS


def _unique_columns(columns: Sequence[str], table: str) -> Texts:
    looks = ("is unique in every row (looks like an ID) and is", "are unique in every row (look like IDs) and are")
    return f"{subject(columns, *looks)} ignored.", USE_MEMBERS


def _feature_columns(columns: Sequence[str], table: str, distinct: int, present: int) -> Texts:
    looks = subject(columns, "looks like a feature", "look like features")
    example = f" (e.g. {columns[0]}: about {distinct:,} distinct values in {present:,} rows)"
    return f"{looks}{example} and {'is' if len(columns) == 1 else 'are'} ignored.", USE_MEMBERS


def _ignored_columns(columns: Sequence[str], table: str, reasons: Sequence[str]) -> Texts:
    listed = [f"{name} ({reason})" for name, reason in zip(columns, reasons, strict=True)]
    more = f" and {len(listed) - 12} more" if len(listed) > 12 else ""
    commas = any("decimal comma" in reason for reason in reasons)
    advice = [" Write decimal commas as points."] if commas else []
    return f"Ignored columns: {', '.join(listed[:12])}{more}.", (
        "To use other columns, list them in ",
        Setting("features"),
        ".",
        *advice,
    )


def _one_member(columns: Sequence[str], table: str) -> Texts:
    return f"There is only one member in {table}, {columns[0]!r}: nothing to combine it with.", ()


def _repeated_ids(columns: Sequence[str], table: str, repeated: int) -> Texts:
    return f"ID column {columns[0]!r} has {repeated:,} duplicate value{'s' if repeated > 1 else ''}.", ()


def _one_hot(columns: Sequence[str], table: str, n_codes: int) -> Texts:
    many = "one clustering" if n_codes == 1 else f"{n_codes} clusterings"
    return (
        f"The {len(columns)} columns look like one-hot codes of {many}; each column is used as a member.",
        ("Use one column of cluster numbers per clustering, as numpy.argmax gives.",),
    )


def _transposed(columns: Sequence[str], table: str, n_rows: int, largest: int) -> Texts:
    return (
        f"{_first(table)} looks transposed: it has {n_rows} row{'s' if n_rows != 1 else ''} and "
        f"{len(columns)} members, and no row has more than {largest} distinct labels.",
        ("Rows must be data instances and columns members.",),
    )


def _fraction_columns(columns: Sequence[str], table: str) -> Texts:
    holds = subject(columns, "holds numbers with fractions", "hold numbers with fractions")
    return (
        f"{holds}, as features do, and {'is' if len(columns) == 1 else 'are'} used as {_members(columns)}.",
        ("If that is wrong, list the clusterings in ", Setting("members"), f". {USE_CLUSTER}"),
    )


def _first(table: str) -> str:
    """Return the name of a table as the first word of a sentence; file names stay as they are."""
    return "The frame" if table == "the frame" else table


def _members(columns: Sequence[str]) -> str:
    return "a member" if len(columns) == 1 else "members"


_ROLES: dict[str, Callable[..., Texts]] = {
    "id-column": _id_column,
    "class-columns": _class_columns,
    "answer-columns": _answer_columns,
    "date-columns": _date_columns,
    "unique-columns": _unique_columns,
    "feature-columns": _feature_columns,
    "ignored-columns": _ignored_columns,
    "one-member": _one_member,
    "repeated-ids": _repeated_ids,
    "one-hot": _one_hot,
    "transposed": _transposed,
    "fraction-columns": _fraction_columns,
}


# Errors -------------------------------------------------------------------------------------------------------------


def not_clusterings(path: str, features: Mapping[str, ColumnSummary]) -> InputError:
    """Return the error for a table of features where clusterings are expected."""
    first, summary = next(iter(features.items()))
    fractions = all(column.fractions for column in features.values())
    what = ("a feature", "features") if fractions else ("a feature or an ID", "features or IDs")
    looks = subject(list(features), f"of {path} looks like {what[0]}", f"of {path} look like {what[1]}")
    return InputError(
        f"{looks}, not like {'a clustering' if len(features) == 1 else 'clusterings'} (e.g. {first}: about "
        f"{summary.distinct:,} distinct values in {summary.present:,} rows).",
        code="features",
        hint=("List the clusterings in ", Setting("members"), f". {USE_CLUSTER}"),
    )


def too_many_members(n_members: int, most: int, path: str) -> InputError:
    """Return the error for a table with too many columns."""
    return InputError(
        f"{n_members:,} columns of {path} would be members; at most {most:,} are combined.",
        code="too-many-members",
        hint=("List some of them in ", Setting("members"), ", or transpose the table if its columns are rows."),
    )


def no_members(path: str, commas: Sequence[str]) -> InputError:
    """Return the error for a table without a column of labels."""
    if commas:
        return InputError(
            f"There are no clusterings to combine in {path}.{_comma_sentence(commas)}",
            code="decimal-commas",
            hint="Write features with a decimal point and use `quorate cluster`.",
        )
    return InputError(
        f"{_first(path)} has no column that looks like a clustering.",
        code="no-members",
        hint=("List the clusterings in ", Setting("members"), "."),
    )


def no_features(path: str, commas: Sequence[str]) -> InputError:
    """Return the error for a table without a column of features."""
    return InputError(
        f"{_first(path)} has no numeric column to cluster by.{_comma_sentence(commas)}",
        code="no-features",
        hint=_POINTS if commas else ("List the features in ", Setting("features"), "."),
    )


def not_numeric(names: Sequence[str], commas: Sequence[str]) -> InputError:
    """Return the error for columns that are listed as features and are not numeric."""
    return InputError(
        f"{subject(names)} not numeric.{_comma_sentence(commas)}",
        code="not-numeric",
        hint=_POINTS if commas else ("Leave out of ", Setting("features"), " what is not a feature."),
    )


_POINTS = ("Write decimal commas as points.",)


def _look_like_commas(commas: Sequence[str]) -> str:
    return f"{'looks' if len(commas) == 1 else 'look'} like numbers with a decimal comma"


def _comma_sentence(commas: Sequence[str]) -> str:
    return f" {subject(commas, '', '').rstrip()} {_look_like_commas(commas)}." if commas else ""


def not_a_list(parameter: str, columns: Any) -> InputError:
    """Return the error for columns that are not a list of different names."""
    if isinstance(columns, str):
        problem, hint = f"must be a list of column names; got the text {columns!r}.", (f"Pass [{columns!r}].",)
    elif isinstance(columns, int):
        problem = f"must be a list of column names; got {columns}."
        hint = (f"For {columns} clusters, pass ", Setting("n_clusters", columns), ".")  # type: ignore[assignment]
    elif not len(columns):
        problem, hint = "must name at least one column; got an empty list.", ("Omit it to choose columns.",)
    else:
        problem, hint = "must name each column once.", (f"Got {quoted(columns)}.",)
    return InputError(problem, code="column-list", parameter=parameter, hint=hint)


def unknown_columns(parameter: str, names: Sequence[Any], columns: Sequence[str], path: str) -> InputError:
    """Return the error for names of columns that the table does not have."""
    near = nearest_name(names[0], columns)
    return InputError(
        f"must be columns of {path}; there is no {quoted(names)}.{near}", code="unknown-column", parameter=parameter
    )


def both_roles(name: str, first: str, second: str) -> InputError:
    """Return the error for a column with two roles."""
    return InputError(
        f"Column {name!r} has two roles: ",
        code="two-roles",
        hint=(Setting(first), " and ", Setting(second), ". Give it one of them."),
    )


def soft_member_columns(name: str, columns: Sequence[str]) -> InputError:
    """Return the error for a soft member that has a single column, or shares columns with another."""
    return InputError(
        f"needs one column for each of at least two clusters, and each column once; {name!r} has {quoted(columns)}.",
        code="soft-columns",
        parameter="soft",
    )


def answer_exists(name: str, path: str) -> InputError:
    """Return the error for a table that already has a column of an answer."""
    return InputError(
        f"{_first(path)} already has a column named {name!r}.",
        code="answer-exists",
        hint="Rename or drop it first.",
    )


def feature_problem(X: Any) -> InputError | None:
    """Return the error for features that are text or have gaps, naming all such columns; None if there are none."""
    columns = _columns_of(X)
    numbers = {name: as_numbers(cells) for name, cells in columns.items()}
    text = [name for name, cells in numbers.items() if cells is None]
    if text:
        # An example of a cell that is not a number helps to find it.
        example = next(cell for cell in columns[text[0]] if not isinstance(cell, float))
        return InputError(
            f"Features must be numbers; {_inside(subject(text))} not numeric (e.g. {example!r}).",
            code="not-numeric",
            hint="Drop such columns, or encode them, for example with scikit-learn's OneHotEncoder.",
        )
    gaps = [name for name, cells in numbers.items() if cells is not None and not np.isfinite(cells).all()]
    if not gaps:
        return None
    return InputError(
        f"Features must be finite numbers; {_inside(subject(gaps, 'holds', 'hold'))} NaN (missing) or infinity.",
        code="missing-features",
        hint="Drop such rows, or impute them, for example with scikit-learn's SimpleImputer; qt.cluster_frame also "
        'takes missing="drop" or missing="mean".',
    )


def _inside(text: str) -> str:
    """Return the start of a sentence for the middle of one."""
    return text[:1].lower() + text[1:]


def _columns_of(X: Any) -> dict[object, Any]:
    """Return the columns of a frame in memory by name, those of a matrix by number; none of anything else."""
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):
        return {name: np.asarray(X[name]) for name in getattr(X, "column_names", X.columns)}
    values = np.asarray(X) if isinstance(X, np.ndarray | list | tuple) else np.empty(0)
    return dict(enumerate(values.T)) if values.ndim == 2 else {}
