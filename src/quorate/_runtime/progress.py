"""Progress of long work, on standard error or to whoever listens."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")
Listener = Callable[[str, float | None], None]

_listener: ContextVar[Listener | None] = ContextVar("quorate_progress", default=None)


@contextmanager
def progress(listener: Listener | None = None) -> Iterator[None]:
    """Tell, inside the `with` block, what long work is at and how far it is.

    Parameters
    ----------
    listener : callable, optional
        Called with what is being done and the share of it, in [0, 1], that is done; None where that is not known. What
        it raises ends the work. Default: a bar on standard error with the time that is left.

    Examples
    --------
    >>> import quorate as qt
    >>> heard = []
    >>> with qt.progress(lambda what, share: heard.append((what, share))):
    ...     tree = qt.WEAC(2).fit([[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]])
    >>> heard[0]
    ('The agreement of 3 members with 7 clusters', None)
    >>> heard[-1][0]
    'The tree of 4 patterns'
    """
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
    """Tell whoever listens what is being done, and the share of it that is done."""
    listener = _listener.get()
    if listener is not None:
        listener(what, share)


@contextmanager
def progress_bar(what: str) -> Iterator[Listener]:
    """Show a bar with the time that is left, gone at the end of the block, and give what moves it."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("left"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def show(what: str, share: float | None) -> None:
            if bar.tasks[0].description != what:
                bar.reset(task, description=what, total=None)
            if share is not None:
                bar.update(task, total=1.0, completed=share)

        yield show


def track(items: Iterable[Item], total: int, what: str, show: bool | None) -> Iterator[Item]:
    """Yield the items behind a progress bar; `show` None: only where standard error is a terminal."""
    if total == 0 or not (sys.stderr.isatty() if show is None else show):
        yield from items
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        yield from bar.track(items, total=total, description=what)
