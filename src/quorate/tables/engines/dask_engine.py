"""Dask frames: every partition is counted, profiled and labeled by itself, so that index and partitions stay.

For labels, functions that run on the workers are defined where they are used, and so pickled by value: the workers need
pandas, but not this package. Labels are compared as Python compares them, whatever type a partition holds them in.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def count(native: Any, members: Sequence[str], limit: int) -> CountedLines:
    """Return up to `limit` distinct rows of labels with their counts."""
    names, keys = list(members), list(range(len(members)))

    def tally(parts: Any, columns: Any, counts: Any) -> Any:
        import numpy as np
        import pandas as pd

        codes: dict[Any, Any] = {}
        values: dict[Any, Any] = {}
        for key, column in zip(keys, columns, strict=True):
            codes[key], distinct = pd.factorize(parts[column])
            values[key] = np.array([*np.asarray(distinct, dtype=object), None], dtype=object)
        lines = pd.DataFrame(codes).assign(n=counts).groupby(keys, sort=False)["n"].sum().reset_index()
        return pd.DataFrame({key: values[key][lines[key]] for key in keys}, dtype=object).assign(n=lines["n"])

    def count_part(part: Any) -> Any:
        return tally(part, names, 1)

    def add_up(parts: Any) -> Any:
        return tally(parts, keys, parts["n"].to_numpy(dtype="int64")).head(limit)

    meta = add_up(count_part(native._meta))
    try:
        lines = native.reduction(count_part, aggregate=add_up, combine=add_up, meta=meta, split_every=8).compute()
    except TypeError as error:
        raise InputError(f"Labels must be numbers, text or categories ({error}).", code="label-type") from error
    vectors = [lines[key].to_numpy() for key in keys]
    return CountedLines(lines[keys], vectors, lines["n"].to_numpy(dtype=np.int64))


def join(native: Any, lines: Any, members: Sequence[str], answer: Answer) -> Any:
    """Return the frame with the columns of an answer, given line by line.

    A line of labels is found by one number, its key, in a sorted table that is sent to every worker once. Rows whose
    labels were not counted, because the frame has changed since, get -1.
    """
    names = list(members)
    table = _lookup_table(lines, answer)

    def join_part(part: Any, table: Any) -> Any:
        import numpy as np
        import pandas as pd

        key = np.zeros(len(part), dtype=np.int64)
        matched = np.ones(len(part), dtype=bool)
        for name, (lookup, radix, ranked) in zip(names, table["steps"], strict=True):
            codes, distinct = pd.factorize(part[name])
            values = np.asarray(distinct, dtype=object).tolist()
            digits = np.array([*(lookup.get(value, -1) for value in values), 0], dtype=np.int64)[codes]
            matched &= digits >= 0
            key = key * radix + np.maximum(digits, 0)
            if ranked is not None:
                position = np.minimum(np.searchsorted(ranked, key), len(ranked) - 1)
                matched &= ranked[position] == key
                key = position
        position = np.minimum(np.searchsorted(table["keys"], key), len(table["keys"]) - 1)
        matched &= table["keys"][position] == key
        columns = {}
        for name, values in table["answer"].items():
            columns[name] = values[position]
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
