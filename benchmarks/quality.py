"""Mean scores of every method on the public pools at the true number of classes, beside those of a prototype.

Run `python -m benchmarks.quality`: one line per draw is kept in .cache/quality.csv, so that it goes on where it was
stopped; the table of all lines so far is printed at the end. Draws are of 10 members, scores max-normalised NMI.
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import TextIO

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

import quorate as qt
from benchmarks.data import SHARED

STORE = Path(__file__).resolve().parents[1] / ".cache" / "quality.csv"
N_MEMBERS, N_DRAWS = 10, 10
TOLERANCE = 0.01
# Max-normalised NMI over the 15 pools, M = 10, 10 draws.
PROTOTYPE = {
    "lwea": 0.5543,
    "mixture": 0.5547,
    "cumulative-voting": 0.5518,
    "lwgp": 0.5497,
    "kcc": 0.5443,
    "lce": 0.5398,
    "ecpcs-mc": 0.5402,
    "pta": 0.5399,
    "ptgp": 0.5390,
    "mcla": 0.5348,
    "gp-mgla": 0.5308,
    "hbgf": 0.5274,
    "wct": 0.5237,
    "weac": 0.5223,
    "ecpcs-hc": 0.5187,
    "eac": 0.5070,
    "cspa": 0.4861,
    "hard-voting": 0.4855,
    "best-member": 0.4325,
    "median": 0.4280,
    "sec": 0.5180,  # from the start of LWEA, 12 pools
}
FREE = ("best-member", "median")
SLOW = ("pta", "ptgp")  # not on the two largest pools
LARGE = ("lwea_USPS", "lwea_LR")


def median_of_any_k(labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """The median partition, whatever its number of clusters."""
    return qt.MedianPartition().fit_predict(labels)


def fitted_labels(name: str, ens: qt.Ensemble, k: int) -> np.ndarray:
    """Labels of a method at k clusters, or at its own number."""
    params = {"normalise": "max"} if name in ("gp-mgla", "weac") else {}
    return qt.consensus(ens, "auto" if name in FREE else k, method=name, **params).labels


def measure(path: Path, draw: int, done: set[tuple[str, str, int]], store: TextIO) -> None:
    """Score every method on one draw of a pool, but for what is done."""
    with np.load(path) as archive:
        labels, truth = archive["labels"], archive["truth"]
    columns = np.random.default_rng(draw).choice(labels.shape[1], N_MEMBERS, replace=False)
    ens = None
    for name in PROTOTYPE:
        if (path.stem, name, draw) in done or (name in SLOW and path.stem in LARGE):
            continue
        ens = ens or qt.Ensemble(labels[:, columns])
        found = fitted_labels(name, ens, len(np.unique(truth)))
        score = normalized_mutual_info_score(truth, found, average_method="max")
        csv.writer(store).writerow([path.stem, name, draw, f"{score:.6f}"])


def table(rows: list[list[str]]) -> None:
    """Print the mean over pools of the mean over draws, beside the prototype's."""
    scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for pool, name, _, score in rows:
        scores[name][pool].append(float(score))
    for name, expected in PROTOTYPE.items():
        pools = scores[name]
        mean = np.mean([np.mean(values) for values in pools.values()]) if pools else np.nan
        verdict = "holds" if abs(mean - expected) <= TOLERANCE else "FAILS"
        n_draws = sum(map(len, pools.values()))
        print(f"{name:18} {mean:.4f} prototype {expected:.4f} difference {mean - expected:+.4f} {verdict} ({n_draws})")


def main() -> None:
    """Measure what is missing, then print the table."""
    warnings.simplefilter("ignore")
    paths = sorted(SHARED.glob("lwea_*.npz"), key=lambda path: path.stat().st_size)
    STORE.parent.mkdir(exist_ok=True)
    rows = list(csv.reader(STORE.open())) if STORE.exists() else []
    with STORE.open("a", buffering=1) as store:
        if "--table" not in sys.argv:
            done = {(pool, name, int(draw)) for pool, name, draw, _ in rows}
            for draw in range(N_DRAWS):
                for path in paths:
                    measure(path, draw, done, store)
    table(list(csv.reader(STORE.open())))


if __name__ == "__main__":
    main()
