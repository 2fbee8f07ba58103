"""What the larger figures show, computed without drawing: consensus matrix, dendrogram, flow between clusterings.

Everything is bounded by patterns, members and clusters, or by a fixed number of samples; nothing has a point per row.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from quorate._utils.array_types import Floats, Ints
from quorate.algorithms.base import ConsensusMethod, Solution
from quorate.ensemble import Ensemble
from quorate.errors import InputError, Setting
from quorate.numerics.linkage import Dendrogram
from quorate.numerics.mutual_information import ratio
from quorate.reporting.cut_views import answer_at, contingency, member_contingency
from quorate.reporting.member_views import seriate
from quorate.row_similarity import covering_weight

MATRIX_SAMPLES = 150
"""The largest number of patterns in a consensus matrix, apart from one for each cluster."""
DENDROGRAM_LEAVES = 60
"""The largest number of branches of a dendrogram that are drawn."""
_FLOW_CLUSTERS = 40


@dataclass(frozen=True)
class MatrixView:
    """The co-association of sampled patterns, ordered by consensus cluster; each represents some rows."""

    coassociation: Floats
    """(s, s) co-association of every two samples."""
    rows: Floats
    """(s,) the number of rows that each sample represents."""
    labels: Ints
    """(s,) consensus cluster of each sample, ascending."""
    patterns: Ints
    """(s,) pattern of each sample."""


def matrix_view(fitted: ConsensusMethod, n_clusters: int | None = None) -> MatrixView:
    """Return the consensus matrix at k clusters on a bounded sample of patterns."""
    answer = answer_at(fitted, n_clusters)
    return sampled_matrix(answer.ensemble, answer.labels, answer.weights)


def sampled_matrix(ens: Ensemble, labels: Ints, weights: Floats) -> MatrixView:
    """Return the consensus matrix on a bounded sample of patterns, in proportion to the rows of each cluster."""
    chosen, rows = sample_patterns(ens, labels)
    matrix = sample_coassociation(ens, weights, chosen)
    rank = np.empty(len(chosen), dtype=np.int64)
    rank[seriate(matrix)] = np.arange(len(chosen))
    order = np.lexsort((rank, labels[chosen]))
    chosen = chosen[order]
    return MatrixView(matrix[np.ix_(order, order)], rows[order], labels[chosen], chosen)


def sample_patterns(ens: Ensemble, labels: Ints) -> tuple[Ints, Floats]:
    """Return patterns at regular intervals over the rows of each cluster, and the number of rows each represents.

    Every cluster has at least one sample, and no pattern more than one. If there are more clusters than samples, only
    the largest are sampled: those with the smallest labels.
    """
    order = np.lexsort((np.arange(ens.n_patterns), labels))
    order = order[(labels[order] >= 0) & (labels[order] < MATRIX_SAMPLES)]
    counts = ens.counts[order].astype(np.float64)
    if len(order) == 0:
        raise InputError(
            "No row is labeled by a member of positive weight, so there is nothing to draw.", code="no-labeled-row"
        )
    step = max(counts.sum() / MATRIX_SAMPLES, 1e-300)
    _, first, cluster = np.unique(labels[order], return_index=True, return_inverse=True)
    before = np.cumsum(counts) - counts
    within = before - before[first][cluster]
    # A pattern is sampled if an interval ends in it; the first of a cluster always is.
    sampled = np.floor((within + counts) / step) > np.floor(within / step)
    sampled[first] = True
    return order[sampled], np.add.reduceat(counts, np.flatnonzero(sampled))


def sample_coassociation(ens: Ensemble, weights: Floats, patterns: Ints) -> Floats:
    """(s, s) co-association of some patterns under the weights of the members (equation 12)."""
    ids = ens.patterns[patterns]
    together = np.zeros((len(ids), len(ids)))
    for j in range(ens.n_members):
        labeled = ids[:, j] >= 0
        together += weights[j] * ((ids[:, j, None] == ids[None, :, j]) & labeled[:, None])
    scale = np.sqrt(covering_weight(ids, weights))
    together /= np.where(scale > 0, scale, 1.0)[:, None] * np.where(scale > 0, scale, 1.0)
    np.fill_diagonal(together, scale > 0)
    return np.clip(together, 0.0, 1.0)


@dataclass(frozen=True)
class TreeView:
    """The top of a dendrogram: branches from left to right, each representing some rows."""

    segments: Floats
    """(s, 4, 2) corners (position, height) of the bracket of each merge."""
    colors: Ints
    """(s,) the consensus cluster of each bracket, -1 above the cut."""
    positions: Floats
    """(b,) the position of each branch."""
    rows: Floats
    """(b,) the number of rows it represents."""
    labels: Ints
    """(b,) its consensus cluster."""
    cut_height: float
    """A height between the last merge inside clusters and the first above them."""


def tree_view(solution: Solution, n_clusters: int) -> TreeView:
    """Return the top of the dendrogram of a linkage method, with 60 branches, or one per cluster if these are more."""
    tree = solution.cuts
    if not isinstance(tree, Dendrogram):
        raise InputError(
            f"{solution.method.name} builds no dendrogram.",
            code="no-dendrogram",
            hint=("Use a linkage method, such as ", Setting("method", "weac"), "."),
        )
    tree = tree.pattern_tree
    k = min(n_clusters, tree.max_clusters)
    labels = solution.cut(k)
    n_leaves = tree.max_clusters
    shown = min(max(DENDROGRAM_LEAVES, k), n_leaves)
    first = n_leaves - shown  # merges before this one are inside the branches
    node_pattern, node_rows = _node_contents(tree)
    tops = _branch_nodes(tree, first)
    children = {n_leaves + i: tree.merges[i] for i in range(first, n_leaves - 1)}
    position: dict[int, float] = {}
    ordered = _depth_first(tree, children, tops)
    for i, node in enumerate(ordered):
        position[node] = float(i)
    segments, colors = [], []
    for i in range(first, n_leaves - 1):
        left, right = sorted((int(node) for node in tree.merges[i]), key=lambda node: position[node])
        height = float(tree.heights[i])
        low = [float(tree.heights[node - n_leaves]) if node in children else 0.0 for node in (left, right)]
        corners = [
            (position[left], low[0]),
            (position[left], height),
            (position[right], height),
            (position[right], low[1]),
        ]
        segments.append(corners)
        position[n_leaves + i] = (position[left] + position[right]) / 2
        inside = i < n_leaves - k
        colors.append(int(labels[node_pattern[n_leaves + i]]) if inside else -1)
    below = float(tree.heights[n_leaves - k - 1]) if n_leaves > k else 0.0
    above = float(tree.heights[n_leaves - k]) if k > 1 else float(tree.heights[-1] if n_leaves > 1 else 1.0)
    return TreeView(
        segments=np.array(segments).reshape(-1, 4, 2),
        colors=np.array(colors, dtype=np.int64),
        positions=np.arange(len(ordered), dtype=np.float64),
        rows=np.array([node_rows[node] for node in ordered]),
        labels=np.array([labels[node_pattern[node]] for node in ordered], dtype=np.int64),
        cut_height=(below + above) / 2,
    )


def _node_contents(tree: Dendrogram) -> tuple[Ints, Floats]:
    """Return one pattern and the number of rows of each node of a tree."""
    n_leaves = tree.max_clusters
    pattern = np.concatenate([tree.leaf_pattern, np.zeros(len(tree.merges), dtype=np.int64)])
    rows = np.concatenate([tree.ensemble.counts[tree.leaf_pattern], np.zeros(len(tree.merges))]).astype(np.float64)
    # Merges are in order, so that parts come before their union.
    for i, (a, b) in enumerate(tree.merges):
        pattern[n_leaves + i] = pattern[a]
        rows[n_leaves + i] = rows[a] + rows[b]
    return pattern, rows


def _branch_nodes(tree: Dendrogram, first: int) -> set[int]:
    """Return the nodes that remain after the first merges."""
    remaining = set(range(tree.max_clusters))
    for i in range(first):
        remaining -= set(tree.merges[i].tolist())
        remaining.add(tree.max_clusters + i)
    return remaining


def _depth_first(tree: Dendrogram, children: dict[int, Any], tops: set[int]) -> list[int]:
    """Return the branches from left to right."""
    # The root is the last merge; without merges every branch stands alone.
    stack = [max(children)] if children else list(tops)
    ordered = []
    while stack:
        node = int(stack.pop())
        if node in children:
            stack += [int(child) for child in reversed(children[node])]
        else:
            ordered.append(node)
    return ordered


@dataclass(frozen=True)
class FlowView:
    """How many rows the clusters of a member share with the consensus clusters."""

    member: str
    left: tuple[str, ...]
    """Names of the member's clusters, in drawing order."""
    right: tuple[str, ...]
    table: Floats
    """(left, right) number of shared rows."""


def flow_view(fitted: ConsensusMethod, member: int | str, n_clusters: int | None = None) -> FlowView:
    """Return the rows that flow from a member's clusters to consensus clusters; many small clusters are merged."""
    ens = fitted.ensemble_
    j = ens.member_index(member)
    table = contingency(ens, j, answer_at(fitted, n_clusters).labels)
    names = [str(level) for level in ens.levels[j].tolist()]
    if len(names) > _FLOW_CLUSTERS:
        # The smallest clusters of a fine member are drawn as one.
        by_size = np.argsort(-table.sum(axis=1), kind="stable")
        shown, rest = np.sort(by_size[: _FLOW_CLUSTERS - 1]), by_size[_FLOW_CLUSTERS - 1 :]
        table = np.concatenate([table[shown], table[rest].sum(axis=0, keepdims=True)])
        names = [*(names[i] for i in shown), f"{len(rest)} others"]
    order = untangle(table)
    return FlowView(
        ens.names[j], tuple(names[i] for i in order), tuple(str(c) for c in range(table.shape[1])), table[order]
    )


def untangle(table: Floats) -> Ints:
    """Return an order of the rows of a table with few crossings between rows and columns."""
    rows = table.sum(axis=1)
    # Each cluster is placed at the mean position of the consensus clusters that it flows into.
    center = table @ np.arange(table.shape[1]) / np.where(rows > 0, rows, 1.0)
    return np.lexsort((np.arange(len(rows)), center))


@dataclass(frozen=True)
class ResolutionTree:
    """Members from coarse to fine, and the rows that the clusters of each share with those of the next."""

    members: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    """The names of the clusters of each member."""
    sizes: tuple[Floats, ...]
    """For each member, the number of rows of each cluster."""
    positions: tuple[Floats, ...]
    """For each member, the horizontal position of each cluster, in (0, 1)."""
    shared: tuple[Floats, ...]
    """(clusters of a member, clusters of the next) number of shared rows."""
    origin: tuple[Floats, ...]
    """For each member, the largest share of the rows of each cluster from one cluster of the member before."""


def resolution_tree_view(ens: Ensemble) -> ResolutionTree:
    """Return the tree over members of increasing resolution, with few crossings."""
    order = sorted(range(ens.n_members), key=lambda j: (len(ens.levels[j]), j))
    sizes = [member_contingency(ens, j, j).sum(axis=1) for j in order]
    shared = [member_contingency(ens, coarse, fine) for coarse, fine in pairwise(order)]
    ranks, origin = [np.arange(len(sizes[0]))], [np.ones(len(sizes[0]))]
    for table in shared:
        ranks.append(np.argsort(untangle(table.T[:, np.argsort(ranks[-1])])))
        origin.append(ratio(table.max(axis=0), table.sum(axis=0)))
    return ResolutionTree(
        tuple(ens.names[j] for j in order),
        tuple(tuple(str(level) for level in ens.levels[j].tolist()) for j in order),
        tuple(sizes),
        tuple((rank + 0.5) / len(rank) for rank in ranks),
        tuple(shared),
        tuple(origin),
    )
