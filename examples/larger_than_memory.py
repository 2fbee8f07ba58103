"""
A file, in and out
==================

`consensus_file` reads a table, counts the distinct rows of labels, combines those, and writes every row with its
consensus label. The rows are never held in memory. This file has 200,000 rows; the program is the same for a billion.
"""

import tempfile
from pathlib import Path

import duckdb
import matplotlib.pyplot as plt

import quorate as qt

ROWS = """
    SELECT range AS id, point // 25 AS a, (point + 7) // 30 AS b, (point + 13) // 20 AS c
    FROM (SELECT range, (range * 7919) % 100 AS point FROM range(200000))
"""

with tempfile.TemporaryDirectory() as folder:
    source, target = Path(folder) / "labels.parquet", Path(folder) / "answered.parquet"
    duckdb.sql(ROWS).write_parquet(str(source))
    result = qt.consensus_file(source, target, members=["a", "b", "c"], n_clusters=4, memory_limit="1GB")
    print(duckdb.sql(f"SELECT consensus, count(*) AS n FROM '{target}' GROUP BY ALL ORDER BY ALL"))
print(f"{result.n_rows:,} rows, {result.n_patterns} patterns")

# %%

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.bar([str(cluster.label) for cluster in result.clusters], [cluster.size for cluster in result.clusters])
ax.set(xlabel="cluster", ylabel="rows")
plt.show()
