"""Ensembles that grow: more rows, more members, saved and loaded."""

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quorate as qt
from support import raises

MEMBERS = ("numbers", "text", "noisy")


def drawn(n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    text = np.array(["b", "a", "ä", None], dtype=object)[rng.integers(0, 4, n_rows)]
    return [rng.integers(0, 3, n_rows), text, rng.integers(-2, 3, n_rows)]


def assert_same(one, other, rows=True):
    assert one.names == other.names
    assert (one.n_rows, one.noise) == (other.n_rows, other.noise)
    np.testing.assert_array_equal(one.patterns, other.patterns)
    np.testing.assert_array_equal(one.row_counts, other.row_counts)
    np.testing.assert_allclose(one.counts, other.counts, rtol=1e-7)  # weights without a unit have 24 bits
    assert [levels.tolist() for levels in one.levels] == [levels.tolist() for levels in other.levels]
    if rows:
        np.testing.assert_array_equal(one.row_pattern, other.row_pattern)
        np.testing.assert_array_equal(one.first_row, other.first_row)


def part(labels, rows, **options):
    return qt.Ensemble([vector[rows] for vector in labels], names=MEMBERS, **options)


@pytest.mark.parametrize("noise", ["missing", "cluster", "singletons"])
@given(cut=st.integers(1, 399))
def test_merging_parts_gives_the_whole(noise, cut):
    labels = drawn()
    whole = part(labels, slice(None), noise=noise)
    merged = part(labels, slice(cut), noise=noise).merge(part(labels, slice(cut, None), noise=noise))
    # Which of several equal rows of noise comes first is a matter of their order in the parts.
    assert_same(merged, whole, rows=noise != "singletons")


def test_merged_ensembles_know_their_rows():
    labels = drawn()
    merged = part(labels, slice(100)).merge(part(labels, slice(100, None)))
    assert qt.WEAC(3).fit_predict(merged).tolist() == qt.WEAC(3).fit_predict(part(labels, slice(None))).tolist()


def test_merging_reorders_members_by_name():
    labels = drawn()
    other = part(labels, slice(100, None)).select(["noisy", "numbers", "text"])
    assert_same(part(labels, slice(100)).merge(other), part(labels, slice(None)))


def test_merging_keeps_weights():
    labels, weights = drawn(), np.random.default_rng(1).random(400) + 0.1
    whole = part(labels, slice(None), row_weights=weights)
    merged = part(labels, slice(100), row_weights=weights[:100]).merge(
        part(labels, slice(100, None), row_weights=weights[100:])
    )
    assert_same(merged, whole)


def test_what_cannot_be_merged_is_refused():
    labels = drawn()
    ens = part(labels, slice(None))
    with raises("different-members", parameter="other"):
        ens.merge(qt.Ensemble(labels, names=["numbers", "text", "other"]))
    with raises("different-noise", parameter="other"):
        ens.merge(part(labels, slice(None), noise="cluster"))
    with raises("mixed-labels"):
        ens.merge(qt.Ensemble([labels[1], labels[1], labels[2]], names=MEMBERS))
    with raises("not-an-ensemble", parameter="other"):
        ens.merge(labels)


def test_a_member_that_says_nothing_merges_with_any():
    silent = qt.Ensemble([[1, 2], [None, None]], names=["a", "b"])
    spoken = qt.Ensemble([[1, 3], ["x", "y"]], names=["a", "b"])
    assert_same(silent.merge(spoken), qt.Ensemble([[1, 2, 1, 3], [None, None, "x", "y"]], names=["a", "b"]))


@pytest.mark.parametrize("noise", ["missing", "cluster", "singletons"])
def test_adding_members_gives_the_whole(noise):
    labels = drawn()
    grown = qt.Ensemble(labels[:1], names=MEMBERS[:1], noise=noise).add_members(labels[1:], names=MEMBERS[1:])
    assert_same(grown, part(labels, slice(None), noise=noise), rows=noise != "singletons")


def test_added_members_count_on_and_take_names_of_frames():
    import pandas as pd

    ens = qt.Ensemble([[1, 1, 2], [1, 2, 2]])
    assert ens.add_members([[1, 2, 3]]).names == ("member_0", "member_1", "member_2")
    assert ens.add_members(pd.DataFrame({"new": [1, 2, 3]})).names == ("member_0", "member_1", "new")
    with raises("row-count", parameter="labels"):
        ens.add_members([[1, 2]])
    with raises("repeated-name", parameter="names"):
        ens.add_members([[1, 2, 3]], names=["member_0"])
    with raises("weighted-ensemble"):
        qt.Ensemble([[1, 1, 2]], row_weights=[1, 2, 3]).add_members([[1, 2, 3]])


@pytest.mark.parametrize("noise", ["missing", "cluster", "singletons"])
def test_a_loaded_ensemble_is_the_saved_one_without_rows(tmp_path, noise):
    ens = part(drawn(), slice(None), noise=noise)
    qt.save(ens, tmp_path / "saved")
    loaded = qt.load(tmp_path / "saved")
    assert_same(loaded, ens, rows=False)
    assert not loaded.has_rows
    with raises("patterns-only"):
        loaded.add_members([[1] * 400])
    np.testing.assert_array_equal(qt.WEAC(3).fit(loaded).pattern_labels_, qt.WEAC(3).fit(ens).pattern_labels_)


def test_a_nightly_job_adds_the_days_rows(tmp_path):
    labels = drawn(900)
    qt.save(part(labels, slice(300)), tmp_path)
    for start in (300, 600):
        today = part(labels, slice(start, start + 300))
        qt.save(qt.load(tmp_path).merge(today), tmp_path)
    assert_same(qt.load(tmp_path), part(labels, slice(None)), rows=False)
    assert [file.name for file in tmp_path.iterdir()] == ["patterns.parquet"]


def test_the_saved_file_is_as_documented(tmp_path):
    weighted = qt.Ensemble([[1, 1, 2], ["x", None, "y"]], names=["rows", 'say "hi"'], row_weights=[1, 2, 3])
    qt.save(weighted, tmp_path)
    with duckdb.connect() as connection:
        saved = connection.sql(f"SELECT * FROM '{tmp_path / 'patterns.parquet'}'")
        assert saved.columns == ["rows", 'say "hi"', "_rows", "weight"]
        assert saved.fetchall() == [(1, None, 1, 2.0), (1, "x", 1, 1.0), (2, "y", 1, 3.0)]
    loaded = qt.load(tmp_path)
    assert loaded.names == ("rows", 'say "hi"')
    assert loaded.counts.tolist() == [2.0, 1.0, 3.0]


def test_a_file_that_is_not_a_saved_ensemble_is_refused(tmp_path):
    with raises("no-file"):
        qt.load(tmp_path)
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT 1 AS a) TO '{tmp_path / 'patterns.parquet'}'")
    with raises("saved-format"):
        qt.load(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(qt.QuorateError):
        qt.save(qt.Ensemble([[1, 2]]), tmp_path / "file" / "folder")
