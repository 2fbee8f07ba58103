"""Rows that are not placed firmly: few other rows are near them, or most members place them elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from quorate._runtime import threads
from quorate._utils.array_types import Floats, Ints
from quorate.persistence.archive import Arrays

LEAST_CONFIDENCE = 0.5
"""A row with a smaller confidence is an outlier."""
_OTHER_ROWS = 9
_SPREADS, _LEAST_RATIO = 4.0, 1.5


@dataclass(frozen=True)
class Outliers:
    """The rows that clusters were found on, and how far from them a row of each cluster may be."""

    rows: Floats
    """(n, d) the fitted rows, scaled."""
    limits: Floats
    """(k,) the largest distance of a row from its ninth nearest other row, by cluster."""

    @classmethod
    def of(cls, rows: Floats, labels: Ints) -> Outliers:
        """Return the limits of each cluster.

        The logarithm of the distance may exceed its median in the cluster by four times the median's distance from the
        lower quartile. Noise does not reach that half of the cluster, so that it does not widen its own limit. Values
        that repeat have no such spread: the limit is at least 1.5 times the median, and absent where a quarter of the
        rows have copies only.
        """
        # Distances of the rows to each other; the limits follow from them.
        sparsity = cls(rows, np.empty(0)).sparsity(rows)
        quartiles = [np.quantile(sparsity[labels == label], [0.25, 0.5]) for label in range(int(labels.max()) + 1)]
        low, median = np.array(quartiles).T
        # Where a quarter of the rows have copies only, there is no scale for a limit.
        varied = np.where(low > 0, low, np.inf)
        limits = median * np.maximum((median / varied) ** _SPREADS, _LEAST_RATIO)
        return cls(rows, np.where(low > 0, limits, np.inf))

    @cached_property
    def _tree(self) -> KDTree:
        return KDTree(self.rows)

    def sparsity(self, X: Floats) -> Floats:
        """(n,) distance of each row of X from its ninth nearest other fitted row."""
        n_neighbors = min(_OTHER_ROWS + 1, len(self.rows))
        nearest, ninth, tenth = self._tree.query(
            X, [1, max(n_neighbors - 1, 1), n_neighbors], workers=threads.n_threads()
        )[0].T
        return np.where(nearest == 0, tenth, ninth)  # a fitted row is its own neighbor

    def find(self, X: Floats, labels: NDArray[np.int32], confidence: NDArray[np.float32]) -> NDArray[np.bool_]:
        """(n,) whether each scaled row of X is an outlier of the cluster that it was assigned to."""
        placed = labels >= 0
        return placed & ((confidence < LEAST_CONFIDENCE) | (self.sparsity(X) > self.limits[np.maximum(labels, 0)]))

    def to_arrays(self) -> Arrays:
        """Return rows and limits under the names they have in a file."""
        return {"outlier_rows": self.rows, "outlier_limits": self.limits}
