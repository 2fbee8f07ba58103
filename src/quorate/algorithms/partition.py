"""Methods that compute groups of patterns separately for every k: their starts, and how empty groups are filled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
import scipy.sparse as sp

from quorate._runtime.memory import USE_LINKAGE, require_memory
from quorate._runtime.recent_cache import RecentCache
from quorate._utils.array_types import Floats, Ints, Labels
from quorate._utils.checks import check_choice, check_integer
from quorate._utils.numbering import number_by_size
from quorate.algorithms.base import ConsensusMethod
from quorate.ensemble import Ensemble
from quorate.errors import QuorateWarning
from quorate.graphs import ClusterCut
from quorate.numerics.kmeans import random_generator
from quorate.numerics.linkage import Dendrogram, link_coassociation
from quorate.numerics.mutual_information import ratio
from quorate.reliability import cluster_certainty
from quorate.row_similarity import canonical_order, covered_patterns, nearest_group

GROUP_INITS = ("lwea", "random")
_MAX_ROUNDS = 100
_MAX_LINKED = 20_000  # patterns in the tree of a start
_MATRICES = 4  # matrices (patterns x k) that an iteration holds simultaneously


def first_largest(values: Floats) -> Ints:
    """Return the position of the largest value of each row; ties, after rounding to twelve decimals, to the first."""
    return np.argmax(np.round(values, 12), axis=1)


def fill_empty(groups: Ints, preference: Floats, counts: Floats | Ints) -> None:
    """Give each empty group, in order, the pattern that prefers it most and leaves its own group another pattern.

    Ties, after rounding to twelve decimals, go to the larger count, then to the first pattern.

    Parameters
    ----------
    groups : (m,)
        Group of each pattern, changed in place.
    preference : (m, k)
        How much each pattern prefers each group.
    counts : (m,)
        Number of rows (or their weight) of each pattern.
    """
    k = preference.shape[1]
    sizes = np.bincount(groups, minlength=k)
    for empty in np.flatnonzero(sizes == 0):
        # Taking the only pattern of another group would empty that one instead.
        spare = np.flatnonzero(sizes[groups] > 1)
        if len(spare) == 0:
            break
        order = np.lexsort((spare, -counts[spare], -np.round(preference[spare, empty], 12)))
        moved = spare[order[0]]
        sizes[groups[moved]] -= 1
        sizes[empty] = 1
        groups[moved] = empty


class Partition(NamedTuple):
    """Covered patterns in k groups."""

    groups: Ints
    """(p,) group of each covered pattern."""
    value: float = 0.0
    """What the method minimizes or maximizes."""
    memberships: Floats | None = None
    """(p, k) membership of each covered pattern in each group, if the method has memberships."""


@dataclass(frozen=True)
class GroupCuts:
    """Base of groups that are computed separately for every k, over the covered patterns.

    A pattern is covered if some member of positive influence labels it.
    """

    ensemble: Ensemble
    influence: Floats
    max_linked: int = field(default=_MAX_LINKED, kw_only=True)
    """The number of patterns, the heaviest ones, that are in the tree at most."""
    _last: RecentCache = field(default_factory=lambda: RecentCache(1), init=False, repr=False)

    @cached_property
    def covered(self) -> Ints:
        """(p,) the covered patterns."""
        return covered_patterns(self.ensemble, self.influence)

    @cached_property
    def members_of(self) -> sp.csr_array:
        """(p, n_clusters) which clusters each covered pattern is in, H."""
        return sp.csr_array(self.ensemble.incidence[self.covered])

    @cached_property
    def counts(self) -> Floats:
        """(p,) number of rows (or their weight) of each covered pattern."""
        return self.ensemble.counts[self.covered].astype(np.float64)

    @cached_property
    def share_of_cluster(self) -> Floats:
        """(n_clusters,) the weight of each cluster's member, 1 on average over members."""
        # Mean 1 over members, so that equal weights change nothing compared with the published methods.
        weights = self.influence / self.influence.sum() * self.ensemble.n_members
        return weights[self.ensemble.cluster_member]

    @property
    def max_clusters(self) -> int:
        """The largest number of clusters a cut can give."""
        return len(self.covered)

    def cut(self, k: int) -> Labels:
        """Return the consensus label of each pattern for k clusters, numbered by decreasing size."""
        labels = np.full(self.ensemble.n_patterns, -1, dtype=np.int64)
        if self.max_clusters:
            labels[self.covered] = self.partition(k).groups
        return number_by_size(labels, self.ensemble.counts)

    def partition(self, k: int) -> Partition:
        """Return the partition into k groups, or as many as there are patterns; only the last one is kept."""
        # More groups than patterns are impossible.
        k = min(k, self.max_clusters)
        return self._last.get(k, lambda: self.solve(k))

    def solve(self, k: int) -> Partition:
        """Return k groups; every method has its own computation."""
        raise NotImplementedError

    def caution(self, k: int) -> QuorateWarning | None:
        """Return a warning about a cut into k clusters: there is no reason for one."""

    @cached_property
    def eac_tree(self) -> Dendrogram:
        """The average-link tree of the co-association (EAC)."""
        return link_coassociation(self.ensemble, self.influence, "average")

    @cached_property
    def lwea_tree(self) -> Dendrogram:
        """The average-link tree of the locally weighted co-association (LWEA), where iterations start."""
        ens, certainty = self.ensemble, cluster_certainty(self.ensemble, members=self.influence > 0)
        # Merges of equal height are made in an order that names do not change.
        leaves = canonical_order(ens, self.influence, covered_patterns(ens, self.influence))
        return link_coassociation(ens, self.influence, "average", certainty, at_most=self.max_linked, leaves=leaves)

    def lwea_groups(self, k: int) -> Ints:
        """(p,) the cut of that tree into k groups; patterns outside the tree join the nearest group."""
        labels = self.lwea_tree.cut(k)[self.covered]
        # The tree holds only the heaviest patterns; the others are assigned to its groups.
        rest = np.flatnonzero(labels < 0)
        if len(rest):
            # The co-association uses weights that sum to 1.
            ens, weights = self.ensemble, self.influence / self.influence.sum()
            labels[rest] = nearest_group(ens, weights, self.lwea_tree.cut(k), ens.patterns[self.covered[rest]])
        return labels

    def criterion(self) -> tuple[str, dict[int, float]] | None:
        """Return None: the values of different k cannot be compared."""
        return None


@dataclass(frozen=True)
class CanonicalCuts(GroupCuts):
    """Base of groups for which ties are broken by an order of patterns that names and members do not change."""

    @cached_property
    def covered(self) -> Ints:
        """(p,) the patterns with a label by some member of positive weight, in an order that names do not change."""
        return canonical_order(self.ensemble, self.influence, super().covered)

    @cached_property
    def eac_tree(self) -> Dendrogram:
        """The average-link tree of co-association, with ties broken by the order of `covered`."""
        return link_coassociation(self.ensemble, self.influence, "average", leaves=self.covered)


def meta_votes(members_of: sp.csr_array, share_of_cluster: Floats, group_of_cluster: Ints, k: int) -> Floats:
    """(p, k) votes of each pattern for each group of clusters: the weighted share of the group's clusters.

    Strehl and Ghosh 2002: A_ug is the weight of the clusters of u in g over that of all clusters in g.
    """
    # Dividing by the weight of the group makes votes for small and large groups comparable.
    total = np.bincount(group_of_cluster, weights=share_of_cluster, minlength=k).astype(np.float64)
    n_clusters = len(group_of_cluster)
    share = share_of_cluster * ratio(1.0, total)[group_of_cluster]
    for_group = sp.csr_array((share, (np.arange(n_clusters), group_of_cluster)), shape=(n_clusters, k))
    return np.asarray((members_of @ for_group).toarray())


@dataclass(frozen=True)
class MetaCuts(GroupCuts):
    """Clusters grouped by a normalized cut for every k; a row joins the group that holds most of its clusters."""

    similarity: Floats = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    """(n_clusters, n_clusters) similarity of clusters."""

    @cached_property
    def cluster_cut(self) -> ClusterCut:
        """The graph of clusters."""
        return ClusterCut(self.similarity, self.ensemble.cluster_sizes.astype(np.float64))

    @property
    def max_clusters(self) -> int:
        """The number of covered patterns, or of clusters if there are fewer."""
        return min(len(self.covered), self.ensemble.n_clusters)

    def criterion(self) -> tuple[str, dict[int, float]]:
        """Return the gap after each of the leading eigenvalues of the graph of clusters."""
        values = self.cluster_cut.spectrum(1)[0]
        return "eigengap", {k: float(values[k - 1] - values[k]) for k in range(2, len(values))}

    def solve(self, k: int) -> Partition:
        """Return the group with most votes of each pattern; groups without patterns are filled."""
        votes = meta_votes(self.members_of, self.share_of_cluster, self.cluster_cut.groups(k), k)
        # Ties go to the first group after rounding, in any order of summation.
        groups = first_largest(votes)
        fill_empty(groups, votes, self.counts)
        return Partition(groups)


class MetaMethod(ConsensusMethod, abstract=True):
    """Base of the methods that group clusters and assign rows by their clusters."""

    limited_by_clusters: ClassVar[bool] = True

    @property
    def eigenvalues_(self) -> Floats:
        """The leading eigenvalues of the graph of clusters, descending."""
        return cast(MetaCuts, self.solution_.cuts).cluster_cut.spectrum(1)[0]


class GroupMethod(ConsensusMethod, abstract=True):
    """Base of the methods that solve every k separately."""

    @property
    def _partition(self) -> Partition:
        """The partition behind the answer."""
        cuts = cast(GroupCuts, self.solution_.cuts)
        if cuts.max_clusters == 0:
            return Partition(np.empty(0, dtype=np.int64), 0.0, np.empty((0, 0)))
        return cuts.partition(self.answer_.requested)


class SoftMethod(GroupMethod, abstract=True):
    """Base of the methods that give every row a membership in each cluster."""

    @property
    def pattern_memberships_(self) -> Floats:
        """(m, k) membership of each pattern in each cluster; clusters that win no row come last."""
        groups, _, memberships = self._partition
        assert memberships is not None
        covered, k = cast(GroupCuts, self.solution_.cuts).covered, memberships.shape[1]
        # A group without rows has no label; k puts it behind all others.
        label_of = np.full(k, k)
        label_of[groups] = self.pattern_labels_[covered]
        of_patterns = np.zeros((self.ensemble_.n_patterns, k))
        of_patterns[covered] = memberships[:, np.argsort(label_of, kind="stable")]
        return of_patterns

    @property
    def memberships_(self) -> Floats:
        """(n, k) membership of each row in each cluster, summing to 1; clusters that win no row come last."""
        return self.pattern_memberships_[self.ensemble_.row_pattern]


@dataclass(frozen=True)
class ImprovedCuts(GroupCuts):
    """Base of groups that are improved iteratively, from the tree of LWEA cut at k or the best of random starts."""

    init: str = "lwea"
    n_init: int = 10
    random_state: Any = None

    def improve(self, groups: Ints, k: int) -> Partition:
        """Return the groups after the iterations; every method has its own."""
        raise NotImplementedError

    def solve(self, k: int) -> Partition:
        """Return the groups of least value over all starts."""
        n = len(self.covered)
        require_memory(8.0 * _MATRICES * n * k, f"A matrix of {n:,} patterns by {k} groups", USE_LINKAGE)
        return min((self.improve(groups, k) for groups in self._starts(k)), key=lambda partition: partition.value)

    def _starts(self, k: int) -> list[Ints]:
        if self.init == "lwea":
            return [self.lwea_groups(k)]
        random = random_generator(self.random_state)
        return [self._random_start(k, random) for _ in range(self.n_init)]

    def _random_start(self, k: int, random: np.random.Generator) -> Ints:
        """(p,) the most similar of k random rows, for each pattern: the one it shares most clusters with."""
        # Rows are drawn, not patterns: a pattern is drawn by its number of rows.
        chosen = random.choice(len(self.covered), size=k, replace=False, p=self.counts / self.counts.sum())
        return self.nearest_of(chosen)

    def nearest_of(self, chosen: Ints) -> Ints:
        """(p,) the chosen pattern with which each pattern shares most clusters, by weight; ties to the first."""
        weighted = self.members_of[chosen] @ sp.diags_array(self.share_of_cluster)
        return first_largest(np.asarray((self.members_of @ weighted.T).toarray()))


class ImprovingMethod(GroupMethod, abstract=True):
    """Base of the methods that improve groups iteratively."""

    init: str = "lwea"
    n_init: int = 10
    random_state: Any = 0

    def _check(self) -> None:
        check_choice("init", self.init, GROUP_INITS)
        check_integer("n_init", self.n_init, low=1)


def relocate(groups: Ints, counts: Floats, k: int, distances: Callable[[Ints], Floats], tolerance: float) -> Partition:
    """Move patterns to the nearest group until the sum of distances changes by less than the tolerance.

    Parameters
    ----------
    groups : (p,)
        The initial groups.
    counts : (p,)
        Weight of each pattern in the sum.
    k : int
        Number of groups; an empty one gets the pattern farthest from its own group.
    distances : function
        Returns (p, k) distances to the groups.
    tolerance : float
        Change of the sum at which it stops; it also stops if no pattern moves.
    """
    before = np.inf
    for _ in range(_MAX_ROUNDS):
        current = distances(groups)
        nearest = first_largest(-current)
        own = current[np.arange(len(nearest)), nearest]
        # An empty group gets the pattern that is farthest from its own center.
        fill_empty(nearest, np.broadcast_to(own[:, None], current.shape), counts)
        value = float(counts @ own)
        # Without moves the next round would be identical, even for tolerance 0.
        if abs(before - value) < tolerance or np.array_equal(nearest, groups):
            return Partition(nearest, value)
        groups, before = nearest, value
    return Partition(groups, before)
