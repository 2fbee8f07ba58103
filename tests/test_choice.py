"""The number of clusters: what is chosen, and what is said about it."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import quorate as qt
from quorate.choice import half_stability


@pytest.fixture(scope="module")
def blobs():
    points, _ = make_blobs(240, centers=[[0, 0], [8, 0], [0, 8], [8, 8]], random_state=0)
    ks = [4, 5, 6, 4, 7, 8, 3, 5]
    return qt.Ensemble([KMeans(k, n_init=1, random_state=j).fit_predict(points) for j, k in enumerate(ks)])


def test_blobs_are_counted_and_the_evidence_is_kept(blobs):
    choice = qt.choose_k(blobs)
    assert choice.n_clusters == choice.candidates[0].n_clusters == 4
    assert [candidate.n_clusters for candidate in choice.curve] == list(range(2, 2 + len(choice.curve)))
    assert len(choice.candidates) == 3
    assert choice.sentence.startswith("4 clusters: the eigenvalues of the graph fall by")
    eigenvalues = qt.GPMGLA(4).fit(blobs).eigenvalues_
    for candidate in choice.curve[:20]:
        k = candidate.n_clusters
        assert candidate.eigengap == pytest.approx(eigenvalues[k - 1] - eigenvalues[k], abs=1e-9)
        assert candidate.score == pytest.approx(candidate.eigengap * max(candidate.stability, 0.0))


def test_stability_is_the_rand_index_of_halves(blobs):
    expected = np.zeros(2)
    for split in range(4):
        order = np.random.default_rng(split).permutation(8)
        halves = [blobs.select(np.sort(half).tolist()) for half in (order[:4], order[4:])]
        for i, k in enumerate((3, 5)):
            expected[i] += adjusted_rand_score(*(qt.WEAC(k).fit(half).labels_ for half in halves)) / 4
    assert half_stability(blobs, np.array([3, 5])) == pytest.approx(expected)


def test_the_order_of_rows_does_not_matter(blobs):
    rows = np.random.default_rng(1).permutation(blobs.n_rows)
    turned = qt.Ensemble(blobs.patterns[blobs.row_pattern][rows])
    assert qt.choose_k(turned).n_clusters == qt.choose_k(blobs).n_clusters


def test_what_cannot_be_known_is_said(blobs):
    assert "Fewer than four members" in qt.choose_k(blobs.select([0, 1, 2])).sentence
    alone = qt.choose_k([[0, 0, 1, 1, 2, 2, 3]])
    assert (alone.n_clusters, alone.candidates) == (4, ())
    assert "A single member" in alone.sentence


@pytest.mark.parametrize("method", [qt.GPMGLA, qt.WEAC, qt.HBGF])
@pytest.mark.filterwarnings("ignore:The eigengap")
def test_a_single_member_keeps_its_clusters(method):
    assert method("auto").fit([[0, 0, 1, 1, 2, 2, 3]]).n_clusters_ == 4
