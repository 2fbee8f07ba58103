"""Initializations of k-means in the embeddings of graph methods, compared with ten random ones, on public pools.

    python -m benchmarks starts

Finished draws are stored in benchmarks/results/starts.sqlite; run it again to continue after an interruption.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import quorate as qt
from benchmarks.data import SHARED
from benchmarks.measure import RESULTS, Result, share
from quorate._runtime.checkpoints import Store
from quorate.numerics.transfer_cut import TransferCut

N_MEMBERS = 10
DRAWS = 8
STARTS = {"gp-mgla": ("ward", "heaviest", "k-means++"), "hbgf": ("ward", "heaviest", "random")}
"""The last of each is what the others are compared with: the best of ten random starts."""
MADE = {"gp-mgla": qt.GPMGLA, "hbgf": qt.HBGF}

Row = dict[str, dict[str, list[float]]]


def draws() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, labels and classes of draws of members from every public pool that has more than enough."""
    for path in sorted(SHARED.glob("*.npz")):
        with np.load(path) as archive:
            labels, classes = archive["labels"], archive["truth"].ravel()
        random = np.random.default_rng(0)
        n_draws = DRAWS if labels.shape[1] > N_MEMBERS else 1
        for draw in range(n_draws):
            members = np.sort(random.permutation(labels.shape[1])[:N_MEMBERS])
            yield f"{path.stem} {draw}", labels[:, members], classes


def measure(labels: np.ndarray, classes: np.ndarray) -> Row:
    """Return NMI, ARI and seconds of each start of each method, at the number of classes."""
    ens, k = qt.Ensemble(labels), len(np.unique(classes))
    return {
        name: {start: _measure(MADE[name](k).fit(ens).solution_.cuts, start, k, classes) for start in starts}
        for name, starts in STARTS.items()
    }


def _measure(fitted: TransferCut, start: str, k: int, classes: np.ndarray) -> list[float]:
    """Return NMI, ARI and the median seconds of three cuts; the copy shares the eigenvectors, so none are computed."""
    cuts = replace(fitted, init=start, random_state=0)
    times = []
    for _ in range(3):
        began = time.perf_counter()
        labels = cuts.cut(k)
        times.append(time.perf_counter() - began)
    scores = qt.evaluate(labels[cuts.ensemble.row_pattern], classes)
    return [scores.nmi_sqrt, scores.ari, float(np.median(times))]


def run() -> list[Result]:
    """Measure what is missing, print the table and return whether the bars are reached."""
    warnings.simplefilter("ignore", qt.QuorateWarning)
    with Store(RESULTS / "starts.sqlite", {"task": "starts", "members": N_MEMBERS, "version": 1}) as store:
        for name, labels, classes in draws():
            if name not in store:
                store.add(name, measure(labels, classes))
        rows: list[Row] = [store[name] for name in store]
    results = []
    print(f"{len(rows)} draws of {N_MEMBERS} members\n")
    print("| method | start | NMI | ARI | NMI difference | ARI difference | time |\n|---|---|---:|---:|---:|---:|---:|")
    for name, starts in STARTS.items():
        values = {start: np.array([row[name][start] for row in rows]) for start in starts}
        other = values[starts[-1]]
        for start in starts:
            gain = values[start] - other
            error = gain.std(axis=0, ddof=1) / np.sqrt(len(rows))
            ratio = float(np.median(values[start][:, 2] / other[:, 2]))
            print(
                f"| {name} | {start} | {values[start][:, 0].mean():.4f} | {values[start][:, 1].mean():.4f} "
                f"| {gain[:, 0].mean():+.4f} ± {error[0]:.4f} | {gain[:, 1].mean():+.4f} ± {error[1]:.4f} "
                f"| {ratio:.2f} |"
            )
            if start == "ward":
                loss = -float(gain[:, 0].mean())
                results.append(share(f"{name}: NMI lost by ward against {starts[-1]} x 10", loss, 1.0, 0.002, "NMI"))
                results.append(share(f"{name}: time of ward against {starts[-1]} x 10", ratio, 1.0, 0.3, "s"))
    return results
