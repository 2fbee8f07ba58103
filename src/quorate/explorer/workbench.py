"""The ensemble behind a page, and every answer asked of it: solved once, cut for any number of clusters."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from quorate._runtime import threads
from quorate._utils.array_types import Floats, Ints
from quorate.algorithms.base import ConsensusMethod
from quorate.algorithms.registry import METHODS, make_method, resolve_method
from quorate.analysis.choose_k import Choice
from quorate.ensemble import Ensemble
from quorate.errors import QuorateError
from quorate.explorer.jobs import Job
from quorate.explorer.requests import Ask
from quorate.reliability import Normalize, agreement, resolve_influence
from quorate.reporting.sentences import describe_structure
from quorate.reporting.views import Cut, MemberRow, cut_view, member_rows

Found = TypeVar("Found")
# Solved answers, and cuts of them, that are kept: going back and forth costs nothing.
_SOLVED_KEPT, _CUTS_KEPT = 24, 200
_WAIT_SECONDS = 0.05
_LARGE = 100_000  # labels of patterns
_USUAL = (("beta", 2.0), ("normalize", "sqrt"))


class Kept:
    """What was computed last, so much of it; asked for twice at once it is computed once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: OrderedDict[Hashable, Any] = OrderedDict()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._guard = threading.Lock()

    def __contains__(self, key: Hashable) -> bool:
        with self._guard:
            return key in self._found

    def get(self, key: Hashable, compute: Callable[[], Found]) -> Found:
        """Return what is kept under a key, computed if need be."""
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        with _patiently(lock):
            with self._guard:
                if key in self._found:
                    self._found.move_to_end(key)
                    return self._found[key]
            value = compute()
            with self._guard:
                self._found[key] = value
                while len(self._found) > self._most:
                    old, _ = self._found.popitem(last=False)
                    self._locks.pop(old, None)
            return value


@contextmanager
def _patiently(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock; whoever waits for it can be told to give up."""
    while not lock.acquire(timeout=_WAIT_SECONDS):
        threads.check_cancelled()
    try:
        yield
    finally:
        lock.release()


@dataclass(frozen=True)
class Answer:
    """One answer: the fitted method, the cut that was asked for, and what to know about it."""

    fitted: ConsensusMethod
    cut: Cut
    caution: str | None
    """What to know about this number of clusters, if anything."""
    choosing: bool = False
    """Whether the number of clusters is a first look, to be replaced by the one that the evidence chooses."""

    @property
    def row_pattern(self) -> NDArray[np.int32]:
        """(n,) pattern of each row."""
        return self.fitted.ensemble_.row_pattern

    @property
    def row_labels(self) -> Ints:
        """(n,) consensus label of each row."""
        return self.cut.labels[self.row_pattern]

    @property
    def row_confidence(self) -> Floats:
        """(n,) confidence of each row."""
        return self.cut.confidence[self.row_pattern]

    @property
    def row_margin(self) -> Floats:
        """(n,) how far the runner-up of each row is behind."""
        return self.cut.margin[self.row_pattern]

    @property
    def row_runner_up(self) -> Ints:
        """(n,) the cluster that would have each row next, -1 for none."""
        return self.cut.runner_up[self.row_pattern]


@dataclass
class Workbench:
    """An ensemble with its rows, and what else is known of them."""

    ensemble: Ensemble
    name: str = "labels"
    ids: Sequence[str] | None = None
    id_name: str | None = None
    truth: tuple[str, ...] | None = None
    """The known class of each row, as text; empty where there is none."""
    truth_name: str | None = None
    xy: Floats | None = None
    """(n, 2) where each row stands in a picture."""
    xy_names: tuple[str, str] = ("x", "y")
    command: Callable[[Ask, Workbench], str] | None = None
    """Gives the command that writes the labels of an answer."""
    python: str = ""
    """Lines of Python that make `labels`, if they can be told."""
    _solved: Kept = field(default_factory=lambda: Kept(_SOLVED_KEPT), repr=False)
    _cuts: Kept = field(default_factory=lambda: Kept(_CUTS_KEPT), repr=False)

    def __post_init__(self) -> None:
        _ = self.ensemble.row_pattern  # raises if the ensemble has no rows

    def row_name(self, row: int) -> str:
        """Return what a row is called."""
        return str(row) if self.ids is None else str(self.ids[row])

    @cached_property
    def agreement(self) -> Floats:
        """(M, M) how similar every two members are."""
        return agreement(self.ensemble)

    def selected(self, ask: Ask) -> Ensemble:
        """Return the ensemble of the members that take part."""
        if len(ask.members) == self.ensemble.n_members:
            return self.ensemble
        return self._solved.get(("members", ask.members), lambda: self.ensemble.select(ask.members))

    def settings(self, ask: Ask) -> dict[str, Any]:
        """Return the parameters of the method, with the weights set by hand among the others if there are any."""
        params = dict(ask.params)
        by_hand = {ask.members.index(j): weight for j, weight in ask.weights if j in ask.members}
        if not by_hand:
            return params
        ens, defaults = self.selected(ask), make_method(ask.method, 2, {}).get_params()
        if "weights" not in defaults:
            raise QuorateError(f"{ask.method} has no weights to set by hand. Choose another method.")
        by = params.get("weights", defaults["weights"])
        if by == "local":
            raise QuorateError("Weights by hand do not go with weights of clusters (local). Forget those by hand.")
        beta, normalize = (params.get(name, defaults.get(name, usual)) for name, usual in _USUAL)
        influence = resolve_influence(ens, by, beta, normalize)
        for place, weight in by_hand.items():
            influence[place] = weight
        return {**params, "weights": influence.tolist()}

    def answer(self, ask: Ask, job: Job | None = None, *, first_look: bool = False) -> Answer:
        """Return an answer; what was solved before is only cut.

        Where the number of clusters is to be chosen and that takes longer than a moment, `first_look` takes the one
        that stands out in the method's own figures.
        """
        fitted = self._fitted(ask, job)
        choosing = first_look and ask.k is None and ("choice", ask.solved_by) not in self._solved
        first = _stands_out(fitted) if choosing and is_large(fitted.ensemble_) else None
        wanted = ask.k or first or self.choice(ask, job).n_clusters
        say(job, "cutting")
        k = min(wanted, _most(fitted))
        as_fitted = k == fitted.n_clusters_  # known already
        cut = self._cuts.get((ask.solved_by, k), lambda: cut_view(fitted, None if as_fitted else k))
        return Answer(fitted, cut, fitted._cuts.caution(k), first is not None)

    def choice(self, ask: Ask, job: Job | None = None) -> Choice:
        """Return how many clusters there are, with the evidence."""
        fitted = self._fitted(ask, job)
        say(job, "choosing the number of clusters")
        return self._solved.get(("choice", ask.solved_by), lambda: fitted.choice_)

    def structure(self, ask: Ask, job: Job | None = None) -> dict[str, Any]:
        """Return what the labels say about whether there is anything to find."""
        say(job, "looking for structure")
        return self._solved.get(("structure", ask.members), lambda: describe_structure(self.selected(ask)))

    def members(self, ask: Ask, answer: Answer) -> list[MemberRow]:
        """Return what there is to know about each member that takes part; only its weight depends on the method."""
        normalize: Normalize = getattr(answer.fitted, "normalize", "sqrt")
        weights = answer.cut.weights
        known = self._solved.get(
            ("crowd", ask.members, normalize), lambda: member_rows(answer.fitted.ensemble_, normalize=normalize)
        )
        return [
            replace(row, weight=float(weight), influence=float(weight / weights.max()))
            for row, weight in zip(known, weights, strict=True)
        ]

    def _fitted(self, ask: Ask, job: Job | None) -> ConsensusMethod:
        """Return the fitted method, which can be cut at any k."""
        return self._solved.get(ask.solved_by, lambda: self._solve(ask, job))

    def _solve(self, ask: Ask, job: Job | None) -> ConsensusMethod:
        say(job, "weighing the members")
        ens = self.selected(ask)
        limited = METHODS[resolve_method(ask.method, {})[0]].limited_by_clusters
        most = min(ens.n_rows, ens.n_clusters if limited else ens.n_rows)
        method = make_method(ask.method, min(ask.k or 2, most), self.settings(ask))
        say(job, f"combining by {ask.method}")
        method._warn_of_surprises = _say_nothing  # type: ignore[method-assign]
        return method.fit(ens)


def is_large(ens: Ensemble) -> bool:
    """Return whether choosing the number of clusters may take longer than a moment."""
    return ens.n_patterns * ens.n_members > _LARGE


def _stands_out(fitted: ConsensusMethod) -> int | None:
    """Return the number of clusters that stands out in the method's own figures, if it has any."""
    _, values = fitted._cuts.criterion() or (None, {})
    return max(values, key=lambda k: (round(values[k], 12), -k)) if values else None


def _say_nothing(wanted: int) -> None:
    """Warn of nothing: the page says what there is to say beside each answer, and threads share their warnings."""


def _most(fitted: ConsensusMethod) -> int:
    return max(1, min(fitted._cuts.max_clusters, fitted.ensemble_.n_patterns))


def say(job: Job | None, stage: str) -> None:
    """Note what a piece of work is at; it ends here if it was cancelled."""
    if job is not None:
        job.at(stage)
