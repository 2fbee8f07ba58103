"""WCC."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import baseline_oracles as dense
import oracles
import quorate as qt
from quorate.algorithms.wcc import Connectivity, simplex_minimum
from quorate.ensemble import Ensemble


def test_weights_of_a_weighted_consensus_on_the_running_example(running_example):
    gram = Connectivity(Ensemble(running_example)).gram
    assert gram.tolist() == [[18, 10, 14], [10, 12, 12], [14, 12, 20]]
    two_groups = np.equal.outer(*[np.array([1, 1, 2, 2, 2, 2])] * 2)
    linear = np.einsum("aij,ij->a", dense.connectivity(running_example), two_groups)
    assert linear.tolist() == [14, 12, 12]
    weights = simplex_minimum(gram, linear)
    assert weights == pytest.approx([0.4, 0.6, 0])
    assert weights @ gram @ weights - 2 * weights @ linear + two_groups.sum() == pytest.approx(6.4)


def test_weighted_consensus_degenerates_on_the_running_example(running_example):
    two, three = (qt.WCC(n_clusters=k, n_iterations=30).fit(running_example) for k in (2, 3))
    assert two.member_weights_ == pytest.approx([1, 0, 0], abs=1e-3)
    assert two.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert three.member_weights_ == pytest.approx([0.0005, 0.51, 0.49], abs=2e-3)
    assert three.labels_.tolist() == [0, 0, 1, 1, 2, 2]
    assert three.objective_ == pytest.approx(0, abs=1e-4)


few = settings(max_examples=25)


def _same_objective(labels, k, n_iterations, n_updates):
    params = {"n_clusters": k, "n_iterations": n_iterations, "n_updates": n_updates, "tolerance": 0.0}
    with dense.quiet():
        fitted = qt.WCC(**params).fit(list(labels.T))
    start = fitted.solution_.cuts.start.cut(k)[fitted.ensemble_.row_pattern]
    equal = np.full(labels.shape[1], 1 / labels.shape[1])
    objective, weights = dense.weighted_consensus(labels, start, equal, k, simplex_minimum, n_iterations, n_updates)
    assert fitted.objective_ == pytest.approx(objective, rel=1e-9, abs=1e-9)
    # Members that are the same clustering share a weight in any way: only its sum is determined.
    same = [oracles.partition(column) for column in labels.T]
    for clustering in set(map(frozenset, same)):
        copies = [frozenset(one) == clustering for one in same]
        assert fitted.member_weights_[copies].sum() == pytest.approx(weights[copies].sum(), abs=1e-9)


@given(labels=oracles.label_matrices())
@few
def test_objective_equals_that_over_all_rows(labels):
    ens = Ensemble(list(labels.T))
    assume(ens.n_clusters > 2)
    _same_objective(labels, 2, n_iterations=1, n_updates=12)


def test_objective_of_a_generated_ensemble(generated):
    _same_objective(generated, 4, n_iterations=2, n_updates=30)


@given(data=st.data(), size=st.integers(2, 6))
@few
def test_weights_minimize_over_the_simplex(data, size):
    random = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    factor = random.random((size, random.integers(1, size + 1)))
    gram, linear = factor @ factor.T, random.random(size)
    found = simplex_minimum(gram, linear)

    def value(w):
        return w @ gram @ w - 2 * linear @ w

    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    best = minimize(
        value, np.full(size, 1 / size), bounds=[(0, 1)] * size, constraints={"type": "eq", "fun": lambda w: w.sum() - 1}
    )
    assert value(found) <= best.fun + 1e-8


def test_member_without_labels_gets_no_weight():
    members = [[1, 1, 2, 2, 1, 2], [1, 1, 2, 2, 2, 2]]
    silent = qt.WCC(2).fit([members[0], [None] * 6, members[1]])
    plain = qt.WCC(2).fit(members)
    assert silent.member_weights_[1] == 0
    np.testing.assert_allclose(silent.member_weights_[[0, 2]], plain.member_weights_, atol=1e-9)
    assert silent.labels_.tolist() == plain.labels_.tolist()
