"""Locally weighted graph partitioning (Huang, Wang, Lai 2018): certain clusters hold their rows more strongly."""

from __future__ import annotations

from typing import Any, ClassVar

from quorate.algorithms.base import LocallyWeighted
from quorate.algorithms.graph import BipartiteMethod
from quorate.numerics.kmeans import Init
from quorate.reliability import Normalize


class LWGP(LocallyWeighted, BipartiteMethod):
    """Locally weighted graph partitioning: cut the graph of rows and clusters, linked by the clusters' certainty.

    A row is linked to each of its clusters by ECI, how far the other members leave the cluster in one piece
    (`cluster_certainty`); the graph is cut through its clusters, and the embedded rows are clustered by k-means.

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of clusters, at most the number of clusters of all members; "auto" takes the one the members speak for
        (`choose_k`).
    theta : float, default 0.4
        How slowly the certainty of a cluster falls with its uncertainty; the authors recommend 0.2 to 1.
    weights : {"equal", "ncai", "trust"} or (M,) array, default "equal"
        Weights of a member's links beside the certainty of its clusters: all equal (the original), by crowd agreement,
        by `trust`, or given.
    beta : float, default 2.0
        How strongly agreement with the crowd counts in the weight of a member, for weights "ncai" and "trust".
    normalize : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        How mutual information is normalized, as in `agreement`.
    init, n_init, random_state :
        How k-means starts, as in `GPMGLA`.

    Attributes
    ----------
    labels_ : (n,) array
        Consensus label of each row; 0 is the largest cluster.
    n_clusters_ : int
    eigenvalues_ : array
        Leading eigenvalues of the graph.
    confidence_, margin_, runner_up_, clusters_, ncai_, member_weights_, ensemble_, pattern_labels_, pattern_confidence_
        As in `GPMGLA`.

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

    name: ClassVar[str] = "lwgp"
    idea: ClassVar[str] = "Cut the graph of rows and clusters, linked by the clusters' certainty."
    equation: ClassVar[str] = "B = H diag(ECI), transfer cut of B"
    strength: ClassVar[str] = "Level with LWEA and fast however many rows there are."
    weakness: ClassVar[str] = "The number of clusters is at most that of all members together."
    when: ClassVar[str] = "The best all-round choice for many rows."
    citation: ClassVar[str] = "Huang, Wang, Lai 2018"
    cost: ClassVar[str] = "m M^2 + n_c M per eigenvector step + m k^2 per k-means step; memory m M + m k"
    exact: ClassVar[str] = "graph and embedding of all rows; k-means of all rows"

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        theta: float = 0.4,
        weights: Any = "equal",
        beta: float = 2.0,
        normalize: Normalize = "sqrt",
        init: Init = "ward",
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.theta = theta
        self.weights = weights
        self.beta = beta
        self.normalize = normalize
        self.init = init
        self.n_init = n_init
        self.random_state = random_state
