"""Opening files of every format as views of a DuckDB connection, read as a stream whenever they are queried."""

from __future__ import annotations

import bz2
import codecs
import csv
import glob
import gzip
import lzma
import os
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from quorate._runtime.memory import parse_bytes
from quorate._runtime.temporary_files import temporary_folder
from quorate._utils.checks import check_integer, nearest_name
from quorate._utils.optional_imports import import_extra
from quorate.errors import QuorateError
from quorate.tables.io.dialect import DELIMITERS, MISSING, Dialect, find_dialect
from quorate.tables.io.formats import FORMATS, NAME_ENCODING, STREAM, FileFormat, explained, find_format
from quorate.tables.io.label_table import NUMBERED, ROW, VIEW, Column, LabelTable
from quorate.tables.io.untrusted_files import check_arrow, load_npy, load_npz, load_obs

if TYPE_CHECKING:
    import duckdb

_HEAD_BYTES = 1 << 18
# The engine may drop a line that is longer than it was told, and all behind it, without a word. It reads sixteen such
# lines at once, which costs memory only where a table is packed; so lines are looked at before it reads them.
_LONGEST_LINE, _LONGEST_PACKED_LINE = 1 << 29, 1 << 21
# The engine keeps to this much memory and spills to disk beyond it, so that tables larger than memory can be read.
_ENGINE_MEMORY = "800MB"


def open_table(
    path: str | Path,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    memory_limit: int | float | str | None = None,
    threads: int | None = None,
) -> LabelTable:
    """Open a table for reading.

    Parameters
    ----------
    path : str or Path
        A file, or "-" for standard input; or a folder of Parquet files or a pattern such as "labels/*.parquet", which
        are read as one table, in the order of their names.
    format : {"csv", "tsv", "parquet", "arrow", "npy", "npz", "h5ad", "xlsx", "json"}, optional
        Default: by the file's ending, or else by its first bytes.
    delimiter : str, optional
        What splits the columns of a text table. Default: found from its first lines.
    header : bool, optional
        Whether the first line of a text table names the columns. Default: found from its first lines.
    encoding : str, optional
        Encoding of a text table, such as "latin-1". Default: UTF-8.
    memory_limit : int or str, optional
        How much memory the engine may use before it spills to the temporary folder, such as "2GB".
    threads : int, optional
        How many threads the engine may use. Default: all.
    """
    resources = ExitStack()
    with ExitStack() as on_failure:
        on_failure.callback(resources.close)
        shown = "standard input" if str(path) == STREAM else str(path)
        files = [_spool_input(resources)] if str(path) == STREAM else find_files(path)
        kind = find_format(files[0], format)
        if len(files) > 1 and kind.name != "parquet":
            raise QuorateError(f"{path} names {len(files)} files of {kind.name}; only Parquet files are read together.")
        files = [_with_plain_name(file, resources) for file in files]
        shown = shown.encode(errors="replace").decode()
        connection = connect(resources, memory_limit=memory_limit, threads=threads)
        with explained(shown):
            opener = _OPENERS.get(kind.name, _text_view)
            source = _Source(connection, files, kind, shown, _delimiter(delimiter), header, encoding, resources)
            columns = opener(source)
            numbered = _number_parquet(source, columns) if kind.name == "parquet" else None
        on_failure.pop_all()
    return LabelTable(shown, kind, connection, tuple(columns), numbered_view=numbered, resources=resources)


def _with_plain_name(file: Path, resources: ExitStack) -> Path:
    """Return the file, or a link to it where its name is no text, which the engine demands."""
    if is_text(file):
        return file
    link = _temporary_file(resources)
    link.symlink_to(file.resolve())
    return link


def is_text(path: Path) -> bool:
    """Return whether a path can be told in UTF-8, as any bytes may name a file."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _delimiter(given: str | None) -> str | None:
    delimiter = {"\\t": "\t", "tab": "\t"}.get(given or "", given)
    if delimiter is not None and len(delimiter) != 1:
        raise QuorateError(f"delimiter must be one sign, or tab; got {delimiter!r}.")
    return delimiter


def connect(
    resources: ExitStack, *, memory_limit: int | float | str | None = None, threads: int | None = None
) -> duckdb.DuckDBPyConnection:
    """Return a DuckDB connection of its own, with bounded memory and a temporary folder, closed with `resources`."""
    import duckdb

    limit = _ENGINE_MEMORY if memory_limit is None else f"{parse_bytes(memory_limit)}B"
    folder = resources.enter_context(temporary_folder())
    config: dict[str, Any] = {
        "memory_limit": limit,
        "temp_directory": str(folder),
        "autoinstall_known_extensions": False,
    }
    if threads is not None:
        config["threads"] = check_integer("threads", threads, low=1)
    connection = duckdb.connect(config=config)
    resources.callback(connection.close)
    connection.execute("SET enable_progress_bar = false")
    return connection


@dataclass(frozen=True)
class _Source:
    connection: duckdb.DuckDBPyConnection
    files: list[Path]
    format: FileFormat
    shown: str
    delimiter: str | None
    header: bool | None
    encoding: str | None
    resources: ExitStack

    @property
    def file(self) -> Path:
        """The file, or the first of several."""
        return self.files[0]

    @property
    def pattern(self) -> str:
        """The path as DuckDB wants it."""
        return escaped(self.file)

    @property
    def patterns(self) -> list[str]:
        """The paths of all files as DuckDB wants them."""
        return [escaped(file) for file in self.files]


def escaped(file: Path) -> str:
    """Return a path in which signs that would match several files are escaped."""
    return re.sub(r"([*?\[])", r"[\1]", str(file))


def find_files(path: str | Path) -> list[Path]:
    """Return the files that a path stands for: a file, the Parquet files of a folder, or those that match a pattern."""
    target = Path(path)
    if target.is_dir():
        inside = (Path(folder) / name for folder, _, names in os.walk(target) for name in names)
        found = sorted(file for file in inside if file.suffix in FORMATS["parquet"] and file.is_file())
        if not found:
            raise QuorateError(f"{path} is a directory without Parquet files. Name a file in it.")
    elif not target.exists() and any(sign in str(path) for sign in "*?["):
        found = sorted(Path(file) for file in glob.glob(str(path), recursive=True) if Path(file).is_file())
        if not found:
            raise QuorateError(f"No file matches {path}. Check the pattern and the folder.")
    else:
        found = [target]
    return [_check_input(file) for file in found]


def _check_input(path: Path) -> Path:
    if not path.exists():
        siblings = [str(path.parent / other) for other in _names_in(path.parent)]
        raise QuorateError(f"There is no file {path}.{nearest_name(path, siblings) or ' Check its name and folder.'}")
    if not os.access(path, os.R_OK):
        raise QuorateError(f"{path} cannot be read. Check its permissions.")
    return path


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _spool_input(resources: ExitStack) -> Path:
    """Copy standard input into a temporary file, as it is read more than once."""
    if sys.__stdin__ is None:
        raise QuorateError("Standard input is closed. Pipe a table into the command, or name a file.")
    if sys.stdin.isatty():
        raise QuorateError("Standard input is a terminal. Pipe a table into the command, or name a file.")
    file = _temporary_file(resources)
    with open(file, "wb") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
    return file


def _temporary_file(resources: ExitStack) -> Path:
    return resources.enter_context(temporary_folder()) / "table"


_DECOMPRESSORS: dict[str | None, Callable[..., IO[bytes]]] = {
    None: open,
    "gzip": gzip.open,  # type: ignore[dict-item]
    "bz2": bz2.open,
    "xz": lzma.open,
}


def _text_view(source: _Source) -> list[Column]:
    """Open a text table; its columns are text named c0, c1, ..., whatever they are called in the file."""
    if source.encoding is not None:
        source = _recode(source)
    elif source.format.compression in ("bz2", "xz"):
        source = _unpack(source)
    head = _read_head(source)
    _refuse_endless_lines(source)
    prefer = source.format.delimiter
    dialect = find_dialect(head, source.shown, delimiter=source.delimiter, header=source.header, prefer=prefer)
    if source.delimiter is not None and len(dialect.columns) == 1:
        _refuse_wrong_delimiter(source, head)
    _read_csv(source, dialect).create_view(VIEW)
    return [Column(name, f"c{j}", "VARCHAR") for j, name in enumerate(dialect.columns)]


def _unpack(source: _Source) -> _Source:
    """Return the source decompressed into a temporary file: the engine does not read all compressions itself."""
    unpacked = _temporary_file(source.resources)
    with _DECOMPRESSORS[source.format.compression](source.file, "rb") as packed, open(unpacked, "wb") as copy:
        shutil.copyfileobj(packed, copy)
    return replace(source, files=[unpacked], format=FileFormat(source.format.name))


def _recode(source: _Source) -> _Source:
    """Return the source as UTF-8 in a temporary file."""
    try:
        reader = codecs.getreader(str(source.encoding))
        "".encode(str(source.encoding))
    except LookupError:
        raise QuorateError(
            f'encoding must be the name of an encoding of text, such as "latin-1" or "utf-16"; got {source.encoding!r}.'
        ) from None
    if source.format.compression == "zstd":
        raise QuorateError(f"{source.shown} is packed by zstd and not in UTF-8. Unpack it first, or pack it by gzip.")
    recoded = _temporary_file(source.resources)
    try:
        with _DECOMPRESSORS[source.format.compression](source.file, "rb") as packed, open(recoded, "wb") as copy:
            text = reader(packed)
            while part := text.read(1 << 20):
                copy.write(part.encode("utf-8"))
    except UnicodeError:
        raise QuorateError(f"{source.shown} is not text in {source.encoding}. Name another encoding=.") from None
    return replace(source, files=[recoded], format=FileFormat(source.format.name))


def _read_csv(source: _Source, dialect: Dialect) -> Any:
    connection: Any = source.connection
    return connection.read_csv(
        source.pattern,
        columns={f"c{j}": "VARCHAR" for j in range(len(dialect.columns) + dialect.trailing)},
        auto_detect=False,
        delimiter=dialect.delimiter,
        header=dialect.header,
        skiprows=dialect.skipped,
        max_line_size=_LONGEST_PACKED_LINE if source.format.compression else _LONGEST_LINE,
        quotechar='"',
        escapechar='"',
        na_values=list(MISSING),
        strict_mode=True,
        compression=source.format.compression or "none",
    )


def _read_head(source: _Source) -> str:
    """Return the first complete lines of a text table."""
    if source.format.compression == "zstd":
        lines = source.connection.sql(
            "SELECT line FROM read_csv($file, columns = {'line': 'VARCHAR'}, auto_detect = false, delim = chr(1), "
            "quote = '', escape = '', header = false, compression = 'zstd') LIMIT 1000",
            params={"file": source.pattern},
        )
        return "\n".join(line or "" for (line,) in lines.fetchall())
    with _DECOMPRESSORS[source.format.compression](source.file, "rb") as packed:
        head = packed.read(_HEAD_BYTES)
    if len(head) == _HEAD_BYTES:
        head = head[: head.rfind(b"\n") + 1 or None]
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise QuorateError(f'{source.shown} is text in UTF-16. Pass encoding="utf-16", or save it in UTF-8.')
    if b"\0" in head:
        raise QuorateError(f"{source.shown} is not a text table. Name its format with format= if it is another one.")
    try:
        return head.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise QuorateError(f"{source.shown} is not text in UTF-8. {NAME_ENCODING}") from None


def _refuse_endless_lines(source: _Source) -> None:
    """Refuse a text table with a line that the engine may drop."""
    if source.format.compression is None:
        bound, endless = _LONGEST_LINE // 2, _has_endless_window(source.file)
    else:
        bound, endless = _LONGEST_PACKED_LINE, _has_endless_line(source)
    if endless:
        raise QuorateError(
            f"{source.shown} has a line of more than {bound >> 20} MB, which is no line of a table. Check that it is "
            "whole, and that it is a text table."
        )


def _has_endless_window(file: Path) -> bool:
    """Return whether no line ends in some window of half the longest line: only there is a longer one seen for sure."""
    window, size = _LONGEST_LINE // 2, file.stat().st_size
    with open(file, "rb") as text:
        for start in range(0, size - window, window):
            text.seek(start)
            if not any(b"\n" in text.read(_HEAD_BYTES) for _ in range(window // _HEAD_BYTES)):
                return True
    return False


def _has_endless_line(source: _Source) -> bool:
    """Return whether a packed table has a line that is too long; to unpack it costs little beside reading it."""
    if source.format.compression == "gzip":
        opened: Any = gzip.open(source.file)  # noqa: SIM115
    else:
        arrow = import_extra("pyarrow", "Reading tables packed by zstd")
        opened = arrow.input_stream(str(source.file), compression="zstd")
    line = 0
    with opened as packed:
        while part := packed.read(_HEAD_BYTES):
            first = part.find(b"\n")
            line += len(part) if first < 0 else first
            if line > _LONGEST_PACKED_LINE:
                return True
            line = line if first < 0 else len(part) - part.rfind(b"\n") - 1
    return False


def _refuse_wrong_delimiter(source: _Source, head: str) -> None:
    """Refuse a delimiter that splits nothing where another one would."""
    found = find_dialect(head, source.shown, header=source.header)
    if len(found.columns) > 1:
        raise QuorateError(
            f"{source.shown} has one column when split by {source.delimiter!r}, but looks split by "
            f"{DELIMITERS[found.delimiter]}. Leave delimiter= out, or pass {found.delimiter!r}."
        )


def _parquet_view(source: _Source) -> list[Column]:
    relation = source.connection.read_parquet(source.patterns)
    relation.create_view(VIEW)
    return _columns_of(relation)


def _number_parquet(source: _Source, columns: list[Column]) -> str | None:
    """Create a view with the number of each row in Parquet files read one after the other, if their columns allow it.

    A window would number them too, but rows would have to pass through it in order. Here the reader tells the file and
    the row in the file, and the files' own metadata how many rows come before each of them.
    """
    if {"file_index", "file_row_number", ROW} & {column.name.lower() for column in columns}:
        return None
    lengths = dict(
        source.connection.execute(
            "SELECT file_name, num_rows FROM parquet_file_metadata($files)", {"files": source.patterns}
        ).fetchall()
    )
    if not all(str(file) in lengths for file in source.files):
        return None  # the engine calls a file by another name
    before = np.cumsum([0, *(lengths[str(file)] for file in source.files)])[:-1]
    relation = source.connection.read_parquet(source.patterns)
    relation.project(
        f"*, file_row_number + ({before.tolist()}::BIGINT[])[file_index::BIGINT + 1] AS {ROW}"
    ).create_view(NUMBERED)
    return NUMBERED


def _arrow_view(source: _Source) -> list[Column]:
    check_arrow(source.file, source.shown)
    dataset = import_extra("pyarrow.dataset", "Reading Arrow and Feather files")
    source.connection.register(VIEW, dataset.dataset(str(source.file), format="feather"))
    return _columns_of(source.connection.table(VIEW))


def _columns_of(relation: Any) -> list[Column]:
    return [Column(name, name, str(kind)) for name, kind in zip(relation.columns, relation.types, strict=True)]


def _npy_view(source: _Source) -> list[Column]:
    """Open an array of rows x members, or a vector; it stays on disk until it is read."""
    return _register_arrays(source, {"": load_npy(source.file, source.shown)})


def _npz_view(source: _Source) -> list[Column]:
    """Open named arrays: vectors are columns, a matrix is one column per column."""
    return _register_arrays(source, load_npz(source.file, source.shown))


def _register_arrays(source: _Source, arrays: dict[str, Any]) -> list[Column]:
    vectors: dict[str, Any] = {}
    for name, array in arrays.items():
        if array.ndim == 2:
            columns = {f"{name or 'member'}_{j}": array[:, j] for j in range(array.shape[1])}
        elif array.ndim == 1:
            columns = {name or "member_0": array}
        else:
            raise QuorateError(f"{source.shown} holds an array of {array.ndim} dimensions. Save rows x members.")
        for column in columns.keys() & vectors.keys():
            raise QuorateError(f"{source.shown} holds two columns named {column!r}. Rename one of its arrays.")
        vectors |= columns
    if not vectors or len({len(vector) for vector in vectors.values()}) > 1:
        raise QuorateError(f"{source.shown} must hold arrays of one length. Save one label per row in each of them.")
    for name, vector in vectors.items():
        if vector.dtype.kind not in "iubfUT":
            raise QuorateError(f"{source.shown} holds {name!r} of type {vector.dtype}. Save numbers or text.")
    return _register_vectors(source, vectors)


def _h5ad_view(source: _Source) -> list[Column]:
    """Open the names of the cells and the categorical columns of `obs`."""
    return _register_vectors(source, load_obs(source.file, source.shown))


def _register_vectors(source: _Source, vectors: dict[str, Any]) -> list[Column]:
    # DuckDB reads text only from arrays of objects.
    held = {
        f"c{j}": vector.astype(object) if vector.dtype.kind in "UT" else vector
        for j, vector in enumerate(vectors.values())
    }
    source.connection.register(VIEW, held)
    types = _columns_of(source.connection.table(VIEW))
    return [Column(name, column.sql_name, column.sql_type) for name, column in zip(vectors, types, strict=True)]


def _excel_view(source: _Source) -> list[Column]:
    """Open the first sheet of a workbook, as the text table it would be saved as."""
    calamine = import_extra("python_calamine", "Reading Excel files")
    try:
        rows = calamine.CalamineWorkbook.from_path(str(source.file)).get_sheet_by_index(0).to_python()
    except (calamine.CalamineError, OSError, ValueError, IndexError):
        raise QuorateError(f"{source.shown} is not a workbook that can be read. Save its sheet as CSV.") from None
    copied = _temporary_file(source.resources)
    with open(copied, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([_as_text(cell) for cell in row] for row in rows)
    return _text_view(replace(source, files=[copied], format=FileFormat("csv"), delimiter=",", encoding=None))


def _as_text(cell: Any) -> str:
    """Return a cell of a workbook, which knows no whole numbers, as people see it."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _json_view(source: _Source) -> list[Column]:
    """Open lines of JSON, or one list of records; all of it tells which columns there are."""
    connection: Any = source.connection
    relation = connection.read_json(
        source.pattern, sample_size=-1, maximum_depth=2, compression=source.format.compression or "none"
    )
    if all(str(kind).endswith("]") or str(kind).startswith("STRUCT") for kind in relation.types):
        raise QuorateError(
            f"{source.shown} holds lists or objects where cells are expected. Save one object per row, as pandas does: "
            'frame.to_json(path, orient="records", lines=True).'
        )
    relation.create_view(VIEW)
    return _columns_of(relation)


_OPENERS: dict[str, Callable[[_Source], list[Column]]] = {
    "parquet": _parquet_view,
    "arrow": _arrow_view,
    "npy": _npy_view,
    "npz": _npz_view,
    "h5ad": _h5ad_view,
    "xlsx": _excel_view,
    "json": _json_view,
}
