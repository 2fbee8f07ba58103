"""Mutated files of every format through every command: each run answers or complains in one line.

`python -m benchmarks.fuzz --cases 100000` runs them in a child process that is replaced when it dies, and appends what
came out to .cache/fuzz/SEED.jsonl, so that the next call goes on from there. A case is told by its seed alone:
`python -m benchmarks.fuzz --seed 123` runs one and prints it.

So that starting does not dominate, a child runs thousands of cases, builds the command once, and opens tables in one
database, a catalog to each case; every tenth case has a database of its own, as users have.
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

from benchmarks.measure import Result
from benchmarks.mutations import mutate, mutate_arguments, originals

CACHE = Path(".cache/fuzz")
FIRST_SEED = 50_000_000
CASES = 100_000
# A case that takes longer hangs; a worker that needs more memory exhausts the machine.
SECONDS = 300
MEMORY = 8 << 30
PER_CHILD = 5_000
OUTPUTS = ["out.csv", "out.csv", "out.parquet", "out.arrow", "out.npz", "out.tsv", "out.csv.gz"]
# Text and plain buffers are changed without anybody noticing; checksums and headers guard the others.
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
# How many cases in a hundred damage the arguments and leave the file as it is.
ARGUMENTS = 15


def arguments(path: Path, out: Path, rng: np.random.Generator, folder: Path) -> list[str]:
    """Return a command for a table: mostly combine, with one output or another."""
    shares = ON_FEATURES if path.name.startswith("features") else COMMANDS
    if path.suffix == ".mat":  # which bench alone reads
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
    """Mutate one file or some arguments, run one command, and say what came out; `trouble` if not as promised."""
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
        told = _run(name, folder, out, rng, whole=whole)
    if not told.get("trouble"):
        told |= _disorder(folder, given, None if whole else {out.name, "results"})
    shutil.rmtree(folder)
    return {"seed": seed, "file": name, **told}


def _disorder(folder: Path, given: dict[str, bytes], outputs: set[str] | None) -> dict[str, str]:
    """Say what is there that should not be; outputs of damaged arguments (None) may have any name but a hidden one."""
    left = {file.name for file in folder.iterdir()} - set(given)
    left = {name for name in left if name.startswith(".")} if outputs is None else left - outputs
    if left:
        return {"trouble": f"left behind: {sorted(left)}"}
    if any((folder / file).read_bytes() != held for file, held in given.items() if not file.endswith(".store")):
        return {"trouble": "what was given was changed"}
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
    """Run a command in this process; if `exact`, its arguments are as they should be."""
    from quorate.cli import main

    printed, said = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()  # tables are written as bytes
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        code = main(chosen)
    told: dict[str, Any] = {"command": chosen[0], "code": code, "said": said.getvalue()[:160]}
    lines = said.getvalue().splitlines()
    errors = [line for line in lines if line.startswith("Error")]
    others = [line for line in lines if not line.startswith(("Error", "Warning"))]
    silent = "-q" in chosen or "--quiet" in chosen
    if code == 0:
        if exact and "-o" in chosen and chosen[0] != "bench" and not out.exists():
            told["trouble"] = "no output"
    elif code != 2 or (exact and (len(errors) != 1 or (others and not silent))) or "defect" in said.getvalue():
        told["trouble"] = said.getvalue()[-600:]
    elif out.exists():
        told["trouble"] = "an output in spite of the complaint"
    return {**told, "arguments": chosen[1:]} if told.get("trouble") else told


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
        return {"command": runner.__name__, "code": 1, "trouble": traceback.format_exc()[-600:]}
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
        assert path.read_bytes() == before, "a file that was refused was changed"
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


def hasten() -> None:
    """Build the command once, open tables in one database, and end long work where it begins.

    What is read in a process of its own is read by one that stays as long as it lives.
    """
    import duckdb
    import typer.main

    from quorate import QuorateError
    from quorate._runtime.workers import Worker
    from quorate.tables.io import untrusted_files

    def enough(*_: object, **__: object) -> None:
        raise QuorateError("Enough was seen.")

    app = importlib.import_module("quorate.cli.app")
    app.app = typer.main.get_command(app.app)
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
    """Run the cases of some seeds in this process, telling each before and after."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    content = originals()
    hasten()
    with tempfile.TemporaryDirectory() as name, open(log, "a", buffering=1) as told:
        for seed in range(first, last):
            told.write(json.dumps({"seed": seed, "started": True}) + "\n")
            told.write(json.dumps(run_case(seed, content, Path(name))) + "\n")


def _finished(log: Path) -> tuple[dict[int, dict[str, Any]], int | None]:
    """Return what came out by seed, and the seed that was started but never finished."""
    done: dict[int, dict[str, Any]] = {}
    started = None
    if log.exists():
        for line in log.read_text().splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                told = json.loads(line)
                if told.get("started"):
                    started = told["seed"]
                else:
                    done[told["seed"]] = told
    return done, started if started not in done else None


def campaign(n_cases: int, first: int, log: Path) -> dict[int, dict[str, Any]]:
    """Run the cases that are not done yet; a worker that dies or hangs is replaced, and its case is a crash."""
    log.parent.mkdir(parents=True, exist_ok=True)
    while True:
        done, _ = _finished(log)
        start = next((seed for seed in range(first, first + n_cases) if seed not in done), None)
        if start is None:
            return {seed: told for seed, told in done.items() if first <= seed < first + n_cases}
        stop = min(start + PER_CHILD, first + n_cases)
        command = [sys.executable, "-m", "benchmarks.fuzz", "--work", str(start), str(stop), "--log", str(log)]
        worker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while worker.poll() is None:
            time.sleep(1)
            if log.exists() and time.time() - log.stat().st_mtime > SECONDS:
                worker.kill()
        worker.wait()
        _, torn = _finished(log)
        if torn is not None and worker.returncode != -signal.SIGTERM:  # what somebody stopped is run again
            trouble = f"the process hung, or died with {worker.returncode}"
            with open(log, "a") as told:
                told.write(json.dumps({"seed": torn, "code": "crash", "trouble": trouble}) + "\n")


def tell(done: dict[int, dict[str, Any]]) -> list[Result]:
    """Return the counts as results; the bar is that nothing is out of order."""
    troubles = [told for told in done.values() if told.get("trouble")]
    for told in troubles[:50]:
        print(json.dumps(told), file=sys.stderr)
    print(Counter((told.get("command", "?"), told["code"]) for told in done.values()), file=sys.stderr)
    n_cases = len(done)
    return [Result("mutated inputs that crash, hang or are called a defect", len(troubles), n_cases, "cases",
                   len(troubles) / max(n_cases, 1), "<= 0", not troubles)]  # fmt: skip


def run() -> list[Result]:
    """Run, or go on with, the whole campaign."""
    return tell(campaign(CASES, FIRST_SEED, CACHE / f"{FIRST_SEED}.jsonl"))


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--first", type=int, default=FIRST_SEED)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--seed", type=int, help="run one case and print it")
    parser.add_argument("--work", type=int, nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    log = chosen.log or CACHE / f"{chosen.first}.jsonl"
    if chosen.work:
        work(*chosen.work, log)
    elif chosen.seed is not None:
        with tempfile.TemporaryDirectory() as name:
            print(json.dumps(run_case(chosen.seed, originals(), Path(name)), indent=1))
    else:
        for result in tell(campaign(chosen.cases, chosen.first, log)):
            print(result)


if __name__ == "__main__":
    main()
