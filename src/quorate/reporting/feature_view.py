"""Clusters in the features: rows drawn in a plane, and the features that distinguish each cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import nearest_name
from quorate.algorithms.base import ConsensusMethod
from quorate.analysis.distinctive_features import DistinctiveFeature, distinctive_features, drop_columns, moments
from quorate.analysis.structure.feature_structure import thinned
from quorate.errors import InputError
from quorate.features.consensus_clustering import ConsensusClustering
from quorate.features.sampling import hash_rows
from quorate.labels import as_narwhals
from quorate.numerics.mutual_information import ratio
from quorate.reporting.cut_views import Cut
from quorate.reporting.fitted_input import Fitted, fitted_method

_MOST_POINTS = 3000
# About how many numbers a report holds about points: labels and confidences at each number of clusters.
_CELLS = 40_000

LabelsAt = Callable[[Cut], tuple[Ints, Floats] | None]
"""Returns the labels and confidences of rows at a number of clusters, or None where they are not available."""


@dataclass(frozen=True)
class FeatureRows:
    """Rows with their features, to be drawn in a plane."""

    values: Floats
    """(n, d) on the original scales; NaN where a value is missing."""
    names: tuple[str, ...]
    weights: Floats
    """(n,) the number of rows that each represents."""
    labels_at: LabelsAt
    plane: Floats | None = None
    """(n, 2) coordinates; None: the first two principal components of the standardized features."""
    axes: tuple[str, str] = ("PC1", "PC2")
    without: Callable[[list[str]], str] | None = None
    """Returns how to cluster without some columns; None if the rows were not clustered by these features."""

    def with_columns(self, names: Sequence[str], columns: Sequence[Floats]) -> FeatureRows:
        """Return the rows with further numeric columns."""
        return replace(self, values=np.column_stack([self.values, *columns]), names=(*self.names, *names))

    def in_plane(self, columns: Sequence[str]) -> FeatureRows:
        """Return the rows with two columns as coordinates; the other features, if any, then describe the clusters."""
        if isinstance(columns, str) or len(columns) != 2:
            raise InputError(
                f"must be two column names, such as ('umap_1', 'umap_2'); got {columns!r}.",
                code="two-columns",
                parameter="plane",
            )
        for name in columns:
            if name not in self.names:
                raise InputError(
                    f"has the unknown column {name!r}.{nearest_name(name, self.names)}",
                    code="unknown-column",
                    parameter="plane",
                )
        axes = [self.names.index(name) for name in columns]
        rest = [j for j in range(len(self.names)) if j not in axes] or axes
        return replace(
            self,
            values=self.values[:, rest],
            names=tuple(self.names[j] for j in rest),
            plane=self.values[:, axes],
            axes=(str(columns[0]), str(columns[1])),
        )


def view_features(
    rows: FeatureRows, cuts: Sequence[Cut], ids: Mapping[int, Sequence[int]] | None = None
) -> dict[str, Any]:
    """Return, as plain values, sampled rows in the plane with their labels, and the features of each cluster.

    `ids` are the ids of the clusters at each number of clusters, by default their positions. The sample depends on the
    values and weights of the rows, not on their order.
    """
    mean, deviation = moments(rows.values, rows.weights)
    # Missing values are drawn at the mean.
    standard = np.nan_to_num((rows.values - mean) / np.where(deviation > 0, deviation, 1.0))
    # Labels and confidences at every k, and two coordinates, share a fixed number of cells.
    most = min(_MOST_POINTS, _CELLS // (2 * len(cuts) + 2))
    chosen = choose_points(rows.values if rows.plane is None else rows.plane, rows.weights, most)
    axes = rows.axes
    if rows.plane is None:
        points, shares = principal_components(standard[chosen])
        axes = component_names(shares)
    else:
        points = rows.plane[chosen]
    labeled = {cut.n_clusters: labels for cut in cuts if (labels := rows.labels_at(cut)) is not None}
    described = {
        k: distinctive_features(rows.values, rows.names, labels, k, rows.weights) for k, (labels, _) in labeled.items()
    }
    return {
        "axes": list(axes),
        "components": rows.plane is None,
        "rows": float(rows.weights.sum()),
        "names": list(rows.names),
        "points": np.round(np.nan_to_num(points), 4).tolist(),
        "labels": {str(k): labels[chosen].tolist() for k, (labels, _) in labeled.items()},
        "confidence": {
            str(k): np.rint(100 * confidence[chosen]).astype(int).tolist() for k, (_, confidence) in labeled.items()
        },
        "distinctive": {
            str(k): [_feature_values(cluster) for cluster in features.clusters] for k, features in described.items()
        },
        "splits": {
            str(k): features.sentences_about(ids[k] if ids else range(k), rows.without)
            for k, features in described.items()
        },
    }


def choose_points(values: Floats, weights: Floats, most: int) -> Ints:
    """Return at most `most` rows, sampled without replacement in proportion to their weights.

    A hash of the values of a row gives its number u; the rows with the largest u^(1 / weight) are taken.
    """
    if len(values) <= most:
        return np.arange(len(values))
    # Weighted sampling without replacement (Efraimidis, Spirakis 2006), with hashes in place of random numbers.
    u = (hash_rows(values, 0).astype(np.float64) + 1.0) / 2.0**64
    return np.sort(np.argsort(ratio(-np.log(u), weights), kind="stable")[:most])


def principal_components(standard: Floats) -> tuple[Floats, Floats]:
    """Return (n, 2) scores on the first two principal components, and their shares of the variance.

    A single feature is drawn along a line.
    """
    if min(standard.shape) == 1:
        # A single feature has no second component.
        return np.column_stack([standard[:, 0], np.zeros(len(standard))]), np.array([1.0, 0.0])
    from sklearn.decomposition import PCA

    components = PCA(2, random_state=0)
    return np.asarray(components.fit_transform(standard)), np.nan_to_num(components.explained_variance_ratio_)


def component_names(shares: Floats) -> tuple[str, str]:
    """Return the names of two principal components with their shares of the variance."""
    return f"PC1 ({shares[0]:.0%} of variance)", f"PC2 ({shares[1]:.0%} of variance)"


def _feature_values(cluster: Sequence[DistinctiveFeature]) -> list[dict[str, Any]]:
    return [
        {
            "feature": feature.position,
            "difference": feature.difference,
            "inside": feature.inside,
            "outside": feature.outside,
            "text": feature.text,
        }
        for feature in cluster
    ]


def features_of(fitted: Fitted, features: Any = None) -> FeatureRows | None:
    """Return the rows of a fitted consensus with features: the given ones, or those its members were fitted on.

    Parameters
    ----------
    fitted : result of `consensus`, or fitted estimator
    features : (n, d) array or frame, optional
        One line for each row; of a frame, the numeric columns.
    """
    method = fitted_method(fitted)
    pattern = method.ensemble_.row_pattern
    if features is None:
        if not isinstance(fitted, ConsensusClustering) or pattern is None:
            return None
        values = fitted.examined_
        names = tuple(map(str, getattr(fitted, "feature_names_in_", _numbered(values.shape[1]))))
        return replace(_by_pattern(values, names, thinned(pattern), method), without=drop_columns)
    values, names = _given(features)
    if pattern is not None and len(values) == len(pattern):
        return _by_pattern(values, names, pattern, method)
    if not isinstance(fitted, ConsensusClustering) or len(values) != len(fitted.labels_):
        n_rows = len(fitted.labels_) if isinstance(fitted, ConsensusClustering) else method.ensemble_.n_rows
        raise InputError(
            f"must have one line for each of {n_rows:,} rows; got {len(values):,}.", code="length", parameter="features"
        )
    # The consensus was computed on a sample: labels of all rows exist only at the fitted number of clusters.
    labels = fitted.labels_, fitted.confidence_
    return FeatureRows(
        values, names, np.ones(len(values)), lambda cut: labels if cut.n_clusters == method.n_clusters_ else None
    )


def _by_pattern(values: Floats, names: tuple[str, ...], pattern: NDArray[Any], method: ConsensusMethod) -> FeatureRows:
    ens = method.ensemble_
    weights = (ens.counts / ens.row_counts)[pattern].astype(np.float64)
    return FeatureRows(values, names, weights, lambda cut: (cut.labels[pattern], cut.confidence[pattern]))


def _given(features: Any) -> tuple[Floats, tuple[str, ...]]:
    """Return features as a numeric matrix, and their names."""
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
        raise InputError(
            f"must be a numeric table, rows x features; got {type(features).__name__}.",
            code="not-numeric",
            parameter="features",
        )
    return values, names


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(f"feature_{j}" for j in range(n))
