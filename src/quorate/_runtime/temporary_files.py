"""Temporary files and folders that the next run removes if their owner ended without doing so.

Each has a token in its name and, next to it, a file `.quorate-TOKEN.lock` that its owner keeps locked. An unheld
lock marks the files of an ended run. Process IDs are not sufficient: containers that share a folder and a host name
have separate process IDs.
"""

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quorate._runtime.file_locks import create_locked, lock_abandoned

_LOCK = re.compile(r"\.quorate-([0-9a-f]{16})\.lock")
_held: dict[Path, Path] = {}
"""The temporary files and folders of this process, each with its lock."""


@contextmanager
def temporary_file(folder: Path, stem: str) -> Iterator[Path]:
    """Give a path in a folder for a file that is removed at the end of the block."""
    with _owned(folder, f".{stem[:50].encode('ascii', 'replace').decode().replace('?', '_')}.quorate-", ".tmp") as path:
        yield path


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a new folder in the system's folder for temporary files, removed at the end of the block."""
    with _owned(Path(tempfile.gettempdir()), "quorate-") as path:
        path.mkdir(mode=0o700)
        yield path


@contextmanager
def _owned(folder: Path, start: str, end: str = "") -> Iterator[Path]:
    """Give a path with a new token whose lock is held inside the block."""
    # Files of crashed runs are removed by the next one, because a killed process cannot.
    remove_stale(folder)
    token = secrets.token_hex(8)
    path, lock_path = folder / f"{start}{token}{end}", folder / f".quorate-{token}.lock"
    with create_locked(lock_path):
        _held[path] = lock_path
        try:
            yield path
        finally:
            _remove(path)
            _remove(lock_path)
            del _held[path]


def remove_stale(folder: Path) -> None:
    """Remove the temporary files in a folder whose owners, of this user, have ended; errors are ignored."""
    with suppress(OSError), os.scandir(folder) as entries:
        own = [Path(entry.path) for entry in entries if entry.name.find("quorate-") >= 0 and _is_own(entry)]
        for lock_path in own:
            # A lock that can be taken marks an ended run.
            match = _LOCK.fullmatch(lock_path.name)
            lock = lock_abandoned(lock_path) if match and not lock_path.is_symlink() else None
            if match is None or lock is None:
                continue
            with lock:
                # All files with the token of that run.
                named = re.compile(rf"(?:\..*\.)?quorate-{match[1]}(?:\.tmp)?")
                for path in own:
                    if named.fullmatch(path.name):
                        _remove(path)
                _remove(lock_path)


def remove_own() -> None:
    """Remove the temporary files of this process, before it exits without unwinding."""
    for path, lock_path in list(_held.items()):
        _remove(path)
        _remove(lock_path)


def _is_own(entry: "os.DirEntry[str]") -> bool:
    return not hasattr(os, "getuid") or entry.stat(follow_symlinks=False).st_uid == os.getuid()


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
