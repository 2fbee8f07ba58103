"""File formats, and DuckDB's errors about files as errors of this package."""

import errno
import lzma
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from quorate._utils.checks import check_choice
from quorate._utils.optional_imports import import_extra
from quorate.errors import DamagedFileError, InputError, MemoryLimitError, QuorateError, Setting

FORMATS = {
    "csv": (".csv", ".txt"),
    "tsv": (".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "npy": (".npy",),
    "npz": (".npz",),
    "h5ad": (".h5ad",),
    "xlsx": (".xlsx", ".xls", ".ods"),
    "json": (".jsonl", ".ndjson", ".json"),
}
"""Formats and their file extensions."""
_FOREIGN = {
    ".mat": "Load it with scipy.io.loadmat and save its matrix of labels with numpy.save.",
    ".pkl": "Load it in Python and save its labels with numpy.save, or pass them to quorate.consensus.",
    ".rds": "Load it in R and write it with write.csv.",
}
_FOREIGN |= {".pickle": _FOREIGN[".pkl"], ".joblib": _FOREIGN[".pkl"], ".rda": _FOREIGN[".rds"]}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}
"""Extensions of compressed text tables."""
WRITTEN = ("csv", "tsv", "parquet", "arrow", "npy", "npz")
"""Formats in which tables can be written."""
USE_ENDINGS = f"Use one of {', '.join(ending for name in WRITTEN for ending in FORMATS[name])}."
STREAM = "-"
"""The name of standard input and standard output."""

_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\x93NUMPY": "npy", b"PK\x03\x04": "npz"}
_COMPRESSION_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\xfd7zXZ": "xz"}


@dataclass(frozen=True)
class FileFormat:
    """How a file is stored."""

    name: str
    compression: str | None = None

    @property
    def is_text(self) -> bool:
        """Whether this is a text table."""
        return self.name in ("csv", "tsv")

    @property
    def delimiter(self) -> str:
        """The usual delimiter of this format."""
        return "\t" if self.name == "tsv" else ","


def find_format(path: str | Path, given: str | None = None, *, look: bool = True) -> FileFormat:
    """Return the format of a file: the one given, or by its extension, or (`look`) by its first bytes.

    Standard input and files with unknown first bytes are read as CSV. Without `look`, unknown extensions are refused.
    """
    endings = [ending.lower() for ending in Path(path).suffixes]
    compression = COMPRESSIONS.get(endings[-1]) if endings else None
    # "labels.csv.gz" is a compressed CSV file.
    ending = endings[-2] if compression and len(endings) > 1 else "" if compression or not endings else endings[-1]
    if given is not None:
        return FileFormat(check_choice("format", given, tuple(FORMATS)), compression)
    for name, extensions in FORMATS.items():
        if ending in extensions:
            return FileFormat(name, compression)
    # Formats of programs hold objects, which cannot be read safely.
    if look and ending in _FOREIGN:
        raise InputError(
            f"{path} cannot be read: {ending} files hold more than a table.",
            code="foreign-format",
            hint=_FOREIGN[ending],
        )
    if look:
        return _format_by_content(path, compression)
    if ending:
        raise InputError(
            f"{path} cannot be written: {ending} is not a known table format.", code="output-format", hint=USE_ENDINGS
        )
    return FileFormat("csv", compression)


def _format_by_content(path: str | Path, compression: str | None) -> FileFormat:
    try:
        with open(path, "rb") as file:
            start = file.read(8)
    except OSError:
        return FileFormat("csv", compression)
    # The first bytes identify binary formats, whatever the name.
    for magic, name in _MAGIC.items():
        if start.startswith(magic):
            return FileFormat(name)
    for magic, name in _COMPRESSION_MAGIC.items():
        if start.startswith(magic):
            return FileFormat("csv", name)
    return FileFormat("csv", compression)


NAME_ENCODING = ("Save it in UTF-8, or set ", Setting("encoding"), " or ", Setting("format"), ".")


def damaged(problem: str) -> DamagedFileError:
    """Return the error for a file that cannot be read."""
    return DamagedFileError(problem, code="damaged-file", hint="Check that the file is complete.")


@contextmanager
def explained(path: str, what: Literal["read", "written"] = "read") -> Iterator[None]:
    """Turn DuckDB's errors about a file into errors of this package; `what` happened to the file when they occurred."""
    duckdb = import_extra("duckdb", "Reading and writing tables")
    try:
        yield
    except duckdb.InterruptException:  # Ctrl-C inside DuckDB
        raise KeyboardInterrupt from None
    except duckdb.OutOfMemoryException as error:
        raise MemoryLimitError(
            f"{path} does not fit into memory: {_first_line(error)}",
            code="engine-memory",
            hint=(
                "Raise ",
                Setting("memory_limit"),
                ", free disk space in the temporary folder (TMPDIR), or use fewer members.",
            ),
        ) from error
    except duckdb.Error as error:
        raise _translated(str(error), path, what == "written") from error
    except (RuntimeError, UnicodeDecodeError) as error:  # DuckDB 2 and 1.5, for names that are not UTF-8
        if isinstance(error, RuntimeError) and "conversion error" not in str(error):
            raise
        raise DamagedFileError(
            f"{path} has names or cells that are not text in UTF-8.", code="encoding", hint=NAME_ENCODING
        ) from error
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        if what == "written" or isinstance(error, QuorateError):
            raise  # `writing` reports the first
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise InputError(
                f"{path} does not fit into the temporary folder: {error.strerror}.",
                code="disk-full",
                hint="Free space there, or set another folder in TMPDIR.",
            ) from error
        raise damaged(f"{path} cannot be read: {error}.") from error


_FULL_DISK = re.compile("No space left on device|File too large|Disk quota exceeded|Input/output error")


def _translated(message: str, path: str, written: bool = False) -> QuorateError:
    """Return the error for a message of DuckDB."""
    # DuckDB reports a full disk as a general error; the text is all there is.
    full = _FULL_DISK.search(message)
    if full and "write" in message.lower():
        return InputError(
            f"{path} cannot be written completely: {full[0]}.",
            code="disk-full",
            hint="Free disk space there and in the temporary folder (TMPDIR). The incomplete file was removed.",
        )
    if written and "IO Error" in message:
        return InputError(
            f"{path} cannot be written: {_first_line(message)}",
            code="cannot-write",
            hint="Check disk space and permissions.",
        )
    line = re.search(r"CSV Error on Line: (\d+)", message)
    where = f"Line {line[1]} of {path}" if line else path
    # The number of cells in its message shows a wrong delimiter or a ragged line.
    width = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if width:
        expected, cells = int(width[1]), int(width[2])  # DuckDB stops at the first surplus cell
        count = f"more than {expected} cells" if cells > expected else f"{cells} cell{'s' if cells != 1 else ''}"
        return DamagedFileError(
            f"{where} has {count}, and the first line has {expected}.",
            code="ragged-line",
            hint=("Give every line the same number of cells, or set ", Setting("delimiter"), "."),
        )
    if "utf-8" in message.lower() or "unicode" in message.lower():
        return DamagedFileError(f"{where} is not text in UTF-8.", code="encoding", hint=NAME_ENCODING)
    if "reached an invalid state" in message:
        return DamagedFileError(
            f"{where} has a quote or a carriage return inside a cell without quotes.",
            code="csv-syntax",
            hint='Write such cells as "like ""this"" one".',
        )
    if "quote" in message.lower():
        return DamagedFileError(
            f"{where} has a quote that does not close.",
            code="open-quote",
            hint='Write cells with quotes as "like ""this"" one".',
        )
    if "No magic bytes found" in message:
        return DamagedFileError(
            f"{path} is not a Parquet file.",
            code="not-parquet",
            hint=("Check that it is complete, or set its ", Setting("format"), "."),
        )
    return DamagedFileError(
        f"{where} cannot be read: {_first_line(message)}",
        code="damaged-file",
        hint="Check that the file is complete and has the format of its name.",
    )


def _first_line(error: object) -> str:
    line = str(error).partition("\n")[0].strip()
    return line if line.endswith((".", "!", "?")) else line + "."
