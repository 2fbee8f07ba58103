"""How many comparisons the pruned searches make.

A pruning bound that is wrong on the safe side changes no result and only costs time, so the comparisons are counted.
The kernels run as Python functions here, with a counter in place of the function that compares two items. The bounds
are the numbers of comparisons when the tests were written; a better bound may lower them.
"""

import numpy as np
import pytest

import quorate as qt
from quorate._kernels import landmarks, nearest_groups, neighbor_sums
from quorate.numerics.average_link import ActiveGroups, PatternGroups
from quorate.row_similarity import ThroughClusters, covering_weight


class Counter:
    """Counts the calls of a function."""

    def __init__(self, function):
        self.function, self.n_calls = function, 0

    def __call__(self, *arguments):
        self.n_calls += 1
        return self.function(*arguments)


def noisy_ensemble(n_rows=600, n_members=8, noise=0.15):
    """Return an ensemble of ten groups, in which members disagree at random and split groups differently."""
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 10, n_rows)
    members = []
    for j in range(n_members):
        k = 10 + 3 * j
        members.append(np.where(rng.random(n_rows) < noise, rng.integers(0, k, n_rows), truth * k // 10))
    return qt.Ensemble(members)


def leaves_of(ens):
    weights = np.ones(ens.n_members)
    covered = covering_weight(ens.patterns, weights)
    return PatternGroups.of_patterns(ens, weights, np.arange(ens.n_patterns), None, covered)


@pytest.fixture
def counted(monkeypatch):
    """Run the kernels of `nearest_groups` in Python, in one thread, and count compared pairs and searched groups."""
    monkeypatch.setattr("quorate.numerics.average_link.run_in_parts", lambda task, todo, on_progress=None: task(todo))
    for name in ("choose", "find_nearest"):
        monkeypatch.setattr(nearest_groups, name, getattr(nearest_groups, name).py_func)
    similarity = Counter(nearest_groups._similarity)
    searches = []
    search = nearest_groups.search.py_func
    monkeypatch.setattr(nearest_groups, "_similarity", similarity)
    monkeypatch.setattr(nearest_groups, "search", lambda todo, *rest: (searches.append(len(todo)), search(todo, *rest)))
    return similarity, searches


def test_average_link_compares_few_pairs(counted):
    similarity, searches = counted
    front = ActiveGroups.of_leaves(leaves_of(noisy_ensemble()))
    n = front.n_left
    n_merges = 0
    while len(merges := front.join_nearest(lambda share: None).pairs):
        n_merges += len(merges)
    assert n_merges == n - front.n_left > 0.9 * n
    n_searched = sum(searches)
    assert searches[0] == n  # the first round searches for every group
    assert n_searched <= 472  # 59 more than the first round: lists answer the other questions
    assert similarity.n_calls <= 15_379  # of 85,078 pairs in the first round alone


def test_the_nearest_group_through_clusters_skips_groups(monkeypatch):
    ens = noisy_ensemble(n_rows=3000, noise=0.05)
    rng = np.random.default_rng(0)
    same_member = ens.cluster_member[:, None] == ens.cluster_member
    similarity = np.where(same_member, rng.random((ens.n_clusters, ens.n_clusters)) * 0.01, 0.0)
    similarity = (similarity + similarity.T) / 2
    np.fill_diagonal(similarity, 1.0)
    groups = ThroughClusters.of_members(ens, np.ones(ens.n_members), similarity, np.arange(ens.n_patterns))
    matrix = groups.matrix()
    np.fill_diagonal(matrix, -np.inf)
    counter = Counter(neighbor_sums._have_in_common)
    monkeypatch.setattr(neighbor_sums, "_have_in_common", counter)
    monkeypatch.setattr(neighbor_sums, "_nearest_to_block", neighbor_sums._nearest_to_block.py_func)
    n = len(groups)
    partner, best, second = np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n)
    neighbor_sums.nearest.py_func(np.arange(n), *groups._arrays, partner, best, second)
    np.testing.assert_allclose(best, matrix.max(axis=1), atol=1e-12)
    assert -(-n // 64) * n == 8796  # comparisons without a bound: each block of 64 groups with every group
    assert counter.n_calls <= 5769


@pytest.mark.parametrize("n_features", [2, 5])
def test_nearest_landmarks_need_few_distances(monkeypatch, n_features):
    rng = np.random.default_rng(0)
    n_landmarks, n_groups, n_neighbors, n_candidates = 100, 10, 5, 50
    points = rng.normal(size=(n_landmarks, n_features)).astype(np.float32)
    centers = points[:n_groups]
    group = np.argmin(((points[:, None] - centers) ** 2).sum(axis=2), axis=1)
    member = np.argsort(group, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n_groups))])
    near = np.argsort(((points[:, None] - points) ** 2).sum(axis=2), axis=1)[:, :n_candidates]
    candidates = np.sort(near, axis=1)
    counter = Counter(landmarks._distance)
    monkeypatch.setattr(landmarks, "_distance", counter)
    monkeypatch.setattr(landmarks, "_keep_nearest", landmarks._keep_nearest.py_func)
    index, distance = np.zeros(n_neighbors, dtype=np.int64), np.empty(n_neighbors, dtype=np.float32)
    rows = rng.normal(size=(200, n_features)).astype(np.float32)
    n_exact = 0
    for row in rows:
        landmarks._find.py_func(row, points, centers, first, member, candidates, index, distance)
        n_exact += np.array_equal(np.sort(index), np.sort(np.argsort(((points - row) ** 2).sum(axis=1))[:n_neighbors]))
    largest = int(np.bincount(group).max())
    assert counter.n_calls <= len(rows) * (n_groups + largest + n_candidates)
    assert n_exact >= 0.95 * len(rows)
