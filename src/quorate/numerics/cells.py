"""Tables of groups of rows by clusters of members, of which only the cells that are not 0 are kept.

A row adds to one cell per member, so that such a table is never larger than the labels, however many clusters exist.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from quorate._utils.array_types import Floats, Ints


@dataclass(frozen=True)
class Cells:
    """The cells of a sparse table of groups and clusters, cluster by cluster."""

    values: Floats
    group: Ints
    cluster: Ints
    member: Ints
    """The member of the cluster."""
    shape: tuple[int, int]
    """Members and groups."""

    @classmethod
    def of(cls, table: sp.sparray, member: Ints, n_members: int) -> Cells:
        """Return the cells of a table (groups, n_clusters), given the member (n_clusters,) of each cluster."""
        by_cluster = sp.csc_array(table)
        by_cluster.sort_indices()
        cluster = np.repeat(np.arange(len(member)), np.diff(by_cluster.indptr))
        return cls(by_cluster.data, by_cluster.indices, cluster, member[cluster], (n_members, by_cluster.shape[0]))

    def by_cluster(self, values: Floats, n_clusters: int) -> Floats:
        """(n_clusters,) sum of some values of the cells."""
        return np.bincount(self.cluster, weights=values, minlength=n_clusters).astype(np.float64)

    def by_member(self, values: Floats) -> Floats:
        """(M, groups) sum of some values of the cells."""
        sums = np.bincount(self._flat_index, weights=values, minlength=self.shape[0] * self.shape[1])
        return sums.astype(np.float64).reshape(self.shape)

    def largest_by_member(self) -> Floats:
        """(M, groups) the largest value."""
        largest = np.zeros(self.shape)
        np.maximum.at(largest.ravel(), self._flat_index, self.values)
        return largest

    @property
    def _flat_index(self) -> Ints:
        """The place of each cell in a table (M, groups)."""
        return self.member * self.shape[1] + self.group


def largest_first(line: Ints, column: Ints, values: Floats) -> Ints:
    """Return the order of entries by line, the largest of each line first; ties, to twelve decimals, by the column."""
    return np.lexsort((column, -np.round(values, 12), line))
