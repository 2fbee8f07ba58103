"""Probability trajectory based graph partitioning (Huang, Lai, Wang 2016): patterns linked to clusters like them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from quorate._utils.array_types import Bools, Floats, Ints
from quorate._utils.checks import check_integer
from quorate.algorithms.graph import GraphMethod
from quorate.ensemble import Ensemble
from quorate.graphs import components, pattern_trajectory_similarity
from quorate.numerics.kmeans import Init, weighted_kmeans
from quorate.numerics.transfer_cut import ReducedGraph, TransferCut
from quorate.reliability import Normalize, ratio
from quorate.row_similarity import covered_patterns


@dataclass(frozen=True)
class PatternCut(TransferCut):
    """A cut in which every pattern counts once, however many rows it has."""

    @property
    def max_clusters(self) -> int:
        """The number of clusters, or of patterns with evidence if there are fewer."""
        return min(len(self.graph.degrees), int(np.sum(np.diff(self.links.indptr) > 0)))

    def embedding(self, k: int) -> Floats:
        """(m, k) unit rows: as of any transfer cut; but as many clusters as patterns are those patterns."""
        linked = np.diff(self.links.indptr) > 0
        if k < linked.sum():
            return super().embedding(k)
        apart = np.zeros((len(linked), int(linked.sum())))
        apart[linked] = np.eye(apart.shape[1])
        return apart

    def _cluster(self, linked: Bools, k: int) -> Ints:
        """Return the cluster of each linked pattern by k-means of the embedding, in the order of patterns."""
        points = np.ascontiguousarray(self.embedding(k)[linked])
        return weighted_kmeans(
            points,
            np.ones(len(points)),
            k,
            init=self.init,
            first_seen=np.arange(len(points)),
            n_init=self.n_init,
            random_state=self.random_state,
        ).labels


class PTGP(GraphMethod):
    """Probability trajectory based graph partitioning: link patterns to clusters of patterns like them, and cut.

    Patterns (the authors' microclusters) are alike if random walks from them take the same ways, as in `PTA`; a pattern
    is linked to a cluster by how like its patterns it is on average. Every pattern counts once, however many rows it
    has.

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of clusters, at most the number of clusters of all members; "auto" takes the one the members speak for
        (`choose_k`).
    n_neighbors, n_steps : int or None, default None
        Links kept of each pattern, and length of the walks (K and T). None: half the root of the number of patterns, at
        least 1 and at most 20.
    weights : {"equal", "ncai", "trust"} or (M,) array, default "equal"
        Weights of the members in the evidence: all equal (the original), by crowd agreement, by `trust`, or given.
    beta : float, default 2.0
        How strongly agreement with the crowd counts in the weight of a member, for weights "ncai" and "trust".
    normalize : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        How mutual information is normalized, as in `agreement`.
    init, n_init, random_state :
        How k-means starts, as in `GPMGLA`; "first-row" is the first pattern.

    Attributes
    ----------
    labels_ : (n,) array
        Consensus label of each row; 0 is the largest cluster.
    n_clusters_ : int
    eigenvalues_ : array
        Leading eigenvalues of the graph.
    confidence_, margin_, runner_up_, clusters_, ncai_, member_weights_, ensemble_, pattern_labels_, pattern_confidence_
        As in `GPMGLA`.

    References
    ----------
    D. Huang, J.-H. Lai, C.-D. Wang: Robust Ensemble Clustering Using Probability Trajectories. IEEE Transactions on
    Knowledge and Data Engineering 28 (2016).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.PTGP(n_clusters=3, n_neighbors=2, n_steps=2).fit_predict(members)
    array([0, 0, 1, 1, 2, 2])
    """

    name: ClassVar[str] = "ptgp"
    idea: ClassVar[str] = "Link patterns to clusters of patterns like them by random walks, and cut the graph."
    equation: ClassVar[str] = "B = PTS H diag(1 / patterns in c), transfer cut of B"
    strength: ClassVar[str] = "Robust to weak links."
    weakness: ClassVar[str] = "Time grows with the cube, memory with the square of the patterns."
    when: ClassVar[str] = "A few thousand patterns and noisy members."
    citation: ClassVar[str] = "Huang, Lai, Wang 2016"
    cost: ClassVar[str] = "m^2 M + m^3; memory m^2"
    exact: ClassVar[str] = "defined on patterns"
    cut_class: ClassVar[type[TransferCut]] = PatternCut
    exceptions: ClassVar[Mapping[str, str]] = {
        "components": "only the strongest links are kept, which may part what is connected",
        "member without weight": "rows are linked to its clusters too, by the patterns in them",
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        n_neighbors: int | None = None,
        n_steps: int | None = None,
        weights: Any = "equal",
        beta: float = 2.0,
        normalize: Normalize = "sqrt",
        init: Init = "ward",
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.n_steps = n_steps
        self.weights = weights
        self.beta = beta
        self.normalize = normalize
        self.init = init
        self.n_init = n_init
        self.random_state = random_state

    def _check(self) -> None:
        super()._check()
        for name, value in (("n_neighbors", self.n_neighbors), ("n_steps", self.n_steps)):
            if value is not None:
                check_integer(name, value, low=1)

    def _why_all_patterns(self) -> str:
        return f"{self.name} compares all of them"

    def _solve(self, ens: Ensemble, influence: Floats) -> TransferCut:
        leaves = covered_patterns(ens, influence)
        similarity = pattern_trajectory_similarity(ens, influence, leaves, self.n_neighbors, self.n_steps)
        members = ens.incidence[leaves]
        in_cluster = members.sum(axis=0)
        met = np.flatnonzero(in_cluster > 0)
        links = np.asarray(similarity @ members[:, met]) / in_cluster[met]
        of_member = (influence / influence.sum() * ens.n_members)[ens.cluster_member[met]]
        links *= of_member
        links = links[:, of_member > 0]
        shares = links * ratio(1.0, links.sum(axis=1))[:, None]
        reduced = sp.csr_array(links.T @ shares)
        graph = ReducedGraph(reduced, links.sum(axis=0), components(reduced))
        of_pattern = sp.lil_array((ens.n_patterns, links.shape[1]))
        of_pattern[leaves] = shares
        return self._transfer_cut(ens, graph, sp.csr_array(of_pattern))
