"""Hard voting."""

import quorate as qt
from support import warns


def test_best_member_and_hard_voting_on_the_running_example(running_example):
    assert qt.HardVoting(n_clusters=2).fit(running_example).agreement_ == 15
    best = qt.BestMember().fit(running_example)
    assert best.distances_.tolist() == [20, 18, 18]
    assert best.labels_.tolist() == [0, 0, 1, 1, 2, 2]
    with warns("number-of-clusters-ignored"):
        qt.BestMember(n_clusters=2).fit(running_example)
