"""Do the members share one opinion? Camps of members that agree with each other more than with the rest.

A mean agreement hides that members may support different partitions: twelve of three clusters, eight of seven. Members
are grouped by average link on 1 - AMI. A grouping counts only if most members are clearly nearer to their own camp than
to any other, and about equally so: members whose resolution varies gradually, such as k-means with random k, form one
camp. A few members may lie between camps. Runs of k-means that end in a few local optima are camps: they support
different partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from quorate._utils.array_types import Floats, Ints, Labels
from quorate._utils.checks import check_number
from quorate.algorithms.registry import ConsensusResult, check_result, consensus
from quorate.analysis.compare import EarlierPartition, PartitionComparison, listed
from quorate.ensemble import Clusterings, Ensemble, as_ensemble, find_patterns, member_codes
from quorate.numerics.mutual_information import agreement, ratio, shared_information

_FEWEST_MEMBERS = 2
_SMALLEST_SHARE = 0.15  # of the members, for a camp of its own
_CLEAR = 0.08  # silhouette width that all but a few members must reach
_GAP = 1.4  # and how much nearer their own camp must be, in standard deviations of the distances within camps
_EVEN = 0.8  # and compared with the median member: gaps differ where members vary gradually
_FEW = 0.12  # share of the members that may lie between camps
_NO_SPREAD = 1e-3  # keeps the gap finite where the members of each camp are copies
_OUTLIER = 0.1  # AMI with the nearest member below which a member belongs to no camp
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six")


@dataclass(frozen=True)
class Camp:
    """Members that agree with each other more than with the rest."""

    ensemble: Ensemble
    """The ensemble of these members alone."""
    members: Ints
    """Positions in the whole ensemble."""
    weight: float
    """Share of the members' weight."""
    agreement: float
    """Mean AMI of two of its members; 1 for a single member."""
    most_central: str
    """The member with the largest mean AMI with the others of the camp."""
    pattern: Labels = field(repr=False)
    """(m,) pattern in `ensemble` of each pattern of the whole ensemble."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the members."""
        return self.ensemble.names

    @cached_property
    def consensus(self) -> ConsensusResult:
        """The consensus of these members, with an automatic number of clusters; computed when first read."""
        return consensus(self.ensemble)

    @property
    def pattern_labels(self) -> Labels:
        """(m,) consensus of these members, for each pattern of the whole ensemble."""
        return self.consensus.estimator.pattern_labels_[self.pattern]


@dataclass(frozen=True)
class Camps:
    """The camps among the members of an ensemble, the largest first."""

    camps: tuple[Camp, ...]
    outliers: tuple[str, ...]
    """Members that agree with no other member (AMI below 0.1)."""
    agreement_between: float
    """Mean AMI of two members of different camps; NaN if there is one camp."""
    silhouette: float
    """Mean silhouette width of the members (1 - AMI as distance); NaN if there is one camp."""
    counts: Floats = field(repr=False)
    """(m,) number of rows of each pattern of the ensemble."""

    @cached_property
    def differences(self) -> tuple[PartitionComparison, ...]:
        """How the consensus of each other camp differs from that of the first. Computes the consensus of each camp."""
        return self.compared_with(self.camps[0].pattern_labels)[1:]

    def compared_with(self, labels: Labels, ids: Sequence[int] | None = None) -> tuple[PartitionComparison, ...]:
        """Return how the consensus of each camp differs from a partition (m,) of the patterns, with ids of clusters."""
        earlier = EarlierPartition.of_patterns(labels, self.counts)
        if ids is not None:
            earlier = replace(earlier, labels=np.asarray(ids))
        return tuple(earlier.compare(camp.pattern_labels, range(camp.consensus.n_clusters)) for camp in self.camps)

    @property
    def sentence(self) -> str:
        """The finding in words. Computes the consensus of each camp."""
        n = sum(len(camp.members) for camp in self.camps)
        aside = f" {_members(len(self.outliers))} no other member." if self.outliers else ""
        if len(self.camps) <= 1:
            return f"The {n} members form one group: no subgroups with different partitions.{aside}"
        return self.sentence_about(["", *map(difference, self.differences)]) + aside

    def sentence_about(self, changes: Sequence[str], aris: Sequence[float] = ()) -> str:
        """Return how many members support which number of clusters, each camp with its difference in words.

        `aris` are the adjusted Rand indexes with the partition that the camps were compared with, if it is a result.
        """
        parts: list[str] = []
        for number, (camp, change) in enumerate(zip(self.camps, changes, strict=True)):
            # Equal numbers of clusters, none split or merged, would read as if the partitions were the same.
            shifted = any(_has_other_boundaries(camp, other) for other in self.camps[:number])
            how = f" that {change}" if change else " with other boundaries" if shifted else ""
            figure = f" (ARI {aris[number]:.2f}{' with this result' * (number == 0)})" if aris else ""
            parts.append(_support(camp) + how + figure)
        return f"The members fall into {_NUMBERS[len(self.camps)]} groups: {', '.join(parts)}."


def camps(ens: Any) -> Camps:
    """Find out whether the members support one partition or several.

    Parameters
    ----------
    ens : ConsensusResult, or an Ensemble or anything `Ensemble` takes
        A result also gives the weights of the members; otherwise all weigh the same.

    Returns
    -------
    Camps
        One camp if no grouping of the members is clear. Each camp has its own `consensus`, computed when first read.

    Examples
    --------
    >>> import quorate as qt
    >>> coarse, fine = [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3]
    >>> groups = qt.camps([coarse, coarse, coarse, fine, fine])
    >>> [camp.members.tolist() for camp in groups.camps]
    [[0, 1, 2], [3, 4]]
    """
    if isinstance(ens, ConsensusResult):
        return weighted_camps(ens.ensemble, ens.member_weights)
    ens = as_ensemble(ens)
    return weighted_camps(ens, np.full(ens.n_members, 1 / ens.n_members))


def weighted_camps(ens: Ensemble, weights: Floats) -> Camps:
    """Return the camps of members with weights (M,)."""
    camp_of, width = member_camps(ens)
    ami = agreement(ens, measure="ami")
    between = (camp_of[:, None] != camp_of) & (camp_of >= 0) & (camp_of[:, None] >= 0)
    groups = [np.flatnonzero(camp_of == camp) for camp in range(camp_of.max(initial=-1) + 1)]
    return Camps(
        camps=tuple(_camp(ens, members, ami, weights) for members in groups),
        outliers=tuple(ens.names[j] for j in np.flatnonzero(camp_of < 0)),
        agreement_between=float(ami[between].mean()) if between.any() else float("nan"),
        silhouette=width,
        counts=ens.counts.astype(np.float64),
    )


def member_camps(ens: Clusterings) -> tuple[Ints, float]:
    """Return (M,) the camp of each member, the largest is 0, -1 for outliers; and the mean silhouette width."""
    return ens.derived.get("camps", lambda: _find_camps(agreement(ens, measure="ami")))


def _find_camps(ami: Floats) -> tuple[Ints, float]:
    others = ami - 2 * np.eye(len(ami))  # the diagonal must not count
    alone = others.max(axis=1) < _OUTLIER if len(ami) > 2 else np.zeros(len(ami), dtype=np.bool_)
    placed = np.flatnonzero(~alone)
    groups, width = _grouping(ami[np.ix_(placed, placed)])
    camps_by_size = [placed[groups == g] for g in range(groups.max(initial=-1) + 1)]
    camps_by_size.sort(key=lambda members: (-len(members), members[0]))
    camp_of = np.full(len(ami), -1, dtype=np.int64)
    for camp, members in enumerate(camps_by_size):
        camp_of[members] = camp
    return camp_of, width


def _camp(ens: Ensemble, members: Ints, ami: Floats, weights: Floats) -> Camp:
    own = ami[np.ix_(members, members)]
    mean = (own.sum(axis=1) - 1) / max(len(members) - 1, 1)
    selected = ens.select(members.tolist())
    return Camp(
        ensemble=selected,
        members=members,
        weight=float(weights[members].sum()),
        agreement=float(mean.mean()) if len(members) > 1 else 1.0,
        most_central=ens.names[members[int(np.argmax(mean))]],
        pattern=_patterns_in(selected, ens, members),
    )


def _patterns_in(selected: Ensemble, ens: Ensemble, members: Sequence[int] | Ints) -> Labels:
    """Return the pattern in an ensemble of some members of each pattern of the whole ensemble."""
    codes = np.stack([member_codes(ens, j) for j in members], axis=1)
    ids = np.where(codes >= 0, codes + selected.cluster_offsets[:-1], -1)
    return find_patterns(selected, ids.astype(np.int32)).astype(np.int64)


def _grouping(ami: Floats) -> tuple[Ints, float]:
    """Return the camp of each member, and the mean silhouette width: the clearest grouping, or one camp."""
    n = len(ami)
    best, best_width = np.zeros(n, dtype=np.int64), float("nan")
    smallest = max(_FEWEST_MEMBERS, int(np.ceil(_SMALLEST_SHARE * n)))
    if n < 2 * _FEWEST_MEMBERS:
        return best, best_width
    distance = np.clip(1 - ami, 0, None)
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform(distance, checks=False), method="average")
    for number in range(2, n // smallest + 1):
        groups = fcluster(tree, number, criterion="maxclust").astype(np.int64) - 1
        if groups.max() + 1 < number or np.bincount(groups).min() < smallest:
            continue
        own, nearest = _mean_distances(distance, groups)
        widths = ratio(nearest - own, np.maximum(own, nearest))
        gaps = (nearest - own) / max(_spread_within(distance, groups), _NO_SPREAD)
        least_gap = max(_GAP, _EVEN * float(np.median(gaps)))
        is_clear = np.quantile(widths, _FEW) >= _CLEAR and np.quantile(gaps, _FEW) >= least_gap
        if is_clear and not widths.mean() <= best_width:
            best, best_width = groups, float(widths.mean())
    return best, best_width


def _mean_distances(distance: Floats, groups: Ints) -> tuple[Floats, Floats]:
    """Return each member's mean distance to the others of its camp, and to the nearest other camp."""
    sizes = np.bincount(groups)
    sums = np.stack([distance[:, groups == g].sum(axis=1) for g in range(len(sizes))], axis=1)
    rows = np.arange(len(groups))
    own = sums[rows, groups] / np.maximum(sizes[groups] - 1, 1)
    # The own camp must not be the nearest other one.
    means = sums / sizes
    means[rows, groups] = np.inf
    return own, means.min(axis=1)


def _spread_within(distance: Floats, groups: Ints) -> float:
    """Return the standard deviation of the distances within camps, about the mean of each camp."""
    pairs = [distance[np.ix_(groups == g, groups == g)] for g in range(groups.max() + 1)]
    within = [block[np.triu_indices(len(block), 1)] for block in pairs]
    return float(np.sqrt(np.mean(np.concatenate([(block - block.mean()) ** 2 for block in within]))))


def _support(camp: Camp) -> str:
    k = camp.consensus.n_clusters
    return f"{len(camp.members)} support {k} cluster{'s' * (k != 1)}"


def _has_other_boundaries(camp: Camp, other: Camp) -> bool:
    same_number = camp.consensus.n_clusters == other.consensus.n_clusters
    return same_number and not np.array_equal(camp.pattern_labels, other.pattern_labels)


def difference(change: PartitionComparison) -> str:
    """Return which clusters of a partition another one splits or merges; empty if none."""
    how = []
    if change.split:
        how.append(f"split {_clusters(change.split)}")
    if change.merged:
        how.append(f"merge {_clusters({old for group in change.merged.values() for old in group})}")
    return " and ".join(how)


def _clusters(labels: Any) -> str:
    return f"cluster{'s' * (len(labels) > 1)} {listed(sorted(labels))}"


def _members(n: int) -> str:
    return "1 member agrees with" if n == 1 else f"{n} members agree with"


@dataclass(frozen=True)
class CredibleBall:
    """The members around a consensus, by variation of information (Wade and Ghahramani 2018)."""

    distances: Floats
    """(M,) variation of information between the consensus and each member, in bits."""
    radius: float
    """The smallest distance within which the requested share of the members' weight lies."""
    inside: tuple[str, ...]
    outermost: tuple[str, ...]
    """The members of the ball at its boundary: the extremes that are still credible."""


def credible_ball(result: ConsensusResult, level: float = 0.95) -> CredibleBall:
    """Return the ball around a consensus that holds a share of the members' weight.

    Parameters
    ----------
    result : ConsensusResult
    level : float in (0, 1], default 0.95

    Examples
    --------
    >>> import quorate as qt
    >>> result = qt.consensus([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1]], 2)
    >>> qt.credible_ball(result, 0.5).inside
    ('member_0', 'member_1')
    """
    check_result(result)
    check_number("level", level, above=0, high=1)
    ens = result.ensemble
    distances = information_distances(ens, result.estimator.answer_.groups.shared)
    return ball_around(ens.names, result.member_weights, distances, level)


def ball_around(names: Sequence[str], weights: Floats, distances: Floats, level: float = 0.95) -> CredibleBall:
    """Return the ball that holds a share of the weight of members at some distances (M,) from a consensus."""
    order = np.argsort(distances, kind="stable")
    # The smallest ball that holds the requested share of the weight.
    reached = np.cumsum(weights[order]) >= level * weights.sum() - 1e-12
    radius = float(distances[order[int(np.argmax(reached))]])
    inside = np.flatnonzero(distances <= radius).tolist()
    return CredibleBall(
        distances=distances,
        radius=radius,
        inside=tuple(names[j] for j in inside),
        outermost=tuple(names[j] for j in inside if distances[j] == radius),
    )


def information_distances(ens: Ensemble, shared: sp.csr_array) -> Floats:
    """Return (M,) the variation of information, in bits, between a partition of the patterns and each member.

    VI = H(P) + H(P_l) - 2 I(P, P_l), over the rows that both label. `shared` (groups, n_clusters) are the rows that
    each group of the partition shares with each cluster.
    """
    information = shared_information(ens, shared)
    return np.maximum(information.entropy + information.member_entropy - 2 * information.mutual, 0) / np.log(2)
