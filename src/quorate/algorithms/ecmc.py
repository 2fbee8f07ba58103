"""Ensemble clustering by matrix completion (Yi et al. 2012): keep what members agree on, complete the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from quorate._runtime import threads
from quorate._runtime.memory import USE_NO_MATRIX, require_memory
from quorate._utils.array_types import Bools, Floats, Ints
from quorate._utils.checks import check_integer, check_number
from quorate.algorithms.tree import LinkageMethod
from quorate.ensemble import Ensemble
from quorate.errors import InputError, warn
from quorate.numerics.linkage import Dendrogram, Link, link_similarity
from quorate.row_similarity import covering_weight, pattern_coassociation

_DENSE_SIZE = 200  # below this size a dense eigensolver is faster than Lanczos iterations
_RELAXATION = 1.8
_PENALTY_STEP = 1.5
_MATRICES = 12  # matrices over patterns that a completion holds simultaneously
_NOTHING = 1e-9  # a similarity that is 0 but for rounding


class Block(NamedTuple):
    """One completion problem: scaled data, what of it is observed, and the price of an error."""

    data: Floats
    observed: Bools
    price: Floats
    """lambda times the scale: what a unit of error costs."""


@dataclass(frozen=True)
class Completion:
    """The completed similarity of patterns, and how it was found."""

    patterns: Ints = field(repr=False)
    """(p,) the patterns completed: those with evidence."""
    similarity: Floats = field(repr=False)
    """(p, p) in [0, 1]; the diagonal is the similarity of two different rows of a pattern."""
    objective: float
    """Nuclear norm of the completed matrix over all rows, plus lambda times its errors on what is observed."""
    lam: float
    observed: float
    """Share of the pairs of rows on which members agree."""
    n_iterations: int
    """The most iterations any block needed."""
    converged: bool


def complete_similarity(
    ens: Ensemble,
    influence: Floats,
    thresholds: tuple[float, float] = (0.2, 0.8),
    lam: float | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 3000,
) -> Completion:
    """Complete the co-association: min ||X||_* + lambda ||E||_1 with X + E = A where members agree.

    A is 1 where at least the upper threshold of the members' weight joins two rows, 0 where at most the lower does, and
    unknown elsewhere. Rows enter as patterns: with D the counts, D^1/2 X D^1/2 has the nuclear norm of the matrix of
    all rows. Groups of patterns that no 1 connects are completed apart: leaving out the parts of X between them lowers
    its nuclear norm and adds no error.

    Parameters
    ----------
    ens : Ensemble
    influence : (M,)
        Weight of each member.
    thresholds, lam, tolerance, max_iterations
        As in `ECMC`.
    """
    patterns = np.flatnonzero(covering_weight(ens.patterns, influence) > 0)
    require_memory(
        8.0 * _MATRICES * len(patterns) ** 2,
        f"The completion of a matrix over {len(patterns):,} patterns",
        USE_NO_MATRIX,
    )
    # Rounding: whether a pair is reliable must not depend on the order of summation.
    evidence = np.round(pattern_coassociation(ens, influence)[np.ix_(patterns, patterns)], 12)
    joined, observed = evidence >= thresholds[1], (evidence >= thresholds[1]) | (evidence <= thresholds[0])
    counts = ens.counts[patterns].astype(np.float64)
    n_observed = float(counts @ (observed @ counts))
    if lam is None:
        lam = float(np.sqrt(counts.sum() / n_observed)) if n_observed > 0 else 1.0
    similarity = np.zeros_like(evidence)
    objective, n_iterations, converged = 0.0, 0, True
    # Blocks without reliable pairs between them are solved apart, which makes the eigenvectors much cheaper.
    for members in _connected(joined):
        inside = np.ix_(members, members)
        # With D the counts, D^1/2 X D^1/2 over patterns has the nuclear norm of the matrix over all rows.
        scale = np.sqrt(np.outer(counts[members], counts[members]))
        block = Block(np.where(joined[inside], scale, 0.0), observed[inside], lam * scale)
        solved = complete_block(block, tolerance, max_iterations)
        similarity[inside] = solved.matrix / scale
        objective += solved.objective
        n_iterations, converged = max(n_iterations, solved.n_iterations), converged and solved.converged
    # Rounding in the solver may leave tiny asymmetries and values outside of [0, 1].
    similarity = np.clip((similarity + similarity.T) / 2, 0.0, 1.0)
    share = n_observed / max(float(counts.sum()), 1.0) ** 2
    return Completion(patterns, similarity, objective, lam, share, n_iterations, converged)


def _connected(joined: Bools) -> list[Ints]:
    """Return the groups of patterns that reliable pairs connect."""
    n_groups, group = sp.csgraph.connected_components(sp.csr_array(joined), directed=False)
    ends = np.cumsum(np.bincount(group, minlength=n_groups))
    return np.split(np.argsort(group, kind="stable"), ends[:-1]) if n_groups else []


class CompletedBlock(NamedTuple):
    """The solution of one block, still scaled."""

    matrix: Floats
    objective: float
    n_iterations: int
    converged: bool


def _complete_single(block: Block) -> CompletedBlock:
    """Complete a single pattern: its rows stay together if they are at least 1 / lambda, else they vanish."""
    completed = np.where(block.price >= 1.0 - 1e-12, block.data, 0.0)
    return CompletedBlock(completed, _objective(block, completed, float(completed.sum())), 0, True)


def complete_block(block: Block, tolerance: float, max_iterations: int) -> CompletedBlock:
    """Minimize ||X||_* + sum of price |E| with X + E = data where observed, by ADMM with over-relaxation.

    X shrinks the eigenvalues of data - E + Y / mu by 1 / mu; E shrinks data - X + Y / mu by price / mu where observed
    and takes it whole elsewhere; Y follows the residual. Both residuals must be small: the primal one alone stops far
    from the optimum. The penalty mu is balanced between the two, ever more rarely, so that it settles.
    """
    if len(block.data) == 1:
        return _complete_single(block)
    with threads.linear_algebra(len(block.data)):
        return _iterate(block, tolerance, max_iterations)


def _iterate(block: Block, tolerance: float, max_iterations: int) -> CompletedBlock:
    data, observed, price = block
    size = np.linalg.norm(data)
    errors, multiplier = np.zeros_like(data), np.zeros_like(data)
    # The usual first penalty of inexact augmented Lagrangian methods: 1.25 over the spectral norm.
    penalty = 1.25 / float(np.linalg.norm(data, 2))
    rank, next_balance, iteration, converged = 1, 10, 0, False
    while not converged and iteration < max_iterations:
        iteration += 1
        # Step 1: X, by shrinking eigenvalues.
        shrunk = _shrink_eigenvalues(data - errors + multiplier / penalty, 1.0 / penalty, rank)
        rank = shrunk.rank
        # Step 2: over-relaxation, which about halves the number of iterations.
        relaxed = _RELAXATION * shrunk.matrix + (1.0 - _RELAXATION) * (data - errors)
        # Step 3: E, shrunk where observed; elsewhere any error is free.
        target = data - relaxed + multiplier / penalty
        before, errors = errors, np.where(observed, _soft(target, price / penalty), target)
        # Step 4: multipliers and residuals; both residuals must be small.
        multiplier = penalty * (target - errors)
        primal = float(np.linalg.norm(data - shrunk.matrix - errors) / size)
        dual = float(penalty * np.linalg.norm(errors - before) / (np.linalg.norm(multiplier) + 1e-12))
        converged = primal < tolerance and dual < 10 * tolerance
        # Balance the penalty more and more rarely, so that it settles and the iterations converge.
        if iteration >= next_balance:
            next_balance = iteration + max(10, iteration // 10)
            imbalance = primal / max(dual / 10, 1e-300)
            penalty *= _PENALTY_STEP if imbalance > 2 else 1 / _PENALTY_STEP if imbalance < 0.5 else 1.0
    objective = _objective(block, shrunk.matrix, shrunk.nuclear_norm)
    return CompletedBlock(shrunk.matrix, objective, iteration, converged)


def _objective(block: Block, matrix: Floats, nuclear_norm: float) -> float:
    error = np.where(block.observed, np.abs(block.data - matrix), 0.0)
    return nuclear_norm + float(np.sum(block.price * error))


class _Shrunk(NamedTuple):
    matrix: Floats
    nuclear_norm: float
    rank: int


def _shrink_eigenvalues(matrix: Floats, threshold: float, rank: int) -> _Shrunk:
    """Shrink the eigenvalues of a symmetric matrix towards 0; `rank` guesses how many are beyond the threshold."""
    n = len(matrix)
    n_requested = rank + 3
    # Few leading eigenpairs by Lanczos iterations; twice as many until one is below the threshold.
    while n > _DENSE_SIZE and n_requested < n // 8:
        # A fixed start vector, so that every run gives the same bits.
        start = np.random.default_rng(0).standard_normal(n)
        values, vectors = eigsh(matrix, n_requested, which="LM", v0=start)
        if np.abs(values).min() <= threshold:
            break
        n_requested *= 2
    else:  # small or of high rank: a dense eigensolver is faster
        values, vectors = eigh(matrix)
    values = _soft(values, threshold)
    nonzero = values != 0
    vectors = vectors[:, nonzero]
    return _Shrunk((vectors * values[nonzero]) @ vectors.T, float(np.abs(values).sum()), int(nonzero.sum()))


def _soft(values: Floats, threshold: Any) -> Floats:
    return np.sign(values) * np.maximum(np.abs(values) - threshold, 0.0)


@dataclass(frozen=True, kw_only=True)
class CompletedDendrogram(Dendrogram):
    """The dendrogram of a completed similarity."""

    completion: Completion = field(repr=False)


class ECMC(LinkageMethod):
    """Matrix completion: keep the pairs of rows on which members agree, and complete the similarity of the others.

    What is known: reliable entries of the co-association, completed by a low-rank matrix with sparse errors. What is
    reconstructed: both thresholds, the price of errors lambda = 1 / sqrt(p n) (p the share of reliable pairs, the
    standard choice), and the solver. The original clusters the completed matrix spectrally; the comparison of Huang et
    al. (2015) links it, as here.

    A group of s rows on which all agree survives only if s >= 1 / lambda; smaller groups vanish, and their rows are at
    distance 1 from all others, even from rows of the same pattern. With many small clusters little is left: this is the
    model, not a failure; a larger `lam` keeps more. Rows of one pattern that are not nearest to each other are linked
    one by one; they still get one label, that of the first of them.

    Parameters
    ----------
    thresholds : (low, high), default (0.2, 0.8)
        Pairs that at most `low` of the members join are reliably apart, those that at least `high` join reliably
        together; the others are unknown. 0 <= low < high <= 1.
    lam : float or None, default None
        Weight of an error relative to the nuclear norm; None for 1 / sqrt(p n).
    tolerance : float, default 1e-6
        Relative residual at which the solver stops (ten times that for the dual residual).
    max_iterations : int, default 3000
        Largest number of solver iterations.

    References
    ----------
    J. Yi, T. Yang, R. Jin, A. K. Jain, M. Mahdavi: Robust Ensemble Clustering by Matrix Completion. ICDM (2012).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 1, 2, 2, 2, 2], [1, 1, 1, 3, 2, 2, 2, 2], [1, 1, 1, 1, 2, 2, 2, 3]]
    >>> qt.ECMC(n_clusters=2, thresholds=(0.2, 0.6)).fit_predict(members)
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """

    name = "ecmc"
    idea = "Complete the co-association from the pairs of rows that members agree on."
    equation = "min |X|_* + lam |E|_1 with X + E = A where members agree"
    strength = "Doubtful pairs are left open instead of averaged."
    weakness = "Small clusters vanish by design; a matrix over patterns and its eigenvectors in every step."
    when = "Few, large, well separated clusters."
    citation = "Yi, Yang, Jin, Jain, Mahdavi 2012"
    cost = "c^2 (rank) to c^3 per iteration, c patterns that reliable pairs connect; memory m^2"
    exact = "objective and completed matrix of all rows, and its dendrogram"
    exceptions: ClassVar[Mapping[str, str]] = {
        "components": "groups of fewer than 1 / lambda rows vanish from the completed matrix",
    }

    thresholds: tuple[float, float] = (0.2, 0.8)
    lam: float | None = None
    tolerance: float = 1e-6
    max_iterations: int = 3000

    def _check(self) -> None:
        super()._check()
        try:
            low, high = self.thresholds
        except (TypeError, ValueError):
            raise InputError(
                f"must be two numbers (low, high); got {self.thresholds!r}.", code="two-numbers", parameter="thresholds"
            ) from None
        check_number("thresholds[0]", low, low=0)
        check_number("thresholds[1]", high, above=low, high=1)
        if self.lam is not None:
            check_number("lam", self.lam, above=0)
        check_number("tolerance", self.tolerance, above=0)
        check_integer("max_iterations", self.max_iterations, low=1)

    def _solve(self, ens: Ensemble, influence: Floats) -> CompletedDendrogram:
        completion = complete_similarity(ens, influence, self.thresholds, self.lam, self.tolerance, self.max_iterations)
        if not completion.converged:
            warn(
                f"The completion did not converge in {self.max_iterations} iterations.",
                code="no-convergence",
                hint="Raise max_iterations or tolerance.",
            )
        solved = link_completion(ens, completion, self.linkage)
        # The first merge at distance 1 means that no two rows are similar at all.
        if len(solved.heights) and solved.heights[0] >= 1.0 - _NOTHING:
            warn(
                "The completed similarity of all different rows is 0, so the clusters are arbitrary "
                f"(lam = {completion.lam:.3g}, known pairs {completion.observed:.0%}).",
                code="empty-completion",
                hint="Raise lam, lower the upper threshold, or use another method.",
            )
        return solved

    @property
    def completion_(self) -> Completion:
        """The completed similarity over patterns, which serves any linkage."""
        return cast(CompletedDendrogram, self.solution_.cuts).completion


def link_completion(ens: Ensemble, completion: Completion, link: Link) -> CompletedDendrogram:
    """Return the dendrogram of a completed similarity; one completion serves all three linkages."""
    tree = link_similarity(ens, completion.similarity.copy(), link, completion.patterns)
    return CompletedDendrogram(
        tree.merges, tree.heights, ens, tree.leaf_pattern, tree.leaf_heights, completion=completion
    )
