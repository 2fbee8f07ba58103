"""The features' view of clusters: some rows in a plane, and the features that set each cluster apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate._utils.array_types import Bools, Floats, Ints
from quorate._utils.checks import nearest_name
from quorate.algorithms.base import ConsensusMethod
from quorate.analysis.structure.feature_structure import thinned
from quorate.errors import QuorateError
from quorate.features.consensus_clustering import ConsensusClustering
from quorate.features.sampling import hash_rows
from quorate.labels import as_narwhals
from quorate.reliability import ratio
from quorate.reporting.views import Cut, Fitted, fitted_method

_MOST_POINTS = 3000
# About how many numbers a report may hold about points: labels and confidences at each number of clusters.
_CELLS = 40_000
_MOST_FEATURES = 5

LabelsAt = Callable[[Cut], tuple[Ints, Floats] | None]
"""Gives the labels and confidences of rows at a number of clusters, or None where they are not known."""


@dataclass(frozen=True)
class FeatureRows:
    """Rows with their features, to be drawn."""

    values: Floats
    """(n, d) on the features' own scales; NaN where a number is missing."""
    names: tuple[str, ...]
    weights: Floats
    """(n,) how many rows each stands for."""
    labels_at: LabelsAt
    plane: Floats | None = None
    """(n, 2) where rows are drawn; None: along the two main directions of the standardized features."""
    axes: tuple[str, str] = ("first", "second")

    def with_columns(self, names: Sequence[str], columns: Sequence[Floats]) -> FeatureRows:
        """Return the rows with further columns of numbers."""
        return replace(self, values=np.column_stack([self.values, *columns]), names=(*self.names, *names))

    def in_plane(self, columns: Sequence[str]) -> FeatureRows:
        """Return the rows drawn by two columns; other features alone then set clusters apart, if there are any."""
        if isinstance(columns, str) or len(columns) != 2:
            raise QuorateError(f"plane must name two columns, such as ('umap_1', 'umap_2'); got {columns!r}.")
        for name in columns:
            if name not in self.names:
                raise QuorateError(f"plane names {name!r}, which is no column.{nearest_name(name, self.names)}")
        drawn = [self.names.index(name) for name in columns]
        rest = [j for j in range(len(self.names)) if j not in drawn] or drawn
        return replace(
            self,
            values=self.values[:, rest],
            names=tuple(self.names[j] for j in rest),
            plane=self.values[:, drawn],
            axes=(str(columns[0]), str(columns[1])),
        )


def view_features(rows: FeatureRows, cuts: Sequence[Cut]) -> dict[str, Any]:
    """Return, as plain values, some rows in the plane with their labels, and what sets each cluster apart.

    Which rows are drawn depends on what is in them and on their weights, not on their order.
    """
    mean, deviation = _moments(rows.values, rows.weights)
    standard = np.nan_to_num((rows.values - mean) / np.where(deviation > 0, deviation, 1.0))
    most = min(_MOST_POINTS, _CELLS // (2 * len(cuts) + 2))
    chosen = choose_points(rows.values if rows.plane is None else rows.plane, rows.weights, most)
    axes, plane = rows.axes, rows.plane
    points = _main_directions(standard[chosen]) if plane is None else plane[chosen]
    known = {cut.n_clusters: found for cut in cuts if (found := rows.labels_at(cut)) is not None}
    return {
        "axes": list(axes),
        "main": plane is None,
        "rows": float(rows.weights.sum()),
        "names": list(rows.names),
        "points": np.round(np.nan_to_num(points), 4).tolist(),
        "labels": {str(k): labels[chosen].tolist() for k, (labels, _) in known.items()},
        "confidence": {
            str(k): np.rint(100 * confidence[chosen]).astype(int).tolist() for k, (_, confidence) in known.items()
        },
        "apart": {
            str(k): _apart(standard, rows.weights, labels, k, mean, deviation) for k, (labels, _) in known.items()
        },
    }


def choose_points(values: Floats, weights: Floats, most: int) -> Ints:
    """Return at most so many rows, drawn without replacement in proportion to their weights.

    Every row draws a number u by a hash of what is in it, and those of the largest u^(1 / weight) are drawn.
    """
    if len(values) <= most:
        return np.arange(len(values))
    u = (hash_rows(values, 0).astype(np.float64) + 1.0) / 2.0**64
    return np.sort(np.argsort(ratio(-np.log(u), weights), kind="stable")[:most])


def _moments(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return mean and deviation of each column, of the numbers in it."""
    known = ~np.isnan(values)
    total = weights @ known
    mean = ratio(weights @ np.where(known, values, 0.0), total)
    return mean, np.sqrt(ratio(weights @ np.where(known, values - mean, 0.0) ** 2, total))


def _main_directions(standard: Floats) -> Floats:
    """Return rows along the two main directions; a single feature is drawn along a line."""
    if min(standard.shape) == 1:
        return np.column_stack([standard[:, 0], np.zeros(len(standard))])
    from sklearn.decomposition import PCA

    return np.asarray(PCA(2, random_state=0).fit_transform(standard))


def _apart(
    standard: Floats, weights: Floats, labels: Ints, k: int, mean: Floats, deviation: Floats
) -> list[list[dict[str, Any]]]:
    """Return of each cluster the features in which its mean differs most from that of all other rows.

    The difference is in standard deviations of the feature; `inside` and `outside` are the means on its own scale.
    """
    clear: Bools = labels >= 0
    shape = (k, len(labels))
    member = sp.csr_array((weights[clear], (labels[clear], np.flatnonzero(clear))), shape=shape)
    sums, sizes = np.asarray(member @ standard), np.asarray(member.sum(axis=1))
    all_sums, total = weights @ standard, weights.sum()
    found: list[list[dict[str, Any]]] = []
    for c in range(k):
        if not 0 < sizes[c] < total:
            found.append([])
            continue
        inside, outside = sums[c] / sizes[c], (all_sums - sums[c]) / (total - sizes[c])
        difference = np.round(inside - outside, 4)
        order = np.argsort(-np.abs(difference), kind="stable")[:_MOST_FEATURES]
        found.append(
            [
                {
                    "feature": int(j),
                    "difference": float(difference[j]),
                    "inside": float(f"{inside[j] * deviation[j] + mean[j]:.6g}"),
                    "outside": float(f"{outside[j] * deviation[j] + mean[j]:.6g}"),
                }
                for j in order
            ]
        )
    return found


def features_of(fitted: Fitted, features: Any = None) -> FeatureRows | None:
    """Return the rows of a fitted consensus with their features: those given, or those its members were fitted on.

    Parameters
    ----------
    fitted : what `consensus` returned, or a fitted estimator
    features : (n, d) array or frame, optional
        One line for each row; of a frame, the columns of numbers.
    """
    method = fitted_method(fitted)
    pattern = method.ensemble_.row_pattern
    if features is None:
        if not isinstance(fitted, ConsensusClustering) or pattern is None:
            return None
        values = fitted.examined_
        names = tuple(map(str, getattr(fitted, "feature_names_in_", _numbered(values.shape[1]))))
        return _by_pattern(values, names, thinned(pattern), method)
    values, names = _given(features)
    if pattern is not None and len(values) == len(pattern):
        return _by_pattern(values, names, pattern, method)
    if not isinstance(fitted, ConsensusClustering) or len(values) != len(fitted.labels_):
        n_rows = len(fitted.labels_) if isinstance(fitted, ConsensusClustering) else method.ensemble_.n_rows
        raise QuorateError(f"features must have a line for each of {n_rows} rows; got {len(values)}.")
    # The consensus was found on a sample: of all rows, the answer as it was fitted is known.
    found = fitted.labels_, fitted.confidence_
    return FeatureRows(
        values, names, np.ones(len(values)), lambda cut: found if cut.n_clusters == method.n_clusters_ else None
    )


def _by_pattern(values: Floats, names: tuple[str, ...], pattern: NDArray[Any], method: ConsensusMethod) -> FeatureRows:
    ens = method.ensemble_
    weights = (ens.counts / ens.row_counts)[pattern].astype(np.float64)
    return FeatureRows(values, names, weights, lambda cut: (cut.labels[pattern], cut.confidence[pattern]))


def _given(features: Any) -> tuple[Floats, tuple[str, ...]]:
    """Return features as a matrix of numbers, and their names."""
    import narwhals as nw

    frame = features if isinstance(features, np.ndarray) else as_narwhals(features)
    if isinstance(frame, nw.DataFrame):
        frame = frame.select(nw.selectors.numeric())
        names = tuple(map(str, frame.columns))
        columns = [frame[name].cast(nw.Float64).to_numpy() for name in frame.columns]
        values = np.column_stack(columns) if columns else np.empty((0, 0))
    else:
        values = np.asarray(features, dtype=np.float64)
        names = _numbered(values.shape[1]) if values.ndim == 2 else ()
    if not names:
        raise QuorateError(f"features must be a table of numbers, rows x features; got {type(features).__name__}.")
    return values, names


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(f"feature_{j}" for j in range(n))
