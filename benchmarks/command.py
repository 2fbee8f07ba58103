"""The `quorate` command on a file of two million rows compared with plain DuckDB, and the time of `--help`.

DuckDB groups by the members and joins the groups back to the rows while it copies them, which any consensus on patterns
needs at least. The programs run in turn. `make bench-scale` measures larger files.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Result, share
from benchmarks.scale_data import MEMBERS, generate

CACHE = Path(".cache/command")
N_ROWS = 2_000_000
REPEAT = 3


def run() -> Iterator[Result]:
    """Measure the command on a file, with and without a report, and its help."""
    source = single_file()
    runs: dict[str, list[tuple[float, float]]] = {"bare": [], "combine": [], "report": []}
    for _ in range(REPEAT):
        for name, measured in runs.items():
            measured.append(process(command_line(name, source)))
    bare = min(seconds for seconds, _ in runs["bare"])
    for name, what in (("combine", "quorate combine"), ("report", "quorate combine --report")):
        seconds, peak = min(s for s, _ in runs[name]), max(p for _, p in runs[name])
        ratio = f"2 million rows, {what} to group-by, join and copy in DuckDB"
        yield Result(ratio, seconds, bare, "s", seconds / bare, "reported", True)
        other = max(p for _, p in runs["bare"])
        yield Result(f"2 million rows, {what}, peak memory", peak, other, "GB", peak, "< 1.5", peak < 1.5)
    size = (CACHE / "report.html").stat().st_size / 1e6
    yield Result("2 million rows, size of the report", size, 6.0, "MB", size / 6.0, "< 1", size < 6.0)
    process([sys.executable, "-m", "quorate", "--help"])
    quick = min(process([sys.executable, "-m", "quorate", "--help"])[0] for _ in range(5))
    yield share("quorate --help, against 0.4 s", quick, 0.4, 1.0)


def single_file() -> Path:
    """Return a Parquet file with an ID and ten members; it is made once."""
    import duckdb

    path = CACHE / "labels.parquet"
    if not path.exists():
        pieces = generate(CACHE / "pieces", N_ROWS, print)
        CACHE.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".part")
        query = f"SELECT row_number() OVER () AS id, {', '.join(MEMBERS)} FROM read_parquet('{pieces}/*.parquet')"
        duckdb.sql(f"COPY ({query}) TO '{partial}' (FORMAT parquet)")
        partial.replace(path)
    return path


def command_line(name: str, source: Path) -> list[str]:
    """Return the command line of one program."""
    out = str(CACHE / "out.parquet")
    if name == "bare":
        return [sys.executable, "-m", "benchmarks.command", str(source), out]
    combine = [sys.executable, "-m", "quorate", "combine", str(source), "-k", "12", "-o", out, "--force", "--quiet"]
    return combine if name == "combine" else [*combine, "--report", str(CACHE / "report.html")]


def process(command: list[str]) -> tuple[float, float]:
    """Return seconds and peak resident gigabytes of a process."""
    start = time.perf_counter()
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise RuntimeError(f"{command} failed")
    return time.perf_counter() - start, used.ru_maxrss * 1024 / 1e9


def bare(source: str, out: str) -> None:
    """Group by the members, and join the numbers of the groups back to the rows while they are copied."""
    import duckdb

    members = ", ".join(MEMBERS)
    connection = duckdb.connect(config={"memory_limit": "800MB", "temp_directory": str(CACHE / "tmp")})
    connection.execute(f"CREATE TABLE groups AS SELECT {members}, count(*) AS n FROM '{source}' GROUP BY ALL")
    joined = f"SELECT id, groups.rowid AS number FROM '{source}' JOIN groups USING ({members})"
    connection.execute(f"COPY ({joined}) TO '{out}' (FORMAT parquet)")


if __name__ == "__main__":
    bare(*sys.argv[1:])
