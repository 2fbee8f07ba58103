"""The default: several methods of different kinds, of which the members choose one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

import numpy as np

from quorate._runtime.memory_forecast import EnsembleSize
from quorate._runtime.recent_cache import RecentCache
from quorate._utils.array_types import Floats, Labels
from quorate._utils.numbering import number_by_size
from quorate.algorithms.base import ConsensusMethod
from quorate.algorithms.lwgp import LWGP
from quorate.algorithms.mixture import MixtureCuts, MixtureModel
from quorate.certainty import certainty
from quorate.ensemble import Clusterings, Ensemble
from quorate.errors import QuorateWarning
from quorate.member_families import families
from quorate.numerics.mutual_information import Normalize, agreement_with
from quorate.numerics.transfer_cut import TransferCut
from quorate.reliability import cluster_certainty
from quorate.row_similarity import shared_rows

_LEAST_WEIGHT = 1e-12
_THETA = 0.8  # of LWGP; docs/trust.md says how it was chosen
NEAR_TIE = 0.001  # a difference of agreement that does not decide
_MAX_ROUNDS = 5  # of moves after the choice
_WORTH_MOVING = 0.003  # the gain of mean agreement by which moves are kept
# Enough for a comparison with the graph cut; the mixture model is to take about as long as that.
_MIXTURE_ROUNDS, _MAX_LINKED = 50, 10_000
_MOST_MEMBERSHIPS = 1 << 22  # patterns times clusters up to which the mixture model is solved
_CACHED_CHOICES = 2


@dataclass(frozen=True)
class CandidateAnswer:
    """The answer of one method of the portfolio."""

    method: str
    agreement: float
    """Root mean square of its chance-corrected agreement (AMI) with the members; families count little."""
    n_clusters: int
    chosen: bool
    """Whether the consensus comes from it."""
    labels: Labels = field(repr=False)
    """(m,) its label of each pattern, before rows were moved."""


@dataclass(frozen=True)
class Chosen:
    """The consensus for one number of clusters and the candidates that it was chosen from."""

    labels: Labels
    """(m,) consensus label of each pattern."""
    candidates: tuple[CandidateAnswer, ...]
    """In the order in which they were solved; one of them is `chosen`."""

    @property
    def method(self) -> str | None:
        """The method whose answer was chosen; None if there is nothing to choose from."""
        return next((candidate.method for candidate in self.candidates if candidate.chosen), None)


@dataclass(frozen=True)
class PortfolioCuts:
    """Answers of a graph cut and a mixture model, of which the better is chosen at every k."""

    ensemble: Ensemble
    graph: TransferCut
    partition: MixtureCuts
    """The mixture model, with the tree (LWEA) from which it starts."""
    counts: Floats
    """(M,) how much the agreement with each member counts."""
    normalize: Normalize
    _last: RecentCache = field(default_factory=lambda: RecentCache(_CACHED_CHOICES), init=False, repr=False)

    @property
    def max_clusters(self) -> int:
        """The largest number of clusters a cut can give."""
        return self.partition.max_clusters

    def cut(self, k: int) -> Labels:
        """Return the consensus label of each pattern for k clusters, numbered by decreasing size."""
        return self.chosen(k).labels

    def chosen(self, k: int) -> Chosen:
        """Return the consensus for k clusters, or as many as possible, and its candidates."""
        k = min(k, self.max_clusters)
        return self._last.get(k, lambda: self._choose(k))

    def solve(self, k: int) -> dict[str, Labels]:
        """Return the labels of the candidates for k clusters, by method."""
        # The graph has at most as many clusters as all members together.
        solved = {"lwgp": self.graph.cut(k)} if k <= self.graph.max_clusters else {}
        if len(self.partition.covered) * k <= _MOST_MEMBERSHIPS:
            solved["mixture"] = self.partition.cut(k)
        # A class of the mixture model may win no row; the tree from which it starts always has k clusters.
        if "mixture" not in solved or all(labels.max() + 1 < k for labels in solved.values()):
            solved["lwea"] = self._labels(self.partition.lwea_groups(k))
        return solved

    def agreement(self, labels: Labels) -> float:
        """Return the root mean square of the agreement (AMI) of some labels with the members, by their counts.

        Squares favor a partition that several members found over one that agrees a little with every member.
        """
        return float(np.sqrt(self._mean(np.maximum(self._with_members(labels), 0.0) ** 2)))

    def _with_members(self, labels: Labels) -> Floats:
        """(M,) the agreement (AMI) of some labels with each member."""
        shared = shared_rows(self.ensemble, labels, int(labels.max(initial=-1)) + 1)
        return agreement_with(self.ensemble, shared, self.normalize)

    def _mean(self, of_members: Floats) -> float:
        return float(of_members @ self.counts / self.counts.sum())

    def caution(self, k: int) -> QuorateWarning | None:
        """Return the warning of the graph cut into k clusters, if that was chosen."""
        return self.graph.caution(k) if self.chosen(k).method == "lwgp" else None

    def criterion(self) -> tuple[str, dict[int, float]]:
        """Return the gap behind each of the leading eigenvalues of the graph, by the number of clusters."""
        return self.graph.criterion()

    def _labels(self, groups: Labels) -> Labels:
        labels = np.full(self.ensemble.n_patterns, -1, dtype=np.int64)
        labels[self.partition.covered] = groups
        return number_by_size(labels, self.ensemble.counts)

    def _choose(self, k: int) -> Chosen:
        """Solve all candidates; take the first one whose agreement is nearly the largest, and move outvoted rows.

        Candidates with fewer than k clusters are only taken if all have fewer.
        """
        if k == 0:
            nothing = np.full(self.ensemble.n_patterns, -1, dtype=np.int64)
            return Chosen(nothing, ())
        solved = self.solve(k)
        sizes = {method: int(labels.max()) + 1 for method, labels in solved.items()}
        agreement = {method: self.agreement(labels) for method, labels in solved.items()}
        # Candidates with fewer clusters would often agree better, but were not requested.
        eligible = [method for method in solved if sizes[method] == max(sizes.values())]
        best = max(agreement[method] for method in eligible)
        # The first of nearly equal candidates, so that rounding does not switch methods.
        chosen = next(method for method in eligible if agreement[method] >= best - NEAR_TIE)
        candidates = tuple(
            CandidateAnswer(method, agreement[method], sizes[method], method == chosen, labels)
            for method, labels in solved.items()
        )
        return Chosen(self._move_outvoted(solved[chosen]), candidates)

    def _move_outvoted(self, labels: Labels) -> Labels:
        """Move rows for which another cluster has more votes, if that raises the mean agreement (AMI) enough.

        The mean, not its square: moves are to take rows of a copied member to where most of the members put them.
        """
        unmoved, before = labels, self._mean(self._with_members(labels))
        agreement = before
        for _ in range(_MAX_ROUNDS):
            certain = certainty(self.ensemble, self.counts / self.counts.sum(), labels)
            moved = np.where(certain.margin < -1e-9, certain.runner_up, labels)
            # Moves must not empty a cluster.
            if np.array_equal(moved, labels) or len(np.unique(moved)) < len(np.unique(labels)):
                break
            raised = self._mean(self._with_members(moved))
            if raised <= agreement + 1e-9:
                break
            labels, agreement = moved, raised
        return number_by_size(labels if agreement > before + _WORTH_MOVING else unmoved, self.ensemble.counts)


class FamilyLWGP(LWGP, abstract=True):
    """LWGP in which many copies of a member do not make its clusters certain: families count as in `families`."""

    def _certainty(self, ens: Clusterings, influence: Floats) -> Floats:
        return cluster_certainty(ens, self.theta, families(ens, self.groups).counts * (influence > 0))


class Portfolio(ConsensusMethod):
    """The default of `consensus`: several methods of different kinds, of which the members choose one.

    A graph cut (LWGP) with members weighted by `trust` and a mixture model with equal members are solved on the same
    ensemble. The answer that agrees better with the members is taken, by the root mean square of the adjusted mutual
    information. Members count equally, but families of copies or of runs of one clusterer little (`families`),
    and members that agree with no other not at all. Then rows for which another cluster has more votes are moved, if
    that raises the agreement. Graph cuts prefer clusters of similar size and fail on rare groups, mixture models do
    not. Mixture models fail on copies and random members, graph cuts with weights by trust do not.
    Soft members (`SoftEnsemble`) enter both; their agreement with the answers is that of the most likely clusters.

    Parameters
    ----------
    groups : sequence, mapping or str, optional
        Known families of members, as in `families`. Default: detected from the labels.

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> found = qt.Portfolio(n_clusters=2).fit(members)
    >>> found.labels_
    array([0, 0, 0, 0, 1, 1])
    >>> [candidate.method for candidate in found.candidates_]
    ['lwgp', 'mixture']
    """

    name = "auto"
    idea = "Solve a graph cut and a mixture model, and take the answer that agrees better with the members."
    equation = "max over candidates P of mean AMI(P, P_l)^2, families counting little"
    strength = "Holds on rare groups, near-copies and random members, where single methods fail."
    weakness = "Takes up to three times as long as one graph cut."
    when = "Always, unless a particular method is required; it is the default."
    citation = "Quorate; candidates by Huang, Wang, Lai 2018 and Topchy, Jain, Punch 2004"
    cost = "that of LWGP, of LWEA on at most 10,000 patterns, and m M k per round; memory m M + m k"
    exact = "graph, embedding and agreement of all rows; the tree of the heaviest 10,000 patterns"
    exceptions: ClassVar[Mapping[str, str]] = {
        "member without weight": "members that agree with no other have weight 0, but count in the mixture model",
    }

    takes_soft: ClassVar[bool] = True

    weights: Any = "trust"
    groups: Any = None

    def in_blocks(self) -> LWGP:
        """Return the graph cut alone: trees and mixtures keep all patterns in memory."""
        method = FamilyLWGP if self._counts_families else LWGP
        graph = method(self.n_clusters, theta=_THETA, weights=self.weights, beta=self.beta, normalize=self.normalize)
        graph.groups = self.groups
        return graph

    def why_all_patterns(self) -> None:
        """Return None: where patterns are read in blocks, the graph cut runs alone."""

    def _memory(self, size: EnsembleSize, k: int) -> float:
        return self.in_blocks()._memory(size, k)

    def _solve(self, ens: Ensemble, influence: Floats) -> PortfolioCuts:
        # The weights are known, and the graph may be cut into fewer clusters than the mixture model.
        # Weights by trust may be smaller than weights that are given may be.
        weights = np.where(influence > 0, np.maximum(influence, _LEAST_WEIGHT), 0.0)
        graph = cast(TransferCut, self.in_blocks().set_params(n_clusters="auto", weights=weights).solve(ens).cuts)
        mixture = MixtureModel(weights="equal" if isinstance(self.weights, str) else influence).solve(ens).cuts
        partition = replace(cast(MixtureCuts, mixture), max_linked=_MAX_LINKED, max_rounds=_MIXTURE_ROUNDS)
        return PortfolioCuts(ens, graph, partition, self._counts(ens, influence), self.normalize)

    def _counts(self, ens: Clusterings, influence: Floats) -> Floats:
        """(M,) how much each member counts in the choice: equally but for families, or by weights that are given."""
        return families(ens, self.groups).counts * (influence > 0) if self._counts_families else influence

    @property
    def _counts_families(self) -> bool:
        return isinstance(self.weights, str) and self.weights != "equal"

    @property
    def candidates_(self) -> tuple[CandidateAnswer, ...]:
        """The answers that were compared, with their agreement with the members."""
        return cast(PortfolioCuts, self.solution_.cuts).chosen(self.answer_.requested).candidates
