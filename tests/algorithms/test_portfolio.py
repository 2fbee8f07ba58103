"""The default: rare groups, near-copies and families, and how the answer is chosen."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_circles
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from sklearn.mixture import GaussianMixture

import quorate as qt
from quorate.algorithms.portfolio import PortfolioCuts
from quorate.algorithms.registry import AUTO
from quorate.cli import main
from quorate.numerics.mutual_information import agreement_with
from quorate.row_similarity import shared_rows
from test_member_families import redraw


def uneven(shares, n_rows, noise, random):
    """Return ten members, each right but for a share of rows, and the groups."""
    sizes = np.round(np.array(shares) * n_rows).astype(int)
    truth = np.repeat(np.arange(4), [n_rows - sizes[1:].sum(), *sizes[1:]])
    return [redraw(truth, noise, 4, random) for _ in range(10)], truth


@pytest.mark.parametrize("shares", [(0.96, 0.02, 0.01, 0.01), (0.99, 0.005, 0.003, 0.002), (0.9, 0.05, 0.03, 0.02)])
@pytest.mark.parametrize(("n_rows", "noise"), [(1500, 0.03), (1500, 0.1), (20_000, 0.05)])
def test_rare_groups_are_found(shares, n_rows, noise):
    members, truth = uneven(shares, n_rows, noise, np.random.default_rng(0))
    result = qt.consensus(members, 4)
    assert adjusted_rand_score(truth, result.labels) >= 0.98
    assert (result.margin >= 0).mean() > 0.99


@pytest.mark.parametrize("n_members", [5, 8, 12])
@pytest.mark.parametrize(("n_copies", "fidelity"), [(1, 0.99), (3, 0.95), (5, 1.0)])
@pytest.mark.parametrize("of_random", [False, True])
def test_copies_do_not_take_over(n_members, n_copies, fidelity, of_random):
    random = np.random.default_rng(1)
    truth = random.integers(5, size=1000)
    members = [redraw(truth, 0.2, 5, random) for _ in range(n_members)]
    if of_random:
        members.append(random.integers(5, size=1000))
    alone = adjusted_rand_score(truth, qt.consensus(members, 5).labels)
    copies = [redraw(members[-1], 1 - fidelity, 5, random) for _ in range(n_copies)]
    result = qt.consensus([*members, *copies], 5)
    assert adjusted_rand_score(truth, result.labels) >= alone - 0.02
    family = tuple(range(len(members) - 1, len(members) + n_copies))
    assert family in result.estimator.ensemble_trust_.copies
    if of_random:
        assert result.member_weights[list(family)].sum() < 0.1


def test_seven_copies_of_a_random_member_do_not_outvote_six_good_ones():
    random = np.random.default_rng(2)
    truth = random.integers(5, size=1000)
    good = [redraw(truth, 0.2, 5, random) for _ in range(6)]
    source = random.integers(5, size=1000)
    result = qt.consensus([*good, *(redraw(source, 0.01, 5, random) for _ in range(7))], 5)
    assert adjusted_rand_score(truth, result.labels) > 0.95
    assert result.member_weights[6:].sum() < 0.1


@pytest.mark.parametrize("weighted", [False, True])
def test_agreement_with_members_is_adjusted_mutual_information(weighted):
    random = np.random.default_rng(3)
    labels = random.integers(4, size=(80, 3))
    labels[random.random((80, 3)) < 0.1] = -1
    ens = qt.Ensemble(labels)
    consensus = random.integers(3, size=ens.n_patterns)
    if weighted:
        ens = qt.Ensemble(labels, row_weights=np.full(80, 1.0))
    found = agreement_with(ens, shared_rows(ens, consensus, 3), "arithmetic")
    rows = consensus[ens.row_pattern]
    expected = [adjusted_mutual_info_score(column[column >= 0], rows[column >= 0]) for column in labels.T]
    assert found == pytest.approx(expected, abs=1e-9)


def test_the_candidate_that_agrees_best_is_chosen():
    members, _ = uneven((0.96, 0.02, 0.01, 0.01), 1500, 0.05, np.random.default_rng(4))
    fitted = qt.Portfolio(4).fit(members)
    assert [candidate.method for candidate in fitted.candidates_] == ["lwgp", "mixture"]
    (chosen,) = [candidate for candidate in fitted.candidates_ if candidate.chosen]
    assert chosen.agreement >= max(candidate.agreement for candidate in fitted.candidates_) - 0.001
    assert chosen.method != "lwgp"
    labels = chosen.labels[fitted.ensemble_.row_pattern]
    by_hand = [adjusted_mutual_info_score(member, labels, average_method="geometric") for member in members]
    assert chosen.agreement == pytest.approx(np.sqrt(np.mean(np.square(by_hand))), abs=1e-9)
    assert "candidates_" not in vars(fitted)


def test_members_that_find_the_same_clusters_win_against_many_that_differ():
    """Two rings: three of ten members separate them and a fourth does in part; the others cut through them."""
    X, rings = make_circles(500, factor=0.5, noise=0.05, random_state=30)
    X /= X.std(axis=0)
    makers = [
        *(KMeans(k, n_init=10, random_state=0) for k in (2, 3, 4)),
        *(AgglomerativeClustering(2, linkage=link) for link in ("ward", "average", "single")),
        GaussianMixture(2, random_state=0),
        HDBSCAN(copy=True),
        DBSCAN(eps=0.19),
    ]
    members = [*(maker.fit_predict(X) for maker in makers), rings]
    assert sum(adjusted_rand_score(rings, member) > 0.99 for member in members) == 3
    assert adjusted_rand_score(rings, qt.consensus(members, 2).labels) == 1


def test_outvoted_rows_move_if_that_raises_the_agreement():
    random = np.random.default_rng(5)
    truth = random.integers(4, size=400)
    ens = qt.Ensemble([redraw(truth, 0.2, 4, random) for _ in range(9)])
    cuts = qt.Portfolio(4).solve(ens).cuts
    assert isinstance(cuts, PortfolioCuts)
    wrong = cuts.cut(4).copy()
    moved = random.choice(len(wrong), 20, replace=False)
    wrong[moved] = (wrong[moved] + 1) % 4
    mended = cuts._move_outvoted(wrong)
    assert cuts.agreement(mended) > cuts.agreement(wrong)
    assert adjusted_rand_score(mended, cuts.cut(4)) > adjusted_rand_score(wrong, cuts.cut(4))


def test_a_named_method_runs_alone():
    members, _ = uneven((0.96, 0.02, 0.01, 0.01), 500, 0.05, np.random.default_rng(6))
    assert np.array_equal(qt.consensus(members, 4, "lwgp").labels, qt.LWGP(4).fit_predict(members))
    assert qt.consensus(members, 4).method == "auto"


def test_results_name_the_default_as_the_option_does(tmp_path, capsys):
    members = [[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 1, 1]]
    result = qt.consensus(members, 2)
    report = qt.report(result, tmp_path / "report.html").read_text()
    np.savetxt(tmp_path / "members.csv", np.transpose(members), "%d", ",", header="a,b,c", comments="")
    assert main(["combine", str(tmp_path / "members.csv"), "-k", "2"]) == 0
    assert f"method={AUTO!r}" in repr(result)
    for shown, start in (
        (result._repr_html_(), "Consensus"),
        (report, "combined"),
        (capsys.readouterr().out, "clusters"),
    ):
        assert f"{start} by the default method ({AUTO})" in " ".join(shown.split())


def test_more_clusters_than_the_members_have_are_cut_by_the_tree():
    random = np.random.default_rng(7)
    ens = qt.Ensemble(random.integers(2, size=(60, 4)))
    fitted = qt.Portfolio(12).fit(ens)
    assert fitted.n_clusters_ == 12
    assert "lwgp" not in [candidate.method for candidate in fitted.candidates_]


def test_a_saved_default_comes_back(tmp_path):
    members, _ = uneven((0.9, 0.05, 0.03, 0.02), 500, 0.05, np.random.default_rng(8))
    fitted = qt.Portfolio(4).fit(members)
    fitted.save(tmp_path / "fitted.npz")
    loaded = qt.load(tmp_path / "fitted.npz")
    assert np.array_equal(loaded.labels_, fitted.labels_)
    assert [c.agreement for c in loaded.candidates_] == pytest.approx([c.agreement for c in fitted.candidates_])


def test_tiny_weights_are_accepted():
    ens = qt.Ensemble([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1], [0, 1, 0, 1, 0, 1]])
    cuts = qt.Portfolio()._solve(ens, np.array([1.0, 0.5, 8e-17]))
    assert cuts.cut(2)[ens.row_pattern].tolist() == [1, 1, 0, 0, 0, 0]
