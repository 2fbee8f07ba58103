"""Comparison of two partitions of the same rows: which clusters correspond, which split, merged, appeared or went away.

Everything follows from the contingency table of the two partitions. Two clusters correspond if their Jaccard
coefficient exceeds 1/2. This relation is one-to-one: if more than half of the union of two clusters is shared, neither
can share that much with a third one. So cluster ids can be carried over from one partition to the next.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._utils.array_types import Floats, Ints
from quorate.analysis.scores import adjusted_rand_of
from quorate.ensemble import Ensemble
from quorate.errors import InputError
from quorate.labels import split_members

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
    moved: Ints
    """Positions (in the new partition) of the rows whose cluster does not continue their old one."""
    ari: float
    """Adjusted Rand index of the two partitions."""

    @property
    def share_moved(self) -> float:
        """Share of the common rows that moved."""
        return len(self.moved) / self.n_rows

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
    return _Crossed.of(_labels_of("first", first), _labels_of("second", second)).matches()


def compare(old: Any, new: Any, *, old_ids: Any = None, new_ids: Any = None) -> PartitionComparison:
    """Compare two partitions: which clusters persist, split, merged, appeared or went away, and which rows moved.

    Parameters
    ----------
    old, new : label vectors, or results with `labels`
        Of the same rows in the same order, unless ids are given.
    old_ids, new_ids : sequences, optional
        An identifier for every row. Rows are then matched by identifier, and may come and go.

    Returns
    -------
    PartitionComparison

    Examples
    --------
    >>> import quorate as qt
    >>> change = qt.compare([0, 0, 0, 0, 1, 1], [5, 5, 5, 6, 7, 7])
    >>> print(change.sentence)
    2 of 2 clusters persist (Jaccard above 1/2); 16.7% of 6 common rows moved (ARI 0.59). Cluster 0 split into 5 and 6.
    """
    old_labels, new_labels = _labels_of("old", old), _labels_of("new", new)
    if (old_ids is None) != (new_ids is None):
        raise InputError("must be given together with the other ids.", code="one-sided-ids", parameter="old_ids")
    if old_ids is None:
        crossed = _Crossed.of(old_labels, new_labels)
        positions, n_added, n_removed = np.arange(len(new_labels)), 0, 0
    else:
        in_old, in_new = _common_rows(old_ids, len(old_labels), new_ids, len(new_labels))
        n_added, n_removed = len(new_labels) - len(in_new), len(old_labels) - len(in_old)
        crossed, positions = _Crossed.of(old_labels[in_old], new_labels[in_new]), in_new
    return crossed.comparison(positions, n_added, n_removed)


def relabel(labels: Any, like: Any) -> NDArray[np.int64]:
    """Number the clusters of a partition like those of an earlier one.

    A cluster takes the id of the earlier cluster with which its Jaccard coefficient exceeds 1/2. The other clusters get
    new ids above all earlier ones, the largest first. -1 stays -1 in both partitions.

    Parameters
    ----------
    labels, like : (n,) integer labels of the same rows in the same order, or results with `labels`

    Returns
    -------
    (n,) int64

    Examples
    --------
    >>> import quorate as qt
    >>> qt.relabel([0, 0, 0, 1, 1, 2], like=[7, 7, 7, 3, 3, 3])
    array([7, 7, 7, 3, 3, 8])
    """
    new = integer_labels("labels", labels)
    ids = cluster_ids(new, like)
    return np.where(new >= 0, ids[np.maximum(new, 0)], -1) if len(ids) else new


def cluster_ids(new: Ints, like: Any) -> Ints:
    """Return the id of each cluster 0, 1, ... of a partition, numbered like an earlier one."""
    old = integer_labels("like", like)
    if len(new) != len(old):
        raise InputError(
            f"must have one label per row; got {len(old):,} labels for {len(new):,} rows.",
            code="row-count",
            parameter="like",
        )
    ids = renumbering(new, old)
    return np.array([ids.get(cluster, -1) for cluster in range(int(new.max(initial=-1)) + 1)], dtype=np.int64)


def renumbering(new: Ints, old: Ints) -> dict[int, int]:
    """Return the id that each cluster of `new` takes after `old`; negative labels are not clusters."""
    both = (new >= 0) & (old >= 0)
    ids: dict[int, int] = {}
    if both.any():
        ids = {int(pair.second): int(pair.first) for pair in _same(_Crossed.of(old[both], new[both]).matches())}
    clusters, sizes = np.unique(new[new >= 0], return_counts=True)
    rest = [int(c) for c in clusters[np.argsort(-sizes, kind="stable")] if int(c) not in ids]
    free = int(old.max(initial=-1)) + 1
    return ids | {cluster: free + i for i, cluster in enumerate(rest)}


@dataclass(frozen=True)
class _Crossed:
    """The contingency table of two partitions, by its entries that are not 0: the patterns of an ensemble of two."""

    pair: Ensemble
    entries: Ints
    """Patterns with both labels."""
    rows: Ints
    """(e,) first label of each entry."""
    columns: Ints
    counts: Ints

    @classmethod
    def of(cls, first: NDArray[Any], second: NDArray[Any]) -> _Crossed:
        if len(first) != len(second):
            raise InputError(
                f"The partitions must be of the same rows; got {len(first):,} and {len(second):,} labels.",
                code="row-count",
                hint="Pass the ids of the rows to compare tables whose rows come and go.",
            )
        pair = Ensemble([first, second], names=["first", "second"], noise="cluster")
        entries = np.flatnonzero((pair.patterns >= 0).all(axis=1))
        if not len(entries):
            raise InputError("The partitions have no labeled row in common.", code="no-common-rows")
        rows, columns = pair.patterns[entries].astype(np.int64).T
        return cls(pair, entries, rows, columns - len(pair.levels[0]), pair.counts[entries].astype(np.int64))

    @cached_property
    def sizes(self) -> tuple[Floats, Floats]:
        """Sizes of the clusters of both partitions, over the rows that both label."""
        first, second = (len(levels) for levels in self.pair.levels)
        rows = np.bincount(self.rows, self.counts, minlength=first).astype(np.float64)
        return rows, np.bincount(self.columns, self.counts, minlength=second).astype(np.float64)

    @cached_property
    def jaccard(self) -> Floats:
        """(e,) the Jaccard coefficient of the two clusters of each entry."""
        first, second = self.sizes
        return np.asarray(self.counts / (first[self.rows] + second[self.columns] - self.counts))

    def matches(self) -> tuple[LabelMatch, ...]:
        first, second = self.sizes
        first_labels, second_labels = (levels.tolist() for levels in self.pair.levels)
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

    def comparison(self, positions: Ints, n_added: int, n_removed: int) -> PartitionComparison:
        matches = self.matches()
        kept = _same(matches)
        pieces = _grouped((pair.first, pair.second) for pair in matches if pair.second_share > 0.5)
        sources = _grouped((pair.second, pair.first) for pair in matches if pair.first_share > 0.5)
        split = {old: new for old, new in pieces.items() if len(new) > 1}
        merged = {new: old for new, old in sources.items() if len(old) > 1}
        old_done = {p.first for p in kept} | set(split) | {old for group in merged.values() for old in group}
        new_done = {p.second for p in kept} | set(merged) | {new for group in split.values() for new in group}
        moved = np.zeros(self.pair.n_patterns, dtype=np.bool_)
        moved[self.entries[self.jaccard <= 0.5]] = True
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
            moved=positions[moved[self.pair.row_pattern]],
            ari=adjusted_rand_of(self.counts, *self.sizes),
        )


def _same(matches: Iterable[LabelMatch]) -> tuple[LabelMatch, ...]:
    return tuple(pair for pair in matches if pair.relation == "same")


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


def _common_rows(old_ids: Any, n_old: int, new_ids: Any, n_new: int) -> tuple[Ints, Ints]:
    """Return the positions of the rows with common ids, in both tables."""
    old, old_order = _sorted_ids("old_ids", old_ids, n_old)
    new, new_order = _sorted_ids("new_ids", new_ids, n_new)
    place = np.minimum(np.searchsorted(old, new), max(len(old) - 1, 0))  # both sorted: one sweep through memory
    common = old[place] == new
    return old_order[place[common]], new_order[common]


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
