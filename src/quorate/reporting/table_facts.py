"""Facts about the rows of a label table in addition to their labels, by one query that reads the file once."""

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
    """Return names for some patterns, a sample of at most `most` rows, and columns, by pattern."""
    text = {name: _is_text(counted.table.head[name]) for name in columns}
    summarized = [name for name in columns if not (text[name] and _too_many(counted.table.head[name].tolist()))]
    aggregates = [_columns_sql(f"t.{counted.table.raw(name)}", i, text[name]) for i, name in enumerate(summarized)]
    name = f"'row ' || t.{ROW}" if id_column is None else f"CAST(t.{counted.table.raw(id_column)} AS VARCHAR)"
    sampled = f"FILTER (WHERE t.{ROW} % {step(counted.n_rows, most)} = 0)"
    fetched = counted.table.fetch(
        f"SELECT a.pattern AS pattern, arg_min({name}, t.{ROW}) FILTER (WHERE a.requested) AS example, "
        f"list(t.{ROW} ORDER BY t.{ROW}) {sampled} AS numbers, list({name} ORDER BY t.{ROW}) {sampled} AS names"
        f"{''.join(', ' + part for part in aggregates)} "
        f"FROM {counted.rows_with(_patterns_of_lines(counted, patterns))} "
        "WHERE a.pattern IS NOT NULL GROUP BY a.pattern"
    )
    pattern = np.asarray(fetched["pattern"])
    examples = dict(zip(pattern.tolist(), np.ma.filled(fetched["example"], ""), strict=True))
    sample, sample_pattern = _in_order(pattern, fetched["numbers"], fetched["names"])
    n_patterns = counted.ensemble.n_patterns
    facts = [
        _values(column, fetched[f"h{i}"], pattern, n_patterns)
        if text[column]
        else _numbers(column, [fetched[f"{kind}{i}"] for kind in _MOMENTS], pattern, n_patterns)
        for i, column in enumerate(summarized)
    ]
    facts = [column for column in facts if isinstance(column, NumberColumn) or not _too_many(column.values)]
    names = {column.name for column in facts}
    return RowFacts(
        examples=[str(examples.get(int(number), "")) for number in patterns],
        sample=sample,
        sample_pattern=sample_pattern,
        columns=tuple(facts),
        too_many=tuple(name for name in columns if name not in names),
    )


_MOMENTS = {"n": "count", "m": "avg", "v": "var_pop", "l": "min", "u": "max"}


def _is_text(cells: Any) -> bool:
    """Return whether the first values of a column are not all numbers."""
    try:
        np.array([cell for cell in cells.tolist() if cell is not None], dtype=np.float64)
    except (TypeError, ValueError):
        return True
    return bool(cells.dtype.kind == "b")


def _too_many(values: Sequence[Any]) -> bool:
    return len(set(values)) > MOST_VALUES


def _columns_sql(cell: str, i: int, text: bool) -> str:
    """Return the SQL aggregates of the i-th column: its values with their counts, or its moments."""
    if text:
        return f"histogram(CAST({cell} AS VARCHAR)) AS h{i}"
    number = f"TRY_CAST({cell} AS DOUBLE)"
    return ", ".join(
        f"{function}({number}) FILTER (WHERE isfinite({number})) AS {kind}{i}" for kind, function in _MOMENTS.items()
    )


def _patterns_of_lines(counted: CountedTable, requested: Ints) -> str:
    """Return the lines with their pattern, and whether an example of it is requested."""
    _, line, pattern = counted.counted
    columns = {"line": line, "pattern": pattern, "requested": np.isin(pattern, requested)}
    counted.register("quorate_patterns", columns)
    return f"(SELECT l.*, p.pattern, p.requested FROM {LINES} l JOIN quorate_patterns p ON l.rowid = p.line)"


def _in_order(pattern: Ints, numbers: Any, names: Any) -> tuple[list[str], Ints]:
    """Return the names of the sampled rows in the order of the table, and their patterns."""
    sampled = sorted(
        (int(number), "" if name is None else str(name), int(pattern[i]))
        for i, pair in enumerate(zip(_lists(numbers), _lists(names), strict=True))
        for number, name in zip(*pair, strict=True)
    )
    return [name for _, name, _ in sampled], np.array([number for _, _, number in sampled], dtype=np.int64)


def _lists(cells: Any) -> list[Any]:
    """Return the lists of an array; an empty one where it is masked."""
    missing = np.ma.getmaskarray(cells)
    return [[] if missing[i] or cell is None else cell for i, cell in enumerate(np.ma.getdata(cells))]


def _numbers(name: str, parts: Sequence[Any], pattern: Ints, n_patterns: int) -> NumberColumn:
    moments = np.zeros((n_patterns, len(parts)))
    for j, part in enumerate(parts):
        moments[pattern, j] = np.ma.filled(np.ma.asarray(part, dtype=np.float64), 0.0)
    return NumberColumn(name, moments)


def _values(name: str, histograms: Any, pattern: Ints, n_patterns: int) -> ValueColumn:
    cells = [
        (int(pattern[i]), str(value), float(n))
        for i, histogram in enumerate(_lists(histograms))
        for value, n in (histogram.items() if histogram else ())
    ]
    values = sorted({value for _, value, _ in cells})
    position = {value: i for i, value in enumerate(values)}
    positions = ([number for number, _, _ in cells], [position[value] for _, value, _ in cells])
    counts = sp.coo_array(([n for _, _, n in cells], positions), shape=(n_patterns, len(values)))
    return ValueColumn(name, tuple(values), sp.csr_array(counts))
