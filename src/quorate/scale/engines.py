"""Frames of any engine: counting equal rows of labels where the rows are, and putting an answer back on them.

Frames in memory (pandas, polars, pyarrow) are read as arrays. A lazy frame (polars LazyFrame, DuckDB relation, Dask,
PySpark) stays lazy: its engine groups the rows by their labels, only the groups are collected, and the answer is joined
to the rows on the labels themselves. Missing labels equal each other in all of these joins, unlike in SQL's `=`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from quorate._support.checks import nearest_name
from quorate._support.memory import available_memory, show_bytes
from quorate.errors import QuorateError
from quorate.labels import Lines, Vector, frame_vectors
from quorate.scale.files import quote_name

# What collecting one line costs, at least: labels, cluster ids and what a consensus function makes of them.
_BYTES_PER_LABEL = 40


class Engine(Protocol):
    """What differs between the engines of lazy frames."""

    def collect(self, native: Any, members: Sequence[str], limit: int) -> tuple[Any, list[Vector], NDArray[np.int64]]:
        """Return up to `limit` distinct rows of labels: as the engine's own table, as vectors, and their counts."""

    def attach(self, native: Any, lines: Any, members: Sequence[str], answer: dict[str, NDArray[Any]]) -> Any:
        """Return the frame with the columns `answer`, given line by line, joined to its rows."""


@dataclass(frozen=True)
class FrameSource:
    """A frame and the columns in it that are members."""

    frame: Any
    """The narwhals frame."""
    members: tuple[str, ...]

    @property
    def is_eager(self) -> bool:
        """Whether the rows are in memory."""
        import narwhals as nw

        return isinstance(self.frame, nw.DataFrame)

    @property
    def engine(self) -> Engine:
        """What to do with a lazy frame."""
        name = str(self.frame.implementation)
        if name not in ENGINES:
            raise QuorateError(
                f"Lazy frames of {name} are not known; {', '.join(sorted(ENGINES))} are. Convert the frame to one of "
                "those, or collect it."
            )
        return ENGINES[name]


@dataclass(frozen=True)
class CountedLines:
    """The distinct rows of labels of a lazy frame, counted by its engine."""

    lines: Lines
    native: Any
    """The lines as the engine's own small table, to be joined with the rows."""


def open_frame(frame: Any, members: Sequence[str] | None) -> FrameSource:
    """Return a frame as a source of members, or say what is wrong with it."""
    import narwhals as nw

    opened = nw.from_native(frame, pass_through=True)
    if not isinstance(opened, nw.DataFrame | nw.LazyFrame):
        raise QuorateError(
            f"frame must be a frame of pandas, polars, pyarrow, DuckDB, Dask or PySpark; got {type(frame).__name__}. "
            "Pass arrays and lists to `consensus`."
        )
    columns = opened.collect_schema().names()
    if isinstance(members, str):
        raise QuorateError(f"members must be a list of column names; got the text {members!r}. Pass [{members!r}].")
    chosen = tuple(columns if members is None else members)
    if not chosen:
        raise QuorateError("members names no column; name at least one column that holds labels.")
    for name in chosen:
        if name not in columns:
            raise QuorateError(f"members names {name!r}, which is no column of the frame.{nearest_name(name, columns)}")
    if len(set(chosen)) < len(chosen):
        raise QuorateError("members names a column twice; name each column once.")
    return FrameSource(opened, chosen)


def eager_members(source: FrameSource) -> Any:
    """Return the members of a frame in memory, as a frame."""
    import narwhals as nw

    return source.frame.select(*(nw.col(name) for name in source.members)).to_native()


def count_lines(source: FrameSource) -> CountedLines:
    """Let the engine of a lazy frame count its distinct rows of labels, and collect those.

    More lines than memory holds are refused before they are collected.
    """
    limit = max(int(available_memory() / (_BYTES_PER_LABEL * len(source.members))), 1)
    native, vectors, counts = source.engine.collect(source.frame.to_native(), source.members, limit + 1)
    if len(counts) > limit:
        needed = show_bytes(_BYTES_PER_LABEL * len(source.members) * (limit + 1))
        raise QuorateError(
            f"The rows have more than {limit:,} distinct combinations of labels, which need more than {needed} of "
            "memory. Leave out the members with the most clusters, or write the frame to Parquet and use "
            "consensus_file, which needs no such memory for GP-MGLA and HBGF."
        )
    return CountedLines(Lines(source.members, vectors, counts), native)


def unused_name(stem: str, columns: Sequence[str]) -> str:
    """Return a name that no column has."""
    while stem in columns:
        stem = "_" + stem
    return stem


def _collect_by_narwhals(native: Any, members: Sequence[str], limit: int) -> Any:
    """Group a lazy frame by its members; categories become text, as groups of them would list absent ones."""
    import narwhals as nw

    frame = nw.from_native(native).select(*members)
    schema = frame.collect_schema()
    text = [name for name in members if schema[name] in (nw.Categorical, nw.Enum)]
    if text:
        frame = frame.with_columns(nw.col(*text).cast(nw.String))
    count = unused_name("rows", members)
    grouped = frame.group_by(*members).agg(nw.len().alias(count)).head(limit).collect()
    counts = np.asarray(grouped[count].to_numpy(), dtype=np.int64)
    lines = grouped.select(*members)
    return lines.to_native(), frame_vectors(lines), counts


class _Polars:
    """polars LazyFrame."""

    collect = staticmethod(_collect_by_narwhals)

    @staticmethod
    def attach(native: Any, lines: Any, members: Sequence[str], answer: dict[str, NDArray[Any]]) -> Any:
        import polars as pl

        schema = native.collect_schema()
        text = [name for name in members if schema[name] in (pl.Categorical, pl.Enum)]
        keys = {name: unused_name(f"quorate_{j}", schema.names()) for j, name in enumerate(text)}
        left = native.with_columns(pl.col(name).cast(pl.String).alias(key) for name, key in keys.items())
        right = lines.rename(keys).with_columns(pl.Series(name, values) for name, values in answer.items())
        on = [keys.get(name, name) for name in members]
        joined = left.join(right.lazy(), on=on, how="left", nulls_equal=True, maintain_order="left")
        return joined.drop(*keys.values())


class _DuckDB:
    """DuckDB relation: all queries run on the relation's own connection and leave nothing behind there."""

    @staticmethod
    def collect(native: Any, members: Sequence[str], limit: int) -> tuple[Any, list[Vector], NDArray[np.int64]]:
        labels = _DuckDB._labels(native, members)
        columns = ", ".join(f"{label} AS m{j}" for j, label in enumerate(labels))
        query = f"SELECT {columns}, count(*) AS n FROM quorate_rows GROUP BY ALL LIMIT {limit}"
        lines = native.query("quorate_rows", query).fetchnumpy()
        counts = np.asarray(lines.pop("n"), dtype=np.int64)
        return lines, list(lines.values()), counts

    @staticmethod
    def _labels(native: Any, members: Sequence[str]) -> list[str]:
        """Return the SQL of each member's label: NaN is NULL, and categories are text."""
        types = dict(zip(native.columns, map(str, native.types), strict=True))
        labels = []
        for name in members:
            cell = f"quorate_rows.{quote_name(name)}"
            if types[name] in ("FLOAT", "DOUBLE"):
                cell = f"CASE WHEN isnan({cell}) THEN NULL ELSE {cell} END"
            elif types[name].startswith("ENUM"):
                cell = f"CAST({cell} AS VARCHAR)"
            labels.append(cell)
        return labels

    @staticmethod
    def attach(native: Any, lines: Any, members: Sequence[str], answer: dict[str, NDArray[Any]]) -> Any:
        quorate_lines = {**lines, **{f"answer_{name}": values for name, values in answer.items()}}
        labels = _DuckDB._labels(native, members)
        on = " AND ".join(f"{label} IS NOT DISTINCT FROM quorate_lines.m{j}" for j, label in enumerate(labels))
        columns = ", ".join(f"quorate_lines.answer_{name} AS {quote_name(name)}" for name in answer)
        query = f"SELECT quorate_rows.*, {columns} FROM quorate_rows LEFT JOIN quorate_lines ON {on}"
        # DuckDB finds the local variable quorate_lines by its name, and the relation keeps it alive.
        assert quorate_lines
        return native.query("quorate_rows", query)


class _Dask:
    """Dask frame: each partition is joined by itself, so that the index and the partitions stay as they are."""

    collect = staticmethod(_collect_by_narwhals)

    @staticmethod
    def attach(native: Any, lines: Any, members: Sequence[str], answer: dict[str, NDArray[Any]]) -> Any:
        names, keys, text = list(members), list(range(len(members))), []
        for key, name in enumerate(names):
            if str(native.dtypes[name]) == "category":
                text.append(key)
        right = lines.set_axis(keys, axis="columns").assign(**answer)

        def attach_part(part: Any, right: Any) -> Any:
            # Defined here, it is sent to the workers whole: they need pandas, but not this package.
            left = part[names].set_axis(keys, axis="columns")
            left = left.astype({key: right[key].dtype for key in text})
            joined = left.merge(right, on=keys, how="left")
            return part.assign(**{name: joined[name].to_numpy() for name in answer})

        meta = native._meta.assign(**{name: values[:0] for name, values in answer.items()})
        return native.map_partitions(attach_part, right, meta=meta)


class _Spark:
    """PySpark frame: a null-safe join with the broadcast lines."""

    collect = staticmethod(_collect_by_narwhals)

    @staticmethod
    def attach(native: Any, lines: Any, members: Sequence[str], answer: dict[str, NDArray[Any]]) -> Any:
        from pyspark.sql import functions

        keys = [unused_name(f"quorate_{j}", native.columns) for j in range(len(members))]
        small = lines.rename_columns(keys)
        for name, values in answer.items():
            small = small.append_column(name, [values])
        right = functions.broadcast(native.sparkSession.createDataFrame(small))
        on = None
        for name, key in zip(members, keys, strict=True):
            same = native[quoted_for_spark(name)].eqNullSafe(right[key])
            on = same if on is None else on & same
        return native.join(right, on, "left").drop(*keys)


def quoted_for_spark(name: str) -> str:
    """Return a column name that Spark does not take for a path into a structure."""
    return "`" + name.replace("`", "``") + "`"


ENGINES: dict[str, Engine] = {"polars": _Polars(), "duckdb": _DuckDB(), "dask": _Dask(), "pyspark": _Spark()}
"""Engines of lazy frames by the name narwhals gives them."""
