import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from quorate import _kernels
from quorate.features import RPCL
from support import raises, warns


def ring_of_blobs(n_blobs, n_rows, seed):
    angle = 2 * np.pi * np.arange(n_blobs) / n_blobs
    centers = 6 * np.column_stack([np.cos(angle), np.sin(angle)])
    X, truth = make_blobs(n_rows, centers=centers, cluster_std=0.8, random_state=seed)
    return StandardScaler().fit_transform(X), truth


def compete_slowly(rows, order, units, wins, learning_rate, rival_rate):
    """The rule of the paper on units as rows, with the normalized win shares."""
    for row in rows[order]:
        score = wins / wins.sum() * ((row - units) ** 2).sum(axis=1)
        winner, rival = np.argsort(score, kind="stable")[:2]
        units[winner] += learning_rate * (row - units[winner])
        units[rival] -= rival_rate * (row - units[rival])
        wins[winner] += 1


def test_three_rows_by_hand():
    rows, units, wins = np.array([[1.0], [4.0], [9.0]]), np.array([[0.0, 3.0, 10.0]]), np.ones(3)
    expected = [[0.05, 3.004, 10.0], [0.0421, 3.0538, 10.0], [0.0421, 3.04191, 9.95]]
    for row, after in enumerate(expected):
        _kernels.rival_pass.compete(rows, np.array([row]), units, wins, 0.05, 0.002)
        np.testing.assert_allclose(units[0], after, atol=1e-4)
    np.testing.assert_array_equal(wins, [2, 2, 2])


@pytest.mark.parametrize("n_units", [2, 5, 17])
def test_kernel_equals_the_plain_rule(n_units):
    rng = np.random.default_rng(n_units)
    rows, order, units = rng.normal(size=(200, 3)), rng.permutation(200), rng.normal(size=(n_units, 3))
    fast, fast_wins, slow_wins = units.T.copy(), np.ones(n_units), np.ones(n_units)
    _kernels.rival_pass.compete(rows, order, fast, fast_wins, 0.05, 0.002)
    compete_slowly(rows, order, units, slow_wins, 0.05, 0.002)
    np.testing.assert_allclose(fast.T, units, rtol=1e-9)
    np.testing.assert_array_equal(fast_wins, slow_wins)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("n_blobs", "n_units", "rival_rate"), [(5, 8, 0.002), (4, 10, 0.01), (3, 6, 0.01)])
def test_surplus_units_are_driven_away(n_blobs, n_units, rival_rate, seed):
    X, truth = ring_of_blobs(n_blobs, 1000, seed)
    model = RPCL(n_units, rival_rate=rival_rate, random_state=seed).fit(X)
    assert adjusted_rand_score(truth, model.labels_) >= 0.95
    assert model.n_clusters_ == len(model.cluster_centers_) == len(np.unique(model.labels_))
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_one_unit_has_no_rival():
    X, _ = ring_of_blobs(3, 60, 0)
    model = RPCL(1, random_state=0).fit(X)
    assert model.n_clusters_ == 1
    assert np.isfinite(model.cluster_centers_).all()


def test_stops_early_when_units_rest():
    X, _ = ring_of_blobs(3, 60, 0)
    assert RPCL(3, tol=10.0, random_state=0).fit(X).n_iter_ == 1
    assert RPCL(3, tol=0.0, max_iter=7, random_state=0).fit(X).n_iter_ == 7


def test_same_seed_same_labels():
    X, _ = ring_of_blobs(4, 300, 1)
    first, again = RPCL(9, random_state=3).fit(X), RPCL(9, random_state=3).fit(X)
    np.testing.assert_array_equal(first.labels_, again.labels_)
    assert not np.array_equal(first.cluster_centers_, RPCL(9, random_state=4).fit(X).cluster_centers_)


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"n_units": 0}, "integer"),
        ({"n_units": 61}, "few-rows"),
        ({"learning_rate": 0}, "number"),
        ({"rival_rate": 0.06}, "number"),
        ({"max_iter": 0}, "integer"),
        ({"tol": -1}, "number"),
    ],
)
def test_refuses_bad_parameters(parameters, code):
    with raises(code, *parameters):
        RPCL(**parameters).fit(ring_of_blobs(3, 60, 0)[0])


def test_constant_data_is_one_cluster_with_a_warning():
    with warns("equal-rows"):
        model = RPCL(3, random_state=0).fit(np.ones((10, 2)))
    np.testing.assert_array_equal(model.labels_, np.zeros(10))


@parametrize_with_checks([RPCL()])
def test_scikit_learn_conformance(estimator, check):
    check(estimator)
