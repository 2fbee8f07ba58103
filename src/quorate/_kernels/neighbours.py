"""The most similar groups of each group, listed, so that few nearest groups have to be searched for anew.

A group's list holds some others, each with a bound on its similarity, and there is one bound, `outside`, on that to all
groups not listed. Mean evidence never grows when groups are merged beyond the nearer of the two, and to a merged group
it is the mean over its parts; so lists and bounds are carried over from the parts. Histograms and inverted lists are as
in `linkage`, and so is what is equal and who wins among equals.
"""

import numpy as np

from quorate._kernels._jit import jit
from quorate._kernels.linkage import DECIMALS, SLACK, evidence

_NEAR = 0.85  # groups less similar than this times the nearest need not be listed
_NEAR_IF_KNOWN = 0.65  # the same where similarities are known well before groups are compared
_COMPARED = 6  # entries of an inverted list that are read in the time of one comparison of two groups
_LEADERS = 8  # groups compared after each list, to know how similar the nearest is at least


@jit
def _scan(a, indptr, indices, values, sizes, weight, start, group, share, largest, dense, partial, met):
    """Add up the similarity of group a to all groups from inverted lists, the shortest first.

    It ends before a list that takes longer to read than to compare the groups met that may be near, if no other can.

    Returns the number of groups met, a among them; the most that the lists left out add to any similarity; and the
    similarity from which on groups are near.
    """
    columns = indices[indptr[a] : indptr[a + 1]]
    lengths = start[columns + 1] - start[columns]
    rest = 0.0
    for c in columns:
        rest += weight[c] * dense[c] / sizes[a] * largest[c]
    leaders = np.full(_LEADERS, a)
    n_leaders, leader = 0, 0.0
    n_met = np.uint64(0)
    for position in np.argsort(lengths):
        if 0 < n_met < 2 * lengths[position]:
            near = _NEAR * _most_similar(a, leaders, indptr, indices, values, sizes, weight, dense)
            if rest < near:
                n_near = 0
                for g in met[:n_met]:
                    n_near += partial[g] + rest >= near
                if n_near * _COMPARED < lengths[position]:
                    break
        c = columns[position]
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
    return np.int64(n_met), max(rest, 0.0), nearest * (_NEAR if rest > SLACK else _NEAR_IF_KNOWN)


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
def _less(key, node, other_key, other_node):
    return key < other_key or (key == other_key and node < other_node)


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
    key = np.empty(n_listed, dtype=np.float64)
    for a in todo:
        for e in range(indptr[a], indptr[a + 1]):
            dense[indices[e]] = values[e]
        n_met, rest, near = _scan(
            a, indptr, indices, values, sizes, weight, start, group, share, largest, dense, partial, met
        )
        listed, value = candidates[a], bounds[a]
        n, least = 0, 0
        cutoff, most_outside = near, rest
        for g in met[:n_met]:
            similarity = partial[g] + rest
            partial[g] = 0.0
            if g == a:
                continue
            if similarity >= cutoff - SLACK:
                similarity = evidence(dense, weight, g, indptr, indices, values) / (sizes[a] * sizes[g])
                rounded = np.rint(similarity * DECIMALS)
                place = n
                if n < n_listed:
                    n += 1
                elif _less(key[least], node[listed[least]], rounded, node[g]):
                    place = least
                    most_outside = max(most_outside, value[least])
                if place < n_listed:
                    listed[place], value[place], key[place] = g, similarity, rounded
                    if n == n_listed:
                        least = 0
                        for i in range(1, n_listed):
                            if _less(key[i], node[listed[i]], key[least], node[listed[least]]):
                                least = i
                        cutoff = max(near, value[least])
                    continue
            most_outside = max(most_outside, similarity)
        for e in range(indptr[a], indptr[a + 1]):
            dense[indices[e]] = 0.0
        winner = -1
        for i in range(n):
            if key[i] > 0 and (winner < 0 or _less(key[winner], node[listed[winner]], key[i], node[listed[i]])):
                winner = i
        outside[a] = most_outside
        partner[a] = listed[winner] if winner >= 0 else -1
        best[a] = value[winner] if winner >= 0 else 0.0
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
