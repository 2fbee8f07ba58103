"""Methods that cut a graph of rows and clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import scipy.sparse as sp

from quorate._runtime.memory_forecast import EnsembleSize
from quorate._utils.array_types import Floats
from quorate._utils.checks import check_choice, check_integer
from quorate.algorithms.base import ConsensusMethod
from quorate.algorithms.forecasts import graph_cut
from quorate.ensemble import Clusterings, Ensemble, ensemble_blocks
from quorate.errors import InputError, Setting
from quorate.graphs import bipartite_graph, bipartite_links, row_links
from quorate.numerics.kmeans import BLOCK_INITS, INITS, Init
from quorate.numerics.transfer_cut import ReducedGraph, TransferCut


@dataclass(frozen=True)
class BlockSolution:
    """A graph over clusters, solved for any k, which is cut block of patterns by block."""

    graph: TransferCut
    """The cut of the graph, without any pattern."""
    weights: Floats
    """(M,) weights of the members, summing to 1."""
    links: Callable[[Ensemble], sp.csr_array] = field(repr=False)
    """Returns the links of a block of patterns to the nodes of the graph."""

    @property
    def max_clusters(self) -> int:
        """The largest number of clusters a cut can give."""
        return self.graph.max_clusters

    def on(self, block: Ensemble) -> TransferCut:
        """Return the cut of the graph on a block of patterns."""
        return self.graph.on(block, self.links(block))


class GraphMethod(ConsensusMethod, abstract=True):
    """Base of the methods that cut a graph and cluster its embedding."""

    limited_by_clusters: ClassVar[bool] = True
    cut_class: ClassVar[type[TransferCut]] = TransferCut
    init: Init = "ward"
    n_init: int = 10
    random_state: Any = 0

    def _check(self) -> None:
        check_choice("init", self.init, INITS)
        check_integer("n_init", self.n_init, low=1)

    def _memory(self, size: EnsembleSize, k: int) -> float:
        return graph_cut(size, k, while_made=20, retained=12, dense_matrices=4)

    def why_all_patterns(self) -> str | None:
        """Return why all patterns must be in memory; None if `init` reads them in blocks."""
        return None if self.init in BLOCK_INITS else f"init={self.init!r} keeps all of them in memory"

    def _graph(self, ens: Clusterings, influence: Floats) -> ReducedGraph:
        """Return the graph over clusters, from the co-occurrences of the ensemble without its patterns.

        `influence` is that of each cluster. Every method has its own graph.
        """
        raise NotImplementedError

    def _links(self, ens: Ensemble, influence: Floats) -> sp.csr_array:
        """(m, nodes) link weights of each pattern's rows to each node, rows summing to 1 (or 0 without labels)."""
        return row_links(ens, influence)

    def _transfer_cut(self, ens: Ensemble, graph: ReducedGraph, links: sp.csr_array) -> TransferCut:
        """Return the cut of a graph whose nodes are linked to the patterns of an ensemble."""
        if self.init == "first-row" and not ens.has_rows:
            raise InputError(
                "must not be 'first-row' for a table of patterns, which has no order of rows.",
                code="no-order-of-rows",
                parameter="init",
                hint=("Use ", Setting("init", "ward"), "."),
            )
        return self.cut_class(ens, graph, links, self.init, self.n_init, self.random_state)

    def _solve(self, ens: Ensemble, influence: Floats) -> TransferCut:
        of_cluster = self._cluster_influence(ens, influence)
        return self._transfer_cut(ens, self._graph(ens, of_cluster), self._links(ens, of_cluster))

    def solve_blocks(self, ens: Clusterings) -> BlockSolution:
        """Solve an ensemble whose patterns are read in blocks: its graph over clusters needs none of them."""
        influence = self._weigh(ens)
        of_cluster = self._cluster_influence(ens, influence)
        graph = self._graph(ens, of_cluster)
        # The links of patterns are added block by block (`BlockSolution.on`); here there are none.
        cut = self._transfer_cut(ensemble_blocks(ens)[0], graph, sp.csr_array((0, len(graph.degrees))))
        return BlockSolution(cut, influence / influence.sum(), lambda block: self._links(block, of_cluster))

    @property
    def eigenvalues_(self) -> Floats:
        """The leading eigenvalues of the graph, descending; a gap after the k-th suggests k clusters."""
        return cast(TransferCut, self.solution_.cuts).spectrum(1).values


class BipartiteMethod(GraphMethod, abstract=True):
    """Base of the methods that cut the graph of rows and their clusters."""

    takes_soft: ClassVar[bool] = True

    def _graph(self, ens: Clusterings, influence: Floats) -> ReducedGraph:
        return bipartite_graph(ens, influence)

    def _links(self, ens: Ensemble, influence: Floats) -> sp.csr_array:
        return bipartite_links(ens, influence)
