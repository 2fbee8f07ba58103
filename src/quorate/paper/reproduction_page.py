"""The report on the reproduction: tables, figures and claims, made from a results folder."""

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

_COMPLETE = "A number is shown when all its runs are complete.\n\n"
COMMANDS = {"full": "quorate reproduce all FOLDER", "quick": "quorate reproduce all FOLDER --quick"}


def read_results(folder: str | PathLike[str], best_k: BestK = "run") -> Results:
    """Read a results folder, even while a run is adding to it.

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
    compare_with: Sequence[str | PathLike[str]] = (),
    best_k: BestK = "run",
) -> Path:
    """Write the report on the reproduction, with its tables (CSV) and figures (PNG, SVG).

    Parameters
    ----------
    folder : str or path
        Results folder of `reproduce`, complete or not; the page lists the completed measurements.
    page : str or path, optional
        The Markdown page, by default report.md in the results folder; tables and figures go to the folder of the same
        name without the ending. The tables of all single runs are written to the results folder.
    compare_with : sequence of str or path, optional
        Results folders of other specs (another scaling, other generators), which the page compares.
    best_k : {"run", "dataset"}, default "run"
        Whether best-k is the best of each run or one k for all runs on a dataset.

    Returns
    -------
    Path
        The page.
    """
    folder = Path(folder)
    results = read_results(folder, best_k)
    read = [read_results(other, best_k) for other in compare_with]
    # Other specs are named by what differs from ours.
    others = {choice_name(results.spec, other.spec): summarize(other) for other in read}
    page = folder / "report.md" if page is None else Path(page)
    summaries = summarize(results)
    hours = drawing_seconds(folder) / 3600
    with clear_disk_errors(page.parent):
        # Tables and figures go next to the page, under its name.
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
    """Return a summary as a row of a table, with five decimals."""
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
    parts = [_introduction(results, drawing_hours), _summary(summaries)]
    parts.append("## Completed measurements\n\n" + _COMPLETE + progress_table(results))
    if summaries["compare"]:
        parts.append("## Agreement with the published numbers\n\n" + _agreement_section(summaries["compare"]))
    if others:
        parts.append("## Other choices\n\n" + differences_elsewhere(spec, summaries["compare"], others))
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
        # Sections of experiments that were not run are omitted.
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
    text = f"""# Reproduction of the paper

Huang, Lai, Wang: Combining Multiple Clusterings via Crowd Agreement Estimation and Multi-Granularity Link Analysis
(Neurocomputing 170, 2015), section 7. `quorate reproduce report` writes this page from the results of

    {COMMANDS.get(spec.name, "paper.reproduce(FOLDER, spec)")}

Seed {spec.seed}; pools of {len(spec.generators) * spec.per_generator} members ({spec.per_generator} of each of \
{", ".join(spec.generators)}; features scaled: {spec.scale or "not"}); ensembles of {spec.n_members} members drawn \
without replacement, the same for all methods; {spec.runs} runs. Best-k is the best of {spec.grid[0]} to \
{spec.grid[-1]} and the number of classes, {"for each run" if results.best_k == "run" else "one k for all runs"}. \
Scores are NMI over the larger entropy (max), as in the authors' program and most likely in the published tables, \
unless marked sqrt (the paper's equation). Methods marked (max) use the same normalization in the NCAI. \
± is the standard deviation over runs. The pools are not the paper's: two of its four generators had to be \
reconstructed.

{markdown.SLOW_MARK} Slow methods with fewer runs: ECMC (tolerance 1e-3, at most 200 iterations, one solve for its \
three linkages) and WCC are run {spec.slow.runs} times, with k in {{classes, \
{", ".join(map(str, spec.slow.grid))}}}, and not on {_listed(spec.slow.not_ill)} in the experiment on ill \
clusterings."""
    if spec.slow.left_out:
        text += f" As in the paper, they are not run on {_listed(spec.slow.left_out)}."
    text += (
        f"\n\nTotal time of one process: {spent + drawing_hours:.1f} hours, of which {drawing_hours:.1f} to generate "
        f"the pools and {spent:.1f} to run the methods. {len(sessions)} completed runs took {wall:.1f} hours of wall "
        "time; interrupted runs are not counted"
    )
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return text + (f". Versions: {listed}.\n" if listed else ".\n")


def _summary(summaries: Summaries) -> str:
    overall = agreement(summaries["compare"], "sqrt", "max")
    verdicts = Counter(claim.verdict for claim in check_claims(summaries))
    text = (
        f"**Summary:** of {verdicts.total()} statements of the paper, {verdicts[HOLDS]} hold here, {verdicts[FAILS]} "
        f"do not and {verdicts[OPEN]} were not measured."
    )
    figures = (overall.gp_mgla, overall.weac_al, overall.rank_correlation)
    if not any(map(math.isnan, figures)):
        text += (
            " Over {} columns of the paper's comparison, GP-MGLA differs from the published score by {:.3f} and "
            "WEAC-AL by {:.3f} on average. The rank correlation of the methods with the published ranking is {:.2f}."
        ).format(overall.columns, *figures)
    return text + "\n"


def _listed(datasets: Iterable[str]) -> str:
    return " and ".join(title(name) for name in datasets)


def progress_table(results: Results) -> str:
    """Return the number of completed and planned measurements of each experiment and dataset, and the failures."""
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
    for preset, source in (
        ("sqrt", "as the paper's equations define the NCAI"),
        ("max", "as the authors' program"),
    ):
        explain = (results.spec, results.best_k, preset) == EXPLAINED
        claims = check_claims(summaries, preset=preset, explain=explain)
        verdicts = Counter(claim.verdict for claim in claims)
        text += (
            f'\nWith GP-MGLA and WEAC {source} (`normalize="{preset}"`): {verdicts[HOLDS]} hold, '
            f"{verdicts[FAILS]} do not.\n\n" + markdown.claims_table(claims)
        )
    return text.lstrip("\n")


def _notes(experiment: str, spec: Spec) -> str:
    """Return the note above the numbers of an experiment."""
    notes = {
        "parameters": "The paper does not say at which k; its numbers are near those of its Tables 6 and 7 at best-k. "
        "WEAC is taken with average link.\n",
        "base": "The paper's figure is a picture without numbers; it does not say at which k.\n\n",
        "ill": "The paper's figure is a picture without numbers; it does not say at which k. Dashed: NCAI by "
        "max-NMI.\n",
        "time": f"Seconds from the label matrix to labels on rows at k = {spec.timing.n_clusters}, mean of "
        f"{spec.timing.repeats} ensembles, all threads, compiled; members are drawn on a sample of each size. The "
        "paper used Matlab on another machine. ECMC and WCC are timed once per size.\n\n",
    }
    return notes.get(experiment, "")
