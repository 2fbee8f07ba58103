"""Compiled loops: arrays in, arrays out; no validation, no printing, no state.

Importing this package is cheap. A kernel module (and with it numba) is loaded when it is first used, as in
`_kernels.patterns.group_rows(...)`.
"""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quorate._kernels import linkage, links, lloyd, patterns, rpcl, segments, threads

__all__ = ["linkage", "links", "lloyd", "patterns", "rpcl", "segments", "threads"]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
