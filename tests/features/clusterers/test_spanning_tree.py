import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import HDBSCAN, SpectralClustering
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from quorate.features.clusterers.spanning_tree import Genie, density_clusters, spanning_tree
from quorate.features.clusterers.spectral import cut_embedding, neighbor_graph, spectral_embedding


def genie_by_definition(edges, threshold, k):
    """Return the labels of k clusters, with the Gini index and the smallest cluster found anew at each merge."""
    n = len(edges) + 1
    labels, left = np.arange(n), list(range(n - 1))
    for _ in range(n - k):
        clusters, sizes = np.unique(labels, return_counts=True)
        gini = np.abs(sizes[:, None] - sizes).sum() / 2 / ((len(sizes) - 1) * n)
        smallest = clusters[sizes == sizes.min()]
        allowed = [edge for edge in left if gini <= threshold or np.isin(labels[edges[edge]], smallest).any()]
        left.remove(allowed[0])
        one, two = labels[edges[allowed[0]]]
        labels[labels == two] = one
    return labels


@pytest.mark.parametrize("n_columns", [1, 2, 5])
def test_the_tree_is_as_short_as_possible(n_columns):
    points = np.random.default_rng(n_columns).normal(size=(150, n_columns))
    tree = spanning_tree(points)
    assert tree.lengths.sum() == pytest.approx(minimum_spanning_tree(squareform(pdist(points))).sum())
    assert (np.diff(tree.lengths) >= 0).all()
    np.testing.assert_allclose(tree.lengths, np.linalg.norm(np.subtract(*points[tree.edges.T]), axis=1))


@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_genie_merges_as_defined(threshold, seed):
    random = np.random.default_rng(seed)
    points = random.normal(size=(int(random.integers(2, 90)), 2))
    points[: len(points) // 2] *= 0.1  # sizes become uneven
    tree = spanning_tree(points)
    genie = Genie.fit(tree, threshold)
    for k in {1, 2, min(5, len(points)), len(points)}:
        labels = genie.cut(k)
        assert labels.max() + 1 == len(np.unique(labels)) == k
        assert adjusted_rand_score(labels, genie_by_definition(tree.edges, threshold, k)) == 1


def test_a_threshold_of_one_is_single_linkage():
    points, truth = make_moons(300, noise=0.03, random_state=0)
    assert adjusted_rand_score(Genie.fit(spanning_tree(points), 1.0).cut(2), truth) == 1


@pytest.mark.parametrize("seed", range(3))
def test_density_clusters_are_those_of_hdbscan(seed):
    points = make_blobs(400, centers=5, random_state=seed, cluster_std=1.5)[0]
    core = NearestNeighbors(n_neighbors=10).fit(points).kneighbors(points)[0][:, -1]
    labels = density_clusters(spanning_tree(points, core), 12)
    expected = HDBSCAN(min_cluster_size=12, min_samples=10, copy=True).fit_predict(points)
    assert adjusted_rand_score(labels, expected) > 0.98  # of edges as long as a core distance any may be in the tree


def test_repeated_rows_have_density_clusters_too():
    points = np.repeat([[0.0, 0.0], [0.1, 0.0], [9.0, 9.0], [9.1, 9.0]], 30, axis=0)
    core = NearestNeighbors(n_neighbors=10).fit(points).kneighbors(points)[0][:, -1]
    labels = density_clusters(spanning_tree(points, core), 40)
    assert len(np.unique(labels[labels >= 0])) == 2


def neighbors_of(points):
    return NearestNeighbors(n_neighbors=10).fit(points).kneighbors(points, return_distance=False)


@pytest.mark.parametrize("n_rows", [150, 900])  # a dense and an iterative solver
def test_spectral_clusters_are_those_of_scikit_learn(n_rows):
    points, _ = make_blobs(n_rows, centers=4, random_state=3, cluster_std=2.0)
    vectors = spectral_embedding(neighbor_graph(neighbors_of(points), spanning_tree(points)), 12)
    expected = SpectralClustering(4, affinity="nearest_neighbors", assign_labels="cluster_qr", random_state=0)
    assert adjusted_rand_score(cut_embedding(vectors[:, :4]), expected.fit_predict(points)) > 0.97


def test_a_graph_in_pieces_is_cut_between_them():
    points, truth = make_blobs(600, centers=np.arange(6)[:, None] * [30.0, 0.0], random_state=0)
    vectors = spectral_embedding(neighbor_graph(neighbors_of(points), spanning_tree(points)), 10)
    assert adjusted_rand_score(cut_embedding(vectors[:, :6]), truth) == 1
    for k in (2, 3, 5):  # fewer clusters than pieces: no piece is cut
        labels = cut_embedding(vectors[:, :k])
        assert all(len(np.unique(labels[truth == piece])) == 1 for piece in range(6))
