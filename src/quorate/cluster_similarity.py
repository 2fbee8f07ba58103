"""Similarity of clusters: Jaccard coefficients and connected triples (paper, section 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate import _kernels
from quorate._runtime import threads
from quorate._runtime.memory import USE_NO_MATRIX, require_memory
from quorate._utils.array_types import Floats
from quorate._utils.checks import check_number
from quorate.ensemble import Clusterings, as_ensemble
from quorate.numerics.block_lanczos import pad_to_eight, product_tasks
from quorate.numerics.mutual_information import Normalize
from quorate.overlaps import renumbering, select_entries
from quorate.reliability import influence, ncai

_ROWS_PER_TASK = 64
_REFERENCE_CLUSTERS = 128  # at most, by which the others are sorted
_ENTRIES_PER_SUM = 500_000  # many compared with the clusters, because each part has sums over all clusters
_ROWS_TOGETHER = 16  # clusters whose triples are summed together: two cache lines


def jaccard(ens: Any) -> Floats:
    """Return the Jaccard coefficient of every two clusters: shared rows divided by rows in either (equation 5).

    With missing labels, only rows that the other cluster's member labels are counted.

    Parameters
    ----------
    ens : Ensemble or anything `Ensemble` takes

    Returns
    -------
    (n_clusters, n_clusters) array in [0, 1], symmetric, with unit diagonal; clusters of one member share no rows.

    Examples
    --------
    >>> import quorate as qt
    >>> qt.jaccard([[0, 0, 1, 1], [0, 1, 1, 1]]).round(2)
    array([[1.  , 0.  , 0.5 , 0.25],
           [0.  , 1.  , 0.  , 0.67],
           [0.5 , 0.  , 1.  , 0.  ],
           [0.25, 0.67, 0.  , 1.  ]])
    """
    ens = as_ensemble(ens)
    require_matrix(ens.n_clusters, "The matrix of Jaccard coefficients")
    return np.asarray(jaccard_links(ens).toarray())


def jaccard_links(ens: Clusterings) -> sp.csr_array:
    """Return the Jaccard coefficients (equation 5) as a sparse matrix: only neighbors are stored (Definition 3)."""
    shared = ens.cooccurrence
    values = np.empty(len(shared.data))
    _kernels.contingency.jaccard(shared.indptr, shared.indices, shared.data, ens.cluster_member, ens.coverage, values)
    return sp.csr_array((values, shared.indices.copy(), shared.indptr.copy()), shape=shared.shape)


def neighbor_links(ens: Clusterings) -> sp.csr_array:
    """Return the Jaccard coefficients of different clusters."""
    links = jaccard_links(ens)
    # A cluster is not its own neighbor.
    links.setdiag(0.0)
    links.eliminate_zeros()
    return links


def neighbor_lists(ens: Clusterings) -> NeighborLists:
    """Return the lists of neighbors of all clusters; they are cached, because they do not depend on beta."""
    return ens.derived.get("neighbors", lambda: NeighborLists.of(jaccard_links(ens)))


def sact(ens: Any, beta: float = 2.0, normalize: Normalize = "sqrt") -> Floats:
    """Return the source aware connected triple (SACT) similarity of every two clusters (Definition 6).

    Two clusters are linked through the neighbors that they share. Each neighbor counts by the weight of its member.

    Parameters
    ----------
    ens : Ensemble or anything `Ensemble` takes
    beta : float >= 0, default 2.0
        Exponent of the agreement in the weight of a member, as in `member_weights`.
    normalize : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        How mutual information is normalized, as in `agreement`.

    Returns
    -------
    (n_clusters, n_clusters) array in [0, 1], symmetric, with unit diagonal.

    Examples
    --------
    >>> import quorate as qt
    >>> qt.sact([[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]])[0].round(4)
    array([1.    , 0.1627, 0.6184, 0.3481, 0.    , 0.7654, 0.    ])
    """
    ens = as_ensemble(ens)
    beta = check_number("beta", beta, low=0)
    return sact_similarity(jaccard_links(ens), influence(ncai(ens, normalize), beta)[ens.cluster_member])


def sact_similarity(links: sp.csr_array, cluster_weights: Floats) -> Floats:
    """Return the SACT similarity (equation 9): connected triples divided by the largest, and 1 on the diagonal.

    `links` are the Jaccard coefficients of clusters.
    """
    require_matrix(links.shape[0], "The matrix of SACT similarities")
    similarity = connected_triples(links, cluster_weights)
    # Relative to the largest, as in equation 9.
    largest = similarity.max(initial=0.0)
    if largest > 0:
        similarity /= largest
    np.fill_diagonal(similarity, 1.0)
    return similarity


@dataclass(frozen=True)
class NeighborLists:
    """The neighbors of every cluster by ascending Jaccard coefficient; clusters with similar neighbors are adjacent.

    This is all that connected triples need, and it does not depend on the weights.
    """

    order: NDArray[np.int64]
    """(n_clusters,) the cluster at each position."""
    indptr: NDArray[np.int32]
    indices: NDArray[np.unsignedinteger[Any]]
    """Positions of the neighbors, in two bytes each where these suffice."""
    values: Floats
    """Jaccard coefficients, ascending in each list."""

    @classmethod
    def of(cls, links: sp.csr_array) -> NeighborLists:
        """Return the lists of a symmetric matrix of Jaccard coefficients."""
        order = order_by_overlap(links)
        position = inverse_permutation(order)
        indptr = np.concatenate([[0], np.cumsum(np.diff(links.indptr)[order])]).astype(links.indptr.dtype)
        lists = cls(order, indptr, np.empty(len(links.data), dtype=position.dtype), np.empty(len(links.data)))

        def fill(task: slice) -> None:
            written = (lists.indptr, lists.indices, lists.values)
            _kernels.neighbor_sums.sorted_lists(*_csr(links), order, position, task.start, task.stop, *written)

        threads.in_threads(fill, threads.blocks(len(order), _ROWS_PER_TASK))
        return lists

    def select_clusters(self, clusters: NDArray[np.int64]) -> NeighborLists:
        """Return the lists of a selection of clusters, renumbered; the order of clusters and of each list is
        preserved.
        """
        n = len(self.order)
        new = renumbering(clusters, n)[self.order]
        positions = np.flatnonzero(new >= 0)
        values, indices, indptr = select_entries(
            self.indptr, self.indices, self.values, positions, renumbering(positions, n)
        )
        return NeighborLists(new[positions].astype(np.int64), indptr, indices, values)

    @cached_property
    def parts(self) -> list[slice]:
        """Consecutive lists of similar total length, the tasks of threads."""
        return threads.parts_of_lists(self.indptr, _ENTRIES_PER_SUM)

    def values_of(self, matrix: sp.csr_array) -> Floats:
        """Return the values of a matrix (n_clusters, n_clusters), which has no other entries, in the order of the
        lists.
        """
        values, position = np.empty(len(self.values)), inverse_permutation(self.order)

        def fill(task: slice) -> None:
            lists = (self.indptr, self.indices, self.order, position)
            _kernels.neighbor_sums.values_in_lists(*lists, *_csr(matrix), task.start, task.stop, values)

        threads.in_threads(fill, self.parts)
        return values

    @property
    def links(self) -> sp.csr_array:
        """(n_clusters, n_clusters) the Jaccard coefficients of these lists."""
        rows = np.repeat(self.order, np.diff(self.indptr))
        return sp.csr_array((self.values, (rows, self.order[self.indices])), shape=(len(self.order),) * 2)


def _csr(matrix: sp.csr_array) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    """Return the arrays of a sparse matrix in the order in which kernels take them."""
    return matrix.indptr, matrix.indices, matrix.data


def inverse_permutation(order: NDArray[np.int64]) -> NDArray[np.unsignedinteger[Any]]:
    """(n,) the position of each cluster in an order, in two bytes each where these suffice."""
    position: NDArray[Any] = np.empty(len(order), dtype=np.uint16 if len(order) <= 1 << 16 else np.uint32)
    position[order] = np.arange(len(order))
    return position


@dataclass(frozen=True)
class SactOperator:
    """The SACT similarity as a linear operator, without forming the matrix.

    A product with up to eight vectors takes time proportional to the number of neighbors. For more vectors the matrix
    is formed.
    """

    lists: NeighborLists
    cluster_weights: Floats

    def __matmul__(self, x: Floats) -> Floats:
        """Return the product with x of shape (n_clusters,) or (n_clusters, j)."""
        # The operator works on eight vectors at a time; for more, the matrix is cheaper.
        if x.ndim == 2 and x.shape[1] > _kernels.vector_lanes.WIDTH:
            return np.asarray(sact_similarity(self.lists.links, self.cluster_weights) @ x)
        return self._times(x[:, None])[:, 0] if x.ndim == 1 else self._times(x)

    @cached_property
    def _weights(self) -> Floats:
        """(n_clusters,) weights in the order of the lists."""
        return np.ascontiguousarray(self.cluster_weights[self.lists.order])

    @cached_property
    def _diagonal(self) -> Floats:
        """(n_clusters, 1) in that order, the coefficient of a cluster with itself, its largest: the sum of I_k v_ik."""
        lists = self.lists
        product, tasks = product_tasks(lists.indptr, lists.indices, lists.values, pad_to_eight(self._weights[:, None]))
        threads.run_in_threads(tasks)
        return product[:, :1].copy()

    def _times(self, x: Floats) -> Floats:
        order = self.lists.order
        product = np.empty((len(x), _kernels.vector_lanes.WIDTH))
        product[order] = self._in_order(pad_to_eight(x, order))
        return product[:, : x.shape[1]]

    def through(self, matrix: sp.csr_array, degrees: Floats) -> Callable[[Floats], Floats]:
        """Return a function that computes (matrix + R' diag(1 / degrees) R) x for x of shape (n_clusters, j), R this
        operator.

        The matrix must have entries only between neighbors, so that one pass over the lists serves both terms.
        """
        lists, values = self.lists, self.lists.values_of(matrix)
        degrees_in_order = degrees[lists.order, None]

        def multiply(x: Floats) -> Floats:
            if x.shape[1] > _kernels.vector_lanes.WIDTH:
                return np.asarray(matrix @ x + self @ ((self @ x) / degrees[:, None]))
            ordered, of_matrix = pad_to_eight(x, lists.order), _kernels.vector_lanes.rows(len(x))

            # One pass over the lists serves both terms, because the matrix has entries only between neighbors.
            def add(task: slice, sums: Floats) -> None:
                arrays = (lists.indptr, lists.indices, lists.values, self._weights, values, ordered)
                _kernels.neighbor_sums.add_triples_and_product(*arrays, task.start, task.stop, sums, of_matrix)

            linked = self._summed(ordered, add)
            linked /= degrees_in_order
            product = np.empty((len(x), _kernels.vector_lanes.WIDTH))
            product[lists.order] = of_matrix + self._in_order(linked)
            return product[:, : x.shape[1]]

        return multiply

    def _in_order(self, x: Floats) -> Floats:
        """Return the product with x (n_clusters, 8), both in the order of the lists."""
        lists = self.lists

        def add(task: slice, sums: Floats) -> None:
            _kernels.neighbor_sums.add_triples(
                lists.indptr, lists.indices, lists.values, self._weights, x, task.start, task.stop, sums
            )

        return self._summed(x, add)

    def _summed(self, x: Floats, add: Callable[[slice, Floats], None]) -> Floats:
        """Return the product with x (n_clusters, 8), both in the order of the lists.

        `add` writes the contribution of consecutive lists. Each part has sums of its own, so that threads never share
        one.
        """
        n, parts = len(x), self.lists.parts
        sums = _kernels.vector_lanes.rows(n * len(parts))
        threads.run_in_threads([partial(add, part, sums[p * n : (p + 1) * n]) for p, part in enumerate(parts)])
        product = _kernels.vector_lanes.rows(n)
        _kernels.neighbor_sums.add_up_triples(sums, *self._scale, x, product)
        return product

    @cached_property
    def _scale(self) -> tuple[float, Floats]:
        """One over the largest coefficient, and the diagonal that is missing to 1, in the order of the lists."""
        largest = self._diagonal.max(initial=0.0)
        scale = 1.0 / largest if largest > 0 else 0.0
        return scale, 1.0 - scale * self._diagonal[:, 0]


def connected_triples(links: sp.csr_array, cluster_weights: Floats) -> Floats:
    """Return, for every two clusters, the sum over all clusters k of I_k min(v_ik, v_jk) (equations 6 and 8).

    Parameters
    ----------
    links : symmetric sparse (n_clusters, n_clusters)
        Values v on neighboring clusters.
    cluster_weights : (n_clusters,)
        I_k, the weight of cluster k: that of its member.
    """
    n = links.shape[0]
    order = order_by_overlap(links)
    position = np.empty(n, dtype=np.int32)
    position[order] = np.arange(n)
    rows = links[order]
    # A symmetric matrix equals its transpose, and converting columns to rows sorts the indices.
    reordered = sp.csc_array((rows.data, position[rows.indices], rows.indptr), shape=(n, n)).tocsr()
    scaled = reordered.data * np.repeat(cluster_weights[order], np.diff(reordered.indptr))
    coefficients = np.zeros((n, n))
    tasks = threads.blocks(n, _ROWS_PER_TASK)

    def fill(rows: slice) -> None:
        _kernels.neighbor_sums.shared_neighbors(
            reordered.indptr, reordered.indices, scaled, order, rows.start, rows.stop, _ROWS_TOGETHER, coefficients
        )

    threads.in_threads(fill, tasks)
    symmetrize(coefficients)
    return coefficients


def symmetrize(matrix: Floats) -> None:
    """Fill a symmetric matrix in which at least one of every two mirrored entries is written and the other is 0."""
    tasks = threads.blocks(len(matrix), _ROWS_PER_TASK)
    threads.in_threads(lambda task: _kernels.neighbor_sums.symmetrize(task.start, task.stop, matrix), tasks)


def order_by_overlap(links: sp.csr_array) -> NDArray[np.int64]:
    """Return an order in which clusters that overlap the same of the first clusters are adjacent.

    Adjacent clusters then have many neighbors in common, so that memory read for one is still in the cache for the
    next.
    """
    reference = links[:, : min(int(np.sqrt(links.shape[0])) + 1, _REFERENCE_CLUSTERS)].toarray()
    return np.lexsort((-reference.max(axis=1), reference.argmax(axis=1)))


def weighted_triples(ens: Clusterings, member_weights: Floats) -> Floats:
    """Return the weighted connected triples of clusters of one member (WCT; Iam-On et al. 2011), divided by the
    largest.

    Two clusters x, y of one member have the similarity sum over all other clusters k of min(v_xk, v_yk), v the Jaccard
    coefficient; k counts by the weight of its member (1 in the original). Clusters of different members get 0, and so
    do all clusters of members without weight; the diagonal is 1.
    """
    require_matrix(ens.n_clusters, "The matrix of connected triples", n_matrices=1.5)
    links = neighbor_links(ens)
    of_cluster = member_weights[ens.cluster_member]
    triples = connected_triples(links, of_cluster)
    # Triples through the cluster itself do not count.
    np.fill_diagonal(triples, 0.0)
    triples *= (ens.cluster_member[:, None] == ens.cluster_member) & (of_cluster > 0)
    largest = triples.max(initial=0.0)
    if largest > 0:
        triples /= largest
    np.fill_diagonal(triples, 1.0)
    return triples


def require_matrix(n_clusters: int, what: str, n_matrices: float = 1) -> None:
    """Raise an error if there is not enough memory for `n_matrices` matrices over clusters."""
    require_memory(8.0 * n_matrices * n_clusters**2, f"{what} of {n_clusters:,} clusters", USE_NO_MATRIX)
