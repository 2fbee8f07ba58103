"""Weighted k-means: starts computed by hand and by slow versions, exactly k clusters, blocks as in memory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
import quorate as qt
from quorate import _kernels
from quorate.numerics.kmeans import (
    INITS,
    ROUNDING,
    Points,
    blocked_kmeans,
    farthest,
    farthest_unrounded,
    heaviest,
    heavy_and_far,
    least_similar,
    lloyd,
    spread_out,
    ward_centers,
    weighted_kmeans,
)

KEYS = [farthest, farthest_unrounded, heavy_and_far, least_similar]


def in_blocks(points, weights, size):
    return [Points(points[i : i + size], weights[i : i + size]) for i in range(0, len(points), size)]


def drawn(seed, n_points=60, n_dims=2, decimals=1):
    random = np.random.default_rng(seed)
    return random.normal(size=(n_points, n_dims)).round(decimals), random.integers(1, 9, n_points).astype(float)


def rounded(distance):
    return np.rint(distance * ROUNDING)


def between(a, b):
    return float(((a - b) ** 2).sum())


def dense_seeds(points, weights, n_seeds):
    """The heaviest point, then repeatedly the largest weight times squared distance, by looking at all pairs."""
    chosen = [int(np.argmax(weights))]
    while len(chosen) < n_seeds:
        distances = [min(between(point, points[c]) for c in chosen) for point in points]
        mass = [weight * rounded(distance) for weight, distance in zip(weights, distances, strict=True)]
        if max(mass) == 0:
            break
        chosen.append(int(np.argmax(mass)))
    return points[chosen]


def dense_groups(points, weights, centers):
    """The weighted mean and weight of the points nearest to each center, where there are any."""
    nearest = np.array([np.argmin([rounded(between(point, center)) for center in centers]) for point in points])
    some = [nearest == j for j in range(len(centers)) if np.any(nearest == j)]
    means = np.array([np.average(points[own], axis=0, weights=weights[own]) for own in some])
    return means, np.array([weights[own].sum() for own in some])


def dense_ward(means, weights, k):
    """Join the two groups of least cost, over all pairs, until k are left."""
    groups = [(mean, weight) for mean, weight in zip(means, weights, strict=True)]
    while len(groups) > k:
        pairs = [(a, b) for a in range(len(groups)) for b in range(a + 1, len(groups))]
        costs = [
            groups[a][1] * groups[b][1] / (groups[a][1] + groups[b][1]) * rounded(between(groups[a][0], groups[b][0]))
            for a, b in pairs
        ]
        a, b = pairs[int(np.argmin(costs))]
        (mean_a, weight_a), (mean_b, weight_b) = groups[a], groups.pop(b)
        groups[a] = ((weight_a * mean_a + weight_b * mean_b) / (weight_a + weight_b), weight_a + weight_b)
    return np.array([mean for mean, _ in groups])


def dense_lloyd(points, weights, centers):
    """Plain iterations until nothing changes; fails where a cluster runs empty."""
    before = None
    while True:
        labels = np.array([np.argmin([rounded(between(point, center)) for center in centers]) for point in points])
        if before is not None and np.array_equal(labels, before):
            return labels
        assert len(np.unique(labels)) == len(centers)
        before = labels
        centers = [np.average(points[labels == j], axis=0, weights=weights[labels == j]) for j in range(len(centers))]


def test_centres_spread_out_and_stop_when_nothing_is_apart():
    points = np.array([[0.0], [1.0], [5.0], [5.0], [9.0]])
    blocks = [Points(points, np.ones(5))]
    assert spread_out(blocks, points[1], 3, farthest).ravel().tolist() == [1, 9, 5]
    assert spread_out(blocks, points[0], 9, farthest).ravel().tolist() == [0, 9, 5, 1]


def test_heavy_points_far_away_come_first_by_hand():
    points = np.array([[0.0], [1.0], [4.0], [10.0]])
    weights = np.array([5.0, 1.0, 20.0, 1.0])
    # From 4: weight times squared distance is 5 * 16 = 80, 9, -, 36; from 4 and 0: -, 1, -, 36.
    assert spread_out(
        [Points(points, weights)], heaviest([Points(points, weights)]), 3, heavy_and_far
    ).ravel().tolist() == [4, 0, 10]


def test_points_least_similar_come_first_by_hand():
    points = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [-1.0, 0.0]])
    blocks = [Points(points, np.ones(4))]
    # |cosines| to (1, 0): 1, 0.8, 0, 1; with (0, 1): 1, 1.4, 1, 1, of which the first that is no center is the last.
    assert spread_out(blocks, points[0], 3, least_similar).tolist() == [[1, 0], [0, 1], [-1, 0]]


def test_ward_by_hand():
    means = np.array([[0.0], [1.0], [10.0], [12.0]])
    weights = np.array([1.0, 1.0, 3.0, 1.0])
    # Costs: 1/2 for 0 and 1, 3/4 * 4 = 3 for 10 and 12; then {0.5: 2}, {10.5: 4}: 2 * 4 / 6 * 100.
    merge = _kernels.lloyd.merge_groups
    assert merge(means, weights, 3, ROUNDING).ravel().tolist() == [0.5, 10, 12]
    assert merge(means, weights, 2, ROUNDING).ravel().tolist() == [0.5, 10.5]
    assert merge(means, weights, 1, ROUNDING).ravel().tolist() == pytest.approx([43 / 6])
    assert merge(means, weights, 9, ROUNDING).ravel().tolist() == [0, 1, 10, 12]


def test_ward_joins_the_light_rather_than_the_near():
    means = np.array([[0.0], [1.0], [2.5]])
    # 100 * 100 / 200 * 1 = 50 against 100 * 1 / 101 * 2.25 = 2.2.
    assert _kernels.lloyd.merge_groups(means, np.array([100.0, 100.0, 1.0]), 2, ROUNDING).ravel().tolist() == [
        0,
        pytest.approx(102.5 / 101),
    ]


@pytest.mark.parametrize("seed", range(8))
def test_ward_is_that_of_all_pairs(seed):
    means, weights = drawn(seed, n_points=30, decimals=0 if seed % 2 else 3)  # whole numbers tie
    for k in (1, 2, 5, 29):
        found = _kernels.lloyd.merge_groups(means, weights, k, ROUNDING)
        np.testing.assert_allclose(found, dense_ward(means, weights, k), atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_start_and_the_answer_are_those_of_the_slow_way(seed):
    points, weights = drawn(seed, n_points=120)
    for k in (2, 5, 15):
        seeds = dense_seeds(points, weights, max(4 * k, 50))
        means, _ = dense_groups(points, weights, seeds)
        means, sizes = dense_groups(points, weights, means)
        centers = dense_ward(means, sizes, k)
        found, n_clusters = ward_centers([Points(points, weights)], k)
        assert n_clusters == k
        np.testing.assert_allclose(found, centers, atol=1e-12)
        expected = dense_lloyd(points, weights, centers)
        assert weighted_kmeans(points, weights, k).labels.tolist() == expected.tolist()


@pytest.mark.parametrize("start", ["ward", "heaviest", "k-means++", "first-row", "random"])
def test_kmeans_finds_separated_blobs(start):
    random = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 30)
    points = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])[truth] + random.normal(scale=0.3, size=(120, 2))
    found = weighted_kmeans(
        points, random.uniform(1, 5, 120), 4, init=start, first_row=random.permutation(120), random_state=0
    )
    assert oracles.partition(found.labels) == oracles.partition(truth)


def dense_from_first(points, k):
    """The first point, then repeatedly the first of those farthest from all chosen; nothing is rounded."""
    chosen = [0]
    while len(chosen) < k:
        chosen.append(int(np.argmax([min(between(point, points[c]) for c in chosen) for point in points])))
    return points[chosen]


@pytest.mark.parametrize("seed", range(4))
def test_the_authors_start_is_the_point_seen_first(seed):
    points, weights = drawn(seed, decimals=6)
    seen = np.random.default_rng(seed).permutation(len(points))
    order = np.argsort(seen)
    for k in (2, 5, 12, 40):
        expected = dense_lloyd(points[order], weights[order], dense_from_first(points[order], k))
        found = weighted_kmeans(points, weights, k, init="first-row", first_row=seen).labels
        assert found[order].tolist() == expected.tolist()


@pytest.mark.parametrize("start", ["ward", "heaviest"])
def test_weights_pull_the_centers(start):
    points = np.array([[0.0], [4.0], [5.0], [9.0]])
    heavy_left = weighted_kmeans(points, np.array([1.0, 100.0, 1.0, 100.0]), 2, init=start)
    assert oracles.partition(heavy_left.labels) == {frozenset({0, 1, 2}), frozenset({3})}
    heavy_ends = weighted_kmeans(points, np.array([100.0, 1.0, 1.0, 100.0]), 2, init=start)
    assert oracles.partition(heavy_ends.labels) == {frozenset({0, 1}), frozenset({2, 3})}


def test_inertia_is_the_weighted_sum_of_squares():
    points, weights = np.array([[0.0], [2.0], [10.0]]), np.array([1.0, 3.0, 2.0])
    found = weighted_kmeans(points, weights, 2)
    assert found.inertia == pytest.approx(1 * 1.5**2 + 3 * 0.5**2)


@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from(["ward", "heaviest", "k-means++", "random"]))
@settings(max_examples=60)
def test_exactly_k_clusters_where_k_points_are_distinct(seed, k, start):
    random = np.random.default_rng(seed)
    points = random.integers(0, 3, (random.integers(1, 30), 2)).astype(float)  # at most 9 distinct points
    weights = random.integers(1, 1000, len(points)).astype(float)
    found = weighted_kmeans(points, weights, k, init=start, random_state=0, n_init=2).labels
    assert len(np.unique(found)) == min(k, len(np.unique(points, axis=0)))


@pytest.mark.parametrize("start", [*INITS, "random"])
def test_copies_of_points_are_not_further_clusters(start):
    points, weights = np.array([[0.0], [5.0], [0.0], [5.0], [0.0]]), np.arange(1.0, 6.0)
    found = weighted_kmeans(points, weights, 4, init=start, first_row=np.arange(5), random_state=0)
    assert oracles.partition(found.labels) == oracles.partition(points[:, 0])
    assert found.inertia == 0


@pytest.mark.parametrize("start", [*INITS, "random"])
def test_near_points_are_separate_clusters_if_as_many_are_requested(start):
    points, weights = np.array([[0.0], [0.001], [0.002], [0.003]]), np.full(4, 0.1)
    found = weighted_kmeans(points, weights, 4, init=start, first_row=np.arange(4), random_state=0)
    assert len(np.unique(found.labels)) == 4


def test_fixed_points_start_no_cluster():
    points, weights = drawn(0)
    fixed = Points(100 + points, weights, fixed=True)
    for key in KEYS:
        alone = spread_out([Points(points, weights)], points[0], 9, key)
        assert spread_out([fixed, Points(points, weights), fixed], points[0], 9, key).tolist() == alone.tolist()


@pytest.mark.parametrize("start", ["ward", "heaviest"])
def test_the_order_of_points_does_not_matter(start):
    for seed in range(10):
        points, weights = drawn(seed, decimals=6)
        weights = weights + np.linspace(0, 0.5, len(weights))  # no ties
        order = np.random.default_rng(seed).permutation(len(points))
        for k in (2, 7, 20):
            plain = weighted_kmeans(points, weights, k, init=start).labels
            shuffled = weighted_kmeans(points[order], weights[order], k, init=start).labels
            assert oracles.partition(plain[order]) == oracles.partition(shuffled)


def test_fewer_centres_than_clusters_are_filled_up_by_the_farthest_points():
    points, weights = np.array([[0.0], [1.0], [8.0], [9.0]]), np.ones(4)
    found = lloyd([Points(points, weights)], np.array([[0.0]]), 3)
    # The farthest points are 9 and 8; then 0 and 1 keep the only center.
    assert found.labels(points, 0)[0].tolist() == [0, 0, 2, 1]


def test_an_emptied_cluster_takes_the_farthest_point_that_is_not_alone():
    # Nothing is near the third center. The point at 50 is farthest from its center, but alone in its cluster.
    points, weights = np.array([[0.0], [1.0], [3.0], [50.0]]), np.ones(4)
    centers = np.array([[0.0], [30.0], [1000.0]])
    found = lloyd([Points(points, weights)], centers, 3)
    assert found.labels(points, 0)[0].tolist() == [0, 0, 2, 1]


def test_of_two_emptied_clusters_each_takes_a_point_of_its_own():
    points, weights = np.array([[0.0], [1.0], [5.0], [7.0]]), np.ones(4)
    centers = np.array([[0.0], [1000.0], [2000.0]])
    found = lloyd([Points(points, weights)], centers, 3)
    assert found.labels(points, 0)[0].tolist() == [0, 0, 2, 1]


def test_a_cluster_gives_away_no_more_than_all_but_one_of_its_points():
    # Nothing is near the last two centers. The farthest points are those at 111 and 90, which are one cluster.
    points, weights = np.array([[0.0], [1.0], [2.0], [90.0], [111.0]]), np.ones(5)
    centers = np.array([[0.0], [100.0], [10000.0], [20000.0]])
    found = lloyd([Points(points, weights)], centers, 4)
    assert found.labels(points, 0)[0].tolist() == [0, 0, 3, 1, 2]


def test_a_cluster_may_give_away_all_but_one_of_its_points():
    points, weights = np.array([[0.0], [5.0], [7.0]]), np.ones(3)
    found = lloyd([Points(points, weights)], np.array([[0.0], [1000.0], [2000.0]]), 3)
    assert found.labels(points, 0)[0].tolist() == [0, 2, 1]


def test_clusters_without_rows_are_reseeded_though_fixed_points_are_in_them():
    rows, fixed = np.array([[0.0], [1.0], [2.0]]), np.array([[10.0]])
    blocks = [Points(rows, np.ones(3)), Points(fixed, np.ones(1), fixed=True)]
    found = lloyd(blocks, np.array([[0.0], [10.0]]), 2)
    assert sorted(np.bincount(found.labels(rows, 0)[0], minlength=2)) == [1, 2]


@pytest.mark.parametrize("size", [1, 7, 59])
def test_emptied_clusters_are_reseeded_in_blocks_as_in_memory(size):
    """Centers far from all points: most clusters are empty at first."""
    for seed in range(10):
        points, weights = drawn(seed)
        centers = np.vstack([points[:2], 100 + np.arange(10.0).reshape(5, 2)])
        whole = lloyd([Points(points, weights)], centers, 7)
        parts = lloyd(in_blocks(points, weights, size), centers, 7)
        assert len(np.unique(whole.labels(points, 0)[0])) == 7
        assert parts.labels(points, 0)[0].tolist() == whole.labels(points, 0)[0].tolist()
        assert parts.inertia == pytest.approx(whole.inertia)


@pytest.mark.parametrize("hold", [False, True])
@pytest.mark.parametrize("key", KEYS)
def test_centres_spread_out_in_blocks_as_in_memory(key, hold):
    for seed in range(10):
        points, weights = drawn(seed, decimals=0 if seed % 2 else 6)  # whole numbers tie
        whole = spread_out([Points(points, weights)], points[0], 20, key, hold=True)
        for size in (1, 7, 59):
            parts = spread_out(in_blocks(points, weights, size), points[0], 20, key, hold=hold)
            assert parts.tolist() == whole.tolist()


@pytest.mark.parametrize("start", ["ward", "heaviest"])
@pytest.mark.parametrize("size", [1, 7, 59])
def test_blocks_give_the_answer_in_memory(start, size):
    for seed in range(10):
        points, weights = drawn(seed)
        for k in (1, 3, 8, 20):
            parts = blocked_kmeans(in_blocks(points, weights, size), k, start, farthest)
            assert (
                parts.labels(points, 0)[0].tolist() == weighted_kmeans(points, weights, k, init=start).labels.tolist()
            )


def test_only_blocks_that_may_hold_the_next_centre_are_read_again():
    """Points of one place per block: once a center is there, its block has nothing to offer."""

    class Counting(list):
        reads = 0

        def __getitem__(self, i):
            self.reads += 1
            return super().__getitem__(i)

    random = np.random.default_rng(0)
    blocks = Counting(
        Points(place + 1e-3 * random.normal(size=(20, 2)), np.ones(20)) for place in 10 * random.normal(size=(30, 2))
    )
    centers = spread_out(blocks, blocks[0].values[0], 30, farthest)
    assert len(centers) == 30
    assert blocks.reads < 30 * 30 / 4


def test_the_heaviest_point_is_the_first_of_its_weight_and_not_fixed():
    blocks = [
        Points(np.array([[1.0], [2.0]]), np.array([1.0, 3.0])),
        Points(np.array([[3.0]]), np.array([3.0])),
        Points(np.array([[4.0]]), np.array([9.0]), fixed=True),
    ]
    assert heaviest(blocks).tolist() == [2.0]


@pytest.mark.parametrize("seed", range(40))
def test_ward_is_that_of_all_pairs_for_any_weights(seed):
    random = np.random.default_rng(seed)
    means, weights = random.normal(size=(12, 1)), random.choice([1.0, 5.0, 100.0, 3000.0], 12)
    for k in (1, 2, 3, 4, 6, 9):
        found = _kernels.lloyd.merge_groups(means, weights, k, ROUNDING)
        np.testing.assert_allclose(found, dense_ward(means, weights, k), atol=1e-9)


def test_progress_reports_the_search_for_clusters():
    heard = []
    with qt.progress(lambda what, share: heard.append((what, share))):
        weighted_kmeans(np.eye(4), np.ones(4), 2)
    assert heard == [("The 2 clusters of 4 patterns", None)]
