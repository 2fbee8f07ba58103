"""Average link in rounds: each group is merged with its nearest group if that is mutual.

Design. A search for the nearest group of every group after every round would take most of the time. Mean co-association
is reducible: a merged group is never nearer to a third one than the nearer of its parts was, and its similarity is the
weighted mean over its parts. So each group keeps a list of near groups from its last search, each with an upper bound
of its similarity, and one bound, `outside`, for all groups that are not listed. After a merge the list and the bounds
of the new group follow from those of its parts (`_renew`), only when they are needed. If the best listed group beats
`outside`, it is the nearest group and no search is necessary (`choose`); otherwise `search` reads the inverted lists,
shortest first, and stops as soon as the groups met so far are cheaper to compare one by one.

Groups keep their slots: a merged group takes the slot of its first part, and only merged groups are rewritten.
Similarities, ties and their rounding are those of `merge_chain`. tests/kernels/test_comparisons.py counts the
similarities that are computed, because wrong pruning bounds would only cost time and not change results.
"""

from typing import NamedTuple

import numpy as np

from quorate._kernels._jit import jit, jit_fused
from quorate._kernels.merge_chain import DECIMALS, SLACK

_NEAR = 0.85  # groups less similar than this times the nearest are not listed
_NEAR_IF_COMPUTED = 0.65  # the same if all similarities are computed without comparing groups
_COMPARED = 2  # entries of an inverted list that take as long to read as comparing two groups
_LEADERS = 4  # groups compared before a long list, for a lower bound of the nearest similarity
_LONG_LIST = 4 * _LEADERS * _COMPARED  # entries from which a list counts as long
_FEW_LISTS = 48  # up to this many lists, insertion sort is fastest
_LEAST_ROOM = 1 << 16  # entries reserved for new groups at least; less would not be worth the copying
_STRETCH = 64  # groups whose maximum is found together


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
def keep_lists(groups, near, tree, roots):
    """Return the lists of the groups `roots`, into which all others were merged; arrays are compacted in place."""
    scratch = _scratch(groups, near)
    # Candidates are renumbered by their position among the groups that are left.
    number = np.full(len(tree.root), -1, dtype=np.int32)
    for g in range(len(roots)):
        number[roots[g]] = g
    candidates, bounds, sizes, outside = near
    for g in range(len(roots)):
        a = roots[g]  # a >= g, so that compacting never overwrites an unread row
        _renew(a, groups, near, tree, scratch)
        for i in range(candidates.shape[1]):
            q = candidates[a, i]
            candidates[g, i] = number[q] if q >= 0 else -1
            bounds[g, i], sizes[g, i] = bounds[a, i], sizes[a, i]
        outside[g] = outside[a]
    n = len(roots)
    return Near(candidates[:n], bounds[:n], sizes[:n], outside[:n])


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


@jit
def _scratch(groups, near):
    """Return the scratch memory of `_renew`: a position for each group, and space for two lists."""
    n_listed = near.candidates.shape[1]
    position = np.full(len(groups.sizes), -1, dtype=np.int32)
    return position, np.empty(2 * n_listed, dtype=np.int32), np.empty(2 * n_listed)


@jit
def _renew(a, groups, near, tree, scratch):
    """Update the list of a group: merge it with that of the group it absorbed, and replace listed groups by their
    roots.

    The similarity of a merged group is a mean over pairs of parts. Pairs that were listed count by their bounds, all
    others by the `outside` bounds.
    """
    position, listed, total = scratch
    n_listed = near.candidates.shape[1]
    b = tree.absorbed[a]
    tree.absorbed[a] = -1
    other = groups.sizes[b] if b >= 0 else 0.0
    # `base` bounds the sum over all pairs of parts as if no group were listed.
    base = (groups.sizes[a] - other) * near.outside[a]
    if b >= 0:
        base += other * near.outside[b]
    n = 0
    for part in range(2 if b >= 0 else 1):
        p = b if part == 1 else a
        size = other if part == 1 else groups.sizes[a] - other
        for i in range(n_listed):
            if near.candidates[p, i] < 0:
                break
            g = tree.root[near.candidates[p, i]]
            if g == a:
                continue
            if position[g] < 0:  # first time in either list
                position[g] = n
                listed[n], total[n] = g, base * groups.sizes[g]
                n += 1
            # A listed pair counts by its own bound instead of the general one.
            total[position[g]] += size * near.sizes[p, i] * (near.bounds[p, i] - near.outside[p])
    for i in range(n):
        position[listed[i]] = -1
        total[i] /= groups.sizes[a] * groups.sizes[listed[i]]
    # Keep the best n_listed groups; the bounds of those dropped go into `outside`.
    most_outside = base / groups.sizes[a]
    for i in range(n_listed, n):
        least = _least(total[:n_listed])
        if total[i] > total[least]:
            most_outside = max(most_outside, total[least])
            listed[least], total[least] = listed[i], total[i]
        else:
            most_outside = max(most_outside, total[i])
    for i in range(n_listed):
        is_listed = i < n
        near.candidates[a, i] = listed[i] if is_listed else -1
        near.bounds[a, i] = total[i] if is_listed else 0.0
        near.sizes[a, i] = groups.sizes[listed[i]] if is_listed else 0.0
    near.outside[a] = most_outside


@jit
def _least(values):
    least = 0
    for i in range(1, len(values)):
        if values[i] < values[least]:
            least = i
    return least


@jit
def _similarity(a, g, dense, first, last, indices, values, sizes, weight):
    """Return the mean co-association of group a, expanded in `dense`, and g; the same bits if a and g are swapped."""
    total = 0.0
    for e in range(np.uint64(first[g]), np.uint64(last[g])):
        c = np.uint32(indices[e])
        total += weight[c] * (dense[c] * values[e])
    return total / (sizes[a] * sizes[g])


@jit
def choose(todo, groups, near, tree, determined):
    """Take the nearest group of each group in `todo` from its updated list, if the list determines it.

    determined : (G,) written at the positions `todo`: whether it does; partner and best are then written as by `search`
    """
    first, last, indices, values = groups.first, groups.last, groups.indices, groups.values
    sizes, weight, node = groups.sizes, groups.weight, tree.node
    candidates, bounds, near_sizes, root, absorbed = near.candidates, near.bounds, near.sizes, tree.root, tree.absorbed
    dense = np.zeros(len(weight))
    compared = np.empty(candidates.shape[1], dtype=np.bool_)
    scratch = _scratch(groups, near)
    for a in todo:
        # The list is outdated if this group absorbed one, or if a listed group has grown.
        changed, i = absorbed[a] >= 0, 0
        while not changed and i < len(compared) and candidates[a, i] >= 0:
            changed = near_sizes[a, i] != sizes[root[candidates[a, i]]]
            i += 1
        if changed:
            _renew(a, groups, near, tree, scratch)
        determined[a] = False
        # Listed groups that cannot beat the unlisted ones are skipped; if that is all of them, search.
        outside = near.outside[a]
        n = 0
        while n < len(compared) and candidates[a, n] >= 0:
            compared[n] = bounds[a, n] <= outside + SLACK
            n += 1
        if np.all(compared[:n]):
            continue
        # Expand the histogram once, so that a comparison reads only the entries of the candidate.
        for e in range(first[a], last[a]):
            dense[indices[e]] = values[e]
        winner, winner_key, winner_similarity = -1, 0.0, 0.0
        # Compare in descending order of bounds, until no remaining bound reaches the best similarity.
        while True:
            candidate = -1
            for i in range(n):
                if not compared[i] and (candidate < 0 or bounds[a, i] > bounds[a, candidate]):
                    candidate = i
            if candidate < 0 or bounds[a, candidate] < winner_similarity - SLACK:
                break
            compared[candidate] = True
            g = candidates[a, candidate]
            similarity = _similarity(a, g, dense, first, last, indices, values, sizes, weight)
            bounds[a, candidate] = similarity
            key = np.rint(similarity * DECIMALS)
            # In a tie the group created last wins, as on top of a nearest-neighbor chain.
            if key > winner_key or (key == winner_key and winner >= 0 and node[g] > node[winner]):
                winner, winner_key, winner_similarity = g, key, similarity
        # Only the entries that were set are cleared: the array has one entry per cluster of all members.
        for e in range(first[a], last[a]):
            dense[indices[e]] = 0.0
        # Only then is the winner nearer than every group that is not listed.
        if winner_similarity > outside + SLACK:
            tree.partner[a], tree.best[a], determined[a] = winner, winner_similarity, True


@jit
def _from_the_shortest(clusters, start, stop, order):
    """Write clusters to `order` by the length of their lists; in the given order if no list is long."""
    n, longest = len(clusters), 0
    for i in range(n):
        order[i] = clusters[i]
        longest = max(longest, stop[clusters[i]] - start[clusters[i]])
    if longest <= _LONG_LIST:
        return
    # Beyond a few lists, sorting by comparison of neighbors would take quadratic time.
    if n > _FEW_LISTS:
        order[:n] = clusters[np.argsort(stop[clusters] - start[clusters])]
        return
    for i in range(1, n):
        c = order[i]
        length = stop[c] - start[c]
        rank = i
        while rank > 0 and stop[order[rank - 1]] - start[order[rank - 1]] > length:
            order[rank] = order[rank - 1]
            rank -= 1
        order[rank] = c


@jit
def search(todo, groups, touching, near, tree):
    """Find the nearest group of each group in `todo`, and list it with other near groups.

    Inverted lists are read from the shortest on. Reading stops at a list that would take longer than comparing the
    groups met so far that may still be near, provided that no other group can be near.
    """
    first, last, indices, values = groups.first, groups.last, groups.indices, groups.values
    sizes, weight, node = groups.sizes, groups.weight, tree.node
    start, stop, group, share, largest = touching.start, touching.stop, touching.group, touching.share, touching.largest
    n_listed = near.candidates.shape[1]
    dense = np.zeros(len(weight))
    partial = np.zeros(len(sizes))
    met = np.empty(len(sizes) + 1, dtype=np.int32)  # one more: the loop writes before it knows whether g is new
    order = np.empty(len(weight), dtype=np.int32)
    leaders = np.empty(_LEADERS, dtype=np.int64)
    for a in todo:
        # Step 1: expand the histogram of a, and bound what all lists together can add to any similarity.
        n_clusters = last[a] - first[a]
        _from_the_shortest(indices[first[a] : last[a]], start, stop, order)
        rest = 0.0  # upper bound of what the unread lists add to any similarity
        for e in range(first[a], last[a]):
            c = indices[e]
            dense[c] = values[e]
            rest += weight[c] * values[e] / sizes[a] * largest[c]
        n_met, n_leaders, n_compared = np.uint64(0), 0, 0
        leader, highest = 0.0, 0.0  # lower bounds of the nearest similarity: partial, and exact
        # Step 2: read lists from the shortest on, adding up partial similarities of the groups met.
        for i in range(n_clusters):
            c = order[i]
            length = stop[c] - start[c]
            # Before a long list: compare the leaders exactly. If no unmet group can be near, and the met ones that
            # can be are few, comparing them is cheaper than reading on.
            if length > _LONG_LIST and 0 < n_met < 2 * length:
                for j in range(min(n_leaders - n_compared, _LEADERS)):
                    g = leaders[(n_leaders - 1 - j) % _LEADERS]
                    highest = max(highest, _similarity(a, g, dense, first, last, indices, values, sizes, weight))
                n_compared = n_leaders
                if rest < _NEAR * highest:
                    n_near = 0
                    for j in range(n_met):
                        n_near += partial[np.uint32(met[j])] + rest >= _NEAR * highest
                    if n_near * _COMPARED < length:
                        break
            scale = weight[c] * dense[c] / sizes[a]
            if scale == 0.0:
                continue
            # Unsigned indices are faster: numba need not check whether they are negative.
            for f in range(np.uint64(start[c]), np.uint64(stop[c])):
                g = np.uint32(group[f])
                before = partial[g]
                after = before + scale * share[f]
                partial[g] = after
                met[n_met] = g
                n_met += np.uint64((before == 0.0) & (after > 0.0))  # without a branch: g counts when it becomes > 0
                if after >= leader and g != a:
                    leader = after
                    leaders[n_leaders % _LEADERS] = g
                    n_leaders += 1
            rest -= scale * largest[c]
        # Step 3: raise the lower bound once more, because it decides how many groups are compared below.
        for j in range(min(n_leaders - n_compared, _LEADERS)):
            g = leaders[(n_leaders - 1 - j) % _LEADERS]
            highest = max(highest, _similarity(a, g, dense, first, last, indices, values, sizes, weight))
        rest = max(rest, 0.0)
        listed, bounds = near.candidates[a], near.bounds[a]
        n, least = 0, 0
        enough = highest * (_NEAR if rest > SLACK else _NEAR_IF_COMPUTED)
        cutoff, most_outside = enough, rest
        winner, winner_key, winner_similarity = np.int64(-1), 0.0, 0.0
        # Step 4: list the best groups; `cutoff` rises as the list fills, and the rest goes into `outside`.
        for j in range(n_met):
            g = np.uint32(met[j])
            similarity = partial[g] + rest
            partial[g] = 0.0
            if similarity < cutoff - SLACK:
                if g != a:
                    most_outside = max(most_outside, similarity)
                continue
            if g == a:
                continue
            # Partial sums are exact up to rounding if all lists were read; then only possible winners are compared.
            if rest > SLACK or similarity >= highest - SLACK:
                similarity = _similarity(a, g, dense, first, last, indices, values, sizes, weight)
                highest = max(highest, similarity)
                key = np.rint(similarity * DECIMALS)
                if key > winner_key or (key == winner_key and winner >= 0 and node[g] > node[winner]):
                    winner, winner_key, winner_similarity = np.int64(g), key, similarity
            if n < n_listed:
                listed[n], bounds[n] = g, similarity
                n += 1
            elif similarity > bounds[least]:
                most_outside = max(most_outside, bounds[least])
                listed[least], bounds[least] = g, similarity
            else:
                most_outside = max(most_outside, similarity)
                continue
            if n == n_listed:
                least = _least(bounds)
                cutoff = max(enough, bounds[least])
        for e in range(first[a], last[a]):
            dense[indices[e]] = 0.0
        # Sizes are stored to notice later that a listed group has grown.
        for i in range(n_listed):
            near.sizes[a, i] = sizes[listed[i]] if i < n else 0.0
        listed[n:], bounds[n:] = -1, 0.0
        near.outside[a] = most_outside
        tree.partner[a], tree.best[a] = winner, winner_similarity


@jit
def find_nearest(todo, groups, touching, near, tree):
    """Find the nearest group of each group in `todo`: in its list, or by a search if the list does not determine it."""
    determined = np.zeros(len(tree.root), dtype=np.bool_)
    choose(todo, groups, near, tree, determined)
    search(todo[~determined[todo]], groups, touching, near, tree)


@jit
def mutual(groups, tree):
    """Return the pairs (j, 2) of groups that are each other's nearest, and the number of their entries."""
    partner = tree.partner
    pairs = np.empty((len(partner) // 2, 2), dtype=np.int64)
    n_pairs, n_entries = 0, 0
    for b in range(len(partner)):
        a = partner[b]
        if 0 <= a < b and partner[a] == b:
            pairs[n_pairs, 0], pairs[n_pairs, 1] = a, b
            n_pairs += 1
            n_entries += groups.last[a] - groups.first[a] + groups.last[b] - groups.first[b]
    return pairs[:n_pairs], n_entries


@jit
def join(pairs, groups, touching, tree, end, n_nodes):
    """Merge pairs of groups, each into the slot of its first, as nodes n_nodes, n_nodes + 1, ...

    Groups whose nearest group was merged become stale. New histograms are written from `end` on; returns their end.
    """
    partner, root = tree.partner, tree.root
    for i in range(len(pairs)):
        a, b = pairs[i]
        # A parent is never below its children, in spite of rounding.
        tree.height[a] = max(1.0 - tree.best[a], tree.height[a], tree.height[b])
        end = _join_histograms(a, b, groups, touching, end)
        root[b], partner[b], tree.absorbed[a] = a, -1, b
    for g in range(len(root)):  # a group merged earlier follows its root into the new group
        root[g] = root[root[g]]
    # Merged groups are skipped from now on; others learn whether their nearest group changed.
    for g in range(len(root)):
        if root[g] != g:
            tree.stale[g] = False
        elif tree.absorbed[g] >= 0:
            tree.stale[g], tree.node[g] = True, n_nodes
            n_nodes += 1
        else:
            partner[g] = root[partner[g]] if partner[g] >= 0 else -1
            tree.stale[g] = partner[g] >= 0 and tree.absorbed[partner[g]] >= 0
    return end


@jit
def _join_histograms(a, b, groups, touching, end):
    """Write the sum of two histograms from `end` on, as that of the first group; return its end."""
    indices, values, spot = groups.indices, groups.values, groups.spot
    e, e_last, f, f_last = groups.first[a], groups.last[a], groups.first[b], groups.last[b]
    size = groups.sizes[a] + groups.sizes[b]
    groups.sizes[a], groups.first[a] = size, end
    # Both histograms are sorted by cluster: merge them in one pass.
    while e < e_last or f < f_last:
        c = min(indices[e] if e < e_last else indices[f], indices[f] if f < f_last else indices[e])
        in_first, in_second = e < e_last and indices[e] == c, f < f_last and indices[f] == c
        indices[end] = c
        values[end] = (values[e] if in_first else 0.0) + (values[f] if in_second else 0.0)
        if in_first and in_second:  # two entries become one: the last of the list moves to the free position
            touching.stop[c] -= 1
            gone, moved = spot[f], touching.stop[c]
            touching.group[gone], touching.share[gone] = touching.group[moved], touching.share[moved]
            touching.entry[gone] = touching.entry[moved]
            spot[touching.entry[gone]] = gone
        list_entry = spot[e] if in_first else spot[f]
        touching.group[list_entry], touching.share[list_entry], touching.entry[list_entry] = a, values[end] / size, end
        spot[end] = list_entry
        e, f = e + in_first, f + in_second
        end += 1
    groups.last[a] = end
    return end


@jit
def join_while_many(groups, touching, near, tree, end, n_nodes, few):
    """Merge groups that are each other's nearest, round after round, while more than `few` are left, in one thread.

    Returns the merges as pairs of leaves (j, 2) with their heights (j,), and the updated arguments up to `end`.
    """
    n_left = np.sum(tree.root == np.arange(len(tree.root)))
    merges, heights = np.empty((n_left, 2), dtype=np.int64), np.empty(n_left)
    n_merges = 0
    while n_left > few:
        # Only stale groups are searched: the nearest group of the others did not change.
        todo = np.flatnonzero(tree.stale)
        find_nearest(todo, groups, touching, near, tree)
        pairs, n_entries = mutual(groups, tree)
        # No mutual pair: search all groups once more before concluding that none has any co-association.
        if len(pairs) == 0:
            if len(todo) == n_left:  # all groups were searched, and none has any co-association
                break
            tree.stale[:] = tree.root == np.arange(len(tree.root))
            continue
        # The space for new histograms is full: drop merged groups, and build the inverted lists again.
        if end + n_entries > len(groups.indices):
            roots = np.flatnonzero(tree.root == np.arange(len(tree.root)))
            near, tree = keep_lists(groups, near, tree, roots), keep_tree(tree, roots)
            groups = keep_groups(groups, roots, n_entries)
            touching = invert(groups)
            end = groups.last[n_left - 1]
            pairs, _ = mutual(groups, tree)
        end = join(pairs, groups, touching, tree, end, n_nodes)
        n_nodes += len(pairs)
        n_left -= len(pairs)
        for a, b in pairs:
            merges[n_merges, 0], merges[n_merges, 1], heights[n_merges] = tree.leaf[a], tree.leaf[b], tree.height[a]
            n_merges += 1
    return merges[:n_merges], heights[:n_merges], groups, touching, near, tree, end


@jit
def products(selected, groups, touching, amount, out):
    """Write the rows `selected` of sum_c w_c h_a(c) h_b(c) of every two groups, the same bits for (a, b) and (b, a).

    amount : h of the groups in the inverted lists
    out : (G, G); the diagonal is 0
    """
    for a in selected:
        row = out[a]
        row[:] = 0.0
        for e in range(groups.first[a], groups.last[a]):
            c = groups.indices[e]
            weight, value = groups.weight[c], groups.values[e]
            # The amounts are multiplied first, so that (a, b) and (b, a) get the same bits.
            for f in range(np.uint64(touching.start[c]), np.uint64(touching.stop[c])):
                row[np.uint32(touching.group[f])] += weight * (value * amount[f])
        row[a] = 0.0


@jit_fused
def _highest(row, scale, first, last):
    """Return the largest of row * scale over first..last; compiled to vector instructions."""
    highest = 0.0
    for b in range(first, last):
        highest = max(highest, row[b] * scale[b])
    return highest


@jit
def _nearest_of_row(row, size, sizes, scale, node, highest_of):
    """Return the nearest group by the products with all others, and its similarity; -1 and 0 if none has any.

    scale : (G,) 1 / sizes, or 0 for a merged group
    highest_of : (G / _STRETCH,) scratch memory: the highest similarity of each stretch of groups
    """
    # First pass: maxima with vector instructions. Second pass: exact keys and ties, only where the maximum may be.
    for stretch in range(len(highest_of)):
        highest_of[stretch] = _highest(row, scale, stretch * _STRETCH, min((stretch + 1) * _STRETCH, len(row)))
    least = max(highest_of.max() - SLACK * size, 0.0)
    winner, winner_key, winner_similarity = -1, 0.0, 0.0
    for stretch in range(len(highest_of)):
        if highest_of[stretch] < least:
            continue
        for g in range(stretch * _STRETCH, min((stretch + 1) * _STRETCH, len(row))):
            # A merged group has scale 0 and is never chosen.
            if row[g] * scale[g] >= least and row[g] > 0.0 and scale[g] > 0.0:
                similarity = row[g] / (size * sizes[g])
                key = np.rint(similarity * DECIMALS)
                if key > winner_key or (key == winner_key and winner >= 0 and node[g] > node[winner]):
                    winner, winner_key, winner_similarity = g, key, similarity
    return winner, winner_similarity


@jit
def _follow(row, log, n_followed, n_logged):
    """Apply merges to a row of products: add the product with the second group of each pair to that with the first."""
    for i in range(n_followed, n_logged):
        row[log[i, 0]] += row[log[i, 1]]


@jit
def join_few(products, groups, tree, n_nodes):
    """Merge groups that are each other's nearest, round after round, until none have any co-association.

    products : (G, G) as `products` writes them; each row applies the merges since its last use when it is next used

    Returns the merges as pairs of leaves (j, 2) with their heights (j,). Leaves and roots of the tree stay valid.
    """
    n = len(groups.sizes)
    leaf, node, height, partner, best, stale = tree.leaf, tree.node, tree.height, tree.partner, tree.best, tree.stale
    sizes, scale = groups.sizes, 1.0 / groups.sizes
    merges, heights = np.empty((n, 2), dtype=np.int64), np.empty(n)
    log, followed, n_logged = np.empty((n, 2), dtype=np.int64), np.zeros(n, dtype=np.int64), 0
    joined = np.empty(n, dtype=np.bool_)
    highest_of = np.empty(-(-n // _STRETCH))
    while True:
        # Find the nearest group of all stale groups.
        for a in range(n):
            if stale[a] and scale[a] > 0.0:
                _follow(products[a], log, followed[a], n_logged)
                followed[a], products[a, a] = n_logged, 0.0
                partner[a], best[a] = _nearest_of_row(products[a], sizes[a], sizes, scale, node, highest_of)
        # Log all mutual pairs; a round without any ends the work once every group was searched.
        before = n_logged
        for b in range(n):
            a = partner[b]
            if 0 <= a < b and scale[b] > 0.0 and partner[a] == b:
                log[n_logged, 0], log[n_logged, 1] = a, b
                n_logged += 1
        if n_logged == before:
            if np.all(stale | (scale == 0.0)):
                return merges[:n_logged], heights[:n_logged]
            stale[:] = True
            continue
        # Merge them: rows of products are added, columns follow lazily through the log.
        joined[:] = False
        for i in range(before, n_logged):
            a, b = log[i]
            height[a] = max(1.0 - best[a], height[a], height[b])
            merges[i, 0], merges[i, 1], heights[i] = leaf[a], leaf[b], height[a]
            for part in (a, b):
                _follow(products[part], log, followed[part], i)
                followed[part] = i + 1
            products[a] += products[b]
            products[a, a] = 0.0
            sizes[a] += sizes[b]
            scale[a], scale[b] = 1.0 / sizes[a], 0.0
            joined[a] = joined[b] = True
            tree.root[b] = a
        # The nearest group of a stale group may have changed; others keep theirs, because similarities to merged groups
        # only fall.
        for a in range(n):
            stale[a] = joined[a] or (partner[a] >= 0 and joined[partner[a]])
            if joined[a] and scale[a] > 0.0:
                node[a] = n_nodes
                n_nodes += 1
