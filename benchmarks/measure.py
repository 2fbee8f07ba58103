"""Measuring time and memory, and the record of a result."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Result:
    """One comparison: our value, the other value, their ratio, and the required bound."""

    what: str
    ours: float
    other: float
    unit: str
    quotient: float
    bar: str
    holds: bool


def faster(what: str, ours: float, other: float, at_least: float, unit: str = "s") -> Result:
    """Compare by other / ours, which must be at least a bound."""
    return Result(what, ours, other, unit, other / ours, f">= {at_least:g}", other / ours >= at_least)


def share(what: str, ours: float, other: float, at_most: float, unit: str = "s") -> Result:
    """Compare by ours / other, which must be at most a bound."""
    return Result(what, ours, other, unit, ours / other, f"<= {at_most:g}", ours / other <= at_most)


def median_seconds(task: Callable[[], object], repeat: int = 5) -> float:
    """Return the median time of several runs, after one uncounted run (compilation, caches)."""
    task()
    return statistics.median(seconds(task) for _ in range(repeat))


def seconds(task: Callable[[], object]) -> float:
    """Return the time of one run."""
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def run_parts(*parts: Callable[[], Iterable[Result]]) -> Iterator[Result]:
    """Yield the results of one part after the other, each as soon as it is measured."""
    for part in parts:
        yield from part()


class Cost(NamedTuple):
    """What one run of a task needs."""

    seconds: float
    bytes: int


def cost_of(module: str, function: str) -> Cost:
    """Return the seconds and the additional memory of a task in a fresh process.

    `module.function()` prepares the input and returns the task, a callable without arguments. Imports and compilation
    are not counted.
    """
    code = f"from benchmarks.measure import _measure; from {module} import {function}; _measure({function})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    time_spent, memory = done.stdout.split()[-2:]
    return Cost(float(time_spent), int(memory))


def peak_memory(module: str, function: str) -> int:
    """Return the additional memory of a task in a fresh process; see `cost_of`."""
    return cost_of(module, function).bytes


def _measure(prepare: Callable[[], Callable[[], object]]) -> None:
    task = prepare()
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    print(seconds(task), _status("VmHWM") - before)


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
    """Write results and a description of the machine as JSON."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    machine = {"cores": os.cpu_count(), "processor": platform.machine(), "python": platform.python_version()}
    text = json.dumps({"machine": machine, "results": [asdict(result) for result in results]}, indent=1)
    partial = path.with_suffix(".part")
    partial.write_text(text)
    partial.replace(path)
    return path
