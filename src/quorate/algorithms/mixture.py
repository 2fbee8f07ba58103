"""The mixture model of labels (Topchy, Jain, Punch 2004): latent classes that explain what the members say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from quorate import _kernels
from quorate._runtime import threads
from quorate._utils.array_types import Floats, Ints
from quorate.algorithms.partition import ImprovedCuts, ImprovingMethod, Partition, SoftMethod, first_largest
from quorate.ensemble import Ensemble
from quorate.reliability import Normalize, ratio

_FLOOR = 1e-12
_MAX_ROUNDS = 200
_PATTERNS_PER_TASK = 1 << 13
_TOLERANCE = 1e-8
_CERTAIN = 0.9  # how much of a row belongs to the group it starts in; the rest to all alike


class Posterior(NamedTuple):
    """How far each pattern belongs to each class, and the logarithm of the likelihood of all rows."""

    memberships: Floats
    log_likelihood: float


@dataclass(frozen=True)
class MixtureCuts(ImprovedCuts):
    """P(u) = sum_g pi_g prod_l theta_g(c_l(u)), fitted by expectation and maximization anew for every k."""

    def maximize(self, memberships: Floats) -> tuple[Floats, Floats]:
        """Return the logarithms of the shares pi (k,) and of the label probabilities theta (n_clusters, k)."""
        of_class, of_cluster = self._rows_of_classes(memberships)
        shares = of_class / self.counts.sum()
        member = self.ensemble.cluster_member
        of_member = np.zeros((self.ensemble.n_members, memberships.shape[1]))
        np.add.at(of_member, member, of_cluster)
        theta = of_cluster * ratio(1.0, of_member)[member]
        return np.log(np.maximum(shares, _FLOOR)), np.log(np.maximum(theta, _FLOOR))

    def _rows_of_classes(self, memberships: Floats) -> tuple[Floats, Floats]:
        """Return how many rows are in each class (k,), and in each class and cluster (n_clusters, k)."""
        n_clusters, k = self.ensemble.n_clusters, memberships.shape[1]
        tasks = threads.blocks(len(memberships), max(_PATTERNS_PER_TASK, n_clusters))
        of_class, of_cluster = np.zeros((len(tasks), k)), np.zeros((len(tasks), n_clusters, k))
        table = self.members_of.indptr, self.members_of.indices, self.counts, memberships

        def add(task: int) -> None:
            some = tasks[task]
            _kernels.latent_classes.add_memberships(*table, some.start, some.stop, of_class[task], of_cluster[task])

        threads.in_threads(add, range(len(tasks)))
        return of_class.sum(axis=0), of_cluster.sum(axis=0)

    def expect(self, shares: Floats, theta: Floats) -> Posterior:
        """Return the posterior of every pattern; a missing label says nothing, a member's weight is an exponent."""
        weighted = theta * self.share_of_cluster[:, None]
        clusters = self.members_of.indptr, self.members_of.indices
        joint, (largest, total) = np.empty((len(self.covered), len(shares))), np.empty((2, len(self.covered)))

        def of_patterns(some: slice) -> None:
            _kernels.latent_classes.joint_logarithms(*clusters, weighted, shares, some.start, some.stop, joint, largest)
            np.exp(joint[some], out=joint[some])
            _kernels.latent_classes.normalize(some.start, some.stop, joint, total)

        threads.in_threads(of_patterns, threads.blocks(len(joint), _PATTERNS_PER_TASK))
        return Posterior(joint, float(self.counts @ (largest + np.log(total))))

    def improve(self, groups: Ints, k: int) -> Partition:
        """Return the classes that start as some groups, after at most 200 rounds."""
        memberships = np.full((len(groups), k), (1.0 - _CERTAIN) / k)
        memberships[np.arange(len(groups)), groups] += _CERTAIN
        return self.fit(memberships)

    def fit(self, memberships: Floats) -> Partition:
        """Return the classes that start with some memberships; the value is minus the log-likelihood."""
        found = self.expect(*self.maximize(memberships))
        for _ in range(_MAX_ROUNDS - 1):
            before = found.log_likelihood
            found = self.expect(*self.maximize(found.memberships))
            if abs(found.log_likelihood - before) <= _TOLERANCE * abs(before):
                break
        return Partition(first_largest(found.memberships), -found.log_likelihood, found.memberships)


class MixtureModel(ImprovingMethod, SoftMethod):
    """The mixture model: classes of rows, in each of which every member has its own probabilities of labels.

    It is latent class analysis of the table of labels: within a class the members are independent. Rows get posterior
    probabilities of the classes, and the likelihood a number, BIC, by which numbers of clusters can be compared (it
    asks for too many, since members are not independent).

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of classes.
    init : {"lwea", "random"}, default "lwea"
        Where the iterations start: at the average-link cut of LWEA, far better than at random rows, the best of
        `n_init` (the original).
    n_init : int, default 10
        Number of random starts, for "random".
    random_state : int, Generator or None
        Seed, for "random".
    weights : {"equal", "ncai", "trust"} or (M,) array, default "equal"
        Exponents of the members' probabilities: all equal (the original), by crowd agreement, by `trust`, or given.
    beta : float, default 2.0
        How strongly agreement with the crowd counts in the weight of a member, for weights "ncai" and "trust".
    normalize : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        How mutual information is normalized, as in `agreement`.

    Attributes
    ----------
    labels_ : (n,) array
        Consensus label of each row; 0 is the largest cluster.
    n_clusters_ : int
    memberships_ : (n, k) array
        Posterior probability of each cluster for each row; classes that win no row come last.
    log_likelihood_, bic_ : float
        Logarithm of the likelihood of all rows, and the Bayesian information criterion (less is better).
    confidence_, margin_, runner_up_, clusters_, ncai_, member_weights_, ensemble_, pattern_labels_, pattern_confidence_
        As in `WEAC`.

    References
    ----------
    A. Topchy, A. K. Jain, W. Punch: A Mixture Model for Clustering Ensembles. SIAM International Conference on Data
    Mining (2004).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> found = qt.MixtureModel(n_clusters=2).fit(members)
    >>> found.labels_
    array([0, 0, 0, 0, 1, 1])
    >>> found.memberships_[0].round(2)
    array([1., 0.])
    """

    name: ClassVar[str] = "mixture"
    idea: ClassVar[str] = "Classes of rows, in each of which every member has its own probabilities of labels."
    equation: ClassVar[str] = (
        "P(u) = sum over g of pi_g prod over l of theta_g(c_l(u)), by expectation and maximization"
    )
    strength: ClassVar[str] = "Among the best from its start at LWEA; posterior probabilities and a likelihood."
    weakness: ClassVar[str] = "Takes members to be independent, which they are not; a poor start stays poor."
    when: ClassVar[str] = "Probabilities are wanted, or many labels are missing."
    citation: ClassVar[str] = "Topchy, Jain, Punch 2004"
    cost: ClassVar[str] = "that of LWEA, average link, + m M k per round; memory m M + m k"
    exact: ClassVar[str] = "likelihood and posteriors of all rows"
    exceptions: ClassVar[Mapping[str, str]] = {
        "exactly k": "labels follow the posteriors, and a class may win no row",
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        init: str = "lwea",
        n_init: int = 10,
        random_state: Any = None,
        weights: Any = "equal",
        beta: float = 2.0,
        normalize: Normalize = "sqrt",
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.random_state = random_state
        self.weights = weights
        self.beta = beta
        self.normalize = normalize

    def _solve(self, ens: Ensemble, influence: Floats) -> MixtureCuts:
        return MixtureCuts(ens, influence, self.init, self.n_init, self.random_state)

    @property
    def log_likelihood_(self) -> float:
        """Logarithm of the likelihood of all rows."""
        return -self._partition.value

    @property
    def bic_(self) -> float:
        """-2 ln L + (number of free parameters) ln n; less is better."""
        ens = self.ensemble_
        labels = sum(len(levels) - 1 for levels, weight in zip(ens.levels, self.member_weights_, strict=True) if weight)
        k = min(self.answer_.requested, self.solution_.cuts.max_clusters)
        n_parameters = k - 1 + k * labels
        return -2 * self.log_likelihood_ + n_parameters * float(np.log(ens.total_weight))
