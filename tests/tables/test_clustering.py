"""Features to clusters: the same labels from every engine and partitioning; files whole or not at all; bad input."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest

import quorate as qt
from quorate import QuorateError, QuorateWarning
from quorate.cli import main
from quorate.columns.column_roles import ANSWER_COLUMNS
from quorate.tables.clustering import Recipe, cluster_table
from quorate.tables.io import open_table
from support import raises, warns

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    group = random.integers(4, size=1500)
    values = random.normal(scale=5, size=(4, 3))[group] + random.normal(size=(1500, 3))
    return values * [1, 100, 0.01] + [5, 0, 0], group


@pytest.fixture(scope="module")
def answer(rows):
    return qt.cluster_frame(rows[0], n_clusters=4, n_members=6)


def frame_of(values, number=None):
    number = np.arange(len(values)) if number is None else number
    return pd.DataFrame(values, columns=NAMES).assign(id=number)


def labels_of(frame, by="id"):
    return frame.sort_values(by)["consensus"].to_numpy()


def test_clusters_are_found(rows, answer):
    assert qt.evaluate(answer, rows[1]).ari > 0.95


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow", "polars lazy", "duckdb"])
@pytest.mark.filterwarnings("ignore:Ignored columns")
def test_every_engine_gives_the_same_labels(rows, answer, engine):
    order = np.random.default_rng(1).permutation(len(rows[0]))
    frame = frame_of(rows[0][order], order)
    if engine == "pandas":
        found = qt.cluster_frame(frame, n_clusters=4, n_members=6)
    elif engine == "pyarrow":
        found = qt.cluster_frame(pa.Table.from_pandas(frame), n_clusters=4, n_members=6).to_pandas()
    elif engine == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        relation = duckdb.from_df(frame)
        found = qt.cluster_frame(relation, n_clusters=4, n_members=6).df()
    else:
        polars = pl.from_pandas(frame)
        lazy = qt.cluster_frame(polars.lazy() if "lazy" in engine else polars, n_clusters=4, n_members=6)
        found = (lazy.collect() if "lazy" in engine else lazy).to_pandas()
    assert list(found.columns) == [*NAMES, "id", *ANSWER_COLUMNS]
    np.testing.assert_array_equal(labels_of(found), answer)
    assert found["confidence"].between(0, 1.0001).all()


@pytest.mark.filterwarnings("ignore")
def test_dask_in_two_processes(rows, answer):
    dd = pytest.importorskip("dask.dataframe")
    distributed = pytest.importorskip("dask.distributed")
    order = np.random.default_rng(2).permutation(len(rows[0]))
    with (
        distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        frame = dd.from_pandas(frame_of(rows[0][order], order), npartitions=5, sort=False)
        found = qt.cluster_frame(frame, n_clusters=4, n_members=6).compute()
    np.testing.assert_array_equal(labels_of(found), answer)


@pytest.mark.filterwarnings("ignore")
def test_dask_finishes_when_a_worker_is_killed(rows, answer):
    dd = pytest.importorskip("dask.dataframe")
    distributed = pytest.importorskip("dask.distributed")
    with (
        distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        frame = dd.from_pandas(frame_of(rows[0]), npartitions=6, sort=False)
        victim, *_ = client.run(os.getpid).values()

        def deadly(part, victim):
            if os.getpid() == victim:
                os.kill(victim, signal.SIGKILL)
            return part

        dying = frame.map_partitions(deadly, victim, meta=frame._meta)
        found = qt.cluster_frame(dying, n_clusters=4, n_members=6).compute()
        assert victim not in client.run(os.getpid).values()
    np.testing.assert_array_equal(labels_of(found), answer)


@pytest.mark.filterwarnings("ignore")
def test_spark_with_shuffled_partitions(rows, answer, tmp_path, monkeypatch):
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed (Debian: default-jre-headless)")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)  # executors need Quorate
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    order = np.random.default_rng(3).permutation(len(rows[0]))
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    spark = builder.config("spark.sql.warehouse.dir", str(tmp_path)).getOrCreate()
    try:
        native = spark.createDataFrame(pa.Table.from_pandas(frame_of(rows[0][order], order), preserve_index=False))
        for frame in (native.repartition(3), native.orderBy("b").coalesce(2)):
            found = qt.cluster_frame(frame, n_clusters=4, n_members=6).toArrow().to_pandas()
            np.testing.assert_array_equal(labels_of(found), answer)
    finally:
        spark.stop()


KILLED_WHILE_IT_WRITES = """
import os, signal, sys
import quorate as qt

def progress(what, done, total):
    if what == "Labeling" and done > 200_000:
        os.kill(os.getpid(), signal.SIGKILL)

qt.cluster_file(sys.argv[1], sys.argv[2], n_clusters=3, n_members=3, fit_rows=500, force=True, progress=progress)
"""


def test_killed_in_the_middle_the_old_file_stays_and_the_next_run_clears_up(tmp_path):
    values = np.random.default_rng(0).normal(size=(300_000, 2)).astype(np.float32)
    source, out = tmp_path / "rows.parquet", tmp_path / "out.parquet"
    pl.DataFrame(values, schema=["a", "b"]).write_parquet(source)
    out.write_text("as it was")
    done = subprocess.run(
        [sys.executable, "-c", KILLED_WHILE_IT_WRITES, str(source), str(out)], capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert out.read_text() == "as it was"
    result = qt.cluster_file(source, out, n_clusters=3, n_members=3, fit_rows=500, force=True)
    assert sum(result.sizes) == len(pl.read_parquet(out)) == 300_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.parquet", "rows.parquet"]


def test_a_memory_limit_is_kept_or_named(rows, answer, tmp_path):
    source, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    frame_of(rows[0])[NAMES].to_csv(source, index=False)
    with raises("engine-memory"):
        qt.cluster_file(source, out, n_clusters=4, n_members=6, memory_limit="1MB")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]
    qt.cluster_file(source, out, n_clusters=4, n_members=6, memory_limit="100MB")
    np.testing.assert_array_equal(pd.read_csv(out)["consensus"], answer)


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
@pytest.mark.filterwarnings("ignore:Ignored columns")
def test_files(rows, answer, tmp_path, ending):
    frame = pl.from_pandas(frame_of(rows[0])).with_columns(pl.lit("x").alias("text"))
    source, out = tmp_path / f"rows.{ending}", tmp_path / f"out.{ending}"
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "arrow": frame.write_ipc}[ending](source)
    result = qt.cluster_file(source, out, features=NAMES, n_clusters=4, n_members=6)
    found = {"csv": pl.read_csv, "parquet": pl.read_parquet, "arrow": pl.read_ipc}[ending](out)
    assert found.columns == [*NAMES, "id", "text", *ANSWER_COLUMNS]
    np.testing.assert_array_equal(found["id"].to_numpy(), np.arange(1500))  # in order
    np.testing.assert_array_equal(found["consensus"].to_numpy(), answer)
    assert result.sizes.tolist() == np.bincount(answer).tolist()
    assert qt.cluster_file(source, out, n_clusters=4, n_members=6, force=True).features == tuple(NAMES)


def test_new_rows(rows, answer):
    found, model = qt.cluster_frame(rows[0], n_clusters=4, n_members=6, return_model=True)
    np.testing.assert_array_equal(model.predict(rows[0]), found)
    np.testing.assert_array_equal(found, answer)


def test_missing_numbers(rows):
    values = rows[0].copy()
    values[::50, 1] = np.nan
    with raises("missing-features"):
        qt.cluster_frame(values, n_clusters=4, n_members=6)
    dropped = qt.cluster_frame(values, n_clusters=4, n_members=6, missing="drop")
    assert (dropped[::50] == -1).all()
    assert (np.delete(dropped, np.arange(0, 1500, 50)) >= 0).all()
    filled = qt.cluster_frame(values, n_clusters=4, n_members=6, missing="mean")
    assert (filled >= 0).all()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.filterwarnings("ignore:Ignored columns")
def test_a_disk_that_fills_up_while_it_is_written(tmp_path, ending):
    """A limit on the size of files stands for a disk that is full."""
    values = np.random.default_rng(0).normal(size=(20_000, 2))
    pl.DataFrame(values, schema=["a", "b"]).write_parquet(tmp_path / "rows.parquet")
    qt.cluster_file(tmp_path / "rows.parquet", tmp_path / "first.csv", n_clusters=2, n_members=3)  # kernels compile
    (tmp_path / "first.csv").unlink()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with raises("disk-full"):
            qt.cluster_file(tmp_path / "rows.parquet", tmp_path / f"out.{ending}", n_clusters=2, n_members=3)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


def test_a_full_disk_leaves_nothing_behind(rows, tmp_path, monkeypatch):
    frame = pl.from_pandas(frame_of(rows[0]))
    frame.write_parquet(tmp_path / "rows.parquet")

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "link", fail)
    monkeypatch.setattr(os, "replace", fail)
    with raises("cannot-write"):
        qt.cluster_file(tmp_path / "rows.parquet", tmp_path / "out.parquet", NAMES, 4, n_members=3)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


@pytest.mark.parametrize(
    ("change", "how", "code"),
    [
        ({"a": "text", "c": "more"}, {"features": NAMES}, "not-numeric"),
        ({"a": np.inf, "c": -np.inf}, {}, "infinite-features"),
        ({"a": 5e305}, {}, "infinite-features"),
        ({"a": 1.0, "b": 2.0, "c": 3.0}, {}, "constant-features"),
        ({name: np.arange(300) * 1e-300 for name in NAMES}, {}, "tiny-features"),
        ({}, {"scale": "log"}, "choice"),
        ({}, {"missing": "median"}, "choice"),
        ({}, {"feature": ["a"]}, "unknown-parameter"),
        ({}, {"features": ["d", "a", "e"]}, "unknown-column"),
        ({}, {"features": 5}, "column-list"),
        ({}, {"features": "a"}, "column-list"),
        ({"consensus": 1}, {}, "answer-exists"),
        ({"a": "x", "b": "y", "c": "z"}, {}, "no-features"),
        ({"a": np.nan}, {"missing": "drop"}, "empty-features"),
    ],
)
@pytest.mark.filterwarnings("ignore:Ignored columns")
def test_refuses_bad_input(rows, change, how, code):
    frame = pd.DataFrame(rows[0][:300], columns=NAMES).assign(**change)
    with raises(code):
        qt.cluster_frame(frame, **{"n_clusters": 3, "n_members": 3, **how})


@pytest.mark.parametrize("how", [{"n_clusters": 301}, {"fit_rows": 50, "n_clusters": 60}])
def test_refuses_more_clusters_than_rows(rows, how):
    with pytest.raises(QuorateError):
        qt.cluster_frame(pd.DataFrame(rows[0][:300], columns=NAMES), n_members=3, **how)


def test_a_number_in_place_of_the_features_of_an_array(rows):
    with raises("column-list", parameter="features"):
        qt.cluster_frame(rows[0], 5)
    with raises("array-features", parameter="features"):
        qt.cluster_frame(rows[0], ["a"])


def test_reports_ignored_and_constant_columns(rows):
    frame = frame_of(rows[0][:300]).assign(kind="x", empty=np.nan, constant=1.0, tiny=np.arange(300) * 1e-300)
    with pytest.warns(QuorateWarning) as warned:
        qt.cluster_frame(frame, n_clusters=3, n_members=3)
    messages = {one.message.code: str(one.message) for one in warned}
    assert "Ignored columns: id (ID), kind (text)." in messages["ignored-columns"]
    assert "'empty', 'constant' are" in messages["constant-features"]
    assert "'tiny' varies" in messages["tiny-features"]


def test_an_empty_column_of_a_file_is_called_so(rows, tmp_path):
    frame_of(rows[0][:300]).assign(empty=np.nan).drop(columns="id").to_csv(tmp_path / "rows.csv", index=False)
    with warns("ignored-columns"):
        qt.cluster_file(tmp_path / "rows.csv", tmp_path / "out.csv", n_clusters=4, n_members=3)


def agreeing_labels():
    """Six clusterings of 300 rows in 24 combinations, some labels missing."""
    rows = np.arange(300)
    labels = pd.DataFrame({f"m{k}": rows * k // 300 for k in range(3, 9)}, dtype=float)
    return labels.mask(np.add.outer(rows // 20, np.arange(6)) % 12 == 0)


def test_labels_used_as_features_warn_once(tmp_path, capsys):
    labels = agreeing_labels().fillna(0).astype(int)
    assert len(labels.drop_duplicates()) < 60
    labels.insert(0, "id", range(300))
    labels.to_csv(tmp_path / "labels.csv", index=False)
    assert main(["cluster", str(tmp_path / "labels.csv"), "-k", "3", "--n-members", "3"]) == 0
    told = capsys.readouterr().err
    assert told.count("look like labels, not features") == told.count("use `quorate combine`") == 1
    for held in (agreeing_labels(), agreeing_labels().to_numpy()):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            qt.cluster_frame(held, n_clusters=3, n_members=3, missing="mean")
        assert [getattr(one.message, "code", "") for one in said].count("labels-as-features") == 1
        assert {one.filename for one in said} == {__file__}


def test_decimal_commas_are_reported(rows, tmp_path):
    commas = pd.DataFrame(rows[0][:60], columns=NAMES).map(lambda number: f"{number:.3f}".replace(".", ","))
    commas.to_csv(tmp_path / "rows.csv", sep=";", index=False, encoding="utf-8-sig")
    for features, code in ((None, "no-features"), (["b"], "not-numeric")):
        with raises(code) as raised:
            qt.cluster_file(tmp_path / "rows.csv", tmp_path / "out.csv", features=features)
        assert "'a', 'b', 'c' look like numbers with a decimal comma" in str(raised.value)
    with raises("decimal-commas"):
        qt.consensus_file(tmp_path / "rows.csv", tmp_path / "out.csv")
    commas.assign(b=rows[0][:60, 1]).to_csv(tmp_path / "rows.csv", sep=";", index=False)
    with warns("ignored-columns"):
        qt.cluster_file(tmp_path / "rows.csv", tmp_path / "out.csv", n_clusters=2, n_members=3)


def test_answers_to_questions_are_features_without_a_warning():
    rng = np.random.default_rng(0)
    answers = np.clip(np.round(3 + rng.normal(size=(200, 1)) + 0.6 * rng.normal(size=(200, 6))), 1, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        qt.cluster_frame(answers, n_clusters=3, n_members=3)


@pytest.fixture(scope="module")
def model(rows):
    return {
        members: qt.cluster_frame(rows[0], n_clusters=4, n_members=3, members=members, return_model=True)
        for members in ("kmeans", "spectral")
    }


@pytest.mark.parametrize("members", ["kmeans", "spectral"])
def test_a_model_comes_back_from_its_file(rows, model, tmp_path, members):
    labels, fitted = model[members]
    fitted.save(tmp_path / "model.npz")
    loaded = qt.load(tmp_path / "model.npz")
    assert loaded.features == fitted.features
    np.testing.assert_array_equal(loaded.predict(rows[0]), labels)


def test_damaged_models_and_other_versions_are_refused(model, tmp_path):
    path = tmp_path / "model.npz"
    model["kmeans"][1].save(path)
    content = path.read_bytes()
    (tmp_path / "short.npz").write_bytes(content[: len(content) // 2])
    (tmp_path / "text.npz").write_text("no model")
    for name in ("short.npz", "text.npz"):
        with raises("damaged-model"):
            qt.load(tmp_path / name)
    with np.load(path) as arrays:
        kept = dict(arrays)
    newer = kept["manifest"].tobytes().replace(b'"version": 1', b'"version": 9')
    np.savez(tmp_path / "newer.npz", **{**kept, "manifest": np.frombuffer(newer, dtype=np.uint8)})
    with raises("saved-format"):
        qt.load(tmp_path / "newer.npz")
    np.savez(tmp_path / "unfit.npz", **{**kept, "votes_votes": kept["votes_votes"][:-1]})
    np.savez(tmp_path / "pickled.npz", **{**kept, "fill": np.array([{}], dtype=object)})
    for name in ("unfit.npz", "pickled.npz"):
        with raises("damaged-model"):
            qt.load(tmp_path / name)


def test_models_name_all_columns_they_lack_or_cannot_read(model, rows):
    fitted = model["kmeans"][1]
    first, second, third = fitted.features
    frame = pd.DataFrame(rows[0][:9], columns=fitted.features)
    with raises("missing-columns") as raised:
        fitted.predict(frame[[second]])
    assert f"{first!r}, {third!r}" in str(raised.value)
    with raises("not-numeric"):
        fitted.predict(frame.assign(**{first: "NL", third: "DE"}))


@pytest.mark.filterwarnings("ignore:Ignored columns")
def test_the_command(rows, answer, tmp_path, capsys):
    source = tmp_path / "rows.csv"
    frame_of(rows[0])[["id", *NAMES]].to_csv(source, index=False)
    out, saved, report = (str(tmp_path / name) for name in ("out.csv", "model.npz", "report.html"))
    command = ["cluster", str(source), "-k", "4", "-m", "6", "-o", out, "--model", saved, "--report", report, "--json"]
    assert main(command) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["features"]["sizes"] == np.bincount(answer).tolist()
    assert len(summary["features"]["distinctive"]["4"]) == 4
    found = pd.read_csv(out)
    assert list(found.columns) == ["id", *ANSWER_COLUMNS]
    np.testing.assert_array_equal(found["consensus"], answer)
    assert "<html" in (tmp_path / "report.html").read_text()
    again = str(tmp_path / "again.csv")
    assert main(["assign", str(source), "--model", saved, "-o", again, "-q"]) == 0
    np.testing.assert_array_equal(pd.read_csv(again)["consensus"], answer)
    assert main(["cluster", str(source), "-k", "4", "-o", out]) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:Ignored columns")
def test_columns_are_chosen_once_and_rows_hashed_once(rows, tmp_path, monkeypatch, capsys):
    from quorate.columns import column_roles
    from quorate.features import sampling

    hashed, chosen = [], []
    hash_rows, with_id = sampling.hash_rows, column_roles._with_id
    monkeypatch.setattr(
        sampling, "hash_rows", lambda values, seed: hashed.append(len(values)) or hash_rows(values, seed)
    )
    monkeypatch.setattr(column_roles, "_with_id", lambda *roles: chosen.append(1) or with_id(*roles))
    frame_of(rows[0]).assign(key=[f"k{i}" for i in range(1500)]).to_csv(tmp_path / "rows.csv", index=False)
    arguments = [
        "cluster",
        tmp_path / "rows.csv",
        "-k",
        4,
        "--n-members",
        4,
        "--id",
        "key",
        "-q",
        "-o",
        tmp_path / "o.csv",
    ]
    assert main([*map(str, arguments), "--summary", str(tmp_path / "s.json")]) == 0
    assert sum(hashed) == 1500
    assert len(chosen) == 1


@pytest.mark.parametrize("missing", ["mean", "drop"])
def test_the_sample_has_the_cells_of_its_rows(tmp_path, missing):
    values = np.random.default_rng(0).normal(size=(500, 2)).round(1)
    values[::7, 0] = np.nan
    pd.DataFrame(values, columns=["a", "b"]).assign(key=[f"k{i}" for i in range(500)]).to_csv(
        tmp_path / "t.csv", index=False
    )
    recipe = Recipe.of(2, "none", missing, 0, {"n_members": 3})
    with open_table(tmp_path / "t.csv") as table:
        result = cluster_table(table, ["a", "b"], recipe, None, keep=(), traced=["key"])
    assert [f"k{number}" for number in result.trace.numbers] == result.trace.cells["key"]
    np.testing.assert_array_equal(values[result.trace.numbers], result.sample.rows)
