"""Files nobody vouches for: what they declare is checked before it is believed.

A flipped byte in a binary file may send a reader anywhere in memory or ask for all of it; what is found here is refused
in one sentence, and what passes is safe to read. Formats that cannot be checked beforehand (HDF5, MATLAB's) are read in
a process of their own, which may crash.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from quorate._runtime.memory import require_memory
from quorate._runtime.workers import Failure, run_isolated
from quorate._utils.optional_imports import import_extra, require_extra
from quorate.errors import QuorateError
from quorate.integrations.anndata import candidate_keys

# What a text label costs as an object, beside its letters.
_BYTES_PER_TEXT = 60
_BLOCK = 1 << 20
_LAST_CODE_POINT, _SURROGATES = 0x10FFFF, (0xD800, 0xDFFF)


def check_arrow(file: Path, shown: str) -> None:
    """Refuse an Arrow file of which any offset, index, length or text is not what its format demands."""
    arrow = import_extra("pyarrow", "Reading Arrow and Feather files")
    ipc = import_extra("pyarrow.ipc", "Reading Arrow and Feather files")
    try:
        with arrow.memory_map(str(file)) as mapped:
            reader = ipc.open_file(mapped)
            if len(set(reader.schema.names)) < len(reader.schema.names):
                raise ValueError("several columns have the same name")
            for name in reader.schema.names:
                name.encode()
            for number in range(reader.num_record_batches):
                reader.get_batch(number).validate(full=True)
    except MemoryError:
        raise QuorateError(f"{shown} declares more data than memory holds. Check that the file is whole.") from None
    except Exception as error:  # Arrow passes on whatever the damage leads to
        reason = str(error).partition("\n")[0].rstrip(".")
        raise QuorateError(
            f"{shown} is not an Arrow file, or it is damaged: {reason}. Write it in the IPC file format (Feather "
            "version 2)."
        ) from None


def load_npy(file: Path, shown: str) -> Any:
    """Return the array of an NPY file, which stays on disk until it is read; its text is checked."""
    with _damage_told(shown, "NPY"):
        array = np.load(file, mmap_mode="r", allow_pickle=False)
        if not isinstance(array, np.ndarray):
            array.close()
            raise ValueError("not an array")
        _check_text(array)
        return array


def load_npz(file: Path, shown: str) -> dict[str, Any]:
    """Return the arrays of an NPZ file, if there is memory for all that they declare to hold."""
    with _damage_told(shown, "NPZ"):
        with zipfile.ZipFile(file) as archive:
            needed = sum(_declared_bytes(archive, entry) for entry in archive.infolist())
        require_memory(needed, f"{shown}, unpacked,", "Save the labels as Parquet, which is read as a stream.")
        with open(file, "rb") as opened:
            loaded = np.load(opened, allow_pickle=False)
            arrays = {name: loaded[name] for name in loaded.files}
        for array in arrays.values():
            if not isinstance(array, np.ndarray):
                raise ValueError("not an array")
            _check_text(array)
        return arrays


@contextmanager
def _damage_told(shown: str, kind: str) -> Iterator[None]:
    """Say in one sentence what NumPy says of a broken file in very many ways."""
    try:
        yield
    except QuorateError:
        raise
    except Exception:
        raise QuorateError(
            f"{shown} is not a {kind} file of numbers or text. Save the labels with numpy.save or numpy.savez, not as "
            "objects."
        ) from None


def _declared_bytes(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> int:
    """Return what an array will take in memory by its header, which must agree with the size of the entry."""
    with archive.open(entry) as opened:
        version = np.lib.format.read_magic(opened)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = read[version](opened)
        size = int(np.prod([int(length) for length in shape], dtype=object)) * dtype.itemsize
        if size != entry.file_size - opened.tell():
            raise ValueError("an array is not as large as it declares to be")
    n_cells = size // max(dtype.itemsize, 1)
    return size + (n_cells * (_BYTES_PER_TEXT + dtype.itemsize) if dtype.kind in "UT" else 0)


def _check_text(array: Any) -> None:
    """Refuse text with numbers that stand for no letter."""
    if array.dtype.kind != "U" or array.dtype.itemsize == 0:
        return
    points = array.reshape(-1).view(array.dtype.byteorder.replace("|", "=") + "u4")
    for start in range(0, len(points), _BLOCK):
        block = points[start : start + _BLOCK]
        low, high = _SURROGATES
        if np.any(block > _LAST_CODE_POINT) or np.any((block >= low) & (block <= high)):
            raise ValueError("text with invalid code points")


def load_obs(file: Path, shown: str) -> dict[str, Any]:
    """Return the names of the cells of an AnnData file and the categorical columns of its `obs`, None where missing."""
    require_extra("anndata", "Reading .h5ad files")
    found = run_isolated(_read_obs, file)
    if isinstance(found, Failure):
        raise QuorateError(f"{shown} is not an AnnData file that can be read. Check that it is whole.")
    names, columns = found
    labels = {name: np.array([*categories, None], dtype=object)[codes] for name, (codes, categories) in columns.items()}
    return {"obs_names": names, **labels}


def _read_obs(file: Path) -> tuple[Any, dict[str, tuple[Any, Any]]]:
    """Return the names, and number and text of each category; the counts of genes stay on disk."""
    anndata = import_extra("anndata", "Reading .h5ad files")
    obs = anndata.read_h5ad(file, backed="r").obs
    columns = {name: obs[name].array for name in candidate_keys(obs)}
    return obs.index.to_numpy(dtype=object), {
        name: (np.asarray(column.codes), column.categories.to_numpy(dtype=object)) for name, column in columns.items()
    }


def load_mat(file: Path, shown: str) -> dict[str, Any]:
    """Return the arrays of a MATLAB file: of version 7.3, which is HDF5, or of the versions before."""
    with open(file, "rb") as opened:
        modern = opened.read(128).startswith(b"MATLAB 7.3")
    if modern:
        require_extra("h5py", "MATLAB files of version 7.3")
    found = run_isolated(_read_hdf5 if modern else _read_mat, file)
    if isinstance(found, Failure):
        raise QuorateError(f"{shown} cannot be read as a MATLAB file: {found.status}. Check that it is whole.")
    return found


def _read_hdf5(file: Path) -> dict[str, Any]:
    h5py = import_extra("h5py", "MATLAB files of version 7.3")
    with h5py.File(file, "r") as opened:
        return {name: np.asarray(item).T for name, item in opened.items() if hasattr(item, "shape")}


def _read_mat(file: Path) -> dict[str, Any]:
    from scipy.io import loadmat

    return {name: np.asarray(array) for name, array in loadmat(file).items() if not name.startswith("__")}
