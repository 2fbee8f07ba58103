"""K-means-based consensus clustering (Wu et al. 2015): k-means on label tuples, by any of several utilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_choice, check_flag
from quorate.algorithms.partition import ImprovedCuts, ImprovingMethod, Partition, relocate
from quorate.ensemble import Ensemble
from quorate.errors import InputError
from quorate.numerics.mutual_information import ratio

Utility = Literal["cosine", "entropy", "category", "mode"]

UTILITIES = ("cosine", "entropy", "category", "mode")
_LEAST_SHARE = 2.2e-16
_TOLERANCE = 1e-5


@dataclass(frozen=True)
class CenterCuts(ImprovedCuts):
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
        # A group without labels of a member says nothing about it: all its labels are equally likely.
        uniform = np.broadcast_to(1.0 / n_labels[member][:, None], shared.shape)
        return np.where(inside[member] > 0, shared * ratio(1.0, inside)[member], uniform)

    def _by_member(self, values: Floats) -> Floats:
        """(M, k) sums over the clusters of each member."""
        total = np.zeros((self.ensemble.n_members, values.shape[1]))
        np.add.at(total, self.ensemble.cluster_member, values)
        return total

    def costs(self, centers: Floats) -> Floats:
        """(n_clusters, k) contribution of a row's cluster to its distance to each center, per weight of the member."""
        member = self.ensemble.cluster_member
        if self.utility == "entropy":
            # The smallest share avoids log 0, as in the authors' program.
            return -np.log2(centers + _LEAST_SHARE)
        if self.utility == "mode":
            return 1.0 - self._modes(centers)
        # |center|^2 per member, for the distances that need it.
        squared = self._by_member(centers**2)[member]
        if self.utility == "category":
            return 1.0 + squared - 2.0 * centers
        return 1.0 - centers / np.sqrt(squared)

    def _modes(self, centers: Floats) -> Floats:
        """(n_clusters, k) 1 for the most frequent label of each member in each group, the first of equals."""
        modes = np.zeros_like(centers)
        # Rounding: ties between labels go to the first one on every machine.
        rounded = np.round(centers, 12)
        for member in range(self.ensemble.n_members):
            clusters = np.flatnonzero(self.ensemble.cluster_member == member)
            if len(clusters):
                modes[clusters[np.argmax(rounded[clusters], axis=0)], np.arange(centers.shape[1])] = 1.0
        return modes

    @property
    def _weights(self) -> Floats:
        """(n_clusters,) weight of each cluster's member; with `norm` divided by the score of its own labels."""
        if not self.norm:
            return self.share_of_cluster
        sizes = self.ensemble.cluster_sizes.astype(np.float64)[:, None]
        # The score of a member's own labels is what its part of the utility could reach at best.
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
        """Return the groups after updating centers and groups in turn."""
        return relocate(groups, self.counts, k, lambda current: self.distances(current, k), _TOLERANCE)


class KCC(ImprovingMethod):
    """K-means-based consensus clustering: k-means whose centers are distributions of every member's labels.

    Published: the utilities, each with its distance, and the iterations. Chosen here: the start from LWEA instead of
    random rows, and re-seeding an empty cluster at the farthest row.

    Parameters
    ----------
    utility : {"cosine", "entropy", "category", "mode"}, default "cosine"
        Utility of the authors: U_cos, U_H or U_c. "mode": majority labels as centers, and the number of members that
        differ as distance (iterative voting consensus; Nguyen and Caruana 2007).
    norm : bool, default False
        Whether each member's part is divided by the score of its own labels (the authors' normalized utilities). Not
        available for "mode".

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

    name = "kcc"
    idea = "k-means on label tuples, whose centers are distributions of every member's labels."
    equation = "min over groups of sum over rows and members of 1 - g(c_l) / |g_l| (cosine), or entropy, category, mode"
    strength = "Linear time in the rows after the start; several utilities."
    weakness = "Much worse from random starts than from LWEA."
    when = "You want an objective like that of k-means, to compare answers."
    citation = "Wu, Liu, Xiong, Cao, Chen 2015"
    cost = "that of LWEA, average link, + m M k per round; memory m M + m k"
    exact = "objective and labels of all rows"

    utility: Utility = "cosine"
    norm: bool = False

    def _check(self) -> None:
        super()._check()
        check_choice("utility", self.utility, UTILITIES)
        if check_flag("norm", self.norm) and self.utility == "mode":
            raise InputError(
                "must be False for utility 'mode', which is not normalized; got True.", code="no-norm", parameter="norm"
            )

    def _solve(self, ens: Ensemble, influence: Floats) -> CenterCuts:
        return CenterCuts(ens, influence, self.init, self.n_init, self.random_state, self.utility, self.norm)

    @property
    def objective_(self) -> float:
        """Sum of the distances of rows to their centers."""
        return self._partition.value
