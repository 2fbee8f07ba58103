"""SRS."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import baseline_oracles as dense
import quorate as qt
from method_checks import over_rows, scipy_heights, similarity_of
from quorate.algorithms.srs import simrank_similarity
from quorate.ensemble import Ensemble


def test_simrank_on_the_running_example(running_example):
    ens = Ensemble(running_example)
    two = over_rows(ens, simrank_similarity(ens, np.ones(3), 0.8, 2, np.arange(4)))
    assert two[[0, 0, 3], [1, 2, 4]] == pytest.approx([0.2667, 0.1778, 0.0889], abs=5e-5)
    five = similarity_of(qt.SRS, ens)
    assert five[[0, 0, 0, 0, 4], [1, 2, 3, 4, 5]] == pytest.approx([0.4759, 0.3865, 0.2462, 0.0295, 0.5190], abs=5e-5)


few = settings(max_examples=25)


@given(labels=dense.nearly_unanimous(), n_iterations=st.integers(2, 8))
@few
def test_simrank_for_any_number_of_iterations(labels, n_iterations):
    ens = Ensemble(list(labels.T))
    weights = np.ones(ens.n_members)
    found = simrank_similarity(ens, weights, 0.8, n_iterations, np.arange(ens.n_patterns))
    assert np.allclose(over_rows(ens, found), dense.simrank(labels, weights, 0.8, n_iterations), atol=1e-12)


def test_rows_of_a_pattern_are_linked_one_by_one_if_simrank_separates_them():
    members = [[9, 9, 9, 9, 1]] + [[0, 0, 1, 1, 1]] * 7
    similarity = dense.simrank(np.array(members).T, np.ones(8))
    assert similarity[2, 3] < similarity[2, 4]  # rows 2 and 3 have the same labels
    fitted = qt.SRS(n_clusters=2).fit(members)
    tree = fitted.dendrogram_
    assert tree.leaf_pattern.tolist() == [0, 1, 2, 2]
    assert tree.to_scipy(rows=True)[:, 2] == pytest.approx(scipy_heights(similarity, "average"), abs=1e-12)
    assert tree.lifetimes.shape == (2,)
    # All the same, rows with the same labels stay together, and every number of clusters is exact.
    assert fitted.sweep([1, 2, 3]).T.tolist() == [[0, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 1, 1, 2]]
