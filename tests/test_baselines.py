"""The baselines of the paper: hand-computed values, public reference programs, and patterns against all rows."""

import numpy as np
import pytest
import scipy.cluster.hierarchy as sch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score

import baseline_oracles as dense
import oracles
import quorate as qt
from quorate.algorithms.ecmc import Block, _shrink_eigenvalues, complete_block, complete_similarity, link_completion
from quorate.algorithms.srs import simrank_similarity
from quorate.algorithms.wcc import Connectivity, simplex_minimum
from quorate.algorithms.wct import triple_similarity
from quorate.cluster_similarity import weighted_triples
from quorate.ensemble import Ensemble
from quorate.graphs import bipartite_graph
from quorate.numerics.linkage import LINKS
from quorate.numerics.transfer_cut import leading_spectrum
from support import with_published

few = settings(max_examples=25)


def over_rows(ens, similarity):
    """(n, n) of a similarity over patterns; a row is similar to itself by 1."""
    full = similarity[np.ix_(ens.row_pattern, ens.row_pattern)]
    np.fill_diagonal(full, 1.0)
    return full


def scipy_heights(similarity, link):
    return sch.linkage(squareform(1 - similarity, checks=False), link)[:, 2]


def similarity_of(method, ens, weights=None):
    """(n, n) similarity of rows that a baseline links."""
    weights = np.ones(ens.n_members) if weights is None else weights
    patterns = np.arange(ens.n_patterns)
    if method is qt.EAC:
        return qt.coassociation(ens, weights, rows=True)
    if method is qt.WCT:
        return over_rows(ens, triple_similarity(ens, weights, 0.8, patterns).matrix())
    return over_rows(ens, simrank_similarity(ens, weights, 0.8, 5, patterns))


# --- the running example ---------------------------------------------------------------------------------------------


def test_evidence_accumulation_on_the_running_example(running_example):
    assert similarity_of(qt.EAC, Ensemble(running_example))[[0, 0, 3], [2, 3, 4]] == pytest.approx(
        [2 / 3, 1 / 3, 1 / 3]
    )
    heights = {
        link: qt.EAC(n_clusters=3, linkage=link).fit(running_example).dendrogram_.to_scipy(rows=True)[:, 2]
        for link in LINKS
    }
    assert heights["single"] == pytest.approx([0, 0, 1 / 3, 1 / 3, 2 / 3])
    assert heights["complete"] == pytest.approx([0, 0, 1 / 3, 2 / 3, 1])
    assert heights["average"] == pytest.approx([0, 0, 1 / 3, 5 / 9, 11 / 12]) or heights["average"] == pytest.approx(
        [0, 0, 1 / 3, 1 / 2, 11 / 12]
    )
    tied = qt.EAC(n_clusters=3, linkage="single").fit(running_example)
    assert tied.n_clusters_ == 3
    assert tied.dendrogram_.lifetimes == pytest.approx([1 / 3, 0, 1 / 3])
    assert qt.EAC(n_clusters="auto").fit(running_example).n_clusters_ == 2


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


def test_matrix_completion_on_the_running_example(running_example):
    found = qt.ECMC(n_clusters=2).fit(running_example).completion_
    assert found.observed == pytest.approx(22 / 36)
    assert found.lam == pytest.approx(0.522233, abs=5e-7)
    assert found.objective == pytest.approx(5.044466, abs=5e-7)
    ens = Ensemble(running_example)
    assert np.array_equal(found.similarity[np.ix_(ens.row_pattern, ens.row_pattern)], _blocks([2, 0, 0, 2]))
    larger = qt.ECMC(n_clusters=2, lam=1.2).fit(running_example).completion_
    assert larger.objective == pytest.approx(6)
    assert np.array_equal(larger.similarity[np.ix_(ens.row_pattern, ens.row_pattern)], _blocks([2, 1, 1, 2]))


def _blocks(sizes):
    """(6, 6) blocks of ones of these sizes, 0 for one row that is nothing at all."""
    matrix, start = np.zeros((6, 6)), 0
    for size in sizes:
        matrix[start : start + size, start : start + size] = 1.0
        start += max(size, 1)
    return matrix


def test_simrank_on_the_running_example(running_example):
    ens = Ensemble(running_example)
    two = over_rows(ens, simrank_similarity(ens, np.ones(3), 0.8, 2, np.arange(4)))
    assert two[[0, 0, 3], [1, 2, 4]] == pytest.approx([0.2667, 0.1778, 0.0889], abs=5e-5)
    five = similarity_of(qt.SRS, ens)
    assert five[[0, 0, 0, 0, 4], [1, 2, 3, 4, 5]] == pytest.approx([0.4759, 0.3865, 0.2462, 0.0295, 0.5190], abs=5e-5)


def test_connected_triples_on_the_running_example(running_example):
    ens = Ensemble(running_example)
    raw = weighted_triples(ens, np.ones(3)) * 3 / 4
    found = raw[[0, 2, 2, 3, 5], [1, 3, 4, 4, 6]]
    assert found == pytest.approx([5 / 12, 3 / 4, 0, 1 / 4, 1 / 6])
    similarity = similarity_of(qt.WCT, ens)
    assert similarity[[0, 0, 0, 2, 3], [2, 3, 4, 3, 4]] == pytest.approx(
        [0.9333, 0.7481, 0.2074, 0.8148, 0.4815], abs=5e-5
    )


# --- public reference programs ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=with_published("baselines_lwea_VS_5", "baselines_lwea_VS_10"))
def reference(request, published):
    answers = published("oracle", request.param)
    pool = "generated" if request.param == "generated" else "lwea_VS"
    return answers, Ensemble(published("ensembles", pool)["labels"][:, answers["cols"]])


@pytest.mark.parametrize(("key", "method"), [("eac", qt.EAC), ("cts", qt.WCT), ("srs", qt.SRS)])
def test_similarities_are_those_of_the_reference_programs(reference, key, method):
    answers, ens = reference
    similarity = similarity_of(method, ens)
    assert np.allclose(similarity[0], answers[f"{key}_similarity_row0"], rtol=0, atol=1e-12)
    off_diagonal = similarity[~np.eye(len(similarity), dtype=bool)]
    summary = [similarity.sum(), off_diagonal.min(), off_diagonal.max()]
    assert np.allclose(summary, answers[f"{key}_similarity_summary"], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("key", "method"), [("eac", qt.EAC), ("cts", qt.WCT), ("srs", qt.SRS)])
@pytest.mark.parametrize("link", LINKS)
def test_heights_and_labels_are_those_of_the_reference_programs(reference, key, method, link):
    answers, ens = reference
    fitted = method(n_clusters=4, linkage=link).fit(ens)
    if link == "single" or answers[f"{key}_{link}_heights_tiefree"]:
        found = fitted.dendrogram_.to_scipy(rows=True)[-100:, 2]
        assert np.allclose(found, answers[f"{key}_{link}_heights"], rtol=0, atol=1e-12)
    if link == "average":
        sweep = fitted.sweep(answers["ks"])
        for j in np.flatnonzero(answers[f"{key}_average_labels_tiefree"]):
            assert adjusted_rand_score(sweep[:, j], answers[f"{key}_average_labels"][:, j]) == 1.0


def test_singular_values_are_those_of_the_reference_program(reference):
    answers, ens = reference
    found = qt.HBGF(n_clusters=8).fit(ens).singular_values_[:8]
    assert np.allclose(found, answers["hbgf_singular_values"], rtol=0, atol=1e-12)


# --- relations between methods ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", LINKS)
@given(labels=oracles.label_matrices(missing=True))
@few
def test_evidence_accumulation_is_weac_without_weights(link, labels):
    members = list(labels.T)
    eac = qt.EAC(n_clusters=1, linkage=link).fit(members)
    weac = qt.WEAC(n_clusters=1, linkage=link, beta=0).fit(members)
    assert np.array_equal(eac.dendrogram_.heights, weac.dendrogram_.heights)
    assert np.array_equal(eac.dendrogram_.merges, weac.dendrogram_.merges)
    assert np.array_equal(eac.sweep(range(1, 8)), weac.sweep(range(1, 8)))


def test_evidence_accumulation_is_weac_without_weights_on_a_generated_ensemble(generated):
    labels = generated
    ks = range(2, 31)
    assert np.array_equal(
        qt.EAC(n_clusters=2).fit(labels).sweep(ks), qt.WEAC(n_clusters=2, beta=0).fit(labels).sweep(ks)
    )


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


def test_without_decay_triples_are_coassociation(generated):
    ens = Ensemble(generated)
    similarity = triple_similarity(ens, np.ones(ens.n_members), 0.0, np.arange(ens.n_patterns)).matrix()
    assert np.allclose(similarity, qt.coassociation(ens), atol=1e-12)


# --- patterns against all rows ---------------------------------------------------------------------------------------


@st.composite
def weighted_ensembles(draw):
    labels = draw(oracles.label_matrices(missing=True, max_rows=12, max_members=4, max_clusters=3))
    weights = np.array(draw(st.lists(st.sampled_from([0.25, 0.5, 1.0]), min_size=4, max_size=4)))[: labels.shape[1]]
    return labels, weights / weights.max()


@pytest.mark.parametrize("method", [qt.WCT, qt.SRS])
@given(data=st.data())
@few
def test_similarities_are_those_of_the_dense_way(method, data):
    labels, weights = data.draw(weighted_ensembles())
    ens = Ensemble(list(labels.T))
    expected = (dense.triples if method is qt.WCT else dense.simrank)(labels, weights)
    assert np.allclose(similarity_of(method, ens, weights), expected, atol=1e-12)


@given(labels=dense.nearly_unanimous(), n_iterations=st.integers(2, 8))
@few
def test_simrank_for_any_number_of_iterations(labels, n_iterations):
    ens = Ensemble(list(labels.T))
    weights = np.ones(ens.n_members)
    found = simrank_similarity(ens, weights, 0.8, n_iterations, np.arange(ens.n_patterns))
    assert np.allclose(over_rows(ens, found), dense.simrank(labels, weights, 0.8, n_iterations), atol=1e-12)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("method", [qt.WCT, qt.SRS])
@given(data=st.data())
@few
def test_every_merge_of_rows_joins_the_most_similar_groups(method, link, data):
    labels = data.draw(dense.nearly_unanimous(10) | oracles.label_matrices(max_rows=10))
    weights = np.ones(labels.shape[1])
    similarity = (dense.triples if method is qt.WCT else dense.simrank)(labels, weights)
    tree = method(n_clusters=1, linkage=link).fit(list(labels.T)).dendrogram_.to_scipy(rows=True)
    oracles.replay(similarity, np.ones(len(labels)), tree[:, :2].astype(int), tree[:, 2], link)


def test_rows_of_a_pattern_are_linked_one_by_one_where_simrank_sets_them_apart():
    members = [[9, 9, 9, 9, 1]] + [[0, 0, 1, 1, 1]] * 7
    similarity = dense.simrank(np.array(members).T, np.ones(8))
    assert similarity[2, 3] < similarity[2, 4]  # rows 2 and 3 have the same labels
    fitted = qt.SRS(n_clusters=2).fit(members)
    tree = fitted.dendrogram_
    assert tree.leaf_pattern.tolist() == [0, 1, 2, 2]
    assert tree.to_scipy(rows=True)[:, 2] == pytest.approx(scipy_heights(similarity, "average"), abs=1e-12)
    assert tree.lifetimes.shape == (2,)
    # All the same, rows with the same labels stay together, and every number of clusters is exact.
    assert fitted.sweep([1, 2, 3]).T.tolist() == [[0, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 1, 1, 2]]


@pytest.mark.parametrize("method", [qt.EAC, qt.WCT, qt.SRS])
@pytest.mark.parametrize("link", LINKS)
def test_heights_are_those_of_all_rows_on_a_generated_ensemble(generated, method, link):
    ens = Ensemble(generated)
    expected = scipy_heights(similarity_of(method, ens), link)
    tree = method(n_clusters=4, linkage=link).fit(ens).dendrogram_.to_scipy(rows=True)
    if method is qt.EAC and link != "single":  # ties: heights are not unique
        rounded = np.round(expected, 9)
        expected, tree = expected[rounded == 0], tree[rounded == 0]
    assert np.allclose(tree[:, 2], expected, rtol=0, atol=1e-9)


def _embedding_gram(labels, k):
    membership, _ = oracles.indicators(labels)
    left, values, right = np.linalg.svd(membership / np.sqrt(membership.sum(axis=0)), full_matrices=False)
    both = np.vstack([left[:, :k], right[:k].T])
    both /= np.linalg.norm(both, axis=1, keepdims=True) + 1e-10  # a row may have no part in k vectors
    return both @ both.T, values


@given(labels=oracles.label_matrices(), k=st.integers(2, 4))
@few
def test_the_embedding_of_the_hybrid_graph_is_that_of_all_rows(labels, k):
    ens = Ensemble(list(labels.T))
    assume(k < min(ens.n_clusters, len(labels)))
    gram, values = _embedding_gram(labels, k)
    assume(values[k - 1] - values[k] > 1e-3)
    with dense.quiet():
        cut = qt.HBGF(n_clusters=2).fit(ens).solution_.cuts
    both = np.vstack([cut.embedding(k)[ens.row_pattern], cut.cluster_embedding(k)])
    covered = np.linalg.norm(both, axis=1) > 0.5
    assert np.allclose((both @ both.T)[np.ix_(covered, covered)], gram[np.ix_(covered, covered)], atol=1e-8)


def test_the_embedding_of_the_hybrid_graph_is_that_of_all_rows_on_a_generated_ensemble(generated):
    labels = generated
    cut = qt.HBGF(n_clusters=2).fit(labels).solution_.cuts
    for k in (4, 12):
        gram, _ = _embedding_gram(labels, k)
        both = np.vstack([cut.embedding(k)[cut.ensemble.row_pattern], cut.cluster_embedding(k)])
        assert np.allclose(both @ both.T, gram, atol=1e-9)


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
def test_the_objective_of_a_weighted_consensus_is_that_of_all_rows(labels):
    ens = Ensemble(list(labels.T))
    assume(ens.n_clusters > 2)
    _same_objective(labels, 2, n_iterations=1, n_updates=12)


def test_the_objective_of_a_weighted_consensus_is_that_of_all_rows_on_a_generated_ensemble(generated):
    _same_objective(generated, 4, n_iterations=2, n_updates=30)


@given(data=st.data(), size=st.integers(2, 6))
@few
def test_weights_are_the_best_in_the_simplex(data, size):
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


def _completed_rows(labels, lam=None, tolerance=1e-10):
    """Objective of the completion over all rows at once."""
    evidence = np.round(oracles.evidence(labels, np.ones(labels.shape[1])), 12)
    np.fill_diagonal(evidence, 1.0)
    joined = evidence >= 0.8
    observed = joined | (evidence <= 0.2)
    lam = 1 / np.sqrt(observed.mean() * len(labels)) if lam is None else lam
    block = Block(joined.astype(float), observed, np.full(joined.shape, lam))
    return complete_block(block, tolerance, 20_000), lam


@given(labels=oracles.label_matrices(max_rows=14, max_clusters=3), lam=st.sampled_from([None, 0.3, 0.7]))
@few
def test_the_objective_of_a_completion_is_that_of_all_rows(labels, lam):
    expected, lam_used = _completed_rows(labels, lam)
    assume(expected.converged)
    ens = Ensemble(list(labels.T))
    found = complete_similarity(ens, np.ones(ens.n_members), lam=lam, tolerance=1e-10, max_iterations=20_000)
    assert found.lam == pytest.approx(lam_used)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    matrix = found.similarity[np.ix_(ens.row_pattern, ens.row_pattern)]
    assert np.linalg.norm(matrix, "nuc") <= found.objective + 1e-6


@pytest.mark.parametrize("n_rows", [200, pytest.param(846, marks=pytest.mark.slow)])
def test_the_objective_of_a_completion_is_that_of_all_rows_on_a_published_ensemble(published, n_rows):
    labels = published("ensembles", "lwea_VS")["labels"][:n_rows, :10].astype(int)
    expected, _ = _completed_rows(labels, tolerance=1e-9)
    found = complete_similarity(Ensemble(labels), np.ones(10), tolerance=1e-9, max_iterations=20_000)
    assert found.converged
    assert expected.converged
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)


def test_few_eigenvalues_are_shrunk_as_all_would_be():
    random = np.random.default_rng(0)
    factor = random.standard_normal((300, 12))
    noise = random.standard_normal((300, 300))
    matrix = (factor * np.linspace(-3, 3, 12)) @ factor.T + 0.5 * (noise + noise.T)
    values, vectors = np.linalg.eigh(matrix)
    threshold = 200.0
    kept = np.sign(values) * np.maximum(np.abs(values) - threshold, 0)
    for rank in (1, 5, 40):  # a guess too low, about right, and so high that all are computed
        shrunk = _shrink_eigenvalues(matrix, threshold, rank)
        assert np.allclose(shrunk.matrix, (vectors * kept) @ vectors.T, atol=1e-8)
        assert shrunk.nuclear_norm == pytest.approx(np.abs(kept).sum())
        assert shrunk.rank == np.count_nonzero(kept)


def test_small_blocks_vanish_and_large_ones_stay():
    truth = np.repeat(np.arange(14), [20, 20, 10, 10, 5, 5, 5, 5, 5, 5, 4, 2, 2, 2])
    ens = Ensemble([truth, truth])
    found = complete_similarity(ens, np.ones(2))
    assert found.lam == pytest.approx(0.1)
    assert np.diag(found.similarity).tolist() == [1.0] * 4 + [0.0] * 10


def test_one_completion_serves_all_linkages(published):
    ens = Ensemble(published("ensembles", "weac_gpmgla_1")["labels"])
    fitted = qt.ECMC(n_clusters=3).fit(ens)
    for link in LINKS:
        tree = link_completion(ens, fitted.completion_, link)
        other = qt.ECMC(n_clusters=3, linkage=link).fit(ens)
        assert np.array_equal(tree.cut(3), other.pattern_labels_)


def test_a_completion_that_does_not_converge_is_said(published):
    labels = published("ensembles", "weac_gpmgla_1")["labels"]
    with pytest.warns(qt.QuorateWarning, match="did not converge in 3 iterations"):
        qt.ECMC(n_clusters=3, max_iterations=3, lam=0.2).fit(labels)


def test_wcc_gives_no_weight_to_a_member_that_labels_nothing():
    members = [[1, 1, 2, 2, 1, 2], [1, 1, 2, 2, 2, 2]]
    silent = qt.WCC(2).fit([members[0], [None] * 6, members[1]])
    plain = qt.WCC(2).fit(members)
    assert silent.member_weights_[1] == 0
    np.testing.assert_allclose(silent.member_weights_[[0, 2]], plain.member_weights_, atol=1e-9)
    assert silent.labels_.tolist() == plain.labels_.tolist()
