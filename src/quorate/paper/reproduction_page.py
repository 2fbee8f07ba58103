"""The page on the reproduction: tables, figures and claims, written from the results folder."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from quorate._runtime.checkpoints import peek
from quorate._utils.checks import check_choice
from quorate.benchmarking.comparison_tables import markdown_table, write_csv
from quorate.benchmarking.results_folder import STORE, clear_disk_errors
from quorate.paper import markdown
from quorate.paper.choices import choice_name, claims_elsewhere, differences_elsewhere
from quorate.paper.claims import EXPLAINED, FAILS, HOLDS, OPEN, Summaries, check_claims
from quorate.paper.drawn_pools import drawing_seconds
from quorate.paper.experiments import measurements, timings
from quorate.paper.figures import save_figures, title
from quorate.paper.spec import EXPERIMENTS, Spec, select
from quorate.paper.summaries import BestK, Results, Summary, agreement, agreements, run_rows, summarize
from quorate.tables.io import write_text

_COMPLETE = "A number is shown once all its runs are there.\n\n"
COMMANDS = {"full": "quorate reproduce all FOLDER", "quick": "quorate reproduce all FOLDER --quick"}


def read_results(folder: str | PathLike[str], best_k: BestK = "run") -> Results:
    """Return what a results folder holds, even while a run is adding to it.

    Parameters
    ----------
    folder : str or path
    best_k : {"run", "dataset"}, default "run"
        Whether best-k is the best of each run or one k for all runs on a dataset.
    """
    check_choice("best_k", best_k, ("run", "dataset"))
    about, pieces = peek(Path(folder) / STORE)
    return Results(Spec.from_plain(about), pieces, best_k)


def write_report(
    folder: str | PathLike[str],
    page: str | PathLike[str] | None = None,
    *,
    beside: Sequence[str | PathLike[str]] = (),
    best_k: BestK = "run",
) -> Path:
    """Write the page on the reproduction, with its tables (CSV) and figures (PNG, SVG) beside it.

    Parameters
    ----------
    folder : str or path
        Results folder of `reproduce`, complete or not: the page says what is there.
    page : str or path, optional
        The Markdown page, by default report.md in the results folder; tables and figures go to the folder of the same
        name without the ending. The tables of all single runs are written to the results folder.
    beside : sequence of str or path, optional
        Results folders of other specs (another scaling, other generators): the page tells how near they come.
    best_k : {"run", "dataset"}, default "run"
        Whether best-k is the best of each run or one k for all runs on a dataset.

    Returns
    -------
    Path
        The page.
    """
    folder = Path(folder)
    results = read_results(folder, best_k)
    read = [read_results(other, best_k) for other in beside]
    others = {choice_name(results.spec, other.spec): summarize(other) for other in read}
    page = folder / "report.md" if page is None else Path(page)
    summaries = summarize(results)
    hours = drawing_seconds(folder) / 3600
    with clear_disk_errors(page.parent):
        assets = page.with_suffix("")
        assets.mkdir(parents=True, exist_ok=True)
        for name, rows in summaries.items():
            if rows:
                write_csv(assets / f"{name}.csv", map(_plain, rows))
        for name in EXPERIMENTS:
            write_csv(folder / f"runs_{name}.csv", run_rows(results, name))
        figures = save_figures(summaries, assets)
        write_text(page, compose_page(results, summaries, others, figures, assets.name, hours))
    return page


def _plain(row: Summary) -> dict[str, Any]:
    """Return a summary as a line of a table, with five decimals."""
    line = {**row._asdict(), "difference": row.difference}
    return {name: f"{value:.5f}" if isinstance(value, float) else value for name, value in line.items()}


def compose_page(
    results: Results,
    summaries: Summaries,
    others: Mapping[str, Summaries],
    figures: list[str],
    assets: str,
    drawing_hours: float,
) -> str:
    """Return the text of the page; `others` are the summaries of other choices, by name."""
    spec = results.spec
    parts = [_introduction(results, drawing_hours), _in_short(summaries)]
    parts.append("## What is complete\n\n" + _COMPLETE + progress_table(results))
    if summaries["compare"]:
        parts.append("## How near we come\n\n" + _agreement_section(summaries["compare"]))
    if others:
        parts.append("## Other choices, measured\n\n" + differences_elsewhere(spec, summaries["compare"], others))
    parts.append("## Claims\n\n" + _claims_section(results, summaries) + claims_elsewhere(spec, summaries, others))
    parts.append("## Table 1: the datasets\n\n" + markdown.datasets_table(spec))
    sections: dict[str, tuple[str, Any]] = {
        "parameters": ("Tables 2 and 3: parameters", markdown.parameter_tables),
        "base": ("Figure 2: consensus and members", markdown.base_table),
        "wins": ("Tables 4 and 5: winning percentages", markdown.win_tables),
        "compare": ("Tables 6 and 7: comparison of methods", lambda rows: markdown.compare_tables(rows, spec)),
        "ill": ("Figure 3: ill clusterings", markdown.ill_table),
        "time": ("Figure 4: time", markdown.time_table),
    }
    pictures = {"base": ["figure2"], "ill": ["figure3_best-k", "figure3_true-k"], "time": ["figure4"]}
    for name, (heading, table) in sections.items():
        if summaries[name]:
            shown = "".join(f"![{heading}]({assets}/{f}.png)\n\n" for f in pictures.get(name, []) if f in figures)
            parts.append(f"## {heading}\n\n{shown}{_notes(name, spec)}{table(summaries[name])}")
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _introduction(results: Results, drawing_hours: float) -> str:
    spec = results.spec
    sessions = [piece for key, piece in results.pieces.items() if key.startswith("session/")]
    versions = sessions[-1]["versions"] if sessions else {}
    wall = sum(piece["seconds"] for piece in sessions) / 3600
    spent = sum(piece["seconds"] for key, piece in results.pieces.items() if not key.startswith("session/")) / 3600
    text = f"""# The paper, reproduced

Huang, Lai, Wang: Combining Multiple Clusterings via Crowd Agreement Estimation and Multi-Granularity Link Analysis
(Neurocomputing 170, 2015), section 7. This page is written by `quorate reproduce report` from the results of

    {COMMANDS.get(spec.name, "paper.reproduce(FOLDER, spec)")}

Seed {spec.seed}; pools of {len(spec.generators) * spec.per_generator} members ({spec.per_generator} of each of \
{", ".join(spec.generators)}; features scaled: {spec.scale or "not"}); ensembles of {spec.n_members} members drawn \
without replacement, the same for all methods; {spec.runs} runs. Best-k is the best of {spec.grid[0]} to \
{spec.grid[-1]} and the number of classes, {"for each run" if results.best_k == "run" else "one k for all runs"}. \
Scores are NMI over the larger entropy (max), as the authors' program computes it and the published tables most likely \
did, unless marked sqrt (the paper's equation). Methods marked (max) use the same normalization in the crowd index \
too. ± is the standard deviation over runs. The pools are not the paper's: two of its four generators had to be \
reconstructed.

{markdown.SLOW_MARK} Slow by nature, so cut openly: ECMC (tolerance 1e-3, at most 200 iterations, one solve for its \
three linkages) and WCC have {spec.slow.runs} runs and k in {{classes, {", ".join(map(str, spec.slow.grid))}}}, and \
are not in the experiment on ill clusterings on {_listed(spec.slow.not_ill)}."""
    if spec.slow.left_out:
        text += f" As in the paper, they do not run on {_listed(spec.slow.left_out)} at all."
    text += (
        f"\n\nOne process would have taken {spent + drawing_hours:.1f} hours in all: {drawing_hours:.1f} to draw the "
        f"pools and {spent:.1f} to measure. {len(sessions)} pieces of the work came to their end, after {wall:.1f} "
        "hours of the clock; of those that were interrupted the clock is not kept"
    )
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return text + (f". Versions: {listed}.\n" if listed else ".\n")


def _in_short(summaries: Summaries) -> str:
    found = agreement(summaries["compare"], "sqrt", "max")
    verdicts = Counter(claim.verdict for claim in check_claims(summaries))
    text = (
        f"**In short:** of {verdicts.total()} statements of the paper, {verdicts[HOLDS]} hold here, {verdicts[FAILS]} "
        f"do not and {verdicts[OPEN]} were not measured."
    )
    near = (found.gp_mgla, found.weac_al, found.rank_correlation)
    if not any(map(math.isnan, near)):
        text += (
            " Over {} columns of the paper's comparison, GP-MGLA is {:.3f} and WEAC-AL {:.3f} off the published score "
            "on average, and the methods rank as published with a correlation of {:.2f}."
        ).format(found.columns, *near)
    return text + "\n"


def _listed(datasets: Iterable[str]) -> str:
    return " and ".join(title(name) for name in datasets)


def progress_table(results: Results) -> str:
    """Return how many of the planned measurements of each experiment and dataset are there, and what failed."""
    spec, lines = results.spec, []
    everything = select(spec)
    for experiment in EXPERIMENTS[:-1]:
        planned, done = Counter[str](), Counter[str]()
        for item in measurements(spec, experiment, everything):
            planned[item.dataset] += 1
            done[item.dataset] += item.key in results.pieces
        cells = ["all" if done[d] == n else f"{done[d]:,} of {n:,}" if done[d] else "–" for d, n in planned.items()]
        lines.append([experiment, *cells])
    timed = [item.key in results.pieces for item in timings(spec, everything)]
    lines.append(["time", *["–"] * len(spec.datasets)])
    lines[-1][1 + spec.datasets.index(spec.timing.dataset) if spec.timing.dataset in spec.datasets else 1] = (
        "all" if all(timed) else f"{sum(timed)} of {len(timed)}" if any(timed) else "–"
    )
    text = markdown_table(["measurements", *map(title, spec.datasets)], lines)
    failures = Counter(results.failures.values())
    if failures:
        text += "\nFailed: " + "; ".join(f"{n} x {why}" for why, n in failures.items()) + "\n"
    return text


def _agreement_section(compared: list[Summary]) -> str:
    judged = agreements(compared)
    return (
        "Mean absolute difference to the published value over the columns of Tables 6 and 7, and mean rank correlation "
        "(Spearman) of all methods of a column with the published ranking:\n\n"
        + markdown.agreement_table(judged)
        + "\nColumn by column, scores by max-NMI:\n\n"
        + markdown.own_columns_table(compared)
        + "\nRank correlation of the methods with the published ranking:\n\n"
        + markdown.rank_table(judged)
    )


def _claims_section(results: Results, summaries: Summaries) -> str:
    text = ""
    for preset, words in (
        ("sqrt", "as the paper's equations define the crowd index"),
        ("max", "as the authors' program"),
    ):
        explain = (results.spec, results.best_k, preset) == EXPLAINED
        claims = check_claims(summaries, preset=preset, explain=explain)
        verdicts = Counter(claim.verdict for claim in claims)
        text += (
            f'\nWith GP-MGLA and WEAC {words} (`normalize="{preset}"`): {verdicts[HOLDS]} hold, '
            f"{verdicts[FAILS]} do not.\n\n" + markdown.claims_table(claims)
        )
    return text.lstrip("\n")


def _notes(experiment: str, spec: Spec) -> str:
    """Return what to know before reading an experiment's numbers."""
    notes = {
        "parameters": "The paper does not say at which k; its numbers are near those of its Tables 6 and 7 at best-k. "
        "WEAC is taken with average link.\n",
        "base": "The paper's figure is a picture without numbers; it does not say at which k.\n\n",
        "ill": "The paper's figure is a picture without numbers; it does not say at which k. Dashed: crowd index by "
        "max-NMI.\n",
        "time": f"Seconds from the label matrix to labels on rows at k = {spec.timing.n_clusters}, mean of "
        f"{spec.timing.repeats} ensembles, all threads, compiled; members are drawn on a sample of each size. The "
        "paper used Matlab on another machine. ECMC and WCC are timed once per size.\n\n",
    }
    return notes.get(experiment, "")
