"""Running kernels in several threads; they release the interpreter lock."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
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

    To ask numba for it starts threads of its own, which kernels do not use, behind a lock for other processes, which
    not every system has. As long as they are not started nobody can have set the number: it is that of the start.
    """
    import numba
    from numba.np.ufunc import parallel

    started = getattr(parallel, "_is_initialized", True)
    return int(numba.get_num_threads() if started else numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def in_threads(
    task: Callable[[Item], Result], items: Sequence[Item], on_progress: Callable[[float], None] | None = None
) -> list[Result]:
    """Apply `task` to every item, in threads, and return the results in order; `on_progress` hears what share is done.

    Tasks must not depend on each other and must write to separate places, so that the number of threads changes
    nothing but the time. The thread that asks does its share of them: to sleep and be woken up takes longer than many.
    """
    waiting = deque(enumerate(items))
    results: dict[int, Result] = {}

    def work(between: Callable[[], None]) -> None:
        while waiting:
            try:
                place, item = waiting.popleft()
            except IndexError:  # another thread has just taken the last
                return
            try:
                results[place] = task(item)
                between()
            except BaseException:
                waiting.clear()  # what is not begun yet is dropped
                raise

    def look() -> None:
        check_cancelled()
        if on_progress is not None:
            on_progress(len(results) / max(len(items), 1))

    n_helpers = min(n_threads(), len(items)) - 1
    helpers = [_pool(n_helpers, os.getpid()).submit(work, _no_more) for _ in range(n_helpers)]
    work(look)
    for helper in helpers:
        if not helper.cancel():  # it has begun
            helper.result()
    look()
    return [results[place] for place in range(len(items))]


def _no_more() -> None:
    """Do nothing more."""


def run_in_threads(tasks: Sequence[Callable[[], None]]) -> None:
    """Do all of some tasks, in threads, as `in_threads` does one task for many items."""
    in_threads(lambda task: task(), tasks)


@contextmanager
def cancelled_by(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` between the tasks of all work inside the `with` block; to end the work, it raises."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def check_cancelled() -> None:
    """Raise what `cancelled_by` was told to raise, if this work is to end."""
    check = _check.get()
    if check is not None:
        check()


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """Return the threads of this process: starting them anew for every short task would cost more than the task."""
    return ThreadPoolExecutor(threads)


def blocks(n: int, size: int) -> list[slice]:
    """Cut range(n) into consecutive slices of at most `size`."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def parts_of_lists(indptr: Any, entries: int = _ENTRIES_PER_PART) -> list[slice]:
    """Cut the rows of a matrix in CSR form into a few slices of about as many entries each, usually some number.

    They are the same for any number of threads, and so is a sum over them.
    """
    n_parts = int(np.clip(indptr[-1] // entries, 1, _PARTS))
    ends = np.searchsorted(indptr, np.linspace(0, indptr[-1], n_parts + 1)[1:-1])
    bounds = [0, *ends.tolist(), len(indptr) - 1]
    return [slice(*some) for some in pairwise(bounds)]


def linear_algebra(size: int) -> AbstractContextManager[Any]:
    """Keep the linear algebra library to one thread for matrices of a small size.

    Its threads wait for each other by spinning: on small matrices they gain little, and on a busy machine lose a lot.
    """
    return one_thread() if size < _WORTH_THREADS else nullcontext()


def one_thread() -> AbstractContextManager[Any]:
    """Keep the linear algebra library to one thread."""
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    """Find the libraries with threads of their own, once, since it takes some milliseconds."""
    return ThreadpoolController()
