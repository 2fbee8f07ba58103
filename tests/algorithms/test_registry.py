"""`consensus`, its result, and the list of methods."""

import joblib
import numpy as np
import pytest

import quorate as qt
from quorate.benchmarking.contestants import make_contestant
from support import raises

LABELS = [np.arange(60) // 20, np.arange(60) // 15, np.arange(60) // 10, (np.arange(60) + 2) // 20 % 3]


@pytest.fixture
def result():
    return qt.consensus(LABELS, 3, "weac")


def test_result_is_a_view_of_the_fitted_estimator(result):
    fitted = result.estimator
    np.testing.assert_array_equal(result.labels, fitted.labels_)
    np.testing.assert_array_equal(result.member_weights, fitted.member_weights_)
    np.testing.assert_array_equal(result.trust, fitted.trust_)
    np.testing.assert_array_equal(result.ncai, fitted.ncai_)
    assert result.solution is fitted.solution_
    assert result.clusters is fitted.answer_.clusters
    assert repr(result).startswith("ConsensusResult(n_clusters=3, ensemble=Ensemble(")


def test_result_as_a_frame(result):
    frame = result.to_frame()
    assert list(frame.columns) == ["consensus", "confidence", "margin", "runner_up"]
    np.testing.assert_array_equal(frame["consensus"], result.labels)
    np.testing.assert_array_equal(frame["runner_up"], result.runner_up)


def test_result_can_be_saved(result, tmp_path):
    qt.save(result, tmp_path / "result.npz")
    loaded = qt.load(tmp_path / "result.npz")
    np.testing.assert_array_equal(loaded.labels_, result.labels)


@pytest.mark.parametrize("source", ["result", "estimator"])
def test_functions_of_an_ensemble_take_results(result, source):
    given = result if source == "result" else result.estimator
    np.testing.assert_array_equal(qt.trust(given), qt.trust(LABELS))
    np.testing.assert_array_equal(qt.agreement(given), qt.agreement(LABELS))
    assert qt.choose_k(given).n_clusters == qt.choose_k(LABELS).n_clusters
    assert qt.evaluate(given, LABELS[0]) == qt.evaluate(result.labels, LABELS[0])


def test_sweep_takes_one_number_or_several(result):
    np.testing.assert_array_equal(result.sweep(3), result.labels[:, None])
    np.testing.assert_array_equal(result.sweep([2, 3])[:, 1], result.labels)
    assert result.sweep([]).shape == (60, 0)
    with raises("integer", "n_clusters"):
        result.sweep(0)


@pytest.mark.parametrize("method", [info.name for info in qt.methods()])
def test_defaults_are_the_same_in_all_methods(method):
    info = next(info for info in qt.methods() if info.name == method)
    parameters = info.estimator().get_params()
    assert parameters["n_clusters"] == "auto"
    assert parameters.get("random_state", 0) == 0


def test_unknown_methods_and_parameters_are_rejected():
    with raises("choice", "method"):
        qt.consensus(LABELS, 3, "weca")
    with raises("unknown-parameter"):
        qt.consensus(LABELS, 3, "weac", linkag="single")
    with raises("anndata-only", "keys"):
        qt.consensus(LABELS, 3, keys=["a"])


def test_default_method_takes_part_in_comparisons():
    contestant = make_contestant("auto")
    labels = np.stack(LABELS, axis=1)
    np.testing.assert_array_equal(contestant.answer(labels, [3], 0)[:, 0], qt.consensus(labels, 3).labels)


def test_consensus_in_one_call(noisy_blobs):
    result = qt.consensus(noisy_blobs, 5, method="weac", linkage="single")
    fitted = qt.WEAC(n_clusters=5, linkage="single").fit(noisy_blobs)
    assert np.array_equal(result.labels, fitted.labels_)
    assert np.array_equal(result.confidence, fitted.confidence_)
    assert result.n_clusters == 5
    assert result.clusters == fitted.clusters_
    assert result.method == "weac"
    assert result.params == {"linkage": "single"}
    assert qt.consensus(noisy_blobs).n_clusters == qt.GPMGLA(n_clusters="auto").fit(noisy_blobs).n_clusters_
    with raises("choice", "method"):
        qt.consensus(noisy_blobs, method="gpmgla")
    with raises("unknown-parameter"):
        qt.consensus(noisy_blobs, method="weac", link="single")


def test_registry_describes_every_method():
    for info in qt.methods():
        assert info.estimator(n_clusters=2).get_params().keys() == {*info.parameters, "n_clusters"}
        assert info.citation
        assert info.cost


def test_result_can_be_swept_predicted_and_pickled(tmp_path):
    ens = qt.Ensemble([[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1]])
    result = qt.consensus(ens, 2, "weac", linkage="single")
    assert np.array_equal(result.estimator.labels_, result.labels)
    assert np.array_equal(result.sweep([2])[:, 0], result.labels)
    joblib.dump(result, tmp_path / "result.joblib")
    loaded = joblib.load(tmp_path / "result.joblib")
    new = np.array([[0, 0, 0], [1, 2, 1]])
    assert np.array_equal(loaded.predict(new), result.estimator.predict(new))
    assert np.array_equal(loaded.sweep([2, 3]), result.sweep([2, 3]))
