"""Is the variation of information a better loss of the median partition than Binder's? Five public pools.

    python -m benchmarks.median

20 draws of 10 members from each pool: agreement with the known classes (ARI) and the number of clusters that the median
finds with each loss, and LWGP cut into the same number of clusters as the one with variation of information. Finished
draws are kept in .cache/median; run again to go on after an interruption.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

import quorate as qt
from benchmarks.data import SHARED
from quorate._runtime.checkpoints import Store

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "median"
POOLS = ("VS", "Semeion", "MF", "IS", "Caltech20")
DRAWS, N_MEMBERS = 20, 10


def measure(pool: str, draw: int) -> dict[str, Any]:
    """Return ARI and number of clusters of both losses, and ARI of LWGP at the same number, for one draw."""
    with np.load(SHARED / f"lwea_{pool}.npz") as archive:
        labels, classes = archive["labels"], archive["truth"].ravel()
    members = np.sort(np.random.default_rng(draw).permutation(labels.shape[1])[:N_MEMBERS])
    ens = qt.Ensemble(labels[:, members])
    vi, binder = (qt.MedianPartition(loss=loss).fit(ens) for loss in ("vi", "binder"))
    lwgp = qt.LWGP(n_clusters=vi.n_clusters_).fit(ens)
    return {
        **{
            name: qt.evaluate(fit.labels_, classes).ari
            for name, fit in (("vi", vi), ("binder", binder), ("lwgp", lwgp))
        },
        "k": [vi.n_clusters_, binder.n_clusters_],
    }


def report(results: dict[tuple[str, int], dict[str, Any]]) -> None:
    """Print a Markdown table: mean over draws of every pool, of the deciding and of the confirming half."""
    print("| pool | VI | Binder | LWGP, k of VI | k of VI | k of Binder | VI above Binder |")
    print("|---|---|---|---|---|---|---|")
    halves = {"all, draws 1 to 10": range(10), "all, draws 11 to 20": range(10, DRAWS)}
    for name, pools, draws in [
        *((pool, (pool,), range(DRAWS)) for pool in POOLS),
        *((half, POOLS, draws) for half, draws in halves.items()),
    ]:
        lines = [results[pool, draw] for pool in pools for draw in draws]
        mean = {key: np.mean([line[key] for line in lines]) for key in ("vi", "binder", "lwgp")}
        ks = np.mean([line["k"] for line in lines], axis=0)
        wins = sum(line["vi"] > line["binder"] for line in lines)
        print(
            f"| {name} | {mean['vi']:.3f} | {mean['binder']:.3f} | {mean['lwgp']:.3f} | {ks[0]:.0f} | {ks[1]:.0f} "
            f"| {wins} of {len(lines)} |"
        )


def main() -> None:
    """Measure what is not finished, and print the table."""
    warnings.simplefilter("ignore", qt.QuorateWarning)
    results = {}
    with Store(CACHE / "draws.sqlite", {"members": N_MEMBERS}) as store:
        for pool in POOLS:
            for draw in range(DRAWS):
                key = f"{pool} {draw}"
                if key not in store:
                    store.add(key, measure(pool, draw))
                results[pool, draw] = store[key]
    report(results)


if __name__ == "__main__":
    main()
