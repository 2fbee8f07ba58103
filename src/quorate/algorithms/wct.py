"""Weighted connected triples (Iam-On, Boongoen, Garrett, Price 2011): rows are similar through similar clusters."""

from __future__ import annotations

import numpy as np

from quorate._runtime.memory import USE_NO_MATRIX
from quorate._runtime.memory_forecast import EnsembleSize
from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_number
from quorate.algorithms.forecasts import linkage_through_clusters, similarities
from quorate.algorithms.tree import LinkageMethod
from quorate.cluster_similarity import weighted_triples
from quorate.ensemble import Ensemble
from quorate.numerics.linkage import Dendrogram, link_through_clusters
from quorate.row_similarity import ThroughClusters, covered_patterns


def triple_similarity(ens: Ensemble, influence: Floats, decay: float, leaves: Ints) -> ThroughClusters:
    """(leaves, leaves) the similarity of patterns that LinkCluE calls CTS.

    S_ij is the weighted mean over members of 1 if rows i and j share the member's cluster, else decay times the
    weighted connected triples of their two clusters.
    """
    of_clusters = weighted_triples(ens, influence)
    of_clusters *= decay
    # The same cluster counts fully; the decay applies to different clusters.
    np.fill_diagonal(of_clusters, 1.0)
    return ThroughClusters.of_members(ens, influence, of_clusters, leaves)


class WCT(LinkageMethod):
    """Weighted connected triples: clusters of a member that overlap the same other clusters make their rows similar.

    Published: the triples, their normalization by the largest value and the decay, from LinkCluE's CTS. Chosen here:
    the similarity of rows is linked, as in the comparison of Huang et al. (2015), while the journal version partitions
    a refined matrix of rows and clusters. The decay is 0.8 as in LinkCluE; other texts use 0.9.

    Triples through a member's clusters have its weight too, so that a member of weight 0 has no influence.

    Parameters
    ----------
    decay : float in [0, 1], default 0.8
        Weight of similar clusters relative to the same cluster; 0 gives EAC.

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

    name = "wct"
    idea = "Rows are also similar if their clusters overlap the same other clusters; agglomerate them."
    equation = "S(i, j) = mean over members of 1 if same cluster, else decay WCT(c_l(i), c_l(j))"
    strength = "Uses indirect links within members."
    weakness = "LCE uses the same links with better results, and is faster."
    when = "A baseline for indirect links, with a dendrogram."
    citation = "Iam-On, Boongoen, Garrett, Price 2011"
    cost = "n_c^2 per neighbor + m^2 M at most; memory m M + n_c^2; complete and single link m^2"
    exact = "dendrogram of all rows"

    decay: float = 0.8

    def _check(self) -> None:
        super()._check()
        check_number("decay", self.decay, low=0, high=1)

    def _memory(self, size: EnsembleSize, k: int) -> float:
        """Forecast the similarity of clusters, first with neighbor lists, then with the similarity of patterns."""
        of_clusters = 8.0 * size.clusters**2
        of_patterns = linkage_through_clusters(size) if self.linkage == "average" else similarities(size)
        return of_clusters + max(of_clusters / 4 + 40.0 * size.overlaps, of_patterns)

    def _advice(self) -> str:
        return USE_NO_MATRIX

    def _solve(self, ens: Ensemble, influence: Floats) -> Dendrogram:
        leaves = covered_patterns(ens, influence)
        similarity = triple_similarity(ens, influence, self.decay, leaves)
        return link_through_clusters(ens, similarity, self.linkage, leaves)
