"""Consensus of a Dask frame compared with a bare copy of the same table: `python -m benchmarks.scale_dask [MILLIONS]`.

Two worker processes of 4 GB each read a table of ten members, 50 million rows by default, made once under .cache/scale.
The bare copy reads and writes it. Ours counts the patterns, combines them (the answer), and writes the rows with the
answer. Both are repeated in turn. Printed are the seconds of each step, the processor seconds of the workers, and their
peak memory.
"""

import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measure import Result, share, show
from benchmarks.scale_data import MEMBERS, generate
from benchmarks.scale_run import N_CLUSTERS

CACHE = Path(".cache/scale")
MILLIONS = 50
REPEAT = 3
WORKER_MEMORY = "4GB"
PEAK = 1.5
"""Gigabytes that a worker may reach."""


def worker_usage() -> tuple[float, float]:
    """Return the processor seconds and the peak memory in gigabytes of the process that calls it."""
    import os

    from benchmarks.measure import _status

    times = os.times()
    return times.user + times.system, _status("VmHWM") / 1e9


@contextmanager
def cluster():
    """Yield a client of two worker processes on this machine."""
    import distributed

    options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    with (
        distributed.LocalCluster(**options, memory_limit=WORKER_MEMORY, local_directory=str(CACHE / "tmp")) as workers,
        distributed.Client(workers) as client,
    ):
        client.run(warm_up)
        yield client


def warm_up() -> None:
    """Load what a worker needs, so that imports are in no timing."""
    import dask.dataframe  # noqa: F401
    import pyarrow.parquet  # noqa: F401


def copy(source: Path, out: Path) -> dict[str, float]:
    """Copy the table; return the seconds."""
    import dask.dataframe as dd

    start = time.perf_counter()
    dd.read_parquet(source).to_parquet(out)
    return {"copy": time.perf_counter() - start}


def combine(source: Path, out: Path) -> dict[str, float]:
    """Combine the members and write the rows with the answer; return the seconds of each step."""
    import dask.dataframe as dd

    import quorate as qt

    start = time.perf_counter()
    answered = qt.consensus_frame(dd.read_parquet(source), MEMBERS, N_CLUSTERS)
    done = time.perf_counter()
    answered.to_parquet(out)
    return {"answer": done - start, "write": time.perf_counter() - done}


def measured(task: Callable[[Path, Path], dict[str, float]], source: Path) -> dict[str, float]:
    """Run a task on new workers; return its seconds, and processor seconds and peak memory of the workers."""
    out = CACHE / "dask_out"
    shutil.rmtree(out, ignore_errors=True)
    with cluster() as client:
        before = client.run(worker_usage)
        seconds = task(source, out)
        after = client.run(worker_usage)
    shutil.rmtree(out, ignore_errors=True)
    processor = sum(after[worker][0] - before[worker][0] for worker in after)
    return {**seconds, "processor": processor, "peak": max(peak for _, peak in after.values())}


def run(millions: int = MILLIONS) -> list[Result]:
    """Measure the copy and the consensus in turn; return the medians with their bars."""
    source = generate(CACHE / f"{millions}M", millions * 1_000_000, print)
    runs: dict[str, list[dict[str, float]]] = {"copy": [], "combine": []}
    for _ in range(REPEAT if "QUORATE_BENCH_ONCE" not in os.environ else 1):
        for name, task in (("copy", copy), ("combine", combine)):
            runs[name].append(measured(task, source))
            print(name, json.dumps({key: round(value, 2) for key, value in runs[name][-1].items()}), flush=True)

    def median(name: str, *fields: str) -> float:
        return statistics.median(sum(one[field] for field in fields) for one in runs[name])

    what = f"Dask, {millions} million rows x {len(MEMBERS)} members"
    peak, bare_peak = (max(one["peak"] for one in runs[name]) for name in ("combine", "copy"))
    return [
        share(f"{what}: answer to a bare copy", median("combine", "answer"), median("copy", "copy"), 2),
        share(f"{what}: writing to a bare copy", median("combine", "write"), median("copy", "copy"), 2),
        share(f"{what}: both to a bare copy", median("combine", "answer", "write"), median("copy", "copy"), 2),
        share(f"{what}: processor time", median("combine", "processor"), median("copy", "processor"), 2),
        Result(f"{what}: peak of a worker", peak, bare_peak, "GB", peak, f"<= {PEAK}", peak <= PEAK),
    ]


if __name__ == "__main__":
    show(run(*map(int, sys.argv[1:2])))
