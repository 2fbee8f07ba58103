"""Warnings and errors about labels in memory that may not be clusterings."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import quorate as qt
from support import raises, warns

MEMBERS = ["m0", "m1", "m2"]


def test_columns_of_a_frame_with_another_role(frame):
    with warns("id-column", "class-columns"):
        assert qt.Ensemble(frame).names == tuple(MEMBERS)
    with warns("class-columns"):
        qt.consensus(pl.DataFrame(frame[["class", *MEMBERS]]), 3)
    qt.consensus(frame[MEMBERS], 3)
    qt.Ensemble({"class": frame["class"], "m0": frame["m0"]})


def test_series_with_different_indexes(frame):
    series = [frame[name] for name in MEMBERS]
    expected = qt.consensus(series, 3).labels.tolist()
    with warns("different-indexes"):
        shifted = qt.consensus([series[0].set_axis(range(1, 61)), *series[1:]], 3)
    assert shifted.labels.tolist() == expected


def test_list_of_rows(frame):
    with warns("list-of-rows"):
        qt.Ensemble(frame[MEMBERS].to_numpy().tolist())


def test_dictionaries_and_generators_of_label_vectors(frame):
    expected = qt.consensus(frame[MEMBERS], 3)
    named = qt.consensus({name: frame[name].to_list() for name in MEMBERS}, 3)
    assert named.ensemble.names == tuple(MEMBERS)
    assert named.labels.tolist() == expected.labels.tolist()
    drawn = qt.consensus((frame[name].to_numpy() for name in MEMBERS), 3)
    assert drawn.labels.tolist() == expected.labels.tolist()


def test_identical_single_and_transposed_columns_of_a_frame():
    column = [0, 1, 2] * 10
    copies = pd.DataFrame({"a": column, "b": column, "c": column, "d": column[::-1]})
    with warns("identical-members"):
        qt.Ensemble(copies)
    with warns("one-member"):
        qt.Ensemble(copies[["a"]])
    with warns("transposed"):
        qt.Ensemble(copies.T)


def test_suspicious_columns_of_a_matrix_are_named_by_position():
    column = np.arange(30) % 3
    with pytest.warns(qt.QuorateWarning) as warned:
        qt.Ensemble(np.stack([column, column[::-1], column, column], axis=1))
    assert warned[0].message.code == "identical-members"
    assert str(warned[0].message).startswith("Columns 0, 2, 3 ")
    with pytest.warns(qt.QuorateWarning) as warned:
        qt.Ensemble(np.stack([column, np.arange(30), column // 2], axis=1))
    assert warned[0].message.code == "not-clusterings"
    assert "column 1 (unique in every row" in str(warned[0].message)
    qt.Ensemble(column[:, None])
    qt.Ensemble(np.stack([column, np.arange(30)], axis=1), names=["groups", "rows"])  # named columns are intended


@pytest.mark.parametrize("kind", [int, float, str, object])
def test_transposed_matrix(kind):
    labels = np.stack([np.arange(40) // k % 4 for k in (1, 4, 10)]).astype(kind)
    with warns("transposed"):
        qt.Ensemble(labels)
    if kind is float:
        labels[:, ::3] = np.nan
        with warns("transposed"):
            qt.Ensemble(labels)


@pytest.mark.parametrize(
    ("labels", "hint"),
    [
        ("labels.csv", "qt.consensus_file"),
        (Path("labels.csv"), "qt.consensus_file"),
        (None, ""),
        (scipy.sparse.csr_array(np.eye(3, dtype=int)), "labels.toarray()"),
    ],
)
def test_not_a_table_of_labels(labels, hint):
    with raises("label-table", parameter="labels") as caught:
        qt.consensus(labels, 2)
    assert type(labels).__name__ in str(caught.value)
    assert hint in str(caught.value)


def test_features_among_members():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=40), "a": np.arange(40) % 2, "y": rng.normal(size=40)})
    with raises("features") as caught:
        qt.consensus(frame, 2)
    assert "'x', 'y'" in str(caught.value)
    with raises("features") as caught:
        qt.consensus(frame[["x", "a"]], 2)
    assert "'x'" in str(caught.value)
