"""Later methods compared with dense implementations, and with GP-MGLA and WEAC on a million rows."""

from __future__ import annotations

from collections.abc import Iterator

import fastcluster
import numpy as np
from scipy.spatial.distance import squareform

import quorate as qt
from benchmarks.data import letters, mixture
from benchmarks.measure import Result, faster, median_seconds, run_parts, share

N_ROWS, N_CLUSTERS = 5_000, 26


def dense_lwea(labels: np.ndarray) -> np.ndarray:
    """Return the merge heights of LWEA over the n x n matrix of rows."""
    certainty = dense_certainty(labels)
    similarity = np.zeros((len(labels), len(labels)))
    for column, eci in zip(labels.T, certainty, strict=True):
        similarity += (column[:, None] == column[None, :]) * eci[column]
    return _average_heights(similarity / labels.shape[1])


def dense_certainty(labels: np.ndarray) -> list[np.ndarray]:
    """Return the ECI of every cluster, cluster by cluster."""
    values = []
    for column in labels.T:
        eci = np.zeros(column.max() + 1)
        for value in np.unique(column):
            rows = labels[column == value]
            uncertainty = 0.0
            for other in rows.T:
                part = np.unique(other, return_counts=True)[1] / len(rows)
                uncertainty -= np.sum(part * np.log2(part))
            eci[value] = np.exp(-uncertainty / (0.4 * labels.shape[1]))
        values.append(eci)
    return values


def dense_ecpcs_hc(labels: np.ndarray, n_steps: int = 20) -> np.ndarray:
    """Return the merge heights of ECPCS-HC over the n x n matrix of rows, with walks power by power."""
    membership = np.concatenate([column[:, None] == np.unique(column) for column in labels.T], axis=1).astype(float)
    sizes = membership.sum(axis=0)
    shared = membership.T @ membership
    links = shared / (sizes[:, None] + sizes - shared)
    np.fill_diagonal(links, 0.0)
    similarity = _walks(links, n_steps)
    np.fill_diagonal(similarity, 1.0)
    total, start = np.zeros((len(labels), len(labels))), 0
    for column in labels.T:
        code = np.unique(column, return_inverse=True)[1] + start
        total += similarity[np.ix_(code, code)]
        start = code.max() + 1
    return _average_heights(total / labels.shape[1])


def _walks(links: np.ndarray, n_steps: int) -> np.ndarray:
    transitions = links / links.sum(axis=1, keepdims=True)
    power, total = np.eye(len(links)), np.zeros_like(links)
    for _ in range(n_steps):
        power = power @ transitions
        total += power @ power.T
    length = np.sqrt(total.diagonal())
    return total / np.outer(length, length)


def _average_heights(similarity: np.ndarray) -> np.ndarray:
    distance = 1.0 - similarity
    np.fill_diagonal(distance, 0.0)
    condensed = squareform(np.maximum(distance, 0.0), checks=False)
    return fastcluster.linkage(condensed, "average", preserve_input=False)[:, 2]


def dense_cumulative_voting(labels: np.ndarray, k: int) -> np.ndarray:
    """Return the labels of cumulative voting, row by row and pair of columns by pair of columns."""
    entropies = []
    for column in labels.T:
        part = np.unique(column, return_counts=True)[1] / len(column)
        entropies.append(-np.sum(part * np.log(part)))
    order = np.argsort(-np.round(entropies, 12), kind="stable")
    first = labels[:, order[0]]
    votes = (first[:, None] == np.unique(first)).astype(float)
    for i, member in enumerate(order[1:], start=2):
        column = labels[:, member]
        means = {value: votes[column == value].mean(axis=0) for value in np.unique(column)}
        votes += (np.array([means[value] for value in column]) - votes) / i
    joint = votes / len(labels)
    while joint.shape[1] > k:
        losses = np.full((joint.shape[1],) * 2, np.inf)
        for a in range(joint.shape[1]):
            for b in range(a + 1, joint.shape[1]):
                losses[a, b] = _information(joint[:, a]) + _information(joint[:, b])
                losses[a, b] -= _information(joint[:, a] + joint[:, b])
        a, b = np.unravel_index(np.argmin(np.round(losses, 12)), losses.shape)
        joint[:, a] += joint[:, b]
        joint = np.delete(joint, b, axis=1)
    return np.argmax(np.round(joint * len(labels), 12), axis=1)


def _information(column: np.ndarray) -> float:
    positive = column[column > 0]
    return float(np.sum(positive * np.log(positive)) - column.sum() * np.log(column.sum()))


def dense_pta(labels: np.ndarray) -> np.ndarray:
    """Return the merge heights of PTA, which is defined on patterns, with walks power by power."""
    patterns, counts = np.unique(labels, axis=0, return_counts=True)
    n = len(patterns)
    steps = max(1, min(20, int(np.sqrt(n) / 2)))
    links = sum((column[:, None] == column[None, :]).astype(float) for column in patterns.T)
    np.fill_diagonal(links, 0.0)
    links[links < np.partition(links, n - steps, axis=1)[:, [n - steps]]] = 0.0
    return _average_heights(_walks(np.maximum(links, links.T) * counts, steps))


def against_dense() -> Iterator[Result]:
    """Compare on 5,000 rows of Letters and ten members; our time includes finding the patterns."""
    labels = letters(10)[:N_ROWS].astype(np.int64)

    def heights(method: type) -> np.ndarray:
        return method(n_clusters=N_CLUSTERS).fit(labels).dendrogram_.heights

    for method, dense, bar in ((qt.LWEA, dense_lwea, 100), (qt.ECPCSHC, dense_ecpcs_hc, 30), (qt.PTA, dense_pta, 1)):
        ours, other = heights(method), dense(labels)
        assert np.allclose(ours[-100:], other[-100:], atol=1e-9), method.name
        quick = median_seconds(lambda method=method: heights(method), 9)
        slow = median_seconds(lambda dense=dense: dense(labels), 3)
        yield faster(f"{method.name}, {N_ROWS:,} rows x 10, dense / ours", quick, slow, bar)
    ours = qt.CumulativeVoting(n_clusters=N_CLUSTERS).fit_predict(labels)
    other = dense_cumulative_voting(labels, N_CLUSTERS)
    assert len(np.unique(np.stack([ours, other]), axis=1).T) == len(np.unique(ours)), "cumulative voting"
    quick = median_seconds(lambda: qt.CumulativeVoting(n_clusters=N_CLUSTERS).fit(labels), 3)
    slow = median_seconds(lambda: dense_cumulative_voting(labels, N_CLUSTERS), 1)
    yield faster(f"cumulative-voting, {N_ROWS:,} rows x 10, dense / ours", quick, slow, 30)


def against_the_paper() -> Iterator[Result]:
    """Compare later methods with GP-MGLA and WEAC on a million rows and ten members."""
    labels = mixture(1_000_000, 10)

    def time_of(method: type) -> float:
        return median_seconds(lambda: method(n_clusters=10).fit(qt.Ensemble(labels)), 1)

    graph = time_of(qt.GPMGLA)
    for method in (qt.LWGP, qt.LCE, qt.ECPCSMC, qt.MCLA, qt.CumulativeVoting, qt.MixtureModel):
        yield share(f"{method.name} / gp-mgla, 1,000,000 rows x 10", time_of(method), graph, 3)
    tree = time_of(qt.WEAC)
    for method, bar in ((qt.LWEA, 1.5), (qt.ECPCSHC, 4), (qt.WCT, 4)):
        yield share(f"{method.name} / weac, 1,000,000 rows x 10", time_of(method), tree, bar)


def many_patterns() -> Iterator[Result]:
    """Compare average link with `numpy.unique` of the rows, on a million rows with 125,619 patterns."""
    labels = mixture(1_000_000, 10, high=150)
    unique = median_seconds(lambda: np.unique(labels, axis=0, return_inverse=True, return_counts=True), 1)
    for method in (qt.WEAC, qt.LWEA):
        linked = median_seconds(lambda method=method: method(n_clusters=30).fit(labels), 1)
        yield share(f"{method.name} / numpy.unique, 1,000,000 rows x 10, 125,619 patterns", linked, unique, 2)


def run() -> Iterator[Result]:
    """Yield all results."""
    return run_parts(against_dense, against_the_paper, many_patterns)
