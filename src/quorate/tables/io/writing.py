"""Write tables: checked before any work, atomic, and streamed where the format allows it."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._runtime.temporary_files import temporary_file, temporary_folder
from quorate._utils.optional_imports import import_extra
from quorate.errors import InputError, Setting
from quorate.persistence.archive import fill_npz
from quorate.tables.io.formats import STREAM, USE_ENDINGS, WRITTEN, FileFormat, explained, find_format
from quorate.tables.io.reading import find_files, is_text

if TYPE_CHECKING:
    import duckdb


# Errors of file systems without hard links.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def check_output(path: str | Path | None, *, force: bool = False, source: str | Path | None = None) -> None:
    """Refuse, before any work, an output that cannot or must not be written.

    It must not be the `source` that is read, one of its files, or a file that would be read with them the next time.
    """
    if path is not None and not isinstance(path, str | os.PathLike):
        raise InputError(
            f"must be the path of the file to write; got {path!r}.",
            code="output-path",
            parameter="out",
            hint=("Pass the number of clusters as ", Setting("n_clusters"), "."),
        )
    if path is not None and str(path) == STREAM and sys.__stdout__ is None:
        raise InputError("Standard output is closed.", code="output-closed", hint="Pass a file to write to.")
    if path is None or str(path) == STREAM:
        return
    target = Path(path)
    if target.is_dir():
        raise InputError(f"The output {target} is a folder.", code="output-folder", hint="Pass a file in it.")
    if not target.parent.is_dir():
        raise InputError(
            f"The folder of the output {target} does not exist.",
            code="no-folder",
            hint=f"Create {target.parent} first.",
        )
    if source is not None and str(source) != STREAM:
        _refuse_input(target, source)
    if target.exists() and target.is_file() and not force:
        raise _exists(target)
    if not os.access(target.resolve().parent, os.W_OK):
        raise InputError(
            f"The folder {target.parent} cannot be written to.", code="permissions", hint="Check its permissions."
        )


def _refuse_input(target: Path, source: str | Path) -> None:
    if any(_same_file(target, file) for file in find_files(source)):
        raise InputError(
            f"The output {target} is the input, or one of its files.",
            code="output-is-input",
            hint="Write to another file.",
        )
    if Path(source).is_dir() and target.resolve().is_relative_to(Path(source).resolve()):
        raise InputError(
            f"The output {target} is in the input folder {source}.",
            code="output-is-input",
            hint="Write to another folder.",
        )
    if not Path(source).exists() and _matches(target, Path(source)):
        raise InputError(
            f"The output {target} matches the input {source}, so the next run would read it.",
            code="output-is-input",
            hint="Write to another file.",
        )


def _matches(target: Path, pattern: Path) -> bool:
    parts, patterns = Path(os.path.abspath(target)).parts, Path(os.path.abspath(pattern)).parts
    if "**" in patterns:
        return fnmatch(os.path.join(*parts), os.path.join(*patterns))
    return len(parts) == len(patterns) and all(map(fnmatch, parts, patterns))


def _same_file(first: Path, second: Path) -> bool:
    with suppress(OSError):
        return first.samefile(second)
    return first.resolve() == second.resolve()


def _exists(target: Path) -> InputError:
    return InputError(
        f"The output {target} exists already.",
        code="output-exists",
        hint=("Pass ", Setting("force", True), " to replace it."),
    )


@contextmanager
def writing(path: str | Path, *, force: bool = True) -> Iterator[Path]:
    """Yield a temporary path to write to, which becomes `path` at the end of the block, or is removed on an error.

    For "-" or a device the content is copied at the end. Without `force`, a file that appeared in the meantime stays.
    """
    target = Path(path)
    streamed = str(path) == STREAM or (target.exists() and not target.is_file())
    target = target if streamed else target.resolve()
    folder = Path(tempfile.gettempdir()) if streamed else target.parent
    try:
        with _plain_name(folder) as plain, temporary_file(plain, target.name) as temporary:
            yield temporary
            if streamed:
                _copy_out(temporary, path)
            elif force:
                os.replace(temporary, target)
            else:
                _create(temporary, target)
    except BrokenPipeError:
        raise
    except OSError as error:
        shown = "Standard output" if str(path) == STREAM else path
        raise InputError(
            f"{shown} cannot be written: {error.strerror or error}.",
            code="cannot-write",
            hint="Check disk space and permissions.",
        ) from error


@contextmanager
def _plain_name(folder: Path) -> Iterator[Path]:
    """Yield the folder, or a link to it if its name is not UTF-8, which writers require."""
    if is_text(folder):
        yield folder
        return
    with temporary_folder() as above:
        link = above / "folder"
        link.symlink_to(folder, target_is_directory=True)
        yield link


def _create(temporary: Path, target: Path) -> None:
    """Move a file to a path where none may exist; a hard link fails where a move would replace."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise _exists(target) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if target.exists():
            raise _exists(target) from None
        os.replace(temporary, target)


def write_text(path: str | Path, text: str, *, force: bool = True) -> None:
    """Write a text file completely, or not at all."""
    with writing(path, force=force) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="replace")  # names of files may not be UTF-8


def make_folder(path: str | Path) -> Path:
    """Create a folder and its parents, unless it exists, and return it."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"The folder {folder} cannot be created: {error.strerror or error}.",
            code="cannot-write",
            hint="Pass another one.",
        ) from error
    return folder


def _copy_out(temporary: Path, path: str | Path) -> None:
    with open(temporary, "rb") as content:
        if str(path) == STREAM:
            shutil.copyfileobj(content, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        else:
            with open(path, "wb") as device:
                shutil.copyfileobj(content, device)


def output_format(path: str | Path, format: str | None = None) -> FileFormat:
    """Return the format in which a table is written: the one given, or by the extension; CSV if there is none."""
    if str(path) == STREAM and format is None:
        return FileFormat("csv")
    kind = find_format(path, format, look=False)
    # Compressions that DuckDB does not write.
    if kind.compression in ("bz2", "xz"):
        raise _unwritable(path, "only .gz and .zst are written compressed", "Use one of them.")
    if kind.compression and not kind.is_text:
        raise _unwritable(path, "only text tables are written compressed", f"Omit {Path(path).suffix}.")
    if kind.name not in WRITTEN:
        raise _unwritable(path, f"{kind.name} is only read", USE_ENDINGS)
    return kind


def _unwritable(path: str | Path, why: str, hint: str) -> InputError:
    return InputError(f"{path} cannot be written: {why}.", code="output-format", hint=hint)


def check_ending(path: str | Path | None, endings: Sequence[str], what: str) -> None:
    """Refuse an output whose extension belongs to another format than the one it is written in."""
    ending = "" if path is None or str(path) == STREAM else Path(path).suffix.lower()
    if path is not None and ending and ending not in endings:
        raise _unwritable(path, f"{what} is written as {endings[0]}", "Use that extension.")


def write_table(
    relation: duckdb.DuckDBPyRelation, path: str | Path, *, format: str | None = None, force: bool = True
) -> None:
    """Write a relation to a file (or "-"), atomically, and streamed where the format allows it."""
    kind = output_format(path, format)
    with writing(path, force=force) as temporary, explained(str(path), "written"):
        if kind.is_text:
            compression = kind.compression or "none"
            relation.write_csv(str(temporary), sep=kind.delimiter, header=True, compression=compression)
        elif kind.name == "parquet":
            relation.write_parquet(str(temporary), compression="zstd")
        else:
            _WRITERS[kind.name](relation, temporary)


def _write_arrow(relation: Any, path: Path) -> None:
    ipc = import_extra("pyarrow.ipc", "Writing Arrow and Feather files")
    # In batches: the table may be larger than memory.
    batches = relation.to_arrow_reader(1 << 16)
    with ipc.new_file(str(path), batches.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _write_npy(relation: Any, path: Path) -> None:
    """Write the numeric columns as a matrix; a single one as a vector."""
    arrays = [_unmasked(array) for array in relation.fetchnumpy().values()]
    numbers = [array for array in arrays if array.dtype.kind in "iubf"]
    if not numbers:
        raise InputError(
            "An NPY file holds numbers only, and no column is numeric.",
            code="output-format",
            hint="Write another format.",
        )
    with open(path, "wb") as file:
        np.save(file, numbers[0] if len(numbers) == 1 else np.column_stack(numbers))


def _write_npz(relation: Any, path: Path) -> None:
    arrays = {name: _unmasked(array) for name, array in relation.fetchnumpy().items()}
    with open(path, "wb") as file:
        fill_npz(file, {name: _plain(array) for name, array in arrays.items()}, compression=zipfile.ZIP_DEFLATED)


def _unmasked(array: Any) -> Any:
    """Return an array without a mask: missing numbers become NaN, missing text becomes empty."""
    # NumPy files have no missing values: NaN for numbers, empty for text.
    if not isinstance(array, np.ma.MaskedArray) or not array.mask.any():
        return np.asarray(array)
    text = array.dtype.kind in "OU"
    return np.ma.filled(array.astype(object if text else np.float64), "" if text else np.nan)


def _plain(array: Any) -> Any:
    return array if array.dtype.kind != "O" else np.array([str(item) for item in array])


_WRITERS: dict[str, Callable[[Any, Path], None]] = {"arrow": _write_arrow, "npy": _write_npy, "npz": _write_npz}
