"""The nearest group of each group, for average link in rounds: two groups are merged if each is nearest to the other.

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

import numpy as np

from quorate._kernels._jit import jit
from quorate._kernels.linked_groups import Near
from quorate._kernels.merge_chain import DECIMALS, SLACK

_NEAR = 0.85  # groups less similar than this times the nearest are not listed
_NEAR_IF_COMPUTED = 0.65  # the same if all similarities are computed without comparing groups
_COMPARED = 2  # entries of an inverted list that take as long to read as comparing two groups
_LEADERS = 4  # groups compared before a long list, for a lower bound of the nearest similarity
_LONG_LIST = 4 * _LEADERS * _COMPARED  # entries from which a list counts as long
_FEW_LISTS = 48  # up to this many lists, insertion sort is fastest


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
