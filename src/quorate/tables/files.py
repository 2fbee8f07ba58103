"""Consensus of tables in files of any size, by DuckDB: one group-by, the consensus of the patterns, one join."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from quorate._runtime.memory import memory_limit as limited_memory
from quorate._utils.array_types import Floats
from quorate._utils.checks import check_choice
from quorate.algorithms.registry import AUTO, make_method
from quorate.analysis.choose_k import Choice
from quorate.analysis.clusters import ConsensusCluster
from quorate.labels import Noise
from quorate.tables.consensus import combine_table
from quorate.tables.io import check_output, open_table, output_format
from quorate.tables.roles import Wanted, choose_columns


@dataclass(frozen=True)
class FileConsensus:
    """A consensus written to a file, and what led to it."""

    out: Path
    n_rows: int
    n_patterns: int
    n_clusters: int
    clusters: tuple[ConsensusCluster, ...] = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    ncai: Floats = field(repr=False)
    """(M,) normalized crowd agreement index of each member."""
    member_weights: Floats = field(repr=False)
    """(M,) weights under which members were combined."""
    method: str
    params: dict[str, Any]
    choice: Choice | None = field(repr=False)
    """How the number of clusters was chosen, if it was: the candidates with their evidence, and a sentence."""


def consensus_file(
    path: str | Path,
    out: str | Path,
    members: Sequence[str] | None = None,
    n_clusters: int | str = "auto",
    method: str = AUTO,
    *,
    noise: Noise = "missing",
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    keep_order: bool = True,
    force: bool = False,
    memory_limit: int | float | str | None = None,
    threads: int | None = None,
    **params: Any,
) -> FileConsensus:
    """Combine the clusterings in some columns of a file, and write the file with the answer in four more columns.

    The rows never are in memory: DuckDB counts the distinct combinations of labels, and joins their answer to the rows
    while it copies them. What does not fit into `memory_limit` is spilled to the temporary folder (TMPDIR).

    Parameters
    ----------
    path : str or Path
        A file (Parquet, CSV, TSV, Arrow, NPY, NPZ, Excel, JSON lines), a folder of Parquet files, or a pattern such as
        "labels/*.parquet".
    out : str or Path
        The file to write, in the format of its ending. It appears when it is complete, or not at all.
    members : sequence of str, optional
        The columns that hold labels, one per member; names or patterns such as "kmeans_*". Default: all columns but
        names of rows, known classes, features and earlier answers; a warning says which are left out.
    n_clusters : int or "auto", default "auto"
    method : str, default "auto"
        A name from `methods()`, or "auto" as in `consensus`.
    noise : {"missing", "cluster"}, default "missing"
        What negative integer labels mean, as in `Ensemble`.
    format : {"csv", "tsv", "parquet", "arrow", "npy", "npz", "h5ad", "xlsx", "json"}, optional
        Default: by the ending of `path`, or else by its first bytes.
    delimiter : str, optional
        What splits the columns of a text table. Default: found from its first lines.
    header : bool, optional
        Whether the first line of a text table names the columns. Default: found from its first lines.
    encoding : str, optional
        Encoding of a text table, such as "latin-1". Default: UTF-8.
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
    id,a,b,consensus,confidence,margin,runner_up
    r1,x,0,0,1.0,1.0,-1
    r2,x,0,0,1.0,1.0,-1
    r3,y,1,1,1.0,1.0,-1
    r4,y,2,1,1.0,1.0,-1
    <BLANKLINE>
    """
    check_choice("noise", noise, ("missing", "cluster"))
    check_output(out, force=force, source=path)
    output_format(out)
    estimator = make_method(method, n_clusters, params)
    with ExitStack() as stack:
        if memory_limit is not None:
            stack.enter_context(limited_memory(memory_limit))
        table = stack.enter_context(
            open_table(
                path,
                format=format,
                delimiter=delimiter,
                header=header,
                encoding=encoding,
                memory_limit=memory_limit,
                threads=threads,
            )
        )
        columns = choose_columns(table, Wanted(members), find_id=False)
        columns.warn()
        found = combine_table(table, replace(columns, truth=None, keep=table.columns), estimator, noise=noise)
        found.write(out, keep_order=keep_order, force=force)
    return FileConsensus(
        out=Path(out),
        n_rows=found.ensemble.n_rows,
        n_patterns=found.ensemble.n_patterns,
        n_clusters=found.n_clusters,
        clusters=found.clusters,
        names=tuple(found.ensemble.names),
        ncai=found.ncai,
        member_weights=found.member_weights,
        method=estimator.name,
        params=params,
        choice=found.choice,
    )
