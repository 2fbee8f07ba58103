"""Consensus of tables in files of any size, by DuckDB: one group-by, the consensus of the patterns, one join."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._support.checks import check_choice
from quorate._support.memory import available_memory
from quorate._support.memory import memory_limit as limited_memory
from quorate.consensus.base import ConsensusCluster, ConsensusMethod, GraphMethod
from quorate.consensus.registry import make_method
from quorate.ensemble import Ensemble
from quorate.errors import QuorateError
from quorate.labels import Noise, Vector, encode
from quorate.patterns import Packing
from quorate.scale.blocks import StoredEnsemble
from quorate.scale.blockwise import check_blockwise, fit_blocks
from quorate.scale.counted import ANSWER, LINES, CountedTable
from quorate.scale.files import (
    LabelTable,
    check_output,
    explained,
    find_files,
    find_format,
    match_columns,
    open_table,
    output_format,
    write_table,
)
from quorate.scale.frames import ANSWERS

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class FileConsensus:
    """A consensus written to a file, and what led to it."""

    out: Path
    n_rows: int
    n_patterns: int
    n_clusters: int
    clusters: tuple[ConsensusCluster, ...] = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    ncai: NDArray[np.float64] = field(repr=False)
    """(M,) normalised crowd agreement index of each member."""
    member_weights: NDArray[np.float64] = field(repr=False)
    """(M,) weights under which members were combined."""
    method: str
    params: dict[str, Any]


def consensus_file(
    path: str | Path,
    out: str | Path,
    members: Sequence[str] | None = None,
    n_clusters: int | str = "auto",
    method: str = "gp-mgla",
    *,
    noise: Noise = "missing",
    keep_order: bool = True,
    force: bool = False,
    memory_limit: int | float | str | None = None,
    threads: int | None = None,
    **params: Any,
) -> FileConsensus:
    """Combine the clusterings in some columns of a file, and write the file with the answer in two more columns.

    The rows never are in memory: DuckDB counts the distinct combinations of labels, and joins their answer to the rows
    while it copies them. What does not fit into `memory_limit` is spilled to the temporary folder (TMPDIR).

    Parameters
    ----------
    path : str or Path
        A file (Parquet, CSV, TSV, Arrow, NPY, NPZ), a folder of Parquet files, or a pattern such as "labels/*.parquet".
    out : str or Path
        The file to write, in the format of its ending. It appears when it is complete, or not at all.
    members : sequence of str, optional
        The columns that hold labels, one per member; names or patterns such as "kmeans_*". Default: all columns.
    n_clusters : int or "auto", default "auto"
    method : str, default "gp-mgla"
        A name from `methods()`.
    noise : {"missing", "cluster"}, default "missing"
        What negative integer labels mean, as in `Ensemble`.
    keep_order : bool, default True
        Whether to write the rows in the order in which they are read; otherwise they are written as they come, which is
        faster.
    force : bool, default False
        Whether to replace `out` if it exists.
    memory_limit : int or str, optional
        Memory to keep to, such as "2GB". Default: 800 MB for DuckDB, and for patterns what the machine has left.
    threads : int, optional
        Threads of DuckDB. Default: all cores.
    **params
        Parameters of the method.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import quorate as qt
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = pathlib.Path(name)
    ...     _ = (folder / "labels.csv").write_text("id,a,b\\nr1,x,0\\nr2,x,0\\nr3,y,1\\nr4,y,2\\n")
    ...     result = qt.consensus_file(folder / "labels.csv", folder / "out.csv", members=["a", "b"], n_clusters=2)
    ...     print((folder / "out.csv").read_text())
    id,a,b,consensus,confidence
    r1,x,0,0,1.0
    r2,x,0,0,1.0
    r3,y,1,1,0.5
    r4,y,2,1,0.5
    <BLANKLINE>
    """
    check_choice("noise", noise, ("missing", "cluster"))
    inputs = find_files(path)
    check_output(out, force=force, inputs=inputs)
    output_format(out)
    if Path(path).is_dir() and Path(out).resolve().is_relative_to(Path(path).resolve()):
        raise QuorateError(f"out is in the folder that is read, {path}. Write to another folder.")
    estimator = make_method(method, n_clusters, params)
    with ExitStack() as stack:
        if memory_limit is not None:
            stack.enter_context(limited_memory(memory_limit))
        table = stack.enter_context(open_table(path, memory_limit=memory_limit, threads=threads))
        counted = CountedTable(table, _choose_members(table, members), noise=noise)
        if counted.bytes_needed > available_memory():
            able = check_blockwise(estimator, counted.n_lines, counted.bytes_needed, available_memory())
            found = _answer_in_blocks(counted, able)
        else:
            found = _answer(counted, estimator)
        # A text table is written typed where it becomes another format, as far as its members go.
        typed = table.format.is_text and not find_format(out).is_text
        write_table(counted.rows(ANSWERS, table.columns, keep_order=keep_order, typed=typed), out)
    return FileConsensus(
        out=Path(out),
        n_rows=found.ensemble.n_rows,
        n_patterns=found.ensemble.n_patterns,
        n_clusters=found.n_clusters,
        clusters=found.clusters,
        names=tuple(found.ensemble.names),
        ncai=found.ncai,
        member_weights=found.member_weights,
        method=method,
        params=params,
    )


class _Answer(NamedTuple):
    """What was found about the members of a file; the answer itself is stored in the engine."""

    ensemble: Ensemble | StoredEnsemble
    n_clusters: int
    clusters: tuple[ConsensusCluster, ...]
    ncai: NDArray[np.float64]
    member_weights: NDArray[np.float64]


def _choose_members(table: LabelTable, members: Sequence[str] | None) -> list[str]:
    if isinstance(members, str):
        raise QuorateError(f"members must be a list of column names; got the text {members!r}. Pass [{members!r}].")
    chosen = list(table.columns) if members is None else match_columns(table, members)
    if not chosen:
        raise QuorateError("members names no column; name at least one column that holds labels.")
    for name in ANSWERS:
        if name in table.columns:
            raise QuorateError(f"{table.path} has a column named {name!r} already. Rename or drop it first.")
    return chosen


def _answer(counted: CountedTable, estimator: ConsensusMethod) -> _Answer:
    """Combine the members, and store the answer of each line beside its cells."""
    ens = counted.ensemble
    fitted = estimator.fit(ens)
    counted.answered(dict(zip(ANSWERS, (fitted.pattern_labels_, fitted.pattern_confidence_), strict=True)))
    return _Answer(ens, fitted.n_clusters_, fitted.clusters_, fitted.ncai_, fitted.member_weights_)


def _answer_in_blocks(counted: CountedTable, estimator: GraphMethod) -> _Answer:
    """Do the same without ever holding the patterns: they are coded, sorted and kept by DuckDB, and read in blocks."""
    lines = counted.lines
    with explained(lines.path):
        ens = _store_patterns(lines, counted.noise)
        found = fit_blocks(estimator, ens)
        connection = lines.connection
        connection.execute("CREATE TEMP TABLE quorate_labelled (pattern BIGINT, consensus BIGINT, confidence DOUBLE)")
        start = 0
        for labels, confidence in found.answers():
            pattern = np.arange(start, start + len(labels))
            connection.register("block", {"pattern": pattern, "consensus": labels, "confidence": confidence})
            connection.execute("INSERT INTO quorate_labelled SELECT pattern, consensus, confidence FROM block")
            connection.unregister("block")
            start += len(labels)
        cells = ", ".join(f"c.{column.sql_name}" for column in lines.all_columns)
        same = " AND ".join(f"c.{word} = p.{word}" for word in _word_names(ens.levels))
        connection.execute(
            f"CREATE TEMP TABLE {ANSWER} AS SELECT {cells}, consensus AS a0, confidence AS a1 FROM quorate_coded c "
            f"JOIN quorate_patterns p ON {same} JOIN quorate_labelled l ON p.rowid = l.pattern"
        )
    return _Answer(ens, found.n_clusters, found.clusters, found.ncai, found.member_weights)


def _word_names(levels: Sequence[Vector]) -> list[str]:
    return [f"w{word}" for word in range(Packing([len(some) for some in levels]).n_words)]


def _store_patterns(lines: LabelTable, noise: Noise) -> StoredEnsemble:
    """Code the labels of counted lines and keep the patterns in DuckDB, sorted, as packed words.

    Codes come from the distinct values of each member, by the rules for labels everywhere.
    """
    connection = lines.connection
    levels = []
    for j, name in enumerate(lines.columns):
        connection.execute(
            f"CREATE TEMP TABLE quorate_values_{j} AS "
            f"SELECT k{j} AS cell, {lines.label(name)} AS label, sum(n)::BIGINT AS n FROM {LINES} GROUP BY ALL"
        )
        values = connection.execute(f"SELECT label, n, rowid AS line FROM quorate_values_{j}").fetchnumpy()
        column = encode(values["label"], name, noise, np.asarray(values["n"]))
        codes = {"line": np.asarray(values["line"]), "code": np.array(column.digits(slice(None)), dtype=np.int64)}
        connection.register("codes", codes)
        connection.execute(
            f"CREATE TEMP TABLE quorate_codes_{j} AS "
            f"SELECT cell, code FROM quorate_values_{j} v JOIN codes ON v.rowid = codes.line"
        )
        connection.unregister("codes")
        levels.append(column.levels)
    packing = Packing([len(some) for some in levels])
    words = [""] * packing.n_words
    for j, (word, radix) in enumerate(zip(packing.word, packing.radix, strict=True)):
        digit = f"(c{j}.code + 1)"
        words[word] = f"({words[word]} * {radix} + {digit})" if words[word] else digit
    named = ", ".join(f"{word} AS {name}" for word, name in zip(words, _word_names(levels), strict=True))
    joins = " ".join(
        f"JOIN quorate_codes_{j} c{j} ON {LINES}.k{j} IS NOT DISTINCT FROM c{j}.cell" for j in range(len(levels))
    )
    connection.execute(f"CREATE TEMP TABLE quorate_coded AS SELECT {LINES}.*, {named} FROM {LINES} {joins}")
    key = ", ".join(_word_names(levels))
    connection.execute(
        f"CREATE TEMP TABLE quorate_patterns AS "
        f"SELECT {key}, sum(n)::BIGINT AS n FROM quorate_coded GROUP BY {key} ORDER BY {key}"
    )
    n_rows, n_patterns = connection.execute("SELECT sum(n)::BIGINT, count(*) FROM quorate_patterns").fetchall()[0]
    return StoredEnsemble(lines.columns, levels, noise, n_rows, _DuckDBPatterns(connection, packing, key, n_patterns))


@dataclass(frozen=True)
class _DuckDBPatterns:
    """Patterns in a table of packed words, in lexicographic order."""

    connection: duckdb.DuckDBPyConnection
    packing: Packing
    key: str
    n_patterns: int

    def read(self, start: int, stop: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return codes, -1 for missing, and counts of some consecutive patterns."""
        found = self.connection.execute(
            f"SELECT {self.key}, n FROM quorate_patterns WHERE rowid >= {start} AND rowid < {stop}"
        ).fetchnumpy()
        counts = np.asarray(found.pop("n"))
        return self.packing.unpack(np.stack([np.asarray(word) for word in found.values()], axis=1)), counts
