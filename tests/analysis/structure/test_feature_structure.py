"""Structure judged by features: tests of all nodes of the tree of clusters."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

import quorate as qt
from quorate.analysis.structure.dip_test import holm
from quorate.analysis.structure.feature_structure import examine
from quorate.analysis.structure.separation import discriminant_axis
from support import raises


def blobs(random, centers, n=120):
    return np.concatenate([random.normal(center, 1, (n, 2)) for center in centers])


def test_boundaries_of_one_clustering():
    random = np.random.default_rng(0)
    X = blobs(random, [(0, 0), (8, 0), (30, 0)])
    labels = np.repeat([0, 1, 2], 120)
    labels[labels == 2] += X[labels == 2, 1] > 0  # the last one cut in two for nothing
    found = qt.structure(X, labels)
    assert found.p_value < 0.01
    verdicts = {frozenset(node.closest): node.verdict for node in found.nodes}
    assert verdicts[frozenset({0, 1})] == "separated"
    assert verdicts[frozenset({2, 3})] == "not significant"
    assert found.groups == {0: 0, 1: 1, 2: 2, 3: 2}
    assert "No significant gap between clusters 2 and 3 (not proof that they are one)." in found.sentence


def members_of(X, random_state=0):
    return qt.ConsensusClustering(3, n_members=8, random_state=random_state).fit(X)


def test_features_with_and_without_clusters():
    random = np.random.default_rng(0)
    apart = members_of(blobs(random, [(0, 0), (9, 0), (0, 9)]))
    assert apart.structure_.p_value < 0.01
    assert all(node.verdict == "separated" for node in apart.structure_.nodes)
    cloud = members_of(random.normal(0, 1, (300, 2)))
    assert cloud.structure_.p_value > 0.05
    assert cloud.structure_.sentence.startswith("No evidence of clusters: no gap")


def test_an_ensemble_with_features():
    random = np.random.default_rng(0)
    X = blobs(random, [(0, 0), (9, 0)])
    ens = members_of(X).ensemble_
    assert qt.structure(X, ens).p_value < 0.01
    with raises("row-count", "X"):
        qt.structure(X[:10], ens)
    with raises("missing-features", "X"):
        qt.structure(np.full((240, 1), np.nan), ens)
    with raises("not-numeric", "X"):
        qt.structure([["a"]] * 240, ens)


def test_boundaries_do_not_depend_on_the_order_of_rows_and_small_clusters_have_none():
    random = np.random.default_rng(4)
    X = blobs(random, [(0, 0), (5, 0)], n=60)
    labels = np.repeat([0, 1], 60)
    labels[:2] = 2  # two rows on their own
    order = random.permutation(120)
    assert qt.structure(X[order], labels[order]).p_value == pytest.approx(qt.structure(X, labels).p_value)
    few = qt.structure(X[:3], labels[[0, 1, 59]])
    assert (few.p_value, few.testable) == (1.0, False)
    assert few.sentence == "The clusters are too small to test whether the rows form clusters."


@pytest.mark.parametrize("kind", ["counts", "likert", "binary", "rounded"])
def test_independent_discrete_columns_have_no_clusters(kind):
    """Grids have a mode per value; before ties were spread, all of these were called clustered."""
    alarms = 0
    for seed in range(6):
        random = np.random.default_rng(seed)
        X = {
            "counts": lambda random=random: random.poisson(2, (400, 5)),
            "likert": lambda random=random: random.choice(5, (400, 5), p=[0.5, 0.25, 0.15, 0.07, 0.03]),
            "binary": lambda random=random: random.random((400, 5)) < 0.2,
            "rounded": lambda random=random: random.normal(size=(400, 5)).round(),
        }[kind]().astype(float)
        alarms += qt.structure(X, KMeans(3, n_init=1, random_state=seed).fit_predict(X)).p_value < 0.05
    assert alarms <= 1


def test_small_groups_far_away_are_found():
    random = np.random.default_rng(0)
    sizes = [564, 24, 12]
    X = np.concatenate([random.normal(center, 1, (n, 2)) for center, n in zip((0, 10, 20), sizes, strict=True)])
    found = qt.structure(X, np.repeat([0, 1, 2], sizes))
    assert found.p_value < 0.01
    assert {node.verdict for node in found.nodes} == {"separated"}


def test_a_family_of_partitions_that_separates_a_small_group_is_enough():
    random = np.random.default_rng(0)
    truth = np.repeat([0, 1], [980, 20])
    X = random.normal(size=(1000, 2)) + 8 * truth[:, None]
    halves, thirds = (np.arange(1000) % k for k in (2, 3))
    graph = {2: halves, 3: thirds}
    assert examine(X, [graph], thirds).p_value > 0.05
    separate = qt.structure(X, truth).p_value
    assert examine(X, [graph, {2: truth}], thirds).p_value == pytest.approx(3 * separate)
    assert 3 * separate < 0.01


def test_p_values_of_nodes_are_adjusted_for_all_of_them():
    random = np.random.default_rng(0)
    centers = [(0, 0), (6, 0), (40, 0), (46, 0)]
    X = np.concatenate([random.normal(center, 1, (100, 2)) for center in centers])
    nodes = qt.structure(X, np.repeat(range(4), 100)).nodes
    assert nodes[0].size == 400
    assert sorted([sorted(nodes[0].left), sorted(nodes[0].right)]) == [[0, 1], [2, 3]]
    assert [node.adjusted_p_value for node in nodes] == holm([node.p_value for node in nodes])
    one = qt.structure(X[:100], np.arange(100) % 4)
    assert one.groups == dict.fromkeys(range(4), 0)


def test_large_tables_are_tested_on_a_sample_with_enough_rows_of_small_clusters():
    random = np.random.default_rng(0)
    sizes = [60_000, 300]
    X = np.concatenate([random.normal(c, 1, (n, 3)) for c, n in zip((0, 8), sizes, strict=True)]).astype(np.float32)
    found = qt.structure(X, np.repeat([0, 1], sizes))
    assert found.sampled
    assert found.nodes[0].verdict == "separated"
    assert found.nodes[0].size == 60_300
    assert found.sentence.endswith("Tests used a sample of the rows.")


def test_many_columns_are_tested_by_their_variances():
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1], 150)
    X = random.normal(size=(300, 400))
    assert discriminant_axis(X[:150], X[150:]).covariance.shape == (400,)
    assert qt.structure(X, labels).p_value > 0.05
    X[:150, :40] += 1.2
    assert qt.structure(X, labels).p_value < 0.01


def test_clusters_that_are_nearly_pure_are_separated():
    """Two clusters 99 % pure were said to be one."""
    random = np.random.default_rng(0)
    centers = np.array([(0, 0), (6, 0), (0, 6), (6, 6), (12, 0), (12, 6)])
    truth = np.repeat(np.arange(6), 60)
    X = centers[truth] + random.normal(size=(360, 2))
    labels = np.where(random.random(360) < 0.01, random.integers(0, 6, 360), truth)
    assert {node.verdict for node in qt.structure(X, labels).nodes} == {"separated"}


def test_a_fitted_model_finds_rare_groups():
    random = np.random.default_rng(1)
    sizes = [564, 24, 12]
    X = np.concatenate([random.normal(c, 1, (n, 2)) for c, n in zip((0, 10, 20), sizes, strict=True)])
    model = qt.ConsensusClustering(3, members="kmeans", n_members=8, random_state=0).fit(X)
    assert model.structure_.p_value < 0.05


def test_clusters_are_named_by_the_labels_of_the_caller():
    random = np.random.default_rng(0)
    X = blobs(random, [(0, 0), (8, 0)], n=60)
    found = qt.structure(X, np.repeat(["left", "right"], 60))
    assert found.clusters == ("left", "right")
    assert set(found.nodes[0].closest) == {"left", "right"}
    one = qt.structure(random.normal(size=(120, 2)), np.repeat([7, 30], 60))
    assert one.groups == {7: 0, 30: 0}
    assert set(one.nodes[0].left + one.nodes[0].right) == {7, 30}
