"""Overlaps of clusters: the number of rows that two clusters share, counted over patterns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate import _kernels
from quorate._runtime import threads
from quorate._utils.array_types import Floats, Ints

BYTES_PER_OVERLAP = 12.0
# Up to this many clusters, overlaps are summed in a dense matrix: faster than lists, and at most 32 MB.
DENSE_CLUSTERS = 2048
_CLUSTERS_PER_TASK = 64
_SAMPLED_CLUSTERS = 100
_ROWS_PER_TASK = 512


class _OverlapRows(NamedTuple):
    """The overlaps of consecutive clusters with all clusters: rows of the co-occurrence matrix."""

    lengths: Ints
    """Number of clusters that each one overlaps."""
    columns: NDArray[np.int32]
    values: Floats | Ints


class Overlaps:
    """Computes the overlaps of clusters as a sparse matrix; each pattern counts by a given amount.

    patterns : (m, M) cluster ids of each pattern, -1 for missing
    n_clusters : number of clusters of all members
    """

    def __init__(self, patterns: NDArray[np.int32], n_clusters: int) -> None:
        self._patterns, self._n_clusters = patterns, n_clusters

    @cached_property
    def pattern_clusters(self) -> tuple[NDArray[np.int32], Ints]:
        """The clusters of all patterns, pattern by pattern, and (m + 1,) the start of each pattern's clusters."""
        present = self._patterns >= 0
        first = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        if first[-1] < np.iinfo(np.int32).max:  # SciPy would convert to this type in every product
            first = first.astype(np.int32)
        return self._patterns.ravel() if present.all() else self._patterns[present], first

    @cached_property
    def _patterns_of_cluster(self) -> sp.csr_array:
        """(n_clusters, m) the patterns of each cluster; only the indices are used, so values take one byte."""
        clusters, first = self.pattern_clusters
        entries = np.ones(len(clusters), dtype=np.int8)
        return sp.csr_array((entries, clusters, first), shape=(len(self._patterns), self._n_clusters)).T.tocsr()

    def dense(self, scale: Floats | Ints) -> sp.csr_array:
        """Return all overlaps, summed in the upper half of a dense matrix; a pattern counts `scale` (m,)."""
        upper = _kernels.row_hashing.add_pairs(self._patterns, scale, self._n_clusters)
        lists = _kernels.row_hashing.mirrored(upper, self._n_clusters)
        return sp.csr_array(lists, shape=(self._n_clusters, self._n_clusters))

    def sparse(self, scale: Floats | Ints) -> sp.csr_array:
        """Return all overlaps, cluster by cluster; a pattern counts `scale` (m,)."""
        parts = self._rows(scale, self._tasks)
        indptr = np.concatenate([[0], np.cumsum(np.concatenate([part.lengths for part in parts]))])
        columns = np.empty(indptr[-1], dtype=np.int32)
        values = np.empty(indptr[-1], dtype=scale.dtype)
        end = indptr[-1]
        while parts:  # pop frees each part after its copy, so that the peak is one matrix and one part
            part = parts.pop()
            start = end - len(part.columns)
            columns[start:end], values[start:end] = part.columns, part.values
            end = start
        if len(columns) < np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)
        return sp.csr_array((values, columns, indptr), shape=(self._n_clusters, self._n_clusters))

    def in_blocks(self, scale: Floats | Ints) -> Iterator[tuple[int, sp.csr_array]]:
        """Yield the overlaps of consecutive clusters, each time with the first of these clusters."""
        for batch in threads.blocks(len(self._tasks), threads.n_threads()):
            for task, part in zip(self._tasks[batch], self._rows(scale, self._tasks[batch]), strict=True):
                indptr = np.concatenate([[0], np.cumsum(part.lengths)])
                shape = (len(part.lengths), self._n_clusters)
                yield task.start, sp.csr_array((part.values, part.columns, indptr), shape=shape)

    @property
    def _tasks(self) -> list[slice]:
        return threads.blocks(self._n_clusters, _CLUSTERS_PER_TASK)

    def _rows(self, scale: Floats | Ints, tasks: Sequence[slice]) -> list[_OverlapRows]:
        lists = self._patterns_of_cluster
        count = _kernels.row_hashing.shared_rows

        def rows(task: slice) -> _OverlapRows:
            return _OverlapRows(*count(self._patterns, scale, lists.indptr, lists.indices, task.start, task.stop))

        return threads.in_threads(rows, tasks)

    def estimate(self) -> float:
        """Return an estimate of the number of pairs of clusters that overlap, from a sample of clusters."""
        sample = np.unique(np.linspace(0, self._n_clusters - 1, _SAMPLED_CLUSTERS).astype(int))
        met: int = _kernels.row_hashing.count_met(self._patterns, self._n_clusters, sample)
        return met / len(sample) * self._n_clusters


@runtime_checkable
class PerCluster(Protocol):
    """A result per cluster or pair of clusters that holds for any selection of clusters."""

    def select_clusters(self, clusters: Ints) -> Self:
        """Return the result for a selection of clusters."""


@runtime_checkable
class PerMember(Protocol):
    """A result per pair of members that holds for any selection of members."""

    def select_members(self, members: Ints) -> Self:
        """Return the result for a selection of members."""


def submatrix(matrix: sp.csr_array, nodes: Ints) -> sp.csr_array:
    """Return the rows and columns of `nodes`, in this order; the matrix itself if these are all nodes in order."""
    n = matrix.shape[0]
    if np.array_equal(nodes, np.arange(n)):
        return matrix
    lists = select_entries(matrix.indptr, matrix.indices, matrix.data, nodes, renumbering(nodes, n))
    return sp.csr_array(lists, shape=(len(nodes), len(nodes)))


def renumbering(nodes: Ints, n: int) -> NDArray[np.int32]:
    """(n,) the position of each of n nodes among the selected `nodes`, -1 for the others."""
    number = np.full(n, -1, dtype=np.int32)
    number[nodes] = np.arange(len(nodes))
    return number


def select_entries(
    indptr: NDArray[Any], indices: NDArray[Any], values: NDArray[Any], rows: Ints, number: NDArray[np.int32]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return values, indices and indptr of a selection of rows and columns of a matrix in CSR form.

    Parameters
    ----------
    indptr, indices, values
        The matrix.
    rows : (r,)
        The rows, in their new order.
    number : (n,)
        The new number of each column, negative for columns to drop.
    """
    new_ptr = np.zeros(len(rows) + 1, dtype=indptr.dtype)
    tasks = threads.blocks(len(rows), _ROWS_PER_TASK)

    def count(task: slice) -> None:
        _kernels.contingency.count_selected(indptr, indices, rows, number, task.start, task.stop, new_ptr)

    threads.in_threads(count, tasks)
    np.cumsum(new_ptr, out=new_ptr)
    new_indices = np.empty(new_ptr[-1], dtype=indices.dtype)
    new_values = np.empty(new_ptr[-1], dtype=values.dtype)

    def fill(task: slice) -> None:
        _kernels.contingency.select_entries(
            indptr, indices, values, rows, number, task.start, task.stop, new_ptr, new_indices, new_values
        )

    threads.in_threads(fill, tasks)
    return new_values, new_indices, new_ptr
