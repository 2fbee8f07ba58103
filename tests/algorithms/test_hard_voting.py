"""Hard voting."""

import numpy as np
import pytest

import oracles
import quorate as qt
from support import warns


def test_best_member_and_hard_voting_on_the_running_example(running_example):
    assert qt.HardVoting(n_clusters=2).fit(running_example).agreement_ == 15
    best = qt.BestMember().fit(running_example)
    assert best.distances_.tolist() == [20, 18, 18]
    assert best.labels_.tolist() == [0, 0, 1, 1, 2, 2]
    with warns("number-of-clusters-ignored"):
        qt.BestMember(n_clusters=2).fit(running_example)


@pytest.mark.parametrize(
    "members",
    [
        # Two merges of the tree at the same height exclude each other.
        [[2, 0, 0, 0], [1, 0, 1, 0]],
        # A group shares no rows with two clusters of a member: both match it equally well.
        [[2, 1, 0, 1, 2, 0], [0, 2, 0, 1, 1, 2]],
    ],
)
def test_names_do_not_break_ties_of_merges_and_matchings(members):
    row_weights = [3, 5, 7, 11, 13, 17][: len(members[0])]
    one, other = (
        qt.HardVoting(n_clusters=2).fit_predict(qt.Ensemble(list(labels), row_weights=row_weights))
        for labels in (members, 2 - np.array(members)[::-1])
    )
    assert oracles.partition(one) == oracles.partition(other)
