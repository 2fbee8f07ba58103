"""Comparison of two partitions wherever they are: label vectors, results, frames or files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from narwhals.dependencies import is_into_dataframe

from quorate.analysis.compare import PartitionComparison, compare_partitions
from quorate.columns.column_roles import ANSWER_COLUMNS, ColumnRequest, label_roles
from quorate.errors import Hint, InputError, Setting
from quorate.tables.clustering import FileClusters
from quorate.tables.combining import FileConsensus
from quorate.tables.counted_table import StoredPartition
from quorate.tables.io import ROW, LabelTable, open_table, resolve

CONSENSUS = ANSWER_COLUMNS[0]
_NAME_LABELS = ("Name the column of cluster labels with ", Setting("label"), ".")


def compare(
    old: Any,
    new: Any,
    *,
    id: str | None = None,
    label: str | Sequence[str] | None = None,
    old_ids: Any = None,
    new_ids: Any = None,
) -> PartitionComparison:
    """Compare two partitions: which clusters persist, split, merged, appeared or went away, and which rows moved.

    Parameters
    ----------
    old, new : label vectors, results, frames, or paths of tables
        Labels of the same rows in the same order, unless rows are matched by ids.
    id : str, optional
        For frames and files: the column of row ids. Rows are then matched by id, and may come and go. Default: a first
        column that is named like an id; without one, rows must be the same.
    label : str or pair of str, optional
        For frames and files: the column of cluster labels, or those of the old and of the new table. Default:
        "consensus".
    old_ids, new_ids : sequences, optional
        For label vectors and results: an identifier for every row, to match rows by.

    Returns
    -------
    PartitionComparison

    Examples
    --------
    >>> import quorate as qt
    >>> change = qt.compare([0, 0, 0, 0, 1, 1], [5, 5, 5, 6, 7, 7])
    >>> print(change.sentence)
    2 of 2 clusters persist (Jaccard above 1/2); 16.7% of 6 common rows moved (ARI 0.59). Cluster 0 split into 5 and 6.
    """
    old_label, new_label = label_pair(label)
    old_stored, new_stored = _stored(old, id, old_label), _stored(new, id, new_label)
    if old_stored is not None and new_stored is not None:
        return compare_stored(old_stored, new_stored)
    if old_stored is not None:
        old, old_ids = old_stored.labels, old_stored.ids if old_ids is None else old_ids
    if new_stored is not None:
        new, new_ids = new_stored.labels, new_stored.ids if new_ids is None else new_ids
    return compare_partitions(old, new, old_ids=old_ids, new_ids=new_ids)


def label_pair(label: str | Sequence[str] | None) -> tuple[str | None, str | None]:
    """Return the columns of cluster labels in an old and a new table; one name stands for both."""
    names = [label] if label is None or isinstance(label, str) else list(label)
    if not 1 <= len(names) <= 2:
        raise InputError(
            f"must be one column, or those of the old and the new table; got {label!r}.",
            code="label-columns",
            parameter="label",
        )
    return names[0], names[-1]


def compare_stored(old: StoredPartition, new: StoredPartition) -> PartitionComparison:
    """Compare the partitions of two tables."""
    if (old.ids is None) != (new.ids is None):
        without = old if old.ids is None else new
        raise InputError(
            f"{without.path} has no column of row IDs, by which rows are matched.",
            code="no-id",
            hint=("Name it with ", Setting("id"), "."),
        )
    return compare_partitions(old.labels, new.labels, old_ids=old.ids, new_ids=new.ids)


def _stored(labels: Any, id: str | None, label: str | None) -> StoredPartition | None:
    """Return the partition in a frame or a file; None for label vectors and results."""
    if isinstance(labels, FileConsensus | FileClusters):
        labels = labels.out
    if isinstance(labels, str | Path):
        with open_table(labels) as table:
            return read_partition(table, label, id)
    if is_into_dataframe(labels):
        return _frame_partition(labels, label, id)
    return None


def read_partition(
    table: LabelTable, label: str | None = None, id: str | None = None, hint: Hint = _NAME_LABELS
) -> StoredPartition:
    """Return the cluster labels of a table, and the ids of its rows if there are any.

    Parameters
    ----------
    label : str, optional
        The column of cluster labels. Default: "consensus".
    id : str, optional
        The column of row ids. Default: a first column that is named like one.
    hint : Hint
        What to do if there is no such column of labels.
    """
    name = _label_column(table.path, table.columns, label, hint)
    row_id = label_roles(table, resolve(table, ColumnRequest([name], id)), by_values=False).id
    cells = [f"{table.label(name)} AS label"]
    if row_id is not None:
        cells.append(f"CAST({table.raw(row_id)} AS VARCHAR) AS id")
    columns = table.fetch(f"SELECT {', '.join(cells)} FROM {table.numbered} ORDER BY {ROW}")
    ids = None if row_id is None else np.ma.filled(columns["id"], "").astype(str)
    return StoredPartition(table.path, columns["label"], ids)


def _frame_partition(frame: Any, label: str | None, id: str | None) -> StoredPartition:
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    name = _label_column("The frame", table.columns, label, _NAME_LABELS)
    ids = None if id is None else table[id].cast(nw.String()).to_numpy()
    return StoredPartition("the frame", table[name].to_numpy(), ids)


def _label_column(path: str, columns: Sequence[str], label: str | None, hint: Hint) -> str:
    """Return the column of cluster labels."""
    name = label or CONSENSUS
    if name not in columns:
        raise InputError(
            f"{path} has no column {name!r}; it has {', '.join(map(repr, columns))}.",
            code="no-partition",
            hint=hint,
        )
    return name
