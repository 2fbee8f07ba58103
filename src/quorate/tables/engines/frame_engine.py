"""What differs between engines of data frames: counting labels, profiling features, and adding an answer to the rows.

The rows stay with their engine. For labels it counts the distinct rows of labels, only those are collected, and the
answer is joined to the rows on the labels themselves. For features it profiles the rows block by block, and a model
labels them block by block. Missing labels equal each other in all joins, unlike in SQL's `=`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from quorate._runtime.memory import available_memory, format_bytes, labels_memory
from quorate.errors import InputError, MemoryLimitError
from quorate.labels import CountedLabels, Vector, as_narwhals
from quorate.persistence.feature_models import FeatureModel
from quorate.tables.feature_profile import FeatureProfile

BLOCK = 1 << 17
"""Number of rows that are profiled or labeled at a time."""
NewProfile = Callable[[], FeatureProfile]
"""Returns an empty profile, here or on a worker."""
Answer = dict[str, NDArray[Any]]
"""New columns by name."""


@dataclass(frozen=True)
class CountedLines:
    """Distinct rows of labels, counted by an engine."""

    native: Any
    """The lines as a small table of the engine, to be joined with the rows."""
    vectors: list[Vector]
    """The labels of the lines, member by member."""
    row_counts: NDArray[np.int64]


class FrameEngine(Protocol):
    """The operations of an engine; `native` is its own frame."""

    def count(self, native: Any, members: Sequence[str], limit: int) -> CountedLines:
        """Return up to `limit` distinct rows of labels with their counts."""

    def join(self, native: Any, lines: Any, members: Sequence[str], answer: Answer) -> Any:
        """Return the frame with the columns of an answer, given line by line."""

    def profile(self, native: Any, names: Sequence[str], new: NewProfile) -> FeatureProfile:
        """Return the profile of the features of all rows."""

    def label(self, native: Any, model: FeatureModel) -> Any:
        """Return the frame with the columns of the model's answer."""


_ENGINES = {
    "polars": "quorate.tables.engines.polars_engine",
    "duckdb": "quorate.tables.engines.duckdb_engine",
    "dask": "quorate.tables.engines.dask_engine",
    "pyspark": "quorate.tables.engines.spark_engine",
    "ibis": "quorate.tables.engines.ibis_engine",
}
"""The modules of the engines of lazy frames, by the name that narwhals gives them."""


@dataclass(frozen=True)
class OpenFrame:
    """A frame of any engine, as a narwhals frame."""

    frame: Any
    wrapped: bool = False
    """Whether the caller passed a narwhals frame, and expects one."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.frame.collect_schema().names())

    @property
    def native(self) -> Any:
        """The engine's own frame."""
        return self.frame.to_native()

    def result(self, native: Any) -> Any:
        """Return a frame of the engine in the form in which the caller passed a frame."""
        return as_narwhals(native) if self.wrapped else native

    @property
    def in_memory(self) -> bool:
        """Whether the rows are in memory."""
        import narwhals as nw

        return isinstance(self.frame, nw.DataFrame)

    @property
    def engine(self) -> FrameEngine:
        """The engine of the frame."""
        name = "quorate.tables.engines.memory_engine" if self.in_memory else _ENGINES[str(self.frame.implementation)]
        return importlib.import_module(name)


def open_frame(frame: Any) -> OpenFrame:
    """Return a frame of any engine, or refuse what is not a frame."""
    import narwhals as nw

    opened = as_narwhals(frame)
    lazy = isinstance(opened, nw.LazyFrame) and str(opened.implementation) in _ENGINES
    if not lazy and not isinstance(opened, nw.DataFrame):
        raise InputError(
            f"must be a frame of pandas, polars, pyarrow, DuckDB, Dask, PySpark or Ibis; got {type(frame).__name__}.",
            code="frame-type",
            parameter="frame",
            hint="Pass arrays and lists of labels to `consensus`, and an array of features to `cluster_frame`.",
        )
    result = OpenFrame(opened, wrapped=opened is frame)
    n_levels = getattr(result.native.columns, "nlevels", 1) if result.in_memory else 1  # several in pandas only
    if n_levels > 1:
        raise InputError(
            f"has column names of {n_levels} levels.",
            code="column-levels",
            parameter="frame",
            hint='Join them first: frame.columns = ["_".join(map(str, levels)) for levels in frame.columns].',
        )
    if not result.columns:
        raise InputError("has no columns.", code="no-columns", parameter="frame", hint="Pass a frame with columns.")
    return result


def count_labels(opened: OpenFrame, members: Sequence[str]) -> tuple[CountedLabels, Any]:
    """Let the engine of a lazy frame count its distinct rows of labels; return them, and as a table of the engine.

    More lines than memory holds are refused before they are collected.
    """
    # One line more than fits shows that there are too many.
    limit = max(available_memory() // labels_memory(1, len(members)), 1)
    counted = opened.engine.count(opened.native, members, limit + 1)
    if len(counted.row_counts) > limit:
        raise MemoryLimitError(
            f"The rows have more than {limit:,} distinct combinations of labels, which need more than "
            f"{format_bytes(labels_memory(limit + 1, len(members)))} of memory.",
            code="patterns-memory",
            hint="Leave out the members with the most clusters, or write the frame to Parquet and use consensus_file, "
            "which reads the combinations in blocks.",
        )
    return CountedLabels(tuple(members), counted.vectors, counted.row_counts), counted.native


def unused_name(stem: str, columns: Sequence[str]) -> str:
    """Return a name that no column has."""
    while stem in columns:
        stem = "_" + stem
    return stem


def require_distinct(repeated: bool) -> None:
    """Refuse lines of which two are equal: a join with them would multiply rows."""
    if repeated:
        raise AssertionError("Two lines of labels are equal; the join would multiply rows.")


def arrow_values(batch: Any) -> NDArray[Any]:
    """Return an Arrow batch of numbers as a matrix, NaN where one is missing."""
    return np.column_stack([column.to_numpy(zero_copy_only=False) for column in batch.columns])
