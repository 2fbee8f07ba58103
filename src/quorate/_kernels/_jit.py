"""Compilation of kernels and the directory that caches compiled code.

The directory is named by a digest of all kernel sources and of their folder: numba only notices changes of the file
that holds a function, not of the kernels that it calls. Within it, one process at a time compiles. Without a lock, two
processes that compile a kernel for different types write to the same file, and one of them later runs code for the
wrong types.
"""

import hashlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from quorate._runtime.file_locks import wait_for_lock
from quorate._runtime.memory import require_address_space

# Measured: numba and LLVM map 750 to 990 MB until all kernels are compiled. LLVM would not raise an error.
require_address_space(1000 << 20, "Compiled code")

import numba  # noqa: E402
import numpy as np  # noqa: E402
from numba.core import event  # noqa: E402

_LONGEST_WAIT = 120.0  # seconds; then a process compiles without the lock rather than never


def jit(function: Callable[..., Any]) -> Any:
    """Compile on first call, cache on disk, release the interpreter lock while running.

    Without a writable cache directory, the kernel is compiled in every process. With NUMBA_DISABLE_JIT=1 it stays a
    Python function.
    """
    return _compile(function)


def jit_fused(function: Callable[..., Any]) -> Any:
    """Compile as `jit` does, with fused multiply-add where the processor has it; no value may be NaN."""
    return _compile(function, fastmath={"contract", "reassoc", "nnan", "nsz"})


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return np.errstate(over="ignore")(function)  # hashes wrap around, as in compiled code
    if CACHE_DIRECTORY is None:
        return numba.njit(nogil=True, **options)(function)
    with _numba_cache_at(CACHE_DIRECTORY):
        return numba.njit(cache=True, nogil=True, **options)(function)


def versioned_directory() -> Path | None:
    """Return the directory of compiled code for this version of the kernels, or None if it cannot be written.

    It is below NUMBA_CACHE_DIR if that is set, else below the user's cache directory.
    """
    folder = Path(__file__).parent
    sources = str(folder).encode() + b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))
    version = f"{numba.__version__}-py{sys.version_info.major}{sys.version_info.minor}"
    try:
        directory = _cache_root() / f"kernels-{version}-{hashlib.sha256(sources).hexdigest()[:12]}"
        directory.mkdir(parents=True, exist_ok=True)
        # Some file systems report permissions that do not hold, so try to write.
        with tempfile.TemporaryFile(dir=directory):
            pass
    except (OSError, RuntimeError):  # not writable, or no home directory
        return None
    return directory


def _cache_root() -> Path:
    chosen = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":  # pragma: no cover - Windows
        return Path(os.environ.get("LOCALAPPDATA", tempfile.gettempdir())) / "quorate"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quorate"


@contextmanager
def _numba_cache_at(directory: Path) -> Iterator[None]:
    """Let numba choose this directory for the kernel that is decorated inside the block."""
    config: Any = numba.config
    # numba reads this setting when a function is decorated, not when it is compiled.
    chosen, config.CACHE_DIR = config.CACHE_DIR, str(directory)
    try:
        yield
    finally:
        config.CACHE_DIR = chosen


class _CompilerLock(event.Listener):
    """Holds a lock between processes as long as this one holds numba's compiler lock: while it reads, compiles, writes.

    numba announces the start before it takes its own lock, so several threads may get here; the first one goes on.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread_lock = threading.RLock()
        self._depth = 0
        self._file: IO[bytes] | None = None

    def on_start(self, event: Any) -> None:
        self._thread_lock.acquire()
        self._depth += 1
        if self._depth == 1:
            self._file = wait_for_lock(self._path, _LONGEST_WAIT)

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self._file is not None:
            self._file.close()
            self._file = None
        self._thread_lock.release()


CACHE_DIRECTORY = None if numba.config.DISABLE_JIT else versioned_directory()  # type: ignore[attr-defined]
"""The directory of compiled code, locked while this process compiles, or None if it cannot be written."""
if CACHE_DIRECTORY is not None:
    event.register("numba:compiler_lock", _CompilerLock(CACHE_DIRECTORY / "lock"))  # type: ignore[no-untyped-call]
