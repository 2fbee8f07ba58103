"""The one keyed cache of the package: the most recently used results, which threads can share."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from quorate._runtime import threads

Result = TypeVar("Result")
_WAIT_SECONDS = 0.05


class RecentCache:
    """The `max_size` results used last, each computed once even if several threads request it simultaneously.

    A copy or pickle of the cache starts empty, because locks cannot be copied.
    """

    def __init__(self, max_size: int) -> None:
        self.max_size = max_size
        self._results: OrderedDict[Hashable, Any] = OrderedDict()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._guard = threading.Lock()

    def __reduce__(self) -> tuple[type, tuple[int]]:
        return type(self), (self.max_size,)

    def __contains__(self, key: Hashable) -> bool:
        with self._guard:
            return key in self._results

    def items(self) -> list[tuple[Hashable, Any]]:
        """Return the keys and results that are stored now."""
        with self._guard:
            return list(self._results.items())

    def get(
        self, key: Hashable, compute: Callable[[], Result], suffices: Callable[[Result], bool] | None = None
    ) -> Result:
        """Return the result stored under `key`; compute and store it if there is none.

        A stored result for which `suffices` returns False is computed again and replaced.
        """
        # One lock per key, so that different results are computed in parallel.
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        with _held(lock):
            # Another thread may have computed it while this one waited.
            with self._guard:
                if key in self._results and (suffices is None or suffices(self._results[key])):
                    self._results.move_to_end(key)
                    result: Result = self._results[key]
                    return result
            result = compute()
            with self._guard:
                self._results[key] = result
                # The least recently used result goes first; its lock goes with it.
                while len(self._results) > self.max_size:
                    oldest, _ = self._results.popitem(last=False)
                    self._locks.pop(oldest, None)
            return result


@contextmanager
def _held(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock; a thread that waits for it can still be cancelled."""
    while not lock.acquire(timeout=_WAIT_SECONDS):
        threads.check_cancelled()
    try:
        yield
    finally:
        lock.release()
