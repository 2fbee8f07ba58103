"""Progress of long computations: reported to a listener or shown as a bar on standard error."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from quorate._utils.optional_imports import has_package, require_extra

Item = TypeVar("Item")
Listener = Callable[[str, float | None], None]

_listener: ContextVar[Listener | None] = ContextVar("quorate_progress", default=None)


@contextmanager
def progress(listener: Listener | None = None) -> Iterator[None]:
    """Report the progress of long computations inside the `with` block.

    Parameters
    ----------
    listener : callable, optional
        Called with what is being done and the completed fraction, in [0, 1]; None if that is unknown. An exception that
        it raises ends the computation. Default: a bar on standard error with the remaining time, which needs
        `pip install "quorate[cli]"`.

    Examples
    --------
    >>> import quorate as qt
    >>> reports = []
    >>> with qt.progress(lambda what, share: reports.append((what, share))):
    ...     tree = qt.WEAC(2).fit([[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]])
    >>> reports[0]
    ('The agreement of 3 members with 7 clusters', None)
    >>> reports[-1][0]
    'The tree of 4 patterns'
    """
    # A bar is a listener, too.
    if listener is None:
        with progress_bar("Working") as shown, progress(shown):
            yield
        return
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_progress(what: str, share: float | None = None) -> None:
    """Report to the listener, if any, what is being done and the completed fraction."""
    listener = _listener.get()
    if listener is not None:
        listener(what, share)


@contextmanager
def progress_bar(what: str) -> Iterator[Listener]:
    """Show a bar with the remaining time until the end of the block, and give the function that updates it."""
    require_extra("rich", "A progress bar")
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("left"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def show(what: str, share: float | None) -> None:
            # A new step starts a new bar: fractions of different steps are unrelated.
            if bar.tasks[0].description != what:
                bar.reset(task, description=what, total=None)
            if share is not None:
                bar.update(task, total=1.0, completed=share)

        yield show


def track(items: Iterable[Item], total: int, what: str, show: bool | None) -> Iterator[Item]:
    """Yield the items and show a progress bar; `show` None: if standard error is a terminal and rich is there."""
    # Unless requested, a bar appears only where a person can see it.
    if total == 0 or not (sys.stderr.isatty() and has_package("rich") if show is None else show):
        yield from items
        return
    require_extra("rich", "A progress bar")
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        yield from bar.track(items, total=total, description=what)
