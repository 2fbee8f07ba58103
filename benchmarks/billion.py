"""One billion rows and ten members: generated in pieces, and combined from Parquet in bounded memory.

`python -m benchmarks.billion FOLDER [MILLIONS]` needs 15 GB of disk in FOLDER. An interrupted run reuses the pieces;
the consensus itself starts again.
"""

import os
import sys
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.measure import _status
from benchmarks.scale_data import MEMBERS, generate
from benchmarks.scale_run import N_CLUSTERS, THREADS, warm_up

MEMORY_LIMIT = "2GB"


class Log:
    """Lines with the time since the start, on the screen and in a file."""

    def __init__(self, path: Path) -> None:
        self.path, self.start = path, time.perf_counter()

    def __call__(self, message: str) -> None:
        line = f"[{time.perf_counter() - self.start:8.0f} s] {message}"
        print(line, flush=True)
        with self.path.open("a") as file:
            file.write(line + "\n")


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder, some of which may vanish meanwhile."""
    total = 0
    for root, _, files in os.walk(folder):
        for name in files:
            try:
                total += (Path(root) / name).stat().st_size
            except FileNotFoundError:
                continue
    return total


def watch(folder: Path, log: Log, done: threading.Event, peak: dict[str, int]) -> None:
    """Note the largest size of a folder, and tell from time to time how far things are."""
    told = time.perf_counter()
    while not done.wait(2.0):
        size = size_of(folder)
        peak["disk"] = max(peak.get("disk", 0), size)
        if time.perf_counter() - told > 120:
            told = time.perf_counter()
            log(f"at work: {size / 1e9:.2f} GB written, {_status('VmRSS') / 1e9:.2f} GB resident")


def main() -> None:
    """Generate, combine, and log what it took."""
    folder = Path(sys.argv[1])
    millions = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    folder.mkdir(parents=True, exist_ok=True)
    log = Log(folder / f"{millions}M.log")
    n_rows = millions * 1_000_000
    log(f"{n_rows:,} rows x {len(MEMBERS)} members, {THREADS} threads, memory_limit={MEMORY_LIMIT}")
    source = generate(folder / f"{millions}M", n_rows, log)
    log(f"generated: {size_of(source) / 1e9:.2f} GB of Parquet")
    work = folder / "work"
    work.mkdir(exist_ok=True)
    os.environ["TMPDIR"] = tempfile.tempdir = str(work)
    warm_up()
    import quorate as qt

    done, peak = threading.Event(), {}
    watcher = threading.Thread(target=watch, args=(work, log, done, peak), daemon=True)
    watcher.start()
    start, processor = time.perf_counter(), time.process_time()
    out = work / "out.parquet"
    try:
        result = qt.consensus_file(
            source,
            out,
            members=MEMBERS,
            n_clusters=N_CLUSTERS,
            keep_order=False,
            force=True,
            memory_limit=MEMORY_LIMIT,
            threads=THREADS,
        )
    finally:
        done.set()
        watcher.join()
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    log(f"{result.n_patterns:,} patterns, clusters of {[int(cluster.size) for cluster in result.clusters]}")
    log(f"combined and written in {seconds:.0f} s ({processor:.0f} s of processor)")
    log(f"{n_rows / seconds:,.0f} rows per second")
    log(f"peak memory {_status('VmHWM') / 1e9:.2f} GB; answer {out.stat().st_size / 1e9:.2f} GB")
    log(f"peak disk in addition to the source {peak.get('disk', 0) / 1e9:.2f} GB")
    out.unlink()


if __name__ == "__main__":
    main()
