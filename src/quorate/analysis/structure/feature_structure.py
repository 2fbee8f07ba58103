"""Is there cluster structure in the features? Tests of a clustering, cluster by cluster and as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import linkage
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform

from quorate._utils.array_types import Floats, Ints, Labels
from quorate.algorithms.base import ConsensusMethod
from quorate.analysis.structure.consensus_cuts import cuts_of_rows
from quorate.analysis.structure.dip_test import holm, simes
from quorate.analysis.structure.separation import SMALLEST_CLUSTER, separation_p_value, spread_ties
from quorate.analysis.structure.wording import describe_feature_structure
from quorate.ensemble import Ensemble, as_ensemble
from quorate.errors import InputError

LEVEL = 0.05
"""The family-wise level of significance."""
_SAMPLE, _LARGEST_SAMPLE = 20_000, 200_000
_ROWS_OF_SMALLEST = 100  # in the sample, where the table has them
_EXAMINED = 10_000
_BLOCK = 1 << 16
_TINY = 1e-12


@dataclass(frozen=True)
class Node:
    """A node of the tree of clusters: two groups of clusters, and whether they are separated."""

    left: tuple[Any, ...]
    right: tuple[Any, ...]
    """The labels of the clusters of the two groups."""
    closest: tuple[Any, Any]
    """The clusters that were tested: the closest pair of one cluster from each group."""
    size: int
    """Rows below the node."""
    p_value: float | None
    """Dip test of the closest pair; None if one of the two is too small to be tested."""
    adjusted_p_value: float | None
    """The p-value adjusted for all nodes: any false split has at most the probability 0.05 (family-wise)."""
    verdict: str
    """One of "separated", "not significant" and "too small"."""


@dataclass(frozen=True)
class Structure:
    """Whether the features have clusters, and which clusters are separated."""

    p_value: float
    """For the hypothesis that the rows have no clusters at all."""
    nodes: tuple[Node, ...]
    """The tree of the clusters, from the top; empty for a single cluster. `pandas.DataFrame(nodes)` is a table."""
    clusters: tuple[Any, ...]
    """The labels of the clusters."""
    sampled: bool
    """Whether the tests used a sample of the rows."""
    testable: bool
    """Whether any two clusters have enough rows for a test."""

    @property
    def verdict(self) -> str:
        """One of "clear", "none" (no significant gap) and "unknown" (too few rows)."""
        if not self.testable:
            return "unknown"
        return "clear" if self.p_value < LEVEL else "none"

    @property
    def n_clusters(self) -> int:
        """Number of clusters that were tested."""
        return len(self.clusters)

    @property
    def groups(self) -> dict[Any, int]:
        """The group of each cluster after clusters without a significant gap are merged."""
        position = {label: i for i, label in enumerate(self.clusters)}
        joined = [node.closest for node in self.nodes if node.verdict == "not significant"]
        ends = [[position[pair[end]] for pair in joined] for end in (0, 1)]
        links = sp.coo_array((np.ones(len(joined)), (ends[0], ends[1])), shape=(self.n_clusters, self.n_clusters))
        return dict(zip(self.clusters, connected_components(links, directed=False)[1].tolist(), strict=True))

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        return describe_feature_structure(self)


def structure(X: Any, labels: Any) -> Structure:
    """Test whether rows form clusters, and which clusters of a clustering are separated.

    Two clusters are tested by the dip of their rows along the axis between them. The clusters form a tree (single
    linkage of their means, in units of their spread). At every node the closest pair of clusters from its two groups is
    tested, and p-values are adjusted for all nodes, so that the family-wise error is at most 5 %. Large tables are
    tested on a sample, which is larger for smaller clusters.

    A test that is not significant does not prove that clusters are one: rings and other shapes that no line separates
    are not found, and small or close groups may be missed.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        Features of the rows, or any embedding of them.
    labels : (n_rows,) labels, Ensemble, or anything `Ensemble` takes
        One clustering (-1 marks rows without a cluster); or members, whose consensus by a graph cut (GP-MGLA) and
        by a tree (WEAC) is tested at 2 to 8 clusters (`nodes` are those of the finest graph cut).

    Examples
    --------
    >>> import numpy as np
    >>> import quorate as qt
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (100, 2)), rng.normal(6, 1, (100, 2))])
    >>> qt.structure(X, np.repeat([0, 1], 100)).sentence
    'The rows form clusters (p = 0.0001). Each cluster is significantly separated from the others.'

    References
    ----------
    J. A. Hartigan, P. M. Hartigan: The Dip Test of Unimodality. Annals of Statistics 13 (1985).
    S. Holm: A Simple Sequentially Rejective Multiple Test Procedure. Scandinavian Journal of Statistics 6 (1979).
    I. N. Grabski, K. Street, R. A. Irizarry: Significance Analysis for Clustering with Single-Cell RNA-Sequencing Data.
    Nature Methods 20 (2023).
    """
    # One label per row is a partition; anything else is an ensemble.
    if not isinstance(labels, Ensemble) and np.ndim(labels) == 1 and np.ndim(np.asarray(labels, dtype=object)[0]) == 0:
        single = Ensemble([labels])
        clusters: Labels = single.patterns[single.row_pattern, 0].astype(np.int64)
        return examine(check_rows(X, single.n_rows), [], clusters, single.levels[0].tolist())
    ens = as_ensemble(labels)
    graph, tree = cuts_of_rows(ens)
    finest = graph.pop(max(graph))
    return examine(check_rows(X, ens.n_rows), [graph, tree], finest)


def structure_of(X: Floats, fitted: ConsensusMethod, members: Ensemble | None = None) -> Structure:
    """Return the structure in the features of thinned rows, with the tree of a fitted consensus.

    Other partitions that are tested are those of its ensemble, or of other `members` of the thinned rows.
    """
    ens = fitted.ensemble_
    rows = thinned(ens.row_pattern)
    examined = members or (ens if len(rows) == ens.n_rows else Ensemble(list(ens.patterns[rows].T)))
    return examine(X, cuts_of_rows(examined), fitted.pattern_labels_[rows])


def examine(
    X: Floats, families: Sequence[Mapping[int, Labels]], answer: Labels, names: Sequence[Any] | None = None
) -> Structure:
    """Test whether the rows of X form clusters, with the tree of an answer.

    The hypothesis of no clusters is tested on the answer and on families of other partitions, with equal parts of the
    level, so that a poor answer does not hide clusters.

    Parameters
    ----------
    X : (n, d)
    families : mappings from numbers of clusters to (n,) labels
        Other partitions of the same rows, one family per method; -1 marks rows without a cluster.
    answer : (n,) labels
        The clusters of the tree, from 0 on.
    names : the caller's labels of these clusters, by number; the numbers by default
    """
    sample = _Sample(X)
    tree = _tested_tree(sample, answer)
    trees = [[tree], *([_tested_tree(sample, labels) for labels in family.values()] for family in families)]
    p_values = [[p for edges in family for *_, p in edges if p is not None] for family in trees]
    # Equal parts of the level for each family, however many partitions it has.
    combined = [simes(of_family) for of_family in p_values if of_family]
    p_value = min(1.0, len(combined) * min(combined)) if combined else 1.0
    names = range(int(answer.max(initial=-1)) + 1) if names is None else names
    nodes = _nodes(tree, np.bincount(answer[answer >= 0]), max(len(combined), 1), names)
    return Structure(p_value, nodes, tuple(names), sample.partial, bool(combined))


_Edge = tuple[tuple[int, ...], tuple[int, ...], tuple[int, int], float | None]


def _tested_tree(sample: _Sample, labels: Labels) -> list[_Edge]:
    """Return the nodes of the tree of clusters from the top: both groups, their closest pair, and its p-value.

    Single linkage joins groups by their closest pair, so every node has a pair of its own.
    """
    present = np.unique(labels[labels >= 0])
    if len(present) < 2:
        return []
    # Codes without gaps, -1 for rows without a cluster.
    codes = np.where(labels >= 0, np.searchsorted(present, labels), -1)
    counts, means, spreads = _moments(sample.X, codes, len(present))
    # Distance of means in units of their spread: what a test can separate.
    apart = np.linalg.norm(means[:, None] - means[None], axis=2) / np.sqrt(spreads[:, None] + spreads[None] + _TINY)
    np.fill_diagonal(apart, 0.0)
    sample.draw(int(counts.min()))  # the largest sample first, of which others are a part
    groups: list[tuple[int, ...]] = [(i,) for i in range(len(present))]
    tree: list[_Edge] = []
    for left, right in linkage(squareform(apart, checks=False), "single")[:, :2].astype(np.int64):
        between = apart[np.ix_(groups[left], groups[right])]
        at = np.unravel_index(np.argmin(between), between.shape)
        pair = groups[left][at[0]], groups[right][at[1]]
        rows = sample.draw(int(counts[list(pair)].min()))
        p_value = separation_p_value(rows, codes[sample.order[: len(rows)]], pair, means)
        left_labels, right_labels = (tuple(present[list(groups[group])].tolist()) for group in (left, right))
        tree.append((left_labels, right_labels, (int(present[pair[0]]), int(present[pair[1]])), p_value))
        groups.append(groups[left] + groups[right])
    return tree[::-1]


def _nodes(tree: Sequence[_Edge], counts: Ints, n_families: int, names: Sequence[Any]) -> tuple[Node, ...]:
    """Return the nodes of a tested tree, with p-values adjusted for all of them.

    Not from the top down: the top node is the widest gap of the tree, so its p-value is the smallest of many.
    """
    tested = [i for i, (*_, p_value) in enumerate(tree) if p_value is not None]
    adjusted = dict(zip(tested, holm([tree[i][3] or 0.0 for i in tested], n_families), strict=True))
    nodes = []
    for i, (left, right, closest, p_value) in enumerate(tree):
        size = int(counts[list(left + right)].sum())
        verdict = "too small" if p_value is None else "separated" if adjusted[i] < LEVEL else "not significant"
        left_names, right_names, pair = (tuple(names[label] for label in labels) for labels in (left, right, closest))
        nodes.append(Node(left_names, right_names, (pair[0], pair[1]), size, p_value, adjusted.get(i), verdict))
    return tuple(nodes)


class _Sample:
    """The rows that tests use, with ties spread: all rows of a small table, else a random sample."""

    def __init__(self, X: Floats) -> None:
        """Prepare samples of X, of shape (n, d)."""
        self.X = X
        self.partial = len(X) > _SAMPLE
        self.order = np.random.default_rng(0).permutation(len(X)) if self.partial else np.arange(len(X))
        self._drawn = np.empty((0, X.shape[1]))

    def draw(self, n_smallest: int) -> Floats:
        """Return some rows, the first of `order`, that are enough to test a cluster of `n_smallest` rows.

        All clusters are sampled at the same rate: a change of rate at a boundary would look like a gap.
        """
        n_rows = len(self.X)
        if self.partial:
            enough = -(-_ROWS_OF_SMALLEST * n_rows // max(n_smallest, SMALLEST_CLUSTER))
            n_rows = min(n_rows, max(_SAMPLE, min(enough, _LARGEST_SAMPLE)))
        if n_rows > len(self._drawn):
            self._drawn = spread_ties(np.asarray(self.X[self.order[:n_rows]], dtype=np.float64))
        return self._drawn[:n_rows]


def _moments(X: Floats, labels: Labels, k: int) -> tuple[Ints, Floats, Floats]:
    """Return the sizes (k,), means (k, d) and mean variances (k,) of clusters."""
    counts = np.bincount(labels[labels >= 0], minlength=k)
    means, spreads = np.zeros((k, X.shape[1])), np.zeros(k)
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(X), _BLOCK)]
    for block in blocks:
        rows = np.flatnonzero(labels[block] >= 0)
        indicator = sp.csr_array((np.ones(len(rows)), (labels[block][rows], rows)), shape=(k, len(labels[block])))
        means += indicator @ X[block].astype(np.float64)
    # Two passes: means first, because squared deviations need them.
    means /= counts[:, None]
    for block in blocks:
        inside = labels[block] >= 0
        clusters = labels[block][inside]
        squared = np.sum((X[block][inside] - means[clusters]) ** 2, axis=1)
        spreads += np.bincount(clusters, weights=squared, minlength=k)
    return counts, means, spreads / (counts * X.shape[1])


def thinned(rows: Any) -> Any:
    """Return at most 10,000 rows at even steps, as an array."""
    sample = rows[:: -(-rows.shape[0] // _EXAMINED)]
    return sample.toarray() if hasattr(sample, "toarray") else np.array(sample)


def check_rows(X: Any, n_rows: int) -> Floats:
    """Return features as a matrix of floating-point numbers with `n_rows` rows; raise an error if they are not."""
    try:
        matrix = np.asarray(X)
        if matrix.dtype != np.float32:
            matrix = matrix.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise InputError(
            "must be numeric, rows x features.", code="not-numeric", parameter="X", hint="Drop text columns."
        ) from None
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2 or len(matrix) != n_rows:
        raise InputError(
            f"must have {n_rows} rows, like the labels; got shape {matrix.shape}.", code="row-count", parameter="X"
        )
    if not np.isfinite(matrix).all():
        hint = "Fill or drop these values first."
        raise InputError("contains missing or infinite values.", code="missing-features", parameter="X", hint=hint)
    return matrix
