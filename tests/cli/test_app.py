"""The quorate command: every subcommand in a separate process, options in this process, files read back."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import quorate as qt
from quorate.cli import main
from quorate.cli.app import app
from quorate.columns.column_roles import ANSWER_COLUMNS
from quorate.errors import MemoryLimitError

SOURCE = str(Path(qt.__file__).parents[1])


@pytest.fixture(scope="module")
def table():
    """Sixty rows of three classes: four good members and a random one; text, missing labels, an ID and the classes."""
    rng = np.random.default_rng(5)
    truth = np.repeat([0, 1, 2], 20)
    frame = pd.DataFrame({"id": [f"row-{i:03d}" for i in range(60)], "class": np.array(["x", "y", "z"])[truth]})
    for j in range(4):
        labels = truth.copy()
        wrong = rng.random(60) < 0.1
        labels[wrong] = rng.integers(0, 3, wrong.sum())
        frame[f"fair_{j}"] = labels
    frame["fair_3"] = np.array(["red", "green", "blue"])[frame["fair_3"]]
    frame.loc[[3, 33], "fair_2"] = np.nan
    frame["noise"] = rng.integers(0, 3, 60)
    return frame


@pytest.fixture
def labels(table, tmp_path):
    path = tmp_path / "labels.csv"
    table.to_csv(path, index=False)
    return path


def run(*arguments, code=0, capsys=None):
    """Run the command in this process, check the exit code and return the output."""
    found = main([str(argument) for argument in arguments])
    printed = capsys.readouterr() if capsys else None
    assert found == code, printed
    return printed


def process(*arguments, text=True, **options):
    """Run the command in another process."""
    environment = {**os.environ, "PYTHONPATH": SOURCE, "COLUMNS": "120"}
    command = [sys.executable, "-m", "quorate", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=text, env=environment, timeout=120, **options)


# Each command as people run it ------------------------------------------------------------------------------------


def test_combine_writes_the_labels_of_the_library(table, labels, tmp_path):
    out, report, summary = tmp_path / "consensus.csv", tmp_path / "report.html", tmp_path / "summary.json"
    done = process("combine", labels, "-k", 3, "--truth", "class", "-o", out, "--report", report, "--summary", summary)
    assert done.returncode == 0, done.stderr
    assert "3 clusters by " in done.stdout
    assert "noise" in done.stdout
    assert re.search(r"noise .*ignored", done.stdout)
    assert f"Written: {out}" in done.stderr
    members = [name for name in table.columns if name not in ("id", "class")]
    expected = qt.consensus(table[members], 3)
    found = pd.read_csv(out)
    assert list(found.columns) == ["id", "class", "consensus"]
    assert found["id"].tolist() == table["id"].tolist()
    assert found["consensus"].tolist() == expected.labels.tolist()
    facts = json.loads(summary.read_text())
    assert [member["ncai"] for member in facts["members"]] == pytest.approx(expected.ncai.tolist(), abs=1e-6)
    assert "quorate combine" in report.read_text()


@pytest.fixture
def with_memberships(table, tmp_path):
    """The table with the memberships of two soft members."""
    frame, rng = table.drop(columns="noise"), np.random.default_rng(0)
    for name, k in (("gmm", 3), ("lda", 4)):
        shares = rng.random((60, k)) + 3.0 * (np.arange(k) == np.repeat([0, 1, 2], 20)[:, None])
        frame[[f"{name}_{c}" for c in range(k)]] = shares / shares.sum(axis=1, keepdims=True)
    path = tmp_path / "soft.csv"
    frame.to_csv(path, index=False)
    return path


def test_combine_takes_memberships(with_memberships, tmp_path, capsys):
    out, report, summary = tmp_path / "consensus.csv", tmp_path / "report.html", tmp_path / "summary.json"
    command = ["combine", with_memberships, "--soft", "gmm_*", "--soft", "lda_0,lda_1,lda_2,lda_3", "-k", 3]
    outputs = ["-o", out, "--report", report, "--summary", summary, "--core", 0.5, "--layers", "2,3", "--confidence"]
    printed = run(*command, *outputs, capsys=capsys).out
    frame = pd.read_csv(with_memberships)
    members = {name: frame[name] for name in frame if name.startswith("fair")}
    members |= {name: frame[[column for column in frame if column.startswith(name)]] for name in ("gmm", "lda")}
    expected = qt.consensus(qt.SoftEnsemble(members), 3)
    written = pd.read_csv(out)
    assert written["consensus"].tolist() == expected.labels.tolist()
    np.testing.assert_allclose(written["confidence"], expected.confidence)
    assert "consensus_core" in written
    assert "gmm " in printed
    facts = json.loads(summary.read_text())
    assert [member["name"] for member in facts["members"]] == list(members)
    assert "--soft 'gmm_*' --soft lda_0,lda_1,lda_2,lda_3" in facts["answers"][0]["command"]
    assert "gmm" in report.read_text()


def test_tables_of_labels_and_of_memberships_are_joined(with_memberships, tmp_path, capsys):
    frame = pd.read_csv(with_memberships)
    soft = [name for name in frame if name[:4] in ("gmm_", "lda_")]
    hard, memberships, out = tmp_path / "hard.csv", tmp_path / "memberships.csv", tmp_path / "consensus.csv"
    frame.drop(columns=soft).to_csv(hard, index=False)
    frame[["id", *soft]].sample(frac=1, random_state=0).to_csv(memberships, index=False)
    options = ["--soft", "gmm_*", "--soft", "lda_*", "-k", 3, "-q", "-o"]
    run("combine", hard, memberships, *options, out, capsys=capsys)
    run("combine", with_memberships, *options, tmp_path / "direct.csv", capsys=capsys)
    assert pd.read_csv(out)["consensus"].tolist() == pd.read_csv(tmp_path / "direct.csv")["consensus"].tolist()


def test_rows_of_memberships_that_do_not_sum_to_1_are_refused_with_their_number(with_memberships, tmp_path, capsys):
    frame = pd.read_csv(with_memberships)
    # DuckDB counts rows in an order of its own; the first of the file is named.
    frame.loc[3:, "gmm_0"] += np.linspace(0.25, 0.5, 57)
    frame.to_csv(tmp_path / "wrong.csv", index=False)
    printed = run("combine", tmp_path / "wrong.csv", "--soft", "gmm_*", code=2, capsys=capsys).err
    assert re.search(r"must sum to 1 .*row 4 of .*wrong.csv sums to 1.25 in member 'gmm'", printed)
    frame["gmm_0"] = "text"
    frame.to_csv(tmp_path / "text.csv", index=False)
    assert "'gmm_0'" in run("combine", tmp_path / "text.csv", "--soft", "gmm_*", code=2, capsys=capsys).err


def test_labels_are_written_where_the_clusters_cannot_be_described(labels, tmp_path, monkeypatch, capsys):
    def refuse(*_):
        raise MemoryLimitError("The description needs too much.", code="memory")

    monkeypatch.setattr("quorate.certainty.require_memory", refuse)
    out = tmp_path / "consensus.csv"
    command = ["combine", labels, "--method", "majority", "-o", out]
    printed = run(*command, capsys=capsys)
    assert "by majority from 5 members of 60 rows" in printed.out
    assert "The description needs too much." in printed.err
    assert pd.read_csv(out)["consensus"].tolist()
    assert "too much" in run(*command, "--force", "--report", tmp_path / "r.html", code=2, capsys=capsys).err


def test_weigh(labels):
    done = process("weigh", labels, "--truth", "class")
    assert done.returncode == 0, done.stderr
    lines = [line.split()[0] for line in done.stdout.splitlines() if line.rstrip().endswith(("reliable", "ignored"))]
    assert lines[-1] == "noise"
    assert len(lines) == 5


def test_evaluate(table, labels):
    done = process("evaluate", labels, "--truth", "class", "--members", "fair_0")
    assert done.returncode == 0, done.stderr
    scores = qt.evaluate(table["fair_0"], table["class"])
    for value in (scores.nmi_sqrt, scores.nmi_max, scores.ari, scores.ami, scores.purity):
        assert f"{value:.3f}" in done.stdout
    assert "main class" in done.stdout


def test_evaluate_shows_the_number_of_scored_rows(tmp_path, capsys):
    rows = "\n".join(f"{i % 2},{i % 2},{'' if i < 12 else i % 2}" for i in range(40))
    (tmp_path / "t.csv").write_text("class,all,some\n" + rows)
    assert main(["evaluate", str(tmp_path / "t.csv"), "--truth", "class"]) == 0
    lines = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert ["all", "40"] in lines
    assert ["some", "28"] in lines


def test_no_summary_is_computed_if_none_is_shown(labels, tmp_path, monkeypatch):
    monkeypatch.setattr("quorate.cli.combine.summarize", lambda *_, **__: 1 / 0)
    assert main(["combine", str(labels), "-k", "3", "-q", "-o", str(tmp_path / "out.csv")]) == 0
    assert main(["combine", str(labels), "-k", "3", "-q"]) == 1


def test_all_missing_columns_are_named(labels, capsys):
    assert main(["combine", str(labels), "--members", "one,two,fair_0"]) == 2
    assert "has no columns 'one', 'two'. Its columns are" in capsys.readouterr().err


def test_parameters_of_a_method_are_shown_as_set_options(labels, capsys):
    assert main(["combine", str(labels), "--set", "beta=-1"]) == 2
    assert "Error: --set beta must be" in capsys.readouterr().err


def test_generate(tmp_path):
    out = tmp_path / "labels.parquet"
    done = process("generate", "iris", "-m", 5, "--generator", "kmeans", "--generator", "rpcl", "--seed", 4, "-o", out)
    assert done.returncode == 0, done.stderr
    found = pd.read_parquet(out)
    assert list(found.columns) == ["class", "kmeans_0", "kmeans_1", "kmeans_2", "rpcl_0", "rpcl_1"]
    pool = qt.features.draw_pool("iris", 3, ("kmeans", "rpcl"), random_state=4)
    assert np.array_equal(found["kmeans_2"], pool.labels[:, 2])
    assert np.array_equal(found["rpcl_1"], pool.labels[:, 4])


def test_methods():
    done = process("methods")
    assert done.stdout.startswith("Default: auto\n")
    assert done.returncode == 0, done.stderr
    for method in qt.methods():
        assert method.name in done.stdout
    assert "kmeans" in done.stdout


def test_demo_gives_the_corrupted_members_little_weight(tmp_path):
    done = process("demo", "--folder", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    share = float(re.search(r"ill_0 and ill_1, have ([\d.]+)% of the weight", done.stdout)[1])
    assert share < 3
    report = Path(done.stdout.split()[-1])
    assert report == (tmp_path / "demo" / "report.html").resolve()
    assert "ill_0" in report.read_text()


@pytest.mark.parametrize("command", [command.name or command.callback.__name__ for command in app.registered_commands])
def test_every_command_has_help_with_examples(command):
    done = process(command, "--help")
    assert done.returncode == 0
    assert "Examples" in done.stdout
    assert f"quorate {command}" in done.stdout


def test_flags_are_shown_without_a_type(capsys):
    assert main(["cluster", "--help"]) == 0
    printed = capsys.readouterr().out
    assert "bool" not in printed
    assert "FILE" in printed  # of --output
    assert {"--help", "-h"} <= set(next(line for line in printed.splitlines() if "--help" in line).split())


def test_help_does_not_break_sentences_where_the_docstring_does():
    assert not [command.help for command in app.registered_commands if "\n" in command.help.replace("\n\n", "")]


@pytest.mark.parametrize("command", ["combine", "weigh", "evaluate", "generate", "cluster", "assign", "explore"])
def test_every_command_that_reads_a_table_has_a_memory_limit(command, labels, capsys):
    needed = {"evaluate": ["--truth", "class"], "assign": ["--model", str(labels)]}.get(command, [])
    assert main([command, str(labels), "--memory-limit", "much", *needed]) == 2
    error = capsys.readouterr().err
    assert "much" in error or command == "assign"  # which reads the model first


def test_a_pipe(table, labels, tmp_path):
    done = process("combine", "-", "-k", 3, "-o", "-", input=labels.read_text())
    assert done.returncode == 0, done.stderr
    header, *lines = done.stdout.splitlines()
    assert header == "id,class,consensus"
    assert [line.split(",")[0] for line in lines] == table["id"].tolist()
    assert "3 clusters by " in done.stderr
    packed = process("combine", "-", "-k", 3, "-o", "-", "--output-format", "parquet", text=False,
                     input=_parquet(table, tmp_path))  # fmt: skip
    assert packed.returncode == 0, packed.stderr
    (tmp_path / "out.parquet").write_bytes(packed.stdout)
    assert pd.read_parquet(tmp_path / "out.parquet").shape == (60, 3)


def _parquet(table, folder):
    table.to_parquet(folder / "in.parquet", index=False)
    return (folder / "in.parquet").read_bytes()


def test_closing_the_pipe_early_is_not_an_error(labels):
    command = f"set -o pipefail; {sys.executable} -m quorate combine {labels} -k 2 -o - --quiet | head -n 1"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": SOURCE}
    )
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("id,class,consensus", "", 0)


# Options ----------------------------------------------------------------------------------------------------------


def test_several_numbers_of_clusters_write_a_column_each(table, labels, tmp_path, capsys):
    out = tmp_path / "out.parquet"
    run(
        "combine", labels, "-k", "2:5", "--method", "weac", "--keep", "fair_3", "--confidence", "-o", out, capsys=capsys
    )
    found = pd.read_parquet(out)
    columns = [f"{what}_{k}" for what in ANSWER_COLUMNS for k in range(2, 6)]
    assert list(found.columns) == ["id", "class", "fair_3", *columns]
    members = [name for name in table.columns if name not in ("id", "class", "fair_3")]
    for k in range(2, 6):
        fitted = qt.WEAC(k).fit(table[members])
        assert found[f"consensus_{k}"].tolist() == fitted.labels_.tolist()
        assert found[f"confidence_{k}"].tolist() == pytest.approx(fitted.confidence_.tolist())
        assert found[f"margin_{k}"].tolist() == pytest.approx(fitted.margin_.tolist())
        assert found[f"runner_up_{k}"].tolist() == fitted.runner_up_.tolist()


def test_the_choice_of_k_is_explained(labels, capsys):
    for method in ("auto", "weac"):
        printed = run("combine", labels, "--truth", "class", "--method", method, capsys=capsys)
        assert printed.out.startswith("3 clusters by ")
        assert "eigengap" in printed.out
        assert "tree stability" in printed.out
        assert "consensus stability" in printed.out  # another figure


def test_members_by_pattern_and_parameters(table, labels, capsys):
    settings = ["--method", "lwgp", "--set", "theta=0.3", "--set", "weights=equal"]
    printed = run("combine", labels, "--members", "fair_*", "-k", 3, *settings, "--json", capsys=capsys)
    facts = json.loads(printed.out)
    assert [member["name"] for member in facts["members"]] == [f"fair_{j}" for j in range(4)]
    assert facts["method"]["parameters"]["theta"] == 0.3
    assert [member["weight"] for member in facts["members"]] == [0.25] * 4


def test_known_classes_are_scored_but_not_used(table, labels, capsys):
    with_truth = json.loads(run("combine", labels, "-k", 3, "--truth", "class", "--json", capsys=capsys).out)
    members = ",".join(name for name in table.columns if name not in ("id", "class"))
    without = json.loads(run("combine", labels, "-k", 3, "--members", members, "--json", capsys=capsys).out)
    assert with_truth["answers"][0]["clusters"] == without["answers"][0]["clusters"]
    fitted = qt.consensus(table[members.split(",")], 3)
    expected = qt.evaluate(fitted.labels, table["class"])
    assert with_truth["answers"][0]["scores"]["ari"] == pytest.approx(expected.ari, abs=1e-6)
    assert without["answers"][0]["scores"] is None


@pytest.mark.parametrize("ending", ["tsv", "csv.gz", "csv.zst", "parquet", "arrow", "npz"])
def test_written_formats_can_be_read(ending, table, labels, tmp_path, capsys):
    out = tmp_path / f"out.{ending}"
    run("combine", labels, "-k", 3, "--keep", "fair_0,fair_3,class", "-o", out, "--quiet", capsys=capsys)
    printed = run("evaluate", out, "--truth", "class", "--members", "fair_0,fair_3", "--json", capsys=capsys)
    scores = json.loads(printed.out)["clusterings"]
    for name in ("fair_0", "fair_3"):
        assert scores[name]["scores"]["ari"] == pytest.approx(qt.evaluate(table[name], table["class"]).ari)


def test_arrays(tmp_path, capsys, running_example):
    np.save(tmp_path / "labels.npy", running_example)
    run("combine", tmp_path / "labels.npy", "-k", 2, "-o", tmp_path / "out.npy", capsys=capsys)
    assert np.load(tmp_path / "out.npy").tolist() == qt.consensus(running_example, 2).labels.tolist()


def test_a_table_without_header_or_id(tmp_path, capsys, running_example):
    np.savetxt(tmp_path / "plain.txt", running_example, fmt="%d", delimiter=";")
    run("combine", tmp_path / "plain.txt", "-k", 2, "-o", tmp_path / "out.csv", capsys=capsys)
    assert (tmp_path / "out.csv").read_text().splitlines() == ["consensus", "0", "0", "0", "0", "1", "1"]


def test_evaluate_against_another_file(table, labels, tmp_path, capsys):
    run("combine", labels, "--members", "fair_*", "-k", 3, "-o", tmp_path / "out.csv", "-q", capsys=capsys)
    printed = run("evaluate", tmp_path / "out.csv", "--truth", "class", "--truth-file", labels, "--json", capsys=capsys)
    found = json.loads(printed.out)["clusterings"]["consensus"]
    expected = qt.evaluate(qt.consensus(table[[f"fair_{j}" for j in range(4)]], 3).labels, table["class"])
    assert found["scores"]["nmi_max"] == pytest.approx(expected.nmi_max)
    assert sum(cluster["rows"] for cluster in found["clusters"]) == 60


def test_evaluate_accepts_any_column_names(table, tmp_path, capsys):
    frame = table.rename(columns={"fair_0": "row", "fair_1": "truth", "noise": "label"})
    frame["fair_2"] = frame["fair_2"].astype(float)  # integers with NaN, in a file that distinguishes NaN and NULL
    duckdb.from_df(frame).write_parquet(str(tmp_path / "labels.parquet"))
    frame[["class"]].to_csv(tmp_path / "truth.csv", index=False)
    within = run("evaluate", tmp_path / "labels.parquet", "--truth", "class", "--json", capsys=capsys)
    arguments = ["--truth", "class", "--truth-file", tmp_path / "truth.csv", "--json"]
    between = json.loads(run("evaluate", tmp_path / "labels.parquet", *arguments, capsys=capsys).out)["clusterings"]
    assert between.pop("class")["scores"]["ari"] == 1
    assert between == json.loads(within.out)["clusterings"]
    for name in ("row", "truth", "label", "fair_2"):
        known = frame[name].notna()
        expected = qt.evaluate(frame[name][known], frame["class"][known])
        assert between[name]["scores"]["nmi_max"] == pytest.approx(expected.nmi_max)


def test_columns_may_have_any_name(table, tmp_path, capsys):
    names = {"fair_0": "a0", "fair_1": "a1", "fair_2": "pattern", "noise": "quorate_class"}
    duckdb.from_df(table.rename(columns=names)).write_parquet(str(tmp_path / "labels.parquet"))
    out = [tmp_path / "out.csv", "--report", tmp_path / "out.html"]
    run("combine", tmp_path / "labels.parquet", "--truth", "class", "-k", 3, "-o", *out, capsys=capsys)
    expected = qt.consensus(table.drop(columns=["id", "class"]), 3).labels
    assert pd.read_csv(tmp_path / "out.csv")["consensus"].tolist() == expected.tolist()


@pytest.mark.parametrize("index", [False, True])
def test_columns_without_names_as_pandas_writes_them(index, tmp_path, capsys):
    labels = np.random.default_rng(0).integers(0, 3, (30, 4))
    pd.DataFrame(labels).to_csv(tmp_path / "labels.csv", index=index)
    printed = run("combine", tmp_path / "labels.csv", "-k", 2, "-o", tmp_path / "out.csv", capsys=capsys)
    assert "Warning: " in printed.err
    assert len(pd.read_csv(tmp_path / "out.csv")) == 30
    (tmp_path / "plain.csv").write_text("0,1,2\n1,1,0\n0,1,2\n")
    run("combine", tmp_path / "plain.csv", "--no-header", "-k", 2, "-o", tmp_path / "plain_out.csv", capsys=capsys)
    assert len(pd.read_csv(tmp_path / "plain_out.csv")) == 3


def test_one_cluster_has_a_report_and_a_summary_can_be_piped(labels, tmp_path, capsys):
    arguments = ["combine", labels, "--truth", "class", "-k", 1, "--report", tmp_path / "one.html", "--summary", "-"]
    answers = json.loads(run(*arguments, capsys=capsys).out)["answers"]
    assert 1 in [len(answer["clusters"]) for answer in answers]
    assert (tmp_path / "one.html").stat().st_size > 10_000


def test_confidence_at_every_k_uses_the_weights_of_that_k(table, labels, tmp_path, capsys):
    members = [f"fair_{j}" for j in range(4)]
    request = ["-k", "2,4", "--method", "wcc", "--confidence", "-o", tmp_path / "out.csv"]
    run("combine", labels, "--members", ",".join(members), *request, capsys=capsys)
    written = pd.read_csv(tmp_path / "out.csv")
    for k in (2, 4):
        fitted = qt.WCC(k).fit(table[members])
        assert np.allclose(written[f"confidence_{k}"], fitted.confidence_)


def test_generate_takes_yes_no_columns_as_numbers(tmp_path):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"x": random.normal(size=30), "active": random.random(30) < 0.5, "text": list("ab") * 15})
    frame.to_csv(tmp_path / "features.csv", index=False)
    assert main(["generate", str(tmp_path / "features.csv"), "-m", "3", "-o", str(tmp_path / "members.csv"), "-q"]) == 0
    assert pd.read_csv(tmp_path / "members.csv").shape == (30, 3)


def test_a_misspelled_dataset_is_suggested_also_with_an_output(tmp_path, capsys):
    assert main(["generate", "seds", "-o", str(tmp_path / "members.csv")]) == 2
    assert "'seeds'" in capsys.readouterr().err


def test_a_warning_is_shown_once(tmp_path, capsys):
    """The result and its summary both find that the members do not agree."""
    labels = np.random.default_rng(0).integers(3, size=(60, 4))
    pd.DataFrame(labels, columns=list("abcd")).to_csv(tmp_path / "random.csv", index=False)
    assert main(["combine", str(tmp_path / "random.csv"), "-k", "3"]) == 0
    warned = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Warning:")]
    assert warned
    assert len(set(warned)) == len(warned)


def test_generate_on_samples_with_a_range_of_clusters(tmp_path, capsys):
    out = tmp_path / "labels.csv"
    line = ["generate", "iris", "-m", "3", "--fit-rows", "40", "--k-range", "5:6", "-o", str(out), "--json"]
    assert main(line) == 0
    drawn = json.loads(capsys.readouterr().out)
    assert {member["parameters"]["n_clusters"] for member in drawn} <= {5, 6}
    for text in ("5", "2:41"):
        assert main(["generate", "iris", "--fit-rows", "40", "--k-range", text]) == 2


def test_generate_from_a_file_keeps_ids_and_classes(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": [f"r{i}" for i in range(40)], "a": rng.normal(size=40), "b": rng.normal(size=40)})
    frame["class"] = np.where(frame["a"] > 0, "up", "down")
    frame.to_csv(tmp_path / "data.csv", index=False)
    printed = run("generate", tmp_path / "data.csv", "-m", 3, "--truth", "class", "-o", tmp_path / "out.csv", "--json",
                  capsys=capsys)  # fmt: skip
    drawn = json.loads(printed.out)
    assert [member["name"] for member in drawn] == ["kmeans_0", "kmeans_1", "kmeans_2"]
    found = pd.read_csv(tmp_path / "out.csv")
    assert list(found.columns) == ["id", "class", "kmeans_0", "kmeans_1", "kmeans_2"]
    assert found["id"].tolist() == frame["id"].tolist()
    assert [member["clusters"] for member in drawn] == [found[member["name"]].nunique() for member in drawn]


def test_quiet_prints_nothing(labels, tmp_path, capsys):
    printed = run("combine", labels, "-k", 2, "-o", tmp_path / "out.csv", "--quiet", capsys=capsys)
    assert (printed.out, printed.err) == ("", "")


def test_only_force_overwrites(labels, tmp_path, capsys):
    out = tmp_path / "out.csv"
    out.write_text("precious")
    printed = run("combine", labels, "-k", 2, "-o", out, code=2, capsys=capsys)
    assert str(out) in printed.err
    assert out.read_text() == "precious"
    run("combine", labels, "-k", 2, "-o", out, "--force", capsys=capsys)
    assert out.read_text().startswith("id,class,consensus")


def test_a_device_is_written_to_and_not_replaced(labels, capsys):
    run("combine", labels, "-k", 2, "-o", os.devnull, capsys=capsys)
    assert Path(os.devnull).is_char_device()


def test_line_breaks_in_names_are_escaped(tmp_path, capsys):
    path = tmp_path / "odd.parquet"
    pd.DataFrame({"a\nb\x1b[31m": [1, 1, 2], "c": [1, 2, 2]}).to_parquet(path)
    assert main(["evaluate", str(path), "--truth", "class"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert r"a\nb\x1b[31m" in error


def test_a_path_through_a_file_is_bad_input(labels, capsys):
    assert main(["reproduce", "report", str(labels)]) == 2
    assert "no work is finished there" in capsys.readouterr().err


def test_warnings_are_one_line(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("a,b\n1,1\n1,1\n2,2\n,\n")
    printed = run("combine", tmp_path / "t.csv", "-k", 2, capsys=capsys)
    assert printed.err.startswith("Warning: 1 row ")
    assert "UserWarning" not in printed.err


# Light ------------------------------------------------------------------------------------------------------------


def loaded_by(*arguments):
    """Return the heavy packages that a command imports."""
    heavy = ["numpy", "numba", "duckdb", "matplotlib", "sklearn", "pandas", "polars", "pyarrow", "plotly", "jinja2"]
    code = (
        "import sys; from quorate.cli import main; main(sys.argv[1:]); "
        f"print('LOADED', [name for name in {heavy} if name in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return set(eval(done.stdout.rpartition("LOADED ")[2]))


def test_no_command_imports_what_it_does_not_need(labels):
    assert loaded_by("--help") == set()
    assert loaded_by("combine", "--help") == set()
    # scikit-learn itself loads pandas where that is installed.
    unneeded = {"matplotlib", "jinja2", "polars", "plotly"}
    assert not loaded_by("methods") & {*unneeded, "duckdb", "numba"}
    assert not loaded_by("evaluate", labels, "--truth", "class") & {*unneeded, "numba"}
    assert not loaded_by("combine", labels) & unneeded


def test_outliers_have_no_cluster_and_are_counted(tmp_path, capsys):
    random = np.random.default_rng(0)
    groups = np.repeat([[0.0, 0.0], [9.0, 0.0]], 60, axis=0) + random.uniform(-1, 1, size=(120, 2))
    rows = pd.DataFrame(np.concatenate([groups, [[40.0, 40.0], [-30.0, 20.0]]]), columns=["x", "y"])
    rows.to_csv(tmp_path / "rows.csv", index=False)
    files = {"-o": tmp_path / "out.csv", "--model": tmp_path / "model.npz"}
    arguments = [word for pair in files.items() for word in pair]
    printed = run("cluster", tmp_path / "rows.csv", "-k", "2", "--outliers", *arguments, capsys=capsys)
    labels = pd.read_csv(files["-o"])["consensus"]
    assert (labels[-2:] == -1).all()
    assert f"No cluster (-1): {(labels == -1).sum()} rows." in printed.out
    again = run("assign", tmp_path / "rows.csv", "--model", files["--model"], "--json", capsys=capsys)
    assert json.loads(again.out)["without"] == (labels == -1).sum()


def test_combine_writes_sql_that_labels_the_same_rows(labels, table, tmp_path):
    pytest.importorskip("sqlglot")
    earlier = tmp_path / "earlier.csv"
    pd.DataFrame({"id": table["id"], "consensus": np.repeat([7, 8, 9], 20)}).to_csv(earlier, index=False)
    out, script = tmp_path / "out.csv", tmp_path / "consensus.sql"
    run("combine", labels, "-k", 3, "--like", earlier, "-o", out, "--sql", script, "-q")
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE new_rows AS FROM '{labels}'")
    tables, query = re.split(r"-- New rows.*\n", script.read_text().partition("-- Distinct")[0])
    connection.execute(tables)
    answer = connection.sql(query).df().set_index("id")["consensus"]
    assert answer.loc[table["id"]].tolist() == pd.read_csv(out)["consensus"].tolist()
    assert set(answer) == {7, 8, 9}


def test_an_unknown_dialect_is_refused_before_anything_is_computed(labels, tmp_path, capsys):
    printed = run("combine", labels, "--sql", tmp_path / "a.sql", "--dialect", "oracle", code=2, capsys=capsys)
    assert "--dialect" in printed.err
