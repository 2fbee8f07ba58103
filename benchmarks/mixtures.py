"""Mixtures of Gaussians and ensembles of them: six kinds of members, from k-means to communities of graphs.

Needs networkx for communities (`pip install --group bench`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.cluster import DBSCAN, HDBSCAN, KMeans
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from quorate._utils.array_types import Floats, Ints


class Case(NamedTuple):
    """A mixture, and clusterings of it."""

    name: str
    points: Floats
    classes: Ints
    labels: Ints
    """(n, members), -1 where a member says nothing."""


def draw_mixture(random: np.random.Generator, k: int, n: int) -> tuple[Floats, Ints]:
    """Return rows of k Gaussians in 2 to 10 dimensions, their nearest means 4 to 8 standard deviations apart."""
    means = random.normal(size=(k, int(random.integers(2, 11))))
    apart = np.linalg.norm(means[:, None] - means[None], axis=2)
    apart[np.diag_indices(k)] = np.inf
    means *= random.uniform(4, 8) / np.median(apart.min(axis=1))
    shares = 0.5 / k + 0.5 * random.dirichlet(np.full(k, 5.0))
    classes = np.sort(random.choice(k, n, p=shares))
    return means[classes] + random.normal(size=(n, means.shape[1])), classes


def _kmeans(points: Floats, k: int, random: np.random.Generator) -> Ints:
    return KMeans(k, n_init=1, random_state=int(random.integers(2**31))).fit_predict(points)


def _wide(points: Floats, k: int, random: np.random.Generator) -> Ints:
    return _kmeans(points, int(random.integers(2, int(2 * np.sqrt(len(points))) + 1)), random)


def _narrow(points: Floats, k: int, random: np.random.Generator) -> Ints:
    return _kmeans(points, int(random.integers(2, 21)), random)


def _fixed(points: Floats, k: int, random: np.random.Generator) -> Ints:
    return _kmeans(points, k, random)


def _partial(points: Floats, k: int, random: np.random.Generator) -> Ints:
    """k-means of a random 70 % of the rows; the others have no label."""
    labels = np.full(len(points), -1)
    some = random.random(len(points)) < 0.7
    labels[some] = _wide(points[some], k, random)
    return labels


def _density(points: Floats, k: int, random: np.random.Generator) -> Ints:
    """DBSCAN at a random radius, or HDBSCAN at a random smallest cluster."""
    least = int(random.integers(4, 21))
    if random.random() < 0.5:
        return HDBSCAN(min_cluster_size=least, copy=True).fit_predict(points)
    distance = NearestNeighbors(n_neighbors=least).fit(points).kneighbors()[0][:, -1]
    return DBSCAN(eps=np.quantile(distance, random.uniform(0.5, 0.98)), min_samples=least).fit_predict(points)


def _communities(points: Floats, k: int, random: np.random.Generator) -> Ints:
    """Louvain communities of the graph of nearest neighbors, at a random resolution."""
    import networkx as nx

    graph = nx.from_scipy_sparse_array(kneighbors_graph(points, int(random.integers(5, 21))))
    resolution = float(np.exp(random.uniform(np.log(0.3), np.log(3))))
    found = nx.community.louvain_communities(graph, resolution=resolution, seed=int(random.integers(2**31)))
    labels = np.empty(len(points), dtype=np.int64)
    for label, rows in enumerate(found):
        labels[list(rows)] = label
    return labels


KINDS: dict[str, Callable[[Floats, int, np.random.Generator], Ints]] = {
    "k-means, k to 2 sqrt(n)": _wide,
    "k-means, k to 20": _narrow,
    "k-means, true k": _fixed,
    "k-means of 70 % of the rows": _partial,
    "DBSCAN and HDBSCAN": _density,
    "graph communities": _communities,
}


def wide_case(number: int, seed: int, n_members: int = 20) -> Case:
    """Return a mixture of 2 to 30 Gaussians with an ensemble of one of the six kinds, in turn."""
    random = np.random.default_rng([seed, number])
    kind = list(KINDS)[number % len(KINDS)]
    k = int(random.integers(2, 31))
    points, classes = draw_mixture(random, k, int(random.integers(max(300, 20 * k), 901)))
    return Case(f"mixture {number}: {kind}", points, classes, _members(KINDS[kind], points, k, n_members, random))


def small_case(number: int, seed: int, n_members: int = 20) -> Case:
    """Return 150 to 250 rows of 2 to 6 Gaussians, clustered by k-means into 2 to 2 sqrt(n) clusters."""
    random = np.random.default_rng([seed, number, 1])
    k = int(random.integers(2, 7))
    points, classes = draw_mixture(random, k, int(random.integers(150, 251)))
    return Case(f"small {number}", points, classes, _members(_wide, points, k, n_members, random))


def _members(
    draw: Callable[[Floats, int, np.random.Generator], Ints],
    points: Floats,
    k: int,
    n_members: int,
    random: np.random.Generator,
) -> Ints:
    """(n, members) clusterings; one without two clusters is drawn again."""
    found: list[Ints] = []
    while len(found) < n_members:
        labels = draw(points, k, random)
        if len(np.unique(labels[labels >= 0])) > 1:
            found.append(labels)
    return np.stack(found, axis=1)
