"""Progress of long work, on standard error."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


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
