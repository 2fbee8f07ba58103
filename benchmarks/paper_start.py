"""The paper's comparison with the k-means of GP-MGLA initialized by Ward, as an additional column.

`python -m benchmarks.paper_start [DATASET ...]` runs or continues in .cache/trust/paper (by default all eight
datasets: hours) and prints the table of the finished measurements. Pools and ensembles are those of `quorate reproduce
all`: its own column is measured again as a check, and those of the other methods are read from
docs/reproduction/compare.csv. The claims of the paper about GP-MGLA are checked for both initializations by the code
of the reproduction.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from quorate.benchmarking.comparison_tables import markdown_table
from quorate.paper import reproduce
from quorate.paper.claims import OPEN, check_claims
from quorate.paper.spec import EXPERIMENTS, FULL, Method
from quorate.paper.summaries import Results, Summary, in_preset

FOLDER = Path(".cache/trust/paper")
OTHERS = Path(__file__).resolve().parents[1] / "docs" / "reproduction" / "compare.csv"
WARD = "GP-MGLA (ward)"
SPEC = replace(FULL, name="start", methods=(FULL.method("GP-MGLA"), Method(WARD, "gp-mgla", {"init": "ward"})))


def known(datasets: tuple[str, ...]) -> list[Summary]:
    """Return the mean max-NMI of all methods of the reproduction, agreement normalized by sqrt, on some datasets."""
    with OTHERS.open() as file:
        rows = [row for row in csv.DictReader(file) if row["score"] == "max" and row["dataset"] in datasets]
    for row in rows:
        del row["difference"]
    numbers = {"runs": int, "mean": float, "spread": float, "published": lambda text: float(text) if text else None}
    summaries = [Summary(**{name: numbers.get(name, str)(value) for name, value in row.items()}) for row in rows]
    return in_preset(summaries, "sqrt")


def measured(results: Results) -> dict[tuple[str, str], tuple[float, float]]:
    """Return the mean max-NMI of GP-MGLA measured again and of that with Ward, by dataset and choice of k."""
    found = {}
    for dataset in results.datasets:
        again, ward = (results.scores(dataset, method, "max") for method in SPEC.methods)
        found |= {(dataset, k): (float(again[k].mean()), float(ward[k].mean())) for k in again}
    return found


def table(ours: dict[tuple[str, str], tuple[float, float]], others: list[Summary]) -> str:
    """Return a line for every dataset and choice of k that is complete, and the means over all."""
    lines, scores, ranks = [], [], []
    for (dataset, k), (again, ward) in ours.items():
        column = {row.method: row.mean for row in others if (row.dataset, row.k) == (dataset, k)}
        gpmgla = column.pop("GP-MGLA")
        best = max(column, key=column.__getitem__)
        ranks.append([1 + sum(round(mean, 3) > round(own, 3) for mean in column.values()) for own in (gpmgla, ward)])
        scores.append((gpmgla, again, ward))
        figures = [f"{value:.3f}" for value in scores[-1]]
        lines.append([f"{dataset}, {k}", *figures, f"{best} {column[best]:.3f}", *map(str, ranks[-1])])
    means = [f"{mean:.3f}" for mean in np.mean(scores, axis=0)]
    lines.append(["mean", *means, "", *(f"{rank:.1f}" for rank in np.mean(ranks, axis=0))])
    header = ["column", "GP-MGLA", "again", "init=ward", "best other", "rank of GP-MGLA", "rank with ward"]
    return markdown_table(header, lines)


def claims(ours: dict[tuple[str, str], tuple[float, float]], others: list[Summary]) -> str:
    """Return what the paper says of GP-MGLA in the comparison, judged with the start as it was and with Ward."""
    started = [row._replace(mean=ours[row.dataset, row.k][1]) if row.method == "GP-MGLA" else row for row in others]
    judged = [check_claims({**{name: [] for name in EXPERIMENTS}, "compare": rows}) for rows in (others, started)]
    lines = [
        [was.statement, f"{was.measured}: {was.verdict}", f"{now.measured}: {now.verdict}"]
        for was, now in zip(*judged, strict=True)
        if was.statement.startswith("GP-MGLA") and was.verdict != OPEN
    ]
    return markdown_table(["statement", "farthest-first", "init=ward"], lines)


if __name__ == "__main__":
    pieces = reproduce(FOLDER, SPEC, experiments=["compare"], datasets=sys.argv[1:] or None, n_jobs=1)
    ours = measured(Results(SPEC, pieces))
    others = known(tuple({dataset for dataset, _ in ours}))
    print(table(ours, others))
    print(claims(ours, others))
