"""Propagated similarity of clusters, agglomerated (Huang et al. 2018): rows are alike if their clusters are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np

from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_integer
from quorate.algorithms.tree import LinkageMethod
from quorate.cluster_similarity import neighbor_links
from quorate.ensemble import Ensemble
from quorate.numerics.linkage import Dendrogram, Link, link_through_clusters
from quorate.random_walks import trajectories_within
from quorate.reliability import Normalize
from quorate.row_similarity import ThroughClusters, covered_patterns


def enhanced_evidence(ens: Ensemble, influence: Floats, n_steps: int, leaves: Ints) -> ThroughClusters:
    """(leaves, leaves) the enhanced co-association: members count even where they part two rows.

    S_ij is the weighted mean over members of the propagated similarity of their clusters of i and j, 1 for the same
    cluster: no row is more similar to another than to those of its pattern.
    """
    of_clusters = trajectories_within(neighbor_links(ens), ens.cluster_member, n_steps)
    np.fill_diagonal(of_clusters, 1.0)
    return ThroughClusters.of_members(ens, influence, of_clusters, leaves)


class ECPCSHC(LinkageMethod):
    """Propagated similarity of clusters, agglomerated: a member says something even about rows that it parts.

    Random walks over the clusters of all members, linked by the rows they share, tell how similar two clusters are;
    rows are as similar as their clusters are on average over the members, and are agglomerated.

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of clusters; "auto" takes the one the members speak for (`choose_k`).
    linkage : {"average", "complete", "single"}, default "average"
        How the similarity of two groups follows from that of their rows; "average" is the original.
    n_steps : int, default 20
        Length of the random walks.
    weights : {"equal", "ncai", "trust"} or (M,) array, default "equal"
        Weights of the members in the similarity of rows: all equal (the original), by crowd agreement, by `trust`, or
        given. The walks go through the clusters of all members alike.
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
    D. Huang, C.-D. Wang, H. Peng, J. Lai, C.-K. Kwoh: Enhanced Ensemble Clustering via Fast Propagation of
    Cluster-wise Similarities. IEEE Transactions on Systems, Man, and Cybernetics: Systems (2018).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.ECPCSHC(n_clusters=2).fit_predict(members)
    array([0, 0, 0, 0, 1, 1])
    """

    name: ClassVar[str] = "ecpcs-hc"
    idea: ClassVar[str] = "Rows are as alike as random walks find their clusters; agglomerate them."
    equation: ClassVar[str] = "S(i, j) = mean over members of Z(c_l(i), c_l(j)), Z = cosine of walks over Jaccard links"
    strength: ClassVar[str] = "A dendrogram that uses indirect links."
    weakness: ClassVar[str] = "Behind ECPCS-MC on average, and slower."
    when: ClassVar[str] = "A tree is wanted and members are very fine."
    citation: ClassVar[str] = "Huang, Wang, Peng, Lai, Kwoh 2018"
    cost: ClassVar[str] = "n_c^3 + m^2 M at most; memory m M + n_c^2; complete and single link m^2"
    exact: ClassVar[str] = "dendrogram of all rows"
    exceptions: ClassVar[Mapping[str, str]] = {
        **LinkageMethod.exceptions,
        "member without weight": "walks go through the clusters of all members",
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        linkage: Link = "average",
        n_steps: int = 20,
        weights: Any = "equal",
        beta: float = 2.0,
        normalize: Normalize = "sqrt",
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.n_steps = n_steps
        self.weights = weights
        self.beta = beta
        self.normalize = normalize

    def _check(self) -> None:
        super()._check()
        check_integer("n_steps", self.n_steps, low=1)

    def _solve(self, ens: Ensemble, influence: Floats) -> Dendrogram:
        leaves = covered_patterns(ens, influence)
        similarity = enhanced_evidence(ens, influence, self.n_steps, leaves)
        return link_through_clusters(ens, similarity, cast(Link, self.linkage), leaves)
