"""Labels smoothed by neighbors: firm rows stay, uncertain rows follow, and nothing else changes."""

import numpy as np
import pytest
import scipy.sparse as sp

import quorate as qt
from support import raises


@pytest.fixture(scope="module")
def domains():
    """Coordinates, their domains, and a noisy consensus."""
    rng = np.random.default_rng(0)
    xy = np.stack(np.meshgrid(np.arange(30), np.arange(30)), axis=-1).reshape(-1, 2)
    domain = (xy[:, 0] > 14) + 2 * (xy[:, 1] > 19)
    members = [np.where(rng.random(900) < 0.45, rng.integers(4, size=900), domain) for _ in range(6)]
    return xy, domain, qt.consensus(members, 4)


def by_loop(result, graph, weight):
    """The vote as the documentation describes it, row by row."""
    labels = []
    for row, own in enumerate(result.labels):
        votes = np.zeros(result.n_clusters)
        total = sum(value for other, value in enumerate(graph[row]) if other != row)
        for other, value in enumerate(graph[row]):
            if other != row and value > 0:
                votes[result.labels[other]] += weight * value / total * result.confidence[other]
        votes[own] += (1 - weight) * result.confidence[row]
        labels.append(own if votes[own] >= votes.max() - 1e-12 else int(votes.argmax()))
    return labels


def test_smoothing_helps_where_domains_are_connected(domains):
    xy, domain, result = domains
    before = qt.evaluate(result.labels, domain).ari
    assert qt.evaluate(qt.smooth_labels(result, xy, n_neighbors=8), domain).ari > before + 0.03


def test_the_vote_is_the_one_described():
    rng = np.random.default_rng(1)
    result = qt.consensus([rng.integers(3, size=40) for _ in range(4)], 3)
    graph = rng.random((40, 40)) * (rng.random((40, 40)) < 0.2)
    for weight in (0.0, 0.3, 0.7, 1.0):
        smoothed = qt.smooth_labels(result, sp.csr_matrix(graph), weight=weight)
        assert smoothed.tolist() == by_loop(result, graph, weight)
    assert qt.smooth_labels(result, sp.csr_matrix(graph), weight=0.0).tolist() == result.labels.tolist()
    assert qt.smooth_labels(result, sp.csr_matrix((40, 40)), weight=0.9).tolist() == result.labels.tolist()


def test_coordinates_and_their_graph_give_the_same(domains):
    from sklearn.neighbors import kneighbors_graph

    xy, _, result = domains
    graph = kneighbors_graph(xy, 6)
    assert qt.smooth_labels(result, graph).tolist() == qt.smooth_labels(result, xy).tolist()


@pytest.mark.filterwarnings("ignore:1 row has no label")
def test_ids_are_kept_and_rows_without_a_label_stay_without():
    labels = [[0, 0, 0, 1, 1, 1, None], [0, 0, 1, 1, 1, 1, None]]
    line = [[0], [1], [2], [3], [4], [5], [6]]
    result = qt.consensus(labels, 2, like=[7, 7, 7, 4, 4, 4, 4])
    smoothed = qt.smooth_labels(result, line, n_neighbors=2)
    assert smoothed[-1] == -1
    assert set(smoothed[:-1].tolist()) == {4, 7}


def test_wrong_neighbors_are_refused(domains):
    xy, _, result = domains
    for neighbors, code in ((xy[:5], "length"), (sp.eye_array(5), "length"), (xy * np.nan, "not-finite"),
                            (-sp.eye_array(900), "not-finite"), ([["a"]] * 900, "not-numeric")):  # fmt: skip
        with raises(code, "neighbors"):
            qt.smooth_labels(result, neighbors)
    with raises("number", "weight"):
        qt.smooth_labels(result, xy, weight=2)
    with raises("integer", "n_neighbors"):
        qt.smooth_labels(result, xy, n_neighbors=0)


def test_labels_instead_of_a_result_are_refused():
    with raises("not-a-result", "result"):
        qt.smooth_labels(np.array([0, 1]), [[0], [1]])
