"""Printing: results go to standard output, notes and progress to standard error."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from quorate._runtime.progress import progress as report_progress_to
from quorate._runtime.progress import progress_bar

_BLOCKS = " ▏▎▍▌▋▊▉█"


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    plain = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    print(json.dumps(value, indent=2, ensure_ascii=plain, allow_nan=False))


def note(message: str, *, quiet: bool = False) -> None:
    """Print a message on standard error."""
    if not quiet:
        print(message, file=sys.stderr)


def console(*, stderr: bool = False) -> Console:
    """Return a console that is 120 columns wide if the output is not a terminal."""
    out = Console(stderr=stderr, highlight=False)
    return out if out.is_terminal else Console(stderr=stderr, highlight=False, width=120)


@contextmanager
def progress(message: str, *, quiet: bool = False) -> Iterator[None]:
    """Show a progress bar on standard error, if that is a terminal."""
    if quiet or not Console(stderr=True).is_terminal:
        yield
        return
    with progress_bar(message) as shown, report_progress_to(shown):
        yield


def bar(value: float, width: int = 12) -> str:
    """Return a bar of blocks for a value in [0, 1]."""
    eighths = round(max(0.0, min(1.0, value)) * width * 8)
    full, part = divmod(eighths, 8)
    return ("█" * full + (_BLOCKS[part] if part else "")).ljust(width)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Group:
    """Return a table with a title; numeric columns are right-aligned. Text is never interpreted as markup."""
    numbers = [bool(rows) and all(_is_number(row[j]) for row in rows) for j in range(len(columns))]
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, is_number in zip(columns, numbers, strict=True):
        grid.add_column(Text(name, style="dim"), justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(cell if isinstance(cell, Text) else Text(show(cell)) for cell in row))
    return Group(Text(title, style="bold"), grid)


def _is_number(cell: Any) -> bool:
    """Return whether a cell is a number, a percentage or empty."""
    return not isinstance(cell, str) or re.fullmatch(r"[\d.,]*%?", cell) is not None


def show(value: Any) -> str:
    """Format a value for a table."""
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and abs(value) >= 2 else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def count(number: int, noun: str) -> str:
    """Return a number with its noun: "1 row", "1,000 rows"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
