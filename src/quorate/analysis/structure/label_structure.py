"""Is there anything to find? Asked of features and of labels alone, through consensus partitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate._utils.array_types import Floats, Labels
from quorate._utils.weak_cache import cached_per_object
from quorate.analysis.choose_k import sample_rows, split_in_halves, without_rows
from quorate.analysis.structure.consensus_cuts import KS, cuts
from quorate.ensemble import Clusterings, Ensemble, as_clusterings
from quorate.errors import QuorateError
from quorate.reliability import crowd_trust, ratio, shared_information
from quorate.row_similarity import shared_rows

CLEAR, WEAK = 0.926, 0.3
"""From which value on labels alone speak of structure. Of clouds that members cut, one in twenty passes the first; of
sets with clusters, one in twenty stays below the second even if each member errs in three rows of ten, on its own
(docs/trust.md)."""


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
        """One of "clear", "weak" and "none"."""
        if self.value >= CLEAR:
            return "clear"
        return "weak" if self.value >= WEAK else "none"

    @property
    def sentence(self) -> str:
        """What it means, in plain words; never a p-value, which labels alone cannot give."""
        says = {
            "clear": "Clusters are clear",
            "weak": "Evidence of clusters is weak",
            "none": "No evidence of clusters",
        }
        return (
            f"{says[self.verdict]}: halves of the members repeat each other's clusters with ARI {self.repeated:.2f}, "
            f"and single members carry {self.shared:.0%} of them (together {self.value:.2f} of 1, by labels alone)."
        )

    @property
    def limits(self) -> str:
        """What this can and cannot tell."""
        told = "Labels alone tell whether members repeat one another, not why they do: "
        if self.verdict == "none":
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
        ks = [k for k in KS if k <= min(whole.n_clusters, whole.n_patterns)]
        if not ks:
            return LabelStructure(0.0, 0.0, 1)
        partitions = cuts(whole, ks)
        stability = halves.agreement(lambda half: cuts(half.ensemble, ks))
    except QuorateError:  # halves that tell nothing apart
        return LabelStructure(0.0, 0.0, 1)
    if crowd.verdict == "too few rows to tell":
        return None
    shared = [np.average(_shared_information(whole, cut), weights=counting) for cut in partitions.T]
    best = int(np.argmax(np.round(stability * shared, 9)))
    return LabelStructure(float(stability[best]), float(shared[best]), ks[best])


def _shared_information(ens: Ensemble, labels: Labels) -> Floats:
    """(M,) mutual information of each member with a consensus, over the smaller entropy."""
    information = shared_information(ens, shared_rows(ens, labels, int(labels.max()) + 1))
    return ratio(information.mutual, np.minimum(information.entropy, information.member_entropy))
