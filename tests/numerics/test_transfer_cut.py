import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eigh
from threadpoolctl import threadpool_info, threadpool_limits

import oracles
import quorate as qt
from quorate.ensemble import Ensemble
from quorate.graphs import bipartite_graph, components, multi_granularity_graph, row_links
from quorate.numerics import block_lanczos, transfer_cut
from quorate.numerics.transfer_cut import TransferCut, leading_spectrum
from support import raises, warns


def test_running_example(running_example):
    gp = qt.GPMGLA(n_clusters=2).fit(running_example)
    of_cluster = (qt.ncai(running_example) ** 2)[[0, 0, 1, 1, 1, 2, 2]]
    graph = oracles.bipartite_graph(running_example, of_cluster, 0.5)
    assert graph[:6].sum(axis=1) == pytest.approx([1.2671] * 6, abs=5e-5)
    expected = [3.8106, 3.9292, 3.4790, 3.4324, 3.7213, 4.9388, 3.6447]
    assert multi_granularity_graph(gp.ensemble_, of_cluster, 0.5).degrees == pytest.approx(expected, abs=5e-5)
    assert gp.eigenvalues_[:4] == pytest.approx([1, 0.7670, 0.1961, 0.0262], abs=5e-5)
    assert gp.sweep([2, 3]).T.tolist() == [[0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2]]


def distinct_until(values, k):
    """Whether the first k eigenvalues are separated from the rest: the embedding is then unique up to rotation."""
    return k == len(values) or values[k - 1] - values[k] > 1e-6


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("dense_nodes", [10**6, 0])
@given(labels=st.data())
def test_reduced_graph_gives_the_embedding_of_the_whole_graph(missing, dense_nodes, labels):
    labels = labels.draw(oracles.label_matrices(missing=missing, min_rows=4, max_clusters=6, max_members=4))
    ens = Ensemble(list(labels.T))
    of_cluster = (qt.ncai(ens) ** 2)[ens.cluster_member]
    whole = oracles.bipartite_graph(labels, of_cluster, 0.5)
    graph = multi_granularity_graph(ens, of_cluster, 0.5)
    old, transfer_cut.DENSE_LINKED_NODES = transfer_cut.DENSE_LINKED_NODES, dense_nodes
    try:
        for k in range(1, min(5, ens.n_clusters) + 1):
            values, points = oracles.transfer_cut_embedding(whole, len(labels), k)
            assert leading_spectrum(graph, k).values[:k] == pytest.approx(values[:k], abs=1e-9)
            if distinct_until(values, k):
                found = TransferCut(ens, graph, row_links(ens, of_cluster)).embedding(k)[ens.row_pattern]
                assert np.allclose(found @ found.T, points @ points.T, atol=1e-7)
    finally:
        transfer_cut.DENSE_LINKED_NODES = old


def test_lanczos_and_dense_solver_agree_on_many_clusters(monkeypatch):
    labels = np.random.default_rng(0).integers(0, 60, (3000, 5)) + np.arange(3000)[:, None] // 100
    ens = Ensemble(labels)
    graph = multi_granularity_graph(ens, np.ones(ens.n_clusters), 0.5)
    monkeypatch.setattr(transfer_cut, "DENSE_LINKED_NODES", 10**6)
    dense = leading_spectrum(graph, 20)
    monkeypatch.setattr(transfer_cut, "DENSE_LINKED_NODES", 10)
    lanczos = leading_spectrum(graph, 20)
    assert np.allclose(dense.values, lanczos.values, atol=1e-12)
    scale = np.sqrt(graph.degrees)[:, None]
    overlap = (scale * dense.vectors[:, :20]).T @ (scale * lanczos.vectors[:, :20])
    assert np.allclose(np.abs(np.linalg.det(overlap)), 1.0, atol=1e-8)


def test_components_of_the_graph_are_the_clusters():
    blocks = np.repeat(np.arange(4), [7, 5, 4, 3])
    inner = np.random.default_rng(1).integers(0, 2, (19, 3))
    labels = blocks[:, None] * 2 + inner
    gp = qt.GPMGLA(n_clusters=4).fit(labels)
    assert gp.labels_.tolist() == blocks.tolist()
    assert gp.eigenvalues_[:4].tolist() == [1.0] * 4
    assert qt.GPMGLA(n_clusters="auto").fit(labels).n_clusters_ == 4


@given(st.integers(0, 12), st.floats(0.0, 0.5), st.integers(0, 2**32 - 1))
def test_components_are_those_that_links_of_some_weight_lead_to(n, density, seed):
    rng = np.random.default_rng(seed)
    links = np.triu(rng.random((n, n)) < density, 1) * rng.integers(0, 2, (n, n))
    weights = (links + links.T).astype(np.float64)
    graph = sp.csr_array(np.where(weights > 0, weights, np.nan))
    graph.data[np.isnan(graph.data)] = 0.0  # stored, but no links
    found, expected = components(graph), sp.csgraph.connected_components(sp.csr_array(weights), directed=False)[1]
    assert np.array_equal(found[:, None] == found, expected[:, None] == expected)


def test_more_components_than_clusters_still_gives_k_clusters():
    blocks = np.repeat(np.arange(6), [7, 6, 5, 4, 3, 2])
    with warns("no-eigengap"):
        gp = qt.GPMGLA(n_clusters=3).fit([blocks, blocks])
    assert gp.n_clusters_ == 3


def test_random_starts_repeat_with_the_seed():
    labels = np.random.default_rng(2).integers(0, 4, (200, 4))
    runs = [qt.GPMGLA(n_clusters=5, init="k-means++", random_state=7).fit_predict(labels) for _ in range(2)]
    assert np.array_equal(*runs)


def test_authors_rule_follows_the_first_row():
    labels = np.random.default_rng(4).integers(0, 5, (150, 4))
    order = np.random.default_rng(5).permutation(150)
    by_row = qt.GPMGLA(n_clusters=6, init="first-row")
    assert not np.array_equal(by_row.fit_predict(labels)[order], by_row.fit_predict(labels[order]))
    for start in ("ward", "heaviest"):
        by_pattern = qt.GPMGLA(n_clusters=6, init=start)
        assert np.array_equal(by_pattern.fit_predict(labels)[order], by_pattern.fit_predict(labels[order]))


@pytest.mark.parametrize("dense_nodes", [10**6, 0])
def test_eigenvalues_of_zero_do_not_bring_back_the_trivial_eigenvectors(monkeypatch, dense_nodes):
    monkeypatch.setattr(transfer_cut, "DENSE_LINKED_NODES", dense_nodes)
    ens = Ensemble([[2, 1, 0, 0], [1, 0, 0, 0]])
    graph = multi_granularity_graph(ens, np.ones(ens.n_clusters), 0.5)
    vectors = leading_spectrum(graph, 5).vectors * np.sqrt(graph.degrees)[:, None]
    assert np.allclose(vectors.T @ vectors, np.eye(5), atol=1e-9)


def test_many_equal_eigenvalues_are_handled():
    # On this ensemble LAPACK's solver for some of the eigenpairs gives up.
    members = ["233333323333", "300233331323", "332312333300", "000000000000"]
    labels = np.array([list(map(int, member)) for member in members]).T
    ens = Ensemble(labels)
    graph = bipartite_graph(ens, np.ones(ens.n_clusters))
    spectrum = leading_spectrum(graph, ens.n_clusters)
    scaled = spectrum.vectors * np.sqrt(graph.degrees)[:, None]
    assert np.allclose(scaled.T @ scaled, np.eye(ens.n_clusters), atol=1e-12)
    assert np.allclose(graph.product()(spectrum.vectors), graph.degrees[:, None] * spectrum.vectors * spectrum.values)


def test_a_cut_at_the_last_eigenvalue_gives_no_caution():
    labels = [[0, 0, 1, 1], [0, 0, 1, 1]]
    cuts = qt.HBGF(2).fit(labels).solution_.cuts
    assert cuts.max_clusters == 4
    assert cuts.caution(4) is None
    assert cuts.caution(3).code == "no-eigengap"


def test_cautions_reach_beyond_a_batch_of_eigenvectors():
    apart = Ensemble([np.arange(40)])  # as many components as clusters, and all eigenvalues the same
    graph = bipartite_graph(apart, np.ones(40))
    cut = TransferCut(apart, graph, row_links(apart, np.ones(40)))
    assert cut.caution(transfer_cut.EIGENVECTOR_BATCH).code == "no-eigengap"


def test_where_iterations_find_nothing_all_pairs_are_found_densely(monkeypatch):
    ens = Ensemble(np.random.default_rng(0).integers(0, 40, (500, 5)))
    graph = multi_granularity_graph(ens, np.ones(ens.n_clusters), 0.5)
    dense = leading_spectrum(graph, 5)
    monkeypatch.setattr(transfer_cut, "DENSE_LINKED_NODES", 10)
    monkeypatch.setattr(block_lanczos, "largest_eigenpairs", lambda *_: None)
    assert np.array_equal(leading_spectrum(graph, 5).vectors, dense.vectors)


def test_the_criterion_is_the_gap_behind_each_eigenvalue(running_example):
    name, gaps = qt.GPMGLA(2).fit(running_example).solution_.cuts.criterion()
    assert (name, list(gaps)) == ("eigengap", [2, 3, 4, 5, 6])
    assert gaps[2] == pytest.approx(0.7670 - 0.1961, abs=1e-4)
    assert gaps[3] == pytest.approx(0.1961 - 0.0262, abs=1e-4)


def test_many_components_are_forecast():
    ens = Ensemble([np.arange(50)])
    graph = bipartite_graph(ens, np.ones(50))
    with qt.memory_limit(24 * 50 * 50 - 1), raises("memory"):
        graph.trivial  # noqa: B018


def test_embeddings_and_dense_eigenvectors_are_forecast():
    ens = Ensemble(np.random.default_rng(0).integers(0, 4, (60, 3)))
    cut = qt.HBGF(3).fit(ens).solution_.cuts
    needed = 24 * ens.n_patterns * 3
    with qt.memory_limit(needed):
        assert cut.embedding(3).shape == (ens.n_patterns, 3)
    with qt.memory_limit(needed - 1), raises("memory"):
        cut.embedding(3)
    with qt.memory_limit(32 * 12**2):
        assert len(leading_spectrum(cut.graph, 3).values) == 12
    with qt.memory_limit(32 * 12**2 - 1), raises("memory"):
        leading_spectrum(cut.graph, 3)


def test_the_heaviest_component_comes_first():
    blocks = np.repeat(np.arange(3), [3, 7, 5])
    graph = bipartite_graph(Ensemble([blocks]), np.ones(3))
    assert graph.trivial.T.tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_patterns_without_evidence_are_in_no_cluster():
    ens = Ensemble([[0, 0, 1, 1, None], [0, 0, 1, 2, None]])
    cut = TransferCut(ens, bipartite_graph(ens, np.ones(5)), row_links(ens, np.ones(5)))
    assert cut.cut(1)[ens.row_pattern].tolist() == [0, 0, 0, 0, -1]
    assert cut.cut(2)[ens.row_pattern].tolist() == [0, 0, 1, 1, -1]


def test_one_label_is_evidence():
    ens = Ensemble([[0, 0, 1, 1, None], [0, 0, 1, 2, 2]])
    cut = TransferCut(ens, bipartite_graph(ens, np.ones(5)), row_links(ens, np.ones(5)))
    assert cut.cut(2)[ens.row_pattern].tolist() == [1, 1, 0, 0, 0]


def test_long_work_warns_and_reports_progress(monkeypatch):
    """By a clock that goes ten seconds at each look, some thirty steps take minutes."""
    monkeypatch.setattr(transfer_cut, "DENSE_LINKED_NODES", 10)
    clock = itertools.count(0, 10)
    monkeypatch.setattr("quorate._runtime.time_limit.perf_counter", lambda: next(clock))
    labels = np.random.default_rng(0).integers(0, 60, (300, 4))
    heard = []
    with (
        warns("long-computation"),
        qt.progress(lambda what, share: heard.append((what, share))),
    ):
        qt.GPMGLA(3).fit(labels)
    shares = [share for what, share in heard if "eigenvectors" in what]
    assert len(shares) > 20
    assert shares == sorted(shares)
    assert 0.0 < shares[0] < shares[-1] <= 1.0


@pytest.mark.parametrize("n_clusters", [60, 150])
def test_small_dense_problems_use_one_blas_thread(monkeypatch, n_clusters):
    """BLAS threads slow down a dense solver of 554 nodes on two cores from 66 to more than 110 ms."""
    labels = np.random.default_rng(0).integers(0, n_clusters, (2000, 5))
    ens = Ensemble(labels)
    assert ens.n_clusters < transfer_cut.DENSE_NODES
    n_threads = []

    def counted(*arguments, **options):
        n_threads.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return eigh(*arguments, **options)

    monkeypatch.setattr(transfer_cut, "eigh", counted)
    with threadpool_limits(2, user_api="blas"):  # tests run with one thread
        assert 2 in {library["num_threads"] for library in threadpool_info()}
        leading_spectrum(bipartite_graph(ens, np.ones(ens.n_clusters)), 5)
    assert set(n_threads) == {1}


def test_linked_graphs_are_solved_by_iterations_from_fewer_nodes_on(monkeypatch):
    """Forming the matrix of a linked graph costs more than the iterations."""
    ens = Ensemble(np.random.default_rng(0).integers(0, 111, (2000, 5)))
    assert transfer_cut.DENSE_LINKED_NODES < ens.n_clusters < transfer_cut.DENSE_NODES
    graph = multi_granularity_graph(ens, np.ones(ens.n_clusters), 0.5)
    monkeypatch.setattr(transfer_cut, "eigh", None)
    assert len(leading_spectrum(graph, 5).values) == transfer_cut.EIGENVECTOR_BATCH
