"""Consensus partitions of an ensemble at several numbers of clusters."""

from __future__ import annotations

import warnings

from quorate._utils.array_types import Labels
from quorate.algorithms.base import Solution
from quorate.algorithms.gp_mgla import GPMGLA
from quorate.ensemble import Ensemble
from quorate.errors import InputError

KS = range(2, 9)
"""Numbers of clusters at which structure in the features is tested next to the answer."""


def solve(ens: Ensemble) -> Solution:
    """Return the graph cuts of an ensemble by GP-MGLA, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GPMGLA(min(2, ens.n_clusters)).solve(ens)


def cuts_of_rows(ens: Ensemble) -> dict[int, Labels]:
    """Return the labels of all rows by GP-MGLA, by number of clusters."""
    ks = [k for k in KS if k <= min(ens.n_clusters, ens.n_patterns)]
    if not ks:
        raise InputError("The members contain a single cluster: there is no gap to test.", code="one-cluster")
    answers = solve(ens).answers(ks)
    return {k: answers[k].labels[ens.row_pattern] for k in ks}
