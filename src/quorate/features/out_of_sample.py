"""A consensus found on some rows, for any rows: a member's cluster votes for the consensus clusters it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate import _kernels
from quorate._runtime import threads
from quorate._utils.array_types import Floats, Ints
from quorate.algorithms.base import ConsensusMethod
from quorate.certainty import Votes as CertaintyVotes
from quorate.ensemble import Ensemble
from quorate.features.labeling import Crew
from quorate.features.outliers import Outliers
from quorate.features.sampling import hash_rows
from quorate.numerics.mutual_information import ratio
from quorate.persistence.archive import Arrays

_BLOCK = 1 << 17
_TASK = 1 << 13
_RARE = 1e-3  # a share so small is as likely as one of 0


class Assigned(NamedTuple):
    """Consensus clusters of rows."""

    labels: NDArray[np.int32]
    """-1 for a row about which no member knows anything."""
    confidence: NDArray[np.float32]
    """Share of the members' votes for its cluster, counted on the rows that the consensus was found on."""
    margin: NDArray[np.float32]
    """Confidence minus the share of the votes for the runner-up; the winner is elected by other votes."""
    runner_up: NDArray[np.int32]
    """Of the other clusters, the one with the largest share of the votes; -1 where none has any."""

    @classmethod
    def empty(cls, n_rows: int) -> Assigned:
        """Return empty arrays for the clusters of n rows."""
        labels, runner_up = np.empty((2, n_rows), dtype=np.int32)
        confidence, margin = np.empty((2, n_rows), dtype=np.float32)
        return cls(labels, confidence, margin, runner_up)

    @classmethod
    def of(cls, labels: Any, confidence: Any, margin: Any, runner_up: Any) -> Assigned:
        """Return what was found for some rows."""
        assigned = cls.empty(len(labels))
        for values, given in zip(assigned, (labels, confidence, margin, runner_up), strict=True):
            values[:] = given
        return assigned

    def forget(self, rows: Any) -> None:
        """Leave some rows without a cluster."""
        for values, nothing in zip(self, (-1, 0.0, 0.0, -1), strict=True):
            values[rows] = nothing

    def withdraw(self, rows: Any) -> None:
        """Take some rows out of their clusters, which become their runner-up."""
        # The cluster that a row leaves becomes its runner-up, by minus its confidence.
        self.runner_up[rows], self.margin[rows] = self.labels[rows], -self.confidence[rows]
        self.labels[rows], self.confidence[rows] = -1, 0.0


@dataclass(frozen=True)
class Votes:
    """What the clusters of the members say about the consensus clusters."""

    first: Ints
    """(M + 1,) the line of label 0 of each member in the tables."""
    votes: NDArray[np.float32]
    """(lines, k) of the rows of a member's cluster, the share in each consensus cluster, times the member's weight."""
    evidence: NDArray[np.float32]
    """(lines, k) the vote of a member's cluster for a consensus cluster, as in `certainty`, times its weight."""

    @classmethod
    def of(cls, codes: NDArray[Any], weights: Floats, labels: Ints, member_weights: Floats) -> Votes:
        """Count the votes of rows: codes (M, n) by the members, weights (n,), and consensus labels (n,)."""
        shared = shared_weights(codes, weights, labels)
        # A cluster's votes are shares of its rows, so that large clusters do not outvote small ones.
        votes = [
            w * counts * ratio(1.0, counts.sum(axis=1))[:, None]
            for counts, w in zip(shared, member_weights, strict=True)
        ]
        lengths = [len(counts) for counts in shared]
        member = np.repeat(np.arange(len(shared)), lengths)
        certain = CertaintyVotes.of_clusters(member, member_weights, sp.csc_array(np.concatenate(shared).T))
        evidence = certain.shares.toarray() * member_weights[member][:, None]
        return cls.stacked(votes, np.split(evidence, np.cumsum(lengths)[:-1]))

    @classmethod
    def by_likelihood(cls, codes: NDArray[Any], weights: Floats, labels: Ints) -> Votes:
        """Count votes for a consensus (n,) that other members found, by members (M, n) that can label any row.

        Votes are log-likelihoods, so that a member whose cluster lies inside one consensus cluster decides, and one
        with few large clusters does not outvote it. Evidence is the mean share.
        """
        shared = shared_weights(codes, weights, labels)
        shares = [share * ratio(1.0, share.sum(axis=1))[:, None] for share in shared]
        return cls.stacked([np.log1p(share / _RARE) for share in shares], [share / len(shares) for share in shares])

    @classmethod
    def stacked(cls, votes: Sequence[Floats], evidence: Sequence[Floats]) -> Votes:
        """Return the tables of all members, one after the other."""
        first = np.concatenate([[0], np.cumsum([len(block) for block in votes])])
        return cls(first, np.concatenate(votes).astype(np.float32), np.concatenate(evidence).astype(np.float32))

    def to_arrays(self) -> Arrays:
        """Return the tables under the names they have in a file."""
        return {"votes_first": self.first, "votes_votes": self.votes, "votes_evidence": self.evidence}

    def elect(self, codes: NDArray[Any]) -> Assigned:
        """Return the consensus cluster of rows from the labels (M, n) that members give them."""
        n_rows = codes.shape[1]
        assigned = Assigned.empty(n_rows)

        def elect_block(rows: slice) -> None:
            _kernels.election.elect(codes, self.first, self.votes, self.evidence, rows.start, rows.stop, *assigned)

        threads.in_threads(elect_block, threads.blocks(n_rows, _TASK))
        return assigned


def shared_weights(codes: NDArray[Any], weights: Floats, labels: Ints) -> list[Floats]:
    """Return the weight of the rows that each cluster of each member shares with each consensus cluster.

    codes : (M, n) labels from 0 by the members, negative where there is none
    """
    k = max(int(labels.max(initial=-1)) + 1, 1)
    shared = []
    for column in codes.astype(np.int64):
        length = max(int(column.max()) + 1, 0)
        labeled = (labels >= 0) & (column >= 0)
        # One count for all pairs of labels.
        counts = np.bincount((column * k + labels)[labeled], weights=weights[labeled], minlength=length * k)
        shared.append(counts.reshape(length, k).astype(np.float64))
    return shared


@dataclass(frozen=True)
class KnownRows:
    """The rows that a consensus was found on, by their hashes: they keep the clusters that they got there."""

    hashes: NDArray[np.uint64]
    """Ascending."""
    assigned: Assigned

    @classmethod
    def of(cls, X: Floats, assigned: Assigned) -> KnownRows:
        """Return the distinct rows of X and what was found for them."""
        hashes, rows = np.unique(hash_rows(X, 0), return_index=True)
        return cls(hashes, Assigned.of(*(values[rows] for values in assigned)))

    def recall(self, X: Floats, assigned: Assigned) -> None:
        """Replace the predicted values of the rows of X by the fitted ones."""
        hashes = hash_rows(X, 0)
        # Sorted hashes: a lookup by bisection.
        positions = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        is_known = self.hashes[positions] == hashes
        for values, stored in zip(assigned, self.assigned, strict=True):
            values[is_known] = stored[positions[is_known]]

    def to_arrays(self) -> Arrays:
        """Return the rows under the names they have in a file."""
        facts = {f"known_{name}": values for name, values in self.assigned._asdict().items()}
        return {"known_hashes": self.hashes, **facts}


@dataclass(frozen=True)
class RowClusters:
    """Members and their consensus, ready for any rows."""

    crew: Crew
    votes: Votes
    known: KnownRows | None = None
    """The rows that the consensus was found on, where these are all rows of a table."""
    outliers: Outliers | None = None
    """Which rows are left without a cluster; None: no rows."""

    def assign(self, X: Any) -> Assigned:
        """Return the consensus cluster of each row of X, block by block: labels of members are never held for all."""
        assigned = Assigned.empty(X.shape[0])
        for rows in threads.blocks(X.shape[0], _BLOCK):
            elected = self.votes.elect(self.crew.label(X[rows]))
            if self.known is not None or self.outliers is not None:
                self._correct(X[rows] if self.crew.scaling is None else self.crew.scaling.apply(X[rows]), elected)
            for values, block_values in zip(assigned, elected, strict=True):
                values[rows] = block_values
        return assigned

    def _correct(self, scaled: Floats, elected: Assigned) -> None:
        """Recall the clusters of fitted rows, and leave outliers without a cluster."""
        if self.known is not None:
            self.known.recall(scaled, elected)
        if self.outliers is not None:
            elected.withdraw(self.outliers.find(scaled, elected.labels, elected.confidence))

    def to_arrays(self) -> Arrays:
        """Return all but the members and their scale under the names they have in a file."""
        parts = [part for part in (self.votes, self.known, self.outliers) if part is not None]
        return {name: values for part in parts for name, values in part.to_arrays().items()}


def combine_sample(
    crew: Crew, names: Sequence[str], rows: Any, counts: Ints, consensus: ConsensusMethod
) -> tuple[ConsensusMethod, RowClusters]:
    """Find the consensus of members on some rows, each of which stands for `counts` equal ones, and extend it to any.

    Parameters
    ----------
    crew : Crew
        The members, which label `rows` themselves.
    consensus : ConsensusMethod
        Fitted to them, and returned.
    """
    codes = crew.label(rows)
    weights = counts.astype(np.float64)
    # Equal rows of the sample count as often as they occur in the table.
    ensemble = Ensemble(list(codes), names=names, row_weights=weights if (counts > 1).any() else None)
    fitted = consensus.fit(ensemble)
    return fitted, RowClusters(crew, Votes.of(codes, weights, fitted.labels_, fitted.member_weights_))
