"""The generated SQL labels new rows as `predict` does, on real engines; for the others it is parsed."""

import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import quorate as qt
from quorate.algorithms.sql_export import DIALECTS
from support import raises

sqlglot = pytest.importorskip("sqlglot")
pytestmark = pytest.mark.filterwarnings("ignore::quorate.errors.QuorateWarning")

NAMES = ["a b", 'quo"te', "it's", "größe", "日本", "back\\slash", "select", "c0", "l1", "a;--", "`tick`", "consensus_1"]
TEXTS = ["x", "X", "it's", 'say "no"', "", " ", "ü", "u\u0308", "日本", "a\\n", "-1", "1", "%s", "; DROP TABLE t; --"]


def random_columns(random, members, n_rows, n_unseen):
    """Return columns of labels by name, with some labels that other rows do not have."""
    columns = {}
    for name, kind, n_labels, missing in members:
        texts = [*TEXTS[:n_labels], "new", "newer"]
        labels = [
            texts[i] if kind == "text" else i * (10**15 + 7 if kind == "large" else 1)
            for i in random.integers(0 if kind == "text" else -2, n_labels + n_unseen, n_rows).tolist()
        ]
        hidden = random.random(n_rows) < missing
        columns[name] = [None if gone else label for gone, label in zip(hidden, labels, strict=True)]
    return columns


def random_case(seed):
    """Return a result and new rows: missing, unseen and text labels, members without weight, awkward names."""
    random = np.random.default_rng(seed)
    n_members = int(random.integers(1, 7))
    members = [
        (name, random.choice(["number", "text", "large"]), int(random.integers(1, 8)), random.choice([0, 0.2, 0.6]))
        for name in random.permutation(NAMES)[:n_members].tolist()
    ]
    labels = random_columns(random, members, int(random.integers(4, 60)), 0)
    for name, kind, *_ in members:
        labels[name][0] = TEXTS[0] if kind == "text" else 0  # no member is empty
    new = random_columns(random, members, int(random.integers(1, 40)), 2)
    weights = random.choice([0.0, 0.3, 1.0], n_members)
    weights[random.integers(n_members)] = 1.0
    ens = qt.Ensemble(labels, noise=str(random.choice(["missing", "cluster"])))
    like = random.integers(5, 9, ens.n_rows) if random.random() < 0.3 else None
    return qt.consensus(ens, int(random.integers(1, 5)), "weac", weights=weights, like=like), new


def column_types(result):
    levels = zip(result.ensemble.names, result.ensemble.levels, strict=True)
    return {name: "TEXT" if values.dtype.kind == "O" else "BIGINT" for name, values in levels}


def set_up(result, new, export):
    """Return a script that creates the new rows and the exported tables."""
    columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in column_types(result).items())
    rows = (", ".join(map(literal, row)) for row in zip(*new.values(), strict=True))
    return (
        f"DROP TABLE IF EXISTS new_rows;\nCREATE TABLE new_rows (row_id BIGINT, {columns});\n"
        + "INSERT INTO new_rows VALUES "
        + ",\n".join(f"({i}, {row})" for i, row in enumerate(rows))
        + f";\n{export.tables}\n"
    )


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def literal(label):
    return "NULL" if label is None else str(label) if isinstance(label, int) else "'" + label.replace("'", "''") + "'"


def in_duckdb(result, new):
    export = result.to_sql("duckdb")
    connection = duckdb.connect()
    connection.execute(set_up(result, new, export))
    return connection.sql(f"SELECT consensus FROM ({export.query}) ORDER BY row_id").fetchall()


def in_sqlite(result, new):
    export = result.to_sql("sqlite")
    connection = sqlite3.connect(":memory:")
    connection.executescript(set_up(result, new, export))
    return connection.execute(f"SELECT consensus FROM ({export.query}) ORDER BY row_id").fetchall()


@pytest.fixture(scope="module")
def in_postgres():
    """A private PostgreSQL server on a socket in a temporary folder, run by an unprivileged user."""
    homes = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not homes:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    user = {"user": "nobody"} if os.geteuid() == 0 else {}
    bin_ = homes[-1].parent
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # the path of a socket must be short
        folder = Path(name)
        if user:
            shutil.chown(folder, "nobody")
        yield from _postgres_in(folder, bin_, user)


def _postgres_in(folder, bin_, user):
    data = folder / "data"

    def run(*command, **options):
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder, **options)

    run(bin_ / "initdb", "-D", data, "-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", **user)
    settings = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
    # The server keeps the pipes of its parent open, so it gets none.
    start = [bin_ / "pg_ctl", "-D", data, "-w", "-o", settings, "-l", folder / "log", "start"]
    subprocess.run(start, check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **user)

    def label(result, new):
        export = result.to_sql("postgres")
        script = set_up(result, new, export)
        script += f"SELECT consensus FROM ({export.query}) AS answer ORDER BY row_id;\n"
        command = [bin_ / "psql", "-h", str(folder), "-U", "test", "-qAtX", "-v", "ON_ERROR_STOP=1", "postgres"]
        done = run(*command, input="SET client_min_messages TO warning;\n" + script)
        return [(int(line),) for line in done.stdout.split()]

    yield label
    run(bin_ / "pg_ctl", "-D", data, "-m", "immediate", "stop", **user)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("engine", [in_duckdb, in_sqlite])
def test_labels_equal_those_of_predict(engine, seed):
    result, new = random_case(seed)
    assert [label for (label,) in engine(result, new)] == result.predict(new).tolist()


@pytest.mark.parametrize("seed", range(10))
def test_labels_in_postgres_equal_those_of_predict(in_postgres, seed):
    result, new = random_case(seed)
    assert [label for (label,) in in_postgres(result, new)] == result.predict(new).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgres"])
def test_labels_of_500_ensembles_equal_those_of_predict(engine, request):
    label_rows = {"duckdb": in_duckdb, "sqlite": in_sqlite}.get(engine) or request.getfixturevalue("in_postgres")
    n_unknown = 0
    for seed in range(1000, 1500):
        result, new = random_case(seed)
        expected = result.predict(new)
        n_unknown += int((expected < 0).sum())
        assert [label for (label,) in label_rows(result, new)] == expected.tolist(), seed
    assert n_unknown > 100


def test_labels_in_spark_equal_those_of_predict(spark):
    for seed in range(3):
        result, new = random_case(seed)
        export = result.to_sql("spark", table="spark_rows", prefix="spark_quorate")
        types = column_types(result).items()
        schema = ", ".join(f"`{name.replace('`', '``')}` {kind.replace('TEXT', 'STRING')}" for name, kind in types)
        rows = [(i, *row) for i, row in enumerate(zip(*new.values(), strict=True))]
        spark.createDataFrame(rows, f"row_id bigint, {schema}").createOrReplaceTempView("spark_rows")
        for statement in re.split(r";\n(?=DROP|CREATE|INSERT)", export.tables.removesuffix(";")):
            spark.sql(statement)
        answer = spark.sql(export.query).orderBy("row_id").select("consensus").collect()
        assert [row.consensus for row in answer] == result.predict(new).tolist()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_parses(dialect):
    for seed in range(5):
        result, _ = random_case(seed)
        export = result.to_sql(dialect, table="warehouse.new_rows", prefix="warehouse.quorate")
        parsed = sqlglot.parse(str(export), read=dialect, error_level=sqlglot.ErrorLevel.RAISE)
        queries = [statement for statement in parsed if isinstance(statement, sqlglot.exp.Select)]
        assert len(queries) == 2
        columns = {column.name for column in queries[0].find_all(sqlglot.exp.Column)}
        assert set(result.ensemble.names) <= columns


@pytest.mark.parametrize("engine", [in_duckdb, in_sqlite])
def test_a_hundred_members_and_one_without_labels(engine):
    random = np.random.default_rng(0)
    labels = {f"m{j}": random.integers(0, 4, 60).tolist() for j in range(100)}
    result = qt.consensus(qt.Ensemble({"empty": [None] * 60, **labels}), 3, "weac")
    new = {"empty": [7] * 20, **{name: random.integers(0, 5, 20).tolist() for name in labels}}
    assert [label for (label,) in engine(result, new)] == result.predict(new).tolist()


def test_a_noise_row_of_its_own_counts_as_missing():
    labels = {"a": [-1, -1, 0, 0, 1, 1], "b": [0, 0, 0, 0, 1, 1]}
    result = qt.consensus(qt.Ensemble(labels, noise="singletons"), 2, "weac")
    new = {"a": [-1, 0, 1, -3], "b": [0, 0, 1, 1]}
    assert [label for (label,) in in_duckdb(result, new)] == result.predict(new).tolist()


def test_float_columns_with_nan_match_whole_labels():
    result = qt.consensus({"a": [0, 0, 1, 1], "b": [0, 0, 0, 1]}, 2, "weac")
    new = pd.DataFrame({"a": [0.0, np.nan, 1.0, 0.5, np.nan] * 3, "b": [0.0, 1.0, np.nan, 1.0, np.nan] * 3})
    export = result.to_sql("duckdb", table="frame")
    connection = duckdb.connect().register("frame", new.assign(row_id=range(15)))
    connection.execute(export.tables)
    answer = connection.sql(f"SELECT consensus FROM ({export.query}) ORDER BY row_id").fetchall()
    assert [label for (label,) in answer] == result.predict(new).tolist()


def test_counted_patterns_give_the_consensus_of_the_rows():
    random = np.random.default_rng(0)
    rows = pd.DataFrame({"a": random.integers(0, 3, 500), "b": random.integers(0, 4, 500), "c": ["x", "y"] * 250})
    result = qt.consensus(rows, 3)
    connection = duckdb.connect().register("new_rows", rows)
    counted = connection.sql(result.to_sql("duckdb").patterns).df()
    assert len(counted) <= 24
    again = qt.consensus(qt.Ensemble(counted[["a", "b", "c"]], row_weights=counted["n"]), 3)
    assert (again.predict(rows) == result.labels).all()


def test_a_fitted_method_is_exported_too():
    labels = [["x", "x", "y", "y"], [1, 1, 2, 2]]
    fitted, result = qt.WEAC(n_clusters=2).fit(labels), qt.consensus(labels, 2, "weac")
    assert str(fitted.to_sql("duckdb")) == str(result.to_sql("duckdb"))


@pytest.mark.parametrize(
    ("labels", "options", "code"),
    [
        ([[0, 0, 1]], {"dialect": "oracle"}, "choice"),
        ([[0, 0, 1]], {"table": "not a table name"}, "table-name"),
        ([[0.5, 0.5, 0.5, 1.5, 1.5, 1.5]], {}, "fractional-labels"),
    ],
)
def test_what_cannot_be_exported_is_refused(labels, options, code):
    result = qt.consensus(labels, 1, "weac")
    with raises(code):
        result.to_sql(**{"dialect": "duckdb", **options})
