"""Running kernels in several threads; they release the interpreter lock."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import numba

Item = TypeVar("Item")
Result = TypeVar("Result")


def n_threads() -> int:
    """Return how many threads kernels may use: numba's setting, as in `numba.set_num_threads`."""
    return int(numba.get_num_threads())


def in_threads(task: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Apply `task` to every item, in threads, and return the results in order.

    Tasks must not depend on each other and must write to separate places, so that the number of threads changes
    nothing but the time.
    """
    threads = min(n_threads(), len(items))
    if threads <= 1:
        return [task(item) for item in items]
    return list(_pool(threads, os.getpid()).map(task, items))


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """Return the threads of this process: starting them anew for every short task would cost more than the task."""
    return ThreadPoolExecutor(threads)


def blocks(n: int, size: int) -> list[slice]:
    """Cut range(n) into consecutive slices of at most `size`."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
