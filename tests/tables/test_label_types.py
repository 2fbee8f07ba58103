"""Labels of every type an engine has: no row is lost or doubled, and the answer is the one of plain labels."""

import datetime
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import quorate as qt
from quorate.columns.column_roles import ANSWER_COLUMNS
from quorate.tables.io import open_table
from support import raises, warns

N_ROWS = 30
MEMBERS = ["a", "b"]
CODES = np.arange(N_ROWS) % 3
OTHER = CODES // 2
BIG = 2**53
HUGE = 2**126


def expected(missing=False):
    """The answer for the codes themselves."""
    codes = [None if missing and code == 2 else int(code) for code in CODES]
    return qt.consensus(qt.Ensemble([codes, OTHER.tolist()]), 2).labels.tolist()


# How each type writes the codes 0, 1, 2.
DUCKDB_TYPES = {
    **{kind: f"(i % 3)::{kind}" for kind in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT")},
    **{kind: f"(i % 3)::{kind}" for kind in ("UINTEGER", "UBIGINT", "FLOAT", "DOUBLE", "VARCHAR")},
    "UBIGINT near its end": "(18446744073709551610 + i % 3)::UBIGINT",
    "HUGEINT beyond doubles": f"{BIG}::HUGEINT + i % 3",
    "HUGEINT beyond 64 bits": f"{HUGE}::HUGEINT + i % 3",
    "UHUGEINT": f"{HUGE}::UHUGEINT + (i % 3)::UHUGEINT",
    "sum of integers": f"sum({BIG} + i % 3) OVER (PARTITION BY i)",
    "wide DECIMAL": f"({BIG} + i % 3)::DECIMAL(38, 0)",
    "DECIMAL with fractions": "((i % 3) / 2)::DECIMAL(38, 20)",
    "fractions": "(i % 3) / 3",
    "ENUM": "['a', 'b', 'c'][i % 3 + 1]::ENUM('c', 'b', 'a', 'absent')",
    "UUID": "('00000000-0000-0000-0000-00000000000' || (i % 3))::UUID",
}
DUCKDB_REFUSED = {
    "DATE": "DATE '2020-01-01' + (i % 3)::INTEGER",
    "TIME": "TIME '00:00:00' + to_seconds(i % 3)",
    "TIMESTAMP": "make_timestamp(i % 3)",
    "TIMESTAMPTZ": "make_timestamp(i % 3)::TIMESTAMPTZ",
    "INTERVAL": "to_seconds(i % 3)",
    "BLOB": "(i % 3)::VARCHAR::BLOB",
    "BIT": "(i % 3)::BIT",
    "LIST": "[i % 3]",
    "STRUCT": "{'a': i % 3}",
    "MAP": "MAP {'a': i % 3}",
}
# DuckDB compares variants of different types from 2.0 on.
(DUCKDB_TYPES if hasattr(duckdb.DuckDBPyRelation, "materialize") else DUCKDB_REFUSED)["VARIANT"] = "(i % 3)::VARIANT"


def relation(connection, label, missing=False):
    label = f"CASE WHEN i % 3 = 2 THEN NULL ELSE {label} END" if missing else label
    rows = f"SELECT i, {label} AS a, i % 3 // 2 AS b FROM range({N_ROWS}) t(i)"
    return connection.sql(f"SELECT * FROM ({rows}) ORDER BY hash(i)")


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", DUCKDB_TYPES)
def test_duckdb(kind, missing):
    with duckdb.connect() as connection:
        answered = qt.consensus_frame(relation(connection, DUCKDB_TYPES[kind], missing), ["a", "b"], 2)
        found = answered.order("i").fetchall()
    assert [row[3] for row in found] == expected(missing)


def test_duckdb_booleans():
    with duckdb.connect() as connection:
        found = qt.consensus_frame(relation(connection, "i % 3 = 2"), ["a", "b"], 2).order("i").fetchall()
    assert [row[3] for row in found] == qt.consensus(qt.Ensemble([CODES == 2, OTHER]), 2).labels.tolist()


@pytest.mark.parametrize("kind", DUCKDB_REFUSED)
def test_duckdb_refuses_values_that_are_not_labels(kind):
    with duckdb.connect() as connection, raises("label-type"):
        qt.consensus_frame(relation(connection, DUCKDB_REFUSED[kind]), ["a", "b"], 2)


@pytest.mark.parametrize("setting", ["enable_external_access", "python_enable_replacements"])
def test_duckdb_connections_that_forbid_much(setting):
    """The lines stay in the engine; the answer needs neither Python's variables nor a name of its own."""
    with duckdb.connect(config={setting: "false"}) as connection:
        connection.execute("CREATE TABLE quorate_lines (x INTEGER)")
        connection.execute("CREATE TABLE quorate_rows AS SELECT i, i % 3 AS a, i % 3 // 2 AS b FROM range(30) t(i)")
        answered = qt.consensus_frame(connection.table("quorate_rows"), ["a", "b"], 2)
        assert [row[3] for row in answered.order("i").fetchall()] == expected()
        names = connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
        assert names == [("quorate_lines",), ("quorate_rows",)]
        assert connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == []


WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
TEXT = ["x", "y", "z"]
OBJECTS = {
    "bool and none": ([True, False, None], None),
    "beyond 64 bits": ([HUGE, HUGE + 1, HUGE + 2], None),
    "beyond doubles": ([BIG, BIG + 1, BIG + 2], None),
    "decimals": ([Decimal(BIG), Decimal(BIG + 1), Decimal(BIG + 2)], None),
    "wide decimals": ([Decimal(HUGE), Decimal(HUGE + 1), Decimal(HUGE + 2)], None),
    "fractional decimals": ([Decimal("0"), Decimal("0.5"), Decimal("1.25")], None),
    "text": (TEXT, None),
}
POLARS_TYPES = {
    **{kind: (range(3), getattr(pl, kind)) for kind in ("Int8", "Int16", "Int32", "Int64", "Float32", "Float64")},
    **{kind: (range(3), getattr(pl, kind)) for kind in ("UInt8", "UInt16", "UInt32", "UInt64")},
    "UInt64 near its end": ([2**64 - 3, 2**64 - 2, 2**64 - 1], pl.UInt64),
    "Int128": ([HUGE, HUGE + 1, HUGE + 2], pl.Int128),
    "Int128 beyond doubles": ([BIG, BIG + 1, BIG + 2], pl.Int128),
    "Decimal": ([Decimal(HUGE // 2**10 + j) for j in range(3)], pl.Decimal(38, 0)),
    "Decimal with fractions": ([Decimal("0"), Decimal("0.5"), Decimal("1.25")], pl.Decimal(38, 20)),
    "String": (TEXT, pl.String),
    "Categorical": (["z", "y", "x"][::-1], pl.Categorical),
    "Enum": (TEXT, pl.Enum(["z", "y", "x", "absent"])),
}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", POLARS_TYPES)
def test_polars_lazy_and_eager(kind, missing):
    values, dtype = POLARS_TYPES[kind]
    labels = [None if missing and code == 2 else list(values)[code] for code in CODES]
    frame = pl.DataFrame({"a": pl.Series(labels, dtype=dtype), "b": OTHER})
    assert qt.consensus_frame(frame, MEMBERS, n_clusters=2)["consensus"].to_list() == expected(missing)
    assert qt.consensus_frame(frame.lazy(), MEMBERS, n_clusters=2).collect()["consensus"].to_list() == expected(missing)


@pytest.mark.parametrize("value", [datetime.date(2020, 1, 1), datetime.timedelta(1), b"x", [1], {"a": 1}])
def test_frames_refuse_values_that_are_not_labels(value):
    columns = {"a": [value] * 4, "b": [0, 1, 0, 1]}
    for frame in (pl.DataFrame(columns), pl.LazyFrame(columns), pa.table(columns)):
        with raises("label-type"):
            qt.consensus_frame(frame, n_clusters=2)


ARROW_TYPES = {
    **{kind: (range(3), getattr(pa, kind)()) for kind in WHOLE},
    "uint64 near its end": ([2**64 - 3, 2**64 - 2, 2**64 - 1], pa.uint64()),
    "decimal128": ([Decimal(HUGE // 2**10 + j) for j in range(3)], pa.decimal128(38)),
    "decimal256": ([Decimal(HUGE + j) for j in range(3)], pa.decimal256(60)),
    "string": (TEXT, pa.string()),
    "large_string": (TEXT, pa.large_string()),
    "string_view": (TEXT, pa.string_view()),
    "dictionary": (TEXT, pa.dictionary(pa.int8(), pa.string())),
}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", ARROW_TYPES)
def test_pyarrow(kind, missing):
    values, dtype = ARROW_TYPES[kind]
    labels = [None if missing and code == 2 else list(values)[code] for code in CODES]
    frame = pa.table({"a": pa.array(labels, dtype), "b": OTHER})
    assert qt.consensus_frame(frame, n_clusters=2)["consensus"].to_pylist() == expected(missing)


PANDAS_TYPES = {
    **{kind: (range(3), kind) for kind in [*WHOLE, "Int64", "UInt8", "Float64", "string", "category"]},
    **{kind: (range(3), pd.ArrowDtype(getattr(pa, kind)())) for kind in ("int8", "uint64", "float32", "string")},
    "uint64 near its end": ([2**64 - 3, 2**64 - 2, 2**64 - 1], "UInt64"),
    **{kind: (values, object) for kind, (values, _) in OBJECTS.items() if kind != "bool and none"},
}


def pandas_frame(kind, missing):
    values, dtype = PANDAS_TYPES[kind]
    values = list(map(str, values)) if "string" in str(dtype) else list(values)
    labels = [None if missing and code == 2 else values[code] for code in CODES]
    if missing and dtype in WHOLE:
        dtype = "float64"
    return pd.DataFrame({"a": pd.Series(labels, dtype=dtype), "b": OTHER})


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", PANDAS_TYPES)
def test_pandas(kind, missing):
    answered = qt.consensus_frame(pandas_frame(kind, missing), MEMBERS, n_clusters=2)
    assert answered["consensus"].tolist() == expected(missing)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", PANDAS_TYPES)
def test_dask(kind, missing):
    dask = pytest.importorskip("dask", reason="Dask is not installed")
    import dask.dataframe as dd

    # Sorted by the label, some partitions hold nothing but missing labels.
    frame = pandas_frame(kind, missing).iloc[np.argsort(CODES, kind="stable")]
    with dask.config.set(scheduler="synchronous"):
        parts = dd.from_pandas(frame, npartitions=6, sort=False)
        answered = qt.consensus_frame(parts, MEMBERS, n_clusters=2).compute()
    assert len(answered) == N_ROWS
    assert answered.sort_index()["consensus"].tolist() == expected(missing)


def test_dask_members_without_any_label():
    dask = pytest.importorskip("dask", reason="Dask is not installed")
    import dask.dataframe as dd

    for nothing in (None, np.nan, pd.NA):
        frame = pd.DataFrame({"none": pd.Series([nothing] * N_ROWS, dtype=object), "a": CODES, "b": OTHER})
        with dask.config.set(scheduler="synchronous"):
            native = dd.from_pandas(frame, npartitions=3, sort=False)
            answered = qt.consensus_frame(native, n_clusters=2).compute()
        assert answered["consensus"].tolist() == qt.consensus_frame(frame, n_clusters=2)["consensus"].tolist()


SPARK_TYPES = {
    **{
        kind: f"cast(i % 3 as {kind})" for kind in ("tinyint", "smallint", "int", "bigint", "float", "double", "string")
    },
    "wide decimal": f"cast({BIG} + i % 3 as decimal(38, 0))",
    "decimal with fractions": "cast((i % 3) / 2 as decimal(38, 20))",
}


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark(spark):
    """Columns named with dots and backticks, of every type that can be a label, in one frame."""
    names = {kind: f"a.{kind}`s" for kind in SPARK_TYPES}
    columns = ", ".join(f"{sql} as `{names[kind].replace('`', '``')}`" for kind, sql in SPARK_TYPES.items())
    numbered = f"(select id, id as i from range({N_ROWS}))"
    rows = spark.sql(f"select id as `row.id`, i % 3 div 2 as b, {columns} from {numbered}")
    for kind in SPARK_TYPES:
        answered = qt.consensus_frame(rows, [names[kind], "b"], 2)
        assert answered.columns == ["row.id", "b", *names.values(), *ANSWER_COLUMNS]
        found = answered.toArrow().to_pydict()
        assert found["row.id"] == list(range(N_ROWS)) or sorted(found["row.id"]) == list(range(N_ROWS))
        assert [found["consensus"][i] for i in np.argsort(found["row.id"])] == expected()
    with raises("label-type"):
        qt.consensus_frame(spark.sql("select current_date() as a, id % 2 as b from range(4)"), n_clusters=2)


@pytest.mark.parametrize(
    "array",
    [
        np.ma.array(["a", "b", "a", "b"], mask=[0, 0, 1, 0]),
        np.ma.array(["a", "b", "a", "b"], mask=[0, 0, 1, 0], dtype=object),
        np.ma.array(np.array(["a", "b", "a", "b"], dtype=np.dtypes.StringDType()), mask=[0, 0, 1, 0]),
        np.ma.array([0, 1, 0, 1], mask=[0, 0, 1, 0]),
        np.ma.array([0, 1, 0, 1], mask=[0, 0, 1, 0], dtype=np.uint64),
        np.ma.array([2**64 - 2, 2**64 - 1, 0, 2**64 - 1], mask=[0, 0, 1, 0], dtype=np.uint64),
        np.ma.array([0.0, 1, 0, 1], mask=[0, 0, 1, 0]),
        np.ma.array([True, False, False, False], mask=[0, 0, 1, 0]),
    ],
)
def test_masks_are_kept(array):
    ens = qt.Ensemble([array, [0, 0, 0, 1]])
    assert (ens.patterns[ens.row_pattern, 0] < 0).tolist() == [False, False, True, False]
    assert len(ens.levels[0]) == 2
    matrix = qt.Ensemble(np.ma.stack([array, array], axis=1)) if array.dtype.kind != "T" else ens
    assert (matrix.patterns[matrix.row_pattern, 0] < 0).tolist() == [False, False, True, False]


@pytest.mark.parametrize("kind", OBJECTS)
def test_objects(kind):
    values, _ = OBJECTS[kind]
    labels = [values[code] for code in CODES] + [None]
    ens = qt.Ensemble([labels])
    codes = [None if values[code] is None else int(code) for code in CODES] + [None]
    assert ens.row_pattern.tolist() == qt.Ensemble([codes]).row_pattern.tolist() or kind == "bool and none"
    assert ens.patterns[ens.row_pattern[-1], 0] == -1


def test_noise_among_large_numbers_is_noise():
    ens = qt.Ensemble([[2**63, -1, 2**70, None, -(2**70)]])
    assert ens.levels[0].tolist() == [str(2**63), str(2**70)]
    assert ens.patterns[ens.row_pattern, 0].tolist() == [0, -1, 1, -1, -1]
    kept = qt.Ensemble([[2**63, -1, 2**70, None, -(2**70)]], noise="cluster")
    assert kept.levels[0].tolist() == ["-1", str(2**63), str(2**70)]


@pytest.mark.parametrize("noise", ["missing", "cluster", "singletons"])
def test_a_label_means_the_same_in_the_whole_and_in_its_parts(noise):
    """Whether -1.0 is noise does not depend on whether another row holds a fraction."""
    column = np.tile([-1.0, -0.5, -1.0, 2.0, -0.5, 2.0, np.nan, -3.0], 4)
    other = np.tile([0, 0, 1, 1, 0, 1, 1, 0], 4)
    whole = qt.Ensemble([column, other], noise=noise)
    assert whole.levels[0].tolist() == {"missing": [], "cluster": [-1.0], "singletons": [-1.0] * 12}[noise] + [
        -0.5,
        2.0,
    ]
    if noise == "singletons":
        return
    for cut in range(1, 8):
        first = np.arange(len(column)) % 8 < cut
        parts = [qt.Ensemble([column[rows], other[rows]], noise=noise) for rows in (first, ~first)]
        merged = parts[0].merge(parts[1])
        assert merged.patterns.tolist() == whole.patterns.tolist()
        assert merged.counts.tolist() == whole.counts.tolist()
        assert [level.tolist() for level in merged.levels] == [level.tolist() for level in whole.levels]


def test_noise_as_text_warns_that_it_is_a_cluster(tmp_path):
    noisy = np.where(CODES == 2, -1, CODES)
    texts = pd.DataFrame({"a": pd.Categorical(noisy.astype(str)), "b": noisy.astype(str), "c": noisy})
    texts.loc[0, "b"] = "?"
    texts.to_csv(tmp_path / "t.csv", index=False)
    with warns("text-noise"):
        assert qt.Ensemble(texts).n_clusters == 3 + 4 + 2
    with warns("text-noise"):
        qt.consensus_file(tmp_path / "t.csv", tmp_path / "out.csv", n_clusters=2, method="eac")
    qt.Ensemble(texts, noise="cluster")  # without a word


def test_blank_cells_are_missing(tmp_path):
    rows = "\n".join(f"{code}, {'  ' if code == 2 else code},{code}" for code in CODES)
    (tmp_path / "t.csv").write_text(f"a, b, c\n{rows}\n")
    with open_table(tmp_path / "t.csv") as table:
        assert (table.profile["b"].kind, table.profile["b"].n_missing) == ("integer", 10)
