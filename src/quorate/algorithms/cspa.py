"""Cluster-based similarity partitioning (Strehl and Ghosh 2002): the normalized cut of the co-association matrix."""

from __future__ import annotations

from typing import Any, ClassVar

from quorate._utils.array_types import Floats
from quorate.algorithms.graph import BipartiteMethod
from quorate.ensemble import Clusterings
from quorate.numerics.kmeans import Init
from quorate.numerics.transfer_cut import SingularCut, TransferCut
from quorate.reliability import Normalize


class CSPA(BipartiteMethod):
    """Cluster-based similarity partitioning: cut the graph of rows linked by the members that join them.

    What is known: the graph, the co-association matrix. What is chosen: it is cut by its leading eigenvectors, without
    METIS, so that clusters need not be of equal size. No matrix of rows is formed: with d_u the sizes of a row's
    clusters together, the normalized cut of HH' is the cut of the graph that links each row to its clusters by their
    sizes.

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of clusters, at most the number of clusters of all members; "auto" takes the one the members speak for
        (`choose_k`).
    weights : {"equal", "ncai", "trust"} or (M,) array, default "equal"
        Weights of the members in the co-association: all equal (the original), by crowd agreement, by `trust`, or
        given.
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
        Leading eigenvalues of the normalized co-association matrix.
    confidence_, margin_, runner_up_, clusters_, ncai_, member_weights_, ensemble_, pattern_labels_, pattern_confidence_
        As in `GPMGLA`.

    References
    ----------
    A. Strehl, J. Ghosh: Cluster Ensembles: A Knowledge Reuse Framework for Combining Multiple Partitions. Journal of
    Machine Learning Research 3 (2002).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.CSPA(n_clusters=3).fit_predict(members)
    array([0, 0, 1, 1, 2, 2])
    """

    name: ClassVar[str] = "cspa"
    idea: ClassVar[str] = "Cut the graph of rows linked by the members that join them."
    equation: ClassVar[str] = "normalized cut of H H', by the eigenvectors of H' diag(w / d) H"
    strength: ClassVar[str] = "A classical baseline, here without a matrix of rows."
    weakness: ClassVar[str] = "Clearly behind the other graph methods: large clusters dominate the degrees."
    when: ClassVar[str] = "Comparisons with the literature."
    citation: ClassVar[str] = "Strehl, Ghosh 2002"
    cost: ClassVar[str] = "m M^2 + n_c M per eigenvector step + m k^2 per k-means step; memory m M + m k"
    exact: ClassVar[str] = "graph and embedding of all rows; k-means of all rows"
    cut_class: ClassVar[type[TransferCut]] = SingularCut

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        weights: Any = "equal",
        beta: float = 2.0,
        normalize: Normalize = "sqrt",
        init: Init = "ward",
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.weights = weights
        self.beta = beta
        self.normalize = normalize
        self.init = init
        self.n_init = n_init
        self.random_state = random_state

    def _cluster_influence(self, ens: Clusterings, influence: Floats) -> Floats:
        return influence[ens.cluster_member] * ens.cluster_sizes
