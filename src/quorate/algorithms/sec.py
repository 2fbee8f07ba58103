"""Spectral ensemble clustering (Liu et al. 2017): the normalized cut of the co-association matrix by k-means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from quorate._utils.array_types import Floats, Ints
from quorate.algorithms.partition import ImprovedCuts, ImprovingMethod, Partition, relocate
from quorate.ensemble import Ensemble
from quorate.numerics.mutual_information import ratio


@dataclass(frozen=True)
class SpectralCuts(ImprovedCuts):
    """Weighted k-means of h_u / d_u with weight w_u d_u; d_u is the degree of a row in the co-association matrix."""

    @cached_property
    def degrees(self) -> Floats:
        """(p,) sum of the sizes of each pattern's clusters, by the weight of their members."""
        return np.asarray(self.members_of @ (self.share_of_cluster * self.ensemble.cluster_sizes))

    @cached_property
    def points(self) -> sp.csr_array:
        """(p, n_clusters) cluster indicators over the degree."""
        scale = sp.diags_array(1.0 / self.degrees)
        return sp.csr_array(scale @ self.members_of @ sp.diags_array(np.sqrt(self.share_of_cluster)))

    def distances(self, groups: Ints, k: int) -> Floats:
        """(p, k) squared distance of each pattern to the weighted mean of each group."""
        # Each row counts by its degree, which turns the normalized cut into a weighted k-means.
        weights = self.counts * self.degrees
        rows = sp.csr_array((weights, (groups, np.arange(len(groups)))), shape=(k, len(groups)))
        total = np.bincount(groups, weights=weights, minlength=k).astype(np.float64)
        means = np.asarray((rows @ self.points).toarray()) * ratio(1.0, total)[:, None]
        return self.distances_to(means)

    def distances_to(self, means: Floats) -> Floats:
        """(p, k) squared distance of each pattern to each of the means (k, n_clusters)."""
        # |x - m|^2 = |x|^2 + |m|^2 - 2 x.m keeps the points sparse.
        own = np.asarray(self.points.multiply(self.points).sum(axis=1)).ravel()
        return own[:, None] + np.sum(means**2, axis=1) - 2.0 * np.asarray(self.points @ means.T)

    def improve(self, groups: Ints, k: int) -> Partition:
        """Return the groups after updating means and groups in turn."""
        return relocate(groups, self.counts * self.degrees, k, lambda current: self.distances(current, k), 0.0)


class SEC(ImprovingMethod):
    """Spectral ensemble clustering: the normalized cut of the co-association matrix, as a weighted k-means of rows.

    The objective is that of CSPA, improved directly in time linear in the rows. Published: the weighted k-means. Chosen
    here: the start from LWEA instead of random rows, and re-seeding an empty cluster at the farthest row.

    References
    ----------
    H. Liu, J. Wu, T. Liu, D. Tao, Y. Fu: Spectral Ensemble Clustering via Weighted K-Means. IEEE Transactions on
    Knowledge and Data Engineering 29 (2017).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.SEC(n_clusters=2).fit_predict(members)
    array([0, 0, 0, 0, 1, 1])
    """

    name = "sec"
    idea = "The normalized cut of the co-association matrix, improved directly as a weighted k-means."
    equation = "min over groups of sum w_u d_u |h_u / d_u - mean|^2"
    strength = "Linear time in the rows after the start."
    weakness = "Among the weakest methods from random starts."
    when = "Comparisons with the literature."
    citation = "Liu, Wu, Liu, Tao, Fu 2017"
    cost = "that of LWEA, average link, + m M k per round; memory m M + m k"
    exact = "objective and labels of all rows"

    def _solve(self, ens: Ensemble, influence: Floats) -> SpectralCuts:
        return SpectralCuts(ens, influence, self.init, self.n_init, self.random_state)

    @property
    def objective_(self) -> float:
        """Weighted sum of squared distances of rows to their means."""
        return self._partition.value
