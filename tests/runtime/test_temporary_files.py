"""The next run removes the temporary files of an ended run and keeps those of a running one."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from quorate._runtime import temporary_files
from quorate._runtime.file_locks import create_locked
from quorate.cli import main

SOURCE = Path(__file__).resolve().parents[2] / "src"
TOKENS = [f"{i:016x}" for i in range(8)]


def leave(folder, token, *names):
    """Create what an ended run left: files and folders under a token, and its lock, which nobody holds."""
    (folder / f".quorate-{token}.lock").touch()
    for name in names:
        (folder / name.format(token)).write_text("half")


def test_files_of_ended_runs_are_removed(tmp_path):
    leave(tmp_path, TOKENS[0], ".out.csv.quorate-{}.tmp")
    leave(tmp_path, TOKENS[1])
    below = tmp_path / f"quorate-{TOKENS[1]}" / "below"
    below.mkdir(parents=True)
    (below / "spilled").write_text("x")
    unrelated = ["out.csv", ".out.csv.tmp", "quorate-notes", f"quorate-{TOKENS[2]}", ".quorate-short.lock"]
    for name in unrelated:
        (tmp_path / name).write_text("mine")
    temporary_files.remove_stale(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted(unrelated)


def test_files_of_a_running_process_are_kept_whatever_its_process_id(tmp_path, monkeypatch):
    """In another container of the same host name the owner's process id means nothing."""
    program = f"""
import sys, tempfile
tempfile.tempdir = {str(tmp_path)!r}
from quorate._runtime.temporary_files import temporary_folder
with temporary_folder() as folder:
    (folder / "data").write_text("x")
    print(folder, flush=True)
    sys.stdin.read()
"""

    def unknown(process, number):
        raise ProcessLookupError

    pipe = subprocess.PIPE
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen([sys.executable, "-c", program], env=environment, stdin=pipe, stdout=pipe) as owner:
        folder = Path(owner.stdout.readline().decode().strip())
        with monkeypatch.context() as patch:
            patch.setattr("os.kill", unknown)
            temporary_files.remove_stale(tmp_path)
        assert (folder / "data").exists()
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        assert (folder / "data").exists()
        temporary_files.remove_stale(tmp_path)
        assert os.listdir(tmp_path) == []


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare (util-linux)")
def test_files_of_a_running_process_are_kept_in_another_pid_namespace(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    program = (
        "import pathlib, sys\n"
        "from quorate._runtime.temporary_files import remove_stale\n"
        "remove_stale(pathlib.Path(sys.argv[1]))"
    )
    command = ["unshare", "--user", "--map-root-user", "--pid", "--fork", sys.executable, "-c", program, str(tmp_path)]
    with temporary_files.temporary_folder() as folder:
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, check=False
        )
        if done.returncode and "unshare" in done.stderr:
            pytest.skip(f"this machine allows no new PID namespace: {done.stderr.strip()}")
        assert done.returncode == 0, done.stderr
        assert folder.is_dir()


def test_a_file_and_its_lock_are_removed_at_the_end(tmp_path):
    with temporary_files.temporary_file(tmp_path, "out.csv") as path:
        path.write_text("half")
        assert len(os.listdir(tmp_path)) == 2
        temporary_files.remove_stale(tmp_path)
        assert path.exists()
    assert os.listdir(tmp_path) == []


def test_own_files_are_removed_before_an_exit(tmp_path):
    with temporary_files.temporary_file(tmp_path, "out.csv") as path:
        path.write_text("half")
        temporary_files.remove_own()
        assert os.listdir(tmp_path) == []


def test_symbolic_links_are_not_followed(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "precious").write_text("x")
    leave(tmp_path, TOKENS[0])
    (tmp_path / f"quorate-{TOKENS[0]}").symlink_to(tmp_path / "mine")
    (tmp_path / f".quorate-{TOKENS[1]}.lock").symlink_to(tmp_path / "mine" / "precious")
    temporary_files.remove_stale(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [f".quorate-{TOKENS[1]}.lock", "mine"]
    assert (tmp_path / "mine" / "precious").exists()


def test_a_lock_that_is_removed_before_it_is_held_is_created_again(tmp_path, monkeypatch):
    path, attempts = tmp_path / "lock", []

    def removed_once(file):
        attempts.append(file)
        if len(attempts) == 1:
            path.unlink()
        return True

    monkeypatch.setattr("quorate._runtime.file_locks.try_lock", removed_once)
    with create_locked(path) as file:
        assert file is attempts[1]
        assert path.exists()


def test_the_next_run_removes_what_a_killed_one_left(tmp_path, monkeypatch):
    """A run is killed while it holds a temporary folder and a half-written output; another one is still running."""
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
    stale = [*os.listdir(out), *os.listdir(tmp_path / "tmp")]
    assert len(stale) == 4  # two temporary files with their locks
    with subprocess.Popen([*command, "waits"], env=environment, stdin=pipe, stdout=pipe) as waiting:
        assert waiting.stdout.readline() == b"writing\n"
        living = [*os.listdir(out), *os.listdir(tmp_path / "tmp")]
        assert len(living) == 4
        assert not set(stale) & set(living)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
        assert main(["combine", str(labels), "-k", "2", "-q", "-o", str(out / "other.csv")]) == 0
        assert sorted([*os.listdir(out), *os.listdir(tmp_path / "tmp")]) == sorted([*living, "other.csv"])
        waiting.stdin.close()
    assert os.listdir(tmp_path / "tmp") == []
