"""What figures show, computed without drawing anything: plots and the report are two renderings of these records.

Everything here is bounded by patterns, members and clusters, or by a fixed number of samples; nothing has a point per
row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform
from sklearn.utils.validation import check_is_fitted

from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_integer
from quorate.algorithms.answer import Answer
from quorate.algorithms.base import ConsensusMethod, Solution
from quorate.algorithms.registry import ConsensusResult
from quorate.analysis.choose_k import Choice
from quorate.analysis.clusters import ConsensusCluster, confidence_by_chance
from quorate.analysis.scores import table_nmi
from quorate.certainty import Groups
from quorate.ensemble import Clusterings, Ensemble, as_ensemble
from quorate.errors import QuorateError
from quorate.features.consensus_clustering import ConsensusClustering
from quorate.numerics.linkage import Dendrogram
from quorate.reliability import Normalize, agreement, cai, crowd_trust, member_reliability
from quorate.row_similarity import covering_weight

MATRIX_SAMPLES = 150
"""How many patterns a consensus matrix shows at most, beside one for each cluster."""
DENDROGRAM_LEAVES = 60
"""How many branches of a dendrogram are drawn at most."""
_BINS = 20
_USUAL_KS = 20
_FLOW_CLUSTERS = 40


Fitted = ConsensusMethod | ConsensusClustering | ConsensusResult
"""What a figure or a report is made from: what `quorate.consensus` returned, or a fitted estimator."""


def fitted_method(source: Fitted) -> ConsensusMethod:
    """Return the fitted consensus function that a result or an estimator holds."""
    if isinstance(source, ConsensusResult):
        return source.estimator
    if not isinstance(source, ConsensusMethod | ConsensusClustering):
        raise QuorateError(
            f"A fitted consensus is needed; got {type(source).__name__}. Pass what quorate.consensus(labels) returned, "
            "or an estimator after fit."
        )
    check_is_fitted(source)
    return source.consensus_ if isinstance(source, ConsensusClustering) else source


def ensemble_of(source: Any) -> Ensemble:
    """Return the ensemble of a result or a fitted estimator, or of anything `Ensemble` takes."""
    is_fitted = isinstance(source, ConsensusMethod | ConsensusClustering | ConsensusResult)
    return fitted_method(source).ensemble_ if is_fitted else as_ensemble(source)


@dataclass(frozen=True)
class AgreementView:
    """How similar every two members are, members that agree standing side by side."""

    names: tuple[str, ...]
    values: Floats
    """(M, M) agreement, in the order of `names`."""
    order: Ints
    """(M,) the member at each place."""


def agreement_view(ens: Any, *, normalize: Normalize = "sqrt", order: bool = True) -> AgreementView:
    """Return the agreement of every two members, ordered so that similar members are neighbors."""
    ens = ensemble_of(ens)
    values = agreement(ens, normalize)
    places = seriate(values) if order else np.arange(ens.n_members)
    return AgreementView(tuple(ens.names[j] for j in places), values[np.ix_(places, places)], places)


def seriate(similarity: Floats) -> Ints:
    """Return an order in which similar items stand side by side (leaves of average link, optimally turned)."""
    if len(similarity) < 3:
        return np.arange(len(similarity))
    distance = 1.0 - (similarity + similarity.T) / 2
    np.fill_diagonal(distance, 0.0)
    condensed = np.clip(squareform(distance, checks=False), 0.0, None)
    tree = linkage(condensed, "average")
    if len(similarity) <= 2 * MATRIX_SAMPLES:
        tree = optimal_leaf_ordering(tree, condensed)
    return leaves_list(tree).astype(np.int64)


@dataclass(frozen=True)
class MemberRow:
    """What there is to know about a member."""

    name: str
    n_clusters: int
    coverage: float
    """Share of the rows it labels."""
    trust_index: float
    """Its mean agreement with the others beyond chance, over the rows it labels: an absolute scale in [0, 1]."""
    among_agreeing: float
    """The same over those others alone that agree with any: members that agree with none do not lower it."""
    beyond_chance: bool
    """Whether it agrees with any other member more than chance would; also if there are too few rows to tell."""
    agreement: float
    """Its mean agreement with the others (CAI), which chance and coverage are part of."""
    ncai: float
    influence: float
    """How much it counts beside the member that counts most, in [0, 1]."""
    weight: float
    reliability: str
    """A word for its reliability, by agreement and weight (`member_reliability`)."""
    reason: str
    """The reason for that word."""


def member_rows(ens: Any, weights: Floats | None = None, *, normalize: Normalize = "sqrt") -> tuple[MemberRow, ...]:
    """Return what there is to know about each member, in the ensemble's order; weights default to NCAI squared."""
    ens = ens if isinstance(ens, Clusterings) else ensemble_of(ens)
    mean_agreement = cai(ens, normalize)
    largest = mean_agreement.max()
    index = mean_agreement / largest if largest > 0 else np.ones(ens.n_members)  # NCAI, without a second pass
    weights = index**2 / np.sum(index**2) if weights is None else weights
    crowd = crowd_trust(ens, normalize)
    coverage = np.bincount(ens.cluster_member, weights=ens.cluster_sizes, minlength=ens.n_members) / ens.total_weight
    words = member_reliability(ens, crowd, weights)
    return tuple(
        MemberRow(
            ens.names[j],
            len(ens.levels[j]),
            float(coverage[j]),
            float(crowd.index[j]),
            float(crowd.among_agreeing[j]),
            bool(crowd.agrees[j]) or crowd.verdict == "too few rows to tell",
            float(mean_agreement[j]),
            float(index[j]),
            float(weights[j] / weights.max()),
            float(weights[j]),
            words[j].word,
            words[j].reason,
        )
        for j in range(ens.n_members)
    )


@dataclass(frozen=True)
class MatrixView:
    """The evidence between samples of patterns, each standing for some rows; ordered by consensus cluster."""

    evidence: Floats
    """(s, s) evidence of every two samples."""
    rows: Floats
    """(s,) how many rows each sample stands for."""
    labels: Ints
    """(s,) consensus cluster of each sample, ascending."""
    patterns: Ints
    """(s,) pattern of each sample."""


def matrix_view(fitted: ConsensusMethod, n_clusters: int | None = None) -> MatrixView:
    """Return the consensus matrix of an answer on a bounded sample of patterns."""
    answer = answer_at(fitted, n_clusters)
    return sampled_matrix(answer.ensemble, answer.labels, answer.weights)


def sampled_matrix(ens: Ensemble, labels: Ints, weights: Floats) -> MatrixView:
    """Return the consensus matrix on a bounded sample of patterns, in which each cluster has its share of rows."""
    chosen, rows = sample_patterns(ens, labels)
    evidence = sample_evidence(ens, weights, chosen)
    place = np.empty(len(chosen), dtype=np.int64)
    place[seriate(evidence)] = np.arange(len(chosen))
    order = np.lexsort((place, labels[chosen]))
    chosen = chosen[order]
    return MatrixView(evidence[np.ix_(order, order)], rows[order], labels[chosen], chosen)


def answer_at(fitted: ConsensusMethod, n_clusters: int | None) -> Answer:
    """Return the consensus for a number of clusters; None: as fitted."""
    return fitted.answer_ if n_clusters is None else fitted.solution_.answer(n_clusters)


def sample_patterns(ens: Ensemble, labels: Ints, size: int = MATRIX_SAMPLES) -> tuple[Ints, Floats]:
    """Return patterns taken at even steps over the rows of each cluster, and how many rows each stands for.

    Every cluster has at least one sample, and no pattern more than one.
    """
    order = np.lexsort((np.arange(ens.n_patterns), labels))
    order = order[labels[order] >= 0]
    counts = ens.counts[order].astype(np.float64)
    if len(order) == 0:
        raise QuorateError("No row is labeled by any member of positive weight; there is nothing to show.")
    step = max(counts.sum() / size, 1e-300)
    _, first, cluster = np.unique(labels[order], return_index=True, return_inverse=True)
    before = np.cumsum(counts) - counts
    within = before - before[first][cluster]
    # A pattern is taken if a step ends in it; the first of a cluster always is.
    taken = np.floor((within + counts) / step) > np.floor(within / step)
    taken[first] = True
    stands_for = np.add.reduceat(counts, np.flatnonzero(taken))
    return order[taken], stands_for


def sample_evidence(ens: Ensemble, weights: Floats, patterns: Ints) -> Floats:
    """(s, s) evidence between some patterns under the weights of the members (equation 12)."""
    ids = ens.patterns[patterns]
    together = np.zeros((len(ids), len(ids)))
    for j in range(ens.n_members):
        known = ids[:, j] >= 0
        together += weights[j] * ((ids[:, j, None] == ids[None, :, j]) & known[:, None])
    scale = np.sqrt(covering_weight(ids, weights))
    together /= np.where(scale > 0, scale, 1.0)[:, None] * np.where(scale > 0, scale, 1.0)
    np.fill_diagonal(together, scale > 0)
    return np.clip(together, 0.0, 1.0)


@dataclass(frozen=True)
class Cut:
    """The answer at one number of clusters."""

    n_clusters: int
    labels: Ints
    """(m,) consensus label of each pattern."""
    weights: Floats
    """(M,) weights of the members behind it."""
    confidence: Floats
    """(m,) confidence of each pattern's rows."""
    margin: Floats
    """(m,) by how much the evidence for their cluster exceeds that for the runner-up."""
    runner_up: Ints
    """(m,) the cluster that would have them next, -1 for none."""
    sizes: Floats
    stability: Floats
    """(k,) mean vote share of the rows of each cluster."""
    opponents: tuple[tuple[tuple[str, float], ...], ...]
    """For each cluster the members that separate its rows most, with the share of pairs separated."""
    clusters: tuple[ConsensusCluster, ...]
    mean_confidence: float
    chance_confidence: float
    """Mean evidence of two rows picked at random."""
    agreement: float
    """Weighted mean agreement of the answer with the members."""
    histogram: Floats
    """Number of rows per twentieth of confidence."""


def cut_view(answer: Answer) -> Cut:
    """Return the figures of an answer."""
    ens, labels, weights = answer.ensemble, answer.labels, answer.weights
    groups, certain, clusters = answer.groups, answer.certainty, answer.clusters
    kept = labels >= 0
    counts = ens.counts[kept].astype(np.float64)
    bins = np.minimum((certain.confidence[kept] * _BINS).astype(int), _BINS - 1)
    return Cut(
        n_clusters=len(clusters),
        labels=labels,
        weights=weights,
        confidence=certain.confidence,
        margin=certain.margin,
        runner_up=certain.runner_up,
        sizes=np.array([cluster.size for cluster in clusters]),
        stability=np.array([cluster.stability for cluster in clusters]),
        opponents=tuple(cluster.opponents for cluster in clusters),
        clusters=clusters,
        mean_confidence=float(np.average(certain.confidence[kept], weights=counts)) if len(counts) else 0.0,
        chance_confidence=confidence_by_chance(ens, weights, groups),
        agreement=float(weights @ agreement_with_members(ens, groups)),
        histogram=np.bincount(bins, weights=counts, minlength=_BINS).astype(np.float64),
    )


def agreement_with_members(ens: Ensemble, groups: Groups) -> Floats:
    """(M,) NMI of a consensus, by its clusters, with each member, over the rows both label."""
    tables = [groups.shared[:, first:last].T for first, last in pairwise(ens.cluster_offsets)]
    return np.array([table_nmi(table) if table.any() else 0.0 for table in tables])


def contingency(ens: Ensemble, member: int, labels: Ints) -> Floats:
    """(clusters of the member, k) how many rows a member's clusters and the consensus clusters share."""
    offset = int(ens.cluster_offsets[member])
    codes = ens.patterns[:, member] - offset
    known = (ens.patterns[:, member] >= 0) & (labels >= 0)
    n_groups = int(labels.max(initial=-1)) + 1
    n_clusters = len(ens.levels[member])
    cells = codes[known] * n_groups + labels[known]
    table = np.bincount(cells, weights=ens.counts[known], minlength=n_clusters * n_groups)
    return table.reshape(n_clusters, n_groups).astype(np.float64)


@dataclass(frozen=True)
class SweepView:
    """How the answer changes with the number of clusters."""

    ks: tuple[int, ...]
    cuts: tuple[Cut, ...]
    criterion_name: str
    """What the automatic choice looks at: the evidence of `choose_k`, unless the method finds its own number."""
    criterion: Floats
    """Its value at each k; NaN where it has none."""
    choice: Choice
    """How many clusters the members speak for."""


def sweep_view(fitted: ConsensusMethod, n_clusters: Iterable[int] | None = None) -> SweepView:
    """Return the answers for several numbers of clusters; by default 2 to 20, or twenty around the one fitted."""
    solution = fitted.solution_
    most = solution.max_clusters
    if n_clusters is None:
        n_clusters = usual_ks(fitted.n_clusters_, most)
    wanted = sorted({min(check_integer("n_clusters", k, low=1), most) for k in n_clusters})
    values = {candidate.n_clusters: candidate.score for candidate in solution.choice.curve}
    return SweepView(
        ks=tuple(wanted),
        cuts=tuple(cut_view(answer) for answer in solution.answers(wanted).values()),
        criterion_name="evidence",
        criterion=np.array([values.get(k, np.nan) for k in wanted]),
        choice=solution.choice,
    )


def usual_ks(fitted_k: int, most: int) -> list[int]:
    """Return about twenty numbers of clusters worth a look, the fitted one among them."""
    if fitted_k <= _USUAL_KS:
        return sorted({fitted_k, *range(min(2, most), min(most, _USUAL_KS) + 1)})
    spread = np.linspace(2, min(most, 1.25 * fitted_k), _USUAL_KS - 1)
    return sorted({fitted_k, *(int(k) for k in spread.round())})


@dataclass(frozen=True)
class TreeView:
    """The top of a dendrogram: branches drawn from left to right, each standing for some rows."""

    segments: Floats
    """(s, 4, 2) corners (place, height) of the bracket of each merge."""
    colors: Ints
    """(s,) the consensus cluster a bracket lies in, -1 above the cut."""
    places: Floats
    """(b,) where each branch stands."""
    rows: Floats
    """(b,) how many rows it stands for."""
    labels: Ints
    """(b,) the consensus cluster it belongs to."""
    cut_height: float
    """A height between the last merge inside clusters and the first above them."""


def tree_view(solution: Solution, n_clusters: int, *, branches: int = DENDROGRAM_LEAVES) -> TreeView:
    """Return the top of the dendrogram of a linkage method, with at most `branches` branches (or one per cluster)."""
    tree = solution.cuts
    if not isinstance(tree, Dendrogram):
        raise QuorateError(f"{solution.method.name} makes no dendrogram. Use a method that does, such as weac.")
    tree = tree.pattern_tree
    k = min(n_clusters, tree.max_clusters)
    labels = solution.cut(k)
    n_leaves = tree.max_clusters
    shown = min(max(branches, k), n_leaves)
    first = n_leaves - shown  # merges before this one are inside the branches
    node_pattern, node_rows = _node_contents(tree)
    tops = _branch_nodes(tree, first)
    children = {n_leaves + i: tree.merges[i] for i in range(first, n_leaves - 1)}
    place: dict[int, float] = {}
    ordered = _depth_first(tree, children, tops)
    for position, node in enumerate(ordered):
        place[node] = float(position)
    segments, colors = [], []
    for i in range(first, n_leaves - 1):
        left, right = sorted((int(node) for node in tree.merges[i]), key=lambda node: place[node])
        height = float(tree.heights[i])
        low = [float(tree.heights[node - n_leaves]) if node in children else 0.0 for node in (left, right)]
        corners = [(place[left], low[0]), (place[left], height), (place[right], height), (place[right], low[1])]
        segments.append(corners)
        place[n_leaves + i] = (place[left] + place[right]) / 2
        inside = i < n_leaves - k
        colors.append(int(labels[node_pattern[n_leaves + i]]) if inside else -1)
    below = float(tree.heights[n_leaves - k - 1]) if n_leaves > k else 0.0
    above = float(tree.heights[n_leaves - k]) if k > 1 else float(tree.heights[-1] if n_leaves > 1 else 1.0)
    return TreeView(
        segments=np.array(segments).reshape(-1, 4, 2),
        colors=np.array(colors, dtype=np.int64),
        places=np.arange(len(ordered), dtype=np.float64),
        rows=np.array([node_rows[node] for node in ordered]),
        labels=np.array([labels[node_pattern[node]] for node in ordered], dtype=np.int64),
        cut_height=(below + above) / 2,
    )


def _node_contents(tree: Dendrogram) -> tuple[Ints, Floats]:
    """Return, for each node of a tree, one of its patterns and the number of its rows."""
    n_leaves = tree.max_clusters
    pattern = np.concatenate([tree.leaf_pattern, np.zeros(len(tree.merges), dtype=np.int64)])
    rows = np.concatenate([tree.ensemble.counts[tree.leaf_pattern], np.zeros(len(tree.merges))]).astype(np.float64)
    for i, (a, b) in enumerate(tree.merges):
        pattern[n_leaves + i] = pattern[a]
        rows[n_leaves + i] = rows[a] + rows[b]
    return pattern, rows


def _branch_nodes(tree: Dendrogram, first: int) -> set[int]:
    """Return the nodes that stand when the first merges are made."""
    standing = set(range(tree.max_clusters))
    for i in range(first):
        standing -= set(tree.merges[i].tolist())
        standing.add(tree.max_clusters + i)
    return standing


def _depth_first(tree: Dendrogram, children: dict[int, Any], tops: set[int]) -> list[int]:
    """Return the branches from left to right."""
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
    """How the clusters of a member (or of one answer) share their rows out to those of another."""

    left: tuple[str, ...]
    """Names of the clusters on the left, in the order drawn."""
    right: tuple[str, ...]
    table: Floats
    """(left, right) rows they share."""


def flow_view(fitted: ConsensusMethod, member: int | str, n_clusters: int | None = None) -> FlowView:
    """Return how a member's clusters become consensus clusters, ordered to cross little; many small ones as one."""
    ens = fitted.ensemble_
    j = ens._position(member)
    table = contingency(ens, j, answer_at(fitted, n_clusters).labels)
    names = [str(level) for level in ens.levels[j].tolist()]
    if len(names) > _FLOW_CLUSTERS:
        by_size = np.argsort(-table.sum(axis=1), kind="stable")
        shown, rest = np.sort(by_size[: _FLOW_CLUSTERS - 1]), by_size[_FLOW_CLUSTERS - 1 :]
        table = np.concatenate([table[shown], table[rest].sum(axis=0, keepdims=True)])
        names = [*(names[i] for i in shown), f"{len(rest)} others"]
    order = untangle(table)
    return FlowView(tuple(names[i] for i in order), tuple(str(c) for c in range(table.shape[1])), table[order])


def untangle(table: Floats) -> Ints:
    """Return an order of the rows of a table in which they flow to its columns with few crossings."""
    rows = table.sum(axis=1)
    center = table @ np.arange(table.shape[1]) / np.where(rows > 0, rows, 1.0)
    return np.lexsort((np.arange(len(rows)), center))


def transition(one: Sequence[int] | Ints, other: Sequence[int] | Ints, counts: Any) -> list[list[int | float]]:
    """Return the cells [cluster in one answer, cluster in the other, rows] in which two answers share rows."""
    a, b = np.asarray(one), np.asarray(other)
    kept = (a >= 0) & (b >= 0)
    width = int(b.max(initial=0)) + 1
    cells, position = np.unique(a[kept] * width + b[kept], return_inverse=True)
    rows = np.bincount(position, weights=np.asarray(counts, dtype=np.float64)[kept], minlength=len(cells))
    return [[int(cell // width), int(cell % width), float(n)] for cell, n in zip(cells, rows, strict=True)]
