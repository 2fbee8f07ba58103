"""ECPCS-MC."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import oracles
import quorate as qt
from baseline_oracles import quiet
from quorate.algorithms.partition import meta_votes


def clusters_and_votes(fitted, k):
    """Groups of clusters as sets of letters, and votes of the patterns."""
    cuts = fitted.solution_.cuts
    groups = cuts.cluster_cut.groups(k)
    letters = ["".join("abcdefg"[c] for c in np.flatnonzero(groups == g)) for g in range(k)]
    return letters, meta_votes(cuts.members_of, cuts.share_of_cluster, groups, k)


def test_meta_clusters_on_the_running_example(running_example):
    propagated, shared = (method(n_clusters=2).fit(running_example) for method in (qt.ECPCSMC, qt.MCLA))
    assert propagated.eigenvalues_[:2] == pytest.approx([0.9251, 0.2187], abs=5e-5)
    assert shared.eigenvalues_[:2] == pytest.approx([0.8053, 0.7334], abs=5e-5)
    for fitted in (propagated, shared):
        letters, votes = clusters_and_votes(fitted, 2)
        assert sorted(letters) == ["acdf", "beg"]
        assert votes[2] == pytest.approx([0.5, 0.3333], abs=5e-5)
        assert fitted.labels_.tolist() == [0, 0, 0, 0, 1, 1]
    letters, votes = clusters_and_votes(propagated, 3)
    assert letters == ["acdf", "e", "bg"]
    assert votes[2:].tolist() == [[0.5, 0, 0.5], [0, 1, 1]]
    assert propagated.sweep([3])[:, 0].tolist() == [0, 0, 0, 2, 1, 1]
    letters, votes = clusters_and_votes(shared, 3)
    assert letters == ["df", "beg", "ac"]
    assert votes[1] == pytest.approx([1, 0, 0.5])
    assert shared.sweep([3])[:, 0].tolist() == [0, 0, 1, 1, 2, 2]


def test_single_member_is_its_own_meta_clustering():
    labels = [[0, 0, 0, 1, 1, 2]]
    for method in (qt.ECPCSHC, qt.ECPCSMC, qt.MCLA):
        assert method(n_clusters=3).fit_predict(labels).tolist() == [0, 0, 0, 1, 1, 2]
        with quiet():
            assert method(n_clusters=2).fit(labels).n_clusters_ == 2


def compact(labels):
    """Labels as 0, 1, ... in their order."""
    return np.unique(labels, return_inverse=True)[1]


def assert_voted(ens, votes, labels, comparable=None):
    """The largest vote of each row is for its label, where one vote is larger than all others."""
    ordered = np.sort(votes, axis=1)
    clear = ((ordered[:, -1] - ordered[:, -2]) > 1e-12)[ens.row_pattern]
    clear &= True if comparable is None else comparable
    assert adjusted_rand_score(np.argmax(votes, axis=1)[ens.row_pattern][clear], labels[clear]) == 1


def test_meta_clusters_agree_with_the_authors_programs(authors_reference):
    ens, answers = authors_reference
    cuts = qt.ECPCSMC(n_clusters=2).fit(ens).solution_.cuts
    for j, k in enumerate(answers["ks"]):
        if answers["ecpcs_mc_tiefree"][j]:
            assert adjusted_rand_score(cuts.cluster_cut.groups(k), answers["ecpcs_mc_meta"][:, j]) == 1
        votes = meta_votes(ens.incidence, np.ones(ens.n_clusters), compact(answers["ecpcs_mc_meta"][:, j]), k)
        assert_voted(ens, votes, answers["ecpcs_mc_labels"][:, j])
        votes = meta_votes(ens.incidence, np.ones(ens.n_clusters), compact(answers["mcla_metis_meta"][:, j]), k)
        assert votes[ens.row_pattern[:20]] == pytest.approx(answers[f"mcla_vote_rows0_20_k{k}"], abs=1e-9)
        assert_voted(ens, votes, answers["mcla_metis_labels"][:, j], answers["mcla_metis_labels_tiefree"][:, j])


def test_names_do_not_place_a_cluster_that_both_members_share():
    # Nothing else overlaps with the shared cluster, so the eigenvectors of the cut have only rounding errors there.
    for seed in range(20):
        rng = np.random.default_rng(seed)
        first = rng.integers(0, 4, 28)
        second = np.where(rng.random(28) < 0.5, first, rng.integers(0, 4, 28))
        labels, row_weights = np.stack([first, second], axis=1), rng.random(28) + 0.5
        labels[:3] = 9
        renamed = np.stack([rng.permutation(20)[column] for column in labels.T], axis=1)
        tables = (qt.Ensemble(table, row_weights=row_weights) for table in (labels, renamed))
        one, other = (qt.ECPCSMC(n_clusters=2).fit_predict(table) for table in tables)
        assert oracles.partition(one) == oracles.partition(other)
