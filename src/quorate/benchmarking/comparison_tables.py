"""The tables of a comparison: means, spreads, ranks and tests, as values and as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from quorate._runtime.workers import TIMED_OUT
from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_choice
from quorate.benchmarking import statistics
from quorate.benchmarking.results_folder import Piece, clear_disk_errors
from quorate.errors import InputError
from quorate.tables.io import write_text

SCORES = {"max": "NMI (max)", "sqrt": "NMI (sqrt)", "ari": "ARI"}
"""The scores and their titles."""
METHOD = "method/"
"""Prefix of the keys of methods in the store."""


@dataclass(frozen=True)
class Comparison:
    """All measurements of a comparison, and its tables.

    Arrays have a row per pool and a column per method, in the order of `pools` and `methods`. A number is NaN unless
    all draws of its cell succeeded. Ranks and tests include the methods that have a number on every pool.
    """

    pools: tuple[str, ...]
    sizes: tuple[int, ...]
    """Numbers of members of the ensembles."""
    draws: int
    pieces: Mapping[str, Piece]

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """The methods that were compared."""
        return tuple(key.removeprefix(METHOD) for key in self.pieces if key.startswith(METHOD))

    @property
    def failures(self) -> dict[str, str]:
        """The message of each failed measurement."""
        return {key: piece["status"] for key, piece in self.pieces.items() if piece.get("status", "ok") != "ok"}

    @property
    def has_best_k(self) -> bool:
        """Whether numbers of clusters other than the number of classes were tried."""
        return any(len(piece.get("k", ())) > 1 for piece in self.pieces.values())

    def values(self, score: str = "max", *, best_k: bool = False, n_members: int | None = None) -> Floats:
        """Return (pools, methods, draws) scores, or "seconds" or "memory"; NaN where a measurement is missing.

        Parameters
        ----------
        score : {"max", "sqrt", "ari", "seconds", "memory"}
        best_k : bool, default False
            Whether to take the best score over the numbers of clusters instead of the score at the number of classes.
        n_members : int, optional
            The size of the ensembles. Default: the first.
        """
        check_choice("score", score, (*SCORES, "seconds", "memory"))
        size = self.sizes[0] if n_members is None else n_members
        if size not in self.sizes:
            raise InputError(
                f"must be one of {', '.join(map(str, self.sizes))}; got {size}.", code="choice", parameter="n_members"
            )
        values = np.full((len(self.pools), len(self.methods), self.draws), np.nan)
        for i, pool in enumerate(self.pools):
            for j, method in enumerate(self.methods):
                for draw in range(self.draws):
                    piece = self.pieces.get(f"{pool}/M={size}/draw={draw}/{method}", {})
                    values[i, j, draw] = _value(piece, score, best_k)
        return values

    def means(self, score: str = "max", *, best_k: bool = False, n_members: int | None = None) -> Floats:
        """Return (pools, methods) means over draws."""
        return self.values(score, best_k=best_k, n_members=n_members).mean(axis=2)

    def spreads(self, score: str = "max", *, best_k: bool = False, n_members: int | None = None) -> Floats:
        """Return (pools, methods) standard deviations over draws."""
        values = self.values(score, best_k=best_k, n_members=n_members)
        return values.std(axis=2, ddof=1) if self.draws > 1 else np.zeros(values.shape[:2])

    def complete(self, score: str = "max", *, best_k: bool = False, n_members: int | None = None) -> tuple[str, ...]:
        """Return the methods that have a number on every pool."""
        return self.ranking(score, best_k=best_k, n_members=n_members).methods

    def ranking(self, score: str = "max", *, best_k: bool = False, n_members: int | None = None) -> Ranking:
        """Return the mean ranks of the complete methods over pools, and the tests of their differences."""
        means = self.means(score, best_k=best_k, n_members=n_members)
        complete = ~np.isnan(means).any(axis=0)
        return Ranking(tuple(np.array(self.methods, dtype=object)[complete]), means[:, complete])


def _value(piece: Mapping[str, Any], score: str, best_k: bool) -> float:
    if piece.get("status") != "ok":
        return float("nan")
    if score in ("seconds", "memory"):
        return float("nan") if piece[score] is None else float(piece[score])
    return float(max(piece[score]) if best_k else piece[score][piece["k"].index(piece["classes"])])


@dataclass(frozen=True)
class Ranking:
    """The methods that have a number on every pool, with their ranks and tests."""

    methods: tuple[str, ...]
    scores: Floats
    """(pools, methods)."""

    @cached_property
    def mean_ranks(self) -> Floats:
        """(methods,) mean rank over pools, 1 the best."""
        return statistics.ranks(self.scores).mean(axis=0) if self.methods else np.empty(0)

    @cached_property
    def friedman(self) -> statistics.Friedman | None:
        """Friedman's test of whether any method differs."""
        return statistics.friedman(self.scores) if self.methods else None

    @cached_property
    def critical_difference(self) -> float | None:
        """The smallest significant difference of mean ranks at the 5 % level (Nemenyi)."""
        n_pools, n_methods = self.scores.shape
        return statistics.critical_difference(n_methods, n_pools) if n_methods > 1 and n_pools > 1 else None

    @cached_property
    def p_values(self) -> Floats:
        """(methods, methods) Wilcoxon's signed-rank tests of pairs, adjusted by Holm."""
        return statistics.wilcoxon_holm(self.scores)

    @cached_property
    def wins(self) -> Ints:
        """(methods, methods, 3) numbers of pools on which the first method wins, ties and loses against the second."""
        return statistics.wins_ties_losses(self.scores)


@dataclass(frozen=True)
class Table:
    """A table of text cells; the first column holds the row names."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """Return the table in Markdown."""
        return markdown_table(self.header, self.rows)

    def latex(self) -> str:
        """Return the table as a LaTeX tabular with booktabs rules."""
        lines = [" & ".join(map(_latex, row)) + r" \\" for row in (self.header, *self.rows)]
        columns = "l" + "r" * (len(self.header) - 1)
        begin, end = f"\\begin{{tabular}}{{{columns}}}", r"\end{tabular}"
        return "\n".join([begin, r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule", end, ""])


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; the first column is left-aligned, the others right-aligned."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def write_csv(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows to a CSV file; without rows, write no file."""
    rows = list(rows)
    if not rows:
        return
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with clear_disk_errors(path.parent):
        write_text(path, text.getvalue())


_LATEX = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "±": r"$\pm$", "–": "--"}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(char, char) for char in text)


def score_table(comparison: Comparison, score: str, *, best_k: bool, n_members: int) -> Table:
    """Return means and standard deviations over draws, a row per method, best mean rank first; mark failed cells."""
    settings: dict[str, Any] = {"best_k": best_k, "n_members": n_members}
    means, spreads = comparison.means(score, **settings), comparison.spreads(score, **settings)
    ranking = comparison.ranking(score, **settings)
    rank = dict(zip(ranking.methods, ranking.mean_ranks, strict=True))
    order = sorted(range(len(comparison.methods)), key=lambda j: (rank.get(comparison.methods[j], np.inf), j))
    rows = []
    for j in order:
        name = comparison.methods[j]
        cells = [
            _cell(comparison, pool, n_members, name, means[i, j], spreads[i, j])
            for i, pool in enumerate(comparison.pools)
        ]
        mean = f"{means[:, j].mean():.3f}" if name in rank else "–"
        rows.append((name, f"{rank[name]:.2f}" if name in rank else "–", mean, *cells))
    at = "best k" if best_k else "number of classes"
    title = f"{SCORES[score]} at the {at}, {n_members} members"
    return Table(title, ("method", "mean rank", "mean", *comparison.pools), tuple(rows))


def _cell(comparison: Comparison, pool: str, n_members: int, method: str, mean: float, spread: float) -> str:
    if not np.isnan(mean):
        return f"{mean:.3f} ± {spread:.3f}"
    keys = (f"{pool}/M={n_members}/draw={draw}/{method}" for draw in range(comparison.draws))
    pieces = [comparison.pieces[key] for key in keys if key in comparison.pieces]
    failed = [piece for piece in pieces if piece["status"] != "ok"]
    if failed:
        return "time" if any(TIMED_OUT in piece["status"] for piece in failed) else "failed"
    return "–"


def cost_table(comparison: Comparison, *, n_members: int) -> Table:
    """Return the median time and the largest memory over pools and draws, a row per method."""
    seconds = comparison.values("seconds", n_members=n_members)
    memory = comparison.values("memory", n_members=n_members)
    rows = []
    for j, name in enumerate(comparison.methods):
        times, peaks = seconds[:, j][~np.isnan(seconds[:, j])], memory[:, j][~np.isnan(memory[:, j])]
        rows.append(
            (
                name,
                f"{np.median(times):.3f}" if len(times) else "–",
                f"{times.max():.3f}" if len(times) else "–",
                f"{peaks.max() / 1e6:.0f}" if len(peaks) else "–",
            )
        )
    header = ("method", "seconds, median", "seconds, largest", "memory, largest (MB)")
    return Table(f"Time and memory, {n_members} members", header, tuple(rows))


def duel_table(ranking: Ranking) -> Table:
    """Return on how many pools the row wins, ties and loses against the column; a star marks significance."""
    order = np.argsort(ranking.mean_ranks, kind="stable")
    rows = []
    for i in order:
        cells = []
        for j in order:
            star = "*" if i != j and ranking.p_values[i, j] < 0.05 else ""
            cells.append("" if i == j else "/".join(map(str, ranking.wins[i, j])) + star)
        rows.append((ranking.methods[i], *cells))
    header = ("won/tied/lost", *(ranking.methods[j] for j in order))
    return Table("Pool by pool (* Wilcoxon, Holm: p < 0.05)", header, tuple(rows))


def failure_table(comparison: Comparison) -> Table:
    """Return the failures, counted by pool, method and message."""
    counts: dict[tuple[str, str, str], int] = {}
    for key, status in comparison.failures.items():
        pool, _, _, method = key.split("/", 3)
        counts[pool, method, status] = counts.get((pool, method, status), 0) + 1
    rows = tuple((method, pool, str(n), status) for (pool, method, status), n in counts.items())
    return Table("Failures", ("method", "pool", "draws", "message"), rows)


def measurement_rows(comparison: Comparison) -> Iterable[dict[str, Any]]:
    """Yield one row per measurement."""
    for key, piece in comparison.pieces.items():
        parts = key.split("/", 3)
        if len(parts) < 4 or not parts[1].startswith("M="):
            continue
        line: dict[str, Any] = {
            "pool": parts[0],
            "members": parts[1].removeprefix("M="),
            "draw": parts[2].removeprefix("draw="),
            "method": parts[3],
            "status": piece["status"],
            "seconds": piece.get("seconds", ""),
            "memory": piece.get("memory", ""),
        }
        for score in SCORES:
            ok = piece["status"] == "ok"
            line[score] = _value(piece, score, best_k=False) if ok else ""
            line[f"best_{score}"] = _value(piece, score, best_k=True) if ok else ""
        yield line
