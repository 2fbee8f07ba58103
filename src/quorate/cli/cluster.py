"""`quorate cluster` and `quorate assign`."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from quorate._utils.optional_imports import import_extra
from quorate.cli.combine import check_consensus_method, print_summary
from quorate.cli.output import count, note, print_json
from quorate.cli.output_files import Outputs
from quorate.cli.repeat_command import cluster_command
from quorate.cli.table_source import Source, column_flag, note_roles, split_names
from quorate.columns.column_roles import ColumnRoles, feature_roles
from quorate.errors import InputError
from quorate.persistence.feature_models import load_model, save_model
from quorate.reporting.clustered_files import summarize_clusters
from quorate.tables.clustering import (
    FileClusters,
    Progress,
    Recipe,
    cluster_table,
    label_table,
)
from quorate.tables.io import STREAM, LabelTable


def parse_k(text: str) -> int | str:
    """Parse the number of clusters, or "auto"."""
    if text.strip().lower() == "auto":
        return "auto"
    if not text.strip().isdigit() or int(text) < 1:
        raise InputError(f"must be a number of clusters or auto; got {text!r}.", code="k", parameter="n_clusters")
    return int(text)


def run_cluster(
    source: Source, recipe: Recipe, outputs: Outputs, plane: str | None, *, quiet: bool, json: bool
) -> None:
    """Read features, cluster, write and print; `plane` are the two columns of the axes of the report's plot."""
    check_consensus_method(recipe.estimator.method)
    outputs.check(source.file, json=json)
    # Missing packages are reported before the table is read.
    import_extra("pyarrow", "Clustering files")
    with source.open() as opened, row_progress(quiet=quiet) as progress:
        axes = None if plane is None else split_names([plane], opened)
        columns = source.choose_features(opened, drawn=axes or ())
        note_roles(columns, quiet=quiet)
        names = columns.members
        clusters = cluster_table(
            opened,
            names,
            recipe,
            outputs.output,
            keep=columns.keep,
            format=outputs.output_format,
            force=outputs.force,
            progress=progress,
            traced=_traced(opened, columns, axes),
        )
        # With -q and -o nothing is shown, so that no summary is computed.
        shown = json or outputs.output is None or not quiet
        summary = _summary(source, columns, outputs, axes, clusters) if shown or outputs.described else None
    if outputs.model is not None:
        save_model(clusters.model, outputs.model, force=outputs.force)
    if summary is not None:
        outputs.describe(summary)
    if json:
        print_json(summary)
    elif shown and summary is not None:
        print_summary(summary, to_stderr=STREAM in outputs.files)
    outputs.note_written(quiet=quiet)


def run_assign(source: Source, model: str, outputs: Outputs, *, quiet: bool, json: bool) -> None:
    """Assign the rows of a table to the clusters of a saved model."""
    outputs.check(source.file, json=json)
    fitted = load_model(model)
    import_extra("pyarrow", "Clustering files")
    sizes = np.zeros(fitted.n_clusters + 1, dtype=np.int64)
    with source.open() as opened, row_progress(quiet=quiet) as progress:
        # The model names its features; known classes do not matter here.
        request = replace(source.request(opened), members=list(fitted.features), truth=None)
        keep = feature_roles(opened, request).keep
        label_table(
            opened,
            fitted,
            keep,
            outputs.output,
            sizes,
            format=outputs.output_format,
            force=outputs.force,
            progress=progress,
        )
    counted = {"rows": int(sizes.sum()), "clusters": sizes[:-1].tolist(), "without": int(sizes[-1])}
    if json:
        print_json(counted)
    else:
        sizes_listed = ", ".join(f"{size:,}" for size in counted["clusters"])
        note(f"{count(counted['rows'], 'row')} in {count(fitted.n_clusters, 'cluster')}: {sizes_listed}", quiet=quiet)
        if counted["without"]:
            reason = "missing numbers" if fitted.clusters.outliers is None else "outliers or missing numbers"
            note(f"No cluster (-1), because of {reason}: {count(counted['without'], 'row')}.", quiet=quiet)
    outputs.note_written(quiet=quiet)


def _traced(table: LabelTable, columns: ColumnRoles, plane: Sequence[str] | None) -> Sequence[str]:
    """Return the columns besides the features that a summary needs: IDs, known classes, and the axes of the plot."""
    axes = [table.column(name).name for name in plane or ()]
    for name in axes:
        if not table.is_numeric(name):
            raise InputError(f"must be two numeric columns; {name!r} is text.", code="text-column", parameter="plane")
    needed = (columns.id, columns.truth, *axes)
    return list(dict.fromkeys(name for name in needed if name is not None and name not in columns.members))


def _summary(
    source: Source, columns: ColumnRoles, outputs: Outputs, plane: Sequence[str] | None, clusters: FileClusters
) -> dict[str, Any]:
    """Return the summary of all rows; for a report, at the usual numbers of clusters."""
    return summarize_clusters(
        clusters,
        name=source.name,
        id_column=columns.id,
        truth=columns.truth,
        plane=plane,
        command=shlex.join(["quorate", *sys.argv[1:]]) if sys.argv[1:] else None,
        command_at=lambda k: cluster_command(sys.argv[2:], k),
        show=column_flag,
        n_clusters=None if outputs.described else [clusters.n_clusters],
    )


@contextmanager
def row_progress(*, quiet: bool) -> Iterator[Progress | None]:
    """Show the number of processed rows, the speed and the time left on standard error, if that is a terminal."""
    # Progress goes to a terminal only, so that logs stay clean.
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, tuple[Any, float]] = {}

        def advance(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = (bar.add_task(what, total=total), time.perf_counter())
            task, start = tasks[what]
            speed = done / max(time.perf_counter() - start, 1e-3)
            bar.update(task, completed=done, total=total, description=f"{what} {done:,} rows, {speed:,.0f} per second")

        yield advance
