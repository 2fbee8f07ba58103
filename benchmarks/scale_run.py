"""One run over a table in files, in a separate process: ours, or plain DuckDB doing the minimum."""

import json
import resource
import sys
import time
from pathlib import Path

from benchmarks.measure import _status
from benchmarks.scale_data import MEMBERS

THREADS = 2
MEMORY_LIMIT = "1GB"
N_CLUSTERS = 12

# The minimum that any result from DuckDB costs: it groups by the members, stores a number per pattern, and joins four
# columns of the types of the result to the rows while it copies them.
BARE_GROUP = """
CREATE TEMP TABLE patterns AS
SELECT {members}, count(*) % 12 AS consensus, 1.0::DOUBLE / count(*) AS confidence,
  1.0::DOUBLE / (count(*) + 1) AS margin, count(*) % 11 AS runner_up
FROM read_parquet('{source}/*.parquet') GROUP BY ALL
"""
BARE_JOIN = """
COPY (
  SELECT t.*, consensus, confidence, margin, runner_up
  FROM read_parquet('{source}/*.parquet') t JOIN patterns USING ({members}) {order}
) TO '{out}' (FORMAT parquet, COMPRESSION zstd)
"""
# A join gives rows in any order; what writes them in the order of the source has to sort them.
BARE_ORDER = "ORDER BY t.file_index, t.file_row_number"


def bare(source: str, out: str, temporary: str, keep_order: bool) -> None:
    """Run the bare group-by, join and copy."""
    import duckdb

    config = {"threads": THREADS, "memory_limit": MEMORY_LIMIT, "temp_directory": temporary}
    with duckdb.connect(config=config) as connection:
        connection.execute("SET enable_progress_bar = false")
        names, order = ", ".join(MEMBERS), BARE_ORDER if keep_order else ""
        connection.execute(BARE_GROUP.format(members=names, source=source))
        connection.execute(BARE_JOIN.format(members=names, source=source, out=out, order=order))


def ours(source: str, out: str, keep_order: bool) -> None:
    """Run the whole consensus."""
    import quorate as qt

    qt.consensus_file(
        source,
        out,
        members=MEMBERS,
        n_clusters=N_CLUSTERS,
        keep_order=keep_order,
        memory_limit=MEMORY_LIMIT,
        threads=THREADS,
    )


def warm_up() -> None:
    """Load what is needed, so that imports and compilation are in no timing."""
    import duckdb
    import numpy as np

    import quorate as qt

    duckdb.connect().close()
    qt.GPMGLA(3).fit(np.random.default_rng(0).integers(0, 4, (500, 4), dtype=np.uint8))


def main() -> None:
    """Run one variant and print its time, processor time and peak memory."""
    variant, source, out, temporary = sys.argv[1:5]
    warm_up()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    start, processor = time.perf_counter(), usage.ru_utime + usage.ru_stime
    if variant.startswith("bare"):
        bare(source, out, temporary, keep_order=variant == "bare ordered")
    else:
        ours(source, out, keep_order=variant == "ordered")
    seconds = time.perf_counter() - start
    usage = resource.getrusage(resource.RUSAGE_SELF)
    processor = usage.ru_utime + usage.ru_stime - processor
    peak = _status("VmHWM")  # of this process alone, unlike what getrusage reports after a fork
    size = Path(out).stat().st_size
    print(json.dumps({"seconds": seconds, "processor": processor, "peak": peak, "bytes": size}))


if __name__ == "__main__":
    main()
