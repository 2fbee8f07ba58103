"""How many clusters: what `choose_k` says of mixtures, of small cases and of real pools, beside lifetimes of trees.

`python -m benchmarks.how_many [SEED]` keeps finished cases in .cache/trust/how_many and prints the table of all so far.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

import quorate as qt
from benchmarks.data import SHARED
from benchmarks.measure import Result, share
from benchmarks.mixtures import Case, small_case, wide_case
from quorate._runtime.checkpoints import Store
from quorate._utils.array_types import Floats
from quorate.analysis.choose_k import MOST_CLUSTERS
from quorate.benchmarking.comparison_tables import markdown_table
from quorate.benchmarking.public_pools import read_pool

FOLDER = Path(".cache/trust/how_many")
CASES = 100
SEED = 31415
N_MEMBERS = 20
BARS = {"mixtures": (0.44, 0.36, 0.55), "small cases": (0.65, 0.20, 0.80)}
"""Exact, mean |log(k / true k)|, and truth among the three candidates."""


def measure(labels: np.ndarray, true_k: int) -> dict[str, object]:
    """Return the true number of clusters, the candidates, and what the lifetimes of two trees say."""
    ens = qt.Ensemble(labels)
    choice = qt.choose_k(ens)
    trees = {"weac": qt.WEAC(2).fit(ens).dendrogram_, "lwea": qt.LWEA(2).fit(ens).dendrogram_}
    return {
        "true": true_k,
        "candidates": [candidate.n_clusters for candidate in choice.candidates],
        **{name: 2 + int(np.argmax(np.round(tree.lifetimes, 12))) for name, tree in trees.items()},
    }


def fill(store: Store, seed: int) -> None:
    """Measure what is not there yet."""
    for number in range(CASES):
        for group, make in (("mixtures", wide_case), ("small cases", small_case)):
            key = f"{group}/{number}"
            if key not in store:
                case: Case = make(number, seed, N_MEMBERS)
                store.add(key, measure(case.labels, len(np.unique(case.classes))))
    for path in sorted(SHARED.glob("lwea_*.npz"), key=lambda path: path.stat().st_size):
        if f"real pools/{path.stem}" not in store:
            pool = read_pool(path)
            store.add(f"real pools/{path.stem}", measure(pool.draw(N_MEMBERS, 0, seed), pool.n_classes))


def rates(found: np.ndarray, true_k: Floats) -> list[float]:
    """Return how often a number is right, within one, and its mean distance in logarithms."""
    away = np.abs(found - true_k)
    return [float(np.mean(away == 0)), float(np.mean(away <= 1)), float(np.mean(np.abs(np.log(found / true_k))))]


def run(seed: int = SEED) -> list[Result]:
    """Measure what is missing, print the table, and return whether the bars are reached."""
    about = {"task": "how many", "version": 2, "seed": seed}
    with warnings.catch_warnings(), Store(FOLDER / f"{seed}.sqlite", about) as store:
        warnings.simplefilter("ignore")
        fill(store, seed)
        pieces = dict(store)
    lines, results = [], []
    for group in ("mixtures", "small cases", "real pools"):
        some = [piece for key, piece in pieces.items() if key.startswith(group)]
        true_k = np.array([piece["true"] for piece in some], dtype=np.float64)
        chosen = np.array([piece["candidates"][0] for piece in some])
        top = float(np.mean([piece["true"] in piece["candidates"] for piece in some]))
        for name, found in {
            "choose_k": chosen,
            **{f"lifetime, {tree}": np.array([piece[tree] for piece in some]) for tree in ("weac", "lwea")},
        }.items():
            exact, near, log = rates(found, true_k)
            cells = [f"{group}: {len(some)}", name, f"{exact:.2f}", f"{near:.2f}", f"{log:.2f}"]
            lines.append([*cells, f"{top:.2f}" if name == "choose_k" else "", str(int(found.max()))])
        if group in BARS:
            exact, _, log = rates(chosen, true_k)
            for what, value, bar in zip(("exact", "log", "top three"), (exact, log, top), BARS[group], strict=True):
                results.append(_judged(f"k, {group}: {what}", value, bar, lower=what == "log"))
    print(markdown_table(["cases", "rule", "exact", "within 1", "mean log ratio", "top three", "largest"], lines))
    assert all(max(piece["candidates"]) <= MOST_CLUSTERS for piece in pieces.values())
    return results


def _judged(what: str, value: float, bar: float, *, lower: bool) -> Result:
    if lower:
        return share(what, value, 1.0, bar, "")
    return Result(what, value, 1.0, "", value, f">= {bar:g}", value >= bar)


if __name__ == "__main__":
    run(*map(int, sys.argv[1:2]))
