"""Results folders: one append-only file of finished measurements, which any run of the same protocol goes on with."""

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
from quorate.errors import QuorateError

STORE = "results.jsonl"
"""The file in a results folder that keeps the measurements."""
SESSION = "session/"
"""What the keys of runs begin with, among those of measurements."""
Piece = dict[str, Any]
"""One measurement: its `status` ("ok" or what went wrong) and what was found."""


@contextmanager
def open_results(folder: Path, about: Mapping[str, Any], n_jobs: int) -> Iterator[Store]:
    """Open a results folder to add to it; one of another protocol is refused, a full disk explained.

    Parameters
    ----------
    folder : path
    about : mapping
        Everything the measurements depend on, as plain values; `name` is what people call it.
    n_jobs : int
        Number of processes, noted beside the versions of libraries and the time the run took.
    """
    with clear_disk_errors(folder):
        _refuse_other(folder, about)
        with Store(folder / STORE, dict(about)) as store, _session(store, n_jobs):
            yield store


def _refuse_other(folder: Path, about: Mapping[str, Any]) -> None:
    path = folder / STORE
    if not path.exists() or path.stat().st_size == 0:
        return
    try:
        found = peek(path)[0]
    except QuorateError:
        return  # not finished writing its first line, or not ours: the store itself says so
    if found != about:
        raise QuorateError(
            f"{str(folder)!r} holds results of another protocol (spec {found.get('name', 'unknown')!r}, not "
            f"{about['name']!r}, or another version of it); they cannot be mixed. Choose another folder to start anew, "
            "or delete this one."
        )


@contextmanager
def clear_disk_errors(folder: Path) -> Iterator[None]:
    """Say what to do when the results folder cannot be written, or the disk is full."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise QuorateError(
            f"Results cannot be written to {str(folder)!r}: {reason}. What was finished before is kept; make room or "
            "choose another folder, and run the same command again to go on."
        ) from error


@contextmanager
def _session(store: Store, n_jobs: int) -> Iterator[None]:
    """Note when this run was made, for how long, and with which versions, if it added anything."""
    before, start, began = len(store), time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    yield
    if len(store) > before:
        seconds = round(time.perf_counter() - start, 1)
        facts = {"status": "ok", "seconds": seconds, "processes": n_jobs, "versions": _versions()}
        store.add(f"{SESSION}{began}", {**facts, "measurements": len(store) - before})


def _versions() -> dict[str, str]:
    names = ("quorate", "numpy", "scipy", "scikit-learn", "numba")
    return {"Python": platform.python_version(), **{name: version(name) for name in names}}
