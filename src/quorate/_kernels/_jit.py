"""The one way kernels are compiled."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba.core import sigutils


def jit(function: Callable[..., Any]) -> Any:
    """Compile on first call, cache on disk, release the interpreter lock while running.

    Where neither the package's folder nor the user's cache can be written, the kernel is compiled in every process.
    """
    return _compile(function)


def jit_fused(function: Callable[..., Any]) -> Any:
    """Compile likewise, with products and sums in one operation where the processor has it; nothing may be NaN."""
    return _compile(function, fastmath={"contract", "reassoc", "nnan", "nsz"})


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    try:
        return _forgiving(numba.njit(cache=True, nogil=True, **options)(function))
    except RuntimeError:
        return numba.njit(nogil=True, **options)(function)


def _forgiving(dispatcher: Any) -> Any:
    """Return a dispatcher that compiles anew, and empties its cache, where the cache on disk is damaged.

    It is damaged too where it holds the code of other types: two processes that compile a kernel for the first time,
    each for its own types, may write to the same file.
    """
    cache = dispatcher._cache
    load = cache.load_overload

    def load_if_whole(signature: Any, context: Any) -> Any:
        with suppress(Exception):  # whatever reading a damaged file leads to
            found = load(signature, context)
            types, _ = sigutils.normalize_signature(signature)  # type: ignore[no-untyped-call]
            if found is None or found.signature.args == types:
                return found
        with suppress(OSError):
            cache.flush()
        return None

    cache.load_overload = load_if_whole
    return dispatcher
