"""The summary of a clustered file: found on a sample of its rows, told of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from quorate._utils.array_types import Floats
from quorate.reporting.feature_view import FeatureRows
from quorate.reporting.origin import Origin, known_classes
from quorate.reporting.row_facts import facts_in_memory
from quorate.reporting.sentences import verdict
from quorate.reporting.summary import summarize
from quorate.tables.clustering import FileClusters


def summarize_clusters(
    found: FileClusters,
    *,
    name: str,
    id_column: str | None = None,
    truth: str | None = None,
    plane: Sequence[str] | None = None,
    command: str | None = None,
    command_at: Callable[[int], str] | None = None,
    n_clusters: Iterable[int] | None = None,
) -> dict[str, Any]:
    """Return the summary of a clustered file, as plain values.

    Parameters
    ----------
    found : FileClusters
    name : str
        What the file is called.
    id_column, truth : str, optional
        Columns that were traced: the names of the rows, and known classes.
    plane : two column names, optional
        By which rows are drawn: features, or columns that were traced.
    command, command_at, n_clusters
        As in `Origin` and `summarize`.
    """
    ens = found.estimator.ensemble_
    names = _row_names(found, id_column)
    origin = Origin(
        name=name,
        id_column=id_column,
        classes=None if truth is None else known_classes(ens, found.trace.cells[truth], truth),
        command=command,
        command_at=command_at,
        look=lambda patterns, most: facts_in_memory(ens, patterns, most, ids=names),
        features=sampled_features(found, plane),
        structure=found.estimator.structure_,
    )
    return _of_all_rows(summarize(found.estimator.consensus_, origin, n_clusters=n_clusters), found)


def sampled_features(found: FileClusters, plane: Sequence[str] | None) -> FeatureRows:
    """Return the rows of the sample, ready to be drawn."""
    pattern = found.estimator.ensemble_.row_pattern
    rows = FeatureRows(
        found.sample.rows,
        found.features,
        found.sample.counts.astype(np.float64),
        lambda cut: (cut.labels[pattern], cut.confidence[pattern]),
    )
    if plane is None:
        return rows
    more = [name for name in plane if name not in found.features and name in found.trace.cells]
    return rows.with_columns(more, [_numbers(found.trace.cells[name]) for name in more]).in_plane(plane)


def _numbers(cells: Sequence[Any]) -> Floats:
    return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)


def _row_names(found: FileClusters, id_column: str | None) -> list[str]:
    """Return what the rows of the sample are called: by the column of names, or by their numbers in the file."""
    numbered = [f"row {number}" for number in found.trace.numbers]
    if id_column is None:
        return numbered
    cells = found.trace.cells[id_column]
    return [number if cell is None else str(cell) for cell, number in zip(cells, numbered, strict=True)]


def _of_all_rows(summary: dict[str, Any], found: FileClusters) -> dict[str, Any]:
    """Put the numbers of all rows in place of those of the sample: counted as written, estimated at other k."""
    ens = found.estimator.ensemble_
    n_labeled = int(found.sizes.sum())
    for answer in summary["answers"]:
        written = answer["k"] == found.n_clusters
        total = sum(cluster["size"] for cluster in answer["clusters"]) or 1.0
        for cluster in answer["clusters"]:
            size = found.sizes[cluster["label"]] if written else np.rint(cluster["size"] / total * n_labeled)
            cluster["size"], cluster["share"] = float(size), round(float(size) / max(found.n_rows, 1), 6)
        answer["unlabeled"] = float(found.n_rows - n_labeled)
    whole = ens.n_rows == found.n_rows
    summary["source"]["rows"] = found.n_rows
    summary["rows"]["all"] &= whole
    summary["features"] |= {"sample": ens.n_rows, "whole": whole, "sizes": found.sizes.tolist()}
    return {**summary, "verdict": verdict(summary)}
