"""Propagated similarity of clusters, agglomerated (Huang et al. 2018): rows are similar if their clusters are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_integer
from quorate.algorithms.tree import LinkageMethod
from quorate.cluster_similarity import neighbor_links
from quorate.ensemble import Ensemble
from quorate.numerics.linkage import Dendrogram, link_through_clusters
from quorate.random_walks import trajectories_within
from quorate.row_similarity import ThroughClusters, covered_patterns


def enhanced_coassociation(ens: Ensemble, influence: Floats, n_steps: int, leaves: Ints) -> ThroughClusters:
    """(leaves, leaves) the enhanced co-association: a member counts even if it separates two rows.

    S_ij is the weighted mean over members of the propagated similarity of their clusters of i and j, 1 for the same
    cluster: no row is more similar to another than to those of its pattern.
    """
    of_clusters = trajectories_within(neighbor_links(ens), ens.cluster_member, n_steps)
    # Rows in the same cluster have similarity 1, whatever the walks say.
    np.fill_diagonal(of_clusters, 1.0)
    return ThroughClusters.of_members(ens, influence, of_clusters, leaves)


class ECPCSHC(LinkageMethod):
    """Propagated similarity of clusters, agglomerated: a member counts even for rows that it separates.

    The similarity of two clusters comes from random walks over the clusters of all members, linked by shared rows. Rows
    are as similar as their clusters are, on average over the members. They are agglomerated.

    The walks go through the clusters of all members, whatever their weights.

    Parameters
    ----------
    n_steps : int, default 20
        Length of the random walks.

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

    name = "ecpcs-hc"
    idea = "Measure the similarity of clusters by random walks, and agglomerate rows by that of their clusters."
    equation = "S(i, j) = mean over members of Z(c_l(i), c_l(j)), Z = cosine of walks over Jaccard links"
    strength = "A dendrogram that uses indirect links."
    weakness = "Worse than ECPCS-MC on average, and slower."
    when = "You want a tree, and the members have many small clusters."
    citation = "Huang, Wang, Peng, Lai, Kwoh 2018"
    cost = "n_c^3 + m^2 M at most; memory m M + n_c^2; complete and single link m^2"
    exact = "dendrogram of all rows"
    exceptions: ClassVar[Mapping[str, str]] = {
        **LinkageMethod.exceptions,
        "member without weight": "walks go through the clusters of all members",
    }

    n_steps: int = 20

    def _check(self) -> None:
        super()._check()
        check_integer("n_steps", self.n_steps, low=1)

    def _solve(self, ens: Ensemble, influence: Floats) -> Dendrogram:
        leaves = covered_patterns(ens, influence)
        similarity = enhanced_coassociation(ens, influence, self.n_steps, leaves)
        return link_through_clusters(ens, similarity, self.linkage, leaves)
