"""Is there anything to find? Asked of features and of labels alone, through consensus partitions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate._utils.array_types import Floats, Ints, Labels
from quorate._utils.weak_cache import cached_per_object
from quorate.algorithms.base import ConsensusMethod
from quorate.algorithms.gp_mgla import GPMGLA
from quorate.analysis.choose_k import sample_rows, split_in_halves, without_rows
from quorate.analysis.structure.feature_structure import Structure, check_rows, examine
from quorate.ensemble import Clusterings, Ensemble, as_clusterings, as_ensemble
from quorate.errors import QuorateError
from quorate.reliability import crowd_trust
from quorate.row_similarity import shared_rows

KS = range(2, 9)
"""Numbers of clusters at which structure is looked for."""
CLEAR, DOUBTFUL = 0.926, 0.3
"""From which value on labels alone speak of structure. Of clouds that members cut, one in twenty passes the first; of
sets with clusters, one in twenty stays below the second even if each member errs in three rows of ten, on its own
(docs/trust.md)."""
_MOST_ROWS = 10_000


def structure(X: Any, labels: Any) -> Structure:
    """Tell whether rows fall into clusters at all, and which boundaries between clusters are real.

    For every number of clusters from 2 to 8 each cluster is compared with its nearest neighbor: if the rows of both,
    seen along the line that parts them best, have one mode, the two are one (Hartigan's dip). The p-value counts all
    comparisons (Simes), that of one boundary too (Bonferroni).

    Parameters
    ----------
    X : (n, d) array
        Features of the rows.
    labels : (n,) labels, Ensemble, or anything `Ensemble` takes
        One clustering, whose boundaries are tested; or members, whose consensus is cut into 2 to 8 clusters.

    Examples
    --------
    >>> import numpy as np
    >>> import quorate as qt
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (100, 2)), rng.normal(6, 1, (100, 2))])
    >>> qt.structure(X, np.repeat([0, 1], 100)).sentence
    'There are clusters here (p = 0.0001). Every cluster of the answer is apart from its nearest.'
    """
    if not isinstance(labels, Ensemble) and np.ndim(labels) == 1 and np.ndim(np.asarray(labels, dtype=object)[0]) == 0:
        one = Ensemble([labels])
        found: Labels = one.patterns[one.row_pattern, 0].astype(np.int64)
        return examine(check_rows(X, one.n_rows), {one.n_clusters: found}, one.n_clusters)
    ens = as_ensemble(labels)
    partitions = _partitions(ens)
    return examine(check_rows(X, ens.n_rows), partitions, max(partitions))


def structure_of(X: Floats, fitted: ConsensusMethod, members: Ensemble | None = None) -> Structure:
    """Return the structure in the features of thinned rows, with the boundaries of a fitted consensus.

    Other partitions that are tested are those of its ensemble, or of other `members` of the thinned rows.
    """
    ens = fitted.ensemble_
    rows = thinned(ens.row_pattern)
    seen = members or (ens if len(rows) == ens.n_rows else Ensemble(list(ens.patterns[rows].T)))
    return examine(X, {**_partitions(seen), fitted.n_clusters_: fitted.pattern_labels_[rows]}, fitted.n_clusters_)


def _partitions(ens: Ensemble) -> dict[int, Labels]:
    """Return the labels of all rows by GP-MGLA, by number of clusters."""
    ks, cuts = _cuts(ens)
    rows = ens.row_pattern
    return {k: labels[rows] for k, labels in zip(ks, cuts.T, strict=True)}


def thinned(rows: Any) -> Any:
    """Return every so-many-th row, at most 10,000, as an array."""
    some = rows[:: -(-rows.shape[0] // _MOST_ROWS)]
    return some.toarray() if hasattr(some, "toarray") else np.array(some)


def _cuts(ens: Ensemble) -> tuple[list[int], Ints]:
    """Return numbers of clusters, and the labels of patterns by GP-MGLA cut into each."""
    ks = [k for k in KS if k <= min(ens.n_clusters, ens.n_patterns)]
    if not ks:
        raise QuorateError("The members hold a single cluster: there is no boundary to look at.")
    return ks, _cuts_at(ens, ks)


def _cuts_at(ens: Ensemble, ks: list[int]) -> Ints:
    """(m, ks) labels of patterns by GP-MGLA, cut into some numbers of clusters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = GPMGLA(min(2, ens.n_clusters)).solve(ens).answers(ks)
        return np.stack([answers[k].labels for k in ks], axis=1)


@dataclass(frozen=True)
class LabelStructure:
    """What the labels alone say about structure: how far halves of the members find the same, and members say it."""

    repeated: float
    """Mean ARI over rows between the consensus of two halves of the members."""
    shared: float
    """What single members tell of the consensus: mutual information over the smaller entropy, in [0, 1]; the mean over
    members, by their trust."""
    n_clusters: int
    """The number of clusters at which the product of both is largest."""

    @property
    def value(self) -> float:
        """T in [0, 1]: the product of both."""
        return max(self.repeated * self.shared, 0.0)

    @property
    def verdict(self) -> str:
        """One of "clear", "doubtful" and "none to be seen"."""
        if self.value >= CLEAR:
            return "clear"
        return "doubtful" if self.value >= DOUBTFUL else "none to be seen"

    @property
    def sentence(self) -> str:
        """What it means, in plain words; never a p-value, which labels alone cannot give."""
        says = {
            "clear": "Structure is clear",
            "doubtful": "Structure is doubtful",
            "none to be seen": "Nothing speaks for clusters here",
        }
        return (
            f"{says[self.verdict]}: halves of the members repeat each other's clusters with ARI {self.repeated:.2f}, "
            f"and single members carry {self.shared:.0%} of them (together {self.value:.2f} of 1, by labels alone)."
        )

    @property
    def limits(self) -> str:
        """What this can and cannot tell."""
        told = "Labels alone tell whether members repeat one another, not why they do: "
        if self.verdict == "none to be seen":
            return told + "many clusters, or clusters that members miss or cut much finer, look like none."
        return told + "one long cloud that all of them cut alike looks like clusters."


def label_structure(labels: Any) -> LabelStructure | None:
    """Return what the labels alone say about structure; None with too few rows, or fewer than four members that agree.

    T = max over k of stab(k) times the mean over members of MI(c, m) / min(H(c), H(m)), with c the consensus into k
    clusters and stab the mean ARI over rows between the consensus of two halves of the members. Members count in the
    mean by their trust, and those that agree with no other beyond chance not at all, so that made-up ones do not make
    clear clusters doubtful. Labels cannot tell a long thin cloud from clusters, nor why members agree.
    """
    return _from_labels(as_clusterings(labels))


@cached_per_object
def _from_labels(ens: Clusterings) -> LabelStructure | None:
    crowd = crowd_trust(ens)
    counting = crowd.index if crowd.index.any() else np.ones(ens.n_members)
    if crowd.verdict == "beyond chance" and not crowd.agrees.all():
        agreeing = np.flatnonzero(crowd.agrees)
        ens, counting = without_rows(sample_rows(ens)).select(agreeing.tolist()), counting[agreeing]
    halves = split_in_halves(ens)
    if halves is None:
        return None
    whole = sample_rows(ens)
    try:
        ks, cuts = _cuts(whole)
        stability = halves.agreement(lambda half: _cuts_at(half.ensemble, ks))
    except QuorateError:  # halves that tell nothing apart
        return LabelStructure(0.0, 0.0, 1)
    if crowd.verdict == "too few rows to tell":
        return None
    shared = [np.average(_shared_information(whole, cut), weights=counting) for cut in cuts.T]
    best = int(np.argmax(np.round(stability * shared, 9)))
    return LabelStructure(float(stability[best]), float(shared[best]), ks[best])


def _shared_information(ens: Ensemble, labels: Labels) -> Floats:
    """(M,) mutual information of each member with a consensus, over the smaller entropy."""
    shared = shared_rows(ens, labels, int(labels.max()) + 1)
    values = np.zeros(ens.n_members)
    for member in range(ens.n_members):
        table = shared[:, ens.cluster_member == member]
        table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
        if min(table.shape) < 2:
            continue
        share = table / table.sum()
        of_row, of_column = share.sum(axis=1), share.sum(axis=0)
        filled = share > 0
        mutual = np.sum(share[filled] * np.log((share / np.outer(of_row, of_column))[filled]))
        entropy = min(-np.sum(of_row * np.log(of_row)), -np.sum(of_column * np.log(of_column)))
        values[member] = mutual / entropy
    return values
