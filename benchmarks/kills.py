"""Kills and interrupts at random moments: outputs are absent, old or complete, and the next run removes leftovers.

`python -m benchmarks.kills --cases 1000 --signal kill` (or `int`) forks a process per case from one that has imported
everything, so that the moments fall into the computation and not into the start of Python. Outcomes are appended to
.cache/kills/SIGNAL.jsonl; the next call continues.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Result

CACHE = Path(".cache/kills")
CASES = 1000
# The exit code of a process that was interrupted before the command began.
BEFORE = 77
OUTPUTS = ["answer.csv", "answer.parquet", "answer.arrow", "answer.npz", "answer.csv.gz"]
SIGNALS = {"kill": signal.SIGKILL, "int": signal.SIGINT}


def prepare(folder: Path) -> Path:
    """Write a table that takes the command a fraction of a second."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 5, 3_000)
    columns = [np.where(rng.random(3_000) < 0.2, rng.integers(0, 5, 3_000), group) for _ in range(6)]
    path = folder / "labels.csv"
    rows = np.stack([np.arange(3_000), *columns], axis=1)
    np.savetxt(path, rows, fmt="%d", delimiter=",", header="id,a,b,c,d,e,f", comments="")
    return path


def start(arguments: list[str], said: Path) -> int:
    """Run the command in a process of its own and return the process."""
    process = os.fork()
    if process:
        return process
    code = BEFORE
    try:
        with open(said, "wb") as told:
            os.dup2(told.fileno(), 1)
            os.dup2(told.fileno(), 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["quorate", *arguments]
        from quorate.cli import command

        code = command()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def finish(process: int) -> int:
    """Return the exit code of a process, negative if a signal ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def left_in(folder: Path) -> list[str]:
    """Return what is in the folders of outputs and temporary files."""
    return sorted(str(file.relative_to(folder)) for name in ("out", "tmp") for file in (folder / name).iterdir())


def run_case(
    seed: int, sent: int, folder: Path, source: Path, duration: float, whole: dict[str, bytes]
) -> dict[str, Any]:
    """Start a command, send the signal at a random moment, and say what is there afterwards."""
    rng = np.random.default_rng(seed)
    out = folder / "out" / str(rng.choice(OUTPUTS))
    old = rng.random() < 0.5
    if old:
        out.write_bytes(b"old")
    arguments = ["combine", str(source), "-k", "4", "--method", "weac", "-q", "--force", "-o", str(out)]
    process = start(arguments, folder / "said")
    time.sleep(rng.random() * duration * 1.2)
    os.kill(process, sent)
    code = finish(process)
    told: dict[str, Any] = {"seed": seed, "code": code}
    content = out.read_bytes() if out.exists() else None
    told["output"] = "absent" if content is None else "old" if content == b"old" else "whole"
    if content not in (None, b"old") and content != whole[out.name]:
        told["trouble"] = "the output is neither old nor whole"
    if content is None and old:
        told["trouble"] = "the old output is gone"
    said = (folder / "said").read_text() if code != BEFORE else ""
    if sent == signal.SIGINT and (code, said.count("\n")) not in ((130, 1), (0, 0), (BEFORE, 0)):
        told["trouble"] = f"exit {code}: {said[-300:]}"
    told["left"] = len([name for name in left_in(folder) if name != f"out/{out.name}"])
    if sent == signal.SIGINT and told["left"]:
        told["trouble"] = f"left behind: {left_in(folder)}"
    if told["left"]:
        told |= _cleared_by_the_next(arguments, folder, out)
    out.unlink(missing_ok=True)
    return told


def _cleared_by_the_next(arguments: list[str], folder: Path, out: Path) -> dict[str, Any]:
    code = finish(start(arguments, folder / "said"))
    if code != 0 or left_in(folder) != [f"out/{out.name}"]:
        return {"trouble": f"the next run ended with {code} and left {left_in(folder)}"}
    return {"cleared": True}


def import_modules() -> None:
    """Import what the command uses: once, not by every process."""
    import duckdb  # noqa: F401
    import pyarrow.dataset
    import pyarrow.ipc  # noqa: F401
    import scipy.sparse.csgraph  # noqa: F401

    import quorate.cli.combine
    import quorate.reporting.summary
    import quorate.tables.combining  # noqa: F401
    from quorate import _kernels

    for module in pkgutil.iter_modules(_kernels.__path__, "quorate._kernels."):
        importlib.import_module(module.name)


def campaign(name: str, n_cases: int, log: Path) -> list[dict[str, Any]]:
    """Run the cases that are not done yet, and return all."""
    import_modules()
    log.parent.mkdir(parents=True, exist_ok=True)
    done = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    for below in ("out", "tmp"):
        (folder / below).mkdir()
    tempfile.tempdir = str(folder / "tmp")
    try:
        source = prepare(folder)
        whole, duration = {}, 0.0
        for output in OUTPUTS:
            for _ in range(2):
                begun, out = time.perf_counter(), folder / "out" / output
                arguments = ["combine", str(source), "-k", "4", "--method", "weac", "-q", "--force", "-o", str(out)]
                assert finish(start(arguments, folder / "said")) == 0, (folder / "said").read_text()
                duration = time.perf_counter() - begun
            whole[output] = out.read_bytes()
            out.unlink()
        with open(log, "a", buffering=1) as told:
            for seed in range(len(done), n_cases):
                done.append(run_case(seed, SIGNALS[name], folder, source, duration, whole))
                told.write(json.dumps(done[-1]) + "\n")
    finally:
        shutil.rmtree(folder)
    return done


def tell(name: str, done: list[dict[str, Any]]) -> Result:
    """Return the counts as a result; the bar is that nothing is out of order."""
    troubles = [told for told in done if told.get("trouble")]
    for told in troubles[:20]:
        print(json.dumps(told), file=sys.stderr)
    print(name, Counter((told["code"], told["output"]) for told in done), file=sys.stderr)
    print(f"left something: {sum(bool(told['left']) for told in done)}, cleared: "
          f"{sum(bool(told.get('cleared')) for told in done)}", file=sys.stderr)  # fmt: skip
    what = f"{name}: outputs neither absent, old nor whole, or leftovers that stay"
    return Result(what, len(troubles), len(done), "cases", len(troubles) / len(done), "<= 0", not troubles)


def run() -> list[Result]:
    """Run, or go on with, both campaigns."""
    return [tell(name, campaign(name, CASES, CACHE / f"{name}.jsonl")) for name in SIGNALS]


def main() -> None:
    """Run the cases and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--signal", choices=list(SIGNALS), default="kill")
    parser.add_argument("--log", type=Path)
    chosen = parser.parse_args()
    log = chosen.log or CACHE / f"{chosen.signal}.jsonl"
    print(tell(chosen.signal, campaign(chosen.signal, chosen.cases, log)))


if __name__ == "__main__":
    main()
