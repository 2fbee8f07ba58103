"""From points to a consensus: 20 million points in the shape of a flower, 20 members.

The largest published consensus clustering (U-SENC: Huang, Wang, Wu, Lai, Kwoh 2020) takes 7,225.83 seconds for 20
million points of such a shape with 20 members of 20 to 60 clusters each. Here every member is a k-means fitted on a
sample and predicted for all points. QUORATE_BENCH_POINTS sets another number of points.
"""

import os
import time

import numba
import numpy as np

from benchmarks.measure import Result

PUBLISHED_SECONDS = 7225.83
N_MEMBERS = 20
N_PETALS = 12
SAMPLE = 20_000
BLOCK = 1_000_000


def flower(n_points: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return points (n, 2) and their petals: longish Gaussians around a round one, of uneven sizes."""
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(N_PETALS + 1, 6.0))
    petal = rng.choice(N_PETALS + 1, size=n_points, p=share).astype(np.uint8)
    points = np.empty((n_points, 2), dtype=np.float32)
    angle = 2 * np.pi * np.arange(N_PETALS + 1) / N_PETALS
    along = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    for start in range(0, n_points, BLOCK):
        some = petal[start : start + BLOCK]
        draw = rng.standard_normal((len(some), 2), dtype=np.float32)
        outer = some < N_PETALS
        radius = np.where(outer, 6.0 + 1.4 * draw[:, 0], 0.8 * draw[:, 0]).astype(np.float32)
        width = np.where(outer, 0.38 * draw[:, 1], 0.8 * draw[:, 1]).astype(np.float32)
        points[start : start + BLOCK] = radius[:, None] * along[some] + width[:, None] * across[some]
    return points, petal


@numba.njit(cache=True, nogil=True)
def _predict(points, centers, start, stop, labels):
    for i in range(start, stop):
        best = np.float32(np.inf)
        for c in range(centers.shape[0]):
            x, y = points[i, 0] - centers[c, 0], points[i, 1] - centers[c, 1]
            distance = x * x + y * y
            if distance < best:
                best = distance
                labels[i] = c


def members(points: np.ndarray, seed: int = 1) -> np.ndarray:
    """Return (n, 20) labels, one member after the other in memory."""
    from sklearn.cluster import KMeans

    from quorate._runtime import threads

    labels = np.empty((N_MEMBERS, len(points)), dtype=np.uint8)
    tasks = threads.blocks(len(points), BLOCK)
    for member, stream in enumerate(np.random.SeedSequence(seed).spawn(N_MEMBERS)):
        rng = np.random.default_rng(stream)
        sample = points[rng.integers(0, len(points), SAMPLE)]
        k, number = int(rng.integers(20, 61)), int(rng.integers(2**31))
        centers = KMeans(k, n_init=1, random_state=number).fit(sample).cluster_centers_.astype(np.float32)
        row = labels[member]
        threads.in_threads(lambda rows, c=centers, row=row: _predict(points, c, rows.start, rows.stop, row), tasks)
    return labels.T


def nmi(found: np.ndarray, truth: np.ndarray) -> float:
    """Return the normalized mutual information of two labelings (over the geometric mean of their entropies)."""
    table = np.bincount(found * (int(truth.max()) + 1) + truth).astype(float)
    table = np.pad(table, (0, -len(table) % (int(truth.max()) + 1))).reshape(-1, int(truth.max()) + 1)
    joint = table / table.sum()
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    present = joint > 0
    mutual = np.sum(joint[present] * np.log(joint[present] / np.outer(rows, columns)[present]))
    entropy = [-np.sum(side[side > 0] * np.log(side[side > 0])) for side in (rows, columns)]
    return float(mutual / np.sqrt(entropy[0] * entropy[1]))


def run() -> list[Result]:
    """Generate members, combine them, and report both times and how well the petals are found."""
    import quorate as qt

    n_points = int(os.environ.get("QUORATE_BENCH_POINTS", "20000000"))
    points, petal = flower(n_points)
    small = members(points[:100_000])
    qt.GPMGLA(3).fit(small)  # loaded and compiled
    start = time.perf_counter()
    labels = members(points)
    generated = time.perf_counter()
    model = qt.GPMGLA(N_PETALS + 1).fit(labels)
    answer = model.labels_
    combined = time.perf_counter()
    score = nmi(answer, petal)
    each = [nmi(labels[:, j].astype(np.int64), petal) for j in range(N_MEMBERS)]
    total = combined - start
    what = f"{n_points:,} points, 20 members, {model.ensemble_.n_patterns:,} patterns:"
    return [
        Result(f"{what} members", generated - start, PUBLISHED_SECONDS, "s", 0.0, "-", True),
        Result(f"{what} consensus", combined - generated, PUBLISHED_SECONDS, "s", 0.0, "-", True),
        Result(f"{what} total", total, PUBLISHED_SECONDS, "s", PUBLISHED_SECONDS / total, ">= 1", total < 7225.83),
        Result(f"{what} NMI, with the mean of the members", score, float(np.mean(each)), "", score, "-", True),
    ]
