"""Climbing a weighted Gaussian density, shared by HMAC (its modes) and OD-ISVC (its stable equilibrium points)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from quorate import _kernels
from quorate._runtime import threads
from quorate._utils.array_types import Floats, Ints

BLOCK = 2_000_000  # entries of one block of kernel values: 16 MB, small enough to stay near the cache
MAX_STEPS = 2000
STEP_TOLERANCE = 1e-7  # of the bandwidth: a climber that moves less has arrived
MEETING_DISTANCE = 1e-2  # of the bandwidth: climbers this close share the rest of their way
FIRST_MEETING = 6  # steps after which climbers look for each other; again each time they have gone half as far again
MERGE_DISTANCE = 0.2  # of the bandwidth: end points this close are one mode (near a bifurcation climbing all but stops)


class Density(NamedTuple):
    """The density sum of weights[i] N(. | centers[i], bandwidth^2 I), up to a constant."""

    centers: Floats
    weights: Floats
    bandwidth: float


def mean_shift(points: Floats, density: Density) -> Floats:
    """Return where one step of modal expectation-maximization takes each point.

    p_i proportional to weights_i exp(-|x - x_i|^2 / (2 bandwidth^2)); x <- sum of p_i x_i.
    """
    moved = np.empty_like(points)
    scaled = density.centers / density.bandwidth**2
    # |x|^2 is the same for every center and cancels in p
    offset = np.log(density.weights) - (density.centers * scaled).sum(1) / 2

    def move(block: slice) -> None:
        _kernels.gaussian_sums.weighted_mean(points[block] @ scaled.T, offset, density.centers, moved[block])

    in_blocks(move, points, density)
    return moved


def in_blocks(task: Callable[[slice], None], points: Floats, density: Density) -> None:
    """Run `task` on blocks of points, in threads, so that no table of all points x centers is ever held."""
    threads.in_threads(task, threads.blocks(len(points), max(1, BLOCK // len(density.centers))))


def climb(starts: Floats, density: Density) -> Floats:
    """Return the point at which the climb from each start ends, after at most `MAX_STEPS` steps."""
    # many small products: threads of the linear algebra library would wait for each other most of the time
    with threads.one_thread():
        return _climb(starts, density)


def _climb(starts: Floats, density: Density) -> Floats:
    position = starts.copy()
    follows = np.arange(len(starts))  # the climber whose way each start shares
    active = follows.copy()
    next_meeting = FIRST_MEETING
    for step in range(1, MAX_STEPS + 1):
        moved = mean_shift(position[active], density)
        traveled = np.linalg.norm(moved - position[active], axis=1)
        position[active] = moved
        active = active[traveled >= STEP_TOLERANCE * density.bandwidth]
        if len(active) == 0:
            break
        if step == next_meeting:
            next_meeting = 3 * step // 2
            group = merge_close(position[active], MEETING_DISTANCE * density.bandwidth)
            leader = active[np.unique(group, return_index=True)[1]]
            follows[active] = leader[group]
            active = leader
    while (follows != follows[follows]).any():
        follows = follows[follows]
    return position[follows]


def merge_close(points: Floats, distance: float) -> Ints:
    """Return the groups, numbered from 0, of points that are linked by steps of at most `distance`."""
    cells, first, cell = np.unique(np.round(points / (distance / 4)), axis=0, return_index=True, return_inverse=True)
    pairs = cKDTree(points[first]).query_pairs(distance, output_type="ndarray")
    graph = coo_array((np.ones(len(pairs), dtype=bool), (pairs[:, 0], pairs[:, 1])), shape=(len(cells), len(cells)))
    return connected_components(graph, directed=False)[1].astype(np.int64)[cell.ravel()]
