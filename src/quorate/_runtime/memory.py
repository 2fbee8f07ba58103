"""Memory forecasts: a computation that would not fit is refused with advice instead of crashing."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from quorate.errors import InputError, MemoryLimitError

_limit: ContextVar[int | None] = ContextVar("quorate_memory_limit", default=None)
_forecasts: ContextVar[list[tuple[str, float]] | None] = ContextVar("quorate_forecasts", default=None)
USE_NO_MATRIX = (
    "Use WEAC or EAC with average or single link, or HBGF, whose memory grows with the number of patterns and not "
    "with its square; or fewer members."
)
"""Advice for computations that need a matrix over patterns or clusters."""

USE_NO_GRAPH = "Use WEAC or EAC with average or single link, which need no graph over clusters, or fewer members."
"""Advice for computations that grow with the pairs of clusters that overlap."""

USE_LINKAGE = "Use fewer clusters or members, or WEAC or EAC with average or single link, which need less."
"""Advice for computations that grow with patterns or clusters times k."""

BYTES_PER_LABEL = 120
"""Bytes per distinct row of labels and member: label, cluster ids, links, and the arrays of a consensus function."""

_MEMINFO = Path("/proc/meminfo")
_OWN_GROUPS = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")
_LIMITS = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""Files of control groups of version 2 and 1: limit, usage, and the entry of `memory.stat` that can be reclaimed."""

_NOT_WORTH_LOOKING = 1 << 24
"""Smaller requests are not compared with the available memory: reading it takes longer than many short computations."""

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


@contextmanager
def memory_limit(limit: int | float | str | None) -> Iterator[None]:
    """Raise an error, inside the `with` block, for computations forecast to need more memory.

    Parameters
    ----------
    limit : int, float, str or None
        The largest number of bytes, or text such as "2GB" or "500 MiB". None: the available memory alone decides.

    Examples
    --------
    >>> import quorate as qt
    >>> with qt.memory_limit("2GB"):
    ...     qt.consensus([[0, 0, 1, 1], [0, 0, 0, 1], [1, 1, 0, 0]], 2).labels
    array([0, 0, 1, 1])
    """
    token = _limit.set(None if limit is None else parse_bytes(limit))
    try:
        yield
    finally:
        _limit.reset(token)


@contextmanager
def forecasts() -> Iterator[list[tuple[str, float]]]:
    """Collect, inside the `with` block, each forecast: what it is for, and its bytes."""
    collected: list[tuple[str, float]] = []
    token = _forecasts.set(collected)
    try:
        yield collected
    finally:
        _forecasts.reset(token)


def parse_bytes(size: int | float | str) -> int:
    """Return a number of bytes from a number or from text such as "500 MB" or "2GiB"."""
    # "2GB" is decimal, "2GiB" binary, as in DuckDB.
    match = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?)(i?)b?\s*", str(size).lower())
    try:
        number = float(match[1]) if match else 0.0
    except ValueError:
        number = 0.0
    if match is None or number <= 0:
        raise InputError(
            f'must be a positive number of bytes or text like "2GB"; got {size!r}.',
            code="memory-limit",
            parameter="memory_limit",
        )
    return int(number * (1024 if match[3] else 1000) ** _POWERS[match[2]])


def format_bytes(size: float) -> str:
    """Return a size for people: three digits and a unit."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def available_memory() -> int:
    """Return the bytes that may be allocated now: the limit in force, or else what machine, container and process
    allow.
    """
    limit = _limit.get()
    return min(_left_on_machine(), _left_in_container(), address_space_left()) if limit is None else limit


def _left_on_machine() -> int:
    """Return the available memory that Linux reports, elsewhere all memory; no bound if the system reports neither."""
    try:
        # MemAvailable counts file caches, which the system gives back.
        rest = _MEMINFO.read_text().partition("MemAvailable:")[2]
        return int(rest.split(maxsplit=1)[0]) * 1024
    except (OSError, IndexError, ValueError):
        pass
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return sys.maxsize


def address_space_left() -> int:
    """Return what the limit of the process's address space (`ulimit -v`) leaves; no bound without a limit."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return sys.maxsize
        # Pages that are mapped, used or not: that is what the limit counts.
        used = int(_text("/proc/self/statm").split()[0]) * os.sysconf("SC_PAGE_SIZE")
        return max(limit - used, 0)
    except (ImportError, OSError, ValueError):
        return sys.maxsize


def require_address_space(n_bytes: int, what: str) -> None:
    """Raise MemoryLimitError if the limit of the process's address space leaves less than `n_bytes`.

    Libraries that run out of address space end the process by a segmentation fault, or raise misleading errors.
    """
    left = address_space_left()
    if left < n_bytes:
        import resource

        # Rounded up to whole thousands of kilobytes, the unit of `ulimit -v`.
        enough = resource.getrlimit(resource.RLIMIT_AS)[0] + n_bytes - left
        raise MemoryLimitError(
            f"{what} needs {format_bytes(n_bytes)} of address space, but the limit of this process leaves "
            f"{format_bytes(left)}.",
            code="address-space",
            hint=f"Raise the limit: ulimit -v {-(-enough // 1_024_000) * 1000}.",
        )


def _left_in_container() -> int:
    """Return what the limits of control groups of either version leave; no bound without limits.

    The file cache of a group does not count as used, because it can be reclaimed.
    """
    try:
        own = _OWN_GROUPS.read_text()
    except OSError:
        own = ""
    left = sys.maxsize
    for folder in _control_groups(own, _GROUPS):
        # Both versions may be mounted; files of the other one are missing.
        for limit, usage, reclaimable in _LIMITS:
            try:
                bound = int(_text(folder + limit))
                used = int(_text(folder + usage))
                stat = dict(line.split() for line in _text(folder + "memory.stat").splitlines())
            except (OSError, ValueError):
                continue  # no such file, or the limit is "max"
            left = min(left, max(bound - used + int(stat.get(reclaimable, 0)), 0))
    return left


def _text(path: str) -> str:
    with open(path) as file:  # called several times per consensus; pathlib would take longer than the file
        return file.read()


def _control_groups(own: str, groups: Path) -> tuple[str, ...]:
    """Return the folders of the control groups of this process, and of all groups above them."""
    folders = []
    # The root group, then those of this process; a group is limited by all groups above it.
    for line in ["0::/", *own.splitlines()]:
        _, kinds, path = line.split(":", 2)
        if kinds in ("", "memory"):
            root = groups / kinds
            folder = root / path.lstrip("/")
            folders += [folder, *(above for above in folder.parents if above.is_relative_to(root))]
    return tuple(dict.fromkeys(f"{folder}/" for folder in [*folders, groups / "memory"]))


def labels_memory(n_lines: int, n_members: int) -> int:
    """Return an estimate of the bytes of a consensus that holds all distinct rows of labels in memory."""
    return BYTES_PER_LABEL * n_lines * n_members


def require_memory(needed: float, what: str, advice: str) -> None:
    """Raise an error if `what` needs more bytes than are available; `advice` says what would fit."""
    # Tests and docs/memory.md compare forecasts with measurements.
    collected = _forecasts.get()
    if collected is not None:
        collected.append((what, needed))
    if needed <= _NOT_WORTH_LOOKING and _limit.get() is None:
        return
    available = available_memory()
    if needed > available:
        raise MemoryLimitError(
            f"{what} needs about {format_bytes(needed)}, but {format_bytes(available)} is available.",
            code="memory",
            hint=advice,
        )
