"""Agreement of each member with the others, and how reliable it therefore is (section 4 of the paper).

Mutual information grows with the number of clusters even for unrelated members. Therefore there are two indexes: the
paper's (NCAI), and a chance-corrected one (`trust`).
"""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy.special import gammaincc

from quorate import _kernels
from quorate._utils.array_types import Bools, Floats
from quorate._utils.checks import check_choice, check_number, check_weight_range
from quorate.ensemble import (
    Clusterings,
    as_clusterings,
    member_indicator,
    overlap_blocks,
)
from quorate.errors import InputError, warn
from quorate.member_families import Families, families
from quorate.numerics.mutual_information import (
    NORMALIZERS,
    Normalize,
    PairChance,
    adjusted_agreement,
    agreement,
    pair_chance,
    pair_information,
    ratio,
    symmetric,
)

Verdict = Literal["beyond chance", "no more than chance", "too few rows to tell"]
Word = Literal["reliable", "partly reliable", "unreliable", "not tested", "ignored"]
Reason = Literal[
    "agrees",
    "agrees in part",
    "agrees little",
    "no agreement",
    "agrees with copies only",
    "no labels",
    "one cluster",
    "too few rows",
    "only member",
    "weight 0",
]

WEIGHTS = ("trust", "ncai", "equal")

# How unlikely the best agreement of all pairs has to be by chance alone. One table in ten thousand is fooled.
_LEVEL = 1e-4

_RELIABLE, _PARTLY_RELIABLE = 0.3, 0.1  # mean agreement (AMI) with the members that agree with any other

_LEAST_CERTAINTY = 1e-300  # a cluster always counts a little, however small theta is


def cai(ens: Any, normalize: Normalize = "sqrt") -> Floats:
    """Return the crowd agreement index of each member: its mean agreement with the others (equation 3, Definition 1).

    With missing labels, each agreement counts by the share n_ij / n of rows that both members label. The index of a
    single member is 1.

    Parameters
    ----------
    ens : Ensemble or anything `Ensemble` takes
    normalize : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        As in `agreement`.

    Returns
    -------
    (M,) array in [0, 1].

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.cai(members).round(4)
    array([0.5043, 0.6454, 0.6202])
    """
    ens = as_clusterings(ens)
    similarity = agreement(ens, normalize)
    if ens.n_members == 1:
        return np.ones(1)
    # An agreement that few rows support counts little.
    tested = pair_information(ens).common / ens.total_weight
    others = ~np.eye(ens.n_members, dtype=bool)
    return np.sum(tested * similarity * others, axis=1) / (ens.n_members - 1)


def ncai(ens: Any, normalize: Normalize = "sqrt") -> Floats:
    """Return the normalized crowd agreement index: CAI over the largest CAI, in [0, 1] (equation 4, Definition 2).

    It is 1 for every member if no two members agree at all.

    Parameters
    ----------
    ens, normalize
        As in `cai`.

    Returns
    -------
    (M,) array in [0, 1].

    Examples
    --------
    >>> import quorate as qt
    >>> qt.ncai([[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]).round(4)
    array([0.7815, 1.    , 0.961 ])
    """
    index = cai(ens, normalize)
    # If no two members agree, all are equally far from the others.
    largest = index.max()
    return index / largest if largest > 0 else np.ones_like(index)


def influence(index: Floats, beta: float) -> Floats:
    """Return I = NCAI^beta, the influence of each member (equation 7); 0^0 = 1."""
    return np.power(index, beta)


def member_weights(ens: Any, beta: float = 2.0, normalize: Normalize = "sqrt") -> Floats:
    """Return the weight of each member: its influence over the sum of all influences (equation 13).

    Parameters
    ----------
    ens : Ensemble or anything `Ensemble` takes
    beta : float >= 0, default 2.0
        How strongly agreement counts; 0 gives every member the same weight.
    normalize : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        As in `agreement`.

    Returns
    -------
    (M,) array that sums to 1.

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.member_weights(members).round(4)
    array([0.241 , 0.3946, 0.3644])
    """
    beta = check_number("beta", beta, low=0)
    weight = influence(ncai(ens, normalize), beta)
    return weight / weight.sum()


def cluster_certainty(ens: Any, theta: float = 0.4, members: Bools | Floats | None = None) -> Floats:
    """Return the ensemble-driven cluster index (ECI) of each cluster (Huang, Wang, Lai 2018).

    The members' uncertainty about a cluster c is H(c), the sum over members of the entropy, in bits, of their labels of
    its rows; ECI(c) = exp(-H(c) / (theta M)). With missing labels each entropy counts by the share of the cluster's
    rows that the member labels, and M is the sum of these shares.

    Parameters
    ----------
    ens : Ensemble or anything `Ensemble` takes
    theta : float > 0, default 0.4
        How slowly certainty falls with uncertainty; the authors recommend 0.2 to 1.
    members : (M,) array of bool or float, optional
        How much the labels of each member count. Default: equal.

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
    counted = np.ones(ens.n_members) if members is None else np.asarray(members, dtype=np.float64)
    uncertainty = np.zeros(ens.n_clusters)
    for first, lines in overlap_blocks(ens):
        _kernels.contingency.add_uncertainty(
            first, lines.indptr, lines.indices, lines.data, ens.cluster_member, counted, ens.coverage, uncertainty
        )
    # Members that do not label a cluster say nothing about its certainty.
    uncertainty = ratio(uncertainty, ens.coverage @ counted)
    return np.maximum(np.exp(-np.maximum(uncertainty, 0.0) / theta), _LEAST_CERTAINTY)


@dataclass(frozen=True)
class EnsembleTrust:
    """How far the members of an ensemble agree beyond chance, and so how far each can be trusted."""

    index: Floats
    """(M,) mean chance-corrected agreement with the others, in [0, 1]; an absolute scale."""
    agreement: Floats = field(repr=False)
    """(M, M) adjusted mutual information."""
    p_values: Floats = field(repr=False)
    """(M, M) how likely chance gives two members as much mutual information as they have."""
    verdict: Verdict
    """Whether any two members agree beyond chance."""
    agrees: Bools
    """(M,) whether a member agrees beyond chance with at least one other."""
    among_agreeing: Floats = field(repr=False)
    """(M,) the mean as in `index`, over those others alone that agree with any: random members do not lower it."""
    families: Families = field(repr=False)
    """Which members are copies of each other or runs of one clusterer, and how much each counts."""

    @property
    def copies(self) -> tuple[tuple[int, ...], ...]:
        """Families of members (`families`), two or more members each."""
        return self.families.groups


def ensemble_trust(ens: Any, normalize: Normalize = "sqrt", groups: Any = None) -> EnsembleTrust:
    """Return how far members agree beyond chance, with how likely chance alone would agree as well.

    Many copies of a member count far less than their number (`families`, which also explains `groups`). Under chance, n
    times mutual information is treated as gamma distributed with its exact mean; for clusters of many rows that is the
    usual chi-squared test. The best of all pairs decides, at a level of 1e-4 over all pairs.

    Parameters
    ----------
    ens, normalize, groups
        As in `trust`.

    Returns
    -------
    EnsembleTrust
        `trust` returns its `index` alone.

    Examples
    --------
    >>> import numpy as np
    >>> import quorate as qt
    >>> rows = np.arange(300)
    >>> dice = np.random.default_rng(0).integers(100, size=300)
    >>> result = qt.ensemble_trust([rows // 100, rows // 75, rows // 50, dice])
    >>> result.verdict, result.agrees.tolist()
    ('beyond chance', [True, True, True, False])
    """
    ens = as_clusterings(ens)
    check_choice("normalize", normalize, tuple(NORMALIZERS))
    information, chance = pair_information(ens), pair_chance(ens)
    ami = adjusted_agreement(information, chance, normalize)
    variance = _variance(ens, information.common, chance)
    p_values = _p_values(chance.rows * information.mutual, chance, variance)
    # Bonferroni over all pairs: the best pair decides.
    level = _level(ens.n_members)
    agrees = np.any(p_values < level, axis=1) if ens.n_members > 1 else np.ones(1, dtype=bool)
    # The most information two members could share: if that is not significant, rows are too few.
    best_possible = _p_values(chance.rows * np.minimum(information.entropy, information.entropy.T), chance, variance)
    verdict: Verdict = "no more than chance"
    if agrees.any():
        verdict = "beyond chance"
    elif not np.any(best_possible < level):
        verdict = "too few rows to tell"
    family = families(ens, groups)
    # Families count little when members are compared with the others.
    tested = family.witnesses() * information.common
    index = _mean_agreement(ami, tested)
    # Random members lower every mean; without them the scale is comparable between ensembles.
    among_agreeing = _mean_agreement(ami, tested * agrees if agrees.any() else tested)
    return EnsembleTrust(index, ami, p_values, verdict, agrees, among_agreeing, family)


def _level(n_members: int) -> float:
    """Return the level of the test of one pair of members, so that that of all pairs together is 1e-4."""
    return _LEVEL / max(n_members * (n_members - 1) // 2, 1)


def _mean_agreement(ami: Floats, tested: Floats) -> Floats:
    """(M,) mean agreement of each member with the others, each counting by what it is `tested` (M, M) by; at least 0.

    Only how the others count depends on coverage: a member that labels few rows is judged by those.
    """
    if len(ami) == 1:
        return np.ones(1)
    return np.clip(ratio(np.sum(tested * ami, axis=1), tested.sum(axis=1)), 0.0, 1.0)


def _p_values(information: Floats, chance: PairChance, variance: Floats) -> Floats:
    """(M, M) the chance of at least so much, by a gamma distribution of the same mean and variance; 1 if undefined."""
    # Without variance there is nothing to test.
    spread = (variance > 1e-12) & (chance.mean > 1e-12)
    shape = np.divide(chance.mean**2, variance, out=np.ones_like(variance), where=spread)
    # A gamma distribution with the same mean and variance; its tail is the p-value.
    scaled = np.divide(information * chance.mean, variance, out=np.zeros_like(variance), where=spread)
    return symmetric(np.where(spread, gammaincc(shape, scaled), 1.0), 1.0)


def _variance(ens: Clusterings, common: Floats, chance: PairChance) -> Floats:
    """(M, M) variance by chance of n_ij times mutual information.

    The cells of a table depend on each other: with clusters of many rows it has to come to (R - 1)(C - 1) / 2, that of
    half of a chi-squared variable, and where cells are nearly empty to the sum over cells.
    """
    of_member = member_indicator(ens)
    share = ratio(ens.coverage, common[ens.cluster_member])
    cells = np.asarray(of_member @ np.where(share > 0, (1.0 - share) ** 2, 0.0))
    free = np.maximum(np.asarray(of_member @ (share > 0).astype(np.float64)) - 1.0, 0.0)
    # Degrees of freedom over their expectation, per member.
    factor = ratio(free, cells)
    return chance.variance * factor * factor.T


def trust(ens: Any, normalize: Normalize = "sqrt", groups: Any = None) -> Floats:
    """Return how reliable each member is: its mean chance-corrected agreement with the others.

    It is the mean adjusted mutual information with the other members, each counting by the rows both label, clipped at
    0. Families count far less than their number (`families`). The scale is absolute: 0 for a member that
    agrees with the others no more than chance would, 1 only where all others are the same clustering. It is a mean over
    all others, so each random one among them lowers it: compare members of one ensemble with each other. The index of
    an only member is 1.

    Parameters
    ----------
    ens : Ensemble or anything `Ensemble` takes
    normalize : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        As in `agreement`.
    groups : sequence, mapping or str, optional
        Known families of members, as in `families`. Default: detected from the labels.

    Returns
    -------
    (M,) array in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> import quorate as qt
    >>> rows = np.arange(300)
    >>> dice = np.random.default_rng(0).integers(100, size=300)
    >>> members = [rows // 100, rows // 75, rows // 50, dice]
    >>> qt.trust(members).round(2)
    array([0.48, 0.46, 0.51, 0.02])
    >>> qt.ncai(members).round(2)
    array([0.88, 0.88, 1.  , 0.41])
    """
    return ensemble_trust(ens, normalize, groups).index


NO_AGREEMENT = "The members do not agree: no two agree more than random clusterings of their sizes would."


def trusted_influence(member_trust: EnsembleTrust, beta: float) -> Floats:
    """Return the weight of each member in [0, 1]: its trust over the largest, to the power beta, times its count.

    The count of a member is less than 1 if it has a family (`families`). A member that agrees with none beyond
    chance has weight 0. Where no two agree, trust gives no reason to weigh members differently: only families do, with
    a warning.
    """
    # Members that agree with no other have no weight, if any two agree at all.
    index = (
        np.where(member_trust.agrees, member_trust.index, 0.0)
        if member_trust.verdict == "beyond chance"
        else member_trust.index
    )
    if member_trust.verdict == "no more than chance":
        warn(f"{NO_AGREEMENT} All members have equal weight.", code="no-agreement")
    elif index.max() > 0:
        weight = np.where(index > 0, influence(index / index.max(), beta), 0.0) * member_trust.families.counts
        # Relative to the largest, because influence is in [0, 1].
        return weight / weight.max()
    return member_trust.families.counts / member_trust.families.counts.max()


@dataclass(frozen=True)
class MemberReliability:
    """A word for the reliability of a member, by its agreement with the others and its weight, and the reason."""

    word: Word
    """"ignored" for a member of weight 0, else by the mean AMI with the members that agree with any other."""
    reason: Reason
    copies: tuple[int, ...]
    """The other members of its family (`families`)."""


def member_reliability(ens: Any, member_trust: EnsembleTrust, weights: Floats) -> tuple[MemberReliability, ...]:
    """Return a word for each member by its trust and its weight (M,), with the reason.

    Where no two members agree more than chance would, no member is reliable. Where rows are too few to tell, members
    are "not tested". Where there are several families and members agree with their own family only, all of them are
    "partly reliable".

    Parameters
    ----------
    ens : Ensemble or anything `Ensemble` takes
    member_trust : EnsembleTrust
        Of the same members, from `ensemble_trust`.
    weights : (M,) array
        The weight of each member in the result, such as `ConsensusResult.member_weights`.

    Returns
    -------
    tuple of MemberReliability, one for each member

    Examples
    --------
    >>> import numpy as np
    >>> import quorate as qt
    >>> rows = np.arange(300)
    >>> dice = np.random.default_rng(0).integers(100, size=300)
    >>> result = qt.consensus([rows // 100, rows // 75, rows // 50, dice], 3)
    >>> described = qt.member_reliability(result, qt.ensemble_trust(result), result.member_weights)
    >>> [(member.word, member.reason) for member in described][2:]
    [('reliable', 'agrees'), ('ignored', 'no agreement')]
    """
    ens = as_clusterings(ens)
    labeled = np.bincount(ens.cluster_member, weights=ens.cluster_sizes, minlength=ens.n_members)
    copies = {j: tuple(i for i in group if i != j) for group in member_trust.copies for j in group}
    # Agreement with copies is no evidence.
    outside = np.where(member_trust.families.redundancy > 0.5, 1.0, member_trust.p_values)
    alone = member_trust.agrees & ~np.any(outside < _level(ens.n_members), axis=1)
    # Where each family agrees only with itself, the labels favor none of them.
    divided = len(member_trust.copies) > 1 and bool(alone[member_trust.agrees].all())

    def describe(j: int) -> MemberReliability:
        word, reason = _word_of_agreement(float(member_trust.among_agreeing[j]))
        if ens.n_members == 1:
            word, reason = "reliable", "only member"
        elif labeled[j] == 0:
            word, reason = "unreliable", "no labels"
        elif len(ens.levels[j]) == 1:
            word, reason = "unreliable", "one cluster"
        elif member_trust.verdict == "too few rows to tell":
            word, reason = "not tested", "too few rows"
        elif not member_trust.agrees[j]:
            word, reason = "unreliable", "no agreement"
        elif divided:
            word, reason = "partly reliable", "agrees with copies only"
        elif alone[j] and word == "unreliable":
            reason = "agrees with copies only"
        # The word says what the weight does; the reason says why.
        if weights[j] == 0:
            reason = "weight 0" if word in ("reliable", "partly reliable") else reason
            word = "ignored"
        return MemberReliability(word, reason, copies.get(j, ()))

    return tuple(describe(j) for j in range(ens.n_members))


def _word_of_agreement(agreement: float) -> tuple[Word, Reason]:
    """Return the word for a mean agreement with the other members."""
    if agreement >= _RELIABLE:
        return "reliable", "agrees"
    return ("partly reliable", "agrees in part") if agreement >= _PARTLY_RELIABLE else ("unreliable", "agrees little")


def resolve_influence(
    ens: Clusterings,
    weights: Any,
    beta: float,
    normalize: Normalize = "sqrt",
    *,
    local: bool = False,
    groups: Any = None,
) -> Floats:
    """Return each member's influence in [0, 1] by the parameter `weights`: "trust", "ncai", "equal" or (M,) numbers.

    Where `local` weights are possible, "local" leaves members equal: it is their clusters that differ.
    """
    names = (*WEIGHTS, "local") if local else WEIGHTS
    choices = f"{', '.join(map(repr, names))} or one number per member"
    if isinstance(weights, str):
        check_choice("weights", weights, names)
        if weights == "trust":
            return trusted_influence(ensemble_trust(ens, normalize, groups), beta)
        if weights == "ncai":
            return influence(ncai(ens, normalize), beta)
        return np.ones(ens.n_members)
    try:
        given = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"must be {choices}; got {weights!r}.", code="member-weights", parameter="weights") from None
    if given.shape != (ens.n_members,):
        raise InputError(
            f"must be {choices}; got shape {given.shape} for {ens.n_members} members.",
            code="member-weights",
            parameter="weights",
        )
    if not np.all(np.isfinite(given)) or np.any(given < 0) or given.max() == 0:
        raise InputError("must be finite, not negative, and not all zero.", code="member-weights", parameter="weights")
    # Relative to the largest weight: only proportions matter.
    return check_weight_range("weights", given) / given.max()
