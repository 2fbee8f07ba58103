"""Consensus on frames of any engine: patterns by a group-by, answers by a join, nothing of the rows' size collected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._support.checks import check_choice
from quorate.consensus.registry import make_method
from quorate.ensemble import Ensemble
from quorate.errors import QuorateError
from quorate.labels import Noise
from quorate.scale.engines import FrameSource, count_lines, eager_members, open_frame

ANSWERS = ("consensus", "confidence")
"""The columns that an answer adds to a table."""


def ensemble_from_frame(frame: Any, members: Sequence[str] | None = None, *, noise: Noise = "missing") -> Ensemble:
    """Return the ensemble of some columns of a frame, whatever engine holds it.

    The rows of a lazy frame stay where they are: its engine counts the patterns, and only those are collected. So
    `row_pattern` is None, and with it everything that speaks of rows; `consensus_frame` puts the answer back on the
    rows.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table; polars LazyFrame, DuckDB relation, Dask or PySpark frame
    members : sequence of str, optional
        The columns that hold labels, one per member. Default: all columns.
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
    source = open_frame(frame, members)
    if source.is_eager:
        return Ensemble(eager_members(source), noise=noise)
    return Ensemble.from_lines(count_lines(source).lines, noise=noise)[0]


def consensus_frame(
    frame: Any,
    members: Sequence[str] | None = None,
    n_clusters: int | str = "auto",
    method: str = "gp-mgla",
    *,
    noise: Noise = "missing",
    **params: Any,
) -> Any:
    """Combine the clusterings in some columns of a frame, and return the frame with the answer in two more columns.

    The rows stay with the engine that holds them. It counts the distinct combinations of labels, which are all that a
    consensus needs, and joins the answer to its rows. A lazy frame stays lazy: that count runs at once, the join when
    the frame returned is computed. The labels do not depend on the engine, nor on the order or partitions of the rows.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table; polars LazyFrame, DuckDB relation, Dask or PySpark frame
    members : sequence of str, optional
        The columns that hold labels, one per member: numbers, text or categories, missing where the member says
        nothing about the row. Default: all columns.
    n_clusters : int or "auto", default "auto"
    method : str, default "gp-mgla"
        A name from `methods()`.
    noise : {"missing", "cluster", "singletons"}, default "missing"
        What negative integer labels mean, as in `Ensemble`; "singletons" needs a frame in memory.
    **params
        Parameters of the method.

    Returns
    -------
    frame
        Of the same kind, with the columns `consensus` (0 the largest cluster, -1 where no member labels the row) and
        `confidence` (mean evidence of the row with the others of its cluster) after all columns it had. Frames in
        memory, polars LazyFrames and Dask frames keep the order of their rows.

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
    source = open_frame(frame, members)
    for name in ANSWERS:
        if name in source.frame.collect_schema().names():
            raise QuorateError(f"The frame has a column named {name!r} already. Rename or drop it first.")
    estimator = make_method(method, n_clusters, params)
    if source.is_eager:
        fitted = estimator.fit(Ensemble(eager_members(source), noise=noise))
        return _with_columns(source, {"consensus": fitted.labels_, "confidence": fitted.confidence_})
    counted = count_lines(source)
    ens, line_pattern = Ensemble.from_lines(counted.lines, noise=noise)
    fitted = estimator.fit(ens)
    answer = {
        "consensus": fitted.pattern_labels_[line_pattern],
        "confidence": fitted.pattern_confidence_[line_pattern],
    }
    return source.engine.attach(source.frame.to_native(), counted.native, source.members, answer)


def _with_columns(source: FrameSource, columns: dict[str, NDArray[np.generic]]) -> Any:
    """Return a frame in memory with more columns."""
    import narwhals as nw

    backend = source.frame.implementation
    series = [nw.new_series(name, values, backend=backend) for name, values in columns.items()]
    return source.frame.with_columns(*series).to_native()
