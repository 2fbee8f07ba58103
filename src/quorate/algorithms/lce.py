"""Link-based cluster ensemble (Iam-On et al. 2011): rows are also linked to clusters similar to their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, cast

import numpy as np
import scipy.sparse as sp

from quorate._utils.array_types import Floats
from quorate._utils.checks import check_number
from quorate.algorithms.graph import GraphMethod
from quorate.cluster_similarity import weighted_triples
from quorate.ensemble import Clusterings, Ensemble, cooccurrence_by_degree
from quorate.graphs import bipartite_links, components
from quorate.numerics.transfer_cut import ReducedGraph, Spectrum, TransferCut


@dataclass(frozen=True)
class RefinedGraph(ReducedGraph):
    """The graph over clusters in which rows are also linked to clusters similar to their own."""

    refinement: Floats = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    """(n_nodes, n_nodes) T: the similarity of two clusters of the same member."""


@dataclass(frozen=True)
class RefinedCut(TransferCut):
    """The cut of a refined graph: a row's links are those to its own clusters, spread by T."""

    def _spectrum(self, k: int) -> Spectrum:
        """Return at least the k leading eigenpairs, with the eigenvectors multiplied by T."""
        spectrum = super()._spectrum(k)
        return Spectrum(spectrum.values, cast(RefinedGraph, self.graph).refinement @ spectrum.vectors)


def refined_graph(ens: Clusterings, influence: Floats, decay: float) -> RefinedGraph:
    """Return the graph of B = H diag(I) T, T = 1 + decay WCT within members: W = T I [H' diag(w / d) H] I T.

    d_u is the row sum of B, I the influence of each cluster's member.
    """
    # Clusters of members without weight are not nodes of the graph.
    active = np.flatnonzero(influence > 0)
    of_member = np.zeros(ens.n_members)
    of_member[ens.cluster_member] = influence
    # T: similarity within members, 1 on the diagonal.
    spread = weighted_triples(ens, of_member)
    spread *= decay
    np.fill_diagonal(spread, 1.0)
    # From here on only active clusters: the dense matrix is the largest array of this method.
    spread = spread[np.ix_(active, active)]
    carried = spread * influence[active]  # carried[c, c'] = T_cc' I_c'
    # Row sums of B per cluster; the degree of a row is the sum over its clusters.
    outgoing = np.zeros(ens.n_clusters)
    outgoing[active] = carried.T.sum(axis=1)
    shared, degree = cooccurrence_by_degree(ens, outgoing)
    through = shared[active][:, active] / degree
    reduced = sp.csr_array(carried @ (through @ carried.T))
    degrees = carried @ ens.cluster_sizes[active].astype(np.float64)
    return RefinedGraph(reduced, degrees, components(reduced), refinement=spread)


class LCE(GraphMethod):
    """Link-based cluster ensemble: link rows to their clusters and to similar ones, and cut the graph.

    Two clusters of a member are similar if both overlap the same other clusters (weighted connected triples, as in
    WCT). The refined matrix of rows and clusters is partitioned by the transfer cut. Published: the triples and the
    refined matrix. Chosen here: triples are normalized within members, as in the text of the journal.

    Parameters
    ----------
    decay : float in [0, 1], default 0.9
        Weight of a similar cluster relative to the own cluster; 0 links rows to their own clusters only.

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

    name = "lce"
    idea = "Link rows also to clusters similar to their own, and cut the graph."
    equation = "B = H (1 + decay WCT), transfer cut of B"
    strength = "Better than the plain graph methods, because it uses indirect links."
    weakness = "The similarity of clusters is a dense matrix."
    when = "Members with many small clusters, for which direct links are too few."
    citation = "Iam-On, Boongoen, Garrett, Price 2011"
    cost = "m M^2 + n_c^3 + m k^2 per k-means step; memory n_c^2 + m k"
    exact = "graph and embedding of all rows; k-means of all rows"
    cut_class: ClassVar[type[TransferCut]] = RefinedCut

    decay: float = 0.9

    def _check(self) -> None:
        super()._check()
        check_number("decay", self.decay, low=0, high=1)

    def _graph(self, ens: Clusterings, influence: Floats) -> ReducedGraph:
        return refined_graph(ens, influence, self.decay)

    def _links(self, ens: Ensemble, influence: Floats) -> sp.csr_array:
        return bipartite_links(ens, influence)
