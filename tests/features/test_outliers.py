import numpy as np
import pytest
from sklearn.datasets import make_moons

import quorate as qt
from quorate import ConsensusClustering
from quorate.errors import InputError, Setting
from quorate.features.outliers import Outliers


@pytest.fixture(scope="module")
def noisy():
    moons = make_moons(500, noise=0.05, random_state=0)[0]
    noise = np.random.default_rng(0).uniform([-2.0, -1.5], [3.0, 2.0], size=(50, 2))
    return np.concatenate([moons, noise])


@pytest.fixture(scope="module")
def fitted(noisy):
    return ConsensusClustering(2, outliers=True, random_state=0).fit(noisy)


def test_noise_has_no_cluster(fitted):
    outlier = fitted.labels_ == -1
    assert outlier[500:].mean() > 0.8
    assert outlier[:500].mean() < 0.05
    assert fitted.n_clusters_ == 2


def test_the_runner_up_of_an_outlier_is_the_cluster_it_would_have(fitted, noisy):
    outlier, certain = fitted.labels_ == -1, ConsensusClustering(2, random_state=0).fit(noisy)
    assert (fitted.runner_up_[outlier] == certain.labels_[outlier]).all()
    assert (fitted.confidence_[outlier] == 0).all()
    np.testing.assert_allclose(fitted.margin_[outlier], -certain.confidence_[outlier], atol=1e-6)
    assert (fitted.labels_[~outlier] == certain.labels_[~outlier]).all()


@pytest.mark.parametrize("fit_rows", ["auto", 300])
def test_predict_repeats_outliers(noisy, tmp_path, fit_rows):
    model = ConsensusClustering(2, outliers=True, fit_rows=fit_rows, random_state=0).fit(noisy)
    assert (model.predict(noisy) == model.labels_).all()
    assert (model.predict(noisy[100:103]) == model.labels_[100:103]).all()
    assert model.predict([[20.0, 20.0]])[0] == -1
    model.save(tmp_path / "model.npz")
    loaded = qt.load(tmp_path / "model.npz")
    shifted = noisy + 0.01
    assert (loaded.predict(shifted) == model.predict(shifted)).all()


def test_frames_and_files_have_the_same_outliers(noisy, tmp_path):
    import polars as pl

    frame = pl.DataFrame(noisy, schema=["x", "y"])
    frame.write_csv(tmp_path / "rows.csv")
    answered, model = qt.cluster_frame(frame, n_clusters=2, outliers=True, return_model=True)
    result = qt.cluster_file(tmp_path / "rows.csv", tmp_path / "out.csv", n_clusters=2, outliers=True)
    labels = answered["consensus"].to_numpy()
    assert (labels[500:] == -1).mean() > 0.8
    assert (pl.read_csv(tmp_path / "out.csv")["consensus"].to_numpy() == labels).all()
    assert result.sizes.sum() == (labels >= 0).sum()
    model.save(tmp_path / "model.npz")
    assert (qt.load(tmp_path / "model.npz").predict(frame) == labels).all()


def test_only_members_of_different_kinds_find_outliers(noisy):
    with pytest.raises(InputError) as error:
        ConsensusClustering(2, members="kmeans", outliers=True).fit(noisy)
    assert (error.value.code, error.value.parameter) == ("outliers-members", "outliers")
    assert Setting("members", "diverse") in error.value.hint  # the command writes it as a flag


def test_a_fitted_row_is_not_its_own_neighbor():
    line = np.arange(20.0)[:, None]
    outliers = Outliers.of(line, np.zeros(20, dtype=np.int64))
    assert outliers.sparsity(np.array([[0.0], [10.0], [10.5]])).tolist() == [9.0, 5.0, 4.5]


def test_limits_of_values_that_repeat():
    answers = np.random.default_rng(0).integers(1, 6, size=(300, 2)).astype(np.float64)
    assert np.isinf(Outliers.of(answers, np.zeros(300, dtype=np.int64)).limits).all()


def test_limits_follow_each_cluster():
    random = np.random.default_rng(0)
    dense, sparse = random.normal(size=(200, 2)), 20 * random.normal(size=(200, 2)) + 200
    outliers = Outliers.of(np.concatenate([dense, sparse]), np.repeat([0, 1], 200))
    assert outliers.limits[1] > 10 * outliers.limits[0]
    confidence = np.array([1.0, 1.0, 0.4], dtype=np.float32)
    labels = np.array([0, 1, -1], dtype=np.int32)
    assert outliers.find(np.array([[10.0, 0.0], [210.0, 200.0], [0.0, 0.0]]), labels, confidence).tolist() == [1, 0, 0]
