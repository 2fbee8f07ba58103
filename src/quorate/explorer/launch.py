"""Start and stop the explorer."""

from __future__ import annotations

import secrets
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from quorate._runtime import threads
from quorate._utils.optional_imports import import_extra
from quorate.algorithms.registry import ConsensusResult
from quorate.analysis.spatial import check_points
from quorate.ensemble import Ensemble, as_ensemble
from quorate.errors import InputError, QuorateError, Setting
from quorate.explorer.server import make_app
from quorate.explorer.views import first_page
from quorate.explorer.workbench import Workbench
from quorate.features.consensus_clustering import ConsensusClustering
from quorate.reporting.feature_view import component_names, principal_components
from quorate.reporting.fitted_input import ensemble_of

if TYPE_CHECKING:
    from quorate.explorer.widget import ExplorerWidget

_STOP_SECONDS = 5.0  # for running work to end


class Stopped(BaseException):
    """Raised in running work when the explorer stops."""


class Explorer:
    """A running explorer: `url` is its address; `stop()` or the end of a `with` block stops it."""

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
        """Serve in a background thread; return when the address responds."""
        self._ended.clear()
        threading.Thread(target=self._serve, daemon=True, name="quorate-explore-server").start()
        deadline = time.monotonic() + 20
        while not self._server.started:
            if self._ended.is_set() or time.monotonic() > deadline:
                raise QuorateError("The explorer's server did not start within 20 seconds.", code="server-start")
            time.sleep(0.01)
        self._first = threading.Thread(target=self._prepare, daemon=True, name="quorate-explore-first")
        self._first.start()
        return self

    def _prepare(self) -> None:
        """Compute the first page's results while the browser opens; the page reports any error."""
        with suppress(Stopped, Exception), threads.cancelled_by(self._check_running):
            first_page(self._bench)

    def _check_running(self) -> None:
        if self._server.should_exit:
            raise Stopped

    def _serve(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._ended.set()

    def wait(self) -> None:
        """Wait until the explorer is stopped; Ctrl-C stops it."""
        try:
            while not self._ended.wait(0.5):  # an interrupt during join would mark the thread as ended
                pass
        except KeyboardInterrupt:
            print(file=sys.stderr)
        finally:
            self.stop()

    def stop(self) -> None:
        """Stop the server and its jobs, and close the port."""
        self._app.state.jobs.cancel_all()
        self._server.should_exit = True
        self._ended.wait()
        if self._first is not None:
            self._first.join(_STOP_SECONDS)
        self._socket.close()

    @property
    def result(self) -> ConsensusResult:
        """The consensus that the page showed last; before that, the one that it shows first."""
        return self._bench.result()

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Explorer({self.url!r})"


def _listen(port: int) -> socket.socket:
    """Return a socket on the loopback interface."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        # Loopback only: other machines cannot connect.
        listening.bind(("127.0.0.1", port))
    except OSError as error:
        listening.close()
        raise InputError(
            f"{port} cannot be used: {error.strerror}.",
            code="port",
            parameter="port",
            hint=("Use another, or ", Setting("port", 0), " for any free port."),
        ) from None
    return listening


@overload
def explore(
    labels: Any,
    *,
    features: Any = None,
    xy: Any = None,
    truth: Any = None,
    ids: Sequence[Any] | None = None,
    name: str = "labels",
    inline: Literal[False] = False,
    port: int = 0,
    open_browser: bool = True,
) -> Explorer: ...
@overload
def explore(
    labels: Any,
    *,
    features: Any = None,
    xy: Any = None,
    truth: Any = None,
    ids: Sequence[Any] | None = None,
    name: str = "labels",
    inline: Literal[True],
) -> ExplorerWidget: ...
def explore(
    labels: Any,
    *,
    features: Any = None,
    xy: Any = None,
    truth: Any = None,
    ids: Sequence[Any] | None = None,
    name: str = "labels",
    inline: bool = False,
    port: int = 0,
    open_browser: bool = True,
) -> Explorer | ExplorerWidget:
    """Explore an ensemble interactively in the browser: switch members, methods and k, and compare the results.

    The page is served on this machine only, at a secret address, until `stop()` is called or Python exits. Needs
    `pip install "quorate[explore]"`; in a notebook (`inline`) `pip install "quorate[notebook]"` and no server.

    Parameters
    ----------
    labels : Ensemble, anything `Ensemble` accepts, or a result
        The clusterings. With a fitted `ConsensusClustering` of different kinds, these are the members, and the page
        shows on which number of clusters they agree.
    features : (n, d) array or frame, optional
        Numeric features of the rows; their first two principal components are drawn.
    xy : (n, 2) array or frame, optional
        Coordinates of the rows, such as a UMAP; used instead of `features`.
    truth : (n,) labels, optional
        Known classes, to compare with.
    ids : (n,) names of the rows, optional
    name : str, default "labels"
        The name of the data on the page.
    inline : bool, default False
        Whether to return a notebook widget (Jupyter, VS Code, Colab, marimo) instead of starting a server.
    port : int, default 0
        The port of the server; 0 takes a free one.
    open_browser : bool, default True
        Whether to open the page in the default browser.

    Returns
    -------
    Explorer or widget
        Its `result` is the consensus that the page shows. An `Explorer` has `url` and `stop()`.
    """
    ens = ensemble_of(labels) if not isinstance(labels, Ensemble) else as_ensemble(labels)
    # Only members of different kinds have a choice by features.
    from_kinds = isinstance(labels, ConsensusClustering) and labels.is_diverse
    bench = Workbench(
        ens,
        name=name,
        ids=None if ids is None else _per_row("ids", [str(name) for name in ids], ens),
        id_name=None if ids is None else "id",
        truth=None if truth is None else tuple(_per_row("truth", _texts(truth), ens)),
        truth_name=None if truth is None else "known classes",
        choose_by_features=(lambda: labels.choice_) if from_kinds else None,
        **coordinates(ens, features, xy),
    )
    if inline:
        import_extra("anywidget", "The explorer in a notebook")
        from quorate.explorer.widget import ExplorerWidget

        return ExplorerWidget(bench)
    explorer = Explorer(bench, port=port).start()
    if open_browser:
        webbrowser.open(explorer.url)
    return explorer


def coordinates(ens: Ensemble, features: Any = None, xy: Any = None) -> dict[str, Any]:
    """Return the coordinates of the rows and their names: `xy`, or the principal components of the features."""
    if xy is None and features is None:
        return {}
    parameter, table = ("features", features) if xy is None else ("xy", xy)
    points = check_points(parameter, table, ens.n_rows, n_columns=None)
    if xy is None:
        spread = points.std(axis=0)
        # Constant columns stay at 0.
        scaled = (points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        scores, shares = principal_components(scaled)
        return {"xy": scores, "xy_names": component_names(shares)}
    if points.shape[1] != 2:
        raise InputError(
            f"must have two columns; got {points.shape[1]}.",
            code="two-columns",
            parameter="xy",
            hint=("Pass more columns as ", Setting("features"), "."),
        )
    names = [str(column) for column in getattr(xy, "columns", ("x", "y"))]
    return {"xy": points, "xy_names": (names[0], names[1])}


def _texts(values: Any) -> list[str]:
    return ["" if value is None or value != value else str(value) for value in np.asarray(values).tolist()]


def _per_row(name: str, values: list[str], ens: Ensemble) -> list[str]:
    if len(values) != ens.n_rows:
        raise InputError(
            f"must have one value for each of {ens.n_rows:,} rows; got {len(values):,}.", code="length", parameter=name
        )
    return values
