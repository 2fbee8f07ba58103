"""How certain the placement of each row is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy import special

from quorate import _kernels
from quorate._runtime import threads
from quorate._runtime.memory import require_memory
from quorate._utils.array_types import Floats, Ints, Labels
from quorate.ensemble import Clusterings, Ensemble, one_row
from quorate.numerics.cells import Cells, largest_first
from quorate.numerics.mutual_information import ratio
from quorate.row_similarity import group_sizes, histograms, shared_rows

_PATTERNS_PER_TASK = 1 << 12
# What the description of clusters holds simultaneously: tables (M, groups), and figures per cell.
_TABLES, _FIGURES = 8, 12


@dataclass(frozen=True)
class Groups:
    """Groups of patterns by the rows they share with each cluster: all that votes and co-association need."""

    sizes: Floats
    """(groups,) number of rows (or their weight)."""
    histogram: sp.csr_array
    """(groups, n_clusters) `histograms`."""
    shared: sp.csr_array
    """(groups, n_clusters) `shared_rows`."""

    @classmethod
    def of(cls, ens: Ensemble, weights: Floats, labels: Labels, n_groups: int | None = None) -> Groups:
        """Return the groups of some labels of patterns; label -1 is no group."""
        n_groups = int(labels.max(initial=-1)) + 1 if n_groups is None else n_groups
        n_cells = min(ens.patterns.size, n_groups * ens.n_clusters)
        require_memory(
            8.0 * (_TABLES * n_groups * ens.n_members + _FIGURES * n_cells),
            f"The description of {n_groups:,} clusters by {ens.n_members:,} members",
            "Take the labels only: result.labels, or `quorate combine -o` without --confidence and --report.",
        )
        return cls(
            group_sizes(ens, labels, n_groups),
            histograms(ens, weights, labels, n_groups),
            shared_rows(ens, labels, n_groups),
        )

    def __add__(self, other: Groups) -> Groups:
        """Return the groups of the patterns of both."""
        return Groups(
            self.sizes + other.sizes,
            sp.csr_array(self.histogram + other.histogram),
            sp.csr_array(self.shared + other.shared),
        )


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

    shared: Cells
    """`shared_rows`."""
    amounts: Floats
    """Recall times the square root of support, of each cell of `shared`: the votes before division by `reach`."""
    totals: Floats
    """(n_clusters,) rows of each cluster that are in any group."""
    reach: Floats
    """(n_clusters,) sum of the recalls of a cluster over all groups."""
    labeled: Floats
    """(M, groups) the number of rows of each group that each member labels."""
    held: Floats
    """(M,) the share of rows that the counterparts of all groups hold: small for members finer than the groups."""
    by_chance: Floats
    """(groups,) the confidence that rows picked at random would have in each group."""

    @property
    def shares(self) -> sp.csr_array:
        """(n_clusters, groups) the vote of each cluster for each group, for a row that is not among those counted."""
        cells = self.shared
        return sp.csr_array((self._vote, (cells.cluster, cells.group)), shape=(len(self.reach), cells.shape[1]))

    @property
    def strongest(self) -> tuple[Ints, Floats]:
        """(n_clusters,), (n_clusters,) the group for which each cluster votes most, and that vote."""
        cells = self.shared
        order = largest_first(cells.cluster, cells.group, self._vote)
        voting, first = np.unique(cells.cluster[order], return_index=True)
        group, vote = np.zeros(len(self.reach), dtype=np.int64), np.zeros(len(self.reach))
        group[voting], vote[voting] = cells.group[order[first]], self._vote[order[first]]
        return group, vote

    @cached_property
    def _vote(self) -> Floats:
        """The vote of each cell of `shared`, for a row that is not among those counted."""
        return self.amounts / self.reach[self.shared.cluster]

    @classmethod
    def of(cls, ens: Clusterings, weights: Floats, groups: Groups) -> Votes:
        """Return the votes for some groups of patterns, under some weights (M,) of the members."""
        return cls.of_clusters(ens.cluster_member, weights, groups.shared)

    @classmethod
    def of_clusters(cls, member: Ints, weights: Floats, shared: sp.sparray) -> Votes:
        """Return the votes of clusters, given the member (n_clusters,) of each, for groups of rows.

        Votes need only how many rows groups and clusters share: `shared` (groups, n_clusters).
        """
        cells = Cells.of(shared, member, len(weights))
        totals, labeled = cells.by_cluster(cells.values, len(member)), cells.by_member(cells.values)
        of_member = labeled.sum(axis=1)
        # The counterpart of a group in a member: the cluster that shares most rows with it.
        held: Floats = ratio(cells.largest_by_member().sum(axis=1), of_member)
        # Relative to the rows of the group that the member labels: missing labels do not lower the vote.
        recall = cells.values / labeled[cells.member, cells.group]
        reach = cells.by_cluster(recall, len(member))
        # Members finer than the consensus hold a small part of each group; their support is relative to that.
        amounts = recall * np.sqrt(np.minimum(recall / held[cells.member], 1.0))
        share_of_rows = ratio(totals, of_member[member])
        mean_vote = cells.by_member(amounts * ratio(share_of_rows, reach)[cells.cluster])
        voting = weights * (of_member > 0)
        by_chance = ratio(voting @ mean_vote, np.full(cells.shape[1], voting.sum()))
        return cls(cells, amounts, totals, reach, labeled, held, by_chance)


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
    cells, n_groups = votes.shared, len(groups.sizes)
    first = np.searchsorted(cells.cluster, np.arange(ens.n_clusters + 1))
    own = one_row(ens)
    amounts, runner_up = np.zeros((2, ens.n_patterns)), np.full(ens.n_patterns, -1, dtype=np.int64)

    def count(rows: slice) -> None:
        _kernels.vote_shares.count_votes(
            ens.patterns, own, labels, weights, first, cells.group, votes.amounts, cells.values, votes.reach,
            votes.totals, votes.labeled, votes.held, rows.start, rows.stop, amounts, runner_up,
        )  # fmt: skip

    threads.in_threads(count, threads.blocks(ens.n_patterns, max(_PATTERNS_PER_TASK, n_groups)))
    confidence, margin = amounts
    return Certainty(confidence, margin, runner_up)


def cluster_stability(ens: Clusterings, weights: Floats, groups: Groups, squared: sp.csr_array) -> Floats:
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
    votes = Votes.of(ens, weights, groups)
    cells, labeled = votes.shared, votes.labeled[votes.shared.member, votes.shared.group]
    # The row itself does not count.
    own = Cells.of(squared, ens.cluster_member, ens.n_members).values / cells.values
    recall = ratio(np.maximum(cells.values - own, 0.0), labeled - own)
    total = votes.reach[cells.cluster] - cells.values / labeled + recall
    vote = ratio(recall, total) * np.sqrt(np.minimum(recall / votes.held[cells.member], 1.0))
    rows = np.where(votes.totals[cells.cluster] - own > 1e-9 * own, cells.values, 0.0)
    n_rows = cells.by_member(rows)
    counted = weights[:, None] * (n_rows > 0)
    stability = counted * ratio(cells.by_member(rows * vote), n_rows) * _resolved(votes)
    return np.clip(ratio(stability.sum(axis=0), counted.sum(axis=0)), 0.0, 1.0)


def _resolved(votes: Votes) -> Floats:
    """(M, groups) the share of the uncertainty about the rows of each group that a member resolves; 1 if none exists.

    Rows that a member does not label do not count.
    """
    cells, n_rows = votes.shared, votes.labeled.sum(axis=1)
    size = votes.totals[cells.cluster]
    remaining = cells.by_member(_binary_entropy(cells.values / size) * size / n_rows[cells.member])
    uncertainty = _binary_entropy(ratio(votes.labeled, np.broadcast_to(n_rows[:, None], votes.labeled.shape)))
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
    ballots = sp.csr_array(sp.diags_array(weights[ens.cluster_member]) @ votes.shares)
    entropy = np.zeros(ens.n_patterns)
    for rows in threads.blocks(ens.n_patterns, _PATTERNS_PER_TASK):
        counted = sp.csr_array(ens.incidence[rows] @ ballots)
        shares = sp.diags_array(ratio(1.0, counted.sum(axis=1))) @ counted
        shares.data = special.entr(shares.data)
        entropy[rows] = shares.sum(axis=1)
    return np.where(labels >= 0, np.clip(entropy / np.log(max(ballots.shape[1], 2)), 0.0, 1.0), 0.0)
