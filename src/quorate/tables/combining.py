"""From clusterings in a table to their consensus: files of any size, and frames of any engine.

An engine counts the distinct rows of labels (patterns). Those are combined, in memory or, where they do not fit, in
blocks. The answer of each pattern is then joined to its rows, which never leave their engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._runtime.memory import available_memory, format_bytes
from quorate._utils.array_types import Floats, Ints, Labels
from quorate._utils.checks import check_choice
from quorate.algorithms.answer import Answer
from quorate.algorithms.base import ConsensusMethod
from quorate.algorithms.registry import AUTO, make_method
from quorate.algorithms.sql_export import SqlExport
from quorate.analysis.choose_k import Choice
from quorate.analysis.clusters import ConsensusCluster
from quorate.analysis.compare import EarlierPartition
from quorate.analysis.core_rows import nested_cores
from quorate.columns.column_messages import answer_exists
from quorate.columns.column_roles import ANSWER_COLUMNS, ColumnRequest, ColumnRoles, FrameColumns, label_roles
from quorate.ensemble import Ensemble, from_counted_labels
from quorate.errors import InputError, MemoryLimitError, Setting
from quorate.labels import CountedLabels, Noise, frame_vectors
from quorate.row_similarity import group_sizes
from quorate.soft_ensemble import SoftEnsemble, from_counted_memberships, memberships_of_columns
from quorate.tables.counted_table import CountedTable, StoredPartition
from quorate.tables.engines.frame_engine import OpenFrame, count_labels, open_frame
from quorate.tables.engines.memory_engine import with_columns
from quorate.tables.io import LabelTable, check_output, explained, open_limited, output_format, resolve, write_table
from quorate.tables.out_of_core.block_consensus import BlockedConsensus, check_blockwise, fit_blocks
from quorate.tables.out_of_core.duckdb_patterns import store_answer, store_patterns
from quorate.tables.out_of_core.pattern_blocks import StoredEnsemble

CORE_COLUMN = "consensus_core"
"""The column of the rows on which members agree exactly."""


@dataclass(frozen=True)
class TableConsensus:
    """The consensus of a table; its answer is stored in the table's DuckDB connection."""

    counted: CountedTable
    columns: ColumnRoles
    ensemble: Ensemble | StoredEnsemble
    names: tuple[str, ...]
    """The columns of the answer."""
    result: ConsensusMethod | BlockedConsensus
    """The fitted consensus method, or the consensus of patterns that were read in blocks."""
    earlier: EarlierPartition | None = None
    """The earlier partition whose cluster ids the answer takes over, if there is one."""

    @property
    def fitted(self) -> ConsensusMethod | None:
        """The fitted consensus method, unless the patterns were read in blocks."""
        return self.result if isinstance(self.result, ConsensusMethod) else None

    @property
    def n_clusters(self) -> int:
        """Number of clusters of the consensus."""
        return int(self.result.n_clusters_ if isinstance(self.result, ConsensusMethod) else self.result.n_clusters)

    @property
    def clusters(self) -> tuple[ConsensusCluster, ...]:
        """Size, stability, nearest cluster and main opponents of each cluster."""
        return self.result.clusters_ if isinstance(self.result, ConsensusMethod) else self.result.clusters

    @property
    def ncai(self) -> Floats:
        """(M,) normalized crowd agreement index (NCAI) of each member."""
        return self.result.ncai_ if isinstance(self.result, ConsensusMethod) else self.result.ncai

    @property
    def member_weights(self) -> Floats:
        """(M,) weights of the members, summing to 1."""
        return self.result.member_weights_ if isinstance(self.result, ConsensusMethod) else self.result.member_weights

    @property
    def choice(self) -> Choice | None:
        """How the number of clusters was chosen, if it was."""
        if isinstance(self.result, ConsensusMethod):
            return self.result.choice_ if self.result.n_clusters == "auto" else None
        return self.result.choice

    def to_sql(self, dialect: str) -> SqlExport:
        """Return SQL that labels new rows as this consensus does; all patterns must have been in memory."""
        assert self.fitted is not None
        answer = self.fitted.answer_
        return answer.to_sql(dialect, ids=None if self.earlier is None else _cluster_ids(answer, self.earlier))

    def write(
        self, out: str | Path, *, format: str | None = None, keep_order: bool = True, force: bool = False
    ) -> None:
        """Write the rows: the columns to keep, then the answer.

        Members of a text table become numbers where they are written to another format.
        """
        # Numbers in text tables are text; other formats get typed columns.
        typed = self.counted.table.format.is_text and not output_format(out, format).is_text
        rows = self.counted.rows(self.names, self.columns.keep, keep_order=keep_order, typed=typed)
        write_table(rows, out, format=format, force=force)


def combine_table(
    table: LabelTable,
    columns: ColumnRoles,
    estimator: ConsensusMethod,
    *,
    noise: Noise = "missing",
    n_clusters: Sequence[int] = (),
    with_confidence: bool = True,
    like: StoredPartition | None = None,
    abstain: float | None = None,
    layers: Sequence[int] = (),
    core: float | None = None,
    whole: str | None = None,
) -> TableConsensus:
    """Combine the members of a table, and store the answer of its rows next to them.

    Parameters
    ----------
    table : LabelTable
    columns : ColumnRoles
    estimator : ConsensusMethod
    noise : {"missing", "cluster"}, default "missing"
        How negative integer labels are treated.
    n_clusters : sequence of int
        Several numbers of clusters, for an answer of each.
    with_confidence : bool, default True
        Whether the answer has the columns confidence, margin and runner_up.
    like : StoredPartition, optional
        An earlier partition; clusters take its ids as in `relabel`.
    abstain : float in [0, 1], optional
        The consensus is -1 where the confidence is lower.
    layers : sequence of int
        Numbers of clusters of nested partitions, for one more column each.
    core : float in (0, 1], optional
        The required agreement of the rows of the core, for a column in which all other rows are -1.
    whole : str, optional
        A requested result that needs all patterns in memory, for the message where they do not fit.
    """
    names = answer_names(n_clusters, with_confidence=with_confidence) + tuple(map(layer_name, layers))
    names += () if core is None else (CORE_COLUMN,)
    refuse_answers(table.path, columns.keep, names)
    refuse_same_names(table.path, columns.keep)
    counted = CountedTable(table, columns.members, columns.truth, noise, columns.soft)
    if not columns.listed:
        counted.refuse_features()
    available = available_memory()
    # Where the patterns fit into memory, any method can be used; otherwise only graph methods, block by block.
    if counted.bytes_needed <= available:
        fitted = fit_best(estimator, counted.ensemble, n_clusters)
        earlier = None if like is None else counted.earlier(like, columns.id)
        answers = answer_columns(fitted, n_clusters, with_confidence=with_confidence, earlier=earlier, abstain=abstain)
        in_core = {} if core is None else {CORE_COLUMN: _core_labels(fitted.answer_, earlier, core)}
        counted.store(answers | _layer_columns(fitted, layers) | in_core)
        return TableConsensus(counted, columns, fitted.ensemble_, names, fitted, earlier)
    # Results that need all patterns are refused with the reason.
    whole = "soft members" if columns.soft else whole
    whole = "core=" if core is not None else "layers=" if layers else whole
    whole = "several numbers of clusters" if len(n_clusters) > 1 else "like=" if like is not None else whole
    if whole is not None:
        raise MemoryLimitError(
            f"The rows have {counted.n_lines:,} distinct combinations of labels, which need about "
            f"{format_bytes(counted.bytes_needed)}, but {format_bytes(available)} is available. Only one answer can "
            "be computed from blocks of them.",
            code="patterns-memory",
            hint=(f"Leave out {whole}, raise ", Setting("memory_limit"), ", or use fewer members."),
        )
    graph_method = check_blockwise(estimator, counted.n_lines, counted.bytes_needed, available)
    lines = counted.lines
    # Three passes over the patterns on disk: clusters, graph, answer.
    with explained(lines.path):
        ens = store_patterns(lines, noise)
        blocks = fit_blocks(graph_method, ens)
        store_answer(lines, ens, blocks.answers(abstain or 0.0))
    return TableConsensus(counted, columns, ens, names, blocks)


def refuse_answers(path: str, columns: Sequence[str], names: Sequence[str] = ANSWER_COLUMNS) -> None:
    """Refuse a table that already has a column of the answer among those that are kept, in any case of letters."""
    for column in columns:
        # Some engines would write such a column under another name. Columns of a frame may be named by numbers.
        if str(column).lower() in names:
            raise answer_exists(column, path)


def refuse_same_names(path: str, columns: Sequence[str]) -> None:
    """Refuse columns to be written whose names differ by case only, because DuckDB would change them."""
    spelled: dict[str, str] = {}
    for column in columns:
        if spelled.setdefault(column.lower(), column) != column:
            raise InputError(
                f"The names of the columns {spelled[column.lower()]!r} and {column!r} of {path} differ by case only.",
                code="repeated-column",
                hint="Rename one of them, or do not keep both.",
            )


def fit_best(estimator: ConsensusMethod, ens: Ensemble, n_clusters: Sequence[int] = ()) -> ConsensusMethod:
    """Fit; of several numbers of clusters, at the automatic choice or, if it is not among them, at the nearest."""
    solution = estimator.solve(ens)
    # Several k were requested: the automatic choice among them decides which one the summary shows.
    if len(n_clusters) > 1 and solution.automatic not in n_clusters:
        estimator.set_params(n_clusters=min(n_clusters, key=lambda k: (abs(k - solution.automatic), k)))
    return estimator.take(solution)


def answer_names(n_clusters: Sequence[int] = (), *, with_confidence: bool = True) -> tuple[str, ...]:
    """Return the names of the columns of an answer."""
    stems = ANSWER_COLUMNS if with_confidence else ANSWER_COLUMNS[:1]
    return stems if len(n_clusters) <= 1 else tuple(f"{stem}_{k}" for stem in stems for k in n_clusters)


def answer_columns(
    fitted: ConsensusMethod,
    n_clusters: Sequence[int] = (),
    *,
    with_confidence: bool = True,
    earlier: EarlierPartition | None = None,
    abstain: float | None = None,
) -> dict[str, Any]:
    """Return the columns of an answer, pattern by pattern: the consensus, or one for each k; with certainty."""
    answers = [fitted.answer_] if len(n_clusters) <= 1 else fitted.solution_.answers(n_clusters).values()
    columns: list[NDArray[Any]] = [
        _abstaining(_with_ids(answer, earlier, answer.labels), answer, abstain) for answer in answers
    ]
    if with_confidence:
        columns += [answer.certainty.confidence for answer in answers]
        columns += [answer.certainty.margin for answer in answers]
        columns += [_with_ids(answer, earlier, answer.certainty.runner_up) for answer in answers]
    return dict(zip(answer_names(n_clusters, with_confidence=with_confidence), columns, strict=True))


def layer_name(k: int) -> str:
    """Return the name of the column of a layer."""
    return f"consensus_layer_{k}"


def _layer_columns(fitted: ConsensusMethod, layers: Sequence[int]) -> dict[str, Any]:
    """Return the columns of nested partitions, pattern by pattern, in the order of their numbers of clusters."""
    if not layers:
        return {}
    nested = dict(zip(sorted(layers, reverse=True), fitted.layers(layers).pattern_layers, strict=True))
    return {layer_name(k): nested[k] for k in layers}


def _core_labels(answer: Answer, earlier: EarlierPartition | None, agreement: float) -> Labels:
    """Return labels of patterns, -1 outside of the core at a required agreement."""
    in_core = nested_cores(answer.ensemble, answer.labels, answer.weights).holds(agreement)
    return np.where(in_core, _with_ids(answer, earlier, answer.labels), -1)


def _with_ids(answer: Answer, earlier: EarlierPartition | None, labels: Labels) -> Labels:
    """Return labels of patterns, or their runners-up, with the cluster ids of an earlier partition."""
    if earlier is None:
        return labels
    # Ids of earlier clusters, and -1 for no cluster, by lookup.
    return np.append(_cluster_ids(answer, earlier), -1)[labels]  # -1, no cluster, takes the last


def _cluster_ids(answer: Answer, earlier: EarlierPartition) -> Ints:
    return earlier.cluster_ids(answer.labels, group_sizes(answer.ensemble, answer.labels, answer.n_clusters))


def _abstaining(labels: Labels, answer: Answer, abstain: float | None) -> Labels:
    """Return labels with -1 where the confidence is below `abstain`."""
    return labels if abstain is None else np.where(answer.certainty.confidence >= abstain, labels, -1)


# Files --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FileConsensus:
    """A consensus written to a file, and how it was computed."""

    out: Path
    n_rows: int
    n_patterns: int
    n_clusters: int
    clusters: tuple[ConsensusCluster, ...] = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    """The members."""
    ncai: Floats = field(repr=False)
    """(M,) normalized crowd agreement index of each member."""
    member_weights: Floats = field(repr=False)
    """(M,) weights under which members were combined."""
    method: str
    params: dict[str, Any]
    choice: Choice | None = field(repr=False)
    """How the number of clusters was chosen, if it was: the candidates with their scores, and a sentence."""


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
    sheet: str | int | None = None,
    keep: Sequence[str] | None = None,
    keep_order: bool = True,
    force: bool = False,
    memory_limit: int | float | str | None = None,
    threads: int | None = None,
    soft: Mapping[str, Sequence[str]] | None = None,
    **params: Any,
) -> FileConsensus:
    """Combine the clusterings in some columns of a file, and write its rows with the answer in four more columns.

    The rows are never in memory: DuckDB counts the distinct combinations of labels, and joins their answer to the rows
    while it copies them. It spills to the temporary folder (TMPDIR) what exceeds `memory_limit`.

    Parameters
    ----------
    path : str or Path
        A file (Parquet, CSV, TSV, Arrow, NPY, NPZ, Excel, JSON lines), a folder of Parquet files, or a pattern such as
        "labels/*.parquet".
    out : str or Path
        The file to write, in the format of its extension. It appears when it is complete, or not at all.
    members : sequence of str, optional
        The columns that hold labels, one per member; names or patterns such as "kmeans_*". Default: every column that
        looks like a clustering; warnings list the columns with another role.
    n_clusters : int or "auto", default "auto"
    method : str, default "auto"
        A name from `methods()`, or "auto" as in `consensus`.
    noise : {"missing", "cluster"}, default "missing"
        How negative integer labels are treated, as in `Ensemble`.
    format : {"csv", "tsv", "parquet", "arrow", "npy", "npz", "h5ad", "xlsx", "json"}, optional
        Default: by the extension of `path`, or by its first bytes.
    delimiter : str, optional
        Column delimiter of a text table. Default: detected from the first lines.
    header : bool, optional
        Whether the first line of a text table names the columns. Default: detected from the first lines.
    encoding : str, optional
        Encoding of a text table, such as "latin-1". Default: UTF-8.
    sheet : str or int, optional
        Name or number (from 0) of the sheet of an Excel workbook. Default: the first.
    keep : sequence of str, optional
        Columns to write before the answer. Default: all.
    keep_order : bool, default True
        Whether to write the rows in the order in which they are read; without, writing is faster.
    force : bool, default False
        Whether to replace `out` if it exists.
    memory_limit : int or str, optional
        Memory limit, such as "2GB". Default: 800 MB for DuckDB, and for patterns what the machine has available.
    threads : int, optional
        Number of DuckDB's threads. Default: all cores.
    soft : mapping of str to sequence of str, optional
        Soft members: a name, and its columns of memberships (names or patterns such as "gmm_*"), which sum to 1 in
        every row. See `SoftEnsemble` for the methods that use them.
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
    text = {"delimiter": delimiter, "header": header, "encoding": encoding}
    limits: Any = {"memory_limit": memory_limit, "threads": threads}
    with open_limited(path, format=format, sheet=sheet, **text, **limits) as table:
        # The answer is joined to all rows, so that no column of row IDs is needed.
        columns = label_roles(table, resolve(table, ColumnRequest(members, soft=soft or {})), find_id=False)
        columns.warn()
        kept_columns = table.columns if keep is None else tuple(resolve(table, ColumnRequest(keep=keep)).keep)
        result = combine_table(table, replace(columns, truth=None, keep=kept_columns), estimator, noise=noise)
        result.write(out, keep_order=keep_order, force=force)
    return FileConsensus(
        out=Path(out),
        n_rows=result.ensemble.n_rows,
        n_patterns=result.ensemble.n_patterns,
        n_clusters=result.n_clusters,
        clusters=result.clusters,
        names=tuple(result.ensemble.names),
        ncai=result.ncai,
        member_weights=result.member_weights,
        method=estimator.name,
        params=params,
        choice=result.choice,
    )


# Frames -------------------------------------------------------------------------------------------------------------


def ensemble_from_frame(
    frame: Any,
    members: Sequence[str] | None = None,
    *,
    noise: Noise = "missing",
    soft: Mapping[str, Sequence[str]] | None = None,
) -> Ensemble:
    """Return the ensemble of some columns of a frame of any engine.

    The rows of a lazy frame stay with their engine, which counts the patterns; only those are collected. So `has_rows`
    is False, and results per row are not available; `consensus_frame` adds the answer to the rows.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table; polars LazyFrame, DuckDB relation, Dask or PySpark frame, Ibis table
    members : sequence of str, optional
        The columns that hold labels, one per member. Default: every column that looks like a clustering; warnings list
        the columns with another role.
    noise : {"missing", "cluster", "singletons"}, default "missing"
        How negative integer labels are treated, as in `Ensemble`; "singletons" needs a frame in memory.
    soft : mapping of str to sequence of str, optional
        Soft members: a name, and its columns of memberships, which sum to 1 in every row. The result is a
        `SoftEnsemble`.

    Examples
    --------
    >>> import duckdb
    >>> import quorate as qt
    >>> rows = duckdb.sql("SELECT range // 3 AS a, range // 2 AS b, range AS id FROM range(6)")
    >>> qt.ensemble_from_frame(rows, members=["a", "b"])
    Ensemble(n_rows=6, n_members=2, n_clusters=5, n_patterns=4)
    """
    check_choice("noise", noise, ("missing", "cluster", "singletons"))
    opened = open_frame(frame)
    roles = _frame_roles(opened, members, soft)
    if opened.in_memory:
        return _ensemble_in_memory(opened, roles, noise)
    return _counted_ensemble(count_labels(opened, roles.cells)[0], roles, noise)[0]


def consensus_frame(
    frame: Any,
    members: Sequence[str] | None = None,
    n_clusters: int | str = "auto",
    method: str = AUTO,
    *,
    noise: Noise = "missing",
    soft: Mapping[str, Sequence[str]] | None = None,
    **params: Any,
) -> Any:
    """Combine the clusterings in some columns of a frame, and return the frame with the answer in four more columns.

    The rows stay with their engine. It counts the distinct combinations of labels, which are all that a consensus
    needs, and joins the answer to its rows. A lazy frame stays lazy: the count runs immediately, the join when the
    returned frame is computed. The labels depend neither on the engine nor on the order or partitions of the rows.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table; polars LazyFrame, DuckDB relation, Dask or PySpark frame, Ibis table
    members : sequence of str, optional
        The columns that hold labels, one per member: numbers, text or categories, missing where a member does not label
        a row. Default: every column that looks like a clustering; warnings list the columns with another role.
    n_clusters : int or "auto", default "auto"
    method : str, default "auto"
        A name from `methods()`, or "auto" as in `consensus`.
    noise : {"missing", "cluster", "singletons"}, default "missing"
        How negative integer labels are treated, as in `Ensemble`; "singletons" needs a frame in memory.
    soft : mapping of str to sequence of str, optional
        Soft members: a name, and its columns of memberships, which sum to 1 in every row. See `SoftEnsemble` for the
        methods that use them.
    **params
        Parameters of the method.

    Returns
    -------
    frame
        Of the same kind, with four columns after those it had: `consensus` (0 is the largest cluster, -1 where no
        member labels the row), `confidence`, `margin` (confidence minus that of the runner-up) and `runner_up` (the
        second-best cluster, -1 if there is none). Frames in memory, polars LazyFrames and Dask frames keep the order
        of their rows. A narwhals frame gives a narwhals frame.

    Examples
    --------
    >>> import duckdb
    >>> import quorate as qt
    >>> rows = duckdb.sql("SELECT range AS id, range // 3 AS a, range // 2 AS b FROM range(6)")
    >>> answer = qt.consensus_frame(rows, members=["a", "b"], n_clusters=2)
    >>> answer.order("id").project("id, consensus").fetchall()
    [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1), (5, 1)]
    """
    check_choice("noise", noise, ("missing", "cluster", "singletons"))
    opened = open_frame(frame)
    roles = _frame_roles(opened, members, soft)
    refuse_answers("the frame", opened.columns)
    estimator = make_method(method, n_clusters, params)
    # In memory: the pattern of each row is known, and no join is necessary.
    if opened.in_memory:
        ens = _ensemble_in_memory(opened, roles, noise)
        answers = answer_columns(fit_best(estimator, ens))
        on_rows = {name: answer[ens.row_pattern] for name, answer in answers.items()}
        return opened.result(with_columns(opened.native, on_rows))
    # Elsewhere the engine counts, and joins the answer by the cells of each line.
    counted, lines = count_labels(opened, roles.cells)
    ens, line_pattern = _counted_ensemble(counted, roles, noise)
    answers = answer_columns(fit_best(estimator, ens))
    on_lines = {name: answer[line_pattern] for name, answer in answers.items()}
    return opened.result(opened.engine.join(opened.native, lines, roles.cells, on_lines))


def _frame_roles(
    opened: OpenFrame, members: Sequence[str] | None, soft: Mapping[str, Sequence[str]] | None
) -> ColumnRoles:
    """Return the columns of a frame that are members, with warnings if they were chosen."""
    roles = label_roles(FrameColumns(opened.frame), ColumnRequest(members, soft=soft or {}), find_id=False)
    roles.warn()
    return roles


def _ensemble_in_memory(opened: OpenFrame, roles: ColumnRoles, noise: Noise) -> Ensemble:
    """Return the ensemble of some columns of a frame in memory."""
    import narwhals as nw

    vectors = frame_vectors(opened.frame.select(*(nw.col(name) for name in roles.members))) if roles.members else []
    if not roles.soft:
        return Ensemble(vectors, names=roles.members, noise=noise)
    memberships = {name: opened.frame.select(*map(nw.col, columns)) for name, columns in roles.soft.items()}
    return SoftEnsemble(dict(zip(roles.members, vectors, strict=True)) | memberships, noise=noise)


def _counted_ensemble(counted: CountedLabels, roles: ColumnRoles, noise: Noise) -> tuple[Ensemble, NDArray[np.int32]]:
    """Return the ensemble of the lines that an engine counted, and the pattern of each line."""
    if not roles.soft:
        return from_counted_labels(counted, noise=noise)
    vectors = dict(zip(counted.names, counted.vectors, strict=True))
    memberships = {
        name: memberships_of_columns(
            {column: vectors[column] for column in columns}, name, lambda wrong: (wrong[0], "a row")
        )
        for name, columns in roles.soft.items()
    }
    labels = replace(counted, names=roles.members, vectors=[vectors[name] for name in roles.members])
    return from_counted_memberships(labels, memberships, noise=noise)
