"""Crowd agreement: how much a member agrees with the others, and so how far it is trusted (paper, section 4)."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quorate import _kernels
from quorate._support.checks import check_choice, check_number, check_weight_range
from quorate._support.typing import Floats
from quorate.ensemble import Clusterings, as_clusterings
from quorate.errors import QuorateError

Normalise = Literal["sqrt", "max", "arithmetic", "min"]

_CLUSTERS_AT_ONCE = 1024
_LEAST_CERTAINTY = 1e-300  # a cluster always counts a little, however small theta is

NORMALISERS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "sqrt": lambda x, y: np.sqrt(x * y),
    "max": np.maximum,
    "arithmetic": lambda x, y: (x + y) / 2,
    "min": np.minimum,
}


def normalised_mutual_information(mutual: Floats, entropy_x: Floats, entropy_y: Floats, normalise: str) -> Floats:
    """Return NMI from mutual information and the two entropies (equation 16), elementwise, in [0, 1].

    Two clusterings of one cluster each agree fully (1); one such clustering says nothing about any other (0).
    """
    scale = NORMALISERS[normalise](entropy_x, entropy_y)
    informative = (entropy_x > 0) & (entropy_y > 0)
    nmi = np.divide(mutual, scale, out=np.zeros_like(mutual), where=informative)
    return np.where((entropy_x == 0) & (entropy_y == 0), 1.0, np.clip(nmi, 0.0, 1.0))


def agreement(ens: Any, normalise: Normalise = "sqrt") -> Floats:
    """Return the similarity of every two members: their normalised mutual information, Sim(P^i, P^j).

    With missing labels it is taken over the rows that both members label; no common rows count 0.

    Parameters
    ----------
    ens : Ensemble or anything `Ensemble` takes
    normalise : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        What mutual information is divided by: the geometric mean of the entropies (the paper), their maximum (the
        authors' program), their arithmetic mean, or their minimum.

    Returns
    -------
    (M, M) array in [0, 1], symmetric, with unit diagonal.

    Examples
    --------
    >>> import quorate as qt
    >>> qt.agreement([[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]).round(4)
    array([[1.    , 0.5295, 0.4791],
           [0.5295, 1.    , 0.7612],
           [0.4791, 0.7612, 1.    ]])
    """
    ens = as_clusterings(ens)
    check_choice("normalise", normalise, tuple(NORMALISERS))
    common = _common_rows(ens)
    entropy = _entropies(ens, common)
    nmi = normalised_mutual_information(_mutual_information(ens, common), entropy, entropy.T, normalise)
    similarity = np.where(common > 0, nmi, 0.0)
    upper = np.triu(similarity, 1)
    return upper + upper.T + np.eye(ens.n_members)


def _common_rows(ens: Clusterings) -> Floats:
    """(M, M) the number of rows n_ij that both members label."""
    common = np.zeros((ens.n_members, ens.n_members))
    np.add.at(common, ens.cluster_member, ens.coverage)
    return common


def _entropies(ens: Clusterings, common: Floats) -> Floats:
    """(M, M) entropy of member i over the rows that member j labels too."""
    entropy = np.zeros_like(common)
    for some in _kernels.threads.blocks(ens.n_clusters, _CLUSTERS_AT_ONCE):
        share = ratio(ens.coverage[some], common[ens.cluster_member[some]])
        np.add.at(entropy, ens.cluster_member[some], -share * _log(share))
    return np.maximum(entropy, 0.0)


def _mutual_information(ens: Clusterings, common: Floats) -> Floats:
    """(M, M) mutual information of members i < j over the rows both label; zero elsewhere."""
    mutual = np.zeros_like(common)
    for first, lines in ens.overlaps():
        _kernels.tables.mutual_information(
            first, lines.indptr, lines.indices, lines.data, ens.cluster_member, common, ens.coverage, mutual
        )
    return mutual


def ratio(numerator: NDArray[Any] | float, denominator: Floats) -> Floats:
    """Divide by something not negative, with x / 0 = 0."""
    return np.divide(numerator, denominator, out=np.zeros(np.shape(denominator)), where=denominator > 0)


def _log(share: Floats) -> Floats:
    """Return log(share) with log(0) = 0, as 0 log 0 = 0."""
    return np.log(share, out=np.zeros_like(share), where=share > 0)


def cai(ens: Any, normalise: Normalise = "sqrt") -> Floats:
    """Return the crowd agreement index of each member: its mean agreement with the others (Definition 1).

    With missing labels each agreement counts by the share n_ij / n of rows that both members label, so a member is
    trusted as far as it could be tested. The index of an only member is 1.
    """
    ens = as_clusterings(ens)
    similarity = agreement(ens, normalise)
    if ens.n_members == 1:
        return np.ones(1)
    tested = _common_rows(ens) / ens.total
    others = ~np.eye(ens.n_members, dtype=bool)
    return np.sum(tested * similarity * others, axis=1) / (ens.n_members - 1)


def ncai(ens: Any, normalise: Normalise = "sqrt") -> Floats:
    """Return the normalised crowd agreement index: CAI over the largest CAI, in [0, 1] (Definition 2).

    It is 1 for every member if no two members agree at all.

    Examples
    --------
    >>> import quorate as qt
    >>> qt.ncai([[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]).round(4)
    array([0.7815, 1.    , 0.961 ])
    """
    index = cai(ens, normalise)
    largest = index.max()
    return index / largest if largest > 0 else np.ones_like(index)


def influence(index: Floats, beta: float) -> Floats:
    """Return I = NCAI^beta, the influence of each member (equation 7); 0^0 = 1."""
    return np.power(index, beta)


def member_weights(ens: Any, beta: float = 2.0, normalise: Normalise = "sqrt") -> Floats:
    """Return the weight of each member: its influence over the sum of all influences (equation 13).

    Parameters
    ----------
    ens : Ensemble or anything `Ensemble` takes
    beta : float >= 0, default 2.0
        How strongly agreement counts; 0 gives every member the same weight.
    normalise : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        As in `agreement`.

    Returns
    -------
    (M,) array that sums to 1.
    """
    beta = check_number("beta", beta, low=0)
    weight = influence(ncai(ens, normalise), beta)
    return weight / weight.sum()


def cluster_certainty(ens: Any, theta: float = 0.4) -> Floats:
    """Return the ensemble-driven cluster index (ECI) of each cluster (Huang, Wang, Lai 2018).

    The members' uncertainty about a cluster c is H(c), the sum over members of the entropy, in bits, of their labels of
    its rows; ECI(c) = exp(-H(c) / (theta M)). With missing labels each entropy counts by the share of the cluster's
    rows that the member labels, and M is the sum of these shares.

    Parameters
    ----------
    ens : Ensemble or anything `Ensemble` takes
    theta : float > 0, default 0.4
        How slowly certainty falls with uncertainty; the authors recommend 0.2 to 1.

    Returns
    -------
    (n_clusters,) array in (0, 1]; 1 for a cluster that every member leaves in one piece.

    Examples
    --------
    >>> import quorate as qt
    >>> qt.cluster_certainty([[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]).round(4)
    array([0.4652, 0.2164, 1.    , 0.4346, 1.    , 0.221 , 1.    ])
    """
    ens = as_clusterings(ens)
    theta = check_number("theta", theta, above=0)
    shared = ens.cooccurrence
    cluster = np.repeat(np.arange(ens.n_clusters), np.diff(shared.indptr))
    within = ens.coverage[cluster, ens.cluster_member[shared.indices]]
    terms = -shared.data * np.log2(shared.data / within)
    uncertainty = np.bincount(cluster, weights=terms, minlength=ens.n_clusters) / ens.coverage.sum(axis=1)
    return np.maximum(np.exp(-np.maximum(uncertainty, 0.0) / theta), _LEAST_CERTAINTY)


def resolve_influence(ens: Clusterings, weights: Any, index: Floats, beta: float, *, local: bool = False) -> Floats:
    """Return each member's influence in [0, 1] from the parameter `weights`: "ncai", "equal" or (M,) numbers.

    Where `local` weights are possible, "local" leaves members equal: it is their clusters that differ.
    """
    if isinstance(weights, str):
        check_choice("weights", weights, ("ncai", "equal", "local") if local else ("ncai", "equal"))
        return influence(index, beta) if weights == "ncai" else np.ones(ens.n_members)
    try:
        given = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise QuorateError(f'weights must be "ncai", "equal" or one number per member; got {weights!r}.') from None
    if given.shape != (ens.n_members,):
        raise QuorateError(
            f'weights must be "ncai", "equal" or one number per member; got shape {given.shape} '
            f"for {ens.n_members} members."
        )
    if not np.all(np.isfinite(given)) or np.any(given < 0) or given.max() == 0:
        raise QuorateError("weights must be finite, not negative, and not all zero.")
    return check_weight_range("weights", given) / given.max()
