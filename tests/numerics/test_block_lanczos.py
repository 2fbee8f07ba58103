import numba
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh

from quorate.ensemble import Ensemble
from quorate.graphs import bipartite_graph, multi_granularity_graph
from quorate.numerics.block_lanczos import largest_eigenpairs, sparse_product


def operator(values, seed=0):
    """Return a symmetric matrix with given eigenvalues and random eigenvectors."""
    vectors = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    matrix = (vectors * values) @ vectors.T
    return (matrix + matrix.T) / 2


@pytest.mark.parametrize(
    ("values", "n_pairs"),
    [(0.9 ** np.arange(300), 20), (np.linspace(0, 1, 400), 10), (np.repeat(np.linspace(0, 1, 60), 5), 12)],
    ids=["falling fast", "evenly spaced (restarts)", "multiplicity five"],
)
def test_eigenpairs_of_a_dense_matrix(values, n_pairs):
    matrix = operator(values)
    found, vectors = largest_eigenpairs(lambda x: matrix @ x, len(values), n_pairs)
    assert np.allclose(found, np.sort(values)[-n_pairs:], rtol=0, atol=1e-13)
    assert np.allclose(vectors.T @ vectors, np.eye(n_pairs), rtol=0, atol=1e-12)
    assert np.linalg.norm(matrix @ vectors - vectors * found, axis=0).max() < 1e-13


@pytest.mark.parametrize(
    "values", [np.repeat([1.0, 0.5, 0.0], [2, 20, 278]), np.append(0.99 ** np.arange(280), [0.9] * 20)]
)
def test_multiplicity_above_the_block_size_is_reported(values):
    matrix = operator(values)
    assert largest_eigenpairs(lambda x: matrix @ x, len(values), 25) is None


def test_reported_progress_increases():
    matrix, shares = operator(np.linspace(0, 1, 400)), []
    largest_eigenpairs(lambda x: matrix @ x, 400, 10, shares.append)
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] < 1


@pytest.mark.parametrize("n_vectors", [1, 5, 8, 9, 20])
def test_products_do_not_depend_on_the_number_of_threads(n_vectors):
    rng = np.random.default_rng(1)
    matrix = sp.csr_array(np.where(rng.random((3000, 3000)) < 0.07, rng.random((3000, 3000)), 0.0))
    x = rng.standard_normal((3000, n_vectors))
    expected = matrix.toarray() @ x
    before, found = numba.get_num_threads(), []
    try:
        for threads in (1, before):
            numba.set_num_threads(threads)
            found.append(sparse_product(matrix, x))
    finally:
        numba.set_num_threads(before)
    assert np.allclose(found[0], expected, rtol=0, atol=1e-11)
    assert np.array_equal(*found)


@pytest.mark.parametrize("linked", [False, True], ids=["HBGF", "GP-MGLA"])
def test_eigenpairs_of_graphs_are_those_of_eigsh(linked):
    """The graphs of an ensemble with 30 groups, some of them equal to another one."""
    rng = np.random.default_rng(2)
    groups = rng.integers(0, 30, 4000)
    labels = np.stack([rng.permutation(90)[groups + 30 * rng.integers(0, 3, 4000)] for _ in range(8)], axis=1)
    ens = Ensemble(labels)
    weights = np.ones(ens.n_clusters)
    graph = multi_granularity_graph(ens, weights, 0.5) if linked else bipartite_graph(ens, weights)
    multiply, n = graph.deflated(), ens.n_clusters
    values, vectors = largest_eigenpairs(multiply, n, 31)
    expected, _ = eigsh(
        LinearOperator((n, n), matvec=lambda x: multiply(x.reshape(n, 1))[:, 0]), 31, which="LA", v0=np.ones(n)
    )
    np.testing.assert_allclose(values, np.sort(expected), rtol=0, atol=1e-11)
    assert np.abs(multiply(vectors[:, -8:]) - vectors[:, -8:] * values[-8:]).max() < 1e-12
