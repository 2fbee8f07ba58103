"""What is forecast to need memory beside what is measured, over many shapes of ensembles.

    python -m benchmarks memory

Every shape runs in a process of its own; finished ones are kept in benchmarks/results/memory.jsonl. The forecast is the
largest that the fit asks room for; measured is the peak beyond what is resident before the fit.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

import quorate as qt
from benchmarks.measure import RESULTS, Result, _status, share
from quorate._support.memory import forecasts
from quorate._support.resume import Store


class Shape(NamedTuple):
    """Rows, members, clusters of each, and what is made of them."""

    rows: int
    members: int
    clusters: int
    method: str
    k: int = 10
    kind: str = "grouped"
    """grouped: clusters are parts of ten groups of rows, but for a few rows; random: labels are drawn."""


SHAPES = [
    Shape(20_000, 10, 600, "gp-mgla", kind="random"),
    Shape(20_000, 10, 600, "gp-mgla"),
    Shape(100_000, 10, 2_000, "gp-mgla"),
    Shape(20_000, 20, 300, "gp-mgla", kind="random"),
    Shape(5_000, 60, 60, "gp-mgla", kind="random"),
    Shape(200_000, 10, 50, "gp-mgla", 20, kind="random"),
    Shape(20_000, 10, 600, "hbgf", kind="random"),
    Shape(100_000, 10, 2_000, "hbgf"),
    Shape(20_000, 20, 300, "hbgf", kind="random"),
    Shape(200_000, 10, 50, "hbgf", 20, kind="random"),
    Shape(20_000, 10, 600, "lwgp", kind="random"),
    Shape(5_000, 10, 200, "wct", kind="random"),
    Shape(8_000, 10, 400, "wct", kind="random"),
    Shape(5_000, 10, 200, "srs", kind="random"),
    Shape(8_000, 10, 100, "srs", kind="random"),
    Shape(3_000, 10, 30, "ecmc", kind="random"),
    Shape(5_000, 2_000, 5, "agreement", kind="random"),
    Shape(5_000, 4_000, 5, "agreement", kind="random"),
    Shape(20_000, 1_000, 20, "agreement", kind="random"),
    Shape(100_000, 10, 3_000, "agreement", kind="random"),
    Shape(8_000, 10, 50, "weac complete", kind="random"),
    Shape(12_000, 5, 50, "eac complete", kind="random"),
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
    """Do what the shape asks for."""
    if shape.method == "agreement":
        return qt.agreement(ens)
    name, *link = shape.method.split()
    return qt.consensus(ens, shape.k, method=name, **({"linkage": link[0]} if link else {}))


def measure_here(shape: Shape) -> None:
    """Measure one shape in this process and print what came out."""
    warnings.simplefilter("ignore")
    task(shape, qt.Ensemble(labels_of(shape)[:200, : min(shape.members, 20)] % 7))  # kernels are compiled
    ens = qt.Ensemble(labels_of(shape))
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    with forecasts() as found:
        task(shape, ens)
    what, needed = max(found, key=lambda one: one[1], default=("nothing", 0.0))
    print(json.dumps({"what": what, "forecast": needed, "measured": _status("VmHWM") - before}))


def measure(shape: Shape) -> dict[str, object]:
    """Measure one shape in a process of its own."""
    code = f"from benchmarks.memory import Shape, measure_here; measure_here({shape!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def run() -> list[Result]:
    """Measure what is missing, print the table and return whether forecasts are within 30 %."""
    results = []
    print("| rows | members | clusters each | labels | method | k | largest forecast | GB | measured GB | ratio |")
    print("|---:|---:|---:|---|---|---:|---|---:|---:|---:|")
    with Store(RESULTS / "memory.jsonl", {"task": "memory", "version": 1}) as store:
        for shape in SHAPES:
            if (key := repr(shape)) not in store:
                store.add(key, measure(shape))
            found = store[key]
            ratio = found["forecast"] / found["measured"]
            print(
                f"| {shape.rows:,} | {shape.members:,} | {shape.clusters:,} | {shape.kind} | {shape.method} "
                f"| {shape.k} | {found['what']} | {found['forecast'] / 1e9:.3f} | {found['measured'] / 1e9:.3f} "
                f"| {ratio:.2f} |",
                flush=True,
            )
            off = max(ratio, 1 / ratio) - 1 if ratio > 0 else np.inf
            results.append(
                share(f"{shape.method} {shape.rows} x {shape.members} x {shape.clusters}", off, 1.0, 0.3, "")
            )
    return results
