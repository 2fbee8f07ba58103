"""What the choice of k costs beside the fit, on a million rows.

Run `python -m benchmarks.choice_cost [ROWS [MEMBERS]]`. The fit is GP-MGLA at a given number of clusters, from the
label vectors or from an ensemble that is there already; the choice, and what the labels say about structure, are
measured on the same ensemble, each without what others had found. Time is that of the processor: it hardly depends on
what else the machine does, if NUMBA_NUM_THREADS and OMP_NUM_THREADS are 1.
"""

from __future__ import annotations

import pickle
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import quorate as qt

BAR = 2.0
"""The choice may cost so many times the fit."""
_REPEATS = 3


def members_of_mixture(n_rows: int, n_members: int, seed: int = 0) -> list[np.ndarray]:
    """Return clusterings of a mixture of twenty Gaussians in eight dimensions by k-means, 10 to 59 clusters each."""
    random = np.random.default_rng(seed)
    centers = random.normal(0, 6, (20, 8))
    rows = (centers[random.integers(0, 20, n_rows)] + random.normal(0, 1.5, (n_rows, 8))).astype(np.float32)
    members = []
    for _ in range(n_members):
        means = rows[random.integers(0, n_rows, int(random.integers(10, 60)))]
        for _ in range(2):
            labels = _nearest(rows, means)
            filled = np.bincount(labels, minlength=len(means)) > 0
            means = np.stack([rows[labels == i].mean(axis=0) for i in np.flatnonzero(filled)])
        members.append(_nearest(rows, means))
    return members


def _nearest(rows: np.ndarray, means: np.ndarray) -> np.ndarray:
    length = (means**2).sum(axis=1)
    parts = np.array_split(rows, max(len(rows) // 50_000, 1))
    return np.concatenate([np.argmin(length - 2 * part @ means.T, axis=1) for part in parts])


def scattered_members(n_rows: int, n_members: int, seed: int = 0) -> list[np.ndarray]:
    """Return clusterings that err in three rows of ten, each on its own: nearly every row has labels of its own."""
    random = np.random.default_rng(seed)
    classes = random.integers(0, 20, n_rows)
    wrong = (np.where(random.random(n_rows) < 0.3, random.integers(0, 40, n_rows), -1) for _ in range(n_members))
    return [np.where(other >= 0, other, classes) for other in wrong]


CASES = {"k-means": members_of_mixture, "scattered": scattered_members}


def choice_cost(case: str = "k-means", n_rows: int = 1_000_000, n_members: int = 10) -> dict[str, Any]:
    """Return the seconds of the fit, the choice and the structure of labels, medians of three, and their ratios."""
    labels = CASES[case](n_rows, n_members)
    stored = pickle.dumps(qt.Ensemble(labels))  # what is derived is not pickled
    ens = pickle.loads(stored)
    jobs: dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]] = {
        "fit": (qt.GPMGLA(20).fit, lambda: labels),
        "fit of an ensemble": (qt.GPMGLA(20).fit, lambda: pickle.loads(stored)),
        "choice": (qt.choose_k, lambda: pickle.loads(stored)),
        "structure": (qt.label_structure, lambda: pickle.loads(stored)),
    }
    found: dict[str, list[float]] = {name: [] for name in jobs}
    for repeat in range(_REPEATS + 1):  # the first compiles
        for name, (job, take) in jobs.items():
            given = take()
            began = time.process_time()
            job(given)
            if repeat:
                found[name].append(time.process_time() - began)
    seconds = {name: statistics.median(values) for name, values in found.items()}
    return {
        "case": case,
        "rows": n_rows,
        "members": n_members,
        "patterns": ens.n_patterns,
        "seconds": seconds,
        "ratio": seconds["choice"] / seconds["fit"],
        "ratio_of_ensemble": seconds["choice"] / seconds["fit of an ensemble"],
        "chosen": qt.choose_k(ens).n_clusters,
    }


def main() -> None:
    """Print the figures and the bar."""
    for case in CASES:
        found = choice_cost(case, *map(int, sys.argv[1:3]))
        print(f"{case}: {found['rows']:,} rows x {found['members']} members, {found['patterns']:,} patterns")
        for name, seconds in found["seconds"].items():
            print(f"  {name:18} {seconds:7.2f} s  {seconds / found['seconds']['fit']:5.2f} times the fit")
        print(f"choice over fit {found['ratio']:.2f} (at most {BAR:g}): {'yes' if found['ratio'] <= BAR else 'NO'}")


if __name__ == "__main__":
    main()
