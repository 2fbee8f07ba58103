"""From a table to an answer: one way for files, for the command and, but for the engine, for frames.

A table is counted by its engine: the distinct combinations of its members' labels, and how many rows have each. Those
are combined, in memory or, where they do not fit, in blocks; the answer of each combination is joined to the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from quorate._runtime.memory import available_memory, format_bytes
from quorate._utils.array_types import Floats
from quorate.algorithms.base import ConsensusMethod
from quorate.analysis.choose_k import Choice
from quorate.analysis.clusters import ConsensusCluster
from quorate.ensemble import Ensemble
from quorate.errors import QuorateError
from quorate.labels import Noise
from quorate.tables.counted_table import CountedTable
from quorate.tables.io import LabelTable, explained, output_format, write_table
from quorate.tables.out_of_core.block_consensus import BlockedConsensus, check_blockwise, fit_blocks
from quorate.tables.out_of_core.duckdb_patterns import store_answer, store_patterns
from quorate.tables.out_of_core.pattern_blocks import StoredEnsemble
from quorate.tables.roles import ANSWERS, Columns


@dataclass(frozen=True)
class TableConsensus:
    """The consensus of a table; its answer is stored in the table's engine."""

    counted: CountedTable
    columns: Columns
    ensemble: Ensemble | StoredEnsemble
    names: tuple[str, ...]
    """The columns of the answer."""
    result: ConsensusMethod | BlockedConsensus
    """The fitted consensus method, or the consensus of patterns that were read in blocks."""

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

    def write(
        self,
        out: str | Path,
        *,
        format: str | None = None,
        keep_order: bool = True,
        force: bool = False,
    ) -> None:
        """Write the rows: the columns to keep, then the answer.

        A text table is written typed where it becomes another format, as far as its members go.
        """
        typed = self.counted.table.format.is_text and not output_format(out, format).is_text
        rows = self.counted.rows(self.names, self.columns.keep, keep_order=keep_order, typed=typed)
        write_table(rows, out, format=format, force=force)


def combine_table(
    table: LabelTable,
    columns: Columns,
    estimator: ConsensusMethod,
    *,
    noise: Noise = "missing",
    n_clusters: Sequence[int] = (),
    with_confidence: bool = True,
    whole: str | None = None,
) -> TableConsensus:
    """Combine the members of a table, and store the answer of its rows beside them.

    Parameters
    ----------
    table : LabelTable
    columns : Columns
        The use of its columns.
    estimator : a consensus function
    noise : {"missing", "cluster"}, default "missing"
        What negative integer labels mean.
    n_clusters : sequence of int
        Several numbers of clusters, if there is to be an answer for each.
    with_confidence : bool, default True
        Whether the answer has columns of confidence, margin and runner-up.
    whole : str, optional
        What else is wanted that needs all patterns in memory, for the message where they do not fit.
    """
    for name in answer_names(n_clusters, with_confidence=with_confidence):
        if name in columns.keep:
            raise QuorateError(f"{table.path} has a column named {name!r} already. Rename or drop it first.")
    counted = CountedTable(table, columns.members, columns.truth, noise)
    if not columns.named:
        counted.refuse_features()
    available = available_memory()
    if counted.bytes_needed <= available:
        fitted = fit_best(estimator, counted.ensemble, n_clusters)
        answers = answer_columns(fitted, n_clusters, with_confidence=with_confidence)
        counted.store(answers)
        return TableConsensus(counted, columns, fitted.ensemble_, tuple(answers), fitted)
    whole = "several numbers of clusters" if len(n_clusters) > 1 else whole
    if whole is not None:
        raise QuorateError(
            f"The rows have {counted.n_lines:,} distinct combinations of labels, which need about "
            f"{format_bytes(counted.bytes_needed)}, but {format_bytes(available)} is available; only one answer can be "
            f"found in blocks of them. Leave out {whole}, raise memory_limit=, or use fewer members."
        )
    able = check_blockwise(estimator, counted.n_lines, counted.bytes_needed, available)
    lines = counted.lines
    with explained(lines.path):
        ens = store_patterns(lines, noise)
        found = fit_blocks(able, ens)
        store_answer(lines, ens, found.answers())
    names = ANSWERS if with_confidence else ANSWERS[:1]
    return TableConsensus(counted, columns, ens, names, found)


def fit_best(estimator: ConsensusMethod, ens: Ensemble, n_clusters: Sequence[int] = ()) -> ConsensusMethod:
    """Fit; of several numbers of clusters, at the automatic choice or, if it is not among them, at the nearest."""
    solution = estimator.solve(ens)
    if len(n_clusters) > 1 and solution.automatic not in n_clusters:
        estimator.set_params(n_clusters=min(n_clusters, key=lambda k: (abs(k - solution.automatic), k)))
    return estimator.take(solution)


def answer_names(n_clusters: Sequence[int] = (), *, with_confidence: bool = True) -> tuple[str, ...]:
    """Return the names of the columns of an answer."""
    stems = ANSWERS if with_confidence else ANSWERS[:1]
    return stems if len(n_clusters) <= 1 else tuple(f"{stem}_{k}" for stem in stems for k in n_clusters)


def answer_columns(
    fitted: ConsensusMethod, n_clusters: Sequence[int] = (), *, with_confidence: bool = True
) -> dict[str, Any]:
    """Return the columns of an answer, pattern by pattern: the consensus, or one for each k; certainty if wanted."""
    names = answer_names(n_clusters, with_confidence=with_confidence)
    if len(n_clusters) <= 1:
        certain = fitted.pattern_certainty_ if with_confidence else ()
        return dict(zip(names, (fitted.pattern_labels_, *certain), strict=True))
    answers = fitted.solution_.answers(n_clusters).values()
    values: list[NDArray[Any]] = [answer.labels for answer in answers]
    if with_confidence:
        of_k = [answer.certainty for answer in answers]
        values += [column for columns in zip(*of_k, strict=True) for column in columns]
    return dict(zip(names, values, strict=True))
