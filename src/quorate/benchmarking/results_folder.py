"""Results folders: a store of finished measurements, which every run of the same protocol continues."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from quorate._runtime.checkpoints import Store, peek
from quorate.errors import InputError, QuorateError

STORE = "results.sqlite"
"""The file in a results folder with the measurements."""
SESSION = "session/"
"""Prefix of the keys of runs in the store."""
Piece = dict[str, Any]
"""One measurement: its `status` ("ok" or an error message) and its values."""


@contextmanager
def open_results(folder: Path, about: Mapping[str, Any], n_jobs: int) -> Iterator[Store]:
    """Open a results folder to add to it; raise an error if it belongs to another protocol or cannot be written.

    Parameters
    ----------
    folder : path
    about : mapping
        Everything the measurements depend on, as values for JSON; `name` is the name of the protocol.
    n_jobs : int
        Number of processes, stored with the versions of libraries and the run time.
    """
    with clear_disk_errors(folder):
        _check_protocol(folder, about)
        with Store(folder / STORE, dict(about)) as store, _session(store, n_jobs):
            yield store


def _check_protocol(folder: Path, about: Mapping[str, Any]) -> None:
    path = folder / STORE
    if not path.exists() or path.stat().st_size == 0:
        return
    try:
        stored = peek(path)[0]
    except QuorateError:
        return  # the first line is incomplete, or it is another file: opening the store raises the right error
    if stored != about:
        raise InputError(
            f"{str(folder)!r} contains results of another protocol ({stored.get('name', 'unknown')!r}, not "
            f"{about['name']!r}, or another version of it).",
            code="other-protocol",
            hint="Choose another folder, or delete this one.",
        )


@contextmanager
def clear_disk_errors(folder: Path) -> Iterator[None]:
    """Raise a clear error if the results folder cannot be written or the disk is full."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"Results cannot be written to {str(folder)!r}: {reason}.",
            code="cannot-write",
            hint="Finished measurements are stored. Free disk space, and run the same command again to continue.",
        ) from error


@contextmanager
def _session(store: Store, n_jobs: int) -> Iterator[None]:
    """Store date, duration and library versions of this run, if it added measurements."""
    before, start, began = len(store), time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    yield
    if len(store) > before:
        seconds = round(time.perf_counter() - start, 1)
        run = {"status": "ok", "seconds": seconds, "processes": n_jobs, "versions": _versions()}
        store.add(f"{SESSION}{began}", {**run, "measurements": len(store) - before})


def _versions() -> dict[str, str]:
    names = ("quorate", "numpy", "scipy", "scikit-learn", "numba")
    return {"Python": platform.python_version(), **{name: version(name) for name in names}}
