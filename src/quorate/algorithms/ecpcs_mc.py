"""Propagated similarity of clusters, meta-clustered (Huang et al. 2018): clusters alike by walks are grouped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from quorate._utils.array_types import Floats
from quorate._utils.checks import check_integer
from quorate.algorithms.partition import MetaCuts, MetaMethod, Partition
from quorate.ensemble import Ensemble
from quorate.graphs import propagated_similarity
from quorate.numerics.linkage import link_coassociation
from quorate.reliability import Normalize


@dataclass(frozen=True)
class PropagatedCuts(MetaCuts):
    """Rows in groups of clusters that are alike by random walks."""

    def solve(self, k: int) -> Partition:
        """Return the group of each pattern; where no two clusters meet (one member alone), that of average link."""
        if self.similarity.any():
            return super().solve(k)
        return Partition(link_coassociation(self.ensemble, self.influence, "average").cut(k)[self.covered])


class ECPCSMC(MetaMethod):
    """Propagated similarity of clusters, meta-clustered: group clusters by random walks, and let rows follow them.

    Random walks over the clusters of all members, linked by the rows they share, tell how similar two clusters are;
    the clusters are grouped by a normalized cut, and a row joins the group its clusters are most in. No matrix of rows
    is ever needed. What is chosen: the discretization starts at the largest cluster instead of a random one, and a
    group that wins no row is given the one that votes for it most.

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of clusters, at most the number of clusters of all members.
    n_steps : int, default 20
        Length of the random walks.
    weights : {"equal", "ncai", "trust"} or (M,) array, default "equal"
        Weights of the votes of a member's clusters: all equal (the original), by crowd agreement, by `trust`, or given.
    beta : float, default 2.0
        How strongly agreement with the crowd counts in the weight of a member, for weights "ncai" and "trust".
    normalize : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        How mutual information is normalized, as in `agreement`.

    Attributes
    ----------
    labels_ : (n,) array
        Consensus label of each row; 0 is the largest cluster.
    n_clusters_ : int
    eigenvalues_ : array
        Leading eigenvalues of the graph of clusters.
    confidence_, margin_, runner_up_, clusters_, ncai_, member_weights_, ensemble_, pattern_labels_, pattern_confidence_
        As in `GPMGLA`.

    References
    ----------
    D. Huang, C.-D. Wang, H. Peng, J. Lai, C.-K. Kwoh: Enhanced Ensemble Clustering via Fast Propagation of
    Cluster-wise Similarities. IEEE Transactions on Systems, Man, and Cybernetics: Systems (2018).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.ECPCSMC(n_clusters=2).fit_predict(members)
    array([0, 0, 0, 0, 1, 1])
    """

    name: ClassVar[str] = "ecpcs-mc"
    idea: ClassVar[str] = "Group clusters that random walks find alike, and let rows follow their clusters."
    equation: ClassVar[str] = (
        "Z = cosine of walks over Jaccard links; normalized cut of Z; row to the group its clusters are most in"
    )
    strength: ClassVar[str] = "Uses indirect links at a cost that does not grow with the rows."
    weakness: ClassVar[str] = "Small groups may win no row by themselves; cost grows with the cube of the clusters."
    when: ClassVar[str] = "Many rows and not too many clusters in all."
    citation: ClassVar[str] = "Huang, Wang, Peng, Lai, Kwoh 2018"
    cost: ClassVar[str] = "m M^2 + n_c^3; memory n_c^2 + m M"
    exact: ClassVar[str] = "groups of clusters and votes of all rows"
    exceptions: ClassVar[Mapping[str, str]] = {
        "components": "the cut counts a little of every cluster to itself, so weakly linked parts may stay together",
        "member without weight": "walks go through the clusters of all members",
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        n_steps: int = 20,
        weights: Any = "equal",
        beta: float = 2.0,
        normalize: Normalize = "sqrt",
    ) -> None:
        self.n_clusters = n_clusters
        self.n_steps = n_steps
        self.weights = weights
        self.beta = beta
        self.normalize = normalize

    def _check(self) -> None:
        check_integer("n_steps", self.n_steps, low=1)

    def _solve(self, ens: Ensemble, influence: Floats) -> PropagatedCuts:
        return PropagatedCuts(ens, influence, propagated_similarity(ens, self.n_steps))
