"""Whether two clusters are separated: the axis between them, ties and the rows in between."""

import numpy as np

from quorate.analysis.structure.dip_test import dip, dip_p_value
from quorate.analysis.structure.separation import discriminant_axis, pooled_covariance, separation_p_value, spread_ties


def test_the_axis_follows_the_covariance_within():
    random = np.random.default_rng(0)
    spread = np.array([1.0, 10.0])
    one, two = random.normal(0, 1, (500, 2)) * spread, random.normal(0, 1, (500, 2)) * spread + [4, 4]
    weights = discriminant_axis(one, two).weights
    assert abs(weights[0]) > 3 * abs(weights[1])


def test_the_pooled_covariance_is_shrunk_where_rows_are_few():
    random = np.random.default_rng(0)
    stretched = np.diag(np.linspace(1, 4, 12))

    def error(n):
        W = pooled_covariance(*(random.normal(size=(n, 12)) @ stretched for _ in range(2)))
        return np.linalg.norm(W - stretched**2) / np.linalg.norm(stretched**2)

    assert error(4000) < 0.05
    few = [random.normal(size=(5, 12)) for _ in range(2)]
    assert np.linalg.cond(pooled_covariance(*few)) < 10  # eight rows would span eight directions of twelve


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
