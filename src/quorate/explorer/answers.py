"""What the page shows, as plain values ready for JSON: one function for each request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from quorate._utils.array_types import Bools, Floats, Ints
from quorate._utils.palette import page_colors
from quorate.algorithms.portfolio import PortfolioCuts
from quorate.algorithms.tree import LinkageMethod
from quorate.analysis.choose_k import Choice
from quorate.analysis.core_rows import NestedCores
from quorate.analysis.scores import score_table
from quorate.ensemble import Ensemble, member_codes
from quorate.errors import InputError
from quorate.explorer.help import parameter_help
from quorate.explorer.requests import MOST_CLUSTERS, OFFERED_METHODS, Query, parameters_of
from quorate.explorer.workbench import Answer, Workbench, is_large
from quorate.numerics.linkage import Dendrogram
from quorate.numerics.transfer_cut import TransferCut
from quorate.reporting.cut_views import Cut, member_contingency, strongest_votes, transition
from quorate.reporting.figure_views import sampled_matrix, tree_view
from quorate.reporting.member_views import seriate
from quorate.reporting.plain_values import (
    ball_values,
    camp_sentences,
    camp_values,
    candidate_values,
    choice_values,
    core_values,
    member_values,
    reliability_values,
    text_values,
)
from quorate.reporting.sentences import found_clusters, member_sentences
from quorate.row_similarity import mean_coassociation
from quorate.soft_ensemble import SoftEnsemble

Clustering = tuple[str, Ints, list[str]]
"""A clustering of the rows: its title, the code of each row (-1: none), and the names of its clusters."""

POINTS_DRAWN = 20_000
_KS_SHOWN = 30
_MOVED_SHOWN = 50
_SHORT = 300


def start(bench: Workbench) -> dict[str, Any]:
    """Return what the page needs only once: members, their agreement, methods, colors and points."""
    ens = bench.ensemble
    # Similar members next to each other, so that the matrix shows blocks.
    order = seriate(bench.agreement)
    return {
        "name": bench.name,
        "rows": ens.n_rows,
        "patterns": ens.n_patterns,
        "large": is_large(ens),
        "clusters": ens.n_clusters,
        "id": bench.id_name,
        "truth": bench.truth_name,
        "members": [
            {"name": ens.names[j], "n_clusters": len(ens.levels[j]), "coverage": round(float(share), 6)}
            for j, share in enumerate(_coverage(ens))
        ],
        "agreement": {"order": order.tolist(), "values": np.round(bench.agreement[np.ix_(order, order)], 4).tolist()},
        "methods": [
            {
                "name": info.name,
                "citation": info.citation,
                "linkage": issubclass(info.estimator, LinkageMethod),
                "weighted": "weights" in info.parameters,
                "parameters": parameter_help(info.estimator, parameters_of(info)),
            }
            for info in OFFERED_METHODS
        ],
        "most_clusters": min(MOST_CLUSTERS, max(2, ens.n_patterns)),
        "colors": page_colors(),
        "points": _points(bench),
    }


def _coverage(ens: Ensemble) -> Floats:
    return np.array([ens.counts[ens.patterns[:, j] >= 0].sum() for j in range(ens.n_members)]) / ens.total_weight


def _points(bench: Workbench) -> dict[str, Any] | None:
    if bench.xy is None:
        return None
    rows = _drawn(bench)
    return {
        "names": list(bench.xy_names),
        "rows": rows.tolist(),
        "x": np.round(bench.xy[rows, 0], 6).tolist(),
        "y": np.round(bench.xy[rows, 1], 6).tolist(),
        "all": len(rows) == bench.ensemble.n_rows,
    }


def _drawn(bench: Workbench) -> Ints:
    """Return the rows that are drawn as points: all, or a bounded number at regular intervals."""
    n_rows = bench.ensemble.n_rows
    # At regular intervals, so that the sample does not change between requests.
    return np.arange(0, n_rows, max(1, -(-n_rows // POINTS_DRAWN)))


def answer_view(bench: Workbench, query: Query, answer: Answer) -> dict[str, Any]:
    """Return clusters, certainty and members of a result, and the code that reproduces it."""
    cut, ens = answer.cut, answer.solution.ensemble
    rows = bench.members(query, answer)
    members = [{**member_values(row), "member": j} for j, row in zip(query.members, rows, strict=True)]
    reliability = reliability_values(bench.trust(query), [name[:_SHORT] for name in ens.names], cut.weights)
    finding = found_clusters(cut.sizes.tolist(), ens.n_members)
    return {
        "k": cut.n_clusters,
        "headline": " ".join(
            [finding, *filter(None, [reliability["sentence"]]), *camp_sentences(ens), *member_sentences(members)]
        ),
        "notes": reliability["notes"],
        "caution": answer.caution,
        "choosing": answer.choosing,
        "clusters": [
            {
                "label": c,
                "size": float(cut.sizes[c]),
                "stability": round(float(cut.stability[c]), 4),
                "opponents": [[name[:_SHORT], round(share, 4)] for name, share in cut.opponents[c]],
                "texts": text_values(cut.clusters[c]),
            }
            for c in range(cut.n_clusters)
        ],
        "unlabeled": float(ens.counts[cut.labels < 0].sum()),
        "mean_confidence": round(cut.mean_confidence, 6),
        "agreement": round(cut.agreement, 6),
        "ball": ball_values([name[:_SHORT] for name in ens.names], cut.weights, cut.distances),
        "histogram": cut.histogram.tolist(),
        "members": [{key: value for key, value in member.items() if key != "name"} for member in members],
        "scores": _scores(bench, answer),
        "python": python_code(bench, query, answer),
        "command": None if bench.command is None else bench.command(query_at(query, cut.n_clusters), bench),
    }


def camps_view(bench: Workbench, query: Query, answer: Answer, *, combined: bool) -> dict[str, Any]:
    """Return the groups among all members; if `combined`, each with its own result compared with this one."""
    ens = bench.ensemble
    weights = np.zeros(ens.n_members)
    weights[list(query.members)] = answer.cut.weights
    values = camp_values(bench.camps, answer.row_labels[ens.first_row] if combined else None) or {"groups": []}
    for group in values["groups"]:
        group["weight"] = round(float(weights[group["members"]].sum()), 6)
    return {**values, "combined": combined}


def core_view(cores: NestedCores) -> dict[str, Any]:
    """Return the curve of rows kept against the required agreement."""
    return {"curve": core_values(cores)}


def query_at(query: Query, k: int) -> Query:
    """Return the query with a fixed number of clusters."""
    return Query(query.method, k, query.members, query.weights, query.params)


def _scores(bench: Workbench, answer: Answer) -> dict[str, float] | None:
    if bench.truth is None:
        return None
    return _rounded_scores(_table(answer.row_labels, _codes(bench.truth)[0]))


def _rounded_scores(table: Floats) -> dict[str, float] | None:
    return {name: round(value, 6) for name, value in asdict(score_table(table)).items()} if table.any() else None


def python_code(bench: Workbench, query: Query, answer: Answer) -> str:
    """Return Python code that computes exactly this result."""
    ens = bench.ensemble
    noise = "" if ens.noise == "missing" else f", noise={ens.noise!r}"
    created = "labels" if isinstance(ens, SoftEnsemble) else f"qt.Ensemble(labels{noise})"
    lines = ["import quorate as qt", *bench.python.splitlines(), "", f"ens = {created}"]
    # The code names members only if some are disabled.
    if len(query.members) < ens.n_members:
        lines.append(f"ens = ens.select({list(query.members)!r})")
    settings = "".join(f", {name}={value!r}" for name, value in bench.settings(query).items())
    lines += [f'result = qt.consensus(ens, {answer.cut.n_clusters}, "{query.method}"{settings})', "result.labels"]
    return "\n".join(lines)


def choice_view(choice: Choice) -> dict[str, Any]:
    """Return the automatic choice of the number of clusters, and the score of each number."""
    return {"k": choice.n_clusters, "sentence": choice.sentence, **choice_values(choice)}


def diagnostics_view(answer: Answer) -> dict[str, Any]:
    """Return the dendrogram or the eigenvalues of a result, and the methods that the default compared."""
    cuts, k = answer.solution.cuts, answer.cut.n_clusters
    most = max(_KS_SHOWN, k)
    tree, candidates = None, []
    if isinstance(cuts, Dendrogram):
        view = tree_view(answer.solution, k)
        tree = {
            "segments": np.round(view.segments, 6).tolist(),
            "colors": view.colors.tolist(),
            "rows": view.rows.tolist(),
            "labels": view.labels.tolist(),
            "cut": view.cut_height,
            "heights": np.round(cuts.pattern_tree.heights[::-1][: most + 1], 9).tolist(),
        }
    if isinstance(cuts, PortfolioCuts):
        candidates = candidate_values(cuts.chosen(k).candidates)
    # The default shows the graph that it compared.
    graph = cuts.graph if isinstance(cuts, PortfolioCuts) else cuts
    eigenvalues = graph.spectrum(1).values if isinstance(graph, TransferCut) else None
    return {
        "tree": tree,
        "eigenvalues": None if eigenvalues is None else np.round(eigenvalues[: most + 1], 9).tolist(),
        "candidates": candidates,
    }


def matrix_of(answer: Answer) -> dict[str, Any]:
    """Return the consensus matrix on samples, in hundredths."""
    view = sampled_matrix(answer.solution.ensemble, answer.cut.labels, answer.cut.weights)
    return {
        "rows": view.rows.tolist(),
        "values": np.rint(100 * view.coassociation).astype(int).tolist(),
        "labels": view.labels.tolist(),
    }


def contingency_view(bench: Workbench, first: int, second: int) -> dict[str, Any]:
    """Return the number of rows that the clusters of two members share, and the agreement (AMI) of the members."""
    ens = bench.ensemble
    return {
        "left": [str(level)[:_SHORT] for level in ens.levels[first].tolist()],
        "right": [str(level)[:_SHORT] for level in ens.levels[second].tolist()],
        "table": member_contingency(ens, first, second).tolist(),
        "agreement": round(float(bench.agreement[first, second]), 6),
    }


def compare_view(bench: Workbench, left: Clustering, right: Clustering) -> dict[str, Any]:
    """Return how two clusterings differ: shared rows, scores, and the rows that change cluster after matching."""
    (left_title, a, left_names), (right_title, b, right_names) = left, right
    table = _table(a, b, len(left_names), len(right_names))
    equal_counts = np.ones(bench.ensemble.n_rows)
    both = (a >= 0) & (b >= 0)
    # One-to-one matching with most shared rows: rows outside of it have moved.
    matched, partner = linear_sum_assignment(-table)
    partner_of = np.full(len(left_names), -2)
    partner_of[matched] = partner
    moved = np.flatnonzero(both & (partner_of[np.maximum(a, 0)] != b))
    return {
        "left": {"title": left_title, "names": left_names, "sizes": table.sum(axis=1).tolist()},
        "right": {"title": right_title, "names": right_names, "sizes": table.sum(axis=0).tolist()},
        "cells": transition(a, b, equal_counts),
        "scores": _rounded_scores(table),
        "moved": len(moved),
        "compared": int(both.sum()),
        "rows": [
            {
                "row": int(row),
                "name": bench.row_name(int(row))[:_SHORT],
                "left": left_names[a[row]],
                "right": right_names[b[row]],
            }
            for row in moved[:_MOVED_SHOWN]
        ],
    }


def clustering_of(bench: Workbench, member: int) -> Clustering:
    """Return a member as a clustering of the rows."""
    ens = bench.ensemble
    codes = member_codes(ens, member)[ens.row_pattern].astype(np.int64)
    return ens.names[member], codes, [str(level)[:_SHORT] for level in ens.levels[member].tolist()]


def truth_of(bench: Workbench) -> Clustering:
    """Return the known classes as a clustering of the rows."""
    if bench.truth is None:
        raise InputError(
            "There are no known classes.",
            code="no-truth",
            hint="Start the explorer with --truth COLUMN, or with truth= in Python.",
        )
    codes, names = _codes(bench.truth)
    return bench.truth_name or "known classes", codes, [name[:_SHORT] for name in names]


def _codes(values: Sequence[str]) -> tuple[Ints, list[str]]:
    names, codes = np.unique(np.asarray(values, dtype=object).astype(str), return_inverse=True)
    # An empty name stands for no class and sorts first.
    if names[0] == "":  # no class
        return codes.astype(np.int64) - 1, names[1:].tolist()
    return codes.astype(np.int64), names.tolist()


def _table(a: Ints, b: Ints, n_left: int | None = None, n_right: int | None = None) -> Floats:
    """(left, right) the number of rows that the clusters of two clusterings share."""
    both = (a >= 0) & (b >= 0)
    n_left = int(a.max(initial=-1)) + 1 if n_left is None else n_left
    n_right = int(b.max(initial=-1)) + 1 if n_right is None else n_right
    cells = np.bincount(a[both] * n_right + b[both], minlength=n_left * n_right)
    return cells.reshape(n_left, n_right).astype(np.float64)


def rows_view(bench: Workbench, answer: Answer, selected: Ints | None, offset: int, limit: int) -> dict[str, Any]:
    """Return a page of rows, the least certain first; None means all rows."""
    labels, certainty = answer.row_labels, answer.row_confidence
    patterns = answer.row_pattern
    rows = np.arange(bench.ensemble.n_rows) if selected is None else selected
    most = min(offset + limit, len(rows))
    if most < len(rows):  # only the rows up to this page have to be sorted
        # Partial sorting: only the rows up to this page are ordered.
        close = np.argpartition(certainty[rows], most)[:most]
        # Ties at the boundary belong to the candidates, so that pages do not overlap.
        ties = np.flatnonzero(certainty[rows] <= certainty[rows[close]].max(initial=0.0)) if most else close
        rows_close = rows[ties]
    else:
        rows_close = rows
    ordered = rows_close[np.lexsort((rows_close, certainty[rows_close]))][offset : offset + limit]
    return {
        "total": len(rows),
        "rows": [
            {
                "row": int(row),
                "name": bench.row_name(int(row))[:_SHORT],
                "label": int(labels[row]),
                "confidence": round(float(certainty[row]), 4),
                **_runner_up(answer.cut, int(patterns[row])),
                "truth": None if bench.truth is None else bench.truth[row][:_SHORT],
            }
            for row in ordered
        ],
    }


def _runner_up(cut: Cut, pattern: int) -> dict[str, Any]:
    """Return the second-best cluster of a pattern's rows, and the margin."""
    runner_up = int(cut.runner_up[pattern])
    return {"runner_up": runner_up if runner_up >= 0 else None, "margin": round(float(cut.margin[pattern]), 4)}


def find_rows(bench: Workbench, text: str, most: int = 2000) -> Ints:
    """Return the rows whose name equals the text, or else contains it."""
    text = text.strip().lower()
    if bench.ids is None:
        is_row = text.isascii() and text.isdigit() and len(text) < 12 and int(text) < bench.ensemble.n_rows
        return np.array([int(text)] if is_row else [], dtype=np.int64)
    names = [name.lower() for name in bench.ids]
    equal = [row for row, name in enumerate(names) if name == text]
    rows = equal or [row for row, name in enumerate(names) if text in name]
    return np.array(rows[:most], dtype=np.int64)


def row_view(bench: Workbench, query: Query, answer: Answer, row: int) -> dict[str, Any]:
    """Return the label of every member for a row, and its mean co-association with the rows of each cluster."""
    cut, ens = answer.cut, answer.solution.ensemble
    pattern = int(answer.row_pattern[row])
    coassociation = np.clip(mean_coassociation(ens, cut.weights, cut.labels, ens.patterns[pattern]), 0.0, 1.0)
    complete = bench.ensemble
    own = int(complete.row_pattern[row])
    votes = []
    supported, vote = strongest_votes(ens, cut)
    for j in range(complete.n_members):
        code = int(member_codes(complete, j)[own])
        position = query.members.index(j) if j in query.members else None
        home = None
        if position is not None and code >= 0:
            cluster = int(ens.cluster_offsets[position]) + code
            if vote[cluster] > 0:
                home = [int(supported[cluster]), round(float(vote[cluster]), 4)]
        votes.append(
            {
                "member": j,
                "label": None if code < 0 else str(complete.levels[j][code])[:_SHORT],
                "home": home,
                "weight": None if position is None else round(float(cut.weights[position]), 6),
            }
        )
    return {
        "row": row,
        "name": bench.row_name(row)[:_SHORT],
        "label": int(cut.labels[pattern]),
        "confidence": round(float(cut.confidence[pattern]), 4),
        **_runner_up(cut, pattern),
        "alike": float(ens.counts[pattern]),
        "truth": None if bench.truth is None else bench.truth[row][:_SHORT],
        "coassociation": np.round(coassociation, 4).tolist(),
        "votes": votes,
    }


def points_view(bench: Workbench, answer: Answer, color: str, in_core: Bools | None = None) -> dict[str, Any]:
    """Return the color values of the points: cluster, confidence, margin, class, or a member's label.

    in_core : (m,) the patterns whose rows are in the core; others are faded
    """
    colors = _point_colors(bench, answer, color)
    inside = None if in_core is None else in_core[answer.row_pattern[_drawn(bench)]].astype(int).tolist()
    return {**colors, "inside": inside}


def _point_colors(bench: Workbench, answer: Answer, color: str) -> dict[str, Any]:
    rows = _drawn(bench)
    if color == "confidence":
        return {"kind": "share", "values": np.round(answer.row_confidence[rows], 3).tolist(), "names": None}
    if color == "margin":
        return {"kind": "share", "values": np.round(np.maximum(answer.row_margin[rows], 0), 3).tolist(), "names": None}
    if color == "cluster":
        return {"kind": "cluster", "values": answer.row_labels[rows].tolist(), "names": None}
    _, codes, names = truth_of(bench) if color == "truth" else clustering_of(bench, int(color))
    return {"kind": "cluster", "values": codes[rows].tolist(), "names": names[:MOST_CLUSTERS]}


def inside(bench: Workbench, polygon: Floats) -> Ints:
    """Return the rows whose point lies in a polygon (even-odd rule)."""
    if bench.xy is None:
        raise no_coordinates()
    x, y = bench.xy.T
    within = np.zeros(len(x), dtype=bool)
    for (x1, y1), (x2, y2) in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        if y1 == y2:
            continue
        crosses = ((y1 > y) != (y2 > y)) & (x < (x2 - x1) * (y - y1) / (y2 - y1) + x1)
        within ^= crosses
    return np.flatnonzero(within)


def no_coordinates() -> InputError:
    """Return the error for a page without coordinates."""
    return InputError(
        "There are no coordinates.", code="no-coordinates", hint="Start the explorer with --xy or --features."
    )


def selection_view(bench: Workbench, answer: Answer, rows: Ints) -> dict[str, Any]:
    """Return the clusters of selected rows, and their most frequent labels in each member."""
    labels = answer.row_labels[rows]
    members = []
    for j in range(bench.ensemble.n_members):
        _, codes, names = clustering_of(bench, j)
        counts = np.bincount(codes[rows][codes[rows] >= 0], minlength=len(names))
        top = np.argsort(-counts, kind="stable")[:3]
        members.append({"member": j, "top": [[names[c], int(counts[c])] for c in top if counts[c] > 0]})
    counts = np.bincount(labels[labels >= 0], minlength=answer.cut.n_clusters)
    return {"rows": len(rows), "clusters": counts.tolist(), "members": members}
