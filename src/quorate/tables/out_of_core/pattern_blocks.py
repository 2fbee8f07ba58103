"""Patterns that do not fit into memory: stored elsewhere, read in blocks, and clustered block by block.

Where almost no two rows have the same labels there are as many patterns as rows. Graph methods need two things of them:
the co-occurrence of clusters, which adds up over blocks, and a k-means of their embedding, whose every step is a pass
over the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from quorate._runtime.memory_forecast import EnsembleSize
from quorate._utils.array_types import Ints
from quorate.ensemble import Clusterings, Ensemble, ensemble_of_patterns
from quorate.labels import Noise, Vector

BLOCK = 1 << 17


class PatternStore(Protocol):
    """Distinct patterns in lexicographic order, stored anywhere."""

    @property
    def n_patterns(self) -> int:
        """Number of patterns."""

    def read(self, start: int, stop: int) -> tuple[NDArray[np.int32], Ints]:
        """Return (stop - start, M) codes, -1 for missing, and the counts of some consecutive patterns."""


class StoredEnsemble(Clusterings):
    """Clusterings whose patterns are read from a store, block by block."""

    def __init__(
        self, names: Sequence[str], levels: Sequence[Vector], noise: Noise, n_rows: int, store: PatternStore
    ) -> None:
        self.names, self.levels, self.noise, self.n_rows = tuple(names), tuple(levels), noise, n_rows
        self._store = store
        self._check_not_empty()

    @property
    def n_patterns(self) -> int:
        """Number of distinct rows of labels."""
        return self._store.n_patterns

    @property
    def total_weight(self) -> float:
        """Number of rows."""
        return float(self.n_rows)

    @property
    def _blocks(self) -> Sequence[Ensemble]:
        return _StoredBlocks(self, self._store)

    @property
    def _size(self) -> EnsembleSize:
        block = super()._size  # a block is read while two others are in memory, one of them with its result
        return block._replace(patterns=min(3 * block.patterns, self.n_patterns))


class _StoredBlocks(Sequence[Ensemble]):
    """Consecutive patterns of a store, read when they are accessed."""

    def __init__(self, whole: Clusterings, store: PatternStore) -> None:
        self._whole, self._store = whole, store

    def __len__(self) -> int:
        return -(-self._store.n_patterns // BLOCK)

    def __getitem__(self, i: Any) -> Any:
        if i >= len(self):
            raise IndexError(i)
        codes, row_counts = self._store.read(i * BLOCK, min((i + 1) * BLOCK, self._store.n_patterns))
        return ensemble_of_patterns(self._whole.names, self._whole.noise, self._whole.levels, codes, row_counts)
