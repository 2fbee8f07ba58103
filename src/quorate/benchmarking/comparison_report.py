"""The pages of a comparison: Markdown, LaTeX, CSV, figures, and one HTML file with tables that can be sorted."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quorate._utils.optional_imports import import_extra
from quorate.benchmarking import comparison_tables
from quorate.benchmarking.comparison_tables import SCORES, Comparison, Ranking, Table
from quorate.benchmarking.results_folder import clear_disk_errors
from quorate.benchmarking.statistics import cliques
from quorate.tables.io import write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_report(comparison: Comparison, folder: Path) -> None:
    """Write the pages, tables and figures of a comparison to a folder."""
    with clear_disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        sections = list(_sections(comparison))
        for section in sections:
            for suffix, ending in (("svg", ".svg"), ("png", ".png")):
                if section.figure is not None:
                    section.figure.savefig(folder / f"{section.name}{ending}", format=suffix, dpi=150)
            for table in section.tables:
                write_text(folder / f"{section.name}_{_slug(table.title)}.tex", table.latex())
        comparison_tables.write_csv(folder / "measurements.csv", comparison_tables.measurement_rows(comparison))
        write_text(folder / "report.md", _markdown(comparison, sections))
        write_text(folder / "report.html", _html(comparison, sections, folder))


class Section(NamedTuple):
    """One setting of the comparison: tables, and a figure of the ranks if matplotlib is installed."""

    name: str
    title: str
    text: str
    tables: list[Table]
    figure: Figure | None


def _sections(comparison: Comparison) -> Iterator[Section]:
    for size in comparison.sizes:
        for best_k in (False, True) if comparison.has_best_k else (False,):
            for score in SCORES:
                ranking = comparison.ranking(score, best_k=best_k, n_members=size)
                table = comparison_tables.score_table(comparison, score, best_k=best_k, n_members=size)
                shown = [table]
                if len(ranking.methods) > 1:
                    shown.append(comparison_tables.duel_table(ranking))
                name = f"{score}_{'best' if best_k else 'true'}-k_{size}"
                yield Section(name, table.title, _tests(ranking), shown, draw_ranks(ranking, table.title))
        yield Section(
            f"cost_{size}",
            f"Time and memory, {size} members",
            "",
            [comparison_tables.cost_table(comparison, n_members=size)],
            None,
        )
    if comparison.failures:
        yield Section("failures", "Failures", "", [comparison_tables.failure_table(comparison)], None)


def _tests(ranking: Ranking) -> str:
    """Return the results of the tests as a sentence."""
    if ranking.friedman is None:
        return "Too few methods or pools for a test of differences."
    differ = "differ" if ranking.friedman.p_value < 0.05 else "do not differ significantly"
    return (
        f"Over {len(ranking.scores)} pools the {len(ranking.methods)} methods {differ} (Friedman test, p = "
        f"{ranking.friedman.p_value:.2g}). Mean ranks closer than {ranking.critical_difference:.2f} are not "
        "significantly different (Nemenyi test, 5 %)."
    )


def draw_ranks(ranking: Ranking, title: str) -> Figure | None:
    """Return the critical-difference diagram: mean ranks on a line, with bars over similar methods."""
    if ranking.critical_difference is None or len(ranking.methods) < 3:
        return None
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return None
    order = np.argsort(ranking.mean_ranks, kind="stable")
    ordered, names = ranking.mean_ranks[order], [ranking.methods[j] for j in order]
    half = (len(names) + 1) // 2
    bars = cliques(ordered, ranking.critical_difference)
    height = 1.2 + 0.24 * half + 0.12 * len(bars)
    figure = Figure(figsize=(8.5, height), layout="constrained")
    axes = figure.subplots()
    low, high = 1, len(names)
    depth = 0.5 + 0.35 * len(bars)
    axes.set(xlim=(low - 0.28 * (high - low), high + 0.28 * (high - low)), ylim=(-(depth + half + 0.5), 1.6))
    axes.axis("off")
    axes.set_title(title, loc="left", fontsize=10)
    axes.plot([low, high], [0, 0], color="black", linewidth=1)
    for tick in range(low, high + 1):
        axes.plot([tick, tick], [0, 0.2], color="black", linewidth=1)
        axes.text(tick, 0.3, str(tick), ha="center", va="bottom", fontsize=7)
    axes.plot([low, low + ranking.critical_difference], [1.3, 1.3], color="black", linewidth=2)
    axes.text(
        low + ranking.critical_difference,
        1.3,
        f"  critical difference {ranking.critical_difference:.2f}",
        va="center",
        fontsize=8,
    )
    for number, (first, last) in enumerate(bars):
        level = -(0.3 + 0.35 * number)
        axes.plot([ordered[first] - 0.05, ordered[last] + 0.05], [level, level], color="#c0392b", linewidth=3)
    for position, (name, rank) in enumerate(zip(names, ordered, strict=True)):
        left = position < half
        line = -(depth + (position if left else len(names) - 1 - position) + 0.5)
        edge = low - 0.02 * (high - low) if left else high + 0.02 * (high - low)
        axes.plot([rank, rank, edge], [0, line, line], color="gray", linewidth=0.7)
        axes.text(
            edge,
            line,
            f"{name}  {rank:.2f} " if left else f" {rank:.2f}  {name}",
            ha="right" if left else "left",
            va="center",
            fontsize=8,
        )
    return figure


def _introduction(comparison: Comparison) -> str:
    sizes, n_pools = " and ".join(map(str, comparison.sizes)), len(comparison.pools)
    pools = "1 pool" if n_pools == 1 else f"{n_pools} pools"
    return (
        f"{len(comparison.methods)} methods on {pools}, {comparison.draws} ensembles of {sizes} "
        "members drawn from each. Numbers are means over draws with standard deviations. Ranks and tests include the "
        "methods that have a number on every pool."
    )


def _markdown(comparison: Comparison, sections: list[Section]) -> str:
    text = f"# Comparison of consensus methods\n\n{_introduction(comparison)}\n"
    for section in sections:
        text += f"\n## {section.title}\n\n"
        if section.text:
            text += section.text + "\n\n"
        if section.figure is not None:
            text += f"![{section.title}]({section.name}.svg)\n\n"
        text += "\n".join(table.markdown() for table in section.tables)
    return text


def _html(comparison: Comparison, sections: list[Section], folder: Path) -> str:
    jinja2 = import_extra("jinja2", "The HTML report")
    markup = import_extra("markupsafe", "The HTML report").Markup
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((files("quorate.benchmarking") / "page.html").read_text(encoding="utf-8"))

    def drawn(section: Section) -> Any:
        if section.figure is None:
            return ""
        text = (folder / f"{section.name}.svg").read_text(encoding="utf-8")
        return markup(text[text.index("<svg") :])

    return str(template.render(introduction=_introduction(comparison), sections=sections, drawn=drawn))


def _slug(title: str) -> str:
    return "duels" if title.startswith("Pool by pool") else "scores" if " at the " in title else "table"
