"""Interrupts at any moment, streams that end, disks that are full: one sentence, and nothing half-written."""

import importlib.util
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from quorate.cli import main

SENTENCE = "Error: Interrupted; no file is half-written. Run the same command again.\n"
SOURCE = Path(__file__).resolve().parents[1] / "src"


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
    """A folder for outputs and one for temporary files, and what is in them."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    for name in ("out", "tmp"):
        (tmp_path / name).mkdir()
    return lambda: sorted(
        str(file.relative_to(tmp_path)) for name in ("out", "tmp") for file in (tmp_path / name).rglob("*")
    )


def interrupted_after(n_calls, arguments):
    """Run the command and interrupt it at its n-th call of a Python function; return its code and whether it came."""
    calls = 0

    def count(_, event, __):
        nonlocal calls
        calls += event == "call"
        if calls == n_calls:
            sys.setprofile(None)
            calls += 1
            signal.raise_signal(signal.SIGINT)

    sys.setprofile(count)
    try:
        return main(arguments), calls
    finally:
        sys.setprofile(None)


def moments(n_calls, wanted):
    """Numbers of calls, spread over all, denser at both ends."""
    share = np.linspace(0, 1, wanted)
    return sorted({int(n) for n in 60 + (n_calls - 260) * (3 * share**2 - 2 * share**3)})


def check_interrupts(labels, place, tmp_path, capsys, wanted):
    out = tmp_path / "out" / "answer.parquet"
    arguments = ["combine", str(labels), "-k", "3", "-o", str(out), "-q"]
    assert main(arguments) == 0
    whole = out.read_bytes()
    _, n_calls = interrupted_after(-1, [*arguments, "--force"])
    capsys.readouterr()
    for moment in moments(n_calls, wanted):
        out.unlink(missing_ok=True)
        code, _ = interrupted_after(moment, arguments)
        assert (code, capsys.readouterr().err) == (130, SENTENCE), moment
        assert place() in ([], ["out/answer.parquet"]), moment
        assert not out.exists() or out.read_bytes() == whole


def test_an_interrupt_at_any_call(labels, place, tmp_path, capsys):
    check_interrupts(labels, place, tmp_path, capsys, 25)


@pytest.mark.slow
def test_an_interrupt_at_very_many_calls(labels, place, tmp_path, capsys):
    check_interrupts(labels, place, tmp_path, capsys, 1000)


def swallowed():
    """Receive an interrupt where Python cannot pass it on."""

    class Finalised:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    Finalised()


def as_another_error():
    """Receive an interrupt and make another error of it, as DuckDB does."""
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise RuntimeError("Query interrupted") from None


@pytest.mark.parametrize("receive", [swallowed, as_another_error])
def test_an_interrupt_that_a_library_hides(labels, place, capsys, monkeypatch, receive):
    went_on = []
    work = lambda *_: (receive(), time.sleep(60), went_on.append(True))  # noqa: E731
    monkeypatch.setattr("quorate.scale.combine.fit_best", work)
    assert main(["combine", str(labels)]) == 130
    assert not went_on
    assert capsys.readouterr().err == SENTENCE
    assert place() == []


def process(program, tmp_path, **streams):
    """Start Python with the command at hand; interrupts are not ignored, even if they are here."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "TMPDIR": str(tmp_path)}
    first = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\nfrom quorate.cli import main\n"
    return subprocess.Popen([sys.executable, "-c", first + program], env=environment, **streams)


def test_an_interrupt_while_compiled_code_runs(labels, place, tmp_path):
    """What never looks at signals is left behind within a second or two."""
    program = f"""
import hashlib, quorate.scale.combine
def work(*_):
    print("at work", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
quorate.scale.combine.fit_best = work
raise SystemExit(main(["combine", {str(labels)!r}, "-o", {str(tmp_path / "out" / "answer.csv")!r}]))
"""
    pipe = subprocess.PIPE
    with process(program, tmp_path / "tmp", stdout=pipe, stderr=pipe) as running:
        assert running.stdout.readline() == b"at work\n"
        assert len(place()) > 0
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
        assert running.stderr.read().decode() == SENTENCE
    assert place() == []


def test_an_interrupt_during_a_query(labels, place, tmp_path):
    """DuckDB looks at signals itself, and has errors of its own for them."""
    program = f"""
import threading, quorate.scale.combine
def work(counted, *_):
    connection = quorate.scale.files.connect(__import__("contextlib").ExitStack())
    print("at work", flush=True)
    connection.execute("SELECT count(*) FROM range(1000000000000) t(i) WHERE i % 7 = 3").fetchall()
quorate.scale.combine.fit_best = work
raise SystemExit(main(["combine", {str(labels)!r}]))
"""
    pipe = subprocess.PIPE
    with process(program, tmp_path / "tmp", stdout=pipe, stderr=pipe) as running:
        assert running.stdout.readline() == b"at work\n"
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
        assert running.stderr.read().decode() == SENTENCE


def shell(line, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "TMPDIR": str(tmp_path)}
    line = line.replace("quorate ", f"{sys.executable} -m quorate ")
    return subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True, check=False)


def test_a_reader_that_has_read_enough(place, tmp_path):
    big = tmp_path / "in.csv"
    big.write_text("id,a,b\n" + "".join(f"r{i},{i % 3},{i % 2}\n" for i in range(20_000)))
    done = shell(f"cat {big} | quorate combine - -k 2 -q -o - | head -n 2", tmp_path / "tmp")
    assert done.stdout.splitlines()[0] == "id,consensus"
    assert done.stderr == ""
    assert place() == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("quorate methods > /dev/full", 1, "cannot be read or written: No space left on device"),
        ("quorate combine IN -q -o - > /dev/full", 2, "Standard output cannot be written: No space left on device"),
        ("quorate combine IN > /dev/full 2> /dev/full", 1, ""),
        ("quorate combine IN -q -o OUT >&-", 0, ""),
        ("quorate combine IN -q -o OUT >&- 2>&- <&-", 0, ""),
        ("quorate combine IN -q -o - >&-", 2, "Standard output is closed. Name a file"),
        ("quorate combine - <&-", 2, "Standard input is closed"),
    ],
)
def test_streams_that_are_closed_or_full(labels, place, tmp_path, line, code, said):
    out = tmp_path / "out" / "answer.csv"
    done = shell(line.replace("IN", str(labels)).replace("OUT", str(out)), tmp_path / "tmp")
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == bool(said)
    assert place() == (["out/answer.csv"] if "OUT" in line else [])


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "npy", "npz"])
def test_a_full_disk_names_the_output(labels, place, tmp_path, capsys, ending):
    """A limit on the size of files stands for a disk that is full."""
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
    said = capsys.readouterr().err
    assert code == 2, said
    assert said.startswith(f"Error: {out} cannot be")
    assert "read" not in said.replace("already", "")
    assert place() == []


def test_a_terminal_that_knows_few_signs(labels, tmp_path):
    """Tables have bars, and names any sign."""
    named = labels.with_name("üñî.csv")
    labels.rename(named)
    for encoding in ("ascii", "latin-1"):
        for more in ("", " --json"):
            done = shell(f"PYTHONIOENCODING={encoding} quorate combine {named}{more}", tmp_path)
            assert done.returncode == 0, done.stderr


def test_a_file_name_that_is_no_text(labels, tmp_path):
    name = os.fsdecode(b"labels-\xff.csv")
    labels.rename(tmp_path / name)
    done = shell(f"cd {tmp_path} && quorate combine labels-*.csv -k 2 -o $'out-\\xfe.csv'", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / os.fsdecode(b"out-\xfe.csv")).exists()


def load_kernel(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.double


def test_a_damaged_compilation_cache_is_made_anew(tmp_path):
    path = tmp_path / "some_kernel.py"
    path.write_text("from quorate._kernels._jit import jit\n\n\n@jit\ndef double(x):\n    return 2 * x\n")
    kernel = load_kernel(path)
    assert kernel(3) == 6
    for content in (b"", b"not what was written"):
        for ending in ("nbi", "nbc"):
            damaged = list(Path(kernel._cache.cache_path).glob(f"some_kernel*.{ending}"))
            assert damaged
            for file in damaged:
                file.write_bytes(content)
            assert load_kernel(path)(3) == 6
    fresh = load_kernel(path)
    assert fresh(3) == 6
    assert sum(fresh.stats.cache_hits.values()) == 1  # the last one was kept whole again
