"""HBGF."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

import baseline_oracles as dense
import oracles
import quorate as qt
from quorate.ensemble import Ensemble
from quorate.graphs import bipartite_graph, bipartite_links
from quorate.numerics.transfer_cut import TransferCut, leading_spectrum


def test_unweighted_links_agree_with_the_authors_program(reference):
    """The consensus of U-SENC: the graph of rows and clusters with links of 1, LWGP without any uncertainty."""
    ens, answers = reference
    graph, links = bipartite_graph(ens, np.ones(ens.n_clusters)), bipartite_links(ens, np.ones(ens.n_clusters))
    cut = TransferCut(ens, graph, links, init="first-row")
    eigenvalues = answers["usenc_eigenvalues"]
    assert cut.spectrum(len(eigenvalues)).values[: len(eigenvalues)] == pytest.approx(eigenvalues, abs=1e-9)
    for j, k in enumerate(answers["ks"]):
        points = cut.embedding(k)[ens.row_pattern]
        assert points @ points[0] == pytest.approx(answers[f"usenc_gram_row0_k{k}"], abs=1e-7)
        assert adjusted_rand_score(cut.cut(int(k))[ens.row_pattern], answers["usenc_first_row_labels"][:, j]) == 1


def test_hybrid_graph_on_the_running_example(running_example):
    fitted = qt.HBGF(n_clusters=2).fit(running_example)
    assert fitted.singular_values_[:4] / np.sqrt(3) == pytest.approx([1, 0.9393, 0.6138, 0.2725], abs=5e-5)
    assert fitted.eigenvalues_[1:4] == pytest.approx([0.8823, 0.3767, 0.0743], abs=5e-5)
    assert fitted.labels_.tolist() == [0, 0, 0, 0, 1, 1]
    assert qt.HBGF(n_clusters=3).fit_predict(running_example).tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("seed", range(6))
def test_hybrid_graph_on_the_running_example_from_every_first_center(running_example, seed):
    random = qt.HBGF(n_clusters=2, init="random", n_init=1, random_state=seed)
    assert random.fit_predict(running_example).tolist() == [0, 0, 0, 0, 1, 1]
    assert random.set_params(n_clusters=3).fit_predict(running_example).tolist() == [0, 0, 1, 1, 2, 2]


def test_singular_values_agree_with_the_reference_program(baseline_reference):
    answers, ens = baseline_reference
    found = qt.HBGF(n_clusters=8).fit(ens).singular_values_[:8]
    assert np.allclose(found, answers["hbgf_singular_values"], rtol=0, atol=1e-12)


few = settings(max_examples=25)


@given(labels=oracles.label_matrices())
@few
def test_squared_singular_values_are_eigenvalues_of_the_unweighted_transfer_cut(labels):
    ens = Ensemble(list(labels.T))
    membership, _ = oracles.indicators(labels)
    singular = np.linalg.svd(membership / np.sqrt(membership.sum(axis=0)), compute_uv=False)
    k = min(4, ens.n_clusters)
    spectrum = leading_spectrum(bipartite_graph(ens, np.ones(ens.n_clusters)), k).values[:k]
    assert np.allclose(singular[:k] ** 2 / ens.n_members, spectrum[: len(singular)], atol=1e-9)
    eigenvalues, _ = oracles.transfer_cut_embedding(membership, len(labels), 1)
    assert np.allclose(eigenvalues[:k], spectrum, atol=1e-9)


def _embedding_gram(labels, k):
    membership, _ = oracles.indicators(labels)
    left, values, right = np.linalg.svd(membership / np.sqrt(membership.sum(axis=0)), full_matrices=False)
    both = np.vstack([left[:, :k], right[:k].T])
    both /= np.linalg.norm(both, axis=1, keepdims=True) + 1e-10  # a row may have no part in k vectors
    return both @ both.T, values


@given(labels=oracles.label_matrices(), k=st.integers(2, 4))
@few
def test_hybrid_embedding_equals_that_over_all_rows(labels, k):
    ens = Ensemble(list(labels.T))
    assume(k < min(ens.n_clusters, len(labels)))
    gram, values = _embedding_gram(labels, k)
    assume(values[k - 1] - values[k] > 1e-3)
    with dense.quiet():
        cut = qt.HBGF(n_clusters=2).fit(ens).solution_.cuts
    both = np.vstack([cut.embedding(k)[ens.row_pattern], cut.cluster_embedding(k)])
    covered = np.linalg.norm(both, axis=1) > 0.5
    assert np.allclose((both @ both.T)[np.ix_(covered, covered)], gram[np.ix_(covered, covered)], atol=1e-8)


def test_hybrid_embedding_of_a_generated_ensemble(generated):
    labels = generated
    cut = qt.HBGF(n_clusters=2).fit(labels).solution_.cuts
    for k in (4, 12):
        gram, _ = _embedding_gram(labels, k)
        both = np.vstack([cut.embedding(k)[cut.ensemble.row_pattern], cut.cluster_embedding(k)])
        assert np.allclose(both @ both.T, gram, atol=1e-9)
