"""`quorate compare`."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import Any

from quorate.cli.output import console, print_json, progress, table
from quorate.cli.table_source import Source
from quorate.reporting.plain_values import change_values
from quorate.tables.comparing import compare_stored, label_pair, read_partition

_MOVED_SHOWN = 20


def run_compare(source: Source, new_file: str, label: str | None, *, quiet: bool, json: bool) -> None:
    """Compare the partitions in two tables and print what changed."""
    # CSV quoting, so that names may contain commas.
    old_label, new_label = label_pair(None if label is None else next(csv.reader([label], skipinitialspace=True), []))
    with progress("Comparing", quiet=quiet):
        with source.open() as opened:
            old = read_partition(opened, old_label, source.id_column)
        with replace(source, file=new_file).open() as opened:
            new = read_partition(opened, new_label, source.id_column)
        change = compare_stored(old, new)
    moved = change.moved if new.ids is None else new.ids[change.moved]
    if json:
        print_json({**change_values(change), "moved": moved.tolist()})
        return
    out = console()
    print_change(out, change_values(change))
    if len(moved):
        shown = ", ".join(str(row) for row in moved[:_MOVED_SHOWN])
        rest = f" and {len(moved) - _MOVED_SHOWN:,} more (--json lists all)" if len(moved) > _MOVED_SHOWN else ""
        out.print(f"Moved rows: {shown}{rest}.")


def print_change(out: Any, change: dict[str, Any]) -> None:
    """Print what changed: the sentence, and the clusters that correspond, are nested, new or gone."""
    out.print(change["sentence"], markup=False)
    rows = [
        (pair["first"], pair["second"], pair["n_shared"], f"{pair['jaccard']:.3f}", pair["relation"])
        for pair in change["matches"]
        if pair["relation"] != "overlaps"
    ]
    out.print(table("Clusters", ("old", "new", "shared rows", "Jaccard", "relation"), rows))
