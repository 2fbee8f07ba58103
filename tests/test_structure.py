"""Whether there is anything to find: the dip, boundaries between clusters, and what labels alone say."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

import quorate as qt
from quorate.analysis.structure.consensus_cuts import cuts_of_rows
from quorate.analysis.structure.dip_test import dip, dip_p_value, holm, simes
from quorate.analysis.structure.feature_structure import examine
from quorate.analysis.structure.separation import discriminant_axis, pooled_covariance, separation_p_value, spread_ties
from support import raises


def least_distance(sample):
    """Return the dip by its definition: the least distance to any distribution with one mode.

    For a mode at each of the distinct values: values left of it are convex, right of it concave, with a jump at it.
    """
    x, counts = np.unique(sample, return_counts=True)
    upto = np.cumsum(counts) / len(sample)
    below, m = upto - counts / len(sample), len(x)
    return max(1 / (2 * len(sample)), min(_with_mode(x, below, upto, m, mode) for mode in range(m)))


def _with_mode(x, below, upto, m, mode):
    lines, bounds, d = [], [], 2 * m

    def at_most(bound, **terms):
        line = np.zeros(2 * m + 1)
        for name, factor in terms.items():
            line[int(name[1:])] += factor
        lines.append(line)
        bounds.append(bound)

    def near(place, value):
        at_most(value, **{f"v{place}": 1, f"v{d}": -1})
        at_most(-value, **{f"v{place}": -1, f"v{d}": -1})

    for i in range(m):
        if i <= mode:
            near(i, below[i])
        if i < mode:
            near(i, upto[i])
        if i >= mode:
            near(m + i, upto[i])
        if i > mode:
            near(m + i, below[i])
    at_most(0, **{f"v{mode}": 1, f"v{m + mode}": -1})
    for offset, first, last, sign in ((0, 0, mode, 1), (m, mode, m - 1, -1)):
        for a in range(first, last - 1):
            left, right = x[a + 1] - x[a], x[a + 2] - x[a + 1]
            middle = {f"v{offset + a}": -sign / left, f"v{offset + a + 1}": sign / left + sign / right}
            at_most(0, **middle, **{f"v{offset + a + 2}": -sign / right})
        for a in range(first, last):
            at_most(0, **{f"v{offset + a}": 1, f"v{offset + a + 1}": -1})
    target = np.zeros(2 * m + 1)
    target[d] = 1
    return linprog(target, A_ub=np.array(lines), b_ub=np.array(bounds), bounds=(0, 1), method="highs").fun


@pytest.mark.parametrize("seed", range(12))
def test_the_dip_is_what_it_is_defined_as(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 11))
    samples = [
        random.random(n),
        np.concatenate([random.normal(0, 0.1, n), random.normal(1, 0.1, 2)]),
        random.integers(0, 5, n),
    ]
    for sample in samples:
        assert dip(sample) == pytest.approx(least_distance(sample), abs=1e-9)


def test_the_dip_of_two_points_far_apart_is_a_quarter():
    assert dip(np.repeat([0.0, 1.0], 500)) == pytest.approx(0.25)
    assert dip(np.arange(1000)) == pytest.approx(1 / 2000)


def test_the_dip_does_not_depend_on_place_and_scale():
    sample = np.random.default_rng(0).random(40)
    assert dip(3 + 100 * sample) == pytest.approx(dip(sample), abs=1e-9)
    assert dip(-sample) == pytest.approx(dip(sample), abs=1e-9)


def test_p_values_of_uniform_samples_are_uniform():
    random = np.random.default_rng(1)
    found = np.array([dip_p_value(dip(random.random(60)), 60) for _ in range(800)])
    for level in (0.5, 0.2, 0.1, 0.05):
        assert abs((found <= level).mean() - level) < 3.5 * np.sqrt(level * (1 - level) / 800)


def test_p_values_fall_with_the_dip():
    found = [dip_p_value(value, 100) for value in (0.01, 0.04, 0.05, 0.06, 0.2)]
    assert found[0] == 1.0
    assert all(a >= b for a, b in itertools.pairwise(found))
    assert found[-1] == pytest.approx(1e-4)


def test_the_axis_follows_the_covariance_within():
    random = np.random.default_rng(0)
    spread = np.array([1.0, 10.0])
    one, two = random.normal(0, 1, (500, 2)) * spread, random.normal(0, 1, (500, 2)) * spread + [4, 4]
    weights = discriminant_axis(one, two).weights
    assert abs(weights[0]) > 3 * abs(weights[1])


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


def noisy(random, truth, n_members, noise):
    """Return members that redraw a share of the labels of the truth."""
    return [np.where(random.random(len(truth)) < noise, random.permutation(truth), truth) for _ in range(n_members)]


@pytest.mark.parametrize("k", [2, 3, 9, 20, 32])
@pytest.mark.parametrize("noise", [0.03, 0.2])
def test_planted_clusters_are_clear_whatever_their_number(k, noise):
    """Only 2 to 8 clusters were checked: 20 clear groups were called none, and 2 to 15 doubtful."""
    truth = np.repeat(np.arange(k), 40)
    found = qt.label_structure(noisy(np.random.default_rng(k), truth, 12, noise))
    assert (found.verdict, found.n_clusters) == ("clear", k)
    assert found.sentence.endswith(f"at {k} clusters).")


def test_labels_are_checked_at_the_number_that_was_given():
    truth = np.repeat(np.arange(9), 40)
    members = noisy(np.random.default_rng(0), truth, 10, 0.05)
    assert qt.label_structure(members, 9).stability > 0.99
    wrong = qt.label_structure(members, 4)
    assert wrong.n_clusters == 4
    assert wrong.stability < 0.99
    with raises("integer", "n_clusters"):
        qt.label_structure(members, 0)


def test_uneven_groups_are_clear():
    truth = np.repeat(np.arange(4), [960, 20, 10, 10])
    assert qt.label_structure(noisy(np.random.default_rng(0), truth, 10, 0.1), 4).verdict == "clear"


def test_random_labels_show_no_structure():
    random = np.random.default_rng(0)
    for k in (2, 5, 20):
        found = qt.label_structure(random.integers(0, k, (300, 10)))
        assert found.verdict == "none"
        assert found.sentence.startswith("No evidence of clusters, judged by labels only")


def test_what_labels_cannot_show_is_a_record_with_a_reason():
    """Three members gave None."""
    truth = np.repeat([0, 1, 2], 50)
    random = np.random.default_rng(0)
    few = qt.label_structure([truth] * 3)
    assert (few.verdict, few.stability, few.reason, few.n_clusters) == ("unknown", None, "too few members", 3)
    assert few.sentence == "Labels cannot show whether there are clusters: there are fewer than four members."
    assert qt.label_structure([np.zeros(90, dtype=int)] * 4).reason == "one cluster"
    assert qt.label_structure([[0, 0, 1]] * 4).reason == "too few rows"
    dice = [random.integers(0, 4, 150) for _ in range(20)]
    assert qt.label_structure([*noisy(random, truth, 3, 0.02), *dice]).reason == "too few agreeing members"


def test_random_members_do_not_make_clear_clusters_doubtful():
    rng = np.random.default_rng(0)
    good = noisy(rng, np.repeat(np.arange(4), 60), 6, 0.01)
    junk = [rng.integers(0, k, 240) for k in (4, 30, 80)]
    dice = [rng.integers(0, rng.integers(2, 9), 240) for _ in range(24)]
    assert qt.label_structure([*good, *junk], 4).verdict == "clear"
    among = qt.label_structure([*good, *dice], 4)
    assert (among.verdict, among.n_members) == ("clear", 6)


def test_labels_alone_do_not_depend_on_the_order_of_rows():
    random = np.random.default_rng(3)
    labels = random.integers(0, 3, (80, 6))
    shuffled = labels[random.permutation(80)]
    assert qt.label_structure(shuffled).stability == pytest.approx(qt.label_structure(labels).stability)


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


def test_several_tests_together():
    assert simes([]) == 1.0
    assert simes([0.4, 0.03]) == pytest.approx(0.06)
    assert simes([0.02, 0.02, 0.02]) == pytest.approx(0.02)  # 0.06 if each counted alone


def test_the_pooled_covariance_is_shrunk_where_rows_are_few():
    random = np.random.default_rng(0)
    stretched = np.diag(np.linspace(1, 4, 12))

    def error(n):
        W = pooled_covariance(*(random.normal(size=(n, 12)) @ stretched for _ in range(2)))
        return np.linalg.norm(W - stretched**2) / np.linalg.norm(stretched**2)

    assert error(4000) < 0.05
    few = [random.normal(size=(5, 12)) for _ in range(2)]
    assert np.linalg.cond(pooled_covariance(*few)) < 10  # eight rows would span eight directions of twelve


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


def test_the_tree_finds_rare_groups_that_graph_cuts_miss():
    random, truth = np.random.default_rng(0), np.repeat(range(4), [1440, 30, 15, 15])
    members = [np.where(random.random(1500) < 0.03, random.integers(0, 4, 1500), truth) for _ in range(10)]
    graph, tree = cuts_of_rows(qt.Ensemble(members))
    assert list(graph) == list(tree) == list(range(2, 9))
    assert adjusted_rand_score(truth, graph[4]) < 0.8
    assert adjusted_rand_score(truth, tree[4]) > 0.98


def test_ties_are_spread_over_their_cells_and_gaps_between_groups_of_values_remain():
    column = np.repeat([0.0, 1.0, 2.0, 100.0, 101.0], 50)
    spread = spread_ties(np.stack([column, np.arange(250.0)], axis=1))
    assert np.abs(spread[:, 0] - column).max() <= 1.5
    assert len(np.unique(spread[:, 0])) == 250
    np.testing.assert_array_equal(spread[:, 1], np.arange(250.0))
    order = np.random.default_rng(0).permutation(250)
    again = spread_ties(np.stack([column, np.arange(250.0)], axis=1)[order])
    np.testing.assert_array_equal(again, spread[order])
    binary = spread_ties(np.repeat([[0.0], [1.0]], 500, axis=0))
    assert dip_p_value(dip(binary), 1000) > 0.5


def test_the_rows_between_two_clusters_count_whatever_their_cluster():
    """Two cells of an even square that touch at a corner look separated without the rows of the cells beside them."""
    random = np.random.default_rng(0)
    X = random.random((2000, 2))
    cells = (X[:, 0] > 0.5) * 2 + (X[:, 1] > 0.5)
    means = np.stack([X[cells == cell].mean(axis=0) for cell in range(4)])
    pair = np.isin(cells, [0, 3])
    assert separation_p_value(X, cells, (0, 3), means) > 0.05
    assert separation_p_value(X[pair], cells[pair] // 3, (0, 1), means[[0, 3]]) < 0.01


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


def test_adjusted_p_values_of_several_tests():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.01, 0.9], 2) == pytest.approx([0.04, 1.0])
    assert holm([]) == []


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
