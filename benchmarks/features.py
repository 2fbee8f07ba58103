"""Cost of members of different kinds, in time and memory, and of labeling by many members in one pass.

Times are medians of three runs after one that compiles. 15 overlapping Gaussians in 20 dimensions. QUORATE_BENCH_ROWS
sets other numbers of rows, split by commas.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from sklearn.cluster import KMeans

import quorate as qt
from benchmarks.measure import Result, faster, median_seconds, peak_memory, run_parts, seconds, share
from quorate.features.labeling import Crew

N_FEATURES = 20
N_GROUPS = 15
N_MEMBERS = 20
LABELLED_ROWS = 400_000
LABELLED_FEATURES = (20, 8, 2)
MEMORY_ROWS = 1_000_000
COMPARED_ROWS = (2_000, 20_000)
MANY_COLUMNS = (100, 1_000)
WIDE_ROWS = 20_000
LONGEST_FIT = 120.0
REPEATS = 3


def gaussians(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (n, 20) of 15 overlapping Gaussians, and which of them each comes from."""
    random = np.random.default_rng(seed)
    centers = random.normal(scale=0.8, size=(N_GROUPS, N_FEATURES))
    group = random.integers(N_GROUPS, size=n_rows)
    return centers[group] + random.standard_normal((n_rows, N_FEATURES)), group


def run() -> Iterator[Result]:
    """Return all results."""
    sizes = [int(size) for size in os.environ.get("QUORATE_BENCH_ROWS", "200000,1000000").split(",")]
    kinds = [lambda n=n, k=k: kinds_of_members(n, k) for n in COMPARED_ROWS for k in (N_GROUPS, "auto")]
    wide = [lambda d=d: many_columns(d) for d in MANY_COLUMNS]
    return run_parts(*kinds, *(lambda size=size: whole(size) for size in sizes), memory, *wide, labeling)


def kinds_of_members(n_rows: int, n_clusters: int | str) -> Iterator[Result]:
    """Members of different kinds against members of k-means alone."""
    X, _ = gaussians(n_rows)
    models = [qt.ConsensusClustering(n_clusters, members=one, random_state=0) for one in ("diverse", "kmeans")]
    ours, other = (median_seconds(lambda model=model: model.fit(X), REPEATS) for model in models)
    yield share(f"{n_rows:,} x {N_FEATURES}, k = {n_clusters}: diverse members against k-means", ours, other, 3.0)


def many_columns(n_columns: int) -> Iterator[Result]:
    """Rows of many columns: 15 Gaussians in 20 of them, noise in the others."""
    X, group = gaussians(WIDE_ROWS)
    noise = np.random.default_rng(1).standard_normal((WIDE_ROWS, n_columns - N_FEATURES))
    X = np.hstack([2 * X, noise])
    model = qt.ConsensusClustering(random_state=0).fit(X[:1000])  # compiled
    took = seconds(lambda: model.fit(X))
    what = f"{WIDE_ROWS:,} x {n_columns:,}: automatic, {model.n_clusters_} clusters found, ARI "
    what += f"{qt.evaluate(model.labels_, group).ari:.2f}"
    yield share(what, took, LONGEST_FIT, 1.0)


def whole(n_rows: int) -> Iterator[Result]:
    """The whole of ConsensusClustering against one k-means with ten starts, on the same rows, in one process."""
    X, group = gaussians(n_rows)
    single = KMeans(N_GROUPS, n_init=10, random_state=0)
    other = median_seconds(lambda: single.fit(X), REPEATS)
    for k in (N_GROUPS, "auto"):
        model = qt.ConsensusClustering(k, random_state=0)
        ours = median_seconds(lambda model=model: model.fit(X), REPEATS)
        what = f"{n_rows:,} x {N_FEATURES}: ConsensusClustering({k!r}) against KMeans({N_GROUPS}, n_init=10)"
        yield share(what, ours, other, 1.0)
        nmi, of_single = (qt.evaluate(labels, group).nmi_max for labels in (model.labels_, single.labels_))
        yield Result(f"{what}, NMI", nmi, of_single, "", nmi / of_single, "-", True)


def labeling() -> Iterator[Result]:
    """Labels of all rows by 20 members: one pass, 20 times `predict`, and the bare float32 matrix product in it.

    All as they come, with their own threads and by the clock. Rows are float64, as tables mostly are, and float32,
    which scikit-learn labels faster and we do not.
    """
    for n_features, kind in product(LABELLED_FEATURES, (np.float64, np.float32)):
        X = np.ascontiguousarray(gaussians(LABELLED_ROWS)[0][:, :n_features], dtype=kind)
        random = np.random.default_rng(1)
        models = [
            KMeans(int(random.integers(2, 101)), init="random", n_init=1, max_iter=20, random_state=j).fit(X[:10_000])
            for j in range(N_MEMBERS)
        ]
        centers = np.concatenate([model.cluster_centers_ for model in models]).T
        yield from _labeling(X, models, np.ascontiguousarray(centers, dtype=np.float32))


def _labeling(X: np.ndarray, models: list[KMeans], centers: np.ndarray) -> Iterator[Result]:
    crew, single = Crew(tuple(models)), X.astype(np.float32)

    def bare_product() -> None:
        for start in range(0, len(X), 4096):
            single[start : start + 4096] @ centers

    ours, predict, bare = (
        median_seconds(task, 9)
        for task in (lambda: crew.label(X), lambda: [model.predict(X) for model in models], bare_product)
    )
    what = f"{len(X):,} x {X.shape[1]} {X.dtype} labeled by {N_MEMBERS} members ({centers.shape[1]} centers)"
    yield faster(f"{what}: one pass against {N_MEMBERS} times predict", ours, predict, 5)
    yield share(f"{what}: one pass beside the bare float32 product", ours, bare, 3.0)


def million() -> Callable[[], object]:
    """Return the task whose memory is measured."""
    X = gaussians(MEMORY_ROWS)[0]
    qt.ConsensusClustering(N_GROUPS, random_state=0, fit_rows=2000).fit(X[:5000])
    return lambda: qt.ConsensusClustering(N_GROUPS, random_state=0).fit(X)


def memory() -> Iterator[Result]:
    """Memory of a million rows beyond the features, with them, as a multiple of the features."""
    features = MEMORY_ROWS * N_FEATURES * 8
    peak = peak_memory("benchmarks.features", "million") + features
    yield share(
        f"{MEMORY_ROWS:,} x {N_FEATURES}: peak memory against the features", peak / 1e6, features / 1e6, 1.5, "MB"
    )
