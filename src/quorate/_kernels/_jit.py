"""The one way kernels are compiled and run in parallel."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])
Item = TypeVar("Item")
Result = TypeVar("Result")


def jit(function: Function) -> Function:
    """Compile on first call, cache on disk, release the interpreter lock while running.

    Where neither the package's folder nor the user's cache can be written, the kernel is compiled in every process.
    """
    try:
        return numba.njit(cache=True, nogil=True)(function)  # type: ignore[no-any-return]
    except RuntimeError:
        return numba.njit(nogil=True)(function)  # type: ignore[no-any-return]


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
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(task, items))


def blocks(n: int, size: int) -> list[slice]:
    """Cut range(n) into consecutive slices of at most `size`."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
