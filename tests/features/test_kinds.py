import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

import quorate as qt
from quorate import ConsensusClustering
from quorate.features.kinds import (
    DiverseClusterings,
    KindCandidate,
    best_candidates,
    choose_by_kinds,
    pack_choice,
    unpack_choice,
)
from quorate.features.sampling import kinds_fit_rows

NINE = (
    "k-means 1",
    "k-means 2",
    "Genie 0.1",
    "Genie 0.3",
    "Genie 0.5",
    "spectral",
    "Gaussian mixture 1",
    "Gaussian mixture 2",
    "HDBSCAN",
)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(600, centers=5, random_state=2, cluster_std=0.6)


@pytest.fixture(scope="module")
def fitted(blobs):
    return ConsensusClustering(random_state=0).fit(blobs[0])


def test_members_of_nine_kinds(fitted, blobs):
    assert fitted.n_clusters_ == 5
    assert adjusted_rand_score(fitted.labels_, blobs[1]) > 0.97
    assert fitted.ensemble_.names == NINE
    assert len(fitted.members_) == 20  # of k-means


def test_the_answer_is_that_of_the_number_given(fitted, blobs):
    given = ConsensusClustering(5, random_state=0).fit(blobs[0])
    np.testing.assert_array_equal(given.labels_, fitted.labels_)
    assert given.choice_ == fitted.choice_  # found when it is read


def test_the_choice_shows_the_agreement_of_kinds(fitted):
    choice = fitted.choice_
    assert [candidate.n_clusters for candidate in choice.curve] == list(range(2, 33))
    best = choice.candidates[0]
    assert best.n_clusters == choice.n_clusters == 5
    assert best.score == max(candidate.score for candidate in choice.curve)
    assert best.score == pytest.approx(best.agreement + best.density)
    assert set(best.support) == {"k-means", "Genie 0.1", "Genie 0.3", "Genie 0.5", "spectral"}
    assert min(best.support.values()) > 0.9
    assert choice.sentence.startswith("5 clusters: different kinds of clusterings agree on them (mean ARI ")
    again = unpack_choice(pack_choice(choice))
    assert (again.n_clusters, again.sentence) == (choice.n_clusters, choice.sentence)
    assert [candidate.support for candidate in again.candidates] == [one.support for one in choice.candidates]


@pytest.mark.parametrize("make", [make_moons, lambda n, **how: make_circles(n, factor=0.4, **how)])
def test_groups_of_any_shape(make):
    X, truth = make(500, noise=0.05, random_state=1)
    model = ConsensusClustering(random_state=0).fit(X)
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(model.labels_, truth) > 0.98


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [(400, 2), (300, 8)])
def test_one_group_is_one_cluster(shape, seed):
    X = np.random.default_rng(seed).normal(size=shape)
    model = ConsensusClustering(random_state=0).fit(X)
    assert model.n_clusters_ == 1
    assert not model.labels_.any()
    assert not model.predict(X[:10] + 0.1).any()
    assert model.choice_.sentence.startswith("One cluster: no evidence of more.")
    # The figure of the sentence is that of the curve, which is shown next to it.
    largest = max(candidate.agreement for candidate in model.choice_.curve)
    assert f"agree too little (mean ARI at most {largest:.2f})" in model.choice_.sentence
    assert model.structure_.p_value >= 0.05
    assert ConsensusClustering(3, random_state=0).fit(X).n_clusters_ == 3


def test_equal_rows_are_in_the_same_cluster():
    random = np.random.default_rng(0)
    X = np.round(np.concatenate([random.normal(0, 1, (300, 2)), random.normal(7, 1, (300, 2))]))
    model = ConsensusClustering(random_state=0).fit(X)
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(model.labels_, np.repeat([0, 1], 300)) > 0.98
    _, which = np.unique(X, axis=0, return_inverse=True)
    for members in model.ensemble_.patterns[model.ensemble_.row_pattern].T:
        assert len(np.unique(np.stack([which.ravel(), members]), axis=1).T) == which.max() + 1


def test_rows_beyond_the_sample_and_new_rows(blobs):
    X, truth = make_moons(3000, noise=0.05, random_state=0)
    model = ConsensusClustering(2, fit_rows=500, random_state=0).fit(X)
    assert model.ensemble_.n_rows == 500
    assert adjusted_rand_score(model.labels_, truth) > 0.95
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert ((model.confidence_ > 0) & (model.confidence_ <= 1 + 1e-6)).all()


def test_fitted_rows_keep_their_clusters_wherever_they_are(fitted, blobs):
    X, _ = blobs
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(fitted.predict(X[order]), fitted.labels_[order])
    labels, model = qt.cluster_frame(X, return_model=True)
    np.testing.assert_array_equal(model.predict(X[order]), labels[order])
    assert adjusted_rand_score(labels, fitted.labels_) > 0.97


def test_kinds_that_agree_are_no_copies():
    """Six kinds find four groups, one of 3 %. Genie cuts the largest group instead, in three different ways."""
    random = np.random.default_rng(77)
    groups = random.choice(4, 1200, p=[0.55, 0.3, 0.12, 0.03])
    centers = np.array([[0, 0, 0, 0], [6, 0, 0, 3], [0, 7, 0, 0], [5, 6, 6, 0]])
    model = ConsensusClustering(4, random_state=0).fit(random.normal(size=(1200, 4)) + centers[groups])
    assert adjusted_rand_score(groups, model.labels_) > 0.99


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("outliers", [False, True])
def test_the_same_in_any_order_and_from_any_entry_point(outliers, seed):
    """Rated answers: many rows are equal, and k-means and mixtures depend on the order of the rows they see."""
    random = np.random.default_rng(seed)
    X = np.clip(np.rint(random.normal(size=(400, 5)) + 3 + random.integers(2, size=(400, 1))), 1, 5)
    options = {"outliers": outliers, "random_state": seed}
    model = ConsensusClustering(3, **options).fit(X)
    order = random.permutation(len(X))
    np.testing.assert_array_equal(ConsensusClustering(3, **options).fit(X[order]).labels_, model.labels_[order])
    frame = qt.cluster_frame(pd.DataFrame(X[order], columns=list("abcde")), n_clusters=3, **options)
    np.testing.assert_array_equal(frame["consensus"], model.labels_[order])
    np.testing.assert_allclose(frame["confidence"], model.confidence_[order], atol=1e-6)
    np.testing.assert_array_equal(model.ensemble_.n_rows, len(X))


def test_a_saved_model_remembers_the_choice(fitted, blobs, tmp_path):
    fitted.save(tmp_path / "model.npz")
    loaded = qt.load(tmp_path / "model.npz")
    assert loaded.choice_.sentence == fitted.choice_.sentence
    assert loaded.choice_.candidates[0].support == fitted.choice_.candidates[0].support
    assert loaded.structure_ == fitted.structure_
    moved = blobs[0] + 0.05
    np.testing.assert_array_equal(loaded.predict(moved), fitted.predict(moved))


def test_mixtures_are_skipped_if_rows_are_too_few():
    random = np.random.default_rng(0)
    wide = DiverseClusterings(random.normal(size=(200, 60)), [random.integers(3, size=200) for _ in range(4)], 0)
    assert not any("mixture" in name for name in wide.members(3))
    narrow = DiverseClusterings(wide.X[:, :30], wide.kmeans, 0)
    assert any("mixture" in name for name in narrow.members(3))
    assert not any("mixture" in name for name in narrow.members(8))


@pytest.mark.parametrize("n_rows", [4, 5, 9, 20])
def test_few_rows(n_rows):
    X = np.random.default_rng(n_rows).normal(size=(n_rows, 2))
    model = ConsensusClustering(random_state=0).fit(X)
    assert 1 <= model.n_clusters_ <= n_rows // 2
    assert ConsensusClustering(2, random_state=0).fit(X).n_clusters_ == 2


def test_how_many_rows_kinds_are_fitted_on():
    assert kinds_fit_rows("auto", 20_000, 20) is None
    assert kinds_fit_rows("auto", 20_001, 2) == 5_000
    assert kinds_fit_rows("auto", 20_000, 100) == 5_000
    assert kinds_fit_rows("auto", 4_000, 1_000_000) is None
    assert kinds_fit_rows(700, 20_000, 100) == 700
    assert kinds_fit_rows(None, 1_000_000, 100) is None


def test_the_same_choice_every_time(blobs):
    X, _ = blobs
    random = np.random.default_rng(0)
    members = [random.integers(4, size=len(X)) for _ in range(6)]
    first, again = (choose_by_kinds(DiverseClusterings(X, members, 0)) for _ in range(2))
    assert first == again


def test_close_but_separated_groups_are_distinguished():
    """HDBSCAN joins two groups 4 standard deviations apart, and kinds agree on the coarser clusters as well."""
    random = np.random.default_rng(3)
    truth = np.repeat(np.arange(4), 250)
    X = np.array([[0, 0], [4.5, 0], [20, 0], [0, 20]])[truth] + random.normal(size=(1000, 2))
    model = ConsensusClustering(random_state=0).fit(X)
    assert model.n_clusters_ == 4
    first, *others = model.choice_.candidates
    assert first.n_clusters == 4
    assert adjusted_rand_score(model.labels_, truth) > 0.95
    # A number with a higher score was passed over, and the sentence says why.
    assert max(other.score for other in others) > first.score
    assert "3 clusters have a higher score, but 4 clusters of k-means are all significantly separated." in (
        model.choice_.sentence
    )


def test_more_than_32_clusters_are_found_where_kinds_agree_on_them():
    centers = np.stack(np.meshgrid(np.arange(7.0), np.arange(6.0)), axis=-1).reshape(-1, 2)
    X = np.repeat(centers, 30, axis=0) + np.random.default_rng(0).normal(scale=0.08, size=(1260, 2))
    model = ConsensusClustering(random_state=0).fit(X)
    assert model.n_clusters_ == 42
    assert [candidate.n_clusters for candidate in model.choice_.curve] == list(range(2, 64))
    assert adjusted_rand_score(np.repeat(np.arange(42), 30), model.labels_) > 0.99


def test_a_number_on_which_most_kinds_find_the_clusters_of_hdbscan_precedes_a_higher_score():
    def candidate(k, agreement, density):
        return KindCandidate(k, agreement + density, np.nan, np.nan, agreement, density, {})

    pieces, rings, cells = candidate(3, 0.6, 0.75), candidate(2, 0.2, 0.97), candidate(20, 0.7, 0.1)
    assert best_candidates([rings, pieces, cells]) == (rings, pieces, cells)
    assert best_candidates([rings, pieces, cells], first=cells) == (cells, rings, pieces)
    assert best_candidates([candidate(2, 0.2, 0.89), pieces, cells])[0] == pieces
