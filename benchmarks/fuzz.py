"""Mutated files of every format through every command: each run answers or complains in one line.

`python -m benchmarks.fuzz --cases 100000` runs them in a child process that is replaced when it dies, and appends what
came out to .cache/fuzz/SEED.jsonl, so that the next call goes on from there. A case is told by its seed alone:
`python -m benchmarks.fuzz --seed 123` runs one and prints it.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Result

CACHE = Path(".cache/fuzz")
FIRST_SEED = 20_000_000
CASES = 100_000
# A case that takes longer hangs; a worker that needs more memory exhausts the machine.
SECONDS = 120
MEMORY = 8 << 30
N_ROWS = 60
SIGNS = [b",", b";", b"\t", b'"', b"\n", b"\r\n", b"\r", b"\0", b"NaN", b"-1", b"1e999", b"\xff\xfe", b"\xc3", b"'"]
SIGNS += ["ü".encode(), "\u2028".encode(), b"\x0c", b"99999999999999999999", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"]


def tables() -> dict[str, Any]:
    """Return the same rows as frames: plain; with missing labels, booleans, fractions and text."""
    import pandas as pd

    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], N_ROWS // 3)

    def noisy() -> Any:
        return np.where(rng.random(N_ROWS) < 0.15, rng.integers(0, 3, N_ROWS), truth)

    plain = pd.DataFrame({"id": [f"r{i}" for i in range(N_ROWS)], **{f"m{j}": noisy() for j in range(4)}})
    plain["m4"] = np.array(["low", "mid", "high"])[truth]
    plain["class"] = np.array(["a", "b", "c"])[truth]
    gaps = plain.copy()
    gaps["m0"] = pd.array(noisy(), dtype="Int64")
    gaps.loc[rng.random(N_ROWS) < 0.2, "m0"] = pd.NA
    gaps["m1"] = noisy() / 2
    gaps["m2"] = noisy() == 1
    gaps["m4"] = pd.Categorical(gaps["m4"])
    return {"plain": plain, "gaps": gaps}


def originals() -> dict[str, bytes]:
    """Return files of every format, whole, by their endings; the part before the dot tells variants apart."""
    import pyarrow as pa
    import pyarrow.feather as feather

    found: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as name:
        for kind, frame in tables().items():
            matrix = frame[["m0", "m1", "m2", "m3"]].astype("float64").to_numpy()
            for ending in ("csv", "tsv", "csv.gz", "csv.bz2", "csv.xz"):
                path = Path(name) / f"{kind}.{ending}"
                frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
            with pa.output_stream(f"{name}/{kind}.csv.zst", compression="zstd") as stream:
                stream.write(frame.to_csv(index=False).encode())
            frame.to_parquet(f"{name}/{kind}.parquet", index=False)
            frame.to_parquet(f"{name}/{kind}-zstd.parquet", index=False, compression="zstd", row_group_size=7)
            for compression in ("uncompressed", "lz4", "zstd"):
                feather.write_feather(pa.Table.from_pandas(frame), f"{name}/{kind}-{compression}.arrow", compression)
            np.save(f"{name}/{kind}.npy", matrix if kind == "gaps" else matrix.astype(np.int64))
            np.save(f"{name}/{kind}-text.npy", frame[["id", "m4"]].astype(str).to_numpy().astype("U8"))
            columns = {key: frame[key].astype(str).to_numpy().astype("U8") for key in ("m4", "class")}
            columns |= {f"m{j}": column for j, column in enumerate(matrix.T)}
            np.savez(f"{name}/{kind}.npz", **columns)
            np.savez_compressed(f"{name}/{kind}-packed.npz", **columns)
        _save_others(name)
        for path in sorted(Path(name).iterdir()):
            found[path.name] = path.read_bytes()
    return found


def _save_others(name: str) -> None:
    """Write what is neither a table nor a matrix of labels: a saved ensemble, features, a store of finished work."""
    import quorate as qt
    from quorate._support.resume import Store

    frame = tables()["gaps"]
    qt.save(qt.Ensemble(frame[["m0", "m1", "m3", "m4"]]), f"{name}/saved")
    shutil.move(f"{name}/saved/patterns.parquet", f"{name}/saved.ensemble")
    os.rmdir(f"{name}/saved")
    rng = np.random.default_rng(1)
    features = np.repeat([0.0, 4.0, 8.0], 10)[:, None] + rng.normal(size=(30, 2))
    np.savetxt(f"{name}/features.features", features, delimiter=",", header="x,y", comments="", fmt="%.4f")
    with Store(f"{name}/work.store", {"task": "fuzz"}) as store:
        for i in range(5):
            store.add(f"piece {i}", {"value": i})


def mutate(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes with one to four changes: cut, flipped, doubled, replaced, sprinkled with awkward signs."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 4])):
        if not data:
            return b""
        start = int(rng.integers(len(data)))
        length = int(rng.integers(1, 1 + max(1, len(data) // int(rng.choice([4, 40, 400])))))
        change = rng.integers(8)
        if change == 0:
            del data[start : start + length]
        elif change in (1, 2):
            data[start] ^= 1 << int(rng.integers(8))
        elif change == 3:
            data[start:start] = data[start : start + length]
        elif change == 4:
            data[start:start] = SIGNS[rng.integers(len(SIGNS))]
        elif change == 5:
            data[start : start + length] = rng.bytes(length)
        elif change == 6:
            del data[start:]
        else:
            data = bytearray(bytes(data).replace(b",", SIGNS[rng.integers(4)]))
    return bytes(data)


OUTPUTS = ["out.csv", "out.csv", "out.parquet", "out.arrow", "out.npz", "out.tsv", "out.csv.gz"]
# Text and plain buffers are changed without anybody noticing; checksums and headers guard the others.
OFTEN = {"csv": 4, "tsv": 3, "gz": 2, "arrow": 2, "npy": 2, "parquet": 2}
METHODS = ["weac"] * 6 + ["eac", "gp-mgla", "hbgf"]


def arguments(path: Path, out: Path, rng: np.random.Generator) -> list[str]:
    """Return a command for a table: mostly combine, with one output or another."""
    command = rng.choice(["combine", "weigh", "evaluate"], p=[0.7, 0.15, 0.15])
    if command == "weigh":
        return ["weigh", str(path), "--json"]
    if command == "evaluate":
        return ["evaluate", str(path), "--truth", "class" if rng.random() < 0.8 else "m0", "--json"]
    chosen = ["combine", str(path), "-k", str(rng.choice(["2", "auto", "2:4"])), "--method", str(rng.choice(METHODS))]
    chosen += ["--truth", "class"] if rng.random() < 0.2 else []
    chosen += ["--confidence"] if rng.random() < 0.2 else []
    chosen += ["--noise", "cluster"] if rng.random() < 0.1 else []
    return [*chosen, "--json"] if rng.random() < 0.1 else [*chosen, "--quiet", "-o", str(out)]


def run_case(seed: int, content: dict[str, bytes], folder: Path) -> dict[str, Any]:
    """Mutate one file, run one command, and say what came out; `trouble` if that is not as promised."""
    rng = np.random.default_rng(seed)
    names = [name for name in content for _ in range(OFTEN.get(name.rpartition(".")[2], 1))]
    name = names[rng.integers(len(names))]
    path, out = folder / name, folder / str(rng.choice(OUTPUTS))
    if name.endswith(".gz") and rng.random() < 0.7:  # otherwise the checksum guards what is inside
        path.write_bytes(gzip.compress(mutate(gzip.decompress(content[name]), rng), 1))
    else:
        path.write_bytes(mutate(content[name], rng))
    ending = name.partition(".")[2]
    runner = {"ensemble": _load, "store": _resume}.get(ending)
    if runner is not None:
        told = _called(runner, path)
    elif ending == "features":
        shutil.copy(path, folder / "features.csv")
        told = _commanded(["generate", str(folder / "features.csv"), "-m", "2", "-o", str(out), "-q"], out)
        (folder / "features.csv").unlink(missing_ok=True)
    else:
        told = _commanded(arguments(path, out, rng), out)
    left = sorted(file.name for file in folder.iterdir() if file not in (path, out))
    if left and not told.get("trouble"):
        told["trouble"] = f"left behind: {left}"
    for file in folder.iterdir():
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    return {"seed": seed, "file": name, **told}


def _commanded(chosen: list[str], out: Path) -> dict[str, Any]:
    """Run a command in this process."""
    from quorate.cli import main

    printed, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        code = main(chosen)
    told: dict[str, Any] = {"command": chosen[0], "code": code, "said": said.getvalue()[:160]}
    lines = [line for line in said.getvalue().splitlines() if line.startswith("Error")]
    others = [line for line in said.getvalue().splitlines() if not line.startswith(("Error", "Warning"))]
    if code == 0:
        if "-o" in chosen and not out.exists():
            told["trouble"] = "no output"
    elif code != 2 or len(lines) != 1 or (others and "-q" not in chosen and "--quiet" not in chosen):
        told["trouble"] = said.getvalue()[-600:]
    elif out.exists():
        told["trouble"] = "an output in spite of the complaint"
    return {**told, "arguments": chosen[2:]} if told.get("trouble") else told


def _called(runner: Callable[[Path], object], path: Path) -> dict[str, Any]:
    """Call a function of the library: it returns, or raises a QuorateError."""
    from quorate import QuorateError

    try:
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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            qt.consensus(qt.load(folder), 2, "weac")
    finally:
        shutil.rmtree(folder)


def _resume(path: Path) -> None:
    from quorate import QuorateError
    from quorate._support.resume import Store

    before = path.read_bytes()
    try:
        with Store(path, {"task": "fuzz"}):
            return
    except QuorateError:
        assert path.read_bytes() == before, "a file that was refused was changed"
        raise


def work(first: int, last: int, log: Path) -> None:
    """Run the cases of some seeds in this process, telling each before and after."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    content = originals()
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
        done, torn = _finished(log)
        if torn is not None:
            with open(log, "a") as told:
                told.write(json.dumps({"seed": torn, "code": "crash", "trouble": "the process died or hung"}) + "\n")
            continue
        start = next((seed for seed in range(first, first + n_cases) if seed not in done), None)
        if start is None:
            return {seed: told for seed, told in done.items() if first <= seed < first + n_cases}
        stop = min(start + 2000, first + n_cases)
        command = [sys.executable, "-m", "benchmarks.fuzz", "--work", str(start), str(stop), "--log", str(log)]
        worker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while worker.poll() is None:
            time.sleep(1)
            if log.exists() and time.time() - log.stat().st_mtime > SECONDS:
                worker.kill()
        worker.wait()


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
