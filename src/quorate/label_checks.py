"""Warnings about columns that may not be clusterings."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quorate.column_roles import (
    FEW_ROWS,
    NEARLY_ALL,
    head_rows,
    is_answer,
    is_class,
    look_one_hot,
    looks_transposed,
    quoted,
)
from quorate.errors import warn
from quorate.labels import Noise, Vector, labels_at, rows_of


def warn_if_transposed(vectors: Sequence[Vector], *, of_frame: bool) -> None:
    """Warn about a table whose rows look like members; a small frame may have few rows."""
    if len(vectors[0]) >= len(vectors) or (of_frame and len(vectors) < FEW_ROWS):
        return
    most = looks_transposed(rows_of(vectors), len(vectors))
    if most is not None:
        warn(
            f"looks transposed: it has {len(vectors[0])} rows and {len(vectors)} members, and each row holds at most "
            f"{most} distinct labels.",
            code="transposed",
            parameter="labels",
            hint="Rows are data instances and columns are members. If yours are the other way round, pass labels.T.",
        )


def _copies(codes: NDArray[np.int32]) -> list[int]:
    """Return the largest group of members with identical labels in all rows."""
    groups: dict[bytes, list[int]] = {}
    for j, column in enumerate(np.ascontiguousarray(codes.T)):
        groups.setdefault(column.tobytes(), []).append(j)
    return max(groups.values(), key=len)


def warn_of_columns(
    names: Sequence[str | int], levels: Sequence[Vector], codes: NDArray[np.int32], n_rows: int
) -> None:
    """Warn about columns of a table that may not be clusterings: IDs, known classes, numbers with fractions.

    They are used as members all the same, because the caller passed them as such. names : names of the columns, or
    their positions in a matrix; codes : (m, M) of patterns
    """
    if len(names) == 1 and isinstance(names[0], str):  # a matrix of one column was built on purpose
        warn(f"There is only one member, {names[0]!r}: nothing to combine.", code="one-member")
    many = n_rows >= FEW_ROWS
    if many and all(len(values) <= 2 for values in levels):
        sample = codes[:: -(-len(codes) // head_rows(len(names)))]
        one_hot = look_one_hot([labels_at(code, values) for code, values in zip(sample.T, levels, strict=True)])
        if one_hot is not None:
            warn(one_hot, code="one-hot")
    copies = _copies(codes) if many else []
    if len(copies) > 2 and 2 * len(copies) >= len(names):
        listed = quoted(names[j] for j in copies)
        warn(f"Columns {listed} are identical: this clustering counts {len(copies)} times.", code="identical-members")
    answers = [name for name in names if is_answer(name)]
    with_levels = list(zip(names, levels, strict=True)) if many else []
    suspicious = {
        "unique in every row, like an ID": [name for name, values in with_levels if len(values) > NEARLY_ALL * n_rows],
        "numbers with fractions, like a feature": [name for name, values in with_levels if values.dtype.kind == "f"],
        "named like known classes": [name for name in names if is_class(name)],
        "named like an earlier consensus": answers if len(answers) < len(names) else [],
    }
    listed = "; ".join(f"{quoted(columns)} ({reason})" for reason, columns in suspicious.items() if columns)
    if listed:
        warn(
            f"These columns may not be clusterings: {listed}.",
            code="not-clusterings",
            hint="Drop them if they were included by mistake.",
        )


def warn_of_text_noise(names: Sequence[str], levels: Sequence[Vector], noise: Noise) -> None:
    """Warn about members whose noise labels are text: they count as a cluster."""
    affected = [name for name, values in zip(names, levels, strict=True) if values.dtype.kind == "O" and "-1" in values]
    if affected and noise != "cluster":
        warn(
            f"The labels of {quoted(affected)} are text, so '-1' is a cluster there: only negative numbers are noise.",
            code="text-noise",
            hint="Convert them to numbers, or set noise labels to None.",
        )
