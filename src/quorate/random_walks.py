"""Similarities of clusters by random walks: trajectories (PTA, ECPCS) and SimRank (SRS)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from quorate import _kernels
from quorate._runtime import threads
from quorate._runtime.memory import USE_NO_MATRIX, require_memory
from quorate._runtime.time_limit import require_time
from quorate._utils.array_types import Floats, Ints
from quorate.cluster_similarity import inverse_permutation, order_by_overlap, require_matrix
from quorate.ensemble import Ensemble, one_row, scaled_cooccurrence
from quorate.numerics.mutual_information import ratio

_PATTERNS_PER_BLOCK = 1024
_ROUNDING = 1e-13  # smaller values are rounding errors of 0
_DENSE_COST = 20.0  # multiplications of the eigendecomposition and the products after it, divided by n^3
_SPARSE_COST = 4.0  # time of a multiplication in a sparse product, relative to one in a dense product
_LANES = 48  # walks are padded to a multiple of this: six cache lines
_WALKS_PER_BATCH = 3 * _LANES  # small members share a batch


def trajectory_similarity(links: Floats, weights: Floats, n_steps: int) -> Floats:
    """Return the similarity of random walks from every two nodes (Huang, Lai, Wang 2016; Huang et al. 2018).

    With P = D^-1 A V the transitions of a walk over links A that prefers nodes of large weight V, D the row sums of AV,
    and G the sum over steps t of P^t (P^t)', the similarity is G_ij / sqrt(G_ii G_jj). Nodes without links get 0.

    P is similar to the symmetric N = Q L Q', so that all its powers come from one eigendecomposition: G = S^-1 Q
    [(Q'S^2 Q) o F] Q'S^-1, with S^2 = VD and F_ij the sum over t of (l_i l_j)^t.

    Parameters
    ----------
    links : (n, n)
        Symmetric and not negative, with zero diagonal.
    weights : (n,)
        Weights of the nodes.
    n_steps : int
        Length of the walks.
    """
    n = len(links)
    require_memory(8.0 * 6 * n**2, f"Random walks over {n:,} nodes", USE_NO_MATRIX)
    require_time(_DENSE_COST * n**3, f"Random walks over {n:,} nodes", USE_NO_MATRIX)
    degrees = links @ weights
    linked = np.flatnonzero(degrees > 0)
    similarity = np.zeros((n, n))
    if len(linked) == 0:
        return similarity
    whole = len(linked) == n
    root = np.sqrt(weights[linked] / degrees[linked])
    scale = np.sqrt(weights[linked] * degrees[linked])
    with threads.linear_algebra(n // 4):  # many products, which gain little from BLAS threads
        walk = (links if whole else links[np.ix_(linked, linked)]) * root[:, None] * root
        values, vectors = eigh(walk, overwrite_a=True, check_finite=False, driver="evd")
        vectors *= scale[:, None]
        inner = vectors.T @ vectors
        steps = np.outer(values, values)
        series = np.zeros_like(steps)
        for _ in range(n_steps):  # Horner's rule
            series += 1.0
            series *= steps
        vectors /= scale[:, None] ** 2
        inner_products = vectors @ (inner * series) @ vectors.T
    similarity[np.ix_(linked, linked)] = _cosines(inner_products)
    return similarity


def _cosines(inner: Floats) -> Floats:
    """Return the cosines of nodes from the inner products of their walks; rounding errors are set to 0."""
    length = np.sqrt(inner.diagonal())
    cosines = (inner + inner.T) / (2.0 * np.outer(length, length))
    cosines[cosines < _ROUNDING] = 0.0
    np.minimum(cosines, 1.0, out=cosines)
    np.fill_diagonal(cosines, 1.0)
    return cosines


def trajectories_within(links: sp.csr_array, member: Ints, n_steps: int) -> Floats:
    """Return `trajectory_similarity` of clusters of the same member, 0 between members; all weights are 1.

    Where clusters overlap few others, the walks are simulated step by step, all clusters of a member in one pass. Their
    part of G is the sum over steps of X'X, with X (n, clusters of the member) the positions of the walks.

    Parameters
    ----------
    links : sparse (n, n)
        Symmetric and not negative, with zero diagonal.
    member : (n,)
        Member of each cluster, ascending.
    n_steps : int
        Length of the walks.
    """
    n = len(member)
    # Choose between simulated walks and one eigendecomposition by their numbers of operations.
    operations = n_steps * n * (_SPARSE_COST * links.nnz + float(np.sum(np.bincount(member) ** 2.0)))
    if operations > _DENSE_COST * n**3:
        return trajectory_similarity(links.toarray(), np.ones(n), n_steps) * (member[:, None] == member)
    require_memory(8.0 * 3 * n**2, f"Random walks over {n:,} nodes", USE_NO_MATRIX)
    require_time(operations, f"Random walks over {n:,} nodes", USE_NO_MATRIX)
    degrees = links.sum(axis=1)
    order = order_by_overlap(links)
    position = inverse_permutation(order)
    steps = links[order]
    indices = position[steps.indices]
    transposed = steps.data * ratio(1.0, degrees)[steps.indices]  # P', because links are symmetric
    similarity = np.zeros((n, n))

    def walk_from(members: list[int]) -> None:
        own = [np.flatnonzero((member == j) & (degrees > 0)) for j in members]
        starts = np.concatenate(own)
        rows_of_eight = n * (_round_up(_LANES, len(starts)) // _kernels.vector_lanes.WIDTH)
        # One column per walk: `before` holds its distribution over clusters, `after` that of the next step.
        before, after = _kernels.vector_lanes.zero_rows(rows_of_eight), _kernels.vector_lanes.rows(rows_of_eight)
        before.reshape(n, -1)[position[starts], np.arange(len(starts))] = 1.0
        inner = [np.zeros((len(clusters), len(clusters))) for clusters in own]
        for _ in range(n_steps):
            _kernels.neighbor_sums.step(steps.indptr, indices, transposed, before, after)
            first = 0
            for total in inner:
                positions = after.reshape(n, -1)[:, first : first + len(total)]
                total += positions.T @ positions
                first += len(total)
            before, after = after, before
        for clusters, total in zip(own, inner, strict=True):
            similarity[np.ix_(clusters, clusters)] = _cosines(total)

    with threads.one_thread():
        threads.in_threads(walk_from, _batches(np.bincount(member)))
    return similarity


def _batches(sizes: Ints) -> list[list[int]]:
    """Combine members whose clusters fit into one batch of walks, each in the first batch with space; longest batch
    first.
    """
    batches: list[list[int]] = []
    space: list[int] = []
    for member in np.argsort(-sizes, kind="stable").tolist():
        batch = next((i for i, free in enumerate(space) if sizes[member] <= free), len(space))
        if batch == len(space):
            batches.append([])
            space.append(max(_WALKS_PER_BATCH, _round_up(_LANES, sizes[member])))
        batches[batch].append(member)
        space[batch] -= sizes[member]
    return sorted(batches, key=lambda members: -float(np.sum(sizes[members] ** 2.0)))


def _round_up(step: int, number: int) -> int:
    """Return the smallest multiple of `step` that is at least `number`."""
    return -(-number // step) * step


def simrank(ens: Ensemble, phi: sp.csr_array, decay: float, n_iterations: int) -> Floats:
    """Return the similarity of clusters from which SimRank computes that of rows (SRS; Iam-On et al. 2008).

    On the graph of rows and clusters, S = decay Phi C Phi' over rows and C = decay H'SH / (s s') over clusters, both
    with unit diagonal, start as the identity; both updates use the previous iterate. As in LinkCluE, `n_iterations` = R
    means R - 1 updates. So the last S comes from the C of R - 2 updates, which comes from the S of one update less, and
    so on. Every other iterate is not needed, and no S is ever formed.

    Parameters
    ----------
    ens : Ensemble
    phi : sparse (m, n_clusters)
        Share of each cluster in its patterns; rows sum to 1.
    decay : float
        Factor by which a similarity decreases in one step over the graph.
    n_iterations : int >= 2
        R.
    """
    require_matrix(ens.n_clusters, "SimRank", n_matrices=4)
    similarity = np.eye(ens.n_clusters)
    if n_iterations % 2 == 1:
        similarity = _simrank_update(ens, phi, np.zeros_like(similarity), decay)
    for _ in range((n_iterations - 2) // 2):
        similarity = _simrank_update(ens, phi, similarity, decay)
    return similarity


def _simrank_update(ens: Ensemble, phi: sp.csr_array, similarity: Floats, decay: float) -> Floats:
    """Return the C that follows from the S that follows from `similarity`.

    H'SH = decay K C K' + H' diag(w (1 - s)) H with K = H' diag(w) Phi, where s is the similarity of two different rows
    of a pattern: a row is similar to itself by 1 instead.
    """
    members = ens.incidence.T.tocsr() @ sp.diags_array(ens.counts.astype(np.float64))
    to_clusters = sp.csr_array(members @ phi)
    total = np.asarray(to_clusters @ (to_clusters @ similarity).T)
    total *= decay
    rows_alone = ens.counts * one_row(ens) * (1.0 - decay * _same_pattern(phi, similarity))
    total += scaled_cooccurrence(ens, rows_alone).toarray()
    sizes = ens.cluster_sizes.astype(np.float64)
    total *= decay
    total /= np.outer(sizes, sizes)
    updated = (total + total.T) / 2
    np.fill_diagonal(updated, 1.0)
    return updated


def _same_pattern(phi: sp.csr_array, similarity: Floats) -> Floats:
    """(m,) the mean similarity of the clusters of a pattern, computed in blocks of patterns."""
    mean = np.empty(phi.shape[0])
    for block in threads.blocks(len(mean), _PATTERNS_PER_BLOCK):
        part = phi[block]
        mean[block] = np.asarray(part.multiply(part @ similarity).sum(axis=1)).ravel()
    return mean
