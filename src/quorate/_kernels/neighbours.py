"""The most similar groups of each group, listed, so that few nearest groups have to be searched for anew.

A group's list holds some others, each with a bound on its similarity, and there is one bound, `outside`, on that to all
groups not listed. Mean evidence never grows when groups are merged beyond the nearer of the two, and to a merged group
it is the mean over its parts; so lists and bounds are carried over from the parts. Histograms and inverted lists are as
in `linkage`, and so is what is equal and who wins among equals.
"""

import numpy as np

from quorate._kernels._jit import jit, jit_fused
from quorate._kernels.linkage import DECIMALS, SLACK, evidence, invert, merge_pairs

_NEAR = 0.85  # groups less similar than this times the nearest need not be listed
_NEAR_IF_KNOWN = 0.65  # the same where similarities are known well before groups are compared
_COMPARED = 6  # entries of an inverted list that are read in the time of one comparison of two groups
_FEW = 512  # groups whose similarities are all kept
_LEADERS = 8  # groups compared before a long list, to know how similar the nearest is at least
_WORTH_A_LOOK = 2 * _LEADERS * _COMPARED  # entries of a list that is long


@jit
def _scan(a, indptr, indices, values, sizes, weight, start, group, share, largest, dense, partial, met):
    """Add up the similarity of group a to all groups from inverted lists, the shortest first.

    It ends before a list that takes longer to read than to compare the groups met that may be near, if no other can.

    Returns the number of groups met, a among them; the most that the lists left out add to any similarity; how similar
    the nearest is at least; and the similarity from which on groups are near.
    """
    columns = indices[indptr[a] : indptr[a + 1]]
    rest, longest = 0.0, 0
    for c in columns:
        rest += weight[c] * dense[c] / sizes[a] * largest[c]
        longest = max(longest, start[c + 1] - start[c])
    if longest > _WORTH_A_LOOK:
        columns = columns[np.argsort(start[columns + 1] - start[columns])]
    leaders = np.full(_LEADERS, a)
    n_leaders, leader = 0, 0.0
    n_met = np.uint64(0)
    for c in columns:
        length = start[c + 1] - start[c]
        if length > _WORTH_A_LOOK and 0 < n_met < 2 * length:
            near = _NEAR * _most_similar(a, leaders, indptr, indices, values, sizes, weight, dense)
            if rest < near:
                n_near = 0
                for g in met[:n_met]:
                    n_near += partial[g] + rest >= near
                if n_near * _COMPARED < length:
                    break
        scale = weight[c] * dense[c] / sizes[a]
        if scale > 0:
            for f in range(np.uint64(start[c]), np.uint64(start[c + 1])):
                g = np.uint32(group[f])
                before = partial[g]
                after = before + scale * share[f]
                partial[g] = after
                met[n_met] = g
                n_met += np.uint64(before == 0.0)
                if after >= leader and g != a:
                    leader = after
                    leaders[n_leaders % _LEADERS] = g
                    n_leaders += 1
            rest -= scale * largest[c]
    nearest = _most_similar(a, leaders, indptr, indices, values, sizes, weight, dense)
    return np.int64(n_met), max(rest, 0.0), nearest, nearest * (_NEAR if rest > SLACK else _NEAR_IF_KNOWN)


@jit
def _most_similar(a, some, indptr, indices, values, sizes, weight, dense):
    """Return the largest similarity of group a to some others; a itself among them does not count."""
    highest = 0.0
    for g in some:
        if g != a:
            highest = max(highest, evidence(dense, weight, g, indptr, indices, values) / (sizes[a] * sizes[g]))
    return highest


@jit
def _least(values):
    least = 0
    for i in range(1, len(values)):
        if values[i] < values[least]:
            least = i
    return least


@jit
def search(
    todo,
    node,
    indptr,
    indices,
    values,
    sizes,
    weight,
    start,
    group,
    share,
    largest,
    candidates,
    bounds,
    outside,
    partner,
    best,
):
    """Find the nearest of each group in `todo`, and list it with others that are near.

    node : (G,) dendrogram node of each group: the larger, the later it was made
    candidates, bounds, outside : (G, j), (G, j), (G,) the lists, written at the rows `todo`; -1: no group
    partner, best : (G,) written at the positions `todo`: the nearest group (-1: none with positive similarity), and its
        similarity
    """
    n_listed = candidates.shape[1]
    dense = np.zeros(len(weight), dtype=np.float64)
    partial = np.zeros(len(sizes), dtype=np.float64)
    met = np.empty(len(sizes) + 1, dtype=np.int32)  # one more place, written before it is known to be needed
    for a in todo:
        for e in range(indptr[a], indptr[a + 1]):
            dense[indices[e]] = values[e]
        n_met, rest, highest, near = _scan(
            a, indptr, indices, values, sizes, weight, start, group, share, largest, dense, partial, met
        )
        listed, value = candidates[a], bounds[a]
        n, least = 0, 0
        cutoff, most_outside = near, rest
        winner, winner_key, winner_similarity = -1, 0.0, 0.0
        for g in met[:n_met]:
            similarity = partial[g] + rest
            partial[g] = 0.0
            if g == a:
                continue
            if similarity >= cutoff - SLACK:
                if rest > SLACK or similarity >= highest - SLACK:  # else it is known but for rounding, and less
                    similarity = evidence(dense, weight, g, indptr, indices, values) / (sizes[a] * sizes[g])
                    highest = max(highest, similarity)
                    key = np.rint(similarity * DECIMALS)
                    if key > winner_key or (key == winner_key and winner >= 0 and node[g] > node[winner]):
                        winner, winner_key, winner_similarity = g, key, similarity
                if n < n_listed:
                    listed[n], value[n] = g, similarity
                    n += 1
                elif similarity > value[least]:
                    most_outside = max(most_outside, value[least])
                    listed[least], value[least] = g, similarity
                else:
                    most_outside = max(most_outside, similarity)
                    continue
                if n == n_listed:
                    least = _least(value)
                    cutoff = max(near, value[least])
            else:
                most_outside = max(most_outside, similarity)
        for e in range(indptr[a], indptr[a + 1]):
            dense[indices[e]] = 0.0
        outside[a] = most_outside
        partner[a] = winner
        best[a] = winner_similarity
        listed[n:] = -1
        value[n:] = 0.0


@jit
def choose(todo, node, indptr, indices, values, sizes, weight, candidates, bounds, outside, partner, best, known):
    """Take the nearest of each group in `todo` from its list, where the list tells.

    known : (G,) written at the positions `todo`: whether it does; if so partner and best are written too, as by
        `search`
    """
    n_listed = candidates.shape[1]
    dense = np.zeros(len(weight), dtype=np.float64)
    seen = np.empty(n_listed, dtype=np.bool_)
    for a in todo:
        known[a] = False
        if bounds[a].max() <= outside[a] + SLACK:
            continue
        for e in range(indptr[a], indptr[a + 1]):
            dense[indices[e]] = values[e]
        seen[:] = candidates[a] < 0
        winner, winner_key, winner_similarity = -1, 0.0, 0.0
        while True:
            next_one = -1
            for i in range(n_listed):
                if not seen[i] and (next_one < 0 or bounds[a, i] > bounds[a, next_one]):
                    next_one = i
            if next_one < 0 or bounds[a, next_one] < max(winner_similarity, outside[a]) - SLACK:
                break
            seen[next_one] = True
            g = candidates[a, next_one]
            similarity = evidence(dense, weight, g, indptr, indices, values) / (sizes[a] * sizes[g])
            bounds[a, next_one] = similarity
            key = np.rint(similarity * DECIMALS)
            if key > winner_key or (key == winner_key and winner >= 0 and node[g] > node[winner]):
                winner, winner_key, winner_similarity = g, key, similarity
        for e in range(indptr[a], indptr[a + 1]):
            dense[indices[e]] = 0.0
        if winner_similarity > outside[a] + SLACK:
            partner[a], best[a], known[a] = winner, winner_similarity, True


@jit
def inherit(
    first_group,
    last_group,
    first_part,
    second_part,
    place,
    old_sizes,
    sizes,
    old_candidates,
    old_bounds,
    old_outside,
    candidates,
    bounds,
    outside,
):
    """Write the lists of some merged groups from those of their parts.

    first_group, last_group : the range of groups
    first_part, second_part : (G,) the old groups that each was made of; -1: only one
    place : (old G,) new number of each old group
    """
    n_listed = candidates.shape[1]
    slot = np.full(len(sizes), -1, dtype=np.int32)
    listed = np.empty(2 * n_listed, dtype=np.int32)
    total = np.empty(2 * n_listed, dtype=np.float64)
    for g in range(first_group, last_group):
        parts = (first_part[g], second_part[g])
        base = 0.0
        n = 0
        for p in parts:
            if p < 0:
                continue
            base += old_sizes[p] * old_outside[p]
            for q in old_candidates[p]:
                if q >= 0 and place[q] != g and slot[place[q]] < 0:
                    slot[place[q]] = n
                    listed[n] = place[q]
                    n += 1
        for i in range(n):
            total[i] = base * sizes[listed[i]]
        for p in parts:
            if p < 0:
                continue
            for i in range(n_listed):
                q = old_candidates[p, i]
                if q >= 0 and place[q] != g:
                    more = old_bounds[p, i] - old_outside[p]
                    total[slot[place[q]]] += old_sizes[p] * old_sizes[q] * more
        for i in range(n):
            slot[listed[i]] = -1
            total[i] /= sizes[g] * sizes[listed[i]]
        most_outside = base / sizes[g]
        if n > n_listed:
            for i in range(n_listed, n):
                least = _least(total[:n_listed])
                if total[i] > total[least]:
                    most_outside = max(most_outside, total[least])
                    listed[least], total[least] = listed[i], total[i]
                else:
                    most_outside = max(most_outside, total[i])
            n = n_listed
        for i in range(n_listed):
            candidates[g, i] = listed[i] if i < n else -1
            bounds[g, i] = total[i] if i < n else 0.0
        outside[g] = most_outside


@jit
def follow(pairs, place, n_left, leaf, node, partner, best, n_nodes):
    """Return what is known of the groups that are left when `pairs` (j, 2) have been joined, as nodes n_nodes and on.

    place : (G,) new number of each old group
    leaf, node, partner, best : (G,) first leaf, node, nearest group and its similarity, of the old groups

    Returns for the groups left (n_left,) the one or two that each was made of; leaf, node, partner and best; and
    whether the nearest has to be found anew.
    """
    first, second = np.empty(n_left, dtype=np.int64), np.full(n_left, -1)
    for g in range(len(place) - 1, -1, -1):
        first[place[g]] = g
    leaf, node, best = leaf[first], node[first], best[first]
    for a, b in pairs:
        second[place[a]] = b
    nearest = np.full(n_left, -1)
    stale = second >= 0
    for g in range(n_left):
        if second[g] >= 0:
            node[g] = n_nodes
            n_nodes += 1
        if partner[first[g]] >= 0:
            nearest[g] = place[partner[first[g]]]
            stale[g] |= second[nearest[g]] >= 0
    return first, second, leaf, node, nearest, best, stale


@jit
def _products(indptr, indices, values, weight):
    """(G, G) sum_c w_c h_a(c) h_b(c) of every two groups, the same bits as `evidence`; 0 of a group and itself."""
    n = len(indptr) - 1
    start, group, amount, _ = invert(indptr, indices, values, np.ones(n), len(weight))
    out = np.zeros((n, n))
    for a in range(n):
        row = out[a]
        for e in range(indptr[a], indptr[a + 1]):
            c = indices[e]
            for f in range(start[c], start[c + 1]):
                row[group[f]] += weight[c] * (values[e] * amount[f])
        row[a] = 0.0
    return out


@jit_fused
def _highest(row, scale):
    """Return the largest of row * scale, on vector instructions."""
    highest = 0.0
    for b in range(len(row)):
        highest = max(highest, row[b] * scale[b])
    return highest


@jit
def _nearest_of_row(row, size, sizes, scale, node):
    """Return the nearest group by the products with all others, and its similarity; -1 and 0 if none has any.

    scale : (G,) 1 / sizes, or 0 for a group that is no more
    """
    least = _highest(row, scale) - SLACK * size
    winner, winner_key, winner_similarity = -1, 0.0, 0.0
    for g in range(len(row)):
        if row[g] * scale[g] >= least and row[g] > 0.0 and scale[g] > 0.0:
            similarity = row[g] / (size * sizes[g])
            key = np.rint(similarity * DECIMALS)
            if key > winner_key or (key == winner_key and winner >= 0 and node[g] > node[winner]):
                winner, winner_key, winner_similarity = g, key, similarity
    return winner, winner_similarity


@jit
def _join_few(
    leaf, node, height, partner, best, stale, n_nodes, indptr, indices, values, sizes, weight, pairs, heights
):
    """Do the same as `join_all` with the products of every two groups; merges are written to `pairs` and `heights`.

    A joined group keeps the place of its first part. Returns how many merges there are, and the leaves left.
    """
    n = len(sizes)
    products = _products(indptr, indices, values, weight)
    scale, sizes = 1.0 / sizes, sizes.copy()
    joined = np.empty(n, dtype=np.bool_)
    first, second = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    n_pairs = 0
    while True:
        for a in range(n):
            if stale[a] and scale[a] > 0.0:
                partner[a], best[a] = _nearest_of_row(products[a], sizes[a], sizes, scale, node)
        n_found = 0
        for b in range(n):
            a = partner[b]
            if 0 <= a < b and scale[b] > 0.0 and partner[a] == b:
                first[n_found], second[n_found] = a, b
                n_found += 1
        if n_found == 0:
            if np.all(stale | (scale == 0.0)):
                return n_pairs, leaf[scale > 0.0]
            stale[:] = True
            continue
        joined[:] = False
        for i in range(n_found):
            a, b = first[i], second[i]
            height[a] = max(1.0 - best[a], height[a], height[b])
            pairs[n_pairs, 0], pairs[n_pairs, 1], heights[n_pairs] = leaf[a], leaf[b], height[a]
            n_pairs += 1
            sizes[a] += sizes[b]
            scale[a], scale[b] = 1.0 / sizes[a], 0.0
            products[a] += products[b]
            products[a, a] = 0.0
            products[:, a] = products[a]
            joined[a] = joined[b] = True
        for a in range(n):
            stale[a] = joined[a] or (partner[a] >= 0 and joined[partner[a]])
            if joined[a] and scale[a] > 0.0:
                node[a] = n_nodes
                n_nodes += 1


@jit
def join_all(
    leaf,
    node,
    height,
    partner,
    best,
    stale,
    n_nodes,
    indptr,
    indices,
    values,
    sizes,
    weight,
    candidates,
    bounds,
    outside,
):
    """Join groups that are each other's nearest, round after round, until none have any evidence in common.

    It does one after the other what is worth threads where groups are many; all arrays are as in `search` and `follow`,
    height : (G,) where each group was made, stale : (G,) whether its nearest has to be found. Where few groups are
    left, lists are not worth their while either.

    Returns the merges as pairs of leaves (j, 2) with their heights (j,), and the first leaves of the groups left.
    """
    pairs, heights = np.empty((max(len(sizes) - 1, 0), 2), dtype=np.int64), np.empty(max(len(sizes) - 1, 0))
    n_pairs = 0
    while len(sizes) > _FEW:
        todo = np.flatnonzero(stale)
        known = np.zeros(len(sizes), dtype=np.bool_)
        choose(todo, node, indptr, indices, values, sizes, weight, candidates, bounds, outside, partner, best, known)
        todo = todo[~known[todo]]
        if len(todo):
            start, group, share, largest = invert(indptr, indices, values, sizes, len(weight))
            search(
                todo, node, indptr, indices, values, sizes, weight, start, group, share, largest, candidates, bounds,
                outside, partner, best,
            )  # fmt: skip
        old_sizes = sizes
        found, place, height, indptr, indices, values, sizes = merge_pairs(
            partner, best, height, indptr, indices, values, sizes
        )
        if len(found) == 0:
            if stale.all():
                return pairs[:n_pairs], heights[:n_pairs], leaf
            stale[:] = True
            continue
        for i in range(len(found)):
            pairs[n_pairs, 0], pairs[n_pairs, 1] = leaf[found[i, 0]], leaf[found[i, 1]]
            heights[n_pairs] = height[place[found[i, 0]]]
            n_pairs += 1
        first, second, leaf, node, partner, best, stale = follow(
            found, place, len(sizes), leaf, node, partner, best, n_nodes
        )
        n_nodes += len(found)
        shape = (len(sizes), candidates.shape[1])
        new_candidates, new_bounds, new_outside = np.empty(shape, np.int32), np.empty(shape), np.empty(len(sizes))
        inherit(
            0, len(sizes), first, second, place, old_sizes, sizes, candidates, bounds, outside, new_candidates,
            new_bounds, new_outside,
        )  # fmt: skip
        candidates, bounds, outside = new_candidates, new_bounds, new_outside
    more, leaf = _join_few(
        leaf, node, height, partner, best, stale, n_nodes, indptr, indices, values, sizes, weight, pairs[n_pairs:],
        heights[n_pairs:],
    )  # fmt: skip
    return pairs[: n_pairs + more], heights[: n_pairs + more], leaf
