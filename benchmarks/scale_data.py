"""Large label tables: Gaussian groups in six dimensions, each member the nearest of its own random centers.

Tables are written as Parquet files of a million rows each, so that generation resumes where it stopped and never holds
more than one piece. The same seed gives the same rows however many pieces there are.
"""

from pathlib import Path

import numba
import numpy as np

PIECE = 1_000_000
N_MEMBERS = 10
N_GROUPS = 12
N_FEATURES = 6
MEMBERS = [f"m{j}" for j in range(N_MEMBERS)]


def centers(seed=0):
    """Return the groups' means and, member by member, the centers, one after the other, with their bounds."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(N_GROUPS, N_FEATURES)) * 2.5
    sizes = rng.integers(8, 25, N_MEMBERS)
    near = means[rng.integers(0, N_GROUPS, sizes.sum())]
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    return means.astype(np.float32), (near + rng.normal(size=near.shape)).astype(np.float32), bounds


@numba.njit(cache=True, nogil=True)
def _label(points, coordinates, bounds, labels):
    """Write the nearest center of each member; coordinates are (features, centers), for vector instructions."""
    distance = np.empty(coordinates.shape[1], dtype=np.float32)
    for i in range(points.shape[0]):
        distance[:] = 0.0
        for d in range(points.shape[1]):
            x = points[i, d]
            for c in range(coordinates.shape[1]):
                difference = x - coordinates[d, c]
                distance[c] += difference * difference
        for j in range(bounds.shape[0] - 1):
            best = bounds[j]
            for c in range(bounds[j] + 1, bounds[j + 1]):
                if distance[c] < distance[best]:
                    best = c
            labels[i, j] = best - bounds[j]


def label_piece(number, n_rows=PIECE, seed=0):
    """Return (n_rows, members) labels of one piece, and the group of each row."""
    means, center, bounds = centers(seed)
    rng = np.random.default_rng([seed, number])
    group = rng.integers(0, N_GROUPS, n_rows)
    points = means[group] + rng.standard_normal((n_rows, N_FEATURES), dtype=np.float32)
    labels = np.empty((n_rows, N_MEMBERS), dtype=np.uint8)
    _label(points, np.ascontiguousarray(center.T), bounds, labels)
    return labels, group


def label_matrix(n_rows, dtype=np.int64):
    """Return (n_rows, members) labels in memory."""
    pieces = range(-(-n_rows // PIECE))
    return np.concatenate([label_piece(piece)[0] for piece in pieces])[:n_rows].astype(dtype)


def generate(folder: Path, n_rows: int, log=lambda message: None) -> Path:
    """Write a table of labels, piece by piece; pieces that are there already are kept."""
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(config={"memory_limit": "500MB", "threads": 2}) as connection:
        connection.execute("SET enable_progress_bar = false")
        for piece in range(-(-n_rows // PIECE)):
            path = folder / f"labels_{piece:05d}.parquet"
            if path.exists():
                continue
            labels, _ = label_piece(piece, min(PIECE, n_rows - piece * PIECE))
            connection.register("held", {name: labels[:, j] for j, name in enumerate(MEMBERS)})
            partial = path.with_suffix(".part")
            connection.execute(f"COPY (SELECT * FROM held) TO '{partial}' (FORMAT parquet, COMPRESSION zstd)")
            connection.unregister("held")
            partial.replace(path)
            if piece % 50 == 49:
                log(f"generated {(piece + 1) * PIECE:,} rows")
    return folder
