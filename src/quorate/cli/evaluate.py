"""`quorate evaluate`."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.analysis.scores import score_table
from quorate.cli.output import bar, console, count, print_json, progress, table
from quorate.cli.table_source import Source
from quorate.columns.column_roles import ColumnRoles
from quorate.errors import InputError, Setting
from quorate.tables.io import ROW, LabelTable

_CLUSTERS_SHOWN = 40


def run_evaluate(source: Source, truth_file: str | None, *, quiet: bool, json: bool) -> None:
    """Score each clustering of a table against known classes and print the scores."""
    with source.open() as opened, progress("Scoring", quiet=quiet):
        if truth_file is None:
            columns = _clusterings(opened, source, source.truth)
            tables = _tables_within(opened, columns)
        else:
            columns = _clusterings(opened, source, None)
            with replace(source, file=truth_file).open() as other:
                tables = _tables_between(opened, columns, other, str(source.truth))
    scored = {name: _evaluation(cells) for name, cells in tables.items()}
    if json:
        print_json({"truth": source.truth, "clusterings": scored})
        return
    out = console()
    rows = [(name, result["rows"], *map(_figure, result["scores"].values())) for name, result in scored.items()]
    titles = ("clustering", "rows", "NMI (sqrt)", "NMI (max)", "ARI", "AMI", "purity")
    out.print(table(f"Against {source.truth}", titles, rows))
    if len({result["rows"] for result in scored.values()}) > 1:
        out.print("Each clustering is scored on the rows with a label and a known class.")
    if len(scored) == 1:
        out.print()
        out.print(_cluster_table(next(iter(scored.values()))))


def _clusterings(opened: LabelTable, source: Source, truth: str | None) -> ColumnRoles:
    """Return the columns to score. Default: all except the ID, the known classes and fractions such as a confidence."""
    # Every column without another role is scored, whatever its values.
    columns = replace(source, truth=truth).choose(opened, by_values=False)
    if source.members is not None:
        return columns
    others = (columns.id, truth)
    # Fractions are confidences and the like, not labels.
    members = tuple(name for name in opened.columns if name not in others and opened.profile[name].kind != "number")
    if not members:
        raise InputError(
            f"{opened.path} has no other column of labels to score.",
            code="no-members",
            hint=("List the columns with ", Setting("members"), "."),
        )
    return replace(columns, members=members)


def _figure(value: float) -> str:
    return f"{value:.3f}"


def _tables_within(opened: LabelTable, columns: ColumnRoles) -> dict[str, NDArray[Any]]:
    """Return the contingency cells (cluster, class, rows) of each clustering, counted by DuckDB."""
    truth = opened.label(str(columns.truth))
    return {
        name: _cells(opened, name, f"SELECT {opened.label(name)} AS label, {truth} AS truth FROM {opened.view}")
        for name in columns.members
    }


def _tables_between(opened: LabelTable, columns: ColumnRoles, other: LabelTable, truth: str) -> dict[str, NDArray[Any]]:
    """Return the same for classes in another file, whose rows are in the same order."""
    if opened.n_rows != other.n_rows:
        raise InputError(
            f"{opened.path} has {count(opened.n_rows, 'row')} and {other.path} {count(other.n_rows, 'row')}.",
            code="row-counts",
            hint="Both must hold the same rows in the same order.",
        )
    cell = f"CAST({other.label(truth)} AS VARCHAR)"
    classes = other.fetch(f"SELECT {cell} AS truth FROM {other.numbered} ORDER BY {ROW}")["truth"]
    # Rows are matched by position.
    by_row = {"truth": np.ma.filled(classes, None), ROW: np.arange(len(classes))}
    opened.connection.register("known_classes", by_row)
    return {
        name: _cells(
            opened,
            name,
            f"SELECT labels.label, known_classes.truth FROM known_classes JOIN (SELECT {opened.label(name)} AS label, "
            f"{ROW} FROM {opened.numbered}) AS labels ON labels.{ROW} = known_classes.{ROW}",
        )
        for name in columns.members
    }


def _cells(opened: LabelTable, name: str, pairs: str) -> NDArray[Any]:
    """Return (cluster, class, rows) from a query of the label and the truth of each row."""
    counts = opened.fetch(
        f"SELECT CAST(label AS VARCHAR) AS label, CAST(truth AS VARCHAR) AS truth, count(*) AS n FROM ({pairs}) "
        "WHERE label IS NOT NULL AND truth IS NOT NULL GROUP BY ALL ORDER BY ALL"
    )
    if len(counts["n"]) == 0:
        raise InputError(f"No row has both a label in column {name!r} and a known class.", code="no-common-rows")
    return np.array([counts["label"], counts["truth"], counts["n"]], dtype=object)


def _evaluation(cells: NDArray[Any]) -> dict[str, Any]:
    """Return the number of rows, the scores, and the size, main class and purity of each cluster."""
    labels, row = np.unique(cells[0].astype(str), return_inverse=True)
    classes, column = np.unique(cells[1].astype(str), return_inverse=True)
    # One table of counts gives all scores.
    counts = np.zeros((len(labels), len(classes)))
    counts[row, column] = cells[2].astype(np.float64)
    sizes, most = counts.sum(axis=1), counts.argmax(axis=1)
    order = np.argsort(-sizes, kind="stable")
    clusters = [
        {
            "cluster": str(labels[c]),
            "rows": int(sizes[c]),
            "main_class": str(classes[most[c]]),
            "purity": float(counts[c, most[c]] / sizes[c]),
        }
        for c in order
    ]
    return {"rows": int(sizes.sum()), "scores": asdict(score_table(counts)), "clusters": clusters}


def _cluster_table(result: dict[str, Any]) -> Any:
    rows = [
        (c["cluster"], c["rows"], c["main_class"], f"{c['purity']:.3f} {bar(c['purity'], 8)}")
        for c in result["clusters"][:_CLUSTERS_SHOWN]
    ]
    return table("Clusters", ("cluster", "rows", "main class", "purity"), rows)
