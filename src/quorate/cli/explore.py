"""`quorate explore`."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from quorate.cli.interrupts import keyboard_interrupts
from quorate.cli.output import note, progress
from quorate.cli.repeat_command import labels_command
from quorate.cli.table_source import Source, note_roles
from quorate.ensemble import Ensemble
from quorate.errors import InputError, Setting
from quorate.explorer.launch import Explorer, coordinates
from quorate.explorer.requests import Query
from quorate.explorer.workbench import Workbench
from quorate.tables.io import ROW, LabelTable, open_table


def run_explore(source: Source, features: str | None, xy: str | None, port: int, *, browser: bool, quiet: bool) -> None:
    """Read the table, serve the page, and wait until it is stopped."""
    with progress("Opening", quiet=quiet):
        bench = open_bench(source, features, xy, quiet=quiet)
        explorer = Explorer(bench, port=port).start()
    print(explorer.url, flush=True)
    note("Open this address in a browser on this machine. Ctrl-C stops the explorer.", quiet=quiet)
    if browser:
        webbrowser.open(explorer.url)
    with keyboard_interrupts():
        explorer.wait()


def open_bench(source: Source, features: str | None, xy: str | None, *, quiet: bool) -> Workbench:
    """Load the ensemble of a table with its row IDs, classes and coordinates."""
    pair = None if xy is None else [name.strip() for name in xy.split(",")]
    if pair is not None and len(pair) != 2:
        raise InputError(f"takes two columns, such as umap1,umap2; got {xy!r}.", code="two-columns", parameter="xy")
    with source.open() as table:
        keep = [*(source.keep or ()), *(name for name in pair or () if name in table.columns)]
        columns = replace(source, keep=keep).choose(table)
        note_roles(columns, quiet=quiet)
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
        name=source.name,
        ids=ids,
        id_name=columns.id,
        truth=None if truth is None else tuple(truth),
        truth_name=columns.truth,
        command=lambda query, bench: _command(source, columns.id, columns.members, query, bench),
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
    """Return the numeric columns of a table of features: the pair, or all."""
    with open_table(path) as table:
        names = pair or [name for name in table.columns if table.profile[name].kind in ("integer", "number")]
        if not names:
            raise InputError(
                f"{path} has no numeric column to plot.",
                code="no-numbers",
                hint=("Choose two with ", Setting("xy"), "."),
            )
        return _numbers(table, names)


def _cells(table: LabelTable, cells: Sequence[str]) -> dict[str, Any]:
    """Return SQL expressions evaluated on all rows, in the order of the table."""
    selected = ", ".join(f"{cell} AS c{j}" for j, cell in enumerate(cells))
    return table.fetch(f"SELECT {selected} FROM {table.numbered} ORDER BY {ROW}")


def _texts(table: LabelTable, name: str) -> list[str]:
    cells = _cells(table, [f"CAST({table.raw(name)} AS VARCHAR)"])["c0"]
    return [str(cell) for cell in np.ma.filled(cells, "")]


def _numbers(table: LabelTable, names: Sequence[str]) -> Any:
    cells = _cells(table, [f"TRY_CAST({table.raw(name)} AS DOUBLE)" for name in names])
    return np.column_stack([np.ma.filled(cells[f"c{j}"], np.nan) for j in range(len(names))])


def _command(source: Source, id_column: str | None, members: Sequence[str], query: Query, bench: Workbench) -> str:
    """Return the command that writes the labels of a result."""
    chosen = replace(source, members=[members[j] for j in query.members], id_column=id_column)
    settings = [f"{name}={value!r}" for name, value in bench.settings(query).items()]
    return labels_command(chosen, query.method, settings, None, query.k or 2)
