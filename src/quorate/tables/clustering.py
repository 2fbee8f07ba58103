"""From features in a table to clusters: files of any size, and frames of any engine.

One pass profiles the features and draws a sample, on which members and their consensus are computed. A second pass
labels all rows, where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_choice, check_integer, nearest_name
from quorate._utils.optional_imports import import_extra
from quorate.columns.column_messages import not_a_list
from quorate.columns.column_roles import ANSWER_COLUMNS, ColumnRequest, FrameColumns, feature_roles
from quorate.errors import InputError
from quorate.features.consensus_clustering import ConsensusClustering
from quorate.features.sampling import Sample
from quorate.features.scaling import SCALES
from quorate.persistence.feature_models import FeatureModel
from quorate.tables.combining import refuse_answers, refuse_same_names
from quorate.tables.engines.frame_engine import BLOCK, NewProfile, arrow_values, open_frame
from quorate.tables.engines.memory_engine import profile_array
from quorate.tables.feature_profile import MISSING, FeatureProfile, fit_profile, sample_size
from quorate.tables.io import (
    LabelTable,
    check_output,
    connect,
    explained,
    open_limited,
    output_format,
    quote_name,
    resolve,
    write_table,
)
from quorate.tables.sample_trace import Trace

Progress = Callable[[str, int, int | None], None]
"""Receives the current step, how many rows are done, and the number of rows if it is known."""


@dataclass(frozen=True)
class Recipe:
    """The parameters by which features become clusters."""

    missing: str
    seed: int
    estimator: ConsensusClustering

    @classmethod
    def of(cls, n_clusters: Any, scale: Any, missing: Any, random_state: Any, params: dict[str, Any]) -> Recipe:
        """Return checked parameters, before any row is read."""
        # Unknown parameters are refused before any row is read.
        valid = ConsensusClustering().get_params(deep=False)
        for name in params:
            if name not in valid:
                raise InputError(
                    f"There is no parameter {name!r}.{nearest_name(name, valid)}", code="unknown-parameter"
                )
        check_choice("scale", scale, SCALES)
        check_choice("missing", missing, MISSING)
        seed = check_integer("random_state", random_state, low=0)
        # None would mean all rows, which may not fit into memory.
        if params.get("fit_rows", "auto") is None:
            raise InputError(
                'must be "auto" or a number of rows, as the table may be larger than memory; got None.',
                code="fit-rows",
                parameter="fit_rows",
            )
        return cls(missing, seed, ConsensusClustering(n_clusters, scale=scale, random_state=seed, **params))

    def new_profile(self, names: Sequence[str]) -> NewProfile:
        """Return a function that creates an empty profile, here or on a worker."""
        rows = sample_size(self.estimator.fit_rows)
        return partial(FeatureProfile, tuple(names), self.missing, rows, self.seed)

    def fit(self, profile: FeatureProfile) -> FeatureModel:
        """Return the model of a profiled table."""
        return fit_profile(profile, self.estimator)


def cluster_frame(
    frame: Any,
    features: Sequence[str] | None = None,
    n_clusters: int | str = "auto",
    method: Any = "auto",
    *,
    scale: str = "auto",
    missing: str = "error",
    random_state: int = 0,
    return_model: bool = False,
    **params: Any,
) -> Any:
    """Cluster the rows of a frame by their features, and return the frame with the answer in four more columns.

    Members and their consensus are computed on a sample of the rows, which depends only on the content of the rows. All
    rows are then labeled where they are. The labels depend neither on the engine nor on the order or partitions of the
    rows.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table, array; polars LazyFrame, DuckDB relation, Dask or PySpark frame
        On Dask and Spark the workers need Quorate.
    features : sequence of str, optional
        The columns of features. Default: all numeric columns except identifiers, known classes and earlier answers.
    n_clusters : int or "auto", default "auto"
    method : str, default "auto"
        The consensus method: a name from `methods()`, or "auto" as in `consensus`.
    scale : {"auto", "standard", "minmax", "none"}, default "auto"
        How columns are scaled: "auto" standardizes them if their standard deviations differ more than tenfold.
    missing : {"error", "drop", "mean"}, default "error"
        How rows with missing numbers are treated: refused, left without a cluster (-1), or filled with the mean.
    random_state : int, default 0
        Seed; the same seed gives the same clusters.
    return_model : bool, default False
        Whether to return the `FeatureModel` too, which labels new rows and can be saved.
    **params
        Further parameters of `ConsensusClustering`: members, n_members, fit_rows, k_range, outliers.

    Returns
    -------
    frame, or (frame, FeatureModel)
        Of the same kind, with the columns `consensus` (0 is the largest cluster of the sample), `confidence`, `margin`
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
    recipe = Recipe.of(n_clusters, scale, missing, random_state, {"method": method, **params})
    if isinstance(features, int):
        raise not_a_list("features", features)
    answer: Any
    if isinstance(frame, np.ndarray):
        model = recipe.fit(profile_array(frame, recipe.new_profile(_array_features(frame, features))()))
        answer = model.assign(frame).labels
    else:
        opened = open_frame(frame)
        refuse_answers("the frame", opened.columns)
        roles = feature_roles(FrameColumns(opened.frame), ColumnRequest(features), find_id=False)
        roles.warn()
        model = recipe.fit(opened.engine.profile(opened.native, roles.members, recipe.new_profile(roles.members)))
        answer = opened.result(opened.engine.label(opened.native, model))
    return (answer, model) if return_model else answer


def _array_features(X: NDArray[Any], features: Any) -> list[str]:
    """Return names for the columns of an array, which has none."""
    if features is not None:
        raise InputError(
            f"selects columns of a frame; got an array and {features!r}.",
            code="array-features",
            parameter="features",
            hint="Pass the columns of the array that are features.",
        )
    if X.ndim != 2:
        raise InputError(
            f"must be two-dimensional, rows x features; got {X.ndim} dimension(s).",
            code="array-shape",
            parameter="frame",
        )
    return [f"feature_{j}" for j in range(X.shape[1])]


@dataclass(frozen=True)
class FileClusters:
    """Clusters written to a file, and how they were computed."""

    out: Path
    n_rows: int
    n_clusters: int
    sizes: Ints = field(repr=False)
    """(n_clusters,) number of rows of each cluster."""
    features: tuple[str, ...]
    names: tuple[str, ...] = field(repr=False)
    """The members."""
    ncai: Floats = field(repr=False)
    member_weights: Floats = field(repr=False)
    model: FeatureModel = field(repr=False)
    estimator: ConsensusClustering = field(repr=False)
    """The estimator that was fitted to the sample, with its `consensus_`."""
    sample: Sample = field(repr=False)
    """The rows on which members and consensus were computed, without scaling."""
    trace: Trace = field(repr=False)
    """Which rows of the file the sample consists of."""


def cluster_file(
    path: str | Path,
    out: str | Path,
    features: Sequence[str] | None = None,
    n_clusters: int | str = "auto",
    method: Any = "auto",
    *,
    scale: str = "auto",
    missing: str = "error",
    random_state: int = 0,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    keep: Sequence[str] | None = None,
    force: bool = False,
    memory_limit: int | float | str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **params: Any,
) -> FileClusters:
    """Cluster the rows of a file by their features, and write its rows with the answer in four more columns.

    The rows are never in memory: one pass profiles the features and draws a sample, another labels the rows and writes
    them.

    Parameters
    ----------
    path : str or Path
        A file (Parquet, CSV, TSV, Arrow, NPY, NPZ, Excel, JSON lines), a folder of Parquet files, or a pattern such as
        "rows/*.parquet".
    out : str or Path
        The file to write, in the format of its extension. It appears when it is complete, or not at all.
    features : sequence of str, optional
        The columns of features; names or patterns such as "pc_*". Default: all numeric columns except identifiers,
        known classes and earlier answers.
    n_clusters : int or "auto", default "auto"
    method : str, default "auto"
        The consensus method: a name from `methods()`, or "auto" as in `consensus`.
    scale : {"auto", "standard", "minmax", "none"}, default "auto"
        How columns are scaled: "auto" standardizes them if their standard deviations differ more than tenfold.
    missing : {"error", "drop", "mean"}, default "error"
        How rows with missing numbers are treated: refused, left without a cluster (-1), or filled with the mean.
    random_state : int, default 0
        Seed; the same seed gives the same clusters.
    format, delimiter, header, encoding, sheet : optional
        How the file is read, as in `consensus_file`.
    keep : sequence of str, optional
        Columns to write before the answer. Default: all.
    force : bool, default False
        Whether to replace `out` if it exists.
    memory_limit : int or str, optional
        Memory limit, such as "2GB".
    threads : int, optional
        Number of DuckDB's threads. Default: all cores.
    progress : callable, optional
        Called with the current step, how many rows are done, and the number of rows if it is known.
    **params
        Further parameters of `ConsensusClustering`: members, n_members, fit_rows, k_range, outliers.

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
    recipe = Recipe.of(n_clusters, scale, missing, random_state, {"method": method, **params})
    check_output(out, force=force, source=path)
    output_format(out)
    import_extra("pyarrow", "Clustering files")
    text = {"delimiter": delimiter, "header": header, "encoding": encoding}
    limits: Any = {"memory_limit": memory_limit, "threads": threads}
    with open_limited(path, format=format, sheet=sheet, **text, **limits) as table:
        roles = feature_roles(table, resolve(table, ColumnRequest(features)), find_id=False)
        roles.warn()
        kept_columns = table.columns if keep is None else resolve(table, ColumnRequest(keep=keep)).keep
        return cluster_table(table, roles.members, recipe, out, keep=kept_columns, force=force, progress=progress)


def cluster_table(
    table: LabelTable,
    names: Sequence[str],
    recipe: Recipe,
    out: str | Path | None,
    *,
    keep: Sequence[str],
    format: str | None = None,
    force: bool = False,
    progress: Progress | None = None,
    traced: Sequence[str] = (),
) -> FileClusters:
    """Cluster an open table by some features, and write its rows with the answer; without `out`, only count them.

    The cells of the sample's rows in the columns `traced` are stored in the result.
    """
    refuse_answers(table.path, keep)
    refuse_same_names(table.path, keep)
    profile = recipe.new_profile(names)()
    # First pass: profile of the columns, and a sample that depends on the content of rows alone.
    for _, values in read_blocks(table, names, ()):
        profile.add(values)
        if progress is not None:
            progress("Reading", profile.n_rows, None)
    model = recipe.fit(profile)
    # One more: rows without a cluster are counted last.
    sizes = np.zeros(model.n_clusters + 1, dtype=np.int64)
    sample = profile.sample.at(recipe.estimator.fitted_hashes_)
    trace = Trace(sample, traced)
    label_table(
        table,
        model,
        keep,
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


def read_blocks(table: LabelTable, names: Sequence[str], copied: Sequence[str]) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Yield the rows in order, in blocks: the columns to keep as an Arrow batch, and the features as a matrix."""
    cells = [f"{table.raw(name)} AS k{j}" for j, name in enumerate(copied)]
    cells += [f"{table.number(name)} AS f{j}" for j, name in enumerate(names)]
    with explained(table.path):
        for batch in table.sql(f"SELECT {', '.join(cells)} FROM {table.view}").to_arrow_reader(BLOCK):
            yield batch.select(range(len(copied))), arrow_values(batch.select(range(len(copied), batch.num_columns)))


def label_table(
    table: LabelTable,
    model: FeatureModel,
    copied: Sequence[str],
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

    # Second pass: rows are labeled block by block while DuckDB writes them.
    def labeled() -> Iterator[Any]:
        done = 0
        for batch, values in read_blocks(table, model.features, [*copied, *traced]):
            assigned = model.assign(values)
            if trace is not None:
                trace.add(len(values), batch.columns[len(copied) :])
            sizes[:] += np.bincount(assigned.labels % len(sizes), minlength=len(sizes))  # -1 counts last
            done += len(values)
            if progress is not None:
                progress("Labeling", done, n_rows)
            yield pa.RecordBatch.from_arrays([*batch.columns[: len(copied)], *map(pa.array, assigned)], names=names)

    # Short names within the query; columns may have any name.
    names = [*(f"k{j}" for j in range(len(copied))), *ANSWER_COLUMNS]
    if out is None:
        for _ in labeled():
            pass
        return
    with ExitStack() as stack:
        writer = connect(stack)
        types = [] if not copied else list(_schema(table, copied))
        kinds = (pa.int32(), pa.float32(), pa.float32(), pa.int32())
        schema = pa.schema(list(zip(names, [*types, *kinds], strict=True)))
        writer.register("quorate_labeled", pa.RecordBatchReader.from_batches(schema, labeled()))
        shown = ", ".join(
            f"{column} AS {quote_name(name)}" for column, name in zip(names, [*copied, *ANSWER_COLUMNS], strict=True)
        )
        write_table(writer.sql(f"SELECT {shown} FROM quorate_labeled"), out, format=format, force=force)


def _schema(table: LabelTable, copied: Sequence[str]) -> Iterator[Any]:
    """Yield the Arrow types of some columns, as their batches have them."""
    cells = ", ".join(table.raw(name) for name in copied)
    with explained(table.path):
        yield from table.sql(f"SELECT {cells} FROM {table.view} LIMIT 0").to_arrow_reader(1).schema.types
