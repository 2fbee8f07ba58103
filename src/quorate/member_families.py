"""Families of members: copies, near-copies and runs of one clusterer, which must not count by their number.

Agreement cannot tell a clustering that many members found on their own from one that was copied. So a family counts
more than one member, but far less than the number of its members. Runs of one clusterer that end in different local
optima are no copies, but they are separated from the other members and less diverse.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from quorate import _kernels
from quorate._utils.array_types import Bools, Floats, Ints
from quorate.ensemble import Clusterings, as_clusterings, overlap_blocks
from quorate.errors import InputError
from quorate.numerics.mutual_information import agreement

GROWTH = 0.2
"""A family of f members counts f ** GROWTH members: 1 of 1, 1.1 of 2, 1.4 of 6, 2.5 of 100."""
_DIFFERENT, _SAME = 0.8, 0.9  # sameness up to which members are no copies, and from which on they are
# A group is separated if the mean agreement with the others is at most _ACROSS times that within the group and that
# among the others, and if nine tenths of the agreements within exceed nine tenths of those across by _GAP.
_ACROSS, _TAIL, _GAP = 0.85, 0.1, 0.06
# How well, relative to the group, the others must agree with each other: random or poor members do not make a family of
# all the good ones.
_COHERENT = 0.5
_MORE_DIVERSE = 1.1  # how many times more diverse than a family the other members must be
_FEWEST_OTHERS = 5  # of fewer members the diversity means little
_TIE = 1e-9


@dataclass(frozen=True)
class Families:
    """Which members belong together, and how much each member counts."""

    redundancy: Floats = field(repr=False)
    """(M, M) Z, how far two members are one family: 0 for different members, 1 for copies; 1 on the diagonal."""
    totals: Floats = field(repr=False)
    """(M,) how many members the family of each member counts for."""
    given: bool
    """Whether the caller named the families; each then counts as one member."""
    similar: tuple[int, ...] = ()
    """Members that are no copies but one family, as runs of one clusterer are: they agree with each other clearly more
    than with the other members, and are less diverse than those. Empty if there are none."""
    matched: Floats | None = field(default=None, repr=False)
    """(M, M) the share of rows in matched clusters of two members (`sameness`); None if families are given."""

    @property
    def sizes(self) -> Floats:
        """(M,) the number of members in the family of each member, itself included: the row sums of Z."""
        return self.redundancy.sum(axis=1)

    @property
    def counts(self) -> Floats:
        """(M,) how many members each member counts for, in (0, 1]: totals / sizes."""
        return self.totals / self.sizes

    @property
    def effective_members(self) -> float:
        """The effective number of members, the sum of `counts`; at most M.

        With given families it is sum_i 1 / sum_j Z_ij, the diversity of order 0 of Leinster and Cobbold (2012) for
        equally frequent members of similarity Z, which is the number of families.
        """
        return float(self.counts.sum())

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The families of two or more members."""
        _, group = sp.csgraph.connected_components(sp.csr_array(self.redundancy >= 0.5), directed=False)
        return tuple(tuple(np.flatnonzero(group == g).tolist()) for g in np.flatnonzero(np.bincount(group) > 1))

    def kind(self, group: Sequence[int]) -> Literal["given", "copies", "similar"]:
        """Return why the members of one of the `groups` are a family."""
        return "given" if self.given else "similar" if group[0] in self.similar else "copies"

    def same_rows(self, group: Sequence[int]) -> float | None:
        """Return the smallest share of rows on which two members of a group are the same; None for given families."""
        return None if self.matched is None else float(self.matched[np.ix_(group, group)].min())

    def witnesses(self) -> Floats:
        """(M, M) how much member j counts when member i is compared with the others.

        The other members of the family of i together count what it counts beyond one member; all others count by
        `counts`. The diagonal is 0.
        """
        sizes = self.sizes
        beyond_one = np.maximum(self.totals - 1.0, 0.0) / np.maximum(sizes - 1.0, 1e-12)
        weights = self.counts * (1.0 - self.redundancy) + self.redundancy * beyond_one[:, None]
        np.fill_diagonal(weights, 0.0)
        return weights


def families(ens: Any, groups: Any = None) -> Families:
    """Return which members belong together as copies or runs of one clusterer, and how much each member counts.

    Two members are copies from a `sameness` of 0.9 on and different up to 0.8; in between, partly. A family of f
    members counts f ** 0.2 members, so that it cannot outvote the others.

    Seeds of one clusterer may end in different local optima and are then no copies. A group of more than half of the
    members is one family if it is separated from the others, five or more, and less diverse. It is separated if the
    mean agreement (AMI) between them is at most 0.85 times that within either, and nine tenths of the agreements within
    the group exceed nine tenths of those with the others by 0.06. It is less diverse if the diversity of the others,
    D = 1 / mean(sameness ** 2), the effective number of order 2, is at least 1.1 times that of the group. The others
    must agree at least half as well as the group.

    Parameters
    ----------
    ens : Ensemble or anything `Ensemble` takes
    groups : sequence, mapping or str, optional
        Families that are known: the family of each member in order; a mapping from member names to families, where
        members that are not named are families of their own; or a pattern such as "{tool}_*", in which the text at
        "{...}" names the family. Each given family counts as one member. Default: detected from the labels.

    Examples
    --------
    >>> import numpy as np
    >>> import quorate as qt
    >>> rows = np.arange(300)
    >>> members = [rows // 100, rows // 100 + 7, rows // 50, rows // 75]
    >>> found = qt.families(members)
    >>> found.groups, found.counts.round(2).tolist()
    (((0, 1),), [0.57, 0.57, 1.0, 1.0])
    """
    ens = as_clusterings(ens)
    if groups is not None:
        return _named_families(groups, ens.names)
    return ens.derived.get("families", lambda: _detect_families(ens, agreement(ens, measure="ami")))


def _named_families(groups: Any, names: Sequence[str]) -> Families:
    """Return families that the caller names, each of which counts as one member."""
    family = given_families(groups, names)
    # Given families are exact: members are the same or different.
    return Families((family[:, None] == family).astype(np.float64), np.ones(len(names)), given=True)


def _detect_families(ens: Clusterings, ami: Floats) -> Families:
    """Return the families that the labels show: copies by `sameness`, and a group of similar members, if there is one.

    ami : (M, M)
        Chance-corrected agreement of the members.
    """
    matched, by_chance = matched_rows(ens)
    same = _corrected(matched, by_chance)
    redundancy = np.clip((same - _DIFFERENT) / (_SAME - _DIFFERENT), 0.0, 1.0)
    similar = _similar_group(ami, same)
    if similar.any():
        # They are one family, and the others are no copies of them.
        inside, outside = similar.astype(np.float64), (~similar).astype(np.float64)
        redundancy = redundancy * np.outer(outside, outside) + np.outer(inside, inside)
    totals = redundancy.sum(axis=1) ** GROWTH
    return Families(redundancy, totals, given=False, similar=tuple(np.flatnonzero(similar).tolist()), matched=matched)


def _similar_group(ami: Floats, same: Floats) -> Bools:
    """(M,) the members that are one family without being copies; none if there is no such group.

    Candidates F are the groups of most members that single-link clustering by agreement joins, and R are the others. F
    has to be separated from R and to be less diverse. The diversity D = 1 / mean(S^2) is the effective number of order
    2 (the Vendi score) of members of `sameness` S. The largest such group is taken.
    """
    none = np.zeros(len(ami), dtype=np.bool_)
    groups = _joined_groups(ami)
    f = groups.sum(axis=1)
    r = len(ami) - f
    inside, across, outside = _sums_of_pairs(ami, groups)
    within, among_others = (inside - f) / (f * (f - 1)), (outside - r) / (r * (r - 1))
    inside_same, _, outside_same = _sums_of_pairs(same**2, groups)
    diversity, of_others = f**2 / inside_same, r**2 / outside_same
    is_separated = across / (f * r) <= _ACROSS * np.minimum(within, among_others)
    is_coherent = (among_others > 0) & (among_others >= _COHERENT * within)
    eligible = np.flatnonzero(is_separated & is_coherent & (of_others >= _MORE_DIVERSE * diversity))
    # The test of single agreements takes longest, so it comes last.
    by_size = (groups[number] > 0 for number in eligible[np.argsort(-f[eligible])])
    return next((group for group in by_size if _gap(ami, group) >= _GAP), none)


def _gap(similarity: Floats, group: Bools) -> float:
    """Return by how much nine tenths of the similarities within a group exceed nine tenths of those with the others."""
    of_group = similarity[group]
    pairs = np.triu(np.ones((len(of_group), len(of_group)), dtype=np.bool_), 1)
    within = np.quantile(of_group[:, group][pairs], _TAIL)
    return float(within - np.quantile(of_group[:, ~group], 1.0 - _TAIL))


def _joined_groups(similarity: Floats) -> Floats:
    """(groups, M) indicator of the groups of single-link clustering with more than half of the members, but not all.

    Groups are those that are connected at some level. Members that join at the same level join together, so the groups
    do not depend on the order of the members.
    """
    n = len(similarity)
    if n < 2:
        return np.zeros((0, n))
    distance = np.clip(1.0 - similarity, 0.0, None)
    np.fill_diagonal(distance, 0.0)
    merges = linkage(squareform(distance, checks=False), method="single")
    groups = np.concatenate([np.eye(n), np.zeros((n - 1, n))])
    level_above = np.full(2 * n - 1, np.inf)
    for number, (first, second, level, _) in enumerate(merges, start=n):
        pair = [int(first), int(second)]
        groups[number] = groups[pair].sum(axis=0)
        level_above[pair] = level
    size = groups.sum(axis=1)
    complete = level_above[n:] > merges[:, 2] + _TIE
    return groups[n:][complete & (size[n:] > n / 2) & (size[n:] <= n - _FEWEST_OTHERS)]


def _sums_of_pairs(matrix: Floats, groups: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the sums of a symmetric matrix within each group, between it and the others, and within the others."""
    inside = np.sum(groups * (groups @ matrix), axis=1)
    of_group = groups @ matrix.sum(axis=1)
    return inside, of_group - inside, matrix.sum() - 2.0 * of_group + inside


def sameness(ens: Clusterings) -> Floats:
    """(M, M) the share of rows on which two members are the same clustering, corrected for chance, in [0, 1].

    The share p of rows in matched clusters is compared with the share p0 of the largest cluster (`matched_rows`):
    (p - p0) / (1 - p0).
    """
    return _corrected(*matched_rows(ens))


def matched_rows(ens: Clusterings) -> tuple[Floats, Floats]:
    """(M, M), (M, M) the share of rows in matched clusters of two members, and that of their largest cluster.

    Each cluster of one member is matched with the cluster of the other that shares most rows with it; the share is the
    smaller one of both directions. Rows that only one of the two members labels count as different.
    """
    n_members = ens.n_members
    matched = np.zeros((n_members, n_members))
    for first, lines in overlap_blocks(ens):
        _kernels.contingency.add_largest_overlaps(
            first, lines.indptr, lines.indices, lines.data, ens.cluster_member, matched
        )
    largest, labeled = np.zeros((2, n_members, n_members))
    np.maximum.at(largest, ens.cluster_member, ens.coverage)
    np.add.at(labeled, ens.cluster_member, ens.coverage)
    # Rows that only one of the two members labels count as different.
    rows = np.maximum(labeled.diagonal()[:, None], labeled.diagonal())
    rows = np.where(rows > 0, rows, 1.0)
    # The smaller direction, because a coarse clustering contains a fine one.
    return np.minimum(matched, matched.T) / rows, np.maximum(largest, largest.T) / rows


def _corrected(matched: Floats, by_chance: Floats) -> Floats:
    room = 1.0 - by_chance
    # Two clusterings of one cluster each are the same if they label the same rows.
    same = np.divide(matched - by_chance, room, out=(matched > 1.0 - 1e-12).astype(np.float64), where=room > 1e-12)
    np.fill_diagonal(same, 1.0)
    return np.clip(same, 0.0, 1.0)


def given_families(groups: Any, names: Sequence[str]) -> Ints:
    """(M,) the number of the family of each member, by the parameter `groups`."""
    if isinstance(groups, str):
        of_member = _by_pattern(groups, names)
    elif isinstance(groups, Mapping):
        unknown = [name for name in groups if name not in names]
        if unknown:
            raise _refuse(f"names {unknown[0]!r}, which is not a member; the members are {', '.join(names)}.")
        of_member = [("family", str(groups[name])) if name in groups else ("member", name) for name in names]
    else:
        of_member = [("family", str(family)) for family in groups]
        if len(of_member) != len(names):
            raise _refuse(f"must hold one family for each of the {len(names)} members; got {len(of_member)}.")
    return np.unique([" ".join(pair) for pair in of_member], return_inverse=True)[1].astype(np.int64)


def _by_pattern(pattern: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the family of each member by a pattern such as "{tool}_*"; names that do not match stand alone."""
    # Text in braces names the family, a star matches anything, everything else is literal.
    parts = re.split(r"(\{\w*\}|\*)", pattern)
    if not any(part.startswith("{") for part in parts):
        raise _refuse(f'must mark the family in the pattern, such as "{{tool}}_*"; got {pattern!r}.')
    regex = "".join("(.+?)" if p.startswith("{") else ".*" if p == "*" else re.escape(p) for p in parts)
    matches = {name: re.fullmatch(regex, name) for name in names}
    if not any(matches.values()):
        raise _refuse(f"matches no member: got {pattern!r}; members are {', '.join(names)}.")
    return [("family", "\0".join(match.groups())) if match else ("member", name) for name, match in matches.items()]


def _refuse(problem: str) -> InputError:
    return InputError(problem, code="invalid-groups", parameter="groups")
