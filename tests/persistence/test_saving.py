"""Fitted models in files: they come back as they were, and damaged or foreign files are refused with one message."""

import json

import numpy as np
import pytest

import quorate as qt
from quorate.persistence.archive import array_text, text_array
from support import raises


@pytest.fixture(scope="module")
def ensemble():
    random = np.random.default_rng(0)
    truth = random.integers(3, size=80)
    labels = [np.where(random.random(80) < 0.2, random.integers(3, size=80), truth) for _ in range(5)]
    labels[1] = np.array(["a", "b", "c"])[labels[1]]
    labels[2] = [None if j % 9 == 0 else int(label) for j, label in enumerate(labels[2])]
    return qt.Ensemble(labels, names=[*"vwxyz"], row_weights=1.0 + random.integers(3, size=80))


@pytest.mark.parametrize("method", [method.name for method in qt.methods()])
@pytest.mark.filterwarnings("ignore::quorate.QuorateWarning")
def test_every_method_comes_back(ensemble, tmp_path, method):
    fitted = qt.consensus(ensemble, 3, method).estimator
    fitted.save(tmp_path / "fitted.npz")
    loaded = qt.load(tmp_path / "fitted.npz")
    assert type(loaded) is type(fitted)
    assert json.dumps(loaded.get_params()) == json.dumps(fitted.get_params())  # tuples come back as lists
    np.testing.assert_array_equal(loaded.labels_, fitted.labels_)
    np.testing.assert_allclose(loaded.confidence_, fitted.confidence_)
    np.testing.assert_array_equal(loaded.runner_up_, fitted.runner_up_)
    np.testing.assert_array_equal(loaded.member_weights_, fitted.member_weights_)
    assert loaded.ensemble_.names == ensemble.names
    np.testing.assert_array_equal(loaded.ensemble_.patterns, ensemble.patterns)
    np.testing.assert_array_equal(loaded.ensemble_.counts, ensemble.counts)
    new = [[0, 2], ["a", "c"], [None, 1], [0, 1], [7, 2]]
    np.testing.assert_array_equal(loaded.predict(new), fitted.predict(new))
    np.testing.assert_array_equal(loaded.sweep([2, 3]), fitted.sweep([2, 3]))
    if hasattr(fitted, "objective_"):
        assert loaded.objective_ == pytest.approx(fitted.objective_)


def test_a_table_of_patterns_has_no_rows(ensemble, tmp_path):
    qt.save(ensemble, tmp_path / "folder")
    fitted = qt.WEAC(3).fit(qt.load(tmp_path / "folder"))
    qt.save(fitted, tmp_path / "fitted.npz")
    loaded = qt.load(tmp_path / "fitted.npz")
    np.testing.assert_array_equal(loaded.pattern_labels_, fitted.pattern_labels_)
    with raises("patterns-only"):
        _ = loaded.labels_
    assert loaded.dendrogram_.max_clusters == fitted.dendrogram_.max_clusters


@pytest.fixture(scope="module")
def points():
    random = np.random.default_rng(0)
    return random.normal(size=(900, 3)) + 8 * random.integers(3, size=(900, 1))


# Two random starts of a spectral member can be rows that are equal up to rounding, which differs between versions.
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.parametrize("fit_rows", [None, 60])
@pytest.mark.parametrize("members", ["diverse", "kmeans", "rpcl", "spectral"])
def test_clusterings_of_features_come_back(points, tmp_path, members, fit_rows):
    fitted = qt.ConsensusClustering(
        3, members=members, n_members=3, fit_rows=fit_rows, k_range=(3, 9), method=qt.WEAC(beta=1.0), random_state=0
    ).fit(points)
    fitted.save(tmp_path / "model.npz")
    loaded = qt.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.labels_, fitted.labels_)
    np.testing.assert_allclose(loaded.confidence_, fitted.confidence_)
    np.testing.assert_allclose(loaded.margin_, fitted.margin_)
    np.testing.assert_array_equal(loaded.runner_up_, fitted.runner_up_)
    np.testing.assert_array_equal(loaded.predict(points), fitted.predict(points))
    np.testing.assert_array_equal(loaded.examined_, fitted.examined_)
    assert (loaded.n_clusters_, loaded.n_features_in_) == (3, 3)
    assert loaded.method.beta == 1.0
    with raises("features"):
        loaded.predict(points[:, :2])


def test_names_of_features_come_back(points, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(points, columns=["a", "b", "c"])
    qt.ConsensusClustering(3, n_members=3, random_state=0).fit(frame).save(tmp_path / "model.npz")
    loaded = qt.load(tmp_path / "model.npz")
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c"]
    with raises("features"):
        loaded.predict(frame.rename(columns={"a": "z"}))


def test_uspec_comes_back(points, tmp_path):
    fitted = qt.USPEC(3, n_landmarks=50, random_state=1).fit(points)
    fitted.save(tmp_path / "model.npz")
    loaded = qt.load(tmp_path / "model.npz")
    assert loaded.get_params() == fitted.get_params()
    np.testing.assert_array_equal(loaded.labels_, fitted.labels_)
    np.testing.assert_array_equal(loaded.predict(points), fitted.labels_)


def test_what_cannot_be_saved_is_reported(points, tmp_path):
    from sklearn.cluster import KMeans

    with raises("not-savable"):
        qt.ConsensusClustering(3, members=KMeans(3), n_members=2).fit(points).save(tmp_path / "model.npz")
    with raises("not-savable"):
        qt.ConsensusClustering(3, members="hmac", n_members=2, random_state=0).fit(points).save(tmp_path / "model.npz")
    with raises("output-folder"):
        qt.USPEC(3, random_state=0).fit(points).save(tmp_path)
    with raises("cannot-write"):
        qt.USPEC(3, random_state=0).fit(points).save(tmp_path / "nowhere" / "model.npz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("codes", lambda codes: codes + 9),
        ("codes", lambda codes: codes[:, :-1]),
        ("codes", lambda codes: codes * 0),
        ("row_counts", lambda counts: -counts),
        ("row_pattern", lambda rows: rows + 1),
        ("pattern_labels", lambda labels: labels[1:]),
        ("pattern_labels", lambda labels: labels * 2),
        ("member_weights", lambda weights: weights[1:]),
        ("names", lambda names: text_array(["a"])),
        ("noise", lambda noise: text_array("loud")),
        ("levels_0", lambda levels: np.array([{}, {}, {}], dtype=object)),
        ("levels_1", lambda levels: levels[:3]),
        ("manifest", lambda text: text_array({**array_text(text), "kind": "no such"})),
        ("manifest", lambda text: text_array({**array_text(text), "parameters": {"bata": 1}})),
        ("manifest", lambda text: text_array([1, 2])),
    ],
)
def test_damaged_files_are_refused(ensemble, tmp_path, name, change):
    path = tmp_path / "fitted.npz"
    qt.WEAC(3).fit(ensemble).save(path)
    with np.load(path) as arrays:
        kept = dict(arrays)
    np.savez(path, **{**kept, name: change(kept[name])})
    with raises("damaged-model"):
        qt.load(path)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"version": 2}, "saved-format"),
        ({"method": "mine"}, "unknown-method"),
    ],
)
def test_a_file_of_another_version_or_method_is_refused(ensemble, tmp_path, change, code):
    path = tmp_path / "fitted.npz"
    qt.WEAC(3).fit(ensemble).save(path)
    with np.load(path) as arrays:
        kept = dict(arrays)
    manifest = {**json.loads(kept["manifest"].tobytes()), **change}
    np.savez(path, **{**kept, "manifest": text_array(manifest)})
    with raises(code):
        qt.load(path)


def test_a_result_is_saved_as_its_estimator(ensemble, tmp_path):
    result = qt.consensus(ensemble, 3, "weac")
    qt.save(result, tmp_path / "result.npz")
    loaded = qt.load(tmp_path / "result.npz")
    np.testing.assert_array_equal(loaded.labels_, result.labels)
    with raises("not-savable", parameter="fitted"):
        qt.save([0, 1], tmp_path / "other.npz")
