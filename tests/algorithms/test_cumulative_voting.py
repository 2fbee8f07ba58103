"""Cumulative voting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import field_oracles as dense
import oracles
import quorate as qt
from quorate.algorithms.cumulative_voting import cumulative_votes, merge_columns, voting_order
from quorate.ensemble import Ensemble
from support import raises, warns


def test_cumulative_voting_on_the_running_example(running_example):
    ens, equal = Ensemble(running_example), np.ones(3)
    assert voting_order(ens, equal).tolist() == [1, 0, 2]
    after_two = cumulative_votes(ens, np.array([1, 1, 0.0])).of_patterns()
    assert after_two[[0, 2]] == pytest.approx(np.array([[0.8333, 0.1667, 0], [0, 0.6667, 0.3333]]), abs=5e-5)
    votes = cumulative_votes(ens, equal).of_patterns()
    expected = [[0.7222, 0.25, 0.0278], [0.3889, 0.5833, 0.0278], [0, 0.1667, 0.8333]]
    assert votes[[0, 1, 3]] == pytest.approx(np.array(expected), abs=5e-5)
    fixed = cumulative_votes(ens, equal, adaptive=False).of_patterns()
    assert fixed[0] == pytest.approx([0.7222, 0.2778, 0], abs=5e-5)
    joint = fixed * ens.counts[:, None] / 6
    assert joint.sum(axis=0) == pytest.approx([1 / 3] * 3)
    losses = [dense.merging_loss(joint[:, [i, j]]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert losses == pytest.approx([0.0864, 0.4178, 0.2653], abs=5e-5)
    for adaptive in (True, False):
        found = qt.CumulativeVoting(n_clusters=2, adaptive=adaptive).fit(ens)
        assert found.labels_.tolist() == [0, 0, 0, 0, 1, 1]
    with warns("fewer-clusters"):
        qt.CumulativeVoting(n_clusters=4).fit(ens)
    with raises("flag", "adaptive"):
        qt.CumulativeVoting(adaptive="no").fit(ens)


few = settings(max_examples=25)


@given(labels=oracles.label_matrices(missing=True), seed=st.integers(0, 9), adaptive=st.booleans())
@few
def test_cumulative_votes_equal_those_over_all_rows(labels, seed, adaptive):
    ens = Ensemble(list(labels.T))
    weights = np.random.default_rng(seed).uniform(0.2, 1.0, ens.n_members)
    found = cumulative_votes(ens, weights, adaptive=adaptive).of_patterns()[ens.row_pattern]
    assert found == pytest.approx(dense.cumulative_votes(labels, weights, adaptive), abs=1e-12)


@given(labels=oracles.label_matrices(max_clusters=6, missing=True))
@few
def test_columns_of_votes_are_merged_by_least_loss(labels):
    ens = Ensemble(list(labels.T))
    votes = cumulative_votes(ens, np.ones(ens.n_members))
    joint = votes.of_patterns() * ens.counts[:, None]
    columns = dict(enumerate((joint / joint.sum()).T))
    for i, j in merge_columns(votes):
        losses = {
            (a, b): dense.merging_loss(np.stack([columns[a], columns[b]], axis=1))
            for a in columns
            for b in columns
            if a < b
        }
        assert losses[i, j] == pytest.approx(min(losses.values()), abs=1e-11)
        columns[i] = columns[i] + columns.pop(j)


def test_a_row_that_shares_no_cluster_joins_the_largest_group_whatever_its_name():
    # Row 0 has only a label of its own, in the second member: it has no vote and no neighbor.
    second = [9, 0, 0, 0, 0, 0, 0, 0, 0]
    for names in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        first = [-1, *np.array(names)[[0, 0, 0, 1, 1, 1, 1, 2]]]
        labels = qt.CumulativeVoting(n_clusters=3, weights="equal").fit_predict([first, second])
        assert labels[0] == labels[4]
