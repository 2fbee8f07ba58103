"""The leaderboard: every method on every public pool, at the number of classes and at the best k.

`python -m benchmarks.leaderboard [RESULTS] [--only PART] [--jobs N]` goes on with what RESULTS (by default
`.cache/leaderboard`) holds; with `--page docs/leaderboard.md` it writes the page from the rounds of draws that are
complete. The pools are those beside the repository, in ../shared/ensembles. The parts have a results folder each; the
ensembles of a size and a draw are the same in all of them.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import quorate as qt
from quorate._support.resume import peek
from quorate.bench.run import read_comparison
from quorate.bench.store import STORE
from quorate.bench.tables import SCORES, Comparison, markdown_table
from quorate.consensus.registry import METHODS

SHARED = Path(__file__).resolve().parents[2] / "shared"
RESULTS = Path(".cache/leaderboard")
SLOW = ("pta", "ptgp", "srs", "wcc")
LEFT_OUT = ("ecmc",)  # half a minute on the smallest pools
GRID = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40)
# Settings of the prototype whose figures benchmarks.quality compares with, where they are not the defaults.
AS_SPECIFIED = {
    **{f"{method} as specified": f"{method} start=heaviest" for method in ("lwgp", "lce", "hbgf", "cspa")},
    "gp-mgla as specified": "gp-mgla start=heaviest normalise=max",
    "weac as specified": "weac normalise=max",
    "median as specified": "benchmarks.quality:median_of_any_k",
}
# Names in the published table (TKDE 2016, Table 9) of methods that are here.
PUBLISHED = {
    "pta": "PTA-AL",
    "pta linkage=complete": "PTA-CL",
    "pta linkage=single": "PTA-SL",
    "ptgp": "PTGP",
    "weac": "WEAC-AL",
    "gp-mgla": "GP-MGLA",
    "eac": "EAC-AL",
    "hbgf": "HBGF",
    "wct": "WCT-AL",
    "srs": "SRS-AL",
    "cspa": "CSPA",
    "mcla": "MCLA",
}


def public_pools() -> list[Path]:
    """Return the pools of 100 and 200 members that their authors published."""
    paths = [path for path in (SHARED / "ensembles").glob("*.npz") if path.stem.startswith(("lwea_", "pta_"))]
    return sorted(paths, key=lambda path: path.stat().st_size)


@dataclass(frozen=True)
class Part:
    """Some methods on ensembles of some sizes."""

    sizes: tuple[int, ...]
    draws: int
    slow: bool = False
    best_k: bool = False
    timeout: float = 300.0
    """Seconds for one ensemble, at all numbers of clusters."""

    @property
    def methods(self) -> dict[str, str]:
        """All methods at their defaults, and with the settings that other figures exist of; quick or slow ones."""
        if self.slow:
            return {name: name for name in (*SLOW, "pta linkage=complete", "pta linkage=single")}
        return {name: name for name in METHODS if name not in (*SLOW, *LEFT_OUT)} | AS_SPECIFIED


PARTS = {
    "true-10": Part((10,), 20),
    "slow-10": Part((10,), 3, slow=True),
    "true-20": Part((20,), 20),
    "best": Part((10, 20), 20, best_k=True, timeout=60.0),
}


def run(folder: Path, name: str, jobs: int) -> None:
    """Measure a part, or go on measuring."""
    part = PARTS[name]
    qt.bench(
        public_pools(),
        part.methods,
        folder / name,
        n_members=part.sizes,
        draws=part.draws,
        best_k=GRID if part.best_k else False,
        timeout=part.timeout,
        n_jobs=jobs,
    )


def read(folder: Path) -> Comparison:
    """Return the measurements, with as many draws as all methods have on all pools."""
    about, pieces = peek(folder / STORE)
    found = read_comparison(about, pieces)
    rounds = 0
    while rounds < found.draws and _whole_round(found, rounds):
        rounds += 1
    return replace(found, draws=rounds)


def _whole_round(found: Comparison, draw: int) -> bool:
    return all(
        f"{pool}/M={size}/draw={draw}/{method}" in found.pieces
        for pool in found.pools
        for size in found.sizes
        for method in found.methods
    )


def standings(found: Comparison, size: int) -> str:
    """Return mean scores and ranks at both k, a line per method, best rank at the number of classes first."""
    header = ["method", "mean rank", "NMI (max)", "ARI", "best k: mean rank", "NMI (max)", "seconds", "pools done"]
    true, best = (found.ranking("max", best_k=best_k, n_members=size) for best_k in (False, True))
    ranks = [dict(zip(r.methods, r.mean_ranks, strict=True)) for r in (true, best)]
    means = [
        found.means(score, best_k=b, n_members=size) for score, b in (("max", False), ("ari", False), ("max", True))
    ]
    seconds = found.values("seconds", n_members=size)
    lines = []
    for j, name in enumerate(found.methods):
        done = ~np.isnan(means[0][:, j])
        shown = [_figure(values[:, j].mean()) for values in means]
        took = np.nanmedian(seconds[:, j]) if done.any() else float("nan")
        rank, best_rank = (_figure(r.get(name, float("nan")), 2) for r in ranks)
        order = ranks[0].get(name, np.inf)
        line = [name, rank, shown[0], shown[1], best_rank, shown[2], _figure(took, 3), f"{done.sum()}/{len(done)}"]
        lines.append((order, line))
    return markdown_table(header, [line for _, line in sorted(lines, key=lambda pair: pair[0])])


def _figure(value: float, digits: int = 3) -> str:
    return "–" if np.isnan(value) or np.isinf(value) else f"{value:.{digits}f}"


def beside_published(found: Comparison) -> str:
    """Return our means on the PTA pools beside those of TKDE 2016, Table 9 (ensembles of 10 members, 100 draws)."""
    with (SHARED / "paper" / "tkde2016_table9.csv").open() as file:
        published = {(row["pool"], row["method"], row["k"]): float(row["nmi"]) for row in csv.DictReader(file)}
    lines = []
    for j, method in enumerate(found.methods):
        for best_k in (False, True):
            means = found.means("max", best_k=best_k, n_members=10)
            pairs = [
                (means[i, j], published[key])
                for i, pool in enumerate(found.pools)
                if pool.startswith("pta_")
                and (key := (pool.removeprefix("pta_"), PUBLISHED.get(method, ""), "best" if best_k else "true"))
                in published
                and not np.isnan(means[i, j])
            ]
            if pairs:
                ours, theirs = np.array(pairs).T
                cells = [
                    method,
                    "best" if best_k else "true",
                    str(len(pairs)),
                    _figure(ours.mean()),
                    _figure(theirs.mean()),
                ]
                lines.append([*cells, _figure(np.abs(ours - theirs).mean())])
    return markdown_table(["method", "k", "pools", "ours", "published", "mean absolute difference"], lines)


def compose(found: Comparison) -> str:
    """Return the page."""
    text = (
        "# Leaderboard\n\n"
        f"{len(found.methods)} methods at their defaults on {len(found.pools)} public pools of base clusterings "
        f"(LWEA_LWGP and PTA_PTGP, by their authors), {found.draws} ensembles drawn from each. Scores are means over "
        "pools and draws, ranks are over the methods that have a number on every pool; one that ran out of time on "
        "some pool has none. Best k is the best of the number of classes and of "
        f"{', '.join(map(str, GRID))} clusters, judged by the classes. Seconds are medians in one "
        "thread, compilation excluded, on a machine that was busy with other work: compare them with each other only. "
        "Repeat with `python -m benchmarks.leaderboard`.\n"
    )
    for size in found.sizes:
        ranking = found.ranking("max", n_members=size)
        text += f"\n## {size} members\n\n{standings(found, size)}\n"
        if ranking.friedman is not None:
            text += (
                f"Friedman: p = {ranking.friedman.p_value:.1g}. Mean ranks less than {ranking.critical_difference:.2f} "
                "apart are not told apart (Nemenyi, 5 %).\n"
            )
    text += "\n## Beside the published figures\n\nTKDE 28(5) 2016, Table 9: 10 members, 100 draws, NMI (max).\n\n"
    text += beside_published(found)
    for size in found.sizes:
        for score in ("max",):
            text += f"\n## {SCORES[score]} by pool, number of classes, {size} members\n\n{by_pool(found, score, size)}"
    failed = sorted({(key.split("/", 3)[3], key.split("/")[0], status) for key, status in found.failures.items()})
    if failed:
        text += "\n## What did not finish\n\n" + markdown_table(["method", "pool", "message"], failed)
    return text


def by_pool(found: Comparison, score: str, size: int) -> str:
    """Return a line per method and a column per pool."""
    means = found.means(score, n_members=size)
    names = [pool.replace("lwea_", "").replace("pta_", "p:") for pool in found.pools]
    lines: Iterable[list[str]] = (
        [method, *(_figure(value) for value in means[:, j])] for j, method in enumerate(found.methods)
    )
    return markdown_table(["method", *names], lines)


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=RESULTS)
    parser.add_argument("--only", choices=list(PARTS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    if options.page is None:
        for name in [options.only] if options.only else PARTS:
            run(options.folder, name, options.jobs)
    else:
        options.page.write_text(compose(read(options.folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
