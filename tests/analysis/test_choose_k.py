"""The number of clusters: what is chosen, and what is said about it."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import quorate as qt
from quorate.analysis import choose_k
from quorate.analysis.choose_k import split_in_halves, tree_stability


@pytest.fixture(scope="module")
def blobs():
    points, _ = make_blobs(240, centers=[[0, 0], [8, 0], [0, 8], [8, 8]], random_state=0)
    ks = [4, 5, 6, 4, 7, 8, 3, 5]
    return qt.Ensemble([KMeans(k, n_init=1, random_state=j).fit_predict(points) for j, k in enumerate(ks)])


def test_blobs_are_counted_and_the_evidence_is_kept(blobs):
    chosen = qt.choose_k(blobs)
    assert chosen.n_clusters == chosen.candidates[0].n_clusters == 4
    assert [candidate.n_clusters for candidate in chosen.curve] == list(range(2, 2 + len(chosen.curve)))
    assert len(chosen.candidates) == 3
    assert chosen.sentence.startswith("4 clusters (eigengap 0.")
    eigenvalues = qt.HBGF(4, weights="trust").fit(blobs).eigenvalues_
    for candidate in chosen.curve[:20]:
        k = candidate.n_clusters
        assert candidate.eigengap == pytest.approx(eigenvalues[k - 1] - eigenvalues[k], abs=1e-9)
        assert candidate.score == pytest.approx(candidate.eigengap * max(candidate.stability, 0.0))


def test_stability_is_the_rand_index_of_halves(blobs):
    expected, influence = np.zeros(2), qt.trust(blobs) ** 2
    splits = [[half.members for half in split] for split in split_in_halves(blobs).splits]
    assert len({tuple(first) for first, _ in splits}) == 4
    for halves in splits:
        assert sorted(np.concatenate(halves)) == list(range(8))
        for i, k in enumerate((4, 5)):
            answers = (qt.WEAC(k, weights=influence[half]).fit(blobs.select(half.tolist())).labels_ for half in halves)
            expected[i] += adjusted_rand_score(*answers) / 4
    assert tree_stability(split_in_halves(blobs), np.array([4, 5]), influence) == pytest.approx(expected)


def test_junk_does_not_choose():
    random = np.random.default_rng(0)
    classes = random.integers(4, size=400)
    good = [np.where(random.random(400) < 0.1, random.integers(4, size=400), classes) for _ in range(4)]
    junk = [random.integers(n_clusters, size=400) for n_clusters in (20, 60, 100, 180)]
    assert qt.choose_k([*good, *junk]).n_clusters == qt.choose_k(good).n_clusters == 4


def test_the_order_of_rows_does_not_matter(blobs):
    rows = np.random.default_rng(1).permutation(blobs.n_rows)
    turned = qt.Ensemble(blobs.patterns[blobs.row_pattern][rows])
    assert qt.choose_k(turned).n_clusters == qt.choose_k(blobs).n_clusters


def test_rounding_errors_do_not_choose_among_equal_scores():
    """Halfway between two numbers of 12 decimals, equal scores were rounded to different ones."""
    edge = 0.25 + 4.5e-12
    for error in (-1e-15, 0.0, 1e-15):
        assert list(choose_k._largest(np.array([0.1, edge, edge + error, 0.2]))) == [1, 2, 3]
    assert list(choose_k._largest(np.array([0.0, 1e-14]))) == [0, 1]


def test_unavailable_scores_are_not_shown(blobs):
    few = qt.choose_k(blobs.select([0, 1, 2]))
    assert "at least 4 members" in few.sentence
    assert few.sentence.startswith("4 clusters (eigengap 0.60).")
    alone = qt.choose_k([[0, 0, 1, 1, 2, 2, 3]])
    assert (alone.n_clusters, alone.candidates) == (4, ())
    assert alone.sentence.startswith("4 clusters, as in the only member")


@pytest.mark.parametrize("method", [qt.GPMGLA, qt.WEAC, qt.HBGF])
@pytest.mark.filterwarnings("ignore:The eigengap")
def test_a_single_member_keeps_its_clusters(method):
    assert method("auto").fit([[0, 0, 1, 1, 2, 2, 3]]).n_clusters_ == 4


def test_many_patterns_are_compared_on_a_sample_of_their_rows(monkeypatch):
    monkeypatch.setattr(choose_k, "MOST_ROWS", 60)
    random = np.random.default_rng(0)
    classes = np.repeat([0, 1, 2], 100)
    members = [np.where(random.random(300) < 0.2, random.integers(0, 3, 300), classes) for _ in range(8)]
    ens = qt.Ensemble(members)
    assert ens.n_patterns > 60
    sample = choose_k.sample_rows(ens)
    assert sample.n_rows == 60
    assert abs(sample.cluster_sizes / 60 - ens.cluster_sizes / 300).max() < 0.05
    found = qt.choose_k(ens)
    assert found.n_clusters == 3
    assert found.sentence.endswith("Stability was computed on 60 rows.")
    order = random.permutation(300)
    assert qt.choose_k([member[order] for member in members]).curve == found.curve
    assert qt.WEAC("auto").fit(ens).n_clusters_ == 3


@pytest.mark.parametrize("most_rows", [2000, 60])
def test_names_and_order_of_members_do_not_change_the_scores(monkeypatch, most_rows):
    """Halves by position changed the number in 9 % and the scores in 60 % of such ensembles."""
    monkeypatch.setattr(choose_k, "MOST_ROWS", most_rows)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n_rows, n_members = int(rng.integers(100, 300)), int(rng.integers(4, 8))
        classes, noise = rng.integers(0, 4, n_rows), rng.choice([0.05, 0.2, 0.4], n_members)
        labels = np.where(
            rng.random((n_rows, n_members)) < noise, rng.integers(-1, 5, (n_rows, n_members)), classes[:, None]
        )
        names = [np.append(rng.permutation(20) * 1.0, np.nan) for _ in range(n_members)]
        order, weights = rng.permutation(n_members), rng.random(n_rows) + 0.5
        columns = [np.where(column < 0, np.nan, column) for column in labels.T]
        changed = [names[j][labels[:, j]] for j in order]
        one, other = (qt.choose_k(qt.Ensemble(members, row_weights=weights)) for members in (columns, changed))
        assert one.n_clusters == other.n_clusters, seed
        scores = [[candidate.score for candidate in choice.curve] for choice in (one, other)]
        np.testing.assert_allclose(*scores, atol=1e-9, err_msg=str(seed))


def test_without_eigenvalues_the_halves_decide(blobs):
    found = choose_k.choose(blobs, None, np.ones(blobs.n_members))
    assert found.n_clusters == max(found.curve, key=lambda candidate: candidate.stability).n_clusters
    assert "eigengap" not in found.sentence
    assert all(np.isnan(candidate.eigengap) and candidate.score <= 1 for candidate in found.curve)


@pytest.mark.parametrize("method", [qt.GPMGLA, qt.WEAC, qt.LWEA, qt.KCC, qt.MCLA])
def test_every_method_takes_the_same_number(blobs, method):
    fitted = method("auto").fit(blobs)
    assert fitted.choice_ is qt.choose_k(blobs)
    assert fitted.n_clusters_ == fitted.choice_.n_clusters == 4
    assert method(3).fit(blobs).choice_ is fitted.choice_


def test_methods_that_find_their_own_number_say_so(blobs):
    for method in (qt.MedianPartition, qt.BestMember):
        fitted = method().fit(blobs)
        assert fitted.choice_.n_clusters == fitted.n_clusters_
        assert (fitted.choice_.candidates, fitted.choice_.curve) == ((), ())
        assert f"{fitted.n_clusters_} clusters" in fitted.choice_.sentence


def test_never_more_than_32():
    rows = np.arange(400)
    ens = qt.Ensemble([rows // 10, rows // 10, rows // 10, rows // 10])
    assert qt.WEAC("auto").fit(ens).n_clusters_ <= 32
    assert "by default" in qt.choose_k(ens).sentence


def test_close_choices_are_distinguished_from_clear_ones():
    def sentence(*scores):
        return choose_k._sentence(
            tuple(choose_k.Candidate(k, score, score, 1.0) for k, score in enumerate(scores, start=2))
        )

    assert sentence(0.5, 0.45, 0.41).endswith("The choice is close: consider 3 and 4 as well.")
    assert sentence(0.5, 0.25).endswith("Next: 3, with 50% of the score.")
    assert sentence(0.5, 0.01) == "2 clusters (eigengap 0.50, tree stability 1.00). No other number is close."
    assert sentence(0.0, 0.0).startswith("2 clusters by default")


def test_a_graph_that_does_not_fit_is_done_without(blobs, monkeypatch):
    def refuse(*_):
        raise qt.QuorateError("no memory", code="memory")

    monkeypatch.setattr(choose_k, "bipartite_graph", refuse)
    fitted = qt.WEAC("auto").fit(blobs.patterns[blobs.row_pattern])
    assert 2 <= fitted.n_clusters_ <= 32
    assert "eigengap" not in fitted.choice_.sentence


def test_members_whose_agreement_does_not_fit_count_the_same(blobs, monkeypatch):
    def refuse(*_):
        raise qt.QuorateError("no memory", code="memory")

    monkeypatch.setattr(choose_k, "ensemble_trust", refuse)
    chosen = qt.choose_k(blobs.patterns[blobs.row_pattern])
    eigenvalues = qt.HBGF(4).fit(blobs).eigenvalues_
    assert chosen.n_clusters == 4
    assert chosen.candidates[0].eigengap == pytest.approx(eigenvalues[3] - eigenvalues[4], abs=1e-9)


def test_members_without_influence_multiply_no_patterns(monkeypatch):
    random = np.random.default_rng(0)
    truth = random.integers(0, 4, 600)
    good = [np.where(random.random(600) < 0.05, random.integers(0, 4, 600), truth) for _ in range(8)]
    linked = []
    link = choose_k.link_coassociation
    monkeypatch.setattr(
        choose_k,
        "link_coassociation",
        lambda ens, *rest, **options: linked.append(ens.n_patterns) or link(ens, *rest, **options),
    )
    choice = qt.choose_k([*good, *random.integers(0, 6, (6, 600))])
    assert choice.n_clusters == 4
    assert linked
    assert max(linked) <= qt.Ensemble(good).n_patterns
