"""`quorate bench`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quorate.algorithms.registry import METHODS
from quorate.benchmarking.comparison import REPORT, bench
from quorate.benchmarking.comparison_tables import SCORES, Comparison, score_table
from quorate.benchmarking.public_pools import Recipe
from quorate.cli.output import console, note, print_json, table
from quorate.errors import QuorateError


@dataclass(frozen=True)
class Request:
    """What to compare, and how."""

    pools: tuple[str, ...]
    methods: tuple[str, ...]
    folder: str
    n_members: tuple[int, ...]
    draws: int
    best_k: bool
    seed: int
    timeout: float | None
    truth: str | None
    generators: tuple[str, ...]
    jobs: int


def run_bench(request: Request, *, quiet: bool, json: bool) -> None:
    """Compare, write the pages and print the table of the first setting."""
    found = bench(
        request.pools,
        named_methods(request.methods),
        request.folder,
        n_members=request.n_members,
        draws=request.draws,
        best_k=request.best_k,
        seed=request.seed,
        timeout=request.timeout,
        truth=request.truth,
        recipe=Recipe(request.generators) if request.generators else None,
        n_jobs=request.jobs,
        progress=False if quiet else None,
    )
    page = Path(request.folder) / REPORT / "report.html"
    if json:
        print_json(_plain(found, str(page)))
        return
    if not quiet:
        shown = score_table(found, "max", best_k=False, n_members=found.sizes[0])
        console().print(table(shown.title, shown.header, shown.rows))
    if found.failures:
        note(f"{len(found.failures)} measurements failed; the report says why.", quiet=quiet)
    note(f"Written: {page}", quiet=quiet)


def named_methods(methods: Sequence[str]) -> dict[str, str] | None:
    """Return methods by name: NAME=METHOD, or a METHOD that names itself; None for all there are."""
    if not methods:
        return None
    named: dict[str, str] = {}
    for text in methods:
        name, equals, rest = text.partition("=")
        first, space, _ = name.partition(" ")
        with_parameter = space and first in METHODS  # "weac linkage=single", not "single link=weac linkage=single"
        own = bool(equals) and not with_parameter and not any(sign in name for sign in ":{/")
        key = name if own else text.rpartition(":")[2] if ".py:" in text else text
        if key in named:
            raise QuorateError(f"Two methods are named {key!r}. Name them as in NAME=METHOD.")
        named[key] = rest if own else text
    return named


def _plain(found: Comparison, page: str) -> dict[str, object]:
    """Return mean scores at the number of classes, ranks and failures as plain values."""
    settings = []
    for size in found.sizes:
        for score in SCORES:
            ranking = found.ranking(score, n_members=size)
            means = found.means(score, n_members=size)
            settings.append(
                {
                    "score": score,
                    "members": size,
                    "means": {
                        method: {
                            pool: None if mean != mean else round(float(mean), 6)
                            for pool, mean in zip(found.pools, means[:, j], strict=True)
                        }
                        for j, method in enumerate(found.methods)
                    },
                    "mean_ranks": dict(zip(ranking.methods, ranking.mean_ranks.tolist(), strict=True)),
                }
            )
    return {"page": page, "settings": settings, "failures": found.failures}
