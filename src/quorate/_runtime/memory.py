"""Memory is forecast before a large allocation and refused with advice rather than crashing."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from quorate.errors import QuorateError

_limit: ContextVar[int | None] = ContextVar("quorate_memory_limit", default=None)
_told: ContextVar[list[tuple[str, float]] | None] = ContextVar("quorate_forecasts", default=None)
USE_NO_MATRIX = (
    "Use WEAC or EAC with average or single link, or HBGF, whose memory grows with the number of patterns and not "
    "with its square; or fewer members."
)
"""The advice for whatever needs a matrix over patterns or clusters."""

USE_NO_GRAPH = "Use WEAC or EAC with average or single link, which need no graph over clusters, or fewer members."
"""The advice for what grows with the pairs of clusters that overlap."""

USE_LINKAGE = "Use fewer clusters or members, or WEAC or EAC with average or single link, which need less."
"""The advice for what grows with patterns or clusters times k."""

BYTES_PER_LABEL = 120
"""What a distinct combination of labels costs per member: its label, cluster ids, links and what a consensus function
makes of them."""

_MEMINFO = Path("/proc/meminfo")
_OWN_GROUPS = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")
_LIMITS = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""Where control groups of version 2 and 1 keep their limit, their usage, and the name of what gives way in it."""

_NOT_WORTH_LOOKING = 1 << 24
"""Bytes up to which nobody looks how many are left: that takes longer than many a short computation."""

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


@contextmanager
def memory_limit(limit: int | float | str | None) -> Iterator[None]:
    """Refuse, inside the `with` block, whatever is forecast to need more than `limit` (bytes, or text like "2GB")."""
    token = _limit.set(None if limit is None else parse_bytes(limit))
    try:
        yield
    finally:
        _limit.reset(token)


@contextmanager
def forecasts() -> Iterator[list[tuple[str, float]]]:
    """Collect, inside the `with` block, what is forecast to need how many bytes."""
    found: list[tuple[str, float]] = []
    token = _told.set(found)
    try:
        yield found
    finally:
        _told.reset(token)


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


def format_bytes(size: float) -> str:
    """Return a size for people: three digits and a unit."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def available_memory() -> int:
    """Return how many bytes may be allocated now: the limit in force, or else what machine and container have left."""
    limit = _limit.get()
    return min(_left_on_machine(), _left_in_container()) if limit is None else limit


def _left_on_machine() -> int:
    """Return what Linux says is available, elsewhere all memory, and no bound where nobody says."""
    try:
        rest = _MEMINFO.read_text().partition("MemAvailable:")[2]
        return int(rest.split(maxsplit=1)[0]) * 1024
    except (OSError, IndexError, ValueError):
        pass
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return sys.maxsize


def _left_in_container() -> int:
    """Return what the limits of control groups leave, of either version; no bound where there are none.

    What a group uses counts without the file cache, which gives way.
    """
    try:
        own = _OWN_GROUPS.read_text()
    except OSError:
        own = ""
    left = sys.maxsize
    for folder in _control_groups(own, _GROUPS):
        for limit, usage, gives_way in _LIMITS:
            try:
                bound = int(_text(folder + limit))
                used = int(_text(folder + usage))
                stat = dict(line.split() for line in _text(folder + "memory.stat").splitlines())
            except (OSError, ValueError):
                continue  # no such file, or the limit is "max"
            left = min(left, max(bound - used + int(stat.get(gives_way, 0)), 0))
    return left


def _text(path: str) -> str:
    with open(path) as file:  # every consensus asks several times, and paths take longer than files
        return file.read()


@cache
def _control_groups(own: str, groups: Path) -> tuple[str, ...]:
    """Return the folders of the control groups that this process says it is in, and of all above them."""
    found = []
    for line in ["0::/", *own.splitlines()]:
        _, kinds, path = line.split(":", 2)
        if kinds in ("", "memory"):
            root = groups / kinds
            folder = root / path.lstrip("/")
            found += [folder, *(above for above in folder.parents if above.is_relative_to(root))]
    return tuple(dict.fromkeys(f"{folder}/" for folder in [*found, groups / "memory"]))


def labels_memory(n_lines: int, n_members: int) -> int:
    """Return about how many bytes a consensus of distinct combinations of labels takes that holds all of them."""
    return BYTES_PER_LABEL * n_lines * n_members


def require_memory(needed: float, what: str, advice: str) -> None:
    """Refuse `what` if it needs more bytes than are available; `advice` says what would fit."""
    told = _told.get()
    if told is not None:
        told.append((what, needed))
    if needed <= _NOT_WORTH_LOOKING and _limit.get() is None:
        return
    available = available_memory()
    if needed > available:
        raise QuorateError(
            f"{what} needs about {format_bytes(needed)}, but {format_bytes(available)} is available. {advice}"
        )
