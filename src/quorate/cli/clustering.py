"""`quorate cluster` and `quorate assign`."""

from __future__ import annotations

import json as json_format
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quorate._support.extras import import_extra
from quorate.cli.columns import Source
from quorate.cli.combining import print_summary
from quorate.cli.output import note, print_json
from quorate.errors import QuorateError
from quorate.scale.clustering import (
    FileClusters,
    Progress,
    Recipe,
    cluster_table,
    file_features,
    label_table,
)
from quorate.scale.columns import Columns, Wanted, choose_columns
from quorate.scale.files import STREAM, LabelTable, check_ending, check_output, output_format, write_text
from quorate.scale.models import FeatureModel, load_model, save_model
from quorate.show import Origin, render_report, summarise
from quorate.show.featureview import view_features


@dataclass(frozen=True)
class Outputs:
    """Where results go."""

    output: str | None
    output_format: str | None
    report: str | None = None
    summary: str | None = None
    model: str | None = None
    force: bool = False

    @property
    def files(self) -> list[str]:
        """All of them."""
        return [path for path in (self.output, self.report, self.summary, self.model) if path is not None]

    def check(self, source: str, *, json: bool) -> None:
        """Refuse, before any work, what could not be written in the end."""
        for path in self.files:
            check_output(path, force=self.force, source=source)
        names = [Path(path).resolve() for path in self.files if path != STREAM]
        if len(set(names)) < len(names):
            raise QuorateError("Two outputs have the same name. Write each to a file of its own.")
        if [*self.files, *([STREAM] if json else [])].count(STREAM) > 1:
            raise QuorateError("Only one result can go to standard output. Write the others to files.")
        if self.output is not None:
            output_format(self.output, self.output_format)
        check_ending(self.report, (".html", ".htm"), "the report")
        check_ending(self.summary, (".json",), "the summary")
        check_ending(self.model, (".npz",), "the model")

    def say(self, *, quiet: bool) -> None:
        """Say what was written."""
        for path in self.files:
            if path != STREAM:
                note(f"Written: {path}", quiet=quiet)


def run_cluster(source: Source, recipe: Recipe, outputs: Outputs, *, quiet: bool, json: bool) -> None:
    """Read features, cluster, write and print."""
    outputs.check(source.file, json=json)
    import_extra("pyarrow", "Clustering files")
    with source.open() as opened, row_progress(quiet=quiet) as progress:
        names = file_features(opened, source.members, known=_known(source))
        keep = _kept(opened, source)
        found = cluster_table(
            opened,
            names,
            recipe,
            outputs.output,
            keep=keep,
            format=outputs.output_format,
            force=outputs.force,
            progress=progress,
        )
    summary = _summary(source, found)
    if outputs.model is not None:
        save_model(found.model, outputs.model, force=outputs.force)
    if outputs.report is not None:
        write_text(outputs.report, render_report(summary), force=outputs.force)
    if outputs.summary is not None:
        write_text(outputs.summary, json_format.dumps(summary, allow_nan=False), force=outputs.force)
    if json:
        print_json(summary)
    elif outputs.output is None or not quiet:
        print_summary(summary, to_stderr=STREAM in outputs.files)
    outputs.say(quiet=quiet)


def run_assign(source: Source, model: str, outputs: Outputs, *, quiet: bool, json: bool) -> None:
    """Label the rows of a table by a saved model."""
    outputs.check(source.file, json=json)
    fitted = load_model(model)
    import_extra("pyarrow", "Clustering files")
    sizes = np.zeros(fitted.n_clusters + 1, dtype=np.int64)
    with source.open() as opened, row_progress(quiet=quiet) as progress:
        file_features(opened, fitted.features)
        keep = _kept(opened, source, fitted)
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
        note(f"{counted['rows']:,} rows in {fitted.n_clusters} clusters: {counted['clusters']}", quiet=quiet)
        if counted["without"]:
            note(f"{counted['without']:,} rows have missing numbers, and no cluster (-1).", quiet=quiet)
    outputs.say(quiet=quiet)


def _known(source: Source) -> tuple[str, ...]:
    return tuple(name for name in (source.id_column, source.truth, *(source.keep or ())) if name is not None)


def _kept(table: LabelTable, source: Source, model: FeatureModel | None = None) -> Sequence[str]:
    """Return the columns to copy to the output: the name of the rows, known classes, and what was asked for."""
    features = [name for name in table.columns if name not in _known(source)] if model is None else model.features
    wanted = Wanted(None if model is None else list(features), source.id_column, source.truth, source.keep or ())
    columns: Columns = choose_columns(table, wanted, labels=False)
    return columns.keep


def _summary(source: Source, found: FileClusters) -> dict[str, Any]:
    """Return what came out: of the sample, with the sizes of all rows."""
    fitted = found.estimator.consensus_
    name = "standard input" if source.file == STREAM else Path(source.file).name
    command = shlex.join(["quorate", *sys.argv[1:]]) if sys.argv[1:] else None
    summary = summarise(fitted, Origin(name=name, command=command), n_clusters=[fitted.n_clusters_])
    clusters = {
        "rows": found.n_rows,
        "sample": len(found.sample),
        "features": list(found.features),
        "sizes": found.sizes.tolist(),
    }
    seen = found.model.assign(found.sample)
    view = view_features(found.sample, found.features, seen.labels.astype(np.int64), seen.confidence.astype(np.float64))
    return {**summary, "features": {**clusters, **asdict(view)}}


@contextmanager
def row_progress(*, quiet: bool) -> Iterator[Progress | None]:
    """Show on standard error, if that is a terminal, how many rows are read or labelled, how fast, and what is left."""
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
