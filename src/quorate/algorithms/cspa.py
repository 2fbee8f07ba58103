"""Cluster-based similarity partitioning (Strehl and Ghosh 2002): the normalized cut of the co-association matrix."""

from __future__ import annotations

from typing import ClassVar

from quorate._utils.array_types import Floats
from quorate.algorithms.graph import BipartiteMethod
from quorate.ensemble import Clusterings
from quorate.numerics.transfer_cut import SingularCut, TransferCut


class CSPA(BipartiteMethod):
    """Cluster-based similarity partitioning: cut the graph of rows, linked by the members that group them.

    Published: the graph, which is the co-association matrix. Chosen here: it is cut by its leading eigenvectors instead
    of METIS, so that clusters need not be of equal size. No matrix of rows is formed. With d_u the sum of the sizes of
    a row's clusters, the normalized cut of HH' equals a cut of the graph of rows and clusters, weighted by cluster
    size.

    References
    ----------
    A. Strehl, J. Ghosh: Cluster Ensembles: A Knowledge Reuse Framework for Combining Multiple Partitions. Journal of
    Machine Learning Research 3 (2002).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.CSPA(n_clusters=3).fit_predict(members)
    array([0, 0, 1, 1, 2, 2])
    """

    name = "cspa"
    idea = "Cut the graph of rows, linked by the members that group them."
    equation = "normalized cut of H H', by the eigenvectors of H' diag(w / d) H"
    strength = "A classical baseline, here without a matrix of rows."
    weakness = "Clearly worse than the other graph methods: large clusters dominate the degrees."
    when = "Comparisons with the literature."
    citation = "Strehl, Ghosh 2002"
    cost = "m M^2 + n_c M per eigenvector step + m k^2 per k-means step; memory m M + m k"
    exact = "graph and embedding of all rows; k-means of all rows"
    cut_class: ClassVar[type[TransferCut]] = SingularCut

    def _cluster_influence(self, ens: Clusterings, influence: Floats) -> Floats:
        # The size of a cluster is its weight in the degree of its rows in HH'.
        return influence[ens.cluster_member] * ens.cluster_sizes
