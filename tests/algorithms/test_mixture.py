"""The mixture model."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import field_oracles as dense
import oracles
import quorate as qt
from quorate.algorithms.mixture import MixtureCuts
from quorate.ensemble import Ensemble


def test_mixture_on_the_running_example(running_example):
    cuts = MixtureCuts(Ensemble(running_example), np.ones(3))
    found = cuts.fit(np.eye(2)[[0, 0, 0, 1]])
    assert -found.value == pytest.approx(-8.841014, abs=5e-7)
    assert found.memberships == pytest.approx(np.eye(2)[[0, 0, 0, 1]], abs=1e-12)
    fitted = qt.MixtureModel(n_clusters=2).fit(running_example)
    assert fitted.bic_ == pytest.approx(-2 * fitted.log_likelihood_ + 9 * np.log(6))


few = settings(max_examples=25)


@given(labels=oracles.label_matrices(missing=True, max_clusters=3), k=st.integers(1, 3), seed=st.integers(0, 9))
@few
def test_em_round_equals_that_over_all_rows(labels, k, seed):
    ens = Ensemble(list(labels.T))
    random = np.random.default_rng(seed)
    weights, memberships = random.uniform(0.2, 1.0, ens.n_members), random.dirichlet(np.ones(k), ens.n_patterns)
    cuts = MixtureCuts(ens, weights)
    posterior = cuts.expect(*cuts.maximize(memberships))
    expected, likelihood = dense.mixture_round(labels, weights, memberships[ens.row_pattern])
    assert posterior.memberships[ens.row_pattern] == pytest.approx(expected, abs=1e-9)
    assert posterior.log_likelihood == pytest.approx(likelihood, abs=1e-9)
