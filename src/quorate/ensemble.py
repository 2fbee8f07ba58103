"""The ensemble: many clusterings of the same rows, stored as distinct rows of labels (patterns) and their counts.

`Clusterings` holds what only concerns clusters and their overlaps. `Ensemble` adds the patterns in memory. The
functions below the classes serve the other modules of the package, so that `Ensemble` shows users few attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate import _kernels
from quorate._runtime.memory import USE_NO_GRAPH, available_memory, require_memory
from quorate._runtime.memory_forecast import EnsembleSize
from quorate._runtime.recent_cache import RecentCache
from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_choice, nearest_name
from quorate._utils.notebook_html import Share, card
from quorate.columns.column_roles import choose_members
from quorate.errors import InputError
from quorate.label_checks import warn_if_transposed, warn_of_columns, warn_of_text_noise
from quorate.labels import (
    CountedLabels,
    Noise,
    Vector,
    check_names,
    check_row_weights,
    codes_among,
    concatenate_counted,
    count_in_units,
    labels_at,
    split_members,
)
from quorate.overlaps import BYTES_PER_OVERLAP, DENSE_CLUSTERS, Overlaps, PerCluster, PerMember, submatrix
from quorate.patterns import CodeColumn, Grouping, find_rows, group_counted_labels, group_labels, group_rows

_MAX_DERIVED = 16  # results that an ensemble keeps; more than the package derives


class Clusterings:
    """Many clusterings of the same rows, reduced to their clusters and the overlaps of these.

    This is all that agreement and the graphs over clusters need. Patterns come in blocks: an `Ensemble` is one block,
    an ensemble whose patterns are stored on disk has many.
    """

    names: tuple[str, ...]
    noise: Noise
    n_rows: int
    levels: tuple[Vector, ...]
    weight_unit: float = 1.0
    """The row weight that counts as one row: the common unit of the weights, or their mean (`count_in_units`)."""

    @property
    def n_patterns(self) -> int:
        """Number of distinct rows of labels."""
        raise NotImplementedError

    @property
    def total_weight(self) -> float:
        """Number of rows, or their total weight in units of `weight_unit`."""
        raise NotImplementedError

    @property
    def _blocks(self) -> Sequence[Ensemble]:
        """Consecutive patterns as ensembles that have the clusters of the whole."""
        raise NotImplementedError

    @property
    def n_members(self) -> int:
        """Number of members."""
        return len(self.names)

    @property
    def n_clusters(self) -> int:
        """Number of clusters of all members together."""
        return int(self.cluster_offsets[-1])

    @cached_property
    def cluster_offsets(self) -> Ints:
        """(M + 1,) the first cluster id of each member, and the number of clusters."""
        return _frozen(np.concatenate([[0], np.cumsum([len(levels) for levels in self.levels])]))

    @cached_property
    def cluster_member(self) -> Ints:
        """(n_clusters,) the member of each cluster."""
        return _frozen(np.repeat(np.arange(self.n_members), np.diff(self.cluster_offsets)))

    @cached_property
    def derived(self) -> RecentCache:
        """Results that functions derive from the ensemble, each under a name of its own; none refers to the ensemble.

        `Ensemble.select` passes on those that hold for a selection of members (`PerCluster`, `PerMember`).
        """
        return RecentCache(_MAX_DERIVED)

    @cached_property
    def cooccurrence(self) -> sp.csr_array:
        """(n_clusters, n_clusters) sparse: number (or weight) of the rows that two clusters share.

        Diagonal blocks hold the cluster sizes, the other blocks the contingency tables of two members.
        """
        return self._sum_over_blocks(lambda block: scaled_cooccurrence(block, block.counts))

    def _sum_over_blocks(self, part: Callable[[Ensemble], sp.csr_array]) -> sp.csr_array:
        # Blocks are added one after the other, so that only two of them are in memory.
        first, *others = range(len(self._blocks))
        total = part(self._blocks[first])
        for i in others:
            total = total + part(self._blocks[i])
        total.sort_indices()
        return total

    def _overlap_blocks(self) -> Iterator[tuple[int, sp.csr_array]]:
        yield 0, self.cooccurrence

    @property
    def _expected_overlaps(self) -> float:
        """Upper bound of the pairs of clusters that share rows: all pairs of clusters of different members."""
        sizes = np.diff(self.cluster_offsets).astype(np.float64)
        # A pattern contributes at most M^2 pairs, which is the tighter bound for few patterns.
        return min(float(sizes.sum() ** 2 - (sizes**2).sum() + sizes.sum()), float(self.n_patterns) * self.n_members**2)

    @property
    def _keeps_cooccurrence(self) -> bool:
        """Whether `_overlap_blocks` keeps the co-occurrence in memory."""
        return True

    @property
    def _size(self) -> EnsembleSize:
        return EnsembleSize(
            rows=0,
            patterns=self.n_patterns / len(self._blocks),
            members=self.n_members,
            clusters=self.n_clusters,
            overlaps=self._expected_overlaps,
            dense_counting=self.n_clusters <= DENSE_CLUSTERS,
            keeps_cooccurrence=self._keeps_cooccurrence,
        )

    @cached_property
    def cluster_sizes(self) -> Ints | Floats:
        """(n_clusters,) number of rows (or their weight) of each cluster."""
        return self.cooccurrence.diagonal()

    @cached_property
    def coverage(self) -> Floats:
        """(n_clusters, M) number of rows of each cluster that each member labels."""
        require_memory(
            8.0 * self.n_clusters * self.n_members,
            f"The coverage of {self.n_clusters:,} clusters by {self.n_members:,} members",
            "Use fewer members.",
        )
        coverage = np.zeros((self.n_clusters, self.n_members))
        for first, lines in overlap_blocks(self):
            _kernels.contingency.add_coverage(
                first, lines.indptr, lines.indices, lines.data, self.cluster_member, coverage
            )
        return coverage

    def _check_not_empty(self) -> None:
        if self.n_rows == 0:
            raise _no_rows()
        if self.n_clusters == 0:
            raise InputError(
                "All labels are missing.", code="no-labels", hint="Pass at least one member that labels some rows."
            )


class Ensemble(Clusterings):
    """Many clusterings (members) of the same rows.

    Rows with the same label in every member are indistinguishable to every consensus function. The ensemble is
    therefore stored as its distinct rows of labels (patterns) with their counts, found in one hash pass over the rows.

    Parameters
    ----------
    labels : 2-D array, frame, or list or dictionary of vectors
        Rows x members. A list, tuple or generator holds one label vector per member instead, a dictionary one under
        each name. Labels may be integers, text or categories. NaN, None and NA are missing labels: the member does not
        label the row. Features and dates next to the clusterings of a frame are ignored, with a warning.
    names : sequence of str, optional
        One name per member. Default: the frame's column names or the dictionary's keys, or "member_0", "member_1", ...
    noise : {"missing", "cluster", "singletons"}, default "missing"
        What negative integer labels (the noise of DBSCAN and HDBSCAN) mean: no label, one cluster, or a cluster each.
    row_weights : (n,) array of positive numbers, optional
        Weights of the rows. Default: 1. Weights that are whole multiples of a common unit are counts: one unit is one
        row, so that 1, 2 and 3, or 0.1, 0.2 and 0.3, count like one, two and three equal rows. Other weights are
        relative: their mean is one row. So multiplying all weights by a constant changes nothing.

    Attributes
    ----------
    n_rows, n_members, n_clusters : int
        Numbers of rows, of members, and of clusters of all members together.
    names : tuple of str
        The members' names.
    patterns : (m, M) int32 array
        Cluster ids of each distinct row of labels, in lexicographic order; -1 where a label is missing.
    counts : (m,) array
        Number of rows of each pattern, or their total weight in units of `weight_unit`.
    row_pattern : (n,) int32 array
        Pattern of each row. An ensemble built from a table of patterns has no rows (`has_rows` is False) and raises.
    cluster_member : (n_clusters,) array
        Member of each cluster. Cluster ids follow the order of the members, then of the label values.
    levels : tuple of arrays
        The label value of each cluster, member by member.

    Examples
    --------
    >>> import quorate as qt
    >>> ens = qt.Ensemble([[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]])
    >>> ens
    Ensemble(n_rows=6, n_members=3, n_clusters=7, n_patterns=4)
    >>> ens.patterns.tolist(), ens.counts.tolist()
    ([[0, 2, 5], [0, 3, 5], [1, 3, 5], [1, 4, 6]], [2, 1, 1, 2])
    """

    patterns: NDArray[np.int32]
    counts: Ints | Floats
    row_counts: Ints
    """(m,) number of rows of each pattern, regardless of their weights."""
    weighted: bool
    """Whether rows have weights; otherwise `counts` equals `row_counts`."""
    _row_pattern: NDArray[np.int32] | None
    _first_row: Ints | None

    def __init__(
        self,
        labels: Any,
        *,
        names: Sequence[str] | None = None,
        noise: Noise = "missing",
        row_weights: Any = None,
    ) -> None:
        check_choice("noise", noise, ("missing", "cluster", "singletons"))
        vectors, source_names = split_members(labels)
        if not vectors:
            raise InputError(
                "has no members.", code="no-members", parameter="labels", hint="Pass at least one label vector."
            )
        n_rows = len(vectors[0])
        if n_rows == 0:
            raise _no_rows()
        # Only tables are examined for columns that are not clusterings; lists and dictionaries are taken as they are.
        from_table = names is None and not isinstance(labels, Mapping | list | tuple | Iterator)
        if from_table and source_names is not None:
            positions = choose_members(source_names, vectors)
            vectors, source_names = [vectors[j] for j in positions], [source_names[j] for j in positions]
        elif from_table:
            warn_if_transposed(vectors)
        names = check_names(names if names is not None else source_names, len(vectors))
        levels, grouping = group_labels(vectors, names, noise)
        if from_table:
            warn_of_columns(source_names, levels, grouping.codes, n_rows)
        warn_of_text_noise(names, levels, noise)
        weights = None
        if row_weights is not None:
            in_units, self.weight_unit = count_in_units(check_row_weights(row_weights, n_rows))
            weights = sum_by_pattern(grouping, in_units)
        rows = (grouping.row_pattern, grouping.first_row)
        self._store(names, noise, levels, grouping.codes, grouping.counts, weights, *rows)

    def _store(
        self,
        names: tuple[str, ...],
        noise: Noise,
        levels: tuple[Vector, ...],
        codes: NDArray[np.int32],
        row_counts: Ints,
        weights: Floats | Ints | None = None,
        row_pattern: NDArray[np.int32] | None = None,
        first_row: Ints | None = None,
    ) -> None:
        """Store the pattern table (see `ensemble_of_patterns`); its arrays become read-only."""
        self.names, self.noise, self.levels = names, noise, levels
        self.n_rows = int(row_counts.sum())
        self._check_not_empty()
        # Cluster ids count over all members: codes plus the first id of the member.
        self.patterns = np.where(codes >= 0, codes + self.cluster_offsets[:-1].astype(np.int32), np.int32(-1))
        self.row_counts, self.weighted = row_counts, weights is not None
        self.counts = row_counts if weights is None else weights
        self._row_pattern, self._first_row = row_pattern, first_row
        self._freeze()

    def _freeze(self) -> None:
        # Arrays are shared with callers, so that writing to them must fail.
        for array in (self.patterns, self.row_counts, self.counts, self._row_pattern, self._first_row):
            if array is not None:
                _frozen(array)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the pattern table, without the caches derived from it."""
        # Without caches: they can be large, and are computed again when needed.
        state = {name: getattr(self, name) for name in _STATE}
        return state if self.weighted else {**state, "counts": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if not self.weighted:
            self.counts = self.row_counts
        self._freeze()

    @property
    def has_rows(self) -> bool:
        """Whether the pattern of each row is stored; False for an ensemble built from a table of patterns."""
        return self._row_pattern is not None

    @property
    def row_pattern(self) -> NDArray[np.int32]:
        """(n,) pattern of each row."""
        if self._row_pattern is None:
            raise _patterns_only()
        return self._row_pattern

    @property
    def first_row(self) -> Ints:
        """(m,) first row of each pattern."""
        if self._first_row is None:
            raise _patterns_only()
        return self._first_row

    @property
    def _size(self) -> EnsembleSize:
        return super()._size._replace(rows=self.n_rows if self.has_rows else 0)

    @property
    def n_patterns(self) -> int:
        """Number of distinct rows of labels."""
        return len(self.patterns)

    @property
    def total_weight(self) -> float:
        """Number of rows, or their total weight in units of `weight_unit`."""
        return float(self.counts.sum())

    @property
    def _blocks(self) -> Sequence[Ensemble]:
        return (self,)

    @cached_property
    def _overlaps(self) -> Overlaps:
        return Overlaps(self.patterns, self.n_clusters)

    @cached_property
    def incidence(self) -> sp.csr_array:
        """(m, n_clusters) sparse indicator of the clusters of each pattern."""
        clusters, first = pattern_clusters(self)
        return sp.csr_array((np.ones(len(clusters)), clusters, first), shape=(self.n_patterns, self.n_clusters))

    @cached_property
    def _expected_overlaps(self) -> float:
        """Estimate of the pairs of clusters that share rows, from a sample of clusters; exact where these are few."""
        if "cooccurrence" in self.__dict__:
            return float(self.cooccurrence.nnz)
        possible = super()._expected_overlaps
        if possible <= self.patterns.size:
            return possible
        return self._overlaps.estimate()

    @property
    def _keeps_cooccurrence(self) -> bool:
        """Whether the co-occurrence is kept: it is there already, or takes at most 1/8 of the available memory."""
        small = self.n_clusters <= DENSE_CLUSTERS or "cooccurrence" in self.__dict__
        return small or BYTES_PER_OVERLAP * self._expected_overlaps <= available_memory() / 8

    def _overlap_blocks(self) -> Iterator[tuple[int, sp.csr_array]]:
        if self._keeps_cooccurrence:
            yield 0, self.cooccurrence
        else:
            yield from self._overlaps.in_blocks(self.counts)

    @cached_property
    def cluster_sizes(self) -> Ints | Floats:
        """(n_clusters,) number of rows (or their weight) of each cluster."""
        sizes: Any = np.zeros(self.n_clusters, dtype=self.counts.dtype)
        for ids in self.patterns.T:
            np.add.at(sizes, ids[ids >= 0], self.counts[ids >= 0])
        return _frozen(sizes)

    def select(self, members: Iterable[int | str]) -> Ensemble:
        """Return the ensemble of some members, given by position or name."""
        positions = [self.member_index(member) for member in members]
        if not positions:
            raise InputError("select needs at least one member; got none.", code="no-members")
        if len(set(positions)) < len(positions):
            raise InputError("select got a member twice.", code="repeated-member", hint="Name each member once.")
        codes = np.stack([member_codes(self, j) for j in positions], axis=1)
        columns = [CodeColumn(codes[:, i], len(self.levels[j])) for i, j in enumerate(positions)]
        grouping = group_rows(columns, self.n_patterns)
        row_pattern = first_row = None
        if self.has_rows:
            row_pattern = grouping.row_pattern[self.row_pattern]
            first_row = np.full(len(grouping.codes), self.n_rows, dtype=np.int64)
            np.minimum.at(first_row, grouping.row_pattern, self.first_row)
        selected = ensemble_of_patterns(
            tuple(self.names[j] for j in positions),
            self.noise,
            tuple(self.levels[j] for j in positions),
            grouping.codes,
            sum_by_pattern(grouping, self.row_counts),
            sum_by_pattern(grouping, self.counts) if self.weighted else None,
            row_pattern,
            first_row,
        )
        selected.weight_unit = self.weight_unit
        if "cooccurrence" in self.__dict__ and not self.weighted:  # sums of weights would differ in their last bits
            self._share_derived(selected, positions)
        return selected

    def _share_derived(self, selected: Ensemble, positions: list[int]) -> None:
        """Copy the parts of derived results that hold for a selection of members."""
        clusters = np.concatenate([np.arange(*self.cluster_offsets[j : j + 2]) for j in positions])
        selected.cooccurrence = submatrix(self.cooccurrence, clusters)
        selected.cooccurrence.sort_indices()
        if "cluster_sizes" in self.__dict__:
            selected.cluster_sizes = _frozen(self.cluster_sizes[clusters])
        if "coverage" in self.__dict__:
            selected.coverage = self.coverage[np.ix_(clusters, np.array(positions))]
        in_order = positions == sorted(positions)  # sums over two members in the other order differ in their last bits
        for name, result in self.derived.items():
            if isinstance(result, PerCluster):
                selected.derived.get(name, partial(result.select_clusters, clusters))
            elif isinstance(result, PerMember) and in_order:
                selected.derived.get(name, partial(result.select_members, np.array(positions)))

    def merge(self, other: Ensemble) -> Ensemble:
        """Return the ensemble of the rows of both: more rows of the same members.

        Only patterns are read, no rows. Where both ensembles have rows, those of `other` come last.

        Parameters
        ----------
        other : Ensemble
            An ensemble of other rows by members of the same names, in any order.

        Examples
        --------
        >>> import quorate as qt
        >>> yesterday = qt.Ensemble([[1, 1, 2], ["a", "b", "b"]], names=["first", "second"])
        >>> today = qt.Ensemble([["b", "c"], [2, 3]], names=["second", "first"])
        >>> yesterday.merge(today)
        Ensemble(n_rows=5, n_members=2, n_clusters=6, n_patterns=4)
        """
        if not isinstance(other, Ensemble):
            raise InputError(
                f"must be an Ensemble; got {type(other).__name__}.",
                code="not-an-ensemble",
                parameter="other",
                hint="Pass Ensemble(labels).",
            )
        if set(other.names) != set(self.names):
            differing = sorted(set(other.names) ^ set(self.names))
            raise InputError(
                f"must have the same members; only one ensemble has {', '.join(map(repr, differing[:5]))}.",
                code="different-members",
                parameter="other",
                hint="Give members the same names, or drop some with select.",
            )
        if other.noise != self.noise:
            raise InputError(
                f"must have the same noise setting; got {self.noise!r} and {other.noise!r}.",
                code="different-noise",
                parameter="other",
                hint="Build both ensembles with the same setting.",
            )
        both = (self, other if other.names == self.names else other.select(self.names))
        merged, line_pattern = from_counted_labels(
            concatenate_counted(*(counted_labels(ens) for ens in both)), noise=self.noise
        )
        if not all(ens.has_rows for ens in both):
            return merged
        first, last = (ens.row_pattern for ens in both)
        return with_rows(merged, line_pattern[np.concatenate([first, self.n_patterns + last])])

    def add_members(self, labels: Any, *, names: Sequence[str] | None = None) -> Ensemble:
        """Return the ensemble with more members of the same rows, in the same order.

        Parameters
        ----------
        labels : Ensemble or anything `Ensemble` takes
            Rows x new members.
        names : sequence of str, optional
            One name per new member. Default: the frame's column names, or "member_5" and so on, counting on.

        Examples
        --------
        >>> import quorate as qt
        >>> qt.Ensemble([[1, 1, 2, 2]]).add_members([[1, 2, 2, 2], [1, 1, 1, 2]]).names
        ('member_0', 'member_1', 'member_2')
        """
        added = self._as_new_members(labels, names)
        if added.n_rows != self.n_rows:
            raise InputError(
                f"must label the same {self.n_rows} rows; got {added.n_rows} rows.",
                code="row-count",
                parameter="labels",
                hint="Pass one label per row, None where a new member has no label.",
            )
        if self.weighted or added.weighted:
            raise InputError(
                "add_members cannot recover the weights of single rows from a weighted ensemble.",
                code="weighted-ensemble",
                hint="Build the ensemble again with row_weights.",
            )
        # Patterns of the old and the new members as two columns: their distinct pairs are the new patterns.
        columns = [CodeColumn(ens.row_pattern, ens.n_patterns) for ens in (self, added)]
        pairs = group_rows(columns, self.n_rows)
        own, new = counted_labels(self), counted_labels(added)
        vectors = [vector[pairs.codes[:, 0]] for vector in own.vectors]
        vectors += [vector[pairs.codes[:, 1]] for vector in new.vectors]
        counted = CountedLabels([*own.names, *new.names], vectors, np.bincount(pairs.row_pattern))
        extended, line_pattern = from_counted_labels(counted, noise=self.noise)
        return with_rows(extended, line_pattern[pairs.row_pattern])

    def _as_new_members(self, labels: Any, names: Sequence[str] | None) -> Ensemble:
        if isinstance(labels, Ensemble):
            return labels
        vectors, source_names = split_members(labels)
        default_names = [f"member_{self.n_members + j}" for j in range(len(vectors))]
        return Ensemble(vectors, names=names or source_names or default_names, noise=self.noise)

    def member_index(self, member: int | str) -> int:
        """Return the position of a member, given by name or by position (negative ones count from the end)."""
        if isinstance(member, str):
            if member not in self.names:
                raise InputError(
                    f"There is no member named {member!r}.{nearest_name(member, self.names)}", code="unknown-member"
                )
            return self.names.index(member)
        if not -self.n_members <= member < self.n_members:
            raise InputError(
                f"There is no member {member}; the ensemble has {self.n_members} members, counted from 0.",
                code="unknown-member",
            )
        return int(member) % self.n_members

    def __repr__(self) -> str:
        sizes = f"n_rows={self.n_rows}, n_members={self.n_members}, n_clusters={self.n_clusters}"
        return f"Ensemble({sizes}, n_patterns={self.n_patterns})"

    def _repr_html_(self) -> str:
        """Return a card for notebooks: sizes, and for each member its clusters and the share of rows it labels."""
        counts = self.counts.astype(np.float64)
        labeled = [Share(counts[self.patterns[:, j] >= 0].sum() / counts.sum()) for j in range(self.n_members)]
        figures = [
            (self.n_rows, "rows"),
            (self.n_members, "members"),
            (self.n_clusters, "clusters of all members"),
            (self.n_patterns, "patterns (distinct rows of labels)"),
        ]
        rows = [
            (name, len(levels), share) for name, levels, share in zip(self.names, self.levels, labeled, strict=True)
        ]
        return card("Ensemble", figures, ("member", "clusters", "rows labeled"), rows)


_STATE = ["names", "noise", "n_rows", "levels", "patterns", "row_counts", "weighted", "weight_unit", "counts"]
_STATE += ["_row_pattern", "_first_row"]


def _no_rows() -> InputError:
    return InputError("has no rows.", code="no-rows", parameter="labels", hint="Pass at least one labeled row.")


def _patterns_only() -> InputError:
    return InputError(
        "The ensemble was built from a table of patterns (distinct rows of labels) and has no rows.",
        code="patterns-only",
        hint="Build it from the labels of all rows, or use the results by pattern.",
    )


# Construction


def as_ensemble(labels: Any) -> Ensemble:
    """Return `labels` if it is an Ensemble, that of a result or fitted estimator, or else the Ensemble of `labels`."""
    labels = _of_result(labels)
    return labels if isinstance(labels, Ensemble) else Ensemble(labels)


def as_clusterings(labels: Any) -> Clusterings:
    """Return what `as_ensemble` returns; an ensemble whose patterns are stored elsewhere is returned as it is."""
    labels = _of_result(labels)
    return labels if isinstance(labels, Clusterings) else Ensemble(labels)


def _of_result(labels: Any) -> Any:
    """Return the ensemble of a result (`ensemble`) or of a fitted estimator (`ensemble_`), or `labels` as it is."""
    # Results and estimators hold their ensemble, so that functions accept them in place of labels.
    for attribute in ("ensemble", "ensemble_"):
        if isinstance(ens := getattr(labels, attribute, None), Clusterings):
            return ens
    return labels


def ensemble_of_patterns(
    names: tuple[str, ...],
    noise: Noise,
    levels: tuple[Vector, ...],
    codes: NDArray[np.int32],
    row_counts: Ints,
    weights: Floats | Ints | None = None,
    row_pattern: NDArray[np.int32] | None = None,
    first_row: Ints | None = None,
) -> Ensemble:
    """Return the ensemble of a pattern table.

    Parameters
    ----------
    names, noise, levels
        As the attributes of `Ensemble`.
    codes : (m, M)
        Position of each label among the member's levels, -1 for missing; distinct rows in lexicographic order.
    row_counts : (m,)
        Number of rows of each pattern.
    weights : (m,), optional
        Total weight of the rows of each pattern. Default: their number.
    row_pattern : (n,), first_row : (m,), optional
        Pattern of each row and first row of each pattern, where rows are known.
    """
    # `__init__` encodes labels; here the codes are given.
    ens = object.__new__(Ensemble)
    ens._store(names, noise, levels, codes, row_counts, weights, row_pattern, first_row)
    return ens


def from_counted_labels(counted: CountedLabels, *, noise: Noise = "missing") -> tuple[Ensemble, NDArray[np.int32]]:
    """Return the ensemble of labels with row counts, and the pattern of each of their lines."""
    names = check_names(counted.names, len(counted.vectors))
    if len(counted.row_counts) == 0:
        raise _no_rows()
    levels, grouping = group_counted_labels(counted, noise)
    warn_of_text_noise(names, levels, noise)
    weights = None if counted.weights is None else sum_by_pattern(grouping, counted.weights)
    ens = ensemble_of_patterns(
        names, noise, levels, grouping.codes, sum_by_pattern(grouping, counted.row_counts), weights
    )
    ens.weight_unit = counted.weight_unit
    return ens, grouping.row_pattern


def with_rows(ens: Ensemble, row_pattern: NDArray[np.int32]) -> Ensemble:
    """Return an ensemble built from patterns together with the pattern (n,) of each row."""
    first_row = np.full(ens.n_patterns, ens.n_rows, dtype=np.int64)
    # The smallest row of each pattern.
    np.minimum.at(first_row, row_pattern, np.arange(ens.n_rows))
    weights = ens.counts.astype(np.float64) if ens.weighted else None
    table = (ens.names, ens.noise, ens.levels, pattern_codes(ens), ens.row_counts, weights)
    copied = ensemble_of_patterns(*table, row_pattern, first_row)
    copied.weight_unit = ens.weight_unit
    return copied


# The pattern table


def member_codes(ens: Ensemble, member: int) -> NDArray[np.int32]:
    """(m,) position of each pattern's label among the member's levels, -1 for missing."""
    ids = ens.patterns[:, member]
    return np.where(ids >= 0, ids - np.int32(ens.cluster_offsets[member]), np.int32(-1))


def pattern_codes(ens: Ensemble) -> NDArray[np.int32]:
    """(m, M) `member_codes` of all members."""
    return np.stack([member_codes(ens, j) for j in range(ens.n_members)], axis=1)


def counted_labels(ens: Ensemble) -> CountedLabels:
    """Return the patterns as labels with row counts."""
    vectors = [labels_at(member_codes(ens, j), levels) for j, levels in enumerate(ens.levels)]
    weights = ens.counts.astype(np.float64) if ens.weighted else None
    return CountedLabels(ens.names, vectors, ens.row_counts, weights, ens.weight_unit)


def equal_rows(ens: Ensemble) -> Ints:
    """(m,) how many equal rows each pattern counts like: its weight, if weights are counts, or else its rows."""
    # Weights that are counts are whole numbers after division by their unit.
    whole = np.rint(ens.counts).astype(np.int64)
    return whole if np.array_equal(whole, ens.counts) else ens.row_counts


def one_row(ens: Ensemble) -> Floats:
    """(m,) the weight of one row of each pattern: 1, as a row of weight 2 counts like two rows, or less if lighter."""
    return np.minimum(ens.counts / ens.row_counts, 1.0)


def cluster_ids(ens: Ensemble, labels: Any) -> NDArray[np.int32]:
    """(rows, M) cluster ids of new rows labeled by the same members; -1 for labels that are missing or new."""
    vectors, names = split_members(labels)
    # Columns are matched by name only if the members have names of their own.
    if names is not None and ens.names != check_names(None, ens.n_members):
        if not set(ens.names) <= set(names):
            raise InputError(
                f"The members are {', '.join(ens.names)}, but the columns of the new labels are {', '.join(names)}.",
                code="different-members",
                hint="Use the same names, or pass an array with the members in order.",
            )
        vectors = [vectors[names.index(name)] for name in ens.names]
    if len(vectors) != ens.n_members:
        raise InputError(
            f"The ensemble has {ens.n_members} members, but the new labels have {len(vectors)}.",
            code="different-members",
        )
    ids = np.full((len(vectors[0]), ens.n_members), -1, dtype=np.int32)
    for j, (vector, name, levels) in enumerate(zip(vectors, ens.names, ens.levels, strict=True)):
        code = codes_among(vector, name, ens.noise, levels)
        ids[:, j] = np.where(code >= 0, code + ens.cluster_offsets[j], -1)
    return ids


def find_patterns(ens: Ensemble, ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """(rows,) the pattern with exactly these cluster ids (rows, M), -1 where there is none."""
    return find_rows(ens.patterns, [ens.n_clusters] * ens.n_members, ids)


def pattern_clusters(ens: Ensemble) -> tuple[NDArray[np.int32], Ints]:
    """Return the clusters of all patterns, pattern by pattern, and (m + 1,) the start of each pattern's clusters."""
    return ens._overlaps.pattern_clusters


def pattern_degrees(ens: Ensemble, cluster_weights: Floats) -> Floats:
    """(m,) sum of the weights (n_clusters,) of the clusters of each pattern."""
    total = np.empty(ens.n_patterns)
    _kernels.row_hashing.add_weights(ens.patterns, cluster_weights, total)
    return total


# Blocks of patterns, overlaps of clusters, and derived results


def member_indicator(ens: Clusterings) -> sp.csr_array:
    """(M, n_clusters) 1 where a cluster belongs to a member: multiply by it to sum over the clusters of each member."""
    entries = np.ones(ens.n_clusters), (ens.cluster_member, np.arange(ens.n_clusters))
    return sp.csr_array(entries, shape=(ens.n_members, ens.n_clusters))


def ensemble_blocks(ens: Clusterings) -> Sequence[Ensemble]:
    """Return the patterns in blocks, each read when it is accessed."""
    return ens._blocks


def overlap_blocks(ens: Clusterings) -> Iterator[tuple[int, sp.csr_array]]:
    """Yield the co-occurrence, or blocks of its rows if it is too large to keep, each with its first cluster."""
    return ens._overlap_blocks()


def ensemble_size(ens: Clusterings) -> EnsembleSize:
    """Return the sizes from which memory is forecast."""
    return ens._size


def scaled_cooccurrence(ens: Ensemble, scale: Floats | Ints) -> sp.csr_array:
    """Return the sum over patterns of scale[pattern] times the outer product of the pattern's cluster indicator."""
    if ens.n_clusters <= DENSE_CLUSTERS:
        return ens._overlaps.dense(scale)
    require_memory(
        BYTES_PER_OVERLAP * ens._expected_overlaps, f"The co-occurrence of {ens.n_clusters:,} clusters", USE_NO_GRAPH
    )
    return ens._overlaps.sparse(scale)


def cooccurrence_by_degree(ens: Clusterings, cluster_weights: Floats) -> tuple[sp.csr_array, float]:
    """Return the co-occurrence in which a row counts 1 / d, d the sum of the weights (n_clusters,) of its clusters.

    The result is a matrix and a number by which it is to be divided: `cooccurrence` and d where all rows have the same
    d, so that nothing is computed again.
    """
    # Only the extremes matter: if they agree, all rows have the same degree.
    extremes = [
        extreme(pattern_degrees(block, cluster_weights)) for block in ens._blocks for extreme in (np.min, np.max)
    ]
    degrees = np.unique(extremes)
    if len(degrees) == 1 and degrees[0] > 0:
        return ens.cooccurrence, float(degrees[0])

    def by_degree(block: Ensemble) -> sp.csr_array:
        degree = pattern_degrees(block, cluster_weights)
        per_row = np.divide(block.counts, degree, out=np.zeros(len(degree)), where=degree > 0)
        return scaled_cooccurrence(block, per_row)

    return ens._sum_over_blocks(by_degree), 1.0


def sum_by_pattern(grouping: Grouping, values: Any) -> Any:
    """(m,) the sum of the values of the rows of each pattern, of the same type."""
    return np.bincount(grouping.row_pattern, weights=values, minlength=len(grouping.codes)).astype(values.dtype)


def _frozen(array: Any) -> Any:
    array.setflags(write=False)
    return array
