"""LCE."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import field_oracles as dense
import oracles
import quorate as qt
from baseline_oracles import quiet
from quorate.algorithms.lce import refined_graph
from quorate.cluster_similarity import weighted_triples
from quorate.ensemble import Ensemble


def test_refined_links_on_the_running_example(running_example):
    ens = Ensemble(running_example)
    membership, _ = oracles.indicators(running_example)
    refinement = refined_graph(ens, np.ones(7), 0.9).refinement
    assert (membership @ refinement)[0] == pytest.approx([1, 0.5, 1, 0.9, 0, 1, 0.2])
    fitted = qt.LCE(n_clusters=2).fit(ens)
    assert fitted.eigenvalues_[:3] == pytest.approx([1, 0.3320, 0.0156], abs=5e-5)
    assert fitted.sweep([2, 3]).T.tolist() == [[0, 0, 0, 0, 1, 1], [0, 0, 0, 2, 1, 1]]


few = settings(max_examples=25)


@given(labels=oracles.label_matrices(missing=True), seed=st.integers(0, 9))
@few
def test_refined_links_are_cut_as_those_over_all_rows(labels, seed):
    ens = Ensemble(list(labels.T))
    weights = np.random.default_rng(seed).uniform(0.2, 1.0, ens.n_members)
    membership, member = oracles.indicators(labels)
    refinement = weighted_triples(ens, weights / weights.max()) * 0.9
    np.fill_diagonal(refinement, 1)
    values, _ = dense.embedding(membership * weights[member] @ refinement, 1)
    with quiet():
        fitted = qt.LCE(n_clusters=1, weights=weights).fit(ens)
    assert fitted.eigenvalues_ == pytest.approx(values[: len(fitted.eigenvalues_)], abs=1e-9)
