"""Choices that the paper leaves open, and how other choices change the numbers and the claims."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from quorate.benchmarking.comparison_tables import markdown_table
from quorate.paper import markdown
from quorate.paper.claims import OPEN, Summaries, check_claims
from quorate.paper.figures import title
from quorate.paper.spec import Spec
from quorate.paper.summaries import Summary

_FAR_OFF = 0.05  # larger differences to a published value are listed


def differences_elsewhere(spec: Spec, compared: list[Summary], others: Mapping[str, Summaries]) -> str:
    """Return how other choices, by name, change the difference to the published values, column by column."""
    choices = {"as above": compared} | {name: other["compare"] for name, other in others.items()}
    names = ("GP-MGLA", "WEAC-AL")
    header = ["column", *(f"{name}, {choice}" for name in names for choice in choices)]
    cells = {
        (choice, row.method, row.dataset, row.k): row.difference
        for choice, rows in choices.items()
        for row in rows
        if row.score == "max" and row.method in names
    }
    columns = [(dataset, k) for dataset in spec.datasets for k in ("best-k", "true-k")]
    columns = [column for column in columns if any((choice, "GP-MGLA", *column) in cells for choice in others)]
    lines = []
    for dataset, k in columns:
        values = [cells.get((choice, name, dataset, k)) for name in names for choice in choices]
        lines.append([f"{title(dataset)}, {k}", *("–" if value is None else f"{value:+.3f}" for value in values)])
    means = [
        _mean_size([cells.get((choice, name, *column)) for column in columns]) for name in names for choice in choices
    ]
    lines.append(["mean absolute difference (columns)", *means])
    return (
        "The paper does not specify everything, so the agreement above depends on our choices. "
        "Difference to the published values (max-NMI; NCAI by sqrt) if one choice is changed, by "
        "`--scale` or `--generator` or from Python by `paper.reproduce(FOLDER, replace(paper.FULL, grid=...))`:\n\n"
        + markdown_table(header, lines)
        + f"\n\nDifferences of more than {_FAR_OFF}, and the choice that comes closest to the published value "
        "(selected afterwards, column by column: a hint at the reason, not better agreement):\n\n"
        + _far_off(cells, list(choices))
    )


def _mean_size(differences: Sequence[float | None]) -> str:
    """Return the mean absolute difference and the number of differences."""
    sizes = [abs(value) for value in differences if value is not None]
    return f"{np.mean(sizes):.3f} ({len(sizes)})" if sizes else "–"


def _far_off(differences: Mapping[tuple[str, str, str, str], float | None], choices: list[str]) -> str:
    """Return a table of large differences (by choice, method, dataset, k) and the choice that makes each smallest."""
    lines = []
    for (choice, method, dataset, k), difference in differences.items():
        # Only differences that are large with our own choices.
        if choice != choices[0] or difference is None or abs(difference) <= _FAR_OFF:
            continue
        tried = ((other, differences.get((other, method, dataset, k))) for other in choices)
        measured = {other: value for other, value in tried if value is not None}
        nearest = min(measured, key=lambda other: abs(measured[other]))
        span = f"{min(measured.values()):+.3f} to {max(measured.values()):+.3f}"
        lines.append(
            [f"{title(dataset)}, {k}", method, f"{difference:+.3f}", nearest, f"{measured[nearest]:+.3f}", span]
        )
    return markdown_table(["column", "method", choices[0], "nearest", "difference", "all choices"], lines)


def choice_name(spec: Spec, other: Spec) -> str:
    """Return the fields in which another spec differs."""
    mine, theirs = spec.plain(), other.plain()
    changed = [name for name in mine if mine[name] != theirs[name] and name != "name"]
    return "; ".join(f"{name}: {_shown(theirs[name])}" for name in changed) or "unchanged"


def _shown(value: Any) -> str:
    if not isinstance(value, list):
        return "none" if value is None else str(value)
    if value and all(isinstance(item, int) for item in value):
        words = _stretches(value)
        return ", ".join(words if len(words) <= 3 else [*words[:2], "…", words[-1]])
    return ", ".join(map(str, value))


def _stretches(numbers: list[int]) -> list[str]:
    """Return ascending integers as text; consecutive ones become ranges such as "2 to 5"."""
    words, first = [], 0
    for i, number in enumerate(numbers):
        if i + 1 == len(numbers) or numbers[i + 1] != number + 1:
            words.append(str(number) if first == i else f"{numbers[first]} to {number}")
            first = i + 1
    return words


def claims_elsewhere(spec: Spec, summaries: Summaries, others: Mapping[str, Summaries]) -> str:
    """Return which claims hold with other choices, and with ours on the same datasets and methods."""
    slow = {method.name for method in spec.methods if method.slow}
    text = ""
    for choice, other in others.items():
        mine, theirs = _comparable(summaries, other, slow)
        pairs = zip(check_claims(mine), check_claims(theirs), strict=True)
        judged = [pair for pair in pairs if all(claim.verdict != OPEN for claim in pair)]
        if judged:
            extent = {name: len({row.dataset for row in rows}) for name, rows in mine.items() if rows}
            text += (
                f"\nClaims with another choice ({choice}), and with ours on the same "
                f"methods and datasets ({', '.join(f'{name} {n}' for name, n in extent.items())}), both with "
                '`normalize="sqrt"`:\n\n' + markdown.claim_pairs_table(judged)
            )
    return text


def _comparable(mine: Summaries, theirs: Summaries, slow: Collection[str]) -> tuple[Summaries, Summaries]:
    """Return the measurements that both have, in the columns where theirs lacks at most our slow methods.

    Ranks among few methods cannot be compared with ranks among all, so incomplete columns are dropped.
    """
    shared: tuple[Summaries, Summaries] = ({}, {})
    for name in mine:
        cells = [{_cell(row) for row in rows[name]} for rows in (mine, theirs)]
        # Columns in which the other results lack more than our slow methods.
        incomplete = {(dataset, k) for dataset, k, method, _ in cells[0] - cells[1] if method not in slow}
        both = {cell for cell in cells[0] & cells[1] if cell[:2] not in incomplete}
        for rows, shared_rows in zip((mine, theirs), shared, strict=True):
            shared_rows[name] = [row for row in rows[name] if _cell(row) in both]
    return shared


def _cell(row: Summary) -> tuple[str, str, str, str]:
    return row.dataset, row.k, row.method, row.setting
