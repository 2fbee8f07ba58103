"""Patterns that do not fit into memory: kept elsewhere, read in blocks, and clustered without ever holding them.

Where hardly any two rows carry the same labels there are as many patterns as rows. What graph methods need of them is
the co-occurrence, which adds up over blocks, and a k-means of their embedding, whose every step is a pass over blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate._support.typing import Floats, Ints
from quorate.ensemble import Ensemble
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

    @property
    def n_blocks(self) -> int:
        """Number of blocks in which the patterns are read."""
        return -(-self.n_patterns // BLOCK)

    def block(self, i: int) -> Ensemble:
        """Return some consecutive patterns as an ensemble with the clusters of the whole."""
        codes, counts = self._store.read(i * BLOCK, min((i + 1) * BLOCK, self.n_patterns))
        block = object.__new__(Ensemble)
        block.names, block.levels, block.noise = self.names, self.levels, self.noise
        block.n_rows = int(counts.sum())
        block.patterns = np.where(codes >= 0, codes + self._offsets[:-1].astype(np.int32), np.int32(-1))
        block.counts = block.row_counts = counts
        block.row_pattern = block.first_row = None
        return block

    def blocks(self) -> Iterator[Ensemble]:
        """Yield all blocks in order."""
        return map(self.block, range(self.n_blocks))

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
