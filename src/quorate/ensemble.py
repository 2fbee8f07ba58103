"""The ensemble: many clusterings of the same rows, held as its distinct rows of labels and their counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate import _kernels
from quorate._runtime.memory import USE_NO_GRAPH, available_memory, require_memory
from quorate._runtime.memory_forecast import Numbers
from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_choice, nearest_name
from quorate._utils.notebook_html import Share, card
from quorate.errors import QuorateError
from quorate.label_checks import warn_if_transposed, warn_of_columns, warn_of_text_noise
from quorate.labels import (
    Lines,
    Noise,
    Vector,
    check_names,
    check_row_weights,
    join_lines,
    known_codes,
    labels_at,
    split_members,
    without_features,
)
from quorate.overlaps import BYTES_PER_OVERLAP, DENSE_CLUSTERS, OfClusters, OfMembers, Overlaps, among
from quorate.patterns import CodeColumn, Grouping, find_rows, group_labels, group_lines, group_rows


class Clusterings:
    """Many clusterings of the same rows, as far as their clusters and how these overlap are concerned.

    This is all that agreement and the graphs over clusters need. Patterns come in blocks: an `Ensemble` is one block,
    patterns that are kept elsewhere are many.
    """

    names: tuple[str, ...]
    noise: Noise
    n_rows: int
    levels: tuple[Vector, ...]

    @property
    def n_patterns(self) -> int:
        """Number of distinct rows of labels."""
        raise NotImplementedError

    @property
    def total(self) -> float:
        """Number of rows, or their total weight."""
        raise NotImplementedError

    @property
    def n_blocks(self) -> int:
        """Number of blocks in which the patterns come."""
        raise NotImplementedError

    def block(self, i: int) -> Ensemble:
        """Return some consecutive patterns as an ensemble with the clusters of the whole."""
        raise NotImplementedError

    def blocks(self) -> Iterator[Ensemble]:
        """Yield all blocks in order."""
        return map(self.block, range(self.n_blocks))

    @property
    def n_members(self) -> int:
        """Number of members."""
        return len(self.names)

    @property
    def n_clusters(self) -> int:
        """Number of clusters of all members together."""
        return int(self._offsets[-1])

    @cached_property
    def _offsets(self) -> Ints:
        """(M + 1,) the first cluster id of each member, and the number of clusters."""
        return np.concatenate([[0], np.cumsum([len(levels) for levels in self.levels])])

    @cached_property
    def cluster_member(self) -> Ints:
        """(n_clusters,) the member of each cluster."""
        return _frozen(np.repeat(np.arange(self.n_members), np.diff(self._offsets)))

    @cached_property
    def derived(self) -> dict[str, Any]:
        """What others worked out of these clusterings and will need again."""
        return {}

    @cached_property
    def cooccurrence(self) -> sp.csr_array:
        """(n_clusters, n_clusters) sparse: how many rows (or what weight of rows) two clusters share.

        Diagonal blocks hold the cluster sizes, the others every contingency table of two members.
        """
        return self._add_up(lambda block: block.scaled_cooccurrence(block.counts))

    def cooccurrence_by_degree(self, influence: Floats) -> tuple[sp.csr_array, float]:
        """Return the co-occurrence in which a row counts 1 over the influence (n_clusters,) of all its clusters.

        It is a matrix over a number: where that influence is the same for all rows, `cooccurrence` and what it is.
        """
        found = (block.degrees(influence) for block in self.blocks())
        degrees = np.unique([extreme for degree in found for extreme in (degree.min(), degree.max())])
        if len(degrees) == 1 and degrees[0] > 0:
            return self.cooccurrence, float(degrees[0])

        def by_degree(block: Ensemble) -> sp.csr_array:
            degree = block.degrees(influence)
            per_row = np.divide(block.counts, degree, out=np.zeros(len(degree)), where=degree > 0)
            return block.scaled_cooccurrence(per_row)

        return self._add_up(by_degree), 1.0

    def _add_up(self, part: Callable[[Ensemble], sp.csr_array]) -> sp.csr_array:
        total = part(self.block(0))
        for i in range(1, self.n_blocks):
            total = total + part(self.block(i))
        total.sort_indices()
        return total

    def overlaps(self) -> Iterator[tuple[int, sp.csr_array]]:
        """Yield the co-occurrence, some lines at a time, each time with the cluster that the first line is of."""
        yield 0, self.cooccurrence

    @property
    def expected_overlaps(self) -> float:
        """About how many pairs of clusters share rows: at most all pairs of clusters of different members."""
        sizes = np.diff(self._offsets).astype(np.float64)
        return min(float(sizes.sum() ** 2 - (sizes**2).sum() + sizes.sum()), float(self.n_patterns) * self.n_members**2)

    @property
    def keeps_overlaps(self) -> bool:
        """Whether `overlaps` keeps the co-occurrence."""
        return True

    @property
    def numbers(self) -> Numbers:
        """What the memory that is needed comes from."""
        return Numbers(
            rows=0,
            patterns=self.n_patterns / self.n_blocks,
            members=self.n_members,
            clusters=self.n_clusters,
            overlaps=self.expected_overlaps,
            counts_densely=self.n_clusters <= DENSE_CLUSTERS,
            keeps_overlaps=self.keeps_overlaps,
        )

    @cached_property
    def cluster_sizes(self) -> Ints | Floats:
        """(n_clusters,) number of rows (or their weight) of each cluster."""
        return self.cooccurrence.diagonal()

    @cached_property
    def coverage(self) -> Floats:
        """(n_clusters, M): how many rows of each cluster each member labels."""
        require_memory(
            8.0 * self.n_clusters * self.n_members,
            f"What {self.n_members:,} members say of {self.n_clusters:,} clusters",
            "Use fewer members.",
        )
        coverage = np.zeros((self.n_clusters, self.n_members))
        for first, lines in self.overlaps():
            _kernels.contingency.add_coverage(
                first, lines.indptr, lines.indices, lines.data, self.cluster_member, coverage
            )
        return coverage

    def _check_not_empty(self) -> None:
        if self.n_rows == 0:
            raise QuorateError("labels has no rows; pass at least one labeled row.")
        if self.n_clusters == 0:
            raise QuorateError("All labels are missing; pass at least one member that labels some rows.")


class Ensemble(Clusterings):
    """Many clusterings (members) of the same rows.

    Rows with the same label in every member are indistinguishable to every consensus function, so the ensemble is kept
    as its distinct label tuples (patterns) with their counts. Building it takes one hash pass over the rows.

    Parameters
    ----------
    labels : 2-D array, frame, or list or dictionary of vectors
        Rows x members. A list, tuple or generator holds one label vector per member instead, a dictionary one under
        each name. Labels may be integers, text or categories; NaN, None and NA mean that the member says nothing about
        the row. Features and dates beside the clusterings of a frame are left out, with a warning.
    names : sequence of str, optional
        One name per member. Default: the frame's column names or the dictionary's keys, or "member_0", "member_1", ...
    noise : {"missing", "cluster", "singletons"}, default "missing"
        What negative integer labels (the noise of DBSCAN and HDBSCAN) mean: no label, one cluster, or a cluster each.
    row_weights : (n,) array of positive numbers, optional
        How much each row counts, compared with the others: all of them times a number is the same. Default: 1. A row of
        weight 2 counts like two equal rows, but for the methods that say otherwise in `methods()` ("repeated rows").

    Attributes
    ----------
    n_rows, n_members, n_clusters : int
        Numbers of rows, of members, and of clusters of all members together.
    names : tuple of str
        The members' names.
    patterns : (m, M) int32 array
        Cluster ids of each distinct row of labels, in lexicographic order; -1 where a label is missing.
    counts : (m,) array
        Number of rows (or their total weight) of each pattern.
    row_pattern : (n,) int32 array or None
        Pattern of each row.
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
    """(m,) number of rows of each pattern, whatever they weigh."""
    weighted: bool
    """Whether rows have weights of their own; if not, `counts` are the `row_counts`."""
    row_pattern: NDArray[np.int32] | None
    first_row: Ints | None
    """(m,) the first row of each pattern, where rows are known."""

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
            raise QuorateError("labels has no members; pass at least one label vector.")
        n_rows = len(vectors[0])
        if n_rows == 0:
            raise QuorateError("labels has no rows; pass at least one labeled row.")
        from_table = names is None and not isinstance(labels, Mapping | list | tuple | Iterator)
        if from_table:
            warn_if_transposed(vectors, of_frame=source_names is not None)
        if from_table and source_names is not None:
            vectors, source_names = without_features(vectors, source_names)
        columns = range(len(vectors)) if source_names is None else source_names
        names = check_names(names if names is not None else source_names, len(vectors))
        levels, found = group_labels(vectors, names, noise)
        if from_table:
            warn_of_columns(columns, levels, found.codes, n_rows)
        warn_of_text_noise(names, levels, noise)
        weights = None if row_weights is None else _sums(found, check_row_weights(row_weights, n_rows))
        self._hold(names, noise, levels, found.codes, found.counts, weights, found.row_pattern, found.first_row)

    def _hold(
        self,
        names: tuple[str, ...],
        noise: Noise,
        levels: tuple[Vector, ...],
        codes: NDArray[np.int32],
        row_counts: Ints,
        weights: Floats | None = None,
        row_pattern: NDArray[np.int32] | None = None,
        first_row: Ints | None = None,
    ) -> None:
        """Store the pattern table; its arrays become read-only.

        codes : (m, M) place of each label among the member's levels, -1 for missing; distinct lines in order
        row_counts, weights : (m,) number of rows of each pattern, and what they weigh together if that is not the same
        row_pattern, first_row : pattern of each row and first row of each pattern, where rows are known
        """
        self.names, self.noise, self.levels = names, noise, levels
        self.n_rows = int(row_counts.sum())
        self._check_not_empty()
        self.patterns = np.where(codes >= 0, codes + self._offsets[:-1].astype(np.int32), np.int32(-1))
        self.row_counts, self.weighted = row_counts, weights is not None
        self.counts = row_counts if weights is None else weights
        self.row_pattern, self.first_row = row_pattern, first_row
        self._freeze()

    @classmethod
    def _of_patterns(cls, *table: Any) -> Ensemble:
        """Return the ensemble of a pattern table, whose parts are those of `_hold`."""
        ens = object.__new__(cls)
        ens._hold(*table)
        return ens

    def _freeze(self) -> None:
        for array in (self.patterns, self.row_counts, self.counts, self.row_pattern, self.first_row):
            if array is not None:
                _frozen(array)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the pattern table, not what was derived from it."""
        state = {name: getattr(self, name) for name in _STATE}
        return state if self.weighted else {**state, "counts": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if not self.weighted:
            self.counts = self.row_counts
        self._freeze()

    @property
    def numbers(self) -> Numbers:
        """What the memory that is needed comes from."""
        return super().numbers._replace(rows=0 if self.row_pattern is None else self.n_rows)

    @property
    def n_patterns(self) -> int:
        """Number of distinct rows of labels."""
        return len(self.patterns)

    @property
    def total(self) -> float:
        """Number of rows, or their total weight."""
        return float(self.counts.sum())

    @property
    def n_blocks(self) -> int:
        """Number of blocks in which the patterns come: 1."""
        return 1

    def block(self, i: int) -> Ensemble:
        """Return all patterns."""
        return self

    @cached_property
    def _overlaps(self) -> Overlaps:
        return Overlaps(self.patterns, self.n_clusters)

    @property
    def pattern_clusters(self) -> tuple[NDArray[np.int32], Ints]:
        """The clusters of all patterns, one pattern after the other, and (m + 1,) where those of each begin."""
        return self._overlaps.pattern_clusters

    @cached_property
    def incidence(self) -> sp.csr_array:
        """(m, n_clusters) sparse indicator of the clusters of each pattern."""
        clusters, first = self.pattern_clusters
        return sp.csr_array((np.ones(len(clusters)), clusters, first), shape=(self.n_patterns, self.n_clusters))

    def scaled_cooccurrence(self, scale: Floats | Ints) -> sp.csr_array:
        """Return the sum over patterns of scale[pattern] times the outer product of the pattern's cluster indicator."""
        if self.n_clusters <= DENSE_CLUSTERS:
            return self._overlaps.dense(scale)
        require_memory(
            BYTES_PER_OVERLAP * self.expected_overlaps,
            f"The co-occurrence of {self.n_clusters:,} clusters",
            USE_NO_GRAPH,
        )
        return self._overlaps.sparse(scale)

    @cached_property
    def expected_overlaps(self) -> float:
        """About how many pairs of clusters share rows, told by some clusters; all possible ones where these are few."""
        if "cooccurrence" in self.__dict__:
            return float(self.cooccurrence.nnz)
        possible = super().expected_overlaps
        if possible <= self.patterns.size:
            return possible
        return self._overlaps.estimate()

    @property
    def keeps_overlaps(self) -> bool:
        """Whether `overlaps` keeps the co-occurrence: it is there already, or small beside the memory there is."""
        small = self.n_clusters <= DENSE_CLUSTERS or "cooccurrence" in self.__dict__
        return small or BYTES_PER_OVERLAP * self.expected_overlaps <= available_memory() / 8

    def overlaps(self) -> Iterator[tuple[int, sp.csr_array]]:
        """Yield the co-occurrence as it is, or, where it is large and not there yet, some lines at a time."""
        if self.keeps_overlaps:
            yield 0, self.cooccurrence
        else:
            yield from self._overlaps.some_at_a_time(self.counts)

    @cached_property
    def cluster_sizes(self) -> Ints | Floats:
        """(n_clusters,) number of rows (or their weight) of each cluster."""
        sizes: Any = np.zeros(self.n_clusters, dtype=self.counts.dtype)
        for ids in self.patterns.T:
            np.add.at(sizes, ids[ids >= 0], self.counts[ids >= 0])
        return _frozen(sizes)

    def degrees(self, influence: Floats) -> Floats:
        """(m,) sum of the influence (n_clusters,) of the clusters of each pattern."""
        total = np.empty(self.n_patterns)
        _kernels.row_hashing.add_influence(self.patterns, influence, total)
        return total

    def select(self, members: Iterable[int | str]) -> Ensemble:
        """Return the ensemble of some members, given by position or name."""
        positions = [self._position(member) for member in members]
        if not positions:
            raise QuorateError("select needs at least one member.")
        if len(set(positions)) < len(positions):
            raise QuorateError("select names a member twice; name each member once.")
        ids = self.patterns[:, positions]
        codes = np.where(ids >= 0, ids - self._offsets[positions].astype(np.int32), np.int32(-1))
        columns = [CodeColumn(codes[:, i], len(self.levels[j])) for i, j in enumerate(positions)]
        grouping = group_rows(columns, self.n_patterns)
        first_row = None
        if self.first_row is not None:
            first_row = np.full(len(grouping.codes), self.n_rows, dtype=np.int64)
            np.minimum.at(first_row, grouping.row_pattern, self.first_row)
        selected = Ensemble._of_patterns(
            tuple(self.names[j] for j in positions),
            self.noise,
            tuple(self.levels[j] for j in positions),
            grouping.codes,
            _sums(grouping, self.row_counts),
            _sums(grouping, self.counts) if self.weighted else None,
            None if self.row_pattern is None else grouping.row_pattern[self.row_pattern],
            first_row,
        )
        if "cooccurrence" in self.__dict__ and not self.weighted:  # sums of weights would differ in their last bits
            self._hand_down(selected, positions)
        return selected

    def _hand_down(self, selected: Ensemble, positions: list[int]) -> None:
        """Give the ensemble of some members what is known of them already."""
        kept = np.concatenate([np.arange(self._offsets[j], self._offsets[j + 1]) for j in positions])
        selected.cooccurrence = among(self.cooccurrence, kept)
        selected.cooccurrence.sort_indices()
        if "cluster_sizes" in self.__dict__:
            selected.cluster_sizes = _frozen(self.cluster_sizes[kept])
        if "coverage" in self.__dict__:
            selected.coverage = self.coverage[np.ix_(kept, np.array(positions))]
        in_order = positions == sorted(positions)  # sums over two members in the other order differ in their last bits
        for what, known in list(self.derived.items()):
            if isinstance(known, OfClusters):
                selected.derived[what] = known.among(kept)
            elif isinstance(known, OfMembers) and in_order:
                selected.derived[what] = known.of_members(np.array(positions))

    def merge(self, other: Ensemble) -> Ensemble:
        """Return the ensemble of the rows of both: more rows of the same members.

        Neither's rows are read again, only their patterns. Where both know their rows, those of `other` come last.

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
            raise QuorateError(f"merge needs an Ensemble; got {type(other).__name__}. Pass Ensemble(labels).")
        if set(other.names) != set(self.names):
            differing = sorted(set(other.names) ^ set(self.names))
            raise QuorateError(
                f"merge needs the same members in both ensembles; only one has {', '.join(map(repr, differing[:5]))}. "
                "Give members the same names, or leave some out with select."
            )
        if other.noise != self.noise:
            raise QuorateError(
                f"merge needs the same noise in both ensembles; got {self.noise!r} and {other.noise!r}. "
                "Build both with the same setting."
            )
        both = (self, other if other.names == self.names else other.select(self.names))
        merged, line_pattern = from_lines(join_lines(*(ens.lines() for ens in both)), noise=self.noise)
        first, last = (ens.row_pattern for ens in both)
        if first is not None and last is not None:
            merged._set_rows(line_pattern[np.concatenate([first, self.n_patterns + last])])
        return merged

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
        rows = self.require_rows("add_members")
        added = self._as_new_members(labels, names)
        if added.n_rows != self.n_rows:
            raise QuorateError(
                f"add_members needs labels of the same {self.n_rows} rows; got {added.n_rows} rows. "
                "Pass one label per row, None where a new member says nothing."
            )
        if self.weighted or added.weighted:
            raise QuorateError(
                "add_members cannot tell the weight of single rows apart. Build the ensemble anew with row_weights."
            )
        others = added.require_rows("add_members")
        pairs = group_rows([CodeColumn(rows, self.n_patterns), CodeColumn(others, added.n_patterns)], self.n_rows)
        own, new = self.lines(), added.lines()
        vectors = [vector[pairs.codes[:, 0]] for vector in own.vectors]
        vectors += [vector[pairs.codes[:, 1]] for vector in new.vectors]
        lines = Lines([*own.names, *new.names], vectors, np.bincount(pairs.row_pattern))
        grown, line_pattern = from_lines(lines, noise=self.noise)
        grown._set_rows(line_pattern[pairs.row_pattern])
        return grown

    def _as_new_members(self, labels: Any, names: Sequence[str] | None) -> Ensemble:
        if isinstance(labels, Ensemble):
            return labels
        vectors, source_names = split_members(labels)
        counted_on = [f"member_{self.n_members + j}" for j in range(len(vectors))]
        return Ensemble(vectors, names=names or source_names or counted_on, noise=self.noise)

    def lines(self) -> Lines:
        """Return the patterns as counted lines of labels."""
        vectors = [labels_at(self._codes(j), levels) for j, levels in enumerate(self.levels)]
        weights = self.counts.astype(np.float64) if self.weighted else None
        return Lines(self.names, vectors, self.row_counts, weights)

    def _set_rows(self, row_pattern: NDArray[np.int32]) -> None:
        """Store the pattern of each row, and each pattern's first row."""
        first_row = np.full(self.n_patterns, self.n_rows, dtype=np.int64)
        np.minimum.at(first_row, row_pattern, np.arange(self.n_rows))
        self.row_pattern, self.first_row = _frozen(row_pattern), _frozen(first_row)

    def _codes(self, member: int) -> NDArray[np.int32]:
        """(m,) position of each pattern's label among the member's levels, -1 for missing."""
        ids = self.patterns[:, member]
        return np.where(ids >= 0, ids - np.int32(self._offsets[member]), np.int32(-1))

    def _position(self, member: int | str) -> int:
        if isinstance(member, str):
            if member not in self.names:
                raise QuorateError(f"There is no member named {member!r}.{nearest_name(member, self.names)}")
            return self.names.index(member)
        if not -self.n_members <= member < self.n_members:
            raise QuorateError(
                f"There is no member {member}; the ensemble has {self.n_members} members, counted from 0."
            )
        return int(member) % self.n_members

    def require_rows(self, what: str) -> NDArray[np.int32]:
        """Return `row_pattern`, or say that `what` needs it."""
        if self.row_pattern is None:
            raise QuorateError(f"{what} needs the rows, but this ensemble was built from a table of patterns.")
        return self.row_pattern

    def cluster_ids(self, labels: Any) -> NDArray[np.int32]:
        """Return (rows, M) cluster ids of new rows labeled by the same members; labels never seen count as missing."""
        vectors, names = split_members(labels)
        if names is not None and self.names != check_names(None, self.n_members):
            if not set(self.names) <= set(names):
                raise QuorateError(
                    f"The members are {', '.join(self.names)}, but the columns of the new labels {', '.join(names)}. "
                    "Name them alike, or pass an array with the members in order."
                )
            vectors = [vectors[names.index(name)] for name in self.names]
        if len(vectors) != self.n_members:
            raise QuorateError(f"The ensemble has {self.n_members} members, but the new labels have {len(vectors)}.")
        ids = np.full((len(vectors[0]), self.n_members), -1, dtype=np.int32)
        for j, (vector, name, levels) in enumerate(zip(vectors, self.names, self.levels, strict=True)):
            code = known_codes(vector, name, self.noise, levels)
            ids[:, j] = np.where(code >= 0, code + self._offsets[j], -1)
        return ids

    def find_patterns(self, cluster_ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the pattern with exactly these cluster ids, for each row, or -1 if there is none."""
        return find_rows(self.patterns, [self.n_clusters] * self.n_members, cluster_ids)

    def __repr__(self) -> str:
        sizes = f"n_rows={self.n_rows}, n_members={self.n_members}, n_clusters={self.n_clusters}"
        return f"Ensemble({sizes}, n_patterns={self.n_patterns})"

    def _repr_html_(self) -> str:
        """Return a card for notebooks: sizes, and the members with their clusters and the share of rows they label."""
        counts = self.counts.astype(np.float64)
        labeled = [Share(counts[self.patterns[:, j] >= 0].sum() / counts.sum()) for j in range(self.n_members)]
        facts = [
            (self.n_rows, "rows"),
            (self.n_members, "members"),
            (self.n_clusters, "clusters in all"),
            (self.n_patterns, "distinct rows of labels"),
        ]
        rows = [
            (name, len(levels), share) for name, levels, share in zip(self.names, self.levels, labeled, strict=True)
        ]
        return card("Ensemble", facts, ("member", "clusters", "rows labeled"), rows)


_STATE = ["names", "noise", "n_rows", "levels", "patterns", "row_counts", "weighted", "counts"]
_STATE += ["row_pattern", "first_row"]


def as_ensemble(labels: Any) -> Ensemble:
    """Return `labels` if it is an Ensemble, else the Ensemble of it."""
    return labels if isinstance(labels, Ensemble) else Ensemble(labels)


def as_clusterings(labels: Any) -> Clusterings:
    """Return `labels` if clusterings are what it is, wherever its patterns are kept, else the Ensemble of it."""
    return labels if isinstance(labels, Clusterings) else Ensemble(labels)


def from_lines(lines: Lines, *, noise: Noise = "missing") -> tuple[Ensemble, NDArray[np.int32]]:
    """Return the ensemble of counted lines of labels, and the pattern of each line."""
    names = check_names(lines.names, len(lines.vectors))
    if len(lines.row_counts) == 0:
        raise QuorateError("labels has no rows; pass at least one labeled row.")
    levels, found = group_lines(lines, noise)
    warn_of_text_noise(names, levels, noise)
    weights = None if lines.weights is None else _sums(found, lines.weights)
    row_counts = _sums(found, lines.row_counts)
    return Ensemble._of_patterns(names, noise, levels, found.codes, row_counts, weights), found.row_pattern


def _sums(grouping: Grouping, values: Any) -> Any:
    """(m,) the sum of the values of the rows of each pattern, of the same type."""
    return np.bincount(grouping.row_pattern, weights=values, minlength=len(grouping.codes)).astype(values.dtype)


def _frozen(array: Any) -> Any:
    array.setflags(write=False)
    return array
