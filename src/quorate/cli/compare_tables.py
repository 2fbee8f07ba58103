"""`quorate compare`."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.analysis.compare import PartitionComparison, compare
from quorate.cli.output import console, print_json, progress, table
from quorate.cli.table_source import Source
from quorate.errors import InputError, Setting
from quorate.tables.io import ROW, LabelTable

CONSENSUS = "consensus"
_MOVED_SHOWN = 20


def run_compare(source: Source, new_file: str, label: str | None, *, quiet: bool, json: bool) -> None:
    """Compare the partitions in two tables and print what changed."""
    with progress("Comparing", quiet=quiet):
        with source.open() as opened:
            members = [_label_column(opened, label)]
            id_column = replace(source, members=members).choose(opened, by_values=False).id
            old, old_ids = _partition(opened, label, id_column)
        with replace(source, file=new_file).open() as opened:
            new, new_ids = _partition(opened, label, id_column)
        change = compare(old, new, old_ids=old_ids, new_ids=new_ids)
    moved = change.moved if new_ids is None else new_ids[change.moved]
    if json:
        print_json(_plain(change, moved))
        return
    out = console()
    out.print(change.sentence)
    rows = [
        (pair.first, pair.second, pair.n_shared, f"{pair.jaccard:.3f}", pair.relation)
        for pair in change.matches
        if pair.relation != "overlaps"
    ]
    out.print(table("Clusters", ("old", "new", "shared rows", "Jaccard", "old cluster is"), rows))
    if len(moved):
        shown = ", ".join(str(row) for row in moved[:_MOVED_SHOWN])
        rest = f" and {len(moved) - _MOVED_SHOWN:,} more (--json lists all)" if len(moved) > _MOVED_SHOWN else ""
        out.print(f"Moved rows: {shown}{rest}.")


def _partition(
    opened: LabelTable, label: str | None, id_column: str | None
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return the labels of a table, and the ids of its rows if there are any."""
    cells = [f"{opened.label(_label_column(opened, label))} AS label"]
    if id_column is not None:
        cells.append(f"CAST({opened.raw(id_column)} AS VARCHAR) AS id")
    columns = opened.fetch(f"SELECT {', '.join(cells)} FROM {opened.numbered} ORDER BY {ROW}")
    ids = None if id_column is None else np.ma.filled(columns["id"], "").astype(str)
    return columns["label"], ids


def _label_column(opened: LabelTable, label: str | None) -> str:
    """Return the column of cluster labels."""
    if label is None and CONSENSUS not in opened.columns:
        raise InputError(
            f"{opened.path} has no column {CONSENSUS!r}; it has {', '.join(map(repr, opened.columns))}.",
            code="no-partition",
            hint=("Name the column of cluster labels with ", Setting("label"), "."),
        )
    return label or CONSENSUS


def _plain(change: PartitionComparison, moved: NDArray[Any]) -> dict[str, Any]:
    return {
        "rows": change.n_rows,
        "added": change.n_added,
        "removed": change.n_removed,
        "share_moved": change.share_moved,
        "ari": change.ari,
        "matches": [asdict(pair) | {"relation": pair.relation} for pair in change.matches],
        "kept": [[pair.first, pair.second] for pair in change.kept],
        "split": [[old, list(new)] for old, new in change.split.items()],
        "merged": [[list(old), new] for new, old in change.merged.items()],
        "new": list(change.new),
        "gone": list(change.gone),
        "moved": moved.tolist(),
        "sentence": change.sentence,
    }
