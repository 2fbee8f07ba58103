"""A solution: answers for any number of clusters, each computed once, and views of them."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import quorate as qt
from quorate.algorithms.base import Solution
from quorate.algorithms.registry import METHODS
from support import raises

LABELS = [np.arange(120) // 40, np.arange(120) // 30, (np.arange(120) + 5) // 40 % 3, np.arange(120) // 20]


def fit(method, k):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some methods have their own number of clusters
        return METHODS[method](n_clusters=k).fit(LABELS)


@pytest.mark.parametrize("method", METHODS)
def test_fit_is_solve_and_answer(method):
    estimator = METHODS[method](n_clusters=3)
    solution = estimator.solve(LABELS)
    assert "answer_" not in vars(estimator)
    fitted = fit(method, 3)
    answer = solution.answer(3)
    np.testing.assert_array_equal(answer.labels, fitted.pattern_labels_)
    np.testing.assert_array_equal(answer.weights, fitted.member_weights_)
    np.testing.assert_array_equal(answer.certainty.confidence, fitted.pattern_confidence_)
    assert answer.clusters == fitted.clusters_
    assert solution.split(3) == fitted.split_


@pytest.mark.parametrize("method", METHODS)
def test_answers_for_several_k_equal_separate_fits(method):
    solution = METHODS[method](n_clusters=2).solve(LABELS)
    for k, answer in solution.answers([4, 2, 3]).items():
        assert answer.requested == k
        fitted = fit(method, k)
        np.testing.assert_array_equal(answer.labels, fitted.pattern_labels_)
        np.testing.assert_allclose(answer.weights, fitted.member_weights_)


def test_each_k_is_cut_once(monkeypatch):
    solution = qt.WEAC().solve(LABELS)
    calls = []
    cut = type(solution.cuts).cut
    monkeypatch.setattr(type(solution.cuts), "cut", lambda self, k: calls.append(k) or cut(self, k))
    assert solution.answer(3) is solution.answer(3)
    assert solution.cut(3) is solution.answer(3).labels
    solution.split(3)
    solution.answers([2, 3, 4])
    assert sorted(calls) == [2, 3, 4]


def test_warnings_are_data_and_issued_by_fit_alone():
    labels = [[0, 0, 1, 1, None], [0, 0, 1, 1, None]]
    solution = qt.WEAC("auto").solve(labels)  # pytest turns warnings into errors
    codes = [warning.code for warning in solution.answer(3).warnings]
    assert codes == ["rows-without-labels", "fewer-clusters"]
    assert solution.answer(2).n_clusters == 2
    with pytest.warns(qt.QuorateWarning) as issued:
        qt.WEAC(3).fit(labels)
    assert [warning.message.code for warning in issued] == codes


def test_automatic_number_of_clusters():
    solution = qt.WEAC(n_clusters="auto").solve(LABELS)
    assert solution.answer() is solution.answer("auto") is solution.answer(solution.automatic)
    assert solution.choice.n_clusters == qt.choose_k(LABELS).n_clusters == solution.automatic
    with raises("integer", "n_clusters"):
        solution.answer(0)


def test_few_answers_are_kept_for_many_patterns(monkeypatch):
    monkeypatch.setattr("quorate.algorithms.base._CACHED_LABELS", 1)
    solution = qt.WEAC().solve(LABELS)
    first = solution.answer(2)
    assert solution.answer(3) is solution.answer(3)
    assert solution.answer(2) is first
    solution.answer(4)
    solution.answer(5)
    assert solution.answer(2) is not first
    np.testing.assert_array_equal(solution.answer(2).labels, first.labels)


@pytest.mark.parametrize("method", ["weac", "lwgp", "wcc", "mixture"])
def test_solutions_can_be_copied_and_pickled(method):
    fitted = METHODS[method](n_clusters=3).fit(LABELS)
    for other in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        assert isinstance(other.solution_, Solution)
        np.testing.assert_array_equal(other.labels_, fitted.labels_)
        np.testing.assert_array_equal(other.sweep([2, 4]), fitted.sweep([2, 4]))
