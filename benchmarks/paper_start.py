"""The paper's comparison again, with the k-means of GP-MGLA started by Ward: a column beside the others.

`python -m benchmarks.paper_start [DATASET ...]` measures, or goes on, in .cache/trust/paper (by default all eight
datasets: hours) and prints the table of what there is. Pools and ensembles are those of `quorate reproduce all`: its
own column is measured again as a check, and those of the other methods are read from docs/reproduction/compare.csv.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from quorate.bench.tables import markdown_table
from quorate.paper import reproduce
from quorate.paper.spec import FULL, Method
from quorate.paper.tables import Results

FOLDER = Path(".cache/trust/paper")
OTHERS = Path(__file__).resolve().parents[1] / "docs" / "reproduction" / "compare.csv"
WARD = "GP-MGLA (ward)"
SPEC = replace(FULL, name="start", methods=(FULL.method("GP-MGLA"), Method(WARD, "gp-mgla", {"start": "ward"})))


def known() -> dict[tuple[str, str], dict[str, float]]:
    """Return the mean max-NMI of all methods of the reproduction, by dataset and choice of k."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    with OTHERS.open() as file:
        for row in csv.DictReader(file):
            if row["score"] == "max":
                found.setdefault((row["dataset"], row["k"]), {})[row["method"]] = float(row["mean"])
    return found


def table(results: Results) -> str:
    """Return a line for every dataset and choice of k that is complete, and the means over all."""
    others, lines, ranks = known(), [], []
    for dataset in results.datasets:
        columns = [results.scores(dataset, method, "max") for method in SPEC.methods]
        for k in columns[0]:
            again, ward = (float(column[k].mean()) for column in columns)
            rest = {name: mean for name, mean in others[dataset, k].items() if not name.startswith("GP-MGLA")}
            best = max(rest, key=rest.__getitem__)
            gpmgla = others[dataset, k]["GP-MGLA"]
            ranks.append([1 + sum(mean > own for mean in rest.values()) for own in (gpmgla, ward)])
            figures = [f"{value:.3f}" for value in (gpmgla, again, ward)]
            lines.append([f"{dataset}, {k}", *figures, f"{best} {rest[best]:.3f}", *map(str, ranks[-1])])
    means = [f"{np.mean([float(line[j]) for line in lines]):.3f}" for j in (1, 2, 3)]
    lines.append(["mean", *means, "", *(f"{rank:.1f}" for rank in np.mean(ranks, axis=0))])
    header = ["column", "GP-MGLA", "again", "start=ward", "best other", "rank of GP-MGLA", "rank with ward"]
    return markdown_table(header, lines)


if __name__ == "__main__":
    pieces = reproduce(FOLDER, SPEC, experiments=["compare"], datasets=sys.argv[1:] or None, n_jobs=1)
    print(table(Results(SPEC, pieces)))
