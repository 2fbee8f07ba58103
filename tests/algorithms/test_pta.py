"""PTA."""

import numpy as np
import pytest

import oracles
import quorate as qt
from method_checks import assert_same_partitions
from quorate.ensemble import Ensemble
from quorate.graphs import pattern_trajectory_similarity
from quorate.numerics.linkage import LINKS


def test_trajectories_on_the_running_example(running_example):
    ens, equal, every = Ensemble(running_example), np.ones(3), np.arange(4)
    two = pattern_trajectory_similarity(ens, equal, every, 2, 2)[[0, 0, 0, 2], [1, 2, 3, 3]]
    assert two == pytest.approx([0.3158, 0.5923, 0.5298, 0.1491], abs=5e-5)
    usual = pattern_trajectory_similarity(ens, equal, every, None, None)
    expected = np.eye(4)
    expected[[0, 2], [2, 0]], expected[[1, 3], [3, 1]] = 0.7071, 0.4472
    assert usual == pytest.approx(expected, abs=5e-5)
    heights = {
        "average": [0.4077, 0.4702, 0.6032],
        "complete": [0.4077, 0.4702, 0.8509],
        "single": [0.4077, 0.4077, 0.4702],
    }
    for link in LINKS:
        tree = qt.PTA(n_clusters=2, linkage=link, n_neighbors=2, n_steps=2).fit(ens)
        assert tree.dendrogram_.heights == pytest.approx(heights[link], abs=5e-5)
    assert qt.PTA(n_clusters=2, n_neighbors=2, n_steps=2).fit_predict(ens).tolist() == [0, 0, 1, 0, 1, 1]


def test_patterns_without_links_are_almost_dissimilar():
    ens = Ensemble([[0, 0, 1, 2]])
    assert np.all(pattern_trajectory_similarity(ens, np.ones(1), np.arange(3), None, None) == 1e-20)


def test_patterns_are_weighted_by_rows_on_request(running_example):
    weighted = qt.PTA(n_clusters=2, n_neighbors=2, n_steps=2, row_weights=True).fit(running_example)
    similarity = pattern_trajectory_similarity(Ensemble(running_example), np.ones(3), np.arange(4), 2, 2)
    tree = weighted.dendrogram_
    oracles.replay(similarity, np.array([2.0, 1, 1, 2]), tree.merges, tree.heights, "average")


def test_trajectories_agree_with_the_authors_program(authors_reference):
    ens, answers = authors_reference
    similarity = pattern_trajectory_similarity(ens, np.ones(ens.n_members), np.arange(ens.n_patterns), None, None)
    assert similarity[0] == pytest.approx(answers["pta_pts_row0"], abs=1e-9)
    for link in LINKS:
        tree = qt.PTA(n_clusters=2, linkage=link).fit(ens)
        assert tree.dendrogram_.heights[-100:] == pytest.approx(answers[f"pta_{link}_heights"], abs=1e-9)
        assert_same_partitions(
            tree.sweep(answers["ks"]), answers[f"pta_{link}_labels"], answers[f"pta_{link}_labels_tiefree"]
        )
