"""`quorate bench`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quorate.algorithms.registry import METHODS
from quorate.benchmarking.comparison import REPORT, bench
from quorate.benchmarking.comparison_tables import SCORES, Comparison, score_table
from quorate.benchmarking.public_pools import Recipe
from quorate.cli.output import console, count, note, print_json, table
from quorate.errors import InputError


def run_bench(
    pools: Sequence[str],
    methods: Sequence[str],
    generators: Sequence[str],
    folder: str,
    settings: Mapping[str, Any],
    *,
    quiet: bool,
    json: bool,
) -> None:
    """Compare the methods, write the report, and print the table of the first ensemble size; `settings` of `bench`."""
    recipe, progress = Recipe(tuple(generators)) if generators else None, False if quiet else None
    comparison = bench(pools, named_methods(methods), folder, recipe=recipe, progress=progress, **settings)
    page = Path(folder) / REPORT / "report.html"
    if json:
        print_json(_as_json(comparison, str(page)))
        return
    if not quiet:
        shown = score_table(comparison, "max", best_k=False, n_members=comparison.sizes[0])
        console().print(table(shown.title, shown.header, shown.rows))
    if comparison.failures:
        note(f"{count(len(comparison.failures), 'measurement')} failed; the report shows why.", quiet=quiet)
    note(f"Written: {page}", quiet=quiet)


def parse_sizes(text: str) -> tuple[int, ...]:
    """Parse the sizes of ensembles: "10" or "10,20"."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() for part in parts):
        raise InputError(f"takes numbers such as 10 or 10,20; got {text!r}.", code="sizes", parameter="n_members")
    return tuple(map(int, parts))


def named_methods(methods: Sequence[str]) -> dict[str, str] | None:
    """Return methods by name: NAME=METHOD, or METHOD under its own name; None for all methods."""
    if not methods:
        return None
    named: dict[str, str] = {}
    for text in methods:
        name, equals, rest = text.partition("=")
        first, space, _ = name.partition(" ")
        # "weac linkage=single" is a method, "single link=weac linkage=single" names one.
        with_parameter = space and first in METHODS
        has_name = bool(equals) and not with_parameter and not any(char in name for char in ":{/")
        key = name if has_name else text.rpartition(":")[2] if ".py:" in text else text
        if key in named:
            raise InputError(
                f"gives two methods the name {key!r}.",
                code="same-name",
                parameter="method",
                hint="Choose another name: NAME=METHOD.",
            )
        named[key] = rest if has_name else text
    return named


def _as_json(comparison: Comparison, page: str) -> dict[str, object]:
    """Return mean scores at the number of classes, mean ranks and failures as values for JSON."""
    settings = []
    for size in comparison.sizes:
        for score in SCORES:
            ranking = comparison.ranking(score, n_members=size)
            means = comparison.means(score, n_members=size)
            settings.append(
                {
                    "score": score,
                    "members": size,
                    "means": {
                        method: {
                            pool: None if mean != mean else round(float(mean), 6)
                            for pool, mean in zip(comparison.pools, means[:, j], strict=True)
                        }
                        for j, method in enumerate(comparison.methods)
                    },
                    "mean_ranks": dict(zip(ranking.methods, ranking.mean_ranks.tolist(), strict=True)),
                }
            )
    return {"page": page, "settings": settings, "failures": comparison.failures}
