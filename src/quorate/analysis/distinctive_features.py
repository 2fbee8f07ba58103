"""Features that distinguish clusters, and pairs of clusters that a single feature separates: by means and variances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from quorate._utils.array_types import Bools, Floats, Ints
from quorate.numerics.mutual_information import ratio

_MOST_FEATURES = 5
_NEARLY_ALONE = 0.9  # share of the distance between two clusters
_LEAST_DIFFERENCE = 1.0  # standard deviations


@dataclass(frozen=True)
class DistinctiveFeature:
    """A feature in which a cluster differs from all other rows."""

    name: str
    position: int
    """Its column."""
    difference: float
    """Mean of the cluster minus that of all other rows, in standard deviations of the feature."""
    inside: float
    """Mean in the cluster."""
    outside: float
    """Mean of all other rows."""
    values: tuple[float, float] | None
    """The two values of a two-valued feature; None for others."""

    @property
    def text(self) -> str:
        """The feature with its means, or its shares if it has two values."""
        first, second = _shown(self.values, self.inside, self.outside)
        return f"{_name(self.name, self.values)} {first} (others {second})"


@dataclass(frozen=True)
class SingleFeatureSplit:
    """Two clusters that differ almost only in one feature."""

    clusters: tuple[int, int]
    name: str
    share: float
    """Its share of the squared distance between the means of the two clusters, in standard deviations."""
    difference: float
    """The difference of the two means, in standard deviations of the feature."""
    means: tuple[float, float]
    values: tuple[float, float] | None
    """The two values of a two-valued feature; None for others."""

    def sentence_about(self, ids: Sequence[int]) -> str:
        """Return which clusters, by the ids of all clusters, differ in which feature."""
        a, b = (ids[cluster] for cluster in self.clusters)
        first, second = _shown(self.values, *self.means)
        what = "mean" if self.values is None else f"share of {self.values[1]:g}"
        return f"Clusters {a} and {b} differ almost only in column {self.name!r} ({what}: {first} and {second})."

    @property
    def sentence(self) -> str:
        """Which clusters differ in which feature."""
        return self.sentence_about(range(max(self.clusters) + 1))


@dataclass(frozen=True)
class DistinctiveFeatures:
    """What distinguishes clusters in the features."""

    clusters: tuple[tuple[DistinctiveFeature, ...], ...]
    """For each cluster, up to five features in which it differs most from all other rows, most different first."""
    splits: tuple[SingleFeatureSplit, ...]
    """Neighboring clusters that differ almost only in one feature."""
    n_features: int

    def sentences_about(self, ids: Sequence[int], without: Callable[[list[str]], str] | None = None) -> list[str]:
        """Return a sentence on each split, by the ids of all clusters.

        `without` returns how to cluster without some columns, which is added if two-valued columns separate clusters.
        It is None if the rows were not clustered by these features.
        """
        sentences = [split.sentence_about(ids) for split in self.splits]
        two_valued = [i for i, split in enumerate(self.splits) if split.values is not None]
        columns = list(dict.fromkeys(self.splits[i].name for i in two_valued))
        if without is not None and 0 < len(columns) < self.n_features:
            listed = f"column{'s' if len(columns) > 1 else ''} {', '.join(map(repr, columns))}"
            sentences[two_valued[0]] += f" To cluster without {listed}, {without(columns)}."
        return sentences

    @property
    def sentences(self) -> list[str]:
        """Which clusters differ almost only in one feature, and how to cluster without a two-valued one."""
        return self.sentences_about(range(len(self.clusters)), drop_columns)


def drop_columns(columns: Sequence[str]) -> str:
    """Return how to fit an estimator without some columns."""
    return f"drop {'it' if len(columns) == 1 else 'them'} from X"


def _name(name: str, values: tuple[float, float] | None) -> str:
    return name if values is None else f"{name} = {values[1]:g}:"


def _shown(values: tuple[float, float] | None, *means: float) -> tuple[str, ...]:
    """Return means of a feature as text; of a two-valued feature, the shares of its larger value."""
    if values is None:
        return tuple(f"{mean:.4g}" for mean in means)
    low, high = values
    return tuple(f"{(mean - low) / (high - low):.0%}" for mean in means)


def distinctive_features(
    values: Floats, names: Sequence[str], labels: Ints, n_clusters: int, weights: Floats | None = None
) -> DistinctiveFeatures:
    """Return the features that distinguish clusters.

    Two clusters of which one is the nearest of the other differ almost only in one feature if it has 90 % of the
    squared distance between their means and they differ in it by at least one standard deviation. Distances are in
    standard deviations of all rows, less what the variances within the clusters let expect by chance. Of two features,
    only one with two values is named.

    Parameters
    ----------
    values : (n, d)
        NaN where a value is missing.
    names : (d,)
    labels : (n,)
        Clusters 0 to `n_clusters` - 1; -1 for none.
    weights : (n,), optional
        The number of rows that each represents.
    """
    weights = np.ones(len(values)) if weights is None else weights
    present = ~np.isnan(values)
    mean, deviation = moments(values, weights)
    standard = np.where(present, (values - mean) / np.where(deviation > 0, deviation, 1.0), 0.0)
    labeled: Bools = labels >= 0
    cells = weights[labeled], (labels[labeled], np.flatnonzero(labeled))
    of_cluster = sp.csr_array(cells, shape=(n_clusters, len(labels)))
    counts, sums, squares = (
        np.asarray(of_cluster @ part) for part in (present.astype(np.float64), standard, standard**2)
    )
    centers = ratio(sums, counts)
    outside = ratio(weights @ standard - sums, weights @ present - counts)
    comparable = (counts > 0) & (weights @ present - counts > 0)
    # Rounded before ranking, so that ties keep the order of the features.
    difference = np.where(comparable, np.round(centers - outside, 4), 0.0)
    two_values = [_two_values(column) for column in values.T]

    def original(j: int, value: float) -> float:
        scaled = value * deviation[j] + mean[j]
        return float(f"{scaled:.6g}") if abs(scaled) > 1e-12 * deviation[j] else 0.0  # what rounding leaves of 0

    def described(c: int) -> tuple[DistinctiveFeature, ...]:
        order = np.argsort(-np.abs(difference[c]), kind="stable")[:_MOST_FEATURES]
        return tuple(
            DistinctiveFeature(
                names[j], int(j), float(difference[c, j]), original(j, centers[c, j]), original(j, outside[c, j]),
                two_values[j],
            )
            for j in order
        )  # fmt: skip

    # A cluster that holds all rows has nothing to be compared with.
    apart = comparable.any(axis=1)
    splits = []
    # The means of two clusters differ by chance by as much as their variances let expect.
    noise = ratio(np.maximum(ratio(squares, counts) - centers**2, 0.0), counts)
    for a, b in _neighbors(centers, apart) if len(names) > 1 else ():
        gap = (centers[a] - centers[b]) ** 2
        beyond_noise = gap - noise[a] - noise[b]
        j = int(np.argmax(beyond_noise))
        # Negative terms are kept, so that the noise of many features cancels out.
        share = ratio(beyond_noise[j], np.maximum(beyond_noise.sum(), beyond_noise[j]))
        if len(names) == 2 and two_values[j] is None:
            continue  # in the plane, clusters side by side are nothing to point out
        if share >= _NEARLY_ALONE and gap[j] >= _LEAST_DIFFERENCE**2:
            means = original(j, centers[a, j]), original(j, centers[b, j])
            distance = float(np.sqrt(gap[j]))
            splits.append(SingleFeatureSplit((a, b), names[j], float(share), distance, means, two_values[j]))
    return DistinctiveFeatures(
        tuple(described(c) if apart[c] else () for c in range(n_clusters)), tuple(splits), len(names)
    )


def moments(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of each column, without missing values."""
    present = ~np.isnan(values)
    total = weights @ present
    mean = ratio(weights @ np.where(present, values, 0.0), total)
    return mean, np.sqrt(ratio(weights @ np.where(present, values - mean, 0.0) ** 2, total))


def _neighbors(centers: Floats, apart: Bools) -> list[tuple[int, int]]:
    """Return the pairs of clusters of which one is the nearest of the other, by their means."""
    clusters = np.flatnonzero(apart)
    pairs = set()
    for c in clusters:
        others = clusters[clusters != c]
        if len(others):
            distance = ((centers[others] - centers[c]) ** 2).sum(axis=1)
            nearest = int(others[np.argmin(np.round(distance, 9))])
            pairs.add((min(int(c), nearest), max(int(c), nearest)))
    return sorted(pairs)


def _two_values(column: Floats) -> tuple[float, float] | None:
    """Return the two values of a column, or None if it has fewer or more."""
    column = column[~np.isnan(column)]
    if not len(column):
        return None
    low, high = float(column.min()), float(column.max())
    return (low, high) if low < high and bool(((column == low) | (column == high)).all()) else None
