"""ECMC."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import oracles
import quorate as qt
from quorate.algorithms.ecmc import Block, _shrink_eigenvalues, complete_block, complete_similarity, link_completion
from quorate.ensemble import Ensemble
from quorate.numerics.linkage import LINKS
from support import warns


def _blocks(sizes):
    """(6, 6) blocks of ones of these sizes, 0 for one row that is nothing at all."""
    matrix, start = np.zeros((6, 6)), 0
    for size in sizes:
        matrix[start : start + size, start : start + size] = 1.0
        start += max(size, 1)
    return matrix


def test_matrix_completion_on_the_running_example(running_example):
    with warns("empty-completion"):
        found = qt.ECMC(n_clusters=2).fit(running_example).completion_
    assert found.observed == pytest.approx(22 / 36)
    assert found.lam == pytest.approx(0.522233, abs=5e-7)
    assert found.objective == pytest.approx(5.044466, abs=5e-7)
    ens = Ensemble(running_example)
    assert np.array_equal(found.similarity[np.ix_(ens.row_pattern, ens.row_pattern)], _blocks([2, 0, 0, 2]))
    with warns("empty-completion"):
        larger = qt.ECMC(n_clusters=2, lam=1.2).fit(running_example).completion_
    assert larger.objective == pytest.approx(6)
    assert np.array_equal(larger.similarity[np.ix_(ens.row_pattern, ens.row_pattern)], _blocks([2, 1, 1, 2]))


few = settings(max_examples=25)


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
def test_objective_of_a_completion_equals_that_over_all_rows(labels, lam):
    expected, lam_used = _completed_rows(labels, lam)
    assume(expected.converged)
    ens = Ensemble(list(labels.T))
    found = complete_similarity(ens, np.ones(ens.n_members), lam=lam, tolerance=1e-10, max_iterations=20_000)
    assert found.lam == pytest.approx(lam_used)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    matrix = found.similarity[np.ix_(ens.row_pattern, ens.row_pattern)]
    assert np.linalg.norm(matrix, "nuc") <= found.objective + 1e-6


@pytest.mark.parametrize("n_rows", [200, pytest.param(846, marks=pytest.mark.slow)])
def test_objective_of_a_completion_of_a_published_ensemble(published, n_rows):
    labels = published("ensembles", "lwea_VS")["labels"][:n_rows, :10].astype(int)
    expected, _ = _completed_rows(labels, tolerance=1e-9)
    found = complete_similarity(Ensemble(labels), np.ones(10), tolerance=1e-9, max_iterations=20_000)
    assert found.converged
    assert expected.converged
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)


def test_shrinking_few_eigenvalues_equals_shrinking_all():
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


def test_completion_without_convergence_warns(published):
    labels = published("ensembles", "weac_gpmgla_1")["labels"]
    with warns("no-convergence"):
        qt.ECMC(n_clusters=3, max_iterations=3, lam=0.2).fit(labels)


def test_a_completion_without_any_similarity_is_reported():
    """No two different rows are similar, so that all merges are at height 1 and the clusters are arbitrary."""
    random = np.random.default_rng(0)
    labels = random.integers(5, size=(30, 6))
    with warns("empty-completion"):
        fitted = qt.ECMC(3).fit(labels)
    assert fitted.dendrogram_.heights.min() == pytest.approx(1)
