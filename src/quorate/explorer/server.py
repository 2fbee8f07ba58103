"""The local server of the page: loopback only, a secret token in the address, JSON requests and responses."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quorate._runtime.temporary_files import temporary_folder
from quorate._utils.optional_imports import import_extra
from quorate.errors import InputError, QuorateError
from quorate.explorer import answers
from quorate.explorer.jobs import Job, Jobs
from quorate.explorer.requests import (
    MOST_CLUSTERS,
    MOST_ROWS,
    Query,
    check_fields,
    check_real,
    check_text,
    check_whole,
    parse_query,
)
from quorate.explorer.workbench import Answer, Workbench, report_stage
from quorate.reporting.plain_values import layer_values

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

_LARGEST_REQUEST = 1 << 20
_MOST_LAYERS = 8
_SCRIPTS = {"js": "text/javascript", "css": "text/css"}
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}

View = Callable[[Workbench, Any, Job], Any]


def make_app(bench: Workbench, token: str, port: int | None = None) -> Starlette:
    """Return the application that serves one page over an ensemble.

    Parameters
    ----------
    bench : Workbench
    token : str
        The secret part of the address; requests without it get 404.
    port : int, optional
        The port in the address. Default: any.
    """
    import_extra("starlette", "The explorer")
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    requests = Requests(bench)

    async def page(request: Request) -> Response:
        return Response(web_text("explore.html"), media_type="text/html")

    async def script(request: Request) -> Response:
        name = request.path_params["name"]
        # Only files of the package: names never become paths.
        kind = _SCRIPTS.get(name.rpartition(".")[2])
        if kind is None or name not in _web_files():
            return _response(_error(404, "Unknown file."))
        return Response(web_text(name), media_type=kind)

    async def answer(request: Request) -> Response:
        try:
            data = await _read(request)
        except InputError as error:
            return _response(_error(400, str(error)))
        return _response(await requests.reply(request.path_params["part"], data, request.is_disconnected))

    # The token is part of the address, so that other local users cannot guess it.
    prefix = "/" + token
    app = Starlette(
        routes=[
            Route(prefix + "/", page, methods=["GET"]),
            Route(prefix + "/web/{name}", script, methods=["GET"]),
            Route(prefix + "/api/{part}", answer, methods=["POST"]),
        ],
        exception_handlers={404: _not_found, 405: _not_found},
    )
    app.state.jobs = requests.jobs
    app.add_middleware(Guard, token=token, port=port)
    return app


class Guard:
    """Accept only requests with the token, for a local host name, from the page itself; answer 404 to others."""

    def __init__(self, app: Any, token: str, port: int | None) -> None:
        self.app, self.token, self.port = app, token, port

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or answer 404."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        # Security headers on every response, also on errors.
        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                others = [(name, value) for name, value in message["headers"] if name.decode() not in _HEADERS]
                message["headers"] = [*others, *((name.encode(), value.encode()) for name, value in _HEADERS.items())]
            await send(message)

        if self._allowed(scope):
            await self.app(scope, receive, with_headers)
        else:
            await _response(_error(404, "Not found."))(scope, receive, with_headers)

    def _allowed(self, scope: Any) -> bool:
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        # The host must be local and named once, which stops DNS rebinding.
        hosts = headers.get("host", [])
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return False
        # Requests from other pages carry their own origin.
        if any(origin != f"http://{hosts[0]}" for origin in headers.get("origin", [])):
            return False
        if headers.get("sec-fetch-site", ["same-origin"])[0] not in ("same-origin", "none"):
            return False
        given = scope["path"].split("/")[1] if scope["path"].count("/") >= 2 else ""
        # Constant time, so that the token cannot be guessed by timing.
        return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self.token.encode())

    def _is_own(self, host: str) -> bool:
        name, _, port = host.rpartition(":") if ":" in host else (host, "", "")
        return name in ("127.0.0.1", "localhost") and (self.port is None or port == str(self.port))


def web_text(name: str) -> str:
    """Return a file of the explorer's page; it shares scripts and styles with the report."""
    return files(f"quorate.{_web_files()[name]}").joinpath("web", name).read_text(encoding="utf-8")


def _web_files() -> dict[str, str]:
    """Return the package of each file of the page."""
    return {
        file.name: package
        for package in ("reporting", "explorer")
        for file in files(f"quorate.{package}").joinpath("web").iterdir()
    }


async def _read(request: Request) -> Any:
    """Return the JSON value of a request."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise InputError("Requests must have content-type application/json.", code="content-type")
    body = b""
    # Read in pieces, so that a large body is refused before it is in memory.
    async for piece in request.stream():
        body += piece
        if len(body) > _LARGEST_REQUEST:
            raise InputError(f"A request must have at most {_LARGEST_REQUEST:,} bytes.", code="request-size")
    try:
        return json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError, UnicodeDecodeError):
        raise InputError("The request is not valid JSON.", code="json") from None


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _response(reply: Reply) -> Response:
    from starlette.responses import Response

    return Response(reply.body, status_code=reply.status, media_type=reply.kind)


async def _not_found(request: Request, error: Exception) -> Response:
    return _response(_error(405 if getattr(error, "status_code", 404) == 405 else 404, "Not found."))


# Requests, whether they come over HTTP or as messages of a notebook.


class Reply(NamedTuple):
    """The reply to a request, with an HTTP status."""

    status: int
    body: bytes
    kind: str = "application/json"


class Requests:
    """Replies to the requests of pages over one ensemble."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.jobs = Jobs()

    async def reply(self, part: str, data: Any, disconnected: Callable[[], Awaitable[bool]]) -> Reply:
        """Return the reply to a request {tab, request}: 422 if it is invalid, 409 if it was cancelled.

        Parameters
        ----------
        part : str
            What is requested: a key of `VIEWS`, "progress" or "cancel".
        data : JSON value
            The browser tab, and the fields of the request.
        disconnected : callable
            Returns whether the page has given up the request.
        """
        try:
            fields = check_fields(data, required=("tab",), optional=("request",))
            tab = check_text("tab", fields["tab"])
        except InputError as error:
            return _error(400, str(error))
        if part == "cancel":
            return Reply(200, _encoded({"cancelled": self.jobs.cancel(tab)}))
        if part == "progress":
            return Reply(200, _encoded(self.jobs.progress(tab)))
        if part not in VIEWS:
            return _error(404, "Unknown request.")
        view, request = VIEWS[part], fields.get("request", {})
        try:
            result = await self.jobs.run(tab, part, lambda job: view(self.bench, request, job), disconnected)
        except QuorateError as error:
            return _error(422, str(error))
        except asyncio.CancelledError:
            return _error(409, "Cancelled, or superseded by a newer request.")
        except MemoryError:
            return _error(422, "Not enough memory for this result. Choose another method.")
        except Exception as error:
            return _error(500, f"Internal error ({type(error).__name__}). Please report it as a bug.")
        return Reply(200, *result) if isinstance(result, tuple) else Reply(200, result)


def _encoded(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _error(status: int, message: str) -> Reply:
    return Reply(status, _encoded({"error": message}))


def first_page(bench: Workbench) -> None:
    """Compute what a new page requests first, while the browser opens."""
    answers.start(bench)
    bench.answer(parse_query({}, bench.ensemble.n_members), first_look=True)


# The requests, by the last part of their address. Each runs in a thread and returns bytes.


def _start(bench: Workbench, data: Any, job: Job) -> bytes:
    check_fields(data, ())
    return _encoded(answers.start(bench))


def _with_query(bench: Workbench, data: Any, *more: str) -> tuple[Any, Query]:
    fields = check_fields(data, ("query",), more)
    return fields, parse_query(fields["query"], bench.ensemble.n_members)


def _with_answer(bench: Workbench, data: Any, job: Job, *more: str) -> tuple[Any, Query, Answer]:
    fields, query = _with_query(bench, data, *more)
    return fields, query, bench.answer(query, job)


def _answer(bench: Workbench, data: Any, job: Job) -> bytes:
    _, query = _with_query(bench, data)
    answer = bench.answer(query, job, first_look=True)
    bench.shown = query
    return _encoded(answers.answer_view(bench, query, answer))


def _choice(bench: Workbench, data: Any, job: Job) -> bytes:
    return _encoded(answers.choice_view(bench.choice(_with_query(bench, data)[1], job)))


def _structure(bench: Workbench, data: Any, job: Job) -> bytes:
    return _encoded(bench.structure(_with_query(bench, data)[1], job))


def _diagnostics(bench: Workbench, data: Any, job: Job) -> bytes:
    return _encoded(answers.diagnostics_view(_with_answer(bench, data, job)[2]))


def _matrix(bench: Workbench, data: Any, job: Job) -> bytes:
    return _encoded(answers.matrix_of(_with_answer(bench, data, job)[2]))


def _camps(bench: Workbench, data: Any, job: Job) -> bytes:
    fields, query, answer = _with_answer(bench, data, job, "combined")
    combined = fields.get("combined", True)
    if not isinstance(combined, bool):
        raise InputError("must be true or false.", code="boolean", parameter="combined")
    report_stage(job, "comparing groups of members")
    return _encoded(answers.camps_view(bench, query, answer, combined=combined))


def _core(bench: Workbench, data: Any, job: Job) -> bytes:
    _, query, answer = _with_answer(bench, data, job)
    return _encoded(answers.core_view(bench.cores(query, answer, job)))


def _layers(bench: Workbench, data: Any, job: Job) -> bytes:
    fields, _, answer = _with_answer(bench, data, job, "ks")
    solution, ks = answer.solution, fields.get("ks")
    if not isinstance(ks, list) or not 1 <= len(ks) <= _MOST_LAYERS:
        raise InputError(f"must be a list of 1 to {_MOST_LAYERS} numbers.", code="list", parameter="ks")
    most = max(solution.max_clusters, 1)
    return _encoded(layer_values(solution.layers({min(check_whole("ks", k, 1, MOST_CLUSTERS), most) for k in ks})))


def _in_core(bench: Workbench, query: Query, answer: Answer, fields: Any, job: Job) -> Any:
    """(m,) the patterns whose rows are in the core at the requested agreement; None if none is requested."""
    if fields.get("core") is None:
        return None
    return bench.cores(query, answer, job).holds(check_real("core", fields["core"], 0.0, 1.0))


def _contingency(bench: Workbench, data: Any, job: Job) -> bytes:
    fields = check_fields(data, ("one", "other"))
    first, second = (check_whole(name, fields[name], 0, bench.ensemble.n_members - 1) for name in ("one", "other"))
    return _encoded(answers.contingency_view(bench, first, second))


def _compare(bench: Workbench, data: Any, job: Job) -> bytes:
    fields = check_fields(data, ("left", "right"))
    sides = [_side(bench, fields[name], job) for name in ("left", "right")]
    return _encoded(answers.compare_view(bench, *sides))


def _side(bench: Workbench, data: Any, job: Job) -> tuple[str, Any, list[str]]:
    """Return one of two clusterings to compare: {query}, {member} or {truth}."""
    fields = check_fields(data, (), ("query", "member", "truth"))
    if len(fields) != 1:
        raise InputError("A side must have one of the fields query, member and truth.", code="side")
    if "truth" in fields:
        return answers.truth_of(bench)
    if "member" in fields:
        return answers.clustering_of(bench, check_whole("member", fields["member"], 0, bench.ensemble.n_members - 1))
    query = parse_query(fields["query"], bench.ensemble.n_members)
    answer = bench.answer(query, job)
    names = [str(c) for c in range(answer.cut.n_clusters)]
    return f"{query.method}, k = {answer.cut.n_clusters}", answer.row_labels, names


def _rows(bench: Workbench, data: Any, job: Job) -> bytes:
    more = ("cluster", "bin", "core", "find", "polygon", "offset", "limit")
    fields, query, answer = _with_answer(bench, data, job, *more)
    offset = check_whole("offset", fields.get("offset", 0), 0, bench.ensemble.n_rows)
    limit = check_whole("limit", fields.get("limit", 25), 1, MOST_ROWS)
    rows = _filtered(bench, answer, fields)
    in_core = _in_core(bench, query, answer, fields, job)
    if in_core is not None:
        of_rows = in_core[answer.row_pattern]
        rows = np.flatnonzero(of_rows) if rows is None else rows[of_rows[rows]]
    return _encoded(answers.rows_view(bench, answer, rows, offset, limit))


def _filtered(bench: Workbench, answer: Answer, fields: Any) -> Any:
    """Return the rows that pass all filters; None: all rows."""
    rows = None
    # Filters by text and by selection first: they usually leave few rows.
    if fields.get("find") is not None:
        rows = answers.find_rows(bench, check_text("find", fields["find"]))
    if fields.get("polygon") is not None:
        inside = answers.inside(bench, _polygon(fields["polygon"]))
        rows = inside if rows is None else np.intersect1d(rows, inside)
    for name, high, values in (
        ("cluster", answer.cut.n_clusters - 1, lambda: answer.row_labels),
        ("bin", len(answer.cut.histogram) - 1, lambda: _bins(answer)),
    ):
        if fields.get(name) is not None:
            value, of_rows = check_whole(name, fields[name], 0, high), values()
            rows = np.flatnonzero(of_rows == value) if rows is None else rows[of_rows[rows] == value]
    return rows


def _bins(answer: Answer) -> Any:
    """(n,) the bin of each row in the histogram of confidence; -1 for rows without a label."""
    n_bins = len(answer.cut.histogram)
    bins = np.minimum((answer.row_confidence * n_bins).astype(int), n_bins - 1)
    return np.where(answer.row_labels >= 0, bins, -1)


def _polygon(value: Any) -> Any:
    if not isinstance(value, list) or not 3 <= len(value) <= 2000:
        raise InputError("must be a list of 3 to 2,000 points.", code="polygon", parameter="polygon")
    if not all(isinstance(point, list) and len(point) == 2 for point in value):
        raise InputError("must have points of two numbers each.", code="polygon", parameter="polygon")
    return np.array([[check_real("polygon", x) for x in point] for point in value])


def _row(bench: Workbench, data: Any, job: Job) -> bytes:
    fields, query, answer = _with_answer(bench, data, job, "row")
    row = check_whole("row", fields.get("row"), 0, bench.ensemble.n_rows - 1)
    return _encoded(answers.row_view(bench, query, answer, row))


def _points(bench: Workbench, data: Any, job: Job) -> bytes:
    fields, query, answer = _with_answer(bench, data, job, "color", "core")
    if bench.xy is None:
        raise answers.no_coordinates()
    color = fields.get("color", "cluster")
    if color not in ("cluster", "confidence", "margin", "truth"):
        color = str(check_whole("color", color, 0, bench.ensemble.n_members - 1))
    return _encoded(answers.points_view(bench, answer, color, _in_core(bench, query, answer, fields, job)))


def _selection(bench: Workbench, data: Any, job: Job) -> bytes:
    fields, _, answer = _with_answer(bench, data, job, "polygon")
    rows = answers.inside(bench, _polygon(fields.get("polygon")))
    return _encoded(answers.selection_view(bench, answer, rows))


def _labels(bench: Workbench, data: Any, job: Job) -> tuple[bytes, str]:
    """Return the labels of all rows as a table, CSV or Parquet; at a required agreement also those of the core."""
    fields, query, answer = _with_answer(bench, data, job, "format", "core")
    kind = fields.get("format", "csv")
    if kind not in ("csv", "parquet"):
        raise InputError("must be csv or parquet.", code="choice", parameter="format")
    from quorate.columns.column_roles import ANSWER_COLUMNS
    from quorate.tables.combining import CORE_COLUMN
    from quorate.tables.io import quote_name, write_table

    name = bench.id_name or "row"
    ids = np.arange(bench.ensemble.n_rows) if bench.ids is None else np.asarray(bench.ids, dtype=object)
    duckdb = import_extra("duckdb", "Downloading labels")
    with duckdb.connect() as connection, temporary_folder() as folder:
        of_rows = (answer.row_labels, answer.row_confidence, answer.row_margin, answer.row_runner_up)
        columns = {
            "row": ids,
            **{column: np.round(values, 6) for column, values in zip(ANSWER_COLUMNS, of_rows, strict=True)},
        }
        in_core = _in_core(bench, query, answer, fields, job)
        if in_core is not None:
            columns[CORE_COLUMN] = np.where(in_core[answer.row_pattern], answer.row_labels, -1)
        connection.register("labels", columns)
        relation = connection.sql(f"SELECT row AS {quote_name(name)}, * EXCLUDE (row) FROM labels")
        path = Path(folder) / f"labels.{kind}"
        write_table(relation, path)
        return path.read_bytes(), "text/csv" if kind == "csv" else "application/vnd.apache.parquet"


VIEWS: dict[str, View] = {
    "start": _start,
    "answer": _answer,
    "choice": _choice,
    "structure": _structure,
    "diagnostics": _diagnostics,
    "matrix": _matrix,
    "camps": _camps,
    "core": _core,
    "layers": _layers,
    "contingency": _contingency,
    "compare": _compare,
    "rows": _rows,
    "row": _row,
    "points": _points,
    "selection": _selection,
    "labels": _labels,
}
