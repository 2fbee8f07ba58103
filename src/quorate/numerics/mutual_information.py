"""Mutual information of members: what two of them share, what they would share by chance, and their agreement.

Mutual information grows with the number of clusters even for unrelated members. Adjusted mutual information (AMI) takes
off its expected value.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate import _kernels
from quorate._runtime import threads
from quorate._runtime.memory_forecast import require_agreement
from quorate._utils.array_types import Bools, Floats, Ints
from quorate._utils.checks import check_choice
from quorate.ensemble import Clusterings, Ensemble, as_clusterings, ensemble_size, overlap_blocks
from quorate.numerics.cells import Cells

Normalize = Literal["sqrt", "max", "arithmetic", "min"]
Measure = Literal["nmi", "ami"]
MEASURES = ("nmi", "ami")
_SIZES_PER_TASK = 64
_CLUSTERS_AT_ONCE = 256
NORMALIZERS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "sqrt": lambda x, y: np.sqrt(x * y),
    "max": np.maximum,
    "arithmetic": lambda x, y: (x + y) / 2,
    "min": np.minimum,
}


def normalized_mutual_information(mutual: Floats, entropy_x: Floats, entropy_y: Floats, normalize: str) -> Floats:
    """Return NMI from mutual information and the two entropies (equation 16), elementwise, in [0, 1].

    Two clusterings of one cluster each agree fully (1); one such clustering says nothing about any other (0).
    """
    scale = NORMALIZERS[normalize](entropy_x, entropy_y)
    # A clustering of one cluster has no information to share.
    informative = (entropy_x > 0) & (entropy_y > 0)
    nmi = np.divide(mutual, scale, out=np.zeros_like(mutual), where=informative)
    return np.where((entropy_x == 0) & (entropy_y == 0), 1.0, np.clip(nmi, 0.0, 1.0))


def agreement(ens: Any, normalize: Normalize = "sqrt", measure: Measure = "nmi") -> Floats:
    """Return the similarity of every two members: their normalized mutual information, Sim(P^i, P^j).

    With missing labels it is taken over the rows that both members label; no common rows count 0.

    Parameters
    ----------
    ens : Ensemble or anything `Ensemble` takes
    normalize : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        What mutual information is divided by: the geometric mean of the entropies (the paper), their maximum (the
        authors' program), their arithmetic mean (scikit-learn's default), or their minimum.
    measure : {"nmi", "ami"}, default "nmi"
        "ami" takes off what members of the same cluster sizes share by chance (adjusted mutual information): it is near
        0 for members that have nothing to do with each other, however many clusters they have, and below 0 for members
        that agree less than that. Where chance alone gives all there is (a single cluster, or each row its own) it
        is 0. Expected values are exact, but for means above 200 rows, with an error below 4e-10 in all. Rows
        count by their weights, in units of `Ensemble.weight_unit`.

    Returns
    -------
    (M, M) array, symmetric, with unit diagonal; NMI is in [0, 1].

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.agreement(members).round(4)
    array([[1.    , 0.5295, 0.4791],
           [0.5295, 1.    , 0.7612],
           [0.4791, 0.7612, 1.    ]])
    >>> qt.agreement(members, "arithmetic", measure="ami").round(4)
    array([[1.    , 0.2988, 0.3552],
           [0.2988, 1.    , 0.6154],
           [0.3552, 0.6154, 1.    ]])
    """
    ens = as_clusterings(ens)
    check_choice("normalize", normalize, tuple(NORMALIZERS))
    check_choice("measure", measure, MEASURES)
    # Mutual information and entropies of all pairs, computed once per ensemble.
    information = pair_information(ens)
    if measure == "ami":
        return adjusted_agreement(information, pair_chance(ens), normalize)
    nmi = normalized_mutual_information(information.mutual, information.entropy, information.entropy.T, normalize)
    return symmetric(np.where(information.common > 0, nmi, 0.0), 1.0)


def symmetric(upper: Floats, diagonal: float) -> Floats:
    """Return the symmetric matrix of an upper triangle and a constant diagonal."""
    # Only pairs i < j were computed; the matrix is symmetric to the last bit.
    upper = np.triu(upper, 1)
    return upper + upper.T + diagonal * np.eye(len(upper))


@dataclass(frozen=True)
class _OfPairs:
    """Figures of every two members i < j, each (M, M); those of two members depend on no other."""

    def select_members(self, members: Ints) -> Self:
        """Return the figures of some members, in their order."""
        return replace(self, **{part.name: getattr(self, part.name)[np.ix_(members, members)] for part in fields(self)})


@dataclass(frozen=True)
class PairInformation(_OfPairs):
    """What two members say about each other, over the rows that both label."""

    common: Floats
    """The number of rows n_ij that both label."""
    entropy: Floats
    """Entropy of member i over the rows that j labels too."""
    mutual: Floats


def pair_information(ens: Clusterings) -> PairInformation:
    """Return what every two members say about each other; agreement, trust and NCAI all begin with it."""
    # Refused early: these matrices grow with the square of the members.
    require_agreement(ensemble_size(ens))

    def compute() -> PairInformation:
        common = _common_rows(ens)
        return PairInformation(common, _entropies(ens, common), _mutual_information(ens, common))

    return ens.derived.get("information", compute)


def _common_rows(ens: Clusterings) -> Floats:
    """(M, M) the number of rows n_ij that both members label."""
    common = np.zeros((ens.n_members, ens.n_members))
    np.add.at(common, ens.cluster_member, ens.coverage)
    return common


def _entropies(ens: Clusterings, common: Floats) -> Floats:
    """(M, M) entropy of member i over the rows that member j labels too."""
    entropy = np.zeros_like(common)
    # In blocks of clusters, so that the temporary arrays stay small.
    for block in threads.blocks(ens.n_clusters, _CLUSTERS_AT_ONCE):
        share = ratio(ens.coverage[block], common[ens.cluster_member[block]])
        np.add.at(entropy, ens.cluster_member[block], -share * _log(share))
    return np.maximum(entropy, 0.0)


def _mutual_information(ens: Clusterings, common: Floats) -> Floats:
    """(M, M) mutual information of members i < j over the rows both label; zero elsewhere."""
    mutual = np.zeros_like(common)
    # Blocks of the co-occurrence, which may be too large to keep.
    for first, lines in overlap_blocks(ens):
        _kernels.contingency.mutual_information(
            first, lines.indptr, lines.indices, lines.data, ens.cluster_member, common, ens.coverage, mutual
        )
    return mutual


def ratio(numerator: NDArray[Any] | float, denominator: Floats) -> Floats:
    """Divide by something not negative, with x / 0 = 0."""
    return np.divide(numerator, denominator, out=np.zeros(np.shape(denominator)), where=denominator > 0)


def _log(share: Floats) -> Floats:
    """Return log(share) with log(0) = 0, as 0 log 0 = 0."""
    return np.log(share, out=np.zeros_like(share), where=share > 0)


@dataclass(frozen=True)
class PairChance(_OfPairs):
    """What two members would share by chance."""

    rows: Floats
    """n_ij, by weight."""
    mean: Floats
    """Expected value of n_ij times their mutual information."""
    variance: Floats
    """Sum over the cells of their table of the variance of what each adds to it."""


def pair_chance(ens: Clusterings) -> PairChance:
    """Return the expected mutual information of every two members; the fit, the choice of k and the trust use it."""
    return ens.derived.get("chance", lambda: _by_chance(ens, pair_information(ens).common))


def _by_chance(ens: Clusterings, common: Floats) -> PairChance:
    """Return what every two members would share by chance, their cluster sizes being as they are."""
    # Members that label all rows share their sizes, which saves most of the work.
    complete = np.diagonal(common) >= ens.total_weight * (1 - 1e-12)
    mean, variance = np.zeros_like(common), np.zeros_like(common)
    if complete.any():
        of_complete = np.ix_(complete, complete)
        mean[of_complete], variance[of_complete] = _chance_of_complete(ens, complete)
    # All other pairs are compared over the rows that both label.
    i, j = np.nonzero(np.triu((common > 0) & ~np.outer(complete, complete), 1))
    mean[i, j], variance[i, j] = _chance_of_pairs(ens, np.stack([i, j], axis=1), common)
    return PairChance(common, mean, variance)


def _chance_of_complete(ens: Clusterings, complete: Bools) -> tuple[Floats, Floats]:
    """Return mean and variance for every two members that label all rows, from every two sizes that occur, once."""
    clusters = np.flatnonzero(complete[ens.cluster_member])
    # Clusters of equal size have the same moments, computed once.
    sizes, of_cluster = np.unique(ens.cluster_sizes[clusters].astype(np.float64), return_inverse=True)
    rank = np.cumsum(complete) - 1
    # (members, sizes) how many clusters of each size a member has
    has = sp.coo_array(
        (np.ones(len(clusters)), (rank[ens.cluster_member[clusters]], of_cluster)), shape=(complete.sum(), len(sizes))
    ).tocsr()

    def spread(part: slice) -> tuple[Floats, Floats]:
        mean, variance = np.zeros((2, part.stop - part.start, len(sizes)))
        # Tasks are independent: each writes its own rows.
        _kernels.chance.chance_of_sizes(sizes, ens.total_weight, part.start, part.stop, mean, variance)
        return np.asarray((has @ mean.T).T), np.asarray((has @ variance.T).T)

    parts = threads.in_threads(spread, threads.blocks(len(sizes), _SIZES_PER_TASK))
    lower = [np.asarray(has @ np.concatenate(part)) for part in zip(*parts, strict=True)]
    # Each task knew the sizes up to its own, the own one by half, so that both triangles together are the whole.
    return lower[0] + lower[0].T, lower[1] + lower[1].T


def _chance_of_pairs(ens: Clusterings, pairs: Ints, common: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance for some pairs of members, over the rows both label."""
    mean, variance = np.zeros((2, len(pairs)))
    offsets = np.searchsorted(ens.cluster_member, np.arange(ens.n_members + 1))

    def fill(part: slice) -> None:
        _kernels.chance.chance_of_members(ens.coverage, offsets, common, pairs, part.start, part.stop, mean, variance)

    threads.in_threads(fill, threads.blocks(len(pairs), _SIZES_PER_TASK))
    return mean, variance


def adjusted_agreement(information: PairInformation, chance: PairChance, normalize: Normalize) -> Floats:
    """(M, M) adjusted mutual information of every two members."""
    expected = ratio(chance.mean, chance.rows)
    return symmetric(
        _adjusted_information(information.mutual, expected, information.entropy, information.entropy.T, normalize), 1.0
    )


class Reproduction(NamedTuple):
    """How far each member is reproduced by each other member."""

    entropy: Floats
    """(M,) entropy of each member, in nats."""
    share: Floats
    """(M, M) share of the entropy of member i that member j reproduces, corrected for chance, in [0, 1]; diagonal 0."""


def reproduction(ens: Clusterings) -> Reproduction:
    """Return the share of each member's entropy that each other member reproduces: (I - E) / (H - E).

    I is their mutual information, E what chance gives, H the entropy of the reproduced member. A member is reproduced
    fully by every refinement of itself.
    """
    information, chance = pair_information(ens), pair_chance(ens)
    expected, mutual = (symmetric(values, 0.0) for values in (ratio(chance.mean, chance.rows), information.mutual))
    share = np.clip(ratio(mutual - expected, np.maximum(information.entropy - expected, 0.0)), 0.0, 1.0)
    np.fill_diagonal(share, 0.0)
    return Reproduction(np.diagonal(information.entropy).copy(), share)


def _adjusted_information(
    mutual: Floats, expected: Floats, entropy_x: Floats, entropy_y: Floats, normalize: Normalize
) -> Floats:
    """Return (MI - E[MI]) / (normalizer - E[MI]), elementwise; 0 if chance leaves no room for more."""
    room = NORMALIZERS[normalize](entropy_x, entropy_y) - expected
    informative = (entropy_x > 0) & (entropy_y > 0) & (room > 1e-12)
    ami = np.divide(mutual - expected, room, out=np.zeros_like(room), where=informative)
    return np.minimum(ami, 1.0)


class SharedInformation(NamedTuple):
    """What a clustering of the patterns and each member have in common, over the rows that both label."""

    mutual: Floats
    """(M,) mutual information, in nats."""
    entropy: Floats
    """(M,) entropy of the clustering."""
    member_entropy: Floats
    """(M,) entropy of the member."""
    coverage: Floats
    """(n_clusters + groups, M + 1) rows of each cluster that the clustering labels, in the last column; rows of each
    group that each member labels."""
    rows: Floats
    """(M,) rows that both label."""


def shared_information(ens: Ensemble, shared: sp.csr_array) -> SharedInformation:
    """Return the mutual information of a clustering of the patterns with each member, and both entropies.

    `shared` (groups, n_clusters) are the rows that each group of the clustering shares with each cluster.
    """
    n_clusters, n_members, member = ens.n_clusters, ens.n_members, ens.cluster_member
    cells = Cells.of(shared, member, n_members)
    of_clusters, of_groups = cells.by_cluster(cells.values, n_clusters), cells.by_member(cells.values)
    rows = of_groups.sum(axis=1)
    share_of_group: Floats = ratio(of_groups, np.broadcast_to(rows[:, None], of_groups.shape))
    share_of_cluster: Floats = ratio(of_clusters, rows[member])
    entropy = -np.sum(share_of_group * _log(share_of_group), axis=1)
    mutual, member_entropy = np.zeros((2, n_members))
    np.add.at(member_entropy, member, -share_of_cluster * _log(share_of_cluster))
    # Cells of all contingency tables with the clustering, as shares of the common rows.
    share = cells.values / rows[cells.member]
    independent = share_of_group[cells.member, cells.group] * share_of_cluster[cells.cluster]
    np.add.at(mutual, cells.member, share * np.log(share / independent))
    # The clustering is treated as one more member, whose clusters come last.
    coverage = np.zeros((n_clusters + shared.shape[0], n_members + 1))
    coverage[:n_clusters, n_members], coverage[n_clusters:, :n_members] = of_clusters, of_groups.T
    return SharedInformation(mutual, entropy, member_entropy, coverage, rows)


def agreement_with(ens: Ensemble, shared: sp.csr_array, normalize: Normalize = "sqrt") -> Floats:
    """(M,) adjusted mutual information of a clustering of the patterns with each member, over the rows both label.

    `shared` (groups, n_clusters) are the rows that each group of the clustering shares with each cluster.
    """
    mutual, entropy, member_entropy, coverage, rows = shared_information(ens, shared)
    expected = _expected_information(ens, coverage, rows)
    return _adjusted_information(mutual, expected, member_entropy, entropy, normalize)


def _expected_information(ens: Ensemble, coverage: Floats, rows: Floats) -> Floats:
    """(M,) expected mutual information of each member and of one more clustering, whose groups come last.

    coverage : (n_clusters + groups, M + 1)
        Rows of each cluster that the clustering labels, in the last column; rows of each group that each member labels.
    rows : (M,)
        Rows that both label.
    """
    n_members = ens.n_members
    offsets = np.append(ens.cluster_offsets, len(coverage))
    common = np.zeros((n_members + 1, n_members + 1))
    common[:n_members, n_members] = rows
    pairs = np.stack([np.arange(n_members), np.full(n_members, n_members)], axis=1)
    mean, variance = np.zeros((2, n_members))
    _kernels.chance.chance_of_members(coverage, offsets, common, pairs, 0, n_members, mean, variance)
    return ratio(mean, rows)
