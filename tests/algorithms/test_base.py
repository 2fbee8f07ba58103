"""What every estimator over labels promises, shown on WEAC and GP-MGLA."""

import pickle
import warnings
from contextlib import contextmanager

import numba
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import oracles
import quorate as qt
from quorate.ensemble import Ensemble
from support import raises, warns


@contextmanager
def quiet():
    """Ignore our warnings: random ensembles are full of what they warn of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qt.QuorateWarning)
        yield


METHODS = [qt.WEAC, qt.GPMGLA]
both = pytest.mark.parametrize("method", METHODS)


@both
def test_shuffled_rows_get_the_same_labels(method, noisy_blobs):
    order = np.random.default_rng(1).permutation(len(noisy_blobs))
    labels = method(n_clusters=5).fit_predict(noisy_blobs)
    assert np.array_equal(method(n_clusters=5).fit_predict(noisy_blobs[order]), labels[order])


@both
@given(labels=oracles.label_matrices(missing=True))
def test_shuffled_rows_get_the_very_same_labels_on_random_ensembles(method, labels):
    k = 2
    assume(method is qt.WEAC or Ensemble(list(labels.T)).n_clusters >= k)
    order = np.random.default_rng(0).permutation(len(labels))
    with quiet():
        one = method(n_clusters=k).fit(list(labels.T))
        other = method(n_clusters=k).fit(list(labels[order].T))
    assert np.array_equal(one.labels_[order], other.labels_)
    assert np.array_equal(one.confidence_[order], other.confidence_)


@both
def test_shuffled_rows_of_a_generated_ensemble(generated, method):
    labels = generated
    order = np.random.default_rng(0).permutation(len(labels))
    ks = [2, 5, 10, 20]
    assert np.array_equal(
        method(n_clusters=4).fit(labels).sweep(ks)[order], method(n_clusters=4).fit(labels[order]).sweep(ks)
    )


@both
def test_renamed_labels_and_reordered_members_give_the_same_partition(generated, method):
    labels = generated
    renamed = np.array([f"c{(7 * x) % 97:02d}" for x in labels.ravel()]).reshape(labels.shape)[:, ::-1]
    for k in (4, 11):
        one, other = (method(n_clusters=k).fit_predict(some) for some in (labels, renamed))
        assert oracles.partition(one) == oracles.partition(other)


@both
def test_number_of_threads_does_not_matter(method):
    random = np.random.default_rng(0)
    labels = random.integers(0, 6, (40_000, 5)) + (np.arange(40_000) // 8000)[:, None]
    threads = numba.get_num_threads()
    try:
        found = []
        for n in (1, threads):
            numba.set_num_threads(n)
            found.append(method(n_clusters=5).fit_predict(labels))
    finally:
        numba.set_num_threads(threads)
    assert np.array_equal(*found)


@both
@given(labels=oracles.label_matrices(missing=True))
def test_exactly_k_clusters_or_as_many_as_patterns(method, labels):
    ens = Ensemble(list(labels.T))
    with quiet():
        fitted = method(n_clusters=1).fit(ens)
        sweep = fitted.sweep(range(1, 7))
        for j, k in enumerate(range(1, 7)):
            n_found = len(np.unique(sweep[sweep[:, j] >= 0, j]))
            n_known = (fitted.pattern_labels_ >= 0).sum()
            assert n_found <= min(k, n_known)
            if method is qt.WEAC:
                assert n_found == min(k, n_known)
            if k <= len(labels) and (method is qt.WEAC or k <= ens.n_clusters):
                assert np.array_equal(method(n_clusters=k).fit_predict(ens), sweep[:, j])


@both
@given(labels=oracles.label_matrices(missing=True))
def test_predicting_the_training_labels_gives_the_labels_and_no_nan_appears(method, labels):
    members = list(labels.T)
    ens = Ensemble(members)
    with quiet():
        fitted = method(n_clusters="auto").fit(ens)
    assert np.array_equal(fitted.predict(members), fitted.labels_)
    for array in (fitted.confidence_, fitted.ncai_, fitted.member_weights_):
        assert np.all((array >= 0) & (array <= 1))
    assert fitted.member_weights_.sum() == pytest.approx(1)


@both
@given(labels=oracles.label_matrices(missing=True, max_rows=12))
def test_confidence_is_the_share_of_votes_for_the_cluster(method, labels):
    with quiet():
        fitted = method(n_clusters=min(2, Ensemble(list(labels.T)).n_clusters)).fit(list(labels.T))
    expected = oracles.certainty(labels, fitted.member_weights_, fitted.labels_)[0]
    assert fitted.confidence_ == pytest.approx(expected, abs=1e-9)


@both
def test_new_rows_join_the_nearest_cluster(method, noisy_blobs):
    fitted = method(n_clusters=5).fit(noisy_blobs)
    known = noisy_blobs[3].copy()
    partly = known.copy()
    partly[0] = 99  # a value never seen counts as missing
    unknown = np.full(5, np.nan)
    found = fitted.predict(np.stack([known, partly, unknown]))
    assert found.tolist() == [fitted.labels_[3], fitted.labels_[3], -1]
    with raises("different-members"):
        fitted.predict(noisy_blobs[:, :2])


@both
def test_unanimous_members_give_their_partition(method):
    truth = np.repeat([3, 1, 2], [5, 4, 3])
    fitted = method(n_clusters=3).fit([truth, truth, truth])
    assert fitted.labels_.tolist() == [0] * 5 + [1] * 4 + [2] * 3
    assert fitted.ncai_.tolist() == [1.0] * 3
    assert fitted.confidence_.tolist() == [1.0] * 12


@both
@pytest.mark.parametrize(
    "labels",
    [
        [[0, 0, 0, 0], [0, 0, 0, 0]],
        [[0, 1, 2, 3], [0, 1, 2, 3]],
        [[0, 1, 1, 0]],
        [[0, 1], [0, 0]],
        [[0]],
        [[0, 1, 0, 1, 2], [0, 0, 0, 0, 0], [0, 1, 2, 3, 4]],
    ],
)
@pytest.mark.parametrize("k", [1, 2, "auto"])
def test_degenerate_ensembles(method, labels, k):
    ens = Ensemble(labels)
    if k == 2 and (ens.n_rows < 2 or (method is qt.GPMGLA and ens.n_clusters < 2)):
        with pytest.raises(qt.QuorateError):
            method(n_clusters=k).fit(ens)
        return
    with quiet():
        fitted = method(n_clusters=k).fit(ens)
    assert np.all(np.isfinite(fitted.confidence_))
    assert fitted.labels_.min() == 0
    if k != "auto":
        assert fitted.n_clusters_ == min(k, ens.n_patterns)


@both
def test_fewer_patterns_than_clusters_warns(method):
    with warns("fewer-clusters"):
        fitted = method(n_clusters=3).fit([[0, 0, 1, 1], [0, 0, 1, 1]])
    assert fitted.n_clusters_ == 2


@both
def test_rows_without_labels_warn(method):
    with warns("rows-without-labels"):
        fitted = method(n_clusters=2).fit([[0, 0, 1, 1, None], [0, 0, 1, 1, None]])
    assert fitted.labels_.tolist() == [0, 0, 1, 1, -1]
    assert fitted.confidence_[-1] == 0
    assert fitted.n_clusters_ == 2


@both
def test_scikit_learn_conventions(method, noisy_blobs):
    default = method()
    assert default.get_params()["n_clusters"] == "auto"
    copy = clone(method(n_clusters=4, beta=1.0))
    assert copy.get_params()["beta"] == 1.0
    assert not hasattr(copy, "labels_")
    copy.set_params(n_clusters=5, weights="equal")
    fitted = copy.fit(noisy_blobs)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.labels_, fitted.labels_)
    assert np.array_equal(again.sweep([3]), fitted.sweep([3]))
    assert fitted.fit(noisy_blobs) is fitted


@both
@pytest.mark.filterwarnings("ignore:The eigengap")  # one member alone cannot tell its clusters from one more
def test_given_weights(method, noisy_blobs):
    one_only = method(n_clusters=5, weights=[0, 0, 3, 0, 0]).fit(noisy_blobs[~np.isnan(noisy_blobs[:, 2])])
    assert one_only.member_weights_.tolist() == [0, 0, 1, 0, 0]
    equal, given_equal = (method(n_clusters=5, weights=w).fit_predict(noisy_blobs) for w in ("equal", [0.2] * 5))
    assert np.array_equal(equal, given_equal)


def test_frames_are_accepted_and_clusters_described(noisy_blobs):
    frame = pd.DataFrame(noisy_blobs, columns=list("abcde"))
    fitted = qt.WEAC(n_clusters=5).fit(frame)
    table = pd.DataFrame(fitted.clusters_)
    assert table["label"].tolist() == [0, 1, 2, 3, 4]
    assert table["size"].sum() == 200
    assert table["size"].is_monotonic_decreasing
    assert table["stability"].between(0.3, 1).all()
    name, share = fitted.clusters_[0].opponents[0]
    column = noisy_blobs[fitted.labels_ == 0][:, list("abcde").index(name)]
    column = column[~np.isnan(column)]
    pairs = [(x, y) for i, x in enumerate(column) for y in column[i + 1 :]]
    assert share == pytest.approx(np.mean([x != y for x, y in pairs]))


@pytest.mark.parametrize("weight", [0.1, 1, 10])
def test_opponents_do_not_depend_on_the_unit_of_weight(noisy_blobs, weight):
    plain = qt.WEAC(n_clusters=4).fit(qt.Ensemble(noisy_blobs))
    weighted = qt.WEAC(n_clusters=4).fit(qt.Ensemble(noisy_blobs, row_weights=np.full(len(noisy_blobs), weight)))
    for mine, other in zip(plain.clusters_, weighted.clusters_, strict=True):
        assert [name for name, _ in mine.opponents] == [name for name, _ in other.opponents]
        assert np.allclose([share for _, share in mine.opponents], [share for _, share in other.opponents])


def test_new_rows_are_matched_by_the_names_of_members(noisy_blobs):
    frame = pd.DataFrame(noisy_blobs, columns=list("abcde"))
    fitted = qt.WEAC(n_clusters=4).fit(frame)
    assert np.array_equal(fitted.predict(frame[list("edcba")]), fitted.labels_)
    assert np.array_equal(fitted.predict(noisy_blobs), fitted.labels_)
    assert fitted.predict(frame[:0]).shape == (0,)
    with raises("different-members"):
        fitted.predict(frame.rename(columns={"e": "f"}))


@pytest.mark.parametrize("method", [qt.GPMGLA, qt.WEAC])
def test_all_weight_on_a_member_that_labels_nothing(method):
    with pytest.warns(qt.QuorateWarning) as said:
        fitted = method(2, weights=[0, 1]).fit([[0, 1, 0, 2], [None] * 4])
    assert said[0].message.code == "rows-without-labels"
    assert fitted.labels_.tolist() == [-1] * 4
    assert fitted.predict([[0, 1], [5, None]]).tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"n_clusters": 0}, "integer"),
        ({"n_clusters": 2.5}, "number-of-clusters"),
        ({"n_clusters": "three"}, "number-of-clusters"),
        ({"n_clusters": None}, "number-of-clusters"),
        ({"n_clusters": 7}, "more-clusters-than-rows"),
        ({"beta": -0.1}, "number"),
        ({"beta": float("nan")}, "number"),
        ({"normalize": "root"}, "choice"),
        ({"weights": "ncia"}, "choice"),
        ({"weights": [1, 2]}, "member-weights"),
        ({"weights": [1, 2, np.nan]}, "member-weights"),
        ({"weights": [0, 0, 0]}, "member-weights"),
        ({"weights": object()}, "member-weights"),
    ],
)
@both
def test_invalid_parameters_raise(running_example, method, params, code):
    (parameter,) = params
    with raises(code, parameter):
        method(**{"n_clusters": 2, **params}).fit(running_example)


@pytest.mark.parametrize(
    ("method", "parameter", "value", "code"),
    [
        (qt.WEAC, "linkage", "avrage", "choice"),
        (qt.GPMGLA, "alpha", 0, "number"),
        (qt.GPMGLA, "init", "heavy", "choice"),
        (qt.GPMGLA, "n_init", 0, "integer"),
    ],
)
def test_invalid_parameters_of_one_method_raise(running_example, method, parameter, value, code):
    with raises(code, parameter):
        method(n_clusters=2, **{parameter: value}).fit(running_example)


def test_warnings_point_at_the_users_line():
    gaps = [[0, 0, 1, 1, None]]
    for call in (
        lambda: qt.WEAC(2).fit(gaps),
        lambda: qt.WEAC(2).fit_predict(gaps),
        lambda: qt.consensus(gaps, 2),
        lambda: make_pipeline(qt.WEAC(2)).fit(gaps),
        lambda: clone(qt.GPMGLA(2)).fit(gaps),
    ):
        with pytest.warns(qt.QuorateWarning) as caught:
            call()
        assert {warning.filename for warning in caught} == {__file__}


@both
def test_fitted_attributes_before_fit_raise(method):
    unfitted = method(n_clusters=2)
    with pytest.raises(
        AttributeError, match=f"This {method.__name__} is not fitted yet, so it has no labels_. Call fit"
    ):
        _ = unfitted.labels_
    with pytest.raises(AttributeError, match="object has no attribute 'nonsense'"):
        _ = unfitted.nonsense
    assert not hasattr(unfitted, "labels_")
