"""How certain the placement of each row is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from quorate import _kernels
from quorate._runtime import threads
from quorate._utils.array_types import Floats, Labels
from quorate.ensemble import Ensemble
from quorate.reliability import ratio
from quorate.row_similarity import covering_weight, group_sizes, histograms, shared_rows

_PATTERNS_PER_TASK = 1 << 12


@dataclass(frozen=True)
class Groups:
    """Groups of patterns by what they are made of: all that the evidence of any row with each of them needs."""

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
    """How firmly the rows of each pattern sit in their consensus cluster; 0, and -1, for patterns without a label.

    None of this is a probability.
    """

    confidence: Floats
    """(m,) mean evidence of a row with the other rows of its cluster, in [0, 1]; 0 for a cluster of one row."""
    margin: Floats
    """(m,) confidence minus the mean evidence of the row with the rows of its runner-up."""
    runner_up: Labels
    """(m,) of the other clusters, the one with most mean evidence; ties to the smaller label, -1 if none has any."""
    vote_share: Floats
    """(m,) of the other rows in the clusters that members put a row in, the share in its own consensus cluster.

    It is sum_m w_m |C_m(i) & c - {i}| / (|C_m(i)| - 1) over the weight w of the members that have a vote: those that
    put the row together with any other. 0 if none has.
    """


def certainty(ens: Ensemble, weights: Floats, labels: Labels, groups: Groups | None = None) -> Certainty:
    """Return how firmly the rows of each pattern sit in their consensus cluster, in one pass over the patterns.

    The evidence of a row with a group is phi . h from the group's histogram h; with its own, the row itself is taken
    out: (phi . h - 1) / (|K| - 1). Under row weights it counts by the mean weight of its pattern's rows.

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
    evidence = sp.csc_array(groups.histogram * (weights[ens.cluster_member] / weights.sum()))
    shared = groups.shared[evidence.indices, np.repeat(np.arange(ens.n_clusters), np.diff(evidence.indptr))]
    scale = ratio(1.0, np.sqrt(covering_weight(ens.patterns, weights)))
    own, totals = ens.counts / ens.row_counts, groups.shared.sum(axis=0)
    amounts, runner_up = np.zeros((3, ens.n_patterns)), np.full(ens.n_patterns, -1, dtype=np.int64)

    def some(rows: slice) -> None:
        _kernels.vote_shares.weigh_rows(
            ens.patterns, scale, own, labels, weights, evidence.indptr, evidence.indices, evidence.data, shared,
            groups.sizes, totals, rows.start, rows.stop, amounts, runner_up,
        )  # fmt: skip

    threads.in_threads(some, threads.blocks(ens.n_patterns, _PATTERNS_PER_TASK))
    confidence, margin, vote_share = amounts
    return Certainty(confidence, margin, runner_up, vote_share)
