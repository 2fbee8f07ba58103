"""Label columns of any kind: numbers, text, categories, from arrays and frames.

A member's label vector becomes a `LabelColumn`: its distinct values (`levels`) in a fixed order and, block by block,
the position of each row's label among them (`codes`), -1 where a label is missing. Numbers are sorted numerically and
text by code point, in Python, so that every source of the same labels gives the same order.

The meaning of a label does not depend on the other rows: a whole number is one whatever type holds it, and negative
whole numbers are noise, in a column with fractions too. So parts of a table are read like the whole table.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quorate._utils.array_types import Floats
from quorate._utils.checks import check_weight_range
from quorate.columns.column_heuristics import FEW_ROWS, looks_transposed
from quorate.columns.column_messages import quoted
from quorate.errors import InputError, warn
from quorate.integrations.anndata import ask_for_keys, is_annotated

Noise = Literal["missing", "cluster", "singletons"]
Vector = NDArray[Any]

# A column of integers that spans at most this many values is encoded through a lookup table, without a copy.
_TABLE_SIZE = 1 << 20
_BLOCK = 1 << 16
_MAX_WHOLE = 2.0**53  # larger numbers are not exact
_MAX_UNITS = 1_000_000  # of a row weight that is no whole number; rounding hides whether more units are whole
_ROUNDING = 8 * np.finfo(np.float64).eps  # relative error of weights that are computed, such as by a constant factor
_WEIGHT_BITS = 24  # of weights without a common unit


@dataclass(frozen=True)
class LabelColumn:
    """One member's labels: the distinct values in order, and the position of each row's label among them."""

    levels: Vector
    values: Vector
    """(n,) the labels themselves if `table` is given, else their codes."""
    table: NDArray[np.int64] | None = None
    low: int = 0
    """table[label - low] is the code of a label."""

    @property
    def size(self) -> int:
        """Number of levels."""
        return len(self.levels)

    @property
    def base(self) -> int:
        """The digit that stands for code 0."""
        return 0

    def digits(self, rows: slice) -> NDArray[np.int64]:
        """Return the position of each row's label in `levels`, -1 for a missing label."""
        values = self.values[rows]
        if self.table is None:
            return values
        return self.table.take(values.astype(np.int64) - self.low)


@dataclass(frozen=True)
class CountedLabels:
    """Labels with the number of equal rows that each line stands for, as a group-by returns them."""

    names: Sequence[str]
    vectors: Sequence[Vector]
    """One label vector per member."""
    row_counts: NDArray[np.int64]
    """Number of rows of each line."""
    weights: NDArray[np.float64] | None = None
    """Total weight of the rows of each line in units of `weight_unit`, if rows are weighted."""
    weight_unit: float = 1.0
    """The row weight that counts as one row (`count_in_units`)."""


def concatenate_counted(first: CountedLabels, last: CountedLabels) -> CountedLabels:
    """Return the lines of two tables of the same members, one after the other."""
    vectors = []
    # Labels of different kinds cannot be compared, so that merging them is refused.
    for name, above, below in zip(first.names, first.vectors, last.vectors, strict=True):
        kinds = {_kind_of_labels(vector) for vector in (above, below)} - {"nothing"}
        if len(kinds) > 1:
            raise InputError(
                f"Member {name!r} has {' in one ensemble and '.join(sorted(kinds))} in the other.",
                code="mixed-labels",
                hint="Convert both to text.",
            )
        vectors.append(np.ma.concatenate([above, below]))  # type: ignore[no-untyped-call]
    row_counts = np.concatenate([first.row_counts, last.row_counts])
    if first.weights is None and last.weights is None:
        return CountedLabels(first.names, vectors, row_counts)
    return CountedLabels(first.names, vectors, row_counts, *_common_weights(first, last, row_counts))


def _common_weights(first: CountedLabels, last: CountedLabels, row_counts: NDArray[np.int64]) -> tuple[Floats, float]:
    """Return the weights of the lines of two tables in one unit, and the unit: a common one, or the mean row weight."""
    weights = [lines.row_counts if lines.weights is None else lines.weights for lines in (first, last)]
    units = np.array([first.weight_unit, last.weight_unit])
    joint = np.concatenate([unit * amounts for unit, amounts in zip(units, weights, strict=True)])
    # Weights that are counts stay counts, in the largest common unit.
    common = _common_unit(units) if all(np.all(amounts == np.rint(amounts)) for amounts in weights) else None
    if common is None:
        mean = float(joint.sum() / row_counts.sum())
        return joint / mean, mean
    return np.rint(joint / common), common


def _kind_of_labels(vector: Vector) -> str:
    if np.ma.compressed(vector)[0] is None:
        return "nothing"
    return "text" if vector.dtype.kind == "O" else "numbers"


def labels_at(codes: NDArray[np.int32], levels: Vector) -> Vector:
    """Return the labels of codes, masked where a code is -1; None where the member has no labels at all."""
    if len(levels) == 0:
        return np.full(len(codes), None, dtype=object)
    return np.ma.MaskedArray(levels[np.maximum(codes, 0)], mask=codes < 0)


def check_names(names: Sequence[str] | None, n_members: int) -> tuple[str, ...]:
    """Return the members' names; default "member_0", "member_1", ..."""
    if names is None:
        return tuple(f"member_{j}" for j in range(n_members))
    names = tuple(str(name) for name in names)
    if len(names) != n_members:
        raise InputError(
            f"must hold one name per member; got {len(names)} names for {n_members} members.",
            code="name-count",
            parameter="names",
        )
    if len(set(names)) < n_members:
        repeated = next(name for name in names if names.count(name) > 1)
        raise InputError(f"must differ; got {repeated!r} twice.", code="repeated-name", parameter="names")
    return names


def check_row_weights(row_weights: Any, n_rows: int) -> Floats:
    """Return the weights of rows as floats."""
    try:
        weights = np.asarray(row_weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("must be numbers, one per row.", code="numbers", parameter="row_weights") from None
    if weights.shape != (n_rows,):
        raise InputError(
            f"must hold one weight per row; got shape {weights.shape} for {n_rows} rows.",
            code="row-count",
            parameter="row_weights",
        )
    if not np.all(np.isfinite(weights)) or np.any(weights <= 0):
        raise InputError(
            "must be positive and finite.",
            code="positive",
            parameter="row_weights",
            hint="Drop rows that should not count.",
        )
    return check_weight_range("row_weights", weights)


def count_in_units(weights: Floats) -> tuple[Floats, float]:
    """Return row weights in units of the weight that counts as one row, and this unit.

    Weights that are whole multiples of a unit are counts: one unit is one row. Other weights are relative: their mean
    is one row. A constant factor changes the weights in their last bits, but not these numbers: counts are whole, and
    relative weights are rounded to 24 bits, so that their sums are the same in any order, too.
    """
    unit = _common_unit(weights)
    if unit is not None:
        return np.rint(weights / unit), unit
    mean = float(weights.mean())
    # Rounding to 24 bits makes sums exact, so that their order does not matter.
    mantissa, exponent = np.frexp(weights / mean)
    return np.ldexp(np.rint(np.ldexp(mantissa, _WEIGHT_BITS)), exponent - _WEIGHT_BITS), mean


def _common_unit(weights: Floats) -> float | None:
    """Return the largest number of which all weights are whole multiples; None if the largest has too many units."""
    if np.all(weights == np.rint(weights)) and weights.max() < _MAX_WHOLE:
        return float(np.gcd.reduce(weights.astype(np.int64)))
    # Otherwise a unit is sought as a fraction of the smallest weight.
    smallest, n_parts = float(weights.min()), 1
    while weights.max() * n_parts <= _MAX_UNITS * smallest:
        multiples = weights * (n_parts / smallest)
        uneven = np.abs(multiples - np.rint(multiples)) > _ROUNDING * multiples
        if not uneven.any():
            return smallest / n_parts
        ratio = Fraction(float(weights[uneven][0]) / smallest).limit_denominator(_MAX_UNITS)
        if n_parts % ratio.denominator == 0:  # the nearest fraction is too far away
            return None
        n_parts = lcm(n_parts, ratio.denominator)
    return None


def split_members(labels: Any) -> tuple[list[Vector], list[str] | None]:
    """Return one vector per member and the members' names, if the source has names.

    A 2-D array or a frame has one column per member; a list, tuple or generator holds one label vector per member, a
    dictionary one under each name.
    """
    if is_annotated(labels):
        raise ask_for_keys(labels)
    if isinstance(labels, Mapping):
        return _split_sequence(list(labels.values())), [str(name) for name in labels]
    if isinstance(labels, list | tuple | Iterator):
        return _split_sequence(list(labels)), None
    frame = _as_frame(labels)
    if frame is not None:
        return frame_vectors(frame), [str(name) for name in frame.columns]
    matrix = labels if isinstance(labels, np.ma.MaskedArray) else np.asarray(labels)
    if matrix.ndim == 0:
        raise InputError(
            f"must be a 2-D array, a frame, or a list with one label vector per member; got {type(labels).__name__}.",
            code="label-table",
            parameter="labels",
            hint=_hint_for(labels),
        )
    if matrix.ndim != 2:
        raise InputError(
            f"must be two-dimensional, rows x members; got {matrix.ndim} dimension(s).",
            code="label-dimensions",
            parameter="labels",
            hint="For label vectors, pass a list with one vector per member.",
        )
    return list(matrix.T), None


def _hint_for(labels: Any) -> str:
    """Return a hint for a path, or for a matrix that is not an array."""
    if isinstance(labels, str | os.PathLike):
        return "To combine a file, use qt.consensus_file or `quorate combine`."
    return "Pass labels.toarray()." if hasattr(labels, "toarray") else ""


def frame_vectors(frame: Any) -> list[Vector]:
    """Return the columns of a narwhals frame in memory as arrays."""
    vectors = []
    for name in frame.columns:
        try:
            vectors.append(_frame_column(frame.get_column(name)))
        except UnicodeDecodeError:
            raise InputError(
                f"Column {name!r} has text that is not UTF-8.", code="not-utf8", hint="Decode it first."
            ) from None
    return vectors


def _split_sequence(vectors: Sequence[Any]) -> list[Vector]:
    columns = []
    for j, vector in enumerate(vectors):
        series = _as_series(vector)
        column = _frame_column(series) if series is not None else _as_vector(vector)
        if column.ndim != 1:
            raise InputError(
                f"must hold one label vector per member if it is a list; item {j} has {column.ndim} dimension(s).",
                code="label-dimensions",
                parameter="labels",
                hint="Pass a matrix of labels as a 2-D array, rows x members; for memberships, use qt.SoftEnsemble.",
            )
        columns.append(column)
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise InputError(
            f"All members must label the same rows; the label vectors have lengths {sorted(lengths)}.",
            code="row-count",
            hint="Use None where a member has no label for a row.",
        )
    if columns and all(isinstance(vector, list | tuple) for vector in vectors):
        _warn_if_rows(columns)
    indexes = [vector.index for vector in vectors if hasattr(vector, "iloc")]  # of pandas
    if not all(index.equals(indexes[0]) for index in indexes[1:]):
        warn(
            "The indexes of the label vectors differ; rows are matched by position.",
            code="different-indexes",
            hint="To match rows by index, pass pandas.DataFrame(labels) instead.",
        )
    return columns


def _as_vector(vector: Any) -> Vector:
    """Return an array; a list of mixed types becomes an array of objects, not of text."""
    if isinstance(vector, np.ndarray):
        return vector
    items = list(vector) if isinstance(vector, Iterable) and not isinstance(vector, str) else vector
    # As objects first: NumPy would turn mixed lists into text.
    array = np.asarray(items, dtype=object)
    if all(isinstance(item, int | np.integer) and not isinstance(item, bool) for item in array.ravel()):
        whole = np.asarray(items)
        return whole if whole.dtype.kind in "iu" else array  # NumPy falls back to floats or objects beyond 64 bits
    return array


def _as_frame(labels: Any) -> Any:
    """Return a narwhals frame, or None if `labels` is not a frame."""
    if isinstance(labels, np.ndarray):
        return None
    import narwhals as nw

    frame = as_narwhals(labels)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return frame if isinstance(frame, nw.DataFrame) else None


def as_narwhals(frame: Any) -> Any:
    """Return a narwhals frame, or `frame` itself if narwhals does not support its type."""
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        return nw.from_native(frame, pass_through=True)
    except DuplicateError as error:
        names = ", ".join(re.findall(r"'.*'", str(error)))
        raise InputError(
            f"The frame has several columns named {names}.", code="repeated-column", hint="Use unique column names."
        ) from None


def _as_series(vector: Any) -> Any:
    """Return a narwhals series, or None if `vector` is not a series."""
    if isinstance(vector, np.ndarray | list | tuple):
        return None
    import narwhals as nw

    series = nw.from_native(vector, pass_through=True, series_only=True)
    return series if isinstance(series, nw.Series) else None


def _frame_column(series: Any) -> Vector:
    """Return a frame's column as an array; only integers without missing values keep their numeric type."""
    import narwhals as nw

    native = series.to_native()
    if series.dtype == nw.Categorical and hasattr(native, "cat") and hasattr(native.cat, "categories"):
        # pandas: categories may be of any type, so they are returned as objects, with None for missing.
        # Code -1, missing, takes the last value.
        values = np.array([*native.cat.categories, None], dtype=object)
        return np.asarray(values[np.asarray(native.cat.codes)])
    if series.dtype in (nw.Decimal, nw.Int128, nw.UInt128):  # NumPy has no such numbers
        return np.asarray([*series.to_list(), None], dtype=object)[:-1]
    if series.dtype.is_numeric() and not series.is_null().any():
        return np.asarray(series.to_numpy())
    if series.dtype.is_float():
        return np.asarray(series.to_numpy(), dtype=np.float64)
    if series.dtype.is_integer():
        # Masked integers keep their type; a float would lose digits beyond 2**53.
        return np.ma.MaskedArray(series.fill_null(0).to_numpy(), mask=series.is_null().to_numpy())
    if series.dtype in (nw.Categorical, nw.Enum):
        series = series.cast(nw.String)
    return np.asarray([*series.to_list(), None], dtype=object)[:-1]


def is_plain(vector: Vector) -> bool:
    """Return whether a label vector holds integers of up to 64 bits in native byte order, none of them masked."""
    masked = isinstance(vector, np.ma.MaskedArray) and bool(np.ma.getmaskarray(vector).any())
    return vector.dtype.kind in "iub" and vector.dtype != np.uint64 and vector.dtype.isnative and not masked


def encode(vector: Vector, name: str, noise: Noise, row_counts: NDArray[np.int64] | None = None) -> LabelColumn:
    """Return a member's labels as codes.

    Parameters
    ----------
    vector : (n,) array
        The labels. In a masked array, masked labels are missing.
    name : str
        The member's name, for messages.
    noise : {"missing", "cluster", "singletons"}
        What negative integers mean.
    row_counts : (n,) array, optional
        Number of rows that each label stands for. Default: one.
    """
    if not vector.dtype.isnative:  # kernels read native byte order only
        vector = vector.astype(vector.dtype.newbyteorder("="))
    kind = vector.dtype.kind
    # Numbers beyond int64 are compared as Python integers.
    if vector.dtype == np.uint64 and _extent(vector)[1] > np.iinfo(np.int64).max:
        vector, kind = vector.astype(object), "O"
    if isinstance(vector, np.ma.MaskedArray):
        # Only masked integers need the mask; floats and objects have NaN and None.
        if kind in "iub" and vector.mask.any():
            where = ~np.ma.getmaskarray(vector)
            present = vector.data[where]
            return _sorted_column(present.astype(np.int64) if kind == "b" else present, noise, where)
        vector = _unmasked(vector)
    if kind in "OUT":
        return _encode_objects(vector, name, noise, row_counts)
    if kind in "iub":
        return _encode_integers(vector, noise)
    if kind == "f":
        return _encode_floats(vector, name, noise, row_counts)
    raise InputError(
        f"Labels must be numbers, text or categories; member {name!r} has type {vector.dtype}.",
        code="label-type",
        hint="Convert it to one of these.",
    )


def encode_all(
    vectors: Mapping[str, Vector], noise: Noise, row_counts: NDArray[np.int64] | None = None
) -> list[LabelColumn]:
    """Return the labels of several members, by name, as codes; if some are features, one error names all of them."""
    columns, features = [], []
    for name, vector in vectors.items():
        try:
            columns.append(encode(vector, name, noise, row_counts))
        except _FeatureError as error:
            features.append(error)
    if len(features) == 1:
        raise features[0]
    if features:
        raise InputError(
            f"Members {quoted(error.name for error in features)} look like features, not clusterings (for example "
            f"{features[0].name!r}: {features[0].content}).",
            code="features",
            hint=_CLUSTER_FIRST,
        )
    return columns


def _unmasked(vector: np.ma.MaskedArray[Any, Any]) -> Vector:
    """Return an array with NaN or None where labels are masked; integers must not be masked."""
    values: Vector = vector.data.astype(object) if vector.dtype.kind in "UT" else vector.data.copy()
    if values.dtype.kind in "fO":
        values[np.ma.getmaskarray(vector)] = np.nan if values.dtype.kind == "f" else None
    return values


def _encode_integers(vector: Vector, noise: Noise) -> LabelColumn:
    low, high = _extent(vector)
    if high - low >= _TABLE_SIZE:
        return _sorted_column(vector, noise)
    occurs = np.zeros(high - low + 1, dtype=bool)
    # In blocks, so that no copy of the whole vector is made.
    for start in range(0, len(vector), _BLOCK):
        occurs[vector[start : start + _BLOCK].astype(np.int64) - low] = True
    values = low + np.flatnonzero(occurs)
    levels, level_codes = _noise_levels(values, noise)
    table = np.full(len(occurs), -1, dtype=np.int64)
    table[values - low] = level_codes
    return LabelColumn(levels, vector, table, low)


def _extent(vector: Vector) -> tuple[int, int]:
    """Return the smallest and the largest integer as Python integers; (0, 0) without any."""
    if len(vector) == 0 or (isinstance(vector, np.ma.MaskedArray) and vector.mask.all()):
        return 0, 0
    return int(vector.min()), int(vector.max())


def _encode_floats(vector: Vector, name: str, noise: Noise, row_counts: NDArray[np.int64] | None = None) -> LabelColumn:
    if np.isinf(vector).any():
        raise InputError(
            f"Labels must be finite; member {name!r} has an infinite value, or one beyond {np.finfo(float).max:.2g}.",
            code="infinite-label",
            hint="Use NaN for a missing label, and text for labels of very many digits.",
        )
    missing = np.isnan(vector)
    present = vector[~missing]
    if present.dtype == np.float16:  # its range ends far below 2**63
        present = present.astype(np.float64)
    # Whole numbers in a float column are integers, as they were before a missing value made them floats.
    if np.all(present == np.floor(present)) and np.all(np.abs(present) < 2.0**63):
        return _sorted_column(present.astype(np.int64), noise, ~missing)
    column = _sorted_column(present, noise, ~missing)
    n_present = len(present) if row_counts is None else int(row_counts[~missing].sum())
    # More than half of the values differ: a feature, not labels.
    if len(column.levels) > n_present / 2:
        raise _FeatureError(name, f"{len(column.levels)} distinct fractional numbers in {n_present} rows")
    return column


_CLUSTER_FIRST = "Pass cluster labels, or cluster the features first, for example with qt.ConsensusClustering."


class _FeatureError(InputError):
    """A member holds a feature instead of labels."""

    def __init__(self, name: str, content: str) -> None:
        self.name, self.content = name, content
        super().__init__(
            f"Member {name!r} looks like a feature, not a clustering: it has {content}.",
            code="features",
            hint=_CLUSTER_FIRST,
        )


def _sorted_column(present: Vector, noise: Noise, where: Vector | None = None) -> LabelColumn:
    """Return the column by sorting; `present` are the labels of the rows in the mask `where` (default: all rows)."""
    values, positions = np.unique(present, return_inverse=True)
    levels, level_codes = _noise_levels(values, noise)
    if where is None:
        return LabelColumn(levels, level_codes[positions])
    codes = np.full(len(where), -1, dtype=np.int64)
    codes[where] = level_codes[positions]
    return LabelColumn(levels, codes)


def _noise_levels(values: Vector, noise: Noise) -> tuple[Vector, NDArray[np.int64]]:
    """Return the levels of sorted distinct numbers, and the code of each number.

    Negative whole numbers are noise: one level -1 before the others, or missing.
    """
    is_noise = values < 0
    if values.dtype.kind == "f":
        is_noise &= values == np.floor(values)
    if not is_noise.any():
        return values, np.arange(len(values))
    regular = values[~is_noise]
    # Noise is -1 here, before all other codes.
    codes = np.where(is_noise, -1, np.cumsum(~is_noise) - 1)
    if noise == "missing":
        return regular, codes
    return np.concatenate([np.array([-1], dtype=values.dtype), regular]), codes + 1


def _encode_objects(
    vector: Vector, name: str, noise: Noise, row_counts: NDArray[np.int64] | None = None
) -> LabelColumn:
    """Return the column of Python objects: all text or all numbers; None, NaN and NA are missing."""
    index: dict[Any, int] = {}
    # A dictionary finds distinct objects in one pass; sorting could fail on mixed types.
    try:
        distinct_of = np.fromiter(
            (index.setdefault(value, len(index)) for value in vector.tolist()), np.int64, len(vector)
        )
    except TypeError:
        raise InputError(
            f"Labels must be numbers or text; member {name!r} has other objects.", code="label-type"
        ) from None
    present = np.array([not _is_missing(value) for value in index], dtype=bool)
    values = [_number_or_text(value, name) for value, is_label in zip(index, present, strict=True) if is_label]
    # Integers and floats may mix, text and numbers may not.
    kinds = {type(value) for value in values}
    if len(kinds) > 1 and str in kinds:
        raise InputError(
            f"Labels of one member must all be numbers or all text; member {name!r} mixes them.",
            code="mixed-labels",
            hint="Convert them to text.",
        )
    if float in kinds:
        numbers = np.full(len(index), np.nan)
        numbers[present] = values
        return _encode_floats(numbers[distinct_of], name, noise, row_counts)
    distinct = sorted(set(values))
    levels, level_codes = _levels(distinct, noise)
    code_of = dict(zip(distinct, level_codes.tolist(), strict=True))
    codes = np.full(len(index), -1, dtype=np.int64)
    codes[present] = [code_of[value] for value in values]
    return LabelColumn(levels, codes[distinct_of])


def _levels(distinct: list[Any], noise: Noise) -> tuple[Vector, NDArray[np.int64]]:
    """Return the levels of sorted text or integers, and the code of each.

    If an integer does not fit into 64 bits, all levels except noise become text.
    """
    if not distinct or isinstance(distinct[0], str):
        return np.array(distinct, dtype=object if distinct else np.int64), np.arange(len(distinct))
    levels, codes = _noise_levels(np.array(distinct, dtype=object), noise)
    fits = len(levels) == 0 or (levels[-1] <= np.iinfo(np.int64).max and levels[0] >= np.iinfo(np.int64).min)
    # Decimal writes integers of any length; str(int) refuses more than 4,300 digits.
    return (
        levels.astype(np.int64) if fits else np.array([str(Decimal(level)) for level in levels], dtype=object)
    ), codes


def _is_missing(value: Any) -> bool:
    """Return whether an object is a missing label: None, NaN, NaT or NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True


def _number_or_text(value: Any, name: str) -> str | int | float:
    """Return a label as text, integer or float; floats of 2**63 and more stay floats."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | np.integer | np.bool_):
        return int(value)
    if isinstance(value, Decimal) and value.is_finite():
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float | np.floating):
        fraction = float(value)
        return int(fraction) if fraction.is_integer() and abs(fraction) < 2.0**63 else fraction
    raise InputError(
        f"Labels must be numbers or text; member {name!r} has {value!r} of type {type(value).__name__}.",
        code="label-type",
    )


def codes_among(vector: Vector, name: str, noise: Noise, levels: Vector) -> NDArray[np.int64]:
    """Return the position of each label among given levels, -1 for labels that are new or missing."""
    column = encode(vector, name, "missing" if noise == "singletons" else noise)
    position = {value: code for code, value in enumerate(levels.tolist())}
    codes = np.array([position.get(value, -1) for value in column.levels.tolist()], dtype=np.int64)
    # Code -1 takes the last entry, which is -1, too.
    return np.append(codes, -1)[column.digits(slice(None))]


def rows_of(vectors: Sequence[Vector]) -> list[tuple[Any, ...]]:
    """Return the labels row by row."""
    return list(zip(*(vector.tolist() for vector in vectors), strict=True))


def _warn_if_rows(vectors: Sequence[Vector]) -> None:
    """Warn about a list that looks like a list of rows: many short vectors whose labels repeat across them."""
    if len(vectors) < FEW_ROWS or len(vectors) <= len(vectors[0]):
        return
    most = looks_transposed(rows_of(vectors), len(vectors))
    if most is not None:
        warn(
            f"looks like a list of rows: it holds {len(vectors)} vectors of {len(vectors[0])} labels.",
            code="list-of-rows",
            parameter="labels",
            hint="A list must hold one label vector per member. Pass rows as a 2-D array, numpy.array(labels).",
        )
