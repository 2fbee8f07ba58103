"""A consensus found on some rows, for any rows: a member's cluster votes for the consensus clusters it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _kernels
from quorate._runtime import threads
from quorate._utils.array_types import Floats, Ints
from quorate.algorithms.base import ConsensusMethod
from quorate.ensemble import Ensemble
from quorate.features.labeling import Crew
from quorate.persistence.archive import Arrays
from quorate.reliability import ratio

_BLOCK = 1 << 17
_TASK = 1 << 13


class Assigned(NamedTuple):
    """Consensus clusters of rows."""

    labels: NDArray[np.int32]
    """-1 for a row about which no member knows anything."""
    confidence: NDArray[np.float32]
    """Mean evidence of the row with the rows of its cluster that the consensus was found on."""
    margin: NDArray[np.float32]
    """Confidence minus the mean evidence of the row with the rows of its runner-up; votes may go another way."""
    runner_up: NDArray[np.int32]
    """Of the other clusters, the one the row has most evidence for; -1 where none has any."""

    @classmethod
    def empty(cls, n_rows: int) -> Assigned:
        """Return room for the clusters of so many rows."""
        labels, runner_up = np.empty((2, n_rows), dtype=np.int32)
        confidence, margin = np.empty((2, n_rows), dtype=np.float32)
        return cls(labels, confidence, margin, runner_up)

    def forget(self, rows: Any) -> None:
        """Leave some rows without a cluster."""
        for values, nothing in zip(self, (-1, 0.0, 0.0, -1), strict=True):
            values[rows] = nothing


@dataclass(frozen=True)
class Votes:
    """What the clusters of the members say about the consensus clusters."""

    first: Ints
    """(M + 1,) the line of label 0 of each member in the tables."""
    votes: NDArray[np.float32]
    """(lines, k) of the rows of a member's cluster, the share in each consensus cluster, times the member's weight."""
    evidence: NDArray[np.float32]
    """(lines, k) of the rows of a consensus cluster, the share in the member's cluster, times the member's weight."""

    @classmethod
    def of(cls, codes: NDArray[Any], weights: Floats, labels: Ints, member_weights: Floats) -> Votes:
        """Count the votes of rows: codes (M, n) by the members, weights (n,), and consensus labels (n,)."""
        lengths = [max(int(column.max()) + 1, 0) for column in codes]
        k = max(int(labels.max(initial=-1)) + 1, 1)
        clear = labels >= 0
        shared = []
        for column, length in zip(codes.astype(np.int64), lengths, strict=True):
            known = clear & (column >= 0)
            counts = np.bincount((column * k + labels)[known], weights=weights[known], minlength=length * k)
            shared.append(counts.reshape(length, k))
        sizes = np.bincount(labels[clear], weights=weights[clear], minlength=k).astype(np.float64)
        votes = [w * one * ratio(1.0, one.sum(axis=1))[:, None] for one, w in zip(shared, member_weights, strict=True)]
        evidence = [w * one * ratio(1.0, sizes) for one, w in zip(shared, member_weights, strict=True)]
        first = np.concatenate([[0], np.cumsum(lengths)])
        return cls(first, np.concatenate(votes).astype(np.float32), np.concatenate(evidence).astype(np.float32))

    def to_arrays(self) -> Arrays:
        """Return the tables under the names they have in a file."""
        return {"votes_first": self.first, "votes_votes": self.votes, "votes_evidence": self.evidence}

    def elect(self, codes: NDArray[Any]) -> Assigned:
        """Return the consensus cluster of rows from the labels (M, n) that members give them."""
        n_rows = codes.shape[1]
        found = Assigned.empty(n_rows)

        def some(rows: slice) -> None:
            _kernels.election.elect(codes, self.first, self.votes, self.evidence, rows.start, rows.stop, *found)

        threads.in_threads(some, threads.blocks(n_rows, _TASK))
        return found


@dataclass(frozen=True)
class RowClusters:
    """Members and their consensus, ready for any rows."""

    crew: Crew
    votes: Votes

    def assign(self, X: Any) -> Assigned:
        """Return the consensus cluster of each row of X, block by block: labels of members are never held for all."""
        found = Assigned.empty(X.shape[0])
        for rows in threads.blocks(X.shape[0], _BLOCK):
            for values, some in zip(found, self.votes.elect(self.crew.label(X[rows])), strict=True):
                values[rows] = some
        return found


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
    ensemble = Ensemble(list(codes), names=names, row_weights=weights if (counts > 1).any() else None)
    fitted = consensus.fit(ensemble)
    return fitted, RowClusters(crew, Votes.of(codes, weights, fitted.labels_, fitted.member_weights_))
