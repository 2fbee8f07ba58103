"""Leading eigenpairs of a symmetric operator by block Lanczos iterations (Golub and Underwood 1977).

A sparse matrix times eight vectors takes hardly longer than times one, for it is the matrix that is waited for. So
iterations go eight vectors at a time. All of them are kept and new ones made orthogonal to all; where they become too
many they are replaced by the Ritz vectors that lead (thick restart; Wu and Simon 2000). To make every second block
orthogonal to all, and the others to the two before, is enough to keep all so but for rounding (Grcar 1981).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import eigh, qr

from quorate import _kernels
from quorate._runtime import threads
from quorate._utils.array_types import Floats, Ints

_TOLERANCE = 1e-14  # the length of what is left of an eigenvector's equation, the largest eigenvalue being about 1
_SAME = 1e-10  # eigenvalues that differ by less may be one
_EXHAUSTED = 1e-12
_FIRM = 1e-3  # vectors so far apart, and from those before, lose little by rounding
_LOOK_EVERY = 0.25  # times as many more vectors, at most, until the next look at how far the eigenpairs are
_SOONER = 0.75  # of the way that the rate so far leads: it only grows, and a look costs less than a step too many
_MOST_RESTARTS = 200
_COORDINATES_PER_TASK = 2048


def sparse_product(matrix: sp.csr_array, x: Floats) -> Floats:
    """Return a matrix of float64 times x of shape (n, j): up to eight vectors in threads."""
    if x.shape[1] > _kernels.vector_lanes.WIDTH:
        return np.asarray(matrix @ x)
    product, tasks = product_tasks(matrix.indptr, unsigned_indices(matrix), matrix.data, pad_to_eight(x))
    threads.run_in_threads(tasks)
    return product[:, : x.shape[1]]


def unsigned_indices(matrix: sp.csr_array) -> NDArray[Any]:
    """Return the columns of the entries of a matrix as unsigned numbers, which kernels read faster."""
    return matrix.indices.view(f"u{matrix.indices.itemsize}")


def product_tasks(
    indptr: NDArray[Any], indices: NDArray[Any], values: Floats, x: Floats
) -> tuple[Floats, list[Callable[[], None]]]:
    """Return where the product of a matrix in CSR form and x (n, 8) will be once the tasks, returned too, are done."""
    product = _kernels.vector_lanes.zero_rows(len(indptr) - 1)

    def multiply(some: slice) -> None:
        _kernels.neighbor_sums.multiply_rows(indptr, indices, values, x, some.start, some.stop, product)

    return product, [partial(multiply, some) for some in threads.parts_of_lists(indptr)]


def pad_to_eight(x: Floats, order: Ints | None = None) -> Floats:
    """(n, 8) the columns of x, which has at most eight, and zeros; its rows in some order, if one is given."""
    rows = _kernels.vector_lanes.zero_rows(len(x))
    if order is not None and x.shape[1] == _kernels.vector_lanes.WIDTH:
        np.take(x, order, axis=0, out=rows, mode="clip")  # without a copy
    else:
        rows[:, : x.shape[1]] = x if order is None else x[order]
    return rows


def max_basis_size(n_wanted: int) -> int:
    """Return how many vectors are kept at most to find some eigenpairs."""
    return 6 * n_wanted + 8 * _kernels.vector_lanes.WIDTH


def largest_eigenpairs(
    multiply: Callable[[Floats], Floats],
    n: int,
    n_wanted: int,
    on_progress: Callable[[float], None] = lambda share: None,
) -> tuple[Floats, Floats] | None:
    """Return the largest eigenvalues of a symmetric operator, ascending, and their eigenvectors.

    None if there may be more of some eigenvalue than eight vectors can tell apart, or they do not settle.

    Parameters
    ----------
    multiply : function
        Gives the product of the operator and (n, 8) vectors. Its eigenvalues are at most about 1.
    n, n_wanted : int
        Its size, at least eight times as many as vectors at once, and the number of eigenpairs, at most n // 3.
    on_progress : function, optional
        Hears about what share of the work is done.
    """
    with threads.one_thread():  # its blocks are small
        return _Iterations(multiply, n, n_wanted, on_progress).run()


class _Iterations:
    """An orthonormal basis (dim, n), the operator H in it, and the block that comes next.

    With V the basis as columns and Q the next block, A V = V H + Q C E', E the last eight unit vectors.
    """

    def __init__(
        self, multiply: Callable[[Floats], Floats], n: int, n_wanted: int, on_progress: Callable[[float], None]
    ) -> None:
        self.multiply, self.n_wanted, self.on_progress = multiply, n_wanted, on_progress
        self.width = _kernels.vector_lanes.WIDTH
        self.most = min(max_basis_size(n_wanted), n - self.width)
        self.basis = np.empty((self.most + self.width, n))
        self.projected = np.zeros((self.most, self.most))
        self.dim = self.n_multiplied = 0
        self.coupled_from = 0
        """Only from this vector on is the next block's product not orthogonal to the basis but for rounding."""
        self.coupling = np.empty((self.width, self.width))
        """C"""
        self.cleaned, self.restarted = True, False
        """Whether the next block was made orthogonal to all of the basis: every second is, and all after a restart."""
        self.basis[: self.width] = np.linalg.qr(np.random.default_rng(0).standard_normal((n, self.width)))[0].T

    def run(self) -> tuple[Floats, Floats] | None:
        look_at, before = 3.0 * self.n_wanted, (0, 1.0)
        for _ in range(_MOST_RESTARTS):
            while self.dim + self.width <= self.most:
                if not self.step():
                    return None
                if self.dim < min(look_at, self.most - self.width + 1):
                    continue
                values, inner, left = self.ritz()
                if left < _TOLERANCE:
                    return None if _many_of_one(values, self.width) else (values, self.basis[: self.dim].T @ inner)
                look_at, before = self.next_look(before, left), (self.dim, left)
            self.restart()
            look_at, before = 0.0, (self.dim, 1.0)
        return None

    def next_look(self, before: tuple[int, float], left: float) -> float:
        """Return at how many vectors to look again: somewhat before where the rate since the look before leads."""
        rate = (np.log(before[1]) - np.log(left)) / (self.dim - before[0])
        usual = _LOOK_EVERY * self.dim
        return self.dim + (min(usual, _SOONER * (np.log(left) - np.log(_TOLERANCE)) / rate) if rate > 0 else usual)

    def step(self) -> bool:
        """Add the next block to the basis, and find the one after it; False if there is none."""
        begin, self.dim = self.dim, self.dim + self.width
        block = np.ascontiguousarray(self.basis[begin : self.dim].T)
        product = self.multiply(block)
        self.n_multiplied += self.width
        self.on_progress(min(self.n_multiplied / self.most, 0.99))  # restarts are rare
        near = self.basis[self.coupled_from : self.dim]
        inside = near @ product
        self.projected[self.coupled_from : self.dim, begin : self.dim] = inside
        self.projected[begin : self.dim, self.coupled_from : self.dim] = inside.T
        rest, length, least = _orthonormal(product - near.T @ inside)
        if least < _EXHAUSTED:
            return False
        self.cleaned = not self.cleaned or least < _FIRM or self.restarted
        if self.cleaned:
            self.take_out_basis(rest)  # what rounding left of it
        try:
            again = np.linalg.cholesky(rest.T @ rest)  # they are nearly orthonormal
        except np.linalg.LinAlgError:  # they were rounding alone
            return False
        self.coupling = again.T @ length
        self.basis[self.dim : self.dim + self.width] = np.linalg.inv(again) @ rest.T
        self.coupled_from = begin
        return True

    def take_out_basis(self, vectors: Floats) -> None:
        """Take the whole basis out of vectors (n, 8), in threads; the parts are the same for any number of them."""
        known = self.basis[: self.dim]
        parts = threads.blocks(len(vectors), _COORDINATES_PER_TASK)
        inside = sum(threads.in_threads(lambda some: known[:, some] @ vectors[some], parts))

        def subtract(some: slice) -> None:
            vectors[some] -= known[:, some].T @ inside

        threads.in_threads(subtract, parts)

    def ritz(self, n_more: int = 0) -> tuple[Floats, Floats, float]:
        """Return leading Ritz values, ascending, their vectors in the basis, and what is left of their equations."""
        first = max(self.dim - self.n_wanted - n_more, 0)
        operator = self.projected[: self.dim, : self.dim]
        values, inner = eigh(operator, subset_by_index=[first, self.dim - 1], check_finite=False)
        left = np.linalg.norm(self.coupling @ inner[-self.width :], axis=0)
        return values, inner, float(left.max())

    def restart(self) -> None:
        """Keep the leading Ritz vectors alone; the next block stays, and is coupled with all of them."""
        values, inner, _ = self.ritz(n_more=min(2 * self.width, (self.most - self.n_wanted) // 2))
        kept = len(values)
        following = self.basis[self.dim : self.dim + self.width].copy()
        self.basis[:kept] = inner.T @ self.basis[: self.dim]
        self.basis[kept : kept + self.width] = following
        self.projected[:] = 0.0
        self.projected[:kept, :kept] = np.diag(values)
        self.dim, self.coupled_from, self.restarted = kept, 0, True


def _orthonormal(vectors: Floats) -> tuple[Floats, Floats, float]:
    """Return nearly orthonormal vectors (n, 8), the matrix that gives these from them, and how far apart these are.

    Those well apart are made so by the Cholesky factor of their products, which takes a third of the time.
    """
    products = vectors.T @ vectors
    least = float(np.linalg.eigvalsh(products)[0])
    if least > _FIRM**2:
        factor = np.asarray(np.linalg.cholesky(products), dtype=np.float64)
        return vectors @ np.linalg.inv(factor).T, factor.T, float(np.sqrt(least))
    frame, length, swapped = qr(vectors, mode="economic", pivoting=True, check_finite=False)
    return frame, length[:, np.argsort(swapped)], float(abs(length[-1, -1]))


def _many_of_one(values: Floats, width: int) -> bool:
    """Return whether as many eigenvalues as there are vectors at once are the same, and not 0: there may be more."""
    same = values[width - 1 :] - values[: len(values) - width + 1] < _SAME
    return bool(np.any(same & (values[width - 1 :] > _SAME)))
