"""Weighted consensus clustering (Li and Ding 2008): factorize the co-association while learning its weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate._runtime import threads
from quorate._runtime.memory import USE_LINKAGE, require_memory
from quorate._runtime.recent_cache import RecentCache
from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_integer, check_number
from quorate._utils.numbering import number_by_size
from quorate.algorithms.base import ConsensusMethod, Cuts
from quorate.ensemble import Ensemble, member_indicator
from quorate.errors import QuorateWarning
from quorate.graphs import bipartite_graph, bipartite_links
from quorate.numerics.transfer_cut import TransferCut
from quorate.row_similarity import covering_weight

_TINY = 1e-12
_CONVERGED = 1e-7  # relative change of the factors at which the updates stop


@dataclass(frozen=True)
class Factorization:
    """The weighted co-association M(w) = sum_l w_l M_l, factorized as Q S Q' with Q, S >= 0, over patterns."""

    rows: Floats
    """(m, k) Q."""
    links: Floats
    """(k, k) S."""
    weights: Floats
    """(M,) w, in the simplex."""
    objective: float
    """|| M(w) - Q S Q' ||^2 over all rows."""


def strongest_columns(rows: Floats, links: Floats) -> Ints:
    """(m,) argmax_j Q_ij sqrt(S_jj); a column that wins no pattern gets the one where it is closest to winning."""
    score = rows * np.sqrt(np.diag(links))
    # Scaled per row and rounded: ties do not depend on rounding errors.
    score = np.round(score / (score.max(axis=1, initial=0.0, keepdims=True) + _TINY), 10)
    labels = np.argmax(score, axis=1)
    sizes = np.bincount(labels, minlength=score.shape[1])
    for empty in np.flatnonzero(sizes == 0):
        # A group with one pattern must not lose it.
        near = np.where(sizes[labels] > 1, score[:, empty], -1.0)
        chosen = int(np.argmax(near))
        if near[chosen] < 0:
            break  # there are fewer patterns than columns
        sizes[labels[chosen]] -= 1
        sizes[empty] += 1
        labels[chosen] = empty
    return labels


@dataclass(frozen=True)
class Connectivity:
    """The connectivity matrices M_l of the members, in terms of patterns; no n x n matrix is formed."""

    ensemble: Ensemble

    @cached_property
    def counts(self) -> Floats:
        """(m, 1) number of rows (or their weight) of each pattern."""
        return self.ensemble.counts.astype(np.float64)[:, None]

    @cached_property
    def _sum(self) -> sp.csr_array:
        return sp.csr_array(self.ensemble.incidence.T)

    def sums(self, columns: Floats) -> Floats:
        """(n_clusters, j) H' X: sums over the rows of each cluster."""
        return np.asarray(self._sum @ (self.counts * columns))

    def multiply(self, weights: Floats, columns: Floats) -> Floats:
        """(m, j) M(w) X = H diag(w) H' X."""
        # A member's weight counts for each of its clusters.
        of_cluster = weights[self.ensemble.cluster_member][:, None]
        return np.asarray(self.ensemble.incidence @ (of_cluster * self.sums(columns)))

    @cached_property
    def gram(self) -> Floats:
        """(M, M) tr(M_i M_j): the squared Frobenius norm of the members' contingency table."""
        ens = self.ensemble
        # Squared overlaps, summed by pairs of members.
        of_member = member_indicator(ens)
        return np.asarray((of_member @ ens.cooccurrence.astype(np.float64).power(2) @ of_member.T).toarray())

    def fit_to(self, rows: Floats, links: Floats) -> Floats:
        """(M,) b_l = tr(M_l Q S Q') = tr((H_l' Q) S (H_l' Q)')."""
        sums = self.sums(rows)
        of_cluster = np.sum((sums @ links) * sums, axis=1)
        n_members = self.ensemble.n_members
        return np.bincount(self.ensemble.cluster_member, weights=of_cluster, minlength=n_members).astype(np.float64)


def factorize(matrix: Connectivity, weights: Floats, labels: Ints, k: int, n_updates: int) -> Factorization:
    """Minimize || M(w) - Q S Q' ||^2 over Q, S >= 0 with Q'Q near I by multiplicative updates, starting from labels.

    Q <- Q o sqrt(M Q S / (Q Q' M Q S)), S <- S o sqrt(Q' M Q / (Q'Q S Q'Q)).
    """
    counts = matrix.counts
    # Multiplicative updates never leave 0, so the start is the labels plus a constant.
    rows = np.full((len(labels), k), 0.2)
    rows[np.flatnonzero(labels >= 0), labels[labels >= 0]] += 1.0
    rows /= np.sqrt(np.sum(counts * rows**2, axis=0))
    product = matrix.multiply(weights, rows)  # M Q
    links = rows.T @ (counts * product)
    for _ in range(n_updates):
        rows_before, links_before = rows, links
        # M Q S: numerator of the update of Q.
        pulled = product @ links
        rows = rows * np.sqrt(pulled / (rows @ (rows.T @ (counts * pulled)) + _TINY))
        product = matrix.multiply(weights, rows)
        inner = rows.T @ (counts * rows)
        links = links * np.sqrt(rows.T @ (counts * product) / (inner @ links @ inner + _TINY))
        still = np.abs(links - links_before).max() < _CONVERGED * np.abs(links).max()
        if still and np.sum(counts * (rows - rows_before) ** 2) < _CONVERGED**2:
            break
    return Factorization(rows, links, weights, _objective(matrix, weights, rows, links))


def _objective(matrix: Connectivity, weights: Floats, rows: Floats, links: Floats) -> float:
    """Return || M(w) - Q S Q' ||^2 = w'Gw - 2 w'b + tr((Q'Q S)^2)."""
    inner = rows.T @ (matrix.counts * rows) @ links
    fit = weights @ matrix.fit_to(rows, links)
    return float(weights @ matrix.gram @ weights - 2 * fit + np.sum(inner * inner.T))


def simplex_minimum(gram: Floats, linear: Floats) -> Floats:
    """Return the w >= 0 with sum 1 that minimizes w'Gw - 2 b'w, by an active-set method.

    A small multiple of the identity is added to G, because identical members make it singular.
    """
    # Scaling keeps the added identity small relative to G, whatever the number of rows.
    scale = np.abs(np.diag(gram)).max()
    gram = gram / scale + 1e-10 * np.eye(len(gram))
    linear = linear / scale
    w = np.zeros(len(linear))
    # Start at the best single member; other members enter one by one.
    w[np.argmin(np.diag(gram) - 2 * linear)] = 1.0
    free = w > 0
    for _ in range(20 * len(w) + 20):
        target = _on_plane(gram, linear, free)
        # Feasible: check whether another coordinate should become free (its gradient is below the multiplier).
        if target.min() >= -_TINY:
            w = np.maximum(target, 0.0)
            slope = gram @ w - linear
            level = np.min(slope[free])
            entering = int(np.argmin(np.where(free, np.inf, slope)))
            if free.all() or slope[entering] >= level - 1e-12:
                break
            free[entering] = True
        else:
            # Infeasible: go towards the target until the first coordinate reaches 0, and fix it there.
            falling = free & (target < 0)
            step = np.min(w[falling] / (w[falling] - target[falling]))
            w = np.maximum(w + step * (target - w), 0.0)
            free &= w > _TINY
            w = np.where(free, w, 0.0)
    return w / w.sum()


def _on_plane(gram: Floats, linear: Floats, free: NDArray[np.bool_]) -> Floats:
    """Return the minimum over sum 1 in the free coordinates, with 0 elsewhere; it may have negative entries."""
    n_free = int(free.sum())
    system = np.ones((n_free + 1, n_free + 1))
    system[:-1, :-1] = gram[np.ix_(free, free)]
    system[-1, -1] = 0.0
    target = np.zeros(len(linear))
    target[free] = np.linalg.solve(system, np.append(linear[free], 1.0))[:-1]
    return target


@dataclass(frozen=True)
class WeightedConsensus:
    """Weighted consensus clustering, solved separately for every k."""

    ensemble: Ensemble
    start: TransferCut = field(repr=False)
    """The cut of the graph of rows and clusters, whose labels the factorization starts from."""
    weights: Floats
    """(M,) the weights that learning starts from."""
    n_iterations: int
    n_updates: int
    tolerance: float
    ridge: float
    _last: RecentCache = field(default_factory=lambda: RecentCache(1), init=False, repr=False)

    @property
    def max_clusters(self) -> int:
        """The largest number of clusters a cut can give."""
        return self.start.max_clusters

    def solve(self, k: int) -> Factorization:
        """Return the factorization into k columns, with the weights learned; only the last one is kept."""
        k = min(k, self.max_clusters)
        return self._last.get(k, lambda: self._solve(k))

    def _solve(self, k: int) -> Factorization:
        require_memory(
            8.0 * 6 * self.ensemble.n_patterns * k,
            f"The factorization of {self.ensemble.n_patterns:,} patterns into {k} clusters",
            USE_LINKAGE,
        )
        matrix = Connectivity(self.ensemble)
        labels_rows = np.flatnonzero(np.diag(matrix.gram) > 0)  # a member without labels gets no weight
        # The ridge keeps the weights of members similar; members without labels are not in the problem.
        penalized = (matrix.gram + self.ridge * np.eye(self.ensemble.n_members))[np.ix_(labels_rows, labels_rows)]
        labels = self.start.cut(k)
        with threads.linear_algebra(k):
            factors = factorize(matrix, self._first_weights(labels_rows), labels, k, self.n_updates)
            # Learn weights and factors in turn; each factorization starts from the same labels, so that steps are
            # comparable.
            for _ in range(self.n_iterations):
                weights = np.zeros(self.ensemble.n_members)
                weights[labels_rows] = simplex_minimum(
                    penalized, matrix.fit_to(factors.rows, factors.links)[labels_rows]
                )
                change = np.abs(weights - factors.weights).max()
                factors = factorize(matrix, weights, labels, k, self.n_updates)
                if change < self.tolerance:
                    break
        return factors

    def _first_weights(self, labels_rows: Ints) -> Floats:
        """Return the weights to start from, distributed over the members that label any row."""
        share = self.weights[labels_rows]
        if len(labels_rows) == len(self.weights) or share.sum() == 0:
            return self.weights
        weights = np.zeros_like(self.weights)
        weights[labels_rows] = share / share.sum()
        return weights

    def cut(self, k: int) -> Ints:
        """Return the consensus label of each pattern for k clusters, numbered by decreasing size."""
        factors = self.solve(k)
        # The learned weights decide which patterns have labels.
        covered = covering_weight(self.ensemble.patterns, factors.weights) > 0
        groups = np.full(self.ensemble.n_patterns, -1, dtype=np.int64)
        if covered.any():
            groups[covered] = strongest_columns(factors.rows[covered], factors.links)
        return number_by_size(groups, self.ensemble.counts)

    def caution(self, k: int) -> QuorateWarning | None:
        """Return the warning about the labels that the factorization starts from, if there is one."""
        return self.start.caution(k)

    def criterion(self) -> tuple[str, dict[int, float]] | None:
        """Return the index of the graph that the factorization starts from."""
        return self.start.criterion()


class WCC(ConsensusMethod):
    """Weighted consensus clustering: learn weights of members and a factorized consensus together.

    Published: the objective || sum_l w_l M_l - Q S Q' ||^2 over connectivity matrices M_l, weights w in the simplex and
    nonnegative Q, S with Q'Q near I. Reconstructed: multiplicative updates, the start (labels of the cut of the graph
    of rows and clusters), and a quadratic program for the weights. The joint problem is degenerate: all weight on one
    member with at most k clusters gives objective 0. So the default makes few steps, and `ridge` keeps weights similar.

    No n x n matrix is formed: a step takes time proportional to the number of labels times k.

    Parameters
    ----------
    weights : {"ncai", "trust", "equal"} or (M,) array, default "equal"
        Weights that learning starts from: all equal (the original), by crowd agreement, by `trust`, or given.
    n_iterations : int >= 0, default 5
        Number of steps that learn weights; 0 keeps the initial weights.
    n_updates : int >= 1, default 200
        Largest number of updates of a factorization.
    tolerance : float, default 1e-4
        Change of the weights at which learning stops.
    ridge : float, default 0.0
        Penalty on the squared norm of the weights, in pairs of rows.

    References
    ----------
    T. Li, C. Ding: Weighted Consensus Clustering. SIAM International Conference on Data Mining (2008).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.WCC(n_clusters=3).fit_predict(members)
    array([0, 0, 1, 1, 2, 2])
    """

    name = "wcc"
    idea = "Learn the weights of members together with a factorized consensus."
    equation = "min over w, Q, S of |sum w_l M_l - Q S Q'|^2"
    strength = "The optimization learns the weights."
    weakness = "The joint problem is degenerate: one member may get all the weight."
    when = "A baseline for learned weights."
    citation = "Li, Ding 2008"
    cost = "m M k + m k^2 per update, separately for every k; memory m M + m k"
    exact = "objective and factors of all rows"
    exceptions: ClassVar[Mapping[str, str]] = {
        "components": "it starts from the components of the graph, but its updates find a local optimum",
        "member without weight": "it learns weights of its own",
    }
    limited_by_clusters = True

    n_iterations: int = 5
    n_updates: int = 200
    tolerance: float = 1e-4
    ridge: float = 0.0

    def _check(self) -> None:
        check_integer("n_iterations", self.n_iterations, low=0)
        check_integer("n_updates", self.n_updates, low=1)
        check_number("tolerance", self.tolerance, low=0)
        check_number("ridge", self.ridge, low=0)

    def _solve(self, ens: Ensemble, influence: Floats) -> WeightedConsensus:
        equal = np.ones(ens.n_clusters)
        return WeightedConsensus(
            ens,
            TransferCut(ens, bipartite_graph(ens, equal), bipartite_links(ens, equal)),
            influence / influence.sum(),
            self.n_iterations,
            self.n_updates,
            self.tolerance,
            self.ridge,
        )

    @classmethod
    def _learned_weights(cls, cuts: Cuts, k: int) -> Floats:
        return cast(WeightedConsensus, cuts).solve(k).weights

    @property
    def objective_(self) -> float:
        """What the factorization leaves of the weighted co-association of all rows, squared and summed."""
        return cast(WeightedConsensus, self.solution_.cuts).solve(self.answer_.requested).objective
