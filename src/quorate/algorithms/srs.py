"""SimRank-based similarity (Iam-On, Boongoen, Garrett 2008): similar rows are in similar clusters, and the reverse."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from quorate._runtime.memory import USE_NO_MATRIX
from quorate._runtime.memory_forecast import EnsembleSize
from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_integer, check_number
from quorate.algorithms.forecasts import similarities
from quorate.algorithms.tree import LinkageMethod
from quorate.ensemble import Ensemble
from quorate.graphs import row_links
from quorate.numerics.linkage import Dendrogram, link_similarity
from quorate.random_walks import simrank
from quorate.row_similarity import ThroughClusters, covering_weight


def simrank_similarity(ens: Ensemble, influence: Floats, decay: float, n_iterations: int, leaves: Ints) -> Floats:
    """(leaves, leaves) SimRank of two different rows: decay times the mean similarity of their clusters.

    The diagonal is the similarity of two rows of one pattern, below 1: SimRank does not make equal rows identical.
    """
    phi = row_links(ens, influence[ens.cluster_member])
    of_clusters = simrank(ens, phi, decay, n_iterations)
    # Only patterns of the tree: the others would make the matrix larger for nothing.
    similarity = ThroughClusters.of_all(sp.csr_array(phi[leaves]), of_clusters).matrix()
    # In place: the matrix over patterns is the largest array of this method.
    similarity *= decay
    return similarity


class SRS(LinkageMethod):
    """SimRank-based similarity: rows are similar if their clusters are, and clusters if their rows are.

    Published: updates, decay and number of iterations, from LinkCluE. Chosen here: a row's clusters have the weight of
    their member, relative to the members that label the row.

    SimRank does not treat rows of one pattern as identical. If they are closer to another pattern than to each other,
    they are linked one by one, as in the original. They still get one label, that of the first of them.

    Parameters
    ----------
    decay : float in [0, 1], default 0.8
        Share of a similarity that remains after a step over the graph of rows and clusters.
    n_iterations : int >= 2, default 5
        R in LinkCluE, which starts from the identity and makes R - 1 updates.

    References
    ----------
    N. Iam-On, T. Boongoen, S. Garrett: Refining Pairwise Similarity Matrix for Cluster Ensemble Problem with Cluster
    Relations. Discovery Science (2008). N. Iam-On, S. Garrett: LinkCluE. Journal of Statistical Software 36 (2010).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.SRS(n_clusters=2).fit_predict(members)
    array([0, 0, 0, 0, 1, 1])
    """

    name = "srs"
    idea = "Similar rows are in similar clusters, and the reverse (SimRank); agglomerate them."
    equation = "S = decay Phi C Phi', C = decay H'SH / (s s'), in turn"
    strength = "Uses indirect links of any length."
    weakness = "A matrix over patterns; slow for many clusters."
    when = "A baseline for indirect links."
    citation = "Iam-On, Boongoen, Garrett 2008"
    cost = "n_c^2 per neighbor and iteration + m^2 M; memory m^2 + n_c^2"
    exact = "dendrogram of all rows; a pattern whose rows are separated gets the label of its first row"

    decay: float = 0.8
    n_iterations: int = 5

    def _check(self) -> None:
        super()._check()
        check_number("decay", self.decay, low=0, high=1)
        check_integer("n_iterations", self.n_iterations, low=2)

    def _memory(self, size: EnsembleSize, k: int) -> float:
        """Forecast four matrices over clusters; then one over clusters and one over patterns."""
        of_clusters = 8.0 * size.clusters**2
        return max(4 * of_clusters, of_clusters + similarities(size))

    def _advice(self) -> str:
        return USE_NO_MATRIX

    def _solve(self, ens: Ensemble, influence: Floats) -> Dendrogram:
        leaves = np.flatnonzero(covering_weight(ens.patterns, influence) > 0)
        similarity = simrank_similarity(ens, influence, self.decay, self.n_iterations, leaves)
        return link_similarity(ens, similarity, self.linkage, leaves)
