"""Spectral ensemble clustering (Liu et al. 2017): the normalized cut of the co-association matrix by k-means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from quorate._utils.array_types import Floats, Ints
from quorate.algorithms.partition import ImprovedCuts, ImprovingMethod, Partition, relocate
from quorate.ensemble import Ensemble
from quorate.reliability import Normalize, ratio


@dataclass(frozen=True)
class SpectralCuts(ImprovedCuts):
    """Weighted k-means of h_u / d_u with weight w_u d_u; d_u is the degree of a row in the co-association matrix."""

    @cached_property
    def degrees(self) -> Floats:
        """(p,) the sizes of each pattern's clusters together, by the weight of their members."""
        return np.asarray(self.members_of @ (self.share_of_cluster * self.ensemble.cluster_sizes))

    @cached_property
    def points(self) -> sp.csr_array:
        """(p, n_clusters) cluster indicators over the degree."""
        scale = sp.diags_array(1.0 / self.degrees)
        return sp.csr_array(scale @ self.members_of @ sp.diags_array(np.sqrt(self.share_of_cluster)))

    def distances(self, groups: Ints, k: int) -> Floats:
        """(p, k) squared distance of each pattern to the weighted mean of each group."""
        weights = self.counts * self.degrees
        rows = sp.csr_array((weights, (groups, np.arange(len(groups)))), shape=(k, len(groups)))
        total = np.bincount(groups, weights=weights, minlength=k).astype(np.float64)
        means = np.asarray((rows @ self.points).toarray()) * ratio(1.0, total)[:, None]
        return self.distances_to(means)

    def distances_to(self, means: Floats) -> Floats:
        """(p, k) squared distance of each pattern to each of some means (k, n_clusters)."""
        own = np.asarray(self.points.multiply(self.points).sum(axis=1)).ravel()
        return own[:, None] + np.sum(means**2, axis=1) - 2.0 * np.asarray(self.points @ means.T)

    def improve(self, groups: Ints, k: int) -> Partition:
        """Return what becomes of some first groups, as means and rows take turns."""
        return relocate(groups, self.counts * self.degrees, k, lambda found: self.distances(found, k), 0.0)


class SEC(ImprovingMethod):
    """Spectral ensemble clustering: the normalized cut of the co-association matrix, as a weighted k-means of rows.

    The objective is that of CSPA; it is improved directly, in time linear in the rows. What is known: the weighted
    k-means. What is chosen: it starts from LWEA rather than from random rows, and an emptied cluster is re-seeded at
    the farthest row.

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of clusters.
    init : {"lwea", "random"}, default "lwea"
        Where it starts: at the average-link cut of LWEA, or at random rows, the best of `n_init` (the original).
    n_init : int, default 10
        Number of random starts, for "random".
    random_state : int, Generator or None
        Seed, for "random".
    weights : {"equal", "ncai", "trust"} or (M,) array, default "equal"
        Weights of the members in the co-association: all equal (the original), by crowd agreement, by `trust`, or
        given.
    beta : float, default 2.0
        How strongly agreement with the crowd counts in the weight of a member, for weights "ncai" and "trust".
    normalize : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        How mutual information is normalized, as in `agreement`.

    Attributes
    ----------
    labels_ : (n,) array
        Consensus label of each row; 0 is the largest cluster.
    n_clusters_ : int
    objective_ : float
        Weighted sum of squared distances of rows to their means.
    confidence_, margin_, runner_up_, clusters_, ncai_, member_weights_, ensemble_, pattern_labels_, pattern_confidence_
        As in `WEAC`.

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

    name: ClassVar[str] = "sec"
    idea: ClassVar[str] = "The normalized cut of the co-association matrix, improved directly as a weighted k-means."
    equation: ClassVar[str] = "min over groups of sum w_u d_u |h_u / d_u - mean|^2"
    strength: ClassVar[str] = "Time linear in the rows after its start."
    weakness: ClassVar[str] = "From random starts among the weakest methods."
    when: ClassVar[str] = "Comparisons with the literature."
    citation: ClassVar[str] = "Liu, Wu, Liu, Tao, Fu 2017"
    cost: ClassVar[str] = "that of LWEA, average link, + m M k per round; memory m M + m k"
    exact: ClassVar[str] = "objective and labels of all rows"

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        init: str = "lwea",
        n_init: int = 10,
        random_state: Any = None,
        weights: Any = "equal",
        beta: float = 2.0,
        normalize: Normalize = "sqrt",
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.random_state = random_state
        self.weights = weights
        self.beta = beta
        self.normalize = normalize

    def _solve(self, ens: Ensemble, influence: Floats) -> SpectralCuts:
        return SpectralCuts(ens, influence, self.init, self.n_init, self.random_state)

    @property
    def objective_(self) -> float:
        """Weighted sum of squared distances of rows to their means."""
        return self._partition.value
