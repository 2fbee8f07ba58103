"""What is kept equals what came in: ids, kept columns and known classes, on every format and engine."""

import csv
import io

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quorate as qt
from quorate.cli import main
from quorate.tables.io.label_table import MISSING_WORDS
from support import raises

WORDS = [*MISSING_WORDS, "none", "N/a", "007", " padded ", "1e5", "TRUE", "1.0", "+1", "-0", "2024-01-02", "a\nb"]
WORDS += ["a\rb", "a\r\nb", 'say ""', '"', ",", ";", "\t", "é", "x" * 300, "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "{}"]
WORDS += ["6BA7B810-9DAD-11D1-80B4-00C04FD430C8", "'", "\\", "#", "=1+1", "\N{PILE OF POO}", "   "]
CELLS = st.sampled_from(WORDS) | st.text(
    st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=6
)


NOT_TEXT = ("", "   ", "\t", "#N/A", "=1+1")
"""What a workbook does not store as text."""


def table_of(cells):
    """Return 24 rows with two members, and the cells in columns of three uses."""
    n = len(cells)
    return pd.DataFrame(
        {
            "id": [f"{i:02}{cell}" if i >= len(WORDS) else cell for i, cell in enumerate(cells)],
            "country": cells,
            "class": cells[::-1],
            "a": [i % 2 for i in range(n)],
            "b": [i % 2 for i in range(n)],
        }
    )


def write_csv(frame, path):
    frame.to_csv(path, index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)


def write_workbook(frame, path):
    workbook = pytest.importorskip("openpyxl").Workbook()
    for row in [list(frame.columns), *frame.values.tolist()]:
        workbook.active.append(row)
    workbook.save(path)


WRITERS = {
    "csv": write_csv,
    "csv.gz": lambda frame, path: frame.to_csv(path, index=False, quoting=csv.QUOTE_NONNUMERIC, compression="gzip"),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t", quoting=csv.QUOTE_NONNUMERIC),
    "parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "arrow": lambda frame, path: pa.feather.write_feather(pa.Table.from_pandas(frame), path),
    "npz": lambda frame, path: np.savez(
        path, **{name: frame[name].to_numpy(str if frame[name].dtype.kind in "OTU" else None) for name in frame}
    ),
    "jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True, force_ascii=False),
}


def kept(path, names):
    """Return the columns of a written CSV file as text, empty where a cell is empty."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in names}


def expected(frame, names, ending):
    """NumPy strips NULs at the end of text; no other format changes a cell."""
    return {name: [cell.rstrip("\0") if ending == "npz" else cell for cell in frame[name]] for name in names}


@settings(max_examples=12)
@pytest.mark.parametrize("ending", WRITERS)
@given(cells=st.lists(CELLS, min_size=24, max_size=40))
def test_files_keep_every_cell(tmp_path_factory, ending, cells):
    folder = tmp_path_factory.mktemp("kept")
    frame = table_of(cells)
    WRITERS[ending](frame, folder / f"t.{ending}")
    qt.consensus_file(folder / f"t.{ending}", folder / "out.csv", members=["a", "b"], n_clusters=2)
    names = ["id", "country", "class"]
    assert kept(folder / "out.csv", names) == expected(frame, names, ending)


@pytest.mark.parametrize("ending", [*WRITERS, "xlsx"])
@pytest.mark.parametrize("command", ["combine", "cluster"])
def test_the_command_keeps_words_for_missing_values(tmp_path, ending, command, capsys):
    cells = [cell for cell in WORDS if "\r" not in cell and (ending != "xlsx" or cell not in NOT_TEXT)]
    frame = table_of(cells + [f"x{i}" for i in range(40 - len(cells))])
    rng = np.random.default_rng(0)
    if command == "cluster":
        frame = frame[["id", "country", "class"]].assign(x=frame["a"] * 9 + rng.random(40), y=rng.random(40))
    {**WRITERS, "xlsx": write_workbook}[ending](frame, tmp_path / f"t.{ending}")
    options = ["--id", "id", "--keep", "country", "--truth", "class", "-k", "2", "-q", "-o", tmp_path / "out.csv"]
    assert main([command, str(tmp_path / f"t.{ending}"), *map(str, options)]) == 0, capsys.readouterr().err
    names = ["id", "country", "class"]
    assert kept(tmp_path / "out.csv", names) == expected(frame, names, ending)


def test_words_for_missing_values_are_missing_labels_and_kept_text(tmp_path):
    (tmp_path / "t.csv").write_text(
        "id,a,b\n" + "".join(f"r{i},{'NA' if i % 5 == 0 else i % 2},{'xy'[i % 2]}\n" for i in range(30))
    )
    qt.consensus_file(tmp_path / "t.csv", tmp_path / "out.csv", members=["a", "b"], n_clusters=2)
    labels = [None if i % 5 == 0 else i % 2 for i in range(30)], ["xy"[i % 2] for i in range(30)]
    assert kept(tmp_path / "out.csv", ["a"])["a"][:6] == ["NA", "1", "0", "1", "0", "NA"]
    found = [int(label) for label in kept(tmp_path / "out.csv", ["consensus"])["consensus"]]
    assert found == qt.consensus(list(labels), 2).labels.tolist()


def test_an_id_called_na_is_an_id(tmp_path, capsys):
    names = ["NA", *(f"gene{i}" for i in range(59))]
    rows = "".join(f"{name},{i % 3},{i % 3}\n" for i, name in enumerate(names))
    (tmp_path / "t.csv").write_text("gene,a,b\n" + rows)
    assert main(["combine", str(tmp_path / "t.csv"), "-k", "3", "-o", str(tmp_path / "out.csv")]) == 0
    assert kept(tmp_path / "out.csv", ["gene"])["gene"] == names


def native_frames(frame):
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    yield frame, lambda out: out
    yield pl.from_pandas(frame), lambda out: out.to_pandas()
    yield pl.from_pandas(frame).lazy(), lambda out: out.collect().to_pandas()
    yield arrow, lambda out: out.to_pandas()
    yield duckdb.from_arrow(arrow), lambda out: out.df().sort_values("place")
    dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    yield dd.from_pandas(frame, npartitions=3, sort=False), lambda out: out.compute(scheduler="threads")


@settings(max_examples=8)
@given(cells=st.lists(CELLS, min_size=24, max_size=40))
def test_engines_keep_every_cell(cells):
    frame = table_of(cells).assign(place=range(len(cells)))
    frame["x"] = frame["a"] * 9.0 + np.arange(len(cells)) / 100
    for native, to_pandas in native_frames(frame):
        for answered in (
            qt.consensus_frame(native, ["a", "b"], 2),
            qt.cluster_frame(native, ["x", "b"], 2, n_members=4),
        ):
            result = to_pandas(answered)
            for name in ("id", "country", "class"):
                assert result[name].tolist() == frame[name].tolist(), type(native)


def test_duckdb_keeps_the_types_of_columns():
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE typed AS "
        "SELECT i % 2 AS a, i % 2 * 9 + i / 100 AS x, i::HUGEINT * 10::HUGEINT ** 30 AS huge, uuid() AS u, "
        "('v' || i % 3)::ENUM('v0', 'v1', 'v2') AS kind, INTERVAL (i) DAY AS span, i::DECIMAL(38, 2) AS money, "
        "{'k': i} AS pair, TIME '10:00' AS t FROM range(30) r(i)"
    )
    relation = connection.table("typed")
    for answered in (qt.consensus_frame(relation, ["a"], 2), qt.cluster_frame(relation, ["x", "a"], 2, n_members=4)):
        assert answered.types[: len(relation.types)] == relation.types
        assert sorted(map(str, answered.project(", ".join(relation.columns)).fetchall())) == sorted(
            map(str, relation.fetchall())
        )
    assert connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == []


# Line ends inside quoted cells -------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("n_rows", [30, 20_000])
def test_quoted_line_ends(tmp_path, end, n_rows):
    """The sample from which the dialect is detected ends inside a quoted cell in the larger file."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["id", "a", "b", "note"])
    for i in range(n_rows):
        writer.writerow([f"r{i}", i % 3, i % 3, f"one{end}two{end}three{end}{'x' * (i % 11)}"])
    with open(tmp_path / "t.csv", "w", newline="") as file:
        file.write(text.getvalue())
    qt.consensus_file(tmp_path / "t.csv", tmp_path / "out.csv", members=["a", "b"], n_clusters=3)
    notes = kept(tmp_path / "out.csv", ["note"])["note"]
    assert notes == [f"one{end}two{end}three{end}{'x' * (i % 11)}" for i in range(n_rows)]


@pytest.mark.parametrize("cell", ["a\rb", "\r", "a\r", "\rb"])
@pytest.mark.parametrize("at", [0, 1, 25])
def test_one_quoted_carriage_return(tmp_path, cell, at):
    rows = [[f"r{i}", i % 2, cell if i == at else "z" if i % 2 else "y"] for i in range(30)]
    with open(tmp_path / "t.csv", "w", newline="") as file:
        file.write("id,a,b\n" + "".join(f'{i},{a},"{b}"\n' for i, a, b in rows))
    qt.consensus_file(tmp_path / "t.csv", tmp_path / "out.csv", members=["a", "b"], n_clusters=2)
    assert kept(tmp_path / "out.csv", ["b"])["b"] == [row[2] for row in rows]


def test_a_carriage_return_outside_quotes(tmp_path):
    with open(tmp_path / "t.csv", "w", newline="") as file:
        file.write("id,a,b\n" + "".join(f"one\rtwo{i},{i % 3},{i % 3}\n" for i in range(30)))
    with raises("csv-syntax"):
        qt.consensus_file(tmp_path / "t.csv", tmp_path / "out.csv", members=["a", "b"], header=True)
