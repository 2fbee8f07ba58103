"""The later consensus functions: hand-computed values, reference programs, and patterns against all rows."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

import field_oracles as dense
import oracles
import quorate as qt
from baseline_oracles import quiet
from quorate._runtime.time_limit import require_time
from quorate.algorithms.cumulative_voting import cumulative_votes, merge_columns, voting_order
from quorate.algorithms.ecpcs_hc import enhanced_coassociation
from quorate.algorithms.kcc import CenterCuts
from quorate.algorithms.lce import refined_graph
from quorate.algorithms.median import MedianCuts
from quorate.algorithms.mixture import MixtureCuts
from quorate.algorithms.partition import fill_empty, meta_votes
from quorate.algorithms.sec import SpectralCuts
from quorate.cluster_similarity import neighbor_links, weighted_triples
from quorate.ensemble import Ensemble
from quorate.graphs import bipartite_graph, bipartite_links, pattern_trajectory_similarity, propagated_similarity
from quorate.numerics.linkage import LINKS
from quorate.numerics.transfer_cut import TransferCut
from quorate.random_walks import trajectories_within, trajectory_similarity
from quorate.row_similarity import pattern_coassociation
from support import SHARED, warns, with_published

few = settings(max_examples=25)
REFERENCES = [f"methods2_{name}" for name in ("lwea_VS_5_502", "lwea_VS_10_501", "lwea_MF_10_503", "pta_MF_10_504")]


@pytest.fixture(params=with_published(*REFERENCES))
def reference(request, published):
    """An ensemble with the answers of the dense oracles, or of the reference programs."""
    answers = published("oracle", request.param)
    labels = published("ensembles", str(answers["pool"]))["labels"]
    return Ensemble(labels[:, answers["cols"]]), answers


@pytest.fixture(params=REFERENCES if SHARED.is_dir() else REFERENCES[:1])
def authors_reference(request, published):
    """An ensemble drawn from a published pool, with the answers of the authors' programs."""
    answers = published("oracle", request.param)
    labels = published("ensembles", str(answers["pool"]))["labels"]
    return Ensemble(labels[:, answers["cols"]]), answers


def assert_same_partitions(found, expected, comparable=None):
    """Columns of labels are the same partitions, where they can be compared."""
    comparable = np.ones(found.shape[1], dtype=bool) if comparable is None else comparable
    for j in np.flatnonzero(comparable):
        assert adjusted_rand_score(found[:, j], expected[:, j]) == 1.0


# --- locally weighted: LWEA and LWGP ---------------------------------------------------------------------------------


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


def test_certainty_of_an_only_member_and_of_nothing_but_doubt():
    assert qt.cluster_certainty([[0, 1, 1, 2]]).tolist() == [1, 1, 1]
    doubtful = qt.cluster_certainty([[0, 0, 0, 0], [0, 1, 2, 3]], theta=0.001)
    assert doubtful.tolist() == [1e-300, 1, 1, 1, 1]
    assert qt.LWGP(n_clusters=2, theta=0.001).fit([[0, 0, 0, 0], [0, 0, 1, 1]]).n_clusters_ == 2
    with pytest.raises(qt.QuorateError, match="theta must be a finite number greater than 0"):
        qt.cluster_certainty([[0, 1]], theta=0)


@given(labels=oracles.label_matrices(missing=True), theta=st.sampled_from([0.2, 0.4, 1.0]))
def test_certainty_of_clusters_is_that_of_their_rows(labels, theta):
    assert qt.cluster_certainty(list(labels.T), theta) == pytest.approx(dense.certainty(labels, theta), abs=1e-12)


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


@given(labels=oracles.label_matrices(missing=True), seed=st.integers(0, 9))
@few
def test_locally_weighted_graph_is_that_of_all_rows(labels, seed):
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
    with pytest.raises(qt.QuorateError, match="weights must be one of 'trust', 'ncai', 'equal'; got 'local'"):
        qt.SRS(n_clusters=2, weights="local").fit(labels)


# --- cumulative voting -----------------------------------------------------------------------------------------------


def test_cumulative_voting_on_the_running_example(running_example):
    ens, equal = Ensemble(running_example), np.ones(3)
    assert voting_order(ens, equal).tolist() == [1, 0, 2]
    after_two = cumulative_votes(ens, np.array([1, 1, 0.0])).of_patterns()
    assert after_two[[0, 2]] == pytest.approx(np.array([[0.8333, 0.1667, 0], [0, 0.6667, 0.3333]]), abs=5e-5)
    votes = cumulative_votes(ens, equal).of_patterns()
    expected = [[0.7222, 0.25, 0.0278], [0.3889, 0.5833, 0.0278], [0, 0.1667, 0.8333]]
    assert votes[[0, 1, 3]] == pytest.approx(np.array(expected), abs=5e-5)
    fixed = cumulative_votes(ens, equal, adaptive=False).of_patterns()
    assert fixed[0] == pytest.approx([0.7222, 0.2778, 0], abs=5e-5)
    joint = fixed * ens.counts[:, None] / 6
    assert joint.sum(axis=0) == pytest.approx([1 / 3] * 3)
    losses = [dense.merging_loss(joint[:, [i, j]]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert losses == pytest.approx([0.0864, 0.4178, 0.2653], abs=5e-5)
    for adaptive in (True, False):
        found = qt.CumulativeVoting(n_clusters=2, adaptive=adaptive).fit(ens)
        assert found.labels_.tolist() == [0, 0, 0, 0, 1, 1]
    with warns("fewer-clusters"):
        qt.CumulativeVoting(n_clusters=4).fit(ens)
    with pytest.raises(qt.QuorateError, match="adaptive must be True or False"):
        qt.CumulativeVoting(adaptive="no").fit(ens)


@given(labels=oracles.label_matrices(missing=True), seed=st.integers(0, 9), adaptive=st.booleans())
@few
def test_cumulative_votes_are_those_of_all_rows(labels, seed, adaptive):
    ens = Ensemble(list(labels.T))
    weights = np.random.default_rng(seed).uniform(0.2, 1.0, ens.n_members)
    found = cumulative_votes(ens, weights, adaptive=adaptive).of_patterns()[ens.row_pattern]
    assert found == pytest.approx(dense.cumulative_votes(labels, weights, adaptive), abs=1e-12)


@given(labels=oracles.label_matrices(max_clusters=6, missing=True))
@few
def test_columns_of_votes_are_merged_by_least_loss(labels):
    ens = Ensemble(list(labels.T))
    votes = cumulative_votes(ens, np.ones(ens.n_members))
    joint = votes.of_patterns() * ens.counts[:, None]
    columns = dict(enumerate((joint / joint.sum()).T))
    for i, j in merge_columns(votes):
        losses = {
            (a, b): dense.merging_loss(np.stack([columns[a], columns[b]], axis=1))
            for a in columns
            for b in columns
            if a < b
        }
        assert losses[i, j] == pytest.approx(min(losses.values()), abs=1e-11)
        columns[i] = columns[i] + columns.pop(j)


@pytest.mark.parametrize("method", [qt.CumulativeVoting, qt.MixtureModel])
@given(labels=oracles.label_matrices(missing=True), k=st.integers(1, 4))
@few
def test_labels_are_the_largest_memberships(method, labels, k):
    ens = Ensemble(list(labels.T))
    with quiet():
        fitted = method(n_clusters=min(k, ens.n_rows)).fit(ens)
    assert fitted.memberships_.shape[1] >= fitted.n_clusters_
    voted = fitted.memberships_.sum(axis=1) > 0
    assert fitted.memberships_.sum(axis=1)[voted] == pytest.approx(1)
    largest = fitted.memberships_[voted].max(axis=1)
    own = fitted.memberships_[voted, fitted.labels_[voted]]
    assert own == pytest.approx(largest, abs=1e-11)


# --- hard voting, the best member, the mixture, the median -----------------------------------------------------------


def test_small_ones_on_the_running_example(running_example):
    assert qt.HardVoting(n_clusters=2).fit(running_example).agreement_ == 15
    best = qt.BestMember().fit(running_example)
    assert best.distances_.tolist() == [20, 18, 18]
    assert best.labels_.tolist() == [0, 0, 1, 1, 2, 2]
    with warns("number-of-clusters-ignored"):
        qt.BestMember(n_clusters=2).fit(running_example)


def test_the_best_member_is_predicted_where_it_says_nothing():
    fitted = qt.BestMember(weights=[1, 0.1]).fit([[0, 0, 0, 1, 1, None], [0, 0, 0, 0, 1, 1]])
    assert fitted.best_member_ == "member_0"
    assert fitted.distances_ * 0.55 == pytest.approx([11 + 1.9, 19])
    assert fitted.labels_.tolist() == [1, 1, 1, 0, 0, 0]


def test_the_mixture_on_the_running_example(running_example):
    cuts = MixtureCuts(Ensemble(running_example), np.ones(3))
    found = cuts.fit(np.eye(2)[[0, 0, 0, 1]])
    assert -found.value == pytest.approx(-8.841014, abs=5e-7)
    assert found.memberships == pytest.approx(np.eye(2)[[0, 0, 0, 1]], abs=1e-12)
    fitted = qt.MixtureModel(n_clusters=2).fit(running_example)
    assert fitted.bic_ == pytest.approx(-2 * fitted.log_likelihood_ + 9 * np.log(6))


@given(labels=oracles.label_matrices(missing=True, max_clusters=3), k=st.integers(1, 3), seed=st.integers(0, 9))
@few
def test_a_round_of_the_mixture_is_that_of_all_rows(labels, k, seed):
    ens = Ensemble(list(labels.T))
    random = np.random.default_rng(seed)
    weights, memberships = random.uniform(0.2, 1.0, ens.n_members), random.dirichlet(np.ones(k), ens.n_patterns)
    cuts = MixtureCuts(ens, weights)
    posterior = cuts.expect(*cuts.maximize(memberships))
    expected, likelihood = dense.mixture_round(labels, weights, memberships[ens.row_pattern])
    assert posterior.memberships[ens.row_pattern] == pytest.approx(expected, abs=1e-9)
    assert posterior.log_likelihood == pytest.approx(likelihood, abs=1e-9)


def test_the_median_on_the_running_example(running_example):
    free = qt.MedianPartition().fit(running_example)
    assert free.labels_.tolist() == [0, 0, 0, 2, 1, 1]
    assert free.objective_ == pytest.approx(4 / 3)
    cuts = MedianCuts(Ensemble(running_example), np.ones(3))
    assert [cuts.objective(np.array(groups)) for groups in ([0, 0, 0, 1], [0, 1, 1, 2])] == pytest.approx([7 / 6] * 2)
    every = [dense.partition_gain(running_example, np.ones(3), groups) for groups in dense.partitions(6)]
    assert max(every) == pytest.approx(4 / 3)


@given(labels=oracles.label_matrices(missing=True, max_rows=12), k=st.integers(1, 4), gamma=st.sampled_from([0.3, 0.5]))
@few
def test_the_median_gains_nothing_by_moving_a_pattern(labels, k, gamma):
    ens = Ensemble(list(labels.T))
    weights = np.ones(ens.n_members)
    for n_clusters in ("auto", min(k, ens.n_patterns)):
        with quiet():
            fitted = qt.MedianPartition(n_clusters=n_clusters, gamma=gamma).fit(ens)
        found, groups = fitted.objective_, fitted.pattern_labels_
        assert found == pytest.approx(dense.partition_gain(labels, weights, fitted.labels_, gamma), abs=1e-9)
        for u in range(ens.n_patterns):
            if n_clusters != "auto" and np.sum(groups == groups[u]) == 1:
                continue
            for target in range(fitted.n_clusters_ + (n_clusters == "auto")):
                moved = np.where(np.arange(ens.n_patterns) == u, target, groups)
                gain = dense.partition_gain(labels, weights, moved[ens.row_pattern], gamma) - found
                assert gain <= 2e-8


# --- propagated similarity of clusters, meta-clusters, refined links -------------------------------------------------


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


def clusters_and_votes(fitted, k):
    """Groups of clusters as sets of letters, and votes of the patterns."""
    cuts = fitted.solution_.cuts
    groups = cuts.cluster_cut.groups(k)
    letters = ["".join("abcdefg"[c] for c in np.flatnonzero(groups == g)) for g in range(k)]
    return letters, meta_votes(cuts.members_of, cuts.share_of_cluster, groups, k)


def test_meta_clusters_on_the_running_example(running_example):
    propagated, shared = (method(n_clusters=2).fit(running_example) for method in (qt.ECPCSMC, qt.MCLA))
    assert propagated.eigenvalues_[:2] == pytest.approx([0.9251, 0.2187], abs=5e-5)
    assert shared.eigenvalues_[:2] == pytest.approx([0.8053, 0.7334], abs=5e-5)
    for fitted in (propagated, shared):
        letters, votes = clusters_and_votes(fitted, 2)
        assert sorted(letters) == ["acdf", "beg"]
        assert votes[2] == pytest.approx([0.5, 0.3333], abs=5e-5)
        assert fitted.labels_.tolist() == [0, 0, 0, 0, 1, 1]
    letters, votes = clusters_and_votes(propagated, 3)
    assert letters == ["acdf", "e", "bg"]
    assert votes[2:].tolist() == [[0.5, 0, 0.5], [0, 1, 1]]
    assert propagated.sweep([3])[:, 0].tolist() == [0, 0, 0, 2, 1, 1]
    letters, votes = clusters_and_votes(shared, 3)
    assert letters == ["df", "beg", "ac"]
    assert votes[1] == pytest.approx([1, 0, 0.5])
    assert shared.sweep([3])[:, 0].tolist() == [0, 0, 1, 1, 2, 2]


def test_votes_of_given_groups_of_clusters_on_the_running_example(running_example):
    ens = Ensemble(running_example)
    votes = meta_votes(ens.incidence, np.ones(7), np.array([0, 1, 0, 1, 1, 0, 1]), 2)[ens.row_pattern]
    assert votes[:, 0] == pytest.approx([1, 1, 2 / 3, 1 / 3, 0, 0])
    assert votes[:, 1] == pytest.approx([0, 0, 0.25, 0.5, 0.75, 0.75])


def test_one_member_alone_is_its_own_meta_clustering():
    labels = [[0, 0, 0, 1, 1, 2]]
    for method in (qt.ECPCSHC, qt.ECPCSMC, qt.MCLA):
        assert method(n_clusters=3).fit_predict(labels).tolist() == [0, 0, 0, 1, 1, 2]
        with quiet():
            assert method(n_clusters=2).fit(labels).n_clusters_ == 2


def test_empty_groups_are_filled_by_the_strongest_votes_that_can_be_spared():
    groups = np.array([0, 0, 0, 1])
    votes = np.array([[1, 0, 0.5, 0.1], [1, 0, 0.5, 0.1], [1, 0, 0.2, 0.1], [0, 1, 0.9, 0.9]])
    fill_empty(groups, votes, np.array([1, 3, 5, 9]))
    assert groups.tolist() == [0, 2, 3, 1]
    alone = np.array([0, 1])
    fill_empty(alone, np.ones((2, 3)), np.ones(2))
    assert alone.tolist() == [0, 1]


@given(labels=oracles.label_matrices(missing=True), n_steps=st.integers(1, 20))
@few
def test_walks_by_eigenvectors_are_walks_step_by_step(labels, n_steps):
    links = oracles.jaccard(labels)
    np.fill_diagonal(links, 0)
    weights = np.arange(1.0, len(links) + 1)
    expected = dense.trajectories(links, weights, n_steps)
    assert trajectory_similarity(links, weights, n_steps) == pytest.approx(expected, abs=1e-9)


@given(labels=oracles.label_matrices(missing=True), n_steps=st.integers(1, 20))
@few
def test_walks_within_members_are_those_over_all_clusters(labels, n_steps):
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
def test_enhanced_coassociation_is_that_of_all_rows(labels, seed):
    ens = Ensemble(list(labels.T))
    weights = np.random.default_rng(seed).uniform(0.2, 1.0, ens.n_members)
    found = enhanced_coassociation(ens, weights, 20, np.arange(ens.n_patterns)).matrix()
    expected = dense.enhanced_coassociation(labels, weights, 20)[np.ix_(ens.first_row, ens.first_row)]
    assert found == pytest.approx(expected, abs=1e-9)


def test_refined_links_on_the_running_example(running_example):
    ens = Ensemble(running_example)
    membership, _ = oracles.indicators(running_example)
    refinement = refined_graph(ens, np.ones(7), 0.9).refinement
    assert (membership @ refinement)[0] == pytest.approx([1, 0.5, 1, 0.9, 0, 1, 0.2])
    fitted = qt.LCE(n_clusters=2).fit(ens)
    assert fitted.eigenvalues_[:3] == pytest.approx([1, 0.3320, 0.0156], abs=5e-5)
    assert fitted.sweep([2, 3]).T.tolist() == [[0, 0, 0, 0, 1, 1], [0, 0, 0, 2, 1, 1]]


@given(labels=oracles.label_matrices(missing=True), seed=st.integers(0, 9))
@few
def test_refined_links_are_cut_as_those_of_all_rows(labels, seed):
    ens = Ensemble(list(labels.T))
    weights = np.random.default_rng(seed).uniform(0.2, 1.0, ens.n_members)
    membership, member = oracles.indicators(labels)
    refinement = weighted_triples(ens, weights / weights.max()) * 0.9
    np.fill_diagonal(refinement, 1)
    values, _ = dense.embedding(membership * weights[member] @ refinement, 1)
    with quiet():
        fitted = qt.LCE(n_clusters=1, weights=weights).fit(ens)
    assert fitted.eigenvalues_ == pytest.approx(values[: len(fitted.eigenvalues_)], abs=1e-9)


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


def test_meta_clusters_agree_with_the_authors_programs(authors_reference):
    ens, answers = authors_reference
    cuts = qt.ECPCSMC(n_clusters=2).fit(ens).solution_.cuts
    for j, k in enumerate(answers["ks"]):
        if answers["ecpcs_mc_tiefree"][j]:
            assert adjusted_rand_score(cuts.cluster_cut.groups(k), answers["ecpcs_mc_meta"][:, j]) == 1
        votes = meta_votes(ens.incidence, np.ones(ens.n_clusters), compact(answers["ecpcs_mc_meta"][:, j]), k)
        assert_voted(ens, votes, answers["ecpcs_mc_labels"][:, j])
        votes = meta_votes(ens.incidence, np.ones(ens.n_clusters), compact(answers["mcla_metis_meta"][:, j]), k)
        assert votes[ens.row_pattern[:20]] == pytest.approx(answers[f"mcla_vote_rows0_20_k{k}"], abs=1e-9)
        assert_voted(ens, votes, answers["mcla_metis_labels"][:, j], answers["mcla_metis_labels_tiefree"][:, j])


def compact(labels):
    """Labels as 0, 1, ... in their order."""
    return np.unique(labels, return_inverse=True)[1]


def assert_voted(ens, votes, labels, comparable=None):
    """The largest vote of each row is for its label, where one vote is larger than all others."""
    ordered = np.sort(votes, axis=1)
    clear = ((ordered[:, -1] - ordered[:, -2]) > 1e-12)[ens.row_pattern]
    clear &= True if comparable is None else comparable
    assert adjusted_rand_score(np.argmax(votes, axis=1)[ens.row_pattern][clear], labels[clear]) == 1


# --- the normalized cut of the co-association, centers of labels -----------------------------------------------------


def test_similarity_partitioning_on_the_running_example(running_example):
    ens = Ensemble(running_example)
    fitted = qt.CSPA(n_clusters=3).fit(ens)
    assert fitted.eigenvalues_[:3] == pytest.approx([1, 0.8567, 0.2692], abs=5e-5)
    assert fitted.labels_.tolist() == [0, 0, 1, 1, 2, 2]
    cuts = SpectralCuts(ens, np.ones(3))
    assert cuts.degrees.tolist() == [9, 9, 9, 7]
    assert within(cuts, [0, 0, 0, 1], cuts.counts * cuts.degrees) == pytest.approx(7 / 18)
    assert within(cuts, [0, 0, 1, 2], cuts.counts * cuts.degrees) == pytest.approx(4 / 27)


def within(cuts, groups, counts):
    """Sum of the distances of patterns to their own groups."""
    groups = np.array(groups)
    return counts @ cuts.distances(groups, groups.max() + 1)[np.arange(len(groups)), groups]


@pytest.mark.parametrize(
    ("utility", "two", "three"),
    [("category", 3.5, 1), ("entropy", 7.245112, 2), ("cosine", 2.009295, 0.585786), ("mode", 3, 1)],
)
def test_objectives_of_centres_on_the_running_example(running_example, utility, two, three):
    cuts = CenterCuts(Ensemble(running_example), np.ones(3), utility=utility)
    assert within(cuts, [0, 0, 0, 1], cuts.counts) == pytest.approx(two, abs=5e-7)
    assert within(cuts, [0, 1, 1, 2], cuts.counts) == pytest.approx(three, abs=5e-7)
    fitted = qt.KCC(n_clusters=3, utility=utility).fit(running_example)
    assert fitted.objective_ == pytest.approx(within(cuts, fitted.pattern_labels_, cuts.counts))


@given(labels=oracles.label_matrices(missing=True), seed=st.integers(0, 9))
@few
def test_the_co_association_is_cut_as_that_of_all_rows(labels, seed):
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


@pytest.mark.parametrize(
    "params", [{"utility": "entropy"}, {"utility": "category"}, {"norm": True}, {"utility": "entropy", "norm": True}]
)
@given(labels=oracles.label_matrices(missing=True, max_rows=14), k=st.integers(1, 3), seed=st.integers(0, 9))
@settings(max_examples=10)
def test_centres_of_labels_in_other_ways(params, labels, k, seed):
    ens = Ensemble(list(labels.T))
    k = min(k, ens.n_patterns)
    with quiet():
        fitted = qt.KCC(n_clusters=k, init="random", random_state=seed, n_init=2, **params).fit(ens)
    assert fitted.n_clusters_ == k
    assert np.isfinite(fitted.objective_)


def test_centres_have_no_normalized_modes(running_example):
    with pytest.raises(qt.QuorateError, match='norm must be False with utility="mode"'):
        qt.KCC(n_clusters=2, utility="mode", norm=True).fit(running_example)


def test_iterations_agree_with_the_authors_programs(authors_reference):
    ens, answers = authors_reference
    equal = np.ones(ens.n_members)
    spectral = SpectralCuts(ens, equal)
    for j, k in enumerate(answers["ks"]):
        start = ens.row_pattern[answers[f"start_rows_k{k}"]]
        for utility, name in (("category", "u_c"), ("entropy", "u_h"), ("cosine", "u_cos")):
            if answers[f"kcc_{name}_empty"][j] == 0:
                cuts = CenterCuts(ens, equal, utility=utility)
                found = cuts.improve(cuts.nearest_of(start), int(k))
                assert adjusted_rand_score(found.groups[ens.row_pattern], answers[f"kcc_{name}_labels"][:, j]) == 1
                assert found.value == pytest.approx(answers[f"kcc_{name}_objective"][j], rel=1e-9)
        if len(np.unique(answers["sec_labels"][:, j])) == k:
            nearest = np.argmin(spectral.distances_to(spectral.points[start].toarray()), axis=1)
            found = spectral.improve(nearest, int(k))
            assert adjusted_rand_score(found.groups[ens.row_pattern], answers["sec_labels"][:, j]) == 1


def test_a_start_from_the_heaviest_patterns_is_completed(generated, monkeypatch):
    ens = Ensemble(generated)
    equal = np.ones(ens.n_members)
    whole = MixtureCuts(ens, equal).lwea_groups(4)
    monkeypatch.setattr(sys.modules["quorate.algorithms.partition"], "_MAX_LINKED", 20)
    cuts = MixtureCuts(ens, equal)
    part = cuts.lwea_groups(4)
    heaviest = cuts.lwea_tree.leaf_pattern
    assert len(heaviest) == 20
    assert ens.counts[heaviest].min() >= np.delete(ens.counts, heaviest).max()
    assert adjusted_rand_score(part[ens.row_pattern], whole[ens.row_pattern]) > 0.5
    assert part.min() == 0


# --- probability trajectories ----------------------------------------------------------------------------------------


def test_trajectories_on_the_running_example(running_example):
    ens, equal, every = Ensemble(running_example), np.ones(3), np.arange(4)
    two = pattern_trajectory_similarity(ens, equal, every, 2, 2)[[0, 0, 0, 2], [1, 2, 3, 3]]
    assert two == pytest.approx([0.3158, 0.5923, 0.5298, 0.1491], abs=5e-5)
    usual = pattern_trajectory_similarity(ens, equal, every, None, None)
    expected = np.eye(4)
    expected[[0, 2], [2, 0]], expected[[1, 3], [3, 1]] = 0.7071, 0.4472
    assert usual == pytest.approx(expected, abs=5e-5)
    heights = {
        "average": [0.4077, 0.4702, 0.6032],
        "complete": [0.4077, 0.4702, 0.8509],
        "single": [0.4077, 0.4077, 0.4702],
    }
    for link in LINKS:
        tree = qt.PTA(n_clusters=2, linkage=link, n_neighbors=2, n_steps=2).fit(ens)
        assert tree.dendrogram_.heights == pytest.approx(heights[link], abs=5e-5)
    assert qt.PTA(n_clusters=2, n_neighbors=2, n_steps=2).fit_predict(ens).tolist() == [0, 0, 1, 0, 1, 1]
    cut = qt.PTGP(n_clusters=3, n_neighbors=2, n_steps=2).fit(ens)
    assert cut.eigenvalues_[:3] == pytest.approx([1, 0.0955, 0.0279], abs=5e-5)
    assert cut.labels_.tolist() == [0, 0, 1, 1, 2, 2]


def test_patterns_without_links_are_hardly_like_any():
    ens = Ensemble([[0, 0, 1, 2]])
    assert np.all(pattern_trajectory_similarity(ens, np.ones(1), np.arange(3), None, None) == 1e-20)
    assert qt.PTGP(n_clusters=3).fit_predict(ens).tolist() == [0, 0, 1, 2]


def test_patterns_count_by_their_rows_if_asked(running_example):
    weighted = qt.PTA(n_clusters=2, n_neighbors=2, n_steps=2, row_weights=True).fit(running_example)
    similarity = pattern_trajectory_similarity(Ensemble(running_example), np.ones(3), np.arange(4), 2, 2)
    tree = weighted.dendrogram_
    oracles.replay(similarity, np.array([2.0, 1, 1, 2]), tree.merges, tree.heights, "average")


def test_trajectories_agree_with_the_authors_program(authors_reference):
    ens, answers = authors_reference
    similarity = pattern_trajectory_similarity(ens, np.ones(ens.n_members), np.arange(ens.n_patterns), None, None)
    assert similarity[0] == pytest.approx(answers["pta_pts_row0"], abs=1e-9)
    for link in LINKS:
        tree = qt.PTA(n_clusters=2, linkage=link).fit(ens)
        assert tree.dendrogram_.heights[-100:] == pytest.approx(answers[f"pta_{link}_heights"], abs=1e-9)
        assert_same_partitions(
            tree.sweep(answers["ks"]), answers[f"pta_{link}_labels"], answers[f"pta_{link}_labels_tiefree"]
        )
    cut = qt.PTGP(n_clusters=2, init="first-row").fit(ens)
    eigenvalues = answers["ptgp_eigenvalues"]
    assert cut.solution_.cuts.spectrum(len(eigenvalues)).values[: len(eigenvalues)] == pytest.approx(
        eigenvalues, abs=1e-9
    )
    for k in answers["ks"]:
        points = cut.solution_.cuts.embedding(k)
        assert points @ points[0] == pytest.approx(answers[f"ptgp_gram_pattern0_k{k}"], abs=1e-7)
    assert_same_partitions(cut.sweep(answers["ks"]), answers["ptgp_first_pattern_labels"])


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


def test_long_computations_are_announced_and_refused():
    with (
        qt.time_limit(10),
        pytest.raises(qt.QuorateError, match="These take about 3.33 minutes, but the limit is 10"),
    ):
        require_time(2e12, "These", "Use less.")
    with pytest.warns(qt.QuorateWarning, match="These take about 3.33 minutes. Use less."):
        require_time(2e12, "These", "Use less.")
    with (
        qt.time_limit(1e-9),
        pytest.raises(qt.QuorateError, match="Random walks over 4 nodes take about .* WEAC or"),
    ):
        qt.PTA(n_clusters=2).fit([[0, 0, 1, 1], [0, 1, 0, 1]])
