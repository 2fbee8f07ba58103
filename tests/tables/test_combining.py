"""Consensus of files of any size: formats, order, memory, full disks, patterns that do not fit into memory."""

import os
import subprocess
import sys
import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import quorate as qt
from quorate._runtime import memory
from quorate.analysis import choose_k
from quorate.ensemble import ensemble_blocks, ensemble_size, pattern_codes
from quorate.numerics.kmeans import Assignment
from quorate.tables.out_of_core import block_consensus, pattern_blocks
from support import raises

MEMBERS = ["a", "b", "c", "d"]


def drawn(n_rows=3000, k=6, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, n_rows)
    return [np.where(rng.random(n_rows) < noise, rng.integers(0, k, n_rows), group) for _ in MEMBERS]


def write(path, labels, columns="*", where="true"):
    held = dict(zip(MEMBERS, labels, strict=True)) | {"id": np.arange(len(labels[0]))}
    with duckdb.connect() as connection:
        connection.register("held", held)
        connection.execute(f"COPY (SELECT {columns} FROM held WHERE {where}) TO '{path}'")


def read(path, columns="consensus, confidence, margin, runner_up"):
    with duckdb.connect() as connection:
        return connection.execute(f"SELECT {columns} FROM '{path}' ORDER BY id").fetchnumpy()


@pytest.fixture
def labels():
    return drawn()


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "csv.gz", "arrow"])
@pytest.mark.parametrize("method", ["gp-mgla", "weac", "eac"])
def test_every_format_gives_the_answer_from_arrays(tmp_path, labels, method, ending):
    source, out = tmp_path / "labels.parquet", tmp_path / f"out.{ending}"
    write(source, labels)
    result = qt.consensus_file(source, out, members=MEMBERS, n_clusters=4, method=method)
    expected = qt.consensus(qt.Ensemble(labels, names=MEMBERS), 4, method)
    assert (result.n_rows, result.n_clusters, result.n_patterns) == (3000, 4, expected.ensemble.n_patterns)
    assert result.clusters == expected.clusters
    np.testing.assert_array_equal(result.member_weights, expected.member_weights)
    if ending != "arrow":
        answered = read(out, "id, consensus, confidence, a")
        assert answered["consensus"].tolist() == expected.labels.tolist()
        np.testing.assert_allclose(answered["confidence"], expected.confidence, rtol=1e-15)
        assert answered["a"].tolist() == labels[0].tolist()
    else:
        ipc = pytest.importorskip("pyarrow.feather")
        assert ipc.read_table(out).column("consensus").to_pylist() == expected.labels.tolist()


def test_text_tables_are_read_as_labels_and_their_cells_kept(tmp_path):
    source = tmp_path / "labels.csv"
    source.write_text("id,a,b\n007,x,1\n008,x,1.0\n009,y,\n010,,2\n011,y,2\n")
    qt.consensus_file(source, tmp_path / "out.csv", members=["a", "b"], n_clusters=2)
    expected = qt.consensus([["x", "x", "y", None, "y"], [1, 1, None, 2, 2]], 2)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "id,a,b,consensus,confidence,margin,runner_up"
    assert [line.split(",")[:3] for line in lines[1:3]] == [["007", "x", "1"], ["008", "x", "1.0"]]
    assert [int(line.split(",")[3]) for line in lines[1:]] == expected.labels.tolist()
    qt.consensus_file(source, tmp_path / "out.parquet", members=["a", "b"], n_clusters=2)
    with duckdb.connect() as connection:
        types = connection.execute(f"DESCRIBE SELECT * FROM '{tmp_path / 'out.parquet'}'").fetchall()
    assert [row[1] for row in types] == ["VARCHAR", "VARCHAR", "BIGINT", "BIGINT", "DOUBLE", "DOUBLE", "BIGINT"]


def test_rows_keep_their_order_and_other_columns(tmp_path):
    labels = drawn(300_000)
    write(tmp_path / "labels.parquet", labels, "*, 'row ' || id AS note")
    qt.consensus_file(tmp_path / "labels.parquet", tmp_path / "out.parquet", members=MEMBERS, n_clusters=4)
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT id, note FROM '{tmp_path / 'out.parquet'}'").fetchnumpy()
    assert np.array_equal(found["id"], np.arange(300_000))
    assert found["note"][-1] == "row 299999"
    qt.consensus_file(
        tmp_path / "labels.parquet", tmp_path / "any.parquet", members=MEMBERS, n_clusters=4, keep_order=False
    )
    assert read(tmp_path / "any.parquet")["consensus"].tolist() == read(tmp_path / "out.parquet")["consensus"].tolist()


@pytest.mark.parametrize("source", ["folder", "folder/*.parquet", "folder/part_?.parquet"])
def test_folders_and_patterns_of_parquet_are_one_table(tmp_path, labels, source):
    (tmp_path / "folder").mkdir()
    for part in range(3):
        write(tmp_path / f"folder/part_{part}.parquet", labels, where=f"id // 1000 = {part}")
    qt.consensus_file(tmp_path / source, tmp_path / "out.parquet", members=["[a-d]"], n_clusters=4)
    assert read(tmp_path / "out.parquet")["consensus"].tolist() == qt.consensus(labels, 4).labels.tolist()


def test_what_cannot_work_is_refused_before_any_work(tmp_path, labels):
    source = tmp_path / "labels.parquet"
    write(source, labels, "*, 1 AS consensus")
    (tmp_path / "empty").mkdir()
    with raises("answer-exists"):
        qt.consensus_file(source, tmp_path / "out.parquet", members=MEMBERS)
    with raises("no-files"):
        qt.consensus_file(tmp_path / "empty", tmp_path / "out.parquet")
    with raises("no-files"):
        qt.consensus_file(tmp_path / "*.pq", tmp_path / "out.parquet")
    with raises("output-is-input"):
        qt.consensus_file(source, source)
    with raises("output-is-input"):
        qt.consensus_file(tmp_path, tmp_path / "out.parquet")
    with raises("unknown-column"):
        qt.consensus_file(source, tmp_path / "out.parquet", members=["a", "e"])
    with raises("column-list"):
        qt.consensus_file(source, tmp_path / "out.parquet", members="ab")
    with raises("output-format"):
        qt.consensus_file(source, tmp_path / "out.csv.bz2")
    with raises("choice"):
        qt.consensus_file(source, tmp_path / "out.parquet", method="gpmgla")
    assert not (tmp_path / "out.parquet").exists()


def test_an_existing_file_is_replaced_only_on_request(tmp_path, labels):
    source, out = tmp_path / "labels.parquet", tmp_path / "out.parquet"
    write(source, labels)
    out.write_text("mine")
    with raises("output-exists"):
        qt.consensus_file(source, out, members=MEMBERS, n_clusters=3)
    assert out.read_text() == "mine"
    qt.consensus_file(source, out, members=MEMBERS, n_clusters=3, force=True)
    assert len(read(out)["consensus"]) == 3000


FULL_DISK = """
import resource, sys
import quorate as qt

source, out, first = sys.argv[1:]
options = {"members": list("abcd"), "n_clusters": 4}
qt.consensus_file(source, first, **options)  # everything is loaded and compiled before the disk is full
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))  # what a full disk does to a write
try:
    qt.consensus_file(source, out, **options)
except qt.QuorateError as error:
    print(error)
"""


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_full_disk_leaves_a_clear_error_and_no_file(tmp_path, ending):
    write(tmp_path / "labels.parquet", drawn(200_000), "*, hash(id) AS payload")
    (tmp_path / "out").mkdir()
    (tmp_path / "temporary").mkdir()
    paths = [tmp_path / "labels.parquet", tmp_path / f"out/out.{ending}", tmp_path / f"first.{ending}"]
    # No module may be cached while files cannot grow: it would be cut off.
    settings = {"TMPDIR": str(tmp_path / "temporary"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, *map(str, paths)],
        capture_output=True,
        text=True,
        check=True,
        timeout=180,
        env={**os.environ, **settings, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert "cannot be written completely: File too large. Free disk space" in done.stdout
    assert list((tmp_path / "out").iterdir()) == []
    assert list((tmp_path / "temporary").iterdir()) == []


def test_an_exceeded_memory_limit_leaves_a_clear_error_and_no_file(tmp_path):
    write(tmp_path / "labels.parquet", drawn(300_000, k=90, noise=1.0))
    with raises("engine-memory"):
        qt.consensus_file(
            tmp_path / "labels.parquet", tmp_path / "out.parquet", members=MEMBERS, n_clusters=4, memory_limit="8MB"
        )
    assert [file.name for file in tmp_path.iterdir()] == ["labels.parquet"]


@pytest.mark.parametrize("method", ["gp-mgla", "hbgf"])
def test_patterns_that_do_not_fit_into_memory_give_the_same_answer(tmp_path, monkeypatch, method):
    """With room for a few patterns only, graph methods read them in blocks from DuckDB."""
    monkeypatch.setattr(pattern_blocks, "BLOCK", 5000)
    monkeypatch.setattr(memory, "BYTES_PER_LABEL", 10_000)  # as if patterns needed far more than they do
    labels = drawn(40_000, k=25, noise=0.7)
    columns = "* REPLACE (CASE WHEN a % 5 = 4 THEN NULL ELSE a END AS a, 'x' || b AS b, CAST(c AS DOUBLE) AS c)"
    write(tmp_path / "labels.parquet", labels, columns)
    options = {"members": MEMBERS, "n_clusters": 4, "method": method}
    whole = qt.consensus_file(tmp_path / "labels.parquet", tmp_path / "whole.parquet", **options)
    parts = qt.consensus_file(
        tmp_path / "labels.parquet", tmp_path / "parts.parquet", **options, memory_limit="100MB", threads=2
    )
    expected, found = read(tmp_path / "whole.parquet"), read(tmp_path / "parts.parquet")
    assert found["consensus"].tolist() == expected["consensus"].tolist()
    np.testing.assert_allclose(found["confidence"], expected["confidence"], atol=1e-12)
    np.testing.assert_allclose(found["margin"], expected["margin"], atol=1e-12)
    assert found["runner_up"].tolist() == expected["runner_up"].tolist()
    assert [cluster.size for cluster in parts.clusters] == [cluster.size for cluster in whole.clusters]
    assert [c.stability for c in parts.clusters] == pytest.approx([c.stability for c in whole.clusters])
    assert parts.n_patterns == whole.n_patterns


def test_methods_that_need_all_patterns_say_what_they_would_need(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "BYTES_PER_LABEL", 10_000)
    write(tmp_path / "labels.parquet", drawn(40_000, k=25, noise=0.7))
    for method, params in (("weac", {}), ("gp-mgla", {"init": "k-means++"})):
        with raises("patterns-memory"):
            qt.consensus_file(
                tmp_path / "labels.parquet",
                tmp_path / "out.parquet",
                members=MEMBERS,
                n_clusters=4,
                method=method,
                memory_limit="100MB",
                threads=2,
                **params,
            )
    assert not (tmp_path / "out.parquet").exists()


class PatternsInMemory:
    """The patterns of an ensemble as a store."""

    def __init__(self, ens):
        self.codes = pattern_codes(ens)
        self.counts = ens.row_counts

    @property
    def n_patterns(self):
        return len(self.codes)

    def read(self, start, stop):
        return self.codes[start:stop], self.counts[start:stop]


def warned(work):
    """What some work returns, and what it warns of."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", qt.QuorateWarning)
        return work(), sorted(str(one.message) for one in heard)


@pytest.mark.parametrize("start", ["ward", "heaviest"])
@pytest.mark.parametrize("method", [qt.GPMGLA, qt.HBGF])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_blocks_of_patterns_give_the_answer_in_memory(monkeypatch, method, start, gaps):
    monkeypatch.setattr(pattern_blocks, "BLOCK", 37)
    rng = np.random.default_rng(3)
    labels = [vector.astype(float) for vector in drawn(500, k=12, noise=0.5, seed=4)]
    for vector in labels:
        vector[rng.random(500) < gaps] = np.nan
        vector[:2] = np.nan if gaps else vector[:2]
    ens = qt.Ensemble(labels)
    stored = pattern_blocks.StoredEnsemble(ens.names, ens.levels, ens.noise, ens.n_rows, PatternsInMemory(ens))
    assert (stored.n_patterns, stored.total_weight) == (ens.n_patterns, ens.total_weight)
    np.testing.assert_array_equal(stored.cooccurrence.toarray(), ens.cooccurrence.toarray())
    # Memory is needed for three blocks, one being read while two are there, one of them with its answer.
    assert ensemble_size(stored).patterns == pytest.approx(3 * ens.n_patterns / len(ensemble_blocks(stored)))
    for k in (1, 2, 4, 11, 40, "auto"):
        estimator = method(k, init=start)
        expected, said = warned(lambda: estimator.fit(ens))  # noqa: B023
        found, said_of_blocks = warned(lambda: block_consensus.fit_blocks(estimator, stored))  # noqa: B023
        assert said_of_blocks == said
        labels_of = np.concatenate([labels for labels, _ in found.answers()])
        assert labels_of.tolist() == expected.pattern_labels_.tolist()
        parts = zip(*(certain for _, certain in found.answers()), strict=True)
        for part, whole in zip(parts, expected.pattern_certainty_, strict=True):
            np.testing.assert_allclose(np.concatenate(part), whole, atol=1e-12)
        for attribute in ("size", "stability", "cohesion", "merge_cost"):
            values = [getattr(cluster, attribute) for cluster in expected.clusters_]
            assert [getattr(cluster, attribute) for cluster in found.clusters] == pytest.approx(values)
        assert found.member_weights == pytest.approx(expected.member_weights_)
        assert found.n_clusters == expected.n_clusters_


def test_the_automatic_number_samples_the_same_rows_of_blocks(monkeypatch):
    monkeypatch.setattr(pattern_blocks, "BLOCK", 37)
    monkeypatch.setattr(choose_k, "MOST_ROWS", 100)
    ens = qt.Ensemble(drawn(500, k=12, noise=0.5, seed=4))
    stored = pattern_blocks.StoredEnsemble(ens.names, ens.levels, ens.noise, ens.n_rows, PatternsInMemory(ens))
    of_blocks, whole = (choose_k.sample_rows(each) for each in (stored, ens))
    assert of_blocks.n_rows == whole.n_rows == 100
    np.testing.assert_array_equal(of_blocks.patterns, whole.patterns)
    np.testing.assert_array_equal(of_blocks.counts, whole.counts)
    assert qt.choose_k(stored) == qt.choose_k(ens)


def test_blocks_of_patterns_are_counted_where_one_was_moved(monkeypatch):
    """As if k-means had given an empty cluster pattern 60, which is in the second block."""
    monkeypatch.setattr(pattern_blocks, "BLOCK", 37)
    moved = lambda points, *_: Assignment(points[0].values[:1], {60: 1})  # noqa: E731
    monkeypatch.setattr(block_consensus, "blocked_kmeans", moved)
    ens = qt.Ensemble(drawn(500, k=12, noise=0.5, seed=4))
    stored = pattern_blocks.StoredEnsemble(ens.names, ens.levels, ens.noise, ens.n_rows, PatternsInMemory(ens))
    labels = np.concatenate([labels for labels, _ in block_consensus.fit_blocks(qt.GPMGLA(2), stored).answers()])
    assert np.flatnonzero(labels).tolist() == [60]


# Soft members ----------------------------------------------------------------------------------------------------


@pytest.fixture
def with_memberships():
    """A frame of 90 rows: two members with labels, one of three memberships and one of two, and an ID."""
    rng = np.random.default_rng(3)
    classes = rng.integers(0, 3, 90)

    def shares(k):
        values = rng.random((90, k)) + 3.0 * (np.arange(k) == (classes % k)[:, None])
        return (values / values.sum(axis=1, keepdims=True)).round(3)

    frame = pd.DataFrame({"id": np.arange(90), "a": classes, "b": np.where(rng.random(90) < 0.2, 0, classes)})
    frame[["gmm_0", "gmm_1", "gmm_2"]], frame[["topic_sport", "topic_spa"]] = shares(3), shares(2)
    frame.loc[4, ["gmm_0", "gmm_1", "gmm_2"]] = np.nan
    return frame


SOFT = {"gmm": ["gmm_0", "gmm_1", "gmm_2"], "topic": ["topic_sport", "topic_spa"]}


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "duckdb", "csv", "parquet"])
def test_memberships_in_tables_give_the_answer_of_the_library(with_memberships, kind, tmp_path):
    frame = with_memberships
    members = {"a": frame["a"], "b": frame["b"], **{name: frame[columns] for name, columns in SOFT.items()}}
    expected = qt.consensus(qt.SoftEnsemble(members), 3)
    if kind in ("csv", "parquet"):
        path, out = tmp_path / f"labels.{kind}", tmp_path / "out.parquet"
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
        patterns = {"gmm": ["gmm_*"], "topic": ["topic_*"]}
        stored = qt.consensus_file(path, out, ["a", "b"], 3, soft=patterns)
        assert stored.names == ("a", "b", "gmm", "topic")
        found = pd.read_parquet(out)
    else:
        native = {"pandas": lambda: frame, "duckdb": lambda: duckdb.from_df(frame)}
        native |= {"polars": lambda: pl.from_pandas(frame), "lazy": lambda: pl.from_pandas(frame).lazy()}
        found = qt.consensus_frame(native[kind](), ["a", "b"], 3, soft=SOFT)
        found = found if kind == "pandas" else found.df() if kind == "duckdb" else found.lazy().collect().to_pandas()
    found = found.sort_values("id", key=lambda ids: ids.astype(int))
    assert found["consensus"].tolist() == expected.labels.tolist()
    np.testing.assert_allclose(found["confidence"], expected.confidence)


def test_columns_name_the_clusters_of_soft_members(with_memberships):
    ens = qt.ensemble_from_frame(with_memberships, ["a", "b"], soft=SOFT)
    assert ens.names == ("a", "b", "gmm", "topic")
    assert [levels.tolist() for levels in ens.levels[2:]] == [[0, 1, 2], ["sport", "spa"]]
    lazily = qt.ensemble_from_frame(pl.from_pandas(with_memberships).lazy(), ["a", "b"], soft=SOFT)
    assert [levels.tolist() for levels in lazily.levels] == [levels.tolist() for levels in ens.levels]


def test_other_columns_of_fractions_are_not_members_next_to_soft_ones(with_memberships):
    with pytest.warns(qt.QuorateWarning) as warned:
        ens = qt.ensemble_from_frame(with_memberships.drop(columns="id"), soft={"gmm": SOFT["gmm"]})
    assert ens.names == ("a", "b", "gmm")
    assert "feature-columns" in [warning.message.code for warning in warned]


@pytest.mark.parametrize(
    ("soft", "code"),
    [
        ({"gmm": ["gmm_0"]}, "soft-columns"),
        ({"x": ["gmm_0", "gmm_1", "gmm_2"], "y": ["gmm_0", "topic_spa"]}, "soft-columns"),
        ({"x": ["gmm_0", "nothing"]}, "unknown-column"),
        ({"x": ["a", "b"]}, "two-roles"),
        ({"x": ["gmm_0", "gmm_1"]}, "memberships"),
    ],
)
def test_wrong_columns_of_memberships_are_refused(with_memberships, soft, code):
    for frame in (with_memberships, pl.from_pandas(with_memberships).lazy()):
        with raises(code):
            qt.consensus_frame(frame, ["a", "b"], 3, soft=soft)


def test_memberships_that_do_not_fit_into_memory_are_refused(with_memberships, tmp_path, monkeypatch):
    path = tmp_path / "labels.parquet"
    with_memberships.to_parquet(path)
    monkeypatch.setattr("quorate.tables.combining.available_memory", lambda: 1000)
    with raises("patterns-memory"):
        qt.consensus_file(path, tmp_path / "out.parquet", ["a", "b"], 3, soft=SOFT)
