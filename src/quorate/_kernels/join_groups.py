"""Merges of average link: pairs that are nearest to each other become one group, in rounds or one pair at a time."""

import numpy as np

from quorate._kernels._jit import jit, jit_fused
from quorate._kernels.linked_groups import invert, keep_groups, keep_tree
from quorate._kernels.merge_chain import DECIMALS, SLACK
from quorate._kernels.nearest_groups import find_nearest, keep_lists

_STRETCH = 64  # groups whose maximum is found together


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
