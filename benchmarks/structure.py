"""Is there structure? False alarms and power on sets with and without clusters.

Run `python -m benchmarks.structure [SEED]`; seeds 7, 8, 11, 12, 13 and 301 had a part in choosing the tests. An alarm
is a p-value below 0.05 of the features, or the word "clear" of the labels alone; it is false on a set without clusters,
and power is its share among sets with clusters. Every case is written as it is done, and not done again.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np

import quorate as qt
from benchmarks.measure import Result, share
from quorate._utils.array_types import Floats
from quorate.analysis.structure.label_structure import LabelStructure
from quorate.benchmarking.comparison_tables import markdown_table

RESULTS = Path(".cache/structure")
CASES = 100
SEED = 5151
KINDS = ("gaussian", "correlated", "t", "line", "rectangle", "ball")


def structureless(case: int, random: np.random.Generator) -> Floats:
    """Return rows without clusters, of six kinds in turn, in 2 to 20 dimensions."""
    n, d = int(random.integers(150, 600)), int(random.integers(2, 21))
    kind = KINDS[case % len(KINDS)]
    if kind == "gaussian":
        return random.normal(size=(n, d))
    if kind == "correlated":
        return random.normal(size=(n, d)) @ random.normal(size=(d, d))
    if kind == "t":
        return random.standard_t(5, size=(n, d))
    if kind == "line":
        return np.outer(random.random(n), random.normal(size=d)) + 0.01 * random.normal(size=(n, d))
    if kind == "rectangle":
        return random.random((n, d)) * random.uniform(0.3, 3, d)
    directions = random.normal(size=(n, d))
    return directions / np.linalg.norm(directions, axis=1, keepdims=True) * random.random((n, 1)) ** (1 / d)


def structured(random: np.random.Generator) -> Floats:
    """Return a mixture of 2 to 8 Gaussians whose nearest means are 3.5 to 6 standard deviations apart."""
    n, d, k = int(random.integers(150, 600)), int(random.integers(2, 21)), int(random.integers(2, 9))
    means = random.normal(size=(k, d))
    apart = np.linalg.norm(means[:, None] - means[None], axis=2)
    apart[np.diag_indices(k)] = np.inf
    means *= random.uniform(3.5, 6) / apart.min()
    return means[random.integers(0, k, n)] + random.normal(size=(n, d))


def measure(case: int, *, with_clusters: bool, seed: int) -> dict[str, float]:
    """Return what features and labels say about one set."""
    random = np.random.default_rng([seed, case, with_clusters])
    X = structured(random) if with_clusters else structureless(case, random)
    model = qt.ConsensusClustering(4, n_members=20, random_state=case).fit(X)
    labels = qt.label_structure(model.ensemble_)
    assert labels is not None
    return {"p_value": model.structure_.p_value, "labels": labels.value}


def run(seed: int = SEED) -> list[Result]:
    """Measure what is not there yet, print the rates, and return whether the bars are reached."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{seed}.jsonl"
    done = {}
    if path.exists():
        done = {(c["case"], c["clusters"]): c for c in map(json.loads, path.read_text().splitlines())}
    with warnings.catch_warnings(), path.open("a") as file:
        warnings.simplefilter("ignore")
        for case in range(CASES):
            for clusters in (False, True):
                if (case, clusters) not in done:
                    found = {"case": case, "clusters": clusters, **measure(case, with_clusters=clusters, seed=seed)}
                    done[case, clusters] = found
                    file.write(json.dumps(found) + "\n")
                    file.flush()
    results = []
    for name, alarm in (
        ("features", lambda found: found["p_value"] < 0.05),
        ("labels", lambda found: word(found) == "clear"),
    ):
        alarms, power = (
            float(np.mean([alarm(f) for (_, c), f in done.items() if c is clusters])) for clusters in (False, True)
        )
        bar = {"features": 0.95, "labels": 0.7}[name]
        print(f"{name}: false alarms {alarms:.2f} (<= 0.05), power {power:.2f} (>= {bar})")
        results.append(share(f"structure, {name}: false alarms", alarms, 1.0, 0.05, ""))
        results.append(Result(f"structure, {name}: power", power, 1.0, "", power, f">= {bar}", power >= bar))
    for i, kind in enumerate(KINDS):
        of_kind = [f["p_value"] < 0.05 for (case, c), f in done.items() if not c and case % len(KINDS) == i]
        print(f"  {kind}: {np.mean(of_kind):.2f} false alarms of {len(of_kind)}")
    print(words(list(done.values())))
    return results


def word(found: dict[str, float]) -> str:
    """Return what labels alone say of a set: clear, doubtful or none to be seen."""
    return LabelStructure(found["labels"], 1.0, 0).verdict


def words(cases: list[dict[str, float]]) -> str:
    """Return a table of how often labels alone say each word, by kind of set."""
    groups = {
        kind: [f for f in cases if not f["clusters"] and f["case"] % len(KINDS) == i] for i, kind in enumerate(KINDS)
    }
    groups["all without clusters"] = [f for f in cases if not f["clusters"]]
    groups["with clusters"] = [f for f in cases if f["clusters"]]
    says = ("clear", "doubtful", "none to be seen")
    lines = [
        [f"{name}: {len(some)}", *(f"{np.mean([word(f) == said for f in some]):.2f}" for said in says)]
        for name, some in groups.items()
    ]
    return markdown_table(["sets", *says], lines)


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else SEED)
