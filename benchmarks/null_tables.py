"""One cluster as an answer: tables without clusters of ten distributions, and tables with planted clusters.

`python -m benchmarks.null_tables [n]` draws n tables of each sort (200 by default) of 200 to 5,000 rows and 2 to 50
columns, and prints how often `ConsensusClustering()` answers with one cluster, and how often the planted number.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable

import numpy as np

import quorate as qt
from benchmarks.measure import Result

Random = np.random.Generator
NULLS: dict[str, Callable[[Random, int, int], np.ndarray]] = {
    "Gaussian": lambda random, n, d: random.normal(size=(n, d)),
    "correlated Gaussian": lambda random, n, d: random.normal(size=(n, d)) @ random.normal(size=(d, d)),
    "uniform": lambda random, n, d: random.uniform(size=(n, d)),
    "t, 4 degrees of freedom": lambda random, n, d: random.standard_t(4, size=(n, d)),
    "Laplace": lambda random, n, d: random.laplace(size=(n, d)),
    "lognormal": lambda random, n, d: random.lognormal(0, 0.6, size=(n, d)),
    "gamma": lambda random, n, d: random.gamma(3, size=(n, d)),
    "answers from 1 to 5": lambda random, n, d: random.integers(1, 6, size=(n, d)).astype(np.float64),
    "counts": lambda random, n, d: random.poisson(4, size=(n, d)).astype(np.float64),
    "rounded Gaussian": lambda random, n, d: np.round(random.normal(size=(n, d)), 1),
}
SHAPES = ("spheres", "ellipsoids", "uneven spread", "rings and moons")
APART = 4.0


def size(random: Random) -> tuple[int, int]:
    """Return a number of rows and of columns, both log-uniform."""
    n, d = np.exp(random.uniform(np.log([200, 2]), np.log([5000, 50])))
    return int(n), int(d)


def null_table(number: int) -> tuple[str, np.ndarray]:
    """Return a table without clusters; distributions take turns."""
    random = np.random.default_rng([11, number])
    name = list(NULLS)[number % len(NULLS)]
    return name, NULLS[name](random, *size(random))


def planted_table(number: int) -> tuple[str, np.ndarray, int]:
    """Return a table with 2 to 10 groups of uneven sizes, the nearest means 4 standard deviations apart."""
    random = np.random.default_rng([12, number])
    shape = SHAPES[number % len(SHAPES)]
    n, d = size(random)
    if shape == "rings and moons":
        return shape, *curved_groups(random, n)
    k = int(random.integers(2, min(10, n // 40) + 1))
    means = random.normal(size=(k, d))
    between = np.linalg.norm(means[:, None] - means, axis=2) + np.diag(np.full(k, np.inf))
    group = random.choice(k, n, p=0.5 / k + 0.5 * random.dirichlet(np.full(k, 5.0)))
    noise = random.normal(size=(n, d))
    if shape == "ellipsoids":
        noise *= random.uniform(0.3, 1.0, size=(k, d))[group]
    if shape == "uneven spread":
        noise *= random.uniform(0.4, 1.0, size=k)[group][:, None]
    return shape, means[group] * APART / between.min() + noise, k


def curved_groups(random: Random, n: int) -> tuple[np.ndarray, int]:
    """Return 2 to 4 rings or half rings in the plane, with a gap of 4 standard deviations of their width."""
    k = int(random.integers(2, 5))
    group, angle = random.integers(k, size=n), random.uniform(0, np.pi * random.integers(1, 3), size=n)
    radius = (APART + 2) * (group + 1) + random.normal(size=n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), k


def run(n_tables: int = 200) -> list[Result]:
    """Print the shares by distribution and shape, and return whether the bars are reached."""
    one, ones_planted, exact = Counter[str](), Counter[str](), Counter[str]()
    nulls, planted = Counter[str](), Counter[str]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(n_tables):
            name, X = null_table(number)
            found = qt.ConsensusClustering(random_state=0).fit(X).n_clusters_
            nulls[name] += 1
            one[name] += found == 1
            if found > 1:
                print(f"null table {number} ({name}, {X.shape[0]} x {X.shape[1]}): {found} clusters", flush=True)
            shape, X, k = planted_table(number)
            found = qt.ConsensusClustering(random_state=0).fit(X).n_clusters_
            planted[shape] += 1
            ones_planted[shape] += found == 1
            exact[shape] += found == k
            if found != k:
                line = f"planted table {number} ({shape}, {X.shape[0]} x {X.shape[1]})"
                print(f"{line}: {found} clusters instead of {k}", flush=True)
    for name in nulls:
        print(f"{name}: one cluster in {one[name]} of {nulls[name]}")
    for shape in planted:
        of = planted[shape]
        print(f"{shape}: one cluster in {ones_planted[shape]} of {of}, the planted number in {exact[shape]} of {of}")
    right, missed, share = one.total() / n_tables, ones_planted.total() / n_tables, exact.total() / n_tables
    return [
        Result("null tables answered with one cluster", right, 1.0, "", right, ">= 0.95", right >= 0.95),
        Result("planted tables answered with one cluster", missed, 1.0, "", missed, "<= 0.02", missed <= 0.02),
        Result("planted tables: number exact", share, 1.0, "", share, ">= 0.7", share >= 0.7),
    ]


if __name__ == "__main__":
    for result in run(int(sys.argv[1]) if len(sys.argv) > 1 else 200):
        print(result)
