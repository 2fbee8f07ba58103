"""PySpark frames: labels are joined null-safely, and features are profiled and labeled by the executors.

Columns are used by position in the schema, as names may hold any character.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from quorate._runtime.memory import format_bytes, parse_bytes
from quorate.columns.column_roles import ANSWER_COLUMNS
from quorate.errors import MemoryLimitError
from quorate.labels import frame_vectors
from quorate.persistence.feature_models import FeatureModel
from quorate.tables.engines.frame_engine import Answer, CountedLines, NewProfile, arrow_values, require_distinct
from quorate.tables.feature_profile import FeatureProfile

_BYTES_PER_CELL = 120
"""Driver memory per cell of a distinct row while it is collected and joined. A driver of 512 MB, which also executes,
wrote 300,000 rows of 14 cells and ran out of memory with 600,000."""
_BROADCAST_SHARE = 0.3
"""Lines that need more than this share of the driver's memory are joined by a shuffle instead of a broadcast."""


def count(native: Any, members: Sequence[str], limit: int) -> CountedLines:
    """Return up to `limit` distinct rows of labels with their counts.

    The groups stay on the executors' disks until it is clear that the driver has memory for them.
    """
    import narwhals as nw
    from pyspark.storagelevel import StorageLevel

    grouped = _rows(native, members).groupBy(*_keys(members)).count().limit(limit).persist(StorageLevel.DISK_ONLY)
    try:
        # The number of lines first: collecting too many would end the driver.
        _require_driver_memory(native.sparkSession, grouped.count(), len(members))
        table = grouped.toArrow()
    finally:
        grouped.unpersist()
    lines = table.drop_columns("count")
    return CountedLines(lines, frame_vectors(nw.from_native(lines)), table["count"].to_numpy().astype(np.int64))


def _keys(members: Sequence[str]) -> list[str]:
    return [f"k{j}" for j in range(len(members))]


def _rows(native: Any, members: Sequence[str]) -> Any:
    """Return the labels of all rows as columns k0, k1, ...; a column without a type is text that is missing."""
    # Columns are renamed by position, because names may hold any character.
    numbered = native.toDF(*(f"c{j}" for j in range(len(native.columns))))
    return numbered.select(
        *(cell.alias(key) for cell, key in zip(_cells(native, members), _keys(members), strict=True))
    )


def _cells(native: Any, members: Sequence[str]) -> list[Any]:
    from pyspark.sql import functions

    positions = [native.columns.index(name) for name in members]
    untyped = [native.schema[position].dataType.typeName() == "void" for position in positions]
    cells = [functions.col(f"c{position}") for position in positions]
    # Spark joins nothing to a column of NullType, not even by <=>.
    return [cell.cast("string") if void else cell for cell, void in zip(cells, untyped, strict=True)]


def _driver_memory(session: Any) -> int:
    return parse_bytes(_java_size(session.conf.get("spark.driver.memory", "1g")))


def _java_size(text: str) -> str:
    """Return a size as the JVM writes it ("4g", "512m"), in binary units."""
    return f"{text}ib" if text[-1:].isalpha() else text


def _require_driver_memory(session: Any, n_lines: int, n_members: int) -> None:
    """Refuse more lines than the driver can collect, before Java runs out of memory."""
    needed = _BYTES_PER_CELL * n_lines * (n_members + len(ANSWER_COLUMNS))
    available = _driver_memory(session)
    if needed > available:
        raise MemoryLimitError(
            f"Collecting {n_lines:,} distinct combinations of labels needs about {format_bytes(needed)} on Spark's "
            f"driver, which has {format_bytes(available)}.",
            code="spark-driver-memory",
            hint=f"Start the session with spark.driver.memory={-(-needed // 2**30)}g and "
            "spark.driver.maxResultSize=0, or use fewer members.",
        )


def join(native: Any, lines: Any, members: Sequence[str], answer: Answer) -> Any:
    """Return the frame with the columns of an answer, given line by line."""
    from pyspark.sql import functions

    keys = _keys(members)
    small = lines.rename_columns(keys)
    require_distinct(small.group_by(keys).aggregate([]).num_rows < small.num_rows)
    for name, values in answer.items():
        small = small.append_column(name, [values])
    right = native.sparkSession.createDataFrame(small)
    # A broadcast copies the lines to every executor.
    fits = small.num_rows * small.num_columns * _BYTES_PER_CELL <= _BROADCAST_SHARE * _driver_memory(
        native.sparkSession
    )
    right = functions.broadcast(right) if fits else right.hint("shuffle_hash")
    left = native.toDF(*(f"c{j}" for j in range(len(native.columns))))
    on = functions.lit(True)
    for cell, key in zip(_cells(native, members), keys, strict=True):
        on = on & cell.eqNullSafe(right[key])
    return left.join(right, on, "left").drop(*keys).toDF(*native.columns, *answer)


def profile(native: Any, names: Sequence[str], new: NewProfile) -> FeatureProfile:
    """Return the profile of the features of all rows, computed by the executors."""
    import joblib

    # Spark reads a dot in a name as a field, unless the name is quoted.
    quoted = ("`" + name.replace("`", "``") + "`" for name in names)
    cells = native.select(*(native[name].cast("double") for name in quoted))
    whole = new()
    # One small profile per partition travels to the driver, not the rows.
    for part in cells.mapInArrow(partial(_profile_batches, new=new), "profile binary").collect():
        whole.merge(joblib.load(io.BytesIO(bytes(part["profile"]))))
    return whole


def label(native: Any, model: FeatureModel) -> Any:
    """Return the frame with the columns of the model's answer, labeled by the executors."""
    from pyspark.sql.types import FloatType, IntegerType, StructField, StructType

    kinds = (IntegerType(), FloatType(), FloatType(), IntegerType())
    more = [StructField(name, kind) for name, kind in zip(ANSWER_COLUMNS, kinds, strict=True)]
    return native.mapInArrow(partial(_label_batches, model=model), StructType([*native.schema.fields, *more]))


def _profile_batches(batches: Iterator[Any], new: NewProfile) -> Iterator[Any]:
    """Yield the profile of the batches of a partition, pickled; it travels between Spark's own processes."""
    import joblib
    import pyarrow as pa

    whole = new()
    for batch in batches:
        whole.add(arrow_values(batch))
    packed = io.BytesIO()
    joblib.dump(whole, packed)
    yield pa.RecordBatch.from_pydict({"profile": [packed.getvalue()]})


def _label_batches(batches: Iterator[Any], model: FeatureModel) -> Iterator[Any]:
    import pyarrow as pa

    for batch in batches:
        rows = [batch.column(batch.schema.get_field_index(name)).cast(pa.float64()) for name in model.features]
        assigned = model.assign(np.column_stack([column.to_numpy(zero_copy_only=False) for column in rows]))
        arrays = [*batch.columns, *(pa.array(values) for values in assigned)]
        yield pa.RecordBatch.from_arrays(arrays, names=[*batch.schema.names, *ANSWER_COLUMNS])
