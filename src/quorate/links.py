"""Links between clusters: Jaccard coefficients and source aware connected triples (paper, section 5)."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate import _kernels
from quorate.checks import check_number
from quorate.crowd import Normalise, influence, ncai
from quorate.ensemble import Ensemble, as_ensemble
from quorate.memory import require_memory

Floats = NDArray[np.float64]

_ROWS_PER_TASK = 64


def jaccard(ens: Any) -> Floats:
    """Return the Jaccard coefficient of every two clusters: shared rows over rows in either (equation 5).

    With missing labels only rows that the other cluster's member labels are counted.

    Parameters
    ----------
    ens : Ensemble or anything `Ensemble` takes

    Returns
    -------
    (n_clusters, n_clusters) array in [0, 1], symmetric, with unit diagonal; clusters of one member share nothing.
    """
    ens = as_ensemble(ens)
    _require_matrix(ens, "The matrix of Jaccard coefficients")
    return np.asarray(jaccard_links(ens).toarray())


def jaccard_links(ens: Ensemble) -> sp.csr_array:
    """Return the Jaccard coefficients (equation 5) as a sparse matrix: only neighbours are stored (Definition 3)."""
    shared = ens.cooccurrence.astype(np.float64)
    i = np.repeat(np.arange(ens.n_clusters), np.diff(shared.indptr))
    j = shared.indices
    either = ens.coverage[i, ens.cluster_member[j]] + ens.coverage[j, ens.cluster_member[i]] - shared.data
    return sp.csr_array((shared.data / either, shared.indices, shared.indptr), shape=shared.shape)


def sact(ens: Any, beta: float = 2.0, normalise: Normalise = "sqrt") -> Floats:
    """Return the source aware connected triple (SACT) similarity of every two clusters (Definition 6).

    Two clusters are linked through the neighbours they share, each counting by the influence of its member.

    Parameters
    ----------
    ens : Ensemble or anything `Ensemble` takes
    beta : float >= 0, default 2.0
        How strongly agreement counts, as in `member_weights`.
    normalise : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        As in `agreement`.

    Returns
    -------
    (n_clusters, n_clusters) array in [0, 1], symmetric, with unit diagonal.

    Examples
    --------
    >>> import quorate as qt
    >>> qt.sact([[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]])[0].round(4)
    array([1.    , 0.1627, 0.6184, 0.3481, 0.    , 0.7654, 0.    ])
    """
    ens = as_ensemble(ens)
    beta = check_number("beta", beta, low=0)
    return sact_similarity(ens, influence(ncai(ens, normalise), beta))


def sact_similarity(ens: Ensemble, member_influence: Floats) -> Floats:
    """Return the SACT similarity (equation 9): coefficients over the largest, and 1 for a cluster and itself."""
    _require_matrix(ens, "The matrix of SACT similarities")
    similarity = connected_triples(jaccard_links(ens), member_influence[ens.cluster_member])
    largest = similarity.max()
    if largest > 0:
        similarity /= largest
    np.fill_diagonal(similarity, 1.0)
    return similarity


def connected_triples(links: sp.csr_array, influence_of_cluster: Floats) -> Floats:
    """Return, for every two clusters, the sum over all clusters k of I_k min(v_ik, v_jk) (equations 6 and 8).

    Parameters
    ----------
    links : symmetric sparse (n_clusters, n_clusters)
        Values v on neighbouring clusters.
    influence_of_cluster : (n_clusters,)
        I_k, the influence of the member of cluster k.
    """
    n = links.shape[0]
    coefficients = np.zeros((n, n))
    tasks = _kernels.threads.blocks(n, _ROWS_PER_TASK)

    def fill(rows: slice) -> None:
        _kernels.links.shared_neighbours(
            links.indptr, links.indices, links.data, influence_of_cluster, rows.start, rows.stop, coefficients
        )

    def mirror(columns: slice) -> None:
        _kernels.links.mirror(columns.start, columns.stop, coefficients)

    _kernels.threads.in_threads(fill, tasks)
    _kernels.threads.in_threads(mirror, tasks)
    return coefficients


def _require_matrix(ens: Ensemble, what: str) -> None:
    require_memory(
        8.0 * ens.n_clusters**2,
        f"{what} of {ens.n_clusters:,} clusters",
        "Use fewer members or clusters, or WEAC or EAC with average or single link, which need no links.",
    )
