"""Rival penalized competitive learning (Xu, Krzyzak, Oja 1993): k-means that drives surplus units away."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from quorate import _kernels
from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_integer, check_number
from quorate.errors import InputError
from quorate.features.clusterers.feature_checks import check_features, nearest, same_everywhere, spread

FAR = 1e6  # data scales: a unit driven further away is held there; it can win nothing any more


@dataclass(eq=False, repr=False)
class RPCL(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Rival penalized competitive learning.

    Units compete for one row at a time. The winner learns the row; the rival, second best, is pushed away from it. The
    score of a unit is its share of past wins times the squared distance, so frequent winners hold back. Units that are
    not needed are driven out of the data, and so the number of clusters is found, up to `n_units`.

    Parameters
    ----------
    n_units : int, default=8
        Units at the start, at most the number of rows.
    learning_rate : float, default=0.05
        Share of the way by which the winner moves towards a row in the first epoch; decays linearly to 0.
    rival_rate : float, default=0.002
        Share by which the rival moves away; far smaller than `learning_rate`, or good units are expelled too.
    max_iter : int, default=50
        Epochs: passes over all rows in a new random order.
    tol : float, default=1e-4
        Stop when no unit moved further in an epoch than this share of the largest column's standard deviation.
    random_state : int, RandomState instance or None, default=None
        Chooses the rows at which units start and the order of rows in every epoch.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
        Cluster of each row: the nearest surviving unit.
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        The surviving units.
    n_clusters_ : int
        How many units survived, that is, are nearest to at least one row.
    n_iter_ : int
        Epochs run.
    n_features_in_ : int
        Columns of X in `fit`.

    Notes
    -----
    Features should have comparable scales. An epoch costs rows x units x features, one row after the other.

    References
    ----------
    L. Xu, A. Krzyzak, E. Oja. Rival penalized competitive learning for clustering analysis, RBF net, and curve
    detection. IEEE Transactions on Neural Networks 4 (1993) 636-649.

    Examples
    --------
    >>> import numpy as np
    >>> from quorate.features import RPCL
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(center, 0.3, size=(200, 2)) for center in ((0, 0), (4, 0), (2, 3))])
    >>> RPCL(n_units=5, random_state=0).fit(X).n_clusters_
    3
    """

    n_units: int = 8
    _: KW_ONLY
    learning_rate: float = 0.05
    rival_rate: float = 0.002
    max_iter: int = 50
    tol: float = 1e-4
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters of X, of shape (n_rows, n_features); y is ignored."""
        X = check_features(self, X, fitting=True)
        n_units = check_integer("n_units", self.n_units, low=1)
        if n_units > len(X):
            raise InputError(
                f"must be at most the number of rows; got {n_units} with n_samples = {len(X)}.",
                code="few-rows",
                parameter="n_units",
                hint="Use fewer units or more rows.",
            )
        same_everywhere(X)
        rng = check_random_state(self.random_state)
        units = self._compete(X, X[rng.choice(len(X), n_units, replace=False)], rng)
        survivors, self.labels_ = np.unique(nearest(X, units), return_inverse=True)
        self.cluster_centers_ = units[survivors]
        self.n_clusters_ = len(survivors)
        return self

    def _compete(self, X: Floats, starts: Floats, rng: np.random.RandomState) -> Floats:
        """Run the epochs and return all units, survivors or not."""
        learning_rate = check_number("learning_rate", self.learning_rate, above=0, high=1)
        rival_rate = check_number("rival_rate", self.rival_rate, low=0, high=learning_rate)
        max_iter = check_integer("max_iter", self.max_iter, low=1)
        scale, middle = spread(X), X.mean(axis=0)[:, None]
        enough = check_number("tol", self.tol, low=0) * scale
        units, wins = np.ascontiguousarray(starts.T), np.ones(len(starts))
        for epoch in range(max_iter):
            # Rates fall linearly to 0, so that units come to rest.
            before, decay = units.copy(), 1 - epoch / max_iter
            _kernels.rival_pass.compete(
                X, rng.permutation(len(X)), units, wins, learning_rate * decay, rival_rate * decay
            )
            # Expelled units would overflow after many steps.
            np.clip(units, middle - FAR * scale, middle + FAR * scale, out=units)
            self.n_iter_ = epoch + 1
            if np.linalg.norm(units - before, axis=0).max() <= enough:
                break
        return np.ascontiguousarray(units.T)

    def predict(self, X: Any) -> Ints:
        """Return the cluster of each row of X: the nearest surviving unit."""
        check_is_fitted(self)
        return nearest(check_features(self, X, fitting=False), self.cluster_centers_)
