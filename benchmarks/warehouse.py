"""Label 10,000,000 new rows by the generated SQL in DuckDB, compared with `predict` on the same rows.

`python -m benchmarks.warehouse [ROWS]`: the consensus comes from 100,000 other rows of the same kind, so that part of
the new rows has patterns (distinct rows of labels) that it does not know. The labels must be equal. Times are
wall-clock seconds, of one run each.
"""

import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np

import quorate as qt
from benchmarks.scale_data import MEMBERS, N_GROUPS, label_matrix, label_piece

FITTED = 100_000


def main(n_rows: int) -> None:
    """Fit, label the rows twice, and print the times."""
    new = dict(zip(MEMBERS, np.ascontiguousarray(label_matrix(n_rows, np.uint8).T), strict=True))
    other, _ = label_piece(10_000, FITTED)
    result = qt.consensus(dict(zip(MEMBERS, other.T, strict=True)), N_GROUPS)
    n_patterns = qt.Ensemble(new).n_patterns
    print(f"{n_rows:,} rows, {n_patterns:,} patterns; fitted on {result.ensemble.n_patterns:,} patterns", flush=True)
    start = time.perf_counter()
    expected = result.predict(new)
    print(f"predict: {time.perf_counter() - start:.2f} s")
    export = result.to_sql("duckdb")
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(Path(folder) / "warehouse.duckdb") as connection:
        connection.register("arrays", {"row_id": np.arange(n_rows), **new})
        connection.execute("CREATE TABLE new_rows AS SELECT * FROM arrays")
        start = time.perf_counter()
        connection.execute(export.tables)
        print(f"create the two tables ({len(export.tables):,} characters): {time.perf_counter() - start:.2f} s")
        start = time.perf_counter()
        connection.execute(f"CREATE TABLE answer AS {export.query}")
        print(f"query in DuckDB: {time.perf_counter() - start:.2f} s")
        found = connection.execute("SELECT consensus FROM answer ORDER BY row_id").fetchnumpy()["consensus"]
    print(f"labels equal: {np.array_equal(found, expected)}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
