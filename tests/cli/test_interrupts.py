"""Interrupts at any moment, closed streams and full disks: one message, and no incomplete file."""

import json
import os
import resource
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import forked
from quorate.cli import main
from quorate.cli.interrupts import INTERRUPT_MESSAGE

SENTENCE = f"Error: {INTERRUPT_MESSAGE}\n"
SOURCE = Path(__file__).resolve().parents[2] / "src"
FORKED = Path(forked.__file__)
HANGS = 500  # seconds after which a process hangs, however busy the machine is


@pytest.fixture
def labels(tmp_path):
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 20)
    columns = [np.where(rng.random(60) < 0.2, rng.integers(0, 3, 60), group) for _ in range(4)]
    path = tmp_path / "in" / "labels.csv"
    path.parent.mkdir()
    np.savetxt(path, np.stack(columns, axis=1), fmt="%d", delimiter=",", header="a,b,c,d", comments="")
    return path


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a function that lists the files in the folders of outputs and of temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    for name in ("out", "tmp"):
        (tmp_path / name).mkdir()
    return lambda: sorted(
        str(file.relative_to(tmp_path)) for name in ("out", "tmp") for file in (tmp_path / name).rglob("*")
    )


def outcomes(labels, tmp_path, n_interrupts):
    """Return the outcomes of interrupts at moments spread over a run; the first is of an uninterrupted run."""
    options = ["-k", "3", "--method", "weac", "-q", "--force", "-o", tmp_path / "out" / "answer.parquet"]
    done = subprocess.run(
        [sys.executable, FORKED, tmp_path, str(n_interrupts), "combine", labels, *options],
        env={**os.environ, "PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_interrupts(labels, tmp_path, n_interrupts):
    whole, *interrupted = outcomes(labels, tmp_path, n_interrupts)
    assert (whole["code"], whole["said"], list(whole["held"])) == (0, "", ["out/answer.parquet"])
    assert len(interrupted) == n_interrupts
    for found in interrupted:
        assert (found["code"], found["said"]) == (130, SENTENCE), found["moment"]
        assert found["held"] in ({}, whole["held"]), found["moment"]


def test_an_interrupt_at_any_call(labels, place, tmp_path):
    check_interrupts(labels, tmp_path, 8)


@pytest.mark.slow
def test_an_interrupt_at_very_many_calls(labels, place, tmp_path):
    check_interrupts(labels, tmp_path, 300)


def process(work, labels, tmp_path):
    """Run the command with some `work` in place of the fit; interrupts are not ignored, even if they are here."""
    program = f"""
import signal, sys, quorate.tables.combining
from quorate.cli import command
{work}
quorate.tables.combining.fit_best = work
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = ["quorate", "combine", {str(labels)!r}, "-k", "3", "-q", "-o", {str(tmp_path / "out" / "answer.csv")!r}]
raise SystemExit(command())
"""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "TMPDIR": str(tmp_path / "tmp")}
    return subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=-1, stderr=-1, text=True)


HIDDEN = {
    "finaliser": """
class Finalised:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
def work(*_):
    Finalised()
    print("went on")
""",
    "another error": """
def work(*_):
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise RuntimeError("Query interrupted") from None
""",
    "callback of compiled code": """
import ctypes
def compare(a, b):
    signal.raise_signal(signal.SIGINT)
    print("went on")
    return 0
def work(*_):
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(2, 1), 2, 4, kind(compare))
    print("went on")
""",
    "compiler": """
import numba
def work(*_):
    calls = 0
    def count(frame, event, _):
        nonlocal calls
        calls += event == "call" and "llvmlite" in frame.f_code.co_filename
        if calls == 2000:
            signal.raise_signal(signal.SIGINT)
    sys.setprofile(count)
    numba.njit(lambda x: x.sum())(__import__("numpy").ones(3))
    print("went on")
""",
}


@pytest.mark.parametrize("work", HIDDEN.values(), ids=HIDDEN)
def test_an_interrupt_where_libraries_lose_exceptions(labels, place, tmp_path, work):
    with process(work, labels, tmp_path) as running:
        assert running.communicate(timeout=HANGS) == ("", SENTENCE)
    assert running.returncode == 130
    assert place() == []


ENDLESS = {
    "compiled code, which never looks at signals": """
def work(*_):
    print("at work", flush=True)
    __import__("hashlib").pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
""",
    "a query, whose engine looks itself": """
def work(*_):
    connection = quorate.tables.io.connect(__import__("contextlib").ExitStack())
    print("at work", flush=True)
    connection.execute("SELECT count(*) FROM range(1000000000000) t(i) WHERE i % 7 = 3").fetchall()
""",
}


@pytest.mark.parametrize("work", ENDLESS.values(), ids=ENDLESS)
def test_an_interrupt_of_endless_work(labels, place, tmp_path, work):
    with process(work, labels, tmp_path) as running:
        assert running.stdout.readline() == "at work\n"
        assert len(place()) > 0
        running.send_signal(signal.SIGINT)
        assert running.wait(HANGS) == 130
        assert running.stderr.read() == SENTENCE
    assert place() == []


def test_an_interrupt_after_the_answer(labels, place, tmp_path):
    """As Python shuts down, the answer is complete: there is nothing to say."""
    work = """
import atexit
from quorate.tables.combining import fit_best as work
atexit.register(signal.raise_signal, signal.SIGINT)
"""
    with process(work, labels, tmp_path) as running:
        assert running.communicate(timeout=HANGS) == ("", "")
    assert running.returncode == 0
    assert place() == ["out/answer.csv"]


def test_an_interrupt_ends_the_workers_too(tmp_path):
    """A worker at endless work goes with the process that asked."""
    program = """
import os, threading, time
from quorate._runtime.workers import run_in_workers
def work(_):
    os.write(2, f"{os.getpid()}\\n".encode())
    time.sleep(600)
threading.Thread(target=lambda: list(run_in_workers(work, [1], 1)), daemon=True).start()
input()
os._exit(130)
"""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, env=environment, stdin=-1, stderr=-1, text=True) as running:
        assert running.stderr.readline().strip().isdigit()
        running.stdin.write("\n")
        running.stdin.flush()
        assert running.wait(HANGS) == 130
        with ThreadPoolExecutor(1) as reader:
            reader.submit(running.stderr.read).result(HANGS)  # ends when the last process that could write has ended


def shell(line, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "TMPDIR": str(tmp_path)}
    line = line.replace("quorate ", f"{sys.executable} -m quorate ")
    return subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True, check=False)


def test_a_reader_that_closes_the_pipe(place, tmp_path):
    big = tmp_path / "in.csv"
    big.write_text("id,a,b\n" + "".join(f"r{i},{i % 3},{i % 2}\n" for i in range(20_000)))
    done = shell(f"set -o pipefail; cat {big} | quorate combine - -k 2 -q -o - | head -n 2", tmp_path / "tmp")
    assert done.stdout.splitlines()[0] == "id,consensus"
    assert (done.stderr, done.returncode) == ("", 0)
    assert place() == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("quorate methods > /dev/full", 1, "No space left on device"),
        ("quorate combine IN -q -o - > /dev/full", 2, "No space left on device"),
        ("quorate combine IN > /dev/full 2> /dev/full", 1, ""),
        ("quorate combine IN -q -o OUT >&-", 0, ""),
        ("quorate combine IN -q -o OUT >&- 2>&- <&-", 0, ""),
        ("quorate combine IN -q -o - >&-", 2, "Standard output is closed"),
        ("quorate combine - <&-", 2, "Standard input is closed"),
    ],
)
def test_streams_that_are_closed_or_full(labels, place, tmp_path, line, code, message):
    out = tmp_path / "out" / "answer.csv"
    done = shell(line.replace("IN", str(labels)).replace("OUT", str(out)), tmp_path / "tmp")
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == bool(message)
    assert place() == (["out/answer.csv"] if "OUT" in line else [])


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "npy", "npz"])
def test_a_full_disk_names_the_output(labels, place, tmp_path, capsys, ending):
    """A limit on the size of files simulates a full disk."""
    many = labels.with_name("many.csv")
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 3, (30_000, 3))
    many.write_text("id,a,b,c\n" + "".join(f"row{i},{a},{b},{c}\n" for i, (a, b, c) in enumerate(rows)))
    out = tmp_path / "out" / f"answer.{ending}"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        code = main(["combine", str(many), "-k", "2", "-q", "--method", "weac", "--confidence", "-o", str(out)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    error = capsys.readouterr().err
    assert code == 2, error
    assert error.startswith(f"Error: {out} cannot be written")
    assert place() == []


def test_a_terminal_with_a_small_character_set(labels, tmp_path):
    """Tables contain bars, and names any character."""
    named = labels.with_name("üñî.csv")
    labels.rename(named)
    for encoding in ("ascii", "latin-1"):
        for more in ("", " --json"):
            done = shell(f"PYTHONIOENCODING={encoding} quorate combine {named}{more}", tmp_path)
            assert done.returncode == 0, done.stderr


def test_a_file_name_that_is_not_valid_text(labels, tmp_path):
    name = os.fsdecode(b"labels-\xff.csv")
    labels.rename(tmp_path / name)
    done = shell(f"cd {tmp_path} && quorate combine labels-*.csv -k 2 -o $'out-\\xfe.csv'", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / os.fsdecode(b"out-\xfe.csv")).exists()
