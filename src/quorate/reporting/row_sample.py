"""Rows for the report: a bounded sample with the label of every member, and further columns by cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate._utils.array_types import Floats
from quorate.ensemble import Ensemble
from quorate.reporting.cut_views import Cut, SweepView, strongest_votes
from quorate.reporting.row_facts import NumberColumn, RowFacts

# About how many numbers a report holds about single rows, so that a page stays under a megabyte.
_CELLS = 100_000
_LONGEST_NAME = 120


def rows_that_fit(ens: Ensemble, n_answers: int) -> int:
    """Return how many rows fit into a report, each with its labels and certainties; all rows if possible."""
    width = ens.n_members + 4 * n_answers
    if ens.n_rows + ens.n_patterns * width <= _CELLS:
        return ens.n_rows
    return max(50, _CELLS // (width + 1))


def embedded_rows(ens: Ensemble, sweep: SweepView, facts: RowFacts) -> dict[str, Any]:
    """Return the sampled rows, and for their patterns the label of each member and the result at each k."""
    patterns, position = np.unique(facts.sample_pattern, return_inverse=True)
    codes = ens.patterns[patterns] - np.where(ens.patterns[patterns] >= 0, ens.cluster_offsets[:-1], 0)
    levels_used = [np.unique(column[column >= 0]) for column in codes.T]
    return {
        "all": len(facts.sample) == ens.n_rows,
        "names": [_shortened(name) for name in facts.sample],
        "pattern": position.tolist(),
        "counts": ens.counts[patterns].tolist(),
        "codes": codes.tolist(),
        "levels": [
            {str(code): _shortened(str(levels[code])) for code in used}
            for levels, used in zip(ens.levels, levels_used, strict=True)
        ],
        "labels": {str(cut.n_clusters): cut.labels[patterns].tolist() for cut in sweep.cuts},
        "confidence": {str(cut.n_clusters): _hundredths(cut.confidence[patterns]) for cut in sweep.cuts},
        "margin": {str(cut.n_clusters): _hundredths(cut.margin[patterns]) for cut in sweep.cuts},
        "runner_up": {str(cut.n_clusters): cut.runner_up[patterns].tolist() for cut in sweep.cuts},
        "homes": {str(cut.n_clusters): _homes(ens, cut, levels_used) for cut in sweep.cuts},
    }


def _hundredths(values: Floats) -> list[int]:
    return np.rint(100 * values).astype(int).tolist()


def _homes(ens: Ensemble, cut: Cut, levels_used: Sequence[Any]) -> list[dict[str, list[int]]]:
    """Return, for the clusters of each member, the consensus cluster that they vote for most, and that vote in %."""
    home, vote = strongest_votes(ens, cut)
    percentages = _hundredths(vote)
    return [
        {str(code): [int(home[offset + code]), percentages[offset + code]] for code in used}
        for offset, used in zip(ens.cluster_offsets[:-1], levels_used, strict=True)
    ]


def summarize_columns(facts: RowFacts, cut: Cut) -> list[dict[str, Any]]:
    """Return a summary of each further column by cluster, in rounded figures."""
    return [
        {
            "name": column.name,
            "kind": "numbers" if isinstance(column, NumberColumn) else "values",
            "clusters": _rounded(column.by_cluster(cut.labels, cut.n_clusters)),
        }
        for column in facts.columns
    ]


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
