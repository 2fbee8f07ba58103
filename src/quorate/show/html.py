"""One HTML file from a summary: everything it needs is inside, and nothing is loaded from elsewhere."""

import json
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from quorate.errors import QuorateError
from quorate.scale.files import check_output, write_text
from quorate.show.origin import Origin, known_classes
from quorate.show.palette import SEQUENTIAL, cluster_colours
from quorate.show.plotdata import Fitted, fitted_method
from quorate.show.summary import SUMMARY_VERSION, summarise

# Dark pages start from their own background, so that "nothing" looks like nothing there too.
_SEQUENTIAL_DARK = ("#1b2028", "#1d3a57", "#215a88", "#3380b5", "#5fa8d6", "#a3d0ec", "#eef7fd")


def report(
    fitted: Fitted,
    path: str | Path,
    *,
    name: str = "labels",
    truth: Any = None,
    n_clusters: Iterable[int] | None = None,
) -> Path:
    """Write the report of a consensus: one HTML file that opens anywhere, with everything it needs inside.

    Parameters
    ----------
    fitted : what `consensus` returned, or a fitted estimator
    path : str or Path
        The file to write; a file of that name is replaced.
    name : str, default "labels"
        What the report calls the data.
    truth : (n,) labels, optional
        Known classes, to compare the answer with; the answer does not depend on them.
    n_clusters : iterable of int, optional
        The numbers of clusters to show beside the fitted one. Default: up to twenty.

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> import tempfile
    >>> import quorate as qt
    >>> result = qt.consensus([[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]], 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     qt.report(result, f"{folder}/report.html").name
    'report.html'
    """
    method = fitted_method(fitted)
    check_output(path, force=True)
    origin = Origin(name=name, classes=None if truth is None else known_classes(method.ensemble_, truth))
    write_text(path, render_report(summarise(method, origin, n_clusters=n_clusters)))
    return Path(path)


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
    import jinja2
    from markupsafe import Markup

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
            data=Markup(_embedded(summary)),
            colours=Markup(_embedded(colours)),
            style=Markup(_text("page.css")),
            script=Markup(_text("page.js")),
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
