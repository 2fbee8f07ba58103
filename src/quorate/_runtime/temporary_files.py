"""Temporary files and folders that name the process they belong to, so that the next run clears what a dead one left.

A name holds the machine and the process: `quorate-MACHINE-PROCESS-TOKEN`. What belongs to a process of this machine and
this user that is no longer there is removed; two runs at once leave each other alone.
"""

import os
import re
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MACHINE = re.sub(r"[^A-Za-z0-9]", "", socket.gethostname()) or "here"
_OURS = re.compile(rf"(?:\..*\.)?quorate-{_MACHINE}-(\d+)-[0-9a-f]+(?:\.tmp)?")
_held: set[Path] = set()


def _name() -> str:
    return f"quorate-{_MACHINE}-{os.getpid()}-{secrets.token_hex(6)}"


@contextmanager
def temporary_file(folder: Path, stem: str) -> Iterator[Path]:
    """Give a path in a folder for a file that is there no more at the end of the block."""
    remove_stale(folder)
    path = folder / f".{stem[:50].encode('ascii', 'replace').decode().replace('?', '_')}.{_name()}.tmp"
    _held.add(path)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        _held.discard(path)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a new folder in the system's place for such folders, gone at the end of the block."""
    above = Path(tempfile.gettempdir())
    remove_stale(above)
    path = above / _name()
    _held.add(path)
    try:
        path.mkdir(mode=0o700)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        _held.discard(path)


def remove_stale(folder: Path) -> None:
    """Remove what dead processes of this user left in a folder; what cannot be removed stays."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = _OURS.fullmatch(entry.name)
            if match and not _is_alive(int(match[1])) and _is_own(entry):
                _remove(Path(entry.path))


def remove_own() -> None:
    """Remove what this process holds, before it leaves without unwinding."""
    for path in list(_held):
        _remove(path)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it belongs to somebody else
        return True
    return True


def _is_own(entry: "os.DirEntry[str]") -> bool:
    return not hasattr(os, "getuid") or entry.stat(follow_symlinks=False).st_uid == os.getuid()


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
