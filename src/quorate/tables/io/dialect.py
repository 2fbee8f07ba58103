"""How a text table is written: what splits its columns, whether it has a header, what its columns are called.

The first lines decide. Every row is later held to what they say, so that a ragged or differently split file is refused
instead of being read as something else.
"""

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from quorate.errors import QuorateError, warn

DELIMITERS = {",": "a comma", "\t": "a tab", ";": "a semicolon", "|": "a bar"}
_BLANKS = tuple(" " * n for n in range(1, 9))
MISSING = ("", *_BLANKS, "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL", "None")
"""Cells that stand for a missing label."""

_OTHER_DELIMITERS = {":": "a colon", " ": "a blank"}
_SAMPLE_ROWS = 1000
_LINES_ABOVE, _FEW_COLUMNS = 20, 2  # so many lines may stand above a table, which has more than so many columns
_HARDLY_CHANCE = 1000
# In fewer rows numbers may all differ by chance.
_FEW_ROWS = 4
_CELLS_SHOWN, _SIGNS_SHOWN = 12, 30
# pandas writes its index under an empty name.
_UNNAMED = "index"


@dataclass(frozen=True)
class Dialect:
    """How a text table is written."""

    delimiter: str
    header: bool
    columns: tuple[str, ...]
    skipped: int = 0
    """How many blank lines come before the first line."""
    trailing: bool = False
    """Whether every line ends with a delimiter, behind which there is nothing."""


def find_dialect(
    head: str, name: str, *, delimiter: str | None = None, header: bool | None = None, prefer: str = ","
) -> Dialect:
    """Return how a text table is written, from its first complete lines.

    Parameters
    ----------
    head : str
        The first lines of the file.
    name : str
        What to call the file in messages.
    delimiter, header : optional
        What is known already; found out otherwise.
    prefer : str
        The delimiter to take where several split the lines equally well.
    """
    all_lines = list(io.StringIO(head, newline=""))  # other signs that break lines are part of a cell
    lines = [line for line in all_lines if line.strip()][:_SAMPLE_ROWS]
    if not lines:
        raise QuorateError(f"{name} is empty. Pass a table with one row per instance and one column per clustering.")
    _refuse_lines_above(lines, name, DELIMITERS if delimiter is None else (delimiter,))
    if delimiter is None:
        delimiter = _find_delimiter(lines, name, prefer)
    rows = _split(lines, delimiter)
    if not rows:
        raise QuorateError(f"{name} cannot be read as a text table. Check its quotes, or name its format with format=.")
    trailing = len(rows[0]) > 1 and len(rows) > 1 and not any(row[-1].strip() for row in rows if row)
    if trailing:
        rows = [row[:-1] for row in rows]
    if header is None:
        header = _has_header(rows)
        if not header and (_is_numbered(rows) or _has_numbers_for_names(rows)):
            header = True
            warn(
                f"The first line of {name} ({_shown(rows[0], delimiter)}) is taken for names of columns. Pass "
                "header=False if it is data."
            )
        elif not header and _may_be_names(rows):
            warn(
                f"The first line of {name} ({_shown(rows[0], delimiter)}) is taken for data. Pass header=True if it "
                "names the columns."
            )
    if trailing:
        warn(f"Every line of {name} ends with {delimiter!r}, behind which nothing stands: that column is left out.")
    skipped = next(i for i, line in enumerate(all_lines) if line.strip())
    return Dialect(delimiter, header, _column_names(rows[0], header, name), skipped, trailing)


def _shown(row: Sequence[str], delimiter: str) -> str:
    """Return the first cells of a row on one line."""
    cells = [" ".join(cell.split())[:_SIGNS_SHOWN] for cell in row[:_CELLS_SHOWN]]
    return delimiter.join(cells) + (" ..." if len(row) > _CELLS_SHOWN else "")


def _split(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(lines, delimiter=delimiter, strict=True) if row]
    except csv.Error:
        return []


def _refuse_lines_above(lines: Sequence[str], name: str, delimiters: Iterable[str]) -> None:
    """Refuse a table below a title or comments, and one with names for all columns but the first, as R writes it."""
    tables = {delimiter: _split(lines, delimiter) for delimiter in delimiters}
    if any(len({len(row) for row in rows}) == 1 < len(rows[0]) for rows in tables.values() if rows):
        return
    for delimiter, rows in tables.items():
        widths = [len(row) for row in rows]
        above = next((i for i in range(len(rows)) if set(widths[i:]) == {widths[-1]}), 0)
        if not 0 < above <= min(_LINES_ABOVE, len(rows) // 2) or widths[-1] <= max(_FEW_COLUMNS, *widths[:above]):
            continue
        if widths[:1] == [widths[-1] - 1]:
            raise QuorateError(
                f"The first line of {name} has {widths[0]} cells and the others {widths[-1]}. Name every column, also "
                "the one that names the rows."
            )
        raise QuorateError(
            f"The table in {name} seems to start below {above} other line{'s' if above > 1 else ''}, with a line that "
            f"begins with {_shown(rows[above][:3], delimiter)}. Delete what stands above it."
        )


def _find_delimiter(lines: Sequence[str], name: str, prefer: str) -> str:
    """Return the delimiter that splits most lines into as many cells as the first, and into the most cells."""
    best, best_key = prefer, (0.0, 0, False)
    for delimiter in DELIMITERS:
        rows = _split(lines, delimiter)
        if not rows or len(rows[0]) == 1:
            continue
        alike = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
        key = (alike, len(rows[0]), delimiter == prefer)
        if key > best_key:
            best, best_key = delimiter, key
    if best_key[1] == 0:
        _refuse_other_delimiter(lines, name)
    return best


def _refuse_other_delimiter(lines: Sequence[str], name: str) -> None:
    """Refuse a table of one column whose every line splits alike at some other sign."""
    for delimiter, spoken in _OTHER_DELIMITERS.items():
        widths = {len(line.split(delimiter)) for line in lines}
        if len(widths) == 1 and widths != {1}:
            raise QuorateError(
                f"{name} has one column, but its lines look split by {spoken}. "
                f"If they are, say so with delimiter={delimiter!r}."
            )


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row names the columns.

    It does not if any of its cells is a number, nor if every one of them is a label of its own column further down.
    """
    first, *others = rows
    cells = [cell.strip() for cell in first]
    if any(_is_number(cell) for cell in cells):
        return False
    if not others:
        return "" not in cells[1:]
    below = _below(others, len(cells))
    return not all(cell in seen for cell, seen in zip(cells, below, strict=True) if cell)


def _has_numbers_for_names(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row names columns though numbers are among the names, such as each one's k.

    In tables of labels the same numbers come again and again; those of the first row do not come again at all, or each
    says how many labels its column has.
    """
    first, *others = rows
    cells = [cell.strip() for cell in first]
    numbers = [j for j, cell in enumerate(cells) if _is_number(cell)]
    labels = [j for j in numbers if j > 0]  # the first column may name the rows
    if len(others) < _FEW_ROWS or not labels:
        return False
    below = _below(others, len(cells))
    fresh = not any(cell in seen for cell, seen in zip(cells, below, strict=True) if cell)
    labels_told = math.prod(len(below[j]) for j in numbers)  # so rarely would a row of data have all largest labels
    counted = labels_told >= _HARDLY_CHANCE and all(cells[j] == str(len(below[j])) for j in numbers)
    return (fresh or counted) and all(len(below[j]) <= len(others) / 2 for j in labels)


def _may_be_names(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row, taken for data, rises like numbers of clusters: 2,3,4 or r1,5,10."""
    numbers = [float(cell) for cell in rows[0] if _is_number(cell.strip())]
    return len(numbers) > 1 and min(numbers) > 1 and all(one < next_ for one, next_ in pairwise(numbers))


def _below(others: Sequence[Sequence[str]], n_columns: int) -> list[set[str]]:
    """Return the cells of each column, the first row's aside."""
    return [{row[j].strip() for row in others if j < len(row)} for j in range(n_columns)]


def _is_numbered(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row is what pandas writes for columns without names: 0, 1, 2, ...

    Its index makes one more column, without a name, that is numbered as well or holds names. Two columns are too few
    to tell: 0,1 may as well be labels.
    """
    first, *others = rows
    numbered = all(row[0] == str(i) for i, row in enumerate(others))
    indexed = first[0].strip() == "" and (numbered or not any(_is_number(row[0] or "0") for row in others))
    names = first[1:] if indexed else first
    return len(names) >= (1 if indexed else 3) and list(names) == [str(j) for j in range(len(names))]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _column_names(first: Sequence[str], header: bool, name: str) -> tuple[str, ...]:
    if not header:
        return tuple(f"column_{j}" for j in range(len(first)))
    names = tuple(cell.strip() for cell in first)
    names = (names[0] or _UNNAMED, *names[1:])
    rescue = "or pass header=False if the first line is data."
    if "" in names:
        raise QuorateError(f"Column {names.index('') + 1} of {name} has no name. Name every column, {rescue}")
    for column, count in Counter(names).items():
        if count > 1:
            raise QuorateError(f"{name} has two columns named {column!r}. Give each a name of its own, {rescue}")
    return names
