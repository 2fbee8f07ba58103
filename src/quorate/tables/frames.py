"""Consensus on frames of any engine: patterns by a group-by, answers by a join, nothing of the rows' size collected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._utils.checks import check_choice
from quorate.algorithms.registry import AUTO, make_method
from quorate.column_roles import Seen, head_rows, look_at
from quorate.ensemble import Ensemble, from_counted_labels
from quorate.errors import QuorateError
from quorate.labels import Noise, Vector, frame_vectors
from quorate.tables.consensus import answer_columns, answer_names, fit_best
from quorate.tables.engines.label_engines import FrameSource, count_lines, open_frame
from quorate.tables.roles import Columns, guess_columns


def ensemble_from_frame(frame: Any, members: Sequence[str] | None = None, *, noise: Noise = "missing") -> Ensemble:
    """Return the ensemble of some columns of a frame, whatever engine holds it.

    The rows of a lazy frame stay where they are: its engine counts the patterns, and only those are collected. So
    `has_rows` is False, and with it everything that speaks of rows; `consensus_frame` puts the answer back on the
    rows.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table; polars LazyFrame, DuckDB relation, Dask or PySpark frame
    members : sequence of str, optional
        The columns that hold labels, one per member. Default: all columns but names of rows, known classes,
        features and earlier answers; a warning says which are left out.
    noise : {"missing", "cluster", "singletons"}, default "missing"
        What negative integer labels mean, as in `Ensemble`; "singletons" needs the rows, so no lazy frame.

    Examples
    --------
    >>> import duckdb
    >>> import quorate as qt
    >>> rows = duckdb.sql("SELECT range // 3 AS a, range // 2 AS b, range AS id FROM range(6)")
    >>> qt.ensemble_from_frame(rows, members=["a", "b"])
    Ensemble(n_rows=6, n_members=2, n_clusters=5, n_patterns=4)
    """
    check_choice("noise", noise, ("missing", "cluster", "singletons"))
    source = _open(frame, members)
    if source.is_eager:
        return Ensemble(_vectors(source), names=source.members, noise=noise)
    return from_counted_labels(count_lines(source).lines, noise=noise)[0]


def consensus_frame(
    frame: Any,
    members: Sequence[str] | None = None,
    n_clusters: int | str = "auto",
    method: str = AUTO,
    *,
    noise: Noise = "missing",
    **params: Any,
) -> Any:
    """Combine the clusterings in some columns of a frame, and return the frame with the answer in four more columns.

    The rows stay with the engine that holds them. It counts the distinct combinations of labels, which are all that a
    consensus needs, and joins the answer to its rows. A lazy frame stays lazy: that count runs at once, the join when
    the frame returned is computed. The labels do not depend on the engine, nor on the order or partitions of the rows.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table; polars LazyFrame, DuckDB relation, Dask or PySpark frame
    members : sequence of str, optional
        The columns that hold labels, one per member: numbers, text or categories, missing where the member says
        nothing about the row. Default: all columns but names of rows, known classes, features and earlier
        answers; a warning says which are left out.
    n_clusters : int or "auto", default "auto"
    method : str, default "auto"
        A name from `methods()`, or "auto" as in `consensus`.
    noise : {"missing", "cluster", "singletons"}, default "missing"
        What negative integer labels mean, as in `Ensemble`; "singletons" needs a frame in memory.
    **params
        Parameters of the method.

    Returns
    -------
    frame
        Of the same kind, with the columns `consensus` (0 the largest cluster, -1 where no member labels the row) and
        `confidence` (mean evidence of the row with the others of its cluster), `margin` (that minus the evidence for
        its runner-up) and `runner_up` (of the other clusters, the one with most evidence, -1 if none has any) after
        all columns it had. Frames in memory, polars LazyFrames and Dask frames keep the order of their rows.

    Examples
    --------
    >>> import duckdb
    >>> import quorate as qt
    >>> rows = duckdb.sql("SELECT range AS id, range // 3 AS a, range // 2 AS b FROM range(6)")
    >>> answer = qt.consensus_frame(rows, members=["a", "b"], n_clusters=2)
    >>> answer.order("id").project("id, consensus").fetchall()
    [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1), (5, 1)]
    """
    if isinstance(members, int):
        raise QuorateError(
            f"The second argument is members, the columns that hold labels; got {members}. "
            f"For {members} clusters pass n_clusters={members}."
        )
    check_choice("noise", noise, ("missing", "cluster", "singletons"))
    source = _open(frame, members)
    for name in answer_names():
        if name in source.frame.collect_schema().names():
            raise QuorateError(f"The frame has a column named {name!r} already. Rename or drop it first.")
    estimator = make_method(method, n_clusters, params)
    if source.is_eager:
        ens = Ensemble(_vectors(source), names=source.members, noise=noise)
        answers = answer_columns(fit_best(estimator, ens))
        rows = ens.row_pattern
        return _with_columns(source, {name: answer[rows] for name, answer in answers.items()})
    counted = count_lines(source)
    ens, line_pattern = from_counted_labels(counted.lines, noise=noise)
    answers = answer_columns(fit_best(estimator, ens))
    on_lines = {name: answer[line_pattern] for name, answer in answers.items()}
    return source.engine.attach(source.frame.to_native(), counted.native, source.members, on_lines)


def _open(frame: Any, members: Sequence[str] | None) -> FrameSource:
    """Return a frame as a source of members: those named, or else all columns without another use."""
    source = open_frame(frame, members)
    if members is not None:
        return source
    chosen = guess_columns(_FramePeek(source), Columns(()))
    chosen.warn()
    return replace(source, members=chosen.members)


def _vectors(source: FrameSource) -> list[Vector]:
    """Return the members of a frame in memory."""
    import narwhals as nw

    return frame_vectors(source.frame.select(*(nw.col(name) for name in source.members)))


@dataclass(frozen=True)
class _FramePeek:
    """The first rows of a frame of any engine, and how many values differ in all of them."""

    source: FrameSource
    path: str = "the frame"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.source.members

    @cached_property
    def head(self) -> dict[str, Vector]:
        """The first rows."""
        first = self.source.frame.head(head_rows(len(self.columns)) + 1)
        first = first if self.source.is_eager else first.collect()
        return dict(zip(self.columns, frame_vectors(first), strict=True))

    @property
    def head_is_all(self) -> bool:
        """Whether the first rows are all rows."""
        return len(self.head[self.columns[0]]) <= head_rows(len(self.columns))

    def seen(self, names: Sequence[str]) -> dict[str, Seen]:
        """Return what all rows show of some columns; the first ones tell whether there are fractions."""
        import narwhals as nw

        parts = [nw.len().alias("n")]
        for j, name in enumerate(names):
            parts += [nw.col(name).n_unique().alias(f"distinct_{j}"), nw.col(name).null_count().alias(f"missing_{j}")]
        counted = self.source.frame.select(*parts)
        counted = counted if self.source.is_eager else counted.collect()
        found = {name: int(values[0]) for name, values in counted.to_dict(as_series=False).items()}
        return {
            name: Seen(
                found["n"] - found[f"missing_{j}"],
                found[f"missing_{j}"],
                found[f"distinct_{j}"],
                look_at(self.head[name]).fractions,
            )
            for j, name in enumerate(names)
        }


def _with_columns(source: FrameSource, columns: dict[str, NDArray[np.generic]]) -> Any:
    """Return a frame in memory with more columns."""
    import narwhals as nw

    backend = source.frame.implementation
    series = [nw.new_series(name, values, backend=backend) for name, values in columns.items()]
    return source.frame.with_columns(*series).to_native()
