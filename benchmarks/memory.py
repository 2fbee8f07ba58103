"""Forecast and measured memory over many shapes of ensembles.

    python -m benchmarks memory

Every shape runs in a separate process; finished ones are in benchmarks/results/memory.sqlite. The forecast is the
largest one of the fit; the measurement is the peak above the memory before the fit.
"""

from __future__ import annotations

import ctypes
import gc
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import quorate as qt
from benchmarks.measure import RESULTS, Result, _status, share
from quorate._runtime.checkpoints import Store
from quorate._runtime.memory import forecasts
from quorate.algorithms.registry import make_method
from quorate.tables.out_of_core.block_consensus import fit_blocks
from quorate.tables.out_of_core.pattern_blocks import StoredEnsemble


class Shape(NamedTuple):
    """Rows, members, clusters of each, and what is made of them."""

    rows: int
    members: int
    clusters: int
    method: str
    k: int = 10
    kind: str = "random"
    """random: labels are drawn; grouped: clusters are parts of ten groups of rows, but for a few rows."""
    limit: str | None = None
    """The memory there is said to be."""
    fitted: bool = False
    """Whether the forecast was adjusted with this shape; the others are a check."""


SHAPES = [
    Shape(20_000, 10, 600, "gp-mgla", fitted=True),
    Shape(20_000, 10, 600, "hbgf", fitted=True),
    Shape(20_000, 10, 600, "lwgp", fitted=True),
    Shape(5_000, 10, 200, "wct", fitted=True),
    Shape(8_000, 10, 100, "wct", fitted=True),
    Shape(40_000, 10, 50, "wct", fitted=True),
    Shape(40_000, 20, 100, "wct", kind="grouped", fitted=True),
    Shape(20_000, 10, 600, "wct", fitted=True),
    Shape(5_000, 10, 200, "srs", fitted=True),
    Shape(8_000, 10, 100, "srs"),
    Shape(3_000, 10, 400, "srs", fitted=True),
    Shape(3_000, 10, 400, "wct", fitted=True),
    Shape(8_000, 10, 50, "weac complete", fitted=True),
    Shape(10_000, 5, 50, "eac complete", fitted=True),
    Shape(40_000, 20, 100, "weac", kind="grouped", fitted=True),
    Shape(40_000, 20, 100, "lwea", kind="grouped", fitted=True),
    Shape(100_000, 6, 300, "eac single", kind="grouped", fitted=True),
    Shape(20_000, 10, 600, "gp-mgla", kind="grouped", fitted=True),
    Shape(20_000, 20, 300, "gp-mgla", fitted=True),
    Shape(20_000, 20, 300, "lwgp"),
    Shape(200_000, 10, 50, "gp-mgla", 20),
    Shape(200_000, 10, 50, "lwgp", 20),
    Shape(200_000, 10, 50, "hbgf", 20, fitted=True),
    Shape(400_000, 10, 50, "stored gp-mgla", 10, fitted=True),
    Shape(400_000, 10, 50, "stored lwgp", 10, fitted=True),
    Shape(100_000, 10, 2_000, "lwgp", kind="grouped"),
    Shape(100_000, 10, 2_000, "gp-mgla", kind="grouped", fitted=True),
    Shape(1_000, 2_000, 5, "agreement", limit="8GB"),
    Shape(1_000, 5_000, 5, "agreement", limit="8GB"),
    Shape(20_000, 1_000, 20, "agreement", limit="8GB"),
    Shape(20_000, 400, 20, "lwgp"),
    Shape(1_000, 2_000, 5, "gp-mgla", limit="2GB"),
    Shape(1_000, 5_000, 5, "gp-mgla", limit="8GB"),
    Shape(20_000, 1_000, 20, "gp-mgla", limit="8GB"),
    Shape(40_000, 10, 50, "wct complete", limit="8GB"),
]


def labels_of(shape: Shape) -> np.ndarray:
    """Return the labels of a shape."""
    random = np.random.default_rng(0)
    if shape.kind == "random":
        return random.integers(0, shape.clusters, (shape.rows, shape.members), dtype=np.int32)
    parts = shape.clusters // 10
    own = np.arange(shape.rows)[:, None] * 10 // shape.rows
    drawn = own * parts + random.integers(0, parts, (shape.rows, shape.members))
    astray = random.random(drawn.shape) < 0.02
    return np.where(astray, random.integers(0, shape.clusters, drawn.shape), drawn).astype(np.int32)


def task(shape: Shape, ens: qt.Ensemble) -> object:
    """Run the fit of the shape."""
    name, *more = shape.method.split()
    if name == "agreement":
        return qt.agreement(ens)
    if name == "stored":
        stored = StoredEnsemble(ens.names, ens.levels, ens.noise, ens.n_rows, InMemory(ens))
        return fit_blocks(make_method(more[0], shape.k, {}), stored)
    return qt.consensus(ens, shape.k, method=name, **({"linkage": more[0]} if more else {}))


class InMemory:
    """Patterns that are read in blocks though they are in memory, so that only what is made of them counts."""

    def __init__(self, ens: qt.Ensemble) -> None:
        self.n_patterns, self._counts = ens.n_patterns, ens.row_counts
        self._codes = ens.patterns - ens.cluster_offsets[:-1].astype(np.int32)

    def read(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Return codes and counts of some patterns."""
        return self._codes[start:stop].copy(), self._counts[start:stop]


def measure_here(shape: Shape) -> None:
    """Measure one shape in this process and print what came out."""
    warnings.simplefilter("ignore")
    for small in (Shape(200, 5, 7, shape.method, 3), Shape(1_500, 4, 800, shape.method, 3)):
        task(small, qt.Ensemble(labels_of(small)))  # kernels are loaded, of dense and of sparse counts
    ens = qt.Ensemble(labels_of(shape))
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what was let go is no longer resident
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    refused, begun = False, time.perf_counter()
    with forecasts() as found, qt.memory_limit(shape.limit):
        try:
            task(shape, ens)
        except qt.QuorateError as error:
            refused = "is available" in str(error)
            if not refused:
                raise
    what, needed = max(found, key=lambda one: one[1])
    told = {"what": what, "forecast": needed, "measured": _status("VmHWM") - before}
    print(json.dumps({**told, "refused": refused, "seconds": time.perf_counter() - begun}))


def measure(shape: Shape) -> dict[str, object]:
    """Measure one shape in a process of its own."""
    code = f"from benchmarks.memory import Shape, measure_here; measure_here({shape!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def run() -> list[Result]:
    """Measure what is missing, print the table and return whether forecasts are within 30 %, or refused in time."""
    results = []
    print("| rows | members | clusters each | labels | method | k | forecast GB | measured GB | ratio | |")
    print("|---:|---:|---:|---|---|---:|---:|---:|---:|---|")
    with Store(RESULTS / "memory.sqlite", {"task": "memory", "version": 2}) as store:
        for shape in SHAPES:
            key = repr(shape._replace(fitted=False))
            if key not in store:
                store.add(key, measure(shape))
            results.append(_tell(shape, store[key]))
    return results


def _tell(shape: Shape, found: dict[str, Any]) -> Result:
    """Print a line of the table and return what it says; what was refused must have taken next to nothing."""
    forecast, measured = found["forecast"], found["measured"]
    ratio = forecast / max(measured, 1.0)
    note = f"refused under {shape.limit} after {found['seconds']:.1f} s" if found["refused"] else ""
    print(
        f"| {shape.rows:,} | {shape.members:,} | {shape.clusters:,} | {shape.kind} | {shape.method} | {shape.k} "
        f"| {forecast / 1e9:.3f} | {measured / 1e9:.3f} | {'' if found['refused'] else f'{ratio:.2f}'} "
        f"| {note or ('fitted' if shape.fitted else '')} |",
        flush=True,
    )
    name = f"{shape.method} {shape.rows} x {shape.members} x {shape.clusters}"
    if found["refused"]:
        return share(f"{name}: taken before it was refused", measured, forecast, 0.3, "bytes")
    return share(name, max(ratio, 1 / ratio) - 1, 1.0, 0.3, "")
