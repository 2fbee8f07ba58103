"""What supports a consensus: the choice of its number of clusters, the structure, and the answers for other numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from quorate.algorithms.answer import Answer
from quorate.algorithms.base import Solution
from quorate.analysis.choose_k import Choice
from quorate.analysis.member_camps import Camps, weighted_camps
from quorate.analysis.structure.feature_structure import Structure
from quorate.analysis.structure.label_structure import LabelStructure, label_structure


@dataclass(frozen=True)
class Diagnosis:
    """Diagnostics of the answer of a solution for k clusters; each is computed when it is first used."""

    solution: Solution
    k: int
    features: Structure | None = None
    """The test of the features, if there are any."""

    @property
    def choice(self) -> Choice:
        """The suggested number of clusters, with the scores of others."""
        return self.solution.choice

    @cached_property
    def structure(self) -> Structure | LabelStructure:
        """Whether there is cluster structure: by the features, or else by the labels at k clusters."""
        return label_structure(self.solution.ensemble, self.k) if self.features is None else self.features

    @cached_property
    def camps(self) -> Camps:
        """Groups of members that support different partitions."""
        return weighted_camps(self.solution.ensemble, self.solution.answer(self.k).weights)

    def sweep(self, ks: Iterable[int]) -> dict[int, Answer]:
        """Return the answers for several numbers of clusters, at most as many as possible."""
        most = max(self.solution.max_clusters, 1)
        return self.solution.answers(sorted({min(k, most) for k in ks}))
