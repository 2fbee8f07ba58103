"""Weighted evidence accumulation clustering (paper, section 6.1, Algorithm 1)."""

from __future__ import annotations

from typing import Any, ClassVar

from quorate.algorithms.tree import EvidenceMethod
from quorate.numerics.linkage import Link
from quorate.reliability import Normalize


class WEAC(EvidenceMethod):
    """Weighted evidence accumulation: agglomerate rows by the weight of the members that join them.

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of clusters; "auto" takes the one the members speak for (`choose_k`).
    linkage : {"average", "complete", "single"}, default "average"
        How the similarity of two groups follows from that of their rows. Average and single link need memory linear in
        the ensemble; complete link a matrix over patterns.
    beta : float, default 2.0
        How strongly agreement with the crowd counts in the weight of a member, for weights "ncai" and "trust".
    normalize : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        How mutual information is normalized, as in `agreement`; "max" is the authors' program.
    weights : {"ncai", "trust", "equal", "local"} or (M,) array, default "ncai"
        Weights of the members: by crowd agreement, by `trust`, all equal (then it is EAC), or given; "local" lets each
        cluster count by its own certainty instead (then it is LWEA).

    Attributes
    ----------
    labels_ : (n,) array
        Consensus label of each row; 0 is the largest cluster.
    n_clusters_ : int
    confidence_ : (n,) array
        Mean evidence of each row with the other rows of its cluster.
    margin_, runner_up_ : (n,) arrays
        Confidence minus the evidence for the runner-up, and which cluster that is; -1 where there is none.
    clusters_ : tuple of ConsensusCluster
        Size, stability, nearest cluster and main opponents of each cluster.
    split_ : Split or None
        Which cluster the answer with one more cluster splits.
    dendrogram_ : Dendrogram
    ncai_, member_weights_ : (M,) arrays
    ensemble_ : Ensemble
    pattern_labels_, pattern_confidence_, pattern_margin_, pattern_runner_up_ : (m,) arrays

    References
    ----------
    D. Huang, J.-H. Lai, C.-D. Wang: Combining Multiple Clusterings via Crowd Agreement Estimation and Multi-Granularity
    Link Analysis. Neurocomputing 170 (2015).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.WEAC(n_clusters=2).fit_predict(members)
    array([0, 0, 0, 0, 1, 1])
    """

    name: ClassVar[str] = "weac"
    idea: ClassVar[str] = "Agglomerate rows by the weight of the members that put them together."
    equation: ClassVar[str] = "S(i, j) = sum over members l of w_l [same cluster in l], w from NCAI^beta"
    strength: ClassVar[str] = "A whole dendrogram from one run; members that disagree with all others hardly count."
    weakness: ClassVar[str] = "Weights are per member: a poor cluster of a good member counts in full."
    when: ClassVar[str] = "You want a tree, or every number of clusters at once."
    citation: ClassVar[str] = "Huang, Lai, Wang 2015, section 6.1"
    cost: ClassVar[str] = "average, single: about m M time per list, memory m M; complete: m^2 time and memory"
    exact: ClassVar[str] = "dendrogram of all rows"

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        linkage: Link = "average",
        beta: float = 2.0,
        normalize: Normalize = "sqrt",
        weights: Any = "ncai",
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.beta = beta
        self.normalize = normalize
        self.weights = weights
