"""Ensembles with soft members: memberships of rows in clusters next to labels.

A soft member gives every row a share of each of its clusters, as Gaussian mixtures, fuzzy c-means and topic models do.
Graph methods and voting need the memberships only through sums over rows, so one pass over them is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_choice
from quorate.ensemble import Ensemble, ensemble_of_patterns, pattern_codes, sum_by_pattern
from quorate.errors import InputError
from quorate.label_checks import warn_of_text_noise
from quorate.labels import (
    CountedLabels,
    Noise,
    Vector,
    as_narwhals,
    check_names,
    check_row_weights,
    count_in_units,
    split_members,
)
from quorate.patterns import CodeColumn, group_labels, group_rows

_TOLERANCE = 0.01  # by which a row of memberships may differ from 1, as values with two or three decimals do
_SEPARATORS = "_-. "


Memberships = tuple[Vector, Floats]
"""The clusters of a soft member, and (n, k) the membership of each row in each of them."""


class SoftEnsemble(Ensemble):
    """Clusterings of the same rows, some of which give memberships instead of labels.

    Graph methods (HBGF, LWGP, GP-MGLA, CSPA), cumulative voting, the mixture model and the default use `memberships`;
    other methods refuse. Everything else, such as confidence and the description of clusters, uses the cluster of
    largest membership (`patterns`). Rows are only merged into one pattern if their memberships are equal, so that an
    ensemble usually has as many patterns as rows.

    Parameters
    ----------
    members : list or dictionary
        One item per member, under its name in a dictionary: (n,) labels, or (n, k) memberships. Memberships are not
        negative, and every row sums to 1 (within 0.01; rows are divided by their sum); a row of NaN or zeros is a
        missing label.
    names : sequence of str, optional
        One name per member. Default: the dictionary's keys, or "member_0", "member_1", ...
    noise : {"missing", "cluster", "singletons"}, default "missing"
        What negative integer labels mean, as in `Ensemble`.
    row_weights : (n,) array of positive numbers, optional
        Weights of the rows, as in `Ensemble`.

    Examples
    --------
    >>> import quorate as qt
    >>> import numpy as np
    >>> sure = np.array([[1.0, 0.0], [0.9, 0.1], [0.4, 0.6], [0.0, 1.0]])
    >>> ens = qt.SoftEnsemble({"kmeans": [0, 0, 1, 1], "mixture": sure})
    >>> ens
    SoftEnsemble(n_rows=4, n_members=2, n_clusters=4, n_patterns=4)
    >>> qt.consensus(ens, 2, method="hbgf").labels
    array([0, 0, 1, 1])
    """

    memberships: sp.csr_array
    """(m, n_clusters) membership of each pattern's rows in each cluster, summing to 1 for every member with a label."""

    def __init__(
        self,
        members: Any,
        *,
        names: Sequence[str] | None = None,
        noise: Noise = "missing",
        row_weights: Any = None,
    ) -> None:
        if isinstance(members, Mapping):
            names, members = list(members) if names is None else names, list(members.values())
        if not isinstance(members, list | tuple) or not members:
            raise InputError(
                "must be a list or a dictionary with one item per member: (n,) labels or (n, k) memberships.",
                code="soft-members",
                parameter="members",
            )
        check_choice("noise", noise, ("missing", "cluster", "singletons"))
        names = check_names(names, len(members))
        # Members with labels stay labels; the others become memberships.
        soft = {j: _memberships(item, name) for j, (item, name) in enumerate(zip(members, names, strict=True))}
        vectors = split_members([members[j] for j in soft if soft[j] is None])[0]
        sizes = {len(member[1]) for member in soft.values() if member is not None} | set(map(len, vectors))
        if len(sizes) > 1:
            raise InputError(
                f"All members must have the same rows; they have {' and '.join(map(str, sorted(sizes)))}.",
                code="row-count",
                parameter="members",
                hint="Use NaN or None where a member has no label for a row.",
            )
        n_rows = sizes.pop()
        weights = None
        if row_weights is not None:
            weights, self.weight_unit = count_in_units(check_row_weights(row_weights, n_rows))
        rows = np.arange(n_rows, dtype=np.int32)
        self._build(names, noise, vectors, soft, np.ones(n_rows, int), weights, rows)

    def _build(
        self,
        names: tuple[str, ...],
        noise: Noise,
        vectors: Sequence[Vector],
        soft: Mapping[int, Memberships | None],
        row_counts: Ints,
        weights: Floats | Ints | None,
        row_line: NDArray[np.int32] | None,
    ) -> NDArray[np.int32]:
        """Store the members, of which those without memberships in `soft` have label vectors.

        Returns the pattern of each line.
        """
        hard = [j for j in soft if soft[j] is None]
        labeled = _coded(vectors, [names[j] for j in hard], noise)
        levels: list[Vector] = []
        codes, blocks = np.empty((len(row_counts), len(names)), dtype=np.int32), []
        for j, member in soft.items():
            if member is None:
                own_levels, codes[:, j] = labeled[hard.index(j)]
                levels.append(own_levels)
                blocks.append(_one_hot(codes[:, j], len(levels[-1])))
            else:
                levels.append(member[0])
                # A first column of 0 keeps argmax defined for a member without any label.
                codes[:, j] = np.argmax(np.pad(member[1], ((0, 0), (1, 0))), axis=1) - 1
                blocks.append(sp.csr_array(member[1]))
        table = tuple(levels), codes, sp.hstack(blocks, "csr")
        return self._group(names, noise, *table, row_counts, weights, row_line)

    def _group(
        self,
        names: tuple[str, ...],
        noise: Noise,
        levels: tuple[Vector, ...],
        codes: NDArray[np.int32],
        memberships: sp.csr_array,
        row_counts: Ints,
        weights: Any,
        row_line: NDArray[np.int32] | None,
    ) -> NDArray[np.int32]:
        """Merge equal lines of memberships to patterns, and store them; `row_line` is the line of each row.

        Returns the pattern of each line.
        """
        columns = [CodeColumn(codes[:, j], len(levels[j])) for j in range(len(names))]
        # Lines are equal if all memberships are: each value is one more code. Those of labels follow from the label.
        by_column, starts = sp.csc_array(memberships), np.cumsum([0, *map(len, levels)])
        for j in range(len(names)):
            block = sp.csc_array(by_column[:, starts[j] : starts[j + 1]])
            # Memberships of labels follow from the label, so that they need no code of their own.
            if not np.isin(block.data, [0.0, 1.0]).all():
                for c in range(block.shape[1]):
                    values, code = np.unique(block[:, [c]].toarray().ravel(), return_inverse=True)
                    columns.append(CodeColumn(code.astype(np.int32), len(values)))
        grouping = group_rows(columns, len(codes))
        row_pattern = first_row = None
        if row_line is not None:
            row_pattern = grouping.row_pattern[row_line]
            first_row = np.unique(row_pattern, return_index=True)[1]
        self.memberships = memberships[grouping.first_row]
        own_codes = np.ascontiguousarray(grouping.codes[:, : len(names)])
        sums = None if weights is None else sum_by_pattern(grouping, weights)
        self._store(names, noise, levels, own_codes, sum_by_pattern(grouping, row_counts), sums, row_pattern, first_row)
        return grouping.row_pattern

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "memberships": self.memberships}

    def cooccurrence_within(self, scale: Floats | Ints) -> sp.csr_array:
        """(n_clusters, n_clusters) sum over patterns of `scale` times the outer product of their memberships."""
        scaled = self.memberships.T @ sp.diags_array(np.asarray(scale, dtype=np.float64))
        return sp.csr_array(scaled @ self.memberships)

    @cached_property
    def cooccurrence(self) -> sp.csr_array:
        """(n_clusters, n_clusters) sparse: expected number (or weight) of the rows that two clusters share.

        Diagonal blocks hold the cluster sizes, the other blocks the contingency tables of two members.
        """
        # Rows shared within a member are not overlaps: clusters of a member exclude each other.
        shared = self.cooccurrence_within(self.counts).tocoo()
        row, column = shared.coords
        between = self.cluster_member[row] != self.cluster_member[column]
        contingency = sp.coo_array((shared.data[between], (row[between], column[between])), shape=shared.shape)
        total = sp.csr_array(contingency + sp.diags_array(self.cluster_sizes))
        total.sort_indices()
        return total

    @cached_property
    def cluster_sizes(self) -> Floats:
        """(n_clusters,) sum of the memberships of all rows in each cluster."""
        return np.asarray(self.memberships.T @ self.counts.astype(np.float64))

    @cached_property
    def most_likely(self) -> tuple[Ensemble, Ints]:
        """The ensemble of the clusters of largest membership, and (m,) the pattern in it of each pattern."""
        codes = pattern_codes(self)
        columns = [CodeColumn(codes[:, j], len(levels)) for j, levels in enumerate(self.levels)]
        grouping = group_rows(columns, len(codes))
        counts = sum_by_pattern(grouping, self.row_counts)
        weights = sum_by_pattern(grouping, self.counts.astype(np.float64)) if self.weighted else None
        ens = ensemble_of_patterns(self.names, self.noise, self.levels, grouping.codes, counts, weights)
        ens.weight_unit = self.weight_unit
        return ens, grouping.row_pattern.astype(np.int64)

    @property
    def _keeps_cooccurrence(self) -> bool:
        return True

    def select(self, members: Iterable[int | str]) -> SoftEnsemble:
        """Return the ensemble of some members, given by position or name."""
        positions = [self.member_index(member) for member in members]
        if not positions or len(set(positions)) < len(positions):
            raise InputError("select needs at least one member, each once.", code="no-members")
        clusters = np.concatenate([np.arange(*self.cluster_offsets[j : j + 2]) for j in positions])
        selected = object.__new__(SoftEnsemble)
        selected.weight_unit = self.weight_unit
        selected._group(
            tuple(self.names[j] for j in positions),
            self.noise,
            tuple(self.levels[j] for j in positions),
            pattern_codes(self)[:, positions],
            sp.csr_array(self.memberships[:, clusters]),
            self.row_counts,
            self.counts if self.weighted else None,
            self.row_pattern if self.has_rows else None,
        )
        return selected

    def merge(self, other: Ensemble) -> NoReturn:
        """Refuse: memberships are not merged."""
        raise _refuse("merge")

    def add_members(self, labels: Any, *, names: Sequence[str] | None = None) -> NoReturn:
        """Refuse: memberships are not merged."""
        raise _refuse("add_members")

    def __repr__(self) -> str:
        return f"Soft{super().__repr__()}"


def from_counted_memberships(
    counted: CountedLabels, soft: Mapping[str, Memberships], *, noise: Noise = "missing", are_rows: bool = False
) -> tuple[SoftEnsemble, NDArray[np.int32]]:
    """Return the ensemble of labels and memberships with row counts, and the pattern of each of their lines.

    Members with labels come first, then those with (checked) memberships. If the lines are the rows, the ensemble keeps
    the pattern of each.
    """
    names = check_names((*counted.names, *soft), len(counted.names) + len(soft))
    members = dict(enumerate([*[None] * len(counted.names), *soft.values()]))
    ens = object.__new__(SoftEnsemble)
    rows = np.arange(len(counted.row_counts), dtype=np.int32) if are_rows else None
    return ens, ens._build(names, noise, counted.vectors, members, counted.row_counts, None, rows)


def refuse_soft(ens: Any, action: str) -> None:
    """Raise an error if an ensemble has soft members."""
    if isinstance(ens, SoftEnsemble):
        raise _refuse(action)


def _refuse(action: str) -> InputError:
    return InputError(
        f"{action} does not take soft members.",
        code="soft-members",
        hint="Use labels instead: the cluster of largest membership of each row, memberships.argmax(axis=1).",
    )


def _coded(vectors: Sequence[Vector], names: Sequence[str], noise: Noise) -> list[tuple[Vector, NDArray[np.int32]]]:
    """Return the levels of each label vector, and (n,) the code of each row."""
    if not vectors:
        return []
    levels, grouping = group_labels(vectors, names, noise)
    warn_of_text_noise(names, levels, noise)
    codes = grouping.codes[grouping.row_pattern]
    return [(of_member, codes[:, j]) for j, of_member in enumerate(levels)]


def _one_hot(codes: NDArray[np.int32], n_clusters: int) -> sp.csr_array:
    """(n, n_clusters) indicator of the cluster of each row; none for -1."""
    labeled = np.flatnonzero(codes >= 0)
    return sp.csr_array((np.ones(len(labeled)), (labeled, codes[labeled])), shape=(len(codes), n_clusters))


def _memberships(item: Any, name: str) -> Memberships | None:
    """Return the clusters and the checked memberships (n, k) of a member; None if it has labels instead."""
    if getattr(item, "ndim", 1) != 2 and not hasattr(item, "columns"):
        return None
    frame = as_narwhals(item)
    levels = cluster_names(list(map(str, frame.columns)))[1] if hasattr(frame, "columns") else None
    dense = frame.to_numpy() if hasattr(frame, "to_numpy") else item.toarray() if sp.issparse(item) else item
    return check_memberships(dense, name, levels)


def _first_row(positions: Ints) -> tuple[int, str]:
    return positions[0], f"row {positions[0]}"


FirstRow = Callable[[Ints], tuple[int, str]]
"""Which of some positions comes first in the table, and the name of its row in messages."""


def check_memberships(
    dense: Any, name: str, levels: Vector | None = None, first_row: FirstRow = _first_row
) -> Memberships:
    """Return the clusters of a member and its memberships (n, k), divided by the sums of their rows.

    Clusters without any row are dropped.
    """
    try:
        values = np.array(dense, dtype=np.float64)
    except (TypeError, ValueError):
        raise invalid_memberships(f"must be numbers; member {name!r} has other values") from None
    missing = np.isnan(values).all(axis=1)
    values[missing] = 0.0
    wrong = np.flatnonzero(~(values >= 0).all(axis=1) | np.isinf(values).any(axis=1))
    if len(wrong):
        position, row = first_row(wrong)
        cells = ", ".join(f"{value:.6g}" for value in values[position][:4])
        raise invalid_memberships(f"must be at least 0; {row} has {cells} in member {name!r}")
    total = values.sum(axis=1)
    wrong = np.flatnonzero((np.abs(total - 1) > _TOLERANCE) & (total > 0))
    if len(wrong):
        position, row = first_row(wrong)
        raise invalid_memberships(f"must sum to 1 in every row; {row} sums to {total[position]:.6g} in member {name!r}")
    # Rows must sum to 1 exactly; rounded values do not.
    values /= np.where(total > 0, total, 1.0)[:, None]
    used = np.flatnonzero(values.any(axis=0))
    return used if levels is None else levels[used], values[:, used]


def memberships_of_columns(columns: Mapping[str, Vector], name: str, first_row: FirstRow = _first_row) -> Memberships:
    """Return the clusters and the checked memberships of a member, given by its columns in a table."""
    shares = [np.ma.filled(np.ma.asarray(column).astype(np.float64), np.nan) for column in columns.values()]
    return check_memberships(np.column_stack(shares), name, cluster_names(list(columns))[1], first_row)


def cluster_names(columns: Sequence[str]) -> tuple[str, NDArray[Any]]:
    """Return the common beginning of the columns of a soft member, and the names of its clusters: what follows.

    Numbers become integers: "gmm_0" and "gmm_1" are the clusters 0 and 1 of "gmm".
    """
    # What the first and the last column in the order of text share, all columns share.
    pairs = zip(min(columns), max(columns), strict=False)
    start = "".join(first for first, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)).rstrip("0123456789")
    numbers = [name[len(start) :] for name in columns]
    if all(number.isdecimal() for number in numbers) and len(set(map(int, numbers))) == len(numbers):
        return start.rstrip(_SEPARATORS), np.array([int(number) for number in numbers])
    # Words are cut at a separator, so that they stay whole: "topic_spa" and "topic_sport" begin with "topic".
    start = start[: max(start.rfind(separator) for separator in _SEPARATORS) + 1]
    return start.rstrip(_SEPARATORS), np.array([name[len(start) :] for name in columns], dtype=object)


def invalid_memberships(problem: str) -> InputError:
    """Return the error for memberships that cannot be used."""
    return InputError(
        f"Memberships {problem}.",
        code="memberships",
        hint="Divide each row by its sum, and use missing values or zeros for rows without a cluster.",
    )
