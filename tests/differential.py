"""Compare every method and engine with the dense oracles on random ensembles.

`python tests/differential.py --cases 20000` draws ensembles with missing labels, weights and degenerate members. It
compares similarities and merges with those of the dense oracles (to 1e-10), and labels from arrays with labels from
frames (exactly). Each case runs a quarter of the methods, each on another engine; one case of 50 uses Dask, and one of
500 uses Spark, which needs Java. Finished cases are appended to .cache/differential.jsonl; the next call continues.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

CACHE = Path(".cache/differential.jsonl")
CASES = 20_000
# Number of cases in which every method runs once, and how often the slow engines are used.
TURNS, EVERY_DASK, EVERY_SPARK = 4, 50, 500


def draw(rng: np.random.Generator) -> tuple[Any, Any]:
    """Return rows x members of labels, -1 where missing but never a whole row, and weights of the members."""
    n_rows, n_members = int(rng.integers(2, 19)), int(rng.integers(1, 6))
    labels = rng.integers(0, rng.integers(1, 5, n_members), (n_rows, n_members))
    for j in range(n_members):
        labels[:, j] = _degenerate(labels[:, j], rng)
    labels[rng.random(labels.shape) < rng.choice([0, 0, 0.2, 0.5])] = -1
    labels[np.all(labels < 0, axis=1), 0] = 0
    weights = rng.choice([0.25, 0.5, 1.0], n_members) if rng.random() < 0.5 else rng.random(n_members) + 0.01
    return labels, weights / weights.max()


def _degenerate(column: Any, rng: np.random.Generator) -> Any:
    """Return a member unchanged, or (one time in four) constant, all singletons, or without labels."""
    kind = rng.integers(12)
    if kind == 0:
        return np.zeros_like(column)
    if kind == 1:
        return np.arange(len(column))
    return np.full_like(column, -1) if kind == 2 else column


def check_dense(labels: Any, weights: Any) -> None:
    """Compare similarities of rows and the merges of every linkage with the dense oracles."""
    import baseline_oracles
    import oracles
    import quorate as qt
    from quorate.algorithms.srs import simrank_similarity
    from quorate.algorithms.wct import triple_similarity
    from quorate.numerics.linkage import LINKS, link_coassociation

    ens = qt.Ensemble(list(labels.T))
    patterns = np.arange(ens.n_patterns)
    _same("co-association", qt.coassociation(ens, weights, rows=True), oracles.evidence(labels, weights))
    _same("triples", _over_rows(ens, triple_similarity(ens, weights, 0.8, patterns).matrix()),
          baseline_oracles.triples(labels, weights))  # fmt: skip
    _same("simrank", _over_rows(ens, simrank_similarity(ens, weights, 0.8, 5, patterns)),
          baseline_oracles.simrank(labels, weights))  # fmt: skip
    for link in LINKS:
        tree = link_coassociation(ens, weights / weights.sum(), link)
        rows = ens.first_row[tree.leaf_pattern]
        dense = oracles.evidence(labels, weights / weights.sum())[np.ix_(rows, rows)]
        oracles.replay(dense, ens.counts[tree.leaf_pattern], tree.merges, tree.heights, link)


def _over_rows(ens: Any, similarity: Any) -> Any:
    full = similarity[np.ix_(ens.row_pattern, ens.row_pattern)]
    np.fill_diagonal(full, 1.0)
    return full


def _same(what: str, found: Any, expected: Any) -> None:
    found, expected = np.array(found), np.array(expected)
    for matrix in (found, expected):
        np.fill_diagonal(matrix, 1.0)
    assert np.allclose(found, expected, rtol=0, atol=1e-10), f"{what} differs by {np.abs(found - expected).max()}"


Opened = tuple[Any, Callable[[Any], Any]]
"""A frame, and a function that extracts the labels from a result."""


def frames(labels: Any) -> dict[str, Callable[[], Opened]]:
    """Return a function for each installed engine that makes a frame of the labels."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    columns = _columns(labels)

    def relation() -> Opened:
        connection = _duckdb()
        connection.register("source", pa.table(columns))
        in_order = connection.sql("SELECT * FROM source")
        return in_order, lambda out: [row[0] for row in out.order("row").project("consensus").fetchall()]

    return {
        "pandas": lambda: (pd.DataFrame(columns), lambda out: out["consensus"].tolist()),
        "pyarrow": lambda: (pa.table(columns), lambda out: out["consensus"].to_pylist()),
        "polars": lambda: (pl.DataFrame(columns), lambda out: out["consensus"].to_list()),
        "polars lazy": lambda: (pl.LazyFrame(columns), lambda out: out.collect()["consensus"].to_list()),
        "duckdb": relation,
    }


def _columns(labels: Any) -> dict[str, list[int | None]]:
    values = [[None if label < 0 else int(label) for label in column] for column in labels.T]
    return {"row": list(range(len(labels))), **{f"m{j}": column for j, column in enumerate(values)}}


@cache
def _duckdb() -> Any:
    import duckdb

    return duckdb.connect(config={"threads": 1})


def on_dask(labels: Any) -> Opened:
    """Return a frame of Dask, in two partitions where there are rows for them."""
    import dask.dataframe as dd
    import pandas as pd

    frame = dd.from_pandas(pd.DataFrame(_columns(labels), dtype="Int64"), npartitions=2)
    return frame, lambda out: out.compute().sort_values("row")["consensus"].tolist()


def on_spark(labels: Any) -> Opened:
    """Return a frame of Spark."""
    columns = _columns(labels)
    schema = ", ".join(f"{name} long" for name in columns)
    frame = spark_session().createDataFrame(list(zip(*columns.values(), strict=True)), schema)
    return frame, lambda out: [row["consensus"] for row in out.orderBy("row").select("consensus").collect()]


@cache
def spark_session() -> Any:
    """Return a session of one thread, on the loopback only; its workers use the Python that runs this."""
    from pyspark.sql import SparkSession

    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "2")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def check_engines(labels: Any, rng: np.random.Generator, seed: int) -> None:
    """Compare the labels of methods from arrays with those from a frame, of another engine for each method."""
    import quorate as qt

    made = frames(labels)
    members = [f"m{j}" for j in range(labels.shape[1])]
    ens = qt.Ensemble([column for name, column in _columns(labels).items() if name != "row"], names=members)
    for j, method in enumerate(qt.methods()[seed % TURNS :: TURNS]):
        k, engine = int(rng.integers(1, 4)), str(rng.choice(list(made)))
        opened = made[engine]
        if j == 0 and seed % EVERY_DASK == 0 and find_spec("dask"):
            engine, opened = "dask", lambda: on_dask(labels)
        if j == 1 and seed % EVERY_SPARK == EVERY_SPARK // 2 and shutil.which("java") and find_spec("pyspark"):
            engine, opened = "spark", lambda: on_spark(labels)
        frame, labels_of = opened()
        expected = _labels_or_error(qt.consensus, lambda out: out.labels.tolist(), ens, k, method.name)
        found = _labels_or_error(qt.consensus_frame, labels_of, frame, members, k, method.name)
        assert found == expected, f"{method.name} with k = {k} on {engine}: {found}, not {expected}"


def _labels_or_error(combine: Callable[..., Any], labels_of: Callable[[Any], Any], *arguments: Any) -> Any:
    """Return the labels, or the code of the error: both entry points must raise the same one."""
    from quorate import QuorateError

    try:
        return labels_of(combine(*arguments))
    except QuorateError as error:
        return error.code or str(error)


def check_case(seed: int) -> None:
    """Draw an ensemble and run all comparisons."""
    from quorate._runtime.memory import memory_limit

    rng = np.random.default_rng(seed)
    labels, weights = draw(rng)
    with warnings.catch_warnings(), memory_limit("8GB"):
        warnings.simplefilter("ignore")
        check_dense(labels, weights)
        check_engines(labels, rng, seed)


def campaign(
    n_cases: int, log: Path, check: Callable[[int], dict[str, str] | None], first: int = 0
) -> list[dict[str, Any]]:
    """Run the unfinished cases, from the first seed on, and return all; `check` may return facts to be logged."""
    log.parent.mkdir(parents=True, exist_ok=True)
    done = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    with open(log, "a", buffering=1) as written:
        for seed in range(first + len(done), first + n_cases):
            line: dict[str, Any] = {"seed": seed}
            try:
                line |= check(seed) or {}
            except Exception:
                line["failure"] = traceback.format_exc()[-800:]
            done.append(line)
            written.write(json.dumps(line) + "\n")
    return done


def main() -> int:
    """Run the cases, print the failures, and return 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--log", type=Path, default=CACHE)
    options = parser.parse_args()
    done = campaign(options.cases, options.log, check_case, options.first)
    failures = [case for case in done if case.get("failure")]
    for case in failures[:10]:
        print(case["seed"], case["failure"], file=sys.stderr)
    print(f"{len(failures)} of {len(done)} random ensembles differ from the dense oracles, or between engines")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
