"""What all consensus functions share: checks, the answer on rows, confidence, prediction, sweeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from quorate._runtime.memory import USE_LINKAGE
from quorate._runtime.memory_forecast import EnsembleSize
from quorate._utils.array_types import Floats, Labels
from quorate._utils.checks import check_choice, check_integer, check_number
from quorate._utils.notebook_html import Share, card
from quorate.algorithms.forecasts import require_fit
from quorate.analysis.choose_k import Choice, choose_k
from quorate.analysis.clusters import ConsensusCluster, Split, describe_clusters, next_split
from quorate.certainty import Certainty, certainty
from quorate.ensemble import Clusterings, Ensemble, as_ensemble, cluster_ids, ensemble_size, find_patterns
from quorate.errors import QuorateError, warn
from quorate.patterns import CodeColumn, group_rows
from quorate.persistence.archive import write_archive
from quorate.persistence.method_arrays import pack_method
from quorate.reliability import (
    NORMALISERS,
    CrowdTrust,
    Normalize,
    cluster_certainty,
    crowd_trust,
    ncai,
    resolve_influence,
)
from quorate.row_similarity import nearest_group

FACTS = ("name", "idea", "equation", "strength", "weakness", "when", "citation", "cost", "exact")
"""The texts that every method has; lists of methods and their pages show them."""
PROMISES = {
    "exactly k": "as many clusters come back as were asked for, where so many rows can be told apart",
    "clear answers": "names and order of members change nothing where no tie decides",
    "components": "groups of rows that share no cluster with others are told apart before anything else",
    "member without weight": "a member of weight 0 changes nothing",
    "repeated rows": "a row of weight w counts like w equal rows",
}
"""What the tests hold every method to, unless its `exceptions` say why not."""
_MOST_AUTOMATIC = 32  # clusters that an automatic choice considers


class Cuts(Protocol):
    """A solved ensemble that can be cut into any number of clusters."""

    @property
    def max_clusters(self) -> int:
        """The largest number of clusters a cut can give."""

    def cut(self, k: int) -> Labels:
        """Return (m,) consensus labels of patterns, numbered by decreasing size, -1 without evidence."""

    def criterion(self) -> tuple[str, dict[int, float]] | None:
        """Return the name and the values, by k, of what the cuts themselves show of the number of clusters, if any."""

    def caution(self, k: int) -> str | None:
        """Return what to know about a cut into k clusters, if anything."""


class ConsensusMethod(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Base of all consensus functions over label matrices.

    A method says in `_solve` how an ensemble becomes something that can be cut into k clusters; all else is here.
    Bases of several methods are declared so: `class SomeMethod(ConsensusMethod, abstract=True)`.
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
    """What comes out of patterns exactly as it would out of all rows."""
    exceptions: ClassVar[Mapping[str, str]] = {}
    """Those of `PROMISES` that it cannot hold, with the reason; "components, complete link" for one link alone."""
    limited_by_clusters: ClassVar[bool] = False
    """Whether k can be at most the number of clusters of the ensemble."""
    finds_k: ClassVar[bool] = False
    """Whether the method itself says how many clusters there are."""
    local_weights: ClassVar[bool] = False
    """Whether clusters may count by their own certainty: `weights="local"`."""
    saved_facts: ClassVar[tuple[str, ...]] = ()
    """EnsembleSize that `_record` stores beside the weights, for a file of the fitted method."""

    n_clusters: int | str
    beta: float
    normalize: str
    weights: Any

    def __init_subclass__(cls, *, abstract: bool = False, **options: Any) -> None:
        """Refuse a method that does not say what there is to know about it."""
        super().__init_subclass__(**options)
        lacking = [fact for fact in FACTS if not hasattr(cls, fact)]
        if lacking and not abstract:
            raise TypeError(
                f"The consensus function {cls.__name__} lacks {', '.join(lacking)}: give the class these texts, or "
                "declare it a base of others with abstract=True."
            )
        for exception in cls.exceptions:
            if exception.split(", ")[0] not in PROMISES:
                raise TypeError(
                    f"The exceptions of {cls.__name__} must be promises of all methods, {', '.join(PROMISES)}; "
                    f"got {exception!r}."
                )

    def _check(self) -> None:
        """Check the method's own parameters."""

    def _why_all_patterns(self) -> str | None:
        """Return why patterns must all be in memory at once, or None if they can be read in blocks (`GraphMethod`)."""
        return f"{self.name} keeps all of them in memory"

    def _memory(self, size: EnsembleSize, k: int) -> float:
        """Return about how many bytes it takes to solve an ensemble and cut it into k, beside what agreement keeps.

        A method that does not know forecasts what is large when it comes to it.
        """
        return 0.0

    def _advice(self) -> str:
        """Return what to do where there is no room."""
        return USE_LINKAGE

    def _solve(self, ens: Ensemble, influence: Floats) -> Cuts:
        """Return the ensemble solved for any k, each method in its way; `influence` (M,) is in [0, 1]."""
        raise NotImplementedError

    def _choose(self, ens: Clusterings, cuts: Cuts) -> Choice:
        """Return how many clusters there are; a method that `finds_k` says so itself."""
        return choose_k(ens)

    def _record(self, cuts: Cuts, k: int, influence: Floats) -> None:
        """Store the weights under which k clusters were found; a method may have learnt its own, and more."""
        self.member_weights_ = influence / influence.sum()

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the consensus of an ensemble.

        Parameters
        ----------
        X : Ensemble or anything `Ensemble` takes
            Rows x members.
        y : ignored
            Present by convention.
        """
        ens = as_ensemble(X)
        influence = self._weigh(ens)
        cuts = self._solve(ens, influence)
        automatic = self.n_clusters == "auto"
        wanted = self._choose(ens, cuts).within(cuts.max_clusters) if automatic else int(self.n_clusters)
        self._take(ens, influence, cuts, wanted)
        return self

    def __getattr__(self, name: str) -> Any:
        """Say of what fitting finds that it is not there yet."""
        if name.endswith("_") and not name.startswith("_") and "pattern_labels_" not in self.__dict__:
            raise AttributeError(f"This {type(self).__name__} is not fitted yet, so it has no {name}. Call fit first.")
        return object.__getattribute__(self, name)  # the error as it was

    def _cut_again(self, k: int) -> None:
        """Take the answer with k clusters instead, out of what is solved already."""
        self.n_clusters = k
        self._take(self.ensemble_, self._weigh(self.ensemble_), self._cuts, k)

    def _take(self, ens: Ensemble, influence: Floats, cuts: Cuts, wanted: int) -> None:
        """Store the answer with so many clusters."""
        labels = cuts.cut(wanted)
        self.ensemble_ = ens
        self._ncai: Floats | None = None
        self._record(cuts, wanted, influence)
        self.pattern_labels_ = labels
        self.n_clusters_ = int(labels.max(initial=-1)) + 1
        self._pattern_certainty: Certainty | None = None
        self._crowd: CrowdTrust | None = None
        self._solved: Cuts | None = cuts
        self._warn_of_surprises(wanted)

    def restore(
        self,
        ens: Ensemble,
        pattern_labels: Labels,
        index: Floats,
        member_weights: Floats,
        facts: Mapping[str, Any],
    ) -> None:
        """Store an answer that was found before; what it was cut from is found again when it is asked for."""
        self.ensemble_, self._ncai, self.member_weights_ = ens, index, member_weights
        self.pattern_labels_, self.n_clusters_ = pattern_labels, int(pattern_labels.max(initial=-1)) + 1
        self._pattern_certainty, self._crowd, self._solved = None, None, None
        for name, value in facts.items():
            setattr(self, name, value)

    @property
    def _cuts(self) -> Cuts:
        """The ensemble solved for any k."""
        if self._solved is None:
            self._solved = self._solve(self.ensemble_, self._weigh(self.ensemble_))
        return self._solved

    def save(self, path: str | Path) -> None:
        """Write the fitted method to a file (NPZ, arrays only), whole or not at all; `quorate.load` brings it back."""
        check_is_fitted(self)
        write_archive(path, pack_method(self))

    def _weigh(self, ens: Clusterings) -> Floats:
        """Check all parameters; return the influence of each member."""
        self._check()
        check_number("beta", self.beta, low=0)
        check_choice("normalize", self.normalize, tuple(NORMALISERS))
        self._check_n_clusters(ens)
        k = _MOST_AUTOMATIC if isinstance(self.n_clusters, str) else int(self.n_clusters)
        require_fit(self.name, ens, self._memory(ensemble_size(ens), k), self._advice())
        normalize = cast(Normalize, self.normalize)
        return resolve_influence(ens, self.weights, self.beta, normalize, local=self.local_weights)

    def _certainty(self, ens: Clusterings, influence: Floats) -> Floats | None:
        """(n_clusters,) how much each cluster counts beside its member's influence; None: all the same."""
        local = isinstance(self.weights, str) and self.weights == "local"
        return cluster_certainty(ens, members=influence > 0) if local else None

    def _cluster_influence(self, ens: Clusterings, influence: Floats) -> Floats:
        """(n_clusters,) the influence of each cluster: that of its member, times its certainty."""
        certainty = self._certainty(ens, influence)
        of_member = influence[ens.cluster_member]
        return of_member if certainty is None else of_member * certainty

    def _check_n_clusters(self, ens: Clusterings) -> None:
        k = self.n_clusters
        if isinstance(k, str) and k == "auto":
            return
        if k is None or isinstance(k, str | bool | float):
            raise QuorateError(f'n_clusters must be an integer or "auto"; got {k!r}.')
        check_integer("n_clusters", k, low=1)
        if int(k) > ens.n_rows:
            raise QuorateError(f"n_clusters must be at most the number of rows, {ens.n_rows}; got {k}.")
        if self.limited_by_clusters and int(k) > ens.n_clusters:
            raise QuorateError(
                f"n_clusters must be at most the number of clusters of all members, {ens.n_clusters}, for "
                f"{self.name}; got {k}. Use fewer clusters, or WEAC."
            )

    def _warn_of_surprises(self, wanted: int) -> None:
        n_lost = int(self.ensemble_.row_counts[self.pattern_labels_ < 0].sum())
        warn_of_surprises(n_lost, self.n_clusters_, wanted, self._cuts)

    @property
    def labels_(self) -> Labels:
        """(n,) consensus label of each row: 0 is the largest cluster; -1 for rows no member labels."""
        return self.pattern_labels_[self.ensemble_.row_pattern]

    @property
    def pattern_certainty_(self) -> Certainty:
        """How firmly the rows of each pattern sit in their cluster; found when asked for."""
        if self._pattern_certainty is None:
            self._pattern_certainty = certainty(self.ensemble_, self.member_weights_, self.pattern_labels_)
        return self._pattern_certainty

    @property
    def pattern_confidence_(self) -> Floats:
        """(m,) mean evidence of the rows of each pattern with the other rows of their cluster."""
        return self.pattern_certainty_.confidence

    @property
    def pattern_margin_(self) -> Floats:
        """(m,) how much more evidence the rows of each pattern have for their cluster than for their runner-up."""
        return self.pattern_certainty_.margin

    @property
    def pattern_runner_up_(self) -> Labels:
        """(m,) of the other clusters, the one that the rows of each pattern have most evidence for; -1 if none."""
        return self.pattern_certainty_.runner_up

    @property
    def ncai_(self) -> Floats:
        """(M,) the crowd agreement index of each member over the largest; found when asked for."""
        if self._ncai is None:
            self._ncai = ncai(self.ensemble_, cast(Normalize, self.normalize))
        return self._ncai

    @property
    def trust_(self) -> Floats:
        """(M,) how far each member agrees with the others beyond chance, on an absolute scale in [0, 1]."""
        return self.crowd_.index

    @property
    def crowd_(self) -> CrowdTrust:
        """How far members agree beyond chance; found when asked for."""
        if self._crowd is None:
            self._crowd = crowd_trust(self.ensemble_, getattr(self, "normalize", "sqrt"))
        return self._crowd

    @property
    def confidence_(self) -> Floats:
        """(n,) mean evidence of each row with the other rows of its cluster, in [0, 1]."""
        return self.pattern_confidence_[self.ensemble_.row_pattern]

    @property
    def margin_(self) -> Floats:
        """(n,) confidence of each row minus its mean evidence with the rows of its runner-up."""
        return self.pattern_margin_[self.ensemble_.row_pattern]

    @property
    def runner_up_(self) -> Labels:
        """(n,) of the other clusters, the one each row has most evidence for; -1 where none has any."""
        return self.pattern_runner_up_[self.ensemble_.row_pattern]

    @property
    def choice_(self) -> Choice:
        """How many clusters the members speak for, with the evidence, whatever number was asked for (`choose_k`)."""
        return self._choose(self.ensemble_, self._cuts)

    @property
    def clusters_(self) -> tuple[ConsensusCluster, ...]:
        """The consensus clusters: how firm each is, what it would merge with, and the members that oppose it most."""
        return describe_clusters(self.ensemble_, self.member_weights_, self.pattern_labels_, self.pattern_certainty_)

    @property
    def split_(self) -> Split | None:
        """Which cluster the answer with one more cluster splits, and how; None for none. Found when asked for."""
        if self.n_clusters_ >= self._cuts.max_clusters:
            return None
        finer = self._cuts.cut(self.n_clusters_ + 1)
        return next_split(self.ensemble_, self.member_weights_, self.pattern_labels_, finer)

    def _html_repr(self) -> str:
        """Return a card for notebooks once fitted: the clusters, and how far members count; before, the parameters."""
        if not hasattr(self, "ensemble_"):
            return str(estimator_html_repr(self))
        return describe_in_html(type(self).__name__, self)

    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._html_repr()}

    def sweep(self, n_clusters: Iterable[int]) -> Labels:
        """Return (n, number of ks) labels: column j is what `fit` gives for the j-th k.

        Where k is larger than possible the column holds the answer for the largest k possible.
        """
        check_is_fitted(self)
        ks = [check_integer("n_clusters", k, low=1) for k in n_clusters]
        rows = self.ensemble_.row_pattern
        if not ks:
            return np.empty((len(rows), 0), dtype=np.int64)
        cuts = {k: self._cuts.cut(k) for k in sorted(ks, reverse=True)}  # what the largest needs serves all
        return np.stack([cuts[k][rows] for k in ks], axis=1)

    def _answer_at(self, k: int) -> tuple[Labels, Floats]:
        """Return the consensus label of each pattern for k clusters, and the weights of the members behind it."""
        return self._cuts.cut(k), self.member_weights_

    def predict(self, X: Any) -> Labels:
        """Return the consensus label of new rows labeled by the same members.

        A known pattern gets its label, any other the cluster of highest mean evidence; label values never seen count
        as missing, and so does noise if every noise row was a cluster of its own (`noise="singletons"`). A row about
        which nothing is known gets -1. The columns of a frame are matched by name.
        """
        check_is_fitted(self)
        ens = self.ensemble_
        ids = cluster_ids(ens, X)
        columns = [CodeColumn(ids[:, j], ens.n_clusters) for j in range(ens.n_members)]
        new = group_rows(columns, len(ids))
        known = find_patterns(ens, new.codes)
        labels = self.pattern_labels_[known]
        unknown = known < 0
        labels[unknown] = nearest_group(ens, self.member_weights_, self.pattern_labels_, new.codes[unknown])
        return labels[new.row_pattern]


class LocallyWeighted(ConsensusMethod, abstract=True):
    """Base of the methods whose clusters always count by their certainty (`cluster_certainty`), beside another base."""

    theta: float

    def _check(self) -> None:
        super()._check()
        check_number("theta", self.theta, above=0)

    def _certainty(self, ens: Clusterings, influence: Floats) -> Floats:
        return cluster_certainty(ens, self.theta, influence > 0)


def describe_in_html(title: str, fitted: ConsensusMethod) -> str:
    """Return a card for notebooks: the clusters of a consensus, and the members that were trusted least."""
    ens, confidence = fitted.ensemble_, fitted.pattern_confidence_
    facts = [
        (ens.n_rows, "rows"),
        (ens.n_members, "members"),
        (fitted.n_clusters_, "clusters"),
        (float(round(confidence @ ens.counts / ens.counts.sum(), 3)), "mean confidence"),
    ]
    clusters = [(c.label, c.size, Share(c.stability), Share(c.chance)) for c in fitted.clusters_]
    least = np.argsort(fitted.trust_, kind="stable")
    members = [(ens.names[j], Share(fitted.trust_[j]), Share(fitted.member_weights_[j])) for j in least]
    first = card(title, facts, ("cluster", "rows", "stability", "by chance"), clusters)
    return first + "<br>" + card("Members, the least trusted first", [], ("member", "trust", "weight"), members)


def warn_of_surprises(n_lost: int, n_clusters: int, wanted: int, cuts: Cuts) -> None:
    """Warn of rows without any label, of fewer clusters than wanted, and of what the cut has to say."""
    if n_lost:
        warn(f"{n_lost} row(s) are labeled by no member of positive weight: they get the label -1 and confidence 0.")
    if n_clusters < wanted:
        warn(f"Only {n_clusters} clusters came back, not {wanted}: no more groups of rows could be told apart.")
    elif caution := cuts.caution(wanted):
        warn(caution)
