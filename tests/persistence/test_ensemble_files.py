"""Ensembles saved and loaded."""

import duckdb
import numpy as np
import pytest

import quorate as qt
from support import assert_same_ensemble, mixed_ensemble, mixed_labels, raises


@pytest.mark.parametrize("noise", ["missing", "cluster", "singletons"])
def test_a_loaded_ensemble_is_the_saved_one_without_rows(tmp_path, noise):
    ens = mixed_ensemble(mixed_labels(), slice(None), noise=noise)
    qt.save(ens, tmp_path / "saved")
    loaded = qt.load(tmp_path / "saved")
    assert_same_ensemble(loaded, ens, rows=False)
    assert not loaded.has_rows
    with raises("patterns-only"):
        loaded.add_members([[1] * 400])
    np.testing.assert_array_equal(qt.WEAC(3).fit(loaded).pattern_labels_, qt.WEAC(3).fit(ens).pattern_labels_)


def test_a_nightly_job_adds_the_days_rows(tmp_path):
    labels = mixed_labels(900)
    qt.save(mixed_ensemble(labels, slice(300)), tmp_path)
    for start in (300, 600):
        today = mixed_ensemble(labels, slice(start, start + 300))
        qt.save(qt.load(tmp_path).merge(today), tmp_path)
    assert_same_ensemble(qt.load(tmp_path), mixed_ensemble(labels, slice(None)), rows=False)
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
