"""Long work that resumes: an append-only file of finished pieces, each under a key.

A piece is written in one line with a checksum, so that a process killed in the middle of a write loses that piece and
nothing else. The first line says what the file is about; a file about something else is refused and left alone.
"""

import base64
import json
import zlib
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from quorate.errors import QuorateError


class Store(Mapping[str, Any]):
    """Finished pieces of work on disk, by key: a mapping to which pieces can only be added.

    Parameters
    ----------
    path : str or path
        The file; made, with its folders, if it does not exist.
    about : dict
        What the pieces depend on (data, versions, parameters), as plain values. A file that says otherwise is refused.

    Notes
    -----
    One process writes at a time; a second one is refused while the first is at work. Pieces are plain JSON values; see
    `pack` for arrays.

    Examples
    --------
    >>> import os, tempfile
    >>> from quorate._runtime.checkpoints import Store
    >>> path = os.path.join(tempfile.mkdtemp(), "squares.jsonl")
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
            self._file: IO[bytes] = open(self.path, "a+b")  # noqa: SIM115 - closed by close()
        except OSError as error:
            raise QuorateError(f"{str(path)!r} cannot be written: {error.strerror}. Choose another path.") from None
        try:
            _lock(self._file, self.path)
            self._pieces = self._read(json.loads(json.dumps(about)))
        except BaseException:
            self._file.close()
            raise

    def _read(self, about: dict[str, Any]) -> dict[str, Any]:
        """Return the pieces on disk, and start an empty file; a last line that was not finished is cut off.

        Nothing is written before the first line proves the file ours: it is about the same work, or, where it was not
        finished, the beginning of the very line that would be written now.
        """
        self._file.seek(0)
        content = self._file.read()
        ours = not content or content.startswith(_BEGINNING)
        if ours and _line(["about", about]).startswith(content) and not content.endswith(b"\n"):
            self._file.truncate(0)
            self._write(["about", about])
            return {}
        *lines, torn = content.split(b"\n")
        if not lines:
            raise self._foreign("it was not written by this program")
        records = [self._parse(number, line) for number, line in enumerate(lines, start=1)]
        self._compare(records[0], about)
        if torn:
            self._file.truncate(len(content) - len(torn))
        return dict(records[1:])

    def _parse(self, number: int, line: bytes) -> Any:
        """Return the record of a line."""
        text, _, checksum = line.rpartition(b"\t")
        if checksum != _checksum(text):
            raise self._foreign(f"line {number} is damaged")
        return json.loads(text)

    def _compare(self, first: Any, about: dict[str, Any]) -> None:
        """Refuse a file that is about something else."""
        name, found = first
        if name != "about":
            raise self._foreign("its first line does not say what it is about")
        for name in sorted(about.keys() | found.keys()):
            if about.get(name) != found.get(name):
                raise self._foreign(f"its {name} is {found.get(name)!r}, not {about.get(name)!r}")

    def _foreign(self, why: str) -> QuorateError:
        return QuorateError(
            f"{str(self.path)!r} cannot be resumed: {why}. It was left as it is; choose another path, or move it away."
        )

    def _write(self, record: Any) -> None:
        self._file.write(_line(record))
        self._file.flush()

    def add(self, key: str, piece: Any) -> None:
        """Write a finished piece; from now on it survives whatever happens to this process."""
        if key in self._pieces:
            raise QuorateError(f"{key!r} is in {str(self.path)!r} already; a finished piece is never replaced.")
        self._write([key, piece])
        self._pieces[key] = piece

    def __getitem__(self, key: str) -> Any:
        return self._pieces[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pieces)

    def __len__(self) -> int:
        return len(self._pieces)

    def close(self) -> None:
        """Let another process write."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


# Less than this of a first line might be anybody's.
_BEGINNING = b'["about", {'


def _line(record: Any) -> bytes:
    text = json.dumps(record).encode()
    return text + b"\t" + _checksum(text) + b"\n"


def _checksum(text: bytes) -> bytes:
    return b"%08x" % zlib.crc32(text)


def _lock(file: IO[bytes], path: Path) -> None:
    """Keep other processes from writing to the file until it is closed, where the system can do so."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - not on Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise QuorateError(
            f"{str(path)!r} is being written by another process. Wait for it, or choose another path."
        ) from None


def pack(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array of numbers as plain JSON values, compressed."""
    array = np.ascontiguousarray(array)
    data = base64.b64encode(zlib.compress(array.tobytes())).decode()
    return {"dtype": array.dtype.str, "shape": list(array.shape), "data": data}


def unpack(packed: dict[str, Any]) -> NDArray[Any]:
    """Return the array that `pack` was given."""
    data = zlib.decompress(base64.b64decode(packed["data"]))
    return np.frombuffer(data, dtype=packed["dtype"]).reshape(packed["shape"])


def fingerprint(array: NDArray[Any]) -> str:
    """Return a digest of the shape, type and values of arrays."""
    import hashlib

    array = np.ascontiguousarray(array)
    digest = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
    digest.update(array.data)
    return digest.hexdigest()[:16]


def peek(path: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a file of finished pieces is about, and the pieces, even while another process adds to it.

    An incomplete last line is ignored; nothing is written.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise QuorateError(f"There is no {str(path)!r}; nothing was finished there yet.") from None
    records: list[Any] = []
    for line in content[: content.rfind(b"\n") + 1].splitlines():
        text, _, checksum = line.rpartition(b"\t")
        if checksum != _checksum(text):
            raise QuorateError(f"{str(path)!r} is damaged in line {len(records) + 1}, or not a file of this program.")
        records.append(json.loads(text))
    if not records:
        raise QuorateError(f"{str(path)!r} is empty; nothing was finished there yet.")
    return records[0][1], dict(records[1:])
