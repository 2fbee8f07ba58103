"""Measurements: many methods on one ensemble, each cut at every number of clusters and scored."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._runtime.recent_cache import RecentCache
from quorate.algorithms.ecmc import ECMC, Completion, complete_similarity, link_completion
from quorate.algorithms.registry import make_method
from quorate.benchmarking.resources import one_thread
from quorate.benchmarking.results_folder import Piece
from quorate.benchmarking.scoring import SCORES, class_counts, score_columns
from quorate.ensemble import Ensemble
from quorate.paper.experiments import Measurement, Timed
from quorate.paper.spec import Method
from quorate.reliability import ncai

Sweep = Callable[[tuple[int, ...]], NDArray[np.int64]]
"""A function from numbers of clusters to (m, numbers) labels of patterns."""


@dataclass(frozen=True)
class Task:
    """The measurements to make on one ensemble."""

    labels: NDArray[np.int32]
    """(n, M)."""
    classes: NDArray[Any]
    items: tuple[tuple[Measurement, tuple[int, ...]], ...]
    """Each with the numbers of clusters to cut at."""


def measure(task: Task) -> dict[str, Piece]:
    """Return the results of a task by key; a method that fails leaves its error message."""
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bench = Bench(task)
        return {item.key: bench.measure(item, ks) for item, ks in task.items}


class Bench:
    """An ensemble with its classes, and the methods already solved on it."""

    def __init__(self, task: Task) -> None:
        self.ensemble = Ensemble(list(task.labels.T))
        self.counts = class_counts(self.ensemble, task.classes)
        self._solved = RecentCache(2 * len(task.items))  # each method, and a completion for some

    def measure(self, item: Measurement, ks: tuple[int, ...]) -> Piece:
        """Return scores at each number of clusters and seconds, or the error message."""
        start = time.perf_counter()
        try:
            labels = self._member_labels() if item.method is None else self._sweep(item.method, ks)
        except Exception as error:  # a failing method is a result, not a reason to stop
            return {"status": f"{type(error).__name__}: {error}", "seconds": _seconds_since(start)}
        scores = score_columns(labels, self.counts)
        n_clusters = (labels.max(axis=0) + 1).tolist()
        return {
            "status": "ok",
            "seconds": _seconds_since(start),
            "k": list(ks) or n_clusters,
            "found": n_clusters,
            **{norm: np.round(scores[norm], 6).tolist() for norm in SCORES},
        }

    def _member_labels(self) -> NDArray[np.int64]:
        """Return the (m, M) labels of the patterns by each member."""
        ids = self.ensemble.patterns.astype(np.int64)
        # Cluster ids count over all members; each column starts at 0.
        return ids - ids.min(axis=0)

    def _sweep(self, method: Method, ks: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the (m, ks) labels of the patterns; a method is solved once for all numbers of clusters."""
        return self._solved.get(method.name, lambda: self._solve(method))(ks)

    def _solve(self, method: Method) -> Sweep:
        """Return a function that cuts the ensemble, solved by a method, at given numbers of clusters."""
        ens = self.ensemble
        # ECMC: one completion serves all three linkages.
        if method.estimator == ECMC.name:
            params = dict(method.params)
            tree = link_completion(ens, self._completion(params), params["linkage"])
            return lambda ks: np.stack([tree.cut(k) for k in ks], axis=1)
        fitted = make_method(method.estimator, 2, dict(method.params)).fit(ens)
        return lambda ks: fitted.sweep(ks)[ens.first_row]

    def _completion(self, params: dict[str, Any]) -> Completion:
        """Return the completed similarity, which the three linkages of ECMC share."""
        options = {name: value for name, value in params.items() if name != "linkage"}
        return self._solved.get(
            f"completion {sorted(options.items())}",
            lambda: complete_similarity(self.ensemble, np.ones(self.ensemble.n_members), **options),
        )


def _seconds_since(start: float) -> float:
    return round(time.perf_counter() - start, 6)


def time_methods(labels: NDArray[np.int32], items: tuple[Timed, ...], n_clusters: int) -> Iterator[tuple[str, Piece]]:
    """Time methods one after the other, each from the label matrix to labels of rows, with all threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for item in items:
            yield item.key, _time_method(labels, item, n_clusters)


def _time_method(labels: NDArray[np.int32], item: Timed, n_clusters: int) -> Piece:
    start = time.perf_counter()
    try:
        if item.method is None:
            ncai(labels)
        else:
            make_method(item.method.estimator, n_clusters, dict(item.method.params)).fit_predict(labels)
    except Exception as error:  # a failing method is a result, not a reason to stop
        return {"status": f"{type(error).__name__}: {error}", "seconds": _seconds_since(start)}
    return {"status": "ok", "seconds": _seconds_since(start)}
