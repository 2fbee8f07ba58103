"""Comparisons: run every method on every drawn ensemble, and store each measurement when it is finished."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._runtime.checkpoints import Store
from quorate._runtime.progress import track
from quorate._runtime.workers import TIMED_OUT, Failure, run_in_workers
from quorate._utils.checks import check_integer, check_number
from quorate.benchmarking.comparison_report import write_report
from quorate.benchmarking.comparison_tables import METHOD, Comparison
from quorate.benchmarking.contestants import Contestant, Registered, gather_contestants
from quorate.benchmarking.public_pools import Pool, Recipe, gather_pools
from quorate.benchmarking.resources import one_thread, peak_memory
from quorate.benchmarking.results_folder import Piece, open_results
from quorate.benchmarking.scoring import score_rows
from quorate.errors import InputError, QuorateError

VERSION = 1  # rises when the meaning of a measurement changes
POOLS = "pools"
"""The subfolder of a results folder that stores generated members."""
REPORT = "report"
"""The subfolder of a results folder with pages, tables and figures."""
_warm: set[str] = set()
"""The methods whose kernels this process has compiled or loaded."""


@dataclass(frozen=True)
class Protocol:
    """How ensembles are drawn from pools, and at which numbers of clusters methods are run."""

    n_members: tuple[int, ...] = (10,)
    """Sizes of the ensembles."""
    draws: int = 20
    """Ensembles of each size from each pool."""
    grid: tuple[int, ...] = ()
    """Numbers of clusters to try for the best k, in addition to the number of classes."""
    seed: int = 0
    timeout: float | None = 600.0
    """Time limit in seconds of a method on one ensemble."""


@dataclass(frozen=True)
class Cell:
    """One method on one ensemble."""

    pool: str
    n_members: int
    draw: int
    method: str

    @property
    def key(self) -> str:
        """The key of the measurement in the store."""
        return f"{self.pool}/M={self.n_members}/draw={self.draw}/{self.method}"


@dataclass(frozen=True)
class Task:
    """The input of a worker that measures a cell."""

    cell: Cell
    contestant: Contestant
    labels: NDArray[np.int32]
    classes: NDArray[np.int64]
    ks: tuple[int, ...]
    seed: int
    skipped: str = ""
    """Why the cell is not measured; empty if it is."""


def bench(
    pools: Any,
    methods: Any = None,
    folder: str | PathLike[str] = "bench",
    *,
    n_members: int | Sequence[int] = 10,
    draws: int = 20,
    best_k: bool | Sequence[int] = False,
    seed: int = 0,
    timeout: float | None = 600.0,
    truth: str | None = None,
    recipe: Recipe | None = None,
    n_jobs: int = 2,
    progress: bool | None = None,
) -> Comparison:
    """Compare consensus methods on ensembles drawn from pools of clusterings with known classes.

    An interrupted comparison continues if it is started again with the same folder. A method that fails or exceeds the
    time limit leaves a marked cell with its message.

    Parameters
    ----------
    pools : path, name, mapping, or a list of them
        Files with clusterings and classes (tables, NPZ, MATLAB), folders of them, names of packaged datasets (members
        are drawn by the recipe), or a mapping from names to (labels, classes).
    methods : list or mapping, optional
        Names of registered methods with parameters ("weac linkage=single"), functions or their location
        ("my_methods.py:vote"), objects with `fit_predict`, or command lines of programs; or a mapping from names to
        these. Default: every registered method.
    folder : str or path, default "bench"
        The results folder.
    n_members : int or several, default 10
        Sizes of the ensembles drawn.
    draws : int, default 20
        Ensembles of each size from each pool.
    best_k : bool or sequence of int, default False
        Whether to try other numbers of clusters as well: True for 2 to 30, or a list.
    seed : int, default 0
        The same seed gives the same table.
    timeout : float or None, default 600
        Time limit of a method on one ensemble. A method that exceeds it is skipped on later draws from the same pool
        and on larger ensembles.
    truth : str, optional
        The column, or array of a file, with the known classes.
    recipe : Recipe, optional
        How members are generated from the features of a dataset.
    n_jobs : int, default 2
        Number of processes; each uses one thread. The scores do not depend on it.
    progress : bool or None, default None
        Whether to show progress; None: if standard error is a terminal.

    Returns
    -------
    Comparison
        Every measurement, with tables, ranks and tests. The pages `report/report.html` and `report/report.md`, tables
        (CSV, LaTeX) and diagrams of ranks (SVG, PNG, where matplotlib is installed) are written to the folder.

    Examples
    --------
    >>> import tempfile
    >>> import quorate as qt
    >>> pool = {"halves": ([[0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 2]], [0, 0, 0, 1, 1, 1])}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     comparison = qt.bench(pool, ["eac", "hbgf"], folder, n_members=3, draws=1)
    >>> comparison.means("ari").tolist()
    [[1.0, 1.0]]
    """
    folder = Path(folder)
    protocol = _protocol(n_members, draws, best_k, seed, timeout)
    contestants = gather_contestants(methods)
    gathered = gather_pools(pools, truth=truth, recipe=recipe, cache=folder / POOLS, n_jobs=n_jobs)
    _check_sizes(gathered, protocol)
    about = _about(protocol, gathered)
    with open_results(folder, about, n_jobs) as store:
        _note_methods(store, contestants)
        # Finished measurements are never repeated.
        todo = [cell for cell in cells(protocol, gathered, contestants) if cell.key not in store]
        if todo:  # workers load kernels from the cache on disk, so that compiling does not count as time of a method
            for contestant in contestants:
                _warm_up(contestant)
        # A generator: ensembles are drawn when a worker is free.
        tasks = _tasks(todo, protocol, gathered, contestants, store)
        finished = track(run_in_workers(measure, tasks, n_jobs, protocol.timeout), len(todo), "Comparing", progress)
        with closing(finished):  # type: ignore[type-var]
            for task, piece in finished:
                store.add(task.cell.key, {"status": piece.status} if isinstance(piece, Failure) else piece)
        comparison = read_comparison(about, store)
    write_report(comparison, folder / REPORT)
    return comparison


def _protocol(
    n_members: int | Sequence[int], draws: int, best_k: bool | Sequence[int], seed: int, timeout: float | None
) -> Protocol:
    sizes = [n_members] if isinstance(n_members, int) else list(n_members)
    if isinstance(best_k, bool):
        grid: Sequence[int] = range(2, 31) if best_k else ()
    else:
        grid = best_k
    if timeout is not None:
        check_number("timeout", timeout, above=0)
    return Protocol(
        tuple(check_integer("n_members", size, low=1) for size in sizes),
        check_integer("draws", draws, low=1),
        tuple(check_integer("best_k", k, low=1) for k in grid),
        check_integer("seed", seed, low=0),
        timeout,
    )


def _check_sizes(pools: Sequence[Pool], protocol: Protocol) -> None:
    for pool in pools:
        n_pool = pool.labels.shape[1]
        if n_pool < max(protocol.n_members):
            raise InputError(
                f"is {max(protocol.n_members)}, but the pool {pool.name!r} has only {n_pool} members.",
                code="pool-too-small",
                parameter="n_members",
                hint=f"Draw ensembles of at most {n_pool} members, or remove the pool.",
            )


def _about(protocol: Protocol, pools: Sequence[Pool]) -> dict[str, Any]:
    """Return the settings that determine the measurements; methods are stored one by one, so that more can be added."""
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(protocol).items()}
    return {"kind": "bench", "version": VERSION, "name": "bench", **plain, "pools": [pool.about() for pool in pools]}


def _note_methods(store: Store, contestants: Sequence[Contestant]) -> None:
    """Store the definition of each method; raise an error if its name was measured with another definition."""
    for contestant in contestants:
        key, about = METHOD + contestant.name, json.loads(json.dumps(contestant.about, default=repr))
        if key not in store:
            store.add(key, about)
        elif store[key] != about:
            raise InputError(
                f"The method {contestant.name!r} was measured in this folder as {store[key]}, and is {about} now.",
                code="method-changed",
                hint="Give it another name, or choose another folder.",
            )


def cells(protocol: Protocol, pools: Sequence[Pool], contestants: Sequence[Contestant]) -> Iterator[Cell]:
    """Yield every method on every ensemble; one draw of all pools comes before the next, so that tables fill evenly."""
    for draw in range(protocol.draws):
        for size in protocol.n_members:
            for pool in pools:
                for contestant in contestants:
                    yield Cell(pool.name, size, draw, contestant.name)


def _tasks(
    todo: Sequence[Cell],
    protocol: Protocol,
    pools: Sequence[Pool],
    contestants: Sequence[Contestant],
    finished: Mapping[str, Piece],
) -> Iterator[Task]:
    by_name = {pool.name: pool for pool in pools}
    by_method = {contestant.name: contestant for contestant in contestants}
    for cell in todo:
        pool = by_name[cell.pool]
        labels = pool.draw(cell.n_members, cell.draw, protocol.seed)
        ks = tuple(sorted({pool.n_classes, *protocol.grid}))
        # The seed depends on the draw, not on the method, so that all methods see the same.
        seed = int(np.random.default_rng([protocol.seed, cell.draw]).integers(2**31))
        skipped = reason_to_skip(cell, protocol, finished)
        yield Task(cell, by_method[cell.method], labels, pool.classes, ks, seed, skipped)


def reason_to_skip(cell: Cell, protocol: Protocol, finished: Mapping[str, Piece]) -> str:
    """Return why a cell is skipped: an earlier one of the same pool, not larger, exceeded the time limit."""
    # Any smaller ensemble that exceeded the limit excuses this one.
    for size in protocol.n_members:
        for draw in range(cell.draw + 1):
            before = replace(cell, n_members=size, draw=draw)
            status = finished.get(before.key, {"status": ""})["status"]
            if size <= cell.n_members and status.startswith(TIMED_OUT):
                return f"skipped: draw {draw} of {size} members {status}"
    return ""


def measure(task: Task) -> Piece:
    """Return the scores of a method on an ensemble, its time, and the memory it added."""
    if task.skipped:
        return {"status": task.skipped}
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _warm_up(task.contestant)
        # Time and memory of the method alone, without scoring.
        with peak_memory() as memory:
            start = time.perf_counter()
            answer = task.contestant.answer(task.labels, task.ks, task.seed)
            seconds = time.perf_counter() - start
    scores = score_rows(answer, task.classes)
    return {
        "status": "ok",
        "seconds": round(seconds, 6),
        "memory": memory.bytes,
        "classes": int(task.classes.max()) + 1,
        "k": list(task.ks),
        "found": [len(np.unique(column[column >= 0])) for column in answer.T],
        **{name: np.round(values, 6).tolist() for name, values in scores.items()},
    }


def _warm_up(contestant: Contestant) -> None:
    """Compile or load the kernels of a registered method, so that this does not count as its time."""
    if isinstance(contestant, Registered) and contestant.name not in _warm:
        _warm.add(contestant.name)
        labels = np.arange(24)[:, None] // np.array([12, 8, 6, 5])
        with suppress(QuorateError), warnings.catch_warnings():  # the measurement itself reports the error
            warnings.simplefilter("ignore")
            contestant.answer(labels.astype(np.int32), (2, 3), 0)


def read_comparison(about: Mapping[str, Any], pieces: Mapping[str, Piece]) -> Comparison:
    """Return the measurements of a results folder as a `Comparison`."""
    return Comparison(
        pools=tuple(pool["name"] for pool in about["pools"]),
        sizes=tuple(about["n_members"]),
        draws=int(about["draws"]),
        pieces=dict(pieces),
    )
