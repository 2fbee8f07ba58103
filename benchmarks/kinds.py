"""Members of different kinds against members of k-means: ordinary data, Gaussian mixtures, data sets of the paper.

`python -m benchmarks.kinds` prints the ARI with the true number of clusters for each data set, and a table of means.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

import quorate as qt
from benchmarks.measure import Result
from benchmarks.mixtures import draw_mixture
from benchmarks.ordinary import sets as ordinary_sets
from quorate.benchmarking.comparison_tables import markdown_table

N_MIXTURES = 24
DATASETS = ("iris", "wine", "seeds", "breast_cancer", "yeast", "image_segmentation", "pen_digits", "letters")
MOST_LOST = 0.01


def ordinary() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield the ten data sets of `benchmarks.ordinary`."""
    for name, (X, classes) in ordinary_sets().items():
        yield name, X, classes


def mixtures() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield 24 mixtures of 2 to 30 Gaussians."""
    for number in range(N_MIXTURES):
        random = np.random.default_rng([77, number])
        k = int(random.integers(2, 31))
        X, classes = draw_mixture(random, k, int(random.integers(max(300, 20 * k), 1500)))
        yield f"mixture {number}", X, classes


def datasets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield the eight data sets of the paper."""
    for name in DATASETS:
        data = qt.datasets.load(name)
        yield name, data.features, data.classes


def compare(name: str, X: np.ndarray, classes: np.ndarray) -> tuple[float, float]:
    """Return the ARI of diverse members and of k-means members at the true number of clusters."""
    k = len(np.unique(classes))
    labels = [qt.ConsensusClustering(k, members=one, random_state=0).fit(X).labels_ for one in ("diverse", "kmeans")]
    diverse, kmeans = (qt.evaluate(one, classes).ari for one in labels)
    print(f"{name} ({len(X)} x {X.shape[1]}, k = {k}): diverse {diverse:.3f}, k-means {kmeans:.3f}", flush=True)
    return diverse, kmeans


def run() -> list[Result]:
    """Print all figures, and return whether nothing is lost on average."""
    results, lines = [], []
    groups = {
        "ten ordinary data sets": ordinary,
        "24 Gaussian mixtures": mixtures,
        "8 data sets of the paper": datasets,
    }
    for what, cases in groups.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            diverse, kmeans = np.mean([compare(*case) for case in cases()], axis=0)
        held = diverse >= kmeans - MOST_LOST
        results.append(
            Result(f"{what}: ARI, diverse against k-means", diverse, kmeans, "", diverse / kmeans, ">= -0.01", held)
        )
        lines.append([what, f"{kmeans:.3f}", f"{diverse:.3f}", f"{diverse - kmeans:+.3f}"])
    print(markdown_table(["mean ARI, number of clusters given", "k-means", "diverse", "difference"], lines))
    return results


if __name__ == "__main__":
    for result in run():
        print(result)
