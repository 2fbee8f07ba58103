"""Is there cluster structure, as far as labels show it? Stability of the consensus between halves of the members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate._utils.array_types import Ints
from quorate._utils.checks import check_integer
from quorate.algorithms.base import Solution
from quorate.analysis.choose_k import (
    Half,
    Halves,
    choose_k,
    member_influence,
    sample_rows,
    split_in_halves,
    tree_of_half,
    without_rows,
)
from quorate.analysis.structure.consensus_cuts import solve
from quorate.analysis.structure.wording import describe_label_structure, label_limits
from quorate.ensemble import Clusterings, as_clusterings
from quorate.errors import QuorateError
from quorate.numerics.linkage import Dendrogram
from quorate.reliability import ensemble_trust

WEAK = 0.3
"""Consensus stability from which there is weak evidence of clusters."""
_INSTABILITY = 1.5
_MOST_CLUSTERS = 512  # the check was calibrated with 2 to 32 clusters; with more than this it would take long


def clear_from(n_members: int) -> float:
    """Return the consensus stability from which clusters are clear: halves of few members are less stable."""
    return 1.0 - _INSTABILITY / n_members


@dataclass(frozen=True)
class LabelStructure:
    """What labels show about structure: whether halves of the members find the same clusters."""

    n_clusters: int
    """The number of clusters at which it was checked."""
    stability: float | None
    """Consensus stability: mean ARI over rows between the consensuses of two halves of the members; None if unknown."""
    n_members: int
    """Members that were split in halves: those that agree with any other."""
    reason: str | None = None
    """Why it cannot be checked: "one cluster", "too many clusters", "too few members", "too few agreeing members" or
    "too few rows"."""

    @property
    def verdict(self) -> str:
        """One of "clear", "weak", "none" and "unknown"."""
        if self.stability is None:
            return "unknown"
        if self.stability >= clear_from(self.n_members):
            return "clear"
        return "weak" if self.stability >= WEAK else "none"

    @property
    def sentence(self) -> str:
        """The verdict in words; never a p-value, which labels cannot give."""
        return describe_label_structure(self)

    @property
    def limits(self) -> str | None:
        """What labels cannot show; None if nothing was checked."""
        return label_limits(self)


def label_structure(labels: Any, n_clusters: int | str = "auto") -> LabelStructure:
    """Check whether halves of the members find the same clusters.

    The members are split in halves in four ways. Each half is combined by a graph cut (GP-MGLA) and by a tree (WEAC)
    into `n_clusters` clusters. The consensus stability is the mean adjusted Rand index between the two halves, over
    rows, of the method that is more stable. Members that agree with no other more than chance are ignored.

    Clusters are "clear" from a stability of 1 - 1.5 / M for M members (0.85 for 10), because halves of few members are
    less stable; evidence is "weak" from 0.3 on. Labels show whether members repeat one another, not why: members that
    cut one elongated group in the same way are stable too.

    Parameters
    ----------
    labels : Ensemble or anything `Ensemble` takes
    n_clusters : int or "auto"
        The number of clusters to check, up to 512; "auto" is that of `choose_k`.

    Examples
    --------
    >>> import numpy as np
    >>> import quorate as qt
    >>> rows = np.arange(300)
    >>> qt.label_structure([rows // 100, rows // 100, (rows + 3) // 100 % 3, rows // 50], 3).sentence
    'Clear clusters, judged by labels only (consensus stability 1.00 at 3 clusters).'
    """
    ens = as_clusterings(labels)
    auto = isinstance(n_clusters, str) and n_clusters == "auto"
    k = choose_k(ens).n_clusters if auto else check_integer("n_clusters", n_clusters, low=1)
    solved: _SolvedHalves | str
    if k == 1 or k > _MOST_CLUSTERS:
        solved = "one cluster" if k == 1 else "too many clusters"
    else:
        solved = ens.derived.get("solved halves", lambda: _solved_halves(ens))
    if isinstance(solved, str):
        return LabelStructure(k, None, int(ensemble_trust(ens).agrees.sum()), solved)
    return LabelStructure(k, solved.stability(k), solved.n_members)


@dataclass(frozen=True)
class _SolvedHalves:
    """Halves of the members, each combined by two methods."""

    halves: Halves
    solutions: dict[int, tuple[Solution, Dendrogram]]
    """The graph cuts and the tree of each half, by its identity."""
    n_members: int

    def stability(self, k: int) -> float:
        """Return the larger of the two methods' mean ARI between halves."""
        return float(self.halves.agreement(lambda half: self._cuts(half, k)).max())

    def _cuts(self, half: Half, k: int) -> Ints:
        """(m, 2) labels of the patterns of a half by both methods, in k clusters or as many as it can have."""
        graph, tree = self.solutions[id(half)]
        k = min(k, graph.max_clusters)
        return np.stack([graph.answer(k).labels, tree.cut(k)], axis=1)


def _solved_halves(ens: Clusterings) -> _SolvedHalves | str:
    """Return the halves of the members that agree with any other, or why there are none."""
    member_trust = ensemble_trust(ens)
    if member_trust.verdict == "too few rows to tell":
        return "too few rows"
    if split_in_halves(ens) is None:
        return "too few members"
    if member_trust.verdict == "beyond chance" and not member_trust.agrees.all():
        agreeing = np.flatnonzero(member_trust.agrees)
        ens = without_rows(sample_rows(ens)).select(agreeing.tolist())
    halves = split_in_halves(ens)
    if halves is None:
        return "too few agreeing members"
    influence, both = member_influence(ens), [half for split in halves.splits for half in split]
    try:
        solutions = {id(half): (solve(half.ensemble), tree_of_half(half, influence)) for half in both}
    except QuorateError:  # a half whose members all have a single cluster
        return "one cluster"
    return _SolvedHalves(halves, solutions, ens.n_members)
