"""How certain the placement of each row is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from quorate import _kernels
from quorate._runtime import threads
from quorate._utils.array_types import Floats, Labels
from quorate.ensemble import Clusterings, Ensemble
from quorate.reliability import ratio
from quorate.row_similarity import group_sizes, histograms, shared_rows

_PATTERNS_PER_TASK = 1 << 12


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


def one_row(ens: Ensemble) -> Floats:
    """(m,) the weight of one row of each pattern: 1, as a row of weight 2 counts like two rows, or less if lighter."""
    return np.minimum(ens.counts / ens.row_counts, 1.0)


@dataclass(frozen=True)
class Votes:
    """The votes of the members' clusters for groups of patterns."""

    shares: Floats
    """(groups, n_clusters) the vote of each cluster for each group, in [0, 1] (`certainty`)."""
    labeled: Floats
    """(M, groups) the number of rows of each group that each member labels."""
    held: Floats
    """(M,) the share of rows that the counterparts of all groups hold: small for members finer than the groups."""
    chance: Floats
    """(M, groups) how far a member cannot tell a group from the rest: its mean support for the group over all rows."""
    by_chance: Floats
    """(groups,) the confidence that rows picked at random would have in each group."""

    @classmethod
    def of(cls, ens: Clusterings, weights: Floats, groups: Groups) -> Votes:
        """Return the votes for some groups of patterns, under some weights (M,) of the members."""
        member, n_groups = ens.cluster_member, len(groups.sizes)
        peaks, labeled, chance, mean_vote = np.zeros((4, ens.n_members, n_groups))
        np.maximum.at(peaks, member, groups.shared.T)
        np.add.at(labeled, member, groups.shared.T)
        held = ratio(peaks.sum(axis=1), labeled.sum(axis=1))
        support = np.minimum(ratio(groups.shared, (labeled * held[:, None])[member].T), 1.0)
        rows = groups.shared.sum(axis=0)
        of_member = np.bincount(member, weights=rows, minlength=ens.n_members).astype(np.float64)
        share_of_rows: Floats = ratio(rows, of_member[member])
        np.add.at(chance, member, (support * share_of_rows).T)
        chance = np.minimum(chance, 1.0)
        inside = ratio(groups.shared, np.broadcast_to(rows, groups.shared.shape))
        votes = (1.0 - chance[member].T) * support + chance[member].T * inside
        np.add.at(mean_vote, member, (votes * share_of_rows).T)
        voting = weights * (of_member > 0)
        return cls(votes, labeled, held, chance, ratio(voting @ mean_vote, np.full(n_groups, voting.sum())))


def certainty(ens: Ensemble, weights: Floats, labels: Labels, groups: Groups | None = None) -> Certainty:
    """Return how certain the placement of each pattern's rows is, by votes of the members for the consensus clusters.

    A member that puts a row into its cluster C supports the consensus cluster K by s = |C & K| / (|K| h), at most 1. h
    is the share of rows that the counterparts hold, the counterpart of a consensus cluster being the cluster of the
    member that shares most rows with it; h is small for fine members. Support is corrected for chance, the mean of s
    over all rows: the vote for K is (1 - chance) s + chance |C & K| / |C|, so that a member that cannot tell K from the
    rest (chance near 1) only votes by the share of C that K holds. Confidence is the mean vote for the row's own
    cluster, by the members' weights, excluding the row itself. So it compares across clusters of any size
    and members of any fineness. Members that do not label a row, or put it together with no other row, have no vote on
    it.

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
    shared = sp.csc_array(groups.shared)
    shares = votes.shares[shared.indices, np.repeat(np.arange(ens.n_clusters), np.diff(shared.indptr))]
    own, totals = one_row(ens), groups.shared.sum(axis=0)
    amounts, runner_up = np.zeros((2, ens.n_patterns)), np.full(ens.n_patterns, -1, dtype=np.int64)

    def count(rows: slice) -> None:
        _kernels.vote_shares.count_votes(
            ens.patterns, own, labels, weights, shared.indptr, shared.indices, shares, shared.data, votes.labeled,
            votes.held, votes.chance, totals, rows.start, rows.stop, amounts, runner_up,
        )  # fmt: skip

    threads.in_threads(count, threads.blocks(ens.n_patterns, _PATTERNS_PER_TASK))
    confidence, margin = amounts
    return Certainty(confidence, margin, runner_up)
