"""Agglomeration of patterns into a dendrogram with exact cuts (paper, section 6.1).

Average and single link work on sparse histograms and inverted lists, in memory linear in the ensemble, and give the
dendrogram of the full matrix of rows; so does average link through similar clusters, but for its ties. Complete link,
and any other similarity, needs the matrix over patterns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import isqrt
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate import _kernels
from quorate._support.cards import Share, card
from quorate._support.checks import check_integer
from quorate._support.memory import USE_NO_MATRIX, require_memory
from quorate._support.numbering import number_by_size
from quorate._support.patience import Pace
from quorate._support.typing import Floats, Ints
from quorate.crowd import ratio
from quorate.ensemble import Ensemble
from quorate.evidence import ThroughClusters, covering_weight, pattern_evidence

if TYPE_CHECKING:
    from quorate._kernels.neighbours import Groups, Near, Touching, Tree

Link = Literal["average", "complete", "single"]

LINKS = ("average", "complete", "single")
_FEWEST_PER_TASK, _MOST_PER_TASK = 128, 512
_FIRST_ROUND = 0.6  # about the share of the time that the first round of merges takes
_FEW_GROUPS, _FEW_ENTRIES = 2048, 1 << 16  # what takes less time than threads take to come together
_FEW_SIMILARITIES, _SIMILARITIES_PER_ENTRY = 1 << 16, 1  # that are all kept
FEW_TO_CHAIN = 1024  # groups of which a matrix is made
SIMILARITIES_PER_LABEL = 3  # in a matrix that is made where few groups are each other's nearest
_RARELY_NEAREST = 1 / 64  # pairs of such groups for each
_NO_TREE = "GP-MGLA, HBGF and LWGP need no tree."
LISTED = 16  # similar groups that are kept for each


class Merges(NamedTuple):
    """Merges in the order they were made: each joins the groups that contain two leaves, at a height."""

    pairs: Ints
    heights: Floats


@dataclass(frozen=True)
class Dendrogram:
    """The tree of merges over patterns.

    Rows of one pattern are never apart, so the tree has one leaf per pattern. Patterns without any evidence (no member
    of positive weight labels them) are not in the tree and get the label -1. Only under similarities (SRS, ECMC) that
    make a row more similar to other patterns than to its own are the rows of such a pattern leaves of their own.
    """

    merges: Ints = field(repr=False)
    """(leaves - 1, 2) nodes joined; leaves are 0, 1, ..., merge i makes node leaves + i."""
    heights: Floats = field(repr=False)
    """(leaves - 1,) 1 - similarity of each merge, ascending."""
    ensemble: Ensemble
    leaf_pattern: Ints = field(repr=False)
    """(leaves,) pattern of each leaf, ascending."""
    leaf_heights: Floats | None = field(default=None, repr=False)
    """(leaves,) 1 - similarity of two rows of a leaf; None: they are the same to the method, at height 0."""

    @property
    def max_clusters(self) -> int:
        """The largest number of clusters a cut can give: the number of patterns in the tree."""
        return len(self.pattern_tree.leaf_pattern)

    @property
    def pattern_tree(self) -> Dendrogram:
        """The tree with one leaf per pattern: this one, or what is left of it with the first leaf of each pattern.

        Equal rows must get equal labels, and nothing tells them apart; so where the rows of a pattern are leaves of
        their own, its first leaf stands for all of them.
        """
        return self._thinned or self

    @cached_property
    def _thinned(self) -> Dendrogram | None:
        patterns, first = np.unique(self.leaf_pattern, return_index=True)
        if len(patterns) == len(self.leaf_pattern):
            return None
        pairs, kept = _kernels.linkage.keep_leaves(self.merges, first)
        return Dendrogram(_kernels.linkage.number_nodes(pairs), self.heights[kept], self.ensemble, patterns)

    def cut(self, k: int) -> Ints:
        """Return the consensus label of each pattern for exactly k clusters, by undoing the last k - 1 merges.

        Clusters are numbered by decreasing size. With fewer than k patterns every pattern is a cluster.
        """
        k = check_integer("k", k, low=1)
        groups = np.full(self.ensemble.n_patterns, -1, dtype=np.int64)
        tree = self.pattern_tree
        if self.max_clusters:
            groups[tree.leaf_pattern] = _kernels.linkage.cut(tree.merges, min(k, self.max_clusters) - 1)
        return number_by_size(groups, self.ensemble.counts)

    @cached_property
    def lifetimes(self) -> Floats:
        """Lifetime of k clusters for k = 2, 3, ..., patterns: the range of heights at which a cut gives k clusters.

        The lifetime of all patterns apart counts only if some rows share a pattern; else every row would be a cluster.
        """
        heights = self.pattern_tree.heights
        rows_together = 0.0 if self.leaf_heights is None else self.leaf_heights.max(initial=0.0)
        below = np.concatenate([[rows_together], heights])[:-1]
        lifetimes = np.maximum(heights - below, 0.0)[::-1].copy()
        if len(lifetimes) and self.ensemble.n_rows == self.ensemble.n_patterns:
            lifetimes[-1] = 0.0
        return lifetimes

    def criterion(self) -> tuple[str, dict[int, float]]:
        """Return the lifetimes, by the number of clusters."""
        return "lifetime", {k: float(value) for k, value in enumerate(self.lifetimes, start=2)}

    def caution(self, k: int) -> str | None:
        """Return what to know about a cut into k clusters: nothing, every cut of a tree is exact."""

    def _repr_html_(self) -> str:
        """Return a card for notebooks: its size, and the numbers of clusters that last longest."""
        facts = [
            (len(self.leaf_pattern), "leaves"),
            (self.ensemble.n_rows, "rows"),
            (2 + int(np.argmax(np.round(self.lifetimes, 12))) if len(self.lifetimes) else 1, "clusters last longest"),
        ]
        longest = np.argsort(-self.lifetimes, kind="stable")[:5]
        rows = [(int(k) + 2, Share(self.lifetimes[k])) for k in longest if self.lifetimes[k] > 0]
        return card("Dendrogram", facts, ("clusters", "lifetime"), rows)

    def to_scipy(self, rows: bool = False) -> Floats:
        """Return a SciPy linkage matrix, over leaves or over rows (those with evidence, in order).

        Over rows, rows of one leaf are joined first, at height 0 or at that of `leaf_heights`.
        """
        n_leaves = len(self.leaf_pattern)
        if not rows:
            return _scipy_matrix(self.merges, self.heights, n_leaves, np.ones(n_leaves))
        row_leaf = self._leaf_of_each_row()
        within = _join_equal_rows(row_leaf)
        first_row = np.full(n_leaves, -1)
        first_row[row_leaf[::-1]] = np.arange(len(row_leaf))[::-1]
        between = first_row[_kernels.linkage.first_leaves(self.merges)]
        low = np.zeros(n_leaves) if self.leaf_heights is None else self.leaf_heights
        merges = Merges(np.concatenate([within, between]), np.concatenate([low[row_leaf[within[:, 0]]], self.heights]))
        nodes, heights = _in_order(merges)
        return _scipy_matrix(nodes, heights, len(row_leaf), np.ones(len(row_leaf)))

    def _leaf_of_each_row(self) -> Ints:
        """Return the leaf of each row with evidence; rows of one pattern take its leaves in turn."""
        row_pattern = self.ensemble.require_rows("to_scipy(rows=True)")
        patterns, first, n_leaves = np.unique(self.leaf_pattern, return_index=True, return_counts=True)
        first_leaf, n_own = np.full(self.ensemble.n_patterns, -1), np.ones(self.ensemble.n_patterns, dtype=np.int64)
        first_leaf[patterns], n_own[patterns] = first, n_leaves
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


def link_evidence(
    ens: Ensemble, weights: Floats, link: Link, certainty: Floats | None = None, at_most: int | None = None
) -> Dendrogram:
    """Return the dendrogram of the weighted co-association (Definition 8) by average, complete or single link.

    Clusters may count by their `certainty` (n_clusters,) too. Two rows of a pattern are then similar by the mean
    certainty of its clusters, below 1. With all labels no row of another pattern is as near; with missing ones it might
    be, but patterns stay whole. Only the heaviest patterns are in the tree, if there are more than `at_most`.
    """
    covered = covering_weight(ens.patterns, weights)
    leaves = np.flatnonzero(covered > 0)
    if at_most is not None and len(leaves) > at_most:
        leaves = np.sort(leaves[np.argsort(-ens.counts[leaves], kind="stable")[:at_most]])
    heights = None if certainty is None else _own_heights(ens, weights, certainty, covered)[leaves]
    if link == "complete":
        similarity = pattern_evidence(ens, weights, certainty)
        if len(leaves) < len(similarity):
            similarity = similarity[np.ix_(leaves, leaves)]
        return link_patterns(ens, similarity, link, leaves, ens.counts[leaves].astype(np.float64), heights)
    link_groups = average_link if link == "average" else single_link
    merges = link_groups(_Groups.of_patterns(ens, weights, leaves, certainty, covered))
    return _dendrogram(ens, leaves, merges, heights)


def _own_heights(ens: Ensemble, weights: Floats, certainty: Floats, covered: Floats) -> Floats:
    """(m,) 1 - similarity of two rows of a pattern, `covered` by some weight; 0 for a pattern of one row."""
    share = weights[ens.cluster_member] / weights.sum()
    own = ratio(ens.degrees(share * certainty), covered)
    return np.where(ens.row_counts > 1, 1.0 - own, 0.0)


def link_similarity(ens: Ensemble, similarity: Floats, link: Link, leaves: Ints) -> Dendrogram:
    """Return the dendrogram of any similarity matrix over some patterns, which is overwritten.

    Patterns count as often as they have rows (Lance-Williams updates weighted by size). The diagonal is the similarity
    of two different rows of a pattern. Where it is below that to another pattern, collapsing rows would not give the
    dendrogram of all rows, so the rows of such a pattern become leaves of their own.
    """
    sizes, n_rows = ens.counts[leaves].astype(np.float64), ens.row_counts[leaves]
    together = similarity.diagonal().copy()
    np.fill_diagonal(similarity, -np.inf)
    apart = (n_rows > 1) & (np.round(together, 12) < np.round(_largest_of_rows(similarity), 12))
    np.fill_diagonal(similarity, together)
    heights = np.where((n_rows > 1) & ~apart, 1.0 - together, 0.0)
    if apart.any():
        own = np.repeat(np.arange(len(leaves)), np.where(apart, n_rows, 1))
        require_memory(
            8.0 * len(own) ** 2, f"The similarity of {len(own):,} rows and patterns of rows that differ", USE_NO_MATRIX
        )
        similarity = similarity[np.ix_(own, own)]
        sizes, leaves, heights = (sizes / np.where(apart, n_rows, 1))[own], leaves[own], heights[own]
    return link_patterns(ens, similarity, link, leaves, sizes, heights if heights.any() else None)


def _largest_of_rows(similarity: Floats) -> Floats:
    """(leaves,) the largest value in each row, found in threads."""
    blocks = _kernels.threads.blocks(len(similarity), _MOST_PER_TASK)
    found = _kernels.threads.in_threads(lambda some: similarity[some].max(axis=1), blocks)
    return np.concatenate([np.empty(0), *found])


def link_patterns(
    ens: Ensemble, similarity: Floats, link: Link, leaves: Ints, sizes: Floats, heights: Floats | None = None
) -> Dendrogram:
    """Return the dendrogram of a similarity matrix over some patterns, each a leaf; matrix and sizes are overwritten.

    Parameters
    ----------
    ens : Ensemble
    similarity : (leaves, leaves)
    link : {"average", "complete", "single"}
    leaves : (leaves,)
        The patterns, ascending.
    sizes : (leaves,)
        How often each counts.
    heights : (leaves,), optional
        1 - similarity of two rows of a pattern; default 0.
    """
    if len(leaves) == 0:
        return _dendrogram(ens, leaves, _join_rest([], [], leaves))
    pairs, merged_at = _kernels.linkage.chain_link(similarity, sizes, LINKS.index(link))
    return _dendrogram(ens, leaves, Merges(pairs, merged_at), heights)


def link_through_clusters(ens: Ensemble, similarity: ThroughClusters, link: Link, leaves: Ints) -> Dendrogram:
    """Return the dendrogram of patterns that are similar through their clusters, each a leaf.

    With average link there is only a matrix of the groups that are left when most are joined.

    Parameters
    ----------
    ens : Ensemble
    similarity : ThroughClusters
        Of the patterns; none is less similar to itself than to another.
    link : {"average", "complete", "single"}
    leaves : (leaves,)
        The patterns, ascending.
    """
    sizes = ens.counts[leaves].astype(np.float64)
    if link != "average":
        return link_patterns(ens, similarity.matrix(), link, leaves, sizes)
    found, groups, leaf, sizes = _join_nearest(similarity, sizes)
    if len(leaf) > 0:
        pairs, heights = _kernels.linkage.chain_link(groups.matrix(), sizes, LINKS.index(link))
        found.append(Merges(leaf[pairs], heights))
        leaf = leaf[:1]
    return _dendrogram(
        ens, leaves, _join_rest([merges.pairs for merges in found], [merges.heights for merges in found], leaf)
    )


def _join_nearest(groups: ThroughClusters, sizes: Floats) -> tuple[list[Merges], ThroughClusters, Ints, Floats]:
    """Join groups that are each other's nearest, in rounds, while they are many; all such pairs of a round at once.

    Where two are equally near to a third the order decides: those are left to the chain.

    Returns the merges, and of the groups left their similarity, a leaf of each, and their sizes.
    """
    n = len(groups)
    leaf: Ints = np.arange(n)
    todo = leaf
    partner, best, second = np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n)
    enough = isqrt(SIMILARITIES_PER_LABEL * groups.phi.nnz)
    pace = Pace(f"The tree of {n:,} patterns", _NO_TREE)
    found = []
    while len(groups) > FEW_TO_CHAIN:
        groups.find_nearest(todo, partner, best, second, partial(_tell_merging, pace, len(groups), n))
        here = np.arange(len(groups))
        alone = best - second > 2.0 / _kernels.linkage.DECIMALS
        one = np.flatnonzero((partner[partner] == here) & (here < partner) & alone & alone[partner])
        if len(one) == 0 or (len(one) < _RARELY_NEAREST * len(groups) and len(groups) <= enough):
            break
        other = partner[one]
        found.append(Merges(np.stack([leaf[one], leaf[other]], axis=1), np.maximum(1.0 - best[one], 0.0)))
        stays, stale = np.ones(len(here), dtype=np.bool_), np.zeros(len(here), dtype=np.bool_)
        stays[other] = False
        stale[one] = stale[other] = True
        stale |= stale[partner]
        group = np.cumsum(stays) - 1
        group[other] = group[one]
        together = np.bincount(group, weights=sizes).astype(np.float64)
        shares = sp.csr_array((sizes / together[group], (group, here)), shape=(len(together), len(here)))
        groups, leaf, sizes, todo = groups.joined(shares), leaf[stays], together, np.flatnonzero(stale[stays])
        partner, best, second = group[partner[stays]], best[stays], second[stays]
    return found, groups, leaf, sizes


def _dendrogram(ens: Ensemble, leaves: Ints, merges: Merges, leaf_heights: Floats | None = None) -> Dendrogram:
    nodes, heights = _in_order(merges)
    return Dendrogram(nodes, heights, ens, leaves, leaf_heights)


def _in_order(merges: Merges) -> tuple[Ints, Floats]:
    """Sort merges by height, rounded so that equals do not hang on the last bit, and number the nodes."""
    order = np.argsort(np.round(merges.heights, 12), kind="stable")
    nodes = _kernels.linkage.number_nodes(merges.pairs[order])
    return nodes, np.maximum.accumulate(merges.heights[order])


@dataclass
class _Groups:
    """Groups of patterns as sparse histograms over clusters (CSR, sorted columns), ordered by first pattern."""

    indptr: Ints
    indices: NDArray[np.int32]
    values: Floats
    sizes: Floats
    weight_of_cluster: Floats

    @classmethod
    def of_patterns(
        cls, ens: Ensemble, weights: Floats, leaves: Ints, certainty: Floats | None, covered: Floats
    ) -> _Groups:
        """Return one group per pattern in `leaves`, `covered` by some weight.

        Clusters count by their member's weight and their certainty.
        """
        clusters, first = ens.pattern_clusters
        if len(leaves) < ens.n_patterns:
            some = ens.incidence[leaves]
            clusters, first = some.indices, some.indptr
        sizes = ens.counts[leaves].astype(np.float64)
        values = np.repeat(ratio(1.0, np.sqrt(covered[leaves])) * sizes, np.diff(first))
        share = weights[ens.cluster_member] / weights.sum()
        if certainty is not None:
            share *= certainty
        return cls(first.astype(np.int64), clusters.astype(np.int32), values, sizes, share)

    def __len__(self) -> int:
        return len(self.sizes)

    def find_nearest(self, todo: Ints, part: Ints, node: Ints, floor: Floats, partner: Ints, best: Floats) -> None:
        """Write into `partner` and `best` the most similar group of another part, for the groups `todo`, in threads."""
        lists = self.inverted()
        histogram = (self.indptr, self.indices, self.values, self.sizes, self.weight_of_cluster)
        nearest = _kernels.linkage.nearest
        in_parts(lambda some: nearest(some, part, node, floor, *histogram, *lists, partner, best), todo)

    def inverted(self) -> tuple[Ints, NDArray[np.int32], Floats, Floats]:
        """Return for each cluster the groups that touch it, as the kernel does."""
        n_clusters = len(self.weight_of_cluster)
        return _kernels.linkage.invert(self.indptr, self.indices, self.values, self.sizes, n_clusters)


def in_parts(task: Callable[[Ints], None], todo: Ints, told: Callable[[float], None] | None = None) -> None:
    """Do a task for many groups in threads: a few parts per thread, none too small for its scratch space.

    Nor is any too long: work can be stopped between two of them, and whoever wants is `told` what share is done.
    """
    size = max(_FEWEST_PER_TASK, min(_MOST_PER_TASK, -(-len(todo) // (4 * _kernels.threads.n_threads()))))
    _kernels.threads.in_threads(task, [todo[part] for part in _kernels.threads.blocks(len(todo), size)], told)


@dataclass
class _Front:
    """The groups that are left, each in its place, and what is known of them."""

    groups: Groups
    touching: Touching
    near: Near
    tree: Tree
    end: int
    """Where the histogram of the next group is written."""
    n_left: int
    n_nodes: int

    @classmethod
    def of_leaves(cls, leaves: _Groups) -> _Front:
        """Return all leaves, each a group, of which nothing is known yet."""
        kernels, n, n_entries = _kernels.neighbours, len(leaves), len(leaves.indices)
        spot = np.empty(n_entries, dtype=np.int32 if n_entries < np.iinfo(np.int32).max // 4 else np.int64)
        first, last = leaves.indptr[:-1].copy(), leaves.indptr[1:].copy()
        histograms = (first, last, leaves.indices, leaves.values, spot)
        groups = kernels.Groups(*histograms, leaves.sizes.copy(), leaves.weight_of_cluster)
        if n_entries <= _FEW_ENTRIES:  # there may as well be room for groups to come
            groups = kernels.keep_groups(groups, np.arange(n), 0)
        near = kernels.begin_lists(n, LISTED)
        return cls(groups, kernels.invert(groups), near, kernels.begin_tree(n), n_entries, n, n)

    @property
    def is_small(self) -> bool:
        """Whether a round takes less time than threads take to come together."""
        return bool(self.tree.stale.sum() <= _FEW_GROUPS) and len(self.touching.group) <= _FEW_ENTRIES

    @property
    def _left(self) -> Ints:
        return np.flatnonzero(self.tree.root == np.arange(len(self.tree.root)))

    @property
    def leaves(self) -> Ints:
        """The first leaves of the groups."""
        return np.asarray(self.tree.leaf[self._left])

    def join_nearest(self, told: Callable[[float], None]) -> Merges:
        """Join all groups that are each other's nearest; `told` hears for what share of them it was found."""
        kernels = _kernels.neighbours
        self._find_nearest(told)
        pairs, n_entries = kernels.mutual(self.groups, self.tree)
        if len(pairs) == 0:  # among equals the nearest may be one made since
            self.tree.stale[self._left] = True
            self._find_nearest(told)
            pairs, n_entries = kernels.mutual(self.groups, self.tree)
        if self.end + n_entries > len(self.groups.indices):
            self._close_up(n_entries)
            pairs, _ = kernels.mutual(self.groups, self.tree)
        self.end = kernels.join(pairs, self.groups, self.touching, self.tree, self.end, self.n_nodes)
        self.n_left -= len(pairs)
        self.n_nodes += len(pairs)
        return Merges(self.tree.leaf[pairs], self.tree.height[pairs[:, 0]])

    def _find_nearest(self, told: Callable[[float], None]) -> None:
        """Find the nearest group of all of which it is not known, in threads."""
        find = _kernels.neighbours.find_nearest
        todo = np.flatnonzero(self.tree.stale)
        in_parts(lambda some: find(some, self.groups, self.touching, self.near, self.tree), todo, told)

    def _close_up(self, n_entries: int) -> None:
        """Let go of the groups that went into others, and make room for some entries of those to come, or more."""
        self.near = _kernels.neighbours.keep_lists(self.groups, self.near, self.tree, self._left)
        self._keep_groups(n_entries)

    def _keep_groups(self, n_entries: int = 0) -> None:
        """Close up but for the lists, which are of no use then."""
        kernels, left = _kernels.neighbours, self._left
        self.tree = kernels.keep_tree(self.tree, left)
        self.groups = kernels.keep_groups(self.groups, left, n_entries)
        self.end = int(self.groups.last[-1])
        del self.touching  # before there is another
        self.touching = kernels.invert(self.groups)

    def join_while_many(self, few: int) -> Merges:
        """Join groups that are each other's nearest while more than a few are left, without threads."""
        state = (self.groups, self.touching, self.near, self.tree, self.end)
        pairs, heights, *state = _kernels.neighbours.join_while_many(*state, self.n_nodes, few)
        self.groups, self.touching, self.near, self.tree, self.end = state
        self.n_left -= len(pairs)
        self.n_nodes += len(pairs)
        return Merges(pairs, heights)

    def join_few(self) -> Merges:
        """Join groups that are each other's nearest as long as there are any, by the similarities of all."""
        self._keep_groups()
        kernels, groups, touching = _kernels.neighbours, self.groups, self.touching
        amount = groups.values[touching.entry]
        products = np.empty((self.n_left, self.n_left))
        in_parts(lambda some: kernels.products(some, groups, touching, amount, products), np.arange(self.n_left))
        merges = Merges(*kernels.join_few(products, groups, self.tree, self.n_nodes))
        self.n_left -= len(merges.pairs)
        return merges


def average_link(leaves: _Groups) -> Merges:
    """Agglomerate by mean evidence: in rounds, join all groups that are each other's nearest.

    Mean evidence is reducible (a merge never brings a third group closer than the nearer of the two was), so the order
    in which such pairs are joined does not matter, and a group's nearest stays so until one of the two is merged. Then
    the next is mostly found in the list of groups that were near when it was last searched for. Of the last groups all
    similarities are kept.
    """
    n = len(leaves)
    if n == 0:
        return _join_rest([], [], np.arange(n))
    few = isqrt(max(_FEW_SIMILARITIES, _SIMILARITIES_PER_ENTRY * len(leaves.indices)))
    front = _Front.of_leaves(leaves)
    del leaves  # the front lets go of them when it makes room
    pace = Pace(f"The tree of {n:,} patterns", _NO_TREE)
    found = []
    while front.n_left > few:
        told = partial(_tell_merging, pace, front.n_left, n)
        found.append(front.join_while_many(few) if front.is_small else front.join_nearest(told))
        if len(found[-1].pairs) == 0:
            break  # no two groups have any evidence in common
    else:
        found.append(front.join_few())
    pace.at(1.0)
    return _join_rest([merges.pairs for merges in found], [merges.heights for merges in found], front.leaves)


def _tell_merging(pace: Pace, n_groups: int, n: int, done: float) -> None:
    """Tell about what share of the time has passed when some of n groups are left, and searches of this round done."""
    later = _FIRST_ROUND + (1 - _FIRST_ROUND) * (1 - n_groups / n)
    pace.at(_FIRST_ROUND * done if n_groups == n else later)


def single_link(groups: _Groups) -> Merges:
    """Agglomerate by largest evidence: a maximum spanning forest, grown by each part's best edge at once (Boruvka).

    What is known of a pattern's best edge out of its part only shrinks as parts grow. So a search is repeated only when
    the partner found has joined the same part, and only if it could still beat the best edge known of the part.
    """
    n = len(groups)
    part, node = np.arange(n), np.arange(n)
    partner, best, ceiling = np.full(n, -1), np.zeros(n), np.ones(n)
    edges, heights = [np.empty((0, 2), dtype=np.int64)], [np.empty(0)]
    while True:
        outside = (partner >= 0) & (part[partner] != part)
        known = np.zeros(n)
        np.maximum.at(known, part[outside], best[outside])
        floor = known[part]
        todo = np.flatnonzero(~outside & (ceiling > 0) & (ceiling >= floor - 1e-9))
        groups.find_nearest(todo, part, node, floor, partner, best)
        ceiling[todo] = np.where(partner[todo] >= 0, best[todo], floor[todo])
        outside = np.flatnonzero((partner >= 0) & (part[partner] != part))
        if len(outside) == 0:
            break
        chosen = _best_edge_of_each_part(part[outside], outside, partner[outside], best[outside])
        edges.append(np.stack([chosen, partner[chosen]], axis=1))
        heights.append(1.0 - best[chosen])
        graph = sp.coo_array((np.ones(len(chosen)), (part[chosen], part[partner[chosen]])), shape=(n, n))
        part = sp.csgraph.connected_components(graph, directed=False)[1][part].astype(np.int64)
    _, first = np.unique(part, return_index=True)
    return _join_rest(edges, heights, np.sort(first))


def _best_edge_of_each_part(part: Ints, pattern: Ints, partner: Ints, similarity: Floats) -> Ints:
    """Return the pattern from which the best edge of each part leaves, each edge once.

    Edges are compared by rounded similarity, then by their patterns, in one order for all parts: so no cycle closes.
    """
    low, high = np.minimum(pattern, partner), np.maximum(pattern, partner)
    order = np.lexsort((low, high, np.rint(similarity * 1e12), part))
    last = order[np.append(np.diff(part[order]) > 0, True)]
    _, unique = np.unique(np.stack([low[last], high[last]]), axis=1, return_index=True)
    return pattern[last[unique]]


def _join_rest(pairs: list[Ints], heights: list[Floats], leaf: Ints) -> Merges:
    """Join what is left, groups without common evidence, at distance 1, in the order of their first patterns."""
    rest = np.stack([np.broadcast_to(leaf[:1], len(leaf) - 1), leaf[1:]], axis=1) if len(leaf) else np.empty((0, 2))
    return Merges(
        np.concatenate([*pairs, rest]).astype(np.int64), np.concatenate([*heights, np.ones(max(len(leaf) - 1, 0))])
    )
