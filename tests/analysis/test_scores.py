"""External scores of a clustering."""

import pytest

import quorate as qt
from support import raises


def test_scores_of_a_clustering():
    labels, truth = [0, 0, 1, 1, 1, -1], ["a", "a", "a", "b", "b", "b"]
    scores = qt.evaluate(labels, truth)
    assert scores.purity == pytest.approx(5 / 6)
    from sklearn import metrics

    assert scores.ari == pytest.approx(metrics.adjusted_rand_score(truth, labels))
    assert scores.ami == pytest.approx(metrics.adjusted_mutual_info_score(truth, labels))
    assert scores.nmi_sqrt == pytest.approx(
        metrics.normalized_mutual_info_score(truth, labels, average_method="geometric")
    )
    assert scores.nmi_max == pytest.approx(metrics.normalized_mutual_info_score(truth, labels, average_method="max"))
    assert qt.evaluate([0, 1, None], ["a", "b", "c"]).ari == 1.0
    with raises("no-common-rows"):
        qt.evaluate([0, None], [None, 1])
