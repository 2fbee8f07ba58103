"""Cumulative voting (Ayad and Kamel 2008): members vote one after the other, each as its rows have voted so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from quorate import _kernels
from quorate._support.checks import check_flag
from quorate._support.memory import USE_LINKAGE, require_memory
from quorate._support.typing import Floats, Ints
from quorate.consensus.votes import GroupCuts, SoftMethod, Solution, first_largest
from quorate.crowd import Normalise, ratio
from quorate.ensemble import Ensemble
from quorate.evidence import most_evident

_COLUMNS_PER_TASK = 8


def voting_order(ens: Ensemble, influence: Floats) -> Ints:
    """Return the members of positive influence by decreasing entropy, equals in their own order."""
    of_member = np.zeros(ens.n_members)
    np.add.at(of_member, ens.cluster_member, ens.cluster_sizes)
    share = ens.cluster_sizes / of_member[ens.cluster_member]
    entropy = np.bincount(ens.cluster_member, weights=-share * np.log(share), minlength=ens.n_members)
    order = np.argsort(-np.round(entropy, 12), kind="stable")
    return order[influence[order] > 0]


def cumulative_votes(ens: Ensemble, influence: Floats, *, adaptive: bool = True) -> Floats:
    """(m, k0) votes of each pattern for the clusters of the first member, averaged over members.

    A cluster a of a later member votes as its rows have voted on average, R_a = sum_u w_u V_u / s_a, and each of its
    rows takes that vote into its running average. Unless `adaptive`, R_a is taken from the first member's votes alone.
    Rows without a vote so far say nothing about R_a.
    """
    order = voting_order(ens, influence)
    first = np.flatnonzero(ens.cluster_member == order[0])
    require_memory(
        40.0 * ens.n_patterns * len(first), f"The votes of {ens.n_patterns:,} patterns for {len(first)}", USE_LINKAGE
    )
    votes = np.asarray(ens.incidence[:, first].toarray())
    reference = votes.copy() if not adaptive else votes
    said = influence[order[0]] * votes.sum(axis=1)  # the influence of all who voted for a pattern
    for member in order[1:]:
        ids = ens.patterns[:, member]
        voted = np.flatnonzero((ids >= 0) & (reference.sum(axis=1) > 0))
        weights = ens.counts[voted].astype(np.float64)
        rows_of = sp.csr_array((weights, (ids[voted], voted)), shape=(ens.n_clusters, ens.n_patterns))
        mass = np.bincount(ids[voted], weights=weights, minlength=ens.n_clusters).astype(np.float64)
        vote = np.asarray(rows_of @ reference) * ratio(1.0, mass)[:, None]
        heard = np.flatnonzero((ids >= 0) & (mass[ids] > 0))
        said[heard] += influence[member]
        votes[heard] += (vote[ids[heard]] - votes[heard]) * (influence[member] / said[heard])[:, None]
    return votes


def merge_columns(votes: Floats, counts: Floats) -> Ints:
    """(k0 - 1, 2) merges of columns of votes, each the one that loses least information.

    With Q = w V / n and p its column sums, merging i and j loses (p_i + p_j) times the Jensen-Shannon divergence of
    their distributions over rows. The merged column takes the place of the first.
    """
    joint = np.ascontiguousarray(votes.T * (counts / (counts @ votes.sum(axis=1))))
    terms = _xlogx(joint)
    mass = joint.sum(axis=1)
    n = len(joint)
    active = np.ones(n, dtype=bool)
    loss = np.full((n, n), np.inf)

    def update(i: int, others: Ints) -> None:
        shared = np.empty(len(others))
        _kernels.votes.joint_terms(joint, terms, i, others, shared)
        lost = _xlogx(mass[i] + mass[others]) - _xlogx(mass[i]) - _xlogx(mass[others]) - shared
        loss[np.minimum(i, others), np.maximum(i, others)] = np.round(lost, 12)

    _kernels.threads.in_threads(lambda i: update(i, np.arange(i + 1, n)), range(n - 1))
    merges = np.empty((max(n - 1, 0), 2), dtype=np.int64)
    for step in range(n - 1):
        i, j = np.unravel_index(np.argmin(loss), loss.shape)
        merges[step] = i, j
        joint[i] += joint[j]
        terms[i], mass[i] = _xlogx(joint[i]), mass[i] + mass[j]
        active[j] = False
        loss[j, :] = loss[:, j] = np.inf
        others = np.flatnonzero(active)
        others = others[others != i]
        parts = [others[some] for some in _kernels.threads.blocks(len(others), _COLUMNS_PER_TASK)]
        _kernels.threads.in_threads(partial(update, int(i)), parts)
    return merges


def _xlogx(x: Any) -> Any:
    return x * np.log(x, out=np.zeros_like(x), where=np.asarray(x) > 0)


@dataclass(frozen=True)
class VoteCuts(GroupCuts):
    """Cumulative votes, whose columns are merged one after the other: one chain serves every k."""

    adaptive: bool = True

    @cached_property
    def votes(self) -> Floats:
        """(p, k0) votes of the covered patterns."""
        return cumulative_votes(self.ensemble, self.influence, adaptive=self.adaptive)[self.covered]

    @cached_property
    def merges(self) -> Ints:
        """(k0 - 1, 2) columns merged."""
        return merge_columns(self.votes, self.counts)

    @property
    def max_clusters(self) -> int:
        """The number of clusters of the first member."""
        return self.votes.shape[1] if len(self.covered) else 0

    def grouped_votes(self, k: int) -> Floats:
        """(p, k) votes of the covered patterns for k groups of columns, by first column."""
        votes = self.votes.copy()
        kept = np.ones(votes.shape[1], dtype=bool)
        for i, j in self.merges[: votes.shape[1] - k]:
            votes[:, i] += votes[:, j]
            kept[j] = False
        return votes[:, kept]

    def solve(self, k: int) -> Solution:
        """Return the group with most votes; a pattern without any vote joins that of highest mean evidence."""
        votes = self.grouped_votes(k)
        groups = first_largest(votes)
        silent = ~votes.any(axis=1)
        if silent.any() and not silent.all():
            known = np.full(self.ensemble.n_patterns, -1, dtype=np.int64)
            known[self.covered] = np.where(silent, -1, groups)
            ids = self.ensemble.patterns[self.covered[silent]]
            groups[silent] = most_evident(self.ensemble, self.influence / self.influence.sum(), known, ids)
        return Solution(groups, memberships=votes)


class CumulativeVoting(SoftMethod):
    """Cumulative voting: members vote for the clusters of the most detailed one, which are then merged to k.

    The member of largest entropy comes first. Each later member, by decreasing entropy, lets its clusters vote as their
    rows have voted so far, and rows average the votes they get. Then the columns that tell least from each other are
    merged until k are left. What is known: the votes and the merging by information. What is chosen: the order of
    members, and labels by the largest vote.

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of clusters, at most that of the most detailed member.
    adaptive : bool, default True
        Whether members vote as rows have voted so far, or as they voted in the first member alone.
    weights : {"equal", "ncai", "trust"} or (M,) array, default "equal"
        Weights of the members' votes: all equal (the original), by crowd agreement, by `trust`, or given.
    beta : float, default 2.0
        How strongly agreement with the crowd counts in the weight of a member, for weights "ncai" and "trust".
    normalise : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        How mutual information is normalised, as in `agreement`.

    Attributes
    ----------
    labels_ : (n,) array
        Consensus label of each row; 0 is the largest cluster.
    n_clusters_ : int
    memberships_ : (n, k) array
        Share of the votes of each row for each cluster; clusters that win no row come last.
    confidence_, margin_, runner_up_, clusters_, ncai_, member_weights_, ensemble_, pattern_labels_, pattern_confidence_
        As in `WEAC`.

    References
    ----------
    H. G. Ayad, M. S. Kamel: Cumulative Voting Consensus Method for Partitions with Variable Number of Clusters. IEEE
    Transactions on Pattern Analysis and Machine Intelligence 30 (2008).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> found = qt.CumulativeVoting(n_clusters=2).fit(members)
    >>> found.labels_
    array([0, 0, 0, 0, 1, 1])
    >>> found.memberships_[2].round(2)
    array([0.97, 0.03])
    """

    name: ClassVar[str] = "cumulative-voting"
    idea: ClassVar[str] = (
        "Members vote, in turn, for the clusters of the most detailed one, which are then merged to k."
    )
    equation: ClassVar[str] = (
        "V_u <- V_u + (R_a(u) - V_u) / i, R_a the mean vote of cluster a; merge columns of least (p_i + p_j) JS"
    )
    strength: ClassVar[str] = (
        "Level with the best at a fraction of the cost; no parameter, no eigenvectors; soft memberships."
    )
    weakness: ClassVar[str] = "Never more clusters than the most detailed member has; a cluster may win no row."
    when: ClassVar[str] = "Memberships are wanted, or a quick and strong second opinion."
    citation: ClassVar[str] = "Ayad, Kamel 2008"
    cost: ClassVar[str] = "m k0 M + m k0^2 logarithms at most; memory m k0; k0 clusters of the most detailed member"
    exact: ClassVar[str] = "votes and labels of all rows"
    exceptions: ClassVar[Mapping[str, str]] = {
        "components": "columns are merged by what they tell apart, and small ones tell little apart",
        "exactly k": "labels follow the votes, of which a group may win none; k is at most that of the first member",
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        adaptive: bool = True,
        weights: Any = "equal",
        beta: float = 2.0,
        normalise: Normalise = "sqrt",
    ) -> None:
        self.n_clusters = n_clusters
        self.adaptive = adaptive
        self.weights = weights
        self.beta = beta
        self.normalise = normalise

    def _check(self) -> None:
        check_flag("adaptive", self.adaptive)

    def _solve(self, ens: Ensemble, influence: Floats) -> VoteCuts:
        return VoteCuts(ens, influence, self.adaptive)
