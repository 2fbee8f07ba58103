"""Ctrl-C at any moment: the work unwinds at once, or the process leaves without it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

# How long the work may take to notice before the process leaves without it.
_GRACE = 1.0


class Interrupts:
    """Notice interrupts inside a `with` block, whatever becomes of the KeyboardInterrupt on its way.

    Libraries turn it into errors of their own; `arrived` says that it was there. A signal that the interpreter does not
    get to see, as compiled code is running, is seen by a thread, which calls `leave` after a moment.
    """

    def __init__(self, leave: Callable[[], None]) -> None:
        self.arrived = False
        self._leave = leave
        self._seen = threading.Event()
        self._pipe: tuple[int, int] | None = None
        self._before: Any = None
        self._unraisable = sys.unraisablehook

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is not None:
            self._before = signal.getsignal(signal.SIGINT)
            if self._before is not signal.SIG_IGN:  # as in the background, where nobody can press keys
                self._watch()
        return self

    def _watch(self) -> None:
        self._pipe = os.pipe()
        os.set_blocking(self._pipe[1], False)
        signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
        threading.Thread(target=self._wait, args=(self._pipe[0],), daemon=True).start()
        sys.unraisablehook = self._raise_again
        signal.signal(signal.SIGINT, self._raise)

    def _raise(self, *_: object) -> None:
        self.arrived = True
        self._seen.set()
        raise KeyboardInterrupt

    def _raise_again(self, ignored: Any) -> None:
        """Python loses an exception where it finalises an object or answers a library; not this one."""
        if isinstance(ignored.exc_value, KeyboardInterrupt):
            threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()  # from here it would be lost again
        else:
            self._unraisable(ignored)

    def _wait(self, reading: int) -> None:
        with contextlib.suppress(OSError):
            while signals := os.read(reading, 1):
                if signals[0] == signal.SIGINT and not self._seen.wait(_GRACE):
                    self._leave()
        with contextlib.suppress(OSError):
            os.close(reading)

    def __exit__(self, *exception: object) -> None:
        if self._pipe is not None:
            signal.signal(signal.SIGINT, self._before)
            signal.set_wakeup_fd(-1)
            sys.unraisablehook = self._unraisable
            self._seen.set()
            os.close(self._pipe[1])  # ends the thread
