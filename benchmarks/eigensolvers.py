"""Eigensolvers of the transfer cut on the same operators: block Lanczos, ARPACK (`eigsh`), LOBPCG and dense `eigh`.

`python -m benchmarks eigensolvers`. Graphs are those of the explorer (Letters x 50) and of the leaderboard (10 to 100
members of Letters and Pen Digits). Block Lanczos should be at least twice as fast as the best of the others. Every
solver gets the form of the operator that suits it: block Lanczos and LOBPCG multiply eight vectors at a time, `eigsh`
gets the sparse matrix and, where clusters are linked by SACT, the same operator with one vector at a time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh, lobpcg

import quorate as qt
from benchmarks.data import letters, pen_digits
from benchmarks.measure import Result, faster, median_seconds, run_parts, seconds
from quorate._runtime import threads
from quorate.graphs import bipartite_graph, multi_granularity_graph
from quorate.numerics import block_lanczos
from quorate.numerics.transfer_cut import EIGENVECTOR_BATCH, ReducedGraph, largest_eigenpairs

Eigenpairs = tuple[np.ndarray, np.ndarray]
GRAPHS = {"LR": letters, "PD": pen_digits}
MEMBERS = (5, 10, 20, 50, 100)
LARGEST_DENSE = 2000


def run() -> Iterator[Result]:
    """Compare all solvers on all graphs."""
    return run_parts(*(lambda name=name, n=n: compare(name, n) for n in MEMBERS for name in GRAPHS))


def compare(name: str, n_members: int) -> Iterator[Result]:
    """Compare the solvers on the graphs of HBGF and of GP-MGLA for one ensemble."""
    ens = qt.Ensemble(GRAPHS[name](n_members))
    weights = qt.member_weights(ens)[ens.cluster_member]
    graphs = {"HBGF": bipartite_graph(ens, weights), "GP-MGLA": multi_granularity_graph(ens, weights, 0.5)}
    for method, graph in graphs.items():
        times = {solver: seconds_of(solver, task) for solver, task in solvers(graph).items()}
        ours = times.pop("block Lanczos")
        what = f"block Lanczos, {method}, {name} x {n_members} ({len(graph.degrees):,} clusters)"
        for solver, other in times.items():
            yield faster(f"{what}, against {solver}", ours, other, 2)


def solvers(graph: ReducedGraph) -> dict[str, Callable[[], Eigenpairs]]:
    """Return tasks that compute the leading eigenpairs of a graph, with one BLAS thread each."""
    n, k = len(graph.degrees), EIGENVECTOR_BATCH - 1
    start = np.random.default_rng(0).standard_normal((n, k))

    def lanczos() -> Eigenpairs:
        found = block_lanczos.largest_eigenpairs(graph.deflated(), n, k)
        assert found is not None
        return found

    def arpack() -> Eigenpairs:
        if graph.links is None:
            multiply, trivial, scale = graph.through_rows, graph.trivial, 1.0 / np.sqrt(graph.degrees)

            def product(x: np.ndarray) -> np.ndarray:
                return scale * (multiply @ (scale * x)) - trivial @ (2.0 * (trivial.T @ x))
        else:
            by_block = graph.deflated()

            def product(x: np.ndarray) -> np.ndarray:
                return by_block(x.reshape(n, 1))[:, 0]

        operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
        with threads.one_thread():
            return eigsh(operator, k, which="LA", v0=start[:, 0])

    def preconditioned() -> Eigenpairs:
        multiply = graph.deflated()

        def by_eight(x: np.ndarray) -> np.ndarray:
            return np.hstack([multiply(np.ascontiguousarray(x[:, j : j + 8])) for j in range(0, x.shape[1], 8)])

        operator = LinearOperator((n, n), matvec=lambda x: by_eight(x.reshape(n, 1)), matmat=by_eight, dtype=np.float64)
        with threads.one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns when it stops before its tolerance
            return lobpcg(operator, start.copy(), largest=True, tol=1e-5, maxiter=200)

    def dense() -> Eigenpairs:
        with threads.one_thread():
            return largest_eigenpairs(graph.deflated_matrix, k)

    tasks = {"block Lanczos": lanczos, "eigsh": arpack, "LOBPCG": preconditioned}
    if n <= LARGEST_DENSE:
        tasks["dense eigh"] = dense
    np.testing.assert_allclose(np.sort(arpack()[0]), np.sort(lanczos()[0]), atol=1e-10)
    return tasks


def seconds_of(solver: str, task: Callable[[], Eigenpairs]) -> float:
    """Return the median time of a solver; LOBPCG, which takes long, runs once."""
    return seconds(task) if solver == "LOBPCG" else median_seconds(task, 3)
