"""Checkpoints of long work: an SQLite file of finished pieces, each under a key.

A piece is written in one transaction, so that a process killed while it writes loses that piece and nothing else. A
file that belongs to other work is refused and not changed.
"""

import base64
import errno
import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from quorate._runtime.file_locks import try_lock
from quorate.errors import DamagedFileError, InputError, QuorateError

_MAGIC = b"SQLite format 3\0"
_TABLES = """
    CREATE TABLE IF NOT EXISTS about (content TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS pieces (key TEXT NOT NULL UNIQUE, content TEXT NOT NULL, checksum INTEGER NOT NULL);
"""
_SECONDS_TO_WAIT = 30.0  # for a transaction of another process


class Store(Mapping[str, Any]):
    """Finished pieces of work on disk, by key: a mapping to which pieces can only be added.

    Parameters
    ----------
    path : str or path
        The file; created, with its folders, if it does not exist.
    about : dict
        What the pieces depend on (data, versions, parameters), as plain values. A file with other values is refused.

    Notes
    -----
    One process writes at a time; a second one is refused until the first one closes the store. Pieces are plain JSON
    values; see `pack` for arrays.

    Examples
    --------
    >>> import os, tempfile
    >>> from quorate._runtime.checkpoints import Store
    >>> path = os.path.join(tempfile.mkdtemp(), "squares.sqlite")
    >>> with Store(path, {"task": "squares"}) as store:
    ...     store.add("three", 9)
    >>> with Store(path, {"task": "squares"}) as store:
    ...     "three" in store, "four" in store, store["three"]
    (True, False, 9)
    """

    def __init__(self, path: str | PathLike[str], about: dict[str, Any]) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = open(self.path, "a+b")  # noqa: SIM115 - closed by close()
        except OSError as error:
            raise InputError(
                f"{str(path)!r} cannot be written: {error.strerror}.", code="not-writable", hint="Choose another path."
            ) from None
        try:
            self._lock_for_writing()
            self._connection = _connect(self.path)
        except BaseException:
            self._lock.close()
            raise
        try:
            # Through JSON and back, so that tuples compare equal to the lists of the file.
            self._pieces = self._read(json.loads(json.dumps(about)))
        except BaseException:
            self.close()
            raise

    def _lock_for_writing(self) -> None:
        try:
            locked = try_lock(self._lock)
        except OSError:  # no locks on this file system
            locked = True
        if not locked:
            raise InputError(
                f"{str(self.path)!r} is in use by another process.",
                code="checkpoint-in-use",
                hint="Wait for it, or choose another path.",
            )

    def _read(self, about: dict[str, Any]) -> dict[str, Any]:
        """Return the pieces on disk; write `about` into a new file, and compare it with that of an existing one."""
        # An empty file is a new store: `open` for locking has just created it.
        if self.path.stat().st_size == 0:
            with self._transaction():
                self._connection.executescript(f"BEGIN; {_TABLES}")
                self._connection.execute("INSERT INTO about VALUES (?)", (json.dumps(about),))
            return {}
        # Work that differs in any parameter must not continue here.
        content, pieces = _content(self._connection, self.path)
        for name in sorted(about.keys() | content.keys()):
            if about.get(name) != content.get(name):
                raise InputError(
                    f"{str(self.path)!r} belongs to other work: its {name} is {content.get(name)!r}, not "
                    f"{about.get(name)!r}.",
                    code="other-checkpoint",
                    hint="Choose another path, or move the file.",
                )
        return pieces

    def add(self, key: str, piece: Any) -> None:
        """Write a finished piece; it is on disk when this returns."""
        if key in self._pieces:
            raise InputError(
                f"{key!r} is in {str(self.path)!r} already; finished pieces are never replaced.", code="repeated-piece"
            )
        content = json.dumps(piece)
        with self._transaction():
            self._connection.execute("INSERT INTO pieces VALUES (?, ?, ?)", (key, content, _checksum(content)))
        self._pieces[key] = piece

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Commit what the block writes, or nothing of it; a full disk is an `OSError`, as for any other file."""
        try:
            with self._connection:
                yield
        except sqlite3.OperationalError as error:
            raise OSError(errno.EIO, f"the file cannot be written ({error})", str(self.path)) from error

    def __getitem__(self, key: str) -> Any:
        return self._pieces[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pieces)

    def __len__(self) -> int:
        return len(self._pieces)

    def close(self) -> None:
        """Allow another process to write."""
        self._connection.close()
        self._lock.close()  # last: closing a file releases all locks that SQLite has on it

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def peek(path: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a store is about, and its pieces, even while another process adds to it."""
    path = Path(path)
    if not path.exists() or path.stat().st_size == 0:
        raise InputError(f"{str(path)!r} does not exist or is empty: no work is finished there.", code="no-checkpoint")
    with closing(_connect(path)) as connection:
        return _content(connection, path)


def _connect(path: Path) -> sqlite3.Connection:
    """Open a store; refuse a file of another kind without changing it."""
    # Before SQLite opens the file: it would report a foreign file only later, and may change it.
    with open(path, "rb") as file:
        start = file.read(len(_MAGIC))
    if start and start != _MAGIC:
        raise _not_a_store(path)
    # Work may finish in any thread. Data survive a killed process without waiting for the disk.
    connection = sqlite3.connect(path, timeout=_SECONDS_TO_WAIT, check_same_thread=False)
    try:
        connection.execute("PRAGMA synchronous = OFF")
    except sqlite3.DatabaseError:
        connection.close()
        raise _not_a_store(path) from None
    return connection


def _content(connection: sqlite3.Connection, path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a store is about, and its pieces in the order in which they were added."""
    try:
        # One row exactly: anything else is not a file of this package.
        ((about,),) = connection.execute("SELECT content FROM about").fetchall()
        rows = connection.execute("SELECT key, content, checksum FROM pieces ORDER BY rowid").fetchall()
    except (sqlite3.DatabaseError, ValueError):
        raise _not_a_store(path) from None
    texts = [about, *(content for _, content, _ in rows)]
    if not all(isinstance(text, str) for text in texts) or any(_checksum(text) != check for _, text, check in rows):
        raise _not_a_store(path)
    return json.loads(about), {key: json.loads(content) for key, content, _ in rows}


def _checksum(content: str) -> int:
    """SQLite does not notice changed bytes inside of text."""
    return zlib.crc32(content.encode())


def _not_a_store(path: Path) -> QuorateError:
    return DamagedFileError(
        f"{str(path)!r} is damaged or not a file of checkpoints; it was not changed.",
        code="not-a-checkpoint",
        hint="Choose another path, or move the file.",
    )


def pack(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array of numbers as plain JSON values, compressed."""
    array = np.ascontiguousarray(array)
    # Compressed text, because JSON has no bytes; label vectors shrink about tenfold.
    data = base64.b64encode(zlib.compress(array.tobytes())).decode()
    return {"dtype": array.dtype.str, "shape": list(array.shape), "data": data}


def unpack(packed: dict[str, Any]) -> NDArray[Any]:
    """Return the array that `pack` received."""
    data = zlib.decompress(base64.b64decode(packed["data"]))
    return np.frombuffer(data, dtype=packed["dtype"]).reshape(packed["shape"])


def fingerprint(array: NDArray[Any]) -> str:
    """Return a short digest of an array: shape, type and every value."""
    import hashlib

    array = np.ascontiguousarray(array)
    digest = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
    digest.update(array.data)
    return digest.hexdigest()[:16]
