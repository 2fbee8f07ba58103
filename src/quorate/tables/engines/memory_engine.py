"""Frames in memory: pandas, polars, pyarrow. Their columns are read as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.columns.column_roles import ANSWER_COLUMNS
from quorate.persistence.feature_models import FeatureModel
from quorate.tables.engines.frame_engine import BLOCK, Answer, NewProfile
from quorate.tables.feature_profile import FeatureProfile


def with_columns(native: Any, answer: Answer) -> Any:
    """Return a frame with more columns."""
    import narwhals as nw

    frame = nw.from_native(native)
    series = [nw.new_series(name, values, backend=frame.implementation) for name, values in answer.items()]
    return frame.with_columns(*series).to_native()


def profile(native: Any, names: Sequence[str], new: NewProfile) -> FeatureProfile:
    """Return the profile of the features of all rows."""
    return profile_array(_values(native, names), new())


def label(native: Any, model: FeatureModel) -> Any:
    """Return the frame with the columns of the model's answer."""
    assigned = model.assign(_values(native, model.features))
    return with_columns(native, dict(zip(ANSWER_COLUMNS, assigned, strict=True)))


def profile_array(values: NDArray[Any], profile: FeatureProfile) -> FeatureProfile:
    """Add the rows of an array to a profile, block by block, and return it."""
    for start in range(0, len(values), BLOCK):
        profile.add(values[start : start + BLOCK])
    return profile


def _values(native: Any, names: Sequence[str]) -> NDArray[Any]:
    """Return some columns as a matrix, NaN where a number is missing."""
    import narwhals as nw

    frame = nw.from_native(native)
    return np.column_stack([frame.get_column(name).cast(nw.Float64).to_numpy() for name in names])
