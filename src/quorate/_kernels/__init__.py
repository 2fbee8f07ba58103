"""Compiled loops: arrays in, arrays out; no validation, no printing, no state.

Importing this package is cheap. A kernel module (and with it numba) is loaded when it is first used, as in
`_kernels.patterns.group_rows(...)`.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from quorate._kernels import (
        ascent,
        certainty,
        chance,
        dip,
        election,
        landmarks,
        lanes,
        latent,
        linkage,
        links,
        lloyd,
        nearest,
        neighbours,
        patterns,
        rpcl,
        sampling,
        segments,
        tables,
        threads,
        votes,
    )

__all__ = [
    "ascent",
    "certainty",
    "chance",
    "dip",
    "election",
    "landmarks",
    "lanes",
    "latent",
    "linkage",
    "links",
    "lloyd",
    "nearest",
    "neighbours",
    "patterns",
    "rpcl",
    "sampling",
    "segments",
    "tables",
    "threads",
    "votes",
]

__getattr__, _, _ = lazy_loader.attach(__name__, submodules=__all__)
