"""The registry of consensus methods, and `consensus`."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from quorate._utils.array_types import Floats, Ints, Labels
from quorate._utils.checks import check_choice, check_number, nearest_name
from quorate._utils.optional_imports import import_extra
from quorate.algorithms.base import FACTS, ConsensusMethod, Solution
from quorate.algorithms.best_member import BestMember
from quorate.algorithms.cspa import CSPA
from quorate.algorithms.cumulative_voting import CumulativeVoting
from quorate.algorithms.eac import EAC
from quorate.algorithms.ecmc import ECMC
from quorate.algorithms.ecpcs_hc import ECPCSHC
from quorate.algorithms.ecpcs_mc import ECPCSMC
from quorate.algorithms.gp_mgla import GPMGLA
from quorate.algorithms.hard_voting import HardVoting
from quorate.algorithms.hbgf import HBGF
from quorate.algorithms.kcc import KCC
from quorate.algorithms.layers import Layers
from quorate.algorithms.lce import LCE
from quorate.algorithms.lwea import LWEA
from quorate.algorithms.lwgp import LWGP
from quorate.algorithms.majority import Majority
from quorate.algorithms.mcla import MCLA
from quorate.algorithms.median import MedianPartition
from quorate.algorithms.mixture import MixtureModel
from quorate.algorithms.portfolio import Portfolio
from quorate.algorithms.pta import PTA
from quorate.algorithms.ptgp import PTGP
from quorate.algorithms.sec import SEC
from quorate.algorithms.sql_export import SqlExport
from quorate.algorithms.srs import SRS
from quorate.algorithms.wcc import WCC
from quorate.algorithms.wct import WCT
from quorate.algorithms.weac import WEAC
from quorate.analysis.choose_k import Choice
from quorate.analysis.clusters import ConsensusCluster
from quorate.analysis.compare import EarlierPartition, earlier_partition
from quorate.ensemble import Ensemble, as_ensemble
from quorate.errors import InputError
from quorate.integrations.anndata import clusterings_of, is_annotated, writable_table, write_consensus
from quorate.row_similarity import group_sizes

METHODS: dict[str, type[ConsensusMethod]] = {
    method.name: method
    for method in (
        Portfolio,
        GPMGLA,
        WEAC,
        LWEA,
        LWGP,
        CumulativeVoting,
        MixtureModel,
        LCE,
        ECPCSMC,
        ECPCSHC,
        MCLA,
        PTA,
        PTGP,
        KCC,
        MedianPartition,
        EAC,
        HBGF,
        WCC,
        ECMC,
        SRS,
        WCT,
        CSPA,
        SEC,
        HardVoting,
        BestMember,
        Majority,
    )
}

AUTO = Portfolio.name
"""The method that combines clusterings unless another one is named; how it was chosen: docs/trust.md."""


@dataclass(frozen=True)
class MethodInfo:
    """The description of a consensus method."""

    name: str
    estimator: type[ConsensusMethod]
    parameters: dict[str, Any]
    """Names and default values, without `n_clusters`."""
    citation: str
    weighted: bool
    """Whether members are weighted by their agreement by default."""
    idea: str
    """What it does, in one sentence."""
    equation: str
    """What it computes, in plain signs."""
    strength: str
    weakness: str
    when: str
    """When to use it."""
    cost: str
    """Time and memory in m patterns, M members, n_c clusters and k."""
    exact: str
    """What is computed from patterns exactly as from all rows."""
    exceptions: dict[str, str]
    """Promises of all methods that this one cannot keep, with the reason."""


def methods() -> tuple[MethodInfo, ...]:
    """Return the descriptions of all consensus methods.

    Examples
    --------
    >>> import quorate as qt
    >>> qt.methods()[0].name
    'auto'
    >>> {method.name: method.idea for method in qt.methods()}["lwea"]
    'Agglomerate rows by the certainty of the clusters that group them.'
    """
    return tuple(_describe(method) for method in METHODS.values())


def _describe(method: type[ConsensusMethod]) -> MethodInfo:
    parameters = {name: value.default for name, value in inspect.signature(method).parameters.items()}
    # `n_clusters` is a parameter of `consensus` itself.
    del parameters["n_clusters"]
    facts = {fact: getattr(method, fact) for fact in FACTS}
    weighted = parameters["weights"] in ("ncai", "trust")
    return MethodInfo(
        **facts, estimator=method, parameters=parameters, weighted=weighted, exceptions=dict(method.exceptions)
    )


def method_title(name: str) -> str:
    """Return a method as sentences name it."""
    return f"the default method ({AUTO})" if name == AUTO else name


def make_method(method: str, n_clusters: int | str, params: Mapping[str, Any]) -> ConsensusMethod:
    """Return the estimator of a registered name, with parameters."""
    name = check_choice("method", method, tuple(METHODS))
    allowed = _describe(METHODS[name]).parameters
    for parameter in params:
        if parameter not in allowed:
            # Name the methods that do have the parameter: it may have been meant for one of them.
            others = [other for other in METHODS if parameter in _describe(METHODS[other]).parameters]
            raise InputError(
                f"{'The default method' if name == AUTO else name} has no parameter {parameter!r}; it has "
                f"{', '.join(allowed)}.{nearest_name(parameter, allowed)}",
                code="unknown-parameter",
                hint=f"Methods with it: {', '.join(others)}." if others else (),
            )
    return METHODS[name](n_clusters=n_clusters, **params)


@dataclass(frozen=True)
class ConsensusResult:
    """A consensus and how it was computed: the view of a fitted `estimator` that `quorate.consensus` returns.

    `plot` functions and `report` take it as it is. Arrays over rows are computed when first used.
    """

    method: str
    """The method that was used; "auto" is the default."""
    params: dict[str, Any]
    """Its parameters that were set."""
    estimator: ConsensusMethod = field(repr=False)
    """The fitted consensus method."""
    earlier: EarlierPartition | None = field(default=None, repr=False)
    """The earlier result whose cluster ids are taken over, if `like` was given."""
    abstain: float | None = None
    """Confidence below which `labels` is -1."""

    @cached_property
    def labels(self) -> Labels:
        """(n,) consensus label of each row; 0 is the largest cluster, -1 where no member labels the row.

        With `like`, clusters have the ids of the earlier result. With `abstain`, uncertain rows have -1.
        """
        labels = self._with_ids(self.estimator.labels_)
        return labels if self.abstain is None else np.where(self.confidence >= self.abstain, labels, -1)

    @cached_property
    def ids(self) -> Ints | None:
        """(k,) the id of each cluster in `labels`, if clusters are numbered like those of an earlier result."""
        if self.earlier is None:
            return None
        # Not the sizes of `clusters`, whose description takes time and memory for millions of clusters.
        sizes = group_sizes(self.ensemble, self.estimator.pattern_labels_, self.n_clusters)
        return self.earlier.cluster_ids(self.estimator.pattern_labels_, sizes)

    def _with_ids(self, labels: Labels) -> Labels:
        return labels if self.ids is None else np.where(labels >= 0, self.ids[labels], -1)

    @property
    def n_clusters(self) -> int:
        """Number of clusters of the consensus."""
        return self.estimator.n_clusters_

    @cached_property
    def confidence(self) -> Floats:
        """(n,) share of the members' votes for the cluster of each row, in [0, 1]."""
        return self.estimator.confidence_

    @cached_property
    def margin(self) -> Floats:
        """(n,) confidence minus the share of the votes for the runner-up; negative if that has more votes."""
        return self.estimator.margin_

    @cached_property
    def runner_up(self) -> Labels:
        """(n,) of the other clusters, the one with most votes for each row; -1 if none has any."""
        return self._with_ids(self.estimator.runner_up_)

    @cached_property
    def entropy(self) -> Floats:
        """(n,) entropy of the members' votes for each row, in [0, 1]; 0 if all are for one cluster."""
        return self.estimator.answer_.entropy[self.ensemble.row_pattern]

    @property
    def clusters(self) -> tuple[ConsensusCluster, ...]:
        """Size, stability, nearest cluster and main opponents of each cluster."""
        return self.estimator.clusters_

    @property
    def ncai(self) -> Floats:
        """(M,) normalized crowd agreement index (NCAI) of each member."""
        return self.estimator.ncai_

    @property
    def member_weights(self) -> Floats:
        """(M,) weights of the members, summing to 1."""
        return self.estimator.member_weights_

    @property
    def trust(self) -> Floats:
        """(M,) chance-corrected agreement of each member with the others, as `quorate.trust` gives it."""
        return self.estimator.trust_

    @property
    def ensemble(self) -> Ensemble:
        """The ensemble that was combined."""
        return self.estimator.ensemble_

    @property
    def solution(self) -> Solution:
        """The ensemble solved for all numbers of clusters."""
        return self.estimator.solution_

    @property
    def choice(self) -> Choice:
        """The suggested number of clusters, with the scores of others, whatever number was requested."""
        return self.estimator.choice_

    def sweep(self, n_clusters: int | Iterable[int]) -> Labels:
        """Return (n, number of ks) labels, one column for each number of clusters, without solving again."""
        return self.estimator.sweep(n_clusters)

    def layers(self, n_clusters: Iterable[int]) -> Layers:
        """Return nested partitions of these numbers of clusters, the finest first.

        Every cluster is part of one cluster of the next layer. For linkage methods a layer is the answer for its number
        of clusters. For other methods the finest layer is, and its clusters are merged by average link on the
        co-association of their rows. Clusters are numbered by size, whatever `like` is.

        Examples
        --------
        >>> import quorate as qt
        >>> result = qt.consensus([[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]], 2)
        >>> result.layers([2, 3]).cluster_layers_
        [array([0, 0, 1, 1, 2, 2]), array([0, 0, 0, 0, 1, 1])]
        """
        return self.estimator.layers(n_clusters)

    def predict(self, labels: Any) -> Labels:
        """Return the consensus label of new rows labeled by the same members."""
        return self._with_ids(self.estimator.predict(labels))

    def to_sql(self, dialect: str, *, table: str = "new_rows", prefix: str = "quorate") -> SqlExport:
        """Return SQL that labels new rows in a warehouse exactly as `predict` does (`Answer.to_sql`)."""
        return self.estimator.answer_.to_sql(dialect, table=table, prefix=prefix, ids=self.ids)

    def to_frame(self) -> Any:
        """Return a pandas frame with one line per row: consensus, confidence, margin and runner_up.

        If members have text labels, the column `name` holds the commonest one of the row's cluster.
        """
        pandas = import_extra("pandas", "to_frame")
        columns = ("consensus", self.labels), ("confidence", self.confidence), ("margin", self.margin)
        frame = pandas.DataFrame(dict([*columns, ("runner_up", self.runner_up)]))
        names = [cluster.name for cluster in self.clusters]
        if any(names):
            cluster = np.where(self.labels < 0, -1, self.estimator.labels_)  # -1 takes the last
            frame["name"] = np.array([*names, None], dtype=object)[cluster]
        return frame

    def save(self, path: str | Path) -> None:
        """Write the fitted estimator to a file (NPZ, arrays only); `quorate.load` reads it."""
        self.estimator.save(path)

    def __repr__(self) -> str:
        return (
            f"ConsensusResult(n_clusters={self.n_clusters}, ensemble={self.ensemble!r}, method={self.method!r}, "
            f"params={self.params!r})"
        )

    def _repr_html_(self) -> str:
        """Return a card for notebooks: the clusters, and the weights of the members."""
        return self.estimator.answer_.to_html(f"Consensus by {method_title(self.method)}", self.trust)


def check_result(result: Any) -> None:
    """Refuse anything but a result of `consensus`."""
    if not isinstance(result, ConsensusResult):
        raise InputError(
            f"must be a result of consensus; got {type(result).__name__}.", code="not-a-result", parameter="result"
        )


@overload
def consensus(
    labels: Any,
    n_clusters: int | str = "auto",
    method: str = AUTO,
    *,
    like: Any = None,
    abstain: float | None = None,
    keys: Sequence[str] | None = None,
    key_added: str | None = None,
    copy: Literal[False] = False,
    **params: Any,
) -> ConsensusResult: ...
@overload
def consensus(
    labels: Any,
    n_clusters: int | str = "auto",
    method: str = AUTO,
    *,
    like: Any = None,
    abstain: float | None = None,
    keys: Sequence[str] | None = None,
    key_added: str | None = None,
    copy: Literal[True],
    **params: Any,
) -> Any: ...
def consensus(
    labels: Any,
    n_clusters: int | str = "auto",
    method: str = AUTO,
    *,
    like: Any = None,
    abstain: float | None = None,
    keys: Sequence[str] | None = None,
    key_added: str | None = None,
    copy: bool = False,
    **params: Any,
) -> Any:
    """Combine clusterings of the same rows into one.

    Parameters
    ----------
    labels : Ensemble or anything `Ensemble` takes
        Rows x members, or a list with one label vector per member. Or an AnnData, MuData or SpatialData object, with
        `keys`.
    n_clusters : int or "auto", default "auto"
    method : str, default "auto"
        A name from `methods()`, which then runs alone, as published. "auto" solves methods of different kinds and takes
        the answer that agrees best with the members (`Portfolio`).
    like : (n,) integer labels or an earlier result, optional
        Number the clusters in `labels` like these: a cluster takes the id of the earlier cluster with which its Jaccard
        coefficient exceeds 1/2; others get new ids (`relabel`). `result.ids` has the id of each cluster.
    abstain : float in [0, 1], optional
        Set `labels` to -1 where the confidence is lower.
    keys : sequence of str, optional
        For an AnnData object: the columns of `obs` that are members. In MuData, "rna:leiden" is the column "leiden" of
        the modality "rna".
    key_added : str, optional
        For an AnnData object: the labels are written to `obs[key_added]`; confidence, margin, entropy and runner-up to
        columns with "_confidence", "_margin", "_entropy" and "_runner_up" after that name; parameters to
        `uns[key_added]["params"]`; colors to `uns[key_added + "_colors"]`. Default: "consensus".
    copy : bool, default False
        For an AnnData object: leave it as it is, and return an annotated copy instead of the result.
    **params
        Parameters of the method. For an AnnData object, methods without random steps ignore `random_state`.

    Returns
    -------
    ConsensusResult, or with `copy` an annotated copy of the AnnData object

    Examples
    --------
    >>> import quorate as qt
    >>> result = qt.consensus([[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]], 2)
    >>> result.labels
    array([0, 0, 0, 0, 1, 1])
    >>> result.predict([[1, 2], [1, 3], [1, 2]])
    array([0, 1])
    """
    if is_annotated(labels):
        settings = {"n_clusters": n_clusters, "method": method, "like": like, "abstain": abstain, **params}
        return _consensus_of_annotated(labels, keys, "consensus" if key_added is None else key_added, copy, settings)
    if keys is not None or key_added is not None or copy:
        raise InputError(
            "is only for AnnData objects.",
            code="anndata-only",
            parameter="keys" if keys is not None else "key_added" if key_added is not None else "copy",
            hint="Select the columns of a frame first.",
        )
    abstain = None if abstain is None else check_number("abstain", abstain, low=0, high=1)
    fitted = make_method(method, n_clusters, params).fit(as_ensemble(labels))
    earlier = None if like is None else earlier_partition(fitted.ensemble_, like)
    return ConsensusResult(fitted.name, params, fitted, earlier, abstain)


def _consensus_of_annotated(
    data: Any, keys: Sequence[str] | None, key_added: str, copy: bool, settings: dict[str, Any]
) -> Any:
    """Combine columns of `obs` and write the result to `obs` and `uns`, of a copy if requested."""
    members = clusterings_of(data, keys)
    name = check_choice("method", settings["method"], tuple(METHODS))
    if "random_state" not in _describe(METHODS[name]).parameters:
        # Functions of scverse accept a seed whether they need it or not.
        settings.pop("random_state", None)
    table = writable_table(data, key_added, list(members), copy=copy)
    result = consensus(members, **settings)
    parameters = {"method": name, "keys": np.array(list(members), dtype=object), **result.estimator.get_params()}
    write_consensus(table, key_added, result, parameters)
    return table if copy else result
