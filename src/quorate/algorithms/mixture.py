"""The mixture model of labels (Topchy, Jain, Punch 2004): latent classes that explain the labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from quorate import _kernels
from quorate._runtime import threads
from quorate._utils.array_types import Floats, Ints
from quorate.algorithms.partition import ImprovedCuts, ImprovingMethod, Partition, SoftMethod, first_largest
from quorate.ensemble import Ensemble
from quorate.numerics.mutual_information import ratio
from quorate.soft_ensemble import SoftEnsemble

_FLOOR = 1e-12
_MAX_ROUNDS = 200
_PATTERNS_PER_TASK = 1 << 13
_TOLERANCE = 1e-8
_CERTAIN = 0.9  # initial membership of a row in its group; the rest is shared by all groups


class Posterior(NamedTuple):
    """Memberships of the patterns in the classes, and the log-likelihood of all rows."""

    memberships: Floats
    log_likelihood: float


@dataclass(frozen=True)
class MixtureCuts(ImprovedCuts):
    """P(u) = sum_g pi_g prod_l theta_g(c_l(u)), fitted by EM separately for every k."""

    max_rounds: int = _MAX_ROUNDS

    @cached_property
    def members_of(self) -> sp.csr_array:
        """(p, n_clusters) memberships of each covered pattern; 1 in its clusters unless members are soft."""
        ens = self.ensemble
        return sp.csr_array(ens.memberships[self.covered]) if isinstance(ens, SoftEnsemble) else super().members_of

    @cached_property
    def _labeled(self) -> tuple[ImprovedCuts, Ints] | None:
        """The cuts of the most likely clusters of soft members, and the position of each covered pattern among them."""
        if not isinstance(self.ensemble, SoftEnsemble):
            return None
        # Where soft rows differ their labels often do not: the tree of labels has far fewer leaves.
        ens, pattern = self.ensemble.most_likely
        cuts = ImprovedCuts(ens, self.influence, max_linked=self.max_linked)
        return cuts, np.searchsorted(cuts.covered, pattern[self.covered])

    @property
    def max_clusters(self) -> int:
        """The largest number of clusters a cut can give: the number of distinct rows of labels."""
        return len(self.covered) if self._labeled is None else self._labeled[0].max_clusters

    def lwea_groups(self, k: int) -> Ints:
        """(p,) the tree of labels cut into k groups; for soft members, labels are their most likely clusters."""
        if self._labeled is None:
            return super().lwea_groups(k)
        cuts, position = self._labeled
        return cuts.lwea_groups(k)[position]

    @property
    def _entries(self) -> tuple[Ints, Ints, Floats]:
        return self.members_of.indptr, self.members_of.indices, self.members_of.data

    def maximize(self, memberships: Floats) -> tuple[Floats, Floats]:
        """Return the logarithms of the shares pi (k,) and of the label probabilities theta (n_clusters, k)."""
        of_class, of_cluster = self._rows_of_classes(memberships)
        shares = of_class / self.counts.sum()
        member = self.ensemble.cluster_member
        of_member = np.zeros((self.ensemble.n_members, memberships.shape[1]))
        np.add.at(of_member, member, of_cluster)
        # Probabilities of the labels of each member sum to 1 in each class.
        theta = of_cluster * ratio(1.0, of_member)[member]
        return np.log(np.maximum(shares, _FLOOR)), np.log(np.maximum(theta, _FLOOR))

    def _rows_of_classes(self, memberships: Floats) -> tuple[Floats, Floats]:
        """Return how many rows are in each class (k,), and in each class and cluster (n_clusters, k)."""
        n_clusters, k = self.ensemble.n_clusters, memberships.shape[1]
        # Each task sums into its own table, so that the sum does not depend on the number of threads.
        tasks = threads.blocks(len(memberships), max(_PATTERNS_PER_TASK, n_clusters))
        of_class, of_cluster = np.zeros((len(tasks), k)), np.zeros((len(tasks), n_clusters, k))
        table = *self._entries, self.counts, memberships

        def add(task: int) -> None:
            part = tasks[task]
            _kernels.latent_classes.add_memberships(*table, part.start, part.stop, of_class[task], of_cluster[task])

        threads.in_threads(add, range(len(tasks)))
        return of_class.sum(axis=0), of_cluster.sum(axis=0)

    def expect(self, shares: Floats, theta: Floats) -> Posterior:
        """Return the posterior of every pattern; missing labels have no factor, and weights are exponents.

        So are memberships: a soft label contributes the expectation of its logarithm.
        """
        weighted = theta * self.share_of_cluster[:, None]
        joint, (largest, total) = np.empty((len(self.covered), len(shares))), np.empty((2, len(self.covered)))

        def of_patterns(part: slice) -> None:
            _kernels.latent_classes.joint_logarithms(
                *self._entries, weighted, shares, part.start, part.stop, joint, largest
            )
            # Logarithms were shifted by their largest value per row, so that exp cannot overflow.
            np.exp(joint[part], out=joint[part])
            _kernels.latent_classes.normalize(part.start, part.stop, joint, total)

        threads.in_threads(of_patterns, threads.blocks(len(joint), _PATTERNS_PER_TASK))
        return Posterior(joint, float(self.counts @ (largest + np.log(total))))

    def improve(self, groups: Ints, k: int) -> Partition:
        """Return the classes after at most `max_rounds` rounds from initial groups."""
        memberships = np.full((len(groups), k), (1.0 - _CERTAIN) / k)
        memberships[np.arange(len(groups)), groups] += _CERTAIN
        return self.fit(memberships)

    def fit(self, memberships: Floats) -> Partition:
        """Return the classes fitted from initial memberships; the value is minus the log-likelihood."""
        posterior = self.expect(*self.maximize(memberships))
        for _ in range(self.max_rounds - 1):
            before = posterior.log_likelihood
            posterior = self.expect(*self.maximize(posterior.memberships))
            if abs(posterior.log_likelihood - before) <= _TOLERANCE * abs(before):
                break
        return Partition(first_largest(posterior.memberships), -posterior.log_likelihood, posterior.memberships)


class MixtureModel(ImprovingMethod, SoftMethod):
    """The mixture model: classes of rows, in each of which every member has its own probabilities of labels.

    This is latent class analysis of the table of labels: within a class the members are independent. Rows get posterior
    probabilities of the classes. BIC compares numbers of clusters; it prefers too many, because members are not
    independent.

    Parameters
    ----------
    weights : {"ncai", "trust", "equal"} or (M,) array, default "equal"
        Exponents of the members' probabilities: all equal (the original), by crowd agreement, by `trust`, or given.

    References
    ----------
    A. Topchy, A. K. Jain, W. Punch: A Mixture Model for Clustering Ensembles. SIAM International Conference on Data
    Mining (2004).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> fitted = qt.MixtureModel(n_clusters=2).fit(members)
    >>> fitted.labels_
    array([0, 0, 0, 0, 1, 1])
    >>> fitted.memberships_[0].round(2)
    array([1., 0.])
    """

    name = "mixture"
    idea = "Classes of rows, in each of which every member has its own probabilities of labels."
    equation = "P(u) = sum over g of pi_g prod over l of theta_g(c_l(u)), by EM"
    strength = "Among the best methods when started from LWEA; posterior probabilities and a likelihood."
    weakness = "Assumes independent members, which they are not; does not recover from a poor start."
    when = "You want probabilities, or many labels are missing."
    citation = "Topchy, Jain, Punch 2004"
    cost = "that of LWEA, average link, + m M k per round; memory m M + m k"
    exact = "likelihood and posteriors of all rows"
    exceptions: ClassVar[Mapping[str, str]] = {
        "exactly k": "labels follow the posteriors, and a class may win no row",
        "member without weight": "weights are exponents with mean 1 over all members, also over those of weight 0",
    }

    takes_soft: ClassVar[bool] = True

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
