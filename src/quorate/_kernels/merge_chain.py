"""Agglomeration of groups of patterns, with co-association as an inner product of sparse histograms.

A group g has a size and a histogram h_g over clusters, stored as the rows of a CSR matrix with sorted columns. The mean
co-association of two groups is sum_c w_c h_a(c) h_b(c) / (size_a size_b). All comparisons are made after rounding to
twelve decimals; in a tie the group created last wins, as it does on top of a nearest-neighbor chain.
"""

import numpy as np

from quorate._kernels import vector_lanes
from quorate._kernels._jit import jit
from quorate._kernels.segments import root_of

DECIMALS = 1e12
_STRETCH = 256  # positions of a row whose maximum is found together
SLACK = 1e-9  # far above rounding errors of a bound, far below a difference that matters


@jit
def invert(indptr, indices, values, sizes, n_clusters):
    """Return the inverted lists: for each cluster the groups that contain it, their shares h / size, and the largest
    share.

    Returns start (n_clusters + 1,), group (nnz,), share (nnz,), largest (n_clusters,).
    """
    # Count the entries of each cluster, then turn the counts into starts.
    start = np.zeros(n_clusters + 1, dtype=np.int64)
    for c in indices:
        start[c + 1] += 1
    for c in range(n_clusters):
        start[c + 1] += start[c]
    fill = start[:-1].copy()
    group = np.empty(len(indices), dtype=np.int32)
    share = np.empty(len(indices), dtype=np.float64)
    largest = np.zeros(n_clusters, dtype=np.float64)
    # Groups in ascending order, so that each list is ascending, too.
    for g in range(len(sizes)):
        for e in range(indptr[g], indptr[g + 1]):
            c = indices[e]
            group[fill[c]] = g
            share[fill[c]] = values[e] / sizes[g]
            largest[c] = max(largest[c], share[fill[c]])
            fill[c] += 1
    return start, group, share, largest


@jit
def inner_product(dense, weight, g, indptr, indices, values):
    """Return sum_c w_c h_a(c) h_g(c), the same bits whichever of the two groups is expanded in `dense`."""
    total = 0.0
    for e in range(indptr[g], indptr[g + 1]):
        c = indices[e]
        total += weight[c] * (dense[c] * values[e])
    return total


@jit
def nearest(
    todo, part, node, floor, indptr, indices, values, sizes, weight, start, group, share, largest, partner, best
):
    """Find for each group in `todo` the most similar group of another part.

    Lists are read from the shortest on, until no unmet group can win; the groups met that still could win are then
    compared exactly.

    todo : (t,) group numbers
    part : (G,) part of each group
    node : (G,) dendrogram node of each group: later nodes have larger numbers
    floor : (G,) a similarity that must be reached; nothing is written for a group that cannot
    weight : (n_clusters,) w_c
    start, group, share, largest : as `invert` returns them
    partner, best : (G,) written at the positions `todo`: the most similar group (-1: none with positive similarity
        and at least `floor`), and its similarity
    """
    dense = np.zeros(len(weight), dtype=np.float64)
    bound = np.zeros(len(sizes), dtype=np.float64)
    met = np.empty(len(sizes), dtype=np.int32)
    # Step 1: expand the histogram of a, and bound what all lists together can add to any similarity.
    for a in todo:
        columns = indices[indptr[a] : indptr[a + 1]]
        lengths = start[columns + 1] - start[columns]
        rest = 0.0
        for e in range(indptr[a], indptr[a + 1]):
            c = indices[e]
            dense[c] = values[e]
            rest += weight[c] * values[e] / sizes[a] * largest[c]
        lower = floor[a]
        n_met = 0
        # Step 2: read lists from the shortest on; stop when no group that was not met can reach the lower bound.
        for position in np.argsort(lengths):
            c = columns[position]
            scale = weight[c] * dense[c] / sizes[a]
            if scale > 0:
                leader = lower
                for f in range(start[c], start[c + 1]):
                    g = group[f]
                    if part[g] != part[a]:
                        if bound[g] == 0.0:
                            met[n_met] = g
                            n_met += 1
                        bound[g] += scale * share[f]
                        leader = max(leader, bound[g])
                lower = leader
                rest -= scale * largest[c]
            if rest < lower - SLACK:
                break
        # Step 3: compare exactly those groups whose bound reaches the best similarity so far.
        winner = -1
        winner_key = 0.0
        winner_similarity = 0.0
        for position in range(n_met):
            g = met[position]
            if bound[g] + rest >= lower - SLACK:
                similarity = inner_product(dense, weight, g, indptr, indices, values) / (sizes[a] * sizes[g])
                key = np.rint(similarity * DECIMALS)
                if key > winner_key or (key == winner_key and winner >= 0 and node[g] > node[winner]):
                    winner, winner_key, winner_similarity = g, key, similarity
                    lower = max(lower, similarity)
            bound[g] = 0.0
        # Only the entries that were set are cleared: the array has one entry per cluster of all members.
        for c in columns:
            dense[c] = 0.0
        # Pruning started at the floor, so that a result below it need not be the best one.
        if winner_similarity < floor[a] - SLACK:
            winner = -1
        partner[a] = winner
        best[a] = winner_similarity


@jit
def _most_similar(row, previous, highest_of):
    """Return the position of the highest value in a row; in a tie the previous chain element, else the first.

    highest_of : (m / _STRETCH,) scratch memory: the highest value of each stretch of positions
    """
    highest = -np.inf
    # First pass: maxima of stretches with vector instructions.
    for stretch in range(len(highest_of)):
        highest_of[stretch] = vector_lanes.highest(row[stretch * _STRETCH : (stretch + 1) * _STRETCH])
        highest = max(highest, highest_of[stretch])
    key = np.rint(highest * DECIMALS)
    if previous >= 0 and np.rint(row[previous] * DECIMALS) == key:
        return previous
    nearly = highest - 2.0 / DECIMALS  # smaller values are not equal after rounding
    # Second pass: the first position with that key, only in stretches that may contain it.
    for stretch in range(len(highest_of)):
        if highest_of[stretch] > nearly:
            for b in range(stretch * _STRETCH, min((stretch + 1) * _STRETCH, len(row))):
                if row[b] > nearly and np.rint(row[b] * DECIMALS) == key:
                    return b
    return -1


@jit
def _join_similarities(first, second, share, link):
    """Return the similarity to the union of two groups, of which the first has a given share (Lance-Williams)."""
    if link == 0:
        return share * first + (1.0 - share) * second
    return min(first, second) if link == 1 else max(first, second)


@jit
def _follow(row, pairs, shares, link):
    """Apply the merges since the last use of a row: write similarities to merged groups, and exclude the second of
    each pair.
    """
    for i in range(len(pairs)):
        a, b = pairs[i, 0], pairs[i, 1]
        row[a] = _join_similarities(row[a], row[b], shares[i], link)
        row[b] = -np.inf


@jit
def chain_link(similarity, sizes, link):
    """Agglomerate by nearest-neighbor chain with Lance-Williams updates on a dense matrix.

    A row applies the merges since its last use when it is next read, so that no columns are written.

    similarity : (m, m) float64, symmetric, overwritten
    sizes : (m,) float64, overwritten
    link : 0 average, 1 complete, 2 single

    Returns the merges as rows joined (m - 1, 2), the merged group keeping the first, and their heights (m - 1,).
    """
    m = len(sizes)
    # Unsigned indices are faster: numba need not check whether they are negative.
    pairs, shares = np.empty((m - 1, 2), dtype=np.uint32), np.empty(m - 1, dtype=np.float64)
    heights = np.empty(m - 1, dtype=np.float64)
    made = np.zeros(m, dtype=np.float64)
    followed = np.zeros(m, dtype=np.int64)
    left, first_left = np.ones(m, dtype=np.bool_), 0
    highest_of = np.empty(-(-m // _STRETCH), dtype=np.float64)
    # A group is never its own neighbor.
    for g in range(m):
        similarity[g, g] = -np.inf
    chain = np.empty(m, dtype=np.int64)
    tip = 0
    for merge in range(m - 1):
        # Continue the chain, or start a new one at the first group that is left.
        while not left[first_left]:
            first_left += 1
        if tip == 0:
            chain[0] = first_left
            tip = 1
        # Follow nearest neighbors until two groups are each other's nearest.
        while True:
            last, previous = chain[tip - 1], chain[tip - 2] if tip > 1 else -1
            _follow(similarity[last], pairs[followed[last] : merge], shares[followed[last] : merge], link)
            followed[last] = merge
            b = _most_similar(similarity[last], previous, highest_of)
            if b == previous:
                break
            chain[tip] = b
            tip += 1
        # A parent is never below its children, in spite of rounding.
        height = max(1.0 - similarity[last, b], made[last], made[b])
        a, b = min(last, b), max(last, b)
        tip -= 2
        pairs[merge, 0], pairs[merge, 1], shares[merge] = a, b, sizes[a] / (sizes[a] + sizes[b])
        heights[merge] = height
        # Both rows must be up to date before they are combined.
        for part in (a, b):
            _follow(similarity[part], pairs[followed[part] : merge], shares[followed[part] : merge], link)
            followed[part] = merge + 1
        # The row of the union replaces that of the first group; other rows follow when they are next read.
        row, absorbed = similarity[a], similarity[b]
        for g in range(m):
            row[g] = _join_similarities(row[g], absorbed[g], shares[merge], link)
        row[a] = row[b] = -np.inf
        left[b] = False
        sizes[a] += sizes[b]
        made[a] = height
    return pairs.astype(np.int64), heights


@jit
def number_nodes(pairs):
    """Convert merges of the groups of two leaves into merges of nodes: leaves come first, merge i creates node m +
    i.
    """
    m = len(pairs) + 1
    parent = np.arange(2 * m - 1)
    nodes = np.empty((m - 1, 2), dtype=np.int64)
    # Union-find over nodes: the root of a leaf is the node that currently contains it.
    for i in range(m - 1):
        a, b = root_of(parent, pairs[i, 0]), root_of(parent, pairs[i, 1])
        nodes[i, 0], nodes[i, 1] = min(a, b), max(a, b)
        parent[a] = m + i
        parent[b] = m + i
    return nodes


@jit
def cut(nodes, n_undone):
    """Return the group of each leaf after undoing the last `n_undone` merges; a group is identified by its top node."""
    m = len(nodes) + 1
    top = np.arange(2 * m - 1)
    # From the last merge that stays to the first, so that each node passes its top node to both parts.
    for i in range(m - 2 - n_undone, -1, -1):
        top[nodes[i, 0]] = top[m + i]
        top[nodes[i, 1]] = top[m + i]
    return top[:m]


@jit
def first_leaves(nodes):
    """Return for each merge of nodes (m - 1, 2) a leaf below each of the two."""
    m = len(nodes) + 1
    leaf = np.arange(2 * m - 1)
    pairs = np.empty_like(nodes)
    for i in range(m - 1):
        pairs[i, 0], pairs[i, 1] = leaf[nodes[i, 0]], leaf[nodes[i, 1]]
        leaf[m + i] = leaf[nodes[i, 0]]
    return pairs


@jit
def keep_leaves(nodes, leaves):
    """Return the merges between some leaves only, and their positions among all merges.

    nodes : (m - 1, 2) merges of nodes
    leaves : (j,) leaves, ascending; in the pairs returned (j - 1, 2) they are numbered 0, 1, ...
    """
    m = len(nodes) + 1
    below = np.full(2 * m - 1, -1)
    for number in range(len(leaves)):
        below[leaves[number]] = number
    pairs = np.empty((max(len(leaves) - 1, 0), 2), dtype=np.int64)
    positions = np.empty(len(pairs), dtype=np.int64)
    n_pairs = 0
    # A merge counts if both sides contain a selected leaf; otherwise the selected side takes the place of the node.
    for i in range(m - 1):
        a, b = below[nodes[i, 0]], below[nodes[i, 1]]
        if a >= 0 and b >= 0:
            pairs[n_pairs, 0], pairs[n_pairs, 1] = a, b
            positions[n_pairs] = i
            n_pairs += 1
        below[m + i] = a if a >= 0 else b
    return pairs, positions
