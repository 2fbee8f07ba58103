"""Weighted k-means of points that come in blocks; deterministic unless random initial centers are requested.

Points in memory are one block. Points that do not fit into memory are many blocks, read again for every step. Sums run
in the order of the points either way, so that the result is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from quorate import _kernels
from quorate._runtime import threads
from quorate._runtime.progress import report_progress
from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import brief_repr
from quorate.errors import InputError

Init = Literal["ward", "heaviest", "k-means++", "first-row", "random"]

INITS = ("ward", "heaviest", "k-means++", "first-row")
BLOCK_INITS = ("ward", "heaviest")
"""The initializations for which points need not be in memory."""
MAX_ITERATIONS = 1000
ROUNDING = 1e10  # distances are compared to ten decimals, so that near-ties do not depend on the last bit
_SEEDS_PER_CLUSTER = 4
_FEWEST_SEEDS = 50
_BLOCK = 1024
_POINTS_PER_TASK = 1 << 14  # for distances to a single center


class Points(NamedTuple):
    """Weighted points; `fixed` ones are clustered too, but neither keep a cluster alive nor become an initial
    center.
    """

    values: Floats
    weights: Floats
    fixed: bool = False


Blocks = Sequence[Points]


class KMeansResult(NamedTuple):
    """Clusters of points: fewer than requested only if there are fewer distinct points."""

    labels: Ints
    inertia: float


def weighted_kmeans(
    points: Floats,
    weights: Floats,
    k: int,
    *,
    init: Init = "ward",
    key: Key | None = None,
    along: Blocks = (),
    first_row: Ints | None = None,
    n_init: int = 10,
    random_state: Any = None,
) -> KMeansResult:
    """Cluster weighted points in memory by Lloyd's iterations.

    Parameters
    ----------
    points : (m, d)
    weights : (m,)
    k : int
        Number of clusters; fewer are returned only if fewer points are distinct.
    init : {"ward", "heaviest", "k-means++", "first-row", "random"}
        Initial centers. "ward": many seeds, merged by Ward's criterion (`ward_centers`). "heaviest": spread out from
        the heaviest point. "k-means++": the best of `n_init` random choices. "first-row": spread out from the point of
        the first row, with exact comparisons and ties to the first row, as in the authors' program. "random": spread
        out from a random point, the best of `n_init`.
    key : function, default `farthest`
        The criterion by which centers spread out (`spread_out`), for "heaviest" and "random".
    along : sequence of Points
        Points that are clustered too.
    first_row : (m,), optional
        The first row of each point, for "first-row".
    n_init, random_state
        For "k-means++" and "random".
    """
    report_progress(f"The {k} clusters of {len(points):,} patterns")
    if init == "first-row":
        assert first_row is not None
        # In the order of first rows, because ties go to the first row in the authors' program.
        order = np.argsort(first_row)
        labels = np.empty(len(points), dtype=np.int64)
        labels[order], inertia = _from_first(Points(points[order], weights[order]), k)
        return KMeansResult(labels, inertia)
    blocks = [Points(points, weights), *along]
    if init in BLOCK_INITS:
        best = blocked_kmeans(blocks, k, init, key or farthest, hold=True)
    else:
        random = random_generator(random_state)
        if init == "k-means++":
            starts = (_plus_plus(points, weights, k, random) for _ in range(n_init))
        else:
            # A row is drawn, not a pattern: points count by their weight.
            firsts = random.choice(len(points), size=n_init, p=weights / weights.sum())
            starts = (spread_out(blocks, points[first], k, key or farthest, hold=True) for first in firsts)
        # The run of least inertia; `min` keeps the first of equals.
        best = min((lloyd(blocks, centers, len(centers)) for centers in starts), key=lambda run: run.inertia)
    return KMeansResult(best.labels(points, 0)[0], best.inertia)


def blocked_kmeans(blocks: Blocks, k: int, init: Init, key: Key, *, hold: bool = False) -> Assignment:
    """Cluster weighted points that are read in blocks; `init` is "ward" or "heaviest"; `hold` as in `spread_out`."""
    if init == "heaviest":
        centers = spread_out(blocks, heaviest(blocks), k, key, hold=hold)
        return lloyd(blocks, centers, len(centers))
    centers, k = ward_centers(blocks, k, hold=hold)
    return lloyd(blocks, centers, k)


def _from_first(points: Points, k: int) -> KMeansResult:
    """Cluster points as the authors' program does: centers spread out from the first point, without rounding."""
    centers = spread_out([points], points.values[0], k, farthest_unrounded, hold=True)
    run = lloyd([points], centers, len(centers), scale=0.0)
    return KMeansResult(run.labels(points.values, 0)[0], run.inertia)


# Initial centers


class Proximity(NamedTuple):
    """The relation of points to the centers chosen so far."""

    distances: Floats
    """The squared distance to the nearest center."""
    similarity: Floats
    """The sum of the absolute inner products with all centers."""


Key = Callable[[Proximity, Floats], Floats]
"""Rates each weighted point as the next center: -inf if it is one already; ratings never increase."""


def farthest(proximity: Proximity, weights: Floats) -> Floats:
    """Return the distance to the nearest center."""
    return _where_apart(proximity, np.rint(proximity.distances * ROUNDING))


def farthest_unrounded(proximity: Proximity, weights: Floats) -> Floats:
    """Return the exact distance to the nearest center."""
    return np.where(proximity.distances > 0, proximity.distances, -np.inf)


def heavy_and_far(proximity: Proximity, weights: Floats) -> Floats:
    """Return the weight times the distance to the nearest center."""
    return _where_apart(proximity, weights * np.rint(proximity.distances * ROUNDING))


def least_similar(proximity: Proximity, weights: Floats) -> Floats:
    """Return minus the sum of the absolute cosines to the centers (Fern and Brodley 2004)."""
    return _where_apart(proximity, -np.rint(proximity.similarity * ROUNDING))


def _where_apart(proximity: Proximity, keys: Floats) -> Floats:
    return np.where(np.rint(proximity.distances * ROUNDING) > 0, keys, -np.inf)


def heaviest(blocks: Blocks) -> Floats:
    """Return the first point of the largest weight that is not fixed."""
    best, weight = None, -np.inf
    for block in blocks:
        if not block.fixed and block.weights.max(initial=-np.inf) > weight:
            position = int(np.argmax(block.weights))
            best, weight = block.values[position].copy(), block.weights[position]
    assert best is not None
    return best


def spread_out(blocks: Blocks, first: Floats, k: int, key: Key, *, hold: bool = False) -> Floats:
    """Return up to k points: `first`, then repeatedly the first point of the largest key, while any point is distinct.

    Keys never increase, so a block is read again only if its largest known key exceeds those of the other blocks. With
    `hold`, each block keeps its state (two numbers per point); otherwise it is recomputed with every reading.
    """
    chosen = [first]
    held: dict[int, Proximity] = {}
    best = [first] * len(blocks)
    bound = np.full(len(blocks), np.inf)
    met = np.zeros(len(blocks), dtype=np.int64)  # number of chosen centers that each bound takes into account
    while len(chosen) < k:
        # The block with the largest bound is either up to date, then its best point wins, or read again.
        b = int(np.argmax(bound))
        if met[b] == len(chosen):
            if bound[b] == -np.inf:
                break
            chosen.append(best[b])
            continue
        block = blocks[b]
        proximity = held.get(b) or Proximity(np.full(len(block.values), np.inf), np.zeros(len(block.values)))
        _look(block.values, chosen[met[b] if b in held else 0 :], proximity, with_similarity=key is least_similar)
        if hold:
            held[b] = proximity
        met[b], bound[b] = len(chosen), -np.inf
        if not block.fixed and len(block.values):
            keys = key(proximity, block.weights)
            position = int(np.argmax(keys))
            best[b], bound[b] = block.values[position].copy(), keys[position]
    return np.array(chosen)


def _look(points: Floats, centers: list[Floats], proximity: Proximity, *, with_similarity: bool) -> None:
    """Update the state of points for more centers."""
    for center in centers:
        _lower_distances(points, center, proximity.distances)
        if with_similarity:
            np.add(proximity.similarity, np.abs(points @ center), out=proximity.similarity)


def _lower_distances(points: Floats, center: Floats, distances: Floats) -> None:
    """Lower `distances` to the squared distance of each point to `center` where that is smaller."""
    threads.in_threads(
        lambda rows: _kernels.lloyd.squared_distances(points, center, rows.start, rows.stop, distances),
        threads.blocks(len(points), _POINTS_PER_TASK),
    )


def ward_centers(blocks: Blocks, k: int, *, hold: bool = False) -> tuple[Floats, int]:
    """Return up to k centers and the possible number of clusters, k unless fewer points are distinct.

    Many more seeds than clusters are chosen, from the heaviest point on, wherever much weight is far away. They collect
    the points around them, twice, and the groups are merged by Ward's criterion. This needs neither randomness nor
    restarts.
    """
    seeds = spread_out(blocks, heaviest(blocks), max(_SEEDS_PER_CLUSTER * k, _FEWEST_SEEDS), heavy_and_far, hold=hold)
    around_seeds = _gather(blocks, Assignment(seeds), len(seeds))
    groups = _gather(blocks, Assignment(around_seeds.means), len(seeds))
    occupied = groups.sizes > 0
    k = min(k, len(seeds))
    return _kernels.lloyd.merge_groups(groups.means[occupied], groups.weights[occupied], k, ROUNDING), k


def _plus_plus(points: Floats, weights: Floats, k: int, random: np.random.Generator) -> Floats:
    """Return up to k points drawn with probability proportional to weight times squared distance (k-means++)."""
    chosen = [int(random.choice(len(points), p=weights / weights.sum()))]
    distances = np.full(len(points), np.inf)
    while len(chosen) < k:
        _lower_distances(points, points[chosen[-1]], distances)
        # Points that equal a center up to rounding are not drawn again.
        mass = weights * np.where(np.rint(distances * ROUNDING) > 0, distances, 0.0)
        if mass.sum() <= 0:
            break
        chosen.append(int(random.choice(len(points), p=mass / mass.sum())))
    return points[chosen]


# Lloyd's iterations


@dataclass(frozen=True)
class Assignment:
    """The cluster of each point: that of the nearest center, except for points moved to empty clusters."""

    centers: Floats
    moved: dict[int, int] = field(default_factory=dict)
    scale: float = ROUNDING
    """Distances are compared after rounding to 1 / scale; 0 compares them exactly."""
    inertia: float = np.nan
    """The weighted sum of squared distances, if computed."""

    def labels(self, points: Floats, offset: int) -> tuple[Ints, Floats]:
        """Return the cluster of each point and its squared distance; the first one is point `offset` of all."""
        labels = np.empty(len(points), dtype=np.int64)
        distances = np.empty(len(points))
        columns = np.ascontiguousarray(self.centers.T)
        threads.in_threads(
            lambda rows: _kernels.lloyd.assign(points, columns, self.scale, rows.start, rows.stop, labels, distances),
            _tasks(len(points)),
        )
        # Moved points belong to their new cluster whatever the distances say.
        for index, label in self.moved.items():
            if offset <= index < offset + len(points):
                labels[index - offset], distances[index - offset] = label, 0.0
        return labels, distances


class _Gathered(NamedTuple):
    """The result of one pass over all points."""

    sizes: Ints
    """(k,) number of points of each cluster, without fixed ones."""
    means: Floats
    """(k, d) weighted mean of each cluster, NaN where it is empty."""
    weights: Floats
    """(k,) weight of each cluster."""
    inertia: float


def lloyd(blocks: Blocks, centers: Floats, k: int, *, scale: float = ROUNDING) -> Assignment:
    """Return the assignment to k clusters at which Lloyd's iterations from at most k centers converge.

    A cluster that contains only fixed points, or none, gets a new center. Labels follow from the centers alone: once
    these stay the same, so do the labels.
    """
    for _ in range(MAX_ITERATIONS):
        assignment = Assignment(centers, {}, scale)
        clusters = _gather(blocks, assignment, k)
        if not clusters.sizes.all():
            assignment = Assignment(centers, _reseed(blocks, assignment, clusters.sizes), scale)
            clusters = _gather(blocks, assignment, k)
        # Centers decide everything, so that equal centers mean convergence.
        if np.array_equal(clusters.means, centers):
            break
        centers = clusters.means
    return Assignment(assignment.centers, assignment.moved, scale, clusters.inertia)


def _gather(blocks: Blocks, assignment: Assignment, k: int) -> _Gathered:
    n_dims = assignment.centers.shape[1]
    sizes, sums, weights, inertia = np.zeros(k, dtype=np.int64), np.zeros((k, n_dims)), np.zeros(k), 0.0
    offset = 0
    for block in blocks:
        labels, distances = assignment.labels(block.values, offset)
        # Fixed points pull centers, but a cluster needs a point of its own.
        if not block.fixed:
            sizes += np.bincount(labels, minlength=k)
        _kernels.lloyd.add_up(block.values, block.weights, labels, sums, weights)
        inertia += float(np.sum(block.weights * distances))  # not a dot product, for which BLAS may use threads
        offset += len(labels)
    means = np.divide(sums, weights[:, None], out=np.full_like(sums, np.nan), where=weights[:, None] > 0)
    return _Gathered(sizes, means, weights, inertia)


def _reseed(blocks: Blocks, assignment: Assignment, sizes: Ints) -> dict[int, int]:
    """Give each empty cluster the point farthest from its center that does not leave its own cluster empty."""
    sizes, moved = sizes.copy(), {}
    candidates = _farthest_points(blocks, assignment, n=len(sizes))
    for empty in np.flatnonzero(sizes == 0):
        position, index, label = next((p, i, j) for p, (i, j) in enumerate(candidates) if sizes[j] > 1)
        sizes[label] -= 1
        sizes[empty] = 1
        moved[index] = int(empty)
        del candidates[position]  # alone in its new cluster, it must stay there
    return moved


def _farthest_points(blocks: Blocks, assignment: Assignment, n: int) -> list[tuple[int, int]]:
    """Return index and cluster of the n points farthest from their centers, ties in order.

    n points are enough: each one passed over has moved to an empty cluster or is the last of its own.
    """
    far, indices, clusters = np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    offset = 0
    for block in blocks:
        labels, distances = assignment.labels(block.values, offset)
        if not block.fixed:
            far = np.concatenate([far, np.rint(distances * ROUNDING)])
            indices = np.concatenate([indices, np.arange(offset, offset + len(labels))])
            clusters = np.concatenate([clusters, labels])
            order = np.argsort(-far, kind="stable")[:n]
            far, indices, clusters = far[order], indices[order], clusters[order]
        offset += len(labels)
    return list(zip(indices.tolist(), clusters.tolist(), strict=True))


def _tasks(n_points: int) -> list[slice]:
    """Return blocks of points for threads: a few per thread, none too small to be worth starting."""
    return threads.blocks(n_points, max(_BLOCK, -(-n_points // (4 * threads.n_threads()))))


def random_generator(random_state: Any) -> np.random.Generator:
    """Return the random generator of a `random_state`."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InputError(
            f"must be None, an integer of at least 0 or a numpy Generator; got {brief_repr(random_state)}.",
            code="random-state",
            parameter="random_state",
        ) from None
