"""Weighted connected triples (Iam-On, Boongoen, Garrett, Price 2011): rows are similar through similar clusters."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import numpy as np

from quorate._runtime.memory import USE_NO_MATRIX
from quorate._runtime.memory_forecast import EnsembleSize
from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_number
from quorate.algorithms.forecasts import linkage_through_clusters, similarities
from quorate.algorithms.tree import LinkageMethod
from quorate.cluster_similarity import weighted_triples
from quorate.ensemble import Ensemble
from quorate.numerics.linkage import Dendrogram, Link, link_through_clusters
from quorate.reliability import Normalize
from quorate.row_similarity import ThroughClusters, covered_patterns


def triple_similarity(ens: Ensemble, influence: Floats, decay: float, leaves: Ints) -> ThroughClusters:
    """(leaves, leaves) the similarity of patterns that LinkCluE calls CTS.

    S_ij is the weighted mean over members of 1 if rows i and j share the member's cluster, else decay times the
    weighted connected triples of their two clusters.
    """
    of_clusters = weighted_triples(ens, influence)
    of_clusters *= decay
    np.fill_diagonal(of_clusters, 1.0)
    return ThroughClusters.of_members(ens, influence, of_clusters, leaves)


class WCT(LinkageMethod):
    """Weighted connected triples: clusters of a member that meet the same other clusters make their rows similar.

    What is known: the triples, their normalization by the largest value and the decay are those of LinkCluE's CTS.
    What is chosen: the journal version refines an association matrix of rows and clusters and partitions that; the
    comparison of Huang et al. (2015) uses WCT with three linkages, so the similarity of rows is linked here. The decay
    is 0.8 as in LinkCluE (0.9 is also found).

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of clusters; "auto" takes the one the members speak for (`choose_k`).
    linkage : {"average", "complete", "single"}, default "average"
        How the similarity of two groups follows from that of their rows.
    decay : float in [0, 1], default 0.8
        How much similar clusters count beside the same cluster; 0 gives EAC.
    weights : {"equal", "ncai", "trust"} or (M,) array, default "equal"
        Weights of the members: all equal (the original), by crowd agreement, by `trust`, or given. Triples through a
        member's clusters count by its weight too, so that a member of weight 0 has no say at all.
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
    N. Iam-On, T. Boongoen, S. Garrett, C. Price: A Link-Based Approach to the Cluster Ensemble Problem. IEEE
    Transactions on Pattern Analysis and Machine Intelligence 33 (2011). N. Iam-On, S. Garrett: LinkCluE. Journal of
    Statistical Software 36 (2010).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.WCT(n_clusters=2).fit_predict(members)
    array([0, 0, 0, 0, 1, 1])
    """

    name: ClassVar[str] = "wct"
    idea: ClassVar[str] = "Rows are also alike where their clusters meet the same other clusters; agglomerate them."
    equation: ClassVar[str] = "S(i, j) = mean over members of 1 if same cluster, else decay WCT(c_l(i), c_l(j))"
    strength: ClassVar[str] = "Uses indirect links within members."
    weakness: ClassVar[str] = "LCE uses the same links better and faster."
    when: ClassVar[str] = "A baseline for indirect links, with a dendrogram."
    citation: ClassVar[str] = "Iam-On, Boongoen, Garrett, Price 2011"
    cost: ClassVar[str] = "n_c^2 per neighbor + m^2 M at most; memory m M + n_c^2; complete and single link m^2"
    exact: ClassVar[str] = "dendrogram of all rows"

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        linkage: Link = "average",
        decay: float = 0.8,
        weights: Any = "equal",
        beta: float = 2.0,
        normalize: Normalize = "sqrt",
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.decay = decay
        self.weights = weights
        self.beta = beta
        self.normalize = normalize

    def _check(self) -> None:
        super()._check()
        check_number("decay", self.decay, low=0, high=1)

    def _memory(self, size: EnsembleSize, k: int) -> float:
        """The similarity of clusters, while it is made with its neighbors, then with that of patterns."""
        of_clusters = 8.0 * size.clusters**2
        of_patterns = linkage_through_clusters(size) if self.linkage == "average" else similarities(size)
        return of_clusters + max(of_clusters / 4 + 40.0 * size.overlaps, of_patterns)

    def _advice(self) -> str:
        return USE_NO_MATRIX

    def _solve(self, ens: Ensemble, influence: Floats) -> Dendrogram:
        leaves = covered_patterns(ens, influence)
        similarity = triple_similarity(ens, influence, self.decay, leaves)
        return link_through_clusters(ens, similarity, cast(Link, self.linkage), leaves)
