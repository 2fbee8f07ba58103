"""What all consensus methods share: checks, weights of members, the solution, its answers, and fitted attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from quorate._runtime.memory import USE_LINKAGE
from quorate._runtime.memory_forecast import EnsembleSize
from quorate._runtime.recent_cache import RecentCache
from quorate._utils.array_types import Floats, Labels
from quorate._utils.checks import brief_repr, check_choice, check_integer, check_number
from quorate.algorithms.answer import Answer
from quorate.algorithms.forecasts import require_fit
from quorate.algorithms.layers import Layers, check_layers, merge_clusters
from quorate.algorithms.method_docs import complete_docstring
from quorate.algorithms.sql_export import SqlExport
from quorate.analysis.choose_k import Choice, choose_k
from quorate.analysis.clusters import ConsensusCluster, Split, next_split
from quorate.certainty import Certainty
from quorate.ensemble import Clusterings, Ensemble, as_ensemble, ensemble_size
from quorate.errors import InputError, QuorateWarning, Setting, issue
from quorate.numerics.linkage import Dendrogram
from quorate.numerics.mutual_information import NORMALIZERS, Normalize
from quorate.persistence.archive import write_archive
from quorate.persistence.method_arrays import pack_method
from quorate.reliability import EnsembleTrust, cluster_certainty, ensemble_trust, ncai, resolve_influence
from quorate.soft_ensemble import refuse_soft

FACTS = ("name", "idea", "equation", "strength", "weakness", "when", "citation", "cost", "exact")
"""The texts that every method has; lists of methods and their pages show them."""
PROMISES = {
    "exactly k": "the requested number of clusters is returned, if the members distinguish that many rows",
    "clear answers": "names and order of members change nothing unless a tie decides",
    "components": "groups of rows that share no cluster are separated before any other groups",
    "member without weight": "a member of weight 0 changes nothing",
    "repeated rows": "a row of weight w counts like w equal rows",
}
"""What the tests check for every method, unless its `exceptions` say why not."""
_MAX_AUTOMATIC = 32  # clusters that an automatic choice considers
# Answers that a solution keeps: as many as hold this many labels in all, and at least two.
_CACHED_LABELS, _MIN_CACHED, _MAX_CACHED = 1 << 22, 2, 200


class Cuts(Protocol):
    """A solved ensemble that can be cut into any number of clusters: a tree, a graph, groups of patterns."""

    @property
    def max_clusters(self) -> int:
        """The largest number of clusters a cut can give."""

    def cut(self, k: int) -> Labels:
        """Return (m,) consensus labels of patterns, numbered by decreasing size, -1 for patterns without labels."""

    def criterion(self) -> tuple[str, dict[int, float]] | None:
        """Return name and values, by k, of the method's own index of the number of clusters, if it has one."""

    def caution(self, k: int) -> QuorateWarning | None:
        """Return a warning about a cut into k clusters, if there is a reason for one."""


@dataclass(frozen=True)
class Solution:
    """An ensemble solved by a method: cuts into any number of clusters, each computed once.

    `answer(k)` is the consensus for k clusters; the answers used last are kept.
    """

    ensemble: Ensemble
    method: type[ConsensusMethod]
    """The class of the method."""
    cuts: Cuts = field(repr=False)
    """What is cut: a `Dendrogram`, a `TransferCut` or groups of patterns."""
    weights: Floats = field(repr=False)
    """(M,) weights of the members, summing to 1; a method that learns weights has others for each k."""
    _answers: RecentCache = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Few patterns: every k a user may look at stays. Many patterns: two answers, so that memory stays bounded.
        n_answers = _CACHED_LABELS // max(self.ensemble.n_patterns, 1)
        object.__setattr__(self, "_answers", RecentCache(int(np.clip(n_answers, _MIN_CACHED, _MAX_CACHED))))

    @property
    def max_clusters(self) -> int:
        """The largest number of clusters that an answer can have; 0 if no member of positive weight labels a row."""
        return min(self.cuts.max_clusters, self.ensemble.n_patterns)

    @cached_property
    def choice(self) -> Choice:
        """The suggested number of clusters, with the scores of others."""
        return self.method._choose(self.ensemble, self.cuts)

    @property
    def automatic(self) -> int:
        """The number of clusters that "auto" stands for."""
        return self.choice.within(self.cuts.max_clusters)

    def cut(self, k: int) -> Labels:
        """Return (m,) consensus labels of the patterns for k clusters."""
        return self.answer(k).labels

    def answer(self, k: int | str = "auto") -> Answer:
        """Return the consensus for k clusters: labels, weights, certainty, clusters and warnings."""
        k = self.automatic if isinstance(k, str) else check_integer("n_clusters", k, low=1)
        return self._answers.get(k, lambda: self._answer(k))

    def answers(self, ks: Iterable[int]) -> dict[int, Answer]:
        """Return the consensus for several numbers of clusters; the largest is cut first and prepares the others."""
        ks = list(ks)
        # The eigenvectors or the tree of the largest k also serve the smaller ones.
        answers = {k: self.answer(k) for k in sorted(set(ks), reverse=True)}
        return {k: answers[k] for k in ks}

    def _answer(self, k: int) -> Answer:
        # A method that learns weights has others for every k, so that certainty and reports use those.
        labels, learned = self.cuts.cut(k), self.method._learned_weights(self.cuts, k)
        return Answer(self.ensemble, k, labels, self.weights if learned is None else learned, self.cuts.caution)

    def layers(self, n_clusters: Iterable[int]) -> Layers:
        """Return nested partitions, the finest first, of these numbers of clusters, or as many as possible.

        Cuts of a tree are nested, so the layers of a linkage method are its answers. Other methods solve every number
        separately: the finest layer is their answer, and its clusters are merged by average link on the co-association
        of their rows.
        """
        ks = check_layers(n_clusters)
        if isinstance(self.cuts, Dendrogram):
            nested = tuple(self.cut(k) for k in ks)
        else:
            finest = self.answer(ks[0])
            nested = merge_clusters(self.ensemble, finest.weights, finest.labels, ks)
        return Layers(self.ensemble, nested, exact=isinstance(self.cuts, Dendrogram))

    def split(self, k: int) -> Split | None:
        """Return which cluster of the answer for k the answer for one more cluster splits; None if there is none."""
        coarse = self.answer(k)
        # The finest cut has no split: there is no answer with one more cluster.
        if coarse.n_clusters >= self.cuts.max_clusters:
            return None
        return next_split(self.ensemble, coarse.weights, coarse.labels, self.cut(coarse.n_clusters + 1))


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
@dataclass(eq=False, repr=False, kw_only=True)
class ConsensusMethod(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Base of all consensus methods.

    Parameters are declared like the fields of a dataclass, with type and default; `__init__` is generated. Shared ones
    are described in `method_docs`.

    A method defines in `_solve` how an ensemble becomes something that can be cut into k clusters. Everything else is
    here. `solve` returns the `Solution`; `fit` stores it with its answer for `n_clusters`. A class that only serves as
    a base of methods is declared with `class SomeBase(ConsensusMethod, abstract=True)`.
    """

    name: ClassVar[str]
    """The name in the registry."""
    idea: ClassVar[str]
    """What it does, in one sentence."""
    equation: ClassVar[str]
    """What it computes, in plain signs."""
    strength: ClassVar[str]
    weakness: ClassVar[str]
    when: ClassVar[str]
    """When to use it."""
    citation: ClassVar[str]
    cost: ClassVar[str]
    """Time and memory in m patterns, M members, n_c clusters and k."""
    exact: ClassVar[str]
    """What is computed from patterns exactly as from all rows."""
    exceptions: ClassVar[Mapping[str, str]] = {}
    """Those of `PROMISES` that it cannot keep, with the reason; "components, complete link" for one link alone."""
    limited_by_clusters: ClassVar[bool] = False
    """Whether k can be at most the number of clusters of the ensemble."""
    finds_k: ClassVar[bool] = False
    """Whether the method itself finds the number of clusters."""
    local_weights: ClassVar[bool] = False
    """Whether clusters may be weighted by their own certainty: `weights="local"`."""
    takes_soft: ClassVar[bool] = False
    """Whether it uses the memberships of soft members (`SoftEnsemble`)."""

    n_clusters: int | str = field(default="auto", kw_only=False)
    weights: Any = "equal"
    beta: float = 2.0
    normalize: Normalize = "sqrt"
    groups: Any = field(default=None, init=False)
    """Known families of members; a parameter of the methods that redeclare it."""

    def __init_subclass__(cls, *, abstract: bool = False, **options: Any) -> None:
        """Make the class a dataclass, complete its docstring, and reject a method that lacks a text of `FACTS`."""
        super().__init_subclass__(**options)
        # scikit-learn reads parameters from the signature of `__init__`, which a dataclass generates from the fields.
        dataclass(eq=False, repr=False, kw_only=True)(cls)
        missing = [fact for fact in FACTS if not hasattr(cls, fact)]
        if missing and not abstract:
            raise TypeError(
                f"The consensus method {cls.__name__} lacks {', '.join(missing)}. Add these texts to the class, or "
                "declare it a base of other methods with abstract=True."
            )
        # Exceptions are checked when the class is made, so that a misspelled promise is noticed before any test runs.
        for exception in cls.exceptions:
            if exception.split(", ")[0] not in PROMISES:
                raise TypeError(
                    f"The exceptions of {cls.__name__} must be among {', '.join(PROMISES)}; got {exception!r}."
                )
        if not abstract:
            complete_docstring(cls)

    def _check(self) -> None:
        """Check the method's own parameters."""

    def _memory(self, size: EnsembleSize, k: int) -> float:
        """Return about how many bytes it takes to solve an ensemble and cut it into k, besides the agreement matrices.

        A method that returns 0 checks the memory itself, before it allocates something large.
        """
        return 0.0

    def _advice(self) -> str:
        """Return what to do if the memory is too small."""
        return USE_LINKAGE

    def _solve(self, ens: Ensemble, influence: Floats) -> Cuts:
        """Return the ensemble solved for any k; `influence` (M,) is the weight of each member, in [0, 1]."""
        raise NotImplementedError

    @classmethod
    def _choose(cls, ens: Clusterings, cuts: Cuts) -> Choice:
        """Return the suggested number of clusters; a method that `finds_k` overrides this."""
        return choose_k(ens)

    @classmethod
    def _learned_weights(cls, cuts: Cuts, k: int) -> Floats | None:
        """Return (M,) the weights that the method learned with a cut into k clusters; None if it learns none."""
        return None

    def in_blocks(self) -> ConsensusMethod:
        """Return the method to use if patterns are read in blocks."""
        return self

    def why_all_patterns(self) -> str | None:
        """Return why all patterns must be in memory; None if they can be read in blocks (`GraphMethod`)."""
        return f"{self.name} keeps all of them in memory"

    def solve(self, X: Any) -> Solution:
        """Solve an ensemble for all numbers of clusters.

        Parameters
        ----------
        X : Ensemble or anything `Ensemble` takes
            Rows x members.
        """
        # An ensemble stays as it is; anything else becomes one, with the checks and warnings of `Ensemble`.
        ens = as_ensemble(X)
        if not self.takes_soft:
            refuse_soft(ens, self.name)
        influence = self._weigh(ens)
        return Solution(ens, type(self), self._solve(ens, influence), influence / influence.sum())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the consensus of an ensemble: `solve` it, and store the answer for `n_clusters`.

        Parameters
        ----------
        X : Ensemble or anything `Ensemble` takes
            Rows x members.
        y : ignored
            Present by convention.
        """
        return self.take(self.solve(X))

    def take(self, solution: Solution) -> Self:
        """Store the answer of a solution for `n_clusters`, and issue its warnings."""
        answer = solution.answer(self.n_clusters)
        # The answer first: if it fails, the estimator keeps its former state.
        self._solution: Solution | None = solution
        self._trust: EnsembleTrust | None = None
        self.answer_ = answer
        for warning in answer.warnings:
            issue(warning)
        return self

    def restore(self, answer: Answer) -> Self:
        """Store an answer that was computed before; the solution is computed when first used."""
        self._solution, self._trust, self.answer_ = None, None, answer
        return self

    def __getattr__(self, name: str) -> Any:
        """Raise a clear error when a fitted attribute is read before `fit`."""
        # Only names of fitted attributes (`labels_`), and only before `fit`; all other names raise the usual error.
        if name.endswith("_") and not name.startswith("_") and "answer_" not in self.__dict__:
            raise AttributeError(f"This {type(self).__name__} is not fitted yet, so it has no {name}. Call fit first.")
        return object.__getattribute__(self, name)  # raises the usual error

    @property
    def solution_(self) -> Solution:
        """The ensemble solved for all numbers of clusters."""
        # Read `answer_` first: before `fit` that raises the error about missing fitted attributes.
        answer = self.answer_
        if self._solution is None:
            self._solution = self.solve(answer.ensemble)
        return self._solution

    def save(self, path: str | Path) -> None:
        """Write the fitted method to a file (NPZ, arrays only), whole or not at all; `quorate.load` reads it."""
        check_is_fitted(self)
        write_archive(path, pack_method(self))

    def _weigh(self, ens: Clusterings) -> Floats:
        """Check all parameters; return the influence of each member."""
        self._check()
        check_number("beta", self.beta, low=0)
        check_choice("normalize", self.normalize, tuple(NORMALIZERS))
        self._check_n_clusters(ens)
        # The automatic choice is made after solving, so the forecast assumes the largest number it can choose.
        k = _MAX_AUTOMATIC if isinstance(self.n_clusters, str) else int(self.n_clusters)
        require_fit(self.name, ens, self._memory(ensemble_size(ens), k), self._advice())
        return resolve_influence(
            ens, self.weights, self.beta, self.normalize, local=self.local_weights, groups=self.groups
        )

    def _certainty(self, ens: Clusterings, influence: Floats) -> Floats | None:
        """(n_clusters,) weight of each cluster within its member; None if all are equal."""
        local = isinstance(self.weights, str) and self.weights == "local"
        return cluster_certainty(ens, members=influence > 0) if local else None

    def _cluster_influence(self, ens: Clusterings, influence: Floats) -> Floats:
        """(n_clusters,) the influence of each cluster: that of its member, times its certainty."""
        certainty = self._certainty(ens, influence)
        # A weight of a member counts for each of its clusters.
        of_member = influence[ens.cluster_member]
        return of_member if certainty is None else of_member * certainty

    def _check_n_clusters(self, ens: Clusterings) -> None:
        k = self.n_clusters
        if isinstance(k, str) and k == "auto":
            return
        # A float such as 3.0 is refused as scikit-learn does, and True would count as 1.
        if k is None or isinstance(k, str | bool | float):
            raise InputError(
                f'must be an integer or "auto"; got {brief_repr(k)}.', code="number-of-clusters", parameter="n_clusters"
            )
        check_integer("n_clusters", k, low=1)
        if int(k) > ens.n_rows:
            raise InputError(
                f"must be at most the number of rows, {ens.n_rows}; got {brief_repr(k)}.",
                code="more-clusters-than-rows",
                parameter="n_clusters",
            )
        if self.limited_by_clusters and int(k) > ens.n_clusters:
            raise InputError(
                f"must be at most {ens.n_clusters}, the number of clusters of all members, for {self.name}; "
                f"got {brief_repr(k)}.",
                code="more-clusters-than-members-have",
                parameter="n_clusters",
                hint=("Request fewer clusters, or use ", Setting("method", "weac"), "."),
            )

    @property
    def labels_(self) -> Labels:
        """(n,) consensus label of each row: 0 is the largest cluster; -1 for rows that no member labels."""
        return self.pattern_labels_[self.ensemble_.row_pattern]

    @property
    def n_clusters_(self) -> int:
        """Number of clusters of the consensus."""
        return self.answer_.n_clusters

    @property
    def confidence_(self) -> Floats:
        """(n,) share of the members' votes for the cluster of each row, in [0, 1] (`certainty`)."""
        return self.pattern_confidence_[self.ensemble_.row_pattern]

    @property
    def margin_(self) -> Floats:
        """(n,) confidence minus the share of the votes for the runner-up; negative if that has more votes."""
        return self.pattern_margin_[self.ensemble_.row_pattern]

    @property
    def runner_up_(self) -> Labels:
        """(n,) of the other clusters, the one with most votes for each row; -1 if none has any."""
        return self.pattern_runner_up_[self.ensemble_.row_pattern]

    @property
    def clusters_(self) -> tuple[ConsensusCluster, ...]:
        """Size, stability, nearest cluster and main opponents of each cluster."""
        return self.answer_.clusters

    @property
    def trust_(self) -> Floats:
        """(M,) chance-corrected agreement of each member with the others, on an absolute scale in [0, 1]."""
        return self.ensemble_trust_.index

    @property
    def ensemble_trust_(self) -> EnsembleTrust:
        """Chance-corrected agreement of the members."""
        ens = self.ensemble_
        if self._trust is None:
            self._trust = ensemble_trust(ens, self.normalize, self.groups)
        return self._trust

    @property
    def ncai_(self) -> Floats:
        """(M,) normalized crowd agreement index (NCAI) of each member."""
        return ncai(self.ensemble_, self.normalize)

    @property
    def member_weights_(self) -> Floats:
        """(M,) weights of the members, summing to 1."""
        return self.answer_.weights

    @property
    def choice_(self) -> Choice:
        """The suggested number of clusters, with the scores of others, whatever number was requested (`choose_k`)."""
        return self.solution_.choice

    @property
    def split_(self) -> Split | None:
        """Which cluster the answer with one more cluster splits, and how; None if there is none."""
        return self.solution_.split(self.answer_.requested)

    @property
    def ensemble_(self) -> Ensemble:
        """The ensemble that was combined."""
        return self.answer_.ensemble

    @property
    def pattern_labels_(self) -> Labels:
        """(m,) consensus label of each pattern."""
        return self.answer_.labels

    @property
    def pattern_certainty_(self) -> Certainty:
        """How certain the placement of each pattern's rows is."""
        return self.answer_.certainty

    @property
    def pattern_confidence_(self) -> Floats:
        """(m,) share of the members' votes for the cluster of each pattern's rows, in [0, 1]."""
        return self.pattern_certainty_.confidence

    @property
    def pattern_margin_(self) -> Floats:
        """(m,) confidence minus the share of the votes for the runner-up."""
        return self.pattern_certainty_.margin

    @property
    def pattern_runner_up_(self) -> Labels:
        """(m,) of the other clusters, the one with most votes for each pattern's rows; -1 if none has any."""
        return self.pattern_certainty_.runner_up

    def _html_repr(self) -> str:
        """Return a card for notebooks: once fitted the clusters and the weights of members, before the parameters."""
        if "answer_" not in self.__dict__:
            return str(estimator_html_repr(self))
        return self.answer_.to_html(type(self).__name__, self.trust_)

    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._html_repr()}

    def sweep(self, n_clusters: int | Iterable[int]) -> Labels:
        """Return (n, number of ks) labels: column j is what `fit` gives for the j-th k.

        If k is larger than possible, the column holds the answer for the largest possible k. A single number gives
        one column.
        """
        check_is_fitted(self)
        # A single number is accepted, because a sweep over one k is often meant.
        ks = [n_clusters] if not isinstance(n_clusters, Iterable) else list(n_clusters)
        ks = [check_integer("n_clusters", k, low=1) for k in ks]
        rows = self.ensemble_.row_pattern
        answers = self.solution_.answers(ks)
        return np.stack([answers[k].labels[rows] for k in ks], axis=1) if ks else np.empty((len(rows), 0), np.int64)

    def layers(self, n_clusters: Iterable[int]) -> Layers:
        """Return nested partitions of these numbers of clusters, the finest first (`Solution.layers`)."""
        check_is_fitted(self)
        return self.solution_.layers(n_clusters)

    def predict(self, X: Any) -> Labels:
        """Return the consensus label of new rows labeled by the same members (`Answer.predict`)."""
        check_is_fitted(self)
        return self.answer_.predict(X)

    def to_sql(self, dialect: str, *, table: str = "new_rows", prefix: str = "quorate") -> SqlExport:
        """Return SQL that labels new rows in a warehouse exactly as `predict` does (`Answer.to_sql`)."""
        check_is_fitted(self)
        return self.answer_.to_sql(dialect, table=table, prefix=prefix)


class LocallyWeighted(ConsensusMethod, abstract=True):
    """Base of the methods whose clusters are always weighted by their certainty; combined with another base."""

    theta: float = 0.4

    def _check(self) -> None:
        super()._check()
        check_number("theta", self.theta, above=0)

    def _certainty(self, ens: Clusterings, influence: Floats) -> Floats:
        return cluster_certainty(ens, self.theta, influence > 0)
