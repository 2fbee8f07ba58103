"""The features' view of clusters: rows in a plane, and the features that set each cluster apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quorate._support.typing import Floats, Ints

_MOST_POINTS = 3000
_MOST_FEATURES = 5


@dataclass(frozen=True)
class FeatureView:
    """What the report draws of features."""

    axes: tuple[str, str]
    points: list[list[float]]
    """Some rows in the plane."""
    clusters: list[int]
    confidence: list[float]
    apart: list[list[tuple[str, float]]]
    """Of each cluster, the features whose mean differs most from that of the other rows, in standard deviations."""


def view_features(
    rows: Floats,
    names: Sequence[str],
    labels: Ints,
    confidence: Floats,
    columns: tuple[str, str] | None = None,
    most: int = _MOST_POINTS,
) -> FeatureView:
    """Return the plane of some rows (the first `most`, which of a sample are as good as any) and what sets them apart.

    Parameters
    ----------
    rows : (n, d)
        Rows of a sample, on their own scales.
    names : sequence of str
    labels, confidence : (n,)
    columns : (str, str), optional
        Features to draw rows by. Default: the two main directions of the standardised features.
    """
    deviation = np.nanstd(rows, axis=0)
    standard = np.nan_to_num((rows - np.nanmean(rows, axis=0)) / np.where(deviation > 0, deviation, 1.0))
    if columns is None:
        axes, plane = ("first direction", "second direction"), _main_directions(standard)
    else:
        axes, plane = columns, rows[:, [list(names).index(name) for name in columns]]
    return FeatureView(
        axes,
        np.round(plane[:most], 4).tolist(),
        labels[:most].tolist(),
        np.round(confidence[:most].astype(np.float64), 4).tolist(),
        [_apart(standard, names, labels == label) for label in range(int(labels.max(initial=-1)) + 1)],
    )


def _main_directions(standard: Floats) -> Floats:
    """Return rows along the two leading eigenvectors of their covariance, whose largest entries are positive."""
    if standard.shape[1] == 1:
        return np.column_stack([standard[:, 0], np.zeros(len(standard))])
    vectors = np.linalg.eigh(standard.T @ standard)[1][:, [-1, -2]]
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), [0, 1]])
    return standard @ (vectors * signs)


def _apart(standard: Floats, names: Sequence[str], inside: np.ndarray) -> list[tuple[str, float]]:
    """Return the features in which a cluster's mean differs most from that of the other rows."""
    if not inside.any() or inside.all():
        return []
    difference = standard[inside].mean(axis=0) - standard[~inside].mean(axis=0)
    order = np.argsort(-np.abs(np.round(difference, 9)), kind="stable")[:_MOST_FEATURES]
    return [(str(names[j]), round(float(difference[j]), 4)) for j in order]
