"""Run the command in forks of a process that has imported everything, and interrupt each at a chosen moment.

`python forked.py FOLDER WANTED ARGUMENTS...` prints the exit code, what was said, and what the folders `out` and `tmp`
of FOLDER hold, for each of the moments, as JSON lines; the first line is of a run without an interrupt.
"""

import _signal
import contextlib
import importlib
import json
import os
import pkgutil
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np

import quorate._kernels

MODULES = ["duckdb", "pyarrow.dataset", "pyarrow.parquet", "scipy.sparse.csgraph", "scipy.sparse.linalg", "quorate.cli"]
MODULES += ["quorate.cli.app", "quorate.cli.combine", "quorate.tables.combining", "quorate.reporting.summary"]
MODULES += [f"quorate._kernels.{module.name}" for module in pkgutil.iter_modules(quorate._kernels.__path__)]


def interrupt_at(n_calls, told):
    """Let the n-th call of a Python function be interrupted; write how many there were at the end.

    When the answer is complete interrupts are ignored: these calls do not count.
    """
    calls = 0

    def count(_, event, __):
        nonlocal calls
        if event == "call" and _signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            calls += 1
            if calls == n_calls:
                signal.raise_signal(signal.SIGINT)

    sys.setprofile(count)
    yield
    sys.setprofile(None)
    told.write(str(calls))


def run_interrupted(folder, arguments, n_calls):
    """Run the command in a fork, interrupted at its n-th call; return its exit code, what it said, and all calls."""
    said, told = folder / "said", folder / "calls"
    told.write_text("0")
    process = os.fork()
    if not process:
        run_here(said, told, arguments, n_calls)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return code, said.read_text(), int(told.read_text())


def run_here(said, told, arguments, n_calls):
    """Be the process of the command."""
    code = 77
    try:
        with open(said, "wb") as stream:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
        sys.argv = ["quorate", *arguments]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        from quorate.cli import command

        with open(told, "r+") as counted, contextlib.contextmanager(interrupt_at)(n_calls, counted):
            code = command()
    finally:
        sys.stdout.flush()
        os._exit(code)


def moments(n_calls, wanted):
    """Numbers of calls, spread over all, denser at both ends; the first comes when the command has begun."""
    share = np.linspace(0, 1, wanted)
    return sorted({int(n) for n in 40 + (n_calls - 40) * (3 * share**2 - 2 * share**3)})


def main(folder, wanted, *arguments):
    """Print what came of each moment."""
    for module in MODULES:
        importlib.import_module(module)
    folder = Path(folder)
    tempfile.tempdir = str(folder / "tmp")
    run_interrupted(folder, arguments, -1)  # kernels come from the cache from now on
    code, said, n_calls = run_interrupted(folder, arguments, -1)
    chosen = [None, *moments(n_calls, int(wanted))]
    for moment in chosen:
        code, said = outcome(folder, arguments, moment)
        held = {str(file.relative_to(folder)): content(file) for file in in_folders(folder)}
        print(json.dumps({"moment": moment, "of": n_calls, "code": code, "said": said, "held": held}), flush=True)


def outcome(folder, arguments, moment):
    """Return the exit code and what was said; a run that ended before its moment came is made again with its last."""
    for file in (folder / "out").iterdir():
        file.unlink()
    code, said, n_calls = run_interrupted(folder, arguments, -1 if moment is None else moment)
    if moment is not None and 0 < n_calls < moment:
        return outcome(folder, arguments, n_calls)
    return code, said


def in_folders(folder):
    """Return all files and folders among outputs and temporary files."""
    return sorted(file for name in ("out", "tmp") for file in (folder / name).rglob("*"))


def content(file):
    """Return the bytes of a file, as text."""
    return file.read_bytes().hex() if file.is_file() else ""


if __name__ == "__main__":
    main(*sys.argv[1:])
