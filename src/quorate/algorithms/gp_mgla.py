"""Graph partitioning with multi-granularity link analysis (paper, section 6.2, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from quorate._runtime.memory_forecast import EnsembleSize
from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_number
from quorate.algorithms.forecasts import graph_cut
from quorate.algorithms.graph import GraphMethod
from quorate.ensemble import Clusterings, Ensemble
from quorate.graphs import multi_granularity_graph, row_links
from quorate.numerics.kmeans import Init
from quorate.numerics.transfer_cut import ReducedGraph
from quorate.reliability import Normalize


class GPMGLA(GraphMethod):
    """Graph partitioning with multi-granularity link analysis: cut the graph of rows, clusters and members.

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of clusters, at most the number of clusters of all members; "auto" takes the one the members speak for
        (`choose_k`).
    alpha : float, default 0.5
        Weight of the links between rows and clusters beside those between clusters; the paper recommends (0.1, 1).
    beta : float, default 2.0
        How strongly agreement with the crowd counts in the influence of a member, for weights "ncai" and
        "trust"; (1, 4).
    normalize : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        How mutual information is normalized, as in `agreement`; "max" is the authors' program.
    weights : {"ncai", "trust", "equal", "local"} or (M,) array, default "ncai"
        Influence of the members: by crowd agreement, by `trust`, all equal, or given; "local" lets each cluster count
        by its own certainty instead (`cluster_certainty`).
    init : {"ward", "heaviest", "k-means++", "first-row"}, default "ward"
        How the k-means of the embedded patterns starts: from many seeds merged by Ward's criterion, which needs no luck
        and a quarter of the time of "k-means++" for answers as good (docs/starts.md); farthest-first from the heaviest
        pattern; at random, the best of `n_init`; or farthest-first from the first row, as in the authors' program.
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
    margin_, runner_up_ : (n,) arrays
        Confidence minus the evidence for the runner-up, and which cluster that is; -1 where there is none.
    clusters_ : tuple of ConsensusCluster
        Size, stability, nearest cluster and main opponents of each cluster.
    split_ : Split or None
        Which cluster the answer with one more cluster splits.
    eigenvalues_ : array
        Leading eigenvalues of the graph.
    ncai_, member_weights_ : (M,) arrays
    ensemble_ : Ensemble
    pattern_labels_, pattern_confidence_, pattern_margin_, pattern_runner_up_ : (m,) arrays

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
    idea: ClassVar[str] = (
        "Cut a graph in which rows hold to their clusters and clusters to those they share neighbors with."
    )
    equation: ClassVar[str] = "W = alpha B'D^-1 B + R' diag(1/R1) R; B links rows to clusters by NCAI^beta, R is SACT"
    strength: ClassVar[str] = (
        "Uses agreement of members, links of rows and links between clusters; fast however many rows there are."
    )
    weakness: ClassVar[str] = "Slightly behind the locally weighted methods on ensembles of many clusters."
    when: ClassVar[str] = "A first answer on any ensemble, and the paper's own method."
    citation: ClassVar[str] = "Huang, Lai, Wang 2015, section 6.2"
    cost: ClassVar[str] = "m M^2 + e per eigenvector + m k^2 per k-means step; memory e + m k; e overlapping clusters"
    exact: ClassVar[str] = "graph and embedding of all rows; k-means of all rows"
    local_weights: ClassVar[bool] = True
    exceptions: ClassVar[Mapping[str, str]] = {
        "member without weight": "by NCAI its clusters stay in the graph, linked to others by the rows they share",
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        alpha: float = 0.5,
        beta: float = 2.0,
        normalize: Normalize = "sqrt",
        weights: Any = "ncai",
        init: Init = "ward",
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.beta = beta
        self.normalize = normalize
        self.weights = weights
        self.init = init
        self.n_init = n_init
        self.random_state = random_state

    def _check(self) -> None:
        super()._check()
        check_number("alpha", self.alpha, above=0)

    def _memory(self, size: EnsembleSize, k: int) -> float:
        """Sparse matrices over clusters: links of either kind, lists for triples, and later links in their order."""
        return graph_cut(size, k, while_made=36, kept=32, dense_matrices=5)

    def _graph(self, ens: Clusterings, influence: Floats) -> ReducedGraph:
        return multi_granularity_graph(ens, influence, self.alpha, self._nodes(influence))

    def _links(self, ens: Ensemble, influence: Floats) -> sp.csr_array:
        links, nodes = row_links(ens, influence), self._nodes(influence)
        return links if len(nodes) == len(influence) else sp.csr_array(links[:, nodes])

    def _nodes(self, influence: Floats) -> Ints:
        """Return the clusters in the graph: those with influence; by NCAI, as in the paper, all."""
        as_in_paper = isinstance(self.weights, str) and self.weights == "ncai"
        return np.arange(len(influence)) if as_in_paper or not influence.any() else np.flatnonzero(influence)
