"""Comparison of two partitions of the same rows: which clusters correspond, which split, merged, appeared or went away.

Everything follows from the contingency table of the two partitions. Two clusters correspond if their Jaccard
coefficient exceeds 1/2. This relation is one-to-one: if more than half of the union of two clusters is shared, neither
can share that much with a third one. So cluster ids can be carried over from one partition to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate._utils.array_types import Floats, Ints, Labels
from quorate.analysis.scores import adjusted_rand_of
from quorate.ensemble import Ensemble
from quorate.errors import InputError
from quorate.labels import encode, split_members

_NESTED = 0.9  # share of a cluster inside another one from which it counts as contained


@dataclass(frozen=True)
class LabelMatch:
    """Two labels that share rows."""

    first: Any
    second: Any
    n_shared: int
    """Number of rows with both labels."""
    jaccard: float
    """Shared rows over rows with either label."""
    first_share: float
    """Share of the rows of `first` that have `second`."""
    second_share: float
    """Share of the rows of `second` that have `first`."""

    @property
    def relation(self) -> str:
        """ "same" (Jaccard above 1/2), "part of" or "contains" (at least 90 % inside the other), or "overlaps"."""
        if self.jaccard > 0.5:
            return "same"
        if self.first_share >= _NESTED:
            return "part of"
        return "contains" if self.second_share >= _NESTED else "overlaps"


@dataclass(frozen=True)
class PartitionComparison:
    """What changed between two partitions."""

    n_rows: int
    """Rows that are labeled in both partitions; all shares refer to these."""
    n_added: int
    """Rows of the new partition only."""
    n_removed: int
    """Rows of the old partition only."""
    matches: tuple[LabelMatch, ...]
    """All pairs of an old and a new cluster that share rows, by decreasing number of shared rows."""
    kept: tuple[LabelMatch, ...]
    """Clusters that persist: pairs with a Jaccard coefficient above 1/2."""
    split: dict[Any, tuple[Any, ...]]
    """For each old cluster that split: the new clusters that consist mostly of its rows."""
    merged: dict[Any, tuple[Any, ...]]
    """For each new cluster that is a merger: the old clusters of which most rows are in it."""
    new: tuple[Any, ...]
    """New clusters that neither persist nor come out of a split."""
    gone: tuple[Any, ...]
    """Old clusters that neither persist nor went into a merger or a split."""
    n_moved: int
    """Number of common rows whose cluster does not continue their old one."""
    ari: float
    """Adjusted Rand index of the two partitions."""
    moved: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    """Positions (in the new partition) of the rows that moved; empty if only counts were compared."""

    @property
    def share_moved(self) -> float:
        """Share of the common rows that moved."""
        return self.n_moved / self.n_rows

    @property
    def sentence(self) -> str:
        """The comparison in words."""
        n_old = len({match.first for match in self.matches})
        parts = [
            f"{len(self.kept)} of {n_old} clusters persist (Jaccard above 1/2); "
            f"{self.share_moved:.1%} of {self.n_rows:,} common rows moved (ARI {self.ari:.2f})."
        ]
        parts += [f"Cluster {old} split into {listed(new)}." for old, new in self.split.items()]
        parts += [f"Clusters {listed(old)} merged into {new}." for new, old in self.merged.items()]
        parts += [f"New: {listed(self.new)}."] if self.new else []
        parts += [f"Gone: {listed(self.gone)}."] if self.gone else []
        if self.n_added or self.n_removed:
            parts.append(f"Rows added: {self.n_added:,}; removed: {self.n_removed:,}.")
        return " ".join(parts)


def match(first: Any, second: Any) -> tuple[LabelMatch, ...]:
    """Find which labels of one vocabulary correspond to which of another.

    Parameters
    ----------
    first, second : label vectors of the same rows, numbers or text
        Missing labels are skipped. Negative numbers are labels like any other.

    Returns
    -------
    tuple of LabelMatch
        All pairs of labels that share rows, by decreasing number of shared rows. `relation` is "same" for one-to-one
        matches, "part of" or "contains" for nested labels, and "overlaps" otherwise.

    Examples
    --------
    >>> import quorate as qt
    >>> types = ["B", "B", "B", "T", "T", "T"]
    >>> [(m.first, m.second, m.relation) for m in qt.match(types, [0, 0, 0, 1, 1, 2])]
    [('B', 0, 'same'), ('T', 1, 'same'), ('T', 2, 'contains')]
    """
    first_labels, second_labels = _labels_of("first", first), _labels_of("second", second)
    # Vectors of different lengths are refused with a clear message.
    common_rows(len(first_labels), len(second_labels), None, None)
    return _cross(first_labels, second_labels)[0].matches()


def compare_partitions(old: Any, new: Any, *, old_ids: Any = None, new_ids: Any = None) -> PartitionComparison:
    """Compare two label vectors or results; with ids, rows are matched by them and may come and go."""
    old_labels, new_labels = _labels_of("old", old), _labels_of("new", new)
    in_old, in_new = common_rows(len(old_labels), len(new_labels), old_ids, new_ids)
    crossed, entry = _cross(old_labels[in_old], new_labels[in_new])
    change = crossed.comparison(n_added=len(new_labels) - len(in_new), n_removed=len(old_labels) - len(in_old))
    # Rows that stay in a matching cluster did not move.
    moves = np.append(crossed.jaccard <= 0.5, False)  # the last entry: rows that one partition does not label
    return replace(change, moved=in_new[moves[entry]])


def relabel(labels: Any, like: Any, *, ids: Any = None, like_ids: Any = None) -> NDArray[np.int64]:
    """Number the clusters of a partition like those of an earlier one.

    A cluster takes the id of the earlier cluster with which its Jaccard coefficient exceeds 1/2. The other clusters get
    new ids above all earlier ones, the largest first. -1 stays -1 in both partitions.

    Parameters
    ----------
    labels, like : integer labels, or results with `labels`
        Of the same rows in the same order, unless ids are given.
    ids, like_ids : sequences, optional
        An identifier for every row of `labels` and of `like`. Rows are then matched by identifier, and may come and go.

    Returns
    -------
    (n,) int64

    Examples
    --------
    >>> import quorate as qt
    >>> qt.relabel([0, 0, 0, 1, 1, 2], like=[7, 7, 7, 3, 3, 3])
    array([7, 7, 7, 3, 3, 8])
    """
    new, old = integer_labels("labels", labels), integer_labels("like", like)
    in_old, in_new = common_rows(len(old), len(new), like_ids, ids, ("like", "like_ids", "ids"))
    # Negative labels of any value are noise, -1.
    clusters, cluster, sizes = np.unique(np.where(new < 0, -1, new), return_inverse=True, return_counts=True)
    earlier = EarlierPartition.of_rows(cluster[in_new], len(clusters), old, in_old)
    n_noise = int(clusters[0] < 0)  # -1 sorts first
    groups = np.arange(len(clusters)) - n_noise
    ids = np.append(earlier.cluster_ids(groups, sizes[n_noise:]), -1)
    return ids[groups][cluster]


@dataclass(frozen=True)
class EarlierPartition:
    """An earlier partition of the rows of an ensemble, by the number of rows of each pattern in each earlier cluster.

    A pattern is a distinct row of labels. With these counts, any partition of the patterns can be compared with the
    earlier one, and can take its cluster ids.
    """

    labels: NDArray[Any]
    """(c,) the earlier cluster ids or names."""
    counts: sp.csr_array
    """(m, c) number of rows of each pattern in each earlier cluster."""
    n_added: int = 0
    """Rows that the earlier partition does not have."""
    n_removed: int = 0
    """Rows that only the earlier partition has."""

    @classmethod
    def of_rows(
        cls, pattern: Ints, n_patterns: int, old: NDArray[Any], in_old: Ints | None = None, n_added: int = 0
    ) -> EarlierPartition:
        """Return the counts of an earlier label vector.

        Parameters
        ----------
        pattern : (r,) the pattern of each common row
        n_patterns : int
        old : label vector, all earlier rows
        in_old : (r,) position of each common row in `old`; default: the same rows
        """
        in_old = np.arange(len(old)) if in_old is None else in_old
        column = encode(old, "like", "cluster")
        codes = np.asarray(column.digits(slice(None)), dtype=np.int64)
        common = codes[in_old]
        labeled = common >= 0
        shape = (n_patterns, len(column.levels))
        cells = sp.coo_array((np.ones(int(labeled.sum())), (pattern[labeled], common[labeled])), shape=shape)
        return cls(column.levels, sp.csr_array(cells), n_added, len(old) - len(in_old))

    @classmethod
    def of_patterns(cls, groups: Labels, counts: Floats) -> EarlierPartition:
        """Return a partition (m,) of the patterns, of which each has a number (m,) of rows, as the earlier one."""
        labeled = np.flatnonzero(groups >= 0)
        n_groups = int(groups.max(initial=-1)) + 1
        cells = sp.csr_array((counts[labeled], (labeled, groups[labeled])), shape=(len(groups), n_groups))
        return cls(np.arange(n_groups), cells)

    def compare(self, groups: Labels, ids: Sequence[int]) -> PartitionComparison:
        """Compare with a partition of the patterns whose clusters have these ids, by counts; `moved` stays empty."""
        crossed = replace(self._crossed(groups, len(ids)), second_labels=np.asarray(ids))
        return crossed.comparison(self.n_added, self.n_removed)

    def cluster_ids(self, groups: Labels, sizes: NDArray[Any]) -> Ints:
        """Return the id of each cluster 0, 1, ... of a partition of the patterns, numbered like the earlier one.

        sizes : (k,) number of rows of each cluster; of clusters with new ids, the largest comes first.
        """
        ids = np.full(len(sizes), -1, dtype=np.int64)
        if np.any(self.labels >= 0):  # negative ids mark rows without a cluster
            # Pairs above 1/2 are unique, so that no id is taken twice.
            for pair in self._without_noise()._crossed(groups, len(sizes)).kept():
                ids[pair.second] = pair.first
        new = np.flatnonzero(ids < 0)
        first_free = int(self.labels.max(initial=-1)) + 1
        # New ids by decreasing size, above all earlier ones.
        ids[new[np.argsort(-sizes[new], kind="stable")]] = np.arange(first_free, first_free + len(new))
        return ids

    def _without_noise(self) -> EarlierPartition:
        clusters = np.flatnonzero(self.labels >= 0)
        return replace(self, labels=self.labels[clusters], counts=sp.csr_array(self.counts[:, clusters]))

    def _crossed(self, groups: Labels, n_groups: int) -> _Crossed:
        labeled = np.flatnonzero(groups >= 0)
        shape = (n_groups, len(groups))
        clusters = sp.csr_array((np.ones(len(labeled)), (groups[labeled], labeled)), shape=shape)
        table = sp.coo_array(self.counts.T @ clusters.T)
        # Sorted entries, so that results do not depend on how the product was computed.
        order = np.lexsort((table.col, table.row))
        rows, columns = (np.asarray(index, dtype=np.int64)[order] for index in (table.row, table.col))
        return _Crossed(self.labels, np.arange(n_groups), rows, columns, np.rint(table.data[order]).astype(np.int64))


def earlier_partition(ens: Ensemble, like: Any) -> EarlierPartition:
    """Return the counts of earlier labels of an ensemble's rows, in the same order."""
    old = integer_labels("like", like)
    if len(old) != ens.n_rows:
        raise InputError(
            f"must have one label per row; got {len(old):,} labels for {ens.n_rows:,} rows.",
            code="row-count",
            parameter="like",
            hint="Number the clusters with relabel and ids if rows came or went.",
        )
    return EarlierPartition.of_rows(ens.row_pattern.astype(np.int64), ens.n_patterns, old)


@dataclass(frozen=True)
class _Crossed:
    """The contingency table of two partitions, by its entries that are not 0."""

    first_labels: NDArray[Any]
    second_labels: NDArray[Any]
    rows: Ints
    """(e,) first label of each entry."""
    columns: Ints
    counts: Ints

    @cached_property
    def sizes(self) -> tuple[Floats, Floats]:
        """Sizes of the clusters of both partitions, over the rows that both label."""
        rows = np.bincount(self.rows, self.counts, minlength=len(self.first_labels)).astype(np.float64)
        return rows, np.bincount(self.columns, self.counts, minlength=len(self.second_labels)).astype(np.float64)

    @cached_property
    def jaccard(self) -> Floats:
        """(e,) the Jaccard coefficient of the two clusters of each entry."""
        first, second = self.sizes
        return np.asarray(self.counts / (first[self.rows] + second[self.columns] - self.counts))

    def matches(self) -> tuple[LabelMatch, ...]:
        """Return all pairs of labels that share rows, by decreasing number of shared rows."""
        first, second = self.sizes
        first_labels, second_labels = self.first_labels.tolist(), self.second_labels.tolist()
        return tuple(
            LabelMatch(
                first_labels[self.rows[e]],
                second_labels[self.columns[e]],
                int(self.counts[e]),
                float(self.jaccard[e]),
                float(self.counts[e] / first[self.rows[e]]),
                float(self.counts[e] / second[self.columns[e]]),
            )
            for e in np.lexsort((self.columns, self.rows, -self.counts))
        )

    def kept(self) -> tuple[LabelMatch, ...]:
        """Return the pairs with a Jaccard coefficient above 1/2."""
        return tuple(pair for pair in self.matches() if pair.relation == "same")

    def comparison(self, n_added: int, n_removed: int) -> PartitionComparison:
        """Return what changed between the two partitions."""
        if not len(self.counts):
            raise InputError("The partitions have no labeled row in common.", code="no-common-rows")
        matches, kept = self.matches(), self.kept()
        pieces = _grouped((pair.first, pair.second) for pair in matches if pair.second_share > 0.5)
        sources = _grouped((pair.second, pair.first) for pair in matches if pair.first_share > 0.5)
        split = {old: new for old, new in pieces.items() if len(new) > 1}
        merged = {new: old for new, old in sources.items() if len(old) > 1}
        old_done = {p.first for p in kept} | set(split) | {old for group in merged.values() for old in group}
        new_done = {p.second for p in kept} | set(merged) | {new for group in split.values() for new in group}
        return PartitionComparison(
            n_rows=int(self.counts.sum()),
            n_added=n_added,
            n_removed=n_removed,
            matches=matches,
            kept=kept,
            split=split,
            merged=merged,
            new=tuple(dict.fromkeys(p.second for p in matches if p.second not in new_done)),
            gone=tuple(dict.fromkeys(p.first for p in matches if p.first not in old_done)),
            n_moved=int(self.counts[self.jaccard <= 0.5].sum()),
            ari=adjusted_rand_of(self.counts, *self.sizes),
        )


def _cross(first: NDArray[Any], second: NDArray[Any]) -> tuple[_Crossed, Ints]:
    """Return the contingency table of two label vectors, and the entry of each row; -1 if a label is missing."""
    pair = Ensemble([first, second], names=["first", "second"], noise="cluster")
    entries = np.flatnonzero((pair.patterns >= 0).all(axis=1))
    if not len(entries):
        raise InputError("The partitions have no labeled row in common.", code="no-common-rows")
    rows, columns = pair.patterns[entries].astype(np.int64).T
    entry_of = np.full(pair.n_patterns, -1)
    entry_of[entries] = np.arange(len(entries))
    counts = pair.counts[entries].astype(np.int64)
    first_levels, second_levels = pair.levels
    return _Crossed(first_levels, second_levels, rows, columns - len(first_levels), counts), entry_of[pair.row_pattern]


def _grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, tuple[Any, ...]]:
    groups: dict[Any, tuple[Any, ...]] = {}
    for key, value in pairs:
        groups[key] = (*groups.get(key, ()), value)
    return groups


def _labels_of(name: str, labels: Any) -> NDArray[Any]:
    """Return a label vector from labels of any kind, or from a result that has them."""
    for attribute in ("labels", "labels_"):
        labels = getattr(labels, attribute, labels)
    vectors, _ = split_members([labels])
    if len(vectors) != 1:
        raise InputError("must be one label vector.", code="label-vector", parameter=name)
    return vectors[0]


def integer_labels(name: str, labels: Any) -> Ints:
    """Return integer cluster ids from a label vector, or from a result that has them."""
    vector = _labels_of(name, labels)
    if vector.dtype.kind not in "iu":
        raise InputError(
            f"must hold integer cluster ids; got {vector.dtype}.",
            code="integer-labels",
            parameter=name,
            hint="Use compare or match for text labels.",
        )
    return vector.astype(np.int64)


def common_rows(
    n_old: int,
    n_new: int,
    old_ids: Any,
    new_ids: Any,
    names: tuple[str | None, str, str] = (None, "old_ids", "new_ids"),
) -> tuple[Ints, Ints]:
    """Return the positions of the common rows in both tables: by ids if there are any, else the same rows.

    `names` are the parameters of the earlier labels and of both ids in messages.
    """
    labels, *ids = names
    if (old_ids is None) != (new_ids is None):
        raise InputError("must be given together with the other ids.", code="one-sided-ids", parameter=ids[0])
    if old_ids is None:
        if n_old != n_new:
            raise InputError(
                f"must have one label per row; got {n_old:,} earlier labels for {n_new:,} rows."
                if labels
                else f"The partitions must be of the same rows; got {n_old:,} and {n_new:,} labels.",
                code="row-count",
                parameter=labels,
                hint="Pass the ids of the rows if rows came or went.",
            )
        return np.arange(n_old), np.arange(n_new)
    old, old_order = _sorted_ids(ids[0], old_ids, n_old)
    new, new_order = _sorted_ids(ids[1], new_ids, n_new)
    position = np.minimum(np.searchsorted(old, new), max(len(old) - 1, 0))  # both sorted: one sweep through memory
    common = old[position] == new
    if not common.any():
        raise InputError(
            f"The two partitions have no row id in common; ids are such as {str(old[0])!r} and {str(new[0])!r}.",
            code="no-common-rows",
        )
    return old_order[position[common]], new_order[common]


def _sorted_ids(name: str, ids: Any, n_rows: int) -> tuple[NDArray[Any], Ints]:
    """Return the ids of rows in ascending order, and that order."""
    vector = np.asarray(ids)
    if vector.shape != (n_rows,):
        raise InputError(
            f"must have one id per row; got shape {vector.shape} for {n_rows:,} rows.", code="row-count", parameter=name
        )
    order = np.argsort(vector)
    vector = vector[order]
    repeated = int(np.count_nonzero(vector[1:] == vector[:-1]))
    if repeated:
        raise InputError(f"must be unique; {repeated:,} ids repeat.", code="repeated-ids", parameter=name)
    return vector, order


def listed(names: Iterable[Any]) -> str:
    """Return names as an enumeration: "a, b and c"."""
    *most, last = (str(name) for name in names)
    return f"{', '.join(most)} and {last}" if most else last
