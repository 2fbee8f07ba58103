"""Comparison of two partitions, and cluster ids that persist."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

import quorate as qt
from quorate.algorithms import answer
from support import raises

partitions = st.integers(1, 60).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(0, 5), min_size=n, max_size=n) for _ in range(2)))
)


def jaccard(old, new, a, b):
    old, new = np.asarray(old) == a, np.asarray(new) == b
    return (old & new).sum() / (old | new).sum()


@given(partitions)
def test_matches_are_the_entries_of_the_contingency_table(pair):
    old, new = pair
    matches = qt.match(old, new)
    assert {(m.first, m.second): m.n_shared for m in matches} == {
        (a, b): sum(x == a and y == b for x, y in zip(old, new, strict=True))
        for a, b in set(zip(old, new, strict=True))
    }
    for m in matches:
        assert m.jaccard == pytest.approx(jaccard(old, new, m.first, m.second))
        assert m.first_share == pytest.approx(m.n_shared / old.count(m.first))
        assert m.second_share == pytest.approx(m.n_shared / new.count(m.second))


@given(partitions)
def test_ids_persist_wherever_the_jaccard_coefficient_exceeds_one_half(pair):
    old, new = pair
    renamed = qt.relabel(new, like=old)
    assert len(set(zip(new, renamed.tolist(), strict=True))) == len(set(new)) == len(set(renamed.tolist()))
    for a in set(old):
        for b in set(new):
            ids = {r for r, y in zip(renamed.tolist(), new, strict=True) if y == b}
            assert (ids == {a}) == (jaccard(old, new, a, b) > 0.5)


@given(partitions)
def test_a_comparison_accounts_for_every_cluster_and_row(pair):
    old, new = pair
    change = qt.compare(old, new)
    kept = {(m.first, m.second) for m in change.kept}
    moved = [i for i, labels in enumerate(zip(old, new, strict=True)) if labels not in kept]
    assert change.moved.tolist() == moved
    assert change.share_moved == pytest.approx(len(moved) / len(old))
    assert change.ari == pytest.approx(adjusted_rand_score(old, new))
    in_mergers = {a for group in change.merged.values() for a in group}
    in_splits = {b for group in change.split.values() for b in group}
    assert {a for a, _ in kept} | set(change.split) | in_mergers | set(change.gone) == set(old)
    assert {b for _, b in kept} | set(change.merged) | in_splits | set(change.new) == set(new)


def test_split_merger_new_and_gone_clusters_by_hand():
    old = [0] * 10 + [1] * 4 + [2] * 4 + [3] * 3
    new = [0] * 6 + [1] * 4 + [2] * 8 + [3, 4, 5]
    change = qt.compare(old, new)
    assert change.split[0] == (0, 1)
    assert change.merged == {2: (1, 2)}
    assert [(m.first, m.second) for m in change.kept] == [(0, 0)]
    assert change.split[3] == (3, 4, 5)
    assert "Cluster 0 split into 0 and 1." in change.sentence
    assert "Clusters 1 and 2 merged into 2." in change.sentence


def test_rows_are_joined_by_id():
    old, new = np.repeat([0, 1], 5), np.repeat([4, 3], 5)
    ids = np.array([f"row {i}" for i in range(10)])
    order = np.array([9, 0, 3, 2, 1, 8, 7])
    change = qt.compare(old, [*new[order], 3], old_ids=ids, new_ids=[*ids[order], "a new row"])
    assert (change.n_rows, change.n_added, change.n_removed) == (7, 1, 3)
    assert {(m.first, m.second) for m in change.kept} == {(0, 4), (1, 3)}
    assert len(change.moved) == 0
    moved = qt.compare(old, [*new[order][:-1], 4, 3], old_ids=ids, new_ids=[*ids[order], "a new row"])
    assert moved.moved.tolist() == [6]


def test_text_labels_results_and_missing_labels():
    labels = np.array(["a", "a", None, "b"], dtype=object)
    assert [(m.first, m.second) for m in qt.match(labels, [1, 1, 1, 2])] == [("a", 1), ("b", 2)]
    members = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]
    assert qt.compare(qt.consensus(members, 2), qt.EAC(2).fit(members)).ari == 1.0


def test_rows_without_cluster_stay_without():
    assert qt.relabel([-1, 0, 0, 1], like=[3, 3, 3, -1]).tolist() == [-1, 3, 3, 4]


def test_files_and_frames_are_compared_by_id(tmp_path):
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_text("id,consensus\na,0\nb,0\nc,1\nd,1\n")
    new.write_text("id,consensus\nb,5\na,5\nc,2\ne,2\n")
    of_files = qt.compare(old, str(new))
    of_frames = qt.compare(pd.read_csv(old), pl.read_csv(new), id="id")
    for change in (of_files, of_frames):
        assert (change.n_rows, change.n_added, change.n_removed) == (3, 1, 1)
        assert [(m.first, m.second) for m in change.kept] == [(0, 5), (1, 2)]
    with raises("no-partition"):
        qt.compare(old, new, label="segment")
    new.write_text("consensus\n5\n")
    with raises("no-id"):
        qt.compare(old, new)


@given(partitions, st.randoms(use_true_random=False))
def test_ids_persist_by_row_ids(pair, random):
    old, new = pair
    order = random.sample(range(len(new)), k=random.randint(1, len(new)))
    renamed = qt.relabel([new[i] for i in order], like=old, ids=order, like_ids=range(len(old)))
    same_rows = qt.relabel([new[i] for i in order], like=[old[i] for i in order])
    # New ids start above all earlier ones, also above those of rows that went away.
    is_old = np.isin(same_rows, [old[i] for i in order])
    np.testing.assert_array_equal(np.where(renamed <= max(old), renamed, -1), np.where(is_old, same_rows, -1))


def test_bad_input_is_refused():
    with raises("row-count"):
        qt.compare([0, 1], [0, 1, 2])
    with raises("row-count", "like"):
        qt.relabel([0, 1], like=[0, 1, 2])
    with raises("integer-labels", "like"):
        qt.relabel([0, 1], like=["a", "b"])
    with raises("repeated-ids", "new_ids"):
        qt.compare([0, 1], [0, 1], old_ids=[1, 2], new_ids=[3, 3])
    with raises("one-sided-ids"):
        qt.compare([0, 1], [0, 1], new_ids=[1, 2])
    with raises("one-sided-ids", "like_ids"):
        qt.relabel([0, 1], [0, 1], ids=[1, 2])
    with raises("no-common-rows"):
        qt.compare([0, 1], [0, 1], old_ids=[1, 2], new_ids=[3, 4])
    with raises("row-count", "old_ids"):
        qt.compare([0, 1], [0, 1], old_ids=[1], new_ids=[1, 2])
    with raises("no-common-rows"):
        qt.compare([None, 1], [1, None])


def test_a_consensus_can_keep_the_ids_of_an_earlier_one():
    members = [[0, 0, 0, 1, 1, 2], [0, 0, 0, 1, 1, 2], [0, 0, 0, 1, 1, 1]]
    result = qt.consensus(members, 3, like=[7, 7, 7, 3, 3, 3])
    assert result.labels.tolist() == [7, 7, 7, 3, 3, 8]
    assert result.ids.tolist() == [7, 3, 8]
    assert result.predict([[0, 2], [0, 2], [0, 1]]).tolist() == [7, 8]
    with raises("row-count", "like"):
        qt.consensus(members, 3, like=[0, 1])


def test_labels_do_not_describe_clusters(monkeypatch):
    """The description of millions of clusters takes far more time and memory than their labels."""
    monkeypatch.setattr(answer, "describe_clusters", None)
    members = [[0, 0, 0, 1, 1, 2], [0, 0, 0, 1, 1, 2], [0, 0, 0, 1, 1, 1]]
    assert qt.consensus(members, method="majority").labels.tolist() == [0, 0, 0, 1, 1, 2]
    assert qt.consensus(members, 3, like=[7, 7, 7, 3, 3, 3]).labels.tolist() == [7, 7, 7, 3, 3, 8]


def test_a_consensus_can_abstain_on_uncertain_rows():
    random = np.random.default_rng(0)
    classes = np.repeat([0, 1, 2], 50)
    members = [np.where(random.random(150) < 0.15, random.integers(0, 3, 150), classes) for _ in range(8)]
    whole, partial = qt.consensus(members, 3), qt.consensus(members, 3, abstain=0.8)
    np.testing.assert_array_equal(partial.labels, np.where(whole.confidence >= 0.8, whole.labels, -1))
    assert 0 < np.sum(partial.labels < 0) < 150
    with raises("number", "abstain"):
        qt.consensus(members, 3, abstain=2)
