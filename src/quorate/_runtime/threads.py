"""Kernels in several threads; kernels release the interpreter lock."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

_WORTH_THREADS = 1000
_PARTS = 16
_ENTRIES_PER_PART = 250_000

Item = TypeVar("Item")
Result = TypeVar("Result")

_check: ContextVar[Callable[[], None] | None] = ContextVar("quorate_check", default=None)


def n_threads() -> int:
    """Return how many threads kernels may use: numba's setting, as in `numba.set_num_threads`.

    Asking numba starts its own threads, which kernels do not use, and needs a lock between processes that not every
    system has. As long as they are not started, the number cannot have been changed and is the configured one.
    """
    import numba
    from numba.np.ufunc import parallel

    started = getattr(parallel, "_is_initialized", True)
    return int(numba.get_num_threads() if started else numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def in_threads(
    task: Callable[[Item], Result], items: Sequence[Item], on_progress: Callable[[float], None] | None = None
) -> list[Result]:
    """Apply `task` to every item, in threads, and return the results in order.

    Tasks must not depend on each other and must write to separate places, so that the number of threads changes nothing
    but the time. The calling thread also works: waking a sleeping thread can cost more than a small task.
    `on_progress`, if given, receives the completed fraction.
    """
    # A deque is safe for several threads; each takes the next item when it is done.
    waiting = deque(enumerate(items))
    results: dict[int, Result] = {}

    def work(between: Callable[[], None]) -> None:
        while waiting:
            try:
                position, item = waiting.popleft()
            except IndexError:  # another thread took the last item in between
                return
            try:
                results[position] = task(item)
                between()
            except BaseException:
                waiting.clear()  # drop the tasks that have not started
                raise

    def between_tasks() -> None:
        check_cancelled()
        if on_progress is not None:
            on_progress(len(results) / max(len(items), 1))

    # Helpers that have not started when the caller is done are cancelled: waiting for them would cost more.
    n_helpers = min(n_threads(), len(items)) - 1
    helpers = [_process.pool.submit(work, _do_nothing) for _ in range(n_helpers)]
    work(between_tasks)
    for helper in helpers:
        if not helper.cancel():  # it has started
            helper.result()
    between_tasks()
    return [results[position] for position in range(len(items))]


def _do_nothing() -> None:
    """Do nothing: helper threads neither report progress nor check for cancellation."""


def run_in_threads(tasks: Sequence[Callable[[], None]]) -> None:
    """Run all tasks in threads."""
    in_threads(lambda task: task(), tasks)


@contextmanager
def cancelled_by(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` between the tasks of all work inside the `with` block; it raises an exception to cancel the work."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def check_cancelled() -> None:
    """Raise the exception of `cancelled_by` if this work is cancelled."""
    check = _check.get()
    if check is not None:
        check()


class _Process:
    """What takes long to make and serves as long as the process lives."""

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        """Threads: starting them for every short task would cost more than the task."""
        import numba

        return ThreadPoolExecutor(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]

    @cached_property
    def libraries(self) -> ThreadpoolController:
        """The libraries with threads of their own; finding them takes some milliseconds."""
        return ThreadpoolController()


_process = _Process()
if hasattr(os, "register_at_fork"):  # threads do not survive a fork, and Windows has none
    os.register_at_fork(after_in_child=lambda: vars(_process).clear())


def blocks(n: int, size: int) -> list[slice]:
    """Cut range(n) into consecutive slices of at most `size`."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def parts_of_lists(indptr: Any, entries: int = _ENTRIES_PER_PART) -> list[slice]:
    """Split the rows of a CSR matrix into at most 16 slices of about `entries` entries each.

    The slices do not depend on the number of threads, so sums over them do not either.
    """
    # A fixed number of parts: sums must not depend on the number of threads.
    n_parts = int(np.clip(indptr[-1] // entries, 1, _PARTS))
    ends = np.searchsorted(indptr, np.linspace(0, indptr[-1], n_parts + 1)[1:-1])
    bounds = [0, *ends.tolist(), len(indptr) - 1]
    return [slice(*bound) for bound in pairwise(bounds)]


def linear_algebra(size: int) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread for matrices of a small size.

    BLAS threads wait for each other by spinning: on small matrices they gain little, and on a busy machine they lose a
    lot.
    """
    return one_thread() if size < _WORTH_THREADS else nullcontext()


def one_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread."""
    return _process.libraries.limit(limits=1, user_api="blas")
