"""The local server of the page: loopback only, a secret token in the address, JSON requests and responses."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from quorate._utils.optional_imports import import_extra
from quorate.errors import InputError, QuorateError
from quorate.explorer.jobs import Job, Jobs
from quorate.explorer.requests import check_fields, check_text
from quorate.explorer.views import VIEWS, File
from quorate.explorer.workbench import Workbench

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

        def compute(job: Job) -> Reply:
            result = view(self.bench, request, job)
            return Reply(200, *result) if isinstance(result, File) else Reply(200, _encoded(result))

        try:
            return await self.jobs.run(tab, part, compute, disconnected)
        except QuorateError as error:
            return _error(422, str(error))
        except asyncio.CancelledError:
            return _error(409, "Cancelled, or superseded by a newer request.")
        except MemoryError:
            return _error(422, "Not enough memory for this result. Choose another method.")
        except Exception as error:
            return _error(500, f"Internal error ({type(error).__name__}). Please report it as a bug.")


def _encoded(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _error(status: int, message: str) -> Reply:
    return Reply(status, _encoded({"error": message}))
