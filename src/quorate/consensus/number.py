"""How many clusters, for every consensus function alike."""

from __future__ import annotations

from typing import Any

from quorate._support.keeping import kept_with
from quorate._support.typing import Floats
from quorate.choice import MOST_CLUSTERS, Choice, choose
from quorate.consensus.graphs import multi_granularity_graph
from quorate.crowd import influence, ncai
from quorate.ensemble import Clusterings, as_clusterings
from quorate.errors import QuorateError
from quorate.tcut import leading_spectrum

_ALPHA, _BETA = 0.5, 2.0


def choose_k(labels: Any) -> Choice:
    """Return how many clusters the members speak for, with the evidence for it and for other numbers.

    For k = 2 to 32 the score is the gap behind the k-th eigenvalue of the graph of GP-MGLA, times the adjusted Rand
    index, over rows, between the WEAC trees of two halves of the members cut at k, the mean over four fixed splits. It
    often fails: look at the candidates. With fewer than four members only the gap counts, which the sentence says.
    Where rows have more than 5,000 different combinations of labels, halves are compared on 5,000 rows.

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
    return choose(ens, _eigenvalues(ens) if ens.n_members > 1 else None)


def _eigenvalues(ens: Clusterings) -> Floats | None:
    """Return the leading eigenvalues of the graph of GP-MGLA, or None where the memory does not hold the graph."""
    try:
        graph = multi_granularity_graph(ens, influence(ncai(ens), _BETA)[ens.cluster_member], _ALPHA)
        return leading_spectrum(graph, min(MOST_CLUSTERS + 1, ens.n_clusters)).values
    except QuorateError:
        return None
