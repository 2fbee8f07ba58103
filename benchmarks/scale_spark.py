"""Consensus of a Spark frame with little driver memory: `python -m benchmarks.scale_spark [MILLIONS]`.

Tables of ten members with few, many and very many patterns (distinct rows of labels) are made once under .cache/scale.
Each is combined and written in a session of its own, with a driver of 1 GB and of 4 GB that also executes. Each ends
with rows written or with one error that names the memory to set. Printed are the seconds of each step, the join, and
the peak memory of Python, which holds the patterns but no rows.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.measure import _status
from benchmarks.scale_data import MEMBERS, generate
from benchmarks.scale_run import N_CLUSTERS

CACHE = Path(".cache/scale")
MILLIONS = 20
DRIVERS = ("1g", "4g")
PATTERNS = 2_000_000
"""Upper bound of the distinct rows in tables with many."""
NOISE = {"many": 3, "very-many": 6}
"""Tenths of the labels that are random; 0.6 million distinct rows with three, almost all of them with six."""


def generate_many(folder: Path, n_rows: int, tenths: int) -> Path:
    """Write rows of at most `PATTERNS` distinct combinations of labels: 12 groups, with some labels at random."""
    import duckdb

    if not folder.exists():
        label = f"CASE WHEN hash(p, {{0}}) % 10 < {tenths} THEN hash(p, {{0}}, 'noise') % 12 ELSE p % 12 END"
        columns = ", ".join(f"CAST({label.format(j)} AS UTINYINT) AS {name}" for j, name in enumerate(MEMBERS))
        rows = f"SELECT hash(range) % {PATTERNS} AS p FROM range({n_rows})"
        unfinished = folder.with_suffix(".part")
        duckdb.sql(f"COPY (SELECT {columns} FROM ({rows})) TO '{unfinished}' (FORMAT parquet, PER_THREAD_OUTPUT)")
        unfinished.rename(folder)
    return folder


def combine(source: str, memory: str) -> None:
    """Combine and write one table in a new session; print what happened."""
    from pyspark.sql import SparkSession

    import quorate as qt

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", memory)
    builder = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
    session = builder.config("spark.local.dir", str(CACHE / "tmp")).getOrCreate()
    rows, out, line = session.read.parquet(source), CACHE / "spark_out", {"source": source, "driver": memory}
    try:
        start = time.perf_counter()
        answered = qt.consensus_frame(rows, MEMBERS, N_CLUSTERS)
        line |= {"answer": time.perf_counter() - start}
        start = time.perf_counter()
        answered.write.mode("overwrite").parquet(str(out))
        line |= {"write": time.perf_counter() - start, "rows": session.read.parquet(str(out)).count()}
        plan = answered._jdf.queryExecution().executedPlan().toString()
        line["join"] = "broadcast" if "BroadcastHashJoin" in plan else "shuffle"
    except qt.QuorateError as error:
        line |= {"refused": error.code, "message": str(error)}
    shutil.rmtree(out, ignore_errors=True)
    print(json.dumps({**line, "peak of Python, GB": round(_status("VmHWM") / 1e9, 2)}), flush=True)
    session.stop()


def run(millions: int = MILLIONS) -> None:
    """Combine each table with each driver, in processes of their own; print the lines and whether Java complained."""
    n_rows = millions * 1_000_000
    sources = [generate(CACHE / f"{millions}M", n_rows, print)]
    sources += [generate_many(CACHE / f"{millions}M-{name}", n_rows, tenths) for name, tenths in NOISE.items()]
    for source in sources:
        for memory in DRIVERS:
            command = [sys.executable, "-m", "benchmarks.scale_spark", str(source), memory]
            done = subprocess.run(command, capture_output=True, text=True)
            # Java prints what it was doing when memory runs out.
            traces = [line for line in done.stderr.splitlines() if line.lstrip().startswith(("at ", "java."))]
            print(done.stdout.strip() or done.stderr[-500:], f"lines of Java stack traces: {len(traces)}", flush=True)


if __name__ == "__main__":
    combine(*sys.argv[1:]) if len(sys.argv) == 3 else run(*map(int, sys.argv[1:]))
