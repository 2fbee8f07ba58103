"""The ensembles of the benchmarks."""

from functools import cache
from pathlib import Path

import numpy as np

SHARED = Path(__file__).resolve().parents[2] / "shared" / "ensembles"


def letters(n_members: int) -> np.ndarray:
    """Return members of a published ensemble of Letters (20,000 rows), or of a generated one of the same shape."""
    return _pool("lwea_LR", 20_000)[:, :n_members]


def pen_digits(n_members: int) -> np.ndarray:
    """Return members of a published ensemble of Pen Digits (10,992 rows), or of a generated one of the same shape."""
    return _pool("lwea_PD", 10_992)[:, :n_members]


@cache
def _pool(name: str, n_rows: int) -> np.ndarray:
    path = SHARED / f"{name}.npz"
    if path.exists():
        with np.load(path) as archive:
            return archive["labels"]
    return mixture(n_rows, 100, high=int(n_rows**0.5), seed=1).astype(np.uint8)


def mixture(n_rows: int, n_members: int, *, high: int = 100, seed: int = 0) -> np.ndarray:
    """Return members of a mixture of 30 Gaussians: the nearest of 2 to `high` random centers, as int16.

    The mixture and the centers depend only on the seed, so that ensembles of different size have the same clusters.
    """
    random = np.random.default_rng(seed)
    means = random.normal(scale=3.0, size=(30, 6))
    sizes = random.integers(2, high + 1, n_members)
    centers = [means[random.integers(30, size=k)] + random.normal(size=(k, 6)) for k in sizes]
    labels = np.empty((n_rows, n_members), dtype=np.int16)
    for start in range(0, n_rows, 50_000):
        rows = slice(start, min(start + 50_000, n_rows))
        points = means[random.integers(30, size=rows.stop - start)] + random.normal(size=(rows.stop - start, 6))
        for j, center in enumerate(centers):
            labels[rows, j] = np.argmin((center**2).sum(axis=1) - 2 * points @ center.T, axis=1)
    return labels
