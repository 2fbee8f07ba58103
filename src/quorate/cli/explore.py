"""`quorate explore`."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from quorate.cli.interrupts import raised
from quorate.cli.output import note, progress
from quorate.cli.repeat_command import labels_command
from quorate.cli.table_source import Source, say_guesses
from quorate.ensemble import Ensemble
from quorate.errors import QuorateError
from quorate.explorer.launch import Explorer, coordinates
from quorate.explorer.requests import Ask
from quorate.explorer.workbench import Workbench
from quorate.tables.io import ROW, STREAM, LabelTable, open_table


def run_explore(source: Source, features: str | None, xy: str | None, port: int, *, browser: bool, quiet: bool) -> None:
    """Read the table, serve the page, and wait until it is stopped."""
    with progress("Opening", quiet=quiet):
        bench = open_bench(source, features, xy, quiet=quiet)
        explorer = Explorer(bench, port=port).start()
    print(explorer.url, flush=True)
    note("Open this address in a browser of this machine; Ctrl-C ends the explorer.", quiet=quiet)
    if browser:
        webbrowser.open(explorer.url)
    with raised():
        explorer.wait()


def open_bench(source: Source, features: str | None, xy: str | None, *, quiet: bool) -> Workbench:
    """Return the ensemble of a table with its rows, names, classes and coordinates in memory."""
    pair = None if xy is None else [name.strip() for name in xy.split(",")]
    if pair is not None and len(pair) != 2:
        raise QuorateError(f"--xy names two columns, split by a comma, such as umap1,umap2; got {xy!r}.")
    with source.open() as table:
        kept = [*(source.keep or ()), *(name for name in pair or () if name in table.columns)]
        columns = replace(source, keep=kept).choose(table)
        say_guesses(columns, quiet=quiet)
        labels = _cells(table, [table.label(name) for name in columns.members])
        ens = Ensemble(
            [labels[f"c{j}"] for j in range(len(columns.members))], names=columns.members, noise=source.checked_noise
        )
        ids = None if columns.id is None else _texts(table, columns.id)
        truth = None if columns.truth is None else _texts(table, columns.truth)
        own = None if pair is None or features is not None else _numbers(table, pair)
    given = own if features is None else _features(features, pair)
    return Workbench(
        ens,
        name="standard input" if source.file == STREAM else Path(source.file).name,
        ids=ids,
        id_name=columns.id,
        truth=None if truth is None else tuple(truth),
        truth_name=columns.truth,
        command=lambda ask, bench: _command(source, columns.id, columns.members, ask, bench),
        python=_reading(source, columns.members),
        **coordinates(ens, **{"features" if pair is None else "xy": given}),
    )


def _reading(source: Source, members: Sequence[str]) -> str:
    """Return the lines of Python that read the labels."""
    readers = {".csv": "read_csv", ".parquet": "read_parquet"}
    reader = readers.get(Path(source.file).suffix)
    if reader is None or source.delimiter or source.header is not None:
        return f"labels = ...  # the columns {list(members)!r} of the table, as a data frame"
    return f"import pandas as pd\n\nlabels = pd.{reader}({source.file!r})[{list(members)!r}]"


def _features(path: str, pair: Sequence[str] | None) -> Any:
    """Return the columns of numbers in a table of features: those named, or all."""
    with open_table(path) as table:
        names = pair or [name for name in table.columns if table.profile[name].kind in ("integer", "number")]
        if not names:
            raise QuorateError(f"{path} has no column of numbers to draw. Name two with --xy.")
        return _numbers(table, names)


def _cells(table: LabelTable, cells: Sequence[str]) -> dict[str, Any]:
    """Return some columns of all rows, in the order of the table."""
    wanted = ", ".join(f"{cell} AS c{j}" for j, cell in enumerate(cells))
    return table.fetch(f"SELECT {wanted} FROM {table.numbered} ORDER BY {ROW}")


def _texts(table: LabelTable, name: str) -> list[str]:
    found = _cells(table, [f"CAST({table.raw(name)} AS VARCHAR)"])["c0"]
    return [str(cell) for cell in np.ma.filled(found, "")]


def _numbers(table: LabelTable, names: Sequence[str]) -> Any:
    found = _cells(table, [f"TRY_CAST({table.raw(name)} AS DOUBLE)" for name in names])
    return np.column_stack([np.ma.filled(found[f"c{j}"], np.nan) for j in range(len(names))])


def _command(source: Source, id_column: str | None, members: Sequence[str], ask: Ask, bench: Workbench) -> str:
    """Return the command that writes the labels of an answer."""
    chosen = replace(source, members=[members[j] for j in ask.members], id_column=id_column)
    settings = [f"{name}={value!r}" for name, value in bench.settings(ask).items()]
    return labels_command(chosen, ask.method, settings, None, ask.k or 2)
