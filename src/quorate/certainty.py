"""How certain the placement of each row is."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy import special

from quorate import _kernels
from quorate._runtime import threads
from quorate._runtime.memory import require_memory
from quorate._utils.array_types import Floats, Ints, Labels
from quorate.ensemble import Clusterings, Ensemble, one_row
from quorate.numerics.mutual_information import ratio
from quorate.row_similarity import group_sizes, histograms, shared_rows

_PATTERNS_PER_TASK = 1 << 12
_TABLES = 8  # (groups, n_clusters), that the description of clusters holds simultaneously


@dataclass(frozen=True)
class Groups:
    """Groups of patterns by the rows they share with each cluster: all that votes and co-association need."""

    sizes: Floats
    """(groups,) number of rows (or their weight)."""
    histogram: Floats
    """(groups, n_clusters) `histograms`."""
    shared: Floats
    """(groups, n_clusters) `shared_rows`."""

    @classmethod
    def of(cls, ens: Ensemble, weights: Floats, labels: Labels, n_groups: int | None = None) -> Groups:
        """Return the groups of some labels of patterns; label -1 is no group."""
        n_groups = int(labels.max(initial=-1)) + 1 if n_groups is None else n_groups
        # Many tiny clusters, as in entity resolution, have labels but no description.
        require_memory(
            8.0 * _TABLES * n_groups * ens.n_clusters,
            f"The description of {n_groups:,} clusters by {ens.n_clusters:,} clusters of the members",
            "Take the labels only: result.labels, or `quorate combine -o` without --confidence and --report.",
        )
        return cls(
            group_sizes(ens, labels, n_groups),
            histograms(ens, weights, labels, n_groups),
            shared_rows(ens, labels, n_groups),
        )

    def __add__(self, other: Groups) -> Groups:
        """Return the groups of the patterns of both."""
        return Groups(self.sizes + other.sizes, self.histogram + other.histogram, self.shared + other.shared)


class Certainty(NamedTuple):
    """How certain the placement of each pattern's rows is; 0, and -1, for patterns without a label."""

    confidence: Floats
    """(m,) share of the members' votes for the consensus cluster of the row, in [0, 1] (`certainty`)."""
    margin: Floats
    """(m,) confidence minus the share of the votes for the runner-up; negative if the runner-up has more votes."""
    runner_up: Labels
    """(m,) of the other clusters, the one with most votes; ties to the smaller label, -1 if none has any."""


@dataclass(frozen=True)
class Votes:
    """The votes of the members' clusters for groups of patterns (`certainty`)."""

    amounts: Floats
    """(groups, n_clusters) recall times the square root of support: the votes before division by `reach`."""
    reach: Floats
    """(n_clusters,) sum of the recalls of a cluster over all groups."""
    labeled: Floats
    """(M, groups) the number of rows of each group that each member labels."""
    held: Floats
    """(M,) the share of rows that the counterparts of all groups hold: small for members finer than the groups."""
    by_chance: Floats
    """(groups,) the confidence that rows picked at random would have in each group."""

    @property
    def shares(self) -> Floats:
        """(groups, n_clusters) the vote of each cluster for each group, for a row that is not among those counted."""
        return ratio(self.amounts, np.broadcast_to(self.reach, self.amounts.shape))

    @property
    def strongest(self) -> tuple[Ints, Floats]:
        """(n_clusters,), (n_clusters,) the group for which each cluster votes most, and that vote."""
        shares = self.shares
        group = np.argmax(np.round(shares, 12), axis=0)
        return group, shares[group, np.arange(shares.shape[1])]

    @classmethod
    def of(cls, ens: Clusterings, weights: Floats, groups: Groups) -> Votes:
        """Return the votes for some groups of patterns, under some weights (M,) of the members."""
        return cls.of_clusters(ens.cluster_member, weights, groups.shared)

    @classmethod
    def of_clusters(cls, member: Ints, weights: Floats, shared: Floats) -> Votes:
        """Return the votes of clusters, given the member (n_clusters,) of each, for groups of rows.

        Votes need only how many rows groups and clusters share: `shared` (groups, n_clusters).
        """
        n_groups = len(shared)
        peaks, labeled, mean_vote = np.zeros((3, len(weights), n_groups))
        # The counterpart of a group in a member: the cluster that shares most rows with it.
        np.maximum.at(peaks, member, shared.T)
        np.add.at(labeled, member, shared.T)
        held: Floats = ratio(peaks.sum(axis=1), labeled.sum(axis=1))
        # Relative to the rows of the group that the member labels: missing labels do not lower the vote.
        recall = ratio(shared, labeled[member].T)
        reach = recall.sum(axis=0)
        # Members finer than the consensus hold a small part of each group; their support is relative to that.
        amounts = recall * np.sqrt(np.minimum(ratio(recall, np.broadcast_to(held[member], recall.shape)), 1.0))
        of_member = labeled.sum(axis=1)
        share_of_rows = ratio(shared.sum(axis=0), of_member[member])
        np.add.at(mean_vote, member, (amounts * ratio(share_of_rows, reach)).T)
        voting = weights * (of_member > 0)
        return cls(amounts, reach, labeled, held, ratio(voting @ mean_vote, np.full(n_groups, voting.sum())))


def certainty(ens: Ensemble, weights: Floats, labels: Labels, groups: Groups | None = None) -> Certainty:
    """Return how certain the placement of each pattern's rows is, by votes of the members for the consensus clusters.

    A member that puts a row into its cluster C votes for the consensus cluster K by the product of a share and the
    square root of a support:

    - The recall of C for K is |C & K| / |K|. The share of K is its recall divided by the sum of the recalls of C for
      all consensus clusters. Shares add up to 1, and large consensus clusters have no advantage.
    - The support is recall / h, at most 1. The counterpart of a consensus cluster is the member's cluster that shares
      most rows with it; h is the share of rows that the counterparts hold, small for members finer than the consensus.

    Confidence is the mean vote for the row's own cluster, by the members' weights, excluding the row itself. Members
    that do not label a row, or put it together with no other row, have no vote on it.

    Parameters
    ----------
    ens : Ensemble
    weights : (M,)
    labels : (m,)
        Consensus cluster of each pattern, -1 for none.
    groups : Groups, optional
        The consensus clusters where `ens` holds only some of their patterns.
    """
    groups = Groups.of(ens, weights, labels) if groups is None else groups
    votes = Votes.of(ens, weights, groups)
    # By column: the votes of one cluster are read together.
    amounts_of = sp.csc_array(votes.amounts)
    own, totals = one_row(ens), groups.shared.sum(axis=0)
    amounts, runner_up = np.zeros((2, ens.n_patterns)), np.full(ens.n_patterns, -1, dtype=np.int64)

    def count(rows: slice) -> None:
        _kernels.vote_shares.count_votes(
            ens.patterns, own, labels, weights, amounts_of.indptr, amounts_of.indices, amounts_of.data, votes.reach,
            groups.shared, totals, votes.labeled, votes.held, rows.start, rows.stop, amounts, runner_up,
        )  # fmt: skip

    threads.in_threads(count, threads.blocks(ens.n_patterns, _PATTERNS_PER_TASK))
    confidence, margin = amounts
    return Certainty(confidence, margin, runner_up)


def cluster_stability(ens: Clusterings, weights: Floats, groups: Groups, squared: Floats) -> Floats:
    """(groups,) how well the members reproduce each consensus cluster, in [0, 1].

    The mean over the members, by weight, of the product of two figures:

    - The mean vote of the rows of the cluster for it, as in `certainty`.
    - The share of the uncertainty about which rows belong to the cluster that the member's labels resolve:
      1 - H(in the cluster | label) / H(in the cluster), by entropies. It is near 0 for rows picked at random.

    A vote tells whether a member keeps the rows together. The second figure tells whether it keeps other rows out.

    Parameters
    ----------
    squared : (groups, n_clusters)
        `shared_rows`, squared.
    """
    votes, totals = Votes.of(ens, weights, groups), groups.shared.sum(axis=0)
    stability, voting = np.zeros((2, len(groups.sizes)))
    for member, (start, stop) in enumerate(pairwise(ens.cluster_offsets)):
        labeled, sizes = votes.labeled[member], totals[start:stop]
        if weights[member] == 0.0 or not labeled.any():
            continue
        shared = groups.shared[:, start:stop]
        # The row itself does not count.
        own = ratio(squared[:, start:stop], shared)
        recall = ratio(np.maximum(shared - own, 0.0), labeled[:, None] - own)
        total = votes.reach[start:stop] - ratio(shared, np.broadcast_to(labeled[:, None], shared.shape)) + recall
        vote = ratio(recall, total) * np.sqrt(np.minimum(recall / votes.held[member], 1.0))
        rows = np.where(sizes - own > 1e-9 * own, shared, 0.0)
        n_rows = rows.sum(axis=1)
        counted = weights[member] * (n_rows > 0)
        stability += counted * ratio((rows * vote).sum(axis=1), n_rows) * _resolved(shared, labeled, sizes)
        voting += counted
    return np.clip(ratio(stability, voting), 0.0, 1.0)


def _resolved(shared: Floats, labeled: Floats, sizes: Floats) -> Floats:
    """(groups,) the share of the uncertainty about the rows of each group that a member resolves; 1 if none exists."""
    n_rows = sizes.sum()
    remaining = _binary_entropy(ratio(shared, np.broadcast_to(sizes, shared.shape))) @ (sizes / n_rows)
    uncertainty = _binary_entropy(labeled / n_rows)
    return np.where(uncertainty > 0, 1.0 - ratio(remaining, uncertainty), 1.0)


def _binary_entropy(share: Floats) -> Floats:
    return np.asarray(special.entr(share) + special.entr(1.0 - share))


def vote_entropy(ens: Ensemble, weights: Floats, labels: Labels, groups: Groups | None = None) -> Floats:
    """Return the entropy of the members' votes for each pattern's rows, as a share of its largest value.

    (m,) in [0, 1]: 0 if all votes are for one cluster (or there is only one), 1 if every cluster has as many votes. The
    votes are those of `certainty`, except that the row itself counts. Patterns without a label have 0.

    Parameters
    ----------
    ens, weights, labels, groups
        As for `certainty`.
    """
    votes = Votes.of(ens, weights, Groups.of(ens, weights, labels) if groups is None else groups)
    ballots = votes.shares * weights[ens.cluster_member]
    entropy = np.zeros(ens.n_patterns)
    for rows in threads.blocks(ens.n_patterns, _PATTERNS_PER_TASK):
        counted = ens.incidence[rows] @ ballots.T
        shares = ratio(counted, np.broadcast_to(counted.sum(axis=1, keepdims=True), counted.shape))
        entropy[rows] = special.entr(shares).sum(axis=1)
    return np.where(labels >= 0, np.clip(entropy / np.log(max(len(ballots), 2)), 0.0, 1.0), 0.0)
