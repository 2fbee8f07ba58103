"""Facts about rows: the same from a table in memory and from a file."""

import numpy as np
import pandas as pd
import pytest

import quorate as qt
from quorate.reporting.row_facts import facts_in_memory
from quorate.reporting.table_facts import facts_in_table
from quorate.tables.counted_table import CountedTable
from quorate.tables.io import open_table


def test_facts_of_a_table_are_those_in_memory(tmp_path):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.integers(0, 3, (500, 4)), columns=list("abcd"))
    frame.insert(0, "id", [f"r{i}" for i in range(500)])
    frame["x"], frame["color"] = rng.normal(size=500), rng.choice(["red", "blue"], 500)
    frame.loc[3, "x"] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    ens = qt.Ensemble(frame[list("abcd")])
    patterns = np.array([0, 5, 7])
    with open_table(tmp_path / "t.csv") as table:
        counted = CountedTable(table, tuple("abcd"))
        found = facts_in_table(counted, patterns, 40, id_column="id", columns=["x", "color", "id"])
    known = facts_in_memory(ens, patterns, 40, ids=frame["id"], columns=frame[["x", "color", "id"]])
    assert found.examples == known.examples
    assert found.sample == known.sample
    assert found.sample_pattern.tolist() == known.sample_pattern.tolist()
    assert found.too_many == known.too_many == ("id",)
    labels = rng.integers(0, 4, ens.n_patterns)
    for one, other in zip(found.columns, known.columns, strict=True):
        assert one.name == other.name
        a, b = one.by_cluster(labels, 4), other.by_cluster(labels, 4)
        assert a == (b if one.name == "color" else [pytest.approx(cluster) for cluster in b])
