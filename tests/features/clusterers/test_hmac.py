import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from quorate import datasets
from quorate.features import HMAC
from quorate.features.clusterers.hmac import bandwidth_ladder, longest_lived, mode_hierarchy
from quorate.features.clusterers.mode_ascent import Density, climb, mean_shift, merge_close
from support import raises, warns

THREE = np.array([[0.0], [1.0], [5.0]])


def unequal_blobs(seed):
    """Three blobs of very different size and width."""
    rng = np.random.default_rng(seed)
    parts = [
        rng.normal(center, sd, size=(n, 2))
        for center, sd, n in (((0, 0), 1.0, 300), ((7, 0), 0.5, 100), ((3, 7), 0.7, 40))
    ]
    return np.concatenate(parts), np.repeat([0, 1, 2], [300, 100, 40])


@pytest.mark.parametrize(
    ("n_features", "expected"),
    [
        (4, [0.431, 0.460, 0.494, 0.533, 0.581, 0.638, 0.711, 0.806, 0.937, 1.133]),
        (9, [0.676, None, None, None, None, None, None, None, None, 1.194]),
        (16, [0.853, None, None, None, None, None, None, None, None, 1.230]),
    ],
)
def test_bandwidth_ladder(n_features, expected):
    ladder = bandwidth_ladder(n_features, 10)
    known = [level for level, value in enumerate(expected) if value is not None]
    np.testing.assert_allclose(ladder[known], [expected[level] for level in known], atol=6e-4)
    assert (np.diff(ladder) > 0).all()


def test_bandwidth_ladder_survives_many_features():
    ladder = bandwidth_ladder(5000, 10)
    assert np.isfinite(ladder).all()
    assert (np.diff(ladder) > 0).all()


def test_two_steps_by_hand():
    density = Density(THREE, np.ones(3), 1.0)
    first = mean_shift(np.zeros((1, 1)), density)
    np.testing.assert_allclose(first, [[0.377551]], atol=1e-6)
    np.testing.assert_allclose(mean_shift(first, density), [[0.469485]], atol=1e-6)


@pytest.mark.parametrize(("bandwidth", "modes"), [(0.3, [0.0040, 0.9960, 5]), (1.0, [0.5001, 4.9986]), (2.0, [0.7454])])
def test_modes_by_hand(bandwidth, modes):
    found = mode_hierarchy(THREE, np.ones(3), np.array([bandwidth])).modes[0]
    np.testing.assert_allclose(found.ravel(), modes, atol=1e-4)


def test_modes_at_a_bifurcation_are_one():
    hierarchy = mode_hierarchy(THREE, np.ones(3), np.array([0.5]))
    np.testing.assert_array_equal(hierarchy.groups[0], [0, 0, 1])


def test_a_tiny_bandwidth_does_not_underflow():
    ends = climb(THREE + 1e-4, Density(THREE, np.ones(3), 1e-6))
    np.testing.assert_allclose(ends, THREE, atol=1e-9)


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(0)
    centers, starts = rng.normal(size=(20, 3)), rng.normal(size=(7, 3))
    counts = rng.integers(1, 5, size=20)
    weighted = climb(starts, Density(centers, counts.astype(float), 0.8))
    repeated = climb(starts, Density(np.repeat(centers, counts, axis=0), np.ones(counts.sum()), 0.8))
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)


def test_climbers_end_where_the_gradient_vanishes():
    rng = np.random.default_rng(1)
    density = Density(rng.normal(size=(150, 2)), np.ones(150), 0.4)
    ends = climb(density.centers, density)
    np.testing.assert_allclose(mean_shift(ends, density), ends, atol=1e-2 * density.bandwidth)


def test_merge_close_links_chains():
    points = np.array([[0.0], [0.9], [5.0], [1.8], [5.5], [9.0]])
    np.testing.assert_array_equal(merge_close(points, 1.0), [0, 0, 1, 0, 1, 2])


@pytest.mark.parametrize(
    ("n_clusters", "level"), [([9, 5, 3, 3, 3, 2, 1, 1, 1, 1], 2), ([9, 5, 5, 3, 3, 1], 3), ([9, 1, 1], 1), ([1], 0)]
)
def test_the_longest_lived_level(n_clusters, level):
    assert longest_lived(np.array(n_clusters), 9) == level


@pytest.mark.parametrize("seed", range(4))
def test_unequal_blobs_are_found_over_a_range_of_levels(seed):
    X, truth = unequal_blobs(seed)
    model = HMAC(np.geomspace(0.3, 6, 15)).fit(X)
    right = [level for level in range(15) if adjusted_rand_score(truth, model.labels_at(level)) >= 0.95]
    assert len(right) >= 3
    assert model.level_ in right
    assert adjusted_rand_score(truth, model.labels_) >= 0.95
    assert model.n_clusters_ == len(model.cluster_centers_) == model.n_clusters_by_level_[model.level_]


@settings(max_examples=25, deadline=None)
@given(X=arrays(np.float64, st.tuples(st.integers(3, 25), st.integers(1, 3)), elements=st.integers(-9, 9).map(float)))
def test_levels_are_nested(X):
    if np.ptp(X, axis=0).max() == 0:
        X[0] += 1
    model = HMAC(6).fit(X)
    for level in range(5):
        fine, coarse = model.labels_at(level), model.labels_at(level + 1)
        assert len(np.unique(np.column_stack([fine, coarse]), axis=0)) == len(np.unique(fine))
    assert (np.diff(model.n_clusters_by_level_) <= 0).all()


def test_row_order_changes_nothing():
    X, _ = unequal_blobs(5)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(HMAC().fit(X[order]).labels_, HMAC().fit(X).labels_[order])


@pytest.mark.parametrize("max_points", [3000, 100])
def test_predict_repeats_the_labels(max_points):
    X, _ = unequal_blobs(2)
    model = HMAC(np.geomspace(0.3, 6, 15), max_points=max_points, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(
        model.predict([[0.0, 0.3], [7.0, 0.2]]), model.labels_[[np.argmin(np.abs(X).sum(1)), 350]]
    )


def test_a_requested_level_is_shown():
    X, _ = unequal_blobs(0)
    model = HMAC([0.5, 1.0, 2.0], level=1).fit(X)
    assert model.level_ == 1
    np.testing.assert_array_equal(model.labels_, model.labels_at(1))
    np.testing.assert_array_equal(model.bandwidths_, [0.5, 1.0, 2.0])
    other = HMAC([0.5, 1.0, 2.0], level=2).fit(X)
    assert model.show(2).n_clusters_ == other.n_clusters_
    np.testing.assert_array_equal(model.labels_, other.labels_)
    np.testing.assert_array_equal(model.cluster_centers_, other.cluster_centers_)


def test_representatives_agree_with_all_rows():
    """Image Segmentation: a merger of two large clusters may fall one rung of the ladder later."""
    X = StandardScaler().fit_transform(datasets.load("image_segmentation").features)
    exact, fewer = HMAC().fit(X), HMAC(max_points=1000, random_state=0).fit(X)
    ari = np.array(
        [[adjusted_rand_score(exact.labels_at(a), fewer.labels_at(b)) for b in range(10)] for a in range(10)]
    )
    assert (np.diag(ari) >= 0.9).sum() >= 9
    matched = [ari[level, max(0, level - 1) : level + 2].max() for level in range(10)]
    assert min(matched) >= 0.9


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"bandwidths": 0}, "integer"),
        ({"bandwidths": [1.0, 0.5]}, "bandwidths"),
        ({"bandwidths": [0.0, 0.5]}, "bandwidths"),
        ({"bandwidths": []}, "bandwidths"),
        ({"level": 10}, "integer"),
        ({"max_points": 1}, "integer"),
    ],
)
def test_refuses_bad_parameters(parameters, code):
    with raises(code, *parameters):
        HMAC(**parameters).fit(unequal_blobs(0)[0])


def test_constant_data_is_one_cluster_with_a_warning():
    with warns("equal-rows"):
        model = HMAC().fit(np.ones((10, 2)))
    np.testing.assert_array_equal(model.labels_, np.zeros(10))


@parametrize_with_checks([HMAC(), HMAC(max_points=10)])
def test_scikit_learn_conformance(estimator, check):
    check(estimator)
