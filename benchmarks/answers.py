"""Cost of camps, comparisons and majority at scale, and the quality of majority on linked records.

`python -m benchmarks answers`, or `python -m benchmarks.answers camps compare linkage majority` for some of them.
Times are CPU times, the median of several runs, each on an ensemble without cached results.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd

import quorate as qt
from benchmarks.measure import Result, cost_of, share
from quorate._utils.array_types import Ints
from quorate.ensemble import ensemble_of_patterns, pattern_codes

RUNS = 3
DRAWS = 20


def cpu_seconds(task: Callable[[], object]) -> float:
    """Return the CPU time of one run."""
    start = time.process_time()
    task()
    return time.process_time() - start


def camps() -> Iterator[Result]:
    """Compare `camps` with `trust` on a million rows and 50 members of two opinions."""
    random = np.random.default_rng(0)
    coarse = random.integers(0, 3, 1_000_000)
    fine = 3 * coarse + random.integers(0, 3, len(coarse))

    def noisy(labels: Ints, k: int) -> Ints:
        return np.where(random.random(len(labels)) < 0.1, random.integers(0, k, len(labels)), labels)

    ens = qt.Ensemble([noisy(coarse, 3) for _ in range(30)] + [noisy(fine, 9) for _ in range(20)])
    table = ens.names, ens.noise, ens.levels, pattern_codes(ens), ens.row_counts
    times = {}
    for task in (qt.trust, qt.camps):
        fresh = (ensemble_of_patterns(*table) for _ in range(RUNS))
        times[task.__name__] = statistics.median(cpu_seconds(partial(task, each)) for each in fresh)
    print(f"    {ens.n_patterns:,} patterns; {[len(camp.members) for camp in qt.camps(ens).camps]} members per camp")
    yield share("camps in terms of trust, 1,000,000 x 50, CPU time", times["camps"], times["trust"], 3)


def compare() -> Iterator[Result]:
    """Compare `compare` with counting the pairs of labels by a group-by of pandas, on ten million rows."""
    random = np.random.default_rng(1)
    old = random.integers(0, 50, 10_000_000)
    new = np.where(random.random(len(old)) < 0.03, random.integers(0, 50, len(old)), old)
    frame = pd.DataFrame({"old": old, "new": new})
    ours = statistics.median(cpu_seconds(lambda: qt.compare(old, new)) for _ in range(RUNS))
    counting = statistics.median(cpu_seconds(lambda: frame.groupby(["old", "new"]).size()) for _ in range(RUNS))
    yield share("compare in terms of a group-by, 10,000,000 rows, CPU time", ours, counting, 2)


def linked_records(random: np.random.Generator, n_entities: int, n_members: int = 5) -> tuple[list[Ints], Ints]:
    """Return labels of records by linkage tools, -1 where a tool has none, and the entity of each record.

    An entity has one to five records. A tool misses a record with a probability of 5 to 20 %, joins an entity with
    another one with 1 to 5 %, and has no label with 10 %.
    """
    entity = np.repeat(np.arange(n_entities), random.integers(1, 6, n_entities))
    n = len(entity)
    members = []
    for _ in range(n_members):
        joined = np.where(random.random(n_entities) < random.uniform(0.01, 0.05), random.permutation(n_entities), 0)
        group = np.where(joined > 0, joined, np.arange(n_entities))[entity]
        labels = np.where(random.random(n) < random.uniform(0.05, 0.2), n_entities + np.arange(n), group)
        members.append(np.where(random.random(n) < 0.1, -1, labels))
    return members, entity


def pairwise_f1(labels: Ints, truth: Ints) -> float:
    """Return the F1 score of the pairs of rows that labels join; rows of label -1 are joined with none."""
    alone = np.where(labels < 0, labels.max() + 1 + np.arange(len(labels)), labels)

    def pairs(codes: Ints) -> int:
        counts = np.unique(codes, return_counts=True)[1]
        return int(counts @ (counts - 1) // 2)

    both = pairs(alone.astype(np.int64) * (truth.max() + 1) + truth)
    return 2 * both / (pairs(alone) + pairs(truth))


def linkage() -> Iterator[Result]:
    """Compare the pairwise F1 of majority with that of the best member, over draws of linked records."""
    found = []
    for seed in range(DRAWS):
        members, entity = linked_records(np.random.default_rng([2, seed]), 5_000)
        best = max(pairwise_f1(member, entity) for member in members)
        found.append((pairwise_f1(qt.consensus(members, method="majority").labels, entity), best))
    ours, best = np.mean(found, axis=0)
    worst = min(one - other for one, other in found)
    print(f"    least advantage of {DRAWS} draws: {worst:+.3f}")
    yield Result("pairwise F1 of majority and of the best member", ours, best, "F1", worst, ">= 0", worst >= 0)


def majority() -> Iterator[Result]:
    """Measure time and additional memory of majority on ten million records of 3,340,000 entities by five tools."""
    cost = cost_of(__spec__.name, "prepare_majority")
    memory = cost.bytes / 1e9
    yield Result("majority, 10,000,000 x 5, time", cost.seconds, 300, "s", cost.seconds, "<= 300", cost.seconds <= 300)
    yield Result("majority, 10,000,000 x 5, memory", memory, 8, "GB", memory, "<= 8", memory <= 8)


def prepare_majority() -> Callable[[], object]:
    """Return the task of `majority`, which runs in a process of its own."""
    members, _ = linked_records(np.random.default_rng(3), 3_340_000)
    qt.consensus([member[:1000] for member in members], method="majority")  # compiles
    return lambda: qt.consensus(members, method="majority").labels


PARTS = {"camps": camps, "compare": compare, "linkage": linkage, "majority": majority}


def run(names: list[str] | None = None) -> Iterator[Result]:
    """Yield the results of the named parts, by default all."""
    for name in names or PARTS:
        yield from PARTS[name]()


if __name__ == "__main__":
    for result in run(sys.argv[1:]):
        print(f"{result.what}: {result.ours:.3f} and {result.other:.3f}, {result.quotient:.3f} ({result.bar})")
