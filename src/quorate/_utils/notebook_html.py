"""HTML cards for notebooks: figures, a table and bars, without scripts and style sheets."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_SHOWN = 12
_LONGEST = 60
_CELL = "padding:.15em .7em .15em 0;text-align:left;vertical-align:middle"
_BOX = "display:inline-block;border:1px solid rgba(128,128,128,.4);border-radius:.5em;padding:.6em .9em;max-width:60em"
_TRACK = (
    "display:inline-block;width:5em;height:.55em;background:rgba(128,128,128,.25);border-radius:.3em;overflow:hidden"
)


class Share(float):
    """A number in [0, 1] that is drawn as a bar."""


def card(
    title: str, figures: Iterable[tuple[Any, str]], heads: Sequence[str] = (), rows: Sequence[Sequence[Any]] = ()
) -> str:
    """Return a card: a title, figures with their captions, and the first rows of a table."""
    captioned = "".join(
        f'<span style="margin-right:1.4em"><b>{_text(value)}</b> <span style="opacity:.7">{_text(name)}</span></span>'
        for value, name in figures
    )
    head = f'<div style="margin-bottom:.3em"><b>{_text(title)}</b></div>'
    return f'<div style="{_BOX}">{head}{captioned}{_table(heads, rows)}</div>'


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    if not rows:
        return ""
    head = "".join(f'<th style="{_CELL};opacity:.7;font-weight:normal">{_text(name)}</th>' for name in heads)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{_cell(value)}</td>' for value in row) + "</tr>" for row in rows[:_SHOWN]
    )
    n_hidden = len(rows) - _SHOWN
    more = f'<div style="opacity:.7">and {n_hidden} more</div>' if n_hidden > 0 else ""
    lines = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<table style="border-collapse:collapse;margin-top:.5em">{lines}</table>{more}'


def _cell(value: Any) -> str:
    if not isinstance(value, Share):
        return _text(value)
    filled = f"display:block;height:100%;width:{100 * min(max(value, 0.0), 1.0):.0f}%;background:#2a7ab8"
    inner = f'<span style="{filled}"></span>'
    return f'{float(value):.3f} <span style="{_TRACK}">{inner}</span>'


def _text(value: Any) -> str:
    if isinstance(value, float):
        text = f"{value:,.0f}" if value.is_integer() else f"{value:,.3f}"
    else:
        text = f"{value:,}" if isinstance(value, int) else str(value)
    return escape(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")
