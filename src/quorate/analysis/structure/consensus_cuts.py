"""Consensus partitions of an ensemble at several numbers of clusters."""

from __future__ import annotations

import warnings

from quorate._utils.array_types import Labels
from quorate.algorithms.base import ConsensusMethod, Solution
from quorate.algorithms.gp_mgla import GPMGLA
from quorate.algorithms.weac import WEAC
from quorate.ensemble import Ensemble
from quorate.errors import InputError

KS = range(2, 9)
"""Numbers of clusters at which structure in the features is tested next to the answer."""


def solve(ens: Ensemble, method: type[ConsensusMethod] = GPMGLA) -> Solution:
    """Return the cuts of an ensemble by a method, by default the graph cuts of GP-MGLA, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return method(min(2, ens.n_clusters)).solve(ens)


def cuts_of_rows(ens: Ensemble) -> list[dict[int, Labels]]:
    """Return the labels of all rows by number of clusters: by GP-MGLA, and by WEAC.

    Graph cuts prefer balanced clusters and may miss small groups; the tree of WEAC separates them first.
    """
    ks = [k for k in KS if k <= min(ens.n_clusters, ens.n_patterns)]
    if not ks:
        raise InputError("The members contain a single cluster: there is no gap to test.", code="one-cluster")
    answers = [solve(ens, method).answers(ks) for method in (GPMGLA, WEAC)]
    return [{k: of_method[k].labels[ens.row_pattern] for k in ks} for of_method in answers]
