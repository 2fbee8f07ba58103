"""Majority: join rows that more than half of the members' weight puts together; any number of tiny clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from quorate import _kernels
from quorate._runtime.time_limit import require_time
from quorate._utils.array_types import Floats, Ints, Labels
from quorate._utils.checks import check_flag
from quorate._utils.numbering import number_by_size
from quorate.algorithms.base import ConsensusMethod, Cuts
from quorate.analysis.choose_k import Choice
from quorate.ensemble import Clusterings, Ensemble
from quorate.errors import QuorateWarning, Setting
from quorate.row_similarity import canonical_order, covered_patterns

_MOST_SWEEPS = 50


@dataclass(frozen=True)
class MajorityCuts:
    """The partition by majority, whatever number of clusters is requested."""

    ensemble: Ensemble
    influence: Floats
    improve: bool

    @cached_property
    def labels(self) -> Labels:
        """(m,) the label of each pattern; -1 where no member with weight labels it."""
        ens = self.ensemble
        covered = canonical_order(ens, self.influence, covered_patterns(ens, self.influence))
        labels = np.full(ens.n_patterns, -1, dtype=np.int64)
        if len(covered):
            labels[covered] = self._groups(np.ascontiguousarray(ens.patterns[covered]), ens.counts[covered])
        return number_by_size(labels, ens.counts)

    def _groups(self, patterns: NDArray[np.int32], counts: Floats | Ints) -> Ints:
        """Return the group of each pattern."""
        start, member_patterns = self._patterns_of_clusters(patterns)
        # Time grows with the pairs of patterns inside clusters: refuse early where clusters are large.
        pairs = float(np.sum(np.diff(start).astype(np.float64) ** 2))
        require_time(4 * pairs, f"Comparing {pairs:,.0f} pairs of patterns", "Use EAC, which needs fewer comparisons.")
        arrays = (patterns, self.influence / self.influence.sum(), start, member_patterns)
        component = _kernels.majority_votes.join_majority(*arrays)
        group = np.unique(component, return_inverse=True)[1].astype(np.int64)
        if self.improve:
            # Relative counts: a common factor of the row weights must not matter, also where gains nearly tie.
            self._move(arrays, counts / counts.mean(), group)
        return group

    def _patterns_of_clusters(self, patterns: NDArray[np.int32]) -> tuple[Ints, Ints]:
        """Return where the list of each cluster starts, and the patterns of all clusters, one after the other."""
        row, member = np.nonzero(patterns >= 0)
        clusters = patterns[row, member]
        order = np.argsort(clusters, kind="stable")
        sizes = np.bincount(clusters, minlength=self.ensemble.n_clusters)
        # Stable sorting keeps patterns in ascending order within each cluster.
        return np.concatenate([[0], np.cumsum(sizes)]), row[order]

    def _move(self, arrays: tuple[Any, ...], counts: Floats, group: Ints) -> None:
        """Move whole patterns in place until a sweep moves none."""
        patterns = arrays[0]
        for _ in range(_MOST_SWEEPS):
            n_groups = int(group.max()) + 1
            # One free group per pattern: each may end up alone.
            coverage = np.zeros((n_groups + len(group), patterns.shape[1]))
            for j, labels in enumerate(patterns.T):
                coverage[:n_groups, j] = np.bincount(group, counts * (labels >= 0), minlength=n_groups)
            if _kernels.majority_votes.move_patterns(*arrays, counts, group, coverage, n_groups) == 0:
                return
            group[:] = np.unique(group, return_inverse=True)[1]

    @property
    def max_clusters(self) -> int:
        """The number of clusters of the partition."""
        return int(self.labels.max(initial=-1)) + 1

    def cut(self, k: int) -> Labels:
        """Return the partition, whatever k is."""
        return self.labels

    def criterion(self) -> None:
        """Return None: the partition has its own number of clusters."""

    def caution(self, k: int) -> QuorateWarning | None:
        """Return a warning if k clusters were requested and the partition has another number."""
        if k == self.max_clusters:
            return None
        return QuorateWarning(
            f"The partition by majority has {self.max_clusters:,} clusters instead of {k:,}.",
            code="number-of-clusters-ignored",
            hint=("Use ", Setting("n_clusters", "auto"), ", or another method."),
        )


class Majority(ConsensusMethod):
    """Majority: join rows that more than half of the members' weight puts together. For millions of tiny clusters.

    Entity resolution, clonal families and genome bins have almost as many clusters as rows. Two rows are connected if
    most of the weight of the members that label both puts them together; the connected components are the first
    partition. Whole patterns then move to the group where the weight that joins them exceeds the weight that separates
    them most (Binder's loss), until no move gains. A missing label neither joins nor separates. Memory is linear in the
    ensemble; time is linear in the sum of squared cluster sizes, so clusters should be small.

    Parameters
    ----------
    n_clusters : int or "auto", default "auto"
        The partition has its own number of clusters: any other number gives a warning, and the same answer.
    improve : bool, default True
        Whether patterns move between groups after the components are found.

    Examples
    --------
    >>> import quorate as qt
    >>> qt.Majority().fit_predict([[0, 0, 1, 1, 2], [0, 0, 1, 2, 3], [0, 1, 2, 2, 3]])
    array([0, 0, 1, 1, 2])
    """

    name = "majority"
    idea = "Rows that more than half of the weight puts together are joined; then whole patterns move where they gain."
    equation = "components of pairs with joining weight > separating weight; moves that raise the sum of the difference"
    strength = "Any number of clusters, millions of them, in memory linear in the ensemble."
    weakness = "Slow where clusters are large; a chain of pairs may connect what should stay separate."
    when = "There are almost as many clusters as rows: records of the same entity, clonal families, genome bins."
    citation = "Fred 2001 (majority voting); Gionis, Mannila, Tsaparas 2007 (moves)"
    cost = "sum of squared cluster sizes; memory m M"
    exact = "components and gains over all rows"
    finds_k = True
    exceptions: ClassVar[Mapping[str, str]] = {
        "exactly k": "the answer has as many clusters as the majority supports",
        "components": "the answer has as many clusters as the majority supports",
    }

    improve: bool = True
    weights: Any = "equal"

    def _check(self) -> None:
        check_flag("improve", self.improve)

    def _solve(self, ens: Ensemble, influence: Floats) -> MajorityCuts:
        return MajorityCuts(ens, influence, self.improve)

    @classmethod
    def _choose(cls, ens: Clusterings, cuts: Cuts) -> Choice:
        k = cast(MajorityCuts, cuts).max_clusters
        return Choice(k, (), (), f"The partition by majority has {k:,} clusters.")
