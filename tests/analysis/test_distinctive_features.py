"""Features that distinguish clusters, and clusters that a single feature separates."""

import numpy as np
import pandas as pd
import pytest

import quorate as qt
from quorate.analysis.distinctive_features import distinctive_features
from quorate.cli import main

NAMES = ("age", "visits", "member")


def customers(n_rows=600, seed=3):
    """Three groups by age and visits; a yes/no column cuts two of them in half, and all rows of the third have 1."""
    random = np.random.default_rng(seed)
    group = random.integers(3, size=n_rows)
    age, visits = random.normal([25, 45, 60], 3, (n_rows, 3)), random.normal([2, 9, 4], 1, (n_rows, 3))
    rows = np.arange(n_rows)
    member = np.where(group == 2, 1, random.integers(2, size=n_rows))
    labels = np.where(group == 2, 4, 2 * group + member)  # five clusters
    return np.column_stack([age[rows, group], visits[rows, group], member]).astype(float), labels


def test_differences_are_those_of_means_and_deviations():
    values, labels = customers()
    found = distinctive_features(values, NAMES, labels, 5)
    for c, described in enumerate(found.clusters):
        inside, outside = values[labels == c].mean(axis=0), values[labels != c].mean(axis=0)
        expected = (inside - outside) / values.std(axis=0)
        assert [one.difference for one in described] == pytest.approx(sorted(expected, key=abs, reverse=True), abs=1e-4)
        for one in described:
            assert (one.inside, one.outside) == pytest.approx((inside[one.position], outside[one.position]), rel=1e-5)
            assert one.values == ((0.0, 1.0) if one.name == "member" else None)


def test_clusters_that_a_yes_no_column_cuts_are_named():
    values, labels = customers()
    splits = distinctive_features(values, NAMES, labels, 5).splits
    assert [(split.clusters, split.name, split.means) for split in splits] == [
        ((0, 1), "member", (0.0, 1.0)),
        ((2, 3), "member", (0.0, 1.0)),
    ]
    assert all(split.share > 0.99 for split in splits)
    assert splits[0].sentence == "Clusters 0 and 1 differ almost only in column 'member' (share of 1: 0% and 100%)."
    assert splits[0].sentence_about([7, 3, 0, 1, 2]).startswith("Clusters 7 and 3 ")


def test_columns_are_not_left_out_if_there_are_no_others():
    rows = np.repeat(np.arange(4), 50)
    described = distinctive_features(np.column_stack([rows // 2, rows % 2]).astype(float), ("a", "b"), rows, 4)
    assert {split.name for split in described.splits} == {"a", "b"}
    assert described.sentences == [split.sentence for split in described.splits]


def test_a_column_of_numbers_is_shown_by_its_means():
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1], 200)
    values = random.normal(size=(400, 4))
    values[:, 2] += 6 * labels
    (split,) = distinctive_features(values, tuple("abcd"), labels, 2).splits
    assert (split.clusters, split.name, split.values) == ((0, 1), "c", None)
    assert split.difference == pytest.approx(abs(np.diff(split.means)[0]) / values[:, 2].std(), rel=1e-4)
    assert f"{split.means[1]:.4g}" in split.sentence


def test_of_two_columns_only_one_with_two_values_is_named():
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1], 200)
    beside = random.normal(size=(400, 2)) + np.outer(labels, [6, 0])
    assert distinctive_features(beside, ("a", "b"), labels, 2).splits == ()
    with_flag = np.column_stack([labels, beside[:, 1]])
    assert [split.name for split in distinctive_features(with_flag, ("a", "b"), labels, 2).splits] == ["a"]


def test_clusters_that_differ_in_several_columns_or_little_are_not_named():
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1], 200)
    values = random.normal(size=(400, 4))
    assert distinctive_features(values, tuple("abcd"), labels, 2).splits == ()  # no difference
    values[:, :2] += 5 * labels[:, None]
    assert distinctive_features(values, tuple("abcd"), labels, 2).splits == ()  # two columns
    assert distinctive_features(values[:, :1], ("a",), labels, 2).splits == ()  # there is no other column


def test_noise_of_many_columns_does_not_hide_the_one_that_separates():
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1], 100)
    values = np.column_stack([random.normal(size=(200, 60)), labels])
    (split,) = distinctive_features(values, [f"x{j}" for j in range(61)], labels, 2).splits
    assert split.name == "x60"


def test_weights_are_repeated_rows_and_missing_values_do_not_count():
    values, labels = customers(200)
    values[::7, 0] = np.nan
    labels[:5] = -1
    counts = np.resize([1, 2, 3], 200)
    weighted = distinctive_features(values, NAMES, labels, 5, counts.astype(float))
    repeated = distinctive_features(np.repeat(values, counts, axis=0), NAMES, np.repeat(labels, counts), 5)
    assert [[one.text for one in c] for c in weighted.clusters] == [[one.text for one in c] for c in repeated.clusters]
    ages = [one for c in range(5) for one in weighted.clusters[c] if one.name == "age"]
    inside = np.nanmean(np.repeat(values, counts, axis=0)[np.repeat(labels, counts) == 0, 0])
    assert ages[0].inside == pytest.approx(inside, rel=1e-5)


def test_one_cluster_and_constant_columns():
    values = np.column_stack([np.arange(6.0), np.ones(6), np.full(6, np.nan)])
    assert distinctive_features(values, NAMES, np.zeros(6, dtype=int), 1).clusters == ((),)
    described = distinctive_features(values, NAMES, np.repeat([0, 1], 3), 2).clusters[0]
    assert {one.name: one.difference for one in described if one.position} == {"visits": 0.0, "member": 0.0}


def test_estimator_and_command_name_the_column(tmp_path, capsys):
    frame = pd.DataFrame(customers()[0], columns=NAMES).astype({"member": int})
    fitted = qt.ConsensusClustering(5).fit(frame)
    splits = fitted.distinctive_features_.splits
    assert {split.name for split in splits} == {"member"}
    assert len(splits) == 2
    frame.to_csv(tmp_path / "customers.csv", index=False)
    assert main(["cluster", str(tmp_path / "customers.csv"), "-k", "5"]) == 0
    printed = capsys.readouterr().out
    for split in splits:
        assert split.sentence in printed
    advice = "To cluster without column 'member',"
    assert f"{splits[0].sentence} {advice} drop it from X." == fitted.distinctive_features_.sentences[0]
    assert " ".join(printed.split()).count(f"{advice} use --features age,visits.") == 1
    assert "member = 1:" in printed
