import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import oracles
import quorate as qt
from quorate import _kernels
from quorate.cluster_similarity import (
    NeighborLists,
    SactOperator,
    connected_triples,
    jaccard_links,
    neighbor_links,
    neighbor_lists,
    sact_similarity,
    weighted_triples,
)
from quorate.ensemble import Ensemble
from quorate.random_walks import _batches, trajectory_similarity
from quorate.row_similarity import ThroughClusters
from support import raises

A, B, C, D, E, F, G = range(7)


def test_running_example(running_example):
    ens = Ensemble(running_example)
    influence = qt.ncai(ens) ** 2
    raw = connected_triples(jaccard_links(ens), influence[ens.cluster_member])
    assert raw.max() == raw[F, F] == pytest.approx(2.48326, abs=5e-6)
    assert raw[A, C] == pytest.approx(1.5355, abs=5e-5)
    assert raw[E, G] == pytest.approx(2.3306, abs=5e-5)
    similarity = qt.sact(ens)
    expected = {(A, B): 0.1627, (A, C): 0.6184, (A, F): 0.7654, (E, G): 0.9385, (A, E): 0}
    for (x, y), value in expected.items():
        assert similarity[x, y] == pytest.approx(value, abs=5e-5)


def test_running_example_without_influence(running_example):
    ens = Ensemble(running_example)
    raw = connected_triples(jaccard_links(ens), np.ones(7))
    assert raw[F, F] == pytest.approx(35 / 12)
    assert raw[E, G] == pytest.approx(8 / 3)
    assert raw[A, B] == pytest.approx(5 / 12)
    assert np.allclose(qt.sact(ens, beta=0), sact_similarity(jaccard_links(ens), np.ones(7)))


@given(oracles.label_matrices(missing=True), st.sampled_from([1.0, 0.1, 0.0]))
def test_the_operator_multiplies_as_the_matrix_does(labels, largest):
    ens = Ensemble(list(labels.T))
    influence = largest * (qt.ncai(ens) ** 2)[ens.cluster_member]
    matrix = sact_similarity(jaccard_links(ens), influence)
    operator = SactOperator(NeighborLists.of(jaccard_links(ens)), influence)
    vectors = np.eye(ens.n_clusters)
    assert np.allclose(np.transpose([operator @ x for x in vectors]), matrix, rtol=0, atol=1e-13)
    assert np.allclose(operator @ vectors, matrix, rtol=0, atol=1e-13)
    many = np.tile(vectors, 9)
    assert np.array_equal(operator @ many, np.tile(matrix, 9))


@given(oracles.label_matrices(missing=True), st.booleans())
def test_products_through_links_and_a_matrix_are_those_of_both(labels, dropped):
    ens = Ensemble(list(labels.T))
    operator = SactOperator(NeighborLists.of(jaccard_links(ens)), (qt.ncai(ens) ** 2)[ens.cluster_member])
    matrix = ens.cooccurrence.astype(np.float64)
    if dropped:  # it may have fewer entries than there are neighbors
        matrix = sp.csr_array(np.triu(np.tril(matrix.toarray(), 1), -1))
    vectors = np.eye(ens.n_clusters)
    similarity, degrees = operator @ vectors, np.arange(1.0, ens.n_clusters + 1)
    expected = matrix.toarray() + similarity @ (similarity / degrees[:, None])
    multiply = operator.through(matrix, degrees)
    few = np.hstack([multiply(vectors[:, [j]]) for j in range(ens.n_clusters)])
    assert np.allclose(few, expected, rtol=0, atol=1e-12)
    assert np.allclose(multiply(np.tile(vectors, 9)), np.tile(expected, 9), rtol=0, atol=1e-12)


@given(oracles.label_matrices(missing=True, min_rows=4), st.data())
def test_lists_of_some_members_come_from_those_of_all(labels, data):
    ens = Ensemble(list(labels.T))
    neighbor_lists(ens)
    members = data.draw(st.lists(st.integers(0, ens.n_members - 1), min_size=1, unique=True))
    if any(len(ens.levels[j]) == 0 for j in members):
        return
    selected = ens.select(members)
    anew = Ensemble([labels[:, j] for j in members])
    assert "neighbors" in selected.derived
    influence = (qt.ncai(anew) ** 2)[anew.cluster_member]
    for vector in np.eye(anew.n_clusters):
        found, expected = (SactOperator(neighbor_lists(some), influence) @ vector for some in (selected, anew))
        assert np.allclose(found, expected, rtol=0, atol=1e-13)


@given(oracles.label_matrices(missing=True))
def test_jaccard_and_sact_are_those_of_the_definition(labels):
    ens = Ensemble(list(labels.T))
    assert np.allclose(qt.jaccard(ens), oracles.jaccard(labels), atol=1e-12)
    influence = (qt.ncai(ens) ** 2)[ens.cluster_member]
    similarity = qt.sact(ens)
    assert np.allclose(similarity, oracles.sact(labels, influence), atol=1e-12)
    assert np.array_equal(similarity, similarity.T)
    assert similarity.min() >= 0
    assert similarity.max() == 1


def test_many_clusters_are_linked_in_threads_to_the_same_values():
    labels = np.random.default_rng(0).integers(0, 40, (400, 5))
    assert np.allclose(qt.sact(labels, beta=0), oracles.sact(labels, 1.0), atol=1e-12)


@pytest.mark.parametrize("n_patterns", [1, 64, 65, 200])
def test_many_patterns_are_similar_through_their_clusters(n_patterns):
    random = np.random.default_rng(n_patterns)
    phi, of_clusters = random.random((n_patterns, 12)), random.random((12, 12))
    phi[random.random(phi.shape) < 0.5] = 0.0
    of_clusters += of_clusters.T
    found = ThroughClusters.of_all(sp.csr_array(phi), of_clusters).matrix()
    assert found == pytest.approx(phi @ of_clusters @ phi.T, abs=1e-12)
    assert np.array_equal(found, found.T)


def test_no_cluster_is_its_own_neighbor(running_example):
    links = neighbor_links(Ensemble(running_example)).toarray()
    expected = oracles.jaccard(running_example)
    np.fill_diagonal(expected, 0)
    assert np.allclose(links, expected)


def test_triples_of_members_without_influence_count_for_nothing():
    ens = Ensemble([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 0]])
    triples = weighted_triples(ens, np.array([1.0, 0.0, 1.0]))
    alone = weighted_triples(ens, np.array([1.0, 1.0, 1.0]))
    assert np.diag(triples).tolist() == [1.0] * 6
    assert alone[2, 3] > 0
    assert triples[2, 3] == triples[3, 2] == 0


def test_links_are_refused_where_memory_does_not_allow_them():
    rows = np.arange(2100)
    with qt.memory_limit("1MB"), raises("memory"):
        qt.sact([rows // 3, rows % 700, (rows + 1) // 3 % 700])


def test_walks_are_refused_where_memory_does_not_allow_them():
    links = np.ones((5, 5)) - np.eye(5)
    with qt.memory_limit(8 * 6 * 5**2):
        assert trajectory_similarity(links, np.ones(5), 3) == pytest.approx(
            trajectory_similarity(links, np.full(5, 7.0), 3)
        )
    with (
        qt.memory_limit(8 * 6 * 5**2 - 1),
        raises("memory"),
    ):
        trajectory_similarity(links, np.ones(5), 3)


def test_the_time_of_walks_is_forecast_by_the_number_of_nodes(monkeypatch):
    heard = {}
    monkeypatch.setattr(
        "quorate.random_walks.require_time", lambda operations, what, _: heard.update({what: operations})
    )
    for n in (5, 50):
        trajectory_similarity(np.ones((n, n)) - np.eye(n), np.ones(n), 3)
    assert heard["Random walks over 50 nodes"] == pytest.approx(1000 * heard["Random walks over 5 nodes"])


@pytest.mark.parametrize("n_walks", [48, 144])
def test_a_step_of_many_walks_is_a_product(n_walks):
    random = np.random.default_rng(n_walks)
    transitions = sp.csr_array(np.where(random.random((40, 40)) < 0.2, random.random((40, 40)), 0.0))
    before, after = (_kernels.vector_lanes.zero_rows(40 * n_walks // 8) for _ in range(2))
    before[:] = random.random(before.shape)
    _kernels.neighbor_sums.step(transitions.indptr, transitions.indices, transitions.data, before, after)
    assert np.allclose(after.reshape(40, n_walks), transitions @ before.reshape(40, n_walks), rtol=1e-13)


@pytest.mark.parametrize("sizes", [[1], [48], [145, 3], [30, 9, 39, 131, 120, 74, 108, 142, 88, 69], [7] * 100])
def test_small_members_walk_together_and_large_ones_alone(sizes):
    together = _batches(np.array(sizes))
    assert sorted(some for members in together for some in members) == list(range(len(sizes)))
    columns = [sum(sizes[some] for some in members) for members in together]
    for width, members in zip(columns, together, strict=True):
        assert width <= max(144, -(-max(sizes[some] for some in members) // 48) * 48)
    assert sum(a + b <= 144 for i, a in enumerate(columns) for b in columns[:i]) == 0


def test_a_graph_is_connected_if_it_has_one_component():
    random = np.random.default_rng(0)
    found = []
    for n in (1, 2, 5, 5, 5, 9, 9, 9, 9, 9):
        above = np.triu(random.random((n, n)) < 1.5 / n, 1)
        graph = sp.csr_array((above | above.T).astype(float))
        one = sp.csgraph.connected_components(graph, directed=False)[0] == 1
        found.append(one)
        assert _kernels.contingency.is_connected(graph.indptr, graph.indices) == one
    assert {*found[2:]} == {True, False}


@pytest.mark.parametrize("pairs", [[(0, 1), (2, 3)], [(0, 2), (2, 3)]])
def test_a_graph_of_two_parts_is_not_connected(pairs):
    graph = np.zeros((4, 4))
    graph[tuple(np.transpose(pairs))] = 1.0
    graph = sp.csr_array(graph + graph.T)
    assert not _kernels.contingency.is_connected(graph.indptr, graph.indices)
