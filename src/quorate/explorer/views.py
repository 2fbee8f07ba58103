"""What a page can request, by the last part of the address: each view checks its fields and returns plain values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quorate._runtime.temporary_files import temporary_folder
from quorate._utils.optional_imports import import_extra
from quorate.errors import InputError
from quorate.explorer import answers
from quorate.explorer.jobs import Job
from quorate.explorer.requests import (
    MOST_CLUSTERS,
    MOST_ROWS,
    Query,
    check_fields,
    check_real,
    check_text,
    check_whole,
    parse_query,
)
from quorate.explorer.workbench import Answer, Workbench, report_stage
from quorate.reporting.plain_values import layer_values

_MOST_LAYERS = 8

View = Callable[[Workbench, Any, Job], Any]
"""A function of the workbench, the fields of a request and its job, run in a thread; returns a JSON value or a file."""


class File(NamedTuple):
    """A file to download, with its media type."""

    content: bytes
    kind: str


def first_page(bench: Workbench) -> None:
    """Compute what a new page requests first, while the browser opens."""
    answers.start(bench)
    bench.answer(parse_query({}, bench.ensemble.n_members), first_look=True)


def _start(bench: Workbench, data: Any, job: Job) -> Any:
    check_fields(data, ())
    return answers.start(bench)


def _with_query(bench: Workbench, data: Any, *more: str) -> tuple[Any, Query]:
    fields = check_fields(data, ("query",), more)
    return fields, parse_query(fields["query"], bench.ensemble.n_members)


def _with_answer(bench: Workbench, data: Any, job: Job, *more: str) -> tuple[Any, Query, Answer]:
    fields, query = _with_query(bench, data, *more)
    return fields, query, bench.answer(query, job)


def _answer(bench: Workbench, data: Any, job: Job) -> Any:
    _, query = _with_query(bench, data)
    answer = bench.answer(query, job, first_look=True)
    bench.shown = query
    return answers.answer_view(bench, query, answer)


def _choice(bench: Workbench, data: Any, job: Job) -> Any:
    return answers.choice_view(bench.choice(_with_query(bench, data)[1], job))


def _structure(bench: Workbench, data: Any, job: Job) -> Any:
    return bench.structure(_with_query(bench, data)[1], job)


def _diagnostics(bench: Workbench, data: Any, job: Job) -> Any:
    return answers.diagnostics_view(_with_answer(bench, data, job)[2])


def _matrix(bench: Workbench, data: Any, job: Job) -> Any:
    return answers.matrix_of(_with_answer(bench, data, job)[2])


def _camps(bench: Workbench, data: Any, job: Job) -> Any:
    fields, query, answer = _with_answer(bench, data, job, "combined")
    combined = fields.get("combined", True)
    if not isinstance(combined, bool):
        raise InputError("must be true or false.", code="boolean", parameter="combined")
    report_stage(job, "comparing groups of members")
    return answers.camps_view(bench, query, answer, combined=combined)


def _core(bench: Workbench, data: Any, job: Job) -> Any:
    _, query, answer = _with_answer(bench, data, job)
    return answers.core_view(bench.cores(query, answer, job))


def _layers(bench: Workbench, data: Any, job: Job) -> Any:
    fields, _, answer = _with_answer(bench, data, job, "ks")
    solution, ks = answer.solution, fields.get("ks")
    if not isinstance(ks, list) or not 1 <= len(ks) <= _MOST_LAYERS:
        raise InputError(f"must be a list of 1 to {_MOST_LAYERS} numbers.", code="list", parameter="ks")
    most = max(solution.max_clusters, 1)
    return layer_values(solution.layers({min(check_whole("ks", k, 1, MOST_CLUSTERS), most) for k in ks}))


def _in_core(bench: Workbench, query: Query, answer: Answer, fields: Any, job: Job) -> Any:
    """(m,) the patterns whose rows are in the core at the requested agreement; None if none is requested."""
    if fields.get("core") is None:
        return None
    return bench.cores(query, answer, job).holds(check_real("core", fields["core"], 0.0, 1.0))


def _contingency(bench: Workbench, data: Any, job: Job) -> Any:
    fields = check_fields(data, ("one", "other"))
    first, second = (check_whole(name, fields[name], 0, bench.ensemble.n_members - 1) for name in ("one", "other"))
    return answers.contingency_view(bench, first, second)


def _compare(bench: Workbench, data: Any, job: Job) -> Any:
    fields = check_fields(data, ("left", "right"))
    sides = [_side(bench, fields[name], job) for name in ("left", "right")]
    return answers.compare_view(bench, *sides)


def _side(bench: Workbench, data: Any, job: Job) -> tuple[str, Any, list[str]]:
    """Return one of two clusterings to compare: {query}, {member} or {truth}."""
    fields = check_fields(data, (), ("query", "member", "truth"))
    if len(fields) != 1:
        raise InputError("A side must have one of the fields query, member and truth.", code="side")
    if "truth" in fields:
        return answers.truth_of(bench)
    if "member" in fields:
        return answers.clustering_of(bench, check_whole("member", fields["member"], 0, bench.ensemble.n_members - 1))
    query = parse_query(fields["query"], bench.ensemble.n_members)
    answer = bench.answer(query, job)
    names = [str(c) for c in range(answer.cut.n_clusters)]
    return f"{query.method}, k = {answer.cut.n_clusters}", answer.row_labels, names


def _rows(bench: Workbench, data: Any, job: Job) -> Any:
    more = ("cluster", "bin", "core", "find", "polygon", "offset", "limit")
    fields, query, answer = _with_answer(bench, data, job, *more)
    offset = check_whole("offset", fields.get("offset", 0), 0, bench.ensemble.n_rows)
    limit = check_whole("limit", fields.get("limit", 25), 1, MOST_ROWS)
    rows = _filtered(bench, answer, fields)
    in_core = _in_core(bench, query, answer, fields, job)
    if in_core is not None:
        of_rows = in_core[answer.row_pattern]
        rows = np.flatnonzero(of_rows) if rows is None else rows[of_rows[rows]]
    return answers.rows_view(bench, answer, rows, offset, limit)


def _filtered(bench: Workbench, answer: Answer, fields: Any) -> Any:
    """Return the rows that pass all filters; None: all rows."""
    rows = None
    # Filters by text and by selection first: they usually leave few rows.
    if fields.get("find") is not None:
        rows = answers.find_rows(bench, check_text("find", fields["find"]))
    if fields.get("polygon") is not None:
        inside = answers.inside(bench, _polygon(fields["polygon"]))
        rows = inside if rows is None else np.intersect1d(rows, inside)
    for name, high, values in (
        ("cluster", answer.cut.n_clusters - 1, lambda: answer.row_labels),
        ("bin", len(answer.cut.histogram) - 1, lambda: _bins(answer)),
    ):
        if fields.get(name) is not None:
            value, of_rows = check_whole(name, fields[name], 0, high), values()
            rows = np.flatnonzero(of_rows == value) if rows is None else rows[of_rows[rows] == value]
    return rows


def _bins(answer: Answer) -> Any:
    """(n,) the bin of each row in the histogram of confidence; -1 for rows without a label."""
    n_bins = len(answer.cut.histogram)
    bins = np.minimum((answer.row_confidence * n_bins).astype(int), n_bins - 1)
    return np.where(answer.row_labels >= 0, bins, -1)


def _polygon(value: Any) -> Any:
    if not isinstance(value, list) or not 3 <= len(value) <= 2000:
        raise InputError("must be a list of 3 to 2,000 points.", code="polygon", parameter="polygon")
    if not all(isinstance(point, list) and len(point) == 2 for point in value):
        raise InputError("must have points of two numbers each.", code="polygon", parameter="polygon")
    return np.array([[check_real("polygon", x) for x in point] for point in value])


def _row(bench: Workbench, data: Any, job: Job) -> Any:
    fields, query, answer = _with_answer(bench, data, job, "row")
    row = check_whole("row", fields.get("row"), 0, bench.ensemble.n_rows - 1)
    return answers.row_view(bench, query, answer, row)


def _points(bench: Workbench, data: Any, job: Job) -> Any:
    fields, query, answer = _with_answer(bench, data, job, "color", "core")
    if bench.xy is None:
        raise answers.no_coordinates()
    color = fields.get("color", "cluster")
    if color not in ("cluster", "confidence", "margin", "truth"):
        color = str(check_whole("color", color, 0, bench.ensemble.n_members - 1))
    return answers.points_view(bench, answer, color, _in_core(bench, query, answer, fields, job))


def _selection(bench: Workbench, data: Any, job: Job) -> Any:
    fields, _, answer = _with_answer(bench, data, job, "polygon")
    rows = answers.inside(bench, _polygon(fields.get("polygon")))
    return answers.selection_view(bench, answer, rows)


def _labels(bench: Workbench, data: Any, job: Job) -> File:
    """Return the labels of all rows as a table, CSV or Parquet; at a required agreement also those of the core."""
    fields, query, answer = _with_answer(bench, data, job, "format", "core")
    kind = fields.get("format", "csv")
    if kind not in ("csv", "parquet"):
        raise InputError("must be csv or parquet.", code="choice", parameter="format")
    from quorate.columns.column_roles import ANSWER_COLUMNS
    from quorate.tables.combining import CORE_COLUMN
    from quorate.tables.io import quote_name, write_table

    name = bench.id_name or "row"
    ids = np.arange(bench.ensemble.n_rows) if bench.ids is None else np.asarray(bench.ids, dtype=object)
    duckdb = import_extra("duckdb", "Downloading labels")
    with duckdb.connect() as connection, temporary_folder() as folder:
        of_rows = (answer.row_labels, answer.row_confidence, answer.row_margin, answer.row_runner_up)
        columns = {
            "row": ids,
            **{column: np.round(values, 6) for column, values in zip(ANSWER_COLUMNS, of_rows, strict=True)},
        }
        in_core = _in_core(bench, query, answer, fields, job)
        if in_core is not None:
            columns[CORE_COLUMN] = np.where(in_core[answer.row_pattern], answer.row_labels, -1)
        connection.register("labels", columns)
        relation = connection.sql(f"SELECT row AS {quote_name(name)}, * EXCLUDE (row) FROM labels")
        path = Path(folder) / f"labels.{kind}"
        write_table(relation, path)
        return File(path.read_bytes(), "text/csv" if kind == "csv" else "application/vnd.apache.parquet")


VIEWS: dict[str, View] = {
    "start": _start,
    "answer": _answer,
    "choice": _choice,
    "structure": _structure,
    "diagnostics": _diagnostics,
    "matrix": _matrix,
    "camps": _camps,
    "core": _core,
    "layers": _layers,
    "contingency": _contingency,
    "compare": _compare,
    "rows": _rows,
    "row": _row,
    "points": _points,
    "selection": _selection,
    "labels": _labels,
}
