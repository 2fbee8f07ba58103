"""What the larger figures show: consensus matrix, dendrogram, flow, results by number of clusters."""

import numpy as np
import pytest

import quorate as qt
from quorate.analysis.diagnosis import Diagnosis
from quorate.reporting.cut_views import sweep_view
from quorate.reporting.figure_views import MATRIX_SAMPLES, flow_view, matrix_view, tree_view
from support import noisy_consensus


def test_the_matrix_is_the_coassociation_of_its_patterns(answer):
    _, method = answer
    view = matrix_view(method)
    assert len(view.rows) <= MATRIX_SAMPLES + method.n_clusters_
    assert view.rows.sum() == method.ensemble_.n_rows
    assert np.array_equal(view.labels, np.sort(view.labels))
    assert np.array_equal(view.labels, method.pattern_labels_[view.patterns])
    sizes = np.bincount(view.labels, weights=view.rows)
    assert np.array_equal(sizes, [cluster.size for cluster in method.clusters_])
    if method.ensemble_.n_patterns < 1000:
        evidence = qt.coassociation(method.ensemble_, method.member_weights_)
        assert view.coassociation == pytest.approx(evidence[np.ix_(view.patterns, view.patterns)])


def test_the_matrix_of_rows_with_missing_labels():
    labels = [[0, 0, 1, None, 1], [0, None, 1, 1, 1], [None, 2, 2, 3, 3]]
    method = qt.WEAC(2).fit(labels)
    view = matrix_view(method)
    evidence = qt.coassociation(method.ensemble_, method.member_weights_)
    assert view.coassociation == pytest.approx(evidence[np.ix_(view.patterns, view.patterns)])


def test_the_tree_represents_all_rows_and_is_cut_between_clusters(answer):
    _, method = answer
    view = tree_view(method.solution_, method.n_clusters_)
    k = method.n_clusters_
    assert view.rows.sum() == method.ensemble_.n_rows
    assert set(view.labels) == set(range(k))
    tops = view.segments[:, 1, 1]
    assert (tops > view.cut_height).sum() == k - 1
    assert np.array_equal(view.colors < 0, tops > view.cut_height)


def test_a_tree_whose_leaves_are_rows_is_drawn_over_patterns():
    labels = np.array([[1, -1, 0], [1, 1, -1], [0, -1, 1], [0, -1, 1], [0, 0, 1], [0, 1, 1], [0, 1, 0], [0, 1, 1]])
    method = qt.SRS(2).fit(labels)
    assert len(method.dendrogram_.leaf_pattern) > method.ensemble_.n_patterns
    assert tree_view(method.solution_, method.n_clusters_).rows.sum() == len(labels)


def test_flows_keep_all_rows():
    _, method = noisy_consensus(5, 4)
    view = flow_view(method, "member_1")
    assert view.table.sum() == 800
    assert view.table.sum(axis=0).tolist() == [cluster.size for cluster in method.clusters_]
    many = qt.WEAC(3).fit([np.arange(200) // 2, np.arange(200) // 70])
    view = flow_view(many, 0)
    assert view.table.sum() == 200
    assert any(name.endswith("others") for name in view.left)


def test_results_by_k_are_those_of_sweep():
    _, method = noisy_consensus(6, 6)
    view = sweep_view(Diagnosis(method.solution_, method.n_clusters_), [2, 4, 6])
    swept = method.sweep([2, 4, 6])
    for cut, labels in zip(view.cuts, swept.T, strict=True):
        assert np.array_equal(cut.labels[method.ensemble_.row_pattern], labels)
        assert cut.histogram.sum() == 800
    assert view.choice.n_clusters == qt.WEAC("auto").fit(method.ensemble_).n_clusters_
