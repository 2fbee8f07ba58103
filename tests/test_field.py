"""The later consensus functions: hand-computed values, reference programs, and patterns against all rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

import field_oracles as dense
import oracles
import quorate as qt
from baseline_oracles import quiet
from quorate.consensus.cumulative_voting import cumulative_votes, merge_columns, voting_order
from quorate.consensus.median import MedianCuts
from quorate.consensus.mixture import MixtureCuts
from quorate.ensemble import Ensemble
from quorate.evidence import pattern_evidence
from quorate.linkage import LINKS

few = settings(max_examples=25)
REFERENCES = ["lwea_VS_5_502", "lwea_VS_10_501", "lwea_MF_10_503", "pta_MF_10_504"]


@pytest.fixture(params=REFERENCES)
def reference(request, published):
    """An ensemble drawn from a public pool, and what the reference programs answer on it."""
    answers = published("oracle", f"methods2_{request.param}")
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
    similarity = pattern_evidence(ens, np.ones(3), qt.cluster_certainty(ens))
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
    assert np.abs(fitted._cuts.embedding(1)[ens.row_pattern]) == pytest.approx(np.abs(points), abs=1e-7) or (
        np.sum(values > 1 - 1e-9) > 1  # several components: the eigenvectors of 1 can be chosen in many ways
    )


def test_locally_weighted_evidence_agrees_with_the_authors_program(reference):
    ens, answers = reference
    assert qt.cluster_certainty(ens) == pytest.approx(answers["lwea_eci"], abs=1e-9)
    similarity = pattern_evidence(ens, np.ones(ens.n_members), qt.cluster_certainty(ens))
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
    fitted = qt.LWGP(n_clusters=2, start="first-row").fit(ens)
    eigenvalues = answers["lwgp_eigenvalues"]
    assert fitted._cuts.spectrum(len(eigenvalues)).values[: len(eigenvalues)] == pytest.approx(eigenvalues, abs=1e-9)
    for k in answers["ks"]:
        points = fitted._cuts.embedding(k)[ens.row_pattern]
        assert points @ points[0] == pytest.approx(answers[f"lwgp_gram_row0_k{k}"], abs=1e-7)
    assert_same_partitions(fitted.sweep(answers["ks"]), answers["lwgp_first_row_labels"])


def test_local_weights_of_other_methods(published):
    labels = published("ensembles", "weac_gpmgla_1")["labels"]
    with quiet():
        local = qt.LWEA(n_clusters=4).fit(labels)
        for method in (qt.EAC, qt.WEAC):
            assert np.array_equal(method(n_clusters=4, weights="local").fit_predict(labels), local.labels_)
        graph, joint = (method(n_clusters=4, weights="local").fit(labels) for method in (qt.GPMGLA, qt.HBGF))
    assert joint.eigenvalues_ == pytest.approx(qt.LWGP(n_clusters=4).fit(labels).eigenvalues_, abs=1e-12)
    assert graph.member_weights_.tolist() == [0.2] * 5
    whole = oracles.bipartite_graph(labels, qt.cluster_certainty(labels), 0.5)
    values, _ = oracles.transfer_cut_embedding(whole, len(labels), 2)
    assert graph.eigenvalues_ == pytest.approx(values[: len(graph.eigenvalues_)], abs=1e-9)
    with pytest.raises(qt.QuorateError, match="weights must be one of 'ncai', 'equal'; got 'local'"):
        qt.SRS(n_clusters=2, weights="local").fit(labels)


# --- cumulative voting -----------------------------------------------------------------------------------------------


def test_cumulative_voting_on_the_running_example(running_example):
    ens, equal = Ensemble(running_example), np.ones(3)
    assert voting_order(ens, equal).tolist() == [1, 0, 2]
    after_two = cumulative_votes(ens, np.array([1, 1, 0.0]))
    assert after_two[[0, 2]] == pytest.approx(np.array([[0.8333, 0.1667, 0], [0, 0.6667, 0.3333]]), abs=5e-5)
    votes = cumulative_votes(ens, equal)
    expected = [[0.7222, 0.25, 0.0278], [0.3889, 0.5833, 0.0278], [0, 0.1667, 0.8333]]
    assert votes[[0, 1, 3]] == pytest.approx(np.array(expected), abs=5e-5)
    fixed = cumulative_votes(ens, equal, adaptive=False)
    assert fixed[0] == pytest.approx([0.7222, 0.2778, 0], abs=5e-5)
    joint = fixed * ens.counts[:, None] / 6
    assert joint.sum(axis=0) == pytest.approx([1 / 3] * 3)
    losses = [dense.merging_loss(joint[:, [i, j]]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert losses == pytest.approx([0.0864, 0.4178, 0.2653], abs=5e-5)
    for adaptive in (True, False):
        found = qt.CumulativeVoting(n_clusters=2, adaptive=adaptive).fit(ens)
        assert found.labels_.tolist() == [0, 0, 0, 0, 1, 1]
    with pytest.warns(qt.QuorateWarning, match="Only 3 clusters came back, not 4"):
        qt.CumulativeVoting(n_clusters=4).fit(ens)
    with pytest.raises(qt.QuorateError, match="adaptive must be True or False"):
        qt.CumulativeVoting(adaptive="no").fit(ens)


@given(labels=oracles.label_matrices(missing=True), seed=st.integers(0, 9), adaptive=st.booleans())
@few
def test_cumulative_votes_are_those_of_all_rows(labels, seed, adaptive):
    ens = Ensemble(list(labels.T))
    weights = np.random.default_rng(seed).uniform(0.2, 1.0, ens.n_members)
    found = cumulative_votes(ens, weights, adaptive=adaptive)[ens.row_pattern]
    assert found == pytest.approx(dense.cumulative_votes(labels, weights, adaptive), abs=1e-12)


@given(labels=oracles.label_matrices(max_clusters=6))
@few
def test_columns_of_votes_are_merged_by_least_loss(labels):
    ens = Ensemble(list(labels.T))
    votes = cumulative_votes(ens, np.ones(ens.n_members))
    joint = votes * ens.counts[:, None] / ens.total
    columns = dict(enumerate(joint.T))
    for i, j in merge_columns(votes, ens.counts.astype(float)):
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
    with pytest.warns(qt.QuorateWarning, match="The best member, member_1, has 3 clusters, not 2"):
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
    posterior = cuts.expect(*cuts.maximise(memberships))
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
