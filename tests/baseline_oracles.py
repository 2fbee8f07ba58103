"""Slow, dense versions of the baselines over all rows, and ensembles on which patterns need care."""

import warnings
from contextlib import contextmanager

import numpy as np
from hypothesis import strategies as st

import oracles
import quorate as qt


@contextmanager
def quiet():
    """Ignore our warnings: random ensembles are full of what they warn of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qt.QuorateWarning)
        yield


@st.composite
def nearly_unanimous(draw, max_rows=14):
    """Members that agree but for one or two that throw rows together: SimRank sets equal rows apart in many."""
    sizes = draw(st.lists(st.integers(2, 3), min_size=2, max_size=4))
    base = np.repeat(np.arange(len(sizes)), sizes)[:max_rows]
    columns = [base] * draw(st.integers(4, 8))
    for _ in range(draw(st.integers(1, 2))):
        thrown = np.array(draw(st.lists(st.booleans(), min_size=len(base), max_size=len(base))))
        columns.append(np.where(thrown, 9, base))
    return np.stack(columns, axis=1)


def simrank(labels, weights, decay=0.8, n_iterations=5):
    """(n, n) SimRank of rows by plain iteration over the graph of rows and clusters, unit diagonal."""
    membership, member = oracles.indicators(labels)
    to_clusters = membership * weights[member]
    to_clusters = to_clusters / to_clusters.sum(axis=1, keepdims=True)
    to_rows = membership / membership.sum(axis=0)
    rows, clusters = np.eye(len(membership)), np.eye(len(member))
    for _ in range(n_iterations - 1):
        rows, clusters = decay * to_clusters @ clusters @ to_clusters.T, decay * to_rows.T @ rows @ to_rows
        np.fill_diagonal(rows, 1.0)
        np.fill_diagonal(clusters, 1.0)
    return rows


def triples(labels, weights, decay=0.8):
    """(n, n) weighted connected triples of rows, by their definition, member by member."""
    _, member = oracles.indicators(labels)
    links = oracles.jaccard(labels)
    np.fill_diagonal(links, 0.0)
    influence = weights / weights.max()
    of_clusters = np.zeros_like(links)
    for x in range(len(member)):
        for y in range(len(member)):
            if x != y and member[x] == member[y] and influence[member[x]] > 0:
                of_clusters[x, y] = np.sum(influence[member] * np.minimum(links[x], links[y]))
    if of_clusters.max() > 0:
        of_clusters /= of_clusters.max()
    similarity = np.zeros((len(labels), len(labels)))
    offset = 0
    for weight, column in zip(weights, labels.T, strict=True):
        values = np.unique(column[column >= 0])
        ids = np.where(column >= 0, np.searchsorted(values, column) + offset, -1)
        offset += len(values)
        for i in range(len(labels)):
            for j in range(len(labels)):
                if ids[i] >= 0 and ids[j] >= 0:
                    same = ids[i] == ids[j]
                    similarity[i, j] += weight * (1.0 if same else decay * of_clusters[ids[i], ids[j]])
    covering = (labels >= 0) @ weights
    similarity /= np.sqrt(np.outer(covering, covering))
    np.fill_diagonal(similarity, 1.0)
    return similarity


def connectivity(labels):
    """(M, n, n) the connectivity matrix of each member."""
    return np.array([oracles.same(column) for column in labels.T], dtype=float)


def weighted_consensus(labels, start, weights, k, solve_weights, n_iterations, n_updates):
    """Objective of weighted consensus clustering by the updates on n x n matrices, from given labels of rows."""
    matrices = connectivity(labels)

    def factorise(weights):
        matrix = np.tensordot(weights, matrices, 1)
        q = np.full((len(labels), k), 0.2)
        q[np.arange(len(labels)), start] += 1.0
        q /= np.linalg.norm(q, axis=0)
        s = q.T @ matrix @ q
        for _ in range(n_updates):
            pulled = matrix @ q @ s
            q = q * np.sqrt(pulled / (q @ q.T @ pulled + 1e-12))
            s = s * np.sqrt(q.T @ matrix @ q / (q.T @ q @ s @ q.T @ q + 1e-12))
        return q @ s @ q.T, np.sum((matrix - q @ s @ q.T) ** 2)

    product, objective = factorise(weights)
    for _ in range(n_iterations):
        gram = np.einsum("aij,bij->ab", matrices, matrices)
        weights = solve_weights(gram, np.einsum("aij,ij->a", matrices, product))
        product, objective = factorise(weights)
    return objective, weights
