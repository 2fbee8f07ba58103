"""One rule for columns everywhere: names of rows, known classes, features, transposed tables; and how often a file is
read on the way from a table to an answer."""

import json

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import quorate as qt
from quorate._runtime import memory
from quorate.cli import main
from quorate.tables.io import reading
from support import raises, warns

MEMBERS = ["m0", "m1", "m2"]


def run(*arguments, capsys, code=0):
    found = main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    assert found == code, printed
    return printed


def test_ids_and_known_classes_are_not_members_of_a_file(frame, tmp_path, capsys):
    frame.to_csv(tmp_path / "t.csv", index=False)
    expected = qt.consensus(frame[MEMBERS], 3)
    with warns("id-column", "class-columns"):
        result = qt.consensus_file(tmp_path / "t.csv", tmp_path / "out.csv", n_clusters=3)
    assert result.names == tuple(MEMBERS)
    assert pd.read_csv(tmp_path / "out.csv")["consensus"].tolist() == expected.labels.tolist()
    printed = run("combine", tmp_path / "t.csv", "-k", 3, "--json", capsys=capsys)
    assert [member["name"] for member in json.loads(printed.out)["members"]] == MEMBERS
    assert "Column 'class' looks like known classes and is not used as a member." in printed.err
    assert "list them in --members" in printed.err


@pytest.mark.parametrize("name", ["segment_true", "y_true", "Ground Truth", "true.label", "TARGET"])
def test_known_classes_are_found_by_a_word_of_their_name(frame, name):
    with warns("class-columns"):
        ens = qt.ensemble_from_frame(frame.drop(columns="cell").rename(columns={"class": name}))
    assert ens.names == tuple(MEMBERS)


@pytest.mark.parametrize("name", ["construed", "km_classic", "targeted"])
def test_parts_of_words_are_not_names_of_classes(frame, name):
    ens = qt.ensemble_from_frame(frame.drop(columns="cell").rename(columns={"class": name}))
    assert name in ens.names


def test_members_decide(frame, tmp_path):
    frame.to_parquet(tmp_path / "t.parquet")
    result = qt.consensus_file(tmp_path / "t.parquet", tmp_path / "out.parquet", members=["class", "m0", "m1"])
    assert result.names == ("class", "m0", "m1")


@pytest.mark.parametrize("native", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, "duckdb"])
def test_ids_and_known_classes_are_not_members_of_a_frame(frame, native):
    held = duckdb.from_df(frame) if native == "duckdb" else native(dict(frame))
    with warns("id-column", "class-columns"):
        ens = qt.ensemble_from_frame(held)
    assert ens.names == tuple(MEMBERS)
    assert qt.ensemble_from_frame(held, members=["class", "m0"]).names == ("class", "m0")


def test_ids_anywhere_in_many_rows_are_found_without_reading_all(tmp_path):
    rng = np.random.default_rng(0)
    n = 3000
    frame = pd.DataFrame({"a": rng.integers(0, 4, n), "b": rng.integers(0, 4, n), "serial": rng.permutation(n)})
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (frame, pl.LazyFrame(frame)):
        with warns("unique-columns"):
            assert qt.ensemble_from_frame(source).names == ("a", "b")
    with warns("unique-columns"):
        result = qt.consensus_file(tmp_path / "t.parquet", tmp_path / "out.parquet", n_clusters=2)
    assert result.names == ("a", "b")


def test_features_among_clusterings_are_ignored_with_a_warning(tmp_path, frame, capsys):
    expected = qt.consensus(frame[MEMBERS], 3)
    rng = np.random.default_rng(1)
    frame[["x", "y"]] = rng.normal(size=(60, 2)).round(3)
    frame.to_csv(tmp_path / "t.csv", index=False)
    with warns("feature-columns", "class-columns"):
        result = qt.consensus_file(tmp_path / "t.csv", tmp_path / "out.csv", n_clusters=3)
    assert result.names == tuple(MEMBERS)
    assert pd.read_csv(tmp_path / "out.csv")["consensus"].tolist() == expected.labels.tolist()
    with warns("feature-columns"):
        assert qt.ensemble_from_frame(frame).names == tuple(MEMBERS)
    printed = run("weigh", tmp_path / "t.csv", capsys=capsys)
    assert "Columns 'x', 'y' look like features (e.g. x: about " in printed.err


def test_a_frame_of_labels_is_judged_alike_wherever_it_is_passed(frame):
    """`consensus` and its like leave out what no member could hold, as `consensus_frame` does and in its words."""
    expected = qt.consensus(frame[MEMBERS], 3)
    rng = np.random.default_rng(1)
    messy = frame[MEMBERS].assign(x=rng.normal(size=60).round(3), when=pd.Timestamp("2024-01-01"), y=rng.random(60))
    messy.loc[3, "x"] = None
    with pytest.warns(qt.QuorateWarning) as in_a_frame:
        answer = qt.consensus_frame(messy, n_clusters=3)
    codes = [one.message.code for one in in_a_frame]
    assert codes == ["date-columns", "feature-columns"]
    for held in (messy, pl.DataFrame(messy), pl.LazyFrame(messy)):
        with pytest.warns(qt.QuorateWarning) as warned:
            result = qt.consensus(held, 3)
        assert [(one.filename, one.message.code) for one in warned] == [(__file__, code) for code in codes]
        assert result.ensemble.names == tuple(MEMBERS)
        np.testing.assert_array_equal(result.labels, expected.labels)
        np.testing.assert_array_equal(result.labels, answer["consensus"])
    np.testing.assert_array_equal(result.predict(messy), result.labels)
    with warns("feature-columns"):
        np.testing.assert_array_equal(qt.trust(messy), qt.trust(frame[MEMBERS]))


def test_features_among_few_clusterings_are_refused_everywhere(frame):
    rng = np.random.default_rng(1)
    few = pd.DataFrame({"id": range(60), "m0": frame["m0"], "x": rng.normal(size=60), "serial": rng.permutation(60)})
    for combine in (qt.consensus, qt.consensus_frame):
        with raises("features"):
            combine(few)
    fractions_as_text = frame[MEMBERS].assign(version=[f"{i}.5" for i in range(60)])
    with warns("feature-columns"):
        assert qt.Ensemble(fractions_as_text).names == tuple(MEMBERS)


def test_a_table_of_features_is_refused_and_all_are_named(tmp_path, frame, capsys):
    rng = np.random.default_rng(1)
    frame[["x", "y", "z"]] = rng.normal(size=(60, 3)).round(3)
    frame.to_csv(tmp_path / "t.csv", index=False)
    with raises("features"):
        qt.consensus_file(tmp_path / "t.csv", tmp_path / "out.csv")
    printed = run("combine", tmp_path / "t.csv", code=2, capsys=capsys)
    assert "Columns 'x', 'y', 'z'" in printed.err
    assert "List the clusterings in --members." in printed.err
    with raises("features"):
        qt.ensemble_from_frame(frame[["m0", "x"]])


def test_an_earlier_answer_is_not_a_member(tmp_path, frame, capsys):
    frame[["cell", *MEMBERS]].to_csv(tmp_path / "t.csv", index=False)
    keep = ["--members", "m*", "--keep", ",".join(MEMBERS), "--confidence", "-q"]
    run("combine", tmp_path / "t.csv", "-k", 3, "-o", tmp_path / "first.csv", *keep, capsys=capsys)
    printed = run("weigh", tmp_path / "first.csv", "--json", capsys=capsys)
    assert {member["name"] for member in json.loads(printed.out)["members"]} == set(MEMBERS)
    assert "Columns 'consensus', 'confidence', 'margin', 'runner_up' look like an earlier answer" in printed.err
    run("combine", tmp_path / "t.csv", "-k", "2:4", "-o", tmp_path / "several.csv", "-q", capsys=capsys)
    ens = qt.ensemble_from_frame(pd.read_csv(tmp_path / "several.csv").drop(columns="cell"))
    assert ens.names == ("consensus_2", "consensus_3", "consensus_4")  # nothing else is there
    answers = pd.read_csv(tmp_path / "first.csv")[[*MEMBERS, "consensus", "confidence"]]
    with warns("answer-columns"):
        assert qt.Ensemble(answers).names == tuple(MEMBERS)
    qt.Ensemble(answers[["consensus"]].assign(consensus_4=answers["m0"]))  # nothing else is there


@pytest.mark.parametrize(
    "written", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S.%fZ", "%Y/%m/%d"]
)
def test_dates_stored_as_text_are_recognized_everywhere(tmp_path, frame, written, capsys):
    dates = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(60) % 5, unit="D")
    frame["when"] = dates.strftime(written)
    frame.to_csv(tmp_path / "t.csv", index=False)
    for combine in (qt.consensus, qt.Ensemble, qt.ensemble_from_frame, qt.trust):
        with warns("date-columns"):
            combine(frame)
    with warns("date-columns"):
        qt.consensus_file(tmp_path / "t.csv", tmp_path / "out.csv", n_clusters=3)
    assert "'when' holds dates" in run("combine", tmp_path / "t.csv", "-k", 3, capsys=capsys).err


def test_every_entry_point_gives_columns_the_same_roles(tmp_path, frame, capsys):
    """A table with an ID, known classes, a date as text, a feature and an earlier answer."""
    rng = np.random.default_rng(1)
    frame = frame.assign(x=rng.normal(size=60), when="2024-05-06", consensus=frame["m0"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    codes, labels = [], []
    calls = [
        lambda: qt.consensus(frame, 3).labels,
        lambda: qt.consensus_frame(frame.drop(columns="consensus"), n_clusters=3)["consensus"].to_numpy(),
        lambda: qt.consensus(pl.LazyFrame(frame), 3).labels,
    ]
    for call in calls:
        with pytest.warns(qt.QuorateWarning) as warned:
            labels.append(call().tolist())
        codes.append([one.message.code for one in warned if one.message.code != "answer-columns"])
    assert codes[0] == codes[1] == codes[2] == ["id-column", "class-columns", "date-columns", "feature-columns"]
    for path in ("t.csv", "t.parquet"):
        run("combine", tmp_path / path, "-k", 3, "-o", tmp_path / "out.csv", "--force", capsys=capsys)
        labels.append(pd.read_csv(tmp_path / "out.csv")["consensus"].tolist())
    assert all(found == labels[0] for found in labels)


def test_dates_among_clusterings_are_ignored_with_a_warning(tmp_path, frame):
    frame["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(60) % 5, unit="D")
    frame.to_parquet(tmp_path / "t.parquet")
    with warns("date-columns"):
        assert qt.consensus_file(tmp_path / "t.parquet", tmp_path / "o.csv", n_clusters=3).names == tuple(MEMBERS)
    for held in (frame, pl.LazyFrame(frame)):
        with warns("date-columns"):
            assert qt.ensemble_from_frame(held).names == tuple(MEMBERS)


def test_fractions_warn_that_they_are_not_labels(tmp_path, frame, capsys):
    frame["price"] = np.arange(60) % 9 + 0.5
    frame.to_csv(tmp_path / "t.csv", index=False)
    printed = run("weigh", tmp_path / "t.csv", capsys=capsys)
    assert "Column 'price' holds numbers with fractions, as features do, and is used as a member." in printed.err
    with warns("fraction-columns"):
        qt.ensemble_from_frame(frame)
    features = np.stack([np.arange(60) % 7 / 10, np.arange(60) % 5 / 10], axis=1)
    with warns("not-clusterings"):
        qt.GPMGLA(2).fit(features)


def test_features_that_begin_like_labels_are_found_when_counted(tmp_path):
    values = np.concatenate([np.zeros(1100, dtype=int), np.arange(3000)])
    pd.DataFrame({"a": values % 3, "b": values}).to_parquet(tmp_path / "t.parquet")
    with raises("features"):
        qt.consensus_file(tmp_path / "t.parquet", tmp_path / "out.parquet")


def test_odd_tables_warn(tmp_path, capsys):
    lines = [",".join([f"m{j}", *("012"[(i * j) % 3] for i in range(61))]) for j in range(4)]
    (tmp_path / "transposed.csv").write_text("\n".join([",".join(["id", *(f"r{i}" for i in range(61))]), *lines]))
    assert "looks transposed" in run("combine", tmp_path / "transposed.csv", "-k", 2, capsys=capsys).err
    rows = "\n".join(f"{i // 2},{i % 2},{i // 20}" for i in range(40))
    (tmp_path / "twice.csv").write_text("id,a,b\n" + rows)
    assert (
        "ID column 'id' has 20 duplicate values" in run("combine", tmp_path / "twice.csv", "-k", 2, capsys=capsys).err
    )
    (tmp_path / "one.csv").write_text("a\n1\n1\n2\n")
    printed = run("combine", tmp_path / "one.csv", "-k", 2, capsys=capsys)
    assert "only one member" in printed.err
    assert "1 member of 3 rows" in printed.out


def test_a_comma_in_the_name_of_a_column(frame, tmp_path, capsys):
    frame.rename(columns={"m0": "k, small"}).to_csv(tmp_path / "t.csv", index=False)
    for arguments in (["--members", "k, small", "--members", "m1,m2"], ["--members", '"k, small",m1,m2']):
        found = json.loads(run("combine", tmp_path / "t.csv", *arguments, "-k", 3, "--json", capsys=capsys).out)
        assert [member["name"] for member in found["members"]] == ["k, small", "m1", "m2"]


# How often a file is read ------------------------------------------------------------------------------------------


class Counting:
    """A connection that notes each query that reads all rows of the file."""

    def __init__(self, connection, scans):
        self.connection, self.scans = connection, scans

    def note(self, query):
        if isinstance(query, str) and "label_table" in query and "LIMIT" not in query:
            self.scans.append(query)

    def execute(self, query, *parameters):
        self.note(query)
        return self.connection.execute(query, *parameters)

    def sql(self, query, **options):
        self.note(query)
        return self.connection.sql(query, **options)

    def __getattr__(self, name):
        return getattr(self.connection, name)


@pytest.fixture
def scans(monkeypatch):
    found = []
    connect = reading.connect
    monkeypatch.setattr(reading, "connect", lambda *args, **options: Counting(connect(*args, **options), found))
    return found


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_is_read_once_to_count_and_once_to_answer(frame, tmp_path, scans, capsys, ending):
    path, out = tmp_path / f"t.{ending}", tmp_path / f"out.{ending}"
    big = pd.concat([frame] * 50, ignore_index=True).drop(columns="cell")
    big.to_csv(path, index=False) if ending == "csv" else big.to_parquet(path)
    qt.consensus_file(path, out, members=MEMBERS, n_clusters=3)
    assert len(scans) == 2, scans
    scans.clear()
    run("combine", path, "-k", 3, "-o", out, "--force", capsys=capsys)
    assert len(scans) == 2, scans
    scans.clear()
    run("combine", path, "-k", 3, "-o", out, "--force", "--report", tmp_path / "r.html", capsys=capsys)
    assert len(scans) == 3, scans
    scans.clear()
    run("weigh", path, capsys=capsys)
    assert len(scans) == 1, scans


# Blocks, by the command as by the library ---------------------------------------------------------------------------


def test_the_command_reads_patterns_in_blocks_where_they_do_not_fit(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 20_000)
    members = {f"m{j}": np.where(rng.random(20_000) < 0.6, rng.integers(0, 20, 20_000), truth) for j in range(4)}
    pd.DataFrame({"class": truth, **members}).to_parquet(tmp_path / "t.parquet")
    whole, parts = tmp_path / "whole.parquet", tmp_path / "parts.parquet"
    arguments = ["combine", tmp_path / "t.parquet", "-k", 4, "--method", "gp-mgla", "--confidence", "--json"]
    expected = json.loads(run(*arguments, "-o", whole, capsys=capsys).out)
    monkeypatch.setattr(memory, "BYTES_PER_LABEL", 10_000)  # as if patterns needed far more than they do
    found = json.loads(run(*arguments, "-o", parts, "--memory-limit", "150MB", capsys=capsys).out)
    pd.testing.assert_frame_equal(pd.read_parquet(parts), pd.read_parquet(whole))
    assert [c["size"] for c in found["answers"][0]["clusters"]] == [
        c["size"] for c in next(a for a in expected["answers"] if a["k"] == 4)["clusters"]
    ]
    assert found["answers"][0]["scores"] == pytest.approx(expected["answers"][-1]["scores"], abs=1e-6)
    for one, other in zip(found["members"], expected["members"], strict=True):
        assert (one["name"], one["trust"]) == (other["name"], other["trust"])
        assert one["coverage"] == pytest.approx(other["coverage"])
    assert "read in blocks" in run(*arguments[:-1], "--memory-limit", "150MB", capsys=capsys).out
    for more in (["--report", tmp_path / "r.html"], ["-k", "2:4"]):
        printed = run(*arguments, *more, "--memory-limit", "150MB", code=2, capsys=capsys)
        assert "Only one answer can be computed from blocks" in printed.err
        assert "--memory-limit" in printed.err


# How a file is written, told to the library ------------------------------------------------------------------------


def test_a_text_table_can_be_described_to_the_library(tmp_path):
    (tmp_path / "t.dat").write_bytes("1:ä:x\n1:ä:x\n2:ö:y\n2:ö:y\n".encode("latin-1"))
    with raises("encoding"):
        qt.consensus_file(tmp_path / "t.dat", tmp_path / "out.csv", delimiter=":", header=False)
    options = {"format": "csv", "delimiter": ":", "header": False, "encoding": "latin-1", "n_clusters": 2}
    result = qt.consensus_file(tmp_path / "t.dat", tmp_path / "out.csv", **options)
    assert (result.n_rows, result.names) == (4, ("column_0", "column_1", "column_2"))
    found = pd.read_csv(tmp_path / "out.csv")
    assert found["column_1"].tolist() == ["ä", "ä", "ö", "ö"]
    assert found["consensus"].tolist() == [0, 0, 1, 1]
    with raises("encoding"):
        qt.consensus_file(tmp_path / "t.dat", tmp_path / "new.csv", encoding="base64")
    with raises("delimiter"):
        qt.consensus_file(tmp_path / "t.dat", tmp_path / "new.csv", delimiter="::")


def test_one_hot_codes_are_distinguished_from_labels(tmp_path, capsys):
    members = [np.arange(60) % 3, np.arange(60) // 15, np.arange(60) % 7 // 2]
    codes = np.hstack([np.eye(5, dtype=int)[labels] for labels in members])  # some columns hold zeros alone
    frame = pd.DataFrame(codes, columns=[f"c{j}" for j in range(15)])
    told = "The 15 columns look like one-hot codes of 3 clusterings"
    for held in (codes, codes.astype(bool), frame, frame.astype(float)):
        with warns("one-hot"):
            qt.Ensemble(held)
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert told in run("weigh", tmp_path / "t.csv", capsys=capsys).err
    with warns("one-hot"):
        qt.Ensemble(codes[:, :5])
    twice = np.arange(60) % 2
    for two in ([twice, 1 - twice], [twice, 1 - twice, twice, 1 - twice], [twice, twice, 1 - twice, 1 - twice]):
        qt.Ensemble(np.stack([*two, np.arange(60) // 30], axis=1))  # two clusters each, without a word


@pytest.mark.parametrize(("label", "reason"), [(-1, "Labels no row"), (1, "Has a single cluster")])
def test_a_member_without_information_is_ignored(label, reason, tmp_path, frame, capsys):
    frame[MEMBERS].assign(same=label).to_csv(tmp_path / "t.csv", index=False)
    members = json.loads(run("weigh", tmp_path / "t.csv", "--json", capsys=capsys).out)["members"]
    assert [member["name"] for member in members if member["status"] == "ignored"] == ["same"]
    assert next(member for member in members if member["name"] == "same")["reason"].startswith(reason)


def test_lists_among_few_rows_are_not_labels(tmp_path, capsys):
    pl.DataFrame({f"m{j}": [[1, 2], [3]] for j in range(4)}).write_parquet(tmp_path / "t.parquet")
    assert (
        "Labels must be numbers, text or categories"
        in run("combine", tmp_path / "t.parquet", code=2, capsys=capsys).err
    )


def test_the_command_names_columns_that_are_not_features(frame, tmp_path, capsys):
    frame.assign(x=np.arange(60) % 7, y=np.arange(60) % 11)[["cell", "x", "y"]].assign(t="NL").to_csv(
        tmp_path / "f.csv"
    )
    printed = run("cluster", tmp_path / "f.csv", "-k", 2, "-o", tmp_path / "out.csv", capsys=capsys)
    note = "Ignored columns: index (ID), cell (text), t (text). To use other columns, list them in --features."
    assert note in printed.err.splitlines()  # a note, as in `combine`, not a warning


@pytest.mark.parametrize("method", ["lwgp", "weac"])
def test_several_numbers_of_clusters_without_the_automatic_one_are_solved_once(
    frame, tmp_path, capsys, monkeypatch, method
):
    from quorate.algorithms.registry import make_method

    kind = type(make_method(method, 3, {}))
    solve, times = kind._solve, []
    monkeypatch.setattr(kind, "_solve", lambda *given: times.append(1) or solve(*given))
    frame[MEMBERS].to_csv(tmp_path / "t.csv", index=False)
    printed = run("combine", tmp_path / "t.csv", "-k", "5:7", "--method", method, "-q", capsys=capsys)
    assert len(times) == 1
    assert "5 to 7 clusters were requested; this is the result for 5." in printed.out
    monkeypatch.undo()
    expected = qt.consensus(frame[MEMBERS], 5, method=method)
    run("combine", tmp_path / "t.csv", "-k", "5:7", "--method", method, "-q", "-o", tmp_path / "o.csv", capsys=capsys)
    assert pd.read_csv(tmp_path / "o.csv")["consensus_5"].tolist() == expected.labels.tolist()


def test_columns_named_by_numbers():
    """pandas numbers the columns of a matrix; a number must not select a row."""
    labels = pd.DataFrame(np.arange(60)[:, None] // np.array([20, 15, 30]))
    expected = qt.consensus(labels.to_numpy(), 3).labels.tolist()
    assert qt.consensus(labels, 3).labels.tolist() == expected
    assert qt.consensus_frame(labels, n_clusters=3)["consensus"].tolist() == expected
    features = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)))
    assert qt.cluster_frame(features, n_clusters=2, n_members=3).columns.tolist()[:3] == [0, 1, "consensus"]


@pytest.mark.parametrize(("every", "code"), [(1000, "no-members"), (4, "features")])
def test_frames_of_many_tiny_clusters_are_refused_with_what_to_do(every, code):
    rows = np.arange(400)
    frame = pd.DataFrame({f"tool_{j}": rows - (rows % every == 3) for j in range(3)})
    with raises(code) as caught:
        qt.consensus(frame, method="majority")
    assert "dictionary" in str(caught.value)
    assert qt.consensus(dict(frame), method="majority").n_clusters >= 300
