"""Bad input to the command: one sentence, a hint, exit code 2, and no file written."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import support
from quorate.cli import main, run


@pytest.fixture
def labels(tmp_path):
    """Sixty rows of three classes, with five members, one of them random."""
    rng = np.random.default_rng(5)
    truth = np.repeat([0, 1, 2], 20)
    frame = pd.DataFrame({"id": [f"row-{i:03d}" for i in range(60)], "class": np.array(["x", "y", "z"])[truth]})
    for j in range(4):
        frame[f"fair_{j}"] = np.where(rng.random(60) < 0.1, rng.integers(0, 3, 60), truth)
    frame["noise"] = rng.integers(0, 3, 60)
    path = tmp_path / "labels.csv"
    frame.to_csv(path, index=False)
    return path


def folder_content(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def bad_tables():
    """Return the bytes of files that cannot be combined, with words that the message must contain."""
    rng = np.random.default_rng(1)
    features = "a,b\n" + "\n".join(f"{x:.6f},{y:.6f}" for x, y in rng.normal(size=(40, 2)))
    return {
        "empty.csv": (b"", ["is empty"]),
        "blank.csv": (b"\n\n  \n", ["is empty"]),
        "header.csv": (b"id,a,b\n", ["no rows"]),
        "colons.csv": (b"a:b:c\n1:2:1\n2:1:2\n", ["one column", "colon"]),
        "ragged.csv": (b"id,a,b\nx,1,2\ny,1\nz,2,2\n", ["Line 3"]),
        "long.csv": (b"id,a,b\nx,1,2\ny,1,2,3,4\nz,1,2\n", ["Line 3"]),
        "title.csv": (b"My groups\n\nid;a;b\nx;1;2\ny;1;1\n", ["id;a;b"]),
        "r.csv": (b"a,b\nx,1,2\ny,1,1\nz,2,2\n", ["first line"]),
        "rubbish.csv": (bytes(rng.integers(0, 256, 4000, dtype=np.uint8)), []),
        "latin.csv": ("id,a\nmüde,1\n".encode("latin-1"), ["UTF-8"]),
        "twice.csv": (b"a,a\n1,2\n2,1\n", ["'a'"]),
        "quotes.csv": (b'a,b\n"1,2\n2,1\n', ["quote"]),
        "features.csv": (features.encode(), ["'a'", "quorate cluster"]),
        "rubbish.parquet": (b"rubbish" * 50, ["rubbish.parquet"]),
        "short.parquet": (b"PAR1", ["short.parquet"]),
        "rubbish.arrow": (b"rubbish" * 50, ["rubbish.arrow"]),
        "rubbish.npy": (b"rubbish" * 50, ["rubbish.npy"]),
        "rubbish.npz": (b"PK\x03\x04 rubbish", ["rubbish.npz"]),
        "rubbish.csv.gz": (b"rubbish" * 50, ["rubbish.csv.gz"]),
        "mixed.csv": (b"a,b\n1,inf\n2,1\n", ["finite"]),
    }


def complain(arguments, capsys, *, code=2):
    """Run the command, check that it prints one error of one line and nothing else, and return that line."""
    assert main([str(argument) for argument in arguments]) == code
    printed = capsys.readouterr()
    *notes, error = printed.err.splitlines()
    assert printed.out == ""
    assert error.startswith("Error: ")
    assert not any(line.startswith("Error: ") for line in notes)
    assert error.rstrip().endswith((".", "?", ")"))
    return error


@pytest.mark.parametrize("name", bad_tables())
def test_bad_tables_are_refused(name, tmp_path, capsys):
    content, words = bad_tables()[name]
    (tmp_path / name).write_bytes(content)
    before = folder_content(tmp_path)
    error = complain(["combine", tmp_path / name, "-k", 2, "-o", tmp_path / "out.csv"], capsys)
    assert [word for word in words if word not in error] == [], error
    assert folder_content(tmp_path) == before


BAD_REQUESTS = [
    (["combine", "{labels}", "-k", "0"], "k", "-k"),
    (["combine", "{labels}", "-k", "three"], "k", "-k"),
    (["combine", "{labels}", "-k", "5:2"], "k", "-k"),
    (["combine", "{labels}", "-k", "1:999999999"], "too-many-k", "-k"),
    (["combine", "{labels}", "--method", "kmeans"], "generator-as-method", "--method"),
    (["cluster", "{labels}", "--method", "kmeans"], "generator-as-method", "--method"),
    (["combine", "{labels}", "--set", "theta"], "name-value", "--set"),
    (["combine", "{labels}", "--set", "beta=-1"], "number", "--set beta"),
    (["combine", "{labels}", "--noise", "loud"], "choice", "--noise"),
    (["combine", "{labels}", "-o", "{folder}/same", "--report", "{folder}/same"], "same-output", None),
    (["combine", "{labels}", "-o", "-", "--json"], "stdout-taken", None),
    (["combine", "{labels}", "--core", "0"], "number", "--core"),
    (["combine", "{labels}", "--core", "0.9", "-k", "2,3"], "core-of-several", "--core"),
    (["combine", "{labels}", "--layers", "5,x"], "k", "--layers"),
    (["combine", "{labels}", "--layers", "0,3"], "k", "--layers"),
    (["combine", "{labels}", "--abstain", "2"], "number", "--abstain"),
    (["combine", "{labels}", "--groups", "nothing=x"], "invalid-groups", "--groups"),
    (["combine", "{labels}", "--groups", "{{tool}}-*"], "invalid-groups", "--groups"),
    (["weigh", "{labels}", "--beta", "-1"], "number", "--beta"),
    (["generate", "seeds", "--generator", "kmean"], "choice", "--generator"),
    (["generate", "seeds", "--scale", "log"], "choice", "--scale"),
    (["generate", "seeds", "--jobs", "0"], "integer", "--jobs"),
    (["generate", "seeds", "--features", "a"], "included-dataset", None),
    (["generate", "seeds", "--k-range", "9:3"], "k-range", "--k-range"),
    (["generate", "seeds", "--k-range", "9"], "k-range", "--k-range"),
    (["generate", "seeds", "--k-range", "150:160"], "k-range", "--k-range"),
    (["generate", "seds"], "no-file", None),
    (["generate", "seds", "-o", "out.csv"], "no-file", None),
    (["cluster", "{labels}", "-k", "2:5"], "k", "-k"),
    (["bench", "{labels}", "--n-members", "few"], "sizes", "-m"),
    (["bench", "{labels}", "--method", "weac", "--method", "weac"], "same-name", "--method"),
    (["explore", "{labels}", "--xy", "a"], "two-columns", "--xy"),
    (["reproduce", "tables", "{folder}"], "no-such-experiment", None),
    (["reproduce", "all", "{folder}/new", "--generator", "kmean"], "choice", "--generator"),
    (["demo", "--folder", "{labels}"], "not-a-folder", "--folder"),
]


@pytest.mark.parametrize(("arguments", "code", "flag"), BAD_REQUESTS, ids=[" ".join(case[0]) for case in BAD_REQUESTS])
def test_bad_requests_are_refused(arguments, code, flag, labels, tmp_path, capsys):
    before = folder_content(tmp_path)
    filled = [argument.format(folder=tmp_path, labels=labels) for argument in arguments]
    with support.raises(code):
        run(filled)
    capsys.readouterr()
    error = complain(filled, capsys)
    assert flag is None or error.startswith(f"Error: {flag} ")
    assert folder_content(tmp_path) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["combine", "{folder}/label.csv"],
        ["combine", "{folder}"],
        ["combine", "{labels}", "--members", "fair_0,fiar_1"],
        ["combine", "{labels}", "--members", "wrong_*"],
        ["combine", "{labels}", "--truth", "klass"],
        ["combine", "{labels}", "--id", "class", "--members", "class,noise"],
        ["combine", "{labels}", "-k", "61", "--method", "weac"],
        ["combine", "{labels}", "-k", "40", "--method", "lwgp"],
        ["combine", "{labels}", "--method", "gpmgla"],
        ["combine", "{labels}", "--set", "teta=1"],
        ["combine", "{labels}", "--set", "init=k-means++", "--set", "random_state=x"],
        ["combine", "{labels}", "--format", "xls"],
        ["combine", "{labels}", "--delimiter", ";"],
        ["combine", "{labels}", "-o", "{folder}/no/out.csv"],
        ["combine", "{labels}", "-o", "{folder}"],
        ["combine", "{labels}", "-o", "{labels}", "--force"],
        ["combine", "{labels}", "-o", "{folder}/out.csv.bz2"],
        ["combine", "{labels}", "-o", "{folder}/out.json"],
        ["combine", "{labels}", "--report", "{folder}/r.pdf"],
        ["combine", "{labels}", "--summary", "{folder}/s.csv"],
        ["combine", "{labels}", "--memory-limit", "much"],
        ["combine", "{labels}", "--keep", "consensus"],
        ["evaluate", "{labels}", "--truth", "nothing"],
        ["evaluate", "{labels}", "--truth", "class", "--truth-file", "{folder}/none.csv"],
        ["generate", "{labels}", "--features", "class"],
        ["demo", "--folder", "{labels}/below"],
    ],
    ids=" ".join,
)
def test_errors_of_the_library_are_shown_in_one_line(arguments, labels, tmp_path, capsys):
    before = folder_content(tmp_path)
    complain([argument.format(folder=tmp_path, labels=labels) for argument in arguments], capsys)
    assert folder_content(tmp_path) == before


@pytest.mark.parametrize("arguments", [["combine"], ["combine", "x.csv", "--wrong"], ["nonsense"], ["weigh", "a", "b"]])
def test_wrong_usage_is_bad_input(arguments, capsys):
    assert main(arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_an_output_format_without_an_output_is_warned_about(labels, capsys):
    assert main(["combine", str(labels), "-k", "2", "--output-format", "csv"]) == 0
    assert "Warning: --output-format has no effect without" in capsys.readouterr().err


def test_a_folder_that_is_not_writable(labels, tmp_path, capsys, monkeypatch):
    # Root may write everywhere, so the answer of the system is replaced.
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK)
    assert "permissions" in complain(["combine", labels, "-k", 2, "-o", tmp_path / "out.csv"], capsys)


def test_a_full_disk_leaves_no_file(labels, tmp_path, capsys, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "link", fail)
    before = folder_content(tmp_path)
    assert "No space left" in complain(["combine", labels, "-k", 2, "-o", tmp_path / "out.csv"], capsys)
    assert folder_content(tmp_path) == before


def test_a_bug_is_a_failure_in_one_line(labels, capsys, monkeypatch):
    monkeypatch.setattr("quorate.cli.combine.combine_table", lambda *_, **__: 1 / 0)
    assert complain(["combine", labels], capsys, code=1).startswith("Error: Quorate failed (ZeroDivisionError")


def test_an_interrupt_while_writing_leaves_no_file(labels, tmp_path, capsys, monkeypatch):
    def interrupt(source, _):
        assert Path(source).exists()  # everything is written, but not yet under its final name
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "link", interrupt)
    before = folder_content(tmp_path)
    error = complain(["combine", labels, "-k", 2, "-o", tmp_path / "out.csv"], capsys, code=130)
    assert error.startswith("Error: Interrupted.")
    assert folder_content(tmp_path) == before


def test_a_terminal_shows_progress(labels, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then treats standard error as a terminal
    assert main(["combine", str(labels), "-k", "2", "--method", "weac"]) == 0
    assert "Combining" in capsys.readouterr().err
    assert main(["combine", str(labels), "-k", "2", "-q"]) == 0
    assert capsys.readouterr().err == ""


def test_the_line_that_raises_an_error_can_be_shown(tmp_path, monkeypatch):
    monkeypatch.setenv("QUORATE_TRACEBACK", "1")
    with support.raises("no-file") as caught:
        main(["combine", str(tmp_path / "nothing.csv")])
    assert caught.traceback[-1].path.name == "reading.py"
