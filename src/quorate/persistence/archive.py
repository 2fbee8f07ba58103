"""Saved models: one NPZ file of plain arrays with a manifest; nothing in it is ever executed.

The array `manifest` is JSON in UTF-8 and says `format` ("quorate-model"), `version`, `kind`, and what else is needed to
make sense of the other arrays, which are numbers; text is JSON in UTF-8 again.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from quorate._runtime.temporary_files import temporary_file
from quorate.errors import QuorateError

FORMAT, VERSION = "quorate-model", 1
Arrays = dict[str, NDArray[Any]]
Archive = tuple[dict[str, Any], Arrays]
"""What a manifest says beside format and version, and the other arrays."""


def text_array(value: Any) -> NDArray[np.uint8]:
    """Return plain values as an array of the bytes of their JSON."""
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def array_text(array: NDArray[Any]) -> Any:
    """Return the plain values that `text_array` was given."""
    return json.loads(array.tobytes())


def fill_npz(file: BinaryIO, arrays: Arrays, *, compression: int = zipfile.ZIP_STORED) -> None:
    """Write arrays of any names to an open file; `numpy.savez` knows some of the names as its own parameters."""
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def fill_archive(file: BinaryIO, archive: Archive) -> None:
    """Write an archive to an open file."""
    manifest, arrays = archive
    fill_npz(file, {"manifest": text_array({"format": FORMAT, "version": VERSION, **manifest}), **arrays})


def write_archive(path: str | Path, archive: Archive) -> None:
    """Write an archive to a file, whole or not at all; a file of that name is replaced."""
    target = Path(path).resolve()
    if target.is_dir():
        raise QuorateError(f"{path} is a folder. Name a file in it, such as model.npz.")
    try:
        with temporary_file(target.parent, target.name) as temporary:
            with open(temporary, "wb") as file:
                fill_archive(file, archive)
            os.replace(temporary, target)
    except OSError as error:
        raise QuorateError(
            f"{path} cannot be written: {error.strerror or error}. Check folder, space and permissions."
        ) from error


def open_archive(path: str | Path, arrays: Arrays, unpack: Callable[[Archive], Any]) -> Any:
    """Return what `unpack` makes of the arrays read from a file, or say why they are no model."""
    try:
        require(all(array.dtype.kind in "iuf" and np.isfinite(array).all() for array in arrays.values()))
        manifest = array_text(arrays.pop("manifest"))
        if manifest["format"] != FORMAT or manifest["version"] != VERSION:
            raise QuorateError(
                f"{path} is no model in version {VERSION} of the format {FORMAT} (it says {manifest['format']!r}, "
                f"{manifest['version']!r}). Save it again with this version of Quorate."
            )
        return unpack((manifest, arrays))
    except (KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
        if isinstance(error, QuorateError):
            raise
        raise damaged(path) from error


def damaged(path: str | Path) -> QuorateError:
    """Return what to say of a file that holds no model."""
    return QuorateError(f"{path} is no saved model, or it is damaged. Save the model again.")


def require(*conditions: Any) -> None:
    """Refuse arrays that do not fit each other."""
    if not all(bool(condition) for condition in conditions):
        raise ValueError


def plain_parameters(parameters: dict[str, Any], what: str) -> dict[str, Any]:
    """Return the parameters of an estimator as plain values, or say which one cannot be saved."""
    plain = {}
    for name, value in parameters.items():
        value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        try:
            json.dumps(value)
        except TypeError:
            raise QuorateError(
                f"{what} cannot be saved with {name} = {value!r}; numbers, text and lists of them can."
            ) from None
        plain[name] = value
    return plain
