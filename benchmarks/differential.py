"""Random ensembles through every method and every engine against the dense ways: none may differ.

`python -m benchmarks.differential --cases 20000` draws ensembles with missing labels, weights and members that say
nothing, everything or always the same, and compares, to 1e-10, similarities and merges with those of the dense oracles
in tests/, and every method's labels from arrays with those from a frame of another engine, exactly. Cases done are
appended to .cache/differential.jsonl; the next call goes on from there.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Result

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
CACHE = Path(".cache/differential.jsonl")
CASES = 20_000


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
    """Return a member as it is, mostly; or one that is constant, all singletons, or silent."""
    kind = rng.integers(12)
    if kind == 0:
        return np.zeros_like(column)
    if kind == 1:
        return np.arange(len(column))
    return np.full_like(column, -1) if kind == 2 else column


def check_dense(labels: Any, weights: Any) -> None:
    """Compare similarities of rows and the merges of every linkage with the dense ways."""
    import baseline_oracles
    import oracles
    import quorate as qt
    from quorate.consensus.srs import simrank_similarity
    from quorate.consensus.wct import triple_similarity
    from quorate.linkage import LINKS, link_evidence

    ens = qt.Ensemble(list(labels.T))
    patterns = np.arange(ens.n_patterns)
    evidence = oracles.evidence(labels, weights)
    _same("evidence", qt.coassociation(ens, weights, rows=True), evidence)
    _same("triples", _over_rows(ens, triple_similarity(ens, weights, 0.8, patterns)),
          baseline_oracles.triples(labels, weights))  # fmt: skip
    _same("simrank", _over_rows(ens, simrank_similarity(ens, weights, 0.8, 5, patterns)),
          baseline_oracles.simrank(labels, weights))  # fmt: skip
    for link in LINKS:
        tree = link_evidence(ens, weights / weights.sum(), link)
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


def frames(labels: Any) -> dict[str, Callable[[], tuple[Any, Callable[[Any], Any]]]]:
    """Return, for each engine, how to make a frame of the labels, and how to get the answer out of one."""
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    values = [[None if label < 0 else int(label) for label in column] for column in labels.T]
    columns = {"row": list(range(len(labels))), **{f"m{j}": column for j, column in enumerate(values)}}

    def relation() -> tuple[Any, Callable[[Any], Any]]:
        connection = duckdb.connect()
        connection.register("source", pa.table(columns))
        return connection.sql("SELECT * FROM source"), lambda out: [row[-2] for row in out.order("row").fetchall()]

    return {
        "pandas": lambda: (pd.DataFrame(columns), lambda out: out["consensus"].tolist()),
        "pyarrow": lambda: (pa.table(columns), lambda out: out["consensus"].to_pylist()),
        "polars": lambda: (pl.DataFrame(columns), lambda out: out["consensus"].to_list()),
        "polars lazy": lambda: (pl.LazyFrame(columns), lambda out: out.collect()["consensus"].to_list()),
        "duckdb": relation,
    }


def check_engines(labels: Any, rng: np.random.Generator) -> None:
    """Compare the labels of every method from arrays with those from a frame, of another engine for each method."""
    import quorate as qt

    made = frames(labels)
    members = [f"m{j}" for j in range(labels.shape[1])]
    vectors = [[None if label < 0 else int(label) for label in column] for column in labels.T]
    ens = qt.Ensemble(vectors, names=members)
    for method in qt.methods():
        k, engine = int(rng.integers(1, 4)), str(rng.choice(list(made)))
        frame, labels_of = made[engine]()
        expected = _told(qt.consensus, lambda out: out.labels.tolist(), ens, k, method.name)
        found = _told(qt.consensus_frame, labels_of, frame, members, k, method.name)
        assert found == expected, f"{method.name} with k = {k} on {engine}: {found}, not {expected}"


def _told(combine: Callable[..., Any], labels_of: Callable[[Any], Any], *arguments: Any) -> Any:
    """Return the labels, or the complaint: both ways must complain alike."""
    from quorate import QuorateError

    try:
        return labels_of(combine(*arguments))
    except QuorateError as error:
        return str(error)


def check_case(seed: int) -> None:
    """Draw an ensemble and compare all ways."""
    rng = np.random.default_rng(seed)
    labels, weights = draw(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_dense(labels, weights)
        check_engines(labels, rng)


def campaign(n_cases: int, log: Path) -> list[dict[str, Any]]:
    """Run the cases that are not done yet, and return all."""
    log.parent.mkdir(parents=True, exist_ok=True)
    done = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    with open(log, "a", buffering=1) as told:
        for seed in range(len(done), n_cases):
            line: dict[str, Any] = {"seed": seed}
            try:
                check_case(seed)
            except Exception:
                line["trouble"] = traceback.format_exc()[-800:]
            done.append(line)
            told.write(json.dumps(line) + "\n")
    return done


def tell(done: list[dict[str, Any]]) -> list[Result]:
    """Return the counts as a result; the bar is that none differs."""
    troubles = [told for told in done if told.get("trouble")]
    for told in troubles[:10]:
        print(told["seed"], told["trouble"], file=sys.stderr)
    what = "random ensembles that differ from the dense ways, or between engines"
    return [Result(what, len(troubles), len(done), "cases", len(troubles) / len(done), "<= 0", not troubles)]


def run() -> list[Result]:
    """Run, or go on with, the whole campaign."""
    return tell(campaign(CASES, CACHE))


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--log", type=Path, default=CACHE)
    chosen = parser.parse_args()
    for result in tell(campaign(chosen.cases, chosen.log)):
        print(result)


if __name__ == "__main__":
    main()
