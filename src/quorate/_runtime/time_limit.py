"""Time is forecast before a long computation: what would take minutes is announced, what would take hours refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter

from quorate._runtime.progress import report_progress
from quorate._utils.checks import check_number
from quorate.errors import QuorateError, warn

_limit: ContextVar[float] = ContextVar("quorate_time_limit", default=3600.0)
_PER_SECOND = 1e10  # multiplications and additions of large matrices, on one core of a plain machine
_WORTH_TELLING = 60.0
_ENOUGH_TO_TELL = 0.01  # the share of the work that tells how long all of it will take
_LONG_ENOUGH_TO_TELL = 1.0  # seconds, of which a delay of some moments is not the most


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Refuse, inside the `with` block, whatever is forecast to take longer than some seconds (3,600 by default)."""
    token = _limit.set(check_number("seconds", seconds, above=0))
    try:
        yield
    finally:
        _limit.reset(token)


def require_time(operations: float, what: str, advice: str) -> None:
    """Refuse `what` if its operations take longer than the limit, say so if they take minutes."""
    seconds = operations / _PER_SECOND
    if seconds > _limit.get():
        raise QuorateError(
            f"{what} take about {format_seconds(seconds)}, but the limit is {format_seconds(_limit.get())}. {advice} "
            "quorate.time_limit changes the limit."
        )
    if seconds > _WORTH_TELLING:
        warn(f"{what} take about {format_seconds(seconds)}. {advice}")


class Pace:
    """How fast long work goes: whoever listens hears how far it is, and what will take minutes is announced early.

    The clock starts when the first share of the work is done: what comes before, such as compiling, comes once.
    """

    def __init__(self, what: str, advice: str) -> None:
        self._what, self._advice = what, advice
        self._begun: tuple[float, float] | None = None
        self._announced = False

    def at(self, share: float) -> None:
        """Tell that a share of the work is done."""
        report_progress(self._what, min(share, 1.0))
        now = perf_counter()
        if self._begun is None:
            self._begun = now, share
        begun, before = self._begun
        if self._announced or now - begun < _LONG_ENOUGH_TO_TELL or share - before < _ENOUGH_TO_TELL:
            return
        self._announced = True
        seconds = (now - begun) / (share - before)
        if seconds > _WORTH_TELLING:
            warn(f"{self._what} will take about {format_seconds(seconds)}. {self._advice}")


def format_seconds(seconds: float) -> str:
    """Return a time for people: seconds, minutes or hours."""
    for unit, size in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} seconds"
