"""The dialect of a text table: delimiter, header, names of the columns.

The first lines decide. Every row must then follow the dialect, so that a ragged file is refused instead of misread.
DuckDB's own sniffer is not used: it skips title lines and pads short rows silently, and it cannot say why a first line
is a header.
"""

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from quorate.errors import DamagedFileError, InputError, Setting, warn

DELIMITERS = {",": "a comma", "\t": "a tab", ";": "a semicolon", "|": "a bar"}
_OTHER_DELIMITERS = {":": "a colon", " ": "a blank", "^": "'^'", "~": "'~'"}
_SAMPLE_ROWS = 1000
_LINES_ABOVE, _FEW_COLUMNS = 20, 2  # a table below at most 20 other lines is recognized if it has more than 2 columns
_RARE = 1000  # a first row of largest labels is rare in data where the numbers of labels multiply to this
_FEW_ROWS = 4  # in fewer rows all numbers may differ by chance
_CELLS_SHOWN, _CHARACTERS_SHOWN = 12, 30
_UNNAMED = "index"  # pandas writes its index under an empty name


@dataclass(frozen=True)
class Dialect:
    """How a text table is written."""

    delimiter: str
    header: bool
    columns: tuple[str, ...]
    skipped: int = 0
    """Number of blank lines before the first line."""
    trailing: bool = False
    """Whether every line ends with a delimiter that is followed by nothing."""


def find_dialect(
    head: str, name: str, *, delimiter: str | None = None, header: bool | None = None, prefer: str = ","
) -> Dialect:
    """Return the dialect of a text table, from its first lines.

    Parameters
    ----------
    head : str
        The first lines of the file; the last of them may end inside a quoted cell.
    name : str
        The name of the file in messages.
    delimiter, header : optional
        Given by the caller; detected otherwise.
    prefer : str
        The delimiter to choose where several split the lines equally well.
    """
    # Universal newlines would change what is inside quotes.
    all_lines = list(io.StringIO(head, newline=""))  # only \\n, \\r and \\r\\n end a line
    lines = [line for line in all_lines if line.strip()]
    if not lines:
        raise InputError(
            f"{name} is empty.",
            code="empty-file",
            hint="Pass a table with one row per instance and one column per clustering.",
        )
    _refuse_lines_above(lines, name, DELIMITERS if delimiter is None else (delimiter,))
    if delimiter is None:
        delimiter = _find_delimiter(lines, name, prefer)
    rows = _split(lines, delimiter)
    if not rows:
        raise DamagedFileError(
            f"{name} cannot be read as a text table.",
            code="not-a-text-table",
            hint=("Check its quotes, or set its format with ", Setting("format"), "."),
        )
    # A delimiter at the end of every line is a habit of some programs, not a column.
    trailing = len(rows[0]) > 1 and len(rows) > 1 and not any(row[-1].strip() for row in rows if row)
    if trailing:
        rows = [row[:-1] for row in rows]
    if header is None:
        header = _detect_header(rows, name, delimiter)
    if trailing:
        warn(
            f"Every line of {name} ends with {delimiter!r}; the empty last column is ignored.",
            code="trailing-delimiter",
        )
    # Blank lines before the table are skipped by number, because DuckDB counts them.
    skipped = next(i for i, line in enumerate(all_lines) if line.strip())
    return Dialect(delimiter, header, _column_names(rows[0], header, name), skipped, trailing)


def _split(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """Return the first rows of cells; none where quotes are misplaced. A quoted cell that is cut off ends the rows."""
    rows: list[list[str]] = []
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if row:
                rows.append(row)
            if len(rows) == _SAMPLE_ROWS:
                break
    except csv.Error as error:
        # The sample ends inside a quoted cell. If the quote never closes, reading the whole file raises the error.
        if "unexpected end of data" not in str(error):
            return []
    return rows


def _shown(row: Sequence[str], delimiter: str) -> str:
    """Return the first cells of a row on one line, for a message."""
    cells = [" ".join(cell.split())[:_CHARACTERS_SHOWN] for cell in row[:_CELLS_SHOWN]]
    return delimiter.join(cells) + (" ..." if len(row) > _CELLS_SHOWN else "")


def _refuse_lines_above(lines: Sequence[str], name: str, delimiters: Iterable[str]) -> None:
    """Refuse a table below a title or comments, and one that names all columns except the first, as R writes it."""
    tables = {delimiter: _split(lines, delimiter) for delimiter in delimiters}
    # Some delimiter splits all lines alike: nothing is above the table.
    if any(len({len(row) for row in rows}) == 1 < len(rows[0]) for rows in tables.values() if rows):
        return
    for delimiter, rows in tables.items():
        widths = [len(row) for row in rows]
        # The first line from which on all lines have the same width.
        above = next((i for i in range(len(rows)) if set(widths[i:]) == {widths[-1]}), 0)
        if not 0 < above <= min(_LINES_ABOVE, len(rows) // 2) or widths[-1] <= max(_FEW_COLUMNS, *widths[:above]):
            continue
        if widths[:1] == [widths[-1] - 1]:
            raise InputError(
                f"The first line of {name} has {widths[0]} cells and the others {widths[-1]}.",
                code="unnamed-column",
                hint="Name every column, including the row identifier.",
            )
        raise InputError(
            f"The table in {name} seems to start below {above} other line{'s' if above > 1 else ''}, with a line that "
            f"begins with {_shown(rows[above][:3], delimiter)}.",
            code="lines-above-table",
            hint="Delete the lines above it.",
        )


def _find_delimiter(lines: Sequence[str], name: str, prefer: str) -> str:
    """Return the delimiter that splits most lines into as many cells as the first line, and into the most cells."""
    best, best_key = prefer, (0.0, 0, False)
    for delimiter in DELIMITERS:
        rows = _split(lines, delimiter)
        if not rows or len(rows[0]) == 1:
            continue
        alike = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
        # More regular first, then more columns, then the usual delimiter of the format.
        key = (alike, len(rows[0]), delimiter == prefer)
        if key > best_key:
            best, best_key = delimiter, key
    if best_key[1] == 0:
        _refuse_other_delimiter(lines[:_SAMPLE_ROWS], name)
    return best


def _refuse_other_delimiter(lines: Sequence[str], name: str) -> None:
    """Refuse a table of one column whose lines all split alike at another character."""
    for delimiter, spoken in _OTHER_DELIMITERS.items():
        # Lines that all split alike at another character are probably delimited by it.
        widths = {len(line.split(delimiter)) for line in lines}
        if len(widths) == 1 and widths != {1}:
            raise InputError(
                f"{name} has one column, but its lines look delimited by {spoken}.",
                code="other-delimiter",
                hint=("Pass ", Setting("delimiter", delimiter), " if they are."),
            )


def _detect_header(rows: Sequence[Sequence[str]], name: str, delimiter: str) -> bool:
    """Return whether the first row names the columns; warn where it is not certain."""
    if _has_header(rows):
        return True
    first = f"The first line of {name} ({_shown(rows[0], delimiter)})"
    if _is_numbered(rows) or _has_numbers_for_names(rows):
        warn(
            f"{first} is used as column names.",
            code="header-guess",
            hint=("Pass ", Setting("header", False), " if it is data."),
        )
        return True
    if _may_be_names(rows):
        warn(
            f"{first} is used as data.",
            code="header-guess",
            hint=("Pass ", Setting("header", True), " if it names the columns."),
        )
    return False


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row clearly names the columns.

    It does not if any of its cells is a number, or if every cell occurs as a label further down its own column.
    """
    first, *others = rows
    cells = [cell.strip() for cell in first]
    if any(_is_number(cell) for cell in cells):
        return False
    # A single line is a header unless a name is missing.
    if not others:
        return "" not in cells[1:]
    below = _below(others, len(cells))
    return not all(cell in values for cell, values in zip(cells, below, strict=True) if cell)


def _has_numbers_for_names(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row names columns although numbers are among the names, such as each member's k.

    In tables of labels the same numbers recur. Those of a header do not recur at all, or each equals the number of
    labels in its column.
    """
    first, *others = rows
    cells = [cell.strip() for cell in first]
    numbers = [j for j, cell in enumerate(cells) if _is_number(cell)]
    labels = [j for j in numbers if j > 0]  # the first column may be the row identifier
    if len(others) < _FEW_ROWS or not labels:
        return False
    below = _below(others, len(cells))
    # Names do not occur as labels below them.
    new = not any(cell in values for cell, values in zip(cells, below, strict=True) if cell)
    n_combinations = math.prod(len(below[j]) for j in numbers)
    counted = n_combinations >= _RARE and all(cells[j] == str(len(below[j])) for j in numbers)
    return (new or counted) and all(len(below[j]) <= len(others) / 2 for j in labels)


def _may_be_names(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row, used as data, rises like numbers of clusters: 2,3,4 or r1,5,10."""
    numbers = [float(cell) for cell in rows[0] if _is_number(cell.strip())]
    return len(numbers) > 1 and min(numbers) > 1 and all(number < following for number, following in pairwise(numbers))


def _below(others: Sequence[Sequence[str]], n_columns: int) -> list[set[str]]:
    """Return the distinct cells of each column, without the first row."""
    return [{row[j].strip() for row in others if j < len(row)} for j in range(n_columns)]


def _is_numbered(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row is what pandas writes for columns without names: 0, 1, 2, ...

    The index of pandas adds a column without a name, which is numbered too or holds names. Two columns are not enough:
    0,1 may be labels as well.
    """
    first, *others = rows
    # pandas writes its index without a name, numbered from 0.
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
    if_data = (", or pass ", Setting("header", False), " if the first line is data.")
    return check_names([cell.strip() for cell in first], name, if_data)


def check_names(names: Sequence[str], name: str, advice: Sequence[str | Setting] = (".",)) -> tuple[str, ...]:
    """Return the names of the columns of a file, that of an unnamed index included; each column must have its own.

    `name` is the file in messages, and `advice` the end of the hints.
    """
    if list(names[:1]) == [""] and _UNNAMED not in names:
        names = (_UNNAMED, *names[1:])
    if "" in names:
        raise InputError(
            f"Column {names.index('') + 1} of {name} has no name.",
            code="unnamed-column",
            hint=("Name every column", *advice),
        )
    for column, count in Counter(names).items():
        if count > 1:
            raise InputError(
                f"{name} has two columns named {column!r}.",
                code="repeated-column",
                hint=("Give each column its own name", *advice),
            )
    return tuple(names)
