"""The format of saved models: one NPZ file of plain arrays with a manifest; loading it executes nothing.

The array `manifest` is JSON in UTF-8. It has `format` ("quorate-model"), `version`, `kind`, and what is needed to
interpret the other arrays. Those are numbers; text is JSON in UTF-8 again.
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
from quorate.errors import DamagedFileError, InputError, QuorateError

FORMAT, VERSION = "quorate-model", 1
Arrays = dict[str, NDArray[Any]]
Archive = tuple[dict[str, Any], Arrays]
"""The manifest without format and version, and the other arrays."""


def text_array(value: Any) -> NDArray[np.uint8]:
    """Return plain values as an array of the bytes of their JSON."""
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def array_text(array: NDArray[Any]) -> Any:
    """Return the plain values that `text_array` encoded."""
    return json.loads(array.tobytes())


def fill_npz(file: BinaryIO, arrays: Arrays, *, compression: int = zipfile.ZIP_STORED) -> None:
    """Write arrays to an open file, under any names; `numpy.savez` reserves some names for its parameters."""
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def fill_archive(file: BinaryIO, archive: Archive) -> None:
    """Write an archive to an open file."""
    manifest, arrays = archive
    fill_npz(file, {"manifest": text_array({"format": FORMAT, "version": VERSION, **manifest}), **arrays})


def write_archive(path: str | Path, archive: Archive) -> None:
    """Write an archive to a file, completely or not at all; an existing file is replaced."""
    target = Path(path).resolve()
    if target.is_dir():
        raise InputError(f"{path} is a folder.", code="output-folder", hint="Pass a file in it, such as model.npz.")
    try:
        # Written next to the target and renamed: a reader never finds half a file.
        with temporary_file(target.parent, target.name) as temporary:
            with open(temporary, "wb") as file:
                fill_archive(file, archive)
            os.replace(temporary, target)
    except OSError as error:
        raise InputError(
            f"{path} cannot be written: {error.strerror or error}.",
            code="cannot-write",
            hint="Check folder, disk space and permissions.",
        ) from error


def open_archive(path: str | Path, arrays: Arrays, unpack: Callable[[Archive], Any]) -> Any:
    """Return what `unpack` builds from the arrays of a file; raise an error if they are not a model."""
    try:
        # Only finite numbers: anything else was not written by this package.
        require(all(array.dtype.kind in "iuf" and np.isfinite(array).all() for array in arrays.values()))
        manifest = array_text(arrays.pop("manifest"))
        if manifest["format"] != FORMAT or manifest["version"] != VERSION:
            raise DamagedFileError(
                f"{path} is not a model in version {VERSION} of the format {FORMAT}; it declares "
                f"{manifest['format']!r}, version {manifest['version']!r}.",
                code="saved-format",
                hint="Save it again with this version of Quorate.",
            )
        return unpack((manifest, arrays))
    except (KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
        # Damaged arrays fail in many ways; all of them mean the same to the user.
        if isinstance(error, QuorateError):
            raise
        raise damaged(path) from error


def damaged(path: str | Path) -> DamagedFileError:
    """Return the error for a file without a valid model."""
    return DamagedFileError(
        f"{path} is not a saved model, or it is damaged.", code="damaged-model", hint="Save the model again."
    )


def require(*conditions: Any) -> None:
    """Raise an error if arrays do not fit each other."""
    if not all(bool(condition) for condition in conditions):
        raise ValueError


def plain_parameters(parameters: dict[str, Any], what: str) -> dict[str, Any]:
    """Return the parameters of an estimator as plain values; raise an error if one cannot be saved."""
    plain = {}
    for name, value in parameters.items():
        # Arrays of parameters, such as weights, become lists.
        value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        try:
            json.dumps(value)
        except TypeError:
            raise InputError(
                f"{what} cannot be saved with {name}={value!r}.",
                code="not-savable",
                hint="Numbers, text and lists of them can be saved.",
            ) from None
        plain[name] = value
    return plain
