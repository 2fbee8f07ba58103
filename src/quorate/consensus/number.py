"""How many clusters, for every consensus function alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate._support.keeping import kept_with
from quorate._support.typing import Floats
from quorate.choice import MOST_CLUSTERS, Choice, choose
from quorate.consensus.graphs import bipartite_graph
from quorate.crowd import crowd_trust, trusted_influence
from quorate.ensemble import Clusterings, as_clusterings
from quorate.errors import QuorateError
from quorate.tcut import leading_spectrum

_BETA = 2.0


def choose_k(labels: Any) -> Choice:
    """Return how many clusters the members speak for, with the evidence for it and for other numbers.

    For k = 2 to 32 the score is the gap behind the k-th eigenvalue of the graph that links every row to its clusters,
    times the adjusted Rand index, over rows, between the WEAC trees of two halves of the members cut at k, the mean
    over four fixed splits. In both, members count by `trust`, squared. It often fails: look at the candidates. With
    fewer than four members only the gap counts, which the sentence says. Where rows have more than 2,000 different
    combinations of labels, halves are compared on 2,000 rows.

    `n_clusters="auto"` is this, for every method that needs a number.

    Parameters
    ----------
    labels : Ensemble or anything `Ensemble` takes

    Examples
    --------
    >>> import numpy as np
    >>> import quorate as qt
    >>> rows = np.arange(300)
    >>> choice = qt.choose_k([rows // 100, rows // 100, (rows + 3) // 100 % 3, rows // 50])
    >>> choice.n_clusters, [candidate.n_clusters for candidate in choice.candidates][0]
    (3, 3)
    """
    return _chosen(as_clusterings(labels))


@kept_with
def _chosen(ens: Clusterings) -> Choice:
    influence = _influence(ens)
    return choose(ens, _eigenvalues(ens, influence) if ens.n_members > 1 else None, influence)


def _influence(ens: Clusterings) -> Floats:
    """(M,) trust, squared; all the same where the memory does not hold the agreement of all members."""
    try:
        return trusted_influence(crowd_trust(ens), _BETA)
    except QuorateError:
        return np.ones(ens.n_members)


def _eigenvalues(ens: Clusterings, influence: Floats) -> Floats | None:
    """Return the leading eigenvalues of the graph of rows and clusters, or None where the memory does not hold it."""
    try:
        graph = bipartite_graph(ens, influence[ens.cluster_member])
        return leading_spectrum(graph, MOST_CLUSTERS + 1, batch=1).values
    except QuorateError:
        return None
