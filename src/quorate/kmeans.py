"""Weighted k-means on embedded patterns, deterministic unless asked otherwise."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from quorate import _kernels
from quorate._support.typing import Floats, Ints
from quorate.errors import QuorateError

Start = Literal["heaviest", "k-means++", "first-row"]

STARTS = ("heaviest", "k-means++", "first-row")
MAX_ITERATIONS = 1000
ROUNDING = 1e10  # near-ties must not hang on the last bit: distances are compared to ten decimals
_BLOCK = 1024


class KMeansResult(NamedTuple):
    """Clusters of points: fewer than asked for only if there are fewer distinct points."""

    labels: Ints
    inertia: float


def weighted_kmeans(
    points: Floats,
    weights: Floats,
    k: int,
    *,
    start: Start = "heaviest",
    first_seen: Ints | None = None,
    n_init: int = 10,
    random_state: Any = None,
) -> KMeansResult:
    """Cluster weighted points by Lloyd's iterations.

    Parameters
    ----------
    points : (m, d)
    weights : (m,)
    k : int
        Number of clusters; fewer come back only if fewer points are distinct.
    start : {"heaviest", "k-means++", "first-row"}
        Farthest-first centres from the heaviest point; the best of `n_init` random starts; or farthest-first centres
        from the point seen first, with plain comparisons and ties to the point seen first, as in the authors' program.
    first_seen : (m,), optional
        The first row of each point, for "first-row".
    n_init, random_state
        For "k-means++".
    """
    if start == "first-row":
        assert first_seen is not None
        order = np.argsort(first_seen)
        in_order = _lloyd(points[order], weights[order], farthest_first(points[order], 0, k, 0.0), 0.0)
        labels = np.empty_like(in_order.labels)
        labels[order] = in_order.labels
        return KMeansResult(labels, in_order.inertia)
    if start == "heaviest":
        return _lloyd(points, weights, farthest_first(points, int(np.argmax(weights)), k, ROUNDING), ROUNDING)
    random = random_generator(random_state)
    runs = [_lloyd(points, weights, _plus_plus(points, weights, k, random), ROUNDING) for _ in range(n_init)]
    return min(runs, key=lambda run: run.inertia)


def farthest_first(points: Floats, first: int, k: int, scale: float) -> Ints:
    """Return up to k points: `first`, then repeatedly the point farthest from those chosen, while any is apart."""
    chosen = [first]
    distances = np.full(len(points), np.inf)
    while True:
        lower_distances(points, points[chosen[-1]], distances)
        keys = np.rint(distances * scale) if scale > 0 else distances
        farthest = int(np.argmax(keys))
        if len(chosen) == k or keys[farthest] <= 0:
            return np.array(chosen)
        chosen.append(farthest)


def _plus_plus(points: Floats, weights: Floats, k: int, random: np.random.Generator) -> Ints:
    """Return up to k points drawn with probability proportional to weight times squared distance (k-means++)."""
    chosen = [int(random.choice(len(points), p=weights / weights.sum()))]
    distances = np.full(len(points), np.inf)
    while len(chosen) < k:
        lower_distances(points, points[chosen[-1]], distances)
        mass = weights * np.where(np.rint(distances * ROUNDING) > 0, distances, 0.0)
        if mass.sum() <= 0:
            break
        chosen.append(int(random.choice(len(points), p=mass / mass.sum())))
    return np.array(chosen)


def _tasks(n_points: int) -> list[slice]:
    """Return blocks of points to share between threads: a few per thread, none too small to be worth handing over."""
    return _kernels.threads.blocks(n_points, max(_BLOCK, -(-n_points // (4 * _kernels.threads.n_threads()))))


def lower_distances(points: Floats, centre: Floats, distances: Floats) -> None:
    """Lower `distances` to the squared distance of each point to `centre` where that is smaller."""
    tasks = _tasks(len(points))
    _kernels.threads.in_threads(
        lambda rows: _kernels.lloyd.squared_distances(points, centre, rows.start, rows.stop, distances), tasks
    )


def joint_kmeans(
    points: Floats, weights: Floats, n_rows: int, k: int, *, n_init: int = 0, random_state: Any = None
) -> KMeansResult:
    """Cluster weighted unit vectors of which the first `n_rows` must be in every cluster, as HBGF does.

    Centres start at one of those (the heaviest, or at random, the best of `n_init` > 0 runs), then repeatedly at the
    one whose absolute cosines to the centres chosen so far add up to least (Fern and Brodley 2004).
    """
    rows = points[:n_rows]
    if n_init == 0:
        firsts = np.array([np.argmax(weights[:n_rows])])
    else:
        share = weights[:n_rows] / weights[:n_rows].sum()
        firsts = random_generator(random_state).choice(n_rows, size=n_init, p=share)
    runs = [_lloyd(points, weights, least_similar_first(rows, int(first), k), ROUNDING, n_rows) for first in firsts]
    return min(runs, key=lambda run: run.inertia)


def least_similar_first(points: Floats, first: int, k: int) -> Ints:
    """Return up to k points: `first`, then the point with the least sum of |cosines| to those chosen, if apart."""
    chosen = [first]
    similarity = np.zeros(len(points))
    distances = np.full(len(points), np.inf)
    while len(chosen) < k:
        lower_distances(points, points[chosen[-1]], distances)
        similarity += np.abs(points @ points[chosen[-1]])
        keys = np.where(np.rint(distances * ROUNDING) > 0, np.rint(similarity * ROUNDING), np.inf)
        least = int(np.argmin(keys))
        if np.isinf(keys[least]):
            break
        chosen.append(least)
    return np.array(chosen)


def _lloyd(points: Floats, weights: Floats, chosen: Ints, scale: float, n_rows: int | None = None) -> KMeansResult:
    """Iterate from the chosen points until labels repeat; a cluster without any row is re-seeded at the farthest row.

    Rows are the first `n_rows` points, or all of them.
    """
    centres = points[chosen]
    k = len(chosen)
    labels = np.full(len(points), -1)
    distances = np.empty(len(points))
    tasks = _tasks(len(points))

    def assign(rows: slice) -> None:
        _kernels.lloyd.assign(points, np.ascontiguousarray(centres.T), scale, rows.start, rows.stop, labels, distances)

    for _ in range(MAX_ITERATIONS):
        before = labels.copy()
        _kernels.threads.in_threads(assign, tasks)
        _reseed(labels[:n_rows], distances[:n_rows], k)
        if np.array_equal(labels, before):
            break
        centres = _kernels.lloyd.weighted_means(points, weights, labels, k)
    return KMeansResult(labels, float(weights @ distances))


def _reseed(labels: Ints, distances: Floats, k: int) -> None:
    """Give each cluster without any row the row farthest from its centre that does not leave its own cluster empty."""
    sizes = np.bincount(labels, minlength=k)
    for empty in np.flatnonzero(sizes == 0):
        spare = np.where(sizes[labels] > 1, np.rint(distances * ROUNDING), -1.0)
        farthest = int(np.argmax(spare))
        sizes[labels[farthest]] -= 1
        sizes[empty] = 1
        labels[farthest], distances[farthest] = empty, 0.0


def random_generator(random_state: Any) -> np.random.Generator:
    """Return the generator of random numbers that a `random_state` stands for."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise QuorateError(
            f"random_state must be None, an integer of at least 0 or a numpy Generator; got {random_state!r}."
        ) from None
