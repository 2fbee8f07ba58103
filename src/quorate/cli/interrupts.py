"""Ctrl-C in the command: the process leaves at once.

Nothing is thrown into the work: libraries lose such an exception, or turn it into another error, and a compiler that is
interrupted in the middle may take the process down. It need not be, since a file is moved to its place only when it is
whole: what is held is removed, a sentence is said, and the process ends where it stands.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from typing import NoReturn

from quorate._runtime.temporary_files import remove_own

INTERRUPTED = 130
SENTENCE = "Interrupted; no file is half-written. Run the same command again."
# How long the main thread may take to notice, as it runs compiled code, before another thread leaves in its place.
_GRACE = 1.0

_ending = threading.RLock()
_noticed = threading.Event()


def leave_on_interrupt() -> bool:
    """Let an interrupt end the process from now on; return False where interrupts are ignored, as in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return False
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reading,), daemon=True).start()
    signal.signal(signal.SIGINT, lambda *_: _leave())
    return True


def ignore_interrupts() -> None:
    """Let interrupts pass from now on, since the answer is complete."""
    with _ending:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _noticed.set()


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Let an interrupt raise KeyboardInterrupt inside the block, for work that waits to be ended so."""
    before = signal.getsignal(signal.SIGINT)
    _noticed.set()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _noticed.clear()


def _watch(reading: int) -> None:
    """Leave if a signal came that the interpreter did not get to see."""
    while signals := os.read(reading, 1):
        if signals[0] == signal.SIGINT and not _noticed.wait(_GRACE):
            with _ending:
                if not _noticed.is_set():
                    _leave()


def _leave() -> NoReturn:
    """Remove what is held, say so, and end the process; whoever else wants to leave waits for that."""
    with _ending:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            remove_own()
            tidy = "\r\x1b[K\x1b[?25h" if os.isatty(2) else ""  # the line of the progress, and the cursor it hides
            os.write(2, f"{tidy}Error: {SENTENCE}\n".encode())  # past buffers, which may be in use
        finally:
            os._exit(INTERRUPTED)
