import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from quorate.features import ODISVC
from quorate.features.clusterers.od_isvc import learn_sphere, smallest_sphere
from support import raises, warns

FIVE = np.array([[0.0], [1.0], [2.0], [6.0], [7.0]])


def rings(n_rows, rng):
    """Return two noisy rings, covered evenly."""
    sizes, radii = [n_rows // 4, n_rows - n_rows // 4], [1, 3]
    angle = np.concatenate([np.linspace(0, 2 * np.pi, size, endpoint=False) for size in sizes])
    radius = np.repeat(radii, sizes) + rng.normal(0, 0.08, n_rows)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), np.repeat([0, 1], sizes)


def moons(n_rows, rng):
    return make_moons(n_rows, noise=0.05, random_state=rng.integers(2**31))


def with_outliers(shape, n_rows, seed):
    """Return rows of two shapes and 5 % outliers (class -1) scattered around and between them, none on them."""
    rng = np.random.default_rng(seed)
    X, truth = shape(n_rows, rng)
    low, high = X.min(axis=0) - 3.5, X.max(axis=0) + 3.5
    candidates = rng.uniform(low, high, size=(2000, 2))
    distance = np.linalg.norm(candidates[:, None] - X[None], axis=2).min(axis=1)
    outliers = candidates[distance > 0.5][: n_rows // 20]
    return np.concatenate([X, outliers]), np.concatenate([truth, np.full(len(outliers), -1)])


def batch_multipliers(X, q, bound):
    """Solve the same problem by another route: sequential quadratic programming."""
    kernel, n = rbf_kernel(X, gamma=q), len(X)
    solution = minimize(
        lambda beta: beta @ kernel @ beta,
        np.full(n, 1 / n),
        jac=lambda beta: 2 * kernel @ beta,
        bounds=[(0, bound)] * n,
        constraints={"type": "eq", "fun": lambda beta: beta.sum() - 1, "jac": lambda beta: np.ones(n)},
        options={"ftol": 1e-15, "maxiter": 1000},
        method="SLSQP",
    )
    return solution.x


def in_row_order(model):
    multipliers = np.zeros(len(FIVE))
    multipliers[model.support_] = model.multipliers_
    return multipliers


def test_five_points_without_outliers():
    model = ODISVC(q=0.5, outlier_fraction=0).fit(FIVE)
    np.testing.assert_allclose(in_row_order(model), [0.2930, 0, 0.2929, 0.2069, 0.2072], atol=1e-4)
    assert model.squared_radius_ == pytest.approx(0.66735, abs=1e-5)
    np.testing.assert_allclose(model.squared_distance([[1.0], [4.0], [6.5]]), [0.62187, 1.19256, 0.60181], atol=1e-5)
    np.testing.assert_allclose(model.equilibria_.ravel(), [0.92686, 6.50021], atol=1e-4)
    np.testing.assert_array_equal(model.labels_, [0, 0, 0, 1, 1])
    assert not model.outliers_.any()


def test_five_points_with_outliers():
    model = ODISVC(q=0.5, outlier_fraction=0.8).fit(FIVE)
    np.testing.assert_allclose(in_row_order(model), [0.25, 0.0546, 0.25, 0.2226, 0.2228], atol=1e-4)
    assert model.squared_radius_ == pytest.approx(0.62173, abs=1e-5)
    np.testing.assert_array_equal(model.outliers_, [True, False, True, False, False])
    np.testing.assert_allclose(model.squared_distance(FIVE[[0, 2]]), [0.7035, 0.7034], atol=1e-4)
    np.testing.assert_allclose(model.equilibria_.ravel(), [1.0001, 6.5002], atol=1e-4)
    np.testing.assert_array_equal(model.labels_, [0, 0, 0, 1, 1])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("shape", "q", "outlier_fraction"), [(rings, 5.0, 0.08), (moons, 12.0, 0.065)])
def test_shapes_and_outliers_are_found(shape, q, outlier_fraction, seed):
    X, truth = with_outliers(shape, 2000, seed)
    model = ODISVC(q, outlier_fraction=outlier_fraction, random_state=seed).fit(X)
    inlier = truth >= 0
    assert adjusted_rand_score(truth[inlier], model.labels_[inlier]) >= 0.95
    hits = (model.outliers_ & ~inlier).sum()
    assert hits / model.outliers_.sum() >= 0.8, "precision"
    assert hits / (~inlier).sum() >= 0.8, "recall"


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.5])
def test_one_chunk_is_the_batch_sphere(fraction):
    X = np.random.default_rng(3).normal(size=(60, 2))
    model = ODISVC(q=0.7, outlier_fraction=fraction, chunk_size=60, random_state=0).fit(X)
    bound = 1 / max(1, fraction * 60)
    multipliers = batch_multipliers(X, 0.7, bound)
    kernel = rbf_kernel(X, gamma=0.7)
    distance = 1 - 2 * kernel @ multipliers + multipliers @ kernel @ multipliers
    np.testing.assert_allclose(model.squared_distance(X), distance, atol=1e-6)
    free = (multipliers > 1e-5) & (multipliers < bound - 1e-5)
    assert model.squared_radius_ == pytest.approx(distance[free].max(), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_chunks_without_outliers_reach_the_batch_sphere(seed):
    """Exact for C = 1 once the rescan finds no row outside."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 2))
    batch = smallest_sphere(X, np.arange(400), 0.5, 1.0)
    chunked = learn_sphere(X, rng.permutation(400), 0.5, 0.0, 100, 3000)
    assert not chunked.outside(X).any()
    assert chunked.squared_radius == pytest.approx(batch.squared_radius, abs=1e-6)


def test_outlier_fraction_bounds_the_outliers():
    X = np.random.default_rng(0).normal(size=(500, 3))
    shares = [ODISVC(q=0.1, outlier_fraction=p, random_state=0).fit(X).outliers_.mean() for p in (0.0, 0.05, 0.2)]
    assert shares[0] == 0
    assert 0 < shares[1] <= 0.05 < shares[2] <= 0.2


@pytest.mark.parametrize("max_points", [3000, 150])
def test_predict_repeats_the_labels(max_points):
    X, _ = with_outliers(rings, 400, 0)
    model = ODISVC(8.0, outlier_fraction=0.07, max_points=max_points, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_representatives_agree_with_all_rows():
    X, truth = with_outliers(rings, 2000, 0)
    whole, fewer = (ODISVC(6.0, outlier_fraction=0.08, max_points=m, random_state=0).fit(X) for m in (3000, 500))
    inlier = truth >= 0
    assert adjusted_rand_score(whole.labels_[inlier], fewer.labels_[inlier]) >= 0.95


def test_too_many_support_vectors_stop_the_learning():
    X = np.random.default_rng(0).normal(size=(300, 4))
    model = ODISVC(q=50.0, chunk_size=50, max_points=100, random_state=0).fit(X)
    assert 100 < len(model.support_) <= 150


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"q": 0}, "number"),
        ({"outlier_fraction": 1.5}, "number"),
        ({"chunk_size": 1}, "integer"),
        ({"max_points": 1}, "integer"),
    ],
)
def test_refuses_bad_parameters(parameters, code):
    with raises(code, *parameters):
        ODISVC(**parameters).fit(FIVE)


def test_constant_data_is_one_cluster_with_a_warning():
    with warns("equal-rows"):
        model = ODISVC().fit(np.ones((30, 2)))
    np.testing.assert_array_equal(model.labels_, np.zeros(30))


@parametrize_with_checks([ODISVC()])
def test_scikit_learn_conformance(estimator, check):
    check(estimator)
