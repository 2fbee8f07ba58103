"""Probability trajectory accumulation (Huang, Lai, Wang 2016): patterns are alike if random walks from them are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np

from quorate._utils.array_types import Floats
from quorate._utils.checks import check_flag, check_integer
from quorate.algorithms.tree import LinkageMethod
from quorate.ensemble import Ensemble
from quorate.graphs import pattern_trajectory_similarity
from quorate.numerics.linkage import Dendrogram, Link, link_patterns
from quorate.reliability import Normalize
from quorate.row_similarity import covered_patterns


class PTA(LinkageMethod):
    """Probability trajectory accumulation: agglomerate patterns by how alike random walks from them are.

    Patterns (the authors' microclusters) are linked to those of strongest evidence; two are alike if walks from them
    take the same ways. Every pattern counts once when they are agglomerated, however many rows it has.

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of clusters; "auto" takes the one the members speak for (`choose_k`).
    linkage : {"average", "complete", "single"}, default "average"
        How the similarity of two groups follows from that of their patterns.
    n_neighbors, n_steps : int or None, default None
        Links kept of each pattern, and length of the walks (K and T). None: half the root of the number of patterns, at
        least 1 and at most 20.
    row_weights : bool, default False
        Whether patterns count by their rows in average link, instead of once each (the original).
    weights : {"equal", "ncai", "trust"} or (M,) array, default "equal"
        Weights of the members in the evidence: all equal (the original), by crowd agreement, by `trust`, or given.
    beta : float, default 2.0
        How strongly agreement with the crowd counts in the weight of a member, for weights "ncai" and "trust".
    normalize : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        How mutual information is normalized, as in `agreement`.

    Attributes
    ----------
    labels_ : (n,) array
        Consensus label of each row; 0 is the largest cluster.
    n_clusters_ : int
    dendrogram_ : Dendrogram
    confidence_, margin_, runner_up_, clusters_, ncai_, member_weights_, ensemble_, pattern_labels_, pattern_confidence_
        As in `WEAC`.

    References
    ----------
    D. Huang, J.-H. Lai, C.-D. Wang: Robust Ensemble Clustering Using Probability Trajectories. IEEE Transactions on
    Knowledge and Data Engineering 28 (2016).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.PTA(n_clusters=2, n_neighbors=2, n_steps=2).fit_predict(members)
    array([0, 0, 1, 0, 1, 1])
    """

    name: ClassVar[str] = "pta"
    idea: ClassVar[str] = "Patterns are alike if random walks from them take the same ways; agglomerate them."
    equation: ClassVar[str] = (
        "PTS(u, v) = cosine of the trajectories of T steps over the K strongest links of each pattern"
    )
    strength: ClassVar[str] = "Robust to weak links; a dendrogram."
    weakness: ClassVar[str] = "Time grows with the cube, memory with the square of the patterns."
    when: ClassVar[str] = "A few thousand patterns and noisy members."
    citation: ClassVar[str] = "Huang, Lai, Wang 2016"
    cost: ClassVar[str] = "m^2 M + m^3; memory m^2"
    exact: ClassVar[str] = "defined on patterns"
    exceptions: ClassVar[Mapping[str, str]] = {
        "components": "only the strongest links are kept, which may part what is connected",
        "clear answers, complete link": "patterns whose walks never meet tie at distance 1",
        "components, complete link": LinkageMethod.exceptions["components, complete link"],
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        linkage: Link = "average",
        n_neighbors: int | None = None,
        n_steps: int | None = None,
        row_weights: bool = False,
        weights: Any = "equal",
        beta: float = 2.0,
        normalize: Normalize = "sqrt",
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.n_neighbors = n_neighbors
        self.n_steps = n_steps
        self.row_weights = row_weights
        self.weights = weights
        self.beta = beta
        self.normalize = normalize

    def _check(self) -> None:
        super()._check()
        check_flag("row_weights", self.row_weights)
        for name, value in (("n_neighbors", self.n_neighbors), ("n_steps", self.n_steps)):
            if value is not None:
                check_integer(name, value, low=1)

    def _solve(self, ens: Ensemble, influence: Floats) -> Dendrogram:
        leaves = covered_patterns(ens, influence)
        similarity = pattern_trajectory_similarity(ens, influence, leaves, self.n_neighbors, self.n_steps)
        sizes = ens.counts[leaves].astype(np.float64) if self.row_weights else np.ones(len(leaves))
        return link_patterns(ens, similarity, cast(Link, self.linkage), leaves, sizes)
