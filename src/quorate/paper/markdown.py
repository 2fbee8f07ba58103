"""The tables of the paper in Markdown: our mean and standard deviation, the published value, the difference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quorate.benchmarking.comparison_tables import markdown_table
from quorate.datasets import load
from quorate.paper.claims import Claim
from quorate.paper.figures import title
from quorate.paper.spec import Spec
from quorate.paper.summaries import Agreement, Summary

SLOW_MARK = "†"


def _number(value: float | None, digits: int = 3, sign: bool = False) -> str:
    return "–" if value is None else f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"


def _with_published(row: Summary | None, digits: int = 3) -> list[str]:
    """Return our mean with its standard deviation, the published value, and the difference."""
    if row is None:
        return ["–"] * 3
    ours = f"{row.mean:.{digits}f} ± {row.spread:.{digits}f}"
    return [ours, _number(row.published, digits), _number(row.difference, digits, sign=True)]


def _find(rows: list[Summary], **facts: str) -> Summary | None:
    return next((row for row in rows if all(getattr(row, name) == value for name, value in facts.items())), None)


def _mean(rows: list[Summary], **facts: str) -> str:
    row = _find(rows, **facts)
    return _number(None if row is None else row.mean)


def _names(rows: Iterable[Summary], field: str) -> list[str]:
    return list(dict.fromkeys(getattr(row, field) for row in rows))


def datasets_table(spec: Spec) -> str:
    """Return Table 1: the datasets."""
    lines = []
    for name in spec.datasets:
        dataset = load(name)
        n_rows, n_features = dataset.features.shape
        lines.append([title(name), f"{n_rows:,}", str(n_features), str(dataset.n_classes)])
    return markdown_table(["dataset", "rows", "features", "classes"], lines)


def compare_tables(rows: list[Summary], spec: Spec) -> str:
    """Return Tables 6 and 7, one table per dataset."""
    header = ["method"]
    for k in ("best-k", "true-k"):
        header += [f"{k}, ours", "published", "difference", f"{k}, sqrt NMI"]
    text = ""
    for dataset in _names(rows, "dataset"):
        mine = [row for row in rows if row.dataset == dataset]
        lines = []
        for method in _names(mine, "method"):
            line = [method + (SLOW_MARK if spec.method(method).slow else "")]
            for k in ("best-k", "true-k"):
                line += _with_published(_find(mine, method=method, k=k, score="max"))
                line.append(_mean(mine, method=method, k=k, score="sqrt"))
            lines.append(line)
        text += f"\n**{title(dataset)}**\n\n" + markdown_table(header, lines)
    return text


def own_columns_table(rows: list[Summary]) -> str:
    """Return GP-MGLA and WEAC-AL in the sixteen columns of Tables 6 and 7, both presets, with the published values."""
    names = [
        name for name in ("GP-MGLA", "GP-MGLA (max)", "WEAC-AL", "WEAC-AL (max)") if name in _names(rows, "method")
    ]
    header = ["column"]
    for name in names:
        header += [name, "difference"]
        if not name.endswith("(max)"):
            header.insert(len(header) - 2, f"{name} published")
    lines = []
    for dataset in _names(rows, "dataset"):
        for k in ("best-k", "true-k"):
            line = [f"{title(dataset)}, {k}"]
            for name in names:
                row = _find(rows, dataset=dataset, method=name, k=k, score="max")
                ours, published, difference = _with_published(row)
                line += [ours, difference] if name.endswith("(max)") else [published, ours, difference]
            lines.append(line)
    return markdown_table(header, lines)


def agreement_table(agreements: list[Agreement]) -> str:
    """Return mean absolute differences and rank correlations."""
    header = ["NMI in NCAI", "NMI of the score", "columns", "GP-MGLA", "WEAC-AL", "rank correlation"]
    lines = [
        [a.preset, a.score, str(a.columns), _number(a.gp_mgla), _number(a.weac_al), _number(a.rank_correlation, 2)]
        for a in agreements
    ]
    return markdown_table(header, lines)


def rank_table(agreements: list[Agreement]) -> str:
    """Return the rank correlation of the methods with the published ranking, per column, by max-NMI."""
    judged = [agreement for agreement in agreements if agreement.score == "max"]
    lines = [
        [column.replace("_", " "), *(_number(a.rank_correlations[column], 2) for a in judged)]
        for column in judged[0].rank_correlations
    ]
    return markdown_table(["column", *(f"NCAI {a.preset}" for a in judged)], lines)


def parameter_tables(rows: list[Summary]) -> str:
    """Return Tables 2 and 3: one table per method and k; each cell is ours (published)."""
    text = ""
    for method in _names(rows, "method"):
        mine = [row for row in rows if row.method == method and row.score == "max"]
        settings = _names(mine, "setting")
        for k in ("best-k", "true-k"):
            lines = []
            for dataset in _names(mine, "dataset"):
                line = [title(dataset)]
                for setting in settings:
                    row = _find(mine, dataset=dataset, setting=setting, k=k)
                    line.append("–" if row is None else f"{row.mean:.3f} ({_number(row.published)})")
                lines.append(line)
            if lines:
                header = ["dataset", *(setting.replace(";", ", ") for setting in settings)]
                text += f"\n**{method}, {k}**: ours (published)\n\n" + markdown_table(header, lines)
    return text


def base_table(rows: list[Summary]) -> str:
    """Return the numbers of Figure 2."""
    rows = [row for row in rows if row.score == "max"]
    columns = list(dict.fromkeys((row.method, row.k) for row in rows))
    lines = [
        [title(dataset), *(_mean(rows, dataset=dataset, method=method, k=k) for method, k in columns)]
        for dataset in _names(rows, "dataset")
    ]
    return markdown_table(["dataset", *(f"{method} {k}".strip() for method, k in columns)], lines)


def win_tables(rows: list[Summary]) -> str:
    """Return Tables 4 and 5."""
    text = ""
    for k in ("best-k", "same-k"):
        mine = [row for row in rows if row.score == "max" and row.k == k]
        methods = _names(mine, "method")
        header = ["dataset"]
        for method in methods:
            header += [f"{method} (%)", "published", "difference"]
        lines = []
        for dataset in _names(mine, "dataset"):
            line = [title(dataset)]
            for method in methods:
                line += _with_published(_find(mine, dataset=dataset, method=method), 1)
            lines.append(line)
        if lines:
            text += f"\n**{k}**\n\n" + markdown_table(header, lines)
    return text


def ill_table(rows: list[Summary]) -> str:
    """Return the numbers of Figure 3: means over the datasets of each method."""
    rows = [row for row in rows if row.score == "max"]
    ratios = _names(rows, "setting")
    text = ""
    for k in ("best-k", "true-k"):
        lines = []
        for method in _names(rows, "method"):
            of_method = [row for row in rows if row.method == method and row.k == k]
            datasets = _names(of_method, "dataset")
            line = [f"{method} ({len(datasets)} datasets)"]
            for ratio in ratios:
                values = [row.mean for row in of_method if row.setting == ratio]
                line.append(_number(sum(values) / len(values)) if len(values) == len(datasets) > 0 else "–")
            lines.append(line)
        text += f"\n**{k}**, mean over datasets\n\n"
        text += markdown_table(["method", *(f"{float(ratio):.0%}" for ratio in ratios)], lines)
    return text


def time_table(rows: list[Summary]) -> str:
    """Return the numbers of Figure 4."""
    methods = _names(rows, "method")
    lines = [
        [f"{int(n_rows):,}", *(_mean(rows, setting=n_rows, method=method) for method in methods)]
        for n_rows in _names(rows, "setting")
    ]
    published = [_find([r for r in rows if r.published is not None], method=method) for method in methods]
    if any(published):
        lines.append(["paper, 20,000", *(_number(row.published, 2) if row else "–" for row in published)])
    return markdown_table(["rows", *(f"{method} (s)" for method in methods)], lines)


def claims_table(claims: list[Claim]) -> str:
    """Return the claims of the paper with our results, and reasons if there are any."""
    header = ["where", "claim of the paper", "our result", "verdict", "likely reason"]
    lines = [
        [claim.location, claim.statement, claim.measured or "–", f"**{claim.verdict}**", claim.reason or "–"]
        for claim in claims
    ]
    width = 5 if any(claim.reason for claim in claims) else 4
    return _text_table(header[:width], [line[:width] for line in lines])


def claim_pairs_table(pairs: Iterable[tuple[Claim, Claim]]) -> str:
    """Return the claims of the paper with our results and those of another choice."""
    lines = [
        [ours.statement, ours.measured, f"**{ours.verdict}**", other.measured, f"**{other.verdict}**"]
        for ours, other in pairs
    ]
    return _text_table(["claim of the paper", "our choices", "verdict", "other choice", "verdict"], lines)


def _text_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with every column left-aligned."""
    return "".join("| " + " | ".join(line) + " |\n" for line in [header, ["---"] * len(header), *rows])
