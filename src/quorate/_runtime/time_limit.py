"""Time forecasts: computations of minutes are announced, those of hours refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter

from quorate._runtime.progress import report_progress
from quorate._utils.checks import check_number
from quorate.errors import TimeLimitError, warn

_limit: ContextVar[float] = ContextVar("quorate_time_limit", default=3600.0)
_PER_SECOND = 1e10  # multiply-adds of large matrices on one core of an ordinary machine
_WORTH_A_WARNING = 60.0  # seconds
_SMALLEST_FRACTION = 0.01  # completed work from which the total time is extrapolated
_SHORTEST_TIME = 1.0  # seconds; in shorter times a brief delay would dominate


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise an error, inside the `with` block, for computations forecast to take longer.

    Parameters
    ----------
    seconds : float > 0
        The longest time. Outside of such a block it is 3,600 seconds.

    Examples
    --------
    >>> import quorate as qt
    >>> with qt.time_limit(60):
    ...     qt.consensus([[0, 0, 1, 1], [0, 0, 0, 1], [1, 1, 0, 0]], 2).labels
    array([0, 0, 1, 1])
    """
    token = _limit.set(check_number("seconds", seconds, above=0))
    try:
        yield
    finally:
        _limit.reset(token)


def require_time(operations: float, what: str, advice: str) -> None:
    """Raise an error if the operations of `what` take longer than the limit; warn if they take minutes."""
    seconds = operations / _PER_SECOND
    if seconds > _limit.get():
        raise TimeLimitError(
            f"{what} take about {format_seconds(seconds)}, but the limit is {format_seconds(_limit.get())}.",
            code="time",
            hint=f"{advice} Change the limit with quorate.time_limit.",
        )
    if seconds > _WORTH_A_WARNING:
        warn(f"{what} take about {format_seconds(seconds)}.", code="long-computation", hint=advice)


class Pace:
    """Measures the speed of long work: reports its progress, and warns early if it will take minutes.

    The clock starts with the first report: work before it, such as compilation, does not repeat.
    """

    def __init__(self, what: str, advice: str) -> None:
        self._what, self._advice = what, advice
        self._started: tuple[float, float] | None = None
        self._announced = False

    def at(self, share: float) -> None:
        """Report the completed fraction."""
        report_progress(self._what, min(share, 1.0))
        now = perf_counter()
        # The first report starts the clock.
        if self._started is None:
            self._started = now, share
        started, before = self._started
        # Announce once, and only when the extrapolation is reliable.
        if self._announced or now - started < _SHORTEST_TIME or share - before < _SMALLEST_FRACTION:
            return
        self._announced = True
        seconds = (now - started) / (share - before)
        if seconds > _WORTH_A_WARNING:
            warn(f"{self._what} will take about {format_seconds(seconds)}.", code="long-computation", hint=self._advice)


def format_seconds(seconds: float) -> str:
    """Return a duration for people: seconds, minutes or hours."""
    for unit, size in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} seconds"
