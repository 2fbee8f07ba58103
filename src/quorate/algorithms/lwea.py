"""Locally weighted evidence accumulation (Huang, Wang, Lai 2018): certain clusters count more than uncertain ones."""

from __future__ import annotations

from typing import Any, ClassVar

from quorate.algorithms.base import LocallyWeighted
from quorate.algorithms.tree import EvidenceMethod
from quorate.numerics.linkage import Link
from quorate.reliability import Normalize


class LWEA(LocallyWeighted, EvidenceMethod):
    """Locally weighted evidence accumulation: agglomerate rows by the certainty of the clusters that join them.

    A cluster counts by its certainty, ECI: how far the other members leave it in one piece (`cluster_certainty`). So a
    good cluster of a poor member counts, and a poor cluster of a good member hardly does.

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of clusters; "auto" takes the one the members speak for (`choose_k`).
    linkage : {"average", "complete", "single"}, default "average"
        How the similarity of two groups follows from that of their rows; "average" is the original. Average and single
        link need memory linear in the ensemble; complete link a matrix over patterns.
    theta : float, default 0.4
        How slowly the certainty of a cluster falls with its uncertainty; the authors recommend 0.2 to 1.
    weights : {"equal", "ncai", "trust"} or (M,) array, default "equal"
        Weights of the members beside the certainty of their clusters: all equal (the original), by crowd agreement, by
        `trust`, or given.
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
    D. Huang, C.-D. Wang, J.-H. Lai: Locally Weighted Ensemble Clustering. IEEE Transactions on Cybernetics 48 (2018).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.LWEA(n_clusters=3).fit_predict(members)
    array([0, 0, 0, 2, 1, 1])
    """

    name: ClassVar[str] = "lwea"
    idea: ClassVar[str] = "Agglomerate rows by the certainty of the clusters that join them."
    equation: ClassVar[str] = "S(i, j) = mean over members of ECI(c) [both in c], ECI(c) = exp(-H(c) / (theta M))"
    strength: ClassVar[str] = "Among the best methods on public ensembles, and a whole dendrogram."
    weakness: ClassVar[str] = "Needs time where hardly two rows share all their labels."
    when: ClassVar[str] = "The best all-round choice when a tree is wanted."
    citation: ClassVar[str] = "Huang, Wang, Lai 2018"
    cost: ClassVar[str] = "average, single: about m M time per list, memory m M; complete: m^2 time and memory"
    exact: ClassVar[str] = "dendrogram of all rows; with missing labels patterns stay whole"
    local_weights: ClassVar[bool] = False

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        linkage: Link = "average",
        theta: float = 0.4,
        weights: Any = "equal",
        beta: float = 2.0,
        normalize: Normalize = "sqrt",
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.theta = theta
        self.weights = weights
        self.beta = beta
        self.normalize = normalize
