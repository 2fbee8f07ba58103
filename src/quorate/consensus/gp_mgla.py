"""Graph partitioning with multi-granularity link analysis (paper, section 6.2, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate._support.checks import check_choice, check_integer, check_number
from quorate._support.typing import Floats
from quorate.consensus.base import ConsensusMethod
from quorate.crowd import Normalise, ratio
from quorate.ensemble import Ensemble
from quorate.errors import QuorateError
from quorate.kmeans import STARTS, Start
from quorate.links import SactOperator
from quorate.tcut import ReducedGraph, TransferCut


def row_links(ens: Ensemble, influence: Floats) -> sp.csr_array:
    """(m, n_clusters) weight of the links of a pattern's rows to their clusters, over the row's degree.

    Equation 15 links a row to each of its clusters with alpha times the influence of the cluster's member; the row's
    degree is the sum, so alpha cancels.
    """
    links = ens.incidence @ sp.diags_array(influence[ens.cluster_member])
    degree = links.sum(axis=1)
    links = sp.csr_array(sp.diags_array(ratio(1.0, degree)) @ links)
    links.eliminate_zeros()
    return links


def links_through_rows(ens: Ensemble, influence: Floats) -> sp.csr_array:
    """(n_clusters, n_clusters) what rows that are linked to their clusters by influence add to the reduced graph.

    diag(I) C diag(I) / (sum of I), with C the co-occurrence; where labels are missing, C counts each row over the
    influence of the members that label it.
    """
    links = ens.cooccurrence_by_degree(influence)
    of_cluster = influence[ens.cluster_member]
    data = links.data * np.repeat(of_cluster, np.diff(links.indptr)) * of_cluster[links.indices]
    return sp.csr_array((data, links.indices, links.indptr), shape=links.shape)


def multi_granularity_graph(ens: Ensemble, influence: Floats, alpha: float) -> ReducedGraph:
    """Return the graph over clusters that rows and clusters induce (equations 14 and 15), without any row.

    W = alpha (links through rows) + R' diag(1 / R1) R, with R the SACT similarity.
    """
    of_cluster = influence[ens.cluster_member]
    similarity = SactOperator(ens, influence)
    return ReducedGraph(
        through_rows=alpha * links_through_rows(ens, influence),
        degrees=alpha * of_cluster * ens.cluster_sizes + similarity @ np.ones(ens.n_clusters),
        component=_components(ens, of_cluster),
        links=similarity,
    )


def _components(ens: Ensemble, influence_of_cluster: Floats) -> NDArray[np.int64]:
    """Return the connected component of each cluster: neighbours are linked if either has influence."""
    shared = ens.cooccurrence
    either = np.repeat(influence_of_cluster, np.diff(shared.indptr)) + influence_of_cluster[shared.indices]
    return components(sp.csr_array((either, shared.indices, shared.indptr), shape=shared.shape))


def components(graph: sp.csr_array) -> NDArray[np.int64]:
    """Return the connected component of each node of a symmetric graph; links of weight 0 are none.

    In a symmetric graph strong components are the connected ones, and need no transpose.
    """
    if (graph.data == 0).any():
        graph = graph.copy()
        graph.eliminate_zeros()
    return sp.csgraph.connected_components(graph, connection="strong")[1].astype(np.int64)


class GraphMethod(ConsensusMethod):
    """Base of the methods that cut a graph and cluster its embedding."""

    limited_by_clusters: ClassVar[bool] = True
    start: str
    n_init: int
    random_state: Any

    def _check(self) -> None:
        check_choice("start", self.start, STARTS)
        check_integer("n_init", self.n_init, low=1)

    def _graph(self, ens: Ensemble, influence: Floats) -> ReducedGraph:
        """Return the graph over clusters, for which an ensemble needs its co-occurrences, but not its patterns.

        Every method of this kind has its own.
        """
        raise NotImplementedError

    def _links(self, ens: Ensemble, influence: Floats) -> sp.csr_array:
        """(m, nodes) weight of the link of each pattern's rows to each node, rows summing to 1 (or 0: no evidence)."""
        return row_links(ens, influence)

    def _transfer_cut(self, ens: Ensemble, graph: ReducedGraph, links: sp.csr_array) -> TransferCut:
        """Return the cut of a graph whose nodes are linked to the patterns of an ensemble."""
        if self.start == "first-row" and ens.first_row is None:
            raise QuorateError(
                'start="first-row" needs the rows in order; use start="heaviest" for a table of patterns.'
            )
        return TransferCut(ens, graph, links, cast(Start, self.start), self.n_init, self.random_state)

    def _solve(self, ens: Ensemble, influence: Floats) -> TransferCut:
        return self._transfer_cut(ens, self._graph(ens, influence), self._links(ens, influence))

    @property
    def eigenvalues_(self) -> Floats:
        """The leading eigenvalues of the graph, descending; the number of clusters shows as a gap."""
        return cast(TransferCut, self._cuts).spectrum(1).values


class GPMGLA(GraphMethod):
    """Graph partitioning with multi-granularity link analysis: cut the graph of rows, clusters and members.

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of clusters, at most the number of clusters of all members; "auto" takes the largest gap between the
        leading eigenvalues of the graph.
    alpha : float, default 0.5
        Weight of the links between rows and clusters beside those between clusters; the paper recommends (0.1, 1).
    beta : float, default 2.0
        How strongly agreement with the crowd counts in the influence of a member, for `weights="ncai"`; (1, 4).
    normalise : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        How mutual information is normalised, as in `agreement`; "max" is the authors' program.
    weights : {"ncai", "equal"} or (M,) array, default "ncai"
        Influence of the members: by crowd agreement, all equal, or given.
    start : {"heaviest", "k-means++", "first-row"}, default "heaviest"
        How the k-means of the embedded patterns starts: farthest-first from the heaviest pattern, so that the order of
        rows does not matter; at random, the best of `n_init`, slower but better by 0.017 NMI on average in the paper's
        comparison; or farthest-first from the first row, as in the authors' program.
    n_init : int, default 10
        Number of random starts, for "k-means++".
    random_state : int, Generator or None
        Seed, for "k-means++".

    Attributes
    ----------
    labels_ : (n,) array
        Consensus label of each row; 0 is the largest cluster.
    n_clusters_ : int
    confidence_ : (n,) array
        Mean evidence of each row with the other rows of its cluster.
    clusters_ : tuple of ConsensusCluster
        Size, stability and main opponents of each cluster.
    eigenvalues_ : array
        Leading eigenvalues of the graph.
    ncai_, member_weights_ : (M,) arrays
    ensemble_ : Ensemble
    pattern_labels_, pattern_confidence_ : (m,) arrays

    References
    ----------
    D. Huang, J.-H. Lai, C.-D. Wang: Combining Multiple Clusterings via Crowd Agreement Estimation and Multi-Granularity
    Link Analysis. Neurocomputing 170 (2015).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.GPMGLA(n_clusters=3).fit_predict(members)
    array([0, 0, 1, 1, 2, 2])
    """

    name: ClassVar[str] = "gp-mgla"
    citation: ClassVar[str] = "Huang, Lai, Wang 2015, section 6.2"
    cost: ClassVar[str] = "m M^2 + e per eigenvector + m k^2 per k-means step; memory e + m k; e overlapping clusters"
    exact: ClassVar[str] = "graph and embedding of all rows; k-means of all rows"
    exceptions: ClassVar[Mapping[str, str]] = {
        "member without weight": "its clusters stay in the graph, linked to others by the rows they share",
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        alpha: float = 0.5,
        beta: float = 2.0,
        normalise: Normalise = "sqrt",
        weights: Any = "ncai",
        start: Start = "heaviest",
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.beta = beta
        self.normalise = normalise
        self.weights = weights
        self.start = start
        self.n_init = n_init
        self.random_state = random_state

    def _check(self) -> None:
        super()._check()
        check_number("alpha", self.alpha, above=0)

    def _graph(self, ens: Ensemble, influence: Floats) -> ReducedGraph:
        return multi_granularity_graph(ens, influence, self.alpha)
