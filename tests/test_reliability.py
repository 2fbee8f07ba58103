import numpy as np
import polars as pl
import pytest
from hypothesis import given
from scipy.stats import chi2_contingency

import oracles
import quorate as qt
import support
from quorate.reliability import resolve_influence, trusted_influence
from support import raises


@pytest.mark.parametrize(
    ("normalize", "pairs", "ncai", "weights"),
    [
        ("sqrt", [0.529541, 0.479139, 0.761170], [0.7815, 1, 0.9610], [0.2410, 0.3946, 0.3644]),
        ("max", [0.420620, 0.459148, 0.579380], [0.8471, 0.9629, 1], [0.2713, 0.3506, 0.3781]),
    ],
)
def test_running_example(running_example, normalize, pairs, ncai, weights):
    assert qt.agreement(running_example, normalize)[np.triu_indices(3, 1)] == pytest.approx(pairs, abs=5e-7)
    assert qt.ncai(running_example, normalize) == pytest.approx(ncai, abs=5e-5)
    assert qt.member_weights(running_example, normalize=normalize) == pytest.approx(weights, abs=5e-5)


@given(oracles.label_matrices(missing=True))
def test_cai_counts_agreement_by_the_rows_tested(labels):
    members = list(labels.T)
    similarity = qt.agreement(members)
    n_rows, n_members = labels.shape
    expected = np.ones(1)
    if n_members > 1:
        common = (labels >= 0).T.astype(float) @ (labels >= 0) / n_rows
        expected = [
            sum(common[i, j] * similarity[i, j] for j in range(n_members) if j != i) / (n_members - 1)
            for i in range(n_members)
        ]
    assert qt.cai(members) == pytest.approx(expected)
    assert np.all((qt.ncai(members) >= 0) & (qt.ncai(members) <= 1))


def test_degenerate_members():
    two_groups, one_group, apart = [0, 0, 1, 1], [0, 0, 0, 0], [0, 1, 2, 3]
    assert qt.ncai([two_groups]).tolist() == [1.0]
    assert qt.ncai([two_groups, two_groups, two_groups]) == pytest.approx([1, 1, 1])
    assert qt.ncai([two_groups, two_groups, one_group]).tolist() == [1.0, 1.0, 0.0]
    assert qt.ncai([one_group, one_group]).tolist() == [1.0, 1.0]
    assert qt.ncai([two_groups, one_group]).tolist() == [1.0, 1.0]
    assert qt.ncai([apart, apart]) == pytest.approx([1, 1])
    assert qt.agreement([two_groups, one_group])[0, 1] == 0.0


def test_no_common_rows_count_nothing():
    labels = [[0, 1, None, None], [None, None, 0, 1], [0, 1, 0, 1]]
    assert qt.agreement(labels)[0, 1] == 0.0
    assert qt.ncai(labels) == pytest.approx([0.5, 0.5, 1.0])


def test_beta_zero_gives_equal_weights_even_to_a_useless_member():
    labels = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0]]
    assert qt.member_weights(labels, beta=0) == pytest.approx([1 / 3] * 3)
    assert qt.member_weights(labels, beta=2).tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("beta", [-1, np.nan, np.inf, "2", None, True])
def test_bad_beta_is_refused(running_example, beta):
    with raises("number", "beta"):
        qt.member_weights(running_example, beta=beta)


def test_members_of_one_cluster_or_of_rows_apart_show_nothing_beyond_chance():
    two_groups, one_group, apart = [0, 0, 1, 1], [0, 0, 0, 0], [0, 1, 2, 3]
    agreement = qt.agreement([two_groups, one_group, one_group, apart, apart], measure="ami")
    assert np.array_equal(agreement, np.eye(5))
    assert qt.trust([one_group, apart]).tolist() == [0.0, 0.0]
    assert qt.trust([two_groups]).tolist() == [1.0]


def good_and_junk(rng, n_rows, n_good):
    """Members that know three groups but for some rows, and as many that know nothing."""
    truth = rng.integers(0, 3, n_rows)
    good = [np.where(rng.random(n_rows) < 0.1, rng.integers(0, 3, n_rows), truth) for _ in range(n_good)]
    return truth, good, [rng.integers(0, rng.integers(2, n_rows // 3), n_rows) for _ in range(n_good)]


@pytest.mark.parametrize("seed", range(5))
def test_junk_is_not_trusted_however_many_clusters_it_has(seed):
    rng = np.random.default_rng(seed)
    truth, good, junk = good_and_junk(rng, 240, 4)
    member_trust = qt.ensemble_trust(good + junk)
    assert member_trust.verdict == "beyond chance"
    # Good members that agree on nearly all rows count as near-copies, so the random ones count more in the mean.
    assert member_trust.index[:4].min() > 0.12 > 0.05 > member_trust.index[4:].max()
    assert member_trust.among_agreeing[:4].min() > 0.5
    assert member_trust.agrees.tolist() == [True] * 4 + [False] * 4
    found = qt.consensus(good + junk, 3, weights="trust")
    assert found.member_weights[4:].tolist() == [0.0] * 4
    alone = qt.consensus(good, 3, weights="trust")
    assert qt.evaluate(found.labels, truth).ari >= qt.evaluate(alone.labels, truth).ari - 0.02


@pytest.mark.parametrize("seed", range(5))
def test_chance_alone_is_called_so(seed):
    rng = np.random.default_rng(100 + seed)
    labels = [rng.integers(0, rng.integers(2, 60), 200) for _ in range(12)]
    member_trust = qt.ensemble_trust(labels)
    assert member_trust.verdict == "no more than chance"
    assert member_trust.index.max() < 0.1
    with support.warns("no-agreement"):
        fitted = qt.HBGF(3, weights="trust").fit(labels)
    assert fitted.member_weights_ == pytest.approx([1 / 12] * 12)
    assert fitted.trust_ == pytest.approx(member_trust.index)


def test_with_large_clusters_chance_is_that_of_chi_squared():
    rng = np.random.default_rng(6)
    a, b, c = (rng.integers(0, k, 4000) for k in (4, 3, 5))
    b = np.where(rng.random(4000) < 0.03, a % 3, b)
    c = np.where(a == 0, -1, c)  # who says nothing of a whole cluster of the first
    p_values = qt.ensemble_trust([a, b, c]).p_values
    assert np.diagonal(p_values).tolist() == [1, 1, 1]
    for i, j, x, y in ((0, 1, a, b), (0, 2, a, c), (1, 2, b, c)):
        both = (x >= 0) & (y >= 0)
        table = np.zeros((5, 5))
        np.add.at(table, (x[both], y[both]), 1)
        table = table[table.any(axis=1)][:, table.any(axis=0)]
        expected = chi2_contingency(table, lambda_="log-likelihood", correction=False).pvalue
        assert p_values[i, j] == p_values[j, i] == pytest.approx(expected, rel=0.02)


def test_chance_is_left_behind_below_one_in_ten_thousand_over_all_pairs():
    rows = np.arange(100)
    half, strangers = rows // 50, [rows % 2, rows // 2 % 2, rows // 4 % 2]
    seen = []
    for n_others in range(20, 45):
        other = np.where(rows * 7 % 100 < n_others, 1 - half, half)
        for n_strangers, n_pairs in enumerate((1, 3, 6, 10)):
            member_trust = qt.ensemble_trust([half, other, *strangers[:n_strangers]])
            p_value = member_trust.p_values[0, 1]
            assert (
                (member_trust.verdict == "beyond chance") == bool(member_trust.agrees[0]) == (p_value < 1e-4 / n_pairs)
            )
            seen.append(p_value * n_pairs)
    assert any(7e-5 < p_value < 1e-4 for p_value in seen)
    assert any(1e-4 < p_value < 1.4e-4 for p_value in seen[1:])


def test_what_any_labels_would_share_with_names_of_rows_proves_nothing():
    member_trust = qt.ensemble_trust([[0, 0, 1, 1], [0, 1, 2, 3]])
    assert member_trust.p_values.min() > 0.1
    assert member_trust.verdict == "too few rows to tell"


def test_certainty_of_many_clusters_by_hand():
    rows = np.arange(10_000)
    pairs, shifted = rows // 2, (rows + 1) // 2  # each cluster of one is halved by the other, but for both ends
    expected = np.full(5000 + 5001, np.exp(-1 / (0.4 * 2)))
    expected[[5000, -1]] = 1
    assert qt.cluster_certainty([pairs, shifted]) == pytest.approx(expected)


def test_a_member_without_agreement_has_weight_zero_for_any_beta():
    _, good, junk = good_and_junk(np.random.default_rng(7), 240, 3)
    member_trust = qt.ensemble_trust(good + junk)
    assert trusted_influence(member_trust, 0.0)[3:].tolist() == [0, 0, 0]
    expected = member_trust.families.counts[:3] / member_trust.families.counts[:3].max()
    assert trusted_influence(member_trust, 0.0)[:3] == pytest.approx(expected)
    member_trust = qt.ensemble_trust(good)
    weight = (member_trust.index / member_trust.index.max()) ** 2 * member_trust.families.counts
    assert trusted_influence(member_trust, 2.0) == pytest.approx(weight / weight.max())
    alone = qt.ensemble_trust(good[:1])
    assert (alone.agrees.tolist(), alone.verdict) == ([True], "beyond chance")


def test_influence_is_named_or_given(running_example):
    ens = qt.Ensemble(running_example)
    index = qt.ncai(ens)
    assert resolve_influence(ens, "ncai", 2.0).tolist() == (index**2).tolist()
    assert resolve_influence(ens, "equal", 2.0).tolist() == [1.0] * 3
    assert resolve_influence(ens, [2, 4, 0], 2.0).tolist() == [0.5, 1.0, 0.0]
    for bad in ([1, -1, 2], [1, np.nan, 2], [1, np.inf, 2], [0, 0, 0]):
        with raises("member-weights", "weights"):
            resolve_influence(ens, bad, 2.0)


def test_few_rows_are_not_called_chance(running_example):
    member_trust = qt.ensemble_trust(running_example)
    assert member_trust.verdict == "too few rows to tell"
    index = member_trust.index / member_trust.index.max()
    assert qt.WEAC(2, weights="trust").fit(running_example).member_weights_ == pytest.approx(index**2 / sum(index**2))


def test_trust_does_not_sink_with_coverage():
    rng = np.random.default_rng(3)
    _, good, _ = good_and_junk(rng, 400, 4)
    part = good[0].astype(float)
    part[rng.random(400) < 0.85] = np.nan
    trust = qt.trust([part, *good[1:]])
    assert trust[0] > 0.9 * trust[1]
    index = qt.ncai([part, *good[1:]])  # which counts coverage as well
    assert index[0] < 0.5 * index[1]


def test_copies_are_named():
    rng = np.random.default_rng(4)
    _, good, _ = good_and_junk(rng, 300, 3)
    assert qt.ensemble_trust([good[0], good[1], good[0] + 5, good[2], good[1]]).copies == ((0, 2), (1, 4))


def test_equal_row_weights_change_nothing_beyond_chance():
    rng = np.random.default_rng(5)
    _, good, junk = good_and_junk(rng, 120, 2)
    plain, halves = qt.Ensemble(good + junk), qt.Ensemble(good + junk, row_weights=np.full(120, 0.5))
    assert qt.agreement(halves, measure="ami") == pytest.approx(qt.agreement(plain, measure="ami"), abs=1e-9)
    uneven = qt.Ensemble(good + junk, row_weights=rng.uniform(0.1, 2.0, 120))
    assert abs(qt.agreement(uneven, measure="ami")[0, 3]) < 0.1


def test_only_label_vectors_are_scored():
    with raises("label-vector", "labels"):
        qt.evaluate(qt.choose_k([[0, 0, 1, 1], [0, 0, 1, 1]]), [0, 0, 1, 1])
    for table in (np.zeros((3, 2), dtype=int), pl.DataFrame({"a": [0, 0, 1], "b": [0, 1, 1]})):
        with raises("label-vector", "labels"):
            qt.evaluate(table, [0, 0, 1])
        with raises("label-vector", "truth"):
            qt.evaluate([0, 0, 1], table)


def test_labels_and_classes_of_different_rows_are_not_scored():
    with raises("row-count"):
        qt.evaluate([1, 2, 3], [1, 2])


def words(members, weights=None):
    """Return the word and the reason of each member, by trust and weight."""
    ens = qt.Ensemble(members)
    member_trust = qt.ensemble_trust(ens)
    weights = qt.consensus(ens, 3).member_weights if weights is None else np.asarray(weights, dtype=float)
    return [(found.word, found.reason) for found in qt.member_reliability(ens, member_trust, weights)]


def test_members_of_weight_0_are_ignored_with_the_reason():
    _, good, junk = good_and_junk(np.random.default_rng(3), 300, 4)
    found = words(good + junk)
    assert found == [("reliable", "agrees")] * 4 + [("ignored", "no agreement")] * 4
    given = words(good, [0, 1, 1, 1])
    assert given == [("ignored", "weight 0")] + [("reliable", "agrees")] * 3
    constant, empty = np.zeros(300), np.full(300, -1)
    assert words([*good, constant, empty])[4:] == [("ignored", "one cluster"), ("ignored", "no labels")]


@pytest.mark.filterwarnings("ignore:No agreement")
def test_without_agreement_no_member_is_reliable():
    rng = np.random.default_rng(4)
    random = [rng.integers(0, 5, 200) for _ in range(6)]
    assert {word for word, _ in words(random)} <= {"unreliable", "ignored"}
    few = [[0, 0, 1, 1], [0, 1, 2, 3], [0, 1, 1, 0]]
    assert set(words(few)) == {("not tested", "too few rows")}
    assert words(few, [0, 1, 1])[0] == ("ignored", "too few rows")
    assert words([[0, 0, 1, 2]]) == [("reliable", "only member")]


def test_copies_of_a_random_member_are_not_reliable():
    rng = np.random.default_rng(5)
    truth = rng.integers(3, size=600)
    good = [np.where(rng.random(600) < 0.2, rng.integers(3, size=600), truth) for _ in range(6)]
    source = rng.integers(3, size=600)
    copies = [np.where(rng.random(600) < 0.01, rng.integers(3, size=600), source) for _ in range(7)]
    found = words(good + copies)
    assert {word for word, _ in found[:6]} <= {"reliable", "partly reliable"}
    assert {word for word, _ in found[6:]} == {"unreliable"}
    ens = qt.Ensemble(good + copies)
    first = qt.member_reliability(ens, qt.ensemble_trust(ens), np.ones(13))[6]
    assert first.copies == tuple(range(7, 13))
