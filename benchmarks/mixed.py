"""Ensembles of mixed algorithms: the default against HBGF, one graph cut and the most central member.

`python -m benchmarks.mixed deciding` (or `confirming`) prints mean ARI at the number of classes. Datasets are split in
two halves by a hash of their names. Each has three ensembles: 20 members with the true number of clusters, 20 with
varied numbers, and 10 with numbers near the true one. At most 1,000 rows of a dataset are used.
"""

from __future__ import annotations

import sys
import warnings
import zlib
from collections.abc import Iterator

import numpy as np
from sklearn import datasets
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

import quorate as qt
import quorate.datasets
from benchmarks.public_sets import public_sets
from quorate._utils.array_types import Floats, Ints
from quorate.benchmarking.comparison_tables import markdown_table
from quorate.benchmarking.contestants import make_contestant

METHODS = ("auto", "hbgf", "lwgp weights=trust beta=4 theta=0.8", "best-member")
KINDS = ("k-means", "some columns", "ward", "average", "complete", "mixture", "spectral", "DBSCAN", "HDBSCAN")
MOST_ROWS = 1000


def sets() -> Iterator[tuple[str, Floats, Ints]]:
    """Yield name, rows and classes (1 and more; 0 is noise) of every dataset."""
    for public in public_sets():
        yield public.name, public.X, public.references[0]
    for name in quorate.datasets.NAMES:
        packaged = quorate.datasets.load(name)
        yield name, _scaled(packaged.features), np.unique(packaged.classes, return_inverse=True)[1] + 1
    digits, classes = datasets.load_digits(return_X_y=True)
    yield "load_digits", _scaled(digits), classes + 1
    for i in range(10):
        random = np.random.default_rng([77, i])
        k, n_columns = int(random.integers(2, 12)), int(random.integers(2, 12))
        n_rows, spread = int(random.integers(300, 1000)), random.uniform(0.6, 3, k)
        rows, classes = datasets.make_blobs(n_rows, n_columns, centers=k, cluster_std=spread, random_state=i)
        yield f"blob{i}", _scaled(rows), classes + 1
    for name, (rows, classes) in {
        "moons": datasets.make_moons(600, noise=0.08, random_state=1),
        "circles": datasets.make_circles(600, noise=0.06, factor=0.5, random_state=1),
    }.items():
        yield name, rows, classes + 1


def _scaled(rows: Floats) -> Floats:
    return StandardScaler().fit_transform(rows[:, np.ptp(rows, axis=0) > 0])


def member(kind: str, X: Floats, k: int, random: np.random.Generator) -> Ints:
    """Return one clustering; noise is -1."""
    seed = int(random.integers(2**31))
    if kind == "k-means":
        return KMeans(k, n_init=1, random_state=seed).fit_predict(X)
    if kind == "some columns":
        columns: np.ndarray = random.random(X.shape[1]) < 0.6
        if not columns.any():
            columns[random.integers(len(columns))] = True
        return KMeans(k, n_init=3, random_state=seed).fit_predict(X[:, columns])
    if kind == "mixture":
        shape = ("full", "diag", "tied")[random.integers(3)]
        return GaussianMixture(k, random_state=seed, reg_covar=1e-3, covariance_type=shape).fit_predict(X)
    if kind == "spectral":
        near = int(random.integers(6, 15))
        return SpectralClustering(k, affinity="nearest_neighbors", n_neighbors=near, random_state=seed).fit_predict(X)
    if kind == "DBSCAN":
        least = int(random.integers(4, 15))
        distance = NearestNeighbors(n_neighbors=least).fit(X).kneighbors()[0][:, -1]
        return DBSCAN(eps=np.quantile(distance, random.uniform(0.7, 0.98)), min_samples=least).fit_predict(X)
    if kind == "HDBSCAN":
        return HDBSCAN(min_cluster_size=int(random.integers(5, 40)), copy=True).fit_predict(X)
    return AgglomerativeClustering(k, linkage=kind).fit_predict(X)


def ensembles(name: str, X: Floats, classes: Ints) -> tuple[dict[str, Ints], Ints]:
    """Return three tables of labels by name, and the classes of their rows."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    if len(X) > MOST_ROWS:
        some = np.sort(random.choice(len(X), MOST_ROWS, replace=False))
        X, classes = X[some], classes[some]
    k = len(np.unique(classes[classes > 0]))
    kinds = [KINDS[i % len(KINDS)] for i in range(20)]
    made = {
        "20 members, true k": [member(kind, X, k, random) for kind in kinds],
        "20 members, varied k": [
            member(kind, X, int(random.integers(max(2, k // 2), 2 * k + 2)), random) for kind in kinds
        ],
        "10 members": [
            member(kind, X, int(np.clip(k + random.integers(-1, 3), 2, None)), random) for kind in (*KINDS, "single")
        ],
    }
    return {
        kind: np.stack([m for m in some if len(np.unique(m[m >= 0])) > 1], axis=1) for kind, some in made.items()
    }, (classes)


def scores(half: str) -> dict[str, list[list[float]]]:
    """Return, for each kind of ensemble and each dataset of a half, the ARI of every method."""
    found: dict[str, list[list[float]]] = {}
    for name, rows, known in sets():
        if (zlib.crc32(name.encode()) % 2 == 0) != (half == "deciding"):
            continue
        tables, classes = ensembles(name, rows, known)
        scored = classes > 0
        k = len(np.unique(classes[scored]))
        for kind, labels in tables.items():
            answers = [make_contestant(method).answer(qt.Ensemble(labels), [k], 0)[:, 0] for method in METHODS]
            of_methods = [float(adjusted_rand_score(classes[scored], answer[scored])) for answer in answers]
            found.setdefault(kind, []).append(of_methods)
    return found


def run(half: str = "deciding") -> None:
    """Print the table of one half."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = scores(half)
    lines = [[f"{kind} ({len(of)} datasets)", *(f"{v:.3f}" for v in np.mean(of, axis=0))] for kind, of in found.items()]
    print(markdown_table([half, *METHODS], lines))


if __name__ == "__main__":
    run(*sys.argv[1:2])
