"""Work in threads: the newest request of a tab wins, any can be cancelled, and all of them say how far they are."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from queue import Empty, SimpleQueue
from typing import Any

from quorate._runtime import threads
from quorate._runtime.progress import progress

_LOOK_SECONDS = 1.0  # how often to look whether anybody still waits


class Cancelled(BaseException):
    """Raised inside a piece of work that nobody waits for any more."""


class Job:
    """A piece of work in a thread of its own."""

    def __init__(self, work: Callable[[Job], Any]) -> None:
        self.work = work
        self.stage = "waiting"
        self.started = time.monotonic()
        self.cancelled = False
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[Any] = self._loop.create_future()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self, turns: SimpleQueue[None]) -> None:
        """Begin as soon as it is this work's turn."""
        self._thread = threading.Thread(target=self._run, args=(turns,), daemon=True, name="quorate-explore")
        self._thread.start()

    async def wait(self, gone: Callable[[], Awaitable[bool]]) -> Any:
        """Return what the work gave, or raise what it raised; it is given up once who asked for it is gone."""
        while not (await asyncio.wait([self._done], timeout=_LOOK_SECONDS))[0]:
            if await gone():
                self.cancel()
        return await self._done

    def at(self, stage: str) -> None:
        """Say what the work is at; it ends here if nobody waits for it any more."""
        self.stage = stage
        self.check()

    def hear(self, what: str, share: float | None) -> None:
        """Take note of what the library says it is at."""
        self.at(what if share is None else f"{what}: {share:.0%}")

    def check(self) -> None:
        """End the work if nobody waits for it any more."""
        if self.cancelled:
            raise Cancelled

    def cancel(self) -> None:
        """Give the work up: who waits for it hears so at once, and the work itself ends between two of its tasks."""
        with self._lock:
            if self.cancelled:
                return
            self.cancelled = True
        self._settle(None, Cancelled())

    def _run(self, turns: SimpleQueue[None]) -> None:
        while not self._take(turns):
            if self.cancelled:
                return
        try:
            self.check()
            with threads.cancelled_by(self.check), progress(self.hear):
                self._settle(self.work(self), None)
        except BaseException as error:
            self._settle(None, error)
        finally:
            turns.put(None)

    def _take(self, turns: SimpleQueue[None]) -> bool:
        try:
            turns.get(timeout=0.05)
        except Empty:
            return False
        return True

    def _settle(self, value: Any, error: BaseException | None) -> None:
        def settle() -> None:
            if self._done.done():
                return
            if isinstance(error, Cancelled):
                self._done.cancel()
            elif error is not None:
                self._done.set_exception(error)
            else:
                self._done.set_result(value)

        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(settle)


class Jobs:
    """The work that is under way, by the tab that asked for it and the part of the page it is for."""

    def __init__(self, at_once: int = 2) -> None:
        self._turns: SimpleQueue[None] = SimpleQueue()
        for _ in range(at_once):
            self._turns.put(None)
        self._newest: dict[tuple[str, str], Job] = {}

    async def run(self, tab: str, part: str, work: Callable[[Job], Any], gone: Callable[[], Awaitable[bool]]) -> Any:
        """Do some work for a part of a tab's page; what it did for that part before is given up.

        `gone` tells whether the one who asked has left.
        """
        key = (tab, part)
        self.cancel(tab, part)
        job = Job(work)
        self._newest[key] = job
        job.start(self._turns)
        try:
            return await job.wait(gone)
        finally:
            if self._newest.get(key) is job:
                del self._newest[key]

    def cancel(self, tab: str, part: str | None = None) -> int:
        """Cancel what a tab waits for; return how many pieces of work that were."""
        found = [key for key in self._newest if key[0] == tab and part in (None, key[1])]
        for key in found:
            self._newest.pop(key).cancel()
        return len(found)

    def cancel_all(self) -> None:
        """Cancel all work, since the explorer ends."""
        for job in list(self._newest.values()):
            job.cancel()

    def progress(self, tab: str) -> list[dict[str, Any]]:
        """Return what is done for a tab, and for how long."""
        now = time.monotonic()
        return [
            {"part": part, "stage": job.stage, "seconds": round(now - job.started, 1)}
            for (of, part), job in self._newest.items()
            if of == tab
        ]
