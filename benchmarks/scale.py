"""Consensus of files of any size compared with plain DuckDB, and of arrays compared with a group-by.

Sizes in millions of rows come from QUORATE_BENCH_MILLIONS (default "10,100"); tables are made once, under .cache/scale.
Every comparison alternates the two programs, because other work on the machine slows both.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

from benchmarks.measure import Result, share
from benchmarks.scale_data import MEMBERS, generate, label_matrix
from benchmarks.scale_run import N_CLUSTERS, THREADS

CACHE = Path(".cache/scale")
REPEAT = 3
BESIDE = {"unordered": "bare", "ordered": "bare ordered"}
"""Our two ways to write rows (as they come, or in the order of the source), and the bare engine doing the same."""
GIGABYTE = 1e9


def run() -> list[Result]:
    """Measure all sizes, the growth between them, and arrays in memory."""
    millions = [int(size) for size in os.environ.get("QUORATE_BENCH_MILLIONS", "10,100").split(",")]
    results, ours = [*in_memory(), *features(10_000_000)], {}
    for size in millions:
        source = generate(CACHE / f"{size}M", size * 1_000_000, print)
        runs = alternate(list(BESIDE) + list(BESIDE.values()), source, 1 if size > 100 else REPEAT)
        results += compare(size, runs)
        ours[size] = {name: best(some, "seconds") for name, some in runs.items()}
    for low, high in pairwise(millions):
        for name in BESIDE:
            slope = math.log(ours[high][name] / ours[low][name]) / math.log(high / low)
            bar, holds = "<= 1.15", slope <= 1.15
            what = f"growth from {low} to {high} million rows, {name}: exponent"
            results.append(Result(what, ours[high][name], ours[low][name], "s", slope, bar, holds))
    return results


def compare(size: int, runs: dict[str, list[dict[str, float]]]) -> list[Result]:
    """Return the lines of one size: time and processor time against the bare engine, and peak memory."""
    lines = []
    for name, bare in BESIDE.items():
        for field in ("seconds", "processor"):
            what = f"{size} million rows, {name}, {field}, whole consensus to {bare} group-by, join and copy"
            lines.append(share(what, best(runs[name], field), best(runs[bare], field), 1.5))
        peak, other = (max(run["peak"] for run in runs[key]) / GIGABYTE for key in (name, bare))
        lines.append(Result(f"{size} million rows, {name}, peak memory", peak, other, "GB", peak, "<= 2", peak <= 2))
    return lines


def best(runs: list[dict[str, float]], field: str) -> float:
    """Return the least of some runs: what other work on the machine disturbed least."""
    return min(run[field] for run in runs)


def alternate(variants: list[str], source: Path, repeat: int) -> dict[str, list[dict[str, float]]]:
    """Run the variants in turn, each in a process of its own, several times."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in variants}
    out, temporary = CACHE / "out.parquet", CACHE / "tmp"
    temporary.mkdir(exist_ok=True)
    for _ in range(repeat):
        for name in variants:
            out.unlink(missing_ok=True)
            command = [sys.executable, "-m", "benchmarks.scale_run", name, str(source), str(out), str(temporary)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            runs[name].append(json.loads(done.stdout.splitlines()[-1]))
            print(name, runs[name][-1], flush=True)
    out.unlink(missing_ok=True)
    return runs


def in_memory() -> list[Result]:
    """Compare labels from an array in memory with the engine's group-by of the same array, and of its own table."""
    import duckdb
    import numba

    import quorate as qt

    numba.set_num_threads(THREADS)
    matrix = label_matrix(10_000_000)
    lines = []
    with duckdb.connect(config={"threads": THREADS}) as connection:
        held = {name: matrix[:, j] for j, name in enumerate(MEMBERS)}
        connection.register("held", held)
        connection.execute("CREATE TABLE own AS SELECT * FROM held")

        def group(table: str) -> None:
            query = f"CREATE OR REPLACE TEMP TABLE g AS SELECT {', '.join(MEMBERS)}, count(*) AS n FROM {table}"
            connection.execute(f"{query} GROUP BY ALL")

        def labels() -> None:
            qt.GPMGLA(N_CLUSTERS).fit_predict(matrix)

        tasks = {"ours": labels, "same array": lambda: group("held"), "own table": lambda: group("own")}
        times = alternate_tasks(tasks, 5)
    for name in ("same array", "own table"):
        for field in ("seconds", "processor"):
            what = f"10 million rows in memory, {field}: labels from an array to a bare group-by of the {name}"
            lines.append(share(what, times["ours"][field], times[name][field], 1.5))
    return lines


def features(n_rows: int) -> list[Result]:
    """Cluster a file of features in a process of its own: rows per second and peak memory."""
    command = [sys.executable, "-m", "benchmarks.feature_file", str(CACHE / "features"), str(n_rows)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    print(done.stdout, flush=True)
    found = json.loads(done.stdout.splitlines()[-1])
    peak, speed = found["peak"] / GIGABYTE, n_rows / found["seconds"]
    what = f"{n_rows // 1_000_000} million rows of 8 features, cluster_file"
    return [
        Result(f"{what}, peak memory", peak, 2.0, "GB", peak, "<= 2", peak <= 2),
        Result(f"{what}, rows", float(n_rows), found["seconds"], "", speed, "- (rows per second)", True),
    ]


def alternate_tasks(tasks, repeat: int) -> dict[str, dict[str, float]]:
    """Return the median time and processor time of tasks that are run in turn, after a run that is not counted."""
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in tasks}
    for turn in range(repeat + 1):
        for name, task in tasks.items():
            start, processor = time.perf_counter(), time.process_time()
            task()
            if turn:
                seen[name].append((time.perf_counter() - start, time.process_time() - processor))
    return {
        name: dict(zip(("seconds", "processor"), map(statistics.median, zip(*times, strict=True)), strict=True))
        for name, times in seen.items()
    }
