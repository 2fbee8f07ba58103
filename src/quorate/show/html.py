"""One HTML file from a summary: everything it needs is inside, and nothing is loaded from elsewhere."""

import json
from importlib.resources import files
from typing import Any

from quorate._support.extras import import_extra
from quorate.errors import QuorateError
from quorate.show.palette import SEQUENTIAL, cluster_colours
from quorate.show.summary import SUMMARY_VERSION

# Dark pages start from their own background, so that "nothing" looks like nothing there too.
_SEQUENTIAL_DARK = ("#1b2028", "#1d3a57", "#215a88", "#3380b5", "#5fa8d6", "#a3d0ec", "#eef7fd")


def render_report(summary: dict[str, Any]) -> str:
    """Return the report of a summary as one HTML page.

    Parameters
    ----------
    summary : dict
        What `summarise` returned, or the same read back from JSON.
    """
    if summary.get("schema") != "quorate-summary" or summary.get("version") != SUMMARY_VERSION:
        raise QuorateError(
            f"summary must be a quorate-summary of version {SUMMARY_VERSION}; got {summary.get('schema')!r} of version "
            f"{summary.get('version')!r}. Make it anew with this version of Quorate."
        )
    jinja2 = import_extra("jinja2", "The HTML report")
    markup = jinja2.utils.markupsafe.Markup
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["count"] = _count
    most = max(answer["k"] for answer in summary["answers"])
    colours = {"clusters": cluster_colours(most), "light": SEQUENTIAL, "dark": _SEQUENTIAL_DARK}
    page = environment.from_string(_text("page.html"))
    return str(
        page.render(
            summary=summary,
            data=markup(_embedded(summary)),
            colours=markup(_embedded(colours)),
            style=markup(_text("page.css")),
            script=markup(_text("page.js")),
        )
    )


def _text(name: str) -> str:
    return files("quorate.show").joinpath(name).read_text(encoding="utf-8")


def _embedded(value: Any) -> str:
    """Return JSON that cannot end the script element it stands in, whatever text it holds."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _count(number: float) -> str:
    """Return a number of rows for people."""
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.1f}"
