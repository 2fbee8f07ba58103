"""Features in frames of any engine: profiled where the rows are, and labeled where they are.

Frames in memory are read as arrays. Partitions of Dask and Spark are profiled and labeled by the workers, which need
Quorate themselves; only moments and samples travel. A polars LazyFrame is labeled in batches when it is collected.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from quorate.features.out_of_sample import Assigned
from quorate.persistence.feature_models import FeatureModel
from quorate.tables.feature_profile import FeatureProfile
from quorate.tables.io import quote_name
from quorate.tables.roles import ANSWERS

BLOCK = 1 << 17
NewProfile = Callable[[], FeatureProfile]


class FeatureEngine(Protocol):
    """What differs between engines."""

    def profile(self, native: Any, names: Sequence[str], new: NewProfile) -> FeatureProfile:
        """Return the profile of all rows."""

    def attach(self, native: Any, model: FeatureModel) -> Any:
        """Return the frame with the columns of the answer."""


def profile_array(values: NDArray[Any], profile: FeatureProfile) -> FeatureProfile:
    """Add the rows of an array, block by block."""
    for start in range(0, len(values), BLOCK):
        profile.add(values[start : start + BLOCK])
    return profile


def eager_values(frame: Any, names: Sequence[str]) -> NDArray[Any]:
    """Return some columns of a narwhals frame in memory as a matrix, NaN where a number is missing."""
    import narwhals as nw

    return np.column_stack([frame[name].cast(nw.Float64).to_numpy() for name in names])


class Eager:
    """Frames in memory: pandas, polars, pyarrow."""

    @staticmethod
    def profile(native: Any, names: Sequence[str], new: NewProfile) -> FeatureProfile:
        """Return the profile of all rows."""
        import narwhals as nw

        return profile_array(eager_values(nw.from_native(native), names), new())

    @staticmethod
    def attach(native: Any, model: FeatureModel) -> Any:
        """Return the frame with the columns of the answer."""
        import narwhals as nw

        frame = nw.from_native(native)
        found = model.assign(eager_values(frame, model.features))
        columns = [
            nw.new_series(name, values, backend=frame.implementation)
            for name, values in zip(ANSWERS, found, strict=True)
        ]
        return frame.with_columns(*columns).to_native()


class _Polars:
    """polars LazyFrame."""

    @staticmethod
    def profile(native: Any, names: Sequence[str], new: NewProfile) -> FeatureProfile:
        profile = new()
        rows = native.select(*names)
        batches = rows.collect_batches(chunk_size=BLOCK) if hasattr(rows, "collect_batches") else [rows.collect()]
        for batch in batches:
            profile.merge(Eager.profile(batch, names, new))
        return profile

    @staticmethod
    def attach(native: Any, model: FeatureModel) -> Any:
        import polars as pl

        kinds = (pl.Int32, pl.Float32, pl.Float32, pl.Int32)
        schema = dict(native.collect_schema()) | dict(zip(ANSWERS, kinds, strict=True))
        # Rows are labeled one by one, so that batches need not be whole.
        return native.map_batches(partial(Eager.attach, model=model), schema=schema, streamable=True)


class _DuckDB:
    """DuckDB relation: read as a stream; the answer is a relation over a table in memory."""

    @staticmethod
    def profile(native: Any, names: Sequence[str], new: NewProfile) -> FeatureProfile:
        cells = ", ".join(f"CAST({quote_name(name)} AS DOUBLE) AS c{j}" for j, name in enumerate(names))
        profile = new()
        for batch in native.project(cells).to_arrow_reader(BLOCK):
            profile.add(arrow_values(batch))
        return profile

    @staticmethod
    def attach(native: Any, model: FeatureModel) -> Any:
        table = native.to_arrow_table() if hasattr(native, "to_arrow_table") else native.arrow()
        quorate_answered = Eager.attach(table, model)
        # DuckDB finds the local variable by its name, and the relation keeps it alive.
        assert quorate_answered is not None
        return native.query("quorate_rows", "SELECT * FROM quorate_answered")


class _Dask:
    """Dask frame: partitions stay where they are, with their index and order."""

    @staticmethod
    def profile(native: Any, names: Sequence[str], new: NewProfile) -> FeatureProfile:
        from dask.base import compute
        from dask.delayed import delayed

        parts = [delayed(Eager.profile)(part, list(names), new) for part in native[list(names)].to_delayed()]
        profile = new()
        for part in compute(*parts):
            profile.merge(part)
        return profile

    @staticmethod
    def attach(native: Any, model: FeatureModel) -> Any:
        empty = dict(zip(ANSWERS, Assigned.empty(0), strict=True))
        return native.map_partitions(Eager.attach, model, meta=native._meta.assign(**empty))


class _Spark:
    """PySpark frame: partitions are profiled and labeled by the executors, as Arrow batches."""

    @staticmethod
    def profile(native: Any, names: Sequence[str], new: NewProfile) -> FeatureProfile:
        import joblib

        quoted = ("`" + name.replace("`", "``") + "`" for name in names)
        cells = native.select(*(native[name].cast("double") for name in quoted))
        parts = cells.mapInArrow(partial(_profile_batches, new=new), "profile binary").collect()
        profile = new()
        for part in parts:
            profile.merge(joblib.load(io.BytesIO(bytes(part["profile"]))))
        return profile

    @staticmethod
    def attach(native: Any, model: FeatureModel) -> Any:
        from pyspark.sql.types import FloatType, IntegerType, StructField, StructType

        kinds = (IntegerType(), FloatType(), FloatType(), IntegerType())
        more = [StructField(name, kind) for name, kind in zip(ANSWERS, kinds, strict=True)]
        return native.mapInArrow(partial(_label_batches, model=model), StructType([*native.schema.fields, *more]))


def arrow_values(batch: Any) -> NDArray[Any]:
    """Return an Arrow batch of numbers as a matrix, NaN where one is missing."""
    return np.column_stack([column.to_numpy(zero_copy_only=False) for column in batch.columns])


def _profile_batches(batches: Iterator[Any], new: NewProfile) -> Iterator[Any]:
    """Yield the profile of the batches of a partition; it travels between Spark's own processes."""
    import joblib
    import pyarrow as pa

    profile = new()
    for batch in batches:
        profile.add(arrow_values(batch))
    packed = io.BytesIO()
    joblib.dump(profile, packed)
    yield pa.RecordBatch.from_pydict({"profile": [packed.getvalue()]})


def _label_batches(batches: Iterator[Any], model: FeatureModel) -> Iterator[Any]:
    import pyarrow as pa

    for batch in batches:
        rows = [batch.column(batch.schema.get_field_index(name)).cast(pa.float64()) for name in model.features]
        found = model.assign(np.column_stack([column.to_numpy(zero_copy_only=False) for column in rows]))
        arrays = [*batch.columns, *(pa.array(values) for values in found)]
        yield pa.RecordBatch.from_arrays(arrays, names=[*batch.schema.names, *ANSWERS])


FEATURE_ENGINES: dict[str, FeatureEngine] = {
    "polars": _Polars(),
    "duckdb": _DuckDB(),
    "dask": _Dask(),
    "pyspark": _Spark(),
}
"""Engines of lazy frames by the name narwhals gives them."""
