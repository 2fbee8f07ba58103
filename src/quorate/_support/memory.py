"""Memory is forecast before a large allocation and refused with advice rather than crashing."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from quorate.errors import QuorateError

_limit: ContextVar[int | None] = ContextVar("quorate_memory_limit", default=None)
USE_NO_MATRIX = (
    "Use WEAC or EAC with average or single link, or HBGF, whose memory grows with the number of patterns and not "
    "with its square; or fewer members."
)
"""The advice for whatever needs a matrix over patterns or clusters."""

USE_LINKAGE = "Use fewer clusters or members, or WEAC or EAC with average or single link, which need less."
"""The advice for what grows with patterns or clusters times k."""

BYTES_PER_LABEL = 120
"""What a distinct combination of labels costs per member: its label, cluster ids, links and what a consensus function
makes of them."""

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


@contextmanager
def memory_limit(limit: int | float | str | None) -> Iterator[None]:
    """Refuse, inside the `with` block, whatever is forecast to need more than `limit` (bytes, or text like "2GB")."""
    token = _limit.set(None if limit is None else parse_bytes(limit))
    try:
        yield
    finally:
        _limit.reset(token)


def parse_bytes(size: int | float | str) -> int:
    """Return a number of bytes from a number or from text such as "500 MB" or "2GiB"."""
    match = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?)(i?)b?\s*", str(size).lower())
    try:
        number = float(match[1]) if match else 0.0
    except ValueError:
        number = 0.0
    if match is None or number <= 0:
        raise QuorateError(f'memory_limit must be a positive number of bytes or text like "2GB"; got {size!r}.')
    return int(number * (1024 if match[3] else 1000) ** _POWERS[match[2]])


def show_bytes(size: float) -> str:
    """Return a size for people: three digits and a unit."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def available_memory() -> int:
    """Return how many bytes may be allocated now: the limit in force, or else what the machine has left."""
    limit = _limit.get()
    if limit is not None:
        return limit
    try:
        with open("/proc/meminfo") as table:
            fields = dict(line.split(":", 1) for line in table)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def labels_memory(n_lines: int, n_members: int) -> int:
    """Return about how many bytes a consensus of distinct combinations of labels takes that holds all of them."""
    return BYTES_PER_LABEL * n_lines * n_members


def require_memory(needed: float, what: str, advice: str) -> None:
    """Refuse `what` if it needs more bytes than are available; `advice` says what would fit."""
    available = available_memory()
    if needed > available:
        raise QuorateError(
            f"{what} needs about {show_bytes(needed)}, but {show_bytes(available)} is available. {advice}"
        )
