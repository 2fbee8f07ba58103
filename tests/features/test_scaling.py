import numpy as np
import pytest

import quorate as qt
from quorate.features.scaling import Moments, choose_scaling
from support import raises


def test_moments_of_blocks_add_up():
    X = np.random.default_rng(0).normal(3, 2, size=(40_000, 3))
    moments = Moments.of_rows(X)
    np.testing.assert_allclose(moments.mean, X.mean(axis=0))
    np.testing.assert_allclose(moments.deviation, X.std(axis=0))


@pytest.mark.parametrize(("factor", "standardized"), [(9.0, False), (11.0, True)])
def test_columns_in_different_units_are_standardized(factor, standardized):
    X = np.random.default_rng(0).normal(size=(1000, 2))
    X /= X.std(axis=0)
    scaling = choose_scaling("auto", Moments.of_rows(X * [1, factor]))
    deviations = scaling.apply(X * [1, factor]).std(axis=0)
    np.testing.assert_allclose(deviations, [1, 1] if standardized else [1, factor], rtol=1e-3)


def test_constant_columns_become_zero():
    X = np.column_stack([np.arange(50.0), np.full(50, 7.0)])
    for scale in ("auto", "standard", "minmax", "none"):
        assert not choose_scaling(scale, Moments.of_rows(X)).apply(X)[:, 1].any()


def test_values_that_are_nearly_0_are_not_called_constant():
    with raises("tiny-features"):
        qt.ConsensusClustering(2).fit(np.random.default_rng(0).normal(size=(50, 2)) * 1e-300)


def test_one_rule_for_arrays_and_frames():
    random = np.random.default_rng(0)
    truth = np.repeat([0, 1], 150)
    X = np.column_stack([truth * 12 + random.normal(size=300), 1e4 * random.normal(size=300)])
    for labels in (qt.ConsensusClustering(2, random_state=0).fit(X).labels_, qt.cluster_frame(X, n_clusters=2)):
        assert qt.evaluate(labels, truth).ari == 1
    raw = qt.ConsensusClustering(2, scale="none", random_state=0).fit(X)
    assert qt.evaluate(raw.labels_, truth).ari < 0.1
    model = qt.ConsensusClustering(2, members="kmeans", random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
