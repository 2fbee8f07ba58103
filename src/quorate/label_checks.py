"""Warnings about columns that may not be clusterings."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quorate.columns.column_heuristics import FEW_ROWS, NEARLY_ALL, head_rows, looks_transposed, one_hot_clusterings
from quorate.columns.column_messages import quoted, role_message
from quorate.errors import issue, warn
from quorate.labels import Noise, Vector, labels_at, rows_of


def warn_if_transposed(vectors: Sequence[Vector]) -> None:
    """Warn of a matrix whose rows look like members."""
    if len(vectors[0]) >= len(vectors):
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
    names: Sequence[str] | None, levels: Sequence[Vector], codes: NDArray[np.int32], n_rows: int
) -> None:
    """Warn of columns that may not be clusterings: copies, one-hot codes, identifiers, features.

    Columns of a frame have `names`; most of them were checked when the members were chosen.
    codes : (m, M) of patterns
    """
    if n_rows < FEW_ROWS:
        return
    copies = _copies(codes)
    if len(copies) > 2 and 2 * len(copies) >= len(levels):
        warn(
            f"Columns {quoted(names[j] if names else j for j in copies)} are identical: this clustering "
            f"counts {len(copies)} times.",
            code="identical-members",
        )
    if names is not None:
        return
    if all(len(values) <= 2 for values in levels):
        thinned = codes[:: -(-len(codes) // head_rows(len(levels)))]
        n_codes = one_hot_clusterings([labels_at(code, values) for code, values in zip(thinned.T, levels, strict=True)])
        if n_codes is not None:
            issue(role_message("one-hot", list(map(str, range(len(levels)))), "labels", n_codes=n_codes))
    unique = [j for j, values in enumerate(levels) if len(values) > NEARLY_ALL * n_rows]
    fractions = [j for j, values in enumerate(levels) if values.dtype.kind == "f"]
    reasons = {"unique in every row": unique, "numbers with fractions": fractions}
    doubts = [f"column{'s' if len(js) > 1 else ''} {quoted(js)} ({why})" for why, js in reasons.items() if js]
    if doubts:
        warn(
            f"These columns may not be clusterings: {'; '.join(doubts)}.",
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
