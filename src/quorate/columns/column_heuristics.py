"""What the name and the values of a column suggest: a clustering, an identifier, known classes, a feature, a date.

These rules serve arrays, frames, files and the command alike. They look at the first rows only; callers count the other
rows of the few columns that look unusual there.
"""

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

ID_NAMES = ("id", "index", "row", "rowid", "row_id", "name", "key", "__index_level_0__")
"""Names of identifier columns."""
CLASS_NAMES = ("class", "classes", "target")
"""Names of columns of known classes; `quorate generate` writes the first. Or one word of the name is one of:"""
CLASS_WORDS = ("true", "truth", "groundtruth")
_ANSWER = re.compile(r"(consensus_)?(consensus|confidence|margin|runner_up)(_\d+)?|consensus_layer_\d+|consensus_core")
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+(,\d+)?\s*")
_DATE = re.compile(
    r"\s*(\d{4}([-/])\d{1,2}\2\d{1,2}|\d{1,2}([./-])\d{1,2}\3(\d{4}|\d{2}))"
    r"([ T]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|UTC|[AP]M|[+-]\d{2}:?\d{2})?)?\s*"
)
FEW_ROWS = 20
"""In fewer rows all labels may differ by chance."""
NEARLY_ALL = 0.9
"""A column with more distinct values than this share of its rows is an identifier."""
HEAD_CELLS, HEAD_ROWS = 1_000_000, 1000
LARGEST_FEATURE = 1e140
"""Sums of squares of larger numbers overflow."""


@dataclass(frozen=True)
class ColumnSummary:
    """Counts of the values of a column."""

    present: int
    """Number of cells that are not missing."""
    missing: int
    distinct: int
    """Approximate number of distinct values."""
    fractions: bool
    """Whether numbers with fractions are among them."""

    @property
    def is_diverse(self) -> bool:
        """Whether more than half of the values differ, which does not happen in a clustering."""
        return self.present >= FEW_ROWS and self.distinct > self.present / 2

    @property
    def is_identifier(self) -> bool:
        """Whether (nearly) every row has its own value."""
        # One identifier may spell a missing value, such as a gene called NA.
        return (
            self.is_diverse and self.missing <= 1 and not self.fractions and self.distinct > NEARLY_ALL * self.present
        )


def is_id(name: object) -> bool:
    """Return whether a column has the name of an identifier."""
    return str(name).lower() in ID_NAMES


def is_class(name: object) -> bool:
    """Return whether a column has a name of known classes."""
    words = re.split(r"[\W_]+", str(name).lower())
    return str(name).lower() in CLASS_NAMES or any(word in CLASS_WORDS for word in words)


def is_answer(name: object) -> bool:
    """Return whether a column has a name that a consensus adds to a table or to an AnnData object."""
    return _ANSWER.fullmatch(str(name)) is not None


def head_rows(n_columns: int) -> int:
    """Return how many of the first rows to inspect: a bounded number of cells, but enough rows to judge."""
    return min(HEAD_ROWS, max(HEAD_CELLS // max(n_columns, 1), 2 * FEW_ROWS))


def summarize_cells(cells: NDArray[Any]) -> ColumnSummary:
    """Return counts of some cells, which are masked, None or NaN where they are missing."""
    listed = cells.tolist()
    try:
        present = [cell for cell in listed if cell is not None and cell == cell]
        values = set(present)
    except (TypeError, ValueError):  # lists and other values that are neither labels nor identifiers
        return ColumnSummary(len(listed), 0, 0, False)
    return ColumnSummary(len(present), len(listed) - len(present), len(values), any(map(_is_fraction, values)))


def _is_fraction(value: Any) -> bool:
    try:
        return not float(value).is_integer()
    except (TypeError, ValueError, OverflowError):
        return False


def holds_dates(cells: NDArray[Any]) -> bool:
    """Return whether cells are dates, times or durations, also as text; some may be missing."""
    if cells.dtype.kind in "mM":
        return True
    if cells.dtype.kind not in "OUT":
        return False
    present = [cell for cell in cells.tolist() if cell is not None and cell is not np.nan]
    times = datetime.date | datetime.time | datetime.timedelta
    if any(isinstance(cell, times) and cell == cell for cell in present):  # NaT is not equal to itself
        return True
    return bool(present) and all(isinstance(cell, str) and _DATE.fullmatch(cell) for cell in present)


def has_decimal_commas(cells: NDArray[Any]) -> bool:
    """Return whether cells are text that would be numbers with a decimal point instead of a comma."""
    present = [cell for cell in cells.tolist() if cell is not None]
    return any("," in str(cell) for cell in present) and all(_DECIMAL_COMMA.fullmatch(str(cell)) for cell in present)


def looks_transposed(rows: Sequence[Sequence[Any]], n_members: int) -> int | None:
    """Return the largest number of distinct labels in a row if the table looks transposed, else None.

    A table with fewer rows than members, whose rows repeat their labels, probably has members as rows.
    """
    if not 0 < len(rows) < n_members:
        return None
    try:
        largest = max(len({cell for cell in row if cell == cell}) for row in rows)
    except (TypeError, ValueError):  # lists and other values that are not labels
        return None
    return largest if largest <= n_members // 2 else None


def one_hot_clusterings(columns: Sequence[NDArray[Any]]) -> int | None:
    """Return of how many clusterings the columns are one-hot codes; None if they look like labels.

    Columns of zeros and ones are such codes if consecutive columns, more than two on average, hold one 1 in every row.
    """
    numbers = [cells for cells in map(as_numbers, columns) if cells is not None]
    if len(numbers) < max(len(columns), 3):
        return None
    # Missing cells are neither 0 nor 1.
    cells = np.ma.filled(np.ma.column_stack(numbers), np.nan)
    if not np.isin(cells, (0, 1)).all():
        return None
    # Position of the k-th 1 in each row: the same column boundary in all rows ends a clustering.
    n_set = np.cumsum(cells, axis=1).astype(np.int64)
    boundaries = n_set[0][np.all(n_set == n_set[0], axis=0)]  # numbers of ones that all rows reach in the same column
    n_codes = int(n_set[0, -1])
    if len(np.unique(n_set[:, -1])) > 1 or not 0 < 2 * n_codes < len(columns):
        return None
    return n_codes if set(range(1, n_codes + 1)) <= set(boundaries.tolist()) else None


def as_numbers(cells: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return cells as floats; None if some are not numbers."""
    if cells.dtype.kind in "mM":  # dates would become numbers
        return None
    if cells.dtype.kind == "c":  # scikit-learn reports that complex numbers are not supported
        return np.asarray(cells.real, dtype=np.float64)
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError):
        return None
