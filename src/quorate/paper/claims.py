"""The claims of the paper, checked against our numbers by code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from quorate.paper.figures import title
from quorate.paper.spec import FULL
from quorate.paper.summaries import Summary, in_preset

Summaries = dict[str, list[Summary]]
HOLDS, FAILS, OPEN = "holds", "does not hold", "not measured"
EXPLAINED = (FULL, "run", "sqrt")
"""The spec, best-k and preset with which the reasons were measured; they do not hold for other results."""
PAIRWISE = ("WEAC", "EAC", "ECMC", "SRS", "WCT")


class Finding(NamedTuple):
    """Our result for a statement; `holds` is None if it was not measured."""

    measured: str
    holds: bool | None


class Claim(NamedTuple):
    """A statement of the paper, and whether it holds in our numbers."""

    location: str
    statement: str
    measured: str
    verdict: str
    reason: str
    """The likely reason if it does not hold, if one was measured with the same choices."""


class Statement(NamedTuple):
    """A statement of the paper with its check."""

    location: str
    text: str
    check: Callable[[Summaries], Finding]
    reason: str = ""


def check_claims(summaries: Summaries, preset: str = "sqrt", *, explain: bool = False) -> list[Claim]:
    """Check every statement by max-NMI, with the paper's own methods in one preset.

    Parameters
    ----------
    explain : bool, default False
        Whether to add reasons to failed statements; valid only for `EXPLAINED`.
    """
    chosen = {
        name: [row for row in in_preset(rows, preset) if row.score in ("max", "seconds")]
        for name, rows in summaries.items()
    }
    claims = []
    for statement in STATEMENTS:
        finding = statement.check(chosen)
        verdict = OPEN if finding.holds is None else HOLDS if finding.holds else FAILS
        reason = statement.reason if verdict == FAILS and explain else ""
        claims.append(Claim(statement.location, statement.text, finding.measured, verdict, reason))
    return claims


Column = dict[str, float]


def _columns(rows: Iterable[Summary]) -> dict[tuple[str, str], Column]:
    """Return the mean of every method, by dataset and k."""
    columns: dict[tuple[str, str], Column] = {}
    for row in rows:
        columns.setdefault((row.dataset, row.k), {})[row.method] = row.mean
    return columns


def _rank(column: Column, method: str) -> int:
    """Return the rank of a method in a column, 1 for the best; scores are rounded to three decimals as printed."""
    return 1 + sum(round(value, 3) > round(column[method], 3) for value in column.values())


def _best_or_second(summaries: Summaries) -> Finding:
    columns = {key: column for key, column in _columns(summaries["compare"]).items() if "GP-MGLA" in column}
    if not columns:
        return Finding("", None)
    ranks = [_rank(column, "GP-MGLA") for column in columns.values()]
    # The paper highlights the best two of each column.
    top = sum(rank <= 2 for rank in ranks)
    return Finding(
        f"first or second in {top} of {len(ranks)} columns (first in {ranks.count(1)})", 2 * top > len(ranks)
    )


def _overall_best(summaries: Summaries) -> Finding:
    columns = _columns(summaries["compare"]).values()
    # Only methods with a number in every column can be compared overall.
    names = set.intersection(*(set(column) for column in columns)) if columns else set()
    if "GP-MGLA" not in names:
        return Finding("", None)
    means = {name: float(np.mean([column[name] for column in columns])) for name in names}
    ranks = {name: float(np.mean([_rank(column, name) for column in columns])) for name in names}
    by_mean, by_rank = max(means, key=means.__getitem__), min(ranks, key=ranks.__getitem__)
    return Finding(
        f"mean score {means['GP-MGLA']:.3f}, best {by_mean} {means[by_mean]:.3f}; "
        f"mean rank {ranks['GP-MGLA']:.1f}, best {by_rank} {ranks[by_rank]:.1f}",
        # Best and most stable: the highest mean, and the best mean rank.
        by_mean == by_rank == "GP-MGLA",
    )


def _weac_ahead_of_eac(summaries: Summaries) -> Finding:
    pairs = [
        (c["WEAC-AL"], c["EAC-AL"])
        for c in _columns(summaries["compare"]).values()
        if {"WEAC-AL", "EAC-AL"} <= c.keys()
    ]
    if not pairs:
        return Finding("", None)
    gain = float(np.mean([weac - eac for weac, eac in pairs]))
    ahead = sum(weac > eac for weac, eac in pairs)
    return Finding(f"mean difference {gain:+.3f}; ahead in {ahead} of {len(pairs)} columns", gain > 0)


def _seeds(summaries: Summaries) -> Finding:
    columns = {
        k: c for (dataset, k), c in _columns(summaries["compare"]).items() if dataset == "seeds" and "WEAC-AL" in c
    }
    if not columns:
        return Finding("", None)
    ranks = {k: _rank(column, "WEAC-AL") for k, column in columns.items()}
    shown = ", ".join(
        f"{k}: rank {ranks[k]} with {columns[k]['WEAC-AL']:.3f} (best {max(columns[k].values()):.3f})" for k in ranks
    )
    return Finding(shown, all(rank == 1 for rank in ranks.values()))


def _most_stable_pairwise(summaries: Summaries) -> Finding:
    """Check for the best mean rank among pairwise methods and the best worst rank."""
    columns = [
        {name: value for name, value in column.items() if name.split("-")[0] in PAIRWISE}
        for column in _columns(summaries["compare"]).values()
    ]
    names = set.intersection(*(set(column) for column in columns)) if columns else set()
    if "WEAC-AL" not in names:
        return Finding("", None)
    ranks = {name: [_rank(column, name) for column in columns] for name in names}
    mean = {name: float(np.mean(r)) for name, r in ranks.items()}
    worst = {name: max(r) for name, r in ranks.items()}
    best, steadiest = min(mean, key=mean.__getitem__), min(worst, key=lambda name: (worst[name], mean[name]))
    return Finding(
        f"mean rank {mean['WEAC-AL']:.1f} and worst rank {worst['WEAC-AL']} among pairwise methods; "
        f"best mean {best} {mean[best]:.1f}, best worst {steadiest} {worst[steadiest]}",
        mean["WEAC-AL"] <= mean[best] and worst["WEAC-AL"] <= worst[steadiest],
    )


def _above_mean_member(summaries: Summaries) -> Finding:
    members = {row.dataset: row.mean for row in summaries["base"] if row.method == "Avg(base)"}
    rows = [row for row in summaries["base"] if row.method in ("GP-MGLA", "WEAC-AL") and row.dataset in members]
    if not rows:
        return Finding("", None)
    parts, behind = [], []
    for k in ("best-k", "true-k"):
        at_k = [row for row in rows if row.k == k]
        parts.append(f"{k}: ahead in {sum(row.mean > members[row.dataset] for row in at_k)} of {len(at_k)}")
        behind += [f"{row.method} on {title(row.dataset)} at {k}" for row in at_k if row.mean <= members[row.dataset]]
    return Finding("; ".join(parts) + (f" (behind: {', '.join(behind)})" if behind else ""), not behind)


def _above_best_member(summaries: Summaries) -> Finding:
    members = {row.dataset: row.mean for row in summaries["base"] if row.method == "Max(base)"}
    named = ("breast_cancer", "seeds", "wine", "pen_digits")
    rows = [
        row
        for row in summaries["base"]
        if row.method in ("GP-MGLA", "WEAC-AL")
        and row.k == "best-k"
        and row.dataset in named
        and row.dataset in members
    ]
    if not rows:
        return Finding("", None)
    margins = {f"{row.method} {title(row.dataset)}": row.mean - members[row.dataset] for row in rows}
    return Finding(
        "best-k less the best member: " + ", ".join(f"{name} {value:+.3f}" for name, value in margins.items()),
        all(value > 0 for value in margins.values()),
    )


def _wins_above_half(summaries: Summaries) -> Finding:
    rows = [row for row in summaries["wins"] if row.k == "same-k"]
    if not rows:
        return Finding("", None)
    least = min(rows, key=lambda row: row.mean)
    return Finding(
        f"least {least.mean:.1f} % ({least.method}, {title(least.dataset)})", all(row.mean > 50 for row in rows)
    )


def _two_thirds(summaries: Summaries) -> Finding:
    rows = [row for row in summaries["wins"] if row.k == "same-k"]
    if not rows:
        return Finding("", None)
    names = dict.fromkeys(row.method for row in rows)
    means = {name: float(np.mean([row.mean for row in rows if row.method == name])) for name in names}
    shown = ", ".join(f"{name} {value:.1f} %" for name, value in means.items())
    return Finding(f"mean over datasets: {shown}", all(value >= 60 for value in means.values()))


def _wins_most_at_best_k(summaries: Summaries) -> Finding:
    rows = [row for row in summaries["wins"] if row.k == "best-k"]
    if not rows:
        return Finding("", None)
    least = min(rows, key=lambda row: row.mean)
    return Finding(
        f"mean {np.mean([row.mean for row in rows]):.1f} %, least {least.mean:.1f} % ({least.method}, "
        f"{title(least.dataset)})",
        all(row.mean > 50 for row in rows),
    )


def _stable_parameters(summaries: Summaries) -> Finding:
    """Check that the mean score varies by at most 0.05 in 90 % of the columns, over all settings except beta = 0."""
    rows = [
        row
        for row in summaries["parameters"]
        if row.method in ("GP-MGLA", "WEAC-AL") and not row.setting.endswith("beta=0")
    ]
    if not rows:
        return Finding("", None)
    parts, stable = [], True
    for k in dict.fromkeys(row.k for row in rows):
        columns: dict[tuple[str, str], list[Summary]] = {}
        for row in rows:
            if row.k == k:
                columns.setdefault((row.method, row.dataset), []).append(row)
        ranges = {name: _range([row.mean for row in column]) for name, column in columns.items()}
        published = [_range([row.published for row in c if row.published is not None]) for c in columns.values()]
        widest, narrow = max(ranges, key=ranges.__getitem__), sum(value <= 0.05 for value in ranges.values())
        # Stable: at most 0.05 in nine of ten columns.
        stable &= narrow >= 0.9 * len(ranges)
        parts.append(
            f"{k}: median {np.median(list(ranges.values())):.3f} (published {np.median(published):.3f}), widest "
            f"{ranges[widest]:.3f} ({widest[0]}, {title(widest[1])}; published {max(published):.3f}), at most 0.05 in "
            f"{narrow} of {len(ranges)} columns"
        )
    return Finding("range over all settings except beta = 0, " + "; ".join(parts), stable)


def _range(values: list[float]) -> float:
    return max(values) - min(values) if values else 0.0


def _most_robust(summaries: Summaries) -> Finding:
    """Check that GP-MGLA has the best mean over datasets at most ratios of ill clusterings."""
    cells = _means_among_ill(summaries)
    if not cells:
        return Finding("", None)
    won, shown, largest = 0, [], max(ratio for _, ratio in cells)
    for (k, ratio), means in cells.items():
        best = max(means, key=means.__getitem__)
        won += best == "GP-MGLA"
        if ratio == largest:
            shown.append(f"at {float(ratio):.0%}, {k}: GP-MGLA {means['GP-MGLA']:.3f}, best {best} {means[best]:.3f}")
    return Finding(
        f"best mean over datasets in {won} of {len(cells)} cells (ratio x k); " + "; ".join(shown), 2 * won > len(cells)
    )


def _means_among_ill(summaries: Summaries) -> dict[tuple[str, str], Column]:
    """Return means over datasets by k and ratio of ill clusterings, of the methods that have as many as GP-MGLA."""
    table: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in summaries["ill"]:
        if row.setting != "0":
            table.setdefault((row.k, row.setting), {}).setdefault(row.method, []).append(row.mean)
    return {
        key: {name: float(np.mean(v)) for name, v in methods.items() if len(v) >= len(methods["GP-MGLA"])}
        for key, methods in table.items()
        if "GP-MGLA" in methods
    }


def _weac_above_eac_among_ill(summaries: Summaries) -> Finding:
    cells = [column for column in _ill_columns(summaries) if {"WEAC-AL", "EAC-AL"} <= column.keys()]
    if not cells:
        return Finding("", None)
    gain = float(np.mean([column["WEAC-AL"] - column["EAC-AL"] for column in cells]))
    ahead = sum(column["WEAC-AL"] > column["EAC-AL"] for column in cells)
    return Finding(f"mean difference {gain:+.3f}; ahead in {ahead} of {len(cells)} cells", 2 * ahead > len(cells))


def _ill_columns(summaries: Summaries) -> list[Column]:
    columns: dict[tuple[str, str, str], Column] = {}
    for row in summaries["ill"]:
        if row.setting != "0":
            columns.setdefault((row.dataset, row.k, row.setting), {})[row.method] = row.mean
    return list(columns.values())


def _seconds(summaries: Summaries) -> dict[int, Column]:
    """Return the seconds of every method by number of rows."""
    sizes: dict[int, Column] = {}
    for row in summaries["time"]:
        if row.method != "NCAI":
            sizes.setdefault(int(row.setting), {})[row.method] = row.mean
    return sizes


def _slower_when_small(summaries: Summaries) -> Finding:
    sizes = {n: column for n, column in _seconds(summaries).items() if n < 4000 and "GP-MGLA" in column}
    if not sizes:
        return Finding("", None)
    others = ("WEAC-AL", "EAC-AL", "WCT-AL")
    slower = sum(
        all(column["GP-MGLA"] > column[name] for name in others if name in column) for column in sizes.values()
    )
    n = max(sizes)
    shown = ", ".join(f"{name} {sizes[n][name]:.3f} s" for name in ("GP-MGLA", *others) if name in sizes[n])
    return Finding(f"slower at {slower} of {len(sizes)} sizes; at {n:,} rows {shown}", slower == len(sizes))


def _fastest_when_large(summaries: Summaries) -> Finding:
    sizes = {n: column for n, column in _seconds(summaries).items() if n > 5000 and "GP-MGLA" in column}
    if not sizes:
        return Finding("", None)
    n = max(sizes)
    order = sorted(sizes[n], key=sizes[n].__getitem__)
    fastest = sum(set(sorted(c, key=c.__getitem__)[:2]) == {"GP-MGLA", "HBGF"} for c in sizes.values())
    shown = ", ".join(f"{name} {sizes[n][name]:.3f} s" for name in order)
    return Finding(f"the two fastest at {fastest} of {len(sizes)} sizes; at {n:,} rows {shown}", fastest == len(sizes))


def _slowest(summaries: Summaries) -> Finding:
    sizes = {n: c for n, c in _seconds(summaries).items() if {"ECMC-AL", "WCC", "SRS-AL"} <= c.keys()}
    if not sizes:
        return Finding("", None)
    expected = ({"ECMC-AL", "WCC"}, "SRS-AL")
    orders = [sorted(c, key=c.__getitem__, reverse=True) for c in sizes.values()]
    as_stated = sum((set(order[:2]), order[2]) == expected for order in orders)
    n = max(sizes)
    shown = ", ".join(f"{name} {sizes[n][name]:.3f} s" for name in sorted(sizes[n], key=sizes[n].__getitem__)[::-1])
    return Finding(
        f"in this order at {as_stated} of {len(sizes)} sizes; at {n:,} rows {shown}", as_stated == len(sizes)
    )


_OUTLYING = (
    "The k-means of GP-MGLA starts farthest-first, as in the authors' program, and gives clusters to outlying patterns "
    "(at true-k, 6.2 of 10 clusters on Yeast and 2.4 of 7 on Image Segmentation hold at most 2 % of the rows; first 40 "
    'runs). With init="k-means++" its mean over the same runs and columns is 0.568, ahead of all others (HBGF from '
    "random starts: 0.563). Without OD-ISVC, whose reconstruction leaves many tiny clusters, it is 0.614 "
    "farthest-first, against 0.625 of HBGF."
)
_TINY_CLUSTERS = "Without the members of OD-ISVC, whose reconstruction leaves many tiny clusters, the statement holds."
_SHORT_GRID = (
    "On Letters, where members have up to 1,406 clusters, a k of at most 30 is too small: with k up to 140, GP-MGLA "
    "and WEAC-AL beat 89.6 and 84.8 % of the members there (published: 99.0 and 70.6 %)."
)
_SEEDS = (
    "WCC, which ranks first, does better here than published (0.674 against 0.567 at best-k, 0.599 against 0.439 at "
    "true-k); HBGF is ahead of WEAC-AL by 0.001 and 0.021."
)
_AT_BEST_K = (
    "At best-k it holds, and the published numbers are those of best-k: with the parameters of Tables 6 and 7 they are "
    "off those tables by 0.009 (GP-MGLA) and 0.018 (WEAC-AL) on average at best-k, by 0.084 and 0.102 at true-k."
)
_ON_PATTERNS = (
    "Our pairwise methods work on patterns, not on an n x n matrix, so they avoid the quadratic cost of the paper's."
)

STATEMENTS = (
    Statement("Tables 6, 7", "GP-MGLA is best or second best in most columns", _best_or_second, _OUTLYING),
    Statement("7.4.2", "GP-MGLA produces overall the best and most stable results", _overall_best, _OUTLYING),
    Statement("Tables 6, 7", "WEAC-AL is ahead of EAC-AL on average", _weac_ahead_of_eac),
    Statement("7.4.2", "WEAC-AL achieves the best scores on Seeds", _seeds, _SEEDS),
    Statement(
        "7.4.2",
        "WEAC-AL is better and more stable than the other pairwise methods",
        _most_stable_pairwise,
        _TINY_CLUSTERS,
    ),
    Statement(
        "Figure 2", "The consensus is ahead of the mean member on every dataset", _above_mean_member, _TINY_CLUSTERS
    ),
    Statement(
        "7.4.1",
        "GP-MGLA and WEAC-AL outperform the base clusterings clearly on Breast Cancer, Seeds, Wine and Pen Digits",
        _above_best_member,
    ),
    Statement("Table 4", "Both methods beat most members at best-k", _wins_most_at_best_k, _SHORT_GRID),
    Statement("Table 5", "Both methods win more than 50 % at the same k on every dataset", _wins_above_half),
    Statement("7.4.1", "Both methods win about two thirds at the same k", _two_thirds),
    Statement("7.2", "Both methods are stable under alpha and beta", _stable_parameters, _AT_BEST_K),
    Statement("7.4.3", "WEAC does much better than EAC among ill clusterings", _weac_above_eac_among_ill),
    Statement(
        "7.4.3",
        "GP-MGLA is, on the whole, the best and most robust among ill clusterings",
        _most_robust,
        _TINY_CLUSTERS,
    ),
    Statement("7.5", "GP-MGLA is slower than WEAC, EAC and WCT below 4,000 rows", _slower_when_small, _ON_PATTERNS),
    Statement("7.5", "GP-MGLA and HBGF are the two fastest above 5,000 rows", _fastest_when_large, _ON_PATTERNS),
    Statement("7.5", "ECMC and WCC are the two slowest, SRS the third slowest", _slowest, _ON_PATTERNS),
)
