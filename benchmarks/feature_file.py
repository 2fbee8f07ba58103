"""cluster_file on a Parquet table of 8 float32 features: `python -m benchmarks.feature_file FOLDER [ROWS]`.

The table (a mixture of 12 Gaussians) is made in pieces of a million rows, which an interrupted run reuses. Prints rows
per second and peak memory, as a log and as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np

import quorate as qt

N_FEATURES, N_GROUPS, PIECE = 8, 12, 1_000_000
START = time.perf_counter()


def log(text: str) -> None:
    """Print what happened, and when."""
    print(f"[{time.perf_counter() - START:8.0f} s] {text}", flush=True)


def piece(number: int, n_rows: int = PIECE) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of one piece, and the Gaussian of each."""
    centers = np.random.default_rng(0).normal(scale=1.6, size=(N_GROUPS, N_FEATURES))
    random = np.random.default_rng([1, number])
    group = random.integers(N_GROUPS, size=n_rows)
    values = centers[group] + random.standard_normal((n_rows, N_FEATURES))
    return values.astype(np.float32), group


def generate(folder: Path, n_rows: int) -> None:
    """Write the pieces that are not there yet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for number in range(-(-n_rows // PIECE)):
        path = folder / f"part_{number:04}.parquet"
        if not path.exists():
            values, _ = piece(number, min(PIECE, n_rows - number * PIECE))
            table = pa.table({f"f{j}": values[:, j] for j in range(N_FEATURES)})
            pq.write_table(table, path.with_suffix(".tmp"), compression="none", use_dictionary=False)
            os.replace(path.with_suffix(".tmp"), path)


def score(out: Path) -> float:
    """Return the NMI of the answer with the Gaussians, on the first piece."""
    import pyarrow.parquet as pq

    found = next(pq.ParquetFile(out).iter_batches(PIECE, columns=["consensus"])).column(0).to_numpy()
    return qt.evaluate(found, piece(0)[1][: len(found)]).nmi_max


def run(folder: Path, n_rows: int) -> dict[str, float]:
    """Generate, cluster and report; return seconds, processor seconds and peak memory in bytes."""
    source, out = folder / f"rows_{n_rows}", folder / f"clusters_{n_rows}.parquet"
    log(f"{n_rows:,} rows x {N_FEATURES} float32 features, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    generate(source, n_rows)
    log(f"generated: {sum(file.stat().st_size for file in source.iterdir()) / 1e9:.2f} GB of Parquet")
    start, processor, told = time.perf_counter(), time.process_time(), [0.0]

    def progress(what: str, done: int, total: int | None) -> None:
        if time.perf_counter() - told[0] > 60:
            told[0] = time.perf_counter()
            log(f"{what.lower()}: {done:,} rows")

    result = qt.cluster_file(source, out, n_clusters=N_GROUPS, keep=[], force=True, progress=progress)
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    log(
        f"clustered and written in {seconds:.0f} s ({processor:.0f} s of processor), "
        f"{n_rows / seconds:,.0f} rows per second"
    )
    log(f"clusters of {result.sizes.tolist()}")
    log(f"NMI (max) with the Gaussians on the first piece {score(out):.3f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    log(f"peak memory {peak / 1e6:.2f} GB; answer {out.stat().st_size / 1e9:.2f} GB")
    out.unlink()
    return {"seconds": seconds, "processor": processor, "peak": 1024 * peak}


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100_000_000)))
