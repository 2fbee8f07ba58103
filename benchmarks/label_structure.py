"""Structure from labels: planted and random tables, clouds and mixtures, by verdict and by number of clusters.

`python -m benchmarks.label_structure [SEED]` keeps finished tables in .cache/structure. The limits of the verdicts were
chosen on similar tables of a prototype; nothing was chosen on seeds from 5000 on.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

import quorate as qt
from benchmarks.measure import Result, share
from benchmarks.mixtures import draw_mixture
from benchmarks.structure import NULLS
from quorate._runtime.checkpoints import Store
from quorate._utils.array_types import Floats, Ints
from quorate.benchmarking.comparison_tables import markdown_table

FOLDER = Path(".cache/structure")
SEED = 5000
TABLES = 200
VERDICTS = ("clear", "weak", "none", "unknown")
CLOUDS = ("Gaussian", "correlated", "t (3 to 6 degrees)", "uniform")


def planted(random: np.random.Generator) -> tuple[list[Ints], int]:
    """Return 5 to 20 members that are wrong in 3 to 20 % of the rows of 2 to 32 clusters, and that number."""
    k = int(random.integers(2, 33))
    n = int(np.exp(random.uniform(np.log(max(200, 20 * k)), np.log(3000))))
    truth = random.choice(k, n, p=0.5 / k + 0.5 * random.dirichlet(np.full(k, 8.0)))
    noise, others = random.uniform(0.03, 0.2), random.random() < 0.5

    def wrong() -> Ints:
        return (truth + random.integers(1, k, n)) % k if others else random.integers(0, k, n)

    return [np.where(random.random(n) < noise, wrong(), truth) for _ in range(random.integers(5, 21))], k


def random_labels(random: np.random.Generator) -> tuple[list[Ints], None]:
    """Return 4 to 20 independent random members."""
    n, k = int(np.exp(random.uniform(np.log(100), np.log(3000)))), int(random.integers(2, 33))
    ks = [k if random.random() < 0.5 else int(random.integers(2, 33)) for _ in range(random.integers(4, 21))]
    return [random.integers(0, k, n) for k in ks], None


def _kmeans(X: Floats, random: np.random.Generator, k: int | None) -> list[Ints]:
    """Return 6 to 20 k-means members with k clusters, or with 2 to 2 sqrt(n) each."""
    most = int(2 * np.sqrt(len(X)))
    ks = [k or int(random.integers(2, most + 1)) for _ in range(random.integers(6, 21))]
    return [KMeans(k, n_init=1, random_state=int(random.integers(2**31))).fit_predict(X) for k in ks]


def cloud(random: np.random.Generator) -> tuple[list[Ints], None]:
    """Return k-means members with random numbers of clusters of a cloud without clusters."""
    kind, n, d = str(random.choice(CLOUDS)), int(random.integers(150, 800)), int(random.integers(2, 15))
    return _kmeans(NULLS[kind](random, n, d), random, None), None


def same_cuts(random: np.random.Generator) -> tuple[list[Ints], None]:
    """Return k-means members with the same 2 to 8 clusters of a cloud without clusters, which labels cannot see."""
    kind, n, d = str(random.choice(CLOUDS)), int(random.integers(150, 800)), int(random.integers(2, 15))
    return _kmeans(NULLS[kind](random, n, d), random, int(random.integers(2, 9))), None


def mixture(random: np.random.Generator) -> tuple[list[Ints], int]:
    """Return k-means members of 2 to 12 Gaussians, with random numbers of clusters or the true one."""
    k = int(random.integers(2, 13))
    X, classes = draw_mixture(random, k, int(random.integers(200, 900)))
    k = len(np.unique(classes))
    return _kmeans(X, random, k if random.random() < 0.5 else None), k


GROUPS = {
    "planted, 3 to 20 % wrong": planted,
    "random labels": random_labels,
    "mixtures, k-means members": mixture,
    "no clusters, k-means members of random k": cloud,
    "no clusters, k-means members of the same k": same_cuts,
}


def measure(members: list[Ints], k: int | None) -> dict[str, object]:
    """Return the verdict at the automatic and at the true number of clusters."""
    ens = qt.Ensemble(members)
    found = qt.label_structure(ens)
    record = {"verdict": found.verdict, "k": found.n_clusters, "stability": found.stability, "members": len(members)}
    return record if k is None else {**record, "true k": k, "at true k": qt.label_structure(ens, k).verdict}


def run(seed: int = SEED) -> list[Result]:
    """Measure what is missing, print the tables, and return whether the bars are reached."""
    about = {"task": "structure of labels", "version": 1, "seed": seed}
    with warnings.catch_warnings(), Store(FOLDER / f"labels_{seed}.sqlite", about) as store:
        warnings.simplefilter("ignore")
        for number in range(TABLES):
            for i, (group, make) in enumerate(GROUPS.items()):
                if f"{group}/{number}" not in store:
                    store.add(f"{group}/{number}", measure(*make(np.random.default_rng([seed, number, i]))))
        pieces = dict(store)
    lines = []
    for group in GROUPS:
        found = [piece for key, piece in pieces.items() if key.startswith(f"{group}/")]
        for name in ("verdict", "at true k"):
            if name in found[0]:
                rates = [np.mean([piece[name] == verdict for piece in found]) for verdict in VERDICTS]
                k = "automatic k" if name == "verdict" else "true k"
                lines.append([f"{group}: {len(found)}", k, *(f"{rate:.3f}" for rate in rates)])
    print(markdown_table(["tables", "checked at", *VERDICTS], lines))
    of_planted = [piece for key, piece in pieces.items() if key.startswith("planted")]
    lines = []
    for low, high in ((2, 4), (5, 8), (9, 16), (17, 32)):
        found = [piece["verdict"] for piece in of_planted if low <= piece["true k"] <= high]
        lines.append([f"{low} to {high}: {len(found)}", *(f"{np.mean([v == w for v in found]):.3f}" for w in VERDICTS)])
    print(markdown_table(["planted clusters", *VERDICTS], lines))
    clear, none = (float(np.mean([piece["verdict"] == v for piece in of_planted])) for v in ("clear", "none"))
    false = float(np.mean([piece["verdict"] == "clear" for key, piece in pieces.items() if key.startswith("random")]))
    return [
        Result("labels, planted: clear", clear, 1.0, "", clear, ">= 0.9", clear >= 0.9),
        share("labels, planted: no evidence", none, 1.0, 0.0, ""),
        share("labels, random: clear", false, 1.0, 0.05, ""),
    ]


if __name__ == "__main__":
    run(*map(int, sys.argv[1:2]))
