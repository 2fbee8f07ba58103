"""Probability trajectory based graph partitioning (Huang, Lai, Wang 2016): links to clusters of similar patterns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from quorate._utils.array_types import Bools, Floats, Ints
from quorate._utils.checks import check_integer
from quorate.algorithms.graph import GraphMethod
from quorate.ensemble import Ensemble
from quorate.graphs import components, pattern_trajectory_similarity
from quorate.numerics.kmeans import weighted_kmeans
from quorate.numerics.mutual_information import ratio
from quorate.numerics.transfer_cut import ReducedGraph, TransferCut
from quorate.row_similarity import canonical_order, covered_patterns

# Clusters whose patterns have no links have degrees of almost 0, which magnify rounding errors of eigenvectors to 1e-7.
_DECIMALS = 6


@dataclass(frozen=True)
class PatternCut(TransferCut):
    """A cut in which every pattern counts once, whatever its number of rows."""

    @property
    def max_clusters(self) -> int:
        """The number of clusters, or of labeled patterns if there are fewer."""
        return min(len(self.graph.degrees), int(np.sum(np.diff(self.links.indptr) > 0)))

    def embedding(self, k: int) -> Floats:
        """(m, k) unit rows as in `TransferCut`; if k is the number of patterns, each pattern is its own cluster."""
        linked = np.diff(self.links.indptr) > 0
        # With k equal to the number of patterns k-means has no freedom: each pattern is its own cluster.
        if k < linked.sum():
            return super().embedding(k)
        apart = np.zeros((len(linked), int(linked.sum())))
        apart[linked] = np.eye(apart.shape[1])
        return apart

    def _cluster(self, linked: Bools, k: int) -> Ints:
        """Return the cluster of each linked pattern by k-means of the embedding."""
        # Patterns count once, so that ties are common: their order must not follow names.
        patterns = canonical_order(self.ensemble, np.ones(self.ensemble.n_members), np.flatnonzero(linked))
        points = self.embedding(k)[patterns]
        if self.init != "first-row":  # which compares exactly, as the authors' program does
            points = np.round(points, _DECIMALS)
        groups = np.empty(len(linked), dtype=np.int64)
        groups[patterns] = weighted_kmeans(
            points,
            np.ones(len(points)),
            k,
            init=self.init,
            first_row=patterns,
            n_init=self.n_init,
            random_state=self.random_state,
        ).labels
        return groups[linked]


class PTGP(GraphMethod):
    """Probability trajectory based graph partitioning: link patterns to clusters of similar patterns, and cut.

    Patterns (the authors' microclusters) are similar if random walks from them take the same paths, as in `PTA`. The
    link of a pattern to a cluster is its mean similarity to the patterns of the cluster. Every pattern counts once,
    whatever its number of rows.

    Parameters
    ----------
    n_neighbors, n_steps : int or None, default None
        Number of links of each pattern, and length of the walks (K and T). None: half the square root of the number of
        patterns, at least 1 and at most 20.

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

    name = "ptgp"
    idea = "Link patterns to clusters of similar patterns, by random walks, and cut the graph."
    equation = "B = PTS H diag(1 / patterns in c), transfer cut of B"
    strength = "Robust to weak links."
    weakness = "Time grows with the cube, memory with the square of the patterns."
    when = "A few thousand patterns and noisy members."
    citation = "Huang, Lai, Wang 2016"
    cost = "m^2 M + m^3; memory m^2"
    exact = "defined on patterns"
    cut_class: ClassVar[type[TransferCut]] = PatternCut
    exceptions: ClassVar[Mapping[str, str]] = {
        "components": "only the strongest links are kept, which may separate connected rows",
        "member without weight": "rows are also linked to its clusters, by the patterns in them",
    }

    n_neighbors: int | None = None
    n_steps: int | None = None

    def _check(self) -> None:
        super()._check()
        for name, value in (("n_neighbors", self.n_neighbors), ("n_steps", self.n_steps)):
            if value is not None:
                check_integer(name, value, low=1)

    def why_all_patterns(self) -> str:
        """Return why all patterns must be in memory: they are compared with each other."""
        return f"{self.name} compares all of them"

    def _solve(self, ens: Ensemble, influence: Floats) -> TransferCut:
        leaves = covered_patterns(ens, influence)
        similarity = pattern_trajectory_similarity(ens, influence, leaves, self.n_neighbors, self.n_steps)
        members = ens.incidence[leaves]
        # Mean similarity of a pattern to the patterns of a cluster: every pattern counts once.
        in_cluster = members.sum(axis=0)
        met = np.flatnonzero(in_cluster > 0)
        links = np.asarray(similarity @ members[:, met]) / in_cluster[met]
        # Weights with mean 1, so that equal weights leave the published links unchanged.
        of_member = (influence / influence.sum() * ens.n_members)[ens.cluster_member[met]]
        # A member of weight 0 has no links.
        links *= of_member
        links = links[:, of_member > 0]
        shares = links * ratio(1.0, links.sum(axis=1))[:, None]
        reduced = sp.csr_array(links.T @ shares)
        graph = ReducedGraph(reduced, links.sum(axis=0), components(reduced))
        # Patterns without labels keep empty rows, so that positions agree with the ensemble.
        of_pattern = sp.lil_array((ens.n_patterns, links.shape[1]))
        of_pattern[leaves] = shares
        return self._transfer_cut(ens, graph, sp.csr_array(of_pattern))
