"""Probability trajectory accumulation (Huang, Lai, Wang 2016): patterns are similar if random walks from them are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from quorate._utils.array_types import Floats
from quorate._utils.checks import check_flag, check_integer
from quorate.algorithms.tree import LinkageMethod
from quorate.ensemble import Ensemble
from quorate.graphs import pattern_trajectory_similarity
from quorate.numerics.linkage import Dendrogram, link_patterns
from quorate.row_similarity import covered_patterns


class PTA(LinkageMethod):
    """Probability trajectory accumulation: agglomerate patterns by the similarity of random walks from them.

    Patterns (the authors' microclusters) are linked to those of largest co-association. Two are similar if random walks
    from them take the same paths. Every pattern counts once in the linkage, whatever its number of rows.

    Parameters
    ----------
    n_neighbors, n_steps : int or None, default None
        Number of links of each pattern, and length of the walks (K and T). None: half the square root of the number of
        patterns, at least 1 and at most 20.
    row_weights : bool, default False
        Whether patterns are weighted by their rows in average link, instead of counting once each (the original).

    References
    ----------
    D. Huang, J.-H. Lai, C.-D. Wang: Robust Ensemble Clustering Using Probability Trajectories. IEEE Transactions on
    Knowledge and Data Engineering 28 (2016).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.PTA(n_clusters=2, n_neighbors=2, n_steps=2).fit_predict(members)
    array([0, 0, 1, 0, 1, 1])
    """

    name = "pta"
    idea = "Agglomerate patterns that are similar because random walks from them take the same paths."
    equation = "PTS(u, v) = cosine of the trajectories of T steps over the K strongest links of each pattern"
    strength = "Robust to weak links; a dendrogram."
    weakness = "Time grows with the cube, memory with the square of the patterns."
    when = "A few thousand patterns and noisy members."
    citation = "Huang, Lai, Wang 2016"
    cost = "m^2 M + m^3; memory m^2"
    exact = "defined on patterns"
    exceptions: ClassVar[Mapping[str, str]] = {
        "components": "only the strongest links are kept, which may separate connected rows",
        "clear answers, complete link": "patterns whose walks never meet tie at distance 1",
        "components, complete link": LinkageMethod.exceptions["components, complete link"],
    }

    n_neighbors: int | None = None
    n_steps: int | None = None
    row_weights: bool = False

    def _check(self) -> None:
        super()._check()
        check_flag("row_weights", self.row_weights)
        for name, value in (("n_neighbors", self.n_neighbors), ("n_steps", self.n_steps)):
            if value is not None:
                check_integer(name, value, low=1)

    def _solve(self, ens: Ensemble, influence: Floats) -> Dendrogram:
        # Patterns without a label of any weighted member are not in the tree.
        leaves = covered_patterns(ens, influence)
        similarity = pattern_trajectory_similarity(ens, influence, leaves, self.n_neighbors, self.n_steps)
        # The original counts each pattern (microcluster) once in average link.
        sizes = ens.counts[leaves].astype(np.float64) if self.row_weights else np.ones(len(leaves))
        return link_patterns(ens, similarity, self.linkage, leaves, sizes)
