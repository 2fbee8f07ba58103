"""Co-association of the ends of edges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
import quorate as qt
from support import raises


@given(labels=oracles.label_matrices(max_rows=14, min_members=2, max_members=4), data=st.data())
def test_edges_have_the_co_association_of_their_ends(labels, data):
    labels = labels.astype(float)
    labels[data.draw(st.integers(0, len(labels) - 1)), 0] = np.nan
    ens = qt.Ensemble(list(labels.T))
    row = st.integers(0, len(labels) - 1)
    edges = data.draw(st.lists(st.tuples(row, row), min_size=1, max_size=20))
    for weights in (None, np.arange(1.0, ens.n_members + 1)):
        matrix = qt.coassociation(ens, weights, rows=True)
        expected = [matrix[a, b] for a, b in edges]
        np.testing.assert_allclose(qt.edge_evidence(np.array(edges), ens, weights), expected, atol=1e-12)


def test_edges_equal_a_count_by_hand():
    random = np.random.default_rng(0)
    for _ in range(50):
        n_rows, n_members = random.integers(2, 30), random.integers(1, 8)
        labels = [random.choice(["a", "b", "c", None], n_rows) for _ in range(n_members)]
        for member in labels:
            member[0] = "a"
        weights = random.random(n_members) + 0.1
        edges = random.integers(0, n_rows, (40, 2))
        expected = []
        for i, j in edges:
            labeled = [sum(w for w, m in zip(weights, labels, strict=True) if m[row] is not None) for row in (i, j)]
            joined = sum(w for w, m in zip(weights, labels, strict=True) if m[i] is not None and m[i] == m[j])
            expected.append(joined / np.sqrt(labeled[0] * labeled[1]) if joined else 0.0)
        np.testing.assert_allclose(qt.edge_evidence(edges, qt.Ensemble(labels), weights), expected, atol=1e-12)


@pytest.mark.parametrize("edges", [[[0, 1, 2]], [[0.5, 1]], [[0, 3]], [[-1, 0]]])
def test_other_edges_are_refused(edges):
    with raises("edges", "edges"):
        qt.edge_evidence(edges, [[0, 0, 1], [0, 1, 1]])


def test_no_edges_have_no_evidence():
    assert len(qt.edge_evidence(np.empty((0, 2), dtype=int), [[0, 1]])) == 0


def test_coassociation_by_name_of_weights(running_example):
    ens = qt.Ensemble(running_example)
    assert np.array_equal(qt.coassociation(ens, "ncai"), qt.coassociation(ens, qt.member_weights(ens)))
    assert np.array_equal(qt.coassociation(ens, "equal"), qt.coassociation(ens))
