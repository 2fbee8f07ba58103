"""Hierarchical mode association clustering (Li, Ray, Lindsay 2007): rows that climb to one mode form a cluster."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.optimize import brentq
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_integer
from quorate.errors import InputError
from quorate.features.clusterers.feature_checks import check_features, nearest, same_everywhere, starting_points
from quorate.features.clusterers.mode_ascent import MERGE_DISTANCE, Density, climb, merge_close


class Hierarchy(NamedTuple):
    """The modes of every level, and for every level the mode that each starting point belongs to."""

    modes: list[Floats]
    groups: list[Ints]


def spectral_degrees(bandwidth: float, n_features: int) -> float:
    """Return k(h) = p (dof(h)^(1/p) - 1) / 2, which falls as the bandwidth h grows; p = n_features.

    dof = [h^-p - (h^2+2)^(-p/2)]^2 / [h^-p (h^2+4)^(-p/2) - 2 (h^2+1)^(-p/2) (h^2+3)^(-p/2) + (h^2+2)^-p], the degrees
    of freedom of a Gaussian kernel against a standard normal density; in logarithms, so that many features do not
    underflow.
    """
    p, square = n_features, bandwidth**2
    whole = square * (square + 4)
    # In logarithms: with many features the terms themselves underflow.
    numerator = 2 * np.log1p(-((square / (square + 2)) ** (p / 2)))
    smaller_terms = np.log1p((whole / (whole + 4)) ** (p / 2) - 2 * (whole / (whole + 3)) ** (p / 2))
    denominator = p / 2 * np.log(square / (square + 4)) + smaller_terms
    return float(p * np.expm1((numerator - denominator) / p) / 2)


def bandwidth_ladder(n_features: int, n_levels: int) -> Floats:
    """Return increasing bandwidths, for columns of unit variance, evenly spaced in spectral degrees of freedom."""
    targets = np.linspace(6 + 0.4 * n_features, 1 + 0.4 * n_features, n_levels)
    return np.array([brentq(lambda h, t=t: spectral_degrees(h, n_features) - t, 1e-2, 10.0) for t in targets])


def default_bandwidths(X: Floats, n_levels: int) -> Floats:
    """Return the ladder of `bandwidth_ladder` on the scale of X: the root mean square deviation of varying columns."""
    variances = X.var(axis=0)
    varying = variances[variances > 0]
    # Constant columns say nothing about the scale.
    scale = np.sqrt(varying.mean()) if len(varying) else 1.0
    return bandwidth_ladder(max(1, len(varying)), n_levels) * scale


def mode_hierarchy(starts: Floats, weights: Floats, bandwidths: Floats) -> Hierarchy:
    """Climb from all starts with the smallest bandwidth, then from the modes of each level with the next bandwidth.

    The density is always that of all starts. Memberships compose, and so the levels are nested.
    """
    hierarchy = Hierarchy([], [])
    modes, groups = starts, np.arange(len(starts))
    for bandwidth in bandwidths:
        # Later levels start from the modes of the level before, which makes clusters nested.
        ends = climb(modes, Density(starts, weights, bandwidth))
        merged = merge_close(ends, MERGE_DISTANCE * bandwidth)
        modes, groups = ends[np.unique(merged, return_index=True)[1]], merged[groups]
        hierarchy.modes.append(modes)
        hierarchy.groups.append(groups)
    return hierarchy


def longest_lived(n_clusters: Ints, n_starts: int) -> int:
    """Return the first level of the number of clusters that lasts for most levels; on ties, of the fewest clusters.

    One cluster, and every start on its own, count only where there is nothing else.
    """
    values, first, levels = np.unique(n_clusters, return_index=True, return_counts=True)
    # One cluster and one per start are levels of every ladder, hence no evidence.
    trivial = (values == 1) | (values == n_starts)
    return int(first[np.lexsort((values, -levels, trivial))[0]])


@dataclass(eq=False, repr=False)
class HMAC(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Hierarchical mode association clustering.

    Every row climbs the kernel density of all rows, and rows that reach the same mode form a cluster. With the next
    larger bandwidth the modes climb on, so that clusters only ever join: a hierarchy over a ladder of bandwidths.

    Parameters
    ----------
    bandwidths : int or array-like of increasing positive numbers, default=10
        The ladder, or how many levels the default ladder has. That ladder is evenly spaced in degrees of freedom and
        scaled by the root mean square deviation of the columns.
    level : int or None, default=None
        The level that `labels_` shows, 0 the finest; None: the one whose number of clusters lasts longest.
    max_points : int, default=3000
        Up to this many rows the density is exact. Above, it is a density over this many representatives (the centers
        of mini-batch k-means, weighted by the number of rows nearest to each), and a row follows its representative.
    random_state : int, RandomState instance or None, default=None
        Used only to find representatives.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
        Cluster of each row at level `level_`.
    level_ : int
        The level shown.
    n_clusters_ : int
        Clusters at that level.
    bandwidths_ : ndarray of shape (n_levels,)
        Bandwidth of each level.
    n_clusters_by_level_ : ndarray of shape (n_levels,)
        Clusters at each level; never rises.
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        The modes at that level.
    n_features_in_ : int
        Columns of X in `fit`.

    Notes
    -----
    Modes closer than a fifth of the bandwidth are one: a density that is a sum of kernels of that width has no valley
    between them worth the name, and near a bifurcation climbing is too slow to close the gap.

    References
    ----------
    J. Li, S. Ray, B. G. Lindsay. A nonparametric statistical approach to clustering via mode identification. Journal
    of Machine Learning Research 8 (2007) 1687-1723.

    Examples
    --------
    >>> import numpy as np
    >>> from quorate.features import HMAC
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(center, 0.3, size=(50, 2)) for center in ((0, 0), (4, 0), (2, 3))])
    >>> model = HMAC().fit(X)
    >>> model.n_clusters_
    3
    >>> model.show(0).n_clusters_ >= 3  # the finest level
    True
    """

    bandwidths: int | Any = 10
    _: KW_ONLY
    level: int | None = None
    max_points: int = 3000
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the hierarchy of X, of shape (n_rows, n_features); y is ignored."""
        X = check_features(self, X, fitting=True)
        same_everywhere(X)
        self.bandwidths_ = self._check_bandwidths(X)
        max_points = check_integer("max_points", self.max_points, low=2)
        self._starts = starting_points(X, max_points, check_random_state(self.random_state))
        self._hierarchy = mode_hierarchy(self._starts.points, self._starts.weights, self.bandwidths_)
        self.n_clusters_by_level_ = np.array([len(modes) for modes in self._hierarchy.modes])
        level = self.level
        return self.show(longest_lived(self.n_clusters_by_level_, len(self._starts.points)) if level is None else level)

    def show(self, level: int) -> Self:
        """Let `labels_` and all that goes with it show another level of the hierarchy, 0 the finest."""
        self.labels_ = self.labels_at(level)
        self.level_ = level
        self.cluster_centers_ = self._hierarchy.modes[level]
        self.n_clusters_ = int(self.n_clusters_by_level_[level])
        return self

    def labels_at(self, level: int) -> Ints:
        """Return the cluster of each row at a level, 0 the finest."""
        check_is_fitted(self, "n_clusters_by_level_")
        level = check_integer("level", level, low=0, high=len(self.bandwidths_) - 1)
        return self._hierarchy.groups[level][self._starts.of_row]

    def predict(self, X: Any) -> Ints:
        """Return the cluster of each row of X at level `level_`: that of the mode it climbs to.

        With more than `max_points` rows in `fit`: that of its nearest representative, as for the rows of `fit`.
        """
        check_is_fitted(self)
        X = check_features(self, X, fitting=False)
        label_of_start = self._hierarchy.groups[self.level_]
        if not self._starts.exact:
            return label_of_start[nearest(X, self._starts.points)]
        # The finest level decides: later levels only merge its modes.
        ends = climb(X, Density(self._starts.points, self._starts.weights, self.bandwidths_[0]))
        first_start = np.unique(self._hierarchy.groups[0], return_index=True)[1]
        return label_of_start[first_start[nearest(ends, self._hierarchy.modes[0])]]

    def _check_bandwidths(self, X: Floats) -> Floats:
        """Return the requested ladder."""
        if np.ndim(self.bandwidths) == 0:
            return default_bandwidths(X, check_integer("bandwidths", self.bandwidths, low=1))
        ladder = np.asarray(self.bandwidths, dtype=np.float64)
        increasing = ladder.ndim == 1 and len(ladder) > 0 and (np.diff(ladder, prepend=0) > 0).all()
        if not increasing or not np.isfinite(ladder).all():
            required = "a number of levels or positive numbers in increasing order"
            raise InputError(f"must be {required}; got {self.bandwidths!r}.", code="bandwidths", parameter="bandwidths")
        return ladder
