"""Five shapes in the plane, 1 to 20 million points, from points to clusters with spectral members.

The shapes are our own versions, with fixed seeds, of those of U-SENC (Huang, Wang, Wu, Lai, Kwoh 2020), whose
seconds were published for another machine. "Best" is the labeling by the densities that made the points.
`python -m benchmarks.shapes FILE [SHAPE ...]` stores finished measurements in FILE; QUORATE_BENCH_SHARE=0.1 takes a
tenth of the points, and QUORATE_BENCH_POINTS names a folder that stores them. Processor seconds are those of all
threads; kernels are compiled before.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import quorate as qt
from benchmarks.flower import nmi
from quorate._runtime.checkpoints import Store
from quorate.features.labeling import Crew
from quorate.features.member_fitting import fit_in_order, training_rows
from quorate.features.out_of_sample import combine_sample

BLOCK = 500_000
N_MEMBERS = 20
STEPS = ("members", "consensus", "labeling")
WARM_POINTS = 30_000
Draw = Callable[[np.random.Generator, np.ndarray], np.ndarray]
Density = Callable[[np.ndarray], np.ndarray]


class Shape(NamedTuple):
    """A mixture in the plane."""

    n_points: int
    published: float
    """Seconds of U-SENC."""
    shares: np.ndarray
    parts: list[tuple[Draw, Density]]
    """How points of each group are drawn, and its log density."""


def gaussian(center: tuple[float, float], along: float, across: float, angle: float = 0.0) -> tuple[Draw, Density]:
    """A Gaussian, longer in one direction."""
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    sizes = np.array([along, across])

    def draw(random: np.random.Generator, n: np.ndarray) -> np.ndarray:
        return random.standard_normal((len(n), 2)) * sizes @ turn + center

    def density(x: np.ndarray) -> np.ndarray:
        return -0.5 * (((x - center) @ turn.T / sizes) ** 2).sum(axis=1) - np.log(along * across * 2 * np.pi)

    return draw, density


def arc(
    center: tuple[float, float], radius: float, width: float, start: float = 0.0, length: float = 2 * np.pi
) -> tuple[Draw, Density]:
    """An arc of a circle with a Gaussian width; points are uniform along it."""

    def draw(random: np.random.Generator, n: np.ndarray) -> np.ndarray:
        angle = start + length * random.random(len(n))
        away = radius + width * random.standard_normal(len(n))
        return np.stack([away * np.cos(angle), away * np.sin(angle)], axis=1) + center

    def density(x: np.ndarray) -> np.ndarray:
        away = np.hypot(*(x - center).T)
        angle = (np.arctan2(x[:, 1] - center[1], x[:, 0] - center[0]) - start) % (2 * np.pi)
        inside = np.where(angle <= length, 0.0, -1e6)
        log_width = -0.5 * ((away - radius) / width) ** 2 - np.log(width * np.sqrt(2 * np.pi))
        return log_width + inside - np.log(length * np.maximum(away, 1e-9))

    return draw, density


def petals() -> list[tuple[Draw, Density]]:
    """Twelve petals around a center."""
    angles = 2 * np.pi * np.arange(12) / 12
    outer = [gaussian((6 * np.cos(a), 6 * np.sin(a)), 1.2, 0.5, a) for a in angles]
    return [*outer, gaussian((0, 0), 0.8, 0.8)]


def even(n: int) -> np.ndarray:
    """Equal shares."""
    return np.full(n, 1 / n)


SHAPES = {
    "two bananas": Shape(
        1_000_000, 318, even(2), [arc((0, 0), 5, 0.65, 0, np.pi), arc((5, 2.2), 5, 0.65, np.pi, np.pi)]
    ),
    "smiling face": Shape(
        2_000_000,
        659,
        np.array([0.55, 0.12, 0.12, 0.21]),
        [
            arc((0, 0), 6, 0.3),
            gaussian((-2, 2), 0.5, 0.5),
            gaussian((2, 2), 0.5, 0.5),
            arc((0, 0), 3.2, 0.35, 1.2 * np.pi, 0.6 * np.pi),
        ],
    ),
    "concentric circles": Shape(
        5_000_000, 1726, even(3), [arc((0, 0), 1.6, 0.36), arc((0, 0), 3.8, 0.36), arc((0, 0), 6, 0.36)]
    ),
    "circles and Gaussians": Shape(
        10_000_000,
        3603,
        even(11),
        [arc((x, y), 2, 0.2) for x, y in ((-6, 4), (6, 4), (0, -5))]
        + [gaussian((x, y), 0.4, 0.4) for x, y in ((-6, 4), (6, 4), (0, -5))]
        + [gaussian((x, y), 0.6, 0.6) for x, y in ((-7, -4), (7, -4), (0, 1), (-3, 8), (3, 8))],
    ),
    "flower": Shape(20_000_000, 7226, even(13), petals()),
}


def make(shape: Shape, n_points: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points, the group each was drawn from, and the best labeling, made in pieces."""
    points = np.empty((n_points, 2), dtype=np.float32)
    group, best = np.empty(n_points, dtype=np.int64), np.empty(n_points, dtype=np.int64)
    for number, start in enumerate(range(0, n_points, BLOCK)):
        rows = slice(start, min(start + BLOCK, n_points))
        random = np.random.default_rng([7, number])
        some = random.choice(len(shape.parts), rows.stop - rows.start, p=shape.shares)
        for g, (draw, _) in enumerate(shape.parts):
            mine = np.flatnonzero(some == g)
            points[rows.start + mine] = draw(random, mine)
        group[rows] = some
        scores = [np.log(p) + log(points[rows]) for p, (_, log) in zip(shape.shares, shape.parts, strict=True)]
        best[rows] = np.argmax(scores, axis=0)
    return points, group, best


def measure(shape: Shape, n_points: int) -> dict[str, float]:
    """Return seconds and scores of one shape."""
    points, group, best = kept(shape, n_points)
    times = [now()]
    rows = training_rows(points, "auto", "auto", 0)
    names = {f"uspec_{j}": "uspec" for j in range(N_MEMBERS)}
    crew = Crew(tuple(one.draw.model for one in fit_in_order(names, rows, 0, None)))
    times.append(now())
    sample, counts = rows.together
    _, clusters = combine_sample(crew, list(names), sample, counts, qt.HBGF(len(shape.parts)))
    times.append(now())
    labels = clusters.assign(points).labels
    times.append(now())
    spent = np.diff(times, axis=0)
    return {
        "points": n_points,
        **dict(zip(STEPS, spent[:, 0].tolist(), strict=True)),
        **dict(zip((f"{step}, processor" for step in STEPS), spent[:, 1].tolist(), strict=True)),
        "load": os.getloadavg()[0],
        "published": shape.published,
        "best": nmi(best, group),
        "found": nmi(labels, group),
    }


def now() -> tuple[float, float]:
    """Return the clock and the seconds of processor."""
    return time.perf_counter(), time.process_time()


def kept(shape: Shape, n_points: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what `make` does, from the folder that keeps it if there is one."""
    folder = os.environ.get("QUORATE_BENCH_POINTS")
    path = Path(folder or ".") / f"{shape.n_points}_{n_points}.npz"
    if folder and path.exists():
        with np.load(path) as arrays:
            return arrays["points"], arrays["group"].astype(np.int64), arrays["best"].astype(np.int64)
    points, group, best = make(shape, n_points)
    if folder:
        np.savez(path.with_suffix(".tmp.npz"), points=points, group=group.astype(np.int8), best=best.astype(np.int8))
        path.with_suffix(".tmp.npz").replace(path)
    return points, group, best


def main(path: str, names: list[str]) -> None:
    """Measure what is not in the file yet, and print the table."""
    part = float(os.environ.get("QUORATE_BENCH_SHARE", "1"))
    with Store(path, {"kind": "shapes", "version": 2}) as store:
        for name in names or SHAPES:
            if name not in store:
                measure(SHAPES[name], WARM_POINTS)
                store.add(name, measure(SHAPES[name], int(part * SHAPES[name].n_points)))
        steps = " | ".join(f"{step}, s (processor)" for step in STEPS)
        print(f"| shape | points | {steps} | all | published, other machine | NMI, best | NMI, found |")
        print("|---|---:|" + "---:|" * (len(STEPS) + 4))
        for name, one in store.items():
            spent = [(one[step], one[f"{step}, processor"]) for step in STEPS]
            cells = " | ".join(f"{clock:.1f} ({processor:.1f})" for clock, processor in [*spent, np.sum(spent, axis=0)])
            print(
                f"| {name} | {one['points']:,} | {cells} | {one['published']:,.0f} | {one['best']:.4f} "
                f"| {one['found']:.4f} |"
            )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
