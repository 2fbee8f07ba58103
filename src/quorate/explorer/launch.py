"""Starting and stopping the explorer."""

from __future__ import annotations

import secrets
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from quorate._runtime import threads
from quorate._utils.array_types import Floats
from quorate._utils.optional_imports import import_extra
from quorate.ensemble import Ensemble, as_ensemble
from quorate.errors import QuorateError
from quorate.explorer.server import first_page, make_app
from quorate.explorer.workbench import Workbench
from quorate.reporting.views import ensemble_of

_PATIENCE = 5.0  # seconds for work to end that is of no use any more


class Ended(BaseException):
    """Raised in work that is of no use any more, since the explorer ends."""


class Explorer:
    """A running explorer: `url` is its address; `stop()` ends it, as does leaving a `with` block."""

    def __init__(self, bench: Workbench, *, port: int = 0) -> None:
        uvicorn = import_extra("uvicorn", "The explorer")
        self.token = secrets.token_urlsafe(24)
        self._socket = _listen(port)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/{self.token}/"
        self._bench = bench
        self._app = make_app(bench, self.token, self.port)
        config = uvicorn.Config(
            self._app, log_level="critical", access_log=False, ws="none", lifespan="off", server_header=False,
            h11_max_incomplete_event_size=1 << 16, timeout_graceful_shutdown=1,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._first: threading.Thread | None = None
        self._ended = threading.Event()
        self._ended.set()

    def start(self) -> Explorer:
        """Serve in a thread of its own; returns when the address answers."""
        self._ended.clear()
        threading.Thread(target=self._serve, daemon=True, name="quorate-explore-server").start()
        deadline = time.monotonic() + 20
        while not self._server.started:
            if self._ended.is_set() or time.monotonic() > deadline:
                raise QuorateError("The explorer's server did not start.")
            time.sleep(0.01)
        self._first = threading.Thread(target=self._prepare, daemon=True, name="quorate-explore-first")
        self._first.start()
        return self

    def _prepare(self) -> None:
        """Begin with what a new page asks for first, while the browser opens; what goes wrong, the page will hear."""
        with suppress(Ended, Exception), threads.cancelled_by(self._go_on):
            first_page(self._bench)

    def _go_on(self) -> None:
        if self._server.should_exit:
            raise Ended

    def _serve(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._ended.set()

    def wait(self) -> None:
        """Serve until it is stopped; Ctrl-C stops it cleanly."""
        try:
            while not self._ended.wait(0.5):  # an interrupt while a thread is joined would make it seem ended
                pass
        except KeyboardInterrupt:
            print(file=sys.stderr)
        finally:
            self.stop()

    def stop(self) -> None:
        """End the server and what it works at, and close its port."""
        self._app.state.jobs.cancel_all()
        self._server.should_exit = True
        self._ended.wait()
        if self._first is not None:
            self._first.join(_PATIENCE)
        self._socket.close()

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Explorer({self.url!r})"


def _listen(port: int) -> socket.socket:
    """Return a socket of this machine alone."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except OSError as error:
        listening.close()
        raise QuorateError(f"Port {port} cannot be used: {error.strerror}. Name another, or none.") from None
    return listening


def explore(
    labels: Any,
    *,
    features: Any = None,
    xy: Any = None,
    truth: Any = None,
    ids: Sequence[Any] | None = None,
    name: str = "labels",
    port: int = 0,
    open_browser: bool = True,
) -> Explorer:
    """Open a live page over an ensemble: ask which members, which method, which k, and see the answer at once.

    The page is served to this machine only, at an address with a secret in it. It works until `stop()`, or until
    Python ends. Needs `pip install "quorate[explore]"`.

    Parameters
    ----------
    labels : Ensemble, anything `Ensemble` takes, or a result
        The clusterings.
    features : (n, d) array or frame, optional
        What the rows are like; drawn along their two main directions (principal components).
    xy : (n, 2) array or frame, optional
        Where each row stands in a picture, such as a UMAP; goes before `features`.
    truth : (n,) labels, optional
        Known classes, to compare with.
    ids : (n,) names of the rows, optional
    name : str, default "labels"
        What the page calls the data.
    port : int, default 0
        The port to listen to; 0 takes a free one.
    open_browser : bool, default True
        Whether to open the page in the browser of this machine.

    Returns
    -------
    Explorer
        With its `url` and `stop()`.
    """
    ens = ensemble_of(labels) if not isinstance(labels, Ensemble) else as_ensemble(labels)
    bench = Workbench(
        ens,
        name=name,
        ids=None if ids is None else _per_row("ids", [str(one) for one in ids], ens),
        id_name=None if ids is None else "id",
        truth=None if truth is None else tuple(_per_row("truth", _texts(truth), ens)),
        truth_name=None if truth is None else "known classes",
        **coordinates(ens, features, xy),
    )
    explorer = Explorer(bench, port=port).start()
    if open_browser:
        webbrowser.open(explorer.url)
    return explorer


def coordinates(ens: Ensemble, features: Any = None, xy: Any = None) -> dict[str, Any]:
    """Return where rows stand: as given, or along the two main directions of their features."""
    if xy is None and features is None:
        return {}
    given = xy if xy is not None else features
    names = [str(one) for one in getattr(given, "columns", [])] or ["x", "y"]
    try:
        points = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise QuorateError("xy and features must hold numbers only. Leave out columns of text.") from None
    if points.ndim != 2 or len(points) != ens.n_rows:
        raise QuorateError(f"xy and features must have one line for each of {ens.n_rows} rows; got {points.shape}.")
    if not np.all(np.isfinite(points)):
        raise QuorateError("xy and features must be finite numbers; fill or drop missing cells first.")
    if xy is None:
        return {"xy": _main_directions(points), "xy_names": ("first direction", "second direction")}
    if points.shape[1] != 2:
        raise QuorateError(f"xy must have two columns; got {points.shape[1]}. Pass the others as features.")
    return {"xy": points, "xy_names": (names[0], names[1])}


def _main_directions(features: Floats) -> Floats:
    """(n, 2) the two principal components of standardized features."""
    spread = features.std(axis=0)
    scaled = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    leading = vectors[:, np.argsort(-values)[:2]]
    leading *= np.where(leading[np.argmax(np.abs(leading), axis=0), range(leading.shape[1])] < 0, -1.0, 1.0)
    points = scaled @ leading
    return points if points.shape[1] == 2 else np.column_stack([points, np.zeros(len(points))])


def _texts(values: Any) -> list[str]:
    return ["" if one is None or one != one else str(one) for one in np.asarray(values).tolist()]


def _per_row(name: str, values: list[str], ens: Ensemble) -> list[str]:
    if len(values) != ens.n_rows:
        raise QuorateError(f"{name} must hold one value for each of {ens.n_rows} rows; got {len(values)}.")
    return values
