"""The summary of a clustered file: computed on a sample of its rows, with sizes of all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quorate._utils.array_types import Floats
from quorate.errors import Setting
from quorate.reporting.feature_view import FeatureRows
from quorate.reporting.origin import Origin, known_classes
from quorate.reporting.row_facts import facts_in_memory
from quorate.reporting.sentences import found_clusters, headline, outlook_sentences
from quorate.reporting.summary import summarize
from quorate.tables.clustering import FileClusters

_MOST_LISTED = 20


def summarize_clusters(
    clusters: FileClusters,
    *,
    name: str,
    id_column: str | None = None,
    truth: str | None = None,
    plane: Sequence[str] | None = None,
    command: str | None = None,
    command_at: Callable[[int], str] | None = None,
    show: Callable[[Setting], str] = str,
    n_clusters: Iterable[int] | None = None,
) -> dict[str, Any]:
    """Return the summary of a clustered file, as plain values.

    Parameters
    ----------
    clusters : FileClusters
    name : str
        The name of the file.
    id_column, truth : str, optional
        Columns that were kept with the sample: row IDs and known classes.
    plane : two column names, optional
        Coordinates of the rows: features, or columns that were kept with the sample.
    command, command_at, n_clusters
        As in `Origin` and `summarize`.
    show : callable
        Writes parameters in advice, as in `QuorateError.render`.
    """
    ens = clusters.estimator.ensemble_
    names = _row_names(clusters, id_column)

    def without(columns: list[str]) -> str:
        others = [feature for feature in clusters.features if feature not in columns]
        if len(others) > _MOST_LISTED:
            return f"list the others in {show(Setting('features'))}"
        return f"use {show(Setting('features', others))}"

    origin = Origin(
        name=name,
        id_column=id_column,
        classes=None if truth is None else known_classes(ens, clusters.trace.cells[truth], truth),
        command=command,
        command_at=command_at,
        row_facts=lambda patterns, most: facts_in_memory(ens, patterns, most, ids=names),
        features=replace(sampled_features(clusters, plane), without=without),
        structure=clusters.estimator.structure_,
        choice=clusters.estimator.choice_,
        automatic=clusters.estimator.n_clusters == "auto",
    )
    return _scale_to_all_rows(summarize(clusters.estimator.consensus_, origin, n_clusters=n_clusters), clusters)


def sampled_features(clusters: FileClusters, plane: Sequence[str] | None) -> FeatureRows:
    """Return the sampled rows with their features."""
    pattern = clusters.estimator.ensemble_.row_pattern
    rows = FeatureRows(
        clusters.sample.rows,
        clusters.features,
        clusters.sample.counts.astype(np.float64),
        lambda cut: (cut.labels[pattern], cut.confidence[pattern]),
    )
    if plane is None:
        return rows
    more = [name for name in plane if name not in clusters.features and name in clusters.trace.cells]
    return rows.with_columns(more, [_numbers(clusters.trace.cells[name]) for name in more]).in_plane(plane)


def _numbers(cells: Sequence[Any]) -> Floats:
    return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)


def _row_names(clusters: FileClusters, id_column: str | None) -> list[str]:
    """Return the names of the sampled rows: the values of the ID column, or their numbers in the file."""
    numbered = [f"row {number}" for number in clusters.trace.numbers]
    if id_column is None:
        return numbered
    cells = clusters.trace.cells[id_column]
    return [number if cell is None else str(cell) for cell, number in zip(cells, numbered, strict=True)]


def _scale_to_all_rows(summary: dict[str, Any], clusters: FileClusters) -> dict[str, Any]:
    """Replace the sizes of the sample by those of all rows: counted at the written k, estimated at other k."""
    ens = clusters.estimator.ensemble_
    n_labeled = int(clusters.sizes.sum())
    for answer in summary["answers"]:
        written = answer["k"] == clusters.n_clusters
        sampled = [cluster["size"] for cluster in answer["clusters"]]
        total = sum(sampled) or 1.0
        sizes = clusters.sizes.astype(np.float64) if written else np.rint(np.array(sampled) / total * n_labeled)
        for cluster, size in zip(answer["clusters"], sizes.tolist(), strict=True):
            cluster["size"], cluster["share"] = size, round(size / max(clusters.n_rows, 1), 6)
        answer["unlabeled"] = float(clusters.n_rows - n_labeled)
        answer["finding"] = found_clusters(sizes.tolist(), len(summary["members"]))
        _scale_split(answer["outlook"], sampled, sizes.tolist())
    summary["source"]["rows"] = clusters.n_rows
    summary["rows"]["all"] &= ens.n_rows == clusters.n_rows
    # Equal rows are one row of the sample.
    whole = int(clusters.sample.counts.sum()) == clusters.n_rows
    summary["features"] |= {"sample": ens.n_rows, "whole": whole, "sizes": clusters.sizes.tolist()}
    return {**summary, "headline": headline(summary)}


def _scale_split(outlook: dict[str, Any], sampled: Sequence[float], sizes: Sequence[float]) -> None:
    """Scale the parts of the next split from the sample to all rows, so that they fit into their cluster."""
    split = outlook["split"]
    if split is not None:
        scale = sizes[split["cluster"]] / (sampled[split["cluster"]] or 1.0)
        split["sizes"] = [float(np.floor(size * scale + 1e-9)) for size in split["sizes"]]
    outlook["sentences"] = outlook_sentences(outlook["merge"], split, sizes)
