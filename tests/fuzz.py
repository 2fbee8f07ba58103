"""Run every command on damaged files and arguments: each run succeeds, or prints one error of one line.

`python tests/fuzz.py --cases 100000` runs the cases in child processes, replaces a child that dies, and appends the
outcomes to .cache/fuzz/SEED.jsonl; the next call continues. The seed determines a case: `python tests/fuzz.py --seed
123` runs one and prints it.

A child runs thousands of cases, so that start-up does not dominate. It opens tables in one database with a catalog per
case; every tenth case opens its own database, as the command does.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import itertools
import json
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mutations import mutate, mutate_arguments, originals

CACHE = Path(".cache/fuzz")
FIRST_SEED = 50_000_000
CASES = 100_000
# Limits of a case: a longer one counts as hanging, and more memory would exhaust the machine.
SECONDS = 300
MEMORY = 8 << 30
PER_CHILD = 5_000
OUTPUTS = ["out.csv", "out.csv", "out.parquet", "out.arrow", "out.npz", "out.tsv", "out.csv.gz"]
# Formats without checksums are damaged more often, because the damage is harder to detect.
OFTEN = {"csv": 4, "tsv": 3, "gz": 2, "arrow": 2, "npy": 2, "parquet": 2}
METHODS = ["weac"] * 6 + ["eac", "gp-mgla", "hbgf"]
COMMANDS = {"combine": 0.6, "weigh": 0.1, "evaluate": 0.1, "explore": 0.1, "bench": 0.05, "generate": 0.05}
ON_FEATURES = {"generate": 0.3, "cluster": 0.4, "assign": 0.3}
LONG_WORK = [
    "quorate.cli.explore.Explorer",
    "quorate.cli.demo.demonstrate",
    "quorate.benchmarking.comparison.run_in_workers",
]
LONG_WORK += ["quorate.benchmarking.comparison.write_report", "quorate.benchmarking.public_pools.draw_pool"]
LONG_WORK += ["quorate.paper.runner._run_dataset", "quorate.paper.runner._run_timings"]
# Percentage of cases that damage the arguments instead of the file.
ARGUMENTS = 15


def arguments(path: Path, out: Path, rng: np.random.Generator, folder: Path) -> list[str]:
    """Return a command for a table: mostly combine, with one output or another."""
    shares = ON_FEATURES if path.name.startswith("features") else COMMANDS
    if path.suffix == ".mat":  # only bench reads it
        shares = {"bench": 1.0}
    command = str(rng.choice(list(shares), p=list(shares.values())))
    written = ["--quiet", "-o", str(out)]
    if command == "combine":
        return _combining(path, written, rng)
    return {
        "weigh": ["weigh", str(path), "--json"],
        "evaluate": ["evaluate", str(path), "--truth", "class" if rng.random() < 0.8 else "m0", "--json"],
        "explore": ["explore", str(path), "--no-browser", "--quiet"]
        + (["--xy", "m0,m1"] if rng.random() < 0.3 else []),
        "bench": ["bench", str(path), "--n-members", "2", "--draws", "1", "-o", str(folder / "results"), "--quiet"],
        "generate": ["generate", str(path), "-m", "2", *written],
        "cluster": ["cluster", str(path), "-k", "3", "-m", "2", *written],
        "assign": ["assign", str(path), "--model", str(folder / "model.npz"), *written],
    }[command]


def _combining(path: Path, written: list[str], rng: np.random.Generator) -> list[str]:
    chosen = ["combine", str(path), "-k", str(rng.choice(["2", "auto", "2:4"])), "--method", str(rng.choice(METHODS))]
    chosen += ["--truth", "class"] if rng.random() < 0.2 else []
    chosen += ["--confidence"] if rng.random() < 0.2 else []
    chosen += ["--noise", "cluster"] if rng.random() < 0.1 else []
    return [*chosen, "--json"] if rng.random() < 0.1 else [*chosen, *written]


def other_arguments(folder: Path, rng: np.random.Generator) -> list[str]:
    """Return a command that reads no table."""
    results = str(folder / "results")
    return [
        ["methods", "--json"],
        ["demo", "--folder", results, "--quiet"],
        ["reproduce", "compare", results, "--quick", "--dataset", "iris", "--method", "eac", "--jobs", "1", "--quiet"],
        ["reproduce", "report", results, "--quiet"],
        ["bench", "iris", "--method", "weac", "--draws", "1", "-o", results, "--jobs", "1", "--quiet"],
        ["generate", "iris", "-m", "1", "-o", str(folder / "out.csv"), "--quiet"],
    ][rng.integers(6)]


def run_case(seed: int, content: dict[str, bytes], folder: Path) -> dict[str, Any]:
    """Damage one file or some arguments, run one command, and return the outcome, with `failure` if it is wrong."""
    rng = np.random.default_rng(seed)
    names = [name for name in content for _ in range(OFTEN.get(name.rpartition(".")[2], 1))]
    name = names[rng.integers(len(names))]
    folder = folder / f"case{seed}"
    folder.mkdir()
    given = {"model.npz": content["model.npz"], name: content[name]}
    whole = rng.integers(100) < ARGUMENTS
    if not whole:
        given[name] = mutate(name, content[name], rng)
    for file, held in given.items():
        (folder / file).write_bytes(held)
    out = folder / str(rng.choice(OUTPUTS))
    with contextlib.chdir(folder):
        outcome = _run(name, folder, out, rng, whole=whole)
    if not outcome.get("failure"):
        outcome |= _folder_failure(folder, given, None if whole else {out.name, "results"})
    shutil.rmtree(folder)
    return {"seed": seed, "file": name, **outcome}


def _folder_failure(folder: Path, given: dict[str, bytes], outputs: set[str] | None) -> dict[str, str]:
    """Return a failure if files were left or changed; `outputs` is None if the arguments are damaged."""
    left = {file.name for file in folder.iterdir()} - set(given)
    left = {name for name in left if name.startswith(".")} if outputs is None else left - outputs
    if left:
        return {"failure": f"files left: {sorted(left)}"}
    if any((folder / file).read_bytes() != held for file, held in given.items() if not file.endswith(".store")):
        return {"failure": "an input file was changed"}
    return {}


def _run(name: str, folder: Path, out: Path, rng: np.random.Generator, *, whole: bool) -> dict[str, Any]:
    path = folder / name
    if name.endswith(".ensemble"):
        return _called(_load, path)
    if name.endswith(".store"):
        return _called(_resume, path)
    if name == "model.npz":
        return _called(_assign, path)
    chosen = other_arguments(folder, rng) if whole and rng.random() < 0.3 else arguments(path, out, rng, folder)
    with _own_database() if rng.integers(10) == 0 else contextlib.nullcontext():
        return _commanded(mutate_arguments(chosen, rng) if whole else chosen, out, exact=not whole)


def _commanded(chosen: list[str], out: Path, *, exact: bool) -> dict[str, Any]:
    """Run a command in this process; if `exact`, its arguments are valid."""
    from quorate.cli import main

    printed, errors_printed = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()  # tables are written as bytes
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors_printed):
        code = main(chosen)
    outcome: dict[str, Any] = {"command": chosen[0], "code": code, "message": errors_printed.getvalue()[:160]}
    lines = errors_printed.getvalue().splitlines()
    errors = [line for line in lines if line.startswith("Error")]
    others = [line for line in lines if not line.startswith(("Error", "Warning"))]
    silent = "-q" in chosen or "--quiet" in chosen
    if code == 0:
        if exact and "-o" in chosen and chosen[0] != "bench" and not out.exists():
            outcome["failure"] = "no output"
    elif (
        code != 2
        or (exact and (len(errors) != 1 or (others and not silent)))
        or "This is a bug" in errors_printed.getvalue()
    ):
        outcome["failure"] = errors_printed.getvalue()[-600:]
    elif out.exists():
        outcome["failure"] = "an output was written in spite of the error"
    return {**outcome, "arguments": chosen[1:]} if outcome.get("failure") else outcome


def _called(runner: Callable[[Path], object], path: Path) -> dict[str, Any]:
    """Call a function of the library: it returns, or raises a QuorateError."""
    from quorate import QuorateError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            runner(path)
    except QuorateError:
        return {"command": runner.__name__, "code": 2}
    except Exception:
        return {"command": runner.__name__, "code": 1, "failure": traceback.format_exc()[-600:]}
    return {"command": runner.__name__, "code": 0}


def _load(path: Path) -> None:
    import quorate as qt

    folder = path.parent / "loaded"
    folder.mkdir()
    shutil.copy(path, folder / "patterns.parquet")
    try:
        qt.consensus(qt.load(folder), 2, "weac")
    finally:
        shutil.rmtree(folder)


def _resume(path: Path) -> None:
    from quorate import QuorateError
    from quorate._runtime.checkpoints import Store

    before = path.read_bytes()
    try:
        with Store(path, {"task": "fuzz"}):
            return
    except QuorateError:
        assert path.read_bytes() == before, "a refused file was changed"
        raise


def _assign(path: Path) -> None:
    from quorate.persistence.feature_models import load_model

    model = load_model(path)
    model.assign(np.zeros((3, len(model.features))))


@contextlib.contextmanager
def _own_database() -> Iterator[None]:
    import duckdb

    shared, duckdb.connect = duckdb.connect, getattr(duckdb.connect, "own", duckdb.connect)
    try:
        yield
    finally:
        duckdb.connect = shared


def make_fast() -> None:
    """Make cases fast: open tables in one database, and stop before long computations.

    Files that are read in an isolated process are read by one worker that stays alive.
    """
    import duckdb

    from quorate._runtime.workers import Worker
    from quorate.errors import InputError
    from quorate.tables.io import untrusted_files

    def enough(*_: object, **__: object) -> None:
        raise InputError("The case ends before the long computation.", code="fuzz")

    for name in LONG_WORK:
        module, _, function = name.rpartition(".")
        setattr(importlib.import_module(module), function, enough)
    untrusted_files.run_isolated = Worker().answer
    database = duckdb.connect(config={"memory_limit": "800MB", "autoinstall_known_extensions": False, "threads": 1})
    numbers = itertools.count()

    def connect(*_: object, **__: object) -> Any:
        connection = database.cursor()
        name = f"case{next(numbers)}"
        connection.execute(f"ATTACH ':memory:' AS {name}")
        connection.execute(f"USE {name}")
        return connection

    connect.own = duckdb.connect  # type: ignore[attr-defined]
    duckdb.connect = connect


def work(first: int, last: int, log: Path) -> None:
    """Run the cases of a range of seeds in this process; log each before and after."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    content = originals()
    make_fast()
    with tempfile.TemporaryDirectory() as name, open(log, "a", buffering=1) as outcome:
        for seed in range(first, last):
            outcome.write(json.dumps({"seed": seed, "started": True}) + "\n")
            outcome.write(json.dumps(run_case(seed, content, Path(name))) + "\n")


def _finished(log: Path) -> tuple[dict[int, dict[str, Any]], int | None]:
    """Return the outcomes by seed, and the seed that was started but not finished."""
    done: dict[int, dict[str, Any]] = {}
    started = None
    if log.exists():
        for line in log.read_text().splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                outcome = json.loads(line)
                if outcome.get("started"):
                    started = outcome["seed"]
                else:
                    done[outcome["seed"]] = outcome
    return done, started if started not in done else None


def campaign(n_cases: int, first: int, log: Path) -> dict[int, dict[str, Any]]:
    """Run the unfinished cases; a worker that dies or hangs is replaced, and its case counts as a crash."""
    log.parent.mkdir(parents=True, exist_ok=True)
    while True:
        done, _ = _finished(log)
        start = next((seed for seed in range(first, first + n_cases) if seed not in done), None)
        if start is None:
            return {seed: outcome for seed, outcome in done.items() if first <= seed < first + n_cases}
        stop = min(start + PER_CHILD, first + n_cases)
        command = [sys.executable, __file__, "--work", str(start), str(stop), "--log", str(log)]
        worker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while worker.poll() is None:
            time.sleep(1)
            if log.exists() and time.time() - log.stat().st_mtime > SECONDS:
                worker.kill()
        worker.wait()
        _, unfinished = _finished(log)
        if unfinished is not None and worker.returncode != -signal.SIGTERM:  # a stopped case is run again
            failure = f"the process hung, or died with {worker.returncode}"
            with open(log, "a") as outcome:
                outcome.write(json.dumps({"seed": unfinished, "code": "crash", "failure": failure}) + "\n")


def main() -> int:
    """Run the cases, print the failures, and return 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--first", type=int, default=FIRST_SEED)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--seed", type=int, help="run one case and print it")
    parser.add_argument("--work", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    log = options.log or CACHE / f"{options.first}.jsonl"
    if options.work:
        work(*options.work, log)
        return 0
    if options.seed is not None:
        with tempfile.TemporaryDirectory() as name:
            print(json.dumps(run_case(options.seed, originals(), Path(name)), indent=1))
        return 0
    done = campaign(options.cases, options.first, log)
    failures = [case for case in done.values() if case.get("failure")]
    for case in failures[:50]:
        print(json.dumps(case), file=sys.stderr)
    print(Counter((case.get("command", "?"), case["code"]) for case in done.values()), file=sys.stderr)
    print(f"{len(failures)} of {len(done)} damaged inputs crash, hang, or are reported as a bug")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
