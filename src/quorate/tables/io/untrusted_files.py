"""Checks of binary files before they are trusted.

A damaged or hostile binary file may send a reader anywhere in memory, or make it allocate far more than the file's own
size. The declared sizes are checked first. Formats that cannot be checked beforehand (HDF5, MATLAB, Excel) are read in
a separate process, which may crash.
"""

from __future__ import annotations

import csv
import mmap
import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from quorate._runtime.memory import available_memory, format_bytes, require_memory
from quorate._runtime.workers import Failure, run_isolated
from quorate._utils.optional_imports import import_extra, require_extra
from quorate.errors import DamagedFileError, InputError, MemoryLimitError, QuorateError, Setting
from quorate.integrations.anndata import candidate_keys
from quorate.tables.io.dialect import check_names
from quorate.tables.io.formats import damaged

# Size of a Python text object without its characters.
_BYTES_PER_TEXT = 60
_BLOCK = 1 << 20
_LAST_CODE_POINT, _SURROGATES = 0x10FFFF, (0xD800, 0xDFFF)


# Arrow's scanner decodes this many batches in advance.
_BATCHES_AHEAD = 20


def check_arrow(file: Path, shown: str) -> tuple[str, ...]:
    """Return the names of the columns of an Arrow file.

    A file with an invalid offset, index, length or text, or that decompresses to too much, is refused.
    """
    arrow = import_extra("pyarrow", "Reading Arrow and Feather files")
    ipc = import_extra("pyarrow.ipc", "Reading Arrow and Feather files")
    try:
        sizes = arrow_batch_sizes(file)
        require_memory(
            min(sum(sizes), _BATCHES_AHEAD * max(sizes, default=0)),
            f"Decompressing {shown}",
            "Write it with more and smaller record batches, or as Parquet.",
        )
        with arrow.memory_map(str(file)) as mapped:
            reader = ipc.open_file(mapped)
            names = check_names(reader.schema.names, shown)
            for name in names:
                name.encode()
            for number in range(reader.num_record_batches):
                reader.get_batch(number).validate(full=True)
            return names
    except QuorateError:
        raise
    except MemoryError:
        raise damaged(f"{shown} declares more data than memory holds.") from None
    except Exception as error:  # Arrow passes on whatever the damage leads to
        reason = str(error).partition("\n")[0].rstrip(".")
        raise DamagedFileError(
            f"{shown} is not an Arrow file, or it is damaged: {reason}.",
            code="damaged-file",
            hint="Write it in the IPC file format (Feather version 2).",
        ) from None


def arrow_batch_sizes(file: Path) -> list[int]:
    """Return the number of bytes to which the compressed buffers of each batch of an Arrow file decompress.

    Arrow's Python interface has no access to them without decompressing. The footer lists the blocks of dictionaries
    and record batches; the metadata of a block list its buffers, and a compressed buffer starts with its real size.
    """
    if file.stat().st_size == 0:
        raise ValueError("the file is empty")
    with open(file, "rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        (length,) = struct.unpack_from("<i", data, len(data) - 10)
        footer = _Flatbuffer(data, len(data) - 10 - length).root
        blocks = [block for field in (2, 3) for block in footer.structs(field, "<qi4xq")]
        return [_decompressed_bytes(data, offset, metadata) for offset, metadata, _ in blocks]


def _decompressed_bytes(data: mmap.mmap, offset: int, metadata: int) -> int:
    """Return the real size of the compressed buffers of a block; 0 if they are not compressed."""
    prefix = 8 if data[offset : offset + 4] == b"\xff" * 4 else 4  # older files have no continuation marker
    message = _Flatbuffer(data, offset + prefix).root
    batch = message.table(2)
    if message.byte(1) == _DICTIONARY_BATCH:
        batch = batch.table(1)
    if not batch.has(3):  # no compression
        return 0
    starts = [offset + metadata + start for start, length in batch.structs(2, "<qq") if length > 8]
    return sum(max(struct.unpack_from("<q", data, start)[0], 0) for start in starts)  # -1: stored as it is


_DICTIONARY_BATCH = 2


class _Flatbuffer:
    """A table of a FlatBuffers message: fields are found by number through the table's own list of offsets."""

    def __init__(self, data: mmap.mmap, position: int) -> None:
        self.data, self.position = data, position

    @property
    def root(self) -> _Flatbuffer:
        """The table that the message starts with."""
        return self._target(self.position)

    def _unpack(self, kind: str, position: int) -> int:
        if not 0 <= position < len(self.data):
            raise ValueError("an offset points outside of the file")
        return int(struct.unpack_from(kind, self.data, position)[0])

    def _target(self, position: int) -> _Flatbuffer:
        return _Flatbuffer(self.data, position + self._unpack("<I", position))

    def _field(self, number: int) -> int:
        """Return where a field is stored, 0 if it is absent."""
        offsets = self.position - self._unpack("<i", self.position)
        entry = 4 + 2 * number
        if entry >= self._unpack("<H", offsets):
            return 0
        offset = self._unpack("<H", offsets + entry)
        return self.position + offset if offset else 0

    def has(self, number: int) -> bool:
        """Return whether a field is present."""
        return self._field(number) > 0

    def byte(self, number: int) -> int:
        """Return a field of one byte, 0 if it is absent."""
        position = self._field(number)
        return self._unpack("<B", position) if position else 0

    def table(self, number: int) -> _Flatbuffer:
        """Return a field that is a table."""
        return self._target(self._field(number))

    def structs(self, number: int, kind: str) -> list[tuple[int, ...]]:
        """Return a field that is a list of structures."""
        position = self._field(number)
        if not position:
            return []
        first = self._target(position).position
        n, size = self._unpack("<I", first), struct.calcsize(kind)
        return [struct.unpack_from(kind, self.data, first + 4 + i * size) for i in range(n)]


def copy_sheet(file: Path, shown: str, sheet: str | int | None, target: Path) -> list[str]:
    """Write a sheet of a workbook to a CSV file, and return the names of all sheets.

    A workbook of 1 KB may declare a sheet of 500 GB, and its reader ends the whole process where memory is exhausted.
    So it is read in a separate process that cannot allocate more than the memory available.
    """
    require_extra("python_calamine", "Reading Excel files")
    limit = available_memory()
    result = run_isolated(_copy_sheet, (file, sheet, target, limit))
    if isinstance(result, Failure):
        raise MemoryLimitError(
            f"{shown} needs more than {format_bytes(limit)} of memory to be read.",
            code="workbook-memory",
            hint=("Delete empty rows and columns, save the sheet as CSV, or raise ", Setting("memory_limit"), "."),
        )
    if result is None:
        raise DamagedFileError(
            f"{shown} is not a workbook that can be read.", code="damaged-file", hint="Save its sheet as CSV."
        )
    names = [str(name) for name in result]
    if (isinstance(sheet, str) and sheet not in names) or (isinstance(sheet, int) and not 0 <= sheet < len(names)):
        raise InputError(
            f"must be one of {', '.join(map(repr, names))}, or a number from 0 to {len(names) - 1}; got {sheet!r}.",
            code="sheet",
            parameter="sheet",
        )
    return names


def _copy_sheet(task: tuple[Path, str | int | None, Path, int]) -> list[str] | None:
    """Copy a sheet in a process that may use `limit` bytes more than it has; None if the workbook is damaged."""
    file, sheet, target, limit = task
    calamine = import_extra("python_calamine", "Reading Excel files")
    _limit_memory(limit)
    try:
        book = calamine.CalamineWorkbook.from_path(str(file))
        names = list(book.sheet_names)
        choices = names if sheet is None or isinstance(sheet, str) else range(len(names))
        if sheet is not None and sheet not in choices:
            return names
        rows = book.get_sheet_by_name(sheet) if isinstance(sheet, str) else book.get_sheet_by_index(sheet or 0)
        with open(target, "w", encoding="utf-8", newline="") as copied:
            writer = csv.writer(copied)
            # Empty rows and columns before the first cell are part of the sheet.
            writer.writerows([_as_text(cell) for cell in row] for row in rows.to_python())
    except (calamine.CalamineError, OSError, ValueError, IndexError):
        return None
    return names


def _limit_memory(n_bytes: int) -> None:
    """Let this process allocate `n_bytes` more than it has, where the system can limit that."""
    try:
        import resource

        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + n_bytes, used + n_bytes))
    except (ImportError, OSError, ValueError):
        pass


def _as_text(cell: Any) -> str:
    """Return a cell of a workbook, which has no integers, as it is displayed."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def load_npy(file: Path, shown: str) -> Any:
    """Return the array of an NPY file, memory-mapped, after checking its text."""
    with _numpy_errors(shown, "NPY"):
        array = np.load(file, mmap_mode="r", allow_pickle=False)
        if not isinstance(array, np.ndarray):
            array.close()
            raise ValueError("not an array")
        _check_text(array)
        return array


def load_npz(file: Path, shown: str) -> dict[str, Any]:
    """Return the arrays of an NPZ file, if there is memory for what they declare."""
    with _numpy_errors(shown, "NPZ"):
        with zipfile.ZipFile(file) as archive:
            # Headers are checked before anything is decompressed: a small archive may declare terabytes.
            needed = sum(_declared_bytes(archive, entry) for entry in archive.infolist())
        require_memory(needed, f"Decompressing {shown}", "Save the labels as Parquet, which is streamed.")
        with open(file, "rb") as opened:
            loaded = np.load(opened, allow_pickle=False)
            arrays = {name: loaded[name] for name in loaded.files}
        for array in arrays.values():
            if not isinstance(array, np.ndarray):
                raise ValueError("not an array")
            _check_text(array)
        return arrays


@contextmanager
def _numpy_errors(shown: str, kind: str) -> Iterator[None]:
    """Turn the many errors that NumPy raises for a damaged file into one."""
    try:
        yield
    except QuorateError:
        raise
    except Exception:
        raise DamagedFileError(
            f"{shown} is not an {kind} file of numbers or text.",
            code="damaged-file",
            hint="Save the labels with numpy.save or numpy.savez, not as objects.",
        ) from None


def _declared_bytes(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> int:
    """Return the memory of an array by its header, which must agree with the size of the entry."""
    with archive.open(entry) as opened:
        version = np.lib.format.read_magic(opened)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = read[version](opened)
        # Python integers, because products of declared sizes may overflow.
        size = int(np.prod([int(length) for length in shape], dtype=object)) * dtype.itemsize
        if size != entry.file_size - opened.tell():
            raise ValueError("an array is not as large as it declares to be")
    n_cells = size // max(dtype.itemsize, 1)
    # Text becomes Python objects later, which need more memory than the array.
    return size + (n_cells * (_BYTES_PER_TEXT + dtype.itemsize) if dtype.kind in "UT" else 0)


def _check_text(array: Any) -> None:
    """Refuse text with invalid code points."""
    if array.dtype.kind != "U" or array.dtype.itemsize == 0:
        return
    points = array.reshape(-1).view(array.dtype.byteorder.replace("|", "=") + "u4")
    for start in range(0, len(points), _BLOCK):
        block = points[start : start + _BLOCK]
        low, high = _SURROGATES
        if np.any(block > _LAST_CODE_POINT) or np.any((block >= low) & (block <= high)):
            raise ValueError("text with invalid code points")


def load_obs(file: Path, shown: str) -> dict[str, Any]:
    """Return the cell names of an AnnData file and the categorical columns of its `obs`, None where missing."""
    require_extra("anndata", "Reading .h5ad files")
    # In its own process: HDF5 crashes on some damaged files.
    result = run_isolated(_read_obs, file)
    if isinstance(result, Failure):
        raise damaged(f"{shown} is not an AnnData file that can be read.")
    names, columns = result
    labels = {name: np.array([*categories, None], dtype=object)[codes] for name, (codes, categories) in columns.items()}
    return {"obs_names": names, **labels}


def _read_obs(file: Path) -> tuple[Any, dict[str, tuple[Any, Any]]]:
    """Return the names, and codes and categories of each column; the count matrix stays on disk."""
    anndata = import_extra("anndata", "Reading .h5ad files")
    obs = anndata.read_h5ad(file, backed="r").obs
    columns = {name: obs[name].array for name in candidate_keys(obs)}
    return obs.index.to_numpy(dtype=object), {
        name: (np.asarray(column.codes), column.categories.to_numpy(dtype=object)) for name, column in columns.items()
    }


def load_mat(file: Path, shown: str) -> dict[str, Any]:
    """Return the arrays of a MATLAB file of version 7.3, which is HDF5, or of an earlier version."""
    with open(file, "rb") as opened:
        modern = opened.read(128).startswith(b"MATLAB 7.3")
    if modern:
        require_extra("h5py", "MATLAB files of version 7.3")
    result = run_isolated(_read_hdf5 if modern else _read_mat, file)
    if isinstance(result, Failure):
        raise damaged(f"{shown} cannot be read as a MATLAB file: {result.status}.")
    return result


def _read_hdf5(file: Path) -> dict[str, Any]:
    h5py = import_extra("h5py", "MATLAB files of version 7.3")
    with h5py.File(file, "r") as opened:
        return {name: np.asarray(item).T for name, item in opened.items() if hasattr(item, "shape")}


def _read_mat(file: Path) -> dict[str, Any]:
    from scipy.io import loadmat

    return {name: np.asarray(array) for name, array in loadmat(file).items() if not name.startswith("__")}
