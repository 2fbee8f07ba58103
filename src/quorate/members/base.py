"""What the clusterers over features share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.validation import validate_data

from quorate.errors import QuorateError, warn

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def check_features(estimator: BaseEstimator, X: Any, *, fitting: bool) -> Floats:
    """Return X as a (rows, features) array of finite float64, or refuse it; remember its columns when `fitting`."""
    try:
        return validate_data(  # type: ignore[no-any-return]
            estimator, X, reset=fitting, dtype=np.float64, order="C", ensure_min_samples=2 if fitting else 1
        )
    except ValueError as error:
        raise QuorateError(str(error)) from error


def same_everywhere(X: Floats) -> bool:
    """Tell, with a warning, whether all rows are the same, so that there is only one cluster to find."""
    if np.ptp(X, axis=0).any():
        return False
    warn("All rows of X are the same: one cluster is all there is. Check that X holds the columns you meant.")
    return True


def nearest(points: Floats, centres: Floats) -> Integers:
    """Return the index of the centre nearest to each point; the lower index on ties."""
    return pairwise_distances_argmin(points, centres).astype(np.int64)  # type: ignore[no-any-return]


def spread(X: Floats) -> float:
    """Return the largest standard deviation of a column: the scale of the data."""
    return float(X.std(axis=0).max())
