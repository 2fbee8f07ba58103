"""Cumulative voting (Ayad and Kamel 2008): members vote one after another, each by the votes of its rows so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from quorate import _kernels
from quorate._runtime import threads
from quorate._runtime.memory import USE_LINKAGE, require_memory
from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_flag
from quorate._utils.numbering import number_by_size
from quorate.algorithms.partition import GroupCuts, Partition, SoftMethod, first_largest
from quorate.ensemble import Ensemble
from quorate.graphs import row_degrees, row_links, sum_by_label
from quorate.numerics.mutual_information import ratio
from quorate.row_similarity import nearest_group

_PATTERNS_PER_TASK = 1 << 14
_SLACK = 1e-9  # far above the rounding error of a bound


def voting_order(ens: Ensemble, influence: Floats) -> Ints:
    """Return the members of positive influence by decreasing entropy; ties in their own order."""
    of_member = np.zeros(ens.n_members)
    np.add.at(of_member, ens.cluster_member, ens.cluster_sizes)
    # Entropy over the rows that a member labels.
    share = ens.cluster_sizes / of_member[ens.cluster_member]
    entropy = np.bincount(ens.cluster_member, weights=-share * np.log(share), minlength=ens.n_members)
    # Rounding and a stable sort: equal entropies keep the order of members on every machine.
    order = np.argsort(-np.round(entropy, 12), kind="stable")
    return order[influence[order] > 0]


@dataclass(frozen=True)
class Votes:
    """Votes for the clusters of the first member: a row has the mean vote of its clusters, weighted by influence."""

    ensemble: Ensemble
    first: int
    """The first member."""
    of_cluster: Floats
    """(n_clusters, k0) votes of each cluster, summing to 1; 0 if it has no vote."""
    influence: Floats
    """(n_clusters,) weight of these votes; 0 if a cluster has no vote."""

    @cached_property
    def links(self) -> sp.csr_array:
        """(m, n_clusters) share of each cluster in the vote of a pattern's rows."""
        return row_links(self.ensemble, self.influence)

    def of_patterns(self) -> Floats:
        """(m, k0) votes of the rows of each pattern, summing to 1; 0 if they have no vote."""
        return np.asarray(self.links @ self.of_cluster)

    def by_label(self, member: int) -> Floats:
        """(clusters of the member + 1, k0) sum of the votes of the rows of each cluster; rows without label last.

        Everything is summed over clusters: the rows that two clusters share, divided by the influence of their votes.
        """
        # A row's vote is a mean over its clusters: divide by the influence of those that have a vote.
        per_influence = self.ensemble.counts * ratio(1.0, row_degrees(self.ensemble, self.influence))
        return np.asarray((sum_by_label(self.ensemble, per_influence, member) * self.influence) @ self.of_cluster)

    def merged(self, merges: Ints) -> Votes:
        """Return the votes after merges of columns; a merged column replaces the first of the two."""
        of_cluster = self.of_cluster.copy()
        for i, j in merges:
            of_cluster[:, i] += of_cluster[:, j]
        return Votes(self.ensemble, self.first, np.delete(of_cluster, merges[:, 1], axis=1), self.influence)


def cumulative_votes(ens: Ensemble, influence: Floats, *, adaptive: bool = True) -> Votes:
    """Return the votes of all clusters for those of the first member, computed one member after another.

    A cluster a of a later member has the mean vote of its rows, R_a = sum_u w_u V_u / s_a. Each of its rows takes that
    vote into its running average. Unless `adaptive`, R_a is computed from the first member's votes alone. Rows without
    a vote so far do not enter R_a.
    """
    order = voting_order(ens, influence)
    first = np.flatnonzero(ens.cluster_member == order[0])
    require_memory(16.0 * ens.n_clusters * len(first), f"The votes of all clusters for {len(first)}", USE_LINKAGE)
    of_cluster, weight = np.zeros((ens.n_clusters, len(first))), np.zeros(ens.n_clusters)
    # Each cluster of the first member votes for itself.
    of_cluster[first], weight[first] = np.eye(len(first)), influence[order[0]]
    votes = Votes(ens, int(order[0]), of_cluster, weight)
    # `votes` holds the arrays that the loop fills, so `adaptive` sees the votes of earlier members.
    reference = votes if adaptive else Votes(ens, votes.first, of_cluster.copy(), weight.copy())
    for member in order[1:]:
        own = ens.cluster_member == member
        total = reference.by_label(member)[:-1]
        # Without any vote of its rows a cluster has mass 0, and stays without a vote.
        mass = total.sum(axis=1)
        of_cluster[own] = total * ratio(1.0, mass)[:, None]
        weight[own] = np.where(mass > 0, influence[member], 0.0)
    return votes


def merge_columns(votes: Votes) -> Ints:
    """(k0 - 1, 2) merges of columns of votes, each the one that loses least information.

    With Q = w V / n and p its column sums, merging i and j loses (p_i + p_j) times the Jensen-Shannon divergence of
    their distributions over rows. The merged column replaces the first.

    Summing rows cannot increase the divergence, so the loss over the clusters of the first member is a lower bound.
    The bound is usually tight: the loss over all patterns is computed only where the bound is smallest.
    """
    losses = _Losses(votes)
    merges = np.empty((max(len(losses.mass) - 1, 0), 2), dtype=np.int64)
    for step in range(len(merges)):
        merges[step] = i, j = losses.least()
        losses.merge(i, j)
    return merges


class _Losses:
    """The information lost by merging any two columns of votes, or a lower bound of it."""

    def __init__(self, votes: Votes) -> None:
        # Rows are summed by the clusters of the first member, which gives a bound of the loss that is cheap to compute.
        joint = votes.by_label(votes.first).T
        self.links, self.columns = votes.links, votes.of_cluster.T.copy()
        self.per_row = votes.ensemble.counts / joint.sum()
        self.joint = np.ascontiguousarray(joint / joint.sum())
        self.terms, self.mass = _xlogx(self.joint), self.joint.sum(axis=1)
        n = len(joint)
        self.active = np.ones(n, dtype=bool)
        self.loss, self.exact = np.full((n, n), np.inf), np.zeros((n, n), dtype=bool)
        # All pairs start with a lower bound; exact losses are computed only for candidates of the minimum.
        for i in range(n - 1):
            self._bound(i, np.arange(i + 1, n))

    def least(self) -> tuple[int, int]:
        """Return the two columns whose merge loses least; ties, after rounding to twelve decimals, to the first."""
        while True:
            i, j = (int(index) for index in np.unravel_index(np.argmin(self.loss), self.loss.shape))
            # The smallest value is exact: no other pair, whose loss is at least its bound, can lose less.
            if self.exact[i, j]:
                return i, j
            self.loss[i, j], self.exact[i, j] = np.round(self._lost(i, j, self._shared(i, j)), 12), True

    def merge(self, i: int, j: int) -> None:
        """Add column j to column i."""
        self.columns[i] += self.columns[j]
        self.joint[i] += self.joint[j]
        self.terms[i] = _xlogx(self.joint[i])
        self.mass[i] += self.mass[j]
        self.active[j] = False
        # Column j is gone; the bounds of column i change because it now holds both.
        self.loss[j, :] = self.loss[:, j] = np.inf
        others = np.flatnonzero(self.active)
        self._bound(i, others[others != i])

    def _bound(self, i: int, others: Ints) -> None:
        shared = np.empty(len(others))
        _kernels.vote_losses.joint_terms(self.joint, self.terms, i, others, shared)
        pairs = np.minimum(i, others), np.maximum(i, others)
        self.loss[pairs], self.exact[pairs] = self._lost(i, others, shared) - _SLACK, False

    def _lost(self, i: int, j: Any, shared: Any) -> Any:
        return _xlogx(self.mass[i] + self.mass[j]) - _xlogx(self.mass[i]) - _xlogx(self.mass[j]) - shared

    def _shared(self, i: int, j: int) -> float:
        links, columns = (self.links.indptr, self.links.indices, self.links.data), (self.columns[i], self.columns[j])

        def of_patterns(part: slice) -> float:
            return float(_kernels.vote_losses.shared_terms(*links, self.per_row, *columns, part.start, part.stop))

        # Blocks of fixed size, added in order: the sum does not depend on the number of threads.
        tasks = threads.blocks(len(self.per_row), _PATTERNS_PER_TASK)
        return sum(threads.in_threads(of_patterns, tasks))


def _xlogx(x: Any) -> Any:
    return x * np.log(x, out=np.zeros_like(x), where=np.asarray(x) > 0)


@dataclass(frozen=True)
class VoteCuts(GroupCuts):
    """Cumulative votes, whose columns are merged one after the other: the same chain of merges gives every k."""

    adaptive: bool = True

    @cached_property
    def votes(self) -> Votes:
        """The votes of the clusters."""
        return cumulative_votes(self.ensemble, self.influence, adaptive=self.adaptive)

    @cached_property
    def merges(self) -> Ints:
        """(k0 - 1, 2) columns merged."""
        return merge_columns(self.votes)

    @property
    def max_clusters(self) -> int:
        """The number of clusters of the first member."""
        return self.votes.of_cluster.shape[1] if len(self.covered) else 0

    def solve(self, k: int) -> Partition:
        """Return the group with most votes; a pattern without any vote joins the nearest group."""
        n = len(self.covered)
        require_memory(32.0 * n * k, f"The votes of {n:,} patterns for {k} groups", USE_LINKAGE)
        votes = self.votes.merged(self.merges[: self.max_clusters - k]).of_patterns()[self.covered]
        groups = first_largest(votes)
        # A row whose clusters have no vote cannot be placed by voting.
        silent = ~votes.any(axis=1)
        if silent.any() and not silent.all():
            voted = np.full(self.ensemble.n_patterns, -1, dtype=np.int64)
            voted[self.covered] = np.where(silent, -1, groups)
            # By size: a row that shares no cluster with any other ties everywhere, and names must not place it.
            by_size = number_by_size(voted, self.ensemble.counts)
            group_of = np.empty(by_size.max() + 1, dtype=np.int64)
            group_of[by_size[by_size >= 0]] = voted[by_size >= 0]
            ids = self.ensemble.patterns[self.covered[silent]]
            nearest = nearest_group(self.ensemble, self.influence / self.influence.sum(), by_size, ids)
            groups[silent] = group_of[nearest]
        return Partition(groups, memberships=votes)


class CumulativeVoting(SoftMethod):
    """Cumulative voting: members vote for the clusters of the finest one, which are then merged to k.

    The member of largest entropy comes first. In each later member, by decreasing entropy, a cluster votes like its
    rows so far, and rows average the votes they get. Then the clusters that differ least by information are merged
    until k are left. Published: the votes and the merges. Chosen here: the order of members, and labels by the largest
    vote.

    Parameters
    ----------
    n_clusters : int or "auto", default "auto"
        Number of clusters, at most that of the finest member.
    adaptive : bool, default True
        Whether clusters vote like their rows so far, or like their rows in the first member alone.

    References
    ----------
    H. G. Ayad, M. S. Kamel: Cumulative Voting Consensus Method for Partitions with Variable Number of Clusters. IEEE
    Transactions on Pattern Analysis and Machine Intelligence 30 (2008).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> fitted = qt.CumulativeVoting(n_clusters=2).fit(members)
    >>> fitted.labels_
    array([0, 0, 0, 0, 1, 1])
    >>> fitted.memberships_[2].round(2)
    array([0.97, 0.03])
    """

    name = "cumulative-voting"
    idea = "Members vote in turn for the clusters of the finest one, which are then merged to k."
    equation = "V_u <- V_u + (R_a(u) - V_u) / i, R_a the mean vote of cluster a; merge columns of least (p_i + p_j) JS"
    strength = "As good as the best methods at a fraction of the cost; no eigenvectors; soft memberships."
    weakness = "At most as many clusters as the finest member has; a cluster may win no row."
    when = "You want memberships, or a fast and good second opinion."
    citation = "Ayad, Kamel 2008"
    cost = (
        "m M (M + k0) + k0^3 as a rule, m M k0^2 at most; memory m M + m k + n_c k0; k0 clusters of the finest member"
    )
    exact = "votes and labels of all rows"
    exceptions: ClassVar[Mapping[str, str]] = {
        "components": "clusters are merged by information, and small ones carry little",
        "exactly k": "labels follow the votes, and a group may win none; k is at most that of the first member",
    }

    takes_soft: ClassVar[bool] = True

    adaptive: bool = True

    def _check(self) -> None:
        check_flag("adaptive", self.adaptive)

    def _solve(self, ens: Ensemble, influence: Floats) -> VoteCuts:
        return VoteCuts(ens, influence, self.adaptive)
