"""What is known of the rows of a label table beside their labels, by one query that reads the file once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from quorate._utils.array_types import Ints
from quorate.reporting.row_facts import MOST_VALUES, NumberColumn, RowFacts, ValueColumn, step
from quorate.tables.counted_table import LINES, CountedTable
from quorate.tables.io import ROW


def facts_in_table(
    counted: CountedTable, patterns: Ints, most: int, *, id_column: str | None = None, columns: Sequence[str] = ()
) -> RowFacts:
    """Return names of some patterns, a sample of at most so many rows, and what columns hold, by pattern."""
    text = {name: _is_text(counted.table.head[name]) for name in columns}
    told = [name for name in columns if not (text[name] and _too_many(counted.table.head[name].tolist()))]
    wanted = [_columns_sql(f"t.{counted.table.raw(name)}", i, text[name]) for i, name in enumerate(told)]
    name = f"'row ' || t.{ROW}" if id_column is None else f"CAST(t.{counted.table.raw(id_column)} AS VARCHAR)"
    sampled = f"FILTER (WHERE t.{ROW} % {step(counted.n_rows, most)} = 0)"
    found = counted.table.fetch(
        f"SELECT a.pattern AS pattern, arg_min({name}, t.{ROW}) FILTER (WHERE a.wanted) AS example, "
        f"list(t.{ROW} ORDER BY t.{ROW}) {sampled} AS numbers, list({name} ORDER BY t.{ROW}) {sampled} AS names"
        f"{''.join(', ' + part for part in wanted)} "
        f"FROM {counted._rows_with(_patterns_of_lines(counted, patterns))} "
        "WHERE a.pattern IS NOT NULL GROUP BY a.pattern"
    )
    pattern = np.asarray(found["pattern"])
    examples = dict(zip(pattern.tolist(), np.ma.filled(found["example"], ""), strict=True))
    sample, sample_pattern = _in_order(pattern, found["numbers"], found["names"])
    n_patterns = counted.ensemble.n_patterns
    kept = [
        _values(column, found[f"h{i}"], pattern, n_patterns)
        if text[column]
        else _numbers(column, [found[f"{kind}{i}"] for kind in _MOMENTS], pattern, n_patterns)
        for i, column in enumerate(told)
    ]
    kept = [column for column in kept if isinstance(column, NumberColumn) or not _too_many(column.values)]
    names = {column.name for column in kept}
    return RowFacts(
        examples=[str(examples.get(int(one), "")) for one in patterns],
        sample=sample,
        sample_pattern=sample_pattern,
        columns=tuple(kept),
        too_many=tuple(name for name in columns if name not in names),
    )


_MOMENTS = {"n": "count", "m": "avg", "v": "var_pop", "l": "min", "u": "max"}


def _is_text(cells: Any) -> bool:
    """Return whether the first cells of a column are not all numbers."""
    try:
        np.array([cell for cell in cells.tolist() if cell is not None], dtype=np.float64)
    except (TypeError, ValueError):
        return True
    return bool(cells.dtype.kind == "b")


def _too_many(values: Sequence[Any]) -> bool:
    return len(set(values)) > MOST_VALUES


def _columns_sql(cell: str, i: int, text: bool) -> str:
    """Return the aggregates of the i-th column: its values with their counts, or its moments."""
    if text:
        return f"histogram(CAST({cell} AS VARCHAR)) AS h{i}"
    number = f"TRY_CAST({cell} AS DOUBLE)"
    return ", ".join(
        f"{function}({number}) FILTER (WHERE isfinite({number})) AS {kind}{i}" for kind, function in _MOMENTS.items()
    )


def _patterns_of_lines(counted: CountedTable, wanted: Ints) -> str:
    """Return the lines with their pattern, and whether an example of it is wanted."""
    _, line, pattern = counted._counted
    columns = {"line": line, "pattern": pattern, "wanted": np.isin(pattern, wanted)}
    counted._register("quorate_patterns", columns)
    return f"(SELECT l.*, p.pattern, p.wanted FROM {LINES} l JOIN quorate_patterns p ON l.rowid = p.line)"


def _in_order(pattern: Ints, numbers: Any, names: Any) -> tuple[list[str], Ints]:
    """Return the names of the sampled rows in the order of the table, and their patterns."""
    found = [
        (int(number), "" if name is None else str(name), int(pattern[i]))
        for i, (some, called) in enumerate(zip(_lists(numbers), _lists(names), strict=True))
        for number, name in zip(some, called, strict=True)
    ]
    found.sort()
    return [name for _, name, _ in found], np.array([one for _, _, one in found], dtype=np.int64)


def _lists(cells: Any) -> list[Any]:
    """Return lists out of an array that may be masked where there is none."""
    missing = np.ma.getmaskarray(cells)
    return [[] if missing[i] or cell is None else cell for i, cell in enumerate(np.ma.getdata(cells))]


def _numbers(name: str, parts: Sequence[Any], pattern: Ints, n_patterns: int) -> NumberColumn:
    moments = np.zeros((n_patterns, len(parts)))
    for j, part in enumerate(parts):
        moments[pattern, j] = np.ma.filled(np.ma.asarray(part, dtype=np.float64), 0.0)
    return NumberColumn(name, moments)


def _values(name: str, histograms: Any, pattern: Ints, n_patterns: int) -> ValueColumn:
    found = [
        (int(pattern[i]), str(value), float(n))
        for i, histogram in enumerate(_lists(histograms))
        for value, n in (histogram.items() if histogram else ())
    ]
    values = sorted({value for _, value, _ in found})
    place = {value: i for i, value in enumerate(values)}
    cells = ([one for one, _, _ in found], [place[value] for _, value, _ in found])
    counts = sp.coo_array(([n for _, _, n in found], cells), shape=(n_patterns, len(values)))
    return ValueColumn(name, tuple(values), sp.csr_array(counts))
