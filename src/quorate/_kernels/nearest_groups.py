"""Groups joined with their nearest, found in lists of near groups, so that few have to be searched for anew.

A group's list holds some others, each with a bound on its similarity, and there is one bound, `outside`, on that to all
groups not listed. Mean evidence never grows when groups are merged beyond the nearer of the two, and to a merged group
it is the mean over its parts; so lists and bounds follow from those of the parts, when they are asked for.

Groups keep their places: a joined group takes that of its first part, and only what is joined is written anew. Evidence
is that of `linkage`, and so is what is equal and who wins among equals.
"""

from typing import NamedTuple

import numpy as np

from quorate._kernels._jit import jit, jit_fused
from quorate._kernels.merge_chain import DECIMALS, SLACK

_NEAR = 0.85  # groups less similar than this times the nearest need not be listed
_NEAR_IF_KNOWN = 0.65  # the same where similarities are known well before groups are compared
_COMPARED = 2  # entries of an inverted list that take as long, with what follows, as to compare two groups
_LEADERS = 4  # groups compared before a long list, to know how similar the nearest is at least
_WORTH_A_LOOK = 4 * _LEADERS * _COMPARED  # entries of a list that is long
_FEW_LISTS = 48  # that are sorted by inserting one after the other
_LEAST_ROOM = 1 << 16  # entries of groups to come, where making room takes longer than having it
_PLACES = 64  # of a row that are looked at in one go


class Groups(NamedTuple):
    """Groups of patterns as sparse histograms over clusters, ordered by cluster."""

    first: np.ndarray
    last: np.ndarray
    """(G,) where the histogram of each group begins and ends."""
    indices: np.ndarray
    values: np.ndarray
    """Clusters and how much of each; there is room for those of groups to come."""
    spot: np.ndarray
    """Where each entry is in the inverted lists; its type has room for all entries."""
    sizes: np.ndarray
    """(G,); of a group that went into another, what it was."""
    weight: np.ndarray
    """(n_clusters,) w_c"""


class Touching(NamedTuple):
    """Inverted lists: for each cluster the groups that touch it."""

    start: np.ndarray
    stop: np.ndarray
    """(n_clusters,) where each list begins and ends."""
    group: np.ndarray
    share: np.ndarray
    """The groups, and their shares h / size."""
    entry: np.ndarray
    """Where each is in the histograms."""
    largest: np.ndarray
    """(n_clusters,) what no share is above."""


class Near(NamedTuple):
    """For each group others that are near."""

    candidates: np.ndarray
    """(G, j) groups, -1 behind the last; one may have gone into another since."""
    bounds: np.ndarray
    """(G, j) what the similarity to each is not above."""
    sizes: np.ndarray
    """(G, j) how large it was then."""
    outside: np.ndarray
    """(G,) what the similarity to all groups not listed is not above."""


class Tree(NamedTuple):
    """How far groups have been joined."""

    leaf: np.ndarray
    """(G,) first leaf of each group."""
    node: np.ndarray
    """(G,) its node in the dendrogram: the larger, the later it was made."""
    height: np.ndarray
    """(G,) where it was made."""
    partner: np.ndarray
    best: np.ndarray
    """(G,) its nearest group, -1 for none with any evidence, and how similar that is."""
    stale: np.ndarray
    """(G,) whether the nearest has to be found."""
    root: np.ndarray
    """(G,) the group that it went into, or itself."""
    absorbed: np.ndarray
    """(G,) the group that went into it in the last round, -1 for none."""


@jit
def invert(groups):
    """Return the inverted lists of groups, none of which has gone into another, and write where their entries are."""
    n, n_clusters = len(groups.sizes), len(groups.weight)
    end = groups.last[n - 1]
    start, stop = np.zeros(n_clusters, dtype=np.int64), np.zeros(n_clusters, dtype=np.int64)
    for e in range(end):
        stop[groups.indices[e]] += 1
    total = 0
    for c in range(n_clusters):
        start[c] = total
        total += stop[c]
        stop[c] = start[c]
    group, entry, share = np.empty(end, dtype=np.int32), np.empty(end, dtype=groups.spot.dtype), np.empty(end)
    largest = np.zeros(n_clusters)
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
    """Return lists that tell nothing yet."""
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
def keep_groups(groups, kept, room):
    """Return the groups `kept` alone, in their order, with room for some entries of groups to come, or more."""
    indptr = np.zeros(len(kept) + 1, dtype=np.int64)
    for g in range(len(kept)):
        indptr[g + 1] = indptr[g] + groups.last[kept[g]] - groups.first[kept[g]]
    room = max(room, indptr[-1] // 2, _LEAST_ROOM)
    spot = np.empty(indptr[-1] + room, dtype=groups.spot.dtype)
    indices, values = np.empty(indptr[-1] + room, dtype=np.int32), np.empty(indptr[-1] + room)
    for g in range(len(kept)):
        first, last = groups.first[kept[g]], groups.last[kept[g]]
        indices[indptr[g] : indptr[g + 1]] = groups.indices[first:last]
        values[indptr[g] : indptr[g + 1]] = groups.values[first:last]
    return Groups(indptr[:-1].copy(), indptr[1:].copy(), indices, values, spot, groups.sizes[kept], groups.weight)


@jit
def keep_lists(groups, near, tree, kept):
    """Return the lists of the groups `kept`, all others of which went into one of them; they are moved."""
    scratch = _scratch(groups, near)
    number = np.full(len(tree.root), -1, dtype=np.int32)
    for g in range(len(kept)):
        number[kept[g]] = g
    candidates, bounds, sizes, outside = near
    for g in range(len(kept)):
        a = kept[g]  # never before g
        _renew(a, groups, near, tree, scratch)
        for i in range(candidates.shape[1]):
            q = candidates[a, i]
            candidates[g, i] = number[q] if q >= 0 else -1
            bounds[g, i], sizes[g, i] = bounds[a, i], sizes[a, i]
        outside[g] = outside[a]
    n = len(kept)
    return Near(candidates[:n], bounds[:n], sizes[:n], outside[:n])


@jit
def keep_tree(tree, kept):
    """Return what is known of the groups `kept`, all others of which went into one of them."""
    number = np.full(len(tree.root), -1)
    for g in range(len(kept)):
        number[kept[g]] = g
    partner = tree.partner[kept]
    for g in range(len(kept)):
        if partner[g] >= 0:
            partner[g] = number[partner[g]]
    numbers, none = np.arange(len(kept)), np.full(len(kept), -1)
    return Tree(
        tree.leaf[kept], tree.node[kept], tree.height[kept], partner, tree.best[kept], tree.stale[kept], numbers, none
    )


@jit
def _scratch(groups, near):
    """Return what `_renew` needs: a place for each group, and room for two lists."""
    n_listed = near.candidates.shape[1]
    place = np.full(len(groups.sizes), -1, dtype=np.int32)
    return place, np.empty(2 * n_listed, dtype=np.int32), np.empty(2 * n_listed)


@jit
def _renew(a, groups, near, tree, scratch):
    """Bring the list of a group up to date: with that of the group that went into it, and where listed ones went.

    The evidence between a part and a group is at most that of the parts listed, by their bounds, and that of all else.
    """
    place, listed, total = scratch
    n_listed = near.candidates.shape[1]
    b = tree.absorbed[a]
    tree.absorbed[a] = -1
    other = groups.sizes[b] if b >= 0 else 0.0
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
            if place[g] < 0:
                place[g] = n
                listed[n], total[n] = g, base * groups.sizes[g]
                n += 1
            total[place[g]] += size * near.sizes[p, i] * (near.bounds[p, i] - near.outside[p])
    for i in range(n):
        place[listed[i]] = -1
        total[i] /= groups.sizes[a] * groups.sizes[listed[i]]
    most_outside = base / groups.sizes[a]
    for i in range(n_listed, n):
        least = _least(total[:n_listed])
        if total[i] > total[least]:
            most_outside = max(most_outside, total[least])
            listed[least], total[least] = listed[i], total[i]
        else:
            most_outside = max(most_outside, total[i])
    for i in range(n_listed):
        known = i < n
        near.candidates[a, i] = listed[i] if known else -1
        near.bounds[a, i] = total[i] if known else 0.0
        near.sizes[a, i] = groups.sizes[listed[i]] if known else 0.0
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
    """Return the mean evidence of group a, spread out in `dense`, and g, the same bits whichever of the two is a."""
    total = 0.0
    for e in range(np.uint64(first[g]), np.uint64(last[g])):
        c = np.uint32(indices[e])
        total += weight[c] * (dense[c] * values[e])
    return total / (sizes[a] * sizes[g])


@jit
def choose(todo, groups, near, tree, known):
    """Take the nearest of each group in `todo` from its list, brought up to date, where the list tells.

    known : (G,) written at the positions `todo`: whether it does; if so its partner and best are written, as by
        `search`
    """
    first, last, indices, values = groups.first, groups.last, groups.indices, groups.values
    sizes, weight, node = groups.sizes, groups.weight, tree.node
    candidates, bounds, near_sizes, root, absorbed = near.candidates, near.bounds, near.sizes, tree.root, tree.absorbed
    dense = np.zeros(len(weight))
    seen = np.empty(candidates.shape[1], dtype=np.bool_)
    scratch = _scratch(groups, near)
    for a in todo:
        changed, i = absorbed[a] >= 0, 0
        while not changed and i < len(seen) and candidates[a, i] >= 0:
            changed = near_sizes[a, i] != sizes[root[candidates[a, i]]]
            i += 1
        if changed:
            _renew(a, groups, near, tree, scratch)
        known[a] = False
        outside = near.outside[a]
        n = 0
        while n < len(seen) and candidates[a, n] >= 0:
            seen[n] = bounds[a, n] <= outside + SLACK
            n += 1
        if np.all(seen[:n]):
            continue
        for e in range(first[a], last[a]):
            dense[indices[e]] = values[e]
        winner, winner_key, winner_similarity = -1, 0.0, 0.0
        while True:
            next_one = -1
            for i in range(n):
                if not seen[i] and (next_one < 0 or bounds[a, i] > bounds[a, next_one]):
                    next_one = i
            if next_one < 0 or bounds[a, next_one] < winner_similarity - SLACK:
                break
            seen[next_one] = True
            g = candidates[a, next_one]
            similarity = _similarity(a, g, dense, first, last, indices, values, sizes, weight)
            bounds[a, next_one] = similarity
            key = np.rint(similarity * DECIMALS)
            if key > winner_key or (key == winner_key and winner >= 0 and node[g] > node[winner]):
                winner, winner_key, winner_similarity = g, key, similarity
        for e in range(first[a], last[a]):
            dense[indices[e]] = 0.0
        if winner_similarity > outside + SLACK:
            tree.partner[a], tree.best[a], known[a] = winner, winner_similarity, True


@jit
def _from_the_shortest(clusters, start, stop, order):
    """Write some clusters to `order` by the length of their lists; where none is long, as they are."""
    n, longest = len(clusters), 0
    for i in range(n):
        order[i] = clusters[i]
        longest = max(longest, stop[clusters[i]] - start[clusters[i]])
    if longest <= _WORTH_A_LOOK:
        return
    if n > _FEW_LISTS:
        order[:n] = clusters[np.argsort(stop[clusters] - start[clusters])]
        return
    for i in range(1, n):
        c = order[i]
        length = stop[c] - start[c]
        place = i
        while place > 0 and stop[order[place - 1]] - start[order[place - 1]] > length:
            order[place] = order[place - 1]
            place -= 1
        order[place] = c


@jit
def search(todo, groups, touching, near, tree):
    """Find the nearest of each group in `todo`, and list it with others that are near.

    Lists are read from the shortest on, up to one that takes longer to read than to compare the groups met that may be
    near, if no other can be. Of groups that are near all similarities are then known, or a bound on them.
    """
    first, last, indices, values = groups.first, groups.last, groups.indices, groups.values
    sizes, weight, node = groups.sizes, groups.weight, tree.node
    start, stop, group, share, largest = touching.start, touching.stop, touching.group, touching.share, touching.largest
    n_listed = near.candidates.shape[1]
    dense = np.zeros(len(weight))
    partial = np.zeros(len(sizes))
    met = np.empty(len(sizes) + 1, dtype=np.int32)  # one more place, written before it is known to be needed
    order = np.empty(len(weight), dtype=np.int32)
    leaders = np.empty(_LEADERS, dtype=np.int64)
    for a in todo:
        n_clusters = last[a] - first[a]
        _from_the_shortest(indices[first[a] : last[a]], start, stop, order)
        rest = 0.0  # the most that lists not read yet add to any similarity
        for e in range(first[a], last[a]):
            c = indices[e]
            dense[c] = values[e]
            rest += weight[c] * values[e] / sizes[a] * largest[c]
        n_met, n_leaders, n_asked = np.uint64(0), 0, 0
        leader, highest = 0.0, 0.0  # what is known of the nearest: at least how similar it is
        for i in range(n_clusters):
            c = order[i]
            length = stop[c] - start[c]
            if length > _WORTH_A_LOOK and 0 < n_met < 2 * length:
                for j in range(min(n_leaders - n_asked, _LEADERS)):
                    g = leaders[(n_leaders - 1 - j) % _LEADERS]
                    highest = max(highest, _similarity(a, g, dense, first, last, indices, values, sizes, weight))
                n_asked = n_leaders
                if rest < _NEAR * highest:
                    n_near = 0
                    for j in range(n_met):
                        n_near += partial[np.uint32(met[j])] + rest >= _NEAR * highest
                    if n_near * _COMPARED < length:
                        break
            scale = weight[c] * dense[c] / sizes[a]
            if scale == 0.0:
                continue
            for f in range(np.uint64(start[c]), np.uint64(stop[c])):
                g = np.uint32(group[f])
                before = partial[g]
                after = before + scale * share[f]
                partial[g] = after
                met[n_met] = g
                n_met += np.uint64((before == 0.0) & (after > 0.0))  # no evidence at all, or too little: met again
                if after >= leader and g != a:
                    leader = after
                    leaders[n_leaders % _LEADERS] = g
                    n_leaders += 1
            rest -= scale * largest[c]
        for j in range(min(n_leaders - n_asked, _LEADERS)):
            g = leaders[(n_leaders - 1 - j) % _LEADERS]
            highest = max(highest, _similarity(a, g, dense, first, last, indices, values, sizes, weight))
        rest = max(rest, 0.0)
        listed, bounds = near.candidates[a], near.bounds[a]
        n, least = 0, 0
        enough = highest * (_NEAR if rest > SLACK else _NEAR_IF_KNOWN)
        cutoff, most_outside = enough, rest
        winner, winner_key, winner_similarity = np.int64(-1), 0.0, 0.0
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
            if rest > SLACK or similarity >= highest - SLACK:  # else it is known but for rounding, and less
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
        for i in range(n_listed):
            near.sizes[a, i] = sizes[listed[i]] if i < n else 0.0
        listed[n:], bounds[n:] = -1, 0.0
        near.outside[a] = most_outside
        tree.partner[a], tree.best[a] = winner, winner_similarity


@jit
def find_nearest(todo, groups, touching, near, tree):
    """Find the nearest of each group in `todo`: in its list, or by a search where that does not tell."""
    known = np.zeros(len(tree.root), dtype=np.bool_)
    choose(todo, groups, near, tree, known)
    search(todo[~known[todo]], groups, touching, near, tree)


@jit
def mutual(groups, tree):
    """Return the pairs (j, 2) of groups that are each other's nearest, and how many entries they have together."""
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
    """Join pairs of groups, each in the place of its first, as nodes n_nodes and on.

    Whose nearest is one of them is stale then. New histograms are written from `end` on; returns where they end.
    """
    partner, root = tree.partner, tree.root
    for i in range(len(pairs)):
        a, b = pairs[i]
        # A parent is never below its children, whatever the last bits say.
        tree.height[a] = max(1.0 - tree.best[a], tree.height[a], tree.height[b])
        end = _join_histograms(a, b, groups, touching, end)
        root[b], partner[b], tree.absorbed[a] = a, -1, b
    for g in range(len(root)):
        root[g] = root[root[g]]
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
    """Write the histogram of two groups together from `end` on, as that of the first; return where it ends."""
    indices, values, spot = groups.indices, groups.values, groups.spot
    e, e_last, f, f_last = groups.first[a], groups.last[a], groups.first[b], groups.last[b]
    size = groups.sizes[a] + groups.sizes[b]
    groups.sizes[a], groups.first[a] = size, end
    while e < e_last or f < f_last:
        c = min(indices[e] if e < e_last else indices[f], indices[f] if f < f_last else indices[e])
        in_first, in_second = e < e_last and indices[e] == c, f < f_last and indices[f] == c
        indices[end] = c
        values[end] = (values[e] if in_first else 0.0) + (values[f] if in_second else 0.0)
        if in_first and in_second:  # the last of the list takes the place of the second
            touching.stop[c] -= 1
            gone, moved = spot[f], touching.stop[c]
            touching.group[gone], touching.share[gone] = touching.group[moved], touching.share[moved]
            touching.entry[gone] = touching.entry[moved]
            spot[touching.entry[gone]] = gone
        place = spot[e] if in_first else spot[f]
        touching.group[place], touching.share[place], touching.entry[place] = a, values[end] / size, end
        spot[end] = place
        e, f = e + in_first, f + in_second
        end += 1
    groups.last[a] = end
    return end


@jit
def join_while_many(groups, touching, near, tree, end, n_nodes, few):
    """Join groups that are each other's nearest, round after round, while more than a few are left.

    It does one after the other what is worth threads where groups are many.

    Returns the merges as pairs of leaves (j, 2) with their heights (j,), and all that was given as it is then, up to
    `end`.
    """
    n_left = np.sum(tree.root == np.arange(len(tree.root)))
    merges, heights = np.empty((n_left, 2), dtype=np.int64), np.empty(n_left)
    n_merges = 0
    while n_left > few:
        todo = np.flatnonzero(tree.stale)
        find_nearest(todo, groups, touching, near, tree)
        pairs, n_entries = mutual(groups, tree)
        if len(pairs) == 0:
            if len(todo) == n_left:
                break
            tree.stale[:] = tree.root == np.arange(len(tree.root))
            continue
        if end + n_entries > len(groups.indices):
            kept = np.flatnonzero(tree.root == np.arange(len(tree.root)))
            near, tree = keep_lists(groups, near, tree, kept), keep_tree(tree, kept)
            groups = keep_groups(groups, kept, n_entries)
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
def products(some, groups, touching, amount, out):
    """Write the rows `some` of sum_c w_c h_a(c) h_b(c) of every two groups, the same bits for (a, b) and (b, a).

    amount : h of the groups in the inverted lists
    out : (G, G); a group has 0 with itself
    """
    for a in some:
        row = out[a]
        row[:] = 0.0
        for e in range(groups.first[a], groups.last[a]):
            c = groups.indices[e]
            weight, value = groups.weight[c], groups.values[e]
            for f in range(np.uint64(touching.start[c]), np.uint64(touching.stop[c])):
                row[np.uint32(touching.group[f])] += weight * (value * amount[f])
        row[a] = 0.0


@jit_fused
def _highest(row, scale, first, last):
    """Return the largest of row * scale over first..last, on vector instructions."""
    highest = 0.0
    for b in range(first, last):
        highest = max(highest, row[b] * scale[b])
    return highest


@jit
def _nearest_of_row(row, size, sizes, scale, node, highest_of):
    """Return the nearest group by the products with all others, and its similarity; -1 and 0 if none has any.

    scale : (G,) 1 / sizes, or 0 for a group that is no more
    highest_of : (G / _PLACES,) scratch space: the highest similarity of each stretch of places
    """
    for stretch in range(len(highest_of)):
        highest_of[stretch] = _highest(row, scale, stretch * _PLACES, min((stretch + 1) * _PLACES, len(row)))
    least = max(highest_of.max() - SLACK * size, 0.0)
    winner, winner_key, winner_similarity = -1, 0.0, 0.0
    for stretch in range(len(highest_of)):
        if highest_of[stretch] < least:
            continue
        for g in range(stretch * _PLACES, min((stretch + 1) * _PLACES, len(row))):
            if row[g] * scale[g] >= least and row[g] > 0.0 and scale[g] > 0.0:
                similarity = row[g] / (size * sizes[g])
                key = np.rint(similarity * DECIMALS)
                if key > winner_key or (key == winner_key and winner >= 0 and node[g] > node[winner]):
                    winner, winner_key, winner_similarity = g, key, similarity
    return winner, winner_similarity


@jit
def _follow(row, log, n_followed, n_logged):
    """Add up the products with groups that were joined since: with the second of each pair, to those with the first."""
    for i in range(n_followed, n_logged):
        row[log[i, 0]] += row[log[i, 1]]


@jit
def join_few(products, groups, tree, n_nodes):
    """Join groups that are each other's nearest, round after round, until none have any evidence in common.

    products : (G, G) as the kernel of that name writes them; each row follows what was joined when it is next read

    Returns the merges as pairs of leaves (j, 2) with their heights (j,). Of the tree leaves and roots are kept.
    """
    n = len(groups.sizes)
    leaf, node, height, partner, best, stale = tree.leaf, tree.node, tree.height, tree.partner, tree.best, tree.stale
    sizes, scale = groups.sizes, 1.0 / groups.sizes
    merges, heights = np.empty((n, 2), dtype=np.int64), np.empty(n)
    log, followed, n_logged = np.empty((n, 2), dtype=np.int64), np.zeros(n, dtype=np.int64), 0
    joined = np.empty(n, dtype=np.bool_)
    highest_of = np.empty(-(-n // _PLACES))
    while True:
        for a in range(n):
            if stale[a] and scale[a] > 0.0:
                _follow(products[a], log, followed[a], n_logged)
                followed[a], products[a, a] = n_logged, 0.0
                partner[a], best[a] = _nearest_of_row(products[a], sizes[a], sizes, scale, node, highest_of)
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
        for a in range(n):
            stale[a] = joined[a] or (partner[a] >= 0 and joined[partner[a]])
            if joined[a] and scale[a] > 0.0:
                node[a] = n_nodes
                n_nodes += 1
