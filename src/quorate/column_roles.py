"""What the name and the values of a column tell about its use: a clustering, a name of the rows, known classes,
a feature, or an earlier answer.

One rule for arrays, frames, files and the command. Only the first rows are looked at; who asks counts the rest of the
few columns that look odd there.
"""

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

ID_NAMES = ("id", "index", "row", "rowid", "row_id", "name", "key", "__index_level_0__")
"""What columns that name rows are called."""
CLASS_NAMES = ("class", "classes", "target")
"""What columns of known classes are called, `quorate generate` writes the first; or a word of the name is one of:"""
CLASS_WORDS = ("true", "truth", "groundtruth")
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+(,\d+)?\s*")
_ANSWER = re.compile(r"(consensus_)?(consensus|confidence|margin|runner_up)(_\d+)?")
FEW_ROWS = 20
"""In fewer rows all labels may differ by chance."""
NEARLY_ALL = 0.9
"""A column with more distinct values than this share of its rows names the rows."""
HEAD_CELLS, HEAD_ROWS = 1_000_000, 1000


@dataclass(frozen=True)
class Seen:
    """What was seen in a column."""

    present: int
    """How many cells are not missing."""
    missing: int
    distinct: int
    """About how many values differ."""
    fractions: bool
    """Whether numbers with fractions are among them."""

    @property
    def is_odd(self) -> bool:
        """Whether more than half of the values differ, as in no clustering."""
        return self.present >= FEW_ROWS and self.distinct > self.present / 2

    @property
    def names_rows(self) -> bool:
        """Whether it has another value in (nearly) every row."""
        return self.is_odd and not self.missing and not self.fractions and self.distinct > NEARLY_ALL * self.present


def is_id(name: object) -> bool:
    """Return whether a column is called like a name of the rows."""
    return str(name).lower() in ID_NAMES


def is_class(name: object) -> bool:
    """Return whether a column is called like known classes."""
    words = re.split(r"[\W_]+", str(name).lower())
    return str(name).lower() in CLASS_NAMES or any(word in CLASS_WORDS for word in words)


def is_answer(name: object) -> bool:
    """Return whether a column is called like those that an answer adds to a table, or to an AnnData object."""
    return _ANSWER.fullmatch(str(name)) is not None


def head_rows(n_columns: int) -> int:
    """Return how many of the first rows to look at: not many cells in all, but enough rows to tell."""
    return min(HEAD_ROWS, max(HEAD_CELLS // max(n_columns, 1), 2 * FEW_ROWS))


def look_at(cells: NDArray[Any]) -> Seen:
    """Return what is seen in some cells, masked, None or NaN where they are missing."""
    listed = cells.tolist()
    try:
        present = [cell for cell in listed if cell is not None and cell == cell]
        values = set(present)
    except (TypeError, ValueError):  # lists and the like: whatever they are, no labels and no names
        return Seen(len(listed), 0, 0, False)
    return Seen(len(present), len(listed) - len(present), len(values), any(map(_is_fraction, values)))


def holds_times(cells: NDArray[Any]) -> bool:
    """Return whether cells are dates, times or spans of time, some of which may be missing."""
    times = datetime.date | datetime.time | datetime.timedelta
    return cells.dtype.kind in "mM" or any(isinstance(cell, times) and cell == cell for cell in cells.tolist())


def _is_fraction(value: Any) -> bool:
    try:
        return not float(value).is_integer()
    except (TypeError, ValueError, OverflowError):
        return False


def has_decimal_commas(cells: NDArray[Any]) -> bool:
    """Return whether cells are text that would be numbers with a point for a comma."""
    held = [cell for cell in cells.tolist() if cell is not None]
    return any("," in str(cell) for cell in held) and all(_DECIMAL_COMMA.fullmatch(str(cell)) for cell in held)


def quoted(names: Iterable[object], most: int = 8) -> str:
    """Return names for a message, not too many of them."""
    listed = [repr(name) for name in names]
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")


def outnumbered(others: Sized, members: Sized) -> bool:
    """Return whether so many columns are members that others among them are there by mistake, or beside them."""
    return len(members) > max(len(others), 1)


def times_left_out(names: Sequence[str]) -> str:
    """Return that columns hold times, in words."""
    columns, verb = of_columns(names)
    return f"{columns} {'holds' if verb == 'is' else 'hold'} dates or times, which are no labels, and {verb} left out."


def features_left_out(features: Mapping[str, Seen]) -> str:
    """Return that columns hold features, in words."""
    _, verb = of_columns(tuple(features))
    return f"{what_they_hold(features)}, as features do and clusterings do not, and {verb} left out."


def what_they_hold(features: Mapping[str, Seen], where: str = "") -> str:
    """Return how many values differ in columns."""
    first, seen = next(iter(features.items()))
    held = f"about {seen.distinct:,} distinct values in {seen.present:,} rows"
    if len(features) == 1:
        return f"Column {first!r}{where} holds {held}"
    return f"Columns {quoted(features)}{where} hold {held} ({first!r}) and the like"


def of_columns(names: Sequence[str]) -> tuple[str, str]:
    """Return one or more columns as the subject of a sentence, and the verb."""
    return (f"Column {names[0]!r}", "is") if len(names) == 1 else (f"Columns {quoted(names)}", "are")


LARGEST_FEATURE = 1e140
"""Squares of larger numbers, summed over rows, are beyond what numbers can be."""


def features_told(X: Any) -> str | None:
    """Return all columns of features that are text, or else all with gaps, and the way out; None if there are none."""
    columns = _columns_of(X)
    numbers = {name: _as_numbers(cells) for name, cells in columns.items()}
    texts = [name for name, cells in numbers.items() if cells is None]
    if texts:
        example = next(cell for cell in columns[texts[0]] if not isinstance(cell, float))
        which = f"column {texts[0]!r} holds" if len(texts) == 1 else f"columns {quoted(texts)} hold"
        return (
            f"Features must be numbers; {which} text or other things (such as {example!r}). Leave out what is no "
            "feature, or turn it into numbers, as scikit-learn's OneHotEncoder does."
        )
    gaps = [name for name, cells in numbers.items() if cells is not None and not np.isfinite(cells).all()]
    if not gaps:
        return None
    which = f"column {gaps[0]!r} holds" if len(gaps) == 1 else f"columns {quoted(gaps)} hold"
    return (
        f"Features must be finite numbers; {which} NaN (missing) or infinity. Drop such rows, or fill them in, as "
        'scikit-learn\'s SimpleImputer does; qt.cluster_frame also takes missing="drop" or missing="mean".'
    )


def _columns_of(X: Any) -> dict[object, Any]:
    """Return the columns of a frame in memory by name, those of a matrix by number; none of anything else."""
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):
        return {name: np.asarray(X[name]) for name in getattr(X, "column_names", X.columns)}
    values = np.asarray(X) if isinstance(X, np.ndarray | list | tuple) else np.empty(0)
    return dict(enumerate(values.T)) if values.ndim == 2 else {}


def _as_numbers(cells: NDArray[Any]) -> NDArray[np.float64] | None:
    if cells.dtype.kind in "mM":  # moments in time
        return None
    if cells.dtype.kind == "c":  # scikit-learn says that complex numbers are not supported
        return np.asarray(cells.real, dtype=np.float64)
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError):
        return None


def looks_transposed(rows: Sequence[Sequence[Any]], n_members: int) -> int | None:
    """Return how many distinct labels rows hold at most if the table looks transposed, else None.

    A table with fewer rows than members, whose rows repeat their labels, has members as rows.
    """
    if not 0 < len(rows) < n_members:
        return None
    try:
        most = max(len({cell for cell in row if cell == cell}) for row in rows)
    except (TypeError, ValueError):  # lists and the like, which are no labels
        return None
    return most if most <= n_members // 2 else None


def look_one_hot(columns: Sequence[NDArray[Any]]) -> str | None:
    """Return in words of how many clusterings columns are the one-hot codes; None if they look like labels.

    Zeros and ones are such codes if columns that follow each other, more than two on average, hold one 1 in every row.
    """
    numbers = [cells for cells in map(_as_numbers, columns) if cells is not None]
    if len(numbers) < max(len(columns), 3):
        return None
    cells = np.ma.filled(np.ma.column_stack(numbers), np.nan)
    if not np.isin(cells, (0, 1)).all():
        return None
    ones = np.cumsum(cells, axis=1).astype(np.int64)
    told = ones[0][np.all(ones == ones[0], axis=0)]  # how many ones all rows have, up to some columns
    n_codes = int(ones[0, -1])
    if len(np.unique(ones[:, -1])) > 1 or not 0 < 2 * n_codes < len(columns):
        return None
    if not set(range(1, n_codes + 1)) <= set(told.tolist()):
        return None
    many = "a clustering" if n_codes == 1 else f"{n_codes} clusterings"
    return (
        f"The {len(columns)} columns look like one-hot codes of {many}: zeros, and one 1 for every row and clustering. "
        "Each column counts as a member; number the clusters in one column for each clustering, as numpy.argmax does."
    )
