"""Open files of every format as views on a DuckDB connection, which streams them whenever they are queried."""

from __future__ import annotations

import bz2
import codecs
import difflib
import glob
import gzip
import lzma
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from quorate._runtime.memory import memory_limit as limited_memory
from quorate._runtime.memory import parse_bytes
from quorate._runtime.temporary_files import temporary_folder
from quorate._utils.checks import check_integer
from quorate._utils.optional_imports import import_extra
from quorate.errors import DamagedFileError, InputError, Setting, warn
from quorate.tables.io.dialect import DELIMITERS, Dialect, check_names, find_dialect
from quorate.tables.io.formats import FORMATS, NAME_ENCODING, STREAM, FileFormat, explained, find_format
from quorate.tables.io.label_table import NUMBERED, ROW, VIEW, Column, LabelTable, is_glob, quote_text
from quorate.tables.io.untrusted_files import check_arrow, copy_sheet, load_npy, load_npz, load_obs

if TYPE_CHECKING:
    import duckdb

_HEAD_BYTES = 1 << 18
# DuckDB may silently drop a line that is longer than its limit, and everything after it. Its buffer holds sixteen such
# lines, which costs memory only for compressed tables; so the lengths of lines are checked before it reads them.
_LONGEST_LINE, _LONGEST_LINE_1, _LONGEST_PACKED_LINE = 1 << 29, 1 << 22, 1 << 21
# DuckDB spills to disk beyond this much memory, so that tables larger than memory can be read.
_ENGINE_MEMORY = "800MB"


def open_table(
    path: str | Path,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    memory_limit: int | float | str | None = None,
    threads: int | None = None,
) -> LabelTable:
    """Open a table for reading.

    Parameters
    ----------
    path : str or Path
        A file, or "-" for standard input. A folder of Parquet files or a pattern such as "labels/*.parquet" is read as
        one table, in the order of the file names.
    format : {"csv", "tsv", "parquet", "arrow", "npy", "npz", "h5ad", "xlsx", "json"}, optional
        Default: by the file's extension, or by its first bytes.
    delimiter : str, optional
        Column delimiter of a text table. Default: detected from the first lines.
    header : bool, optional
        Whether the first line of a text table names the columns. Default: detected from the first lines.
    encoding : str, optional
        Encoding of a text table, such as "latin-1". Default: UTF-8.
    sheet : str or int, optional
        Name or number (from 0) of the sheet of an Excel workbook. Default: the first; a warning lists the others.
    memory_limit : int or str, optional
        Memory that DuckDB may use before it spills to the temporary folder, such as "2GB".
    threads : int, optional
        Number of DuckDB's threads. Default: all cores.
    """
    resources = ExitStack()
    with ExitStack() as on_failure:
        # Everything opened so far is closed if a later step fails.
        on_failure.callback(resources.close)
        shown = "standard input" if str(path) == STREAM else str(path)
        files = [_spool_input(resources)] if str(path) == STREAM else find_files(path)
        kind = find_format(files[0], format)
        if len(files) > 1 and kind.name != "parquet":
            raise InputError(
                f"{path} matches {len(files)} {kind.name} files; only Parquet files are read as one table.",
                code="several-files",
            )
        files = [_with_plain_name(file, resources) for file in files]
        # The name goes into messages, which must be valid text.
        shown = shown.encode(errors="replace").decode()
        connection = connect(resources, memory_limit=memory_limit, threads=threads)
        with explained(shown):
            opener = _OPENERS.get(kind.name, _text_view)
            source = _Source(connection, files, kind, shown, _delimiter(delimiter), header, encoding, sheet, resources)
            columns = opener(source)
            numbered = _number_parquet(source, columns) if kind.name == "parquet" else None
        # From here on the table owns the resources.
        on_failure.pop_all()
    return LabelTable(shown, kind, connection, tuple(columns), numbered_view=numbered, resources=resources)


@contextmanager
def open_limited(
    path: str | Path, *, memory_limit: int | float | str | None = None, **options: Any
) -> Iterator[LabelTable]:
    """Open a table with options of `open_table`; the memory limit also holds for computations inside the block."""
    with ExitStack() as stack:
        if memory_limit is not None:
            stack.enter_context(limited_memory(memory_limit))
        yield stack.enter_context(open_table(path, memory_limit=memory_limit, **options))


def _with_plain_name(file: Path, resources: ExitStack) -> Path:
    """Return the file, or a link to it if its name is not UTF-8, which DuckDB requires."""
    if is_text(file):
        return file
    link = _temporary_file(resources)
    link.symlink_to(file.resolve())
    return link


def is_text(path: Path) -> bool:
    """Return whether a path can be encoded in UTF-8; file names may hold any bytes."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _delimiter(given: str | None) -> str | None:
    delimiter = {"\\t": "\t", "tab": "\t"}.get(given or "", given)
    if delimiter is not None and len(delimiter) != 1:
        raise InputError(f"must be one character, or tab; got {delimiter!r}.", code="delimiter", parameter="delimiter")
    return delimiter


def connect(
    resources: ExitStack, *, memory_limit: int | float | str | None = None, threads: int | None = None
) -> duckdb.DuckDBPyConnection:
    """Return a new DuckDB connection with bounded memory and a temporary folder, closed with `resources`."""
    duckdb = import_extra("duckdb", "Reading and writing tables")
    # A limit keeps DuckDB from taking most of the machine; it spills to disk beyond it.
    limit = _ENGINE_MEMORY if memory_limit is None else f"{parse_bytes(memory_limit)}B"
    folder = resources.enter_context(temporary_folder())
    config: dict[str, Any] = {
        "memory_limit": limit,
        "temp_directory": str(folder),
        # Extensions would be downloaded; tables must open without a network.
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
    sheet: str | int | None
    resources: ExitStack

    @property
    def file(self) -> Path:
        """The file, or the first of several."""
        return self.files[0]

    @property
    def pattern(self) -> str:
        """The path, escaped for DuckDB."""
        return escaped(self.file)

    @property
    def patterns(self) -> list[str]:
        """The paths of all files, escaped for DuckDB."""
        return [escaped(file) for file in self.files]


def escaped(file: Path) -> str:
    """Return a path in which the characters of glob patterns are escaped."""
    # A character class of one character matches it literally.
    return re.sub(r"([*?\[])", r"[\1]", str(file))


def find_files(path: str | Path) -> list[Path]:
    """Return the files that a path selects: a file, the Parquet files of a folder, or the matches of a pattern."""
    target = Path(path)
    if _URL.match(str(path)):
        raise InputError(f"{path} is a URL.", code="url", hint="Download the file first and pass its path.")
    # Not Path.is_dir and Path.exists, which raise errors for names that are too long.
    if os.path.isdir(target):
        # Folders are read with all their subfolders, as partitioned tables are written.
        inside = (Path(folder) / name for folder, _, names in os.walk(target) for name in names)
        files = sorted(file for file in inside if file.suffix in FORMATS["parquet"] and file.is_file())
        if not files:
            raise InputError(f"{path} is a folder without Parquet files.", code="no-files", hint="Pass a file in it.")
    elif not os.path.exists(target) and is_glob(str(path)):
        # Sorted, so that rows have the same order in every run.
        files = sorted(Path(file) for file in glob.glob(str(path), recursive=True) if Path(file).is_file())
        if not files:
            raise InputError(f"No file matches {path}.", code="no-files", hint="Check the pattern and the folder.")
    else:
        files = [target]
    return [_check_input(file) for file in files]


_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # two letters at least: drives of Windows have one


def _check_input(path: Path) -> Path:
    if not os.path.exists(path):
        # A similar name in the same folder is probably meant.
        others = [name for name in _names_in(path.parent) if name != path.name]  # itself: a link to nothing
        near = difflib.get_close_matches(path.name, others, n=1, cutoff=0.75)
        raise InputError(
            f"There is no file {path}.",
            code="no-file",
            hint=f"Did you mean {str(path.parent / near[0])!r}?" if near else "Check its name and folder.",
        )
    if not os.access(path, os.R_OK):
        raise InputError(f"{path} cannot be read.", code="permissions", hint="Check its permissions.")
    return path


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _spool_input(resources: ExitStack) -> Path:
    """Copy standard input into a temporary file, because it is read more than once."""
    if sys.__stdin__ is None or sys.stdin.isatty():
        state = "closed" if sys.__stdin__ is None else "a terminal"
        raise InputError(
            f"Standard input is {state}.", code="no-input", hint="Pipe a table into the command, or pass a file."
        )
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
    """Open a text table; its columns are text and called c0, c1, ... in DuckDB."""
    if source.encoding is not None:
        source = _recode(source)
    elif source.format.compression in ("bz2", "xz"):
        source = _unpack(source)
    head = _read_head(source)
    # Before DuckDB reads anything, because it drops such lines silently.
    _refuse_endless_lines(source)
    prefer = source.format.delimiter
    dialect = find_dialect(head, source.shown, delimiter=source.delimiter, header=source.header, prefer=prefer)
    if source.delimiter is not None and len(dialect.columns) == 1:
        _refuse_wrong_delimiter(source, head)
    # All columns are text: types are decided by the rules for labels, not by DuckDB.
    _read_csv(source, dialect).create_view(VIEW)
    return [Column(name, f"c{j}", "VARCHAR", is_text_cell=True) for j, name in enumerate(dialect.columns)]


def _unpack(source: _Source) -> _Source:
    """Return the source decompressed into a temporary file, for compressions that DuckDB does not read."""
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
        raise InputError(
            f'must be a text encoding, such as "latin-1" or "utf-16"; got {source.encoding!r}.',
            code="encoding",
            parameter="encoding",
        ) from None
    if source.format.compression == "zstd":
        raise InputError(
            f"{source.shown} is compressed by zstd, which is read in UTF-8 only.",
            code="encoding",
            hint="Decompress it first, or compress it by gzip.",
        )
    recoded = _temporary_file(source.resources)
    try:
        with _DECOMPRESSORS[source.format.compression](source.file, "rb") as packed, open(recoded, "wb") as copy:
            text = reader(packed)
            # In parts, so that a large file is not in memory.
            while part := text.read(1 << 20):
                copy.write(part.encode("utf-8"))
    except UnicodeError:
        raise DamagedFileError(
            f"{source.shown} is not text in {source.encoding}.",
            code="encoding",
            hint=("Set another ", Setting("encoding"), "."),
        ) from None
    return replace(source, files=[recoded], format=FileFormat(source.format.name))


def _longest_line(source: _Source) -> int:
    """Return the longest line to read; DuckDB before 2.0 allocates sixteen times as much for every file."""
    if source.format.compression:
        return _LONGEST_PACKED_LINE
    allocates = import_extra("duckdb", "Reading and writing tables").__version__.startswith("1.")
    return _LONGEST_LINE_1 if allocates else _LONGEST_LINE


def _read_csv(source: _Source, dialect: Dialect) -> Any:
    connection: Any = source.connection
    return connection.read_csv(
        source.pattern,
        columns={f"c{j}": "VARCHAR" for j in range(len(dialect.columns) + dialect.trailing)},
        # The dialect is known, so that DuckDB must not guess another one.
        auto_detect=False,
        delimiter=dialect.delimiter,
        header=dialect.header,
        skiprows=dialect.skipped,
        max_line_size=_longest_line(source),
        quotechar='"',
        escapechar='"',
        na_values="",  # other words for missing labels are data in ids and kept columns
        strict_mode=True,
        compression=source.format.compression or "none",
    )


# UTF-32 first: its mark begins with that of UTF-16.
_BYTE_ORDER_MARKS = {
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}


def _read_head(source: _Source) -> str:
    """Return the first lines of a text table; the last of them may end inside a quoted cell."""
    if source.format.compression == "zstd":
        lines = source.connection.sql(
            "SELECT line FROM read_csv($file, columns = {'line': 'VARCHAR'}, auto_detect = false, delim = chr(1), "
            "quote = '', escape = '', header = false, compression = 'zstd') LIMIT 1000",
            params={"file": source.pattern},
        )
        return "\n".join(line or "" for (line,) in lines.fetchall())
    with _DECOMPRESSORS[source.format.compression](source.file, "rb") as packed:
        head = packed.read(_HEAD_BYTES)
    # The last line may be cut in the middle.
    if len(head) == _HEAD_BYTES:
        head = head[: head.rfind(b"\n") + 1 or None]
    encoding = next((name for name, marks in _BYTE_ORDER_MARKS.items() if head.startswith(marks)), None)
    if encoding is not None:
        raise InputError(
            f"{source.shown} is text in {encoding.upper()}.",
            code="encoding",
            hint=("Pass ", Setting("encoding", encoding), ", or save it in UTF-8."),
        )
    if b"\0" in head:
        raise DamagedFileError(
            f"{source.shown} is not a text table.",
            code="not-a-text-table",
            hint=("Set ", Setting("format"), " if it has another format."),
        )
    try:
        return head.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DamagedFileError(f"{source.shown} is not text in UTF-8.", code="encoding", hint=NAME_ENCODING) from None


def _refuse_endless_lines(source: _Source) -> None:
    """Refuse a text table with a line that DuckDB may drop."""
    if source.format.compression is None:
        bound = _longest_line(source) // 2
        endless = _has_endless_window(source.file, bound)
    else:
        bound, endless = _LONGEST_PACKED_LINE, _has_endless_line(source)
    if endless:
        raise DamagedFileError(
            f"{source.shown} has a line of more than {bound >> 20} MB.",
            code="endless-line",
            hint="Check that the file is complete, and that it is a text table.",
        )


def _has_endless_window(file: Path, window: int) -> bool:
    """Return whether some window of this many bytes holds no line end: every line of twice its size covers one."""
    size = file.stat().st_size
    with open(file, "rb") as text:
        # Windows of half the limit: a line that is too long covers at least one of them completely.
        for start in range(0, size - window, window):
            text.seek(start)
            if not any(b"\n" in text.read(_HEAD_BYTES) for _ in range(window // _HEAD_BYTES)):
                return True
    return False


def _has_endless_line(source: _Source) -> bool:
    """Return whether a compressed table has a line that is too long; decompressing is cheap compared with reading."""
    if source.format.compression == "gzip":
        opened: Any = gzip.open(source.file)  # noqa: SIM115
    else:
        arrow = import_extra("pyarrow", "Reading tables compressed by zstd")
        opened = arrow.input_stream(str(source.file), compression="zstd")
    line = 0
    with opened as packed:
        while part := packed.read(_HEAD_BYTES):
            first = part.find(b"\n")
            # The length of the line so far plus what this part adds to it.
            line += len(part) if first < 0 else first
            if line > _LONGEST_PACKED_LINE:
                return True
            line = line if first < 0 else len(part) - part.rfind(b"\n") - 1
    return False


def _refuse_wrong_delimiter(source: _Source, head: str) -> None:
    """Refuse a delimiter that splits nothing where another one does."""
    # The given delimiter splits nothing: does another one?
    detected = find_dialect(head, source.shown, header=source.header)
    if len(detected.columns) > 1:
        raise InputError(
            f"{source.delimiter!r} gives {source.shown} one column, but its lines look delimited by "
            f"{DELIMITERS[detected.delimiter]}.",
            code="delimiter",
            hint=("Pass ", Setting("delimiter", detected.delimiter), ", or omit it."),
        )


def _parquet_view(source: _Source) -> list[Column]:
    relation = source.connection.read_parquet(source.patterns)
    relation.create_view(VIEW)
    return _columns_of(relation, check_names(_parquet_names(source), source.shown))


def _parquet_names(source: _Source) -> list[str]:
    """Return the names of the columns of the first file, without those of nested fields."""
    query = "SELECT name, coalesce(num_children, 0) FROM parquet_schema($file)"
    (_, _), *fields = source.connection.execute(query, {"file": source.patterns[0]}).fetchall()
    names, nested = [], 0
    for name, n_children in fields:
        if not nested:
            names.append(name)
        nested = max(nested - 1, 0) + n_children
    return names


def _number_parquet(source: _Source, columns: list[Column]) -> str | None:
    """Create a view with row numbers over Parquet files, unless the names of their columns prevent it.

    A window function would number the rows too, but only by passing all of them through it in order. The Parquet reader
    provides file and row in the file, and the files' metadata the number of rows before each file.
    """
    # Such names would collide with those of the reader.
    if {"file_index", "file_row_number", ROW} & {column.name.lower() for column in columns}:
        return None
    lengths = dict(
        source.connection.execute(
            "SELECT file_name, num_rows FROM parquet_file_metadata($files)", {"files": source.patterns}
        ).fetchall()
    )
    if not all(str(file) in lengths for file in source.files):
        return None  # DuckDB reports a file under another name
    # Rows before each file, so that numbers continue over files.
    before = np.cumsum([0, *(lengths[str(file)] for file in source.files)])[:-1]
    files = ", ".join(map(quote_text, source.patterns))
    number = f"file_row_number + ({before.tolist()}::BIGINT[])[file_index::BIGINT + 1]"
    source.connection.sql(f"SELECT *, {number} AS {ROW} FROM read_parquet([{files}])").create_view(NUMBERED)
    return NUMBERED


def _arrow_view(source: _Source) -> list[Column]:
    names = check_arrow(source.file, source.shown)
    dataset = import_extra("pyarrow.dataset", "Reading Arrow and Feather files")
    rows = dataset.dataset(str(source.file), format="feather")
    source.connection.register(VIEW, rows)
    return _columns_of(source.connection.table(VIEW), names)


def _columns_of(relation: Any, names: Sequence[str] = ()) -> list[Column]:
    """Return the columns of a relation, with their names in the file: DuckDB changes names that differ by case only."""
    in_relation = zip(relation.columns, relation.types, strict=True)
    return [Column(name or column, column, str(kind)) for name, (column, kind) in zip_longest(names, in_relation)]


def _npy_view(source: _Source) -> list[Column]:
    """Open an array of rows x members, or a vector; it stays on disk until it is queried."""
    return _register_arrays(source, {"": load_npy(source.file, source.shown)})


def _npz_view(source: _Source) -> list[Column]:
    """Open named arrays: a vector is one column, a matrix one column per column."""
    return _register_arrays(source, load_npz(source.file, source.shown))


def _register_arrays(source: _Source, arrays: dict[str, Any]) -> list[Column]:
    vectors: dict[str, Any] = {}
    for name, array in arrays.items():
        if array.ndim == 2:
            columns = {f"{name or 'member'}_{j}": array[:, j] for j in range(array.shape[1])}
        elif array.ndim == 1:
            columns = {name or "member_0": array}
        else:
            raise InputError(
                f"{source.shown} holds an array of {array.ndim} dimensions.",
                code="array-shape",
                hint="Save a matrix of rows x members.",
            )
        for column in columns.keys() & vectors.keys():
            raise InputError(
                f"{source.shown} holds two columns named {column!r}.",
                code="repeated-column",
                hint="Rename one of its arrays.",
            )
        vectors |= columns
    if not vectors or len({len(vector) for vector in vectors.values()}) > 1:
        raise InputError(
            f"{source.shown} must hold arrays of the same length.",
            code="array-shape",
            hint="Save one label per row in each of them.",
        )
    for name, vector in vectors.items():
        # Objects would need pickle, and other types are not labels.
        if vector.dtype.kind not in "iubfUT":
            raise InputError(
                f"{source.shown} holds {name!r} of type {vector.dtype}.",
                code="label-type",
                hint="Save numbers or text.",
            )
    return _register_vectors(source, vectors)


def _h5ad_view(source: _Source) -> list[Column]:
    """Open the cell names and the categorical columns of `obs`."""
    return _register_vectors(source, load_obs(source.file, source.shown))


def _register_vectors(source: _Source, vectors: dict[str, Any]) -> list[Column]:
    # DuckDB reads text from object arrays only.
    arrays = {
        f"c{j}": vector.astype(object) if vector.dtype.kind in "UT" else vector
        for j, vector in enumerate(vectors.values())
    }
    source.connection.register(VIEW, arrays)
    types = _columns_of(source.connection.table(VIEW))
    return [Column(name, column.sql_name, column.sql_type) for name, column in zip(vectors, types, strict=True)]


def _excel_view(source: _Source) -> list[Column]:
    """Open a sheet of a workbook, as the text table that it would be saved as."""
    copied = _temporary_file(source.resources)
    names = copy_sheet(source.file, source.shown, source.sheet, copied)
    if source.sheet is None and len(names) > 1:
        warn(
            f"{source.shown} has {len(names)} sheets ({', '.join(map(repr, names))}); reading the first.",
            code="several-sheets",
            hint=("Set ", Setting("sheet"), " to read another one."),
        )
    return _text_view(replace(source, files=[copied], format=FileFormat("csv"), delimiter=",", encoding=None))


def _json_view(source: _Source) -> list[Column]:
    """Open JSON lines, or one list of records; the columns are detected from the whole file."""
    connection: Any = source.connection
    # Deeper levels would become structures, which are refused below anyway.
    options = {"maximum_depth": 2, "compression": source.format.compression or "uncompressed"}
    # The whole file decides about types: JSON has no schema.
    relation = connection.read_json(source.pattern, sample_size=-1, **options)
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    if all(kind.endswith("]") or kind.startswith("STRUCT") for kind in types.values()):
        raise InputError(
            f"{source.shown} holds lists or objects where cells are expected.",
            code="json-shape",
            hint='Save one object per row, as pandas does: frame.to_json(path, orient="records", lines=True).',
        )
    # Text that looks like a date or a UUID stays as it is written; columns of mixed types become text.
    as_text = {name: "VARCHAR" if kind in _DETECTED_IN_TEXT else kind for name, kind in types.items()}
    if as_text != types:
        relation = connection.read_json(source.pattern, columns=as_text, **options)
    relation.create_view(VIEW)
    return _columns_of(relation)


_DETECTED_IN_TEXT = ("DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "UUID", "JSON")


_OPENERS: dict[str, Callable[[_Source], list[Column]]] = {
    "parquet": _parquet_view,
    "arrow": _arrow_view,
    "npy": _npy_view,
    "npz": _npz_view,
    "h5ad": _h5ad_view,
    "xlsx": _excel_view,
    "json": _json_view,
}
