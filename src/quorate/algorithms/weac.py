"""Weighted evidence accumulation clustering (paper, section 6.1, Algorithm 1)."""

from __future__ import annotations

from typing import Any

from quorate.algorithms.tree import CoassociationMethod


class WEAC(CoassociationMethod):
    """Weighted evidence accumulation: agglomerate rows by the weight of the members that group them.

    References
    ----------
    D. Huang, J.-H. Lai, C.-D. Wang: Combining Multiple Clusterings via Crowd Agreement Estimation and Multi-Granularity
    Link Analysis. Neurocomputing 170 (2015).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.WEAC(n_clusters=2).fit_predict(members)
    array([0, 0, 0, 0, 1, 1])
    """

    name = "weac"
    idea = "Agglomerate rows by the weight of the members that group them."
    equation = "S(i, j) = sum over members l of w_l [same cluster in l], w from NCAI^beta"
    strength = "A whole dendrogram from one run; members that disagree with all others have little weight."
    weakness = "Weights are per member: a poor cluster of a good member has full weight."
    when = "You want a tree, or answers for many numbers of clusters."
    citation = "Huang, Lai, Wang 2015, section 6.1"
    cost = "average, single: about m M time per list, memory m M; complete: m^2 time and memory"
    exact = "dendrogram of all rows"

    weights: Any = "ncai"
