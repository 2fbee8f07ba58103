"""Figures 2, 3 and 4 of the paper, drawn from our results; the paper prints no numbers for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorate._utils.optional_imports import import_extra
from quorate.paper.spec import MAX_PRESET
from quorate.paper.summaries import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = {
    "GP-MGLA": "#c1272d",
    "WEAC-AL": "#0000a7",
    "WEAC-CL": "#5b6ad0",
    "WEAC-SL": "#9fb0e8",
    "HBGF": "#008176",
    "WCC": "#eecc16",
    "EAC-AL": "#7f7f7f",
    "ECMC-AL": "#b27300",
    "SRS-AL": "#9467bd",
    "WCT-AL": "#56b4e9",
    "NCAI": "#111111",
    "Max(base)": "#d9d9d9",
    "Avg(base)": "#a6a6a6",
    "Min(base)": "#737373",
}
MARKERS = dict(zip(COLORS, "os^vDPXd*hp<>8", strict=True))
_METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "png": {"Software": None}}


def title(dataset: str) -> str:
    """Return a dataset's name as the paper writes it."""
    return dataset.replace("_", " ").title()


def _new_figure(width: float, height: float) -> Figure:
    module = import_extra("matplotlib.figure", "Drawing the paper's figures")
    return module.Figure(figsize=(width, height), layout="constrained")


def draw_figures(summaries: dict[str, list[Summary]]) -> Iterator[tuple[str, Figure]]:
    """Yield the figures by name, for the experiments that were run."""
    if summaries["base"]:
        yield "figure2", draw_base(summaries["base"])
    for k in ("best-k", "true-k"):
        rows = [row for row in summaries["ill"] if row.k == k and row.score == "max"]
        if len({row.setting for row in rows}) > 1:
            yield f"figure3_{k}", draw_ill(rows)
    if summaries["time"]:
        yield "figure4", draw_time(summaries["time"])


def draw_base(rows: list[Summary]) -> Figure:
    """Draw Figure 2: the paper's methods at best-k and true-k, with the best, mean and worst member."""
    rows = [row for row in rows if row.score == "max" and not row.method.endswith(MAX_PRESET)]
    datasets = list(dict.fromkeys(row.dataset for row in rows))
    figure = _new_figure(10, 6)
    axes = figure.subplots(2, 1, sharex=True)
    for ax, k in zip(axes, ("best-k", "true-k"), strict=True):
        shown = [row for row in rows if row.k in (k, "")]
        names = [name for name in COLORS if any(row.method == name for row in shown)]
        for i, name in enumerate(names):
            bars = {row.dataset: row for row in shown if row.method == name}
            at = [j + (i - (len(names) - 1) / 2) * 0.8 / len(names) for j, d in enumerate(datasets) if d in bars]
            heights = [bars[d].mean for d in datasets if d in bars]
            ax.bar(at, heights, 0.8 / len(names), label=name, color=COLORS[name])
        ax.set_ylabel(f"NMI (max), {k}")
        ax.set_xticks(range(len(datasets)), [title(d) for d in datasets])
    axes[0].legend(ncols=4, fontsize=8)
    return figure


def draw_ill(rows: list[Summary]) -> Figure:
    """Draw Figure 3: one panel per dataset, score against the share of ill clusterings."""
    datasets = list(dict.fromkeys(row.dataset for row in rows))
    n_across = min(4, len(datasets))
    n_down = -(-len(datasets) // n_across)
    figure = _new_figure(3.2 * n_across, 2.8 * n_down + 0.4)
    panels = figure.subplots(n_down, n_across, squeeze=False).ravel()
    for ax, dataset in zip(panels, datasets, strict=False):
        _draw_lines(ax, [row for row in rows if row.dataset == dataset], percent=True)
        ax.set_title(title(dataset), fontsize=9)
    for ax in panels[len(datasets) :]:
        ax.set_axis_off()
    figure.supxlabel("ill clusterings in the pool (%)", fontsize=9)
    figure.supylabel(f"NMI ({rows[0].score}), {rows[0].k}", fontsize=9)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=5, fontsize=8)
    return figure


def _draw_lines(ax: Axes, rows: list[Summary], percent: bool = False) -> None:
    """Draw one line per method; the preset of the authors' program is dashed."""
    for name in dict.fromkeys(row.method for row in rows):
        plain = name.removesuffix(MAX_PRESET)
        line = [row for row in rows if row.method == name]
        ax.plot(
            [float(row.setting) * (100 if percent else 1) for row in line],
            [row.mean for row in line],
            color=COLORS[plain],
            marker=MARKERS[plain],
            markersize=3,
            linewidth=1,
            linestyle="--" if name != plain else "-",
            label=name,
        )


def draw_time(rows: list[Summary]) -> Figure:
    """Draw Figure 4: seconds against rows, to 5,000 and to all; crosses are the paper's seconds."""
    largest = max(float(row.setting) for row in rows)
    figure = _new_figure(10, 4)
    for ax, limit in zip(figure.subplots(1, 2), (min(5000.0, largest), largest), strict=True):
        _draw_lines(ax, [row for row in rows if float(row.setting) <= limit])
        for row in rows:
            if row.published is not None and float(row.setting) <= limit:
                ax.plot(float(row.setting), row.published, "x", color=COLORS[row.method], markersize=7)
        ax.set_yscale("log")
        ax.set_xlabel("rows of Letters")
        ax.set_ylabel("seconds")
    figure.axes[0].legend(fontsize=7, ncols=2)
    return figure


def save_figures(summaries: dict[str, list[Summary]], folder: Path) -> list[str]:
    """Write the figures as PNG and SVG and return their names."""
    matplotlib = import_extra("matplotlib", "Drawing the paper's figures")
    names = []
    # A fixed salt makes the same figure the same file.
    with matplotlib.rc_context({"svg.hashsalt": "quorate", "svg.fonttype": "none"}):
        for name, figure in draw_figures(summaries):
            for kind in ("png", "svg"):
                figure.savefig(folder / f"{name}.{kind}", dpi=100, metadata=_METADATA[kind])
            names.append(name)
    return names
