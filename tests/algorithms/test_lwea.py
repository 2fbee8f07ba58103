"""LWEA."""

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
from quorate.numerics.linkage import LINKS
from quorate.row_similarity import pattern_coassociation
from support import raises


def test_locally_weighted_methods_on_the_running_example(running_example):
    ens = Ensemble(running_example)
    expected = [0.7363, 0.5422, 1, 0.7165, 1, 0.5468, 1]
    assert qt.cluster_certainty(ens, theta=1.0) == pytest.approx(expected, abs=5e-5)
    similarity = pattern_coassociation(ens, np.ones(3), qt.cluster_certainty(ens))
    found = similarity[[0, 0, 0, 1, 2, 3], [0, 1, 2, 2, 3, 3]]
    assert found == pytest.approx([0.5621, 0.2288, 0.0737, 0.2185, 0.0721, 0.7388], abs=5e-5)
    fitted = qt.LWEA(n_clusters=2).fit(ens)
    assert fitted.dendrogram_.heights == pytest.approx([0.7712, 0.8780, 0.9820], abs=5e-5)
    over_rows = fitted.dendrogram_.to_scipy(rows=True)[:, 2]
    assert over_rows[:2] == pytest.approx([1 - 0.7388, 1 - 0.5621], abs=5e-5)
    assert fitted.sweep([2, 3]).T.tolist() == [[0, 0, 0, 0, 1, 1], [0, 0, 0, 2, 1, 1]]
    cut = qt.LWGP(n_clusters=3).fit(ens)
    assert cut.eigenvalues_[:3] == pytest.approx([1, 0.9558, 0.5387], abs=5e-5)
    assert cut.labels_.tolist() == [0, 0, 1, 1, 2, 2]


def test_certainty_of_a_single_member_and_of_random_members():
    assert qt.cluster_certainty([[0, 1, 1, 2]]).tolist() == [1, 1, 1]
    doubtful = qt.cluster_certainty([[0, 0, 0, 0], [0, 1, 2, 3]], theta=0.001)
    assert doubtful.tolist() == [1e-300, 1, 1, 1, 1]
    assert qt.LWGP(n_clusters=2, theta=0.001).fit([[0, 0, 0, 0], [0, 0, 1, 1]]).n_clusters_ == 2
    with raises("number", "theta"):
        qt.cluster_certainty([[0, 1]], theta=0)


@given(labels=oracles.label_matrices(missing=True), theta=st.sampled_from([0.2, 0.4, 1.0]))
def test_certainty_of_clusters_equals_that_over_rows(labels, theta):
    assert qt.cluster_certainty(list(labels.T), theta) == pytest.approx(dense.certainty(labels, theta), abs=1e-12)


few = settings(max_examples=25)


@pytest.mark.parametrize("link", LINKS)
@given(labels=oracles.label_matrices(missing=True), seed=st.integers(0, 9))
@few
def test_locally_weighted_evidence_is_linked_as_the_full_matrix(link, labels, seed):
    ens = Ensemble(list(labels.T))
    weights = np.random.default_rng(seed).uniform(0.2, 1.0, ens.n_members)
    with quiet():
        fitted = qt.LWEA(n_clusters=1, linkage=link, weights=weights).fit(ens)
    similarity = dense.local_evidence(labels, weights)[np.ix_(ens.first_row, ens.first_row)]
    tree = fitted.dendrogram_
    oracles.replay(similarity, ens.counts.astype(float), tree.merges, tree.heights, link)
    own = np.where(ens.counts > 1, 1 - similarity.diagonal(), 0)
    assert tree.leaf_heights == pytest.approx(own, abs=1e-12)


def test_locally_weighted_evidence_agrees_with_the_authors_program(reference):
    ens, answers = reference
    assert qt.cluster_certainty(ens) == pytest.approx(answers["lwea_eci"], abs=1e-9)
    similarity = pattern_coassociation(ens, np.ones(ens.n_members), qt.cluster_certainty(ens))
    row = similarity[ens.row_pattern[0]][ens.row_pattern]
    assert row[1:] == pytest.approx(answers["lwea_similarity_row0"][1:], abs=1e-9)
    fitted = qt.LWEA(n_clusters=2).fit(ens)
    heights = fitted.dendrogram_.to_scipy(rows=True)[-100:, 2]
    assert heights == pytest.approx(answers["lwea_average_heights"], abs=1e-9)
    assert_same_partitions(
        fitted.sweep(answers["ks"]), answers["lwea_average_labels"], answers["lwea_average_labels_tiefree"]
    )
