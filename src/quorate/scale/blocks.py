"""Patterns that do not fit into memory: kept elsewhere, read in blocks, and clustered without ever holding them.

Where hardly any two rows carry the same labels there are as many patterns as rows. What graph methods need of them is
the co-occurrence, which adds up over blocks, and a k-means of their embedding, whose every step is a pass over blocks.
The sums run in the order of the patterns, so the answer is that of the same method in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate import _kernels
from quorate._support.typing import Floats, Ints
from quorate.ensemble import Ensemble
from quorate.kmeans import MAX_ITERATIONS, ROUNDING, lower_distances
from quorate.labels import Noise, Vector

BLOCK = 1 << 17


class PatternStore(Protocol):
    """Distinct patterns in lexicographic order, kept anywhere."""

    @property
    def n_patterns(self) -> int:
        """Number of patterns."""

    def read(self, start: int, stop: int) -> tuple[NDArray[np.int32], Ints]:
        """Return (stop - start, M) codes, -1 for missing, and the counts of some consecutive patterns."""


class StoredEnsemble(Ensemble):
    """An ensemble whose patterns are read from a store, block by block; `patterns` and `counts` are empty."""

    def __init__(
        self, names: Sequence[str], levels: Sequence[Vector], noise: Noise, n_rows: int, store: PatternStore
    ) -> None:
        self.names, self.levels, self.noise, self.n_rows = tuple(names), tuple(levels), noise, n_rows
        self._store = store
        self._check_not_empty(n_rows)
        self.patterns = np.empty((0, len(self.names)), dtype=np.int32)
        self.counts = self.row_counts = np.empty(0, dtype=np.int64)
        self.row_pattern = self.first_row = None

    @property
    def n_patterns(self) -> int:
        """Number of distinct rows of labels."""
        return self._store.n_patterns

    @property
    def total(self) -> float:
        """Number of rows."""
        return float(self.n_rows)

    def blocks(self) -> Iterator[Ensemble]:
        """Yield the patterns, some at a time, as ensembles with the clusters of the whole."""
        for start in range(0, self.n_patterns, BLOCK):
            codes, counts = self._store.read(start, min(start + BLOCK, self.n_patterns))
            block = object.__new__(Ensemble)
            block.names, block.levels, block.noise = self.names, self.levels, self.noise
            block.n_rows = int(counts.sum())
            block.patterns = np.where(codes >= 0, codes + self._offsets[:-1].astype(np.int32), np.int32(-1))
            block.counts = block.row_counts = counts
            block.row_pattern = block.first_row = None
            yield block

    @cached_property
    def cooccurrence(self) -> sp.csr_array:
        """(n_clusters, n_clusters) sparse: how many rows two clusters share, added up over blocks."""
        return self._add_up(lambda block: block.cooccurrence)

    def cooccurrence_by_degree(self, influence: Floats) -> sp.csr_array:
        """Return the co-occurrence in which a row counts 1 over the influence (n_clusters,) of all its clusters."""
        degrees = np.unique(np.concatenate([np.unique(block.degrees(influence)) for block in self.blocks()]))
        if len(degrees) == 1:
            return self.cooccurrence / degrees[0]

        def by_degree(block: Ensemble) -> sp.csr_array:
            degree = block.degrees(influence)
            per_row = np.divide(block.counts, degree, out=np.zeros(len(degree)), where=degree > 0)
            return block.scaled_cooccurrence(per_row)

        return self._add_up(by_degree)

    def _add_up(self, part: Callable[[Ensemble], sp.csr_array]) -> sp.csr_array:
        total: sp.csr_array | None = None
        for block in self.blocks():
            total = part(block) if total is None else total + part(block)
        assert total is not None
        total.sort_indices()
        return total


class Points(NamedTuple):
    """Some weighted points; `fixed` ones are clustered along, but do not keep a cluster alive nor start one."""

    values: Floats
    weights: Floats
    fixed: bool = False


Keys = Callable[[Floats, list[Floats]], Floats]
"""How much each point suggests itself as the next centre, given those chosen; -inf if it coincides with one."""


def farthest_key(points: Floats, chosen: list[Floats]) -> Floats:
    """Return the distance to the nearest centre, rounded."""
    keys = _apart(points, chosen)
    return np.where(keys > 0, keys, -np.inf)


def least_similar_key(points: Floats, chosen: list[Floats]) -> Floats:
    """Return minus the sum of the absolute cosines to the centres, rounded."""
    similarity = np.zeros(len(points))
    for centre in chosen:
        similarity += np.abs(points @ centre)
    return np.where(_apart(points, chosen) > 0, -np.rint(similarity * ROUNDING), -np.inf)


def _apart(points: Floats, chosen: list[Floats]) -> Floats:
    distances = np.full(len(points), np.inf)
    for centre in chosen:
        lower_distances(points, centre, distances)
    return np.rint(distances * ROUNDING)


@dataclass(frozen=True)
class Assignment:
    """Which cluster points belong to: that of the nearest centre, but for some that were moved to empty clusters."""

    centres: Floats
    moved: dict[int, int]

    def labels(self, points: Floats, offset: int) -> tuple[Ints, Floats]:
        """Return the cluster of each point, and its squared distance, of which the first is point `offset` of all."""
        labels = np.empty(len(points), dtype=np.int64)
        distances = np.empty(len(points))
        columns = np.ascontiguousarray(self.centres.T)
        tasks = _kernels.threads.blocks(len(points), 1 << 14)
        _kernels.threads.in_threads(
            lambda rows: _kernels.lloyd.assign(points, columns, ROUNDING, rows.start, rows.stop, labels, distances),
            tasks,
        )
        for index, label in self.moved.items():
            if offset <= index < offset + len(points):
                labels[index - offset], distances[index - offset] = label, 0.0
        return labels, distances


class _Pass(NamedTuple):
    """What one pass over all points finds."""

    digest: bytes
    """Stands for all labels: equal digests mean equal labels."""
    sizes: Ints
    """(k,) number of points of each cluster, fixed ones aside."""
    centres: Floats


def blocked_kmeans(blocks: Callable[[], Iterator[Points]], k: int, key: Keys) -> Assignment:
    """Cluster weighted points that are read in blocks by Lloyd's iterations, as `kmeans` does in memory.

    Centres start at the heaviest point, then repeatedly at the point with the largest key while any is apart.
    """
    assignment = Assignment(_choose_centres(blocks, k, key), {})
    before = b""
    for _ in range(MAX_ITERATIONS):
        found = _run_pass(blocks, assignment)
        empty = np.flatnonzero(found.sizes == 0)
        if len(empty):
            assignment = Assignment(assignment.centres, _reseed(blocks, assignment, empty, found.sizes))
            found = _run_pass(blocks, assignment)
        if found.digest == before:
            break
        before = found.digest
        # The labels of the next pass follow from the means of this one, and from them alone.
        last, assignment = assignment, Assignment(found.centres, {})
    else:
        return last
    return assignment


def _choose_centres(blocks: Callable[[], Iterator[Points]], k: int, key: Keys) -> Floats:
    first, heaviest = None, -np.inf
    for block in blocks():
        if not block.fixed and len(block.weights) and block.weights.max() > heaviest:
            heaviest = block.weights.max()
            first = block.values[int(np.argmax(block.weights))].copy()
    assert first is not None
    chosen = [first]
    while len(chosen) < k:
        best, best_key = None, -np.inf
        for block in blocks():
            if block.fixed or len(block.weights) == 0:
                continue
            keys = key(block.values, chosen)
            place = int(np.argmax(keys))
            if keys[place] > best_key:
                best, best_key = block.values[place].copy(), keys[place]
        if best is None:
            break
        chosen.append(best)
    return np.array(chosen)


def _run_pass(blocks: Callable[[], Iterator[Points]], assignment: Assignment) -> _Pass:
    k, n_dims = assignment.centres.shape
    digest = hashlib.blake2b(digest_size=16)
    sizes, sums, total = np.zeros(k, dtype=np.int64), np.zeros((k, n_dims)), np.zeros(k)
    offset = 0
    for block in blocks():
        labels, _ = assignment.labels(block.values, offset)
        digest.update(labels.tobytes())
        if not block.fixed:
            sizes += np.bincount(labels, minlength=k)
        _kernels.lloyd.add_up(block.values, block.weights, labels, sums, total)
        offset += len(labels)
    means = np.divide(sums, total[:, None], out=np.full_like(sums, np.nan), where=total[:, None] > 0)
    return _Pass(digest.digest(), sizes, means)


def _reseed(blocks: Callable[[], Iterator[Points]], assignment: Assignment, empty: Ints, sizes: Ints) -> dict[int, int]:
    """Give each empty cluster the point farthest from its centre that does not leave its own cluster empty."""
    # At most one point of each cluster is ever held back, so this many of the farthest points are enough.
    n_candidates = len(empty) + len(sizes)
    candidates = np.empty((0, 3))  # rounded distance, index, label
    offset = 0
    for block in blocks():
        if block.fixed:
            continue
        labels, distances = assignment.labels(block.values, offset)
        index = np.arange(offset, offset + len(labels))
        more = np.stack([np.rint(distances * ROUNDING), index, labels], axis=1)
        candidates = np.concatenate([candidates, more])
        order = np.lexsort((candidates[:, 1], -candidates[:, 0]))
        candidates = candidates[order[:n_candidates]]
        offset += len(labels)
    sizes, moved = sizes.copy(), {}
    for cluster in empty:
        for place, (_, index, label) in enumerate(candidates):
            if sizes[int(label)] > 1:
                sizes[int(label)] -= 1
                sizes[cluster] = 1
                moved[int(index)] = int(cluster)
                # Moved, it is at distance 0 from its centre and alone there: no candidate any more.
                candidates = np.delete(candidates, place, axis=0)
                break
    return moved
