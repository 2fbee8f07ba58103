"""How many clusters: the gap between eigenvalues of the graph of clusters, times how well halves of members repeat it.

No rule finds the number of clusters always, so the evidence is kept: a value for each k, and the best candidates.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from quorate._support.typing import Floats, Ints
from quorate.crowd import influence, ncai
from quorate.ensemble import Ensemble
from quorate.linkage import Dendrogram, link_evidence
from quorate.scores import adjusted_rand

MOST_CLUSTERS = 32
"""The largest number of clusters that is ever chosen."""
_SPLITS = 4
_CANDIDATES = 3
_MEMBERS_TO_SPLIT = 4  # two in each half
_CLOSE = 0.8
_SMALLEST_GAP = 1e-9


@dataclass(frozen=True)
class Candidate:
    """A number of clusters and what speaks for it."""

    n_clusters: int
    score: float
    """Eigengap times stability."""
    eigengap: float
    stability: float
    """Mean adjusted Rand index between answers of halves of the members; NaN with fewer than four members."""


@dataclass(frozen=True)
class Choice:
    """The number of clusters that stands out, with the evidence for it and for others."""

    n_clusters: int
    candidates: tuple[Candidate, ...]
    """The best three, best first."""
    curve: tuple[Candidate, ...] = field(repr=False)
    """All numbers of clusters that were looked at, ascending."""
    sentence: str
    """Why it was chosen, and what cannot be known."""


def choose(ens: Ensemble, eigenvalues: Floats) -> Choice:
    """Return the number of clusters k >= 2 with the largest (lambda_k - lambda_{k+1}) stab(k), the smallest such k.

    `eigenvalues` are the leading ones of a graph over clusters, descending, at most 33 of which are looked at.
    """
    if ens.n_members == 1:
        k = len(ens.levels[0])
        return Choice(
            k, (), (), f"A single member: it has {k} clusters of its own, and nothing speaks for another number."
        )
    values = eigenvalues[: MOST_CLUSTERS + 1]
    gaps = np.maximum(values[1:-1] - values[2:], 0.0)
    ks = np.arange(2, 2 + len(gaps))
    if len(gaps) == 0:
        k = max(len(eigenvalues), 1)
        return Choice(k, (), (), f"{k} clusters are all that the members tell apart.")
    stability = half_stability(ens, ks) if ens.n_members >= _MEMBERS_TO_SPLIT else np.full(len(ks), np.nan)
    scores = gaps * np.where(np.isnan(stability), 1.0, np.maximum(stability, 0.0))
    curve = tuple(
        Candidate(int(k), float(s), float(g), float(t)) for k, s, g, t in zip(ks, scores, gaps, stability, strict=True)
    )
    best = np.lexsort((ks, -np.round(scores, 12)))[:_CANDIDATES]
    candidates = tuple(curve[i] for i in best)
    return Choice(candidates[0].n_clusters, candidates, curve, _sentence(candidates))


def _sentence(candidates: tuple[Candidate, ...]) -> str:
    first = candidates[0]
    if first.score <= _SMALLEST_GAP:
        return f"No number of clusters stands out; {first.n_clusters} are given for want of evidence."
    gap = f"the eigenvalues of the graph fall by {first.eigengap:.3f} behind them"
    if np.isnan(first.stability):
        text = (
            f"{first.n_clusters} clusters: {gap}. Fewer than four members: whether half of them repeats it is unknown."
        )
    else:
        text = (
            f"{first.n_clusters} clusters: {gap}, and halves of the members repeat them with ARI {first.stability:.2f}."
        )
    others = [other for other in candidates[1:] if other.score > _CLOSE * first.score]
    if others:
        text += f" The choice is close: look at {' and '.join(str(other.n_clusters) for other in others)} as well."
    elif len(candidates) > 1:
        text += f" Next is {candidates[1].n_clusters}, with {candidates[1].score / first.score:.0%} of its evidence."
    return text


def half_stability(ens: Ensemble, ks: Ints) -> Floats:
    """(ks,) ARI over rows of the WEAC trees of two halves of the members, cut at k; mean over four fixed splits."""
    found = np.zeros((_SPLITS, len(ks)))
    for split in range(_SPLITS):
        order = np.random.default_rng(split).permutation(ens.n_members)
        middle = ens.n_members // 2
        trees = [_half_tree(ens, np.sort(half)) for half in (order[:middle], order[middle:])]
        for i, k in enumerate(ks):
            one, other = (tree.cut(int(k))[place] for tree, place in trees)
            found[split, i] = _rand(one, other, ens.counts.astype(np.float64))
    return found.mean(axis=0)


def _half_tree(ens: Ensemble, members: Ints) -> tuple[Dendrogram, Ints]:
    """Return the average-link tree of some members, weighed by NCAI, and the place in it of each pattern of all."""
    half = ens.select(members.tolist())
    codes = ens.patterns[:, members]
    shift = half._offsets[:-1] - ens._offsets[members]
    place = half.find_patterns(np.where(codes >= 0, codes + shift, -1).astype(np.int32))
    return link_evidence(half, influence(ncai(half), 2.0), "average"), place.astype(np.int64)


def _rand(one: Ints, other: Ints, counts: Floats) -> float:
    """Return the adjusted Rand index over the rows that both answers label; 0 if there are none."""
    both = (one >= 0) & (other >= 0)
    if not both.any():
        return 0.0
    width = int(other.max()) + 1
    cells = np.bincount(one[both] * width + other[both], weights=counts[both], minlength=(int(one.max()) + 1) * width)
    return adjusted_rand(cells.reshape(-1, width).astype(np.float64))
