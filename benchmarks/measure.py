"""How time and memory are measured, and what a result looks like."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Result:
    """One line of the table: what was measured, ours, the other's, their quotient, and the bar it should reach."""

    what: str
    ours: float
    other: float
    unit: str
    quotient: float
    bar: str
    holds: bool


def faster(what: str, ours: float, other: float, at_least: float, unit: str = "s") -> Result:
    """Return how many times less than the other's ours is, which should be at least something."""
    return Result(what, ours, other, unit, other / ours, f">= {at_least:g}", other / ours >= at_least)


def share(what: str, ours: float, other: float, at_most: float, unit: str = "s") -> Result:
    """Return what part of the other's ours is, which should be at most something."""
    return Result(what, ours, other, unit, ours / other, f"<= {at_most:g}", ours / other <= at_most)


def median_seconds(task: Callable[[], object], repeat: int = 5) -> float:
    """Return the median time of some runs after one that is not counted (compilation, caches)."""
    task()
    return statistics.median(seconds(task) for _ in range(repeat))


def seconds(task: Callable[[], object]) -> float:
    """Return how long one run takes."""
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def run_parts(*parts: Callable[[], Iterable[Result]]) -> list[Result]:
    """Run one part after the other, telling each result as soon as it is there, and return all."""
    results: list[Result] = []
    for part in parts:
        for result in part():
            results.append(result)
            print(f"{result.what}: {result.quotient:.3g} ({result.bar})", file=sys.stderr, flush=True)
    return results


def peak_memory(module: str, function: str) -> int:
    """Return the bytes that a function needs beyond what is resident before it, in a fresh process.

    `module.function()` prepares its input and returns the task that is measured, a callable without arguments. Small
    kernels are warm from their cache; what importing and compiling needs is counted nowhere.
    """
    code = f"from benchmarks.measure import _measure_peak; from {module} import {function}; _measure_peak({function})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])


def _measure_peak(prepare: Callable[[], Callable[[], object]]) -> None:
    task = prepare()
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    task()
    print(_status("VmHWM") - before)


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {field} in the process status; memory is measured on Linux only")


def show(results: Iterable[Result]) -> None:
    """Print results as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table("what", "ours", "other", "", "ratio", "bar", "")
    for result in results:
        table.add_row(
            result.what,
            f"{result.ours:.4g}",
            f"{result.other:.4g}",
            result.unit,
            f"{result.quotient:.3g}",
            result.bar,
            "holds" if result.holds else "FAILS",
        )
    Console(width=160).print(table)


def save(name: str, results: Iterable[Result]) -> Path:
    """Write results with the facts about the machine as JSON."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    machine = {"cores": os.cpu_count(), "processor": platform.machine(), "python": platform.python_version()}
    text = json.dumps({"machine": machine, "results": [asdict(result) for result in results]}, indent=1)
    partial = path.with_suffix(".part")
    partial.write_text(text)
    partial.replace(path)
    return path
