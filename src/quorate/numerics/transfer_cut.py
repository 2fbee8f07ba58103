"""The transfer cut of a bipartite graph, on patterns (Li, Wu and Chang 2012; paper, section 6.2).

A bipartite graph with few nodes on one side (clusters) and many on the other (rows) is cut through the small side: the
leading eigenvectors of the reduced graph over clusters are transferred to rows. Rows are represented by patterns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigh

from quorate._runtime import threads
from quorate._runtime.memory import USE_LINKAGE, require_memory
from quorate._runtime.recent_cache import RecentCache
from quorate._runtime.time_limit import Pace
from quorate._utils.array_types import Floats, Ints
from quorate._utils.numbering import number_by_size
from quorate.ensemble import Ensemble
from quorate.errors import QuorateWarning
from quorate.numerics import block_lanczos
from quorate.numerics.block_lanczos import sparse_product
from quorate.numerics.kmeans import Init, Key, Points, farthest, weighted_kmeans

# Up to this many nodes a dense eigensolver is faster than Lanczos iterations (benchmarks/eigensolvers.py): its time is
# that of the iterations at 560 to 810 nodes, or at 330 to 360 where clusters are linked too and the matrix is formed.
DENSE_NODES = 800
DENSE_LINKED_NODES = 350
# Eigenvectors are computed in multiples of this, so that neighboring numbers of clusters share the same ones.
EIGENVECTOR_BATCH = 32
_SMALLEST_GAP = 1e-9
_ROWS_PER_BLOCK = 128
_FEWEST_LANCZOS_NODES = 64  # for Lanczos iterations with blocks of eight vectors
_RANK_TOLERANCE = 1e-10  # smaller eigenvalues are rounding errors of 0


class Operator(Protocol):
    """A symmetric matrix R, possibly known only through its products."""

    def through(self, matrix: sp.csr_array, degrees: Floats, /) -> Callable[[Floats], Floats]:
        """Return a function that computes (matrix + R' diag(1 / degrees) R) x."""


@dataclass(frozen=True)
class ReducedGraph:
    """The graph over clusters that a bipartite graph induces: W, its degrees, and its connected components.

    W = through_rows + R' diag(1 / R1) R, where R links clusters to clusters and is never squared.
    """

    through_rows: sp.csr_array
    """(n_nodes, n_nodes) contribution of the rows to W."""
    degrees: Floats
    """(n_nodes,) row sums of W, positive."""
    component: Ints
    """(n_nodes,) connected component of each node."""
    links: Operator | None = None
    """(n_nodes, n_nodes) R, symmetric, or None if clusters are linked only through rows."""
    link_degrees: Floats | None = None
    """(n_nodes,) row sums R1, if there is R."""

    def product(self) -> Callable[[Floats], Floats]:
        """Return a function that computes W @ x for x of shape (n_nodes, j); the preparation for all products is
        done once.
        """
        if self.links is None or self.link_degrees is None:
            return partial(sparse_product, self.through_rows)
        return self.links.through(self.through_rows, self.link_degrees)

    @cached_property
    def trivial(self) -> Floats:
        """(n_nodes, components) the eigenvectors of eigenvalue 1: sqrt(degree) on one component, heaviest first."""
        weight = np.bincount(self.component, weights=self.degrees)
        require_memory(
            24.0 * len(self.degrees) * len(weight), f"A graph of {len(weight):,} separate components", USE_LINKAGE
        )
        rank = np.empty(len(weight), dtype=np.int64)
        # Rounding: components of equal weight keep their order.
        rank[np.argsort(-np.round(weight, 9), kind="stable")] = np.arange(len(weight))
        vectors = np.zeros((len(self.degrees), len(weight)))
        vectors[np.arange(len(self.degrees)), rank[self.component]] = np.sqrt(self.degrees)
        return vectors / np.linalg.norm(vectors, axis=0)

    def deflated(self) -> Callable[[Floats], Floats]:
        """Return a function that multiplies with N = D^-1/2 W D^-1/2, the eigenvalue 1 of its trivial eigenvectors
        moved to -1.

        All other eigenvalues are in [0, 1], so that they come first, even those that are 0.
        """
        scale, multiply = 1.0 / np.sqrt(self.degrees)[:, None], self.product()
        return lambda x: scale * multiply(scale * x) - self.trivial @ (2.0 * (self.trivial.T @ x))

    def deflated_matrix(self) -> Floats:
        """(n_nodes, n_nodes) the matrix of `deflated`, symmetric to the last bit."""
        if self.links is not None:
            matrix = self.deflated()(np.eye(len(self.degrees)))
        else:  # the same, without a second matrix of this size
            scale = 1.0 / np.sqrt(self.degrees)
            matrix = self.through_rows.toarray()
            matrix *= scale
            matrix *= scale[:, None]
            # Block by block, because the product would need a second matrix.
            for rows in threads.blocks(len(matrix), _ROWS_PER_BLOCK):
                matrix[rows] -= 2.0 * (self.trivial[rows] @ self.trivial.T)
        for rows in threads.blocks(len(matrix), _ROWS_PER_BLOCK):
            mean = (matrix[rows, rows.start :] + matrix[rows.start :, rows].T) / 2
            matrix[rows, rows.start :], matrix[rows.start :, rows] = mean, mean.T
        return matrix.T  # the same matrix in column-major order, so that solvers need no copy


@dataclass(frozen=True)
class Spectrum:
    """Leading eigenvalues of D^-1/2 W D^-1/2, descending, and D^-1/2 times the eigenvectors."""

    values: Floats
    vectors: Floats


def leading_spectrum(graph: ReducedGraph, k: int, batch: int = EIGENVECTOR_BATCH) -> Spectrum:
    """Return at least the k leading eigenpairs, in whole batches (all of them if there are fewer).

    The eigenvectors of eigenvalue 1 are known: one per connected component. The others are computed on the deflated
    graph, by a dense solver or by Lanczos iterations from fixed vectors.
    """
    n_nodes, n_trivial = graph.trivial.shape
    n_requested = min(-(-k // batch) * batch, n_nodes)
    values, vectors = np.ones(n_trivial), graph.trivial
    if n_requested > n_trivial:
        more, more_vectors = _other_eigenpairs(graph, n_requested - n_trivial)
        # Ascending from the solver; descending is the order in which vectors are used.
        order = np.argsort(-more, kind="stable")
        # Rounding may leave eigenvalues slightly outside of [0, 1].
        values = np.concatenate([values, np.clip(more[order], 0.0, 1.0)])
        vectors = np.concatenate([vectors, more_vectors[:, order]], axis=1)
    return Spectrum(values[:n_requested], vectors[:, :n_requested] / np.sqrt(graph.degrees)[:, None])


def _other_eigenpairs(graph: ReducedGraph, n_more: int) -> tuple[Floats, Floats]:
    """Return the leading nontrivial eigenpairs: by Lanczos iterations, or by a dense solver where that is faster."""
    n_nodes = len(graph.degrees)
    dense = DENSE_NODES if graph.links is None else DENSE_LINKED_NODES
    # Lanczos iterations pay off only for few eigenpairs of a large graph.
    if n_nodes > max(dense, _FEWEST_LANCZOS_NODES) and n_more <= n_nodes // 3:
        pace = Pace(
            f"The eigenvectors of a graph of {n_nodes:,} clusters",
            "HBGF needs less time than GP-MGLA; WEAC and EAC need no eigenvectors.",
        )
        eigenpairs = block_lanczos.largest_eigenpairs(graph.deflated(), n_nodes, n_more, pace.at)
        if eigenpairs is not None:
            return eigenpairs
    require_memory(32.0 * n_nodes**2, f"Many eigenvectors of a graph of {n_nodes:,} clusters", USE_LINKAGE)
    with threads.linear_algebra(n_nodes):
        return largest_eigenpairs(graph.deflated_matrix, n_more)


def largest_eigenpairs(make: Callable[[], Floats], n: int) -> tuple[Floats, Floats]:
    """Return the n largest eigenvalues of a symmetric matrix, ascending, and their eigenvectors.

    `make` returns the matrix; it is called a second time if the first solver, which overwrites it, fails.
    """
    matrix = make()
    try:
        values, vectors = eigh(matrix, subset_by_index=[len(matrix) - n, len(matrix) - 1], overwrite_a=True)
    except LinAlgError:
        # The solver of some eigenpairs may fail if many eigenvalues are equal; that of all eigenpairs does not.
        values, vectors = eigh(make(), driver="ev", overwrite_a=True)
    return values[-n:], vectors[:, -n:]


def unit_rows(points: Floats) -> Floats:
    """Scale rows to unit length; zero rows stay zero."""
    return points / (np.linalg.norm(points, axis=1, keepdims=True) + 1e-10)


@dataclass(frozen=True)
class TransferCut:
    """A bipartite graph cut at any k: one spectrum serves all k, patterns are embedded and clustered by k-means."""

    ensemble: Ensemble
    graph: ReducedGraph = field(repr=False)
    links: sp.csr_array = field(repr=False)
    """(m, nodes) weight of the link of each pattern's rows to each node, rows summing to 1 (or 0: no links)."""
    init: Init = "ward"
    n_init: int = 10
    random_state: Any = None
    _spectra: RecentCache = field(default_factory=lambda: RecentCache(1), repr=False)

    @property
    def max_clusters(self) -> int:
        """The largest number of clusters of a cut."""
        return len(self.graph.degrees)

    def spectrum(self, k: int) -> Spectrum:
        """Return at least the k leading eigenpairs; the largest number requested so far is cached."""
        n_needed = min(k, self.max_clusters)
        return self._spectra.get(
            "spectrum", lambda: self._spectrum(k), lambda spectrum: len(spectrum.values) >= n_needed
        )

    def _spectrum(self, k: int) -> Spectrum:
        return leading_spectrum(self.graph, k)

    def embedding(self, k: int) -> Floats:
        """(m, k) unit rows: the mean of a pattern's clusters in the first k eigenvectors."""
        self._require_embedding(k)
        return unit_rows(np.asarray(self.links @ self.spectrum(k).vectors[:, :k]))

    def _require_embedding(self, k: int) -> None:
        n_patterns = self.ensemble.n_patterns
        require_memory(24.0 * n_patterns * k, f"The embedding of {n_patterns:,} patterns for {k} clusters", USE_LINKAGE)

    @property
    def spread(self) -> Key:
        """The criterion by which initial centers of k-means spread out."""
        return farthest

    def companions(self, k: int) -> tuple[Points, ...]:
        """Return the points that are clustered together with the patterns: none."""
        return ()

    def cut(self, k: int) -> Ints:
        """Return the consensus label of each pattern for k clusters, numbered by decreasing size."""
        k = min(k, self.max_clusters)
        # Patterns without links, those that no weighted member labels, get no cluster.
        linked = np.diff(self.links.indptr) > 0
        groups = np.full(self.ensemble.n_patterns, -1, dtype=np.int64)
        if k == 1:
            groups[linked] = 0
        elif k > 1 and linked.any():
            groups[linked] = self._cluster(linked, k)
        return number_by_size(groups, self.ensemble.counts)

    def _cluster(self, linked: NDArray[np.bool_], k: int) -> Ints:
        """Return the cluster of each linked pattern by k-means of the embedding."""
        return weighted_kmeans(
            np.ascontiguousarray(self.embedding(k)[linked]),
            self.ensemble.counts[linked].astype(np.float64),
            k,
            init=self.init,
            key=self.spread,
            along=self.companions(k),
            first_row=self.ensemble.first_row[linked] if self.ensemble.has_rows else None,
            n_init=self.n_init,
            random_state=self.random_state,
        ).labels

    def on(self, ensemble: Ensemble, links: sp.csr_array) -> Self:
        """Return the cut of other patterns that are linked to the same graph; both share the eigenvectors."""
        return replace(self, ensemble=ensemble, links=links)

    def caution(self, k: int) -> QuorateWarning | None:
        """Return a warning if the graph does not distinguish k clusters from k + 1."""
        # One more eigenvalue than clusters: the gap after the k-th decides whether k is distinguished.
        values = self.spectrum(min(k + 1, self.max_clusters)).values
        if k == 1 or len(values) <= k or values[k - 1] - values[k] >= _SMALLEST_GAP:
            return None
        return QuorateWarning(
            f"The eigengap at {k} clusters is below {_SMALLEST_GAP:g}: the graph does not distinguish {k} clusters "
            f"from {k + 1}, and the answer is one of several equally good ones.",
            code="no-eigengap",
            hint="Try another number of clusters.",
        )

    def criterion(self) -> tuple[str, dict[int, float]]:
        """Return the eigengap after each of the leading eigenvalues, by the number of clusters."""
        most = min(self.max_clusters, EIGENVECTOR_BATCH)
        values = self.spectrum(most).values[:most]
        return "eigengap", {k: float(values[k - 1] - values[k]) for k in range(2, len(values))}


@dataclass(frozen=True)
class SingularCut(TransferCut):
    """A cut whose patterns are embedded by singular vectors: every eigenvector counts the same, whatever its value."""

    def _singular_values(self, k: int) -> Floats:
        """(k,) singular values of the normalized links; infinite where they are 0, so that dividing by them gives 0."""
        values = self.spectrum(k).values[:k]
        return np.where(values > _RANK_TOLERANCE, np.sqrt(values), np.inf)

    def embedding(self, k: int) -> Floats:
        """(m, k) unit rows of the left singular vectors, one row per pattern.

        With Z = D_x^-1/2 B D_y^-1/2 and right singular vectors V, they are Z V / sigma; scaling rows changes nothing.
        """
        self._require_embedding(k)
        return unit_rows(np.asarray(self.links @ self.spectrum(k).vectors[:, :k]) / self._singular_values(k))
