"""Resources of a measurement: one thread, and its peak memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread: there is one process per core, and sums in several threads vary in their last bits."""
    import numba
    from threadpoolctl import threadpool_limits

    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        numba.set_num_threads(before)


@dataclass
class Peak:
    """The peak memory of this process above its memory before."""

    bytes: int | None = None
    """None if the system does not report it."""


@contextmanager
def peak_memory() -> Iterator[Peak]:
    """Measure the additional peak memory inside the `with` block, on Linux."""
    peak = Peak()
    before = _resident("VmRSS")
    try:
        _RESET.write_text("5")  # resets the peak
    except OSError:
        before = None
    yield peak
    highest = _resident("VmHWM")
    if before is not None and highest is not None:
        peak.bytes = max(highest - before, 0)


def _resident(field: str) -> int | None:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), None)
