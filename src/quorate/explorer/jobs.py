"""Jobs in threads: a newer request of a tab replaces an older one; jobs report progress and can be cancelled."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from queue import Empty, SimpleQueue
from typing import Any

from quorate._runtime import threads
from quorate._runtime.progress import progress

_POLL_SECONDS = 1.0  # interval of the check whether the client is still connected


class Cancelled(BaseException):
    """Raised inside a job that was cancelled."""


class Job:
    """A function call in its own thread."""

    def __init__(self, work: Callable[[Job], Any]) -> None:
        self.work = work
        self.stage = "waiting"
        self.started = time.monotonic()
        self.cancelled = False
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[Any] = self._loop.create_future()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self, slots: SimpleQueue[None]) -> None:
        """Start the thread; the work begins when a slot is free."""
        self._thread = threading.Thread(target=self._run, args=(slots,), daemon=True, name="quorate-explore")
        self._thread.start()

    async def wait(self, disconnected: Callable[[], Awaitable[bool]]) -> Any:
        """Return the result of the work, or raise its error; cancel it once the client has disconnected."""
        # Polling, because a browser that leaves is noticed only when asked.
        while not (await asyncio.wait([self._done], timeout=_POLL_SECONDS))[0]:
            if await disconnected():
                self.cancel()
        return await self._done

    def enter(self, stage: str) -> None:
        """Set the stage of the work; raise `Cancelled` if the job was cancelled."""
        self.stage = stage
        self.check()

    def on_progress(self, stage: str, share: float | None) -> None:
        """Take the progress that the library reports."""
        self.enter(stage if share is None else f"{stage}: {share:.0%}")

    def check(self) -> None:
        """Raise `Cancelled` if the job was cancelled."""
        if self.cancelled:
            raise Cancelled

    def cancel(self) -> None:
        """Cancel the job: waiters are notified immediately, the work ends between two of its tasks."""
        with self._lock:
            if self.cancelled:
                return
            self.cancelled = True
        self._settle(None, Cancelled())

    def _run(self, slots: SimpleQueue[None]) -> None:
        # Wait for a slot, but notice cancellation.
        while not self._take(slots):
            if self.cancelled:
                return
        try:
            self.check()
            # Both cancellation and progress reach the kernels through context variables.
            with threads.cancelled_by(self.check), progress(self.on_progress):
                self._settle(self.work(self), None)
        except BaseException as error:
            self._settle(None, error)
        finally:
            slots.put(None)

    def _take(self, slots: SimpleQueue[None]) -> bool:
        try:
            slots.get(timeout=0.05)
        except Empty:
            return False
        return True

    def _settle(self, value: Any, error: BaseException | None) -> None:
        # Futures belong to the event loop and are settled there.
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
    """The running jobs, by browser tab and part of the page."""

    def __init__(self, concurrent: int = 2) -> None:
        self._slots: SimpleQueue[None] = SimpleQueue()
        for _ in range(concurrent):
            self._slots.put(None)
        self._newest: dict[tuple[str, str], Job] = {}

    async def run(
        self, tab: str, part: str, work: Callable[[Job], Any], disconnected: Callable[[], Awaitable[bool]]
    ) -> Any:
        """Run work for a part of a tab's page; an older job for the same part is cancelled.

        `disconnected` returns whether the client has left.
        """
        key = (tab, part)
        # A newer request makes the older one useless.
        self.cancel(tab, part)
        job = Job(work)
        self._newest[key] = job
        job.start(self._slots)
        try:
            return await job.wait(disconnected)
        finally:
            # A newer job may have replaced this one already.
            if self._newest.get(key) is job:
                del self._newest[key]

    def cancel(self, tab: str, part: str | None = None) -> int:
        """Cancel the jobs of a tab; return their number."""
        keys = [key for key in self._newest if key[0] == tab and part in (None, key[1])]
        for key in keys:
            self._newest.pop(key).cancel()
        return len(keys)

    def cancel_all(self) -> None:
        """Cancel all jobs when the explorer stops."""
        for job in list(self._newest.values()):
            job.cancel()

    def progress(self, tab: str) -> list[dict[str, Any]]:
        """Return the stages of a tab's jobs and their run times."""
        now = time.monotonic()
        return [
            {"part": part, "stage": job.stage, "seconds": round(now - job.started, 1)}
            for (of, part), job in self._newest.items()
            if of == tab
        ]
