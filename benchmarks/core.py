"""Patterns, WEAC and GP-MGLA compared with the plain dense computation and with `numpy.unique`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator

import fastcluster
import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import squareform

import quorate as qt
from benchmarks.data import letters, mixture
from benchmarks.measure import Result, cost_of, faster, median_seconds, peak_memory, run_parts, seconds, share

GIGABYTE = 1e9


def dense_heights(labels: np.ndarray, weights: np.ndarray, link: str) -> np.ndarray:
    """Return merge heights of the plain computation: the n x n co-association, then fastcluster."""
    distance = np.ones((len(labels), len(labels)))
    for column, weight in zip(labels.T, weights, strict=True):
        distance -= weight * (column[:, None] == column[None, :])
    np.fill_diagonal(distance, 0.0)
    condensed = squareform(np.maximum(distance, 0.0), checks=False)
    return fastcluster.linkage(condensed, link, preserve_input=False)[:, 2]


def merge_shortfall(tree: qt.Dendrogram, weights: np.ndarray) -> float:
    """Return the largest difference of a merge of an average-link tree to the best possible one at that step.

    The merges are replayed on the dense matrix of patterns. Ties can be merged in any order and lead to different
    heights, so correct trees can differ; but every merge of a correct tree is a best one.
    """
    patterns, sizes = tree.ensemble.patterns[tree.leaf_pattern], tree.ensemble.counts[tree.leaf_pattern].astype(float)
    similarity = sum(w * (column[:, None] == column[None, :]) for w, column in zip(weights, patterns.T, strict=True))
    np.fill_diagonal(similarity, -1.0)
    index = list(range(len(sizes)))  # of each node in the matrix
    best = similarity.max(axis=1)
    worst = 0.0
    for (a, b), height in zip(tree.merges, tree.heights, strict=True):
        i, j = index[a], index[b]
        worst = max(worst, best.max() - similarity[i, j], abs(1 - height - similarity[i, j]))
        joined = (sizes[i] * similarity[i] + sizes[j] * similarity[j]) / (sizes[i] + sizes[j])
        joined[[i, j]] = -1.0
        joined[similarity[i] < 0] = -1.0
        touched = (best == similarity[i]) | (best == similarity[j])
        similarity[i] = similarity[:, i] = joined
        similarity[j] = similarity[:, j] = -1.0
        sizes[i] += sizes[j]
        index.append(i)
        touched[i] = True
        best = np.where(touched, -1.0, np.maximum(best, joined))
        best[touched] = similarity[touched].max(axis=1)
        best[j] = -1.0
    return float(worst)


def sparse_letters_fit() -> Callable[[], object]:
    """Return the WEAC fit whose memory is measured, with compiled kernels."""
    labels = letters(5)
    qt.WEAC(n_clusters=26).fit(labels[:500])
    return lambda: qt.WEAC(n_clusters=26).fit(labels)


def dense_letters_fit() -> Callable[[], object]:
    """Return the dense computation whose memory is measured."""
    labels = letters(5)
    weights = qt.member_weights(labels)
    return lambda: dense_heights(labels, weights, "average")


def dense_complete_fit() -> Callable[[], object]:
    """Return the dense complete link on Letters."""
    labels = letters(5)
    weights = qt.member_weights(labels)
    return lambda: dense_heights(labels, weights, "complete")


def ensembles_of_five() -> Iterator[np.ndarray]:
    """Yield sets of five members of Letters: six in a row, those with most clusters and those with fewest."""
    pool = letters(100)
    by_clusters = np.argsort([len(np.unique(column)) for column in pool.T], kind="stable")
    yield from np.arange(30).reshape(6, 5)
    yield from (by_clusters[:5], by_clusters[-5:])


def million_weac_fit() -> Callable[[], object]:
    """Return the WEAC fit of a million rows whose memory is measured, with compiled kernels."""
    labels = mixture(1_000_000, 10)
    qt.WEAC(n_clusters=30).fit(labels[:500])
    return lambda: qt.WEAC(n_clusters=30).fit(labels)


def million_single_fit() -> Callable[[], object]:
    """Return the single-link fit of a million rows whose memory is measured, with compiled kernels."""
    labels = mixture(1_000_000, 5)
    qt.WEAC(n_clusters=30, linkage="single").fit(labels[:500])
    return lambda: qt.WEAC(n_clusters=30, linkage="single").fit(labels)


def million_rows() -> Iterator[Result]:
    """Compare with `numpy.unique` on 1,000,000 rows and 10 members."""
    labels = mixture(1_000_000, 10)
    unique = median_seconds(lambda: np.unique(labels, axis=0, return_inverse=True, return_counts=True), 3)
    patterns = median_seconds(lambda: qt.Ensemble(labels), 7)
    yield faster("patterns, 1,000,000 x 10, against numpy.unique(axis=0)", patterns, unique, 20)
    gp_mgla = median_seconds(lambda: qt.GPMGLA(n_clusters=30).fit(labels), 5)
    yield share("GP-MGLA k=30, 1,000,000 x 10, against numpy.unique(axis=0)", gp_mgla, unique, 0.3)
    weac = median_seconds(lambda: qt.WEAC(n_clusters=30).fit(labels), 3)
    yield share("WEAC average, 1,000,000 x 10, against numpy.unique(axis=0)", weac, unique, 3)
    here = "benchmarks.core"
    average, single = peak_memory(here, "million_weac_fit"), peak_memory(here, "million_single_fit")
    yield share("WEAC average, 1,000,000 x 10, memory against 1 GB", average / GIGABYTE, 1.0, 1, "GB")
    yield share("WEAC single, 1,000,000 x 5, memory against 1 GB", single / GIGABYTE, 1.0, 1, "GB")


def twenty_thousand_rows() -> Iterator[Result]:
    """Compare with the dense computation on 20,000 rows and 5 members."""
    here, labels = "benchmarks.core", letters(5)
    dense = cost_of(here, "dense_letters_fit")
    weac = median_seconds(lambda: qt.WEAC(n_clusters=26).fit(labels))
    yield faster("WEAC average, Letters x 5, against dense average link", weac, dense.seconds, 300)
    memory = peak_memory(here, "sparse_letters_fit")
    yield faster("WEAC average, Letters x 5, memory against dense", memory / GIGABYTE, dense.bytes / GIGABYTE, 20, "GB")
    tree = qt.WEAC(n_clusters=26).fit(labels).dendrogram_
    shortfall = merge_shortfall(tree, qt.member_weights(labels))
    yield share("WEAC average, Letters x 5, largest difference of a merge to the best one", shortfall, 1.0, 1e-9, "")
    # The dense time depends on the rows alone, so that one measurement serves all ensembles of five members.
    times = {}
    for members in ensembles_of_five():
        chosen = np.ascontiguousarray(letters(100)[:, members])
        times[qt.Ensemble(chosen).n_clusters] = median_seconds(lambda rows=chosen: qt.GPMGLA(n_clusters=26).fit(rows))
    for kind, choose in (("slowest", max), ("fastest", min)):
        n_clusters = choose(times, key=times.__getitem__)
        what = f"GP-MGLA k=26, Letters x 5, {kind} of {len(times)} ensembles ({n_clusters} clusters), against dense"
        yield faster(f"{what} average link", times[n_clusters], dense.seconds, 100)
    complete = cost_of(here, "dense_complete_fit").seconds
    ours = median_seconds(lambda: qt.WEAC(n_clusters=26, linkage="complete").fit(labels))
    yield faster("WEAC complete, Letters x 5, against dense complete link", ours, complete, 50)


def many_clusters() -> Iterator[Result]:
    """Compare GP-MGLA on 100 members with one dense eigendecomposition of its size."""
    labels = letters(100)
    n_clusters = qt.Ensemble(labels).n_clusters
    ours = median_seconds(lambda: qt.GPMGLA(n_clusters=26).fit(labels), 3)
    matrix = np.random.default_rng(0).standard_normal((n_clusters, n_clusters))
    matrix += matrix.T
    dense = seconds(lambda: eigh(matrix, subset_by_index=[n_clusters - 26, n_clusters - 1]))
    yield share(f"GP-MGLA k=26, Letters x 100 ({n_clusters:,} clusters), against scipy.linalg.eigh", ours, dense, 0.2)


def growth() -> Iterator[Result]:
    """Measure how time grows from 100,000 to 3,000,000 rows."""
    sizes = [100_000, 500_000, 3_000_000]
    labels = mixture(sizes[-1], 10)
    tasks: dict[str, Callable[[np.ndarray], object]] = {
        "patterns": qt.Ensemble,
        "GP-MGLA k=30": lambda rows: qt.GPMGLA(n_clusters=30).fit(rows),
    }
    for name, task in tasks.items():
        times = [median_seconds(lambda n=n, task=task: task(labels[:n]), 3) for n in sizes]
        exponent = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
        yield share(f"exponent of growth, {name}, 100,000 to 3,000,000 rows", exponent, 1.0, 1.1, "")


_IMPORT = """
import time, numpy, scipy.sparse, sklearn.base
start = time.perf_counter()
import quorate
quorate.Ensemble, quorate.WEAC, quorate.GPMGLA, quorate.consensus
print(time.perf_counter() - start)
"""
_COMPILE = """
import time, numba, numpy, quorate as qt, sklearn.metrics
labels = numpy.random.default_rng(0).integers(0, 4, (500, 4))
start = time.perf_counter()
for link in ("average", "complete", "single"):
    qt.WEAC(n_clusters=3, linkage=link).fit(labels)
qt.GPMGLA(n_clusters=3).fit(labels)
print(time.perf_counter() - start)
"""


def start_up() -> Iterator[Result]:
    """Measure import and first compilation in fresh processes."""
    importing = sorted(float(_run(_IMPORT)) for _ in range(5))[2]
    yield share("seconds import quorate and its core names add", importing, 1.0, 0.5)
    with tempfile.TemporaryDirectory() as empty:
        cold, warm = (float(_run(_COMPILE, NUMBA_CACHE_DIR=empty)) for _ in range(2))
    yield share("seconds to compile all kernels of the core, once", cold, 1.0, 30)
    yield share("seconds of the same work with kernels cached", warm, 1.0, 5)


def _run(code: str, **environment: str) -> str:
    import os

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return done.stdout


def run() -> Iterator[Result]:
    """Yield all results."""
    return run_parts(start_up, twenty_thousand_rows, million_rows, many_clusters, growth)
