"""The same labels, not only up to renaming, from every engine, however rows are ordered and partitioned."""

import contextlib
import os
import signal
import sqlite3
from types import SimpleNamespace

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import quorate as qt
from quorate.columns.column_roles import ANSWER_COLUMNS
from quorate.tables.engines import dask_engine
from support import raises, warns

MEMBERS = ["whole", "text", "gaps", "nullable", "category"]
METHODS = [("gp-mgla", {}), ("weac", {}), ("eac", {})]
N_ROWS = 2000
N_CLUSTERS = 4


def drawn_labels(seed=0, n_rows=N_ROWS):
    """Noisy copies of four groups: whole numbers with noise, text, floats with gaps, nullable, categories."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, n_rows)

    def copy(k, flipped):
        return np.where(rng.random(n_rows) < flipped, rng.integers(0, k, n_rows), group % k)

    text = np.array(["x", "é", "B", "zz"], dtype=object)[copy(4, 0.3)]
    text[rng.random(n_rows) < 0.1] = None
    gaps = copy(3, 0.2).astype(float)
    gaps[rng.random(n_rows) < 0.2] = np.nan
    nullable = copy(5, 0.3).astype(object)
    nullable[rng.random(n_rows) < 0.1] = None
    category = np.array(["low", "high", "mid", "none"], dtype=object)[copy(4, 0.4)]
    labels = [copy(5, 0.2) - 1, text, gaps, nullable, category]
    for vector in labels[1:]:
        vector[:3] = np.nan if vector.dtype.kind == "f" else None
    labels[0][:3] = -1  # the first three rows are labeled by nobody
    return labels


@pytest.fixture(scope="module")
def labels():
    return drawn_labels()


@pytest.fixture(scope="module")
def frame(labels):
    """The labels as a pandas frame, with an index of its own and a column that is no member."""
    columns = dict(zip(MEMBERS, labels, strict=True))
    columns["nullable"] = pd.array(columns["nullable"], dtype="Int64")
    columns["category"] = pd.Categorical(columns["category"])
    return pd.DataFrame({"id": np.arange(N_ROWS), **columns}, index=np.arange(N_ROWS) * 3)


@pytest.fixture(scope="module")
def arrow(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


@pytest.fixture(scope="module")
def reference(labels):
    """The answer from plain arrays, by method and parameters."""
    known = {}

    def answer(method, params):
        key = method, str(params)
        if key not in known:
            with warns("rows-without-labels"):
                known[key] = qt.consensus(qt.Ensemble(labels, names=MEMBERS), N_CLUSTERS, method, **params)
        return known[key]

    return answer


def assert_same(answered, expected, columns):
    """Check an answer in a pandas frame, in any order of rows, against the one from arrays."""
    assert list(answered.columns) == [*columns, *ANSWER_COLUMNS]
    ordered = answered.set_index("id").sort_index()
    assert len(ordered) == N_ROWS
    assert ordered["consensus"].to_numpy(dtype=np.int64).tolist() == expected.labels.tolist()
    np.testing.assert_array_equal(ordered["confidence"].to_numpy(dtype=np.float64), expected.confidence)
    np.testing.assert_array_equal(ordered["margin"].to_numpy(dtype=np.float64), expected.margin)
    assert ordered["runner_up"].to_numpy(dtype=np.int64).tolist() == expected.runner_up.tolist()


def combine(native, method, params):
    with warns("rows-without-labels"):
        return qt.consensus_frame(native, MEMBERS, N_CLUSTERS, method, **params)


def shuffled(frame):
    return frame.sample(frac=1, random_state=1)


EAGER_AND_LAZY = {
    "pandas": lambda frame, arrow: (frame, lambda out: out),
    "pandas shuffled": lambda frame, arrow: (shuffled(frame), lambda out: out),
    "polars": lambda frame, arrow: (pl.from_arrow(arrow), lambda out: out.to_pandas()),
    "polars lazy": lambda frame, arrow: (pl.from_arrow(arrow).lazy(), lambda out: out.collect().to_pandas()),
    "pyarrow": lambda frame, arrow: (arrow, lambda out: out.to_pandas()),
    "narwhals": lambda frame, arrow: (nw.from_native(frame), lambda out: out.to_native()),
    "narwhals lazy": lambda frame, arrow: (
        nw.from_native(pl.from_arrow(arrow).lazy()),
        lambda out: out.collect().to_pandas(),
    ),
}


@pytest.mark.parametrize(("method", "params"), METHODS)
@pytest.mark.parametrize("engine", EAGER_AND_LAZY)
def test_frames_in_memory_and_polars_lazy(engine, method, params, frame, arrow, reference):
    native, to_pandas = EAGER_AND_LAZY[engine](frame, arrow)
    answered = combine(native, method, params)
    assert type(answered) is type(native)
    assert_same(to_pandas(answered), reference(method, params), frame.columns)


@pytest.mark.parametrize(("method", "params"), METHODS)
def test_duckdb_relations(method, params, frame, reference):
    with duckdb.connect() as connection:
        connection.register("source", frame)
        connection.execute("CREATE TABLE labels AS SELECT * FROM source")
        for query in ("SELECT * FROM labels", "SELECT * FROM labels ORDER BY hash(id)"):
            answered = combine(connection.sql(query), method, params)
            assert isinstance(answered, duckdb.DuckDBPyRelation)
            assert_same(answered.df(), reference(method, params), frame.columns)
        left_behind = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        assert left_behind == [("labels",)]
        assert connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() in (
            [],
            [("source",)],
        )


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Ibis with a newer DuckDB
@pytest.mark.parametrize("backend", ["duckdb", "sqlite"])
def test_ibis_tables(backend, frame, reference, tmp_path):
    ibis = pytest.importorskip("ibis", reason="Ibis is not installed (pip install 'ibis-framework[duckdb,sqlite]')")
    plain = frame.astype({"category": object}).astype(object).where(frame.notna(), None)
    if backend == "duckdb":
        with duckdb.connect(tmp_path / "labels.duckdb") as connection:
            connection.register("source", frame)
            connection.execute("CREATE TABLE labels AS SELECT * FROM source")
    else:
        with contextlib.closing(sqlite3.connect(tmp_path / "labels.sqlite")) as connection:
            plain.to_sql("labels", connection, index=False)
    table = ibis.connect(f"{backend}://{tmp_path}/labels.{backend}").table("labels")
    answered = combine(table, "weac", {})
    assert isinstance(answered, ibis.Table)
    assert_same(answered.to_pandas(), reference("weac", {}), frame.columns)
    assert combine(nw.from_native(table), "weac", {}).to_native().columns == answered.columns
    with raises("frame-type", "frame"):
        qt.cluster_frame(table, ["whole", "nullable"])


def test_dask_on_two_processes(dask_cluster, frame, reference):
    import dask.dataframe as dd

    for method, params in METHODS:
        for rows, n_partitions in ((frame, 1), (frame, 3), (shuffled(frame).reset_index(drop=True), 5)):
            native = dd.from_pandas(rows, npartitions=n_partitions, sort=False)
            answered = combine(native, method, params)
            assert isinstance(answered, dd.DataFrame)
            assert answered.npartitions == native.npartitions
            computed = answered.compute()
            assert computed.index.tolist() == rows.index.tolist()
            assert computed["id"].tolist() == rows["id"].tolist()
            assert_same(computed, reference(method, params), frame.columns)


def test_dask_keeps_the_pattern_table_out_of_the_graph(dask_cluster, frame):
    import dask.dataframe as dd

    answered = combine(dd.from_pandas(frame, npartitions=3, sort=False), "eac", {})
    tables = [
        argument
        for task in answered.__dask_graph__().values()
        for argument in getattr(task, "args", ())
        if isinstance(argument, dict) and "keys" in argument
    ]
    assert tables == []


@pytest.mark.parametrize("n_members", [3, 60])
def test_dask_finds_lines_by_one_number(n_members):
    """Sixty members of 20 clusters do not fit into one number of 64 bits."""
    dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed", exc_type=ImportError)

    rng = np.random.default_rng(0)
    values = rng.integers(0, 20, (40, n_members)).astype(object)
    values[rng.random(values.shape) < 0.1] = None
    rows = pd.DataFrame(values[rng.integers(0, 40, 300)], columns=[f"m{j}" for j in range(n_members)])
    native = dd.from_pandas(rows, npartitions=4, sort=False)
    counted = dask_engine.count(native, list(rows.columns), 1000)
    line = {tuple(row): i for i, row in enumerate(counted.native.fillna(-1).astype(int).to_numpy())}
    answer = np.arange(len(counted.row_counts))
    joined = dask_engine.join(native, counted.native, list(rows.columns), {"line": answer}).compute()
    assert joined["line"].tolist() == [line[tuple(row)] for row in rows.fillna(-1).astype(int).to_numpy()]
    assert counted.row_counts.tolist() == np.bincount(joined["line"]).tolist()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "float64", "bool", "category", "Int64"])
def test_dask_counts_and_joins_labels_of_any_type(dtype):
    """Small integers are counted without hashing; extreme values must not overflow."""
    dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed", exc_type=ImportError)

    rng = np.random.default_rng(0)
    extremes = {"int8": [-128, 127], "uint64": [2**64 - 1, 2**64 - 2], "int64": [-(2**63), 2**63 - 1]}
    values = np.array(extremes.get(dtype, [0, 1]), dtype=object)
    rows = pd.DataFrame({f"m{j}": values[rng.integers(0, 2, 50)] for j in range(2)}).astype(dtype)
    rows["m0"] = rows["m0"].iloc[0]  # one value only
    native = dd.from_pandas(rows, npartitions=3, sort=False)
    counted = dask_engine.count(native, ["m0", "m1"], 1000)
    expected = rows.astype(object).value_counts()
    found = {tuple(line): n for *line, n in zip(*counted.vectors, counted.row_counts, strict=True)}
    assert found == expected.to_dict()
    answer = {"line": np.arange(len(counted.row_counts))}
    joined = dask_engine.join(native, counted.native, ["m0", "m1"], answer).compute()
    lines = list(zip(*counted.vectors, strict=True))
    assert [lines[line] for line in joined["line"]] == list(rows.astype(object).itertuples(index=False, name=None))


def test_dask_refuses_too_many_patterns_in_one_partition():
    dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed", exc_type=ImportError)

    native = dd.from_pandas(pd.DataFrame({"a": range(50), "b": range(50)}), npartitions=1)
    assert len(dask_engine.count(native, ["a", "b"], 11).row_counts) == 11


def test_dask_finishes_when_a_worker_is_killed(dask_cluster, frame, reference):
    """A worker that dies in the middle is replaced; the answer is complete and correct."""
    import dask.dataframe as dd

    native = dd.from_pandas(frame, npartitions=8, sort=False)
    victim, *_ = dask_cluster.run(os.getpid).values()

    def slow_and_deadly(part, victim):
        import time

        time.sleep(0.05)
        if os.getpid() == victim:
            os.kill(victim, signal.SIGKILL)
        return part

    dying = native.map_partitions(slow_and_deadly, victim, meta=native._meta)
    answered = combine(dying, "gp-mgla", {}).compute()
    assert_same(answered, reference("gp-mgla", {}), frame.columns)
    assert victim not in dask_cluster.run(os.getpid).values()


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark_in_local_mode(spark, arrow, frame, reference):
    from pyspark.sql import DataFrame

    plain = arrow.set_column(5, "category", arrow.column("category").cast(pa.string()))
    for method, params in METHODS:
        rows = spark.createDataFrame(plain)
        for native in (rows, rows.repartition(4), rows.orderBy("text").coalesce(1)):
            answered = combine(native, method, params)
            assert isinstance(answered, DataFrame)
            assert_same(answered.toArrow().to_pandas(), reference(method, params), frame.columns)


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_a_column_without_a_type_is_a_member_without_labels(spark):
    """Spark joins nothing to a column of NullType: every label was NULL."""
    rows = spark.createDataFrame([(i, i % 2, i % 2) for i in range(20)], "id int, a int, b int")
    untyped = rows.selectExpr("*", "NULL AS c")
    assert untyped.schema["c"].dataType.typeName() == "void"
    labels = {}
    for name, frame, members in (("typed", rows, ["a", "b"]), ("untyped", untyped, ["a", "b", "c"])):
        answered = qt.consensus_frame(frame, members, 2, "eac").toArrow().to_pandas().sort_values("id")
        labels[name] = answered["consensus"].tolist()
    assert labels["untyped"] == labels["typed"]
    assert set(labels["typed"]) == {0, 1}


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark_says_what_its_driver_needs_and_shuffles_what_it_cannot_broadcast(spark, monkeypatch):
    from quorate.tables.engines import spark_engine

    rows = spark.createDataFrame([(i, i % 5, i % 7) for i in range(70)], "id int, a int, b int")
    expected = qt.consensus_frame(rows, ["a", "b"], 2, "eac")
    monkeypatch.setattr(spark_engine, "_BROADCAST_SHARE", 0.0)
    shuffled = qt.consensus_frame(rows, ["a", "b"], 2, "eac")
    plans = [frame._jdf.queryExecution().executedPlan().toString() for frame in (expected, shuffled)]
    assert "BroadcastHashJoin" in plans[0]
    assert "BroadcastHashJoin" not in plans[1]
    assert "ShuffledHashJoin" in plans[1]
    assert sorted(shuffled.collect()) == sorted(expected.collect())
    monkeypatch.setattr(spark_engine, "_BYTES_PER_CELL", 10**9)
    with raises("spark-driver-memory") as raised:
        qt.consensus_frame(rows, ["a", "b"], 2, "eac")
    assert "spark.driver.memory=" in str(raised.value)


def test_the_memory_of_a_spark_driver_is_that_of_measured_runs():
    """A driver of 512 MB joined 300,000 distinct rows of ten labels, and ran out of memory with 600,000."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    from quorate.tables.engines import spark_engine

    session = SimpleNamespace(conf={"spark.driver.memory": "512m"})
    spark_engine._require_driver_memory(session, 300_000, 10)
    with raises("spark-driver-memory") as raised:
        spark_engine._require_driver_memory(session, 600_000, 10)
    assert "spark.driver.memory=1g" in str(raised.value)


def test_nulls_equal_each_other_in_joins():
    """Rows without a label in some member find their answer: SQL's = would lose them."""
    rows = {"a": [0, 0, None, None, 1, 1], "b": ["x", None, "x", None, "y", "y"]}
    expected = qt.Ensemble([rows["a"], rows["b"]])
    with warns("rows-without-labels"):
        labels = qt.GPMGLA(2).fit_predict(expected).tolist()
    source = pl.DataFrame(rows)
    with duckdb.connect() as connection:
        relation = connection.sql("SELECT *, row_number() OVER () AS i FROM source")
        with warns("rows-without-labels"):
            answered = qt.consensus_frame(relation, ["a", "b"], 2)
        assert [row[3] for row in answered.order("i").fetchall()] == labels
    with warns("rows-without-labels"):
        lazy = qt.consensus_frame(source.lazy(), ["a", "b"], 2)
    assert lazy.collect()["consensus"].to_list() == labels
    assert labels[3] == -1


def test_a_lazy_frame_stays_lazy():
    """Only the group-by runs at once: rows that appear later are labeled too, if their labels are known."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT range // 3 AS a, range // 2 AS b FROM range(6)")
        answered = qt.consensus_frame(connection.table("t"), n_clusters=2)
        connection.execute("INSERT INTO t VALUES (0, 0), (NULL, 7)")
        found = answered.order("a, b").fetchall()
    assert [row[2] for row in found] == [0, 0, 0, 0, 1, 1, 1, None]


def test_columns_that_are_taken_or_missing_are_refused(frame):
    taken = frame.assign(consensus=0)
    with raises("answer-exists"):
        qt.consensus_frame(taken, MEMBERS, 2)
    with raises("unknown-column"):
        qt.consensus_frame(frame, ["whole", "texts"], 2)
    with raises("column-list"):
        qt.consensus_frame(frame, ["whole", "whole"], 2)
    with raises("column-list"):
        qt.consensus_frame(frame, [], 2)
    with raises("column-list"):
        qt.consensus_frame(frame, "whole", 2)
    with raises("frame-type"):
        qt.consensus_frame([[1, 2], [1, 2]], n_clusters=2)


def test_noise_means_the_same_everywhere(labels, arrow):
    lazy = pl.from_arrow(arrow).lazy()
    with pytest.warns(qt.QuorateWarning):
        assert (lazy.pipe(qt.consensus_frame, MEMBERS, 3).collect()["consensus"].head(3) == -1).all()
    clustered = qt.consensus_frame(lazy, MEMBERS, 3, noise="cluster").collect()
    expected = qt.consensus(qt.Ensemble(labels, names=MEMBERS, noise="cluster"), 3)
    assert clustered["consensus"].to_list() == expected.labels.tolist()
    with raises("counted-noise"):
        qt.consensus_frame(lazy, MEMBERS, 3, noise="singletons")


def test_too_many_patterns_are_refused_before_they_are_collected(arrow):
    with qt.memory_limit("10kB"), raises("patterns-memory"):
        qt.consensus_frame(pl.from_arrow(arrow).lazy(), MEMBERS, 3)


def test_an_ensemble_from_a_lazy_frame_has_the_same_patterns(labels, arrow):
    expected = qt.Ensemble(labels, names=MEMBERS)
    ens = qt.ensemble_from_frame(pl.from_arrow(arrow).lazy(), MEMBERS)
    assert not ens.has_rows
    np.testing.assert_array_equal(ens.patterns, expected.patterns)
    np.testing.assert_array_equal(ens.counts, expected.counts)
    np.testing.assert_array_equal(qt.ncai(ens), qt.ncai(expected))
    with raises("patterns-only"), pytest.warns(qt.QuorateWarning):
        _ = qt.WEAC(3).fit(ens).labels_


def test_a_column_of_features_is_refused_on_any_engine():
    features = np.random.default_rng(0).normal(size=200)
    for native in (pl.DataFrame({"x": features}), pl.DataFrame({"x": features}).lazy()):
        with raises("features"):
            qt.consensus_frame(native, n_clusters=2)
    repeated = pl.DataFrame({"x": np.tile([0.5, 1.5, -2.5], 50), "y": np.tile([0, 1, 2], 50)})
    for native in (repeated, repeated.lazy()):
        with warns("fraction-columns"):
            frame = qt.consensus_frame(native, n_clusters=3)
        assert frame.lazy().collect()["consensus"].n_unique() == 3


def test_a_number_in_the_place_of_the_members_is_explained():
    with raises("column-list"):
        qt.consensus_frame(pd.DataFrame({"a": [0, 0, 1], "b": [0, 1, 1]}), 2)


@pytest.mark.parametrize("work", [qt.consensus_frame, qt.cluster_frame])
def test_frames_without_columns_or_with_levels_of_names_are_refused(work):
    """The first ended in an IndexError, the second in an AttributeError or in joined names."""
    levels = pd.MultiIndex.from_tuples([("x", "a"), ("x", "b"), ("y", "c")])
    for native in (pd.DataFrame(), pl.DataFrame(), pl.LazyFrame(), pa.table({})):
        with raises("no-columns"):
            work(native, n_clusters=2)
    with raises("column-levels"):
        work(pd.DataFrame(np.arange(12).reshape(4, 3) // 6, columns=levels), n_clusters=2)
