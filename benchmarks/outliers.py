"""Rows that no cluster fits: `outliers=True` against the noise of HDBSCAN, on simulated tables of four shapes.

`python -m benchmarks.outliers [SEED]` adds noise to 60 tables: 2 to 20 % of the rows, from a uniform box, a wide
Gaussian or the tails of a t-distribution with two degrees of freedom. The number of clusters is given. It prints
precision, recall and F1, and how many rows of the same tables without noise are called outliers. The rule was chosen on
other data.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.metrics import precision_recall_fscore_support

import quorate as qt
from benchmarks.measure import Result, share
from benchmarks.mixtures import draw_mixture
from benchmarks.null_tables import curved_groups
from quorate._utils.array_types import Floats
from quorate.benchmarking.comparison_tables import markdown_table
from quorate.features.outliers import LEAST_CONFIDENCE

SEED = 900
TABLES = 60
Random = np.random.Generator


def gaussians(random: Random, n: int) -> tuple[Floats, int]:
    """Return 2 to 8 Gaussians of equal spread in 2 to 10 columns."""
    k = int(random.integers(2, 9))
    return draw_mixture(random, k, n)[0], k


def uneven_density(random: Random, n: int) -> tuple[Floats, int]:
    """Return 2 to 5 Gaussians in the plane whose spread differs up to fivefold."""
    k = int(random.integers(2, 6))
    angle = 2 * np.pi * np.arange(k) / k
    spread, group = random.uniform(0.4, 2.0, k), random.integers(k, size=n)
    means = 4 * k * np.column_stack([np.cos(angle), np.sin(angle)])
    return means[group] + spread[group][:, None] * random.normal(size=(n, 2)), k


def skewed(random: Random, n: int) -> tuple[Floats, int]:
    """Return 2 to 5 groups of gamma-distributed columns, whose tails point the same way."""
    k, d = int(random.integers(2, 6)), int(random.integers(2, 6))
    means = 12.0 * random.permuted(np.arange(k)[:, None].repeat(d, axis=1), axis=0)
    return means[random.integers(k, size=n)] + random.gamma(2.0, size=(n, d)), k


SHAPES: dict[str, Callable[[Random, int], tuple[Floats, int]]] = {
    "Gaussians": gaussians,
    "uneven density": uneven_density,
    "skewed": skewed,
    "rings": curved_groups,
}
NOISE: dict[str, Callable[[Random, int, Floats], Floats]] = {
    "uniform": lambda random, n, X: random.uniform(X.min(axis=0), X.max(axis=0), size=(n, X.shape[1])),
    "wide Gaussian": lambda random, n, X: X.mean(axis=0) + 2 * X.std(axis=0) * random.normal(size=(n, X.shape[1])),
    "heavy tails": lambda random, n, X: (
        X[random.integers(len(X), size=n)] + 0.3 * X.std(axis=0) * random.standard_t(2, size=(n, X.shape[1]))
    ),
}


def rules(X: Floats, k: int) -> dict[str, np.ndarray]:
    """(n,) which rows each rule calls outliers, by its name."""
    model = qt.ConsensusClustering(k, outliers=True, random_state=0).fit(X)
    plain = qt.ConsensusClustering(k, random_state=0).fit(X)
    density = HDBSCAN(min_cluster_size=max(5, len(X) // 100), copy=True).fit_predict(X)
    return {
        "outliers=True": model.labels_ == -1,
        "noise of HDBSCAN": density == -1,
        "confidence below one half": plain.confidence_ < LEAST_CONFIDENCE,
    }


def run(seed: int = SEED) -> list[Result]:
    """Print the table of all rules, and return whether it is better than the noise of HDBSCAN."""
    found: dict[str, list[tuple[float, ...]]] = {}
    shapes, noises = list(SHAPES.items()), list(NOISE.items())
    for number in range(TABLES):
        random = np.random.default_rng([seed, number])
        shape, draw = shapes[number % len(shapes)]
        noise, add = noises[number // len(shapes) % len(noises)]
        clean, k = draw(random, int(np.exp(random.uniform(np.log(300), np.log(3000)))))
        of_noise = random.uniform(0.02, 0.2)
        stray = add(random, max(int(of_noise / (1 - of_noise) * len(clean)), 5), clean)
        is_noise = np.repeat([False, True], [len(clean), len(stray)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            flagged, of_clean = rules(np.concatenate([clean, stray]), k), rules(clean, k)
        line = []
        for rule, rows in flagged.items():
            scores = precision_recall_fscore_support(is_noise, rows, average="binary", zero_division=0)[:3]
            found.setdefault(rule, []).append((*map(float, scores), float(of_clean[rule].mean())))
            line.append(f"{rule} {scores[2]:.2f}")
        print(
            f"{number} {shape}, {noise} {of_noise:.0%} ({len(is_noise)} x {clean.shape[1]}): {', '.join(line)}",
            flush=True,
        )
    means = {rule: np.mean(scores, axis=0) for rule, scores in found.items()}
    for name, groups, step in (("shape", shapes, 1), ("noise", noises, len(shapes))):
        at = np.arange(TABLES) // step % len(groups)
        for i, (group, _) in enumerate(groups):
            f1 = ", ".join(
                f"{rule} {np.mean([row[2] for row in np.array(of)[at == i]]):.2f}" for rule, of in found.items()
            )
            print(f"{name} {group}: F1 {f1}")
    print(
        markdown_table(
            ["rule", "precision", "recall", "F1", "clean rows flagged"],
            [[rule, *(f"{value:.3f}" for value in values)] for rule, values in means.items()],
        )
    )
    (_, _, ours, clean), (_, _, other, clean_of_other) = means["outliers=True"], means["noise of HDBSCAN"]
    return [
        Result("outliers: F1 against HDBSCAN", ours, other, "", ours / other, ">= 1", ours >= other),
        share("outliers: rows of tables without noise, against HDBSCAN", clean, clean_of_other, 1.0, ""),
    ]


if __name__ == "__main__":
    for result in run(*map(int, sys.argv[1:2])):
        print(result)
