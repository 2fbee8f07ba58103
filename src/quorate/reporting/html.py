"""The report: one self-contained HTML file, rendered from a summary."""

import json
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from quorate._utils.optional_imports import import_extra
from quorate._utils.palette import page_colors
from quorate.algorithms.registry import ConsensusResult
from quorate.errors import InputError, Setting
from quorate.features.consensus_clustering import ConsensusClustering
from quorate.reporting.bundling import bundle
from quorate.reporting.clustered_files import summarize_clusters
from quorate.reporting.feature_view import FeatureRows, features_of
from quorate.reporting.fitted_input import Fitted, fitted_method
from quorate.reporting.origin import Origin, known_classes
from quorate.reporting.row_facts import facts_in_memory
from quorate.reporting.sentences import rows
from quorate.reporting.summary import SUMMARY_VERSION, summarize
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
    layers: Iterable[int] = (),
    force: bool = False,
) -> Path:
    """Write the report of a consensus: one self-contained HTML file.

    Parameters
    ----------
    fitted : result of `consensus` or `cluster_file`, or fitted estimator
    path : str or Path
        The file to write.
    name : str, default "labels"
        The name of the data in the report.
    truth : (n,) labels, optional
        Known classes, to compare the result with; the result does not depend on them.
    ids : (n,) names of the rows, optional
        Row IDs, which can be searched in the report. Default: row numbers, counted from 0.
    columns : frame or list of vectors, optional
        Further columns of the same rows, summarized for each cluster.
    features : (n, d) array or frame of numbers, optional
        Features of the same rows: sampled rows are drawn in a plane, and the features that distinguish each cluster
        are listed. A `ConsensusClustering` and the result of `cluster_file` include their own.
    plane : two column names, optional
        Features used as coordinates, such as UMAP. Default: the first two principal components.
    n_clusters : iterable of int, optional
        The numbers of clusters to show in addition to the fitted one. Default: up to twenty.
    layers : iterable of int, optional
        The numbers of clusters of the nested layers to show (`ConsensusResult.layers`). Default: the best supported.
    force : bool, default False
        Whether to replace an existing file.

    Returns
    -------
    Path
        The written file.

    Examples
    --------
    >>> import tempfile
    >>> import quorate as qt
    >>> result = qt.consensus([[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]], 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     qt.report(result, f"{folder}/report.html").name
    'report.html'
    """
    check_output(path, force=force)
    if isinstance(fitted, FileClusters):
        _refuse_rows(truth=truth, ids=ids, columns=columns, features=features, layers=tuple(layers) or None)
        summary = summarize_clusters(fitted, name=name, plane=plane, n_clusters=n_clusters)
        write_text(path, render_report(summary), force=force)
        return Path(path)
    method = fitted_method(fitted)
    ens = method.ensemble_
    if ids is not None:
        ids = list(ids)
        if len(ids) != ens.n_rows:
            raise InputError(
                f"must have one name for each of {ens.n_rows:,} rows; got {len(ids):,}.", code="length", parameter="ids"
            )
    origin = Origin(
        name=name,
        classes=None if truth is None else known_classes(ens, truth),
        row_facts=lambda patterns, most: facts_in_memory(ens, patterns, most, ids=ids, columns=columns),
        features=_feature_rows(fitted, features, plane),
        layers=tuple(layers),
        earlier=fitted.earlier if isinstance(fitted, ConsensusResult) else None,
        structure=fitted.structure_ if isinstance(fitted, ConsensusClustering) else None,
        choice=fitted.choice_ if isinstance(fitted, ConsensusClustering) else None,
        automatic=isinstance(fitted, ConsensusClustering) and fitted.n_clusters == "auto",
    )
    write_text(path, render_report(summarize(method, origin, n_clusters=n_clusters)), force=force)
    return Path(path)


def _feature_rows(fitted: Fitted, features: Any, plane: Sequence[str] | None) -> FeatureRows | None:
    drawn = features_of(fitted, features)
    if drawn is None and plane is not None:
        raise InputError(
            "needs features, and there are none.",
            code="no-features",
            parameter="plane",
            hint=("Pass ", Setting("features"), " as well."),
        )
    return drawn if drawn is None or plane is None else drawn.in_plane(plane)


def _refuse_rows(**values: Any) -> None:
    for name, value in values.items():
        if value is not None:
            raise InputError(
                "cannot be used with a clustered file: its rows are not in memory.",
                code="rows-not-in-memory",
                parameter=name,
            )


def render_report(summary: dict[str, Any]) -> str:
    """Return the report of a summary as one HTML page.

    Parameters
    ----------
    summary : dict
        The result of `summarize`, or the same read back from JSON.
    """
    if summary.get("schema") != "quorate-summary" or summary.get("version") != SUMMARY_VERSION:
        raise InputError(
            f"must be a quorate-summary of version {SUMMARY_VERSION}; got {summary.get('schema')!r} of version "
            f"{summary.get('version')!r}.",
            code="summary-version",
            parameter="summary",
            hint="Create it again with this version of Quorate.",
        )
    jinja2 = import_extra("jinja2", "The HTML report")
    markup = import_extra("markupsafe", "The HTML report").Markup
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["count"] = rows
    script = bundle("report.js", web_text)
    page = environment.from_string(web_text("report.html"))
    return str(
        page.render(
            summary=summary,
            data=markup(_embedded(summary)),
            colors=markup(_embedded(page_colors())),
            style=markup(web_text("look.css")),
            script=markup(script),
            script_hash=markup("sha256-" + b64encode(sha256(script.encode()).digest()).decode()),
        )
    )


def web_text(name: str) -> str:
    """Return a file of the web folder: style, script or template."""
    return files("quorate.reporting").joinpath("web", name).read_text(encoding="utf-8")


def _embedded(value: Any) -> str:
    """Return JSON that cannot close the script element around it, whatever text it contains."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
