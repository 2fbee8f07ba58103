"""Graph methods on patterns that do not fit into memory: the same answer in passes over blocks of patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, cast

import numpy as np

from quorate._runtime.memory import format_bytes
from quorate._utils.array_types import Bools, Floats, Labels
from quorate.algorithms.answer import answer_warnings
from quorate.algorithms.base import ConsensusMethod
from quorate.algorithms.graph import BlockSolution, GraphMethod
from quorate.analysis.choose_k import Choice, choose_k
from quorate.analysis.clusters import ConsensusCluster, cluster_table
from quorate.certainty import Certainty, Groups, certainty
from quorate.ensemble import Ensemble, ensemble_blocks
from quorate.errors import MemoryLimitError, Setting, issue
from quorate.numerics.kmeans import Assignment, Points, blocked_kmeans
from quorate.reliability import ncai
from quorate.row_similarity import group_sizes
from quorate.tables.out_of_core.pattern_blocks import StoredEnsemble


@dataclass(frozen=True)
class BlockedConsensus:
    """A consensus of patterns that are not in memory."""

    ensemble: StoredEnsemble
    estimator: GraphMethod
    n_clusters: int
    ncai: Floats
    member_weights: Floats
    clusters: tuple[ConsensusCluster, ...]
    choice: Choice | None
    """How the number of clusters was chosen, if it was."""
    answers: Callable[..., Iterator[tuple[Labels, Certainty]]]
    """Yields label and certainty of the patterns, block by block, in order; -1 for a confidence below its argument."""


def check_blockwise(estimator: ConsensusMethod, n_patterns: int, n_bytes: int, available: int) -> GraphMethod:
    """Return the estimator if it can work on blocks of patterns, or say what it would need instead."""
    why = estimator.why_all_patterns()
    if why is not None:
        raise MemoryLimitError(
            f"The rows have {n_patterns:,} distinct combinations of labels: {why} and needs about "
            f"{format_bytes(n_bytes)}, but {format_bytes(available)} is available.",
            code="patterns-memory",
            hint=("Use the default method, gp-mgla or hbgf with ", Setting("init", "ward"), ", or fewer members."),
        )
    return cast(GraphMethod, estimator.in_blocks())


def fit_blocks(estimator: GraphMethod, ens: StoredEnsemble) -> BlockedConsensus:
    """Find the consensus of an ensemble whose patterns are read in blocks."""
    solution = estimator.solve_blocks(ens)
    index, weights = ncai(ens, estimator.normalize), solution.weights
    # The automatic choice reads the blocks once more.
    choice = choose_k(ens) if estimator.n_clusters == "auto" else None
    requested = int(estimator.n_clusters) if choice is None else choice.within(solution.max_clusters)
    blocks = _Blocks(solution, ens, min(requested, solution.max_clusters))
    numbered = blocks.numbered()
    # Histograms of blocks add up; labels are recomputed instead of stored.
    parts = (Groups.of(block, weights, labels, numbered.n_groups) for block, labels in numbered.labels())
    groups = reduce(Groups.__add__, parts)

    def answers(abstain: float = 0.0) -> Iterator[tuple[Labels, Certainty]]:
        for block, labels in numbered.labels():
            certain = certainty(block, weights, labels, groups)
            yield np.where(certain.confidence >= abstain, labels, -1), certain

    # Every row weighs 1, so that squares of weights are numbers of rows.
    clusters = cluster_table(ens, weights, groups, alone=numbered.sizes, squared=groups.shared)
    n_unlabeled = ens.n_rows - int(numbered.sizes.sum())
    for warning in answer_warnings(n_unlabeled, numbered.n_groups, requested, solution.graph.caution):
        issue(warning)
    return BlockedConsensus(ens, estimator, numbered.n_groups, index, weights, clusters, choice, answers)


class Embedded(NamedTuple):
    """A block of patterns, which of them have links, and the embedding of those."""

    block: Ensemble
    linked: Bools
    values: Floats


@dataclass(frozen=True)
class _Blocks:
    """The cut of a graph into k clusters, applied to blocks of patterns."""

    solution: BlockSolution
    ens: StoredEnsemble
    k: int

    def embedded(self) -> Iterator[Embedded]:
        """Yield all blocks in order."""
        return map(self.embed, range(len(ensemble_blocks(self.ens))))

    def embed(self, i: int) -> Embedded:
        """Return a block, which of its patterns have links, and the embedding of those."""
        block = ensemble_blocks(self.ens)[i]
        cut = self.solution.on(block)
        linked = np.diff(cut.links.indptr) > 0
        return Embedded(block, linked, np.ascontiguousarray(cut.embedding(self.k)[linked]))

    def numbered(self) -> _Numbered:
        """Return the clusters, numbered by decreasing size, ties by their first pattern."""
        graph = self.solution.graph
        assignment = blocked_kmeans(_Points(self), self.k, graph.init, graph.spread) if self.k > 1 else None
        plain = _Numbered(self, assignment, np.arange(max(self.k, 1)), np.empty(0))
        sizes, first = np.zeros(self.k), np.full(self.k, self.ens.n_patterns)
        offset = 0
        for block, labels in plain.labels():
            sizes += group_sizes(block, labels, self.k)
            # The first pattern of each cluster breaks ties of size, as in memory.
            present, position = np.unique(labels, return_index=True)
            new = (present >= 0) & (offset + position < first[present])
            first[present[new]] = offset + position[new]
            offset += len(labels)
        # By decreasing size; empty clusters come last and are dropped.
        order = np.lexsort((first, -sizes))
        n_groups = int(np.count_nonzero(sizes))
        rank = np.empty(self.k, dtype=np.int64)
        rank[order] = np.arange(self.k)
        return _Numbered(self, assignment, rank, sizes[order][:n_groups])


class _Points(Sequence[Points]):
    """The points of the k-means: embedded patterns, read when accessed, and further points of the graph."""

    def __init__(self, blocks: _Blocks) -> None:
        self._blocks = blocks
        self._companions = blocks.solution.graph.companions(blocks.k)

    def __len__(self) -> int:
        return len(ensemble_blocks(self._blocks.ens)) + len(self._companions)

    def __getitem__(self, i: Any) -> Any:
        n_blocks = len(ensemble_blocks(self._blocks.ens))
        # Embedded clusters of the graph come after the patterns.
        if i >= n_blocks:
            return self._companions[i - n_blocks]
        block, linked, values = self._blocks.embed(i)
        return Points(values, block.counts[linked].astype(np.float64))


@dataclass(frozen=True)
class _Numbered:
    """The consensus label of every pattern, recomputed at each use."""

    blocks: _Blocks
    assignment: Assignment | None
    rank: Labels
    sizes: Floats

    @property
    def n_groups(self) -> int:
        """Number of clusters that came back."""
        return len(self.sizes)

    def labels(self) -> Iterator[tuple[Ensemble, Labels]]:
        """Yield blocks and the consensus label of their patterns, -1 without links."""
        offset = 0
        for block, linked, values in self.blocks.embedded():
            labels = np.full(block.n_patterns, -1, dtype=np.int64)
            if self.assignment is None:
                labels[linked] = 0
            else:
                labels[linked] = self.rank[self.assignment.labels(values, offset)[0]]
            offset += int(linked.sum())
            yield block, labels
