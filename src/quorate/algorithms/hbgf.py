"""Hybrid bipartite graph formulation (Fern and Brodley 2004), by its spectral version."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from quorate._utils.array_types import Floats
from quorate._utils.checks import check_choice, check_integer
from quorate.algorithms.graph import BipartiteMethod
from quorate.ensemble import Ensemble
from quorate.numerics.kmeans import Key, Points, least_similar
from quorate.numerics.transfer_cut import ReducedGraph, SingularCut, unit_rows

_INITS = ("ward", "heaviest", "random")


@dataclass(frozen=True)
class JointCut(SingularCut):
    """The cut of HBGF: rows and clusters are embedded by singular vectors and clustered together."""

    @property
    def spread(self) -> Key:
        """How farthest-first centers of k-means are chosen."""
        return least_similar

    def cluster_embedding(self, k: int) -> Floats:
        """(n_clusters, k) unit rows of the right singular vectors, one row per cluster."""
        # The spectrum holds D^-1/2 times the eigenvectors; here the eigenvectors themselves are needed.
        vectors = self.spectrum(k).vectors[:, :k] * np.sqrt(self.graph.degrees)[:, None]
        return unit_rows(np.where(np.isinf(self._singular_values(k)), 0.0, vectors))

    def companions(self, k: int) -> tuple[Points, ...]:
        """Return the embedded clusters, each of which weighs as much as one row."""
        # `fixed`: embedded clusters pull centers, but a center needs at least one row.
        nodes = self.cluster_embedding(k)
        return (Points(nodes, np.ones(len(nodes)), fixed=True),)


class HBGF(BipartiteMethod):
    """Hybrid bipartite graph formulation: cut the graph that links every row to its clusters.

    Published: the spectral version of the authors' program. It divides the columns of the row-cluster matrix by the
    square roots of the cluster sizes and takes its leading singular vectors. Rows and clusters are scaled to unit
    length and clustered together. Centers start at a random row, then at rows of least absolute cosine to the previous
    ones. Chosen here: k-means starts from merged seeds, without random numbers, and a cluster without rows is re-seeded
    at the farthest row. The version with METIS is not implemented.

    Parameters
    ----------
    init : {"ward", "heaviest", "random"}, default "ward"
        Where k-means starts: at many seeds merged by Ward's criterion (docs/starts.md); at the heaviest pattern and
        those of least cosine; or at a random row and those of least cosine (the original), the best of `n_init`.

    References
    ----------
    X. Z. Fern, C. E. Brodley: Solving Cluster Ensemble Problems by Bipartite Graph Partitioning. ICML (2004).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.HBGF(n_clusters=3).fit_predict(members)
    array([0, 0, 1, 1, 2, 2])
    """

    name = "hbgf"
    idea = "Cut the graph that links every row to its clusters, rows and clusters together."
    equation = "leading singular vectors of H diag(s)^-1/2, k-means of rows and clusters"
    strength = "Fast for any number of rows."
    weakness = "All members have the same weight; worse than weighted methods."
    when = "A baseline for graph methods."
    citation = "Fern, Brodley 2004"
    cost = "m M^2 + n_c M per eigenvector step + m k^2 per k-means step; memory m M + m k"
    exact = "graph and embedding of all rows; k-means of all rows and clusters"
    local_weights = True

    def _check(self) -> None:
        check_choice("init", self.init, _INITS)
        check_integer("n_init", self.n_init, low=1)

    def _transfer_cut(self, ens: Ensemble, graph: ReducedGraph, links: sp.csr_array) -> JointCut:
        return JointCut(ens, graph, links, self.init, self.n_init, self.random_state)

    @property
    def singular_values_(self) -> Floats:
        """The leading singular values, descending, of the row-cluster matrix over the square roots of cluster sizes.

        Their squares are the eigenvalues times the number of members (the sum of their influences).
        """
        # Influence is relative to the largest one, as in the graph.
        scale = self.member_weights_.sum() / self.member_weights_.max()
        return np.sqrt(self.eigenvalues_ * scale)
