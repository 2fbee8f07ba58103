"""Running kernels in several threads; they release the interpreter lock."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

import numba
from threadpoolctl import ThreadpoolController

_WORTH_THREADS = 500
_PARTS = 16

Item = TypeVar("Item")
Result = TypeVar("Result")

_check: ContextVar[Callable[[], None] | None] = ContextVar("quorate_check", default=None)


def n_threads() -> int:
    """Return how many threads kernels may use: numba's setting, as in `numba.set_num_threads`."""
    return int(numba.get_num_threads())


def in_threads(
    task: Callable[[Item], Result], items: Sequence[Item], told: Callable[[float], None] | None = None
) -> list[Result]:
    """Apply `task` to every item, in threads, and return the results in order; `told` hears what share is done.

    Tasks must not depend on each other and must write to separate places, so that the number of threads changes
    nothing but the time.
    """
    threads = min(n_threads(), len(items))
    results = []
    for result in map(task, items) if threads <= 1 else _pool(threads, os.getpid()).map(task, items):
        may_go_on()  # tasks not begun yet are dropped if it raises
        results.append(result)
        if told is not None:
            told(len(results) / len(items))
    return results


@contextmanager
def stopped_by(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` between the tasks of all work inside the `with` block; to end the work, it raises."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def may_go_on() -> None:
    """Raise what `stopped_by` was told to raise, if this work is to end."""
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


def parts(n: int) -> list[slice]:
    """Cut range(n) into a few slices, as many for any number of threads: a sum over parts is always the same."""
    return blocks(n, max(1, -(-n // _PARTS)))


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
