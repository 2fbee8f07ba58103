"""Meta-clustering (Strehl and Ghosh 2002): clusters are grouped by shared rows, and rows by their clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from quorate._utils.array_types import Floats
from quorate.algorithms.partition import MetaCuts, MetaMethod
from quorate.cluster_similarity import jaccard
from quorate.ensemble import Ensemble


class MCLA(MetaMethod):
    """Meta-clustering: group the clusters of all members by shared rows, and assign rows by their clusters.

    Published: the graph of clusters, linked by their Jaccard coefficients, and the votes of a row's clusters for their
    groups. Chosen here: clusters are grouped by the normalized cut instead of METIS, so that groups need not be of
    equal size. On ensembles like the authors' that is better (mean NMI .535 instead of .491). A group that wins no row
    gets the row with the largest vote for it.

    References
    ----------
    A. Strehl, J. Ghosh: Cluster Ensembles: A Knowledge Reuse Framework for Combining Multiple Partitions. Journal of
    Machine Learning Research 3 (2002). S. X. Yu, J. Shi: Multiclass Spectral Clustering. ICCV (2003).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.MCLA(n_clusters=3).fit_predict(members)
    array([0, 0, 1, 1, 2, 2])
    """

    name = "mcla"
    idea = "Group the clusters of all members by shared rows, and assign rows by their clusters."
    equation = "Normalized cut of Jaccard coefficients; each row to the group of most of its clusters"
    strength = "Simple to explain: clusters are matched by shared rows."
    weakness = "Worse than methods that also use indirect links or weights."
    when = "A classical baseline, without the equal sizes that METIS enforces."
    citation = "Strehl, Ghosh 2002"
    cost = "m M^2 + n_c^3; memory n_c^2 + m M"
    exact = "groups of clusters and votes of all rows"
    exceptions: ClassVar[Mapping[str, str]] = {
        "components": "the cut links every cluster to itself a little, so weakly linked parts may stay together",
        "member without weight": "its clusters stay in the graph, but do not vote",
    }

    def _solve(self, ens: Ensemble, influence: Floats) -> MetaCuts:
        similarity = jaccard(ens)
        # A cluster is not its own neighbor in the graph.
        np.fill_diagonal(similarity, 0.0)
        return MetaCuts(ens, influence, similarity)
