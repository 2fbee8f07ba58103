"""The one way kernels are compiled."""

from collections.abc import Callable
from typing import Any

import numba


def jit(function: Callable[..., Any]) -> Any:
    """Compile on first call, cache on disk, release the interpreter lock while running.

    Where neither the package's folder nor the user's cache can be written, the kernel is compiled in every process.
    """
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return numba.njit(nogil=True)(function)
