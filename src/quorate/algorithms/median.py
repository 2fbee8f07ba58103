"""The median partition: the clustering that is nearest to all members, with as many clusters as that takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Literal, cast

import numpy as np
import scipy.sparse as sp

from quorate import _kernels
from quorate._runtime.memory import USE_LINKAGE, require_memory
from quorate._utils.array_types import Bools, Floats, Ints
from quorate._utils.checks import check_choice, check_number
from quorate.algorithms.base import Cuts
from quorate.algorithms.partition import CanonicalCuts, GroupMethod, Partition
from quorate.analysis.choose_k import Choice
from quorate.ensemble import Clusterings, Ensemble

Loss = Literal["vi", "binder"]
LOSSES = ("vi", "binder")
_MAX_SWEEPS = 100
_MAX_MEMBERS = 10  # members whose partitions are starts, those of least loss
_MAX_APART = 256  # patterns that may all start apart
_MAX_MOVED = 24  # patterns each of which is moved anywhere before the search goes on
_MAX_MERGED = 1024  # groups between which merges are compared


@dataclass(frozen=True)
class MedianCuts(CanonicalCuts):
    """Partitions of least loss: sum_l w_l (a H(P | P_l) + (2 - a) H(P_l | P)), or the same for pairs of rows.

    With f(x) = x ln x (VI) or x^2 (Binder), the loss is, up to a factor and a constant, a sum over groups g and members
    l of w_l ((2 - a) f(n_gl) - 2 sum_c f(n_gc)): n_gl the rows of g that l labels, n_gc those in its cluster c.
    """

    loss: Loss = "vi"
    a: float = 1.0

    @cached_property
    def _share(self) -> Floats:
        """(M,) the weights of the members, summing to 1."""
        return self.influence / self.influence.sum()

    @cached_property
    def _labeled_sets(self) -> tuple[Bools, Ints]:
        """(p, sets) the patterns in each set that some member labels, and (M,) the set of each member."""
        # Members that label the same rows share one feature of the loss.
        sets, of_member = np.unique(self.ensemble.patterns[self.covered] >= 0, axis=1, return_inverse=True)
        return sets, of_member.ravel()  # NumPy 2.0.0 gives it the shape (1, M)

    @cached_property
    def _features(self) -> sp.csr_array:
        """(p, n_clusters + sets) the clusters of each pattern, and the sets of labeled patterns that it is in."""
        return sp.csr_array(sp.hstack([self.members_of, sp.csr_array(self._labeled_sets[0], dtype=np.float64)]))

    @cached_property
    def _weights(self) -> Floats:
        """(n_clusters + sets,) the weight of each feature in the loss."""
        of_set = np.bincount(self._labeled_sets[1], weights=self._share)
        return np.concatenate([-2.0 * self._share[self.ensemble.cluster_member], (2.0 - self.a) * of_set])

    @property
    def _entropy(self) -> bool:
        return self.loss == "vi"

    @cached_property
    def _tolerance(self) -> float:
        """The rounding error of a difference of losses."""
        return 1e-14 * float(_kernels.partition_losses.term(self.counts.sum(), self._entropy))

    def _numbered(self, groups: Ints) -> Ints:
        """(p,) the groups numbered by their first pattern, in the order of `covered`."""
        _, first, position = np.unique(groups, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        return rank[position]

    def _histogram(self, groups: Ints, capacity: int) -> Floats:
        """(features, capacity) rows of each group that have each feature."""
        n_features = self._features.shape[1]
        require_memory(16.0 * n_features * capacity, f"{capacity:,} groups by {n_features:,} clusters", USE_LINKAGE)
        # Groups as columns: one product gives all histograms.
        rows_of = sp.csr_array((self.counts, (np.arange(len(groups)), groups)), shape=(len(groups), capacity))
        return np.ascontiguousarray((self._features.T @ rows_of).toarray())

    def value(self, groups: Ints) -> float:
        """Return the loss: mean variation of information in bits, or mean share of pairs of rows, over members."""
        histogram = self._histogram(groups, int(groups.max(initial=-1)) + 1)
        total, n_clusters = self.counts.sum(), self.ensemble.n_clusters
        sizes = histogram[:n_clusters].sum(axis=1)
        fixed = self.a * (self._share[self.ensemble.cluster_member] @ self._terms(sizes))
        unit = total * np.log(2) if self._entropy else total**2
        return float((fixed + self._weights @ self._terms(histogram).sum(axis=1)) / unit)

    def _terms(self, rows: Floats) -> Floats:
        return rows * np.log(np.maximum(rows, np.finfo(float).tiny)) if self._entropy else rows**2

    def search(self, groups: Ints, k: int | None = None) -> Ints:
        """Move whole patterns and merge groups until neither lowers the loss; k: the number of groups to keep."""
        while True:
            groups = self._move(self._numbered(groups), fixed=k is not None)
            n_groups = int(groups.max()) + 1
            if k is not None or n_groups > _MAX_MERGED:
                return groups
            merged = self.merge(groups)
            if int(merged.max()) + 1 == n_groups:
                return groups
            groups = merged

    def _move(self, groups: Ints, *, fixed: bool) -> Ints:
        features = self._features
        while True:
            n_groups = int(groups.max()) + 1
            # Room for new groups beyond those in use; if it is not enough, `move_patterns` stops and this loop makes
            # more.
            capacity = n_groups if fixed else n_groups + max(16, n_groups // 4)
            histogram = self._histogram(groups, capacity)
            terms, members = self._terms(histogram), np.bincount(groups, minlength=capacity)
            moved = done = 0
            for _ in range(_MAX_SWEEPS):
                moved, done, n_groups = _kernels.partition_losses.move_patterns(
                    features.indptr, features.indices, self.counts, self._weights, self._entropy, fixed,
                    self._tolerance, groups, members, histogram, terms, n_groups,
                )  # fmt: skip
                # A sweep without moves is a local optimum; an unfinished sweep needs more room.
                if moved == 0 or done < len(groups):
                    break
            groups = self._numbered(groups)
            if done == len(groups):  # otherwise there was no room for another group: make more
                return groups

    def merge(self, groups: Ints, k: int | None = None) -> Ints:
        """Merge groups as long as that lowers the loss; with k, down to k groups."""
        histogram = self._histogram(groups, int(groups.max()) + 1)
        into = _kernels.partition_losses.merge_groups(
            self._weights, self._entropy, self._tolerance, k or 1, k is not None, histogram, self._terms(histogram)
        )
        return self._numbered(into[groups])

    def _best(self, starts: Iterator[Ints], k: int | None = None) -> Ints:
        """Return the best of what becomes of several starts, changed and searched again until that gives no better."""
        # Local searches from several starts, then perturbations of the best one, until none is better.
        best = min((self.search(start, k) for start in starts), key=self._rank)
        while True:
            searched = (self.search(changed, k) for changed in self._changed(best, k))
            better = next((groups for groups in searched if self._rank(groups) < self._rank(best)), None)
            if better is None:
                return best
            best = better

    def _changed(self, groups: Ints, k: int | None) -> Iterator[Ints]:
        """Yield the partition with all groups split by a member; with few patterns also with any one of them moved."""
        # Splitting all groups by a member undoes wrong merges that single moves cannot undo.
        for labels in self._members:
            split = self._numbered(groups * (int(labels.max()) + 1) + labels)
            if int(split.max()) < _MAX_MERGED:
                yield split if k is None else self.merge(split, k)
        if len(groups) <= _MAX_MOVED:
            n_groups = int(groups.max()) + 1
            for pattern, target in product(range(len(groups)), range(n_groups + (k is None))):
                if k is None or np.sum(groups == groups[pattern]) > 1:
                    yield np.where(np.arange(len(groups)) == pattern, target, groups)

    def _rank(self, groups: Ints) -> tuple[float, int, list[int]]:
        """Return the loss, then the number of groups, negative, then the groups, so that names never break a tie."""
        return round(self.value(groups), 12), -int(groups.max()), groups.tolist()

    @cached_property
    def _members(self) -> list[Ints]:
        """The partitions (p,) of the members of least loss; patterns without label are one more group."""
        patterns = self.ensemble.patterns[self.covered][:, self.influence > 0]
        groups = [self._numbered(labels) for labels in patterns.T]
        # Members of very many clusters make merging quadratic, and are poor starts anyway.
        small = [partition for partition in groups if partition.max() < _MAX_MERGED]
        return sorted(small, key=self._rank)[:_MAX_MEMBERS]

    @cached_property
    def free(self) -> Ints:
        """(p,) the partition of no given number of groups."""
        return self._best(self._starts())

    def _starts(self) -> Iterator[Ints]:
        """Yield average link cut at co-association 1 - a / 2 (Gionis et al.), members, one group, patterns apart."""
        n = len(self.covered)
        # A link above 1 - a / 2 lowers the loss of its pair, which is where the aggregation of Gionis et al. stops.
        joined = int(np.sum(np.round(1.0 - self.eac_tree.heights, 12) > 1.0 - self.a / 2))
        yield self._tree_groups(n - joined)
        yield from self._members
        yield np.zeros(n, dtype=np.int64)
        if n <= _MAX_APART:
            yield np.arange(n)

    def _tree_groups(self, k: int) -> Ints:
        """(p,) the cut of the tree into k groups."""
        return self._numbered(self.eac_tree.cut(k)[self.covered])

    def solve(self, k: int) -> Partition:
        """Return the free partition if it has k groups, else the best one with k groups that is found."""
        groups = self.free if k == self.n_free else self._best(self._starts_of(k), k)
        return Partition(groups, self.value(groups))

    def _starts_of(self, k: int) -> Iterator[Ints]:
        """Yield average link cut into k groups, and the free partition with its groups merged."""
        yield self._tree_groups(k)
        # Merging the free partition is useful only downwards, and quadratic in the number of groups.
        if k < self.n_free <= _MAX_MERGED:
            yield self.merge(self.free, k)

    @property
    def n_free(self) -> int:
        """The number of groups of the free partition."""
        return int(self.free.max()) + 1 if len(self.covered) else 0


class MedianPartition(GroupMethod):
    """The median partition: the clustering nearest to all members; it finds its own number of clusters.

    It minimizes, over all partitions, the weighted mean of a loss to the members: the variation of information or
    Binder's loss (the Mirkin distance, pairs of rows on which two partitions disagree). A member counts only the rows
    that it labels. Both losses need only the histograms of groups over clusters, and no optimum splits a pattern
    (docs/median.md), so the search moves and merges whole patterns. It starts from average link, from the members, from
    one group, and from the best of these with all groups split by a member.

    Parameters
    ----------
    n_clusters : int or "auto", default "auto"
        "auto": the number of clusters with the least loss. A number: the search keeps to that many.
    loss : {"vi", "binder"}, default "vi"
        "vi": variation of information. "binder": pairs of rows; it keeps every boundary that half the weight draws, and
        so has about twice as many clusters.
    a : float in [0, 2], default 1.0
        The cost of separating rows that a member joins; 2 - a is the cost of joining rows that it separates. More gives
        fewer clusters.

    References
    ----------
    S. Wade, Z. Ghahramani: Bayesian Cluster Analysis: Point Estimation and Credible Balls. Bayesian Analysis 13 (2018).
    D. B. Dahl, D. J. Johnson, P. Mueller: Search Algorithms and Loss Functions for Bayesian Clustering. Journal of
    Computational and Graphical Statistics 31 (2022). A. Gionis, H. Mannila, P. Tsaparas: Clustering Aggregation. ACM
    Transactions on Knowledge Discovery from Data 1 (2007).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.MedianPartition().fit_predict(members)
    array([0, 0, 0, 0, 1, 1])
    >>> qt.MedianPartition(loss="binder").fit_predict(members)
    array([0, 0, 0, 2, 1, 1])
    """

    name = "median"
    idea = "The clustering nearest to all members, with as many clusters as that takes."
    equation = "min over partitions P of sum_l w_l (a H(P | P_l) + (2 - a) H(P_l | P)), or the same for pairs of rows"
    strength = "Finds the number of clusters; one clear objective; the point estimate of Bayesian clustering."
    weakness = "A fine answer where members have many clusters, above all with Binder's loss."
    when = "No number of clusters is known, and members are about as coarse as the answer should be."
    citation = "Wade, Ghahramani 2018; Gionis, Mannila, Tsaparas 2007"
    cost = "that of EAC, average link, + m M times groups per sweep; memory n_c times groups"
    exact = "loss over all rows"
    finds_k = True

    loss: Loss = "vi"
    a: float = 1.0

    def _check(self) -> None:
        check_choice("loss", self.loss, LOSSES)
        check_number("a", self.a, low=0, high=2)

    def _solve(self, ens: Ensemble, influence: Floats) -> MedianCuts:
        return MedianCuts(ens, influence, self.loss, self.a)

    @classmethod
    def _choose(cls, ens: Clusterings, cuts: Cuts) -> Choice:
        k = cast(MedianCuts, cuts).n_free
        return Choice(k, (), (), f"The median partition has {k} clusters, the number with the least loss.")

    @property
    def objective_(self) -> float:
        """The loss, a weighted mean over members: variation of information in bits, or share of pairs of rows."""
        return self._partition.value
