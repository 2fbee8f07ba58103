"""One HTML file from a summary: everything it needs is inside, and nothing is loaded from elsewhere."""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from quorate.errors import QuorateError
from quorate.features.consensus_clustering import ConsensusClustering
from quorate.reporting.clustered_files import summarize_clusters
from quorate.reporting.feature_view import FeatureRows, features_of
from quorate.reporting.origin import Origin, known_classes
from quorate.reporting.palette import page_colors
from quorate.reporting.row_facts import facts_in_memory
from quorate.reporting.summary import SUMMARY_VERSION, crowd_notes, summarize
from quorate.reporting.views import Fitted, fitted_method
from quorate.tables.clustering import FileClusters
from quorate.tables.io import check_output, write_text


def report(
    fitted: Fitted | FileClusters,
    path: str | Path,
    *,
    name: str = "labels",
    truth: Any = None,
    ids: Any = None,
    columns: Any = None,
    features: Any = None,
    plane: Sequence[str] | None = None,
    n_clusters: Iterable[int] | None = None,
) -> Path:
    """Write the report of a consensus: one HTML file that opens anywhere, with everything it needs inside.

    Parameters
    ----------
    fitted : what `consensus` or `cluster_file` returned, or a fitted estimator
    path : str or Path
        The file to write; a file of that name is replaced.
    name : str, default "labels"
        What the report calls the data.
    truth : (n,) labels, optional
        Known classes, to compare the answer with; the answer does not depend on them.
    ids : (n,) names of the rows, optional
        By which rows are found in the report. Default: their numbers, counted from 0.
    columns : frame or list of vectors, optional
        Further columns of the same rows, to be summarized for each cluster.
    features : (n, d) array or frame of numbers, optional
        Features of the same rows: some rows are drawn in a plane, and the features that set each cluster apart are
        named. A `ConsensusClustering` and what `cluster_file` returned bring their own.
    plane : two column names, optional
        Features by which rows are drawn, such as UMAP coordinates. Default: the two main directions of all features.
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
    check_output(path, force=True)
    if isinstance(fitted, FileClusters):
        _refuse_rows(truth=truth, ids=ids, columns=columns, features=features)
        summary = summarize_clusters(fitted, name=name, plane=plane, n_clusters=n_clusters)
        write_text(path, render_report(summary))
        return Path(path)
    method = fitted_method(fitted)
    ens = method.ensemble_
    if ids is not None:
        ids = list(ids)
        if len(ids) != ens.n_rows:
            raise QuorateError(f"ids must name each of {ens.n_rows} rows; got {len(ids)}.")
    origin = Origin(
        name=name,
        classes=None if truth is None else known_classes(ens, truth),
        look=lambda patterns, most: facts_in_memory(ens, patterns, most, ids=ids, columns=columns),
        features=_drawn(fitted, features, plane),
        structure=fitted.structure_ if isinstance(fitted, ConsensusClustering) else None,
    )
    write_text(path, render_report(summarize(method, origin, n_clusters=n_clusters)))
    return Path(path)


def _drawn(fitted: Fitted, features: Any, plane: Sequence[str] | None) -> FeatureRows | None:
    rows = features_of(fitted, features)
    if rows is None and plane is not None:
        raise QuorateError("plane names columns of features, and there are none. Pass features= as well.")
    return rows if rows is None or plane is None else rows.in_plane(plane)


def _refuse_rows(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise QuorateError(f"{name} cannot be given for a file that was clustered: its rows are not in memory.")


def render_report(summary: dict[str, Any]) -> str:
    """Return the report of a summary as one HTML page.

    Parameters
    ----------
    summary : dict
        What `summarize` returned, or the same read back from JSON.
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
    script = bundle("report.js")
    colors = page_colors(max(answer["k"] for answer in summary["answers"]))
    page = environment.from_string(web_text("report.html"))
    return str(
        page.render(
            summary=summary,
            notes=crowd_notes(summary["crowd"]),
            data=Markup(_embedded(summary)),
            colors=Markup(_embedded(colors)),
            style=Markup(web_text("look.css")),
            script=Markup(script),
            script_hash=Markup("sha256-" + b64encode(sha256(script.encode()).digest()).decode()),
        )
    )


def web_text(name: str) -> str:
    """Return a file of the page: style, script or template."""
    return files("quorate.reporting").joinpath("web", name).read_text(encoding="utf-8")


_IMPORT = re.compile(r'^import [^;]*? from "\./([\w.]+)";\n', re.MULTILINE)


def bundle(entry: str) -> str:
    """Return a script and all modules it imports as one module, each once and before those that need it."""
    parts: dict[str, str] = {}

    def add(name: str) -> None:
        if name not in parts:
            text = web_text(name)
            for needed in _IMPORT.findall(text):
                add(needed)
            parts[name] = _IMPORT.sub("", text).replace("\nexport ", "\n")

    add(entry)
    return "\n".join(parts.values())


def _embedded(value: Any) -> str:
    """Return JSON that cannot end the script element it stands in, whatever text it holds."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _count(number: float) -> str:
    """Return a number of rows for people."""
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.1f}"
