"""The formats of files, and the engine's errors about them in plain words."""

import errno
import lzma
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from quorate._utils.checks import nearest_name
from quorate.errors import QuorateError

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
"""Formats and the endings of their files."""
_FOREIGN = {
    ".mat": "Load it with scipy.io.loadmat and save its matrix of labels with numpy.save.",
    ".pkl": "Load it in Python and save its labels with numpy.save, or pass them to quorate.consensus.",
    ".rds": "Load it in R and write it with write.csv.",
}
_FOREIGN |= {".pickle": _FOREIGN[".pkl"], ".joblib": _FOREIGN[".pkl"], ".rda": _FOREIGN[".rds"]}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}
"""Endings of compressed text tables."""
WRITTEN = ("csv", "tsv", "parquet", "arrow", "npy", "npz")
"""Formats in which tables are written."""
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
        """Whether it is a text table."""
        return self.name in ("csv", "tsv")

    @property
    def delimiter(self) -> str:
        """The delimiter of text tables of this format."""
        return "\t" if self.name == "tsv" else ","


def find_format(path: str | Path, given: str | None = None, *, look: bool = True) -> FileFormat:
    """Return the format of a file: the one given, or else by its ending, or else (`look`) by its first bytes.

    Standard input and files whose first bytes tell nothing are taken for CSV; without a look, unknown endings are
    refused.
    """
    endings = [ending.lower() for ending in Path(path).suffixes]
    compression = COMPRESSIONS.get(endings[-1]) if endings else None
    ending = endings[-2] if compression and len(endings) > 1 else "" if compression or not endings else endings[-1]
    if given is not None:
        if given not in FORMATS:
            raise QuorateError(
                f"format must be one of {', '.join(FORMATS)}; got {given!r}.{nearest_name(given, FORMATS)}"
            )
        return FileFormat(given, compression)
    for name, known in FORMATS.items():
        if ending in known:
            return FileFormat(name, compression)
    if look and ending in _FOREIGN:
        raise QuorateError(f"{path} is not read: {ending} files hold more than a table. {_FOREIGN[ending]}")
    if look:
        return _format_by_content(path, compression)
    if ending:
        raise QuorateError(f"{path} cannot be written: {ending} is no known ending of tables. {USE_ENDINGS}")
    return FileFormat("csv", compression)


def _format_by_content(path: str | Path, compression: str | None) -> FileFormat:
    try:
        with open(path, "rb") as file:
            start = file.read(8)
    except OSError:
        return FileFormat("csv", compression)
    for magic, name in _MAGIC.items():
        if start.startswith(magic):
            return FileFormat(name)
    for magic, name in _COMPRESSION_MAGIC.items():
        if start.startswith(magic):
            return FileFormat("csv", name)
    return FileFormat("csv", compression)


NAME_ENCODING = "Save it in UTF-8, name its encoding with encoding=, or its format with format=."


@contextmanager
def explained(path: str, what: Literal["read", "written"] = "read") -> Iterator[None]:
    """Turn the engine's errors about a file into one sentence and a hint; what is `written` has a path of its own."""
    import duckdb

    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.OutOfMemoryException as error:
        raise QuorateError(
            f"{path} does not fit: {_first_line(error)} Raise memory_limit=, free some disk space in the temporary "
            "folder (TMPDIR), or use fewer members."
        ) from error
    except duckdb.Error as error:
        raise QuorateError(_explanation(str(error), path, what == "written")) from error
    except RuntimeError as error:  # what the engine's binding to Python makes of names that are no text
        if "conversion error" not in str(error):
            raise
        raise QuorateError(f"{path} has names or cells that are not text in UTF-8. {NAME_ENCODING}") from error
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        if what == "written":
            raise  # `writing` says so
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise QuorateError(
                f"{path} does not fit into the temporary folder: {error.strerror}. Free some space there, or name "
                "another folder in TMPDIR."
            ) from error
        raise QuorateError(f"{path} cannot be read: {error}. Check that the file is whole.") from error


_FULL_DISK = re.compile("No space left on device|File too large|Disk quota exceeded|Input/output error")


_CHECK_SPACE = "Check space and permissions."


def _explanation(message: str, path: str, written: bool = False) -> str:
    full = _FULL_DISK.search(message)
    if full and "write" in message.lower():
        return (
            f"{path} cannot be finished: {full[0]}. Free some disk space there and in the temporary folder (TMPDIR); "
            "nothing was left behind."
        )
    if written and "IO Error" in message:
        return f"{path} cannot be written: {_first_line(message)} {_CHECK_SPACE}"
    line = re.search(r"CSV Error on Line: (\d+)", message)
    where = f"Line {line[1]} of {path}" if line else path
    width = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if width:
        expected, found = int(width[1]), int(width[2])  # the engine stops at the first cell too many
        what = f"more cells than the first line, which has {expected}" if found > expected else f"{found} cells"
        return (
            f"{where} has {what}{'' if found > expected else f', and the first line {expected}'}. "
            "Give every line the same number of cells, or name the delimiter with delimiter=."
        )
    if "utf-8" in message.lower() or "unicode" in message.lower():
        return f"{where} is not text in UTF-8. {NAME_ENCODING}"
    if "quote" in message.lower():
        return f'{where} has a quote that does not close. Write cells with quotes as "like ""this"" one".'
    return f"{where} cannot be read: {_first_line(message)} Check that the file is whole and of the format it is named."


def _first_line(error: object) -> str:
    line = str(error).partition("\n")[0].strip()
    return line if line.endswith((".", "!", "?")) else line + "."
