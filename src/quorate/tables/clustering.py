"""From a table of features to clusters in one call: `cluster_frame` and `cluster_file`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._runtime.memory import memory_limit as limited_memory
from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_choice, check_integer, nearest_name
from quorate._utils.optional_imports import import_extra
from quorate.column_roles import has_decimal_commas, is_class, is_id, of_columns
from quorate.column_roles import quoted as listed_names
from quorate.errors import QuorateError, warn
from quorate.features.consensus_clustering import ConsensusClustering
from quorate.features.sampling import Sample
from quorate.features.scaling import SCALES
from quorate.labels import as_narwhals
from quorate.persistence.feature_models import FeatureModel
from quorate.tables.engines.feature_engines import (
    BLOCK,
    FEATURE_ENGINES,
    Eager,
    FeatureEngine,
    NewProfile,
    arrow_values,
    profile_array,
)
from quorate.tables.feature_profile import MISSING, FeatureProfile, fit_profile, sample_size
from quorate.tables.io import LabelTable, check_output, connect, explained, open_table, output_format, write_table
from quorate.tables.io import quote_name as quoted
from quorate.tables.roles import ANSWERS, Wanted, choose_columns
from quorate.tables.sample_trace import Trace

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NUMBERS = {"BOOLEAN", "FLOAT", "DOUBLE", "DECIMAL", *_WHOLE, *(f"U{name}" for name in _WHOLE)}
Progress = Callable[[str, int, int | None], None]
"""Told what is done, how many rows of it, and of how many if that is known."""


@dataclass(frozen=True)
class Recipe:
    """How features become clusters."""

    missing: str
    seed: int
    estimator: ConsensusClustering

    @classmethod
    def of(cls, n_clusters: Any, scale: Any, missing: Any, random_state: Any, how: dict[str, Any]) -> Recipe:
        """Check what was asked for, before any row is read."""
        known = ConsensusClustering().get_params(deep=False)
        for name in how:
            if name not in known:
                raise QuorateError(f"There is no parameter {name!r}.{nearest_name(name, known)}")
        check_choice("scale", scale, SCALES)
        check_choice("missing", missing, MISSING)
        seed = check_integer("random_state", random_state, low=0)
        if how.get("fit_rows", "auto") is None:
            raise QuorateError('fit_rows must be "auto" or a number of rows, as the table may be larger than memory.')
        return cls(missing, seed, ConsensusClustering(n_clusters, scale=scale, random_state=seed, **how))

    def new_profile(self, names: Sequence[str]) -> NewProfile:
        """Return what makes an empty profile, here or on a worker."""
        rows = sample_size(self.estimator.fit_rows)
        return partial(FeatureProfile, tuple(names), self.missing, rows, self.seed)

    def fit(self, profile: FeatureProfile) -> FeatureModel:
        """Return the model of a table that was profiled."""
        return fit_profile(profile, self.estimator)


def cluster_frame(
    frame: Any,
    features: Sequence[str] | None = None,
    n_clusters: int | str = "auto",
    *,
    scale: str = "auto",
    missing: str = "error",
    random_state: int = 0,
    return_model: bool = False,
    **how: Any,
) -> Any:
    """Cluster the rows of a frame by their features, and return the frame with the answer in four more columns.

    Members and their consensus are found on a sample of the rows, drawn by what is in them; all rows are then labeled
    where they are. The labels depend neither on the engine nor on the order or partitions of the rows.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table, array; polars LazyFrame, DuckDB relation, Dask or PySpark frame
        On Dask and Spark the workers need Quorate.
    features : sequence of str, optional
        The columns of features. Default: all columns of numbers but those named like ids or known classes.
    n_clusters : int or "auto", default "auto"
    scale : {"auto", "standard", "minmax", "none"}, default "auto"
        How columns are scaled: "auto" standardizes them if their standard deviations differ more than tenfold.
    missing : {"error", "drop", "mean"}, default "error"
        What happens to rows with missing numbers: refused, left without a cluster (-1), or filled with the mean.
    random_state : int, default 0
    return_model : bool, default False
        Whether to return the `FeatureModel` too, which labels new rows and can be saved.
    **how
        Further parameters of `ConsensusClustering`: members, n_members, method, fit_rows, k_range.

    Returns
    -------
    frame, or (frame, FeatureModel)
        Of the same kind, with the columns `consensus` (0 the largest cluster of the sample), `confidence`, `margin`
        and `runner_up`. An array gives an array of labels.

    Examples
    --------
    >>> import polars as pl
    >>> import quorate as qt
    >>> iris = qt.datasets.load("iris")
    >>> frame = pl.DataFrame(iris.features, schema=list(iris.feature_names))
    >>> answered = qt.cluster_frame(frame, n_clusters=3)
    >>> answered.columns[-4:], qt.evaluate(answered["consensus"].to_numpy(), iris.classes).ari > 0.5
    (['consensus', 'confidence', 'margin', 'runner_up'], True)
    """
    recipe = Recipe.of(n_clusters, scale, missing, random_state, how)
    if isinstance(frame, np.ndarray):
        names = [f"feature_{j}" for j in range(np.atleast_2d(frame).shape[1])]
        model = recipe.fit(profile_array(frame, recipe.new_profile(names)()))
        answer: Any = model.assign(frame).labels
    else:
        opened, engine = _open(frame)
        names = _choose_features(opened, features)
        model = recipe.fit(engine.profile(opened.to_native(), names, recipe.new_profile(names)))
        answer = engine.attach(opened.to_native(), model)
    return (answer, model) if return_model else answer


def _open(frame: Any) -> tuple[Any, FeatureEngine]:
    import narwhals as nw

    opened = as_narwhals(frame)
    if isinstance(opened, nw.DataFrame):
        return opened, Eager()
    if not isinstance(opened, nw.LazyFrame) or str(opened.implementation) not in FEATURE_ENGINES:
        raise QuorateError(
            f"frame must be an array or a frame of pandas, polars, pyarrow, DuckDB, Dask or PySpark; got "
            f"{type(frame).__name__}."
        )
    return opened, FEATURE_ENGINES[str(opened.implementation)]


def _choose_features(opened: Any, features: Sequence[str] | None) -> list[str]:
    """Return the columns of features: those named, or all numbers that are not called otherwise."""
    schema = opened.collect_schema()
    for name in ANSWERS:
        if name in schema:
            raise QuorateError(f"The frame has a column named {name!r} already. Rename or drop it first.")
    numbers = [name for name, kind in schema.items() if kind.is_numeric() or str(kind) == "Boolean"]
    return pick_features(list(schema), numbers, features, "The frame")


def pick_features(
    columns: Sequence[str], numbers: Sequence[str], features: Any, what: str, hint: str = ""
) -> list[str]:
    """Return the columns that are features, and say which are left out; a hint says what text may be."""
    if isinstance(features, str):
        raise QuorateError(f"features must be a list of column names; got the text {features!r}. Pass [{features!r}].")
    absent = [name for name in features or () if name not in columns]
    if absent:
        near = nearest_name(absent[0], columns)
        raise QuorateError(f"features names what is no column: {listed_names(absent)}.{near}")
    texts = [name for name in features or () if name not in numbers]
    if texts:
        raise QuorateError(
            f"Not numbers, but text or the like, are in {listed_names(texts)}. Leave them out of features=.{hint}"
        )
    if features is not None and len(set(features)) < len(features):
        raise QuorateError("features names a column twice; name each column once.")
    chosen = list(features or (name for name in numbers if not is_id(name) and not is_class(name)))
    if not chosen:
        raise QuorateError(f"{what} has no column of numbers to cluster by. Name the features with features=.{hint}")
    left = [name for name in columns if name not in chosen]
    if features is None and left:
        listed = ", ".join(repr(name) for name in left[:8]) + (" and others" if len(left) > 8 else "")
        warn(
            f"Left out, as text, ids, known classes or without any value: {listed}. Name the features with features= "
            f"if that is wrong.{hint}"
        )
    return chosen


@dataclass(frozen=True)
class FileClusters:
    """Clusters written to a file, and what led to them."""

    out: Path
    n_rows: int
    n_clusters: int
    sizes: Ints = field(repr=False)
    """(n_clusters,) rows in each cluster."""
    features: tuple[str, ...]
    names: tuple[str, ...] = field(repr=False)
    ncai: Floats = field(repr=False)
    member_weights: Floats = field(repr=False)
    model: FeatureModel = field(repr=False)
    estimator: ConsensusClustering = field(repr=False)
    """What was fitted to the sample, with its `consensus_`."""
    sample: Sample = field(repr=False)
    """The rows that members and consensus were found on, as they are."""
    trace: Trace = field(repr=False)
    """Which rows of the file they are."""


def cluster_file(
    path: str | Path,
    out: str | Path,
    features: Sequence[str] | None = None,
    n_clusters: int | str = "auto",
    *,
    scale: str = "auto",
    missing: str = "error",
    keep: Sequence[str] | None = None,
    random_state: int = 0,
    force: bool = False,
    memory_limit: int | float | str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **how: Any,
) -> FileClusters:
    """Cluster the rows of a file by their features, and write them with the answer in four more columns.

    The rows never are in memory: one pass profiles the features and draws a sample, another labels the rows and writes
    them.

    Parameters
    ----------
    path : str or Path
        A file (Parquet, CSV, TSV, Arrow, NPY, NPZ), a folder of Parquet files, or a pattern such as "rows/*.parquet".
    out : str or Path
        The file to write, in the format of its ending. It appears when it is complete, or not at all.
    features : sequence of str, optional
        The columns of features; names or patterns such as "pc_*". Default: all columns of numbers but ids and known
        classes.
    n_clusters : int or "auto", default "auto"
    scale : {"auto", "standard", "minmax", "none"}, default "auto"
        How columns are scaled: "auto" standardizes them if their standard deviations differ more than tenfold.
    missing : {"error", "drop", "mean"}, default "error"
        What happens to rows with missing numbers: refused, left without a cluster (-1), or filled with the mean.
    keep : sequence of str, optional
        Columns to write before the answer. Default: all.
    random_state : int, default 0
    force : bool, default False
        Whether to replace `out` if it exists.
    memory_limit : int or str, optional
        Memory to keep to, such as "2GB".
    threads : int, optional
        Threads of DuckDB. Default: all cores.
    progress : callable, optional
        Called with what is done, how many rows of it, and of how many if that is known.
    **how
        Further parameters of `ConsensusClustering`: members, n_members, method, fit_rows, k_range.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import quorate as qt
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = pathlib.Path(name)
    ...     rows = "".join(f"r{i},{i % 2 * 9 + i / 100},{i / 50}\\n" for i in range(60))
    ...     _ = (folder / "rows.csv").write_text("id,x,y\\n" + rows)
    ...     result = qt.cluster_file(folder / "rows.csv", folder / "out.csv", features=["x", "y"], n_clusters=2)
    ...     print((folder / "out.csv").read_text()[:44])
    id,x,y,consensus,confidence,margin,runner_up
    >>> result.n_rows, result.sizes
    (60, array([30, 30]))
    """
    recipe = Recipe.of(n_clusters, scale, missing, random_state, how)
    check_output(out, force=force, source=path)
    output_format(out)
    import_extra("pyarrow", "Clustering files")
    with ExitStack() as stack:
        if memory_limit is not None:
            stack.enter_context(limited_memory(memory_limit))
        table = stack.enter_context(open_table(path, memory_limit=memory_limit, threads=threads))
        names = file_features(table, features)
        return cluster_table(table, names, recipe, out, keep=keep, force=force, progress=progress)


def cluster_table(
    table: LabelTable,
    names: Sequence[str],
    recipe: Recipe,
    out: str | Path | None,
    *,
    keep: Sequence[str] | None = None,
    format: str | None = None,
    force: bool = False,
    progress: Progress | None = None,
    traced: Sequence[str] = (),
) -> FileClusters:
    """Cluster an open table by some features, and write its rows with the answer; without `out`, only count them.

    Of the rows of the sample, the cells in the columns `traced` are kept.
    """
    kept = list(table.columns if keep is None else keep)
    _refuse_answers(table, kept)
    profile = recipe.new_profile(names)()
    for _, values in read_blocks(table, names, ()):
        profile.add(values)
        if progress is not None:
            progress("Reading", profile.n_rows, None)
    model = recipe.fit(profile)
    sizes = np.zeros(model.n_clusters + 1, dtype=np.int64)
    sample = profile.sample.at(recipe.estimator.fitted_hashes_)
    trace = Trace(sample, recipe.seed, traced)
    label_table(
        table,
        model,
        kept,
        out,
        sizes,
        n_rows=profile.n_rows,
        format=format,
        force=force,
        progress=progress,
        trace=trace,
    )
    return FileClusters(
        Path(out or ""),
        profile.n_rows,
        model.n_clusters,
        sizes[:-1],
        tuple(names),
        model.names,
        model.ncai,
        model.member_weights,
        model,
        recipe.estimator,
        sample,
        trace,
    )


def file_features(table: LabelTable, features: Sequence[str] | None, known: Sequence[str] = ()) -> list[str]:
    """Return the columns of a file that are features; those that are `known` to be something else are not."""
    numbers = [name for name in table.columns if is_number(table, name)]
    if features is not None:
        columns = choose_columns(table, Wanted(list(features)), labels=False, find_id=False)
        return pick_features(table.columns, numbers, columns.members, table.path, _hint_of_commas(table, numbers))
    columns = choose_columns(table, Wanted(), labels=False)
    others = [name for name in table.columns if name not in known]  # nobody need be told of those left out by name
    # A column without any value is text or numbers: it says nothing, and is told so later.
    chosen = [name for name in numbers if name in others and name != columns.id]
    return pick_features(others, chosen, None, table.path, _hint_of_commas(table, numbers))


def _hint_of_commas(table: LabelTable, numbers: Sequence[str]) -> str:
    """Return that columns of text are numbers with a decimal comma, if they are."""
    with_commas = [name for name in table.columns if name not in numbers and has_decimal_commas(table.head[name])]
    if not with_commas:
        return ""
    columns, verb = of_columns(with_commas)
    return f" {columns} {'holds' if verb == 'is' else 'hold'} numbers with a decimal comma: write them with a point."


def is_number(table: LabelTable, name: str) -> bool:
    """Tell whether a column holds numbers: by its type or, in a text table, by all of its cells."""
    kind = table.column(name).sql_type
    if kind == "VARCHAR":
        return table.profile[name].kind in ("integer", "number", "boolean")
    return kind.partition("(")[0] in _NUMBERS


def _refuse_answers(table: LabelTable, kept: Sequence[str]) -> None:
    for name in ANSWERS:
        if name in kept:
            raise QuorateError(f"{table.path} has a column named {name!r} already. Rename or drop it first.")


def read_blocks(table: LabelTable, names: Sequence[str], kept: Sequence[str]) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Yield the rows in their order, in blocks: the columns to keep as an Arrow batch, and the features as a matrix."""
    cells = [f"{table.raw(name)} AS k{j}" for j, name in enumerate(kept)]
    cells += [f"TRY_CAST({table.raw(name)} AS DOUBLE) AS f{j}" for j, name in enumerate(names)]
    with explained(table.path):
        for batch in table.sql(f"SELECT {', '.join(cells)} FROM {table.view}").to_arrow_reader(BLOCK):
            yield batch.select(range(len(kept))), arrow_values(batch.select(range(len(kept), batch.num_columns)))


def label_table(
    table: LabelTable,
    model: FeatureModel,
    kept: Sequence[str],
    out: str | Path | None,
    sizes: Ints,
    *,
    n_rows: int | None = None,
    format: str | None = None,
    force: bool = False,
    progress: Progress | None = None,
    trace: Trace | None = None,
) -> None:
    """Label the rows of a table, count the clusters (-1 last), and write them unless `out` is None."""
    import pyarrow as pa

    traced = [] if trace is None else list(trace.cells)

    def labeled() -> Iterator[Any]:
        done = 0
        for batch, values in read_blocks(table, model.features, [*kept, *traced]):
            found = model.assign(values)
            if trace is not None:
                trace.add(values, batch.columns[len(kept) :])
            sizes[:] += np.bincount(found.labels % len(sizes), minlength=len(sizes))  # -1 counts last
            done += len(values)
            if progress is not None:
                progress("Labeling", done, n_rows)
            yield pa.RecordBatch.from_arrays([*batch.columns[: len(kept)], *map(pa.array, found)], names=names)

    names = [*(f"k{j}" for j in range(len(kept))), *ANSWERS]
    if out is None:
        for _ in labeled():
            pass
        return
    with ExitStack() as stack:
        writer = connect(stack)
        types = [] if not kept else list(_schema(table, kept))
        kinds = (pa.int32(), pa.float32(), pa.float32(), pa.int32())
        schema = pa.schema(list(zip(names, [*types, *kinds], strict=True)))
        writer.register("quorate_labeled", pa.RecordBatchReader.from_batches(schema, labeled()))
        shown = ", ".join(f"{one} AS {quoted(name)}" for one, name in zip(names, [*kept, *ANSWERS], strict=True))
        write_table(writer.sql(f"SELECT {shown} FROM quorate_labeled"), out, format=format, force=force)


def _schema(table: LabelTable, kept: Sequence[str]) -> Iterator[Any]:
    """Yield the Arrow types of some columns, as their batches have them."""
    cells = ", ".join(table.raw(name) for name in kept)
    with explained(table.path):
        yield from table.sql(f"SELECT {cells} FROM {table.view} LIMIT 0").to_arrow_reader(1).schema.types
