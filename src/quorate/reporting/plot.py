"""Figures with matplotlib: each function draws on the given axes (or on new ones) and returns them.

The data come from `member_views`, `cut_views` and `figure_views`, which work without matplotlib. The caller shows and
saves the figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._utils.checks import check_choice
from quorate._utils.optional_imports import import_extra
from quorate._utils.palette import NO_CLUSTER, SEQUENTIAL, cluster_colors
from quorate.algorithms.layers import Layers
from quorate.analysis.choose_member import MemberChoice, members_of
from quorate.analysis.choose_member import choose_member as chosen_member
from quorate.analysis.diagnosis import Diagnosis
from quorate.analysis.scores import evaluate
from quorate.analysis.spatial import check_points
from quorate.errors import InputError
from quorate.features.consensus_clustering import ConsensusClustering
from quorate.integrations.anndata import is_annotated
from quorate.numerics.mutual_information import Measure, Normalize
from quorate.reporting.cut_views import answer_at, cut_view, sweep_view
from quorate.reporting.figure_views import flow_view, matrix_view, resolution_tree_view, tree_view
from quorate.reporting.fitted_input import Fitted, ensemble_of, fitted_method
from quorate.reporting.member_views import agreement_view, member_rows

_INK, _QUIET, _GRID = "#1c2430", "#5a6675", "#d9dee5"
_SMALLEST_FONT = 4.5
_NAME_LENGTH = 22
_SMALLEST_LINE = 0.1  # share of the rows of a cluster, in the tree over resolutions


def agreement(
    ens: Any, *, measure: Measure = "ami", normalize: Normalize = "sqrt", order: bool = True, ax: Any = None
) -> Any:
    """Draw the agreement of every two members as a heat map, with similar members next to each other.

    Parameters
    ----------
    ens : Ensemble or anything `Ensemble` accepts; a result or a fitted estimator
    measure : {"ami", "nmi"}, default "ami"
        Chance-corrected (AMI) or plain (NMI) mutual information, as in `quorate.agreement`.
    normalize : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        As in `quorate.agreement`.
    order : bool, default True
        Whether to reorder the members.
    ax : matplotlib axes, optional
    """
    view = agreement_view(ens, measure=measure, normalize=normalize, order=order)
    ax = _axes(ax, square=True)
    image = ax.imshow(view.values, cmap=_color_map(), vmin=0, vmax=1, interpolation="nearest")
    _name_ticks(ax, view.names, both=True)
    _color_bar(ax, image, f"agreement ({measure.upper()})")
    ax.set_title("Agreement of members")
    return ax


def trust(ens: Any, *, normalize: Normalize = "sqrt", ax: Any = None) -> Any:
    """Draw the trust index of each member, its mean chance-corrected agreement (AMI) with the others, highest first.

    Parameters
    ----------
    ens : Ensemble or anything `Ensemble` accepts; a result or a fitted estimator
    normalize : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        As in `quorate.agreement`.
    ax : matplotlib axes, optional
    """
    ranked = sorted(member_rows(ens, normalize=normalize), key=lambda row: -row.trust)
    ax = _axes(ax, height=min(max(0.26 * len(ranked) + 1.2, 2.4), 11.0))
    values = [row.trust for row in ranked]
    positions = np.arange(len(ranked))
    ax.barh(positions, values, height=0.8, color=["#0b62a4" if row.beyond_chance else "#c44e0e" for row in ranked])
    ax.set_ylim(len(ranked) - 0.4, -0.6)
    # Room for the numbers next to the bars.
    ax.set_xlim(0, 1.08 if len(ranked) <= 30 else 1.0)
    _name_ticks(ax, [row.name for row in ranked], horizontal=False)
    if len(ranked) <= 30:
        for position, value in zip(positions, values, strict=True):
            ax.text(value + 0.01, position, f"{value:.2f}", va="center", fontsize=8, color=_QUIET)
    ax.set_xlabel("mean AMI with the other members")
    ax.set_title("Agreement of each member with the others")
    _bare(ax, grid="x")
    return ax


def consensus_matrix(fitted: Fitted, *, n_clusters: int | None = None, ax: Any = None) -> Any:
    """Draw the co-association of sampled rows ordered by cluster; width is proportional to the rows represented.

    Parameters
    ----------
    fitted : result of `consensus`, or fitted estimator
    n_clusters : int, optional
        Draw the result at another number of clusters.
    ax : matplotlib axes, optional
    """
    view = matrix_view(fitted_method(fitted), n_clusters)
    ax = _axes(ax, square=True)
    # Patterns are as wide as the rows that they represent.
    edges = np.concatenate([[0.0], np.cumsum(view.rows)]) / view.rows.sum()
    mesh = ax.pcolormesh(edges, edges, view.coassociation, cmap=_color_map(), vmin=0, vmax=1, rasterized=True)
    colors = cluster_colors(int(view.labels.max()) + 1)
    changes = np.flatnonzero(np.diff(view.labels)) + 1
    starts, ends = np.concatenate([[0], changes]), np.concatenate([changes, [len(view.labels)]])
    # At most 25 numbers fit next to the matrix.
    every = -(-len(starts) // 25)
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        low, high, label = edges[start], edges[end], int(view.labels[start])
        ax.add_patch(_patch("Rectangle")((low, low), high - low, high - low, fill=False, ec=_INK, lw=0.6))
        for corner, width, height in (((low, -0.035), high - low, 0.025), ((-0.035, low), 0.025, high - low)):
            ax.add_patch(_patch("Rectangle")(corner, width, height, color=colors[label], lw=0, clip_on=False))
        if i % every == 0 and high - low > 0.015:
            ax.text((low + high) / 2, -0.045, str(label), ha="center", va="bottom", fontsize=8, color=_INK)
    ax.set_xlim(-0.04, 1)
    ax.set_ylim(1, -0.04)
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    _color_bar(ax, mesh, "co-association")
    ax.set_title("Consensus matrix", pad=18)
    return ax


def dendrogram(fitted: Fitted, *, n_clusters: int | None = None, ax: Any = None) -> Any:
    """Draw the top of the dendrogram of a linkage method, with the cut and its clusters.

    Parameters
    ----------
    fitted : result or fitted estimator of a linkage method, such as WEAC
    n_clusters : int, optional
        Draw the cut into another number of clusters.
    ax : matplotlib axes, optional
    """
    method = fitted_method(fitted)
    view = tree_view(method.solution_, n_clusters or method.n_clusters_)
    collections = import_extra("matplotlib.collections", "Plotting")
    ax = _axes(ax, width=9.0)
    colors = cluster_colors(int(view.labels.max(initial=0)) + 1)
    inks = [NO_CLUSTER if c < 0 else colors[c] for c in view.colors]
    ax.add_collection(collections.LineCollection(view.segments, colors=inks, linewidths=1.4))
    depth = 0.03 * max(float(view.segments[:, :, 1].max(initial=0.0)), 1e-9)
    ax.bar(view.positions, -depth, width=0.9, color=[colors[c] for c in view.labels])
    _label_runs(ax, view.labels, -1.3 * depth)
    ax.axhline(view.cut_height, color=_QUIET, lw=0.8, ls="--")
    ax.set_xlim(-0.8, len(view.positions) - 0.2)
    ax.set_ylim(-3.6 * depth, None)
    ax.set_xticks([])
    ax.set_xlabel(f"clusters ({len(view.positions)} branches)", color=_QUIET)
    ax.set_ylabel("1 - co-association")
    ax.set_title("Dendrogram")
    _bare(ax)
    ax.spines["bottom"].set_visible(False)
    return ax


def _label_runs(ax: Any, labels: NDArray[np.int64], height: float) -> None:
    """Write each cluster's number under its branches; alternate between two heights if they are many."""
    changes = np.flatnonzero(np.diff(labels)) + 1
    starts, ends = np.concatenate([[0], changes]), np.concatenate([changes, [len(labels)]])
    # Numbers of neighboring clusters would overlap at one height.
    crowded = len(labels) / max(len(starts), 1) < 2 and len(starts) > 25
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        y = height * (1.75 if crowded and i % 2 else 1.0)
        ax.text((start + end - 1) / 2, y, str(labels[start]), ha="center", va="top", fontsize=7 if crowded else 8)


def cluster_sizes(fitted: Fitted, *, n_clusters: int | None = None, ax: Any = None) -> Any:
    """Draw the number of rows of each cluster; darker bars are more stable. Labels: stability.

    Parameters
    ----------
    fitted : result of `consensus`, or fitted estimator
    n_clusters : int, optional
        Draw the result at another number of clusters.
    ax : matplotlib axes, optional
    """
    cut = cut_view(answer_at(fitted_method(fitted), n_clusters))
    ax = _axes(ax, width=min(max(0.32 * cut.n_clusters + 2.5, 5.0), 14.0))
    color_map = _color_map()
    positions = np.arange(cut.n_clusters)
    ax.bar(positions, cut.sizes, width=0.85, color=color_map(cut.stability), edgecolor=_INK, linewidth=0.5)
    for position, cluster in zip(positions, cut.clusters, strict=True):
        turned = cut.n_clusters > 6
        ax.annotate(
            f"{cluster.stability:.2f}", (position, cluster.size), (0, 3),
            textcoords="offset points", ha="center", va="bottom",
            fontsize=7 if turned else 8, rotation=90 if turned else 0, color=_QUIET,
        )  # fmt: skip
    # At most 50 tick labels.
    step = max(1, -(-cut.n_clusters // 50))
    ax.set_xticks(positions[::step], [str(c) for c in positions[::step]])
    ax.set_xlim(-0.7, cut.n_clusters - 0.3)
    ax.margins(y=0.28 if cut.n_clusters > 6 else 0.14)
    ax.set_xlabel("cluster")
    ax.set_ylabel("rows")
    ax.set_title("Cluster sizes, with stability")
    _bare(ax, grid="y")
    return ax


def choose_k(fitted: Fitted, *, ax: Any = None) -> Any:
    """Draw the score of each number of clusters (`quorate.choose_k`), with the three best candidates.

    Parameters
    ----------
    fitted : result of `consensus`, or fitted estimator
    ax : matplotlib axes, optional
    """
    choice = fitted.choice_ if isinstance(fitted, ConsensusClustering) else fitted_method(fitted).choice_
    if not choice.curve:
        raise InputError(f"There are no scores by number of clusters to draw. {choice.sentence}", code="no-scores")
    ax = _axes(ax, width=8.0)
    ks = [candidate.n_clusters for candidate in choice.curve]
    largest = max(*(candidate.score for candidate in choice.curve), 1e-12)
    best = {candidate.n_clusters for candidate in choice.candidates}
    ax.bar(
        ks,
        [candidate.score / largest for candidate in choice.curve],
        width=0.7,
        color=["#0b62a4" if k in best else "#cfe0ee" for k in ks],
        label="score (relative to the largest)",
    )
    for name, legend, style, ink in (
        ("stability", "tree stability (ARI)", "s--", "#c44e0e"),
        ("eigengap", "eigengap", "o-", "#16956e"),
        ("agreement", "agreement of kinds (ARI)", "s--", "#c44e0e"),
        ("density", "agreement with HDBSCAN (ARI)", "o-", "#16956e"),
    ):
        values = np.array([getattr(candidate, name, np.nan) for candidate in choice.curve])
        if np.isfinite(values).any():
            ax.plot(ks, values, style, ms=4, color=ink, label=legend)
    for candidate in choice.candidates:
        height = candidate.score / largest
        ax.text(candidate.n_clusters, height + 0.01, str(candidate.n_clusters), ha="center", fontsize=8, color=_INK)
    ax.set_ylim(0, 1.08)
    _over_ks(ax, "Support for each number of clusters", ncols=3)
    return ax


def choose_member(choice: Any, *, ax: Any = None) -> Any:
    """Draw the reproduced share of each member by its entropy, with the null share and the chosen member.

    Parameters
    ----------
    choice : result of `quorate.choose_member`, or anything that it takes
    ax : matplotlib axes, optional
    """
    choice = choice if isinstance(choice, MemberChoice) else chosen_member(choice)
    ax = _axes(ax, width=8.0)
    judged = [member for member in choice.evidence if member.reproduced == member.reproduced]
    inks = ["#0b62a4" if member.key == choice.key else "#9dc3df" for member in judged]
    ax.scatter([member.entropy for member in judged], [member.reproduced for member in judged], color=inks)
    for member in judged:
        ax.annotate(
            _shorten(member.key), (member.entropy, member.reproduced), (4, 4), textcoords="offset points", fontsize=8
        )
    ax.axhline(choice.null_share, color=_QUIET, lw=0.8, ls="--")
    ax.set_ylim(0, 1.08)
    ax.set_xlabel("entropy of the member (nats)")
    ax.set_ylabel("share reproduced by finer members")
    ax.set_title(f"Chosen: {_shorten(choice.key)}")
    _bare(ax, grid="y")
    return ax


def resolution_tree(labels: Any, *, keys: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Draw the clusters of several resolutions as a tree, the coarsest on top (a "clustree").

    A circle is a cluster, its area the number of rows. Its color is the largest share of its rows that come from one
    cluster of the resolution above: pale circles are assembled from several clusters, a sign of too fine a resolution.
    A line is a share of at least a tenth; its width is the share.

    Parameters
    ----------
    labels : Ensemble or anything `Ensemble` accepts; a result or a fitted estimator; an AnnData object
    keys : sequence of str, optional
        The members to draw. Required for an AnnData object, where they are columns of `obs`.
    ax : matplotlib axes, optional
    """
    view = resolution_tree_view(members_of(labels if is_annotated(labels) else ensemble_of(labels), keys))
    ax = _axes(ax, width=9.0, height=min(max(0.75 * len(view.members) + 1.0, 3.0), 12.0))
    for level, table in enumerate(view.shared):
        shares = table / np.maximum(table.sum(axis=0), 1e-300)
        for i, j in np.argwhere(shares >= _SMALLEST_LINE):
            ends = [view.positions[level][i], view.positions[level + 1][j]]
            ax.plot(ends, [level, level + 1], color=_QUIET, lw=3 * shares[i, j], alpha=0.7, zorder=1)
    drawn = None
    for level, (positions, sizes) in enumerate(zip(view.positions, view.sizes, strict=True)):
        areas = 600 * sizes / max(float(sizes.sum()), 1e-300) + 12
        drawn = ax.scatter(
            positions, np.full(len(positions), level), s=areas, c=view.origin[level], cmap=_color_map(), vmin=0, vmax=1,
            edgecolors=_INK, linewidths=0.6, zorder=2,
        )  # fmt: skip
    ax.set_xlim(0, 1)
    ax.set_ylim(len(view.members) - 0.5, -0.5)
    ax.set_xticks([])
    _name_ticks(ax, view.members, horizontal=False)
    ax.spines[:].set_visible(False)
    _color_bar(ax, drawn, "largest share from one cluster above")
    ax.set_title("Tree over resolutions")
    return ax


def spatial(fitted: Fitted, xy: Any, *, color: str = "entropy", ax: Any = None) -> Any:
    """Draw the rows at their coordinates, colored by where the members disagree.

    Parameters
    ----------
    fitted : result of `consensus`, or fitted estimator
    xy : (n, 2) array or frame
        Coordinates of the rows, such as `adata.obsm["spatial"]` or a UMAP.
    color : {"entropy", "confidence", "margin", "cluster"}, default "entropy"
        Entropy of the members' votes (high: they disagree), their share for the cluster of the row, its lead over the
        runner-up, or the cluster.
    ax : matplotlib axes, optional
    """
    check_choice("color", color, ("entropy", "confidence", "margin", "cluster"))
    answer = fitted_method(fitted).answer_
    rows = answer.ensemble.row_pattern
    points = check_points("xy", xy, len(rows))
    ax = _axes(ax, square=True)
    area = np.clip(40_000 / max(len(rows), 1), 1.0, 40.0)
    if color == "cluster":
        inks = np.array([*cluster_colors(answer.n_clusters), NO_CLUSTER])
        ax.scatter(*points.T, s=area, c=inks[answer.labels[rows]], linewidths=0, rasterized=len(rows) > 5_000)
    else:
        values = {"entropy": lambda: answer.entropy, "confidence": lambda: answer.certainty.confidence}
        shown = values.get(color, lambda: answer.certainty.margin)()[rows]
        drawn = ax.scatter(
            *points.T, s=area, c=shown, cmap=_color_map(), vmin=0, vmax=1, linewidths=0, rasterized=len(rows) > 5_000
        )
        _color_bar(ax, drawn, {"entropy": "entropy of the votes"}.get(color, color))
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_title({"entropy": "Where the members disagree", "cluster": "Clusters"}.get(color, color.capitalize()))
    return ax


def _over_ks(ax: Any, title: str, ncols: int) -> None:
    """Add title, axis and legend to a figure over numbers of clusters."""
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("number of clusters")
    ax.set_title(title)
    ax.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=ncols)
    _bare(ax, grid="y")


def by_n_clusters(fitted: Fitted, n_clusters: Iterable[int] | None = None, *, truth: Any = None, ax: Any = None) -> Any:
    """Draw mean confidence (compared with chance) and agreement with the members by number of clusters.

    Parameters
    ----------
    fitted : result of `consensus`, or fitted estimator
    n_clusters : iterable of int, optional
        Default: up to twenty numbers.
    truth : (n,) labels, optional
        Known classes: their AMI with each result is drawn too.
    ax : matplotlib axes, optional
    """
    method = fitted_method(fitted)
    view = sweep_view(Diagnosis(method.solution_, method.n_clusters_), n_clusters)
    ax = _axes(ax, width=8.0)
    if np.isfinite(view.scores).any():
        heights = np.nan_to_num(view.scores) / max(float(np.nanmax(view.scores)), 1e-12)
        ax.bar(view.ks, heights, width=0.7, color="#cfe0ee", label="score (relative to the largest)")
    confidence = [cut.mean_confidence for cut in view.cuts]
    ax.plot(view.ks, confidence, "o-", ms=4, color="#0b62a4", label="mean confidence")
    chance = [cut.chance_confidence for cut in view.cuts]
    ax.plot(view.ks, chance, ":", lw=1, color="#0b62a4", label="expected for random rows")
    ax.plot(
        view.ks,
        [cut.agreement for cut in view.cuts],
        "s--",
        ms=4,
        color="#c44e0e",
        label="agreement with members (AMI)",
    )
    if truth is not None:
        rows = fitted_method(fitted).ensemble_.row_pattern
        scores = [evaluate(cut.labels[rows], truth).ami for cut in view.cuts]
        ax.plot(view.ks, scores, "^:", ms=5, color="#16956e", label="AMI with the known classes")
    ax.axvline(fitted_method(fitted).n_clusters_, color=_QUIET, lw=0.8, ls="--")
    ax.set_ylim(0, 1.02)
    _over_ks(ax, "Result by number of clusters", ncols=4)
    return ax


def flow(fitted: Fitted, member: int | str, *, n_clusters: int | None = None, ax: Any = None) -> Any:
    """Draw the rows that a member's clusters (left) share with the consensus clusters (right).

    Parameters
    ----------
    fitted : result of `consensus`, or fitted estimator
    member : int or str
        A member's position or name.
    n_clusters : int, optional
        Draw the result at another number of clusters.
    ax : matplotlib axes, optional
    """
    view = flow_view(fitted_method(fitted), member, n_clusters)
    most = max(len(view.left), len(view.right))
    ax = _axes(ax, width=7.0, height=min(max(0.22 * most + 2.0, 4.5), 12.0))
    colors = cluster_colors(len(view.right))
    left, right = _stack(view.table.sum(axis=1)), _stack(view.table.sum(axis=0))
    total = view.table.sum()
    left_used, right_used = left.copy(), right.copy()
    for i, j in np.argwhere(view.table > 0):
        thick = view.table[i, j] / total * _BANDS
        _band(ax, left_used[i], right_used[j], thick, colors[j])
        left_used[i] += thick
        right_used[j] += thick
    _pillar(ax, 0.0, left, view.table.sum(axis=1), view.left, [_QUIET] * len(left), "right")
    _pillar(ax, 1.0, right, view.table.sum(axis=0), view.right, colors, "left")
    ax.set_xlim(-0.3, 1.3)
    ax.set_ylim(1.02, -0.02)
    ax.axis("off")
    ax.set_title(f"From {_shorten(view.member)} to the consensus")
    return ax


def layers(nested: Layers, *, ax: Any = None) -> Any:
    """Draw nested partitions, the coarsest on top; each cluster is as wide as its rows and lies below its parent.

    Parameters
    ----------
    nested : result of `ConsensusResult.layers`
    ax : matplotlib axes, optional
    """
    if not isinstance(nested, Layers):
        raise InputError(
            f"must be nested partitions, such as result.layers([3, 9]); got {type(nested).__name__}.",
            code="not-layers",
            parameter="nested",
        )
    n_layers = len(nested.n_clusters)
    ax = _axes(ax, width=9.0, height=min(0.7 * n_layers + 1.4, 8.0))
    # Ancestors of the clusters of each layer, the coarsest last: sorting by them puts clusters below their parents.
    ancestors = [np.arange(nested.n_clusters[-1])[None]]
    for parents in nested.parents[::-1]:
        ancestors.insert(0, np.concatenate([np.arange(len(parents))[None], ancestors[0][:, parents]]))
    colors = cluster_colors(nested.n_clusters[-1])
    total = max(float(nested.sizes[-1].sum()), 1e-300)
    for layer, (lineage, sizes) in enumerate(zip(ancestors, nested.sizes, strict=True)):
        order = np.lexsort(lineage)
        widths = sizes[order] / total
        starts = np.concatenate([[0.0], np.cumsum(widths)[:-1]])
        inks = [colors[c] for c in lineage[-1, order]]
        ax.barh(np.full(len(order), layer), widths, left=starts, height=0.9, color=inks, alpha=0.5, ec="white")
        for cluster, start, width in zip(order, starts, widths, strict=True):
            if width > _WIDTH_OF_NUMBER:
                ax.text(start + width / 2, layer, str(cluster), ha="center", va="center", fontsize=8, color=_INK)
    ax.set_yticks(range(n_layers), [f"{k} clusters" if k != 1 else "1 cluster" for k in nested.n_clusters])
    ax.set_xlim(0, 1)
    ax.set_xlabel("share of the rows")
    ax.set_title("Layers")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


_WIDTH_OF_NUMBER = 0.025  # share of the rows for which a cluster's number is written
_BANDS = 0.9  # share of the height for bands; the rest are gaps between them


def _stack(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the start of each part of a pillar."""
    gap = (1.0 - _BANDS) / max(len(sizes) - 1, 1)
    heights = sizes / max(sizes.sum(), 1e-300) * _BANDS
    return np.concatenate([[0.0], np.cumsum(heights + gap)[:-1]])


def _band(ax: Any, y_left: float, y_right: float, thick: float, color: str) -> None:
    path = import_extra("matplotlib.path", "Plotting").Path
    corners = [
        (0.03, y_left), (0.5, y_left), (0.5, y_right), (0.97, y_right),
        (0.97, y_right + thick), (0.5, y_right + thick), (0.5, y_left + thick), (0.03, y_left + thick), (0.03, y_left),
    ]  # fmt: skip
    steps = [path.MOVETO, *[path.CURVE4] * 3, path.LINETO, *[path.CURVE4] * 3, path.CLOSEPOLY]
    ax.add_patch(_patch("PathPatch")(path(corners, steps), facecolor=color, alpha=0.45, lw=0))


def _pillar(
    ax: Any, x: float, starts: NDArray[np.float64], sizes: NDArray[np.float64], names: Any, colors: Any, side: str
) -> None:
    heights = sizes / max(sizes.sum(), 1e-300) * _BANDS
    font = 9 if len(names) <= 20 else 7
    for start, height, name, color in zip(starts, heights, names, colors, strict=True):
        ax.add_patch(_patch("Rectangle")((x - 0.03, start), 0.06, height, color=color, lw=0))
        text_x = x - 0.05 if side == "right" else x + 0.05
        ax.text(text_x, start + height / 2, _shorten(name), ha=side, va="center", fontsize=font, color=_INK)


def _axes(ax: Any, *, width: float = 7.0, height: float = 4.5, square: bool = False) -> Any:
    if ax is not None:
        return ax
    pyplot = import_extra("matplotlib.pyplot", "Plotting")
    _, ax = pyplot.subplots(figsize=(7.0, 6.0) if square else (width, height), layout="constrained")
    return ax


def _patch(name: str) -> Any:
    return getattr(import_extra("matplotlib.patches", "Plotting"), name)


def _color_map() -> Any:
    colors = import_extra("matplotlib.colors", "Plotting")
    return colors.LinearSegmentedColormap.from_list("quorate", SEQUENTIAL)


def _color_bar(ax: Any, drawn: Any, title: str) -> None:
    bar = ax.figure.colorbar(drawn, ax=ax, shrink=0.7, pad=0.03)
    bar.set_label(title, color=_QUIET)
    bar.outline.set_visible(False)


def _name_ticks(ax: Any, names: Any, *, both: bool = False, horizontal: bool = True) -> None:
    """Write the names next to the cells as large as possible; none where they would be too small to read."""
    box = ax.get_position()
    width, height = ax.figure.get_size_inches()
    space = 72 * (width * box.width if horizontal and not both else height * box.height) / len(names)
    font = min(9.0, 0.85 * space)
    axes = [ax.xaxis, ax.yaxis] if both else [ax.xaxis if horizontal else ax.yaxis]
    if font < _SMALLEST_FONT:
        for axis in axes:
            axis.set_ticks([])
        axes[-1].set_label_text(f"{len(names)} members", color=_QUIET)
        return
    shown = [_shorten(name) for name in names]
    for axis in axes:
        turned = 90 if axis is ax.xaxis else 0
        axis.set_ticks(range(len(names)), shown, fontsize=font, rotation=turned)
    ax.tick_params(length=0)


def _shorten(name: str) -> str:
    return name if len(name) <= _NAME_LENGTH else name[: _NAME_LENGTH - 1] + "…"


def _bare(ax: Any, grid: str | None = None) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(axis=grid, color=_GRID, lw=0.6)
