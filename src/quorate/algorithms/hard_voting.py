"""Hard voting: clusters are matched to groups, and a row joins the group of most of its clusters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from quorate._utils.array_types import Floats, Ints
from quorate._utils.numbering import number_by_size
from quorate.algorithms.partition import CanonicalCuts, GroupMethod, Partition, fill_empty, first_largest
from quorate.ensemble import Ensemble

_MAX_ROUNDS = 100


class Matching(NamedTuple):
    """Which group each cluster is matched to (-1: none), and the rows, by weight, that lie in both."""

    group_of_cluster: Ints
    agreement: float


@dataclass(frozen=True)
class MatchedCuts(CanonicalCuts):
    """Groups by plurality of matched clusters, computed separately for every k."""

    @cached_property
    def _clusters(self) -> list[Ints]:
        """The clusters of each member of positive weight, in the order of their first patterns."""
        # A group may share no rows with several clusters: then this order, not that of names, decides the matching.
        patterns = self.ensemble.patterns[self.covered][:, self.influence > 0]
        first = (np.unique(labels, return_index=True)[1] for labels in patterns.T)
        ordered = (labels[np.sort(position)] for labels, position in zip(patterns.T, first, strict=True))
        return [clusters[clusters >= 0] for clusters in ordered]

    def match(self, groups: Ints, k: int) -> Matching:
        """Return the best one-to-one matching of every member's clusters to k groups (Hungarian method)."""
        rows = np.zeros((k, len(self.covered)))
        rows[groups, np.arange(len(groups))] = self.counts
        shared = np.asarray(rows @ self.members_of)
        matched, agreement = np.full(self.ensemble.n_clusters, -1), 0.0
        # Members are matched independently: one assignment problem each.
        for clusters in self._clusters:
            group, of_cluster = linear_sum_assignment(shared[:, clusters], maximize=True)
            matched[clusters[of_cluster]] = group
            agreement += float(self.share_of_cluster[clusters[:1]].sum() * shared[group, clusters[of_cluster]].sum())
        return Matching(matched, agreement)

    def votes(self, matching: Matching, k: int) -> Floats:
        """(p, k) weight of the clusters of each pattern that are matched to each group."""
        for_group = np.zeros((self.ensemble.n_clusters, k))
        matched = np.flatnonzero(matching.group_of_cluster >= 0)
        for_group[matched, matching.group_of_cluster[matched]] = self.share_of_cluster[matched]
        return np.asarray(self.members_of @ for_group)

    def solve(self, k: int) -> Partition:
        """Return the groups and their agreement: match and vote in turn until the agreement stops rising."""
        groups = number_by_size(self.eac_tree.cut(k)[self.covered], self.counts)
        matching = self.match(groups, k)
        votes = self.votes(matching, k)
        for _ in range(_MAX_ROUNDS):
            proposed = np.where(votes.any(axis=1), first_largest(votes), groups)  # a pattern without votes stays
            better = self.match(proposed, k)
            # Stop at the first round without progress: matching and votes could alternate forever between equal values.
            if better.agreement <= matching.agreement + 1e-9 * self.counts.sum():
                break
            groups, matching = proposed, better
            votes = self.votes(matching, k)
        # Votes may empty a group; k groups were requested.
        fill_empty(groups, votes, self.counts)
        return Partition(groups, matching.agreement)


class HardVoting(GroupMethod):
    """Hard voting: match the clusters of every member to k groups, and assign each row by most of its clusters.

    Two steps alternate, starting from the average-link cut of EAC, until the agreement stops rising. First, every
    member's clusters are matched one to one to the groups with which they share most rows; unmatched clusters do not
    vote. Then every row joins the group to which most of its clusters are matched.

    References
    ----------
    E. Dimitriadou, A. Weingessel, K. Hornik: A Combination Scheme for Fuzzy Clustering. International Journal of
    Pattern Recognition and Artificial Intelligence 16 (2002).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> fitted = qt.HardVoting(n_clusters=2).fit(members)
    >>> fitted.labels_, fitted.agreement_
    (array([0, 0, 0, 0, 1, 1]), 15.0)
    """

    name = "hard-voting"
    idea = "Match clusters to k groups and assign each row by most of its clusters, in turn."
    equation = "max over labels and matchings of the rows that lie in a cluster and in its group"
    strength = "Easy to explain; gives a count of agreement."
    weakness = "Needs members with about k clusters."
    when = "All members have about k clusters."
    citation = "Dimitriadou, Weingessel, Hornik 2002"
    cost = "that of EAC, average link, + m M k per round; memory m M + m k"
    exact = "agreement and labels of all rows"

    def _solve(self, ens: Ensemble, influence: Floats) -> MatchedCuts:
        return MatchedCuts(ens, influence)

    @property
    def agreement_(self) -> float:
        """Rows that lie in a cluster and in the group it is matched to, summed over members by their weight."""
        return self._partition.value
