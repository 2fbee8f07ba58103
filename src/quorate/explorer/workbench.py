"""The ensemble behind a page, and every answer asked of it: solved once, cut for any number of clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._runtime.recent_cache import RecentCache
from quorate._utils.array_types import Floats, Ints
from quorate.algorithms.base import Solution
from quorate.algorithms.registry import make_method
from quorate.analysis.choose_k import Choice
from quorate.ensemble import Ensemble
from quorate.errors import QuorateError
from quorate.explorer.jobs import Job
from quorate.explorer.requests import Ask
from quorate.reliability import Normalize, agreement, resolve_influence
from quorate.reporting.sentences import describe_structure
from quorate.reporting.views import Cut, MemberRow, cut_view, member_rows

# Solved answers, and cuts of them, that are kept: going back and forth costs nothing.
_SOLVED_KEPT, _CUTS_KEPT = 24, 200
_LARGE = 100_000  # labels of patterns
_USUAL = (("beta", 2.0), ("normalize", "sqrt"))


@dataclass(frozen=True)
class Answer:
    """One answer: the solution, the cut that was requested, and its warnings."""

    solution: Solution
    cut: Cut
    caution: str | None
    """What to know about this number of clusters, if anything."""
    choosing: bool = False
    """Whether the number of clusters is a first look, to be replaced by the one that the evidence chooses."""

    @property
    def row_pattern(self) -> NDArray[np.int32]:
        """(n,) pattern of each row."""
        return self.solution.ensemble.row_pattern

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
    _solved: RecentCache = field(default_factory=lambda: RecentCache(_SOLVED_KEPT), repr=False)
    _cuts: RecentCache = field(default_factory=lambda: RecentCache(_CUTS_KEPT), repr=False)

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
        solution = self.solution(ask, job)
        choosing = first_look and ask.k is None and ("choice", ask.solved_by) not in self._solved
        first = _stands_out(solution) if choosing and is_large(solution.ensemble) else None
        k = min(ask.k or first or self.choice(ask, job).n_clusters, max(1, solution.max_clusters))
        say(job, "cutting")
        cut = self._cuts.get((ask.solved_by, k), lambda: cut_view(solution.answer(k)))
        caution = solution.cuts.caution(k)
        return Answer(solution, cut, None if caution is None else str(caution), first is not None)

    def choice(self, ask: Ask, job: Job | None = None) -> Choice:
        """Return how many clusters there are, with the evidence."""
        solution = self.solution(ask, job)
        say(job, "choosing the number of clusters")
        return self._solved.get(("choice", ask.solved_by), lambda: solution.choice)

    def structure(self, ask: Ask, job: Job | None = None) -> dict[str, Any]:
        """Return what the labels say about whether there is anything to find."""
        say(job, "looking for structure")
        return self._solved.get(("structure", ask.members), lambda: describe_structure(self.selected(ask)))

    def members(self, ask: Ask, answer: Answer) -> list[MemberRow]:
        """Return what there is to know about each member that takes part; only its weight depends on the method."""
        normalize: Normalize = dict(ask.params).get("normalize", "sqrt")
        weights = answer.cut.weights
        known = self._solved.get(
            ("crowd", ask.members, normalize), lambda: member_rows(answer.solution.ensemble, normalize=normalize)
        )
        return [
            replace(row, weight=float(weight), influence=float(weight / weights.max()))
            for row, weight in zip(known, weights, strict=True)
        ]

    def solution(self, ask: Ask, job: Job | None = None) -> Solution:
        """Return the ensemble solved by the requested method, which can be cut at any k."""
        return self._solved.get(ask.solved_by, lambda: self._solve(ask, job))

    def _solve(self, ask: Ask, job: Job | None) -> Solution:
        say(job, "weighing the members")
        ens = self.selected(ask)
        method = make_method(ask.method, "auto", self.settings(ask))
        say(job, f"combining by {ask.method}")
        return method.solve(ens)


def is_large(ens: Ensemble) -> bool:
    """Return whether choosing the number of clusters may take longer than a moment."""
    return ens.n_patterns * ens.n_members > _LARGE


def _stands_out(solution: Solution) -> int | None:
    """Return the number of clusters that stands out by the method's own index, if it has one."""
    _, values = solution.cuts.criterion() or (None, {})
    return max(values, key=lambda k: (round(values[k], 12), -k)) if values else None


def say(job: Job | None, stage: str) -> None:
    """Note what a piece of work is at; it ends here if it was cancelled."""
    if job is not None:
        job.at(stage)
