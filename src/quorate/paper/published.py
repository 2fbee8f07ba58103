"""The 406 numbers printed in the paper: Tables 2 to 7, and the run times in the text."""

import csv
from importlib.resources import files
from typing import NamedTuple


class Published(NamedTuple):
    """One number of the paper."""

    table: str
    """para_weac, para_gp_mgla, win_percent_bestk, win_percent_samek, compare_ce or time."""
    dataset: str
    method: str
    setting: str
    value: float
    unit: str


def published() -> tuple[Published, ...]:
    """Return every number printed in the paper.

    Examples
    --------
    >>> from quorate import paper
    >>> len(paper.published()), paper.published()[0].value
    (406, 0.647)
    """
    return _PUBLISHED


def _read_published() -> tuple[Published, ...]:
    text = (files("quorate.paper") / "data" / "published.csv").read_text(encoding="utf-8")
    rows = list(csv.reader(text.splitlines()))[1:]
    return tuple(
        Published(table, dataset, method, setting, float(value), unit)
        for table, dataset, method, setting, value, unit in rows
    )


_PUBLISHED = _read_published()
_VALUES = {(row.table, row.dataset, row.method, row.setting): row.value for row in _PUBLISHED}


def published_value(table: str, dataset: str, method: str, setting: str) -> float | None:
    """Return one number of the paper, or None if it is not printed."""
    return _VALUES.get((table, dataset, method, setting))
