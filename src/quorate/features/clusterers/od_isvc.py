"""Incremental support vector clustering with outlier detection, after Huang, Lai, Wang (2012).

The paper's text is not public; what follows is the support vector description of Ben-Hur et al. (2001), learnt chunk
by chunk, with bounded support vectors as outliers and labels from stable equilibrium points (Lee, Lee 2005).
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import OneClassSVM
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from quorate import _kernels
from quorate._runtime import threads
from quorate._utils.array_types import Bools, Floats, Ints
from quorate._utils.checks import check_integer, check_number
from quorate.features.clusterers.feature_checks import check_features, nearest, same_everywhere, starting_points
from quorate.features.clusterers.mode_ascent import BLOCK, MERGE_DISTANCE, Density, climb, merge_close

TOLERANCE = (
    1e-6  # of squared distances: support vectors lie on the sphere only as exactly as the solver puts them there
)
NO_WEIGHT = 1e-8  # a smaller multiplier is none
MAX_RESCANS = 3
NEAR_EQUILIBRIA = 20  # number of others with which each equilibrium is compared
NEAR_POINTS = 4
STOPS = np.array([6, 3, 9, 1, 11, 2, 4, 5, 7, 8, 10, 12]) / 13  # along a segment; the middle, most telling, first


class Sphere(NamedTuple):
    """The smallest sphere around the rows in the space of the kernel exp(-q |x - y|^2), outliers left outside."""

    rows: Ints  # of the support vectors
    vectors: Floats
    multipliers: Floats  # beta: at most `bound` each, summing to 1
    bound: float  # C
    q: float
    norm: float  # beta' K beta
    squared_radius: float

    @property
    def bounded(self) -> Bools:
        """Which support vectors are at the bound and so outside the sphere."""
        return self.multipliers >= self.bound * (1 - TOLERANCE)

    def kernel_sums(self, X: Floats) -> Floats:
        """Return sum of beta_j K(x_j, x) for each row of X."""
        # -q |x - y|^2 = 2 q xy - q |y|^2 - q |x|^2
        scaled, offset = 2 * self.q * self.vectors, -self.q * (self.vectors**2).sum(axis=1)
        sums = -self.q * (X**2).sum(axis=1)
        for block in threads.blocks(len(X), max(1, BLOCK // len(self.vectors))):
            _kernels.gaussian_sums.weighted_sum(X[block] @ scaled.T, offset, self.multipliers, sums[block])
        return sums

    def squared_distance(self, X: Floats) -> Floats:
        """Return R^2(x) = 1 - 2 sum of beta_j K(x_j, x) + beta' K beta, the squared distance from the center."""
        return 1 - 2 * self.kernel_sums(X) + self.norm

    def outside(self, X: Floats) -> Bools:
        """Tell which rows of X lie outside the sphere."""
        return self.squared_distance(X) > self.squared_radius + TOLERANCE


def smallest_sphere(X: Floats, rows: Ints, q: float, bound: float) -> Sphere:
    """Minimize beta' K beta with 0 <= beta <= bound, sum of beta = 1, over X[rows].

    The dual of the one-class support vector machine is the same problem with multipliers nu n beta, nu = 1/(n bound).
    The squared radius is the largest squared distance of a free support vector; the mean of all if none is free.
    """
    total = 1 / bound  # nu n
    # scikit-learn scales multipliers by nu n, and with them the tolerance.
    machine = OneClassSVM(gamma=q, nu=min(1.0, total / len(rows)), tol=1e-7 * total, cache_size=500).fit(X[rows])
    multipliers = machine.dual_coef_[0] / machine.dual_coef_.sum()
    # Numerical zeros are not support vectors.
    positive = multipliers >= NO_WEIGHT
    multipliers = multipliers[positive] / multipliers[positive].sum()
    support = rows[machine.support_[positive]]
    sphere = Sphere(support, X[support], multipliers, bound, q, 0.0, 0.0)
    sums = sphere.kernel_sums(sphere.vectors)
    sphere = sphere._replace(norm=float(multipliers @ sums))
    distances = sphere.squared_distance(sphere.vectors)
    free = ~sphere.bounded
    # Free support vectors lie on the sphere; those at the bound lie outside.
    return sphere._replace(squared_radius=float(distances[free].max() if free.any() else distances.mean()))


def trade_off(outlier_fraction: float, n_rows: int, n_working: int) -> float:
    """Return the bound C = 1 / (p n): at most a fraction p of the rows seen can lie outside; 1: none."""
    return min(1.0, max(1 / max(1.0, outlier_fraction * n_rows), 1 / n_working))


def learn_sphere(X: Floats, order: Ints, q: float, outlier_fraction: float, chunk_size: int, max_points: int) -> Sphere:
    """Learn the sphere chunk by chunk: each chunk joins the support vectors of those before it.

    No further chunk is taken once more than `max_points` support vectors are held. A row inside the sphere may be
    outside a later one, and so all rows seen are scanned at the end; those outside that the sphere does not know
    re-enter, at most `MAX_RESCANS` times.
    """
    working = np.empty(0, dtype=np.int64)
    for chunk in threads.blocks(len(order), chunk_size):
        working = np.concatenate([working, order[chunk]])
        sphere = smallest_sphere(X, working, q, trade_off(outlier_fraction, chunk.stop, len(working)))
        rows_so_far, working = order[: chunk.stop], sphere.rows
        if len(working) > max_points:
            break
    for _ in range(MAX_RESCANS):
        # Rows outside that are not support vectors at the bound were forgotten by later chunks.
        strangers = np.setdiff1d(rows_so_far[sphere.outside(X[rows_so_far])], sphere.rows[sphere.bounded])
        if len(strangers) == 0:
            break
        working = np.union1d(sphere.rows, strangers)
        sphere = smallest_sphere(X, working, q, trade_off(outlier_fraction, len(rows_so_far), len(working)))
    return sphere


def near_pairs(points: Floats, n_neighbors: int) -> Ints:
    """Return each point with its nearest others, as pairs of indices, near pairs first."""
    n_neighbors = min(n_neighbors, len(points) - 1)
    if n_neighbors < 1:
        return np.empty((0, 2), dtype=np.int64)
    distance, neighbor = NearestNeighbors(n_neighbors=n_neighbors).fit(points).kneighbors()
    pairs = np.column_stack([np.repeat(np.arange(len(points)), n_neighbors), neighbor.ravel()])
    return pairs[np.argsort(distance.ravel(), kind="stable")]


def join_equilibria(equilibria: Floats, points: Floats, basin: Ints, sphere: Sphere) -> Ints:
    """Return the cluster of each equilibrium point.

    Two equilibria are joined if the segment between them stays inside the sphere, and so are the equilibria of two
    near points, points[i] belonging to equilibrium basin[i]: in a bent cluster the straight way between equilibria
    leads outside. Only points inside the sphere may be given.
    """
    n_equilibria = len(equilibria)
    parent = np.concatenate([np.arange(n_equilibria), basin])
    pairs = np.concatenate([near_pairs(equilibria, NEAR_EQUILIBRIA), n_equilibria + near_pairs(points, NEAR_POINTS)])
    # Pairs within one basin are joined already.
    pairs = pairs[parent[pairs[:, 0]] != parent[pairs[:, 1]]]
    threshold = (1 + sphere.norm - sphere.squared_radius - TOLERANCE) / 2  # of the kernel sum, on the sphere
    around = (sphere.vectors, sphere.multipliers, sphere.q, threshold)
    _kernels.segments.join_along_segments(parent, pairs, np.concatenate([equilibria, points]), *around, STOPS)
    return np.unique(parent[:n_equilibria], return_inverse=True)[1]


@dataclass(eq=False, repr=False)
class ODISVC(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Incremental support vector clustering with outlier detection.

    The smallest sphere that holds most rows in the space of a Gaussian kernel is learnt chunk by chunk. Its trace in
    the data falls into pieces of any shape: the clusters. Rows outside are outliers.

    Parameters
    ----------
    q : float or None, default=None
        Width of the kernel exp(-q |x - y|^2); a larger q gives more and tighter clusters. None: a tenth of one
        over the squared median distance of rows to their tenth neighbor.
    outlier_fraction : float, default=0.05
        The largest share p of rows that may be outliers; the trade-off is C = 1 / (p n). 0: no outliers.
    chunk_size : int, default=500
        Rows learnt at a time.
    max_points : int, default=3000
        Limits the work on many rows: up to this many rows each descends to its equilibrium; above, representatives do
        (centers of mini-batch k-means), and a row follows its representative. A sphere with more support vectors than
        this takes in no further rows.
    random_state : int, RandomState instance or None, default=None
        Shuffles the rows into chunks and finds representatives.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
        Cluster of each row. An outlier has the label of the equilibrium it descends to, or of the nearest one inside
        the sphere.
    outliers_ : ndarray of shape (n_rows,), bool
        Which rows lie outside the sphere.
    n_clusters_ : int
        Clusters found.
    q_ : float
        Kernel width used.
    support_ : ndarray of shape (n_vectors,)
        Rows that are support vectors.
    support_vectors_ : ndarray of shape (n_vectors, n_features)
        Those rows.
    multipliers_ : ndarray of shape (n_vectors,)
        Their weights beta, summing to 1.
    squared_radius_ : float
        Of the sphere.
    equilibria_ : ndarray of shape (n_equilibria, n_features)
        Stable equilibrium points inside the sphere.
    n_features_in_ : int
        Columns of X in `fit`.

    References
    ----------
    D. Huang, J.-H. Lai, C.-D. Wang. Incremental support vector clustering with outlier detection. ICPR 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from quorate.features import ODISVC
    >>> X = np.array([[0.0], [1.0], [2.0], [6.0], [7.0]])
    >>> model = ODISVC(q=0.5, outlier_fraction=0.8).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1])
    >>> X[model.outliers_].ravel()
    array([0., 2.])
    """

    q: float | None = None
    _: KW_ONLY
    outlier_fraction: float = 0.05
    chunk_size: int = 500
    max_points: int = 3000
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters and outliers of X, of shape (n_rows, n_features); y is ignored."""
        X = check_features(self, X, fitting=True)
        same_everywhere(X)
        rng = check_random_state(self.random_state)
        max_points = check_integer("max_points", self.max_points, low=2)
        self.q_ = default_width(X) if self.q is None else check_number("q", self.q, above=0)
        self._sphere = learn_sphere(
            X,
            rng.permutation(len(X)),
            self.q_,
            check_number("outlier_fraction", self.outlier_fraction, low=0, high=1),
            check_integer("chunk_size", self.chunk_size, low=2),
            max_points,
        )
        self.support_, self.support_vectors_ = self._sphere.rows, self._sphere.vectors
        self.multipliers_, self.squared_radius_ = self._sphere.multipliers, self._sphere.squared_radius
        self.outliers_ = self._sphere.outside(X)
        self.outliers_[self.support_[self._sphere.bounded]] = True
        self._label(X, max_points, rng)
        return self

    def _label(self, X: Floats, max_points: int, rng: np.random.RandomState) -> None:
        """Find the equilibria inside the sphere, join them into clusters, and label the rows."""
        self._starts = starting_points(X, max_points, rng)
        ends = self._descend(self._starts.points)
        merged = merge_close(ends, MERGE_DISTANCE * self._bandwidth)
        points = ends[np.unique(merged, return_index=True)[1]]
        inside = ~self._sphere.outside(points)
        self.equilibria_ = points[inside] if inside.any() else points
        basin = nearest(points, self.equilibria_)[merged]
        within = ~self._sphere.outside(self._starts.points)
        self._cluster_of_equilibrium = join_equilibria(
            self.equilibria_, self._starts.points[within], basin[within], self._sphere
        )
        self.n_clusters_ = int(self._cluster_of_equilibrium.max()) + 1
        self._cluster_of_start = self._cluster_of_equilibrium[basin]
        self.labels_ = self._cluster_of_start[self._starts.of_row]

    @property
    def _bandwidth(self) -> float:
        """The standard deviation of the Gaussian exp(-q |x|^2)."""
        return float(np.sqrt(1 / (2 * self.q_)))

    def _descend(self, points: Floats) -> Floats:
        """Return the stable equilibrium of each point: descending R^2 is climbing the sum of beta_j K(x_j, x)."""
        return climb(points, Density(self.support_vectors_, self.multipliers_, self._bandwidth))

    def squared_distance(self, X: Any) -> Floats:
        """Return the squared distance of each row of X from the center of the sphere; outliers exceed its radius."""
        check_is_fitted(self)
        return self._sphere.squared_distance(check_features(self, X, fitting=False))

    def predict(self, X: Any) -> Ints:
        """Return the cluster of each row of X: that of the equilibrium it descends to.

        With more than `max_points` rows in `fit`: that of its nearest representative, as for the rows of `fit`.
        """
        check_is_fitted(self)
        X = check_features(self, X, fitting=False)
        if not self._starts.exact:
            return self._cluster_of_start[nearest(X, self._starts.points)]
        return self._cluster_of_equilibrium[nearest(self._descend(X), self.equilibria_)]


def tenth_neighbor_distance(X: Floats) -> float:
    """Return the median distance of rows (at most a thousand, evenly spaced) to their tenth neighbor."""
    n_neighbors = min(10, len(X) - 1)
    sample = X[:: max(1, len(X) // 1000)]
    distance = NearestNeighbors(n_neighbors=n_neighbors + 1).fit(X).kneighbors(sample)[0][:, -1]
    return float(np.median(distance))


def default_width(X: Floats) -> float:
    """Return the kernel width used where none is given."""
    distance = tenth_neighbor_distance(X)
    return 0.1 / distance**2 if distance > 0 else 1.0
