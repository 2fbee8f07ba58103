"""Members fitted on a sample that label all rows: kernels against plain formulas, samples, and what does not matter."""

import json
import zlib
from pathlib import Path

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import quorate as qt
from quorate import ConsensusClustering
from quorate.features.labeling import Crew, Scaling, centres_of
from quorate.features.member_fitting import training_rows
from quorate.features.out_of_sample import Votes
from quorate.features.sampling import ALL_ROWS, Sketch, sample_rows
from support import raises


def blobs(n, d=5, k=6, seed=0):
    random = np.random.default_rng(seed)
    centers = random.normal(scale=4, size=(k, d))
    truth = random.integers(k, size=n)
    return centers[truth] + random.standard_normal((n, d)), truth


def crew(X, ks=(2, 7, 12)):
    return Crew(tuple(KMeans(k, n_init=1, random_state=k).fit(X[:500]) for k in ks))


@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 5, 8, 30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_members_find_their_nearest_centers(n_features, dtype):
    X = (1000 + 7 * blobs(1301, n_features)[0]).astype(dtype)
    some = crew(X)
    labels = some.label(X)
    assert labels.dtype == np.uint8
    for model, column in zip(some.models, labels, strict=True):
        distances = ((X[:, None].astype(np.float64) - model.cluster_centers_) ** 2).sum(axis=2)
        gaps = np.sort(distances, axis=1)
        clear = gaps[:, 1] - gaps[:, 0] > 1e-3 * gaps[:, 1]
        assert clear.mean() > 0.95
        np.testing.assert_array_equal(column[clear], distances.argmin(axis=1)[clear])


def test_labels_depend_neither_on_blocks_nor_on_threads():
    X = blobs(40_000, 7)[0]
    some = crew(X)
    whole = some.label(X)
    for cuts in ([1, 255, 256, 257, 20_001], list(range(0, 40_000, 777))):
        pieces = np.concatenate([some.label(part) for part in np.split(X, cuts) if len(part)], axis=1)
        np.testing.assert_array_equal(pieces, whole)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(some.label(X[order]), whole[:, order])
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        np.testing.assert_array_equal(some.label(X), whole)
    finally:
        numba.set_num_threads(before)


def test_scaling_is_part_of_the_labeling():
    X = blobs(1000)[0] * [1, 100, 0.01, 1, 1] + [0, 5000, 0, 0, 3]
    X[:, 3] = 4.0
    scaling = Scaling(X.mean(axis=0), np.array([1, 0.01, 100, 0, 1]))
    some = crew(scaling.apply(X))
    scaled = Crew(some.models, scaling)
    np.testing.assert_array_equal(scaled.label(X), some.label(scaling.apply(X)))


def test_rows_far_away_still_get_a_label():
    X = blobs(600)[0]
    far = np.array([[1e30, 0, 0, 0, 0], [-1e300, 1e300, 0, 0, 0]])
    labels = crew(X).label(far)
    assert (labels.max(axis=1) < [2, 7, 12]).all()


def test_members_of_other_kinds_label_too():
    X = blobs(400, 3)[0]
    models = (KMeans(3, n_init=1, random_state=0).fit(X), qt.HMAC(random_state=0).fit(X))
    assert centres_of(models[1]) is None
    labels = Crew(models).label(X)
    np.testing.assert_array_equal(labels[0], models[0].labels_)
    np.testing.assert_array_equal(labels[1], models[1].predict(X))


def test_the_sample_depends_on_what_is_in_the_rows_alone():
    X = blobs(5000, 3)[0]
    X[:1000] = X[1000:2000]  # rows that occur twice
    whole = sample_rows(X, 100, 7)
    assert len(whole.rows) == 500
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = sample_rows(X[order], 100, 7)
    np.testing.assert_array_equal(shuffled.rows, whole.rows)
    np.testing.assert_array_equal(shuffled.counts, whole.counts)
    merged = Sketch(100, 7)
    for part in np.array_split(X[order], 7):
        sketch = Sketch(100, 7)
        sketch.add(part)
        merged.merge(sketch.sample)
    np.testing.assert_array_equal(merged.sample.rows, whole.rows)
    np.testing.assert_array_equal(merged.sample.counts, whole.counts)
    occurs = {row.tobytes(): 0 for row in X}
    for row in X:
        occurs[row.tobytes()] += 1
    assert [occurs[row.tobytes()] for row in whole.rows] == whole.counts.tolist()
    assert {1, 2} == set(whole.counts.tolist())
    assert not np.array_equal(sample_rows(X, 100, 8).rows, whole.rows)


def test_a_sample_is_drawn_fairly():
    X = np.repeat([[0.0], [1.0], [2.0]], [6000, 3000, 1000], axis=0)
    sample = sample_rows(X, 1000, 0)
    assert sorted(sample.counts) == [1000, 3000, 6000]
    drawn = sample.draw(1000, seed=3)
    assert len(drawn) == 1000
    shares = np.bincount(drawn[:, 0].astype(int)) / 1000
    np.testing.assert_allclose(shares, [0.6, 0.3, 0.1], atol=0.05)
    np.testing.assert_array_equal(drawn, sample.draw(1000, seed=3))


def test_the_consensus_of_a_sample_ignores_the_order_of_rows_and_the_number_of_jobs():
    X, truth = blobs(3000)
    model = ConsensusClustering(6, fit_rows=500, n_members=8, random_state=1).fit(X)
    assert qt.evaluate(model.labels_, truth).ari > 0.95
    assert {len(member.labels_) for member in model.members_} == {500}
    assert max(member.n_clusters for member in model.members_) <= 100
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    order = np.random.default_rng(0).permutation(len(X))
    again = ConsensusClustering(6, fit_rows=500, n_members=8, random_state=1, n_jobs=1).fit(X[order])
    np.testing.assert_array_equal(again.labels_, model.labels_[order])
    single = ConsensusClustering(6, fit_rows=500, n_members=8, random_state=1).fit(X.astype(np.float32))
    assert qt.evaluate(single.labels_, model.labels_).ari > 0.99


def test_small_tables_are_fitted_whole_and_large_ones_are_not():
    X = np.random.default_rng(0).normal(size=(ALL_ROWS + 1, 2))
    assert training_rows(X[:-1], "auto", "auto", 0).data(0).n_rows == ALL_ROWS
    large = training_rows(X, "auto", "auto", 0).data(0)
    assert (large.n_rows, large.is_part) == (10_000, True)
    assert training_rows(X, None, "auto", 0).data(0).n_rows == ALL_ROWS + 1
    assert training_rows(X, None, (3, 5), 0).data(0).k_range == (3, 5)


def test_sparse_features_are_sampled_too():
    X = np.maximum(blobs(1000)[0], 0)
    model = ConsensusClustering(4, members="kmeans", fit_rows=200, n_members=5, random_state=0).fit(sp.csr_array(X))
    np.testing.assert_array_equal(model.predict(sp.csr_array(X)), model.labels_)


def test_pools_of_samples():
    X = blobs(900, 3)[0]
    methods = ("kmeans", "rpcl", "ill")
    pool = qt.features.draw_pool(X, 2, methods, fit_rows=300, k_range=(5, 9), random_state=0, scale=None)
    assert pool.labels.shape == (900, 6)
    assert all(5 <= member.params["n_clusters"] <= 9 for member in pool.members if member.method == "kmeans")
    again = qt.features.draw_pool(X[::-1], 1, methods, fit_rows=300, k_range=(5, 9), random_state=0, scale=None)
    np.testing.assert_array_equal(again.labels[::-1], pool.labels[:, [pool.names.index(name) for name in again.names]])


def test_a_pool_of_samples_resumes(tmp_path):
    X = blobs(600, 3)[0]
    path = tmp_path / "pool"
    qt.features.draw_pool(X, 1, ("kmeans",), fit_rows=200, path=path)
    resumed = qt.features.draw_pool(X, 3, ("kmeans",), fit_rows=200, path=path)
    np.testing.assert_array_equal(resumed.labels, qt.features.draw_pool(X, 3, ("kmeans",), fit_rows=200).labels)
    with raises("other-checkpoint"):
        qt.features.draw_pool(X, 3, ("kmeans",), fit_rows=300, path=path)


@pytest.mark.parametrize(
    ("parameters", "code", "parameter"),
    [
        ({"fit_rows": "all"}, "fit-rows", "fit_rows"),
        ({"fit_rows": 2}, "integer", "fit_rows"),
        ({"fit_rows": 50, "k_range": (2, 60)}, "k-range", "k_range"),
        ({"fit_rows": 50, "n_clusters": 51}, "few-rows", "n_clusters"),
        ({"k_range": 5}, "k-range", "k_range"),
        ({"k_range": (5, 3)}, "integer", "k_range"),
        ({"fit_rows": 50, "members": AgglomerativeClustering(3)}, "cannot-label-rows", None),
    ],
)
def test_refuses_what_cannot_be(parameters, code, parameter):
    with raises(code, parameter):
        ConsensusClustering(**{"n_clusters": 3, **parameters}).fit(blobs(300)[0])


def test_confidence_on_a_sample_does_not_depend_on_how_fine_the_members_are():
    """Rows of a pure cluster are certain, also where members cut it into many pieces."""
    X, groups = make_blobs([1500, 600, 300], centers=[[0, 0], [20, 0], [0, 20]], cluster_std=[3, 1, 1], random_state=0)
    fitted = ConsensusClustering(3, members="kmeans", k_range=(3, 30), fit_rows=400, random_state=0).fit(X)
    assert adjusted_rand_score(groups, fitted.labels_) > 0.99
    assert min(fitted.confidence_[fitted.labels_ == c].mean() for c in range(3)) > 0.5
    assert (fitted.margin_ > 0).mean() > 0.99


def test_votes_by_hand():
    codes = np.array([[0, 0, 0, 1], [0, 1, 1, 1]])
    weights, labels = np.array([1.0, 1.0, 2.0, 4.0]), np.array([1, 1, 1, 0])
    votes = Votes.of(codes, weights, labels, np.array([0.75, 0.25]))
    assert votes.first.tolist() == [0, 2, 4]
    np.testing.assert_allclose(votes.votes, [[0, 0.75], [0.75, 0], [0, 0.25], [0.25 * 4 / 7, 0.25 * 3 / 7]])
    # The second member holds 7 of 8 rows in counterparts. Its first cluster has a quarter of cluster 1, its second
    # cluster all of cluster 0 and three quarters of cluster 1.
    quarter, whole, part = np.sqrt(0.25 / 0.875), 1 / 1.75, 0.75 / 1.75 * np.sqrt(0.75 / 0.875)
    expected = [[0, 0.75], [0.75, 0], [0, 0.25 * quarter], [0.25 * whole, 0.25 * part]]
    np.testing.assert_allclose(votes.evidence, expected, rtol=1e-6)
    found = votes.elect(np.array([[0, 1, -1, 5, -1], [0, 0, 1, 1, 9]]))
    assert found.labels.tolist() == [1, 0, 0, 0, -1]  # labels never seen say nothing
    first, apart = 0.75 + 0.25 * quarter, 0.25 * (whole - part)
    np.testing.assert_allclose(found.confidence, [first, 0.75, 0.25 * whole, 0.25 * whole, 0], rtol=1e-6)
    np.testing.assert_allclose(found.margin, [first, 0.75 - 0.25 * quarter, apart, apart, 0], rtol=1e-5)
    assert found.runner_up.tolist() == [-1, 1, 1, 1, -1]


def test_confidence_is_at_most_1_whatever_the_number_of_members():
    """Sums of float32 shares exceeded 1: some numbers of members that agree had 1.0000001."""
    labels = np.array([0, 0, 1, 1])
    for n_members in range(1, 40):
        codes = np.tile(labels, (n_members, 1))
        confidence = Votes.by_likelihood(codes, np.ones(4), labels).elect(codes).confidence
        assert confidence.max() <= 1, n_members
        assert confidence.min() > 1 - 1e-6


def checksum(labels):
    return zlib.crc32(np.ascontiguousarray(labels, dtype=np.int32).tobytes())


@pytest.mark.parametrize("seed", range(3))
def test_members_fitted_on_all_rows_are_as_they_were_before_there_were_samples(seed):
    """members_as_before.json holds checksums of labels by the code before `fit_rows`, seed by seed."""
    expected = json.loads((Path(__file__).parent / "members_as_before.json").read_text())
    found = {}
    for data in ("iris", "wine"):
        pool = qt.features.draw_pool(
            data, 2, ("kmeans", "rpcl", "hmac", "od-isvc", "ill"), random_state=seed, progress=False
        )
        for member, labels in zip(pool.members, pool.labels.T, strict=True):
            found[f"{data} {seed} {member.name}"] = checksum(labels)
    fitted = ConsensusClustering(3, n_members=4, random_state=seed, members=["kmeans", "rpcl"])
    ens = fitted.fit(qt.datasets.load("iris").features).ensemble_
    for j, name in enumerate(ens.names):
        codes = ens.patterns[ens.row_pattern, j]
        found[f"features {seed} {name}"] = checksum(codes - codes.min())
    assert found == {name: value for name, value in expected.items() if name.split()[1] == str(seed)}
