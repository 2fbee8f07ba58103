"""What the clusterers over features share."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.validation import validate_data

from quorate._utils.array_types import Floats, Ints
from quorate.columns.column_messages import feature_problem
from quorate.errors import InputError, warn
from quorate.integrations.anndata import is_annotated


def check_features(
    estimator: BaseEstimator, X: Any, *, fitting: bool, sparse: bool = False, single: bool = False
) -> Any:
    """Return X as a (rows, features) array of finite float64, or refuse it; remember its columns when `fitting`.

    A sparse X is returned as a csr matrix or array where `sparse` allows it, one of float32 as it is if `single`.
    """
    if is_annotated(X):
        raise InputError(
            'X must be a table of features; got AnnData. Pass adata.X or adata.obsm["X_pca"]; clusterings in obs are '
            "combined by quorate.consensus(adata, keys=[...]).",
            code="features",
        )
    try:
        return validate_data(
            estimator,
            X,
            reset=fitting,
            accept_sparse="csr" if sparse else False,
            dtype=[np.float64, np.float32] if single else np.float64,
            order="C",
            ensure_min_samples=2 if fitting else 1,
        )
    except ValueError as error:
        raise feature_problem(X) or InputError(str(error), code="features") from error


def same_everywhere(X: Floats) -> bool:
    """Return, with a warning, whether all rows are the same, so that there is only one cluster."""
    if np.ptp(X, axis=0).any():
        return False
    warn("All rows of X are the same, so there is one cluster. Check the columns of X.", code="equal-rows")
    return True


def nearest(points: Floats, centers: Floats) -> Ints:
    """Return the index of the center nearest to each point; the lower index on ties."""
    return pairwise_distances_argmin(points, centers).astype(np.int64)


def spread(X: Floats) -> float:
    """Return the largest standard deviation of a column: the scale of the data."""
    return float(X.std(axis=0).max())


class Starts(NamedTuple):
    """The points that stand for the rows: the distinct rows themselves, or representatives where rows are too many."""

    points: Floats
    weights: Floats
    of_row: Ints
    exact: bool


def starting_points(X: Floats, max_points: int, rng: np.random.RandomState) -> Starts:
    """Return the rows of X, or `max_points` centers of mini-batch k-means, weighted by the rows nearest to them."""
    exact = len(X) <= max_points
    if exact:
        points, of_row = np.unique(X, axis=0, return_inverse=True)
        of_row = of_row.ravel()
    else:
        clusters = MiniBatchKMeans(max_points, init="random", n_init=1, max_iter=10, batch_size=4096, random_state=rng)
        points = clusters.fit(X).cluster_centers_
        used, of_row = np.unique(nearest(X, points), return_inverse=True)  # some centers may be nearest to no row
        points = points[used]
    return Starts(points, np.bincount(of_row).astype(np.float64), of_row, exact)
