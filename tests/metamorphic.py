"""Change what must not matter, and compare the answers of every method, file format and engine.

`python tests/metamorphic.py --cases 24000` draws small ensembles and tables. Each case takes one of `RELATIONS` and one
method (or format, or engine), all in turn by the seed: row weights times a constant, row weights against repeated rows,
other names of labels, another order of members or rows, ids and kept cells through files and frames, and discrete
features in another order or on another engine. A case that is refused, or that a tie decides, is logged as
such and does not count. Finished cases are appended to .cache/metamorphic.jsonl; the next call continues. `--seed 123`
runs one case.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from differential import campaign, spark_session

LOG = Path(".cache/metamorphic.jsonl")
CASES = 24_000
FACTORS = (1e-7, 1 / 3, 0.1, 3.0, 8.0, 1e6)
"""Factors of row weights; weights lie between 1e-12 and 1e12."""
EVERY_SPARK = 40
_EQUAL = 1e-9
"""Values that differ by less are equal, so that rounding errors decide."""


class Excluded(Exception):
    """A case that says nothing: the input is refused, or a tie decides the answer."""


@cache
def variants() -> list[tuple[str, dict[str, Any]]]:
    """Return the default with the automatic number of clusters, and every method with every linkage it has."""
    import quorate as qt
    from quorate.algorithms.registry import AUTO
    from quorate.numerics.linkage import LINKS

    links = {info.name: LINKS if "linkage" in info.parameters else (None,) for info in qt.methods()}
    methods = [(name, {"linkage": link} if link else {}) for name in links for link in links[name]]
    return [(AUTO, {"n_clusters": "auto"}), *methods]


def draw(rng: np.random.Generator) -> Any:
    """Return rows x members of labels, -1 where missing: noisy, refined or merged copies of one partition."""
    n_rows, n_members, n_groups = int(rng.integers(8, 41)), int(rng.integers(2, 7)), int(rng.integers(2, 5))
    truth = rng.integers(0, n_groups, n_rows)
    labels = np.empty((n_rows, n_members), dtype=np.int64)
    for j in range(n_members):
        target = rng.integers(0, n_groups + rng.integers(0, 3), n_groups)[truth] if rng.random() < 0.3 else truth
        noisy = rng.random(n_rows) < rng.choice([0.05, 0.2, 0.4])
        labels[:, j] = np.where(noisy, rng.integers(0, n_groups + 1, n_rows), target)
    labels[rng.random(labels.shape) < rng.choice([0, 0, 0.15])] = -1
    labels[np.all(labels < 0, axis=1), 0] = 0
    return labels


class Fitted:
    """The answer of one method on labels, with the same k and parameters for all ensembles of a case."""

    def __init__(self, seed: int, rng: np.random.Generator, n_members: int):
        import quorate as qt

        self.name, self.params = variants()[seed % len(variants())]
        k = int(rng.integers(2, 5)) if rng.random() < 0.8 else "auto"
        self.params: dict[str, Any] = {"n_clusters": k, **self.params}
        self.weights = rng.random(n_members) + 0.05 if rng.random() < 0.4 else None
        self.info = next(info for info in qt.methods() if info.name == self.name)

    def __call__(self, labels: Any, row_weights: Any = None, members: Any = None) -> Any:
        """Fit the labels (rows, members), whose columns are these of the members drawn."""
        import quorate as qt

        params = dict(self.params)
        if self.weights is not None:
            params["weights"] = self.weights if members is None else self.weights[members]
        ens = qt.Ensemble([_none_if_missing(column) for column in labels.T], row_weights=row_weights)
        try:
            return self.info.estimator(**params).fit(ens)
        except qt.QuorateError as error:
            raise Excluded(f"refused: {error.code}") from error

    def same(self, one: Any, other: Any, order: Any = slice(None)) -> None:
        """Require equal labels and confidence, and equal weights of members."""
        case = f"{self.name} {self.params}"
        assert np.array_equal(one.labels_[order], other.labels_), f"labels of {case}"
        assert np.allclose(one.confidence_[order], other.confidence_, rtol=0, atol=1e-9), f"confidence of {case}"
        assert np.allclose(one.member_weights_, other.member_weights_, rtol=0, atol=1e-9), f"weights of {case}"


def _none_if_missing(column: Any) -> list[int | None]:
    return [None if label < 0 else int(label) for label in column]


def row_weights(rng: np.random.Generator, n_rows: int) -> Any:
    """Return whole weights, whole multiples of a unit, or any."""
    kind = rng.integers(3)
    if kind == 2:
        return rng.random(n_rows) + 0.05
    return rng.integers(1, 5, n_rows) * (1.0 if kind == 0 else 0.3)


def scaled_weights(seed: int, rng: np.random.Generator) -> None:
    """Row weights times a constant give the same answer."""
    labels = draw(rng)
    fit, weights = Fitted(seed, rng, labels.shape[1]), row_weights(rng, len(labels))
    fit.same(fit(labels, weights), fit(labels, float(rng.choice(FACTORS)) * weights))


def repeated_rows(seed: int, rng: np.random.Generator) -> None:
    """A row of weight w counts like w equal rows."""
    labels = draw(rng)
    fit, repeats = Fitted(seed, rng, labels.shape[1]), rng.integers(1, 4, len(labels))
    rows = np.repeat(np.arange(len(labels)), repeats)
    fit.same(fit(labels, repeats), fit(labels[rows]), rows)


def row_order(seed: int, rng: np.random.Generator) -> None:
    """Rows in another order give the same answer, ties included."""
    labels = draw(rng)
    fit, order = Fitted(seed, rng, labels.shape[1]), rng.permutation(len(labels))
    weights = row_weights(rng, len(labels)) if rng.random() < 0.5 else None
    fit.same(fit(labels, weights), fit(labels[order], None if weights is None else weights[order]), order)


def label_names(seed: int, rng: np.random.Generator) -> None:
    """Other names of labels give the same partition."""
    labels = draw(rng)
    renamed = np.stack([np.append(rng.permutation(20), -1)[column] for column in labels.T], axis=1)
    _same_partition(seed, rng, labels, renamed, np.arange(labels.shape[1]))


def member_order(seed: int, rng: np.random.Generator) -> None:
    """Members in another order give the same partition."""
    labels = draw(rng)
    order = rng.permutation(labels.shape[1])
    _same_partition(seed, rng, labels, labels[:, order], order)


def _same_partition(seed: int, rng: np.random.Generator, labels: Any, changed: Any, order: Any) -> None:
    """Require the same partition, unless a tie decides."""
    import oracles

    fit, weights = Fitted(seed, rng, labels.shape[1]), rng.random(len(labels)) + 0.5
    link = fit.params.get("linkage")
    if {"clear answers", f"clear answers, {link} link"} & set(fit.info.exceptions):
        raise Excluded("declared exception")
    one, other = fit(labels, weights), fit(changed, weights, order)
    # WCC learns its weights until they change by less than its tolerance, which magnifies rounding errors to 1e-7.
    atol = fit.info.parameters["tolerance"] if fit.name == "wcc" else 1e-9
    equal_weights = np.allclose(one.member_weights_[order], other.member_weights_, rtol=0, atol=atol)
    if equal_weights and oracles.partition(one.labels_) == oracles.partition(other.labels_):
        return
    # A case on the edge between two answers changes with some of these, not with each.
    nearby = (weights * (1 + 1e-5 * rng.standard_normal(len(weights))) for _ in range(16))
    if _tied(one, other) or any(
        oracles.partition(fit(labels, other_weights).labels_) != oracles.partition(one.labels_)
        for other_weights in nearby
    ):
        raise Excluded("tie")
    raise AssertionError(f"{'partition' if equal_weights else 'weights'} of {fit.name} {fit.params}")


def _tied(one: Any, other: Any) -> bool:
    """Whether merges of a tree, eigenvalues at the cut, votes of a row, or the values of two partitions are equal."""
    if any(_first_difference(*trees) < _EQUAL for trees in zip(_trees(one), _trees(other), strict=True)):
        return True
    values, k = getattr(one, "eigenvalues_", np.empty(0)), one.n_clusters_
    if 1 < k < len(values) and values[k - 1] - values[k] < _EQUAL:
        return True
    if hasattr(one.solution_.cuts, "cluster_cut"):
        if _tied_rotation(one):
            return True
        votes, other_votes = _sorted_votes(one), _sorted_votes(other)
        return np.allclose(votes, other_votes, rtol=0, atol=_EQUAL) and bool(
            np.any(votes[:, -1] - votes[:, -2] < _EQUAL)
        )
    return hasattr(one, "objective_") and abs(one.objective_ - other.objective_) < _EQUAL


def _tied_rotation(fitted: Any) -> bool:
    """Whether several clusters are least similar to those that the discretization of a cut has chosen."""
    cut, k = fitted.solution_.cuts.cluster_cut, fitted.n_clusters_
    vectors = cut.spectrum(k)[1][:, :k]
    rows = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), _EQUAL)
    chosen, similarity = int(np.argmax(cut.sizes)), np.zeros(len(rows))
    for _ in range(k - 1):
        similarity += np.abs(rows @ rows[chosen])
        chosen = int(np.argmin(np.round(similarity, 10)))
        if np.sum(similarity < similarity[chosen] + _EQUAL) > 1:
            return True
    return False


def _sorted_votes(fitted: Any) -> Any:
    """(rows, k) votes of each row for groups of clusters, ascending, whatever the numbers of the groups."""
    from quorate.algorithms.partition import meta_votes

    ens, cuts, k = fitted.ensemble_, fitted.solution_.cuts, fitted.n_clusters_
    votes = meta_votes(ens.incidence, cuts.share_of_cluster, cuts.cluster_cut.groups(k), k)
    return np.sort(votes[ens.row_pattern], axis=1)


def _trees(fitted: Any) -> list[Any]:
    """Return the tree that the method cuts, and that from which its iterations start, if it has them."""
    trees = getattr(fitted, "dendrogram_", None), getattr(fitted.solution_.cuts, "lwea_tree", None)
    return [tree for tree in trees if tree is not None]


def _first_difference(one: Any, other: Any) -> float:
    """Return how much heights differ at the first merge that two trees do not share; a tie has no difference."""
    for (height, rows), (other_height, other_rows) in zip(_merges(one), _merges(other), strict=True):
        if rows != other_rows:
            return float(abs(height - other_height))
    return np.inf


def _merges(tree: Any) -> list[tuple[float, frozenset[int]]]:
    """Return the height of each merge and the first rows of the patterns that it joins."""
    nodes = [frozenset([int(row)]) for row in tree.ensemble.first_row[tree.leaf_pattern]]
    for a, b in tree.merges:
        nodes.append(nodes[a] | nodes[b])
    return list(zip(tree.heights, nodes[len(tree.leaf_pattern) :], strict=True))


# Tables --------------------------------------------------------------------------------------------------------------

CELLS = ["NA", "null", "nan", "None", "N/A", "#N/A", "007", " padded ", "1e5", "TRUE", "1.0", "+1", "-0", "2024-01-02"]
CELLS += ['say "so"', "a,b", "a;b", "a\tb", "a\nb", "é", "x" * 300, "{}", "'", "\\", "#", "=1+1", "\N{PILE OF POO}"]
SIGNS = "ab01 ,;\"'\\\t\n.-+eE#%é\N{GREEK SMALL LETTER ALPHA}"
NOT_IN_A_WORKBOOK = ("#N/A", "=1+1")
"""Text that a workbook stores as an error or a formula."""


def draw_table(rng: np.random.Generator) -> dict[str, list[Any]]:
    """Return columns by name: an id, a kept column and classes of awkward text, and two members."""
    n_rows = int(rng.integers(24, 41))

    def cell() -> str:
        if rng.random() < 0.5:
            return str(rng.choice(CELLS))
        return "".join(rng.choice(list(SIGNS), rng.integers(1, 7)))

    text = {name: [cell() for _ in range(n_rows)] for name in ("id", "kept", "class")}
    group = rng.integers(0, 2, n_rows).tolist()
    return {**text, "place": list(range(n_rows)), "a": group, "b": group}


def _write_text(columns: dict[str, list[Any]], path: Path) -> None:
    delimiter = "\t" if path.suffix == ".tsv" else ","
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _write_lines(columns: dict[str, list[Any]], path: Path) -> None:
    rows = zip(*columns.values(), strict=True)
    path.write_text("".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows))


def _write_columns(columns: dict[str, list[Any]], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    table = pa.table(columns)
    pa.parquet.write_table(table, path) if path.suffix == ".parquet" else pa.feather.write_feather(table, str(path))


def _write_workbook(columns: dict[str, list[Any]], path: Path) -> None:
    import openpyxl

    workbook = openpyxl.Workbook()
    for row in [tuple(columns), *zip(*columns.values(), strict=True)]:
        workbook.active.append(row)
    workbook.save(path)


WRITERS: dict[str, Callable[[dict[str, list[Any]], Path], None]] = {
    "csv": _write_text, "tsv": _write_text, "csv.gz": _write_text, "jsonl": _write_lines, "parquet": _write_columns,
    "arrow": _write_columns, "npz": lambda columns, path: np.savez(path, **columns), "xlsx": _write_workbook,
}  # fmt: skip
OUTPUTS = ("csv", "tsv", "csv.gz", "parquet", "arrow")


def _read(path: Path) -> dict[str, list[Any]]:
    import pyarrow.feather
    import pyarrow.parquet

    if path.suffix in (".parquet", ".arrow"):
        read = pyarrow.parquet.read_table if path.suffix == ".parquet" else pyarrow.feather.read_table
        return dict(read(str(path)).to_pydict())
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def kept_in_files(seed: int, rng: np.random.Generator) -> None:
    """Ids, kept columns and classes come back byte for byte, from every format to every other."""
    import quorate as qt

    columns, source, target = draw_table(rng), list(WRITERS)[seed % len(WRITERS)], str(rng.choice(OUTPUTS))
    if source == "xlsx":
        columns |= {name: [_for_workbook(cell) for cell in columns[name]] for name in ("id", "kept", "class")}
    with tempfile.TemporaryDirectory() as name:
        path, out = Path(name) / f"t.{source}", Path(name) / f"out.{target}"
        WRITERS[source](columns, path)
        if rng.random() < 0.2:
            points = [
                9 * label + value for label, value in zip(columns["a"], rng.random(len(columns["a"])), strict=True)
            ]
            WRITERS[source](columns | {"x": points}, path)
            qt.cluster_file(path, out, ["x", "b"], 2, n_members=3)
        else:
            qt.consensus_file(path, out, ["a", "b"], 2, "weac")
        found = _read(out)
    for name in ("id", "kept", "class"):
        assert found[name] == columns[name], f"{name} from {source} to {target}: {found[name]}, not {columns[name]}"


def _for_workbook(cell: str) -> str:
    """Return text that a workbook stores as text: not blank, no error, no formula."""
    return f"x{cell}" if cell in NOT_IN_A_WORKBOOK or cell.startswith("=") or not cell.strip() else cell


def _frames(columns: dict[str, list[Any]]) -> dict[str, Callable[[], tuple[Any, Callable[[Any], Any]]]]:
    """Return a function for each engine that makes a frame, with one that makes a pandas frame of an answer."""
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    frame = pd.DataFrame(columns)
    engines: dict[str, Callable[[], tuple[Any, Callable[[Any], Any]]]] = {
        "pandas": lambda: (frame, lambda out: out),
        "polars": lambda: (pl.DataFrame(columns), lambda out: out.to_pandas()),
        "polars lazy": lambda: (pl.LazyFrame(columns), lambda out: out.collect().to_pandas()),
        "pyarrow": lambda: (pa.table(columns), lambda out: out.to_pandas()),
        "duckdb": lambda: (duckdb.from_arrow(pa.table(columns)), lambda out: out.df()),
    }
    if find_spec("dask"):
        import dask.dataframe as dd

        parts = dd.from_pandas(frame, npartitions=3, sort=False)
        engines["dask"] = lambda: (parts, lambda out: out.compute(scheduler="sync"))
    return engines


def _on_spark(columns: dict[str, list[Any]]) -> tuple[Any, Callable[[Any], Any]]:
    import pyarrow as pa

    return spark_session().createDataFrame(pa.table(columns)), lambda out: out.toArrow().to_pandas()


def _any_frame(columns: dict[str, list[Any]], seed: int) -> tuple[str, Any, Callable[[Any], Any]]:
    """Return a frame of one engine after the other; of Spark, which is slow, in one case of `EVERY_SPARK`."""
    if seed % EVERY_SPARK == 0 and shutil.which("java") and find_spec("pyspark"):
        return "spark", *_on_spark(columns)
    engines = _frames(columns)
    engine = list(engines)[seed % len(engines)]
    return engine, *engines[engine]()


def kept_in_frames(seed: int, rng: np.random.Generator) -> None:
    """Every engine returns the other columns unchanged, with the labels that arrays give."""
    import quorate as qt

    columns = draw_table(rng)
    columns["b"] = [int(rng.integers(3)) if rng.random() < 0.2 else label for label in columns["b"]]
    engine, frame, to_pandas = _any_frame(columns, seed)
    expected = qt.consensus([columns["a"], columns["b"]], 2, "weac").labels.tolist()
    found = to_pandas(qt.consensus_frame(frame, ["a", "b"], 2, "weac")).sort_values("place")
    for name in ("id", "kept", "class"):
        assert found[name].tolist() == columns[name], f"{name} on {engine}"
    assert found["consensus"].tolist() == expected, f"labels on {engine}"


def discrete_features(seed: int, rng: np.random.Generator) -> None:
    """Features of few values give the same labels on every engine, for rows in any order."""
    import pandas as pd

    import quorate as qt

    n_rows, group = 60, rng.integers(0, 2, 60)
    kinds = [
        lambda: np.round(rng.normal(3.0 * group)),
        lambda: rng.poisson(2 + 5 * group).astype(float),
        lambda: (rng.random(n_rows) < 0.3 + 0.4 * group).astype(float),
        lambda: np.clip(np.round(rng.normal(3 + group, 1)), 1, 5),
    ]
    features = {f"x{j}": kinds[(seed + j * int(rng.integers(2))) % 4]().tolist() for j in range(3)}
    columns = {"place": list(range(n_rows)), **features}
    engine, frame, to_pandas = _any_frame(columns, seed)
    shuffled = pd.DataFrame(columns).iloc[rng.permutation(n_rows)]
    options: dict[str, Any] = {"n_members": 3, "members": "kmeans"}
    one, other = (
        back(qt.cluster_frame(rows, list(features), 3, **options)).sort_values("place")["consensus"].tolist()
        for rows, back in ((frame, to_pandas), (shuffled, lambda out: out))
    )
    assert one == other, f"labels of discrete features on {engine}"


OF_METHODS: list[Callable[[int, np.random.Generator], None]] = [
    scaled_weights, repeated_rows, row_order, label_names, member_order,
]  # fmt: skip
OF_TABLES: list[Callable[[int, np.random.Generator], None]] = [kept_in_files, kept_in_frames, discrete_features]
RELATIONS = [*8 * OF_METHODS, *OF_TABLES]
"""What is compared in turn; tables are slower."""


def check_case(seed: int) -> dict[str, str]:
    """Run one case; return the relation, and why the case does not count, if it does not."""
    relation = RELATIONS[seed // len(variants()) % len(RELATIONS)]
    outcome = {"relation": relation.__name__}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            relation(seed, np.random.default_rng(seed))
        except Excluded as reason:
            outcome["excluded"] = str(reason)
    return outcome


def main() -> int:
    """Run the cases, print what was compared and the failures, and return 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--log", type=Path, default=LOG)
    parser.add_argument("--seed", type=int, help="run one case and print it")
    options = parser.parse_args()
    if options.seed is not None:
        print(json.dumps(check_case(options.seed)))
        return 0
    done = campaign(options.cases, options.log, check_case, options.first)
    failures = [case for case in done if case.get("failure")]
    for case in failures[:20]:
        print(case["seed"], case["failure"], file=sys.stderr)
    for (relation, outcome), n in sorted(
        Counter((c.get("relation", "failed"), c.get("excluded", "compared")) for c in done).items()
    ):
        print(f"{relation}: {n:,} {outcome}")
    counted = len(done) - sum("excluded" in case for case in done)
    print(f"{len(failures)} of {counted:,} cases depend on what must not matter")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
