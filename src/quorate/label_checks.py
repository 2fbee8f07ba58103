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
    """Warn of a table whose rows look like members; a small frame may have few rows."""
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
    """Return the largest group of members that label all rows alike."""
    groups: dict[bytes, list[int]] = {}
    for j, column in enumerate(np.ascontiguousarray(codes.T)):
        groups.setdefault(column.tobytes(), []).append(j)
    return max(groups.values(), key=len)


def warn_of_columns(
    names: Sequence[str | int], levels: Sequence[Vector], codes: NDArray[np.int32], n_rows: int
) -> None:
    """Warn of columns of a table that are hardly clusterings: names of rows, known classes, numbers with fractions.

    They count as members all the same: who passes a table says which columns are members. The columns of a matrix have
    their places for names. codes : (m, M) of patterns
    """
    if len(names) == 1 and isinstance(names[0], str):  # a matrix of one column was made to be one
        warn(f"There is one member only, {names[0]!r}: nothing to combine it with.")
    many = n_rows >= FEW_ROWS
    if many and all(len(some) <= 2 for some in levels):
        thinned = codes[:: -(-len(codes) // head_rows(len(names)))]
        one_hot = look_one_hot([labels_at(code, some) for code, some in zip(thinned.T, levels, strict=True)])
        if one_hot is not None:
            warn(one_hot)
    copies = _copies(codes) if many else []
    if len(copies) > 2 and 2 * len(copies) >= len(names):
        listed = quoted(names[j] for j in copies)
        warn(f"Columns {listed} hold the same labels: one clustering that counts {len(copies)} times.")
    answers = [name for name in names if is_answer(name)]
    of_names = list(zip(names, levels, strict=True)) if many else []
    odd = {
        "another value in every row, as names of rows have": [
            name for name, some in of_names if len(some) > NEARLY_ALL * n_rows
        ],
        "numbers with fractions, as features have": [name for name, some in of_names if some.dtype.kind == "f"],
        "a name of known classes": [name for name in names if is_class(name)],
        "a name of an earlier answer": answers if len(answers) < len(names) else [],
    }
    told = [f"column{'s' if len(some) > 1 else ''} {quoted(some)} ({why})" for why, some in odd.items() if some]
    if told:
        warn(f"These members may be no clusterings: {'; '.join(told)}. Leave them out, unless they are meant.")


def warn_of_text_noise(names: Sequence[str], levels: Sequence[Vector], noise: Noise) -> None:
    """Warn of members whose noise is text, and so a cluster."""
    held = [name for name, some in zip(names, levels, strict=True) if some.dtype.kind == "O" and "-1" in some]
    if held and noise != "cluster":
        warn(
            f"The labels of {quoted(held)} are text, so '-1' counts as a cluster there: only negative numbers are "
            "noise. Make them numbers, or leave rows of noise without a label."
        )
