"""U-SPEC: hand-computed neighbors, the authors' own answers, and labels for new rows."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import quorate as qt
from quorate import USPEC, ConsensusClustering
from quorate.features.clusterers.uspec import LandmarkLabeler, Landmarks, embed_landmarks, link_weights, link_width
from quorate.features.labeling import Crew, Scaling
from quorate.numerics.kmeans import weighted_kmeans
from support import SHARED, raises

ORACLES = sorted((SHARED / "oracle").glob("uspec_*.npz"))


def rings(n, seed=0):
    random = np.random.default_rng(seed)
    ring = random.integers(2, size=n)
    angle, radius = random.uniform(0, 2 * np.pi, n), 1 + 2 * ring + 0.1 * random.standard_normal(n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), ring


def test_neighbors_by_hand():
    X = np.array([0.0, 1, 2, 10, 11, 12])[:, None]
    points = np.array([0.5, 1.5, 10.5, 11.5])[:, None]
    landmarks = Landmarks(points, np.array([0, 0, 1, 1]), np.array([[1.0], [11.0]]), 2)
    index, distances = landmarks.neighbors(X)
    assert index[[0, 2, 3, 5]].tolist() == [[0, 1], [1, 0], [2, 3], [3, 2]]  # 1 and 11 are midway
    sigma = link_width(distances)
    assert sigma == pytest.approx(5 / 6)
    links = link_weights(distances, sigma)
    np.testing.assert_allclose(links[2], [0.8353, 0.1979], atol=5e-5)
    np.testing.assert_allclose(embed_landmarks(index, links, 4, 2).eigenvalues, [1, 1], atol=1e-12)


@pytest.mark.skipif(not ORACLES, reason="the reference answers (../shared/oracle) are not here")
@pytest.mark.parametrize("path", ORACLES, ids=lambda path: path.stem)
def test_the_authors_answers(path):
    known = np.load(path)
    X = known["X"].astype(np.float64)
    landmarks = Landmarks(known["representatives"], known["group"].astype(np.int64), known["group_centres"], 5)
    index, distances = landmarks.neighbors(X)
    np.testing.assert_array_equal(index, known["neighbours"])
    links = link_weights(distances, link_width(distances))
    np.testing.assert_allclose(links, known["affinity"], atol=1e-6)
    for j, k in enumerate(known["ks"]):
        found = embed_landmarks(index, known["affinity"], len(landmarks.points), int(k))
        np.testing.assert_allclose(found.eigenvalues, known["eigenvalues"][:k], atol=1e-9)
        rows = found.rows(index, known["affinity"])
        np.testing.assert_allclose(rows @ rows[0], known[f"gram_row0_k{k}"], atol=1e-7)
        first = weighted_kmeans(rows, np.ones(len(X)), int(k), init="first-row", first_row=np.arange(len(X)))
        assert qt.evaluate(first.labels, known["first_row_labels"][:, j]).ari == 1


def test_in_the_plane_the_nearest_landmarks_are_found_exactly():
    X = np.concatenate([rings(3000)[0], [[40.0, 0.0], [0.0, 0.0], [-3.5, -3.5]]])
    points = rings(400, seed=1)[0]
    landmarks = Landmarks(points, np.zeros(400, dtype=np.int64), points.mean(axis=0, keepdims=True), 5)
    index, distances = landmarks.neighbors(X)
    squared = ((X[:, None] - points) ** 2).sum(axis=2)
    near = np.abs(X).max(axis=1) < 3.3  # elsewhere, and far from all landmarks, the search is by candidates
    near[np.hypot(*X.T) < 0.5] = False
    np.testing.assert_allclose(distances[near], np.sqrt(np.sort(squared, axis=1)[near, :5]), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(distances, np.sqrt(np.take_along_axis(squared, index, axis=1)), rtol=1e-4, atol=1e-6)


def test_labels_are_those_of_the_embedded_rows():
    X = rings(2000)[0]
    model = USPEC(6, n_landmarks=200, random_state=0).fit(X)
    index, distances = model.landmarks_.neighbors(X)
    links = link_weights(distances, model.sigma_)
    share = links / links.sum(axis=1, keepdims=True)
    rows = np.einsum("na,nak->nk", share, model.vectors_[index])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    squared = ((rows[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    gaps = np.sort(squared, axis=1)
    clear = gaps[:, 1] - gaps[:, 0] > 1e-4
    assert clear.mean() > 0.95
    np.testing.assert_array_equal(model.labels_[clear], squared.argmin(axis=1)[clear])


def test_cells_of_one_cluster_say_what_the_search_says():
    X = np.concatenate([rings(3000)[0], [[40.0, 0.0], [0.0, 0.0]]])
    labeler = USPEC(6, n_landmarks=200, random_state=0).fit(X).labeler()
    *tables, cell_label = labeler.tables
    assert (cell_label >= 0).mean() > 0.1
    searched = LandmarkLabeler(labeler.landmarks, (*tables, np.full_like(cell_label, -1)))
    found, known = np.empty((2, len(X)), dtype=np.int64)
    labeler.label(X, None, found)
    searched.label(X, None, known)
    np.testing.assert_array_equal(found, known)


def test_spectral_members_label_rows_together_as_each_alone():
    X = rings(3000)[0]
    models = [USPEC(k, n_landmarks=100, random_state=k).fit(X[:1000]) for k in (3, 5)]
    found = Crew(tuple(models)).label(X)
    np.testing.assert_array_equal(found, [model.predict(X) for model in models])


def test_groups_of_any_shape_and_new_rows():
    X, ring = rings(3000)
    model = USPEC(2, n_landmarks=300, random_state=0).fit(X[:2000])
    assert qt.evaluate(model.labels_, ring[:2000]).ari > 0.99
    assert qt.evaluate(model.predict(X[2000:]), ring[2000:]).ari > 0.99
    part = clone(model).set_params(fit_rows=500).fit(X)
    assert qt.evaluate(part.labels_, ring).ari > 0.99


def test_spectral_members_find_what_k_means_does_not():
    X, ring = rings(1500)
    model = ConsensusClustering(2, members="spectral", n_members=6, fit_rows=800, random_state=0).fit(X)
    assert model.ensemble_.names[0] == "uspec_0"
    assert all(20 <= member.n_clusters <= 60 for member in model.members_)
    assert qt.evaluate(model.labels_, ring).ari > 0.95
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(model.predict(X[order]), model.labels_[order])


def test_scaled_rows_are_labeled_as_they_are_fitted():
    X = rings(1200)[0]
    scaling = Scaling(np.array([0.5, 100.0]), np.array([2.0, 0.01]))
    raw = X / scaling.factor + scaling.shift
    model = USPEC(5, n_landmarks=100, random_state=0).fit(scaling.apply(raw))
    assert (Crew((model,), scaling).label(raw)[0] == model.labels_).mean() > 0.999


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"n_clusters": 101}, "few-rows"),
        ({"n_clusters": 0}, "integer"),
        ({"n_neighbors": 0}, "integer"),
        ({"n_neighbors": "many"}, "integer"),
        ({"fit_rows": 1}, "integer"),
    ],
)
def test_refuses_bad_parameters(parameters, code):
    with raises(code, *parameters):
        USPEC(**{"n_clusters": 3, "n_landmarks": 100, **parameters}).fit(rings(300)[0])


@pytest.mark.parametrize(("n_rows", "n_neighbors", "links"), [(1000, "auto", 5), (999, "auto", 10), (999, 3, 3)])
def test_few_rows_per_landmark_have_more_links(n_rows, n_neighbors, links):
    X = np.random.default_rng(0).random((n_rows, 3))
    assert USPEC(3, n_landmarks=100, n_neighbors=n_neighbors, random_state=0).fit(X).landmarks_.n_neighbors == links


@parametrize_with_checks([USPEC(2)])
def test_scikit_learn_conformance(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_rows", [100, 3000])
def test_repeated_rows_are_not_split_by_rounding_errors(n_rows):
    """k-means of scikit-learn warned that there are fewer distinct points than clusters."""
    corners = np.random.default_rng(0).normal(size=(4, 2)) * 10
    X = np.repeat(corners, n_rows // 4, axis=0)
    labels = USPEC(n_clusters=6, n_landmarks=50, random_state=0).fit_predict(X)
    assert len(np.unique(labels)) == 4
    assert all(len(np.unique(labels[(corner == X).all(axis=1)])) == 1 for corner in corners)
