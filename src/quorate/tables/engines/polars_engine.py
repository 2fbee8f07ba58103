"""polars LazyFrames: rows keep their order, and are counted, profiled and labeled when the frame is collected."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from quorate.columns.column_roles import ANSWER_COLUMNS
from quorate.labels import frame_vectors
from quorate.persistence.feature_models import FeatureModel
from quorate.tables.engines import memory_engine
from quorate.tables.engines.frame_engine import (
    BLOCK,
    Answer,
    CountedLines,
    NewProfile,
    require_distinct,
    unused_name,
)
from quorate.tables.feature_profile import FeatureProfile


def count(native: Any, members: Sequence[str], limit: int) -> CountedLines:
    """Return up to `limit` distinct rows of labels with their counts."""
    import narwhals as nw
    import polars as pl

    rows = native.select(*members).with_columns(_categories_as_text(native, members))
    n = unused_name("rows", members)
    # Counted lazily: only distinct lines are collected.
    grouped = rows.group_by(*members).agg(pl.len().alias(n)).head(limit).collect()
    lines = grouped.drop(n)
    return CountedLines(lines, frame_vectors(nw.from_native(lines)), grouped[n].to_numpy().astype(np.int64))


def _categories_as_text(native: Any, members: Sequence[str]) -> list[Any]:
    """Return the categorical members as text: groups of categories would include absent ones."""
    import polars as pl

    schema = native.collect_schema()
    return [pl.col(name).cast(pl.String) for name in members if schema[name] in (pl.Categorical, pl.Enum)]


def join(native: Any, lines: Any, members: Sequence[str], answer: Answer) -> Any:
    """Return the frame with the columns of an answer, given line by line."""
    import polars as pl

    text = _categories_as_text(native, members)
    columns = native.collect_schema().names()
    keys = {column.meta.output_name(): unused_name(f"quorate_{j}", columns) for j, column in enumerate(text)}
    left = native.with_columns(column.alias(key) for column, key in zip(text, keys.values(), strict=True))
    right = lines.rename(keys).with_columns(pl.Series(name, values) for name, values in answer.items())
    on = [keys.get(name, name) for name in members]
    require_distinct(right.select(on).is_duplicated().any())
    # The order of the rows is part of the promise.
    joined = left.join(right.lazy(), on=on, how="left", nulls_equal=True, maintain_order="left")
    return joined.drop(*keys.values())


def profile(native: Any, names: Sequence[str], new: NewProfile) -> FeatureProfile:
    """Return the profile of the features of all rows."""
    whole = new()
    rows = native.select(*names)
    # Older versions cannot stream batches.
    batches = rows.collect_batches(chunk_size=BLOCK) if hasattr(rows, "collect_batches") else [rows.collect()]
    for batch in batches:
        whole.merge(memory_engine.profile(batch, names, new))
    return whole


def label(native: Any, model: FeatureModel) -> Any:
    """Return the frame with the columns of the model's answer."""
    import polars as pl

    kinds = (pl.Int32, pl.Float32, pl.Float32, pl.Int32)
    schema = dict(native.collect_schema()) | dict(zip(ANSWER_COLUMNS, kinds, strict=True))
    # The label of a row depends on that row only, so that batches may be of any size.
    return native.map_batches(partial(memory_engine.label, model=model), schema=schema, streamable=True)
