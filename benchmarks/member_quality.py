"""Quality of members fitted on samples, and of spectral members: NMI with known classes.

`python -m benchmarks.member_quality spectral FILE` runs Pen Digits and Letters with spectral members, 20 seeds each;
`python -m benchmarks.member_quality sample FILE` runs the eight datasets with members fitted on all rows and a quarter.
Finished measurements are stored in FILE; an interrupted run continues.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import quorate as qt
from quorate._runtime.checkpoints import Store
from quorate.features.pool import scale_features

SEEDS = range(20)
METHODS = ("hbgf", "lwgp")
PUBLISHED = {"pen_digits": 0.853, "letters": 0.459}
"""NMI (max) of U-SENC: Huang, Wang, Wu, Lai, Kwoh 2020, Table 4."""


def spectral(store: Store) -> None:
    """U-SENC: 20 spectral members of 20 to 60 clusters and a bipartite cut, on the features as they are."""
    for seed in SEEDS:
        for name in PUBLISHED:
            if f"{name} {seed}" not in store:
                data = qt.datasets.load(name)
                model = qt.ConsensusClustering(
                    data.n_classes,
                    members="spectral",
                    method=METHODS[0],
                    fit_rows=None,
                    random_state=seed,
                    n_jobs=-1,
                ).fit(data.features)
                store.add(f"{name} {seed}", _scores(model.ensemble_, data))
        _print_spectral(store, seed + 1)


def _print_spectral(store: Store, runs: int) -> None:
    for name, known in PUBLISHED.items():
        for method in METHODS:
            found = [store[f"{name} {seed}"][method] for seed in range(runs)]
            score = f"{np.mean(found):.4f} +- {np.std(found):.4f}"
            print(f"{name}, {method}, {runs} runs: NMI (max) {score}, published {known}", flush=True)


def _scores(ensemble: qt.Ensemble, data: Any) -> dict[str, float]:
    return {
        method: qt.evaluate(qt.consensus(ensemble, data.n_classes, method).labels, data.classes).nmi_max
        for method in METHODS
    }


def sample(store: Store) -> None:
    """Members fitted on all rows and on a quarter of them, at the true number of clusters, unit variance."""
    for seed in SEEDS:
        for name in qt.datasets.NAMES:
            if f"{name} {seed}" not in store:
                data = qt.datasets.load(name)
                X = scale_features(data.features, "standard")
                scores = {}
                for what, fit_rows in (("all", None), ("quarter", len(X) // 4)):
                    model = qt.ConsensusClustering(data.n_classes, fit_rows=fit_rows, random_state=seed).fit(X)
                    scores[what] = qt.evaluate(model.labels_, data.classes).nmi_max
                store.add(f"{name} {seed}", scores)
    print("| dataset | all rows | a quarter | difference |\n|---|---:|---:|---:|")
    rows = {
        name: [float(np.mean([store[f"{name} {seed}"][what] for seed in SEEDS])) for what in ("all", "quarter")]
        for name in qt.datasets.NAMES
    }
    rows["mean"] = np.mean(list(rows.values()), axis=0).tolist()
    for name, (whole, part) in rows.items():
        print(f"| {name} | {whole:.3f} | {part:.3f} | {part - whole:+.3f} |")


if __name__ == "__main__":
    what, path = sys.argv[1:]
    with Store(path, {"kind": what, "version": 1}) as pieces:
        {"spectral": spectral, "sample": sample}[what](pieces)
