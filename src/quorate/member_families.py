"""Families of members: copies and near-copies, which must not count as often as there are of them.

Agreement cannot tell a clustering that many members found on their own from one that was copied. So a family of copies
counts more than one member, but far less than the number of its copies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from quorate import _kernels
from quorate._utils.array_types import Floats, Ints
from quorate.ensemble import Clusterings, as_clusterings, overlap_blocks
from quorate.errors import InputError

GROWTH = 0.2
"""A family of f copies counts f ** GROWTH members: 1 of 1, 1.1 of 2, 1.4 of 6, 2.5 of 100."""
_DIFFERENT, _SAME = 0.8, 0.9  # sameness up to which members are no copies, and from which on they are


@dataclass(frozen=True)
class Families:
    """Which members are copies of each other, and how much each member counts."""

    redundancy: Floats = field(repr=False)
    """(M, M) Z, how far two members are the same clustering: 0 for different members, 1 for copies; 1 on the diagonal.
    """
    sizes: Floats = field(repr=False)
    """(M,) the number of copies of each member, itself included: the row sums of Z."""
    growth: float
    """A family of f copies counts f ** growth members."""

    @property
    def counts(self) -> Floats:
        """(M,) how many members each member counts for, in (0, 1]: sizes ** (growth - 1)."""
        return self.sizes ** (self.growth - 1.0)

    @property
    def given(self) -> bool:
        """Whether the caller named the families; each then counts as one member."""
        return self.growth == 0.0

    @property
    def effective_members(self) -> float:
        """The effective number of members, the sum of `counts`; at most M.

        With growth 0 it is sum_i 1 / sum_j Z_ij, the diversity of order 0 of Leinster and Cobbold (2012) for equally
        frequent members of similarity Z; it is the number of families if copies are exact.
        """
        return float(self.counts.sum())

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The families of two or more members."""
        _, group = sp.csgraph.connected_components(sp.csr_array(self.redundancy >= 0.5), directed=False)
        return tuple(tuple(np.flatnonzero(group == g).tolist()) for g in np.flatnonzero(np.bincount(group) > 1))

    def witnesses(self) -> Floats:
        """(M, M) how much member j counts when member i is compared with the others.

        Copies of i together count what its family counts beyond one member, whatever their number; all others count by
        `counts`. The diagonal is 0.
        """
        # What the family counts beyond one member, shared by its copies.
        beyond_one = (self.sizes**self.growth - 1.0) / np.maximum(self.sizes - 1.0, 1e-12)
        of_copies = self.redundancy * beyond_one[:, None]
        weights = self.counts * (1.0 - self.redundancy) + of_copies
        np.fill_diagonal(weights, 0.0)
        return weights


def families(ens: Any, groups: Any = None) -> Families:
    """Return which members are copies or near-copies of each other, and how much each member counts.

    Two members are copies from a `sameness` of 0.9 on and different up to 0.8; in between, partly. A family of f
    copies counts as f ** 0.2 members, so that copies cannot outvote the other members.

    Parameters
    ----------
    ens : Ensemble or anything `Ensemble` takes
    groups : sequence, mapping or str, optional
        Families that are known: the family of each member in order; a mapping from member names to families, where
        members that are not named are families of their own; or a pattern such as "{tool}_*", in which the text at
        "{...}" names the family. Each given family counts as one member. Default: found from the labels.

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
        family = given_families(groups, ens.names)
        # Given families are exact: members are the same or different.
        same = (family[:, None] == family).astype(np.float64)
        return Families(same, same.sum(axis=1), 0.0)
    return ens.derived.get("families", lambda: _detect_families(ens))


def _detect_families(ens: Clusterings) -> Families:
    redundancy = np.clip((sameness(ens) - _DIFFERENT) / (_SAME - _DIFFERENT), 0.0, 1.0)
    return Families(redundancy, redundancy.sum(axis=1), GROWTH)


def sameness(ens: Clusterings) -> Floats:
    """(M, M) the share of rows on which two members are the same clustering, corrected for chance, in [0, 1].

    Each cluster of one member is matched with the cluster of the other that shares most rows with it. The share p of
    rows in matched clusters, the smaller of both directions, is compared with the share p0 of the largest cluster:
    (p - p0) / (1 - p0). Rows that only one of the two members labels count as different.
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
    matched, by_chance = np.minimum(matched, matched.T) / rows, np.maximum(largest, largest.T) / rows
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
