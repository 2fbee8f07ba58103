"""`quorate explore`."""

from __future__ import annotations

import csv
import io
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
from quorate.columns.column_roles import ColumnRoles, soft_columns
from quorate.ensemble import Ensemble
from quorate.errors import InputError, Setting
from quorate.explorer.launch import Explorer, coordinates
from quorate.explorer.requests import Query
from quorate.explorer.workbench import Workbench
from quorate.labels import CountedLabels, Noise
from quorate.soft_ensemble import from_counted_memberships
from quorate.tables.counted_table import read_memberships
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
        ens = _ensemble(table, columns, source.checked_noise)
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
        command=lambda query, bench: _command(source, columns, query, bench),
        python=_reading(source, columns),
        **coordinates(ens, **{"features" if pair is None else "xy": given}),
    )


def _ensemble(table: LabelTable, columns: ColumnRoles, noise: Noise) -> Ensemble:
    """Return the ensemble of all rows of a table."""
    cells = [*map(table.label, columns.members), *map(table.number, soft_columns(columns.soft))]
    vectors = list(_cells(table, cells).values())
    labels, shares = vectors[: len(columns.members)], vectors[len(columns.members) :]
    if not columns.soft:
        return Ensemble(labels, names=columns.members, noise=noise)
    memberships = read_memberships(table, columns.soft, shares, lambda rows: rows)
    counted = CountedLabels(columns.members, labels, np.ones(len(vectors[0]), dtype=np.int64))
    return from_counted_memberships(counted, memberships, noise=noise, are_rows=True)[0]


def _reading(source: Source, columns: ColumnRoles) -> str:
    """Return the lines of Python that read the labels."""
    readers = {".csv": "read_csv", ".parquet": "read_parquet"}
    reader, members = readers.get(Path(source.file).suffix), list(columns.members)
    if reader is None or source.delimiter or source.header is not None:
        return f"labels = ...  # the columns {list(columns.cells)!r} of the table, as a data frame"
    table = f"import pandas as pd\n\nlabels = pd.{reader}({source.file!r})"
    if not columns.soft:
        return f"{table}[{members!r}]"
    soft = {name: list(names) for name, names in columns.soft.items()}
    noise = "" if source.noise == "missing" else f", noise={source.noise!r}"
    return f"{table}\nlabels = qt.ensemble_from_frame(labels, {members!r}, soft={soft!r}{noise})"


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


def _command(source: Source, columns: ColumnRoles, query: Query, bench: Workbench) -> str:
    """Return the command that writes the labels of a result."""
    n_hard, soft = len(columns.members), list(columns.soft.values())
    chosen = replace(
        source,
        members=[columns.members[j] for j in query.members if j < n_hard] or [""],  # none, not all of them
        soft=[_joined(soft[j - n_hard]) for j in query.members if j >= n_hard] or None,
        id_column=columns.id,
    )
    settings = [f"{name}={value!r}" for name, value in bench.settings(query).items()]
    return labels_command(chosen, query.method, settings, None, query.k or 2)


def _joined(names: Sequence[str]) -> str:
    """Return names as a comma-separated list in CSV quoting."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()
