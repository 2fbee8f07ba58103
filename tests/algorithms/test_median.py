"""The median partition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import field_oracles as dense
import oracles
import quorate as qt
from baseline_oracles import quiet
from quorate.algorithms.median import MedianCuts
from quorate.ensemble import Ensemble


def test_median_on_the_running_example(running_example):
    free = qt.MedianPartition().fit(running_example)
    assert free.labels_.tolist() == [0, 0, 0, 2, 1, 1]
    assert free.objective_ == pytest.approx(4 / 3)
    cuts = MedianCuts(Ensemble(running_example), np.ones(3))
    gains = [cuts.objective(np.array(groups)[cuts.covered]) for groups in ([0, 0, 0, 1], [0, 1, 1, 2])]
    assert gains == pytest.approx([7 / 6] * 2)
    every = [dense.partition_gain(running_example, np.ones(3), groups) for groups in dense.partitions(6)]
    assert max(every) == pytest.approx(4 / 3)


few = settings(max_examples=25)


@given(labels=oracles.label_matrices(missing=True, max_rows=12), k=st.integers(1, 4), gamma=st.sampled_from([0.3, 0.5]))
@few
def test_moving_a_pattern_does_not_improve_the_median(labels, k, gamma):
    ens = Ensemble(list(labels.T))
    weights = np.ones(ens.n_members)
    for n_clusters in ("auto", min(k, ens.n_patterns)):
        with quiet():
            fitted = qt.MedianPartition(n_clusters=n_clusters, gamma=gamma).fit(ens)
        found, groups = fitted.objective_, fitted.pattern_labels_
        assert found == pytest.approx(dense.partition_gain(labels, weights, fitted.labels_, gamma), abs=1e-9)
        for u in range(ens.n_patterns):
            if n_clusters != "auto" and np.sum(groups == groups[u]) == 1:
                continue
            for target in range(fitted.n_clusters_ + (n_clusters == "auto")):
                moved = np.where(np.arange(ens.n_patterns) == u, target, groups)
                gain = dense.partition_gain(labels, weights, moved[ens.row_pattern], gamma) - found
                assert gain <= 2e-8


@pytest.mark.parametrize("n_clusters", ["auto", 3])
@pytest.mark.parametrize("seed", range(20))
def test_names_and_order_of_members_do_not_change_the_median(n_clusters, seed):
    """Ties of the tree and the order of moves follow the patterns' co-association, not the names of labels."""
    random = np.random.default_rng(seed)
    truth = random.integers(4, size=90)
    labels = np.stack([np.where(random.random(90) < 0.4, random.integers(6, size=90), truth) for _ in range(5)], axis=1)
    renamed = np.stack([random.permutation(6)[column] for column in labels.T], axis=1)
    reordered = labels[:, random.permutation(5)]
    fitted = qt.MedianPartition(n_clusters).fit(labels)
    for other in (renamed, reordered):
        found = qt.MedianPartition(n_clusters).fit(other)
        assert qt.evaluate(found.labels_, fitted.labels_).ari == pytest.approx(1)
        assert found.objective_ == pytest.approx(fitted.objective_)
