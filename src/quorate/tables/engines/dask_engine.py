"""Dask frames: every partition is counted, profiled and labeled by itself, so that index and partitions stay.

For labels, functions that run on the workers are defined where they are used, and so pickled by value: the workers need
pandas, but not this package. Labels are compared as Python compares them, whatever type a partition holds them in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.columns.column_roles import ANSWER_COLUMNS
from quorate.errors import InputError
from quorate.features.out_of_sample import Assigned
from quorate.persistence.feature_models import FeatureModel
from quorate.tables.engines import memory_engine
from quorate.tables.engines.frame_engine import Answer, CountedLines, NewProfile, require_distinct
from quorate.tables.feature_profile import FeatureProfile

_LARGEST_KEY = 2**62
_ADDED_UP = 8  # counts of partitions that are added up at a time


def count(native: Any, members: Sequence[str], limit: int) -> CountedLines:
    """Return up to `limit` distinct rows of labels with their counts.

    A partition is counted as its distinct values of each member, and its distinct rows of codes: positions among these
    values. Eight such counts at a time are added up, so that a worker holds few of them.
    """
    import pandas as pd
    from dask.delayed import delayed

    names, encode = list(members), _encoder()

    def tally(codes: Any, counts: Any) -> Any:
        import numpy as np
        import pandas as pd

        line, size = np.zeros(len(counts), dtype=np.int64), 1
        for column in codes:  # one number per row, in a mixed radix system; 0 for a missing label
            radix = int(column.max(initial=-1)) + 2
            if size * radix > 2**62:
                line, distinct = pd.factorize(line)
                size = len(distinct)
            line *= radix
            line += column
            line += 1
            size *= radix
        line, distinct = pd.factorize(line)
        first = np.empty(len(distinct), dtype=np.int64)
        first[line[::-1]] = np.arange(len(line))[::-1]
        total = np.bincount(line, weights=counts, minlength=len(distinct)).astype(np.int64)
        return [column[first[:limit]].astype(np.int32) for column in codes], total[:limit]

    def count_part(part: Any) -> Any:
        import numpy as np

        codes, values = zip(*(encode(part[name]) for name in names), strict=True)
        return values, *tally(codes, np.ones(len(part)))

    def add_up(parts: Any) -> Any:
        import numpy as np

        values, codes = [], []
        for j in range(len(names)):
            code_of: dict[Any, int] = {}
            recoded = []
            for part_values, part_codes, _ in parts:
                code = [code_of.setdefault(value, len(code_of)) for value in part_values[j]]
                recoded.append(np.array([*code, -1])[part_codes[j]])
            values.append(list(code_of))
            codes.append(np.concatenate(recoded))
        return values, *tally(codes, np.concatenate([counts for _, _, counts in parts]))

    parts = [delayed(count_part)(part) for part in native[names].to_delayed()]
    while len(parts) > 1:
        parts = [delayed(add_up)(parts[i : i + _ADDED_UP]) for i in range(0, len(parts), _ADDED_UP)]
    try:
        values, codes, counts = parts[0].compute()
    except TypeError as error:
        raise InputError(f"Labels must be numbers, text or categories ({error}).", code="label-type") from error
    objects = [pd.Series([*distinct, None], dtype=object).to_numpy() for distinct in values]
    vectors = [distinct[column] for distinct, column in zip(objects, codes, strict=True)]
    return CountedLines(pd.DataFrame(dict(enumerate(vectors)), dtype=object), vectors, counts)


def _encoder() -> Callable[[Any], tuple[Any, list[Any]]]:
    """Return a function from a column to its codes, -1 where a label is missing, and the values of the codes."""

    def encode(column: Any) -> tuple[Any, list[Any]]:
        import numpy as np
        import pandas as pd

        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu" and len(column):
            values = column.to_numpy()
            low, high = int(values.min()), int(values.max())
            if high - low < 2**12 and high < 2**63:  # positions in a range need no hashing
                return values.astype(np.int64) - low, list(range(low, high + 1))
        codes, distinct = pd.factorize(column)
        return codes, np.asarray(distinct, dtype=object).tolist()

    return encode


def join(native: Any, lines: Any, members: Sequence[str], answer: Answer) -> Any:
    """Return the frame with the columns of an answer, given line by line.

    A line of labels is found by one number, its key, in a sorted table that is sent to every worker once. Rows whose
    labels were not counted, because the frame has changed since, get -1.
    """
    names, encode = list(members), _encoder()
    table = _lookup_table(lines, answer)

    def join_part(part: Any, table: Any) -> Any:
        import numpy as np
        import pandas as pd

        key = np.zeros(len(part), dtype=np.int64)
        matched = np.ones(len(part), dtype=bool)
        for name, (lookup, radix, ranked) in zip(names, table["steps"], strict=True):
            codes, values = encode(part[name])
            digits = np.array([*(lookup.get(value, -1) for value in values), 0], dtype=np.int64)
            if (digits < 0).any():
                matched &= (digits >= 0).take(codes)
            key *= radix
            key += np.maximum(digits, 0).take(codes)
            if ranked is not None:
                position = np.minimum(np.searchsorted(ranked, key), len(ranked) - 1)
                matched &= ranked[position] == key
                key = position
        # Few keys differ, so that searching each of them once is faster than searching for every row.
        key, distinct = pd.factorize(key)
        line = np.minimum(np.searchsorted(table["keys"], distinct), len(table["keys"]) - 1)
        matched &= (table["keys"][line] == distinct)[key]
        line = line[key]
        columns = {}
        for name, values in table["answer"].items():
            columns[name] = values.take(line)
            if not matched.all():
                columns[name][~matched] = -1
        return part.assign(**columns)

    meta = native._meta.assign(**{name: values[:0] for name, values in answer.items()})
    return native.map_partitions(join_part, _on_workers(table), meta=meta)


def _lookup_table(lines: Any, answer: Answer) -> dict[str, Any]:
    """Return the steps from the labels of a row to its key, and keys and answers sorted by key.

    The key is a number in a mixed radix system with one digit per member, 0 for a missing label. Where it would exceed
    64 bits, it is replaced by its rank among the keys of all lines up to that member.
    """
    import pandas as pd

    steps: list[tuple[dict[Any, int], int, NDArray[np.int64] | None]] = []
    key, size = np.zeros(len(lines), dtype=np.int64), 1
    radixes = []
    for column in lines:
        codes, distinct = pd.factorize(lines[column])
        radixes.append((codes + 1, {value: code + 1 for code, value in enumerate(distinct.tolist())}))
    for j, (digits, lookup) in enumerate(radixes):
        radix = len(lookup) + 1
        key, size = key * radix + digits, size * radix
        ranked = None
        if j + 1 < len(radixes) and size * (len(radixes[j + 1][1]) + 1) > _LARGEST_KEY:
            ranked, key = np.unique(key, return_inverse=True)
            size = len(ranked)
        steps.append((lookup, radix, ranked))
    order = np.argsort(key)
    keys = key[order]
    require_distinct(bool((keys[1:] == keys[:-1]).any()))
    return {"steps": steps, "keys": keys, "answer": {name: values[order] for name, values in answer.items()}}


def _on_workers(table: Any) -> Any:
    """Return the table as a future that every worker of a cluster holds; without a cluster, the table itself.

    A table inside the graph would be sent to the scheduler with every computation.
    """
    from dask.delayed import delayed

    try:
        from distributed import get_client

        client: Any = get_client()
    except (ImportError, ValueError):
        return delayed(table, pure=False)
    (future,) = client.scatter([table], broadcast=True, hash=False)
    return delayed(future)


def profile(native: Any, names: Sequence[str], new: NewProfile) -> FeatureProfile:
    """Return the profile of the features of all rows, computed by the workers."""
    from dask.base import compute
    from dask.delayed import delayed

    parts = [delayed(memory_engine.profile)(part, list(names), new) for part in native[list(names)].to_delayed()]
    whole = new()
    for part in compute(*parts):
        whole.merge(part)
    return whole


def label(native: Any, model: FeatureModel) -> Any:
    """Return the frame with the columns of the model's answer, labeled by the workers."""
    empty = dict(zip(ANSWER_COLUMNS, Assigned.empty(0), strict=True))
    return native.map_partitions(memory_engine.label, _on_workers(model), meta=native._meta.assign(**empty))
