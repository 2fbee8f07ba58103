"""CSPA."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
import quorate as qt
from baseline_oracles import quiet
from method_checks import within
from quorate.algorithms.sec import SpectralCuts
from quorate.ensemble import Ensemble


def test_similarity_partitioning_on_the_running_example(running_example):
    ens = Ensemble(running_example)
    fitted = qt.CSPA(n_clusters=3).fit(ens)
    assert fitted.eigenvalues_[:3] == pytest.approx([1, 0.8567, 0.2692], abs=5e-5)
    assert fitted.labels_.tolist() == [0, 0, 1, 1, 2, 2]
    cuts = SpectralCuts(ens, np.ones(3))
    assert cuts.degrees.tolist() == [9, 9, 9, 7]
    assert within(cuts, [0, 0, 0, 1], cuts.counts * cuts.degrees) == pytest.approx(7 / 18)
    assert within(cuts, [0, 0, 1, 2], cuts.counts * cuts.degrees) == pytest.approx(4 / 27)


few = settings(max_examples=25)


@given(labels=oracles.label_matrices(missing=True), seed=st.integers(0, 9))
@few
def test_coassociation_is_cut_as_that_over_all_rows(labels, seed):
    ens = Ensemble(list(labels.T))
    weights = np.random.default_rng(seed).uniform(0.2, 1.0, ens.n_members)
    membership, member = oracles.indicators(labels)
    similarity = membership * (weights / weights.sum() * len(weights))[member] @ membership.T
    degree = similarity.sum(axis=1)
    values = np.linalg.eigvalsh(similarity / np.sqrt(np.outer(degree, degree)))[::-1]
    with quiet():
        fitted = qt.CSPA(n_clusters=1, weights=weights).fit(ens)
    n = min(len(values), len(fitted.eigenvalues_))
    assert fitted.eigenvalues_[:n] == pytest.approx(np.maximum(values[:n], 0), abs=1e-9)
    cuts = SpectralCuts(ens, weights)
    assert cuts.degrees[ens.row_pattern] == pytest.approx(degree)
    groups = np.arange(ens.n_patterns) % 2
    together = np.equal.outer(*[groups[ens.row_pattern]] * 2)
    # The normalized cut: rows of each group, less the links inside it over its degree.
    parts = [np.flatnonzero(rows) for rows in np.unique(together, axis=0)]
    inside = sum(similarity[np.ix_(rows, rows)].sum() / degree[rows].sum() for rows in parts)
    assert within(cuts, groups, cuts.counts * cuts.degrees) == pytest.approx(
        np.sum(similarity.diagonal() / degree) - inside, abs=1e-9
    )
