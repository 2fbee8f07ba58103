"""Weighted consensus clustering (Li and Ding 2008): factorise the co-association while learning its weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, cast

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
from quorate.ensemble import Ensemble
from quorate.errors import QuorateWarning
from quorate.graphs import bipartite_graph, bipartite_links
from quorate.numerics.transfer_cut import TransferCut
from quorate.reliability import Normalize
from quorate.row_similarity import covering_weight

_TINY = 1e-12
_STILL = 1e-7  # factors that move less than this in an update have converged


@dataclass(frozen=True)
class Factorisation:
    """The weighted co-association M(w) = sum_l w_l M_l, factorised as Q S Q' with Q, S >= 0, over patterns."""

    rows: Floats
    """(m, k) Q."""
    links: Floats
    """(k, k) S."""
    weights: Floats
    """(M,) w, in the simplex."""
    objective: float
    """|| M(w) - Q S Q' ||^2 over all rows."""


def strongest_columns(rows: Floats, links: Floats) -> Ints:
    """(m,) argmax_j Q_ij sqrt(S_jj); a column that wins no pattern gets the one where it comes closest to it."""
    score = rows * np.sqrt(np.diag(links))
    score = np.round(score / (score.max(axis=1, initial=0.0, keepdims=True) + _TINY), 10)
    labels = np.argmax(score, axis=1)
    sizes = np.bincount(labels, minlength=score.shape[1])
    for empty in np.flatnonzero(sizes == 0):
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
    """The connectivity matrices M_l of the members, held as the patterns' clusters; nothing of size n x n is formed."""

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
        of_cluster = weights[self.ensemble.cluster_member][:, None]
        return np.asarray(self.ensemble.incidence @ (of_cluster * self.sums(columns)))

    @cached_property
    def gram(self) -> Floats:
        """(M, M) tr(M_i M_j): the squared Frobenius norm of the members' contingency table."""
        ens = self.ensemble
        of_member = sp.csr_array(
            (np.ones(ens.n_clusters), (ens.cluster_member, np.arange(ens.n_clusters))),
            shape=(ens.n_members, ens.n_clusters),
        )
        return np.asarray((of_member @ ens.cooccurrence.astype(np.float64).power(2) @ of_member.T).toarray())

    def fit_to(self, rows: Floats, links: Floats) -> Floats:
        """(M,) b_l = tr(M_l Q S Q') = tr((H_l' Q) S (H_l' Q)')."""
        sums = self.sums(rows)
        of_cluster = np.sum((sums @ links) * sums, axis=1)
        n_members = self.ensemble.n_members
        return np.bincount(self.ensemble.cluster_member, weights=of_cluster, minlength=n_members).astype(np.float64)


def factorise(matrix: Connectivity, weights: Floats, labels: Ints, k: int, n_updates: int) -> Factorisation:
    """Minimize || M(w) - Q S Q' ||^2 over Q, S >= 0 with Q'Q near I by multiplicative updates from given labels.

    Q <- Q o sqrt(M Q S / (Q Q' M Q S)), S <- S o sqrt(Q' M Q / (Q'Q S Q'Q)).
    """
    counts = matrix.counts
    rows = np.full((len(labels), k), 0.2)
    rows[np.flatnonzero(labels >= 0), labels[labels >= 0]] += 1.0
    rows /= np.sqrt(np.sum(counts * rows**2, axis=0))
    product = matrix.multiply(weights, rows)  # M Q
    links = rows.T @ (counts * product)
    for _ in range(n_updates):
        rows_before, links_before = rows, links
        pulled = product @ links
        rows = rows * np.sqrt(pulled / (rows @ (rows.T @ (counts * pulled)) + _TINY))
        product = matrix.multiply(weights, rows)
        inner = rows.T @ (counts * rows)
        links = links * np.sqrt(rows.T @ (counts * product) / (inner @ links @ inner + _TINY))
        still = np.abs(links - links_before).max() < _STILL * np.abs(links).max()
        if still and np.sum(counts * (rows - rows_before) ** 2) < _STILL**2:
            break
    return Factorisation(rows, links, weights, _objective(matrix, weights, rows, links))


def _objective(matrix: Connectivity, weights: Floats, rows: Floats, links: Floats) -> float:
    """Return || M(w) - Q S Q' ||^2 = w'Gw - 2 w'b + tr((Q'Q S)^2)."""
    inner = rows.T @ (matrix.counts * rows) @ links
    fit = weights @ matrix.fit_to(rows, links)
    return float(weights @ matrix.gram @ weights - 2 * fit + np.sum(inner * inner.T))


def simplex_minimum(gram: Floats, linear: Floats) -> Floats:
    """Return the w >= 0 with sum 1 that minimizes w'Gw - 2 b'w, by an active-set method.

    A trace of the identity is added to G, as members that agree in everything make it singular.
    """
    scale = np.abs(np.diag(gram)).max()
    gram = gram / scale + 1e-10 * np.eye(len(gram))
    linear = linear / scale
    w = np.zeros(len(linear))
    w[np.argmin(np.diag(gram) - 2 * linear)] = 1.0
    free = w > 0
    for _ in range(20 * len(w) + 20):
        target = _on_plane(gram, linear, free)
        if target.min() >= -_TINY:
            w = np.maximum(target, 0.0)
            slope = gram @ w - linear
            level = np.min(slope[free])
            entering = int(np.argmin(np.where(free, np.inf, slope)))
            if free.all() or slope[entering] >= level - 1e-12:
                break
            free[entering] = True
        else:
            falling = free & (target < 0)
            step = np.min(w[falling] / (w[falling] - target[falling]))
            w = np.maximum(w + step * (target - w), 0.0)
            free &= w > _TINY
            w = np.where(free, w, 0.0)
    return w / w.sum()


def _on_plane(gram: Floats, linear: Floats, free: NDArray[np.bool_]) -> Floats:
    """Return the minimum over sum 1 in the free coordinates, the others being 0 (the signs are not looked at)."""
    n_free = int(free.sum())
    system = np.ones((n_free + 1, n_free + 1))
    system[:-1, :-1] = gram[np.ix_(free, free)]
    system[-1, -1] = 0.0
    target = np.zeros(len(linear))
    target[free] = np.linalg.solve(system, np.append(linear[free], 1.0))[:-1]
    return target


@dataclass(frozen=True)
class WeightedConsensus:
    """Weighted consensus clustering, solved anew for every k."""

    ensemble: Ensemble
    start: TransferCut = field(repr=False)
    """The cut of the graph of rows and clusters, whose labels the factorisation starts from."""
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

    def solve(self, k: int) -> Factorisation:
        """Return the factorisation into k columns, with the weights learned; only the last one is kept."""
        k = min(k, self.max_clusters)
        return self._last.get(k, lambda: self._solve(k))

    def _solve(self, k: int) -> Factorisation:
        require_memory(
            8.0 * 6 * self.ensemble.n_patterns * k,
            f"The factorisation of {self.ensemble.n_patterns:,} patterns into {k} clusters",
            USE_LINKAGE,
        )
        matrix = Connectivity(self.ensemble)
        speaks = np.flatnonzero(np.diag(matrix.gram) > 0)  # a member that labels nothing has no weight
        penalized = (matrix.gram + self.ridge * np.eye(self.ensemble.n_members))[np.ix_(speaks, speaks)]
        labels = self.start.cut(k)
        with threads.linear_algebra(k):
            found = factorise(matrix, self._first_weights(speaks), labels, k, self.n_updates)
            for _ in range(self.n_iterations):
                weights = np.zeros(self.ensemble.n_members)
                weights[speaks] = simplex_minimum(penalized, matrix.fit_to(found.rows, found.links)[speaks])
                moved = np.abs(weights - found.weights).max()
                found = factorise(matrix, weights, labels, k, self.n_updates)
                if moved < self.tolerance:
                    break
        return found

    def _first_weights(self, speaks: Ints) -> Floats:
        """Return the weights to start from, shared by the members that label anything."""
        share = self.weights[speaks]
        if len(speaks) == len(self.weights) or share.sum() == 0:
            return self.weights
        weights = np.zeros_like(self.weights)
        weights[speaks] = share / share.sum()
        return weights

    def cut(self, k: int) -> Ints:
        """Return the consensus label of each pattern for k clusters, numbered by decreasing size."""
        found = self.solve(k)
        covered = covering_weight(self.ensemble.patterns, found.weights) > 0
        groups = np.full(self.ensemble.n_patterns, -1, dtype=np.int64)
        if covered.any():
            groups[covered] = strongest_columns(found.rows[covered], found.links)
        return number_by_size(groups, self.ensemble.counts)

    def caution(self, k: int) -> QuorateWarning | None:
        """Return the warning about the labels that the factorisation starts from, if there is one."""
        return self.start.caution(k)

    def criterion(self) -> tuple[str, dict[int, float]] | None:
        """Return what shows the number of clusters in the graph from which the factorisation starts."""
        return self.start.criterion()


class WCC(ConsensusMethod):
    """Weighted consensus clustering: learn weights of members and a factorised consensus together.

    What is known: the objective || sum_l w_l M_l - Q S Q' ||^2 over connectivity matrices M_l, weights w in the simplex
    and nonnegative Q, S with Q'Q near I. What is reconstructed: multiplicative updates, the start (labels of the cut of
    the graph of rows and clusters), and a quadratic programme for the weights. The joint problem is degenerate: weights
    that gather on one member of at most k clusters reach objective 0. So few steps are made by default, and `ridge`
    holds the weights together.

    No n x n matrix is formed: a step costs as much as the ensemble has labels, times k.

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of clusters, at most the number of clusters of all members; "auto" takes the one the members speak for
        (`choose_k`).
    n_iterations : int >= 0, default 5
        Number of steps that learn weights; 0 keeps the weights given.
    n_updates : int >= 1, default 200
        Largest number of updates of a factorisation.
    tolerance : float, default 1e-4
        Weights that change by less in a step are final.
    ridge : float, default 0.0
        Penalty on the squared norm of the weights, in pairs of rows.
    weights : {"equal", "ncai", "trust"} or (M,) array, default "equal"
        Weights that learning starts from: all equal (the original), by crowd agreement, by `trust`, or given.
    beta : float, default 2.0
        How strongly agreement with the crowd counts in the weight of a member, for weights "ncai" and "trust".
    normalize : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        How mutual information is normalized, as in `agreement`.

    Attributes
    ----------
    labels_ : (n,) array
        Consensus label of each row; 0 is the largest cluster.
    n_clusters_ : int
    member_weights_ : (M,) array
        The weights learnt.
    objective_ : float
        What the factorisation leaves of the weighted co-association of all rows, squared and summed.
    confidence_, margin_, runner_up_, clusters_, ncai_, ensemble_, pattern_labels_, pattern_confidence_
        As in `WEAC`.

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

    name: ClassVar[str] = "wcc"
    idea: ClassVar[str] = "Learn the weights of members together with a factorised consensus."
    equation: ClassVar[str] = "min over w, Q, S of |sum w_l M_l - Q S Q'|^2"
    strength: ClassVar[str] = "Weights come out of the optimization."
    weakness: ClassVar[str] = "The joint problem is degenerate: all weight may go to one member."
    when: ClassVar[str] = "A baseline for learnt weights."
    citation: ClassVar[str] = "Li, Ding 2008"
    cost: ClassVar[str] = "m M k + m k^2 per update, anew for every k; memory m M + m k"
    exact: ClassVar[str] = "objective and factors of all rows"
    exceptions: ClassVar[Mapping[str, str]] = {
        "components": "it starts from the components of the graph, but its updates find a local optimum",
        "member without weight": "it learns weights of its own",
    }
    limited_by_clusters: ClassVar[bool] = True

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        n_iterations: int = 5,
        n_updates: int = 200,
        tolerance: float = 1e-4,
        ridge: float = 0.0,
        weights: Any = "equal",
        beta: float = 2.0,
        normalize: Normalize = "sqrt",
    ) -> None:
        self.n_clusters = n_clusters
        self.n_iterations = n_iterations
        self.n_updates = n_updates
        self.tolerance = tolerance
        self.ridge = ridge
        self.weights = weights
        self.beta = beta
        self.normalize = normalize

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
        """What the factorisation leaves of the weighted co-association of all rows, squared and summed."""
        return cast(WeightedConsensus, self.solution_.cuts).solve(self.answer_.requested).objective
