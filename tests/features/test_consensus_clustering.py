import inspect

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import quorate as qt
from quorate import ConsensusClustering
from support import raises, warns


@pytest.fixture(scope="module")
def seeds():
    data = qt.datasets.load("seeds")
    return StandardScaler().fit_transform(data.features), data.classes


@pytest.fixture(scope="module", params=[0, 1, pytest.param(2, marks=pytest.mark.slow)])
def scores(request):
    """NMI with the classes at their number: of the consensus, of its members on average, of one k-means."""
    scores = {"consensus": {}, "members": {}, "kmeans": {}}
    for name in ("breast_cancer", "image_segmentation", "iris", "seeds", "yeast", "wine"):
        data = qt.datasets.load(name)
        X, k = MinMaxScaler().fit_transform(data.features), data.n_classes
        model = ConsensusClustering(k, members="kmeans", random_state=request.param).fit(X)
        single = KMeans(k, n_init=1, random_state=request.param).fit(X)
        members = [qt.evaluate(member.labels_, data.classes).nmi_sqrt for member in model.members_]
        scores["consensus"][name] = qt.evaluate(model.labels_, data.classes).nmi_sqrt
        scores["members"][name] = float(np.mean(members))
        scores["kmeans"][name] = qt.evaluate(single.labels_, data.classes).nmi_sqrt
    return scores


def test_the_consensus_beats_its_members(scores):
    """On five of the six datasets in any case; on Yeast, which hardly has clusters, members are level with it."""
    ahead = {name: scores["consensus"][name] - scores["members"][name] for name in scores["consensus"]}
    assert len(ahead) == 6
    assert ahead.pop("yeast") > -0.02
    assert min(ahead.values()) > 0.02


def test_the_consensus_is_no_worse_than_k_means(scores):
    assert np.mean(list(scores["consensus"].values())) >= np.mean(list(scores["kmeans"].values())) - 0.02


def test_what_is_kept(seeds):
    X, _ = seeds
    model = ConsensusClustering(3, members="kmeans", n_members=12, random_state=0).fit(X)
    assert model.n_clusters_ == 3
    assert len(model.members_) == model.ensemble_.n_members == len(model.ncai_) == 12
    assert model.ensemble_.names[:2] == ("kmeans_0", "kmeans_1")
    assert len({member.n_clusters for member in model.members_}) > 4  # random k
    np.testing.assert_array_equal(model.labels_, qt.consensus(model.ensemble_, 3).labels)
    assert model.consensus_.confidence_.shape == (210,)


@pytest.mark.parametrize("members", ["diverse", "kmeans", ["kmeans", "rpcl"], "hmac", "od-isvc"])
def test_the_same_for_any_number_of_jobs_and_in_prediction(seeds, members):
    X, _ = seeds
    model = ConsensusClustering(3, members=members, n_members=4, method="weac", random_state=1)
    one, two = (clone(model).set_params(n_jobs=n_jobs).fit(X) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.predict(X), one.labels_)


def test_the_defaults_are_those_of_the_functions(seeds):
    """Number of clusters and seed are the same for the estimator and for `cluster_frame`."""
    ours, theirs = (inspect.signature(entry).parameters for entry in (ConsensusClustering, qt.cluster_frame))
    for name in ("n_clusters", "random_state", "method"):
        assert ours[name].default == theirs[name].default
    X, _ = seeds
    model = ConsensusClustering(3).fit(X)
    np.testing.assert_array_equal(model.labels_, ConsensusClustering(3).fit_predict(X))
    assert np.all(np.diff(np.bincount(model.labels_)) <= 0)  # numbered by decreasing size


def test_new_rows_join_their_clusters():
    X, truth = make_blobs(400, centers=3, random_state=0, cluster_std=0.5)
    model = ConsensusClustering(3, random_state=0).fit(X[:200])
    assert adjusted_rand_score(truth[200:], model.predict(X[200:])) >= 0.95


def test_clusterers_as_members(seeds):
    X, _ = seeds
    clusterers = [KMeans(5, n_init=1), AgglomerativeClustering(4), DBSCAN(0.8, min_samples=3)]
    model = ConsensusClustering(3, members=clusterers, n_members=7, method="weac", random_state=0).fit(X)
    assert [type(member) for member in model.members_] == [type(clusterers[i % 3]) for i in range(7)]
    assert model.members_[0].random_state != model.members_[3].random_state
    assert not hasattr(clusterers[0], "labels_")
    assert not hasattr(model, "predict")
    assert (model.ensemble_.patterns < 0).any()  # the noise of DBSCAN says nothing
    able = ConsensusClustering(3, members=KMeans(5, n_init=1), n_members=5, random_state=0).fit(X)
    np.testing.assert_array_equal(able.predict(X), able.labels_)


def test_a_pipeline_inside_is_seeded_too(seeds):
    X, _ = seeds
    inside = make_pipeline(StandardScaler(), KMeans(5, n_init=1))
    first, again = (ConsensusClustering(3, members=inside, n_members=3, random_state=4).fit(X) for _ in range(2))
    np.testing.assert_array_equal(first.labels_, again.labels_)
    assert len({member[-1].random_state for member in first.members_}) == 3


def test_a_consensus_estimator_with_parameters(seeds):
    X, _ = seeds
    method = qt.WEAC(n_clusters=99, linkage="complete")
    model = ConsensusClustering(3, method=method, random_state=0).fit(X)
    assert model.consensus_.linkage == "complete"
    assert model.n_clusters_ == 3
    assert method.n_clusters == 99


def test_auto(seeds):
    assert ConsensusClustering("auto", random_state=0).fit(seeds[0]).n_clusters_ >= 2


def test_sparse_features(seeds):
    X = np.where(seeds[0] > 0, seeds[0], 0)
    model = ConsensusClustering(3, members="kmeans", random_state=0)
    dense, sparse = (clone(model).fit(features) for features in (X, sp.csr_array(X)))
    assert adjusted_rand_score(dense.labels_, sparse.labels_) > 0.9
    np.testing.assert_array_equal(sparse.predict(sp.csr_array(X)), sparse.labels_)
    with pytest.raises(TypeError, match="[Ss]parse"):
        ConsensusClustering(3, members="rpcl").fit(sp.csr_array(X))


def test_in_a_pipeline_and_cloned():
    wine = qt.datasets.load("wine")
    model = make_pipeline(StandardScaler(), ConsensusClustering(3, random_state=0))
    labels = clone(model).fit_predict(wine.features)
    assert adjusted_rand_score(wine.classes, labels) > 0.8
    np.testing.assert_array_equal(model.fit(wine.features).predict(wine.features), labels)


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"n_clusters": 211}, "few-rows"),
        ({"n_clusters": 0}, "integer"),
        ({"members": "kmean"}, "choice"),
        ({"members": []}, "no-members"),
        ({"members": 3}, "choice"),
        ({"members": ["kmeans", "diverse"]}, "choice"),
        ({"scale": "z"}, "choice"),
        ({"n_members": 0}, "integer"),
        ({"method": "gp"}, "choice"),
    ],
)
def test_refuses_bad_parameters(seeds, parameters, code):
    with raises(code, *parameters):
        ConsensusClustering(**parameters).fit(seeds[0])


@pytest.mark.parametrize(
    ("X", "code"),
    [
        (np.ones((20, 2)), "equal-rows"),
        (np.array([[1.0, 2.0]]), "features"),
        (np.array([[1.0], [np.nan], [2.0]]), "missing-features"),
        (np.array([[1.0], [np.inf], [2.0]]), "missing-features"),
    ],
)
def test_refuses_bad_features(X, code):
    with raises(code):
        ConsensusClustering(2).fit(X)


@parametrize_with_checks([ConsensusClustering(2), ConsensusClustering(2, n_members=4, members="rpcl", method="weac")])
@pytest.mark.filterwarnings("ignore:The eigengap")  # its rows are often noise
def test_scikit_learn_conformance(estimator, check):
    check(estimator)


def test_all_bad_columns_are_named_in_one_message():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 3)), columns=["size", "weight", "age"])
    mixed = frame.assign(country="NL", born=pd.Timestamp("2026-01-01"))
    model = qt.ConsensusClustering(2, n_members=3, random_state=0)
    for given in (mixed, mixed.to_numpy()):
        names = "'country', 'born'" if given is mixed else "3, 4"
        with raises("not-numeric") as caught:
            model.fit(given)
        assert names in str(caught.value)
    gaps = frame.assign(size=np.nan, age=np.inf)
    with raises("missing-features") as caught:
        model.fit(gaps)
    assert "'size', 'age'" in str(caught.value)
    with raises("not-numeric") as caught:
        model.fit(frame).predict(frame.assign(weight="heavy"))
    assert "'weight'" in str(caught.value)


def test_the_error_explains_why_predict_is_missing():
    model = qt.ConsensusClustering(2, members=["kmeans", AgglomerativeClustering(2), DBSCAN()], n_members=3)
    assert not hasattr(model, "predict")
    with pytest.raises(AttributeError, match="AgglomerativeClustering, DBSCAN cannot label new rows.*kmeans"):
        model.predict([[0.0]])
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(model, "nothing")  # noqa: B009


def test_labels_used_as_features_warn():
    rng = np.random.default_rng(0)
    classes = np.arange(200) % 4
    labels = np.stack([np.where(rng.random(200) < 0.05, rng.integers(0, 4, 200), classes) for _ in range(5)], axis=1)
    model = qt.ConsensusClustering(4, n_members=3, method="eac", random_state=0)
    with warns("labels-as-features"):
        model.fit(labels)
    answers = np.clip(np.round(3 + rng.normal(size=(200, 1)) + 0.6 * rng.normal(size=(200, 6))), 1, 5)
    model.fit(answers)  # a questionnaire, without a word


def test_annotated_data_is_refused_with_advice():
    anndata = pytest.importorskip("anndata", reason="AnnData is not installed")
    with raises("features"):
        qt.ConsensusClustering(2).fit(anndata.AnnData(np.zeros((4, 2), dtype=np.float32)))
