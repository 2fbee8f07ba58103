"""Link-based cluster ensemble (Iam-On et al. 2011): rows are linked to clusters they are not in, if these are alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np
import scipy.sparse as sp

from quorate._utils.array_types import Floats
from quorate._utils.checks import check_number
from quorate.algorithms.graph import GraphMethod
from quorate.cluster_similarity import weighted_triples
from quorate.ensemble import Clusterings, Ensemble, cooccurrence_by_degree
from quorate.graphs import bipartite_links, components
from quorate.numerics.kmeans import Init
from quorate.numerics.transfer_cut import ReducedGraph, Spectrum, TransferCut
from quorate.reliability import Normalize


@dataclass(frozen=True)
class RefinedGraph(ReducedGraph):
    """The graph over clusters that rows induce which are linked to the clusters like theirs too."""

    refinement: Floats = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    """(n_nodes, n_nodes) T: what being in a cluster says about being in another of the same member."""


@dataclass(frozen=True)
class RefinedCut(TransferCut):
    """The cut of a refined graph: a row's links are those to its own clusters, spread by T."""

    def spectrum(self, k: int) -> Spectrum:
        """Return at least the k leading eigenpairs; the eigenvectors as a row sees them from its own clusters."""
        if not self._known or len(self._known[-1].values) < min(k, self.max_clusters):
            found = super().spectrum(k)
            spread = cast(RefinedGraph, self.graph).refinement @ found.vectors
            self._known[:] = [Spectrum(found.values, spread)]
        return self._known[-1]


def refined_graph(ens: Clusterings, influence: Floats, decay: float) -> RefinedGraph:
    """Return the graph of B = H diag(I) T, T = 1 + decay WCT within members: W = T I [H' diag(w / d) H] I T.

    d_u is the row sum of B, I the influence of each cluster's member.
    """
    active = np.flatnonzero(influence > 0)
    of_member = np.zeros(ens.n_members)
    of_member[ens.cluster_member] = influence
    spread = weighted_triples(ens, of_member)
    spread *= decay
    np.fill_diagonal(spread, 1.0)
    spread = spread[np.ix_(active, active)]
    carried = spread * influence[active]  # carried[c, c'] = T_cc' I_c'
    outgoing = np.zeros(ens.n_clusters)
    outgoing[active] = carried.T.sum(axis=1)
    shared, degree = cooccurrence_by_degree(ens, outgoing)
    through = shared[active][:, active] / degree
    reduced = sp.csr_array(carried @ (through @ carried.T))
    degrees = carried @ ens.cluster_sizes[active].astype(np.float64)
    return RefinedGraph(reduced, degrees, components(reduced), refinement=spread)


class LCE(GraphMethod):
    """Link-based cluster ensemble: link rows to the clusters they are in and to those like them, and cut the graph.

    Two clusters of a member are alike by the other clusters that both meet (weighted connected triples, as in WCT). The
    refined matrix of rows and clusters is partitioned by the transfer cut. What is known: the triples and the refined
    matrix. What is chosen: triples are normalized within members, as in the journal's text.

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of clusters, at most the number of clusters of all members; "auto" takes the one the members speak for
        (`choose_k`).
    decay : float in [0, 1], default 0.9
        How much a cluster like its own counts for a row beside its own; 0 links rows to their own clusters only.
    weights : {"equal", "ncai", "trust"} or (M,) array, default "equal"
        Weights of a member's links: all equal (the original), by crowd agreement, by `trust`, or given. Triples through
        a member's clusters count by its weight too.
    beta : float, default 2.0
        How strongly agreement with the crowd counts in the weight of a member, for weights "ncai" and "trust".
    normalize : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        How mutual information is normalized, as in `agreement`.
    init, n_init, random_state :
        How k-means starts, as in `GPMGLA`.

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
    N. Iam-On, T. Boongoen, S. Garrett, C. Price: A Link-Based Approach to the Cluster Ensemble Problem. IEEE
    Transactions on Pattern Analysis and Machine Intelligence 33 (2011).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.LCE(n_clusters=2).fit_predict(members)
    array([0, 0, 0, 0, 1, 1])
    """

    name: ClassVar[str] = "lce"
    idea: ClassVar[str] = "Link rows also to clusters like their own, and cut the graph."
    equation: ClassVar[str] = "B = H (1 + decay WCT), transfer cut of B"
    strength: ClassVar[str] = "Ahead of the plain graph methods by indirect links."
    weakness: ClassVar[str] = "The similarity of clusters is a dense matrix."
    when: ClassVar[str] = "Members with many small clusters, which direct links tell too little about."
    citation: ClassVar[str] = "Iam-On, Boongoen, Garrett, Price 2011"
    cost: ClassVar[str] = "m M^2 + n_c^3 + m k^2 per k-means step; memory n_c^2 + m k"
    exact: ClassVar[str] = "graph and embedding of all rows; k-means of all rows"
    cut_class: ClassVar[type[TransferCut]] = RefinedCut

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        decay: float = 0.9,
        weights: Any = "equal",
        beta: float = 2.0,
        normalize: Normalize = "sqrt",
        init: Init = "ward",
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.decay = decay
        self.weights = weights
        self.beta = beta
        self.normalize = normalize
        self.init = init
        self.n_init = n_init
        self.random_state = random_state

    def _check(self) -> None:
        super()._check()
        check_number("decay", self.decay, low=0, high=1)

    def _graph(self, ens: Clusterings, influence: Floats) -> ReducedGraph:
        return refined_graph(ens, influence, self.decay)

    def _links(self, ens: Ensemble, influence: Floats) -> sp.csr_array:
        return bipartite_links(ens, influence)
