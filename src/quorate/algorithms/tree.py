"""Methods whose solution is a tree of patterns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, cast

from quorate._runtime.memory import USE_NO_MATRIX
from quorate._runtime.memory_forecast import EnsembleSize
from quorate._utils.array_types import Floats
from quorate._utils.checks import check_choice
from quorate.algorithms.base import ConsensusMethod
from quorate.algorithms.forecasts import similarities, sparse_linkage
from quorate.ensemble import Ensemble
from quorate.numerics.linkage import LINKS, Dendrogram, Link, link_coassociation


class LinkageMethod(ConsensusMethod, abstract=True):
    """Base of the methods that agglomerate patterns."""

    exceptions: ClassVar[Mapping[str, str]] = {
        "components, complete link": "groups are compared by their least similar rows, which may share no cluster",
    }
    linkage: Link = "average"

    def _check(self) -> None:
        check_choice("linkage", self.linkage, LINKS)

    @property
    def dendrogram_(self) -> Dendrogram:
        """The tree of merges over patterns."""
        return cast(Dendrogram, self.solution_.cuts)


class CoassociationMethod(LinkageMethod, abstract=True):
    """Base of the methods that agglomerate patterns by co-association."""

    local_weights: ClassVar[bool] = True

    def _memory(self, size: EnsembleSize, k: int) -> float:
        complete = self.linkage == "complete"
        return similarities(size) if complete else sparse_linkage(size, lists=self.linkage == "average")

    def _advice(self) -> str:
        return USE_NO_MATRIX if self.linkage == "complete" else "Use fewer members."

    def _solve(self, ens: Ensemble, influence: Floats) -> Dendrogram:
        return link_coassociation(ens, influence, self.linkage, self._certainty(ens, influence))
