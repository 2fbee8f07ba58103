"""Locally weighted graph partitioning (Huang, Wang, Lai 2018): rows are linked more strongly to certain clusters."""

from __future__ import annotations

from quorate.algorithms.base import LocallyWeighted
from quorate.algorithms.graph import BipartiteMethod


class LWGP(LocallyWeighted, BipartiteMethod):
    """Locally weighted graph partitioning: cut the graph of rows and clusters, linked by the clusters' certainty.

    The link of a row to its cluster has the weight ECI: how little the other members split the cluster
    (`cluster_certainty`). The graph is cut through its clusters, and the embedded rows are clustered by k-means.

    References
    ----------
    D. Huang, C.-D. Wang, J.-H. Lai: Locally Weighted Ensemble Clustering. IEEE Transactions on Cybernetics 48 (2018).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.LWGP(n_clusters=3).fit_predict(members)
    array([0, 0, 1, 1, 2, 2])
    """

    name = "lwgp"
    idea = "Cut the graph of rows and clusters, linked by the clusters' certainty."
    equation = "B = H diag(ECI), transfer cut of B"
    strength = "As good as LWEA, and fast for any number of rows."
    weakness = "The number of clusters is at most that of all members together."
    when = "The best general choice for many rows."
    citation = "Huang, Wang, Lai 2018"
    cost = "m M^2 + n_c M per eigenvector step + m k^2 per k-means step; memory m M + m k"
    exact = "graph and embedding of all rows; k-means of all rows"
