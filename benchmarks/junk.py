"""Trust beyond chance: random tables, and good members among junk.

`python -m benchmarks.junk` keeps finished tables in .cache/trust/junk.sqlite and prints the rates.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Literal

import numpy as np
from sklearn.metrics import adjusted_rand_score

import quorate as qt
from benchmarks.data import letters
from benchmarks.measure import Result, median_seconds, share
from quorate._runtime.checkpoints import Store

STORE = Path(".cache/trust/junk.sqlite")
CASES = 200
SEED = 16180
CLOSE = 0.02


def random_table(number: int) -> dict[str, bool]:
    """Return whether a table of 10 to 20 random members, of 2 to n / 3 clusters each, is called chance."""
    random = np.random.default_rng([SEED, number, 0])
    n = int(random.integers(150, 1001))
    ens = qt.Ensemble([random.integers(random.integers(2, n // 3 + 1), size=n) for _ in range(random.integers(10, 21))])
    member_trust = qt.ensemble_trust(ens)
    return {
        "called chance": member_trust.verdict == "no more than chance",
        "one trusted": bool(member_trust.agrees.any()),
    }


def good_among_junk(number: int) -> dict[str, float | bool]:
    """Return whether any of as many junk members is above a good one, and what junk costs the default.

    Good members have 3 to 8 groups, of which each moves a fifth of the rows at random, or joins or splits groups.
    """
    random = np.random.default_rng([SEED, number, 1])
    n, k, n_good = int(random.integers(200, 1001)), int(random.integers(3, 9)), int(random.integers(3, 9))
    truth = random.integers(k, size=n)
    good = [_good(truth, k, random) for _ in range(n_good)]
    junk = [random.integers(random.integers(2, n // 2 + 1), size=n) for _ in range(n_good)]
    trust = qt.trust([*good, *junk])
    alone, among = (adjusted_rand_score(truth, qt.consensus(some, k).labels) for some in (good, [*good, *junk]))
    return {"junk below good": bool(trust[n_good:].max() < trust[:n_good].min()), "lost": float(alone - among)}


def _good(truth: np.ndarray, k: int, random: np.random.Generator) -> np.ndarray:
    moved = np.where(random.random(len(truth)) < 0.2, random.integers(k, size=len(truth)), truth)
    kind = random.integers(3)
    if kind == 1 and k > 2:
        return np.where(moved == k - 1, 0, moved)
    return moved + k * random.integers(2, size=len(truth)) if kind == 2 else moved


def cost() -> Result:
    """Return the time of corrected agreement beside that of the paper's, 100 members with 7,381 clusters.

    Both from the co-occurrence of clusters, which is there; nothing else is kept from run to run.
    """
    ens = qt.Ensemble(letters(100))

    def seconds(measure: Literal["nmi", "ami"]) -> float:
        def task() -> None:
            vars(ens).pop("derived", None)
            qt.agreement(ens, measure=measure)

        return median_seconds(task)

    plain, corrected = seconds("nmi"), seconds("ami")
    return share("AMI matrix against NMI matrix", corrected, plain, 3.0)


def run() -> list[Result]:
    """Measure what is missing, and return whether the bars are reached."""
    with warnings.catch_warnings(), Store(STORE, {"task": "junk", "version": 1, "seed": SEED}) as store:
        warnings.simplefilter("ignore")
        for number in range(CASES):
            for kind, make in (("random", random_table), ("junk", good_among_junk)):
                if f"{kind}/{number}" not in store:
                    store.add(f"{kind}/{number}", make(number))
        chance = [piece for key, piece in store.items() if key.startswith("random")]
        mixed = [piece for key, piece in store.items() if key.startswith("junk")]
    shares = {
        "random tables called chance": (np.mean([piece["called chance"] for piece in chance]), 1.0),
        "random tables without a trusted member": (np.mean([not piece["one trusted"] for piece in chance]), 1.0),
        "junk below every good member": (np.mean([piece["junk below good"] for piece in mixed]), 0.95),
        f"default loses at most {CLOSE} ARI by junk": (np.mean([piece["lost"] <= CLOSE for piece in mixed]), 0.95),
    }
    print(f"mean ARI lost by junk {np.mean([piece['lost'] for piece in mixed]):+.4f} over {len(mixed)} tables")
    for what, (value, bar) in shares.items():
        print(f"{what}: {value:.3f} (>= {bar})")
    return [cost(), *(Result(what, v, 1.0, "", v, f">= {bar}", bool(v >= bar)) for what, (v, bar) in shares.items())]


if __name__ == "__main__":
    run()
