"""Propagated similarity of clusters, meta-clustered (Huang et al. 2018): clusters are grouped by random walks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from quorate._utils.array_types import Floats
from quorate._utils.checks import check_integer
from quorate.algorithms.partition import MetaCuts, MetaMethod, Partition
from quorate.ensemble import Ensemble
from quorate.graphs import propagated_similarity


@dataclass(frozen=True)
class PropagatedCuts(MetaCuts):
    """Rows in groups of clusters that are similar by random walks."""

    def solve(self, k: int) -> Partition:
        """Return the group of each pattern; if no two clusters overlap (a single member), that of average link."""
        # Without any overlap there is nothing to walk over.
        if self.similarity.any():
            return super().solve(k)
        return Partition(self.eac_tree.cut(k)[self.covered])


class ECPCSMC(MetaMethod):
    """Propagated similarity of clusters, meta-clustered: group clusters by random walks, then assign rows.

    The similarity of two clusters comes from random walks over the clusters of all members, linked by shared rows. The
    clusters are grouped by a normalized cut, and a row joins the group that holds most of its clusters. No matrix of
    rows is formed. Chosen here: the discretization starts at the largest cluster instead of a random one, and a group
    that wins no row gets the row with the largest vote for it.

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
    >>> qt.ECPCSMC(n_clusters=2).fit_predict(members)
    array([0, 0, 0, 0, 1, 1])
    """

    name = "ecpcs-mc"
    idea = "Group clusters that random walks find similar, and assign rows by their clusters."
    equation = "Z = cosine of walks over Jaccard links; normalized cut of Z; row to the group of most of its clusters"
    strength = "Uses indirect links at a cost that does not grow with the rows."
    weakness = "Small groups may win no row by themselves; cost grows with the cube of the clusters."
    when = "Many rows, and not too many clusters in total."
    citation = "Huang, Wang, Peng, Lai, Kwoh 2018"
    cost = "m M^2 + n_c^3; memory n_c^2 + m M"
    exact = "groups of clusters and votes of all rows"
    exceptions: ClassVar[Mapping[str, str]] = {
        "components": "the cut links every cluster to itself a little, so weakly linked parts may stay together",
        "member without weight": "walks go through the clusters of all members",
    }

    n_steps: int = 20

    def _check(self) -> None:
        check_integer("n_steps", self.n_steps, low=1)

    def _solve(self, ens: Ensemble, influence: Floats) -> PropagatedCuts:
        return PropagatedCuts(ens, influence, propagated_similarity(ens, self.n_steps))
