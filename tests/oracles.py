"""Slow, dense, obvious versions of what the package computes, and random ensembles to compare them on."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quorate.labels import count_in_units

MISSING = -1


@st.composite
def label_matrices(draw, missing=False, max_rows=19, max_members=5, max_clusters=4, min_rows=2, min_members=1):
    """Rows x members of small integers; with `missing`, some are -1 but every row has a label.

    From 20 rows on, columns of a matrix that are all alike would be warned of.
    """
    n_rows = draw(st.integers(min_rows, max_rows))
    n_members = draw(st.integers(min_members, max_members))
    low = MISSING if missing else 0
    labels = draw(arrays(np.int64, (n_rows, n_members), elements=st.integers(low, max_clusters - 1)))
    bare = np.all(labels < 0, axis=1)
    labels[bare, 0] = 0
    return labels


def same(column):
    """(n, n) whether a member puts two rows in one cluster; missing labels are in none."""
    return (column[:, None] == column[None, :]) & (column >= 0)[:, None]


def evidence(labels, weights):
    """(n, n) weighted co-association, cosine-normalized where labels are missing."""
    total = sum(w * same(column) for w, column in zip(weights, labels.T, strict=True))
    covering = (labels >= 0) @ weights
    scale = np.sqrt(np.outer(covering, covering))
    return np.divide(total, scale, out=np.zeros_like(scale), where=scale > 0)


def indicators(labels):
    """(n, n_clusters) membership, clusters ordered by member and label; and the member of each cluster."""
    blocks, member = [], []
    for j, column in enumerate(labels.T):
        for value in np.unique(column[column >= 0]):
            blocks.append(column == value)
            member.append(j)
    return np.array(blocks, dtype=float).T, np.array(member)


def jaccard(labels):
    """(n_c, n_c) by sets of rows, counting only rows that the other cluster's member labels."""
    membership, member = indicators(labels)
    n_clusters = len(member)
    result = np.zeros((n_clusters, n_clusters))
    for a in range(n_clusters):
        for b in range(n_clusters):
            in_a = (membership[:, a] > 0) & (labels[:, member[b]] >= 0)
            in_b = (membership[:, b] > 0) & (labels[:, member[a]] >= 0)
            union = (in_a | in_b).sum()
            result[a, b] = (in_a & in_b).sum() / union if union else 0.0
    return result


def sact(labels, of_cluster):
    """(n_c, n_c) by the definition, over all triples of clusters, each with its influence."""
    v = jaccard(labels)
    raw = np.array([[np.sum(of_cluster * np.minimum(v[i], v[j])) for j in range(len(v))] for i in range(len(v))])
    similarity = raw / raw.max() if raw.max() > 0 else raw
    np.fill_diagonal(similarity, 1.0)
    return similarity


def bipartite_graph(labels, of_cluster, alpha):
    """(n + n_c, n_c) the link weights of GP-MGLA: rows first, then clusters; each cluster has its influence."""
    return np.vstack([alpha * indicators(labels)[0] * of_cluster, sact(labels, of_cluster)])


def transfer_cut_embedding(graph, n_rows, k):
    """Eigenvalues and (n_rows, k) embedding by the dense algorithm on the whole graph."""
    degree = graph.sum(axis=1)
    degree[degree == 0] = 1e-10
    reduced = graph.T @ (graph / degree[:, None])
    column_degree = graph.sum(axis=0)
    assert np.allclose(reduced.sum(axis=1), column_degree)
    scale = 1 / np.sqrt(column_degree)
    values, vectors = np.linalg.eigh(scale[:, None] * reduced * scale)
    order = np.argsort(-values)
    points = (graph[:n_rows] / degree[:n_rows, None]) @ (scale[:, None] * vectors[:, order[:k]])
    return values[order], points / (np.linalg.norm(points, axis=1, keepdims=True) + 1e-10)


def replay(similarity, counts, pairs, heights, link):
    """Check that each merge joins the most similar groups at that time, at the recorded height, to 1e-10.

    `pairs` are merges of nodes, leaves first. Returns nothing; asserts.
    """
    groups = {leaf: [leaf] for leaf in range(len(counts))}

    def between(a, b):
        block = similarity[np.ix_(groups[a], groups[b])]
        if link == "average":
            return counts[groups[a]] @ block @ counts[groups[b]] / (counts[groups[a]].sum() * counts[groups[b]].sum())
        return block.min() if link == "complete" else block.max()

    for i, (a, b) in enumerate(pairs):
        best = max(between(x, y) for x in groups for y in groups if x < y)
        assert abs(between(a, b) - best) < 1e-10
        assert abs(1 - heights[i] - best) < 1e-10
        groups[len(counts) + i] = groups.pop(a) + groups.pop(b)


def partition(labels):
    """The set of groups of rows, so that partitions can be compared without regard to names."""
    return {frozenset(np.flatnonzero(labels == value).tolist()) for value in np.unique(labels)}


def certainty(labels, weights, consensus, row_weights=None):
    """Confidence, margin and runner-up of each row, by counting rows; rows may have weights."""
    n_rows = len(labels)
    size = np.ones(n_rows) if row_weights is None else count_in_units(np.asarray(row_weights, dtype=float))[0]
    clusters = np.unique(consensus[consensus >= 0])
    confidence, margin, runner_up = np.zeros(n_rows), np.zeros(n_rows), np.full(n_rows, -1)
    for i in np.flatnonzero(consensus >= 0):
        share, voting = np.zeros(len(clusters)), 0.0
        for weight, column in zip(weights, labels.T, strict=True):
            together = (consensus >= 0) & (column == column[i]) & (column[i] >= 0)
            if weight > 0 and size[together].sum() > min(size[i], 1.0) + 1e-9:
                voting += weight
                share += [weight * _vote(column, c, consensus, size, i) for c in clusters]
        share = share / voting if voting else share
        mine = clusters == consensus[i]
        confidence[i] = share[mine][0]
        others = np.where(mine, 0.0, np.round(share, 11))
        margin[i] = confidence[i] - others.max()
        if others.max() > 0:
            runner_up[i] = clusters[np.argmax(others)]
    return confidence, margin, runner_up


def stability(labels, weights, consensus):
    """Stability of each consensus cluster: mean vote times resolved uncertainty of each member, by counting rows."""
    clusters, size, found = np.unique(consensus[consensus >= 0]), np.ones(len(labels)), []
    for c in clusters:
        parts, voting = 0.0, 0.0
        for weight, column in zip(weights, labels.T, strict=True):
            known = (column >= 0) & (consensus >= 0)
            mates = (known[:, None] & known & (column[:, None] == column)).sum(axis=1) > 1
            rows = np.flatnonzero(known & mates & (consensus == c))
            if weight > 0 and len(rows):
                mean_vote = np.mean([_vote(column, c, consensus, size, i) for i in rows])
                inside = (consensus == c)[known]
                before = _entropy(inside.mean())
                after = sum(np.mean(column[known] == v) * _entropy(inside[column[known] == v].mean())
                            for v in np.unique(column[known]))  # fmt: skip
                parts += weight * mean_vote * (1 - after / before if before > 0 else 1.0)
                voting += weight
        found.append(parts / voting if voting else 0.0)
    return found


def _entropy(share):
    return -sum(p * np.log(p) for p in (share, 1 - share) if p > 0)


def _vote(column, group, consensus, size, row):
    """The vote of a member for a group at a row, which is left out of the group it is in."""
    known = (consensus >= 0) & (column >= 0)
    groups, counts = np.unique(consensus[known]), size.copy()
    if not (known & (consensus == group)).any():
        return 0.0
    peaks = [
        max(size[known & (consensus == g) & (column == c)].sum() for c in np.unique(column[known])) for g in groups
    ]
    held = sum(peaks) / size[known].sum()
    counts[row] -= min(size[row], 1.0)

    def recall(g):
        there = known & (consensus == g)
        shared = counts[there & (column == column[row])].sum()
        return shared / counts[there].sum() if shared > 1e-12 else 0.0

    mine, every = recall(group), sum(recall(g) for g in groups)
    return mine / every * np.sqrt(min(mine / held, 1.0))
