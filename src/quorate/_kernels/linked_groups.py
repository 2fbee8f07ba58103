"""Groups that are merged by average link: histograms, inverted lists, lists of near groups, and the tree so far."""

from typing import NamedTuple

import numpy as np

from quorate._kernels._jit import jit

_LEAST_ROOM = 1 << 16  # entries reserved for new groups at least; less would not be worth the copying


class Groups(NamedTuple):
    """Groups of patterns as sparse histograms over clusters, ordered by cluster."""

    first: np.ndarray
    last: np.ndarray
    """(G,) start and end of the histogram of each group."""
    indices: np.ndarray
    values: np.ndarray
    """Clusters and their amounts, with space for the histograms of new groups."""
    spot: np.ndarray
    """Position of each entry in the inverted lists; the integer type is large enough for all entries."""
    sizes: np.ndarray
    """(G,) size of each group; for a group that was merged into another, its last size."""
    weight: np.ndarray
    """(n_clusters,) w_c"""


class Touching(NamedTuple):
    """Inverted lists: for each cluster, the groups that contain rows of it."""

    start: np.ndarray
    stop: np.ndarray
    """(n_clusters,) start and end of each list."""
    group: np.ndarray
    share: np.ndarray
    """The groups, and their shares h / size."""
    entry: np.ndarray
    """Position of each entry in the histograms."""
    largest: np.ndarray
    """(n_clusters,) upper bound of the shares in each list."""


class Near(NamedTuple):
    """For each group, the groups that were near at its last search."""

    candidates: np.ndarray
    """(G, j) groups, -1 after the last; a group may have been merged into another one since."""
    bounds: np.ndarray
    """(G, j) upper bound of the similarity to each."""
    sizes: np.ndarray
    """(G, j) size of each at that time."""
    outside: np.ndarray
    """(G,) upper bound of the similarity to all groups that are not listed."""


class Tree(NamedTuple):
    """The state of the agglomeration."""

    leaf: np.ndarray
    """(G,) first leaf of each group."""
    node: np.ndarray
    """(G,) its node in the dendrogram: later nodes have larger numbers."""
    height: np.ndarray
    """(G,) height at which it was created."""
    partner: np.ndarray
    best: np.ndarray
    """(G,) its nearest group, -1 if none has any co-association, and the similarity to it."""
    stale: np.ndarray
    """(G,) whether the nearest group has to be found again."""
    root: np.ndarray
    """(G,) the group that it was merged into, or itself."""
    absorbed: np.ndarray
    """(G,) the group that was merged into it in the last round, -1 for none."""


@jit
def invert(groups):
    """Return the inverted lists of groups, none of which is merged into another, and write the positions of their
    entries.
    """
    n, n_clusters = len(groups.sizes), len(groups.weight)
    end = groups.last[n - 1]
    start, stop = np.zeros(n_clusters, dtype=np.int64), np.zeros(n_clusters, dtype=np.int64)
    # Lengths of the lists first, so that all lists fit into one array without gaps.
    for e in range(end):
        stop[groups.indices[e]] += 1
    total = 0
    for c in range(n_clusters):
        start[c] = total
        total += stop[c]
        stop[c] = start[c]
    group, entry, share = np.empty(end, dtype=np.int32), np.empty(end, dtype=groups.spot.dtype), np.empty(end)
    largest = np.zeros(n_clusters)
    # Groups in ascending order, so that each list is ascending, too.
    for g in range(n):
        for e in range(groups.first[g], groups.last[g]):
            c = groups.indices[e]
            f = stop[c]
            group[f], entry[f], share[f] = g, e, groups.values[e] / groups.sizes[g]
            groups.spot[e] = f
            largest[c] = max(largest[c], share[f])
            stop[c] += 1
    return Touching(start, stop, group, share, entry, largest)


@jit
def begin_lists(n, n_listed):
    """Return empty lists, whose bounds exclude nothing."""
    shape = (n, n_listed)
    return Near(np.full(shape, -1, dtype=np.int32), np.zeros(shape), np.zeros(shape), np.ones(n))


@jit
def begin_tree(n):
    """Return n leaves."""
    number = np.arange(n)
    stale = np.ones(n, dtype=np.bool_)
    none = np.full(n, -1)
    return Tree(number, number.copy(), np.zeros(n), none, np.zeros(n), stale, number.copy(), none.copy())


@jit
def keep_groups(groups, roots, room):
    """Return the groups `roots`, in their order, with space for at least `room` entries of new groups."""
    indptr = np.zeros(len(roots) + 1, dtype=np.int64)
    for g in range(len(roots)):
        indptr[g + 1] = indptr[g] + groups.last[roots[g]] - groups.first[roots[g]]
    room = max(room, indptr[-1] // 2, _LEAST_ROOM)
    spot = np.empty(indptr[-1] + room, dtype=groups.spot.dtype)
    indices, values = np.empty(indptr[-1] + room, dtype=np.int32), np.empty(indptr[-1] + room)
    for g in range(len(roots)):
        first, last = groups.first[roots[g]], groups.last[roots[g]]
        indices[indptr[g] : indptr[g + 1]] = groups.indices[first:last]
        values[indptr[g] : indptr[g + 1]] = groups.values[first:last]
    return Groups(indptr[:-1].copy(), indptr[1:].copy(), indices, values, spot, groups.sizes[roots], groups.weight)


@jit
def keep_tree(tree, roots):
    """Return the state of the groups `roots`, into which all others were merged."""
    number = np.full(len(tree.root), -1)
    for g in range(len(roots)):
        number[roots[g]] = g
    # Partners are up to date here, hence among the groups that are left.
    partner = tree.partner[roots]
    for g in range(len(roots)):
        if partner[g] >= 0:
            partner[g] = number[partner[g]]
    numbers, none = np.arange(len(roots)), np.full(len(roots), -1)
    return Tree(
        tree.leaf[roots],
        tree.node[roots],
        tree.height[roots],
        partner,
        tree.best[roots],
        tree.stale[roots],
        numbers,
        none,
    )
