"""The cache of compiled kernels: one directory per version, one compiling process at a time, or no compilation."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from quorate._kernels import _jit
from quorate._runtime.file_locks import wait_for_lock

SOURCE = Path(__file__).resolve().parents[2] / "src"
CONSENSUS = """
import numpy as np, quorate as qt
labels = np.array([[1, 1, 1], [1, 1, 1], [1, 2, 1], [2, 2, 1], [2, 3, 2], [2, 3, 2]])
print([qt.consensus(labels, 2, method=method).labels.tolist() for method in ("weac", "gp-mgla", "lwea")])
"""
SMALL_KERNEL = """
import sys
from quorate._kernels.election import elect
from quorate._kernels import _jit
print(_jit.CACHE_DIRECTORY, flush=True)
sys.stdin.readline()
from quorate._kernels.segments import root_of
import numpy as np
print(root_of(np.arange(3), 1), flush=True)
"""


def start(program, **environment):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), **environment}
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", program], env=environment, stdin=pipe, stdout=pipe, text=True)


def test_the_directory_depends_on_the_sources_of_all_kernels(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    first = _jit.versioned_directory()
    assert first == _jit.versioned_directory()
    assert first.parent == tmp_path
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    (kernels / "_jit.py").write_text("changed")
    monkeypatch.setattr(_jit, "__file__", str(kernels / "_jit.py"))
    assert _jit.versioned_directory() != first


def test_a_process_waits_while_another_one_compiles(tmp_path):
    with start(SMALL_KERNEL, NUMBA_CACHE_DIR=str(tmp_path)) as process:
        directory = Path(process.stdout.readline().strip())
        lock = wait_for_lock(directory / "lock", 10)
        assert lock is not None
        process.stdin.write("\n")
        process.stdin.flush()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=3)
        assert not list(directory.rglob("*.nbc"))  # nothing is compiled before the lock is free
        lock.close()
        assert process.stdout.readline() == "1\n"
    assert list(directory.rglob("*.nbc"))
    lock = wait_for_lock(directory / "lock", 0)
    assert lock is not None  # released after each compilation
    lock.close()


def test_without_a_writable_directory_kernels_are_compiled_in_every_process():
    with start(SMALL_KERNEL, NUMBA_CACHE_DIR=os.devnull) as process:
        assert process.stdout.readline() == "None\n"
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "1\n"


@pytest.mark.filterwarnings("ignore")
def test_kernels_run_without_compilation():
    """NUMBA_DISABLE_JIT=1 is for debugging and coverage."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": "error::RuntimeWarning"}
    results = [
        subprocess.run(
            [sys.executable, "-c", CONSENSUS],
            env={**environment, "NUMBA_DISABLE_JIT": disabled},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for disabled in ("0", "1")
    ]
    assert results[0] == results[1]


@pytest.mark.parametrize("megabytes", [700, 900, 1000])
def test_too_small_an_address_space_is_an_error_and_no_crash(megabytes):
    """Under `ulimit -v` LLVM ends the process by a segmentation fault."""
    resource = pytest.importorskip("resource")
    size = megabytes << 20
    done = subprocess.run(
        [sys.executable, "-c", CONSENSUS],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "MemoryLimitError: Compiled code needs 1.05 GB of address space" in done.stderr


@pytest.mark.parametrize(("arguments", "code"), [(["weigh", "table.csv"], 2), (["weigh", "--help"], 0)])
def test_the_command_names_the_address_space_that_it_needs(arguments, code):
    """Its libraries would fail one after the other, with messages about shared objects and the disk."""
    resource = pytest.importorskip("resource")
    done = subprocess.run(
        [sys.executable, "-m", "quorate", *arguments],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (900 << 20, 900 << 20)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert ("Raise the limit: ulimit -v" in done.stderr) == (code == 2)
