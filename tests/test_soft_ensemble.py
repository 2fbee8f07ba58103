"""Ensembles with soft members: memberships next to labels."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import oracles
import quorate as qt
from quorate.algorithms.registry import METHODS
from quorate.graphs import bipartite_graph, bipartite_links, row_links
from support import raises

pytestmark = pytest.mark.filterwarnings("ignore::quorate.QuorateWarning")
SOFT = sorted(name for name, method in METHODS.items() if method.takes_soft)


def one_hot(labels):
    """(n, k) memberships of 1 in the cluster of each label; NaN where a label is missing (-1)."""
    levels = np.unique(labels[labels >= 0])
    return np.where((labels < 0)[:, None], np.nan, labels[:, None] == levels)


def random_soft(random, n_rows=60, k=4, sharpness=2.0):
    """(n, k) memberships that vary from row to row."""
    shares = random.random((n_rows, k)) ** sharpness
    return shares / shares.sum(axis=1, keepdims=True)


def blurred(random, classes, k):
    """(n, k) memberships with most of the weight on the class of a row."""
    shares = random.random((len(classes), k)) + 3.0 * (np.arange(k) == classes[:, None])
    return shares / shares.sum(axis=1, keepdims=True)


def test_the_methods_that_take_memberships():
    assert SOFT == ["auto", "cspa", "cumulative-voting", "gp-mgla", "hbgf", "lwgp", "mixture"]


@given(
    labels=oracles.label_matrices(missing=True, min_rows=4, min_members=2),
    method=st.sampled_from(SOFT),
    weights=st.sampled_from(["equal", "trust"]),
    k=st.integers(1, 3),
    data=st.data(),
)
def test_one_hot_members_give_the_labels_of_hard_ones(labels, method, weights, k, data):
    ens = qt.Ensemble(list(labels.T))
    soft = data.draw(st.lists(st.booleans(), min_size=labels.shape[1], max_size=labels.shape[1]))
    members = [one_hot(column) if is_soft else column for column, is_soft in zip(labels.T, soft, strict=True)]
    softened = qt.SoftEnsemble(members)
    assert softened.n_patterns == ens.n_patterns
    np.testing.assert_array_equal(softened.patterns, ens.patterns)
    np.testing.assert_allclose(softened.cooccurrence.toarray(), ens.cooccurrence.toarray())
    estimator = METHODS[method](min(k, ens.n_clusters), weights=weights)
    hard = estimator.fit(ens).labels_
    np.testing.assert_array_equal(estimator.fit(softened).labels_, hard)


def test_the_default_compares_the_graph_cut_with_the_mixture_model(generated):
    members = [generated[:, 0], one_hot(generated[:, 1]), one_hot(generated[:, 2]), generated[:, 3]]
    soft, hard = qt.consensus(qt.SoftEnsemble(members)), qt.consensus(generated[:, :4])
    np.testing.assert_array_equal(soft.labels, hard.labels)
    assert [candidate.method for candidate in soft.estimator.candidates_] == ["lwgp", "mixture"]
    np.testing.assert_array_equal(soft.confidence, hard.confidence)


def test_the_most_likely_clusters_are_an_ensemble():
    shares = np.array([[0.9, 0.1, 0.0], [0.6, 0.4, 0.0], [0.2, 0.5, 0.3], [0.2, 0.5, 0.3], [np.nan] * 3])
    ens, pattern = qt.SoftEnsemble([shares, [0, 0, 1, 1, 1]], row_weights=[1, 2, 3, 4, 5]).most_likely
    assert (ens.n_patterns, ens.n_clusters, len(pattern)) == (3, 5, 4)
    assert sorted(zip(ens.row_counts.tolist(), (ens.counts * ens.weight_unit).tolist(), strict=True)) == [
        (1, 5.0),
        (2, 3.0),
        (2, 7.0),
    ]


def test_memberships_are_exponents_in_the_mixture_model():
    """One round from given memberships in classes, computed over all rows and clusters."""
    random = np.random.default_rng(4)
    members, start = [random_soft(random), random_soft(random, k=3)], random_soft(random, k=2)
    cuts = qt.MixtureModel(2).solve(qt.SoftEnsemble(members)).cuts
    shares, theta = cuts.maximize(start[cuts.ensemble.first_row])
    np.testing.assert_allclose(np.exp(shares), start.mean(axis=0))
    posterior = np.exp(shares)
    for j, shares_of_rows in enumerate(members):
        of_class = shares_of_rows.T @ start
        probabilities = of_class / of_class.sum(axis=0)
        np.testing.assert_allclose(np.exp(theta[cuts.ensemble.cluster_member == j]), probabilities)
        posterior = posterior * np.exp(shares_of_rows @ np.log(probabilities))
    found = cuts.expect(shares, theta)
    rows = cuts.ensemble.row_pattern
    np.testing.assert_allclose(found.memberships[rows], posterior / posterior.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found.log_likelihood, np.log(posterior.sum(axis=1)).sum())


def test_the_graph_is_that_of_all_rows():
    random = np.random.default_rng(0)
    members = [random_soft(random), random_soft(random, k=3), random.integers(0, 3, 60)]
    ens = qt.SoftEnsemble(members)
    weights = random.random(ens.n_clusters)
    every = np.hstack([members[0], members[1], one_hot(members[2])])
    links = every * weights
    shares = links / links.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(row_links(ens, weights).toarray()[ens.row_pattern], shares)
    np.testing.assert_allclose(bipartite_links(ens, weights).toarray()[ens.row_pattern], shares)
    graph = bipartite_graph(ens, weights)
    np.testing.assert_allclose(graph.through_rows.toarray(), shares.T @ links)
    np.testing.assert_allclose(graph.degrees, graph.through_rows.sum(axis=1))
    np.testing.assert_allclose(ens.cooccurrence.toarray()[:4, 4:7], members[0].T @ members[1])


@pytest.mark.parametrize("method", SOFT)
def test_memberships_help_where_labels_lose_them(method):
    """Rows between two clusters have labels at random; memberships tell that they are between."""
    random = np.random.default_rng(1)
    classes = random.integers(0, 3, 300)
    members = [blurred(random, classes, 3) for _ in range(4)] + [np.where(random.random(300) < 0.2, 0, classes)]
    found = qt.consensus(qt.SoftEnsemble(members), 3, method).labels
    assert qt.evaluate(found, classes).ari > 0.95


@pytest.mark.parametrize("method", SOFT)
def test_order_of_rows_and_duplicates_do_not_matter(method):
    random = np.random.default_rng(2)
    classes = random.integers(0, 3, 80)
    members = [blurred(random, classes, 3), blurred(random, classes, 4), np.where(random.random(80) < 0.1, 0, classes)]
    order = random.permutation(80)
    plain = qt.consensus(qt.SoftEnsemble(members), 3, method).labels
    shuffled = qt.consensus(qt.SoftEnsemble([member[order] for member in members]), 3, method).labels
    np.testing.assert_array_equal(shuffled, plain[order])
    twice = qt.SoftEnsemble([np.repeat(member, 1 + (np.arange(80) % 2), axis=0) for member in members])
    assert twice.n_patterns == qt.SoftEnsemble(members).n_patterns
    weighted = qt.SoftEnsemble(members, row_weights=1 + (np.arange(80) % 2))
    by_count, by_weight = (qt.consensus(ens, 3, method) for ens in (twice, weighted))
    np.testing.assert_array_equal(by_count.labels, np.repeat(by_weight.labels, 1 + (np.arange(80) % 2)))


def test_frames_name_clusters_and_sparse_matrices_are_read():
    shares = np.array([[0.8, 0.2], [0.7, 0.3], [0.1, 0.9], [0.0, 1.0]])
    ens = qt.SoftEnsemble({"topics": pd.DataFrame(shares, columns=["sports", "politics"]), "k": [0, 0, 1, 1]})
    assert ens.names == ("topics", "k")
    assert ens.levels[0].tolist() == ["sports", "politics"]
    assert [cluster.name for cluster in qt.consensus(ens, 2, "hbgf").clusters] == ["sports", "politics"]
    from_sparse = qt.SoftEnsemble([sp.csr_array(shares), [0, 0, 1, 1]])
    np.testing.assert_array_equal(from_sparse.memberships.toarray(), ens.memberships.toarray())


def test_selections_and_pickles_keep_memberships():
    random = np.random.default_rng(3)
    members = [random_soft(random), random.integers(0, 3, 60), random_soft(random, k=2)]
    ens = qt.SoftEnsemble(members)
    selected, direct = ens.select([0, 2]), qt.SoftEnsemble([members[0], members[2]], names=["member_0", "member_2"])
    np.testing.assert_array_equal(selected.memberships.toarray(), direct.memberships.toarray())
    np.testing.assert_array_equal(selected.row_pattern, direct.row_pattern)
    copied = pickle.loads(pickle.dumps(ens))
    np.testing.assert_array_equal(copied.memberships.toarray(), ens.memberships.toarray())


def test_missing_rows_have_no_cluster():
    shares = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.0, 0.0], [np.nan, np.nan], [0.2, 0.8]])
    ens = qt.SoftEnsemble([shares, shares[:, ::-1]])
    labels = qt.consensus(ens, 2, "hbgf").labels
    assert labels[3] == labels[4] == -1
    assert len(set(labels[[0, 1]])) == len(set(labels[[2, 5]])) == 1


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(SOFT)))
def test_other_methods_refuse(method):
    ens = qt.SoftEnsemble([np.array([[0.9, 0.1], [0.2, 0.8]]), [0, 1]])
    with raises("soft-members"):
        qt.consensus(ens, 2, method)


def test_what_takes_labels_only_refuses(tmp_path):
    ens = qt.SoftEnsemble([np.array([[0.9, 0.1], [0.2, 0.8]]), [0, 1]])
    result = qt.consensus(ens, 2, "hbgf")
    for refused in (
        lambda: result.predict([[0], [1]]),
        lambda: result.to_sql("duckdb"),
        lambda: result.save(tmp_path / "saved.npz"),
        lambda: qt.save(ens, tmp_path / "folder"),
        lambda: ens.merge(ens),
        lambda: ens.add_members([[0, 1]]),
        lambda: qt.SoftEnsemble([]),
    ):
        with raises("soft-members"):
            refused()


@pytest.mark.parametrize(
    "shares",
    [[[0.5, 0.2], [0.5, 0.5]], [[1.5, -0.5], [0.5, 0.5]], [[np.nan, 1.0], [0.5, 0.5]], [["a", "b"], ["c", "d"]]],
)
def test_invalid_memberships_are_refused(shares):
    with raises("memberships"):
        qt.SoftEnsemble([np.array(shares), [0, 1]])


def test_wrong_lengths_and_matrices_in_ensembles_are_refused():
    with raises("row-count", "members"):
        qt.SoftEnsemble([np.full((3, 2), 0.5), [0, 1]])
    with raises("label-dimensions", "labels"):
        qt.consensus([np.full((3, 2), 0.5), np.array([0, 1, 1])])
