"""Patterns, WEAC and GP-MGLA beside the plain dense way and beside `numpy.unique`."""

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
from benchmarks.measure import Result, faster, median_seconds, peak_memory, run_parts, seconds, share

GIGABYTE = 1e9


def dense_heights(labels: np.ndarray, weights: np.ndarray, link: str) -> np.ndarray:
    """Merge heights the plain way: the n x n co-association, then fastcluster."""
    distance = np.ones((len(labels), len(labels)))
    for column, weight in zip(labels.T, weights, strict=True):
        distance -= weight * (column[:, None] == column[None, :])
    np.fill_diagonal(distance, 0.0)
    condensed = squareform(np.maximum(distance, 0.0), checks=False)
    return fastcluster.linkage(condensed, link, preserve_input=False)[:, 2]


def shortfall(tree: qt.Dendrogram, weights: np.ndarray) -> float:
    """Return how far any merge of an average-link tree is from the best one possible when it was made.

    The merges are replayed on the dense matrix of patterns. Where similarities tie, the heights of average link depend
    on which of the equals is joined first, so two right trees can differ; no merge of a right one falls short.
    """
    patterns, sizes = tree.ensemble.patterns[tree.leaf_pattern], tree.ensemble.counts[tree.leaf_pattern].astype(float)
    similarity = sum(w * (column[:, None] == column[None, :]) for w, column in zip(weights, patterns.T, strict=True))
    np.fill_diagonal(similarity, -1.0)
    place = list(range(len(sizes)))  # of each node, in the matrix
    best = similarity.max(axis=1)
    worst = 0.0
    for (a, b), height in zip(tree.merges, tree.heights, strict=True):
        i, j = place[a], place[b]
        worst = max(worst, best.max() - similarity[i, j], abs(1 - height - similarity[i, j]))
        joined = (sizes[i] * similarity[i] + sizes[j] * similarity[j]) / (sizes[i] + sizes[j])
        joined[[i, j]] = -1.0
        joined[similarity[i] < 0] = -1.0
        touched = (best == similarity[i]) | (best == similarity[j])
        similarity[i] = similarity[:, i] = joined
        similarity[j] = similarity[:, j] = -1.0
        sizes[i] += sizes[j]
        place.append(i)
        touched[i] = True
        best = np.where(touched, -1.0, np.maximum(best, joined))
        best[touched] = similarity[touched].max(axis=1)
        best[j] = -1.0
    return float(worst)


def sparse_letters_fit() -> Callable[[], object]:
    """Return the WEAC fit whose memory is measured, its kernels warm."""
    labels = letters(5)
    qt.WEAC(n_clusters=26).fit(labels[:500])
    return lambda: qt.WEAC(n_clusters=26).fit(labels)


def dense_letters_fit() -> Callable[[], object]:
    """Return the dense competitor whose memory is measured."""
    labels = letters(5)
    weights = qt.member_weights(labels)
    return lambda: dense_heights(labels, weights, "average")


def million_weac_fit() -> Callable[[], object]:
    """Return the WEAC fit of a million rows whose memory is measured, its kernels warm."""
    labels = mixture(1_000_000, 10)
    qt.WEAC(n_clusters=30).fit(labels[:500])
    return lambda: qt.WEAC(n_clusters=30).fit(labels)


def million_single_fit() -> Callable[[], object]:
    """Return the single-link fit of a million rows whose memory is measured, its kernels warm."""
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
    """Compare with the dense way on 20,000 rows and 5 members."""
    labels = letters(5)
    weights = qt.member_weights(labels)
    found: list[np.ndarray] = []
    dense = seconds(lambda: found.append(dense_heights(labels, weights, "average")))
    weac = median_seconds(lambda: qt.WEAC(n_clusters=26).fit(labels))
    yield faster("WEAC average, Letters x 5, against dense average link", weac, dense, 300)
    tree = qt.WEAC(n_clusters=26).fit(labels).dendrogram_
    yield share("WEAC average, Letters x 5, most that any merge falls short", shortfall(tree, weights), 1.0, 1e-9, "")
    shuffled = dense_heights(np.random.default_rng(0).permutation(labels), weights, "average")
    difference = float(np.abs(tree.heights - found[0][-len(tree.heights) :]).max())
    own = float(np.abs(shuffled - found[0]).max())
    what = "WEAC average, Letters x 5, heights to fastcluster's, beside fastcluster's to its own with rows shuffled"
    yield Result(what, difference, own, "", difference / own, "reported: ties", True)
    gp_mgla = median_seconds(lambda: qt.GPMGLA(n_clusters=26).fit(labels))
    yield faster("GP-MGLA k=26, Letters x 5, against dense average link", gp_mgla, dense, 150)
    complete = seconds(lambda: dense_heights(labels, weights, "complete"))
    ours = median_seconds(lambda: qt.WEAC(n_clusters=26, linkage="complete").fit(labels))
    yield faster("WEAC complete, Letters x 5, against dense complete link", ours, complete, 50)
    here = "benchmarks.core"
    sparse, full = peak_memory(here, "sparse_letters_fit"), peak_memory(here, "dense_letters_fit")
    yield faster(
        "WEAC average, Letters x 5, memory against the dense way", sparse / GIGABYTE, full / GIGABYTE, 20, "GB"
    )


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
    """Measure how time grows from 100,000 to 10,000,000 rows."""
    sizes = [100_000, 1_000_000, 10_000_000]
    labels = mixture(sizes[-1], 10)
    tasks: dict[str, Callable[[np.ndarray], object]] = {
        "patterns": qt.Ensemble,
        "GP-MGLA k=30": lambda some: qt.GPMGLA(n_clusters=30).fit(some),
    }
    for name, task in tasks.items():
        times = [median_seconds(lambda n=n, task=task: task(labels[:n]), 3) for n in sizes]
        exponent = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
        yield share(f"exponent of growth, {name}, 100,000 to 10,000,000 rows", exponent, 1.0, 1.1, "")


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


def run() -> list[Result]:
    """Run everything, printing as it goes."""
    return run_parts(start_up, twenty_thousand_rows, million_rows, many_clusters, growth)
