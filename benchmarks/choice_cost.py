"""What the choice of k costs beside the fit, on a million rows.

Run `python -m benchmarks.choice_cost [ROWS [MEMBERS]]`. The fit is GP-MGLA at a given number of clusters; the choice,
and what the labels say about structure, are measured on the same ensemble, each without what others had found.
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
    centres = random.normal(0, 6, (20, 8))
    rows = (centres[random.integers(0, 20, n_rows)] + random.normal(0, 1.5, (n_rows, 8))).astype(np.float32)
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


def choice_cost(n_rows: int = 1_000_000, n_members: int = 10) -> dict[str, Any]:
    """Return the seconds of the fit, of the choice and of the structure of labels, medians of three, and ratios."""
    stored = pickle.dumps(qt.Ensemble(members_of_mixture(n_rows, n_members)))  # derived things are not pickled
    jobs: dict[str, Callable[[qt.Ensemble], Any]] = {
        "fit": lambda ens: qt.GPMGLA(20).fit(ens),
        "choice": qt.choose_k,
        "structure": qt.label_structure,
    }
    _seconds(jobs["fit"], stored), _seconds(jobs["choice"], stored)  # compiles
    found: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(_REPEATS):
        for name, job in jobs.items():
            found[name].append(_seconds(job, stored))
    seconds = {name: statistics.median(values) for name, values in found.items()}
    ens = pickle.loads(stored)
    return {
        "rows": n_rows,
        "members": n_members,
        "patterns": ens.n_patterns,
        "seconds": seconds,
        "ratio": seconds["choice"] / seconds["fit"],
        "structure_ratio": seconds["structure"] / seconds["fit"],
        "chosen": qt.choose_k(ens).n_clusters,
    }


def _seconds(job: Callable[[qt.Ensemble], Any], stored: bytes) -> float:
    ens = pickle.loads(stored)
    began = time.perf_counter()
    job(ens)
    return time.perf_counter() - began


def main() -> None:
    """Print the figures and the bar."""
    found = choice_cost(*map(int, sys.argv[1:3]))
    print(f"{found['rows']:,} rows x {found['members']} members, {found['patterns']:,} patterns")
    for name, seconds in found["seconds"].items():
        print(f"  {name:9} {seconds:7.2f} s  {seconds / found['seconds']['fit']:5.2f} times the fit")
    print(f"choice over fit {found['ratio']:.2f} (at most {BAR:g}): {'yes' if found['ratio'] <= BAR else 'NO'}")


if __name__ == "__main__":
    main()
