"""The median partition: the clustering that is nearest to all members, with as many clusters as that takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from quorate import _kernels
from quorate._runtime.memory import USE_LINKAGE, require_memory
from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_number
from quorate.algorithms.base import Cuts
from quorate.algorithms.partition import GroupCuts, GroupMethod, Partition
from quorate.analysis.choose_k import Choice
from quorate.ensemble import Clusterings, Ensemble
from quorate.numerics.linkage import Dendrogram, link_coassociation
from quorate.row_similarity import indicators

_MAX_SWEEPS = 100
_ROUNDS_OF_ORDER = 3


@dataclass(frozen=True)
class MedianCuts(GroupCuts):
    """Partitions that maximize Q, the sum over pairs of rows of one group of their evidence minus gamma."""

    gamma: float = 0.5

    @cached_property
    def covered(self) -> Ints:
        """(p,) the patterns with a label by some member of positive weight, in an order that names do not change.

        Moves are made in this order and ties are broken by it. Patterns are ordered by their rows, then by their mean
        co-association with all rows, then by the same weighted by the squares of these means, three times.
        """
        covered = super().covered
        phi, counts = indicators(self.ensemble, self.influence)[covered], self.ensemble.counts[covered]
        total, index, keys = counts.sum(), np.ones(len(covered)), [-counts / counts.sum()]
        for _ in range(_ROUNDS_OF_ORDER):
            index = phi @ (self._share * (phi.T @ (counts * index**2))) / total
            keys.append(np.round(index, 12))
        return covered[np.lexsort(keys[::-1])]

    @cached_property
    def eac_tree(self) -> Dendrogram:
        """The average-link tree of co-association, with ties broken by the order of `covered`."""
        return link_coassociation(self.ensemble, self.influence, "average", leaves=self.covered)

    def _tree_groups(self, k: int) -> Ints:
        """(p,) the cut of the tree into k groups, numbered by their first pattern in the order of `covered`."""
        groups = self.eac_tree.cut(k)[self.covered]
        _, first, position = np.unique(groups, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        return rank[position]

    @cached_property
    def free(self) -> Ints:
        """(p,) the partition of no given number of groups.

        It starts from the merges of mean evidence above gamma (Gionis et al.: AGGLOMERATIVE).
        """
        joined = int(np.sum(np.round(1.0 - self.eac_tree.heights, 12) > self.gamma))
        return self.search(self._tree_groups(len(self.covered) - joined), fixed=False)

    def search(self, groups: Ints, *, fixed: bool) -> Ints:
        """Move whole patterns, one after the other, to where Q gains most, until a sweep moves none.

        A row gains in a group g, without itself, sum_c w_c h_g(c) - gamma n_g, h_g the group's histogram over clusters;
        0 in a group of its own, unless the number of groups is fixed.
        """
        phi = self._phi
        groups = groups.copy()
        while True:
            n_groups = int(groups.max()) + 1
            capacity = n_groups if fixed else n_groups + max(16, n_groups // 4)
            histogram, sizes, members = self._statistics(groups, capacity)
            moved = done = 0
            for _ in range(_MAX_SWEEPS):
                done, moved = _kernels.vote_losses.move_patterns(
                    phi.indptr, phi.indices, phi.data, self.counts, self._share, self.gamma, fixed, groups, sizes,
                    members, histogram, 0,
                )  # fmt: skip
                if done < len(groups) or moved == 0:
                    break
            if done == len(groups):
                return np.unique(groups, return_inverse=True)[1]
            groups = np.unique(groups, return_inverse=True)[1]  # no room for another group: make more

    @cached_property
    def _phi(self) -> Any:
        return indicators(self.ensemble, self.influence)[self.covered]

    @cached_property
    def _share(self) -> Floats:
        return (self.influence / self.influence.sum())[self.ensemble.cluster_member]

    def _statistics(self, groups: Ints, capacity: int) -> tuple[Floats, Floats, Ints]:
        """(n_clusters, capacity) histogram of each group over clusters; (capacity,) its rows and its patterns."""
        n_clusters = self.ensemble.n_clusters
        require_memory(8.0 * n_clusters * capacity, f"{capacity:,} groups by {n_clusters:,} clusters", USE_LINKAGE)
        histogram = np.zeros((n_clusters, capacity))
        phi = self._phi.tocoo()
        np.add.at(histogram, (phi.col, groups[phi.row]), phi.data * self.counts[phi.row])
        sizes = np.bincount(groups, weights=self.counts, minlength=capacity)
        return histogram, sizes.astype(np.float64), np.bincount(groups, minlength=capacity).astype(np.int64)

    def objective(self, groups: Ints) -> float:
        """Return Q = (sum_g (sum_c w_c h_g(c)^2 - gamma n_g^2) - n (1 - gamma)) / 2."""
        histogram, sizes, _ = self._statistics(groups, int(groups.max(initial=-1)) + 1)
        inside = float(np.sum(self._share @ histogram**2) - self.gamma * np.sum(sizes**2))
        alone = self.ensemble.counts[self.covered] ** 2 / self.ensemble.row_counts[self.covered]
        return (inside - (1.0 - self.gamma) * float(alone.sum())) / 2

    def solve(self, k: int) -> Partition:
        """Return the free partition if it has k groups, else what becomes of the cut of EAC into k groups."""
        free = k == self.n_free
        groups = self.free if free else self.search(self._tree_groups(k), fixed=True)
        return Partition(groups, self.objective(groups))

    @property
    def n_free(self) -> int:
        """The number of groups of the free partition."""
        return int(self.free.max()) + 1 if len(self.covered) else 0


class MedianPartition(GroupMethod):
    """The median partition: the clustering nearest to all members; it finds its own number of clusters.

    It maximizes, over all partitions, the sum over pairs of rows in one cluster of their evidence minus gamma. With
    gamma = 1/2 that is the least sum of Mirkin distances to the members: correlation clustering, clustering
    aggregation, and what Leiden finds on the co-association graph at resolution 1/2, here without building a graph. The
    search is local: it starts from average link and moves whole patterns, which an optimum never splits.

    A median keeps every boundary that half the members draw: where these have many clusters, so has it.

    Parameters
    ----------
    n_clusters : int or "auto", default "auto"
        "auto": the number of clusters with the largest objective. A number: the search keeps to that many.
    gamma : float in [0, 1], default 0.5
        The evidence above which two rows belong together; less gives fewer clusters.

    References
    ----------
    A. Gionis, H. Mannila, P. Tsaparas: Clustering Aggregation. ACM Transactions on Knowledge Discovery from Data 1
    (2007). V. A. Traag, L. Waltman, N. J. van Eck: From Louvain to Leiden. Scientific Reports 9 (2019).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.MedianPartition().fit_predict(members)
    array([0, 0, 0, 2, 1, 1])
    """

    name = "median"
    idea = "The clustering nearest to all members, with as many clusters as that takes."
    equation = "max over partitions of the sum over pairs of rows in one cluster of S(i, j) - gamma"
    strength = "Finds the number of clusters; one clear objective; consensus Leiden without a graph."
    weakness = "Keeps every boundary that half the members draw: many clusters where members have many."
    when = "No number of clusters is known, and members are about as coarse as the answer should be."
    citation = "Gionis, Mannila, Tsaparas 2007"
    cost = "that of EAC, average link, + m M times groups per sweep; memory n_c times groups"
    exact = "objective over all rows"
    finds_k = True

    gamma: float = 0.5

    def _check(self) -> None:
        check_number("gamma", self.gamma, low=0, high=1)

    def _solve(self, ens: Ensemble, influence: Floats) -> MedianCuts:
        return MedianCuts(ens, influence, self.gamma)

    @classmethod
    def _choose(cls, ens: Clusterings, cuts: Cuts) -> Choice:
        k = cast(MedianCuts, cuts).n_free
        return Choice(k, (), (), f"The median partition has {k} clusters, the number with the largest objective.")

    @property
    def objective_(self) -> float:
        """Sum over pairs of rows of one cluster of their evidence minus gamma."""
        return self._partition.value
