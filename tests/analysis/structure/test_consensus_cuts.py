"""The partitions that are tested for structure."""

import numpy as np
from sklearn.metrics import adjusted_rand_score

import quorate as qt
from quorate.analysis.structure.consensus_cuts import cuts_of_rows


def test_the_tree_finds_rare_groups_that_graph_cuts_miss():
    random, truth = np.random.default_rng(0), np.repeat(range(4), [1440, 30, 15, 15])
    members = [np.where(random.random(1500) < 0.03, random.integers(0, 4, 1500), truth) for _ in range(10)]
    graph, tree = cuts_of_rows(qt.Ensemble(members))
    assert list(graph) == list(tree) == list(range(2, 9))
    assert adjusted_rand_score(truth, graph[4]) < 0.8
    assert adjusted_rand_score(truth, tree[4]) > 0.98
