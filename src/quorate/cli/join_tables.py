"""Several tables joined by row ID into one, for `quorate combine a.csv b.csv`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from quorate._runtime.temporary_files import temporary_folder
from quorate.cli.output import count
from quorate.errors import InputError, Setting
from quorate.tables.io import ROW, LabelTable, connect, quote_name, write_table

_ID, _POSITION = "row_id", "position"


class Joinable(Protocol):
    """A table to join."""

    @property
    def file(self) -> str:
        """The path of the table."""

    def open(self) -> AbstractContextManager[LabelTable]:
        """Open the table."""

    def find_id(self, table: LabelTable) -> str | None:
        """Return the column of row IDs, if there is one."""


@contextmanager
def join_tables(sources: Sequence[Joinable]) -> Iterator[Path]:
    """Give a temporary table with the columns of all tables; rows without a match have missing labels.

    Columns whose name occurs in several tables are preceded by the name of their file.
    """
    with temporary_folder() as folder, ExitStack() as resources:
        # Each table is copied once with short names, which makes the join independent of names and formats.
        parts = [_copy(source, folder / f"{i}.parquet") for i, source in enumerate(sources)]
        repeated = {
            name for i, (_, names) in enumerate(parts) for _, others in parts[:i] for name in names if name in others
        }
        ids = ", ".join(f"p{i}.{_ID}" for i in range(len(parts)))
        cells = [f"coalesce({ids}) AS {quote_name(parts[0][0])}"]
        for i, (source, (_, names)) in enumerate(zip(sources, parts, strict=True)):
            stem = Path(source.file).stem
            for j, name in enumerate(names):
                cells.append(f"p{i}.c{j} AS {quote_name(f'{stem}_{name}' if name in repeated else name)}")
        joined = f"'{folder / '0.parquet'}' AS p0"
        for i in range(1, len(parts)):
            # A row may be missing in the first tables, so that the join compares with the first ID that is there.
            earlier = f"coalesce({', '.join(f'p{j}.{_ID}' for j in range(i))})"
            joined += f" FULL JOIN '{folder / f'{i}.parquet'}' AS p{i} ON p{i}.{_ID} = {earlier}"
        # Rows in the order of the first table, then those that only later tables have.
        order = ", ".join(f"p{i}.{_POSITION}" for i in range(len(parts)))
        relation = connect(resources).sql(f"SELECT {', '.join(cells)} FROM {joined} ORDER BY {order}")
        path = folder / "joined.parquet"
        write_table(relation, path)
        yield path


def _copy(source: Joinable, path: Path) -> tuple[str, list[str]]:
    """Write a table with its IDs as text, and return the name of the ID column and of the other columns."""
    with source.open() as opened:
        row_id = source.find_id(opened)
        if row_id is None:
            raise InputError(
                f"{source.file} has no column of row IDs, by which tables are joined.",
                code="no-id",
                hint=("Name it with ", Setting("id"), "."),
            )
        _check_unique(opened, row_id)
        names = [name for name in opened.columns if name != row_id]
        cells = [f"CAST({opened.raw(row_id)} AS VARCHAR) AS {_ID}", f"{ROW} AS {_POSITION}"]
        cells += [f"{_cell(opened, name)} AS c{j}" for j, name in enumerate(names)]
        write_table(opened.sql(f"SELECT {', '.join(cells)} FROM {opened.numbered}"), path)
    return row_id, names


def _cell(opened: LabelTable, name: str) -> str:
    return opened.raw(name) if opened.profile[name].kind == "other" else opened.label(name)


def _check_unique(opened: LabelTable, row_id: str) -> None:
    cell = opened.raw(row_id)
    # Missing IDs count as duplicates: they cannot be matched.
    repeated = int(opened.fetch(f"SELECT count(*) - count(DISTINCT {cell}) AS n FROM {opened.view}")["n"][0])
    if repeated:
        raise InputError(
            f"ID column {row_id!r} of {opened.path} has {count(repeated, 'duplicate or missing value')}.",
            code="duplicate-id",
            hint="Tables can be joined only by unique IDs.",
        )
