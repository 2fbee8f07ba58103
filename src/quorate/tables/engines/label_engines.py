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

from quorate._runtime.memory import available_memory, format_bytes, labels_memory
from quorate._utils.checks import nearest_name
from quorate.errors import QuorateError
from quorate.labels import CountedLabels, Vector, as_narwhals, frame_vectors
from quorate.tables.io import quote_name


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

    lines: CountedLabels
    native: Any
    """The lines as the engine's own small table, to be joined with the rows."""


def open_frame(frame: Any, members: Sequence[str] | None) -> FrameSource:
    """Return a frame as a source of members, or say what is wrong with it."""
    import narwhals as nw

    opened = as_narwhals(frame)
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


def count_lines(source: FrameSource) -> CountedLines:
    """Let the engine of a lazy frame count its distinct rows of labels, and collect those.

    More lines than memory holds are refused before they are collected.
    """
    limit = max(available_memory() // labels_memory(1, len(source.members)), 1)
    native, vectors, counts = source.engine.collect(source.frame.to_native(), source.members, limit + 1)
    if len(counts) > limit:
        needed = format_bytes(labels_memory(limit + 1, len(source.members)))
        raise QuorateError(
            f"The rows have more than {limit:,} distinct combinations of labels, which need more than {needed} of "
            "memory. Leave out the members with the most clusters, or write the frame to Parquet and use "
            "consensus_file, which needs no such memory for GP-MGLA and HBGF."
        )
    return CountedLines(CountedLabels(source.members, vectors, counts), native)


def unused_name(stem: str, columns: Sequence[str]) -> str:
    """Return a name that no column has."""
    while stem in columns:
        stem = "_" + stem
    return stem


class _Polars:
    """polars LazyFrame: categories are joined as text, as groups of them would list absent ones."""

    @staticmethod
    def collect(native: Any, members: Sequence[str], limit: int) -> tuple[Any, list[Vector], NDArray[np.int64]]:
        import narwhals as nw
        import polars as pl

        rows = native.select(*members).with_columns(_Polars._text(native, members))
        count = unused_name("rows", members)
        grouped = rows.group_by(*members).agg(pl.len().alias(count)).head(limit).collect()
        lines = grouped.drop(count)
        return lines, frame_vectors(nw.from_native(lines)), grouped[count].to_numpy().astype(np.int64)

    @staticmethod
    def _text(native: Any, members: Sequence[str]) -> list[Any]:
        """Return the categories among the members as text."""
        import polars as pl

        schema = native.collect_schema()
        return [pl.col(name).cast(pl.String) for name in members if schema[name] in (pl.Categorical, pl.Enum)]

    @staticmethod
    def attach(native: Any, lines: Any, members: Sequence[str], answer: dict[str, NDArray[Any]]) -> Any:
        import polars as pl

        text = _Polars._text(native, members)
        columns = native.collect_schema().names()
        keys = {one.meta.output_name(): unused_name(f"quorate_{j}", columns) for j, one in enumerate(text)}
        left = native.with_columns(one.alias(key) for one, key in zip(text, keys.values(), strict=True))
        right = lines.rename(keys).with_columns(pl.Series(name, values) for name, values in answer.items())
        on = [keys.get(name, name) for name in members]
        require_distinct(right.select(on).is_duplicated().any())
        joined = left.join(right.lazy(), on=on, how="left", nulls_equal=True, maintain_order="left")
        return joined.drop(*keys.values())


class _DuckDB:
    """DuckDB relation: all queries run on the relation's own connection and leave nothing behind there.

    The lines stay in the engine, so that labels of any type are joined as what they are; the answer goes there as text,
    which needs no leave to read Python's variables and no name that a table of the connection could have.
    """

    @staticmethod
    def collect(native: Any, members: Sequence[str], limit: int) -> tuple[Any, list[Vector], NDArray[np.int64]]:
        keys = _DuckDB._keys(native, members)
        labels = _DuckDB._labels(native, members)
        columns = ", ".join(f"{label} AS {key}" for label, key in zip(labels, keys[1:], strict=True))
        counted = f"SELECT {columns}, count(*) AS n FROM quorate_rows GROUP BY ALL LIMIT {limit}"
        query = f"SELECT row_number() OVER () AS {keys[0]}, * FROM ({counted})"
        lines = native.query("quorate_rows", query).materialize()
        wide = [str(kind).startswith(_WIDE) for kind in lines.types[1:-1]]
        shown = ", ".join(
            f"CAST({key} AS VARCHAR) AS {key}" if w else key for key, w in zip(keys[1:], wide, strict=True)
        )
        found = lines.project(f"{shown}, n, {keys[0]}").order(keys[0]).fetchnumpy()
        vectors = [_exact(found[key]) if w else found[key] for key, w in zip(keys[1:], wide, strict=True)]
        return lines, vectors, np.asarray(found["n"], dtype=np.int64)

    @staticmethod
    def _keys(native: Any, members: Sequence[str]) -> list[str]:
        """Return names that no column of the relation has: of the line, and of each member's label."""
        taken = [name.lower() for name in (*native.columns, "n")]
        return [unused_name(f"quorate_{j}", taken) for j in range(1 + len(members))]

    @staticmethod
    def _labels(native: Any, members: Sequence[str]) -> list[str]:
        """Return the SQL of each member's label: NaN is NULL, and categories are text."""
        types = dict(zip(native.columns, map(str, native.types), strict=True))
        labels = []
        for name in members:
            cell = f"quorate_rows.{quote_name(name)}"
            if types[name] in ("FLOAT", "DOUBLE"):
                cell = f"CASE WHEN isnan({cell}) THEN NULL ELSE {cell} END"
            elif types[name].startswith(("ENUM", "UUID")):
                cell = f"CAST({cell} AS VARCHAR)"
            labels.append(cell)
        return labels

    @staticmethod
    def attach(native: Any, lines: Any, members: Sequence[str], answer: dict[str, NDArray[Any]]) -> Any:
        keys = _DuckDB._keys(native, members)
        distinct = lines.project(", ".join(keys[1:])).distinct()
        require_distinct(lines.shape[0] != distinct.shape[0])
        number = unused_name("quorate_answer", [name.lower() for name in native.columns])
        answers = native.query("quorate_rows", _DuckDB._as_table(answer, number)).materialize()
        right = lines.set_alias("quorate_lines").join(answers.set_alias("quorate_answers"), f"{keys[0]} = {number}")
        on = " AND ".join(
            f"{label} IS NOT DISTINCT FROM quorate_labeled.{key}"
            for label, key in zip(_DuckDB._labels(native, members), keys[1:], strict=True)
        )
        columns = ", ".join(
            [*(f"quorate_rows.{quote_name(name)}" for name in native.columns), *map(quote_name, answer)]
        )
        labeled = right.project(", ".join([*keys[1:], *answer])).materialize().set_alias("quorate_labeled")
        return native.set_alias("quorate_rows").join(labeled, on, how="left").project(columns)

    @staticmethod
    def _as_table(answer: dict[str, NDArray[Any]], number: str) -> str:
        """Return the query whose rows are the answer, line by line, and the number of the line."""
        columns = []
        for name, values in answer.items():
            kind = "DOUBLE" if values.dtype.kind == "f" else "BIGINT"
            columns.append(
                f"CAST(unnest(string_split('{','.join(map(repr, values.tolist()))}', ',')) AS {kind}) AS {name}"
            )
        n_lines = len(next(iter(answer.values())))
        return f"SELECT {', '.join(columns)}, unnest(range(1, {n_lines + 1})) AS {number}"


# Numbers that NumPy has no type for; they come as text.
_WIDE = ("HUGEINT", "UHUGEINT", "DECIMAL", "BIGNUM", "VARINT")


def _exact(texts: Vector) -> Vector:
    """Return numbers written as text as Python's exact numbers, None where they are missing."""
    from decimal import Decimal

    numbers = [None if text is None or text is np.ma.masked else Decimal(text) for text in texts]
    return np.array([*numbers, None], dtype=object)[:-1]


class _Dask:
    """Dask frame: each partition is counted and joined by itself, so that index and partitions stay as they are.

    What is sent to the workers is defined where it is used, and so sent whole: they need pandas, but not this package.
    Labels are compared as Python compares them, whatever type a partition holds them in.
    """

    @staticmethod
    def collect(native: Any, members: Sequence[str], limit: int) -> tuple[Any, list[Vector], NDArray[np.int64]]:
        names, keys = list(members), list(range(len(members)))

        def tally(parts: Any, columns: Any, counts: Any) -> Any:
            import numpy as np
            import pandas as pd

            found: dict[Any, Any] = {}
            values: dict[Any, Any] = {}
            for key, column in zip(keys, columns, strict=True):
                found[key], distinct = pd.factorize(parts[column])
                values[key] = np.array([*np.asarray(distinct, dtype=object), None], dtype=object)
            lines = pd.DataFrame(found).assign(n=counts).groupby(keys, sort=False)["n"].sum().reset_index()
            return pd.DataFrame({key: values[key][lines[key]] for key in keys}, dtype=object).assign(n=lines["n"])

        def count(part: Any) -> Any:
            return tally(part, names, 1)

        def add_up(parts: Any) -> Any:
            return tally(parts, keys, parts["n"].to_numpy(dtype="int64")).head(limit)

        meta = add_up(count(native._meta))
        try:
            lines = native.reduction(count, aggregate=add_up, combine=add_up, meta=meta, split_every=8).compute()
        except TypeError as error:
            raise QuorateError(f"Labels must be numbers, text or categories ({error}).") from error
        vectors = [lines[key].to_numpy() for key in keys]
        return lines[keys], vectors, lines["n"].to_numpy(dtype=np.int64)

    @staticmethod
    def attach(native: Any, lines: Any, members: Sequence[str], answer: dict[str, NDArray[Any]]) -> Any:
        import pandas as pd

        names, keys = list(members), list(range(len(members)))
        codes: dict[Any, Any] = {}
        lookups: list[dict[Any, int]] = []
        for key in keys:
            codes[key], distinct = pd.factorize(lines[key])
            lookups.append({value: code for code, value in enumerate(distinct.tolist())})
        right = pd.DataFrame({**codes, **answer})
        require_distinct(right.duplicated(keys).any())

        def attach_part(part: Any, right: Any, lookups: Any) -> Any:
            import numpy as np
            import pandas as pd

            left: dict[Any, Any] = {}
            for key, name in enumerate(names):
                found, distinct = pd.factorize(part[name])
                known = [lookups[key].get(value, -2) for value in np.asarray(distinct, dtype=object).tolist()]
                left[key] = np.array([*known, -1])[found]
            joined = pd.DataFrame(left).merge(right, on=keys, how="left", validate="many_to_one")
            return part.assign(**{name: joined[name].to_numpy() for name in answer})

        meta = native._meta.assign(**{name: values[:0] for name, values in answer.items()})
        return native.map_partitions(attach_part, right, lookups, meta=meta)


class _Spark:
    """PySpark frame: a null-safe join with the broadcast lines; columns go by number, as names may hold any sign."""

    @staticmethod
    def collect(native: Any, members: Sequence[str], limit: int) -> tuple[Any, list[Vector], NDArray[np.int64]]:
        import narwhals as nw

        rows = native.toDF(*(f"c{j}" for j in range(len(native.columns))))
        places = [f"c{native.columns.index(name)}" for name in members]
        grouped = rows.groupBy(*places).count().limit(limit).toArrow()
        lines = grouped.drop_columns("count")
        return lines, frame_vectors(nw.from_native(lines)), grouped["count"].to_numpy().astype(np.int64)

    @staticmethod
    def attach(native: Any, lines: Any, members: Sequence[str], answer: dict[str, NDArray[Any]]) -> Any:
        from pyspark.sql import functions

        keys = [f"k{j}" for j in range(len(members))]
        small = lines.rename_columns(keys)
        require_distinct(small.group_by(keys).aggregate([]).num_rows < small.num_rows)
        for name, values in answer.items():
            small = small.append_column(name, [values])
        right = functions.broadcast(native.sparkSession.createDataFrame(small))
        left = native.toDF(*(f"c{j}" for j in range(len(native.columns))))
        on = functions.lit(True)
        for name, key in zip(members, keys, strict=True):
            on = on & left[f"c{native.columns.index(name)}"].eqNullSafe(right[key])
        return left.join(right, on, "left").drop(*keys).toDF(*native.columns, *answer)


def require_distinct(repeated: bool) -> None:
    """Refuse lines of which two are equal: joined to them, rows would be multiplied."""
    if repeated:
        raise AssertionError("Two lines of labels are equal; the number of rows would not be kept.")


ENGINES: dict[str, Engine] = {"polars": _Polars(), "duckdb": _DuckDB(), "dask": _Dask(), "pyspark": _Spark()}
"""Engines of lazy frames by the name narwhals gives them."""
