"""K-means-based consensus clustering (Wu et al. 2015): k-means on label tuples, by any of several utilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_choice, check_flag
from quorate.algorithms.partition import ImprovedCuts, ImprovingMethod, Partition, relocate
from quorate.ensemble import Ensemble
from quorate.errors import QuorateError
from quorate.reliability import Normalize, ratio

Utility = Literal["cosine", "entropy", "category", "mode"]

UTILITIES = ("cosine", "entropy", "category", "mode")
_LEAST_SHARE = 2.2e-16
_TOLERANCE = 1e-5


@dataclass(frozen=True)
class CentreCuts(ImprovedCuts):
    """Groups around centers: in each group, the distribution of every member's labels."""

    utility: str = "cosine"
    norm: bool = False

    def centers(self, groups: Ints, k: int) -> Floats:
        """(n_clusters, k) share of each cluster in the rows of each group that its member labels; uniform if none."""
        rows = np.zeros((len(groups), k))
        rows[np.arange(len(groups)), groups] = self.counts
        shared = np.asarray(self.members_of.T @ rows)
        inside = self._by_member(shared)
        member = self.ensemble.cluster_member
        n_labels = np.bincount(member, minlength=self.ensemble.n_members)
        uniform = np.broadcast_to(1.0 / n_labels[member][:, None], shared.shape)
        return np.where(inside[member] > 0, shared * ratio(1.0, inside)[member], uniform)

    def _by_member(self, values: Floats) -> Floats:
        """(M, k) sums over the clusters of each member."""
        total = np.zeros((self.ensemble.n_members, values.shape[1]))
        np.add.at(total, self.ensemble.cluster_member, values)
        return total

    def costs(self, centers: Floats) -> Floats:
        """(n_clusters, k) what a row in each cluster adds to its distance to each center, over the member's weight."""
        member = self.ensemble.cluster_member
        if self.utility == "entropy":
            return -np.log2(centers + _LEAST_SHARE)
        if self.utility == "mode":
            return 1.0 - self._modes(centers)
        squared = self._by_member(centers**2)[member]
        if self.utility == "category":
            return 1.0 + squared - 2.0 * centers
        return 1.0 - centers / np.sqrt(squared)

    def _modes(self, centers: Floats) -> Floats:
        """(n_clusters, k) 1 for the most frequent label of each member in each group, the first of equals."""
        modes = np.zeros_like(centers)
        rounded = np.round(centers, 12)
        for member in range(self.ensemble.n_members):
            clusters = np.flatnonzero(self.ensemble.cluster_member == member)
            if len(clusters):
                modes[clusters[np.argmax(rounded[clusters], axis=0)], np.arange(centers.shape[1])] = 1.0
        return modes

    @property
    def _weights(self) -> Floats:
        """(n_clusters,) weight of each cluster's member; under `norm` over what its own labels would score."""
        if not self.norm:
            return self.share_of_cluster
        sizes = self.ensemble.cluster_sizes.astype(np.float64)[:, None]
        share = sizes / self._by_member(sizes)[self.ensemble.cluster_member]
        if self.utility == "entropy":
            score = self._by_member(-share * np.log2(share))
        else:
            squared = self._by_member(share**2)
            score = np.sqrt(squared) if self.utility == "cosine" else squared
        return self.share_of_cluster * ratio(1.0, score[:, 0])[self.ensemble.cluster_member]

    def distances(self, groups: Ints, k: int) -> Floats:
        """(p, k) distance of each pattern to the center of each group."""
        return np.asarray(self.members_of @ (self._weights[:, None] * self.costs(self.centers(groups, k))))

    def improve(self, groups: Ints, k: int) -> Partition:
        """Return what becomes of some first groups, as centers and rows take turns."""
        return relocate(groups, self.counts, k, lambda found: self.distances(found, k), _TOLERANCE)


class KCC(ImprovingMethod):
    """K-means-based consensus clustering: k-means whose centers are distributions of every member's labels.

    What is known: the utilities, each with its distance, and the iterations. What is chosen: they start from LWEA
    rather than from random rows, and an emptied cluster is re-seeded at the farthest row.

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of clusters.
    utility : {"cosine", "entropy", "category", "mode"}, default "cosine"
        What a center gains: U_cos, U_H or U_c of the authors; or "mode", majority labels as centers and the number of
        members that differ as distance (iterative voting consensus; Nguyen and Caruana 2007).
    norm : bool, default False
        Whether each member's part is divided by what its own labels would score, the authors' normalized utilities;
        not with "mode".
    init : {"lwea", "random"}, default "lwea"
        Where it starts: at the average-link cut of LWEA, or at random rows, the best of `n_init` (the original).
    n_init : int, default 10
        Number of random starts, for "random".
    random_state : int, Generator or None
        Seed, for "random".
    weights : {"equal", "ncai", "trust"} or (M,) array, default "equal"
        Weights of the members in the distance: all equal (the original), by crowd agreement, by `trust`, or given.
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
        Sum of the distances of rows to their centers.
    confidence_, margin_, runner_up_, clusters_, ncai_, member_weights_, ensemble_, pattern_labels_, pattern_confidence_
        As in `WEAC`.

    References
    ----------
    J. Wu, H. Liu, H. Xiong, J. Cao, J. Chen: K-Means-Based Consensus Clustering: A Unified View. IEEE Transactions on
    Knowledge and Data Engineering 27 (2015). N. Nguyen, R. Caruana: Consensus Clusterings. ICDM (2007).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.KCC(n_clusters=2).fit_predict(members)
    array([0, 0, 0, 0, 1, 1])
    """

    name: ClassVar[str] = "kcc"
    idea: ClassVar[str] = "k-means on label tuples, whose centers are distributions of every member's labels."
    equation: ClassVar[str] = (
        "min over groups of sum over rows and members of 1 - g(c_l) / |g_l| (cosine), or entropy, category, mode"
    )
    strength: ClassVar[str] = "Time linear in the rows after its start; several utilities."
    weakness: ClassVar[str] = "Far worse from random starts than from LWEA."
    when: ClassVar[str] = "A k-means-like objective is wanted, to be compared between answers."
    citation: ClassVar[str] = "Wu, Liu, Xiong, Cao, Chen 2015"
    cost: ClassVar[str] = "that of LWEA, average link, + m M k per round; memory m M + m k"
    exact: ClassVar[str] = "objective and labels of all rows"

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        utility: Utility = "cosine",
        norm: bool = False,
        init: str = "lwea",
        n_init: int = 10,
        random_state: Any = None,
        weights: Any = "equal",
        beta: float = 2.0,
        normalize: Normalize = "sqrt",
    ) -> None:
        self.n_clusters = n_clusters
        self.utility = utility
        self.norm = norm
        self.init = init
        self.n_init = n_init
        self.random_state = random_state
        self.weights = weights
        self.beta = beta
        self.normalize = normalize

    def _check(self) -> None:
        super()._check()
        check_choice("utility", self.utility, UTILITIES)
        if check_flag("norm", self.norm) and self.utility == "mode":
            raise QuorateError('norm must be False with utility="mode", which is not normalized; got True.')

    def _solve(self, ens: Ensemble, influence: Floats) -> CentreCuts:
        return CentreCuts(ens, influence, self.init, self.n_init, self.random_state, self.utility, self.norm)

    @property
    def objective_(self) -> float:
        """Sum of the distances of rows to their centers."""
        return self._partition.value
