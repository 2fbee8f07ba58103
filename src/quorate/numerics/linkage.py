"""Agglomeration of patterns into a dendrogram with exact cuts (paper, section 6.1).

Average and single link work on sparse histograms and inverted lists, in memory linear in the ensemble, and give the
dendrogram of the full matrix of rows. So does average link through similar clusters, except for ties. Complete link,
and any other similarity, needs the matrix over patterns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from math import isqrt
from typing import Literal

import numpy as np
import scipy.sparse as sp

from quorate import _kernels
from quorate._runtime import threads
from quorate._runtime.memory import USE_NO_MATRIX, require_memory
from quorate._runtime.time_limit import Pace
from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_integer
from quorate._utils.notebook_html import Share, card
from quorate._utils.numbering import number_by_size
from quorate.ensemble import Ensemble, equal_rows, pattern_degrees
from quorate.errors import QuorateWarning
from quorate.numerics.average_link import (
    NO_TREE,
    ROWS_PER_TASK,
    Merges,
    PatternGroups,
    average_link,
    join_rest,
    report_merging,
    single_link,
)
from quorate.numerics.mutual_information import ratio
from quorate.row_similarity import ThroughClusters, covering_weight, pattern_coassociation

Link = Literal["average", "complete", "single"]

LINKS = ("average", "complete", "single")
CHAIN_GROUPS = 1024  # up to this many groups, a matrix and a nearest-neighbor chain are used
SIMILARITIES_PER_LABEL = 3  # size of that matrix, per label, if few groups are each other's nearest
_FEW_PAIRS = 1 / 64  # mutual pairs per group below which rounds are not worthwhile


@dataclass(frozen=True)
class Dendrogram:
    """The tree of merges over patterns.

    Rows of one pattern are never separated, so the tree has one leaf per pattern. Patterns that no member of positive
    weight labels are not in the tree and get the label -1. Only with similarities (SRS, ECMC) that make a row more
    similar to other patterns than to its own are the rows of such a pattern separate leaves.
    """

    merges: Ints = field(repr=False)
    """(leaves - 1, 2) nodes joined; leaves are 0, 1, ..., merge i creates node leaves + i."""
    heights: Floats = field(repr=False)
    """(leaves - 1,) 1 - similarity of each merge, ascending."""
    ensemble: Ensemble
    leaf_pattern: Ints = field(repr=False)
    """(leaves,) pattern of each leaf, ascending."""
    leaf_heights: Floats | None = field(default=None, repr=False)
    """(leaves,) 1 - similarity of two rows of a leaf; None: they are equal to the method, at height 0."""

    @property
    def max_clusters(self) -> int:
        """The largest number of clusters of a cut: the number of patterns in the tree."""
        return len(self.pattern_tree.leaf_pattern)

    @property
    def pattern_tree(self) -> Dendrogram:
        """The tree with one leaf per pattern: this tree, or its restriction to the first leaf of each pattern.

        Equal rows must get equal labels. So where the rows of a pattern are separate leaves, its first leaf represents
        all of them.
        """
        return self._thinned or self

    @cached_property
    def _thinned(self) -> Dendrogram | None:
        patterns, first = np.unique(self.leaf_pattern, return_index=True)
        if len(patterns) == len(self.leaf_pattern):
            return None
        return self._restricted(first)

    def _restricted(self, leaves: Ints) -> Dendrogram:
        """Return the tree of some of the leaves."""
        pairs, positions = _kernels.merge_chain.keep_leaves(self.merges, leaves)
        nodes, low = _kernels.merge_chain.number_nodes(pairs), self.leaf_heights
        patterns = self.leaf_pattern[leaves]
        return Dendrogram(nodes, self.heights[positions], self.ensemble, patterns, None if low is None else low[leaves])

    def cut(self, k: int) -> Ints:
        """Return the consensus label of each pattern for exactly k clusters, by undoing the last k - 1 merges.

        Clusters are numbered by decreasing size. With fewer than k patterns every pattern is a cluster.
        """
        k = check_integer("k", k, low=1)
        groups = np.full(self.ensemble.n_patterns, -1, dtype=np.int64)
        # Equal rows must get equal labels, so the tree with one leaf per pattern is cut.
        tree = self.pattern_tree
        if self.max_clusters:
            groups[tree.leaf_pattern] = cut_merges(tree.merges, k)
        return number_by_size(groups, self.ensemble.counts)

    @cached_property
    def lifetimes(self) -> Floats:
        """Lifetime of k clusters for k = 2, 3, ..., patterns: the range of heights at which a cut gives k clusters.

        The lifetime of all patterns counts only if some rows share a pattern; otherwise every row would be a cluster.
        """
        heights = self.pattern_tree.heights
        # Rows of one pattern that are not equal to the method are joined at their own height first.
        rows_together = 0.0 if self.leaf_heights is None else self.leaf_heights.max(initial=0.0)
        below = np.concatenate([[rows_together], heights])[:-1]
        lifetimes = np.maximum(heights - below, 0.0)[::-1].copy()
        if len(lifetimes) and equal_rows(self.ensemble).max() == 1:
            lifetimes[-1] = 0.0
        return lifetimes

    def criterion(self) -> tuple[str, dict[int, float]]:
        """Return the lifetimes, by the number of clusters."""
        return "lifetime", {k: float(value) for k, value in enumerate(self.lifetimes, start=2)}

    def caution(self, k: int) -> QuorateWarning | None:
        """Return a warning about a cut into k clusters: there is none, every cut of a tree is exact."""

    def _repr_html_(self) -> str:
        """Return a card for notebooks: its size, and the numbers of clusters with the longest lifetimes."""
        facts = [
            (len(self.leaf_pattern), "leaves"),
            (self.ensemble.n_rows, "rows"),
            (2 + int(np.argmax(np.round(self.lifetimes, 12))) if len(self.lifetimes) else 1, "clusters last longest"),
        ]
        longest = np.argsort(-self.lifetimes, kind="stable")[:5]
        rows = [(int(k) + 2, Share(self.lifetimes[k])) for k in longest if self.lifetimes[k] > 0]
        return card("Dendrogram", facts, ("clusters", "lifetime"), rows)

    def to_scipy(self, rows: bool = False) -> Floats:
        """Return a SciPy linkage matrix, over leaves or over rows (labeled ones, in order).

        Over rows, rows of one leaf are joined first, at height 0 or at that of `leaf_heights`.
        """
        n_leaves = len(self.leaf_pattern)
        if not rows:
            return _scipy_matrix(self.merges, self.heights, n_leaves, np.ones(n_leaves))
        row_leaf = self._leaf_of_each_row()
        with_rows = np.unique(row_leaf)
        if len(with_rows) < n_leaves:  # a row of weight 2 may be two leaves
            return self._restricted(with_rows).to_scipy(rows=True)
        within = _join_equal_rows(row_leaf)
        first_row = np.full(n_leaves, -1)
        # Reversed, so that the first row of each leaf is written last and stays.
        first_row[row_leaf[::-1]] = np.arange(len(row_leaf))[::-1]
        between = first_row[_kernels.merge_chain.first_leaves(self.merges)]
        low = np.zeros(n_leaves) if self.leaf_heights is None else self.leaf_heights
        merges = Merges(np.concatenate([within, between]), np.concatenate([low[row_leaf[within[:, 0]]], self.heights]))
        nodes, heights = _in_order(merges)
        return _scipy_matrix(nodes, heights, len(row_leaf), np.ones(len(row_leaf)))

    def _leaf_of_each_row(self) -> Ints:
        """Return the leaf of each labeled row; rows of one pattern are assigned to its leaves in turn."""
        row_pattern = self.ensemble.row_pattern
        patterns, first, n_leaves = np.unique(self.leaf_pattern, return_index=True, return_counts=True)
        first_leaf, n_own = np.full(self.ensemble.n_patterns, -1), np.ones(self.ensemble.n_patterns, dtype=np.int64)
        first_leaf[patterns], n_own[patterns] = first, n_leaves
        # Rows in the order of their patterns; the turn of a row is its rank within its pattern.
        order = np.argsort(row_pattern, kind="stable")
        starts = np.concatenate([[0], np.cumsum(self.ensemble.row_counts)])
        turn = np.empty(len(row_pattern), dtype=np.int64)
        turn[order] = np.arange(len(order)) - starts[row_pattern[order]]
        leaf = first_leaf[row_pattern] + turn % n_own[row_pattern]
        return leaf[first_leaf[row_pattern] >= 0]


def _join_equal_rows(row_leaf: Ints) -> Ints:
    """Return merges, as pairs of rows, that join the rows of each leaf one by one."""
    order = np.argsort(row_leaf, kind="stable")
    later = np.flatnonzero(np.diff(row_leaf[order], prepend=-1) == 0)
    return np.stack([order[later - 1], order[later]], axis=1)


def _scipy_matrix(merges: Ints, heights: Floats, n_leaves: int, sizes: Floats) -> Floats:
    count = np.concatenate([sizes, np.zeros(len(merges))])
    for i, (a, b) in enumerate(merges):
        count[n_leaves + i] = count[a] + count[b]
    return np.column_stack([np.sort(merges, axis=1), heights, count[n_leaves:]])


def link_coassociation(
    ens: Ensemble,
    weights: Floats,
    link: Link,
    certainty: Floats | None = None,
    at_most: int | None = None,
    leaves: Ints | None = None,
) -> Dendrogram:
    """Return the dendrogram of the weighted co-association (Definition 8) by average, complete or single link.

    With `certainty` (n_clusters,), clusters also count by their certainty. Two rows of a pattern are then similar by
    the mean certainty of its clusters, below 1. With complete labels no row of another pattern is as near; with missing
    ones it might be, but patterns stay whole. If there are more than `at_most` patterns, only the heaviest are in the
    tree. `leaves` are the patterns in the order by which ties are broken; default: ascending.
    """
    covered = covering_weight(ens.patterns, weights)
    leaves = np.flatnonzero(covered > 0) if leaves is None else leaves
    # The heaviest patterns represent most rows; the caller assigns the others.
    if at_most is not None and len(leaves) > at_most:
        leaves = leaves[np.sort(np.argsort(-ens.counts[leaves], kind="stable")[:at_most])]
    heights = None if certainty is None else _own_heights(ens, weights, certainty, covered)[leaves]
    if link == "complete":
        similarity = pattern_coassociation(ens, weights, certainty)
        if len(leaves) < len(similarity):
            similarity = similarity[np.ix_(leaves, leaves)]
        return link_patterns(ens, similarity, link, leaves, ens.counts[leaves].astype(np.float64), heights)
    # Neither average nor single link needs a matrix.
    link_groups = average_link if link == "average" else single_link
    merges = link_groups(PatternGroups.of_patterns(ens, weights, leaves, certainty, covered))
    return _dendrogram(ens, leaves, merges, heights)


def _own_heights(ens: Ensemble, weights: Floats, certainty: Floats, covered: Floats) -> Floats:
    """(m,) 1 - similarity of two rows of a pattern with the given covering weight; 0 for a pattern of one row."""
    share = weights[ens.cluster_member] / weights.sum()
    own = ratio(pattern_degrees(ens, share * certainty), covered)
    return np.where(equal_rows(ens) > 1, 1.0 - own, 0.0)


def link_similarity(ens: Ensemble, similarity: Floats, link: Link, leaves: Ints) -> Dendrogram:
    """Return the dendrogram of any similarity matrix over a selection of patterns; the matrix is overwritten.

    Patterns count by their number of rows (Lance-Williams updates weighted by size). The diagonal is the similarity of
    two different rows of a pattern. Where it is below that to another pattern, collapsing rows would not give the
    dendrogram of all rows, so the rows of such a pattern become separate leaves.
    """
    sizes, n_rows = ens.counts[leaves].astype(np.float64), equal_rows(ens)[leaves]
    together = similarity.diagonal().copy()
    # The diagonal is set aside while the largest similarity to other patterns is computed.
    np.fill_diagonal(similarity, -np.inf)
    apart = (n_rows > 1) & (np.round(together, 12) < np.round(_largest_of_rows(similarity), 12))
    np.fill_diagonal(similarity, together)
    heights = np.where((n_rows > 1) & ~apart, 1.0 - together, 0.0)
    if apart.any():
        own = np.repeat(np.arange(len(leaves)), np.where(apart, n_rows, 1))
        require_memory(
            8.0 * len(own) ** 2, f"The similarity of {len(own):,} rows and patterns of rows that differ", USE_NO_MATRIX
        )
        # Copies of a row per leaf: rows that are apart are leaves of their own.
        similarity = similarity[np.ix_(own, own)]
        sizes, leaves, heights = (sizes / np.where(apart, n_rows, 1))[own], leaves[own], heights[own]
    return link_patterns(ens, similarity, link, leaves, sizes, heights if heights.any() else None)


def _largest_of_rows(similarity: Floats) -> Floats:
    """(leaves,) the largest value in each row, computed in threads."""
    blocks = threads.blocks(len(similarity), ROWS_PER_TASK)
    maxima = threads.in_threads(lambda block: similarity[block].max(axis=1), blocks)
    return np.concatenate([np.empty(0), *maxima])


def link_patterns(
    ens: Ensemble, similarity: Floats, link: Link, leaves: Ints, sizes: Floats, heights: Floats | None = None
) -> Dendrogram:
    """Return the dendrogram of a similarity matrix over patterns, each a leaf; matrix and sizes are overwritten.

    Parameters
    ----------
    ens : Ensemble
    similarity : (leaves, leaves)
    link : {"average", "complete", "single"}
    leaves : (leaves,)
        The patterns, ascending.
    sizes : (leaves,)
        The weight of each pattern.
    heights : (leaves,), optional
        1 - similarity of two rows of a pattern; default 0.
    """
    if len(leaves) == 0:
        return _dendrogram(ens, leaves, join_rest([], [], leaves))
    # The kernel reads rows as vectors of eight numbers, which must be adjacent in memory.
    similarity = np.ascontiguousarray(similarity, dtype=np.float64)
    pairs, merged_at = _kernels.merge_chain.chain_link(similarity, sizes, LINKS.index(link))
    return _dendrogram(ens, leaves, Merges(pairs, merged_at), heights)


def link_groups(similarity: Floats, sizes: Floats) -> Ints:
    """(groups - 1, 2) the nodes that average link joins, in order: groups are 0, 1, ..., merge i creates groups + i.

    The similarity (groups, groups) and the sizes (groups,) are overwritten.
    """
    if len(sizes) == 0:
        return np.empty((0, 2), dtype=np.int64)
    return _in_order(Merges(*_kernels.merge_chain.chain_link(similarity, sizes, LINKS.index("average"))))[0]


def cut_merges(merges: Ints, k: int) -> Ints:
    """(leaves,) the top node of each leaf after undoing the last k - 1 merges, or all of them."""
    cut: Ints = _kernels.merge_chain.cut(merges, min(k - 1, len(merges)))
    return cut


def link_through_clusters(ens: Ensemble, similarity: ThroughClusters, link: Link, leaves: Ints) -> Dendrogram:
    """Return the dendrogram of patterns that are similar through their clusters, each a leaf.

    With average link, a matrix is formed only of the groups that remain when most are merged.

    Parameters
    ----------
    ens : Ensemble
    similarity : ThroughClusters
        Of the patterns; none is less similar to itself than to another one.
    link : {"average", "complete", "single"}
    leaves : (leaves,)
        The patterns, ascending.
    """
    sizes = ens.counts[leaves].astype(np.float64)
    if link != "average":
        return link_patterns(ens, similarity.matrix(), link, leaves, sizes)
    rounds, groups, leaf, sizes = _join_nearest(similarity, sizes)
    if len(leaf) > 0:
        pairs, heights = _kernels.merge_chain.chain_link(groups.matrix(), sizes, LINKS.index(link))
        rounds.append(Merges(leaf[pairs], heights))
        leaf = leaf[:1]
    return _dendrogram(
        ens, leaves, join_rest([merges.pairs for merges in rounds], [merges.heights for merges in rounds], leaf)
    )


def _join_nearest(groups: ThroughClusters, sizes: Floats) -> tuple[list[Merges], ThroughClusters, Ints, Floats]:
    """Merge groups that are each other's nearest, in rounds, while there are many; all such pairs of a round together.

    Where two groups are equally near to a third, the order matters: those are left to the nearest-neighbor chain.

    Returns the merges, and for the remaining groups their similarity, a leaf of each, and their sizes.
    """
    n = len(groups)
    leaf: Ints = np.arange(n)
    todo = leaf
    partner, best, second = np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n)
    enough = isqrt(SIMILARITIES_PER_LABEL * groups.phi.nnz)
    pace = Pace(f"The tree of {n:,} patterns", NO_TREE)
    rounds = []
    while len(groups) > CHAIN_GROUPS:
        groups.find_nearest(todo, partner, best, second, partial(report_merging, pace, len(groups), n))
        here = np.arange(len(groups))
        # Only groups whose nearest one is unique may be merged here.
        alone = best - second > 2.0 / _kernels.merge_chain.DECIMALS
        lower = np.flatnonzero((partner[partner] == here) & (here < partner) & alone & alone[partner])
        if len(lower) == 0 or (len(lower) < _FEW_PAIRS * len(groups) and len(groups) <= enough):
            break
        upper = partner[lower]
        rounds.append(Merges(np.stack([leaf[lower], leaf[upper]], axis=1), np.maximum(1.0 - best[lower], 0.0)))
        stays, stale = np.ones(len(here), dtype=np.bool_), np.zeros(len(here), dtype=np.bool_)
        stays[upper] = False
        stale[lower] = stale[upper] = True
        stale |= stale[partner]
        group = np.cumsum(stays) - 1
        group[upper] = group[lower]
        together = np.bincount(group, weights=sizes).astype(np.float64)
        # Mean similarities of merged groups: rows of Phi are averaged by size.
        shares = sp.csr_array((sizes / together[group], (group, here)), shape=(len(together), len(here)))
        groups, leaf, sizes, todo = groups.joined(shares), leaf[stays], together, np.flatnonzero(stale[stays])
        partner, best, second = group[partner[stays]], best[stays], second[stays]
    return rounds, groups, leaf, sizes


def _dendrogram(ens: Ensemble, leaves: Ints, merges: Merges, leaf_heights: Floats | None = None) -> Dendrogram:
    nodes, heights = _in_order(merges)
    return Dendrogram(nodes, heights, ens, leaves, leaf_heights)


def _in_order(merges: Merges) -> tuple[Ints, Floats]:
    """Sort merges by height, rounded so that ties do not depend on the last bit, and number the nodes."""
    order = np.argsort(np.round(merges.heights, 12), kind="stable")
    nodes = _kernels.merge_chain.number_nodes(merges.pairs[order])
    return nodes, np.maximum.accumulate(merges.heights[order])
