"""Groups of patterns: starts, empty groups and memberships."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

import oracles
import quorate as qt
from baseline_oracles import quiet
from quorate.algorithms.mixture import MixtureCuts
from quorate.algorithms.partition import fill_empty
from quorate.ensemble import Ensemble

few = settings(max_examples=25)


@pytest.mark.parametrize("method", [qt.CumulativeVoting, qt.MixtureModel])
@given(labels=oracles.label_matrices(missing=True), k=st.integers(1, 4))
@few
def test_labels_are_the_largest_memberships(method, labels, k):
    ens = Ensemble(list(labels.T))
    with quiet():
        fitted = method(n_clusters=min(k, ens.n_rows)).fit(ens)
    assert fitted.memberships_.shape[1] >= fitted.n_clusters_
    voted = fitted.memberships_.sum(axis=1) > 0
    assert fitted.memberships_.sum(axis=1)[voted] == pytest.approx(1)
    largest = fitted.memberships_[voted].max(axis=1)
    own = fitted.memberships_[voted, fitted.labels_[voted]]
    assert own == pytest.approx(largest, abs=1e-11)


def test_empty_groups_are_filled_by_the_strongest_votes():
    groups = np.array([0, 0, 0, 1])
    votes = np.array([[1, 0, 0.5, 0.1], [1, 0, 0.5, 0.1], [1, 0, 0.2, 0.1], [0, 1, 0.9, 0.9]])
    fill_empty(groups, votes, np.array([1, 3, 5, 9]))
    assert groups.tolist() == [0, 2, 3, 1]
    alone = np.array([0, 1])
    fill_empty(alone, np.ones((2, 3)), np.ones(2))
    assert alone.tolist() == [0, 1]


def test_start_from_the_heaviest_patterns_covers_all_patterns(generated):
    ens = Ensemble(generated)
    equal = np.ones(ens.n_members)
    whole = MixtureCuts(ens, equal).lwea_groups(4)
    cuts = MixtureCuts(ens, equal, max_linked=20)
    part = cuts.lwea_groups(4)
    heaviest = cuts.lwea_tree.leaf_pattern
    assert len(heaviest) == 20
    assert ens.counts[heaviest].min() >= np.delete(ens.counts, heaviest).max()
    assert adjusted_rand_score(part[ens.row_pattern], whole[ens.row_pattern]) > 0.5
    assert part.min() == 0
