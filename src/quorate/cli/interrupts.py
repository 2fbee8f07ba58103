"""Ctrl-C in the command ends the process immediately.

No exception is raised in the running code: libraries swallow it or turn it into another error, and an interrupted
compiler may crash the process. Ending immediately is safe because output files are moved into place only when they are
complete. Temporary files are removed, a message is printed, and the process exits.
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
INTERRUPT_MESSAGE = "Interrupted. No incomplete file was written; run the same command again."
# Seconds in which the main thread may react; while it runs compiled code it cannot, and another thread exits instead.
_GRACE = 1.0

_ending = threading.RLock()
_noticed = threading.Event()


def exit_on_interrupt() -> bool:
    """Make Ctrl-C end the process from now on; return False if interrupts are ignored, as in background jobs."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return False
    # The wakeup descriptor is written by the signal itself, also while compiled code runs.
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reading,), daemon=True).start()
    signal.signal(signal.SIGINT, lambda *_: _exit())
    return True


def ignore_interrupts() -> None:
    """Ignore interrupts from now on, because the result is complete."""
    with _ending:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _noticed.set()


@contextlib.contextmanager
def keyboard_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt on Ctrl-C inside the block, for code that waits to be stopped by it."""
    before = signal.getsignal(signal.SIGINT)
    _noticed.set()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _noticed.clear()


def _watch(reading: int) -> None:
    """Exit if a signal arrived that the interpreter has not handled in time."""
    while signals := os.read(reading, 1):
        if signals[0] == signal.SIGINT and not _noticed.wait(_GRACE):
            with _ending:
                if not _noticed.is_set():
                    _exit()


def _exit() -> NoReturn:
    """Remove temporary files, print the message and end the process; the lock keeps other threads from doing so."""
    with _ending:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            remove_own()
            tidy = "\r\x1b[K\x1b[?25h" if os.isatty(2) else ""  # clear the progress line, show the cursor
            os.write(2, f"{tidy}Error: {INTERRUPT_MESSAGE}\n".encode())  # bypasses buffers, which may be locked
        finally:
            os._exit(INTERRUPTED)
