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
from quorate.numerics.transfer_cut import ReducedGraph


class GPMGLA(GraphMethod):
    """Graph partitioning with multi-granularity link analysis: cut the graph of rows, clusters and members.

    Parameters
    ----------
    alpha : float, default 0.5
        Weight of the links between rows and clusters relative to those between clusters; the paper recommends (0.1, 1).

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

    name = "gp-mgla"
    idea = "Cut a graph that links rows to their clusters, and clusters to those with which they share neighbors."
    equation = "W = alpha B'D^-1 B + R' diag(1/R1) R; B links rows to clusters by NCAI^beta, R is SACT"
    strength = "Uses agreement of members, links of rows and links between clusters; fast for any number of rows."
    weakness = "Slightly worse than the locally weighted methods on ensembles of many clusters."
    when = "A first answer on any ensemble; the method of the paper."
    citation = "Huang, Lai, Wang 2015, section 6.2"
    cost = "m M^2 + e per eigenvector + m k^2 per k-means step; memory e + m k; e overlapping clusters"
    exact = "graph and embedding of all rows; k-means of all rows"
    local_weights = True
    takes_soft = True
    exceptions: ClassVar[Mapping[str, str]] = {
        "member without weight": "with weights by NCAI its clusters stay in the graph, linked to others by shared rows",
    }

    alpha: float = 0.5
    weights: Any = "ncai"

    def _check(self) -> None:
        super()._check()
        check_number("alpha", self.alpha, above=0)

    def _memory(self, size: EnsembleSize, k: int) -> float:
        """Forecast sparse matrices over clusters: links of both kinds, lists for triples, later the sorted links."""
        return graph_cut(size, k, while_made=36, retained=32, dense_matrices=5)

    def _graph(self, ens: Clusterings, influence: Floats) -> ReducedGraph:
        return multi_granularity_graph(ens, influence, self.alpha, self._nodes(influence))

    def _links(self, ens: Ensemble, influence: Floats) -> sp.csr_array:
        # Links to clusters outside the graph are dropped, in the order of its nodes.
        links, nodes = row_links(ens, influence), self._nodes(influence)
        return links if len(nodes) == len(influence) else sp.csr_array(links[:, nodes])

    def _nodes(self, influence: Floats) -> Ints:
        """Return the clusters in the graph: those with influence; with weights by NCAI all, as in the paper."""
        # With other weights a member of weight 0 must not matter, so its clusters leave the graph.
        as_in_paper = isinstance(self.weights, str) and self.weights == "ncai"
        return np.arange(len(influence)) if as_in_paper or not influence.any() else np.flatnonzero(influence)
