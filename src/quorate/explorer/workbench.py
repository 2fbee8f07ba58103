"""The ensemble of a page and its results: each query is solved once and cut at any number of clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._runtime.recent_cache import RecentCache
from quorate._utils.array_types import Floats, Ints
from quorate.algorithms.base import Solution
from quorate.algorithms.registry import ConsensusResult, make_method
from quorate.analysis.choose_k import Choice
from quorate.analysis.core_rows import NestedCores, nested_cores
from quorate.analysis.member_camps import Camps, camps
from quorate.analysis.structure.label_structure import label_structure
from quorate.ensemble import Ensemble
from quorate.errors import InputError
from quorate.explorer.jobs import Job
from quorate.explorer.requests import Query, parse_query
from quorate.numerics.mutual_information import Normalize, agreement
from quorate.reliability import EnsembleTrust, ensemble_trust, resolve_influence
from quorate.reporting.cut_views import Cut, cut_view
from quorate.reporting.member_views import MemberRow, member_rows
from quorate.reporting.plain_values import structure_values

# Sizes of the caches of solved queries and of their cuts.
_SOLVED_CACHED, _CUTS_CACHED = 24, 200
# Labels of patterns above which choosing the number of clusters may take longer than half a second.
_LARGE = 20_000
_USUAL = (("beta", 2.0), ("normalize", "sqrt"))


@dataclass(frozen=True)
class Answer:
    """A result: the solution, the requested cut, and a caution if there is one."""

    solution: Solution
    cut: Cut
    caution: str | None
    """A warning about this number of clusters, if any."""
    choosing: bool = False
    """Whether the number of clusters is preliminary, until the automatic choice replaces it."""

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
        """(n,) confidence of each row minus that of its runner-up."""
        return self.cut.margin[self.row_pattern]

    @property
    def row_runner_up(self) -> Ints:
        """(n,) the second-best cluster of each row, -1 for none."""
        return self.cut.runner_up[self.row_pattern]


@dataclass
class Workbench:
    """An ensemble with its rows and their metadata, and the cache of its results."""

    ensemble: Ensemble
    name: str = "labels"
    ids: Sequence[str] | None = None
    id_name: str | None = None
    truth: tuple[str, ...] | None = None
    """The known class of each row, as text; empty where there is none."""
    truth_name: str | None = None
    xy: Floats | None = None
    """(n, 2) coordinates of the rows in a scatter plot."""
    xy_names: tuple[str, str] = ("x", "y")
    command: Callable[[Query, Workbench], str] | None = None
    """Returns the command that writes the labels of a query."""
    python: str = ""
    """Lines of Python that create `labels`, if available."""
    choose_by_features: Callable[[], Choice] | None = None
    """Returns the choice of the number of clusters by the features, if available; it holds for all members together."""
    shown: Query | None = None
    """The query whose result a page showed last."""
    _solved: RecentCache = field(default_factory=lambda: RecentCache(_SOLVED_CACHED), repr=False)
    _cuts: RecentCache = field(default_factory=lambda: RecentCache(_CUTS_CACHED), repr=False)

    def __post_init__(self) -> None:
        _ = self.ensemble.row_pattern  # raises if the ensemble has no rows

    def row_name(self, row: int) -> str:
        """Return the name of a row."""
        return str(row) if self.ids is None else str(self.ids[row])

    @cached_property
    def agreement(self) -> Floats:
        """(M, M) chance-corrected agreement (AMI) of every two members."""
        return agreement(self.ensemble, measure="ami")

    def selected(self, query: Query) -> Ensemble:
        """Return the ensemble of the enabled members."""
        # The whole ensemble keeps its caches; a selection starts with new ones.
        if len(query.members) == self.ensemble.n_members:
            return self.ensemble
        return self._solved.get(("members", query.members), lambda: self.ensemble.select(query.members))

    def settings(self, query: Query) -> dict[str, Any]:
        """Return the parameters of the method; manual weights replace those of single members."""
        params = dict(query.params)
        # Weights of disabled members do not matter.
        manual = {query.members.index(j): weight for j, weight in query.weights if j in query.members}
        if not manual:
            return params
        ens, defaults = self.selected(query), make_method(query.method, 2, {}).get_params()
        if "weights" not in defaults:
            raise InputError(
                f"{query.method} has no weights of members.", code="no-weights", hint="Choose another method."
            )
        weighting = params.get("weights", defaults["weights"])
        if weighting == "local":
            raise InputError(
                "Manual weights cannot be combined with weights of clusters (local).",
                code="manual-and-local-weights",
                hint="Reset the manual weights.",
            )
        beta, normalize = (params.get(name, defaults.get(name, usual)) for name, usual in _USUAL)
        # Manual weights replace single weights; the others stay as the method computes them.
        influence = resolve_influence(ens, weighting, beta, normalize, groups=params.get("groups"))
        for member, weight in manual.items():
            influence[member] = weight
        return {**params, "weights": influence.tolist()}

    def answer(self, query: Query, job: Job | None = None, *, first_look: bool = False) -> Answer:
        """Return the result of a query; a query that was solved before is only cut.

        If the number of clusters is to be chosen and that may take long, `first_look` takes the one with the largest
        gap in the method's own index, so that the page has a result within a second.
        """
        solution = self.solution(query, job)
        # A choice that was computed before is shown immediately.
        choosing = first_look and query.k is None and self._choice_key(query) not in self._solved
        first = _largest_gap(solution) if choosing and is_large(solution.ensemble) else None
        # An answer has at most as many clusters as the solution.
        k = min(query.k or first or self.choice(query, job).n_clusters, max(1, solution.max_clusters))
        report_stage(job, "cutting")
        cut = self._cuts.get((query.solved_by, k), lambda: cut_view(solution.answer(k)))
        caution = solution.cuts.caution(k)
        return Answer(solution, cut, None if caution is None else str(caution), first is not None)

    def result(self) -> ConsensusResult:
        """Return the result that a page showed last, or that of a new page."""
        query = self.shown or parse_query({}, self.ensemble.n_members)
        answer, params = self.answer(query), self.settings(query)
        method = make_method(query.method, answer.cut.n_clusters, params).take(answer.solution)
        return ConsensusResult(method.name, params, method)

    def choice(self, query: Query, job: Job | None = None) -> Choice:
        """Return the automatic choice of the number of clusters: by the features if all members are enabled."""
        solution = self.solution(query, job)
        report_stage(job, "choosing the number of clusters")
        by_features = self._chooser_by_features(query)
        return self._solved.get(self._choice_key(query), by_features or (lambda: solution.choice))

    def _chooser_by_features(self, query: Query) -> Callable[[], Choice] | None:
        return self.choose_by_features if len(query.members) == self.ensemble.n_members else None

    def _choice_key(self, query: Query) -> tuple[str, Query | None]:
        # A choice by features holds for all methods and settings.
        return "choice", None if self._chooser_by_features(query) else query.solved_by

    def structure(self, query: Query, job: Job | None = None) -> dict[str, Any]:
        """Return the check for cluster structure by the labels."""
        report_stage(job, "checking for cluster structure")
        key = ("structure", query.members, query.k)
        return self._solved.get(key, lambda: structure_values(label_structure(self.selected(query), query.k or "auto")))

    @cached_property
    def camps(self) -> Camps:
        """Groups of members that support different partitions, among all members."""
        return camps(self.ensemble)

    def cores(self, query: Query, answer: Answer, job: Job | None = None) -> NestedCores:
        """Return the rows on which the members agree with a result, for every required agreement."""
        report_stage(job, "finding the rows on which members agree")
        cut = answer.cut
        return self._cuts.get(
            ("core", query.solved_by, cut.n_clusters),
            lambda: nested_cores(answer.solution.ensemble, cut.labels, cut.weights),
        )

    def members(self, query: Query, answer: Answer) -> tuple[MemberRow, ...]:
        """Return the figures of each enabled member, with its weight in a result."""
        normalize: Normalize = dict(query.params).get("normalize", "sqrt")
        return self._cuts.get(
            ("members", query.solved_by, answer.cut.n_clusters),
            lambda: member_rows(
                answer.solution.ensemble, answer.cut.weights, normalize=normalize, member_trust=self.trust(query)
            ),
        )

    def trust(self, query: Query) -> EnsembleTrust:
        """Return the agreement of the enabled members, with the families that the query names or that were found."""
        params = dict(query.params)
        key = ("trust", query.members, params.get("normalize"), params.get("groups"))
        return self._cuts.get(
            key, lambda: ensemble_trust(self.selected(query), params.get("normalize", "sqrt"), params.get("groups"))
        )

    def solution(self, query: Query, job: Job | None = None) -> Solution:
        """Return the ensemble solved by the requested method, which can be cut at any k."""
        return self._solved.get(query.solved_by, lambda: self._solve(query, job))

    def _solve(self, query: Query, job: Job | None) -> Solution:
        report_stage(job, "weighting the members")
        ens = self.selected(query)
        method = make_method(query.method, "auto", self.settings(query))
        report_stage(job, f"combining by {query.method}")
        return method.solve(ens)


def is_large(ens: Ensemble) -> bool:
    """Return whether choosing the number of clusters may take longer than half a second."""
    return ens.n_patterns * ens.n_members > _LARGE


def _largest_gap(solution: Solution) -> int | None:
    """Return the number of clusters with the largest gap in the method's own index, if it has one."""
    _, values = solution.cuts.criterion() or (None, {})
    return max(values, key=lambda k: (round(values[k], 12), -k)) if values else None


def report_stage(job: Job | None, stage: str) -> None:
    """Report the stage of a job; raise if it was cancelled."""
    if job is not None:
        job.enter(stage)
