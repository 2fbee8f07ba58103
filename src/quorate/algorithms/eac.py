"""Evidence accumulation clustering (Fred and Jain 2005): WEAC with members that all count the same."""

from __future__ import annotations

from typing import Any, ClassVar

from quorate.algorithms.tree import EvidenceMethod
from quorate.numerics.linkage import Link
from quorate.reliability import Normalize


class EAC(EvidenceMethod):
    """Evidence accumulation: agglomerate rows by the share of members that join them.

    It is WEAC with equal weights: the same tree, without any matrix of rows for average and single link.

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of clusters; "auto" takes the one the members speak for (`choose_k`).
    linkage : {"average", "complete", "single"}, default "average"
        How the similarity of two groups follows from that of their rows. Average and single link need memory linear in
        the ensemble; complete link a matrix over patterns.
    weights : {"equal", "ncai", "trust", "local"} or (M,) array, default "equal"
        Weights of the members: all equal (the original), by crowd agreement (then it is WEAC), by `trust`, or given;
        "local" lets each cluster count by its own certainty instead (then it is LWEA).
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
    A. L. N. Fred, A. K. Jain: Combining Multiple Clusterings Using Evidence Accumulation. IEEE Transactions on Pattern
    Analysis and Machine Intelligence 27 (2005).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.EAC(n_clusters=2).fit_predict(members)
    array([0, 0, 0, 0, 1, 1])
    """

    name: ClassVar[str] = "eac"
    idea: ClassVar[str] = "Agglomerate rows by the share of members that put them together."
    equation: ClassVar[str] = "S(i, j) = mean over members of [same cluster]"
    strength: ClassVar[str] = "The plainest consensus there is, with a dendrogram."
    weakness: ClassVar[str] = "All members count the same, good or bad."
    when: ClassVar[str] = "A baseline, or members that are all equally good."
    citation: ClassVar[str] = "Fred, Jain 2005"
    cost: ClassVar[str] = "average, single: about m M time per list, memory m M; complete: m^2 time and memory"
    exact: ClassVar[str] = "dendrogram of all rows"

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        linkage: Link = "average",
        weights: Any = "equal",
        beta: float = 2.0,
        normalize: Normalize = "sqrt",
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.weights = weights
        self.beta = beta
        self.normalize = normalize
