"""Locks on open files: held by a process, released by the system when it ends, however it ends.

They work across containers that share a file system, where process ids and host names do not identify a process.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import IO

_POLL_SECONDS = 0.005


def try_lock(file: IO[bytes]) -> bool:
    """Lock an open file exclusively until it is closed; return False if another process holds the lock.

    Raises OSError where the file system has no locks.
    """
    try:
        import fcntl
    except ImportError:  # pragma: no cover - Windows
        return _try_lock_windows(file)
    try:
        # Without waiting: a held lock means that its owner is alive.
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _try_lock_windows(file: IO[bytes]) -> bool:  # pragma: no cover - Windows
    import msvcrt

    try:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except PermissionError:
        return False
    return True


def create_locked(path: Path) -> IO[bytes]:
    """Create a file and lock it; raise FileExistsError if it exists."""
    while True:
        file = open(path, "x+b")  # noqa: SIM115 - stays open as long as the lock is held
        try:
            if try_lock(file) and _is_at(file, path):
                return file
        except OSError:  # no locks on this file system: other processes cannot lock it either
            return file
        file.close()  # another process took it for the file of an ended process and removed it


def lock_abandoned(path: Path) -> IO[bytes] | None:
    """Open and lock an existing file; return None if its owner still holds the lock, or if locks do not work."""
    try:
        file = open(path, "r+b")  # noqa: SIM115 - returned open
    except OSError:
        return None
    try:
        # The path may have been removed and created again since it was opened.
        if try_lock(file) and _is_at(file, path):
            return file
    except OSError:
        pass
    file.close()
    return None


def wait_for_lock(path: Path, seconds: float) -> IO[bytes] | None:
    """Open a file, created if necessary, and lock it; return None without a lock if that takes too long or fails."""
    try:
        file = open(path, "a+b")  # noqa: SIM115 - returned open
    except OSError:
        return None
    # Polling, because a blocking lock could not be given up.
    end = time.monotonic() + seconds
    try:
        while not try_lock(file):
            if time.monotonic() > end:
                break
            time.sleep(_POLL_SECONDS)
        else:
            return file
    except OSError:
        pass
    file.close()
    return None


def _is_at(file: IO[bytes], path: Path) -> bool:
    """Return whether an open file is still the one at its path."""
    try:
        there = os.stat(path)
    except OSError:
        return False
    # Device and inode identify a file, whatever its name.
    here = os.fstat(file.fileno())
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)
