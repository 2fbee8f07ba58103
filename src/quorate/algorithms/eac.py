"""Evidence accumulation clustering (Fred and Jain 2005): WEAC with equal weights."""

from __future__ import annotations

from quorate.algorithms.tree import CoassociationMethod


class EAC(CoassociationMethod):
    """Evidence accumulation: agglomerate rows by the share of members that group them.

    This is WEAC with equal weights. Average and single link need no matrix of rows.

    References
    ----------
    A. L. N. Fred, A. K. Jain: Combining Multiple Clusterings Using Evidence Accumulation. IEEE Transactions on Pattern
    Analysis and Machine Intelligence 27 (2005).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.EAC(n_clusters=2).fit_predict(members)
    array([0, 0, 0, 0, 1, 1])
    """

    name = "eac"
    idea = "Agglomerate rows by the share of members that group them."
    equation = "S(i, j) = mean over members of [same cluster]"
    strength = "The simplest consensus method, with a dendrogram."
    weakness = "All members have the same weight, good or bad."
    when = "A baseline, or members that are all equally good."
    citation = "Fred, Jain 2005"
    cost = "average, single: about m M time per list, memory m M; complete: m^2 time and memory"
    exact = "dendrogram of all rows"
