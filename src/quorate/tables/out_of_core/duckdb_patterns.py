"""Patterns stored in DuckDB, sorted and packed: a consensus reads them in blocks and stores its answer there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from quorate._utils.array_types import Labels
from quorate.certainty import Certainty
from quorate.labels import Noise, Vector, encode
from quorate.patterns import Packing
from quorate.tables.counted_table import ANSWER, LINES
from quorate.tables.io import LabelTable
from quorate.tables.out_of_core.pattern_blocks import StoredEnsemble

if TYPE_CHECKING:
    import duckdb


def store_patterns(lines: LabelTable, noise: Noise) -> StoredEnsemble:
    """Encode the labels of counted lines, and store the patterns in DuckDB, sorted, as packed words.

    The distinct values of each member are encoded by the same rules as labels in memory.
    """
    connection = lines.connection
    levels = []
    # Labels of each member are encoded once per distinct value, not per row.
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
    # Codes of all members share packed words, as in memory.
    packing = Packing([len(values) for values in levels])
    words = [""] * packing.n_words
    for j, (word, radix) in enumerate(zip(packing.word, packing.radix, strict=True)):
        digit = f"(c{j}.code + 1)"
        words[word] = f"({words[word]} * {radix} + {digit})" if words[word] else digit
    named = ", ".join(f"{word} AS {name}" for word, name in zip(words, _word_names(levels), strict=True))
    # Missing cells are codes, too, hence the null-safe join.
    joins = " ".join(
        f"JOIN quorate_codes_{j} c{j} ON {LINES}.k{j} IS NOT DISTINCT FROM c{j}.cell" for j in range(len(levels))
    )
    connection.execute(f"CREATE TEMP TABLE quorate_coded AS SELECT {LINES}.*, {named} FROM {LINES} {joins}")
    key = ", ".join(_word_names(levels))
    # Sorted by word, which is the order of patterns in memory.
    connection.execute(
        f"CREATE TEMP TABLE quorate_patterns AS "
        f"SELECT {key}, sum(n)::BIGINT AS n FROM quorate_coded GROUP BY {key} ORDER BY {key}"
    )
    n_rows, n_patterns = connection.execute("SELECT sum(n)::BIGINT, count(*) FROM quorate_patterns").fetchall()[0]
    return StoredEnsemble(lines.columns, levels, noise, n_rows, _DuckDBPatterns(connection, packing, key, n_patterns))


def store_answer(lines: LabelTable, ens: StoredEnsemble, answers: Iterator[tuple[Labels, Certainty]]) -> None:
    """Store label and certainty of the patterns, block by block, with the cells of their lines."""
    connection = lines.connection
    connection.execute("CREATE TEMP TABLE quorate_labeled (pattern BIGINT, a0 BIGINT, a1 DOUBLE, a2 DOUBLE, a3 BIGINT)")
    start = 0
    # Answers are stored block by block, so that no array of all patterns is needed.
    for labels, certain in answers:
        pattern = np.arange(start, start + len(labels))
        values = (labels, certain.confidence, certain.margin, certain.runner_up)
        connection.register("block", {"pattern": pattern, **{f"a{i}": column for i, column in enumerate(values)}})
        connection.execute("INSERT INTO quorate_labeled SELECT pattern, a0, a1, a2, a3 FROM block")
        connection.unregister("block")
        start += len(labels)
    # Joined by the words of the pattern, which are shorter than its labels.
    cells = ", ".join(f"c.{column.sql_name}" for column in lines.all_columns)
    same = " AND ".join(f"c.{word} = p.{word}" for word in _word_names(ens.levels))
    connection.execute(
        f"CREATE TEMP TABLE {ANSWER} AS SELECT {cells}, a0, a1, a2, a3 FROM quorate_coded c "
        f"JOIN quorate_patterns p ON {same} JOIN quorate_labeled l ON p.rowid = l.pattern"
    )


def _word_names(levels: Sequence[Vector]) -> list[str]:
    return [f"w{word}" for word in range(Packing([len(values) for values in levels]).n_words)]


@dataclass(frozen=True)
class _DuckDBPatterns:
    """Patterns in a table of packed words, in lexicographic order."""

    connection: duckdb.DuckDBPyConnection
    packing: Packing
    key: str
    n_patterns: int

    def read(self, start: int, stop: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return codes, -1 for missing, and counts of some consecutive patterns."""
        fetched = self.connection.execute(
            f"SELECT {self.key}, n FROM quorate_patterns WHERE rowid >= {start} AND rowid < {stop}"
        ).fetchnumpy()
        counts = np.asarray(fetched.pop("n"))
        return self.packing.unpack(np.stack([np.asarray(word) for word in fetched.values()], axis=1)), counts
