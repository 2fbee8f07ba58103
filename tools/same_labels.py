"""Tell whether a change left the answers alone: every method on every public ensemble, through every engine.

    python tools/same_labels.py FILE [--methods NAME ...] [--engines NAME ...] [--rows N]

The first run writes a digest of the labels of each answer to FILE; a run on changed code compares with it and names
what differs. Starts and weights are set, so that a new default is no difference.
"""

import argparse
import hashlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import quorate as qt

ENSEMBLES = Path(__file__).resolve().parents[2] / "shared" / "ensembles"
ENGINES = ("array", "pandas", "polars", "pyarrow", "duckdb", "dask", "spark")
SETTINGS = {"init": "heaviest", "weights": "ncai", "random_state": 0}
OWN = {"init": "lwea", "weights": None}
"""Defaults of methods whose starts are others, or that weigh no members; these stay."""
K_OF_SWEEP = range(2, 16)


def digest(labels: Any) -> str:
    """Return a digest of labels that does not depend on how whole numbers are kept."""
    return hashlib.sha256(np.ascontiguousarray(labels, dtype=np.int64).tobytes()).hexdigest()[:16]


def settings(estimator: type) -> dict[str, Any]:
    """Return the settings that a method knows and that are not its own matter."""
    defaults = {name: known.default for name, known in inspect.signature(estimator).parameters.items()}
    own = {name for name in OWN.keys() & defaults.keys() if defaults[name] == OWN[name]}
    return {name: value for name, value in SETTINGS.items() if name in defaults.keys() - own}


def answers(labels: Any, k: int, method: Any, engine: str) -> Iterator[tuple[str, str]]:
    """Yield what was asked and the digest of its answer."""
    chosen = settings(method.estimator)
    if engine == "array":
        fitted = method.estimator(n_clusters=k, **chosen).fit(labels)
        yield f"k={k}", digest(fitted.labels_)
        yield "sweep", digest(fitted.sweep(K_OF_SWEEP))
    else:
        frame, back = in_engine(labels, engine)
        answered = qt.consensus_frame(frame, members(labels), n_clusters=k, method=method.name, **chosen)
        yield f"k={k}", digest(back(answered))


def members(labels: Any) -> list[str]:
    """Return names for the members."""
    return [f"m{j}" for j in range(labels.shape[1])]


def in_engine(labels: Any, engine: str) -> tuple[Any, Any]:
    """Return the labels as a frame of an engine, and what takes the answer of one in the order of rows."""
    import pandas as pd

    frame = pd.DataFrame(labels, columns=members(labels))
    if engine == "pandas":
        return frame, lambda answer: answer["consensus"]
    if engine == "polars":
        import polars as pl

        return pl.from_pandas(frame), lambda answer: answer["consensus"].to_numpy()
    if engine == "pyarrow":
        import pyarrow as pa

        return pa.Table.from_pandas(frame), lambda answer: answer["consensus"].to_numpy()
    if engine == "dask":
        import dask.dataframe as dd

        return dd.from_pandas(frame, npartitions=2), lambda answer: answer.compute()["consensus"]
    return _with_row_number(frame.assign(row=range(len(frame))), engine)


def _with_row_number(frame: Any, engine: str) -> tuple[Any, Any]:
    """Return a frame with a column `row`, not used as a member, for engines without an order of rows."""
    if engine == "duckdb":
        import duckdb

        relation = duckdb.connect().from_df(frame)
        return relation, lambda answer: answer.order("row").df()["consensus"]
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    rows = spark.createDataFrame(frame).repartition(2)
    return rows, lambda answer: answer.toPandas().sort_values("row")["consensus"]


def main() -> None:
    """Write the digests, or compare with those that are there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--methods", nargs="+", default=[method.name for method in qt.methods()])
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=["array"])
    parser.add_argument("--rows", type=int, default=25_000, help="leave larger ensembles out")
    arguments = parser.parse_args()
    known = json.loads(arguments.file.read_text()) if arguments.file.exists() else {}
    compared, differing = 0, []
    for path in sorted(ENSEMBLES.glob("*.npz")):
        held = np.load(path)
        labels, k = held["labels"][:, :10], len(np.unique(held["truth"]))
        if len(labels) > arguments.rows:
            continue
        for method in qt.methods():
            for engine in arguments.engines if method.name in arguments.methods else ():
                for asked, found in answers(labels, k, method, engine):
                    key = f"{path.stem} {method.name} {asked}"
                    compared += key in known
                    if known.setdefault(key, found) != found:
                        differing.append(f"{key} {engine}")
        arguments.file.write_text(json.dumps(known, indent=1))
    print(f"{compared} answers compared, {len(differing)} differ", *differing, sep="\n")


if __name__ == "__main__":
    main()
