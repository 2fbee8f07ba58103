"""Summaries of measurements: means over runs, with the published numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from quorate._runtime.recent_cache import RecentCache
from quorate._utils.array_types import Floats
from quorate.benchmarking.results_folder import Piece
from quorate.benchmarking.scoring import SCORES
from quorate.datasets import load
from quorate.paper.experiments import MEMBERS, Measurement, experiment_methods, measurements, timings, variants
from quorate.paper.published import published_value
from quorate.paper.spec import MAX_PRESET, Method, Spec, select

BestK = Literal["run", "dataset"]
_N_CLASSES = RecentCache(100)  # by dataset


class Summary(NamedTuple):
    """The mean of one measurement over runs, with the published number."""

    experiment: str
    dataset: str
    method: str
    setting: str
    """The setting besides the method: parameters, ratio of ill clusterings, or number of rows."""
    k: str
    """best-k, true-k or same-k."""
    score: str
    """NMI normalized by sqrt or max; percentages of wins by either; seconds."""
    runs: int
    mean: float
    spread: float
    """Standard deviation over runs."""
    published: float | None

    @property
    def difference(self) -> float | None:
        """Our number minus the published one."""
        return None if self.published is None else self.mean - self.published


@dataclass(frozen=True)
class Results:
    """All measurements of a results folder, with their spec."""

    spec: Spec
    pieces: Mapping[str, Piece]
    best_k: BestK = "run"
    """Whether best-k is chosen for each run, or one k for each dataset and method (by the mean over runs)."""

    @cached_property
    def datasets(self) -> tuple[str, ...]:
        """The datasets with at least one measurement."""
        started = {key.split("/")[0] for key in self.pieces}
        return tuple(name for name in self.spec.datasets if name in started)

    def of(self, dataset: str, method: Method | None, ratio: float = 0.0, same_k: bool = False) -> dict[int, Piece]:
        """Return the successful measurements of a method on a dataset, by run; none before all runs are complete.

        Means over a part of the runs would use other ensembles than those of other methods.
        """
        runs = self.spec.runs if method is None else self.spec.runs_of(method)
        keys = {run: Measurement(dataset, ratio, run, method, same_k).key for run in range(runs)}
        # A mean over some of the runs would be over other ensembles than those of other methods.
        if any(key not in self.pieces for key in keys.values()):
            return {}
        return {run: self.pieces[key] for run, key in keys.items() if self.pieces[key]["status"] == "ok"}

    def scores(self, dataset: str, method: Method, score: str, ratio: float = 0.0) -> dict[str, Floats]:
        """Return the scores at best-k and at true-k, one per run."""
        pieces = list(self.of(dataset, method, ratio).values())
        if not pieces:
            return {}
        over_k = np.array([piece[score] for piece in pieces])
        # Best k of each run, as in the paper, or one k for all runs.
        best = over_k.max(axis=1) if self.best_k == "run" else over_k[:, np.argmax(over_k.mean(axis=0))]
        return {"best-k": best, "true-k": over_k[:, pieces[0]["k"].index(n_classes(dataset))]}

    def member_scores(self, dataset: str, score: str) -> Floats:
        """(runs, M) scores of the members of each run."""
        return np.array([piece[score] for piece in self.of(dataset, None).values()])

    @property
    def failures(self) -> dict[str, str]:
        """The message of each failed measurement."""
        return {key: piece["status"] for key, piece in self.pieces.items() if piece["status"] != "ok"}


def n_classes(dataset: str) -> int:
    """Return the number of classes of a dataset."""
    return _N_CLASSES.get(dataset, lambda: load(dataset).n_classes)


def summarize(results: Results) -> dict[str, list[Summary]]:
    """Return the summaries of the completed measurements of every experiment."""
    return {
        "compare": list(_compare(results)),
        "parameters": list(_parameters(results)),
        "base": list(_base(results)),
        "wins": list(_wins(results)),
        "ill": list(_ill(results)),
        "time": list(_time(results)),
    }


def summary(key: tuple[str, str, str, str, str, str], values: Floats, published: float | None = None) -> Summary:
    """Return mean and spread of some values under (experiment, dataset, method, setting, k, score)."""
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return Summary(*key, len(values), float(values.mean()), spread, published)


def _compare(results: Results) -> Iterator[Summary]:
    """Yield Tables 6 and 7."""
    for dataset in results.datasets:
        for method in experiment_methods(results.spec, "compare"):
            for score in SCORES:
                for k, values in results.scores(dataset, method, score).items():
                    value = published_value("compare_ce", dataset, method.plain_name, k)
                    yield summary(("compare", dataset, method.name, "", k, score), values, value)


def _parameters(results: Results) -> Iterator[Summary]:
    """Yield Tables 2 and 3; the paper does not specify k."""
    for dataset in results.datasets:
        for method in results.spec.methods:
            if not method.own:
                continue
            table = "para_gp_mgla" if method.plain_name == "GP-MGLA" else "para_weac"
            name = method.plain_name.removesuffix("-AL")
            for setting, variant in variants(results.spec, method).items():
                value = published_value(table, dataset, name, setting)
                for score in SCORES:
                    for k, values in results.scores(dataset, variant, score).items():
                        yield summary(("parameters", dataset, method.name, setting, k, score), values, value)


def _base(results: Results) -> Iterator[Summary]:
    """Yield Figure 2: the proposed methods and the best, the mean and the worst member."""
    for dataset in results.datasets:
        for score in SCORES:
            members = results.member_scores(dataset, score)
            if len(members) == 0:
                continue
            for name, values in (
                ("Max(base)", members.max(axis=1)),
                ("Avg(base)", members.mean(axis=1)),
                ("Min(base)", members.min(axis=1)),
            ):
                yield summary(("base", dataset, name, "", "", score), values)
            for method in experiment_methods(results.spec, "base"):
                for k, values in results.scores(dataset, method, score).items():
                    yield summary(("base", dataset, method.name, "", k, score), values)


def _wins(results: Results) -> Iterator[Summary]:
    """Yield Tables 4 and 5: percentage of members that the consensus beats."""
    for dataset in results.datasets:
        for method in experiment_methods(results.spec, "wins"):
            members = results.of(dataset, None)
            same = results.of(dataset, method, same_k=True)
            for score in SCORES:
                best = results.scores(dataset, method, score).get("best-k", np.array([]))
                of_members = results.member_scores(dataset, score)
                if len(best) == len(of_members) > 0:
                    value = published_value("win_percent_bestk", dataset, method.plain_name, "best-k")
                    values = win_percentage(best[:, None], of_members)
                    yield summary(("wins", dataset, method.name, "", "best-k", score), values, value)
                both = [run for run in same if run in members]
                if both:
                    value = published_value("win_percent_samek", dataset, method.plain_name, "same-k")
                    ours = np.array([same[run][score] for run in both])
                    theirs = np.array([members[run][score] for run in both])
                    values = win_percentage(ours, theirs)
                    yield summary(("wins", dataset, method.name, "", "same-k", score), values, value)


def win_percentage(ours: Floats, members: Floats) -> Floats:
    """Return the (runs,) percentage of comparisons won; a tie counts half."""
    won = (ours > members).astype(float) + 0.5 * (ours == members)
    return 100 * won.mean(axis=1)


def _ill(results: Results) -> Iterator[Summary]:
    """Yield Figure 3."""
    for dataset in results.datasets:
        for ratio in results.spec.ill_ratios:
            for method in experiment_methods(results.spec, "ill"):
                if method.slow and dataset in results.spec.slow.not_ill:
                    continue
                for score in SCORES:
                    for k, values in results.scores(dataset, method, score, ratio).items():
                        yield summary(("ill", dataset, method.name, f"{ratio:g}", k, score), values)


def _time(results: Results) -> Iterator[Summary]:
    """Yield Figure 4; the paper prints seconds for the largest size."""
    timing = results.spec.timing
    names = ["NCAI", *(method.name for method in experiment_methods(results.spec, "time"))]
    for n_rows in timing.sizes:
        for name in names:
            pieces = (results.pieces.get(f"time/n={n_rows}/repeat={i}/{name}") for i in range(timing.repeats))
            seconds = np.array([piece["seconds"] for piece in pieces if piece and piece["status"] == "ok"])
            if len(seconds):
                value = published_value("time", timing.dataset, name, f"n={n_rows};M={results.spec.n_members}")
                yield summary(("time", timing.dataset, name, str(n_rows), "", "seconds"), seconds, value)


class Agreement(NamedTuple):
    """The agreement of our numbers with the published ones."""

    preset: str
    """Normalization of NMI in the NCAI of the two proposed methods."""
    score: str
    columns: int
    gp_mgla: float
    """Mean absolute difference over the columns of Tables 6 and 7."""
    weac_al: float
    rank_correlations: dict[str, float]
    """Spearman's rank correlation of the methods of each column with the published ranking."""

    @property
    def rank_correlation(self) -> float:
        """Mean over the columns."""
        return float(np.mean(list(self.rank_correlations.values()))) if self.rank_correlations else float("nan")


def agreements(compared: list[Summary]) -> list[Agreement]:
    """Return the agreement with Tables 6 and 7, for both presets and both normalizations of the score."""
    return [agreement(compared, preset, score) for preset in SCORES for score in reversed(SCORES)]


def agreement(compared: list[Summary], preset: str, score: str) -> Agreement:
    """Return the agreement with Tables 6 and 7, for one preset and one normalization of the score."""
    chosen = [row for row in in_preset(compared, preset) if row.score == score and row.published is not None]
    differences = {
        name: [abs(row.difference) for row in chosen if row.method == name and row.difference is not None]
        for name in ("GP-MGLA", "WEAC-AL")
    }
    correlations = {}
    for dataset, k in dict.fromkeys((row.dataset, row.k) for row in chosen):
        column = [row for row in chosen if (row.dataset, row.k) == (dataset, k)]
        if len(column) > 2:
            correlations[f"{dataset} {k}"] = rank_correlation(
                [row.mean for row in column], [row.published for row in column]
            )
    means = {name: float(np.mean(values)) if values else float("nan") for name, values in differences.items()}
    n_columns = len(differences["GP-MGLA"])
    return Agreement(preset, score, n_columns, means["GP-MGLA"], means["WEAC-AL"], correlations)


def in_preset(rows: list[Summary], preset: str) -> list[Summary]:
    """Return the rows with the two proposed methods in one preset, under their plain names."""
    marked = {row.method.removesuffix(MAX_PRESET) for row in rows if row.method.endswith(MAX_PRESET)}
    if preset == "sqrt":
        return [row for row in rows if not row.method.endswith(MAX_PRESET)]
    return [row._replace(method=row.method.removesuffix(MAX_PRESET)) for row in rows if row.method not in marked]


def rank_correlation(ours: list[Any], theirs: list[Any]) -> float:
    """Return Spearman's rank correlation; 0 if one side does not vary."""
    from scipy.stats import rankdata

    x, y = rankdata(np.round(ours, 3)), rankdata(theirs)
    if x.std() == 0 or y.std() == 0:
        return 0.0
    return float(np.corrcoef(x, y)[0, 1])


def run_rows(results: Results, experiment: str) -> Iterator[dict[str, Any]]:
    """Yield one row per dataset, method, setting and run of an experiment, with scores and seconds."""
    spec = results.spec
    everything = select(spec)
    if experiment == "time":
        for timed in timings(spec, everything):
            if timed.key in results.pieces:
                name = "NCAI" if timed.method is None else timed.method.name
                facts = (experiment, spec.timing.dataset, name, str(timed.n_rows), timed.repeat)
                yield _row(facts, results.pieces[timed.key])
        return
    for item in measurements(spec, experiment, everything):
        if item.key in results.pieces:
            setting = f"ill={item.ratio:g}" + (" same-k" if item.same_k else "")
            name = MEMBERS if item.method is None else item.method.name
            yield _row((experiment, item.dataset, name, setting, item.run), results.pieces[item.key])


def _row(facts: tuple[str, str, str, str, int], piece: Piece) -> dict[str, Any]:
    """Return a measurement as a row of a table; members and cuts at the same k have only a mean."""
    experiment, dataset, method, setting, run = facts
    row: dict[str, Any] = {
        "experiment": experiment,
        "dataset": dataset,
        "method": method,
        "setting": setting,
        "run": run,
        "status": piece["status"],
        "seconds": piece["seconds"],
    }
    for score in SCORES:
        values = piece.get(score, [])
        over_grid = bool(values) and method != MEMBERS and "same-k" not in setting
        row[f"best_{score}"] = max(values) if over_grid else ""
        row[f"best_k_{score}"] = piece["k"][int(np.argmax(values))] if over_grid else ""
        row[f"true_{score}"] = values[piece["k"].index(n_classes(dataset))] if over_grid else ""
        row[f"mean_{score}"] = round(float(np.mean(values)), 6) if values else ""
    return row
