"""The server of the page: this machine only, one token, JSON in and out, and nothing else to be had from it."""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._runtime.temporary_files import temporary_folder
from quorate._utils.optional_imports import import_extra
from quorate.errors import QuorateError
from quorate.explorer import answers
from quorate.explorer.jobs import Job, Jobs
from quorate.explorer.requests import MOST_ROWS, Ask, check_fields, check_real, check_text, check_whole, parse_ask
from quorate.explorer.workbench import Answer, Workbench

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

_LARGEST_REQUEST = 1 << 20
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
        The secret part of the address; without it there is nothing.
    port : int, optional
        The port it is reached by. Default: any.
    """
    import_extra("starlette", "The explorer")
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    jobs = Jobs()

    async def page(request: Request) -> Response:
        return Response(_own_file("explorer", "explore.html"), media_type="text/html")

    async def script(request: Request) -> Response:
        name = request.path_params["name"]
        kind = _SCRIPTS.get(name.rpartition(".")[2])
        if kind is None or name not in _web_files():
            return _refusal(404, "There is no such file.")
        return Response(_own_file(_web_files()[name], name), media_type=kind)

    async def ask(request: Request) -> Response:
        part = request.path_params["part"]
        if part not in VIEWS:
            return _refusal(404, "There is no such question.")
        try:
            tab, data = await _read(request)
        except QuorateError as error:
            return _refusal(400, str(error))
        work = jobs.run(tab, part, lambda job: VIEWS[part](bench, data, job), request.is_disconnected)
        return await _answered(work)

    async def control(request: Request) -> Response:
        try:
            tab, _ = await _read(request)
        except QuorateError as error:
            return _refusal(400, str(error))
        if request.url.path.endswith("/cancel"):
            return _json({"cancelled": jobs.cancel(tab)})
        return _json(jobs.progress(tab))

    prefix = "/" + token
    app = Starlette(
        routes=[
            Route(prefix + "/", page, methods=["GET"]),
            Route(prefix + "/web/{name}", script, methods=["GET"]),
            Route(prefix + "/api/cancel", control, methods=["POST"]),
            Route(prefix + "/api/progress", control, methods=["POST"]),
            Route(prefix + "/api/{part}", ask, methods=["POST"]),
        ],
        exception_handlers={404: _nothing, 405: _nothing, 500: _failed},
    )
    app.state.jobs = jobs
    app.add_middleware(Guard, token=token, port=port)
    return app


class Guard:
    """Lets in only who knows the token, speaks to this machine by its own name, and comes from the page itself."""

    def __init__(self, app: Any, token: str, port: int | None) -> None:
        self.app, self.token, self.port = app, token, port

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or answer that there is nothing."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                held = [(name, value) for name, value in message["headers"] if name.decode() not in _HEADERS]
                message["headers"] = [*held, *((name.encode(), value.encode()) for name, value in _HEADERS.items())]
            await send(message)

        if self._allowed(scope):
            await self.app(scope, receive, with_headers)
        else:
            await _refusal(404, "There is nothing here.")(scope, receive, with_headers)

    def _allowed(self, scope: Any) -> bool:
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        hosts = headers.get("host", [])
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return False
        if any(origin != f"http://{hosts[0]}" for origin in headers.get("origin", [])):
            return False
        if headers.get("sec-fetch-site", ["same-origin"])[0] not in ("same-origin", "none"):
            return False
        given = scope["path"].split("/")[1] if scope["path"].count("/") >= 2 else ""
        return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self.token.encode())

    def _is_own(self, host: str) -> bool:
        name, _, port = host.rpartition(":") if ":" in host else (host, "", "")
        return name in ("127.0.0.1", "localhost") and (self.port is None or port == str(self.port))


def _own_file(package: str, name: str) -> str:
    return files(f"quorate.{package}").joinpath("web", name).read_text(encoding="utf-8")


def _web_files() -> dict[str, str]:
    """Return the package of each script and style sheet."""
    return {
        file.name: package
        for package in ("reporting", "explorer")
        for file in files(f"quorate.{package}").joinpath("web").iterdir()
        if file.name.rpartition(".")[2] in _SCRIPTS
    }


async def _read(request: Request) -> tuple[str, Any]:
    """Return the tab that asks and its question, from a JSON object {tab, ask}."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise QuorateError("Questions are JSON; send them with content-type application/json.")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _LARGEST_REQUEST:
            raise QuorateError(f"A question may have at most {_LARGEST_REQUEST:,} bytes.")
    try:
        data = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError, UnicodeDecodeError):
        raise QuorateError("The question is not JSON.") from None
    fields = check_fields(data, required=("tab",), optional=("question",))
    tab = check_text("tab", fields["tab"])
    return tab, fields.get("question", {})


def _no_constant(name: str) -> Any:
    raise ValueError(name)


async def _answered(work: Awaitable[Any]) -> Response:
    """Return what some work gave: a body made by it, 422 for a question that cannot be answered, 409 if given up."""
    import asyncio

    from starlette.responses import Response

    try:
        found = await work
    except QuorateError as error:
        return _refusal(422, str(error))
    except asyncio.CancelledError:
        return _refusal(409, "Given up: a newer question came, or it was cancelled.")
    except MemoryError:
        return _refusal(422, "There is not enough memory for this answer. Choose another method.")
    body, kind = found if isinstance(found, tuple) else (found, "application/json")
    return Response(body, media_type=kind)


def _json(value: Any) -> Response:
    from starlette.responses import Response

    return Response(_encoded(value), media_type="application/json")


def _encoded(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _refusal(status: int, message: str) -> Response:
    from starlette.responses import Response

    return Response(_encoded({"error": message}), status_code=status, media_type="application/json")


async def _nothing(request: Request, error: Exception) -> Response:
    return _refusal(405 if getattr(error, "status_code", 404) == 405 else 404, "There is nothing here.")


async def _failed(request: Request, error: Exception) -> Response:
    return _refusal(500, f"The explorer failed ({type(error).__name__}). This is a defect; please report it.")


def first_page(bench: Workbench) -> None:
    """Work out what a new page asks for first, so that it is there when the page is."""
    answers.start(bench)
    bench.answer(parse_ask({}, bench.ensemble.n_members), first_look=True)


# The questions, by the last part of their address. Each runs in a thread and returns bytes.


def _start(bench: Workbench, data: Any, job: Job) -> bytes:
    check_fields(data, ())
    return _encoded(answers.start(bench))


def _asked(bench: Workbench, data: Any, *more: str) -> tuple[Any, Ask]:
    fields = check_fields(data, ("ask",), more)
    return fields, parse_ask(fields["ask"], bench.ensemble.n_members)


def _with_answer(bench: Workbench, data: Any, job: Job, *more: str) -> tuple[Any, Ask, Answer]:
    fields, ask = _asked(bench, data, *more)
    return fields, ask, bench.answer(ask, job)


def _answer(bench: Workbench, data: Any, job: Job) -> bytes:
    _, ask = _asked(bench, data)
    return _encoded(answers.answer_view(bench, ask, bench.answer(ask, job, first_look=True)))


def _choice(bench: Workbench, data: Any, job: Job) -> bytes:
    return _encoded(answers.choice_view(bench.choice(_asked(bench, data)[1], job)))


def _structure(bench: Workbench, data: Any, job: Job) -> bytes:
    return _encoded(bench.structure(_asked(bench, data)[1], job))


def _evidence(bench: Workbench, data: Any, job: Job) -> bytes:
    return _encoded(answers.evidence_view(_with_answer(bench, data, job)[2]))


def _matrix(bench: Workbench, data: Any, job: Job) -> bytes:
    return _encoded(answers.matrix_of(_with_answer(bench, data, job)[2]))


def _contingency(bench: Workbench, data: Any, job: Job) -> bytes:
    fields = check_fields(data, ("one", "other"))
    one, other = (check_whole(name, fields[name], 0, bench.ensemble.n_members - 1) for name in ("one", "other"))
    return _encoded(answers.contingency_view(bench, one, other))


def _compare(bench: Workbench, data: Any, job: Job) -> bytes:
    fields = check_fields(data, ("left", "right"))
    sides = [_side(bench, fields[name], job) for name in ("left", "right")]
    return _encoded(answers.compare_view(bench, *sides))


def _side(bench: Workbench, data: Any, job: Job) -> tuple[str, Any, list[str]]:
    """Return one of two clusterings to compare: {ask}, {member} or {truth}."""
    fields = check_fields(data, (), ("ask", "member", "truth"))
    if len(fields) != 1:
        raise QuorateError("A side is an answer (ask), a member, or the known classes (truth).")
    if "truth" in fields:
        return answers.truth_of(bench)
    if "member" in fields:
        return answers.clustering_of(bench, check_whole("member", fields["member"], 0, bench.ensemble.n_members - 1))
    ask = parse_ask(fields["ask"], bench.ensemble.n_members)
    answer = bench.answer(ask, job)
    names = [str(c) for c in range(answer.cut.n_clusters)]
    return f"{ask.method}, k = {answer.cut.n_clusters}", answer.row_labels, names


def _rows(bench: Workbench, data: Any, job: Job) -> bytes:
    fields, _, answer = _with_answer(bench, data, job, "cluster", "bin", "find", "polygon", "offset", "limit")
    offset = check_whole("offset", fields.get("offset", 0), 0, bench.ensemble.n_rows)
    limit = check_whole("limit", fields.get("limit", 25), 1, MOST_ROWS)
    return _encoded(answers.rows_view(bench, answer, _wanted(bench, answer, fields), offset, limit))


def _wanted(bench: Workbench, answer: Answer, fields: Any) -> Any:
    """Return the rows that all of the filters leave; None: all rows."""
    kept = None
    if fields.get("find") is not None:
        kept = answers.find_rows(bench, check_text("find", fields["find"]))
    if fields.get("polygon") is not None:
        rows = answers.inside(bench, _polygon(fields["polygon"]))
        kept = rows if kept is None else np.intersect1d(kept, rows)
    for name, high, values in (
        ("cluster", answer.cut.n_clusters - 1, lambda: answer.row_labels),
        ("bin", len(answer.cut.histogram) - 1, lambda: _bins(answer)),
    ):
        if fields.get(name) is not None:
            wanted = check_whole(name, fields[name], 0, high)
            found = values()
            kept = np.flatnonzero(found == wanted) if kept is None else kept[found[kept] == wanted]
    return kept


def _bins(answer: Answer) -> Any:
    """(n,) the bar of the histogram of confidence that each row is in; rows without a label are in none."""
    bins = len(answer.cut.histogram)
    found = np.minimum((answer.row_confidence * bins).astype(int), bins - 1)
    return np.where(answer.row_labels >= 0, found, -1)


def _polygon(value: Any) -> Any:
    if not isinstance(value, list) or not 3 <= len(value) <= 2000:
        raise QuorateError("polygon must be a list of 3 to 2,000 points.")
    if not all(isinstance(point, list) and len(point) == 2 for point in value):
        raise QuorateError("polygon must hold points of two numbers each.")
    return np.array([[check_real("polygon", x) for x in point] for point in value])


def _row(bench: Workbench, data: Any, job: Job) -> bytes:
    fields, ask, answer = _with_answer(bench, data, job, "row")
    row = check_whole("row", fields.get("row"), 0, bench.ensemble.n_rows - 1)
    return _encoded(answers.row_view(bench, ask, answer, row))


def _points(bench: Workbench, data: Any, job: Job) -> bytes:
    fields, _, answer = _with_answer(bench, data, job, "color")
    if bench.xy is None:
        raise QuorateError("There are no coordinates. Start the explorer with --xy or --features.")
    color = fields.get("color", "cluster")
    if color not in ("cluster", "confidence", "margin", "truth"):
        color = str(check_whole("color", color, 0, bench.ensemble.n_members - 1))
    return _encoded(answers.points_view(bench, answer, color))


def _selection(bench: Workbench, data: Any, job: Job) -> bytes:
    fields, _, answer = _with_answer(bench, data, job, "polygon")
    rows = answers.inside(bench, _polygon(fields.get("polygon")))
    return _encoded(answers.selection_view(bench, answer, rows))


def _labels(bench: Workbench, data: Any, job: Job) -> tuple[bytes, str]:
    """Return the labels of all rows as a table, CSV or Parquet."""
    fields, _, answer = _with_answer(bench, data, job, "format")
    kind = fields.get("format", "csv")
    if kind not in ("csv", "parquet"):
        raise QuorateError("format must be csv or parquet.")
    import duckdb

    from quorate.tables.io import quote_name, write_table
    from quorate.tables.roles import ANSWERS

    name = bench.id_name or "row"
    ids = np.arange(bench.ensemble.n_rows) if bench.ids is None else np.asarray(bench.ids, dtype=object)
    with duckdb.connect() as connection, temporary_folder() as folder:
        of_rows = (answer.row_labels, answer.row_confidence, answer.row_margin, answer.row_runner_up)
        held = {"row": ids, **{column: np.round(values, 6) for column, values in zip(ANSWERS, of_rows, strict=True)}}
        connection.register("held", held)
        relation = connection.sql(f"SELECT row AS {quote_name(name)}, {', '.join(ANSWERS)} FROM held")
        path = Path(folder) / f"labels.{kind}"
        write_table(relation, path)
        return path.read_bytes(), "text/csv" if kind == "csv" else "application/vnd.apache.parquet"


VIEWS: dict[str, View] = {
    "start": _start,
    "answer": _answer,
    "choice": _choice,
    "structure": _structure,
    "evidence": _evidence,
    "matrix": _matrix,
    "contingency": _contingency,
    "compare": _compare,
    "rows": _rows,
    "row": _row,
    "points": _points,
    "selection": _selection,
    "labels": _labels,
}
