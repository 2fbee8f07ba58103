"""A consensus as SQL: two small tables and a query that labels new rows in a warehouse as `predict` does.

The query never computes with fractions. A known pattern (distinct row of labels) is looked up. Any other row sums whole
scores (`cluster_scores`), which is exact in any order, so that every engine finds the same cluster as `nearest_group`.
Each step reads the previous one once, because some warehouses compute a step again for every use.

Statements are written once, in DuckDB's dialect; sqlglot writes them in the requested one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._utils.array_types import Floats, Ints, Labels
from quorate._utils.checks import brief_repr, check_choice
from quorate._utils.optional_imports import import_extra
from quorate.errors import InputError
from quorate.row_similarity import SCORE_ROUNDING, cluster_scores
from quorate.soft_ensemble import refuse_soft

if TYPE_CHECKING:
    from quorate.ensemble import Ensemble

DIALECTS = ("duckdb", "postgres", "bigquery", "snowflake", "spark", "sqlite")
_NO_EVIDENCE = -(10**9)  # score of cluster -1, below every score of a cluster
_LINES_PER_INSERT = 1000
_KINDS = {"number": "BIGINT", "text": "VARCHAR"}


@dataclass(frozen=True)
class SqlExport:
    """SQL statements that label new rows as `predict` does. `str` gives all of them as one script."""

    dialect: str
    tables: str = field(repr=False)
    """Statements that create and fill the two tables."""
    query: str = field(repr=False)
    """The query that returns the new rows with one more column, `consensus`."""
    patterns: str = field(repr=False)
    """The query that returns the distinct rows of labels with the number of their rows, `n`.

    `Ensemble(frame[members], row_weights=frame["n"])` combines what it returns.
    """

    def __str__(self) -> str:
        return (
            f"-- Two tables of the consensus.\n{self.tables}\n\n-- New rows with their cluster.\n{self.query};\n\n"
            f"-- Distinct rows of labels with their number of rows, to combine them again.\n{self.patterns};\n"
        )


@dataclass(frozen=True)
class _Member:
    """A member in SQL: the column of its labels, and their codes, which are cluster ids of the ensemble."""

    name: str
    kind: str
    """The kind of its labels, a key of `_KINDS`."""
    labels: dict[int, Any]
    """The label of each code."""
    noise_is_cluster: bool
    """Whether all negative whole numbers are the label -1."""

    def normalized(self, cell: str) -> str:
        """Return the SQL of a cell in which noise is -1 if it is a label."""
        if not self.noise_is_cluster or self.kind == "text":
            return cell
        return f"CASE WHEN {cell} < 0 AND ROUND({cell}) = {cell} THEN -1 ELSE {cell} END"


def export_sql(
    ens: Ensemble,
    weights: Floats,
    labels: Labels,
    dialect: str,
    *,
    ids: Ints | None = None,
    table: str = "new_rows",
    prefix: str = "quorate",
) -> SqlExport:
    """Return the SQL of a consensus.

    Parameters
    ----------
    ens : Ensemble
    weights : (M,)
        Weights of the members.
    labels : (m,)
        Consensus label of each pattern.
    dialect : {"duckdb", "postgres", "bigquery", "snowflake", "spark", "sqlite"}
    ids : (k,), optional
        The id of each cluster in the result. Default: its label.
    table : str
        Name of the table of new rows, as a query of this dialect would write it.
    prefix : str
        Start of the names of the two tables, such as "schema.quorate".
    """
    check_choice("dialect", dialect, DIALECTS)
    refuse_soft(ens, "to_sql")
    import_extra("sqlglot", "to_sql")
    # Names are parsed, so that text that is not a name cannot become part of a statement.
    rows = _table_name("table", table, dialect)
    patterns, scores = (_table_name("prefix", f"{prefix}_{name}", dialect) for name in ("patterns", "scores"))
    members = _members(ens)
    columns = ", ".join(_quoted(member.name) for member in members.values())
    label_columns = [f"{kind}_label {_KINDS[kind]}" for kind in _kinds(members)]
    statements = [
        *_create(patterns, [*(f"c{j} BIGINT" for j in members), "consensus BIGINT"], dialect),
        # Known patterns are looked up; only other rows need scores.
        *_insert(patterns, _pattern_lines(ens, members, _with_ids(labels, ids)), dialect),
        *_create(scores, ["code BIGINT", "member VARCHAR", *label_columns, "cluster BIGINT", "score BIGINT"], dialect),
        *_insert(scores, _score_lines(ens, weights, labels, members, dialect), dialect),
    ]
    return SqlExport(
        dialect,
        tables="\n".join(f"{statement};" for statement in statements),
        query=_in_dialect(_query(rows, patterns, scores, members, ids), dialect),
        patterns=_in_dialect(f"SELECT {columns}, COUNT(*) AS n FROM {rows} GROUP BY {columns}", dialect),
    )


def _members(ens: Ensemble) -> dict[int, _Member]:
    """Return the members that have labels, by position."""
    members = {}
    for j, levels in enumerate(ens.levels):
        if levels.dtype.kind == "f":
            raise InputError(
                f"Member {ens.names[j]!r} has fractional labels, which SQL engines do not compare exactly.",
                code="fractional-labels",
                hint="Convert them to text.",
            )
        # Codes are cluster ids, unique over all members, so that one column holds them.
        values = dict(enumerate(levels.tolist(), int(ens.cluster_offsets[j])))
        if ens.noise == "singletons":  # `predict` takes noise for missing, so these clusters get no new rows
            values = {code: value for code, value in values.items() if isinstance(value, str) or value >= 0}
        if values:
            kind = "text" if levels.dtype.kind == "O" else "number"
            members[j] = _Member(ens.names[j], kind, values, ens.noise == "cluster")
    if not members:
        raise InputError("All labels are noise, so there is nothing to look up.", code="no-labels")
    return members


def _kinds(members: dict[int, _Member]) -> list[str]:
    """Return the kinds of labels that members have; each has a column in the table of scores."""
    return [kind for kind in _KINDS if any(member.kind == kind for member in members.values())]


def _with_ids(labels: Labels, ids: Ints | None) -> Labels:
    return labels if ids is None else np.append(ids, -1)[labels]


def _pattern_lines(ens: Ensemble, members: dict[int, _Member], consensus: Labels) -> Iterator[str]:
    """Yield the codes of each pattern that new rows can have, -1 for missing, and its consensus label."""
    # A pattern with a label that is not exported can never match a new row.
    exported = np.array([-1, *(code for member in members.values() for code in member.labels)])
    possible = np.isin(ens.patterns, exported).all(axis=1)
    lines = np.column_stack([ens.patterns[:, list(members)], consensus])[possible]
    return (", ".join(map(str, line)) for line in lines.tolist())


def _score_lines(
    ens: Ensemble, weights: Floats, labels: Labels, members: dict[int, _Member], dialect: str
) -> Iterator[str]:
    """Yield code, member, label, cluster and score.

    A label of a member of positive weight has a line for cluster 0 even if its score is 0: where all scores round to 0,
    `nearest_group` returns cluster 0. A label of another member has a line for no cluster (-1).
    """
    scores = cluster_scores(ens, weights, labels)
    kinds = _kinds(members)
    for j, member in members.items():
        name = _literal(member.name, dialect)
        for code, value in member.labels.items():
            cell = str(value) if member.kind == "number" else _literal(value, dialect)
            start = ", ".join([str(code), name, *(cell if kind == member.kind else "NULL" for kind in kinds)])
            of_code = slice(*scores.indptr[code : code + 2])
            of_clusters = zip(scores.indices[of_code].tolist(), scores.data[of_code].tolist(), strict=True)
            lines = {0: 0} | dict(of_clusters) if weights[j] > 0 and scores.shape[1] else {}
            for cluster, score in sorted(lines.items()):
                yield f"{start}, {cluster}, {score}"
            if not lines:
                yield f"{start}, -1, {_NO_EVIDENCE}"


def _query(rows: str, patterns: str, scores: str, members: dict[int, _Member], ids: Ints | None) -> str:
    """Return the query in DuckDB's dialect.

    Step by step: the distinct combinations of labels among the rows; the code of each known label; the label of known
    patterns; the scores of the other combinations; the best cluster; and the rows with it. In each combination, l2 is
    the label of member 2 and c2 its code.
    """
    listed, cells = ", ".join(f"l{j}" for j in members), {j: f"t.{_quoted(m.name)}" for j, m in members.items()}
    code_of_member = " ".join(f"WHEN {_literal(m.name)} THEN w.c{j}" for j, m in members.items())
    label_joins, known_codes = [], []
    for kind in _kinds(members):
        levels = f"SELECT DISTINCT code, member, {kind}_label FROM {scores}"
        labels = " ".join(
            f"WHEN {_literal(m.name)} THEN {m.normalized(f'w.l{j}')}" for j, m in members.items() if m.kind == kind
        )
        same = f"{kind}s.member = m.member AND {kind}s.{kind}_label = CASE m.member {labels} END"
        label_joins.append(f"LEFT JOIN ({levels}) AS {kind}s ON {same}")
        known_codes.append(f"{kind}s.code")
    # One line per combination and member becomes one line per combination.
    pivoted = ", ".join(
        f"MAX(CASE WHEN m.member = {_literal(m.name)} THEN COALESCE({', '.join(known_codes)}, -1) ELSE -1 END) AS c{j}"
        for j, m in members.items()
    )
    same_codes = " AND ".join(f"p.c{j} = w.c{j}" for j in members)
    # Equality of labels or of their absence, in a form that every engine can hash.
    same_labels = " AND ".join(
        f"COALESCE({cells[j]}, {empty}) = COALESCE(a.l{j}, {empty}) AND ({cells[j]} IS NULL) = (a.l{j} IS NULL)"
        for j, empty in ((j, "0" if m.kind == "number" else "''") for j, m in members.items())
    )
    in_all = f"CROSS JOIN (SELECT DISTINCT member FROM {scores}) AS m"
    cluster = "w.cluster"
    if ids is not None:
        cluster = f"CASE w.cluster {' '.join(f'WHEN {label} THEN {id}' for label, id in enumerate(ids))} ELSE -1 END"
    # Scores are rounded half up, as whole numbers, in every engine alike.
    up = f"w.score + {SCORE_ROUNDING // 2}"
    return f"""
        WITH combinations AS (
            SELECT DISTINCT {", ".join(f"{cells[j]} AS l{j}" for j in members)} FROM {rows} AS t
        ), coded AS (
            SELECT {listed}, {pivoted} FROM combinations AS w {in_all} {" ".join(label_joins)} GROUP BY {listed}
        ), looked_up AS (
            SELECT w.*, p.consensus FROM coded AS w LEFT JOIN {patterns} AS p ON {same_codes}
        ), scored AS (
            SELECT {listed}, w.consensus, COALESCE(s.cluster, -1) AS cluster,
                COALESCE(SUM(s.score), {_NO_EVIDENCE}) AS score
            FROM looked_up AS w {in_all} LEFT JOIN {scores} AS s ON w.consensus IS NULL
                AND s.code = CASE m.member {code_of_member} END
            GROUP BY {listed}, w.consensus, COALESCE(s.cluster, -1)
        ), ranked AS (
            SELECT {listed}, COALESCE(w.consensus, {cluster}) AS consensus, ROW_NUMBER() OVER (
                PARTITION BY {listed} ORDER BY {up} - MOD({up}, {SCORE_ROUNDING}) DESC, w.cluster
            ) AS place
            FROM scored AS w
        )
        SELECT t.*, a.consensus
        FROM {rows} AS t LEFT JOIN (SELECT {listed}, consensus FROM ranked WHERE place = 1) AS a ON {same_labels}
    """


# Statements ---------------------------------------------------------------------------------------------------------


def _create(table: str, columns: Sequence[str], dialect: str) -> Iterable[str]:
    yield _in_dialect(f"DROP TABLE IF EXISTS {table}", dialect)
    yield _in_dialect(f"CREATE TABLE {table} ({', '.join(columns)})", dialect)


def _insert(table: str, lines: Iterable[str], dialect: str) -> Iterable[str]:
    """Yield statements that insert lines of literals, as many as every engine takes in one statement."""
    start = _in_dialect(f"INSERT INTO {table} SELECT 1", dialect).rpartition("SELECT")[0].rstrip()
    remaining = iter(lines)
    # Engines limit the number of values in one statement.
    while chunk := list(islice(remaining, _LINES_PER_INSERT)):
        yield f"{start} VALUES\n" + ",\n".join(f"({line})" for line in chunk)


def _in_dialect(statement: str, dialect: str) -> str:
    import sqlglot

    (parsed,) = sqlglot.parse(statement, read="duckdb")
    assert parsed is not None
    return parsed.sql(dialect=dialect, pretty=True, unsupported_level=sqlglot.ErrorLevel.RAISE)


def _table_name(parameter: str, name: str, dialect: str) -> str:
    """Return the name of a table in DuckDB's dialect."""
    import sqlglot

    try:
        return sqlglot.parse_one(name, into=sqlglot.exp.Table, dialect=dialect).sql(dialect="duckdb")
    except sqlglot.ParseError:
        raise InputError(
            f"must name a table in the dialect {dialect}; got {brief_repr(name)}.",
            code="table-name",
            parameter=parameter,
            hint="Quote names with other characters than letters, digits and underscores.",
        ) from None


def _quoted(name: str) -> str:
    import sqlglot

    return sqlglot.exp.to_identifier(name, quoted=True).sql(dialect="duckdb")


def _literal(text: str, dialect: str = "duckdb") -> str:
    import sqlglot

    return sqlglot.exp.Literal.string(text).sql(dialect=dialect)
