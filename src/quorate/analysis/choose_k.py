"""Suggest the number of clusters from labels: eigengap of the graph of rows and clusters times tree stability.

No rule is always right, so the values for all k and the best candidates are part of the result.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._runtime.threads import blocks as blocks_of
from quorate._utils.array_types import Floats, Ints
from quorate.analysis.scores import adjusted_rand
from quorate.ensemble import (
    Clusterings,
    Ensemble,
    as_clusterings,
    counted_labels,
    ensemble_blocks,
    ensemble_of_patterns,
    find_patterns,
    from_counted_labels,
    pattern_codes,
)
from quorate.errors import QuorateError
from quorate.graphs import bipartite_graph
from quorate.numerics.linkage import Dendrogram, link_coassociation
from quorate.numerics.transfer_cut import leading_spectrum
from quorate.reliability import ensemble_trust, trusted_influence
from quorate.row_similarity import canonical_order, covered_patterns

MOST_CLUSTERS = 32
"""The largest number of clusters that can be suggested."""
MOST_ROWS = 2000
"""The most patterns on which halves of the members are compared; above it, the patterns of that many sampled rows."""
_MEMBERS_TO_SPLIT = 4  # two in each half
_SPLITS = 4
_CANDIDATES = 3
_CLOSE, _FAR = 0.8, 0.1  # of the best score
_SMALLEST_GAP = 1e-9
_ROUNDS_OF_INDEX = 3
_RANGES = 1 << 20
_PATTERNS_AT_ONCE = 1 << 17


@dataclass(frozen=True)
class Candidate:
    """A number of clusters and its score."""

    n_clusters: int
    score: float
    """Eigengap times stability; one of the two if the other is unknown."""
    eigengap: float
    """Gap after the k-th eigenvalue of the graph of rows and clusters; NaN if there are too many clusters."""
    stability: float
    """Tree stability: mean ARI between the trees of two halves of the members; NaN with fewer than four members."""


@dataclass(frozen=True)
class Choice:
    """The suggested number of clusters, with the scores of all numbers."""

    n_clusters: int
    candidates: tuple[Candidate, ...]
    """The best three, best first."""
    curve: tuple[Candidate, ...] = field(repr=False)
    """All numbers of clusters that were scored, ascending."""
    sentence: str
    """Why it was chosen, and what is unknown."""

    def within(self, most: int) -> int:
        """Return the number of clusters, at most `most` and at least 1."""
        return max(min(self.n_clusters, most), 1)


def choose(ens: Clusterings, eigenvalues: Floats | None, influence: Floats) -> Choice:
    """Return the number of clusters k >= 2 with the largest (lambda_k - lambda_{k+1}) stab(k), the smallest such k.

    `eigenvalues` are the leading ones of a graph over clusters, descending, of which at most 33 are used; None if there
    are too many clusters. `influence` (M,) are the weights of the members in the halves. If one factor is unknown, the
    other is the score.
    """
    # A single member has no halves and no graph to cut.
    if ens.n_members == 1:
        k = len(ens.levels[0])
        return Choice(k, (), (), f"{_clusters(k)}, as in the only member; other numbers cannot be compared.")
    n_eigenvalues = ens.n_clusters if eigenvalues is None else len(eigenvalues)
    most = min(MOST_CLUSTERS, n_eigenvalues - 1, ens.n_patterns)
    if most < 2:
        k = max(min(n_eigenvalues, ens.n_patterns), 1)
        return Choice(k, (), (), f"The members distinguish only {_clusters(k)}.")
    ks = np.arange(2, most + 1)
    gaps = np.full(len(ks), np.nan)
    if eigenvalues is not None:
        gaps = np.maximum(eigenvalues[1:most] - eigenvalues[2 : most + 1], 0.0)
    # Halves of the members, to see which numbers of clusters both support.
    halves = split_in_halves(ens)
    stability = np.full(len(ks), np.nan) if halves is None else tree_stability(halves, ks, influence)
    # A factor that is unknown does not count.
    filled_gaps, filled_stability = (np.where(np.isnan(part), 1.0, part) for part in (gaps, stability))
    scores = filled_gaps * np.maximum(filled_stability, 0.0)
    curve = tuple(
        Candidate(int(k), float(s), float(g), float(t)) for k, s, g, t in zip(ks, scores, gaps, stability, strict=True)
    )
    candidates = tuple(curve[i] for i in _largest(scores))
    sentence = _sentence(candidates)
    if halves is not None and halves.sampled:
        sentence += f" Stability was computed on {MOST_ROWS:,} rows."
    return Choice(candidates[0].n_clusters, candidates, curve, sentence)


def _largest(scores: Floats) -> Iterator[int]:
    """Yield the positions of the three largest scores, largest first; of equal ones the first.

    Equal scores differ by rounding errors. A tolerance recognizes them; rounded, they may differ by a whole step.
    """
    remaining = scores.copy()
    for _ in scores[:_CANDIDATES]:
        largest = int(np.argmax(remaining >= remaining.max() - _SMALLEST_GAP))
        yield largest
        remaining[largest] = -np.inf


def _sentence(candidates: tuple[Candidate, ...]) -> str:
    """Return the chosen number of clusters with its scores, and how close the next candidates are."""
    first = candidates[0]
    if first.score <= _SMALLEST_GAP:
        return f"{_clusters(first.n_clusters)} by default: no number of clusters is supported more than the others."
    text = f"{_clusters(first.n_clusters)} ({_scores(first)})."
    others = [other for other in candidates[1:] if other.score > _CLOSE * first.score]
    if others:
        text += f" The choice is close: consider {' and '.join(str(other.n_clusters) for other in others)} as well."
    elif len(candidates) > 1 and candidates[1].score < _FAR * first.score:
        text += " No other number is close."
    elif len(candidates) > 1:
        text += f" Next: {candidates[1].n_clusters}, with {candidates[1].score / first.score:.0%} of the score."
    if np.isnan(first.stability):
        text += " Tree stability is unknown: it needs at least 4 members."
    return text


def _scores(candidate: Candidate) -> str:
    """Return the scores of a number of clusters with their names."""
    scores = {"eigengap": candidate.eigengap, "tree stability": candidate.stability}
    available = [f"{name} {value:.2f}" for name, value in scores.items() if not np.isnan(value)]
    return ", ".join(available) or "no score available"


def _clusters(k: int) -> str:
    return "1 cluster" if k == 1 else f"{k} clusters"


@dataclass(frozen=True)
class Half:
    """Half of the members of an ensemble."""

    ensemble: Ensemble
    members: Ints
    """Their positions in the whole."""
    pattern: Ints
    """(m,) the pattern of the half for each pattern of the whole."""


@dataclass(frozen=True)
class Halves:
    """An ensemble split in halves of its members, in several ways."""

    counts: Floats
    """(m,) rows of each pattern of the whole, by their weight."""
    splits: tuple[tuple[Half, Half], ...]
    sampled: bool
    """Whether the patterns are those of a sample of the rows."""

    def agreement(self, cut: Callable[[Half], Ints]) -> Floats:
        """(p,) ARI over rows between the partitions of two halves, the mean over all splits.

        `cut` returns (patterns, p) labels of the patterns of a half: several partitions of it.
        """
        scores = []
        for split in self.splits:
            first, second = (cut(half)[half.pattern] for half in split)
            scores.append([_rand(a, b, self.counts) for a, b in zip(first.T, second.T, strict=True)])
        return np.mean(scores, axis=0)


def split_in_halves(ens: Clusterings) -> Halves | None:
    """Return the members with labels, split in halves in four fixed ways; None if they are fewer than four.

    Splits depend on the clusterings, not on their order. If there are many patterns, those of 2,000 sampled rows are
    used.
    """
    return ens.derived.get("halves", lambda: _halves(ens))


def _halves(ens: Clusterings) -> Halves | None:
    whole = without_rows(sample_rows(ens))
    members = _member_order(whole, _cluster_index(whole))
    members = members[np.diff(whole.cluster_offsets)[members] > 0]
    if len(members) < _MEMBERS_TO_SPLIT:
        return None
    splits = []
    # Fixed seeds, so that every run splits alike.
    for split in range(_SPLITS):
        order = np.random.default_rng(split).permutation(members)
        middle = len(members) // 2
        splits.append((_half(whole, np.sort(order[:middle])), _half(whole, np.sort(order[middle:]))))
    return Halves(whole.counts.astype(np.float64), tuple(splits), ens.n_patterns > MOST_ROWS)


def without_rows(ens: Ensemble) -> Ensemble:
    """Return the patterns alone, so that nothing of the rows' size is selected or kept."""
    codes = pattern_codes(ens)
    weights = ens.counts if ens.weighted else None
    return ensemble_of_patterns(ens.names, ens.noise, ens.levels, codes, ens.row_counts, weights)


def _half(whole: Ensemble, members: Ints) -> Half:
    # Clusters of the half have other ids: shift those of the whole.
    half = whole.select(members.tolist())
    codes = whole.patterns[:, members]
    shift = half.cluster_offsets[:-1] - whole.cluster_offsets[members]
    pattern = find_patterns(half, np.where(codes >= 0, codes + shift, -1).astype(np.int32))
    return Half(half, members, pattern.astype(np.int64))


def sample_rows(ens: Clusterings) -> Ensemble:
    """Return all patterns if there are few, else those of 2,000 rows: every so-many-th in a canonical order.

    Names of labels and the order of members do not change the sample, nor do blocks of patterns.
    """
    if ens.n_patterns <= MOST_ROWS and len(ensemble_blocks(ens)) == 1:
        return ensemble_blocks(ens)[0]
    patterns, drawn = _joined(_chunks(ens)) if ens.n_patterns <= MOST_ROWS else _drawn_rows(ens)
    codes = np.where(patterns >= 0, patterns - ens.cluster_offsets[:-1], -1).astype(np.int32)
    sample = ensemble_of_patterns(ens.names, ens.noise, ens.levels, codes, drawn)
    # Clusters that no sampled row has are dropped.
    without_empty_clusters, _ = from_counted_labels(counted_labels(sample), noise="cluster")
    return without_empty_clusters


def _drawn_rows(ens: Clusterings) -> tuple[NDArray[np.int32], Ints]:
    """Return the patterns of 2,000 rows, in the middle of equal shares of the weight in canonical order.

    Only patterns near these rows are sorted: those with the same labels in the first few members.
    """
    index = _cluster_index(ens)
    members, rank = _member_order(ens, index), _ranks_in_members(ens, index)
    # Ranges of equal labels, in as many members as the limit on the number of ranges allows.
    sizes = np.diff(ens.cluster_offsets)[members] + 1
    n_first = np.searchsorted(np.cumprod(sizes, dtype=np.float64), _RANGES, side="right")
    steps = np.append(np.cumprod(sizes[:n_first][::-1])[::-1], 1)
    n_ranges, steps = int(steps[0]), steps[1:]

    def ranges(patterns: NDArray[np.int32]) -> Ints:
        return rank[patterns[:, members[:n_first]]] @ steps

    weight = np.zeros(n_ranges)
    for patterns, counts in _chunks(ens):
        weight += np.bincount(ranges(patterns), weights=counts, minlength=n_ranges)
    upto = np.cumsum(weight)
    points = (np.arange(MOST_ROWS) + 0.5) * (upto[-1] / MOST_ROWS)
    near = np.zeros(n_ranges, dtype=bool)
    near[np.searchsorted(upto, points, side="right")] = True
    chosen = ((patterns, counts, near[ranges(patterns)]) for patterns, counts in _chunks(ens))
    patterns, counts = _joined((patterns[mask], counts[mask]) for patterns, counts, mask in chosen)
    order = np.lexsort(rank[patterns[:, members[::-1]]].T)
    patterns, counts = patterns[order], counts[order].astype(np.float64)
    # The weight before a pattern is that of earlier ranges and of earlier patterns of its own range.
    of_pattern, within = ranges(patterns), np.cumsum(counts) - counts
    before = (upto - weight)[of_pattern] + within - within[np.searchsorted(of_pattern, of_pattern)]
    drawn = np.searchsorted(points, before + counts) - np.searchsorted(points, before)
    return patterns[drawn > 0], drawn[drawn > 0].astype(np.int64)


def _cluster_index(ens: Clusterings) -> Floats:
    """(3, n_clusters) values of clusters that names of labels and the order of members do not change.

    First the weight of their rows, then these weighted by the squared index of their patterns: the mean value of the
    clusters of a pattern. Values are relative to the largest one.
    """
    values: list[Floats] = []
    for _ in range(_ROUNDS_OF_INDEX):
        of_pattern = np.append(values[-1], 0.0) if values else np.ones(ens.n_clusters + 1)
        sums = np.zeros(ens.n_clusters + 1)
        for patterns, counts in _chunks(ens):
            of_cells = np.repeat(counts * of_pattern[patterns].mean(axis=1) ** 2, ens.n_members)
            sums += np.bincount(patterns.ravel() + 1, weights=of_cells, minlength=len(sums))
        values.append(sums[1:] / sums[1:].max())
    return np.round(values, 12)


def _member_order(ens: Clusterings, index: Floats) -> Ints:
    """Return the members, ordered by the number of their clusters, then by the index of these."""
    of_members = [np.bincount(ens.cluster_member, values**2, ens.n_members) for values in index]
    n_clusters = np.diff(ens.cluster_offsets)
    return np.lexsort([*np.round(of_members, 12)[::-1], n_clusters])


def _ranks_in_members(ens: Clusterings, index: Floats) -> Ints:
    """(n_clusters + 1,) 1, 2, ... for the clusters of each member, by their index; the last, 0, is a missing label."""
    order = np.lexsort([*index[::-1], ens.cluster_member])
    rank = np.zeros(ens.n_clusters + 1, dtype=np.int64)
    rank[order] = 1 + np.arange(ens.n_clusters) - ens.cluster_offsets[ens.cluster_member[order]]
    return rank


def _chunks(ens: Clusterings) -> Iterator[tuple[NDArray[np.int32], Ints | Floats]]:
    """Yield the patterns and their counts, in chunks whose derived arrays are small."""
    for block in ensemble_blocks(ens):
        for rows in blocks_of(block.n_patterns, _PATTERNS_AT_ONCE):
            yield block.patterns[rows], block.counts[rows]


def _joined(parts: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Concatenate the first arrays of all parts, the second ones, and so on."""
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def tree_stability(halves: Halves, ks: Ints, influence: Floats) -> Floats:
    """(ks,) ARI over rows of the WEAC trees of two halves of the members, cut at k; the mean over all splits.

    Members count by the influence they have in the whole. The consensus stability of `label_structure` is another
    figure: it cuts graphs as well, and ignores members that agree with no other.
    """

    def cut(half: Half) -> Ints:
        tree = tree_of_half(half, influence)
        return np.stack([tree.cut(int(k)) for k in ks], axis=1)

    splits = tuple((_counting(first, influence), _counting(second, influence)) for first, second in halves.splits)
    return replace(halves, splits=splits).agreement(cut)


def _counting(half: Half, influence: Floats) -> Half:
    """Return a half without its members of no influence: they change no tree, but multiply the patterns to link."""
    members = np.flatnonzero(influence[half.members] > 0)
    if len(members) in (0, len(half.members)):
        return half
    counting = _half(half.ensemble, members)
    return Half(counting.ensemble, half.members[members], counting.pattern[half.pattern])


def tree_of_half(half: Half, influence: Floats) -> Dendrogram:
    """Return the WEAC tree of half of the members, by their influence in the whole; equal where none has any."""
    of_members = influence[half.members]
    weights = of_members if of_members.any() else np.ones(len(of_members))
    # Among few members many merges tie: names of labels must not decide which comes first.
    leaves = canonical_order(half.ensemble, weights, covered_patterns(half.ensemble, weights))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a tree of all patterns would take does not concern these
        return link_coassociation(half.ensemble, weights, "average", leaves=leaves)


def _rand(first: Ints, second: Ints, counts: Floats) -> float:
    """Return the adjusted Rand index over the rows that both answers label; 0 if there are none."""
    both = (first >= 0) & (second >= 0)
    if not both.any():
        return 0.0
    width = int(second.max()) + 1
    cells = np.bincount(
        first[both] * width + second[both], weights=counts[both], minlength=(int(first.max()) + 1) * width
    )
    return adjusted_rand(cells.reshape(-1, width).astype(np.float64))


_BETA = 2.0


def choose_k(labels: Any) -> Choice:
    """Suggest the number of clusters, with the scores of all numbers.

    For k = 2 to 32 the score is the eigengap times the tree stability. The eigengap is the gap after the k-th
    eigenvalue of the graph that links every row to its clusters. The tree stability is the adjusted Rand index, over
    rows, between the WEAC trees of two halves of the members cut at k: the mean over four fixed splits. In both,
    members are weighted by `trust`, squared. With fewer than four members only the eigengap is used. If there are more
    than 2,000 patterns (distinct rows of labels), the tree stability is measured on 2,000 sampled rows.

    The suggestion is often wrong on real data, so compare the candidates. `n_clusters="auto"` uses it in every method
    that needs a number.

    Parameters
    ----------
    labels : Ensemble or anything `Ensemble` takes

    Examples
    --------
    >>> import numpy as np
    >>> import quorate as qt
    >>> rows = np.arange(300)
    >>> choice = qt.choose_k([rows // 100, rows // 100, (rows + 3) // 100 % 3, rows // 50])
    >>> choice.n_clusters, [candidate.n_clusters for candidate in choice.candidates][0]
    (3, 3)
    """
    ens = as_clusterings(labels)
    return ens.derived.get("choice", lambda: _choose_from_labels(ens))


def _choose_from_labels(ens: Clusterings) -> Choice:
    influence = member_influence(ens)
    return choose(ens, _eigenvalues(ens, influence) if ens.n_members > 1 else None, influence)


def member_influence(ens: Clusterings) -> Floats:
    """(M,) trust, squared; equal weights if the agreement of all members exceeds the memory."""
    try:
        return trusted_influence(ensemble_trust(ens), _BETA)
    except QuorateError:
        return np.ones(ens.n_members)


def _eigenvalues(ens: Clusterings, influence: Floats) -> Floats | None:
    """Return the leading eigenvalues of the graph of rows and clusters, or None where the memory does not hold it."""
    try:
        graph = bipartite_graph(ens, influence[ens.cluster_member])
        return leading_spectrum(graph, MOST_CLUSTERS + 1, batch=1).values
    except QuorateError:
        return None
