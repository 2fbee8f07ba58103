"""Running the experiments in several processes; every finished measurement is stored and never repeated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from quorate._runtime.checkpoints import Store
from quorate._runtime.progress import track
from quorate._runtime.workers import Failure, run_in_workers
from quorate.benchmarking.results_folder import Piece, open_results
from quorate.paper.drawn_pools import POOLS, DatasetPool, sample_members
from quorate.paper.experiments import Measurement, Timed, measurements, timings
from quorate.paper.measure import Task, measure, time_methods
from quorate.paper.spec import FULL, Selection, Spec, select


def reproduce(
    folder: str | PathLike[str],
    spec: Spec = FULL,
    *,
    experiments: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    n_jobs: int = 2,
    progress: bool | None = None,
) -> dict[str, Piece]:
    """Run the paper's experiments, or continue them, and return all measurements.

    Parameters
    ----------
    folder : str or path
        The results folder. An interrupted run continues when it is started again: only unfinished measurements are
        lost. A folder with results of another spec raises an error.
    spec : Spec, default FULL
        The protocol.
    experiments, datasets, methods : sequences of str, optional
        The part to run. Default: all. Other parts can be added to the same folder later.
    n_jobs : int, default 2
        Number of processes; each uses one thread. The results do not depend on it.
    progress : bool or None, default None
        Whether to show progress; None: if standard error is a terminal.

    Returns
    -------
    dict
        Every measurement in the folder by key; `write_report` makes tables and figures of them.
    """
    selection = select(spec, experiments, datasets, methods)
    folder = Path(folder)
    with open_results(folder, spec.plain(), n_jobs) as store:
        for dataset in selection.datasets:
            _run_dataset(spec, dataset, selection, folder, store, n_jobs, progress)
        if "time" in selection.experiments:
            _run_timings(spec, selection, folder, store, n_jobs, progress)
        return dict(store)


def _run_dataset(
    spec: Spec,
    dataset: str,
    selection: Selection,
    folder: Path,
    store: Store,
    n_jobs: int,
    progress: bool | None,
) -> None:
    """Make the missing measurements on one dataset."""
    # Experiments share measurements; each is made once.
    needed = {
        item.key: item
        for experiment in selection.experiments
        for item in measurements(spec, experiment, Selection((experiment,), (dataset,), selection.methods))
    }
    todo = [item for key, item in needed.items() if key not in store]
    if not todo:
        return
    pool = DatasetPool(spec, dataset, folder / POOLS, n_jobs, progress)
    pool.draw(ill=any(item.ratio > 0 for item in todo))
    # One task per ensemble: all its methods share the ensemble and solved trees.
    groups: dict[tuple[float, int], list[Measurement]] = defaultdict(list)
    for item in todo:
        groups[item.ratio, item.run].append(item)
    tasks = (_make_task(pool, ratio, run, items) for (ratio, run), items in sorted(groups.items()))
    finished = track(_in_processes(tasks, n_jobs), len(groups), f"Runs on {dataset}", progress)
    with closing(finished):  # type: ignore[type-var]
        for pieces in finished:
            _store(store, pieces)


def _make_task(pool: DatasetPool, ratio: float, run: int, items: list[Measurement]) -> Task:
    """Return the ensemble of a run with its measurements."""
    labels = np.ascontiguousarray(pool.with_ill(ratio)[:, pool.chosen(run)])
    return Task(labels, pool.classes, tuple((item, _numbers_of_clusters(pool, labels, item)) for item in items))


def _numbers_of_clusters(pool: DatasetPool, labels: np.ndarray[Any, Any], item: Measurement) -> tuple[int, ...]:
    if item.method is None:
        return ()
    if item.same_k:
        return tuple(len(np.unique(column)) for column in labels.T)
    return tuple(pool.spec.grid_of(item.method, pool.n_classes))


def _in_processes(tasks: Iterator[Task], n_jobs: int) -> Iterator[dict[str, Piece]]:
    """Yield the results of tasks as they finish, in any order."""
    if n_jobs == 1:
        yield from map(measure, tasks)
        return
    for task, pieces in run_in_workers(measure, tasks, n_jobs):
        failed = isinstance(pieces, Failure)  # the process failed, so all its measurements did
        yield {item.key: {"status": pieces.status} for item, _ in task.items} if failed else pieces


def _store(store: Store, pieces: Mapping[str, Piece]) -> None:
    for key, piece in pieces.items():
        store.add(key, piece)


def _run_timings(
    spec: Spec, selection: Selection, folder: Path, store: Store, n_jobs: int, progress: bool | None
) -> None:
    """Time the methods one after the other, without other work in this program."""
    todo = [item for item in timings(spec, selection) if item.key not in store]
    if not todo:
        return
    finished = track(_timed(spec, todo, folder, n_jobs), len(todo), "Timing", progress)
    for key, piece in finished:
        store.add(key, piece)


def _timed(spec: Spec, todo: list[Timed], folder: Path, n_jobs: int) -> Iterator[tuple[str, Piece]]:
    groups: dict[tuple[int, int], list[Timed]] = defaultdict(list)
    for item in todo:
        groups[item.n_rows, item.repeat].append(item)
    warm = True
    for (n_rows, repeat), items in groups.items():
        members = sample_members(spec, n_rows, folder / POOLS, n_jobs)
        rng = np.random.default_rng([spec.seed, n_rows, repeat])
        chosen = rng.choice(members.shape[1], min(spec.n_members, members.shape[1]), replace=False)
        labels = np.ascontiguousarray(members[:, chosen])
        if warm:  # compiling kernels is not part of the time
            for _ in time_methods(labels[:200], tuple(items), 3):
                warm = False
        yield from time_methods(labels, tuple(items), spec.timing.n_clusters)
