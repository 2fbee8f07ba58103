"""Average and single link of patterns, with co-association as an inner product of histograms.

Average link works in rounds: all pairs of groups that are each other's nearest are merged together. The kernels in
`_kernels/nearest_groups.py` find the nearest groups, those in `join_groups.py` merge them; this module chooses between
their variants by size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quorate._kernels.linked_groups import Groups, Near, Touching, Tree

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isqrt
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate import _kernels
from quorate._runtime import threads
from quorate._runtime.time_limit import Pace
from quorate._utils.array_types import Floats, Ints
from quorate.ensemble import Ensemble, pattern_clusters
from quorate.numerics.mutual_information import ratio

_FIRST_ROUND = 0.6  # approximate share of the time of the first round of merges
_FEW_GROUPS, _FEW_ENTRIES = 2048, 1 << 16  # smaller rounds take less time than starting threads
_FEW_SIMILARITIES, _SIMILARITIES_PER_ENTRY = 1 << 16, 1  # sizes at which all similarities fit into a matrix
NEAR_LIST_LENGTH = 16  # candidates that each group keeps from its last search
NO_TREE = "GP-MGLA, HBGF and LWGP need no tree."
_FEWEST_PER_TASK, ROWS_PER_TASK = 128, 512


class Merges(NamedTuple):
    """Merges in the order in which they were made: each joins the groups that contain two leaves, at a height."""

    pairs: Ints
    heights: Floats


@dataclass
class PatternGroups:
    """Groups of patterns as sparse histograms over clusters (CSR, sorted columns), ordered by first pattern."""

    indptr: Ints
    indices: NDArray[np.int32]
    values: Floats
    sizes: Floats
    weight_of_cluster: Floats

    @classmethod
    def of_patterns(
        cls, ens: Ensemble, weights: Floats, leaves: Ints, certainty: Floats | None, covered: Floats
    ) -> PatternGroups:
        """Return one group per pattern in `leaves`; `covered` (m,) is the covering weight of each pattern.

        Clusters count by their member's weight and their certainty.
        """
        clusters, first = pattern_clusters(ens)
        # The common case, all patterns, shares the arrays of the ensemble.
        if not np.array_equal(leaves, np.arange(ens.n_patterns)):
            selected = ens.incidence[leaves]
            clusters, first = selected.indices, selected.indptr
        sizes = ens.counts[leaves].astype(np.float64)
        # With h = w / sqrt(covering weight), the inner product of two histograms is their co-association.
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
        nearest = _kernels.merge_chain.nearest
        run_in_parts(lambda todo: nearest(todo, part, node, floor, *histogram, *lists, partner, best), todo)

    def inverted(self) -> tuple[Ints, NDArray[np.int32], Floats, Floats]:
        """Return, for each cluster, the groups that contain it, in the form that the kernels take."""
        n_clusters = len(self.weight_of_cluster)
        return _kernels.merge_chain.invert(self.indptr, self.indices, self.values, self.sizes, n_clusters)


def run_in_parts(task: Callable[[Ints], None], todo: Ints, on_progress: Callable[[float], None] | None = None) -> None:
    """Run a task for many groups in threads: a few parts per thread, none too small for its scratch memory.

    Parts are not too long either, because work can be cancelled between two of them. `on_progress`, if given, receives
    the completed fraction.
    """
    size = max(_FEWEST_PER_TASK, min(ROWS_PER_TASK, -(-len(todo) // (4 * threads.n_threads()))))
    threads.in_threads(task, [todo[part] for part in threads.blocks(len(todo), size)], on_progress)


@dataclass
class ActiveGroups:
    """The remaining groups, each in its slot, with their nearest groups as far as these are known."""

    groups: Groups
    touching: Touching
    near: Near
    tree: Tree
    end: int
    """Position at which the histogram of the next group is written."""
    n_left: int
    n_nodes: int

    @classmethod
    def of_leaves(cls, leaves: PatternGroups) -> ActiveGroups:
        """Return all leaves, each a group, without known nearest groups."""
        kernels, n, n_entries = _kernels.linked_groups, len(leaves), len(leaves.indices)
        # Positions in lists that grow to at most four times the entries; 32 bits halve the memory where they suffice.
        spot = np.empty(n_entries, dtype=np.int32 if n_entries < np.iinfo(np.int32).max // 4 else np.int64)
        first, last = leaves.indptr[:-1].copy(), leaves.indptr[1:].copy()
        histograms = (first, last, leaves.indices, leaves.values, spot)
        groups = kernels.Groups(*histograms, leaves.sizes.copy(), leaves.weight_of_cluster)
        if n_entries <= _FEW_ENTRIES:  # cheap enough to reserve space for new groups from the start
            groups = kernels.keep_groups(groups, np.arange(n), 0)
        near = kernels.begin_lists(n, NEAR_LIST_LENGTH)
        return cls(groups, kernels.invert(groups), near, kernels.begin_tree(n), n_entries, n, n)

    @property
    def is_small(self) -> bool:
        """Whether a round takes less time than starting threads."""
        return bool(self.tree.stale.sum() <= _FEW_GROUPS) and len(self.touching.group) <= _FEW_ENTRIES

    @property
    def _left(self) -> Ints:
        return np.flatnonzero(self.tree.root == np.arange(len(self.tree.root)))

    @property
    def leaves(self) -> Ints:
        """The first leaf of each group."""
        return np.asarray(self.tree.leaf[self._left])

    def join_nearest(self, on_progress: Callable[[float], None]) -> Merges:
        """Merge all groups that are each other's nearest; `on_progress` receives the fraction of searches done."""
        kernels = _kernels.join_groups
        self._find_nearest(on_progress)
        pairs, n_entries = kernels.mutual(self.groups, self.tree)
        if len(pairs) == 0:  # in a tie, the nearest group may be one that was created after the search
            self.tree.stale[self._left] = True
            self._find_nearest(on_progress)
            pairs, n_entries = kernels.mutual(self.groups, self.tree)
        if self.end + n_entries > len(self.groups.indices):
            self._close_up(n_entries)
            pairs, _ = kernels.mutual(self.groups, self.tree)
        self.end = kernels.join(pairs, self.groups, self.touching, self.tree, self.end, self.n_nodes)
        self.n_left -= len(pairs)
        self.n_nodes += len(pairs)
        return Merges(self.tree.leaf[pairs], self.tree.height[pairs[:, 0]])

    def _find_nearest(self, on_progress: Callable[[float], None]) -> None:
        """Find the nearest group of all groups without a known one, in threads."""
        find = _kernels.nearest_groups.find_nearest
        todo = np.flatnonzero(self.tree.stale)
        run_in_parts(lambda todo: find(todo, self.groups, self.touching, self.near, self.tree), todo, on_progress)

    def _close_up(self, n_entries: int) -> None:
        """Remove merged groups, and reserve space for `n_entries` entries of new groups, or more."""
        self.near = _kernels.nearest_groups.keep_lists(self.groups, self.near, self.tree, self._left)
        self._keep_groups(n_entries)

    def _keep_groups(self, n_entries: int = 0) -> None:
        """Remove merged groups, without the lists of near groups, which the caller no longer needs."""
        kernels, left = _kernels.linked_groups, self._left
        self.tree = kernels.keep_tree(self.tree, left)
        self.groups = kernels.keep_groups(self.groups, left, n_entries)
        self.end = int(self.groups.last[-1])
        del self.touching  # free it before the next one is allocated
        self.touching = kernels.invert(self.groups)

    def join_while_many(self, few: int) -> Merges:
        """Merge groups that are each other's nearest while more than `few` are left, without threads."""
        state = (self.groups, self.touching, self.near, self.tree, self.end)
        pairs, heights, *state = _kernels.join_groups.join_while_many(*state, self.n_nodes, few)
        self.groups, self.touching, self.near, self.tree, self.end = state
        self.n_left -= len(pairs)
        self.n_nodes += len(pairs)
        return Merges(pairs, heights)

    def join_few(self) -> Merges:
        """Merge groups that are each other's nearest until none are left, using the matrix of all similarities."""
        self._keep_groups()
        kernels, groups, touching = _kernels.join_groups, self.groups, self.touching
        amount = groups.values[touching.entry]
        products = np.empty((self.n_left, self.n_left))
        run_in_parts(lambda todo: kernels.products(todo, groups, touching, amount, products), np.arange(self.n_left))
        merges = Merges(*kernels.join_few(products, groups, self.tree, self.n_nodes))
        self.n_left -= len(merges.pairs)
        return merges


def average_link(leaves: PatternGroups) -> Merges:
    """Agglomerate by mean co-association: in rounds, merge all groups that are each other's nearest.

    Mean co-association is reducible (a merge never brings a third group closer than the nearer of the two was). So the
    order in which such pairs are merged does not matter, and a group's nearest group stays the same until one of the
    two is merged. Then the next one is usually found in the list of groups that were near at the last search. For the
    last groups all similarities are kept in a matrix.
    """
    n = len(leaves)
    if n == 0:
        return join_rest([], [], np.arange(n))
    # The matrix of the last groups may be as large as the histograms, but not larger.
    few = isqrt(max(_FEW_SIMILARITIES, _SIMILARITIES_PER_ENTRY * len(leaves.indices)))
    front = ActiveGroups.of_leaves(leaves)
    del leaves  # `front` frees them when it reserves space
    pace = Pace(f"The tree of {n:,} patterns", NO_TREE)
    merges = []
    while front.n_left > few:
        on_progress = partial(report_merging, pace, front.n_left, n)
        merges.append(front.join_while_many(few) if front.is_small else front.join_nearest(on_progress))
        if len(merges[-1].pairs) == 0:
            break  # no two groups have any co-association
    else:
        merges.append(front.join_few())
    pace.at(1.0)
    return join_rest([part.pairs for part in merges], [part.heights for part in merges], front.leaves)


def report_merging(pace: Pace, n_groups: int, n: int, done: float) -> None:
    """Report an estimate of the completed fraction of the time, with n_groups of n groups left."""
    # Later rounds have fewer groups and mostly find partners in lists; the first one takes most of the time.
    later = _FIRST_ROUND + (1 - _FIRST_ROUND) * (1 - n_groups / n)
    pace.at(_FIRST_ROUND * done if n_groups == n else later)


def single_link(groups: PatternGroups) -> Merges:
    """Agglomerate by largest co-association: a maximum spanning forest, grown by each part's best edge (Boruvka).

    The best edge of a pattern to another part only gets worse as parts grow. So a search is repeated only if its
    partner has joined the same part, and only if it could still beat the best known edge of the part.
    """
    n = len(groups)
    part, node = np.arange(n), np.arange(n)
    partner, best, ceiling = np.full(n, -1), np.zeros(n), np.ones(n)
    edges, heights = [np.empty((0, 2), dtype=np.int64)], [np.empty(0)]
    while True:
        # Partners that joined the same part are no longer valid; the best valid edge of a part is its floor.
        outside = (partner >= 0) & (part[partner] != part)
        best_of_part = np.zeros(n)
        np.maximum.at(best_of_part, part[outside], best[outside])
        floor = best_of_part[part]
        # Search again only where the last result, an upper bound, could still beat the floor.
        todo = np.flatnonzero(~outside & (ceiling > 0) & (ceiling >= floor - 1e-9))
        groups.find_nearest(todo, part, node, floor, partner, best)
        ceiling[todo] = np.where(partner[todo] >= 0, best[todo], floor[todo])
        outside = np.flatnonzero((partner >= 0) & (part[partner] != part))
        if len(outside) == 0:
            break
        # One edge per part, the best one, and all parts merge along their edges.
        chosen = _best_edge_of_each_part(part[outside], outside, partner[outside], best[outside])
        edges.append(np.stack([chosen, partner[chosen]], axis=1))
        heights.append(1.0 - best[chosen])
        graph = sp.coo_array((np.ones(len(chosen)), (part[chosen], part[partner[chosen]])), shape=(n, n))
        part = sp.csgraph.connected_components(graph, directed=False)[1][part].astype(np.int64)
    _, first = np.unique(part, return_index=True)
    return join_rest(edges, heights, np.sort(first))


def _best_edge_of_each_part(part: Ints, pattern: Ints, partner: Ints, similarity: Floats) -> Ints:
    """Return the pattern from which the best edge of each part leaves, each edge once.

    Edges are compared by rounded similarity, then by their patterns, in one order for all parts: so no cycle closes.
    """
    low, high = np.minimum(pattern, partner), np.maximum(pattern, partner)
    # By part, then by similarity: the last entry of each part is its best edge.
    order = np.lexsort((low, high, np.rint(similarity * 1e12), part))
    last = order[np.append(np.diff(part[order]) > 0, True)]
    _, unique = np.unique(np.stack([low[last], high[last]]), axis=1, return_index=True)
    return pattern[last[unique]]


def join_rest(pairs: list[Ints], heights: list[Floats], leaf: Ints) -> Merges:
    """Join the remaining groups, which have no co-association, at distance 1, in the order of their first patterns."""
    # Chained to the first leaf, so that the order of these arbitrary merges does not depend on the rows.
    rest = np.stack([np.broadcast_to(leaf[:1], len(leaf) - 1), leaf[1:]], axis=1) if len(leaf) else np.empty((0, 2))
    return Merges(
        np.concatenate([*pairs, rest]).astype(np.int64), np.concatenate([*heights, np.ones(max(len(leaf) - 1, 0))])
    )
