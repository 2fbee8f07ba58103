"""Locally weighted evidence accumulation (Huang, Wang, Lai 2018): certain clusters have more weight."""

from __future__ import annotations

from quorate.algorithms.base import LocallyWeighted
from quorate.algorithms.tree import CoassociationMethod


class LWEA(LocallyWeighted, CoassociationMethod):
    """Locally weighted evidence accumulation: agglomerate rows by the certainty of the clusters that group them.

    The weight of a cluster is its certainty, ECI: how little the other members split it (`cluster_certainty`). So a
    good cluster of a poor member has weight, and a poor cluster of a good member has little.

    References
    ----------
    D. Huang, C.-D. Wang, J.-H. Lai: Locally Weighted Ensemble Clustering. IEEE Transactions on Cybernetics 48 (2018).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.LWEA(n_clusters=3).fit_predict(members)
    array([0, 0, 0, 2, 1, 1])
    """

    name = "lwea"
    idea = "Agglomerate rows by the certainty of the clusters that group them."
    equation = "S(i, j) = mean over members of ECI(c) [both in c], ECI(c) = exp(-H(c) / (theta M))"
    strength = "Among the best methods on public ensembles, and a whole dendrogram."
    weakness = "Slow if almost no two rows share all their labels."
    when = "The best general choice if you want a tree."
    citation = "Huang, Wang, Lai 2018"
    cost = "average, single: about m M time per list, memory m M; complete: m^2 time and memory"
    exact = "dendrogram of all rows; with missing labels patterns stay whole"
    local_weights = False
