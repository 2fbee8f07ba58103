"""Whether two clusters are separated in the features: a dip test along the axis between them.

If two clusters are parts of one group, their rows have one mode along any axis; if they are separated, they have two
modes along the axis that discriminates best. Four things would make one group look like two, and are avoided:

- Values on a grid have many modes. Ties are spread evenly over their share of the grid first (`spread_ties`).
- An axis estimated from the tested rows separates any group with many features. Rows are projected on an axis estimated
  from other rows (`_cross_fitted`).
- Neighboring cells of an evenly filled region are narrow where they meet. All rows inside a convex corridor around the
  axis are tested, whatever their cluster (`corridor`): a log-concave density restricted to a convex region has one mode
  along every axis (Prekopa 1973).
- The rows of a large cluster hide a small one: the dip is at most half the share of the smaller mode. Of the larger
  cluster only the rows next to the smaller one are tested, which cannot add a mode.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quorate._utils.array_types import Bools, Floats, Ints, Labels
from quorate.analysis.structure.dip_test import dip, dip_p_value

SMALLEST_CLUSTER = 10
"""The fewest rows of a cluster that can be tested."""
MOST_ROWS = 300
"""The most rows in one dip test. More rows find small departures from unimodality that are not clusters."""
_MOST_CORRELATED = 200  # columns up to which correlations are estimated
_MIN_SHRINKAGE = 0.02  # keeps the covariance invertible when features repeat each other
_FOLDS = 5
_WIDEST_CELL = 3.0  # of a tied value: its gap to one neighbor as a multiple of the gap to the other
_SMALLEST_WINDOW = 0.5  # rows of the larger cluster in the test, as a multiple of the rows of the smaller one
_GOLDEN_RATIO = (np.sqrt(5) - 1) / 2
_TINY = 1e-9


def spread_ties(X: Floats) -> Floats:
    """Return X with tied values spread evenly over their cell, halfway to the neighboring values.

    Counts, ratings, flags and rounded measurements then have a density with steps instead of one mode per value. A cell
    ends early next to a wide gap, so gaps between groups of values remain. Columns without ties are not changed. Equal
    rows are spread evenly too (multiples of the golden ratio), in an order of their own in every column. The result
    depends on the rows, not on their order.
    """
    ascending = np.sort(X, axis=0)
    tied_columns = np.flatnonzero((ascending[1:] == ascending[:-1]).any(axis=0))
    random, spread = np.random.default_rng(0), X.copy()
    for column in tied_columns:
        order = np.lexsort((random.random(len(X)), _content(X, seed=int(column))))
        position = np.empty(len(X))
        position[order] = np.arange(len(X)) * _GOLDEN_RATIO % 1.0
        values, value_of, counts = np.unique(X[:, column], return_inverse=True, return_counts=True)
        if len(values) < 2:
            continue
        gaps = np.diff(values)
        left, right = np.append(gaps[0], gaps), np.append(gaps, gaps[-1])
        widest = _WIDEST_CELL * np.minimum(left, right)
        left, right = np.minimum(left, widest) / 2, np.minimum(right, widest) / 2
        offset = -left[value_of] + (left + right)[value_of] * position
        spread[:, column] += np.where(counts[value_of] > 1, offset, 0.0)
    return spread


def _content(X: Floats, seed: int = 0) -> Floats:
    """Return a number for each row that depends on its values only; rows that differ have different numbers."""
    return np.asarray(X @ np.random.default_rng(seed).random(X.shape[1]))


class Axis(NamedTuple):
    """The axis that discriminates best between two clusters (Fisher 1936)."""

    center: Floats
    """(d,) the midpoint between the means."""
    weights: Floats
    """(d,) w; (x - center) @ w is the coordinate of a row, in standard deviations within the clusters."""
    direction: Floats
    """(d,) the step of one standard deviation from the first cluster to the second."""
    covariance: Floats
    """(d, d) within the clusters, or (d,) its diagonal if there are many columns."""

    def coordinates(self, rows: Floats) -> Floats:
        """(n,) where each row lies along the axis."""
        return np.asarray((rows - self.center) @ self.weights)


def discriminant_axis(left: Floats, right: Floats) -> Axis:
    """Return the axis from the rows of one cluster to those of another."""
    covariance = pooled_covariance(left, right)
    means = left.mean(axis=0), right.mean(axis=0)
    apart = means[1] - means[0]
    weights = _solve(covariance, apart)
    length = max(np.sqrt(apart @ weights), _TINY)
    return Axis((means[0] + means[1]) / 2, weights / length, apart / length, covariance)


def _solve(covariance: Floats, right: Floats) -> Floats:
    """Return the solution of covariance @ x = right, (d,) or (d, k); `covariance` may be a diagonal, of shape (d,)."""
    return np.asarray((right.T / covariance).T if covariance.ndim == 1 else np.linalg.solve(covariance, right))


def pooled_covariance(left: Floats, right: Floats) -> Floats:
    """(d, d) covariance within two clusters, shrunk towards its mean diagonal; (d,) variances if d is large.

    The amount is the share of its distance from that diagonal that is noise: the fewer rows per feature, the more
    (Ledoit, Wolf 2004). With many columns, correlations cost more in noise and time than they gain (Bickel, Levina
    2004).

    O. Ledoit, M. Wolf: A Well-Conditioned Estimator for Large-Dimensional Covariance Matrices. Journal of Multivariate
    Analysis 88 (2004).
    P. J. Bickel, E. Levina: Some Theory for Fisher's Linear Discriminant Function. Bernoulli 10 (2004).
    """
    centered = np.concatenate([rows - rows.mean(axis=0) for rows in (left, right)])
    n, d = centered.shape
    if d > _MOST_CORRELATED:
        variances = np.sum(centered**2, axis=0) / max(n - 2, 1)
        return (1 - _MIN_SHRINKAGE) * variances + _MIN_SHRINKAGE * variances.mean() + _TINY
    within = centered.T @ centered / max(n - 2, 1)
    scale = float(np.trace(within)) / d
    if scale <= 0:  # each cluster is one point
        return np.eye(d)
    squared = np.sum(within**2)
    distance = squared - d * scale**2
    noise = np.sum(np.sum(centered**2, axis=1) ** 2) / n**2 - squared / n
    share = float(np.clip(noise / distance, _MIN_SHRINKAGE, 1.0)) if distance > _TINY * squared else 1.0
    return (1 - share) * within + share * scale * np.eye(d)


def corridor(rows: Floats, axis: Axis, other_means: Floats) -> Bools:
    """(n,) whether each row is in the corridor around an axis.

    Perpendicular to the axis, in the metric of its covariance, a row in it is nowhere more than halfway to the mean of
    another cluster. It is an intersection of half-spaces, so it is convex.
    """
    offsets = other_means - axis.center
    perpendicular = offsets - np.outer(offsets @ axis.weights, axis.direction)
    normals = _solve(axis.covariance, perpendicular.T)
    halfway = np.einsum("kd,dk->k", perpendicular, normals) / 2
    return np.asarray(((rows - axis.center) @ normals <= halfway + _TINY).all(axis=1))


def separation_p_value(X: Floats, labels: Labels, pair: tuple[int, int], means: Floats) -> float | None:
    """Return the dip test of two clusters along the axis between them; None if one has too few rows.

    Parameters
    ----------
    X : (n, d)
        Rows after `spread_ties`.
    labels : (n,)
        Clusters of the rows; -1 for none.
    means : (k, d)
        Means of all clusters, by label.
    """
    small, large = sorted((np.flatnonzero(labels == label) for label in pair), key=len)
    if len(small) < SMALLEST_CLUSTER:
        return None
    axis = discriminant_axis(X[small], X[large])
    coordinates = axis.coordinates(X)
    coordinates[small], coordinates[large] = _cross_fitted(X, small, large)
    inside = corridor(X, axis, np.delete(means, pair, axis=0))
    small, large = small[inside[small]], large[inside[large]]
    if min(len(small), len(large)) < SMALLEST_CLUSTER / 2:
        return 1.0  # other clusters lie between the two
    of_pair = coordinates[np.concatenate([small, large])]
    n_window = int(len(small) * max(_SMALLEST_WINDOW, np.sqrt(len(small) / len(large))))
    end = of_pair.max() if n_window >= len(large) else np.partition(coordinates[large], n_window)[n_window]
    tested = np.sort(coordinates[inside & (coordinates >= of_pair.min()) & (coordinates <= end)])
    if len(tested) > MOST_ROWS:
        tested = tested[((np.arange(MOST_ROWS) + 0.5) * len(tested) / MOST_ROWS).astype(np.int64)]
    return dip_p_value(dip(tested), len(tested))


def _cross_fitted(X: Floats, small: Ints, large: Ints) -> tuple[Floats, Floats]:
    """Return the coordinates of the rows of two clusters, each along the axis between the rows of the other folds."""
    clusters = [rows[np.argsort(_content(X[rows]), kind="stable")] for rows in (small, large)]
    coordinates = np.empty(len(X))
    for fold in range(_FOLDS):
        training = [rows[np.arange(len(rows)) % _FOLDS != fold] for rows in clusters]
        axis = discriminant_axis(X[training[0]], X[training[1]])
        for rows in clusters:
            coordinates[rows[fold::_FOLDS]] = axis.coordinates(X[rows[fold::_FOLDS]])
    return coordinates[small], coordinates[large]
