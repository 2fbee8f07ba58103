"""What a dead run left is cleared by the next one; what belongs to a living run is left alone."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from quorate._runtime import temporary_files
from quorate.cli import main

SOURCE = Path(__file__).resolve().parents[1] / "src"


@pytest.fixture
def dead():
    """The number of a process that is no more."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    return gone.pid


def named(process, stem="", machine=temporary_files._MACHINE):
    return f"{stem}quorate-{machine}-{process}-abcdef123456" + (".tmp" if stem else "")


def test_what_dead_runs_left_is_cleared(tmp_path, dead):
    left = tmp_path / named(dead)
    (left / "below").mkdir(parents=True)
    (left / "below" / "spilled").write_text("x")
    (tmp_path / named(dead, ".out.csv.")).write_text("half")
    kept = [named(os.getpid()), named(os.getppid(), ".out.csv."), named(dead, machine="elsewhere"), "quorate-notes"]
    for name in [*kept, "out.csv", ".out.csv.tmp"]:
        (tmp_path / name).write_text("mine")
    temporary_files.remove_stale(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted([*kept, "out.csv", ".out.csv.tmp"])


def test_symbolic_links_are_not_followed(tmp_path, dead):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "precious").write_text("x")
    (tmp_path / named(dead)).symlink_to(tmp_path / "mine")
    temporary_files.remove_stale(tmp_path)
    assert os.listdir(tmp_path) == ["mine"]
    assert (tmp_path / "mine" / "precious").exists()


def test_the_next_run_clears_what_a_killed_one_left(tmp_path, monkeypatch):
    """A run is killed while it holds a temporary folder and a half-written output; another is at work meanwhile."""
    labels, out = tmp_path / "labels.csv", tmp_path / "out"
    labels.write_text("a,b\n" + "0,0\n0,1\n1,1\n" * 10)
    out.mkdir()
    (tmp_path / "tmp").mkdir()
    program = f"""
import os, signal, sys

def stop(temporary, target):
    print("writing", flush=True)
    if sys.argv[1] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdin.read()
os.link = stop
from quorate.cli import main
raise SystemExit(main(["combine", {str(labels)!r}, "-k", "2", "-q", "-o", {str(out / "answer.csv")!r}]))
"""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "TMPDIR": str(tmp_path / "tmp")}
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program]
    killed = subprocess.run([*command, "killed"], env=environment, stdout=pipe, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(os.listdir(out)) == 1
    assert len(os.listdir(tmp_path / "tmp")) == 1
    with subprocess.Popen([*command, "waits"], env=environment, stdin=pipe, stdout=pipe) as waiting:
        assert waiting.stdout.readline() == b"writing\n"
        living = [*os.listdir(out), *os.listdir(tmp_path / "tmp")]
        assert len(living) == 2
        assert all(f"-{waiting.pid}-" in name for name in living)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
        assert main(["combine", str(labels), "-k", "2", "-q", "-o", str(out / "other.csv")]) == 0
        assert sorted([*os.listdir(out), *os.listdir(tmp_path / "tmp")]) == sorted([*living, "other.csv"])
        waiting.stdin.close()
    assert os.listdir(tmp_path / "tmp") == []
