"""Structure in features: false alarms by kind of column, power for small and close groups, false splits, and cost.

`python -m benchmarks.structure [SEED]` keeps finished tables in .cache/structure and prints the figures of all. Each
table is tested with the consensus of 20 k-means members (`qt.structure(X, members)`), with the members of the default
(`ConsensusClustering().fit(X).structure_`), and with one k-means clustering (`qt.structure(X, labels)`, every node of
its tree). An alarm is p < 0.05, a false split any node that is called separated. No setting was chosen on seeds from
5000 on.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

import quorate as qt
from benchmarks.measure import Result, share
from quorate._runtime.checkpoints import Store
from quorate._utils.array_types import Floats, Ints
from quorate.benchmarking.comparison_tables import markdown_table

FOLDER = Path(".cache/structure")
SEED = 5000
TABLES = 200
N_MEMBERS = 20
LEVEL = 0.05
LARGE = (1_000_000, 50, 12)
"""Rows, columns and clusters of the table whose cost is measured."""


def _likert(random: np.random.Generator, n: int, d: int) -> Floats:
    levels = int(random.choice([4, 5, 7]))
    falls = np.exp(-np.abs(np.arange(levels) - random.integers(0, levels, (d, 1))) * random.uniform(0.3, 1.5, (d, 1)))
    return np.stack([random.choice(levels, n, p=p / p.sum()) for p in falls], axis=1).astype(np.float64)


def _counts(random: np.random.Generator, n: int, d: int) -> Floats:
    mean = np.exp(random.uniform(np.log(0.3), np.log(10), d))
    poisson = random.random() < 0.5
    return (random.poisson(mean, (n, d)) if poisson else random.negative_binomial(2, 2 / (2 + mean), (n, d))) * 1.0


NULLS: dict[str, Callable[[np.random.Generator, int, int], Floats]] = {
    "Gaussian": lambda random, n, d: random.normal(size=(n, d)),
    "correlated": lambda random, n, d: random.normal(size=(n, d)) @ random.normal(size=(d, d)),
    "uniform": lambda random, n, d: random.random((n, d)) * random.uniform(0.3, 3, d),
    "t (3 to 6 degrees)": lambda random, n, d: random.standard_t(int(random.integers(3, 7)), size=(n, d)),
    "Laplace": lambda random, n, d: random.laplace(size=(n, d)),
    "lognormal": lambda random, n, d: np.exp(random.normal(size=(n, d)) * random.uniform(0.3, 1.0)),
    "counts": _counts,
    "Likert": _likert,
    "binary": lambda random, n, d: (random.random((n, d)) < random.uniform(0.05, 0.5, d)) * 1.0,
    "rounded Gaussian": lambda random, n, d: np.round(random.normal(size=(n, d)) * random.uniform(1, 3)),
}
"""Independent columns without clusters, but for one kind with correlated columns."""


def null_table(kind: str, number: int, seed: int) -> tuple[Floats, None]:
    """Return 200 to 5,000 rows without clusters in 2 to 50 columns."""
    random = np.random.default_rng([seed, number, list(NULLS).index(kind)])
    n, d = (int(np.exp(random.uniform(*np.log(limits)))) for limits in ((200, 5000), (2, 51)))
    X = NULLS[kind](random, n, d)
    return X[:, np.ptp(X, axis=0) > 0], None


def _gaussians(random: np.random.Generator, sizes: Ints, d: int, apart: float) -> tuple[Floats, Ints]:
    """Return Gaussian groups of these sizes, the nearest means `apart` standard deviations from each other."""
    means = random.normal(size=(len(sizes), d))
    distances = np.linalg.norm(means[:, None] - means[None], axis=2)
    distances[np.diag_indices(len(sizes))] = np.inf
    classes = np.repeat(np.arange(len(sizes)), sizes)
    return means[classes] * (apart / distances.min()) + random.normal(size=(len(classes), d)), classes


def small_group(number: int, seed: int) -> tuple[Floats, Ints]:
    """Return 2 to 4 groups 6 standard deviations apart; the smallest has 2 % of 1,000 to 5,000 rows."""
    random = np.random.default_rng([seed, number, 100])
    n, d = (int(np.exp(random.uniform(*np.log(limits)))) for limits in ((1000, 5000), (2, 51)))
    others, small = int(random.integers(1, 4)), round(0.02 * n)
    shares = random.dirichlet(np.full(others, 5.0))
    return _gaussians(random, np.append(random.multinomial(n - small - 60 * others, shares) + 60, small), d, 6.0)


def close_groups(number: int, seed: int) -> tuple[Floats, Ints]:
    """Return 2 to 10 groups of at least 50 rows, unequal in size, 4 standard deviations apart."""
    random = np.random.default_rng([seed, number, 101])
    k, d = int(random.integers(2, 11)), int(np.exp(random.uniform(np.log(2), np.log(51))))
    n = 50 * k + int(np.exp(random.uniform(np.log(300), np.log(4000))))
    return _gaussians(random, random.multinomial(n - 50 * k, random.dirichlet(np.full(k, 3.0))) + 50, d, 4.0)


def rare_groups(number: int, seed: int) -> tuple[Floats, Ints]:
    """Return groups of 564, 24 and 12 rows, 10 standard deviations apart."""
    random = np.random.default_rng([seed, number, 102])
    return _gaussians(random, np.array([564, 24, 12]), int(np.exp(random.uniform(np.log(2), np.log(51)))), 10.0)


PLANTED = {
    "2 % of the rows, 6 sd": small_group,
    "2 to 10 groups, 4 sd": close_groups,
    "564, 24 and 12 rows, 10 sd": rare_groups,
}


def _members(X: Floats, random: np.random.Generator) -> list[Ints]:
    """Return k-means clusterings into 2 to 2 sqrt(n) clusters, at most 100."""
    most = min(int(2 * np.sqrt(len(X))), 100)
    ks = random.integers(2, most + 1, N_MEMBERS)
    return [KMeans(int(k), n_init=1, random_state=int(random.integers(2**31))).fit_predict(X) for k in ks]


def measure(X: Floats, classes: Ints | None, seed: list[int]) -> dict[str, float]:
    """Return the p-value with the consensus of members, and what the tree of one clustering says."""
    random = np.random.default_rng(seed)
    k = int(random.integers(2, 9)) if classes is None else int(classes.max()) + 1
    labels = KMeans(k, n_init=3, random_state=int(random.integers(2**31))).fit_predict(X)
    found = {
        "members": qt.structure(X, qt.Ensemble(_members(X, random))).p_value,
        "default": qt.ConsensusClustering(random_state=0).fit(X).structure_.p_value,
    }
    for name, clustering in (("clustering", labels), ("classes", classes)):
        if clustering is not None:
            tested = qt.structure(X, clustering)
            found[name] = tested.p_value
            found[f"{name} splits"] = float(np.mean([node.verdict == "separated" for node in tested.nodes]))
    return found


def cost() -> float:
    """Return the seconds that the tree of a large table takes."""
    n, d, k = LARGE
    random = np.random.default_rng(0)
    classes = random.choice(k, n, p=random.dirichlet(np.full(k, 1.0)))
    X = (random.normal(size=(k, d))[classes] * 2 + random.normal(size=(n, d))).astype(np.float32)
    qt.structure(X[:1000], classes[:1000])  # compilation
    start = time.perf_counter()
    qt.structure(X, classes)
    return time.perf_counter() - start


def run(seed: int = SEED) -> list[Result]:
    """Measure what is missing, print the tables, and return whether the bars are reached."""
    about = {"task": "structure of features", "version": 2, "seed": seed}
    with warnings.catch_warnings(), Store(FOLDER / f"features_{seed}.sqlite", about) as store:
        warnings.simplefilter("ignore")
        for number in range(TABLES):
            for i, kind in enumerate([*NULLS, *PLANTED]):
                if f"{kind}/{number}" not in store:
                    X, classes = PLANTED[kind](number, seed) if kind in PLANTED else null_table(kind, number, seed)
                    store.add(f"{kind}/{number}", measure(X, classes, [seed, number, i, 1]))
        pieces = dict(store)
    return _report(pieces)


def _report(pieces: dict[str, dict[str, float]]) -> list[Result]:
    def rates(kind: str, name: str, limit: Callable[[float], bool]) -> float:
        return float(np.mean([limit(piece[name]) for key, piece in pieces.items() if key.startswith(f"{kind}/")]))

    results, lines = [], []
    for kind in NULLS:
        alarms = [rates(kind, name, lambda p: p < LEVEL) for name in ("members", "default", "clustering")]
        splits = rates(kind, "clustering splits", lambda found: found > 0)
        lines.append([kind, *(f"{rate:.3f}" for rate in (*alarms, splits))])
        results.append(share(f"structure, {kind}: false alarms", alarms[0], 1.0, LEVEL, ""))
        results.append(share(f"structure, {kind}: false alarms of the default", alarms[1], 1.0, LEVEL, ""))
        results.append(share(f"structure, {kind}: false splits", splits, 1.0, LEVEL, ""))
    print(markdown_table(["no clusters", "false alarms, members", "default", "one clustering", "false splits"], lines))
    lines = []
    for kind in PLANTED:
        power = [rates(kind, name, lambda p: p < LEVEL) for name in ("members", "default", "clustering", "classes")]
        nodes = rates(kind, "classes splits", lambda found: found)
        lines.append([kind, *(f"{rate:.3f}" for rate in (*power, nodes))])
        results += [
            Result(f"structure, {kind}: power, {name}", rate, 1.0, "", rate, ">= 0.95", rate >= 0.95)
            for name, rate in zip(("members", "default"), power, strict=False)
        ]
    header = ["clusters", "power, members", "default", "one clustering", "classes", "nodes of the classes"]
    print(markdown_table(header, lines))
    seconds = cost()
    print(f"{LARGE[0]:,} x {LARGE[1]}, {LARGE[2]} clusters: {seconds:.1f} s")
    return [*results, share("structure, a million rows: seconds", seconds, 1.0, 60.0)]


if __name__ == "__main__":
    run(*map(int, sys.argv[1:2]))
