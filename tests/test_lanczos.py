import numba
import numpy as np
import pytest
import scipy.sparse as sp

from quorate.numerics.block_lanczos import largest_eigenpairs, sparse_product


def operator(values, seed=0):
    """A symmetric matrix with some eigenvalues and random eigenvectors."""
    vectors = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    matrix = (vectors * values) @ vectors.T
    return (matrix + matrix.T) / 2


@pytest.mark.parametrize(
    ("values", "n_wanted"),
    [(0.9 ** np.arange(300), 20), (np.linspace(0, 1, 400), 10), (np.repeat(np.linspace(0, 1, 60), 5), 12)],
    ids=["falling fast", "evenly, which needs restarts", "five of each"],
)
def test_eigenpairs_are_those_of_the_matrix(values, n_wanted):
    matrix = operator(values)
    found, vectors = largest_eigenpairs(lambda x: matrix @ x, len(values), n_wanted)
    assert np.allclose(found, np.sort(values)[-n_wanted:], rtol=0, atol=1e-13)
    assert np.allclose(vectors.T @ vectors, np.eye(n_wanted), rtol=0, atol=1e-12)
    assert np.linalg.norm(matrix @ vectors - vectors * found, axis=0).max() < 1e-13


@pytest.mark.parametrize(
    "values", [np.repeat([1.0, 0.5, 0.0], [2, 20, 278]), np.append(0.99 ** np.arange(280), [0.9] * 20)]
)
def test_more_of_one_eigenvalue_than_can_be_told_apart_is_not_overlooked(values):
    matrix = operator(values)
    assert largest_eigenpairs(lambda x: matrix @ x, len(values), 25) is None


def test_the_share_that_is_told_only_grows():
    matrix, told = operator(np.linspace(0, 1, 400)), []
    largest_eigenpairs(lambda x: matrix @ x, 400, 10, told.append)
    assert told == sorted(told)
    assert 0 < told[0] < told[-1] < 1


@pytest.mark.parametrize("n_vectors", [1, 5, 8, 9, 20])
def test_products_are_those_of_the_matrix_for_any_number_of_threads(n_vectors):
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
