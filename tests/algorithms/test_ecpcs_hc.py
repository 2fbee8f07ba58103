"""ECPCS-HC, and the random walks behind it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import field_oracles as dense
import oracles
import quorate as qt
from method_checks import assert_same_partitions
from quorate._runtime.time_limit import require_time
from quorate.algorithms.ecpcs_hc import enhanced_coassociation
from quorate.cluster_similarity import neighbor_links
from quorate.ensemble import Ensemble
from quorate.errors import TimeLimitError
from quorate.graphs import propagated_similarity
from quorate.random_walks import trajectories_within, trajectory_similarity
from support import raises, warns


def test_propagated_similarity_on_the_running_example(running_example):
    ens = Ensemble(running_example)
    links = qt.jaccard(ens)
    assert links[0] == pytest.approx([1, 0, 2 / 3, 1 / 4, 0, 3 / 4, 0])
    one = propagated_similarity(ens, 1)[[0, 0, 2, 4], [1, 2, 3, 6]]
    assert one == pytest.approx([0.1832, 0.4351, 0.8165, 0.3077], abs=5e-5)
    many = propagated_similarity(ens, 20)[[0, 0, 3, 4], [1, 2, 4, 6]]
    assert many == pytest.approx([0.7141, 0.9065, 0.7301, 0.8620], abs=5e-5)
    evidence = enhanced_coassociation(ens, np.ones(3), 20, np.arange(4)).matrix()[[0, 0, 0, 2], [1, 2, 3, 3]]
    assert evidence == pytest.approx([0.9859, 0.8906, 0.6526, 0.7957], abs=5e-5)
    tree = qt.ECPCSHC(n_clusters=2).fit(ens)
    assert tree.dendrogram_.heights == pytest.approx([0.0141, 0.1047, 0.2997], abs=5e-5)
    assert tree.labels_.tolist() == [0, 0, 0, 0, 1, 1]


few = settings(max_examples=25)


@given(labels=oracles.label_matrices(missing=True), n_steps=st.integers(1, 20))
@few
def test_walks_by_eigenvectors_equal_walks_step_by_step(labels, n_steps):
    links = oracles.jaccard(labels)
    np.fill_diagonal(links, 0)
    weights = np.arange(1.0, len(links) + 1)
    expected = dense.trajectories(links, weights, n_steps)
    assert trajectory_similarity(links, weights, n_steps) == pytest.approx(expected, abs=1e-9)


@given(labels=oracles.label_matrices(missing=True), n_steps=st.integers(1, 20))
@few
def test_walks_within_members_equal_walks_over_all_clusters(labels, n_steps):
    ens = Ensemble(list(labels.T))
    links, member = neighbor_links(ens), ens.cluster_member
    expected = dense.trajectories(links.toarray(), np.ones(ens.n_clusters), n_steps) * (member[:, None] == member)
    for at_once in (1e3, -1.0):  # step by step is less, or more
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("quorate.random_walks._DENSE_COST", at_once)
            found = trajectories_within(links, member, n_steps)
        assert found == pytest.approx(expected, abs=1e-9)


@given(labels=oracles.label_matrices(missing=True), seed=st.integers(0, 9))
@few
def test_enhanced_coassociation_equals_that_over_all_rows(labels, seed):
    ens = Ensemble(list(labels.T))
    weights = np.random.default_rng(seed).uniform(0.2, 1.0, ens.n_members)
    found = enhanced_coassociation(ens, weights, 20, np.arange(ens.n_patterns)).matrix()
    expected = dense.enhanced_coassociation(labels, weights, 20)[np.ix_(ens.first_row, ens.first_row)]
    assert found == pytest.approx(expected, abs=1e-9)


def test_propagated_similarity_agrees_with_the_authors_program(reference):
    ens, answers = reference
    assert propagated_similarity(ens, 20)[0] == pytest.approx(answers["ecpcs_clusters_row0"], abs=1e-9)
    similarity = enhanced_coassociation(ens, np.ones(ens.n_members), 20, np.arange(ens.n_patterns)).matrix()
    row = similarity[ens.row_pattern[0]][ens.row_pattern]
    assert row == pytest.approx(answers["ecpcs_similarity_row0"], abs=1e-9)
    tree = qt.ECPCSHC(n_clusters=2).fit(ens)
    heights = tree.dendrogram_.to_scipy(rows=True)[-100:, 2]
    assert heights == pytest.approx(answers["ecpcs_hc_average_heights"], abs=1e-9)
    assert_same_partitions(
        tree.sweep(answers["ks"]), answers["ecpcs_hc_average_labels"], answers["ecpcs_hc_average_labels_tiefree"]
    )


def test_long_computations_warn_and_raise():
    with (
        qt.time_limit(10),
        raises("time", error=TimeLimitError),
    ):
        require_time(2e12, "These", "Use less.")
    with warns("long-computation"):
        require_time(2e12, "These", "Use less.")
    with (
        qt.time_limit(1e-9),
        raises("time", error=TimeLimitError),
    ):
        qt.PTA(n_clusters=2).fit([[0, 0, 1, 1], [0, 1, 0, 1]])
