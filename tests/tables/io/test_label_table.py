"""Columns of true and false in text files are features, as they are in frames."""

import numpy as np
import pandas as pd
import pytest

import quorate as qt
from quorate.tables.io import open_table


@pytest.fixture
def file(tmp_path):
    group = np.arange(120) % 2
    columns = {"x": np.random.default_rng(0).normal(size=120) + 9 * group, "flag": group == 1, "note": "true or false"}
    pd.DataFrame(columns).to_csv(tmp_path / "features.csv", index=False)
    return tmp_path / "features.csv"


def test_true_and_false_in_a_text_file_are_numbers_and_other_text_is_not(file):
    with open_table(file) as table:
        assert [table.is_numeric(name) for name in ("x", "flag", "note")] == [True, True, False]
        numbers = table.sql(f"SELECT {table.number('flag')} FROM {table.view}").fetchall()
    assert [number for (number,) in numbers] == [0.0, 1.0] * 60


@pytest.mark.filterwarnings("ignore::quorate.QuorateWarning")
def test_a_text_file_with_true_and_false_is_clustered_by_them(file, tmp_path):
    found = qt.cluster_file(file, tmp_path / "out.csv", n_clusters=2)
    assert list(found.features) == ["x", "flag"]
