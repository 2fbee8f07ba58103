"""The best member: the clustering of the ensemble that is nearest to all others (best of k, a baseline)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, cast

import numpy as np

from quorate._utils.array_types import Floats, Labels
from quorate._utils.numbering import number_by_size
from quorate.algorithms.base import ConsensusMethod, Cuts
from quorate.analysis.choose_k import Choice
from quorate.ensemble import Clusterings, Ensemble
from quorate.errors import QuorateWarning, Setting
from quorate.row_similarity import nearest_group


def mirkin_distances(ens: Ensemble) -> Floats:
    """(M, M) Mirkin distance of every two members: the ordered pairs of rows that one groups and the other separates.

    It is sum s_a^2 + sum s_b^2 - 2 ||C_ab||^2 over the rows that both label. Pairs of rows that are not labeled by
    both count too, so that a member does not gain from missing labels.
    """
    shared = ens.cooccurrence
    member = ens.cluster_member
    joined, together = np.zeros((2, ens.n_members, ens.n_members))
    # Pairs of rows that each member groups, among the rows that the other one labels.
    np.add.at(joined, member, ens.coverage**2)
    # Sum of squared overlaps per pair of members, from the sparse co-occurrence of clusters.
    rows = np.repeat(member, np.diff(shared.indptr))
    np.add.at(together, (rows, member[shared.indices]), shared.data.astype(np.float64) ** 2)
    # Rows that both label, added up over the clusters of one of them.
    common = np.zeros_like(joined)
    np.add.at(common, member, ens.coverage)
    # Pairs of rows that are not labeled by both members count as separated by both.
    return joined + joined.T - 2 * together + ens.total_weight**2 - common**2


@dataclass(frozen=True)
class MemberCuts:
    """The member of least distance to all, whatever number of clusters is requested."""

    ensemble: Ensemble
    influence: Floats

    @cached_property
    def distances(self) -> Floats:
        """(M,) sum of each member's Mirkin distances to all members, by their weight, which is 1 on average."""
        weights = self.influence / self.influence.sum() * self.ensemble.n_members
        return mirkin_distances(self.ensemble) @ weights

    @cached_property
    def member(self) -> int:
        """The member of least distance, the first of equals; members of influence 0 are ignored."""
        # Rounding makes ties independent of the order of summation.
        relative = np.round(self.distances / self.ensemble.total_weight**2, 12)
        return int(np.argmin(np.where(self.influence > 0, relative, np.inf)))

    @property
    def max_clusters(self) -> int:
        """The number of clusters of that member."""
        return len(self.ensemble.levels[self.member])

    def cut(self, k: int) -> Labels:
        """Return the label of each pattern by that member; where it has none, that of highest mean co-association."""
        ens = self.ensemble
        labels = number_by_size(ens.patterns[:, self.member], ens.counts)
        missing = labels < 0
        if missing.any() and not missing.all():
            labels[missing] = nearest_group(ens, self.influence / self.influence.sum(), labels, ens.patterns[missing])
        return number_by_size(labels, ens.counts)

    def criterion(self) -> None:
        """Return None: the member has its own number of clusters."""

    def caution(self, k: int) -> QuorateWarning | None:
        """Return a warning if the member has another number of clusters than k."""
        if k == self.max_clusters:
            return None
        return QuorateWarning(
            f"The best member, {self.ensemble.names[self.member]}, has {self.max_clusters} clusters instead of {k}, "
            "and is returned as it is.",
            code="number-of-clusters-ignored",
            hint=("Use ", Setting("n_clusters", "auto"), ", or another method."),
        )


class BestMember(ConsensusMethod):
    """The best member: the one member that is nearest to all others. A baseline without combination.

    The distance of two members is Mirkin's: the number of pairs of rows that one groups and the other separates.

    Parameters
    ----------
    n_clusters : int or "auto", default "auto"
        The member keeps its own number of clusters: any other number gives a warning, and the same answer.

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> fitted = qt.BestMember().fit(members)
    >>> fitted.best_member_, fitted.distances_.tolist()
    ('member_1', [20.0, 18.0, 18.0])
    """

    name = "best-member"
    idea = "No combination: the member that is nearest to all others."
    equation = "min over members a of sum over b of Mirkin(a, b)"
    strength = "A lower bound: a consensus should be better than this."
    weakness = "Only as good as one member, with the number of clusters that it has."
    when = "A baseline for every comparison."
    citation = "Mirkin distance; best of k"
    cost = "m M^2; memory m M"
    exact = "distances over all rows"
    finds_k = True
    exceptions: ClassVar[Mapping[str, str]] = {
        "clear answers": "several members may be equally near to the others; the first one is returned",
        "components": "the answer is a member, with the number of clusters it has",
        "exactly k": "the answer is a member, with the number of clusters it has",
    }

    def _solve(self, ens: Ensemble, influence: Floats) -> MemberCuts:
        return MemberCuts(ens, influence)

    @classmethod
    def _choose(cls, ens: Clusterings, cuts: Cuts) -> Choice:
        best = cast(MemberCuts, cuts)
        k = best.max_clusters
        return Choice(k, (), (), f"The best member, {ens.names[best.member]}, has {k} clusters.")

    @property
    def best_member_(self) -> str:
        """Name of the member."""
        return self.ensemble_.names[cast(MemberCuts, self.solution_.cuts).member]

    @property
    def distances_(self) -> Floats:
        """(M,) sum of each member's Mirkin distances to all members, by their weight, which is 1 on average."""
        return cast(MemberCuts, self.solution_.cuts).distances
