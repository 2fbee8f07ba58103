"""LWGP."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import field_oracles as dense
import oracles
import quorate as qt
from baseline_oracles import quiet
from method_checks import assert_same_partitions
from quorate.ensemble import Ensemble
from support import raises

few = settings(max_examples=25)


@given(labels=oracles.label_matrices(missing=True), seed=st.integers(0, 9))
@few
def test_locally_weighted_graph_equals_that_over_all_rows(labels, seed):
    ens = Ensemble(list(labels.T))
    weights = np.random.default_rng(seed).uniform(0.2, 1.0, ens.n_members)
    membership, member = oracles.indicators(labels)
    values, points = dense.embedding(membership * (weights[member] * dense.certainty(labels)), 1)
    with quiet():
        fitted = qt.LWGP(n_clusters=1, weights=weights).fit(ens)
    assert fitted.eigenvalues_ == pytest.approx(values[: len(fitted.eigenvalues_)], abs=1e-10)
    assert np.abs(fitted.solution_.cuts.embedding(1)[ens.row_pattern]) == pytest.approx(np.abs(points), abs=1e-7) or (
        np.sum(values > 1 - 1e-9) > 1  # several components: the eigenvectors of 1 can be chosen in many ways
    )


def test_locally_weighted_graph_agrees_with_the_authors_program(reference):
    ens, answers = reference
    fitted = qt.LWGP(n_clusters=2, init="first-row").fit(ens)
    eigenvalues = answers["lwgp_eigenvalues"]
    assert fitted.solution_.cuts.spectrum(len(eigenvalues)).values[: len(eigenvalues)] == pytest.approx(
        eigenvalues, abs=1e-9
    )
    for k in answers["ks"]:
        points = fitted.solution_.cuts.embedding(k)[ens.row_pattern]
        assert points @ points[0] == pytest.approx(answers[f"lwgp_gram_row0_k{k}"], abs=1e-7)
    assert_same_partitions(fitted.sweep(answers["ks"]), answers["lwgp_first_row_labels"])


def test_local_weights_of_other_methods(generated):
    labels = generated
    with quiet():
        local = qt.LWEA(n_clusters=4).fit(labels)
        for method in (qt.EAC, qt.WEAC):
            assert np.array_equal(method(n_clusters=4, weights="local").fit_predict(labels), local.labels_)
        graph, joint = (method(n_clusters=4, weights="local").fit(labels) for method in (qt.GPMGLA, qt.HBGF))
    assert joint.eigenvalues_ == pytest.approx(qt.LWGP(n_clusters=4).fit(labels).eigenvalues_, abs=1e-12)
    assert graph.member_weights_ == pytest.approx([1 / labels.shape[1]] * labels.shape[1])
    whole = oracles.bipartite_graph(labels, qt.cluster_certainty(labels), 0.5)
    values, _ = oracles.transfer_cut_embedding(whole, len(labels), 2)
    assert graph.eigenvalues_ == pytest.approx(values[: len(graph.eigenvalues_)], abs=1e-9)
    with raises("choice", "weights"):
        qt.SRS(n_clusters=2, weights="local").fit(labels)
