"""Overlaps of clusters: how many rows two clusters share, told by the patterns."""

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
# Up to this many clusters overlaps are added up in a dense matrix.
DENSE_CLUSTERS = 2048
_CLUSTERS_PER_TASK = 64
_CLUSTERS_TRIED = 100
_ROWS_PER_TASK = 512


class _Lines(NamedTuple):
    """The overlaps of some consecutive clusters with all clusters."""

    lengths: Ints
    """Number of clusters that each of them overlaps."""
    columns: NDArray[np.int32]
    values: Floats | Ints


class Overlaps:
    """The overlaps of clusters, as a sparse matrix in which a pattern counts what is said for it.

    patterns : (m, M) cluster ids of each pattern, -1 for missing
    n_clusters : number of clusters of all members
    """

    def __init__(self, patterns: NDArray[np.int32], n_clusters: int) -> None:
        self._patterns, self._n_clusters = patterns, n_clusters

    @cached_property
    def pattern_clusters(self) -> tuple[NDArray[np.int32], Ints]:
        """The clusters of all patterns, one pattern after the other, and (m + 1,) where those of each begin."""
        present = self._patterns >= 0
        first = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        if first[-1] < np.iinfo(np.int32).max:
            first = first.astype(np.int32)
        return self._patterns.ravel() if present.all() else self._patterns[present], first

    @cached_property
    def _patterns_of_cluster(self) -> sp.csr_array:
        """(n_clusters, m) the patterns of each cluster; values say nothing, and so are small."""
        clusters, first = self.pattern_clusters
        ones = np.ones(len(clusters), dtype=np.int8)
        return sp.csr_array((ones, clusters, first), shape=(len(self._patterns), self._n_clusters)).T.tocsr()

    def dense(self, scale: Floats | Ints) -> sp.csr_array:
        """Return all overlaps, added up in the upper half of a dense matrix; a pattern counts `scale` (m,)."""
        upper = _kernels.row_hashing.add_pairs(self._patterns, scale, self._n_clusters)
        lists = _kernels.row_hashing.mirrored(upper, self._n_clusters)
        return sp.csr_array(lists, shape=(self._n_clusters, self._n_clusters))

    def sparse(self, scale: Floats | Ints) -> sp.csr_array:
        """Return all overlaps, cluster by cluster; a pattern counts `scale` (m,)."""
        found = self._lines(scale, self._tasks)
        indptr = np.concatenate([[0], np.cumsum(np.concatenate([lines.lengths for lines in found]))])
        columns = np.empty(indptr[-1], dtype=np.int32)
        values = np.empty(indptr[-1], dtype=scale.dtype)
        end = indptr[-1]
        while found:  # what is copied is let go at once
            lines = found.pop()
            start = end - len(lines.columns)
            columns[start:end], values[start:end] = lines.columns, lines.values
            end = start
        if len(columns) < np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)
        return sp.csr_array((values, columns, indptr), shape=(self._n_clusters, self._n_clusters))

    def some_at_a_time(self, scale: Floats | Ints) -> Iterator[tuple[int, sp.csr_array]]:
        """Yield the overlaps of some clusters, each time with the first of these."""
        for some in threads.blocks(len(self._tasks), threads.n_threads()):
            for task, lines in zip(self._tasks[some], self._lines(scale, self._tasks[some]), strict=True):
                indptr = np.concatenate([[0], np.cumsum(lines.lengths)])
                shape = (len(lines.lengths), self._n_clusters)
                yield task.start, sp.csr_array((lines.values, lines.columns, indptr), shape=shape)

    @property
    def _tasks(self) -> list[slice]:
        return threads.blocks(self._n_clusters, _CLUSTERS_PER_TASK)

    def _lines(self, scale: Floats | Ints, tasks: Sequence[slice]) -> list[_Lines]:
        lists = self._patterns_of_cluster

        def lines(some: slice) -> _Lines:
            found = _kernels.row_hashing.shared_rows(
                self._patterns, scale, lists.indptr, lists.indices, some.start, some.stop
            )
            return _Lines(*found)

        return threads.in_threads(lines, tasks)

    def estimate(self) -> float:
        """Return about how many pairs of clusters overlap, told by some clusters."""
        some = np.unique(np.linspace(0, self._n_clusters - 1, _CLUSTERS_TRIED).astype(int))
        met: int = _kernels.row_hashing.count_met(self._patterns, self._n_clusters, some)
        return met / len(some) * self._n_clusters


@runtime_checkable
class OfClusters(Protocol):
    """Something about clusters, each or two by two, that stays what it is for some of them."""

    def among(self, clusters: Ints) -> Self:
        """Return the same for some of the clusters."""


@runtime_checkable
class OfMembers(Protocol):
    """Something about members, two by two, that stays what it is for some of them."""

    def of_members(self, members: Ints) -> Self:
        """Return the same for some of the members."""


def among(matrix: sp.csr_array, nodes: Ints) -> sp.csr_array:
    """Return the rows and columns of some nodes, in order; the matrix itself if all are wanted as they are."""
    n = matrix.shape[0]
    if np.array_equal(nodes, np.arange(n)):
        return matrix
    lists = keep(matrix.indptr, matrix.indices, matrix.data, nodes, new_numbers(nodes, n))
    return sp.csr_array(lists, shape=(len(nodes), len(nodes)))


def new_numbers(nodes: Ints, n: int) -> NDArray[np.int32]:
    """(n,) the place of each of n nodes among some of them, -1 for the others."""
    number = np.full(n, -1, dtype=np.int32)
    number[nodes] = np.arange(len(nodes))
    return number


def keep(
    indptr: NDArray[Any], indices: NDArray[Any], values: NDArray[Any], rows: Ints, number: NDArray[np.int32]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return values, indices and indptr of some rows and columns of a matrix in CSR form.

    Parameters
    ----------
    indptr, indices, values
        The matrix.
    rows : (r,)
        The rows, in their new order.
    number : (n,)
        The new number of each column, negative for those that go.
    """
    kept_ptr = np.zeros(len(rows) + 1, dtype=indptr.dtype)
    tasks = threads.blocks(len(rows), _ROWS_PER_TASK)

    def count(some: slice) -> None:
        _kernels.contingency.count_kept(indptr, indices, rows, number, some.start, some.stop, kept_ptr)

    threads.in_threads(count, tasks)
    np.cumsum(kept_ptr, out=kept_ptr)
    kept_indices = np.empty(kept_ptr[-1], dtype=indices.dtype)
    kept_values = np.empty(kept_ptr[-1], dtype=values.dtype)

    def fill(some: slice) -> None:
        _kernels.contingency.keep(
            indptr, indices, values, rows, number, some.start, some.stop, kept_ptr, kept_indices, kept_values
        )

    threads.in_threads(fill, tasks)
    return kept_values, kept_indices, kept_ptr
