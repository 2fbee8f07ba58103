"""Consensus partitions of an ensemble at several numbers of clusters."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from quorate._utils.array_types import Ints, Labels
from quorate.algorithms.gp_mgla import GPMGLA
from quorate.ensemble import Ensemble
from quorate.errors import InputError

KS = range(2, 9)
"""Numbers of clusters at which structure in the features is tested next to the answer."""


def cuts(ens: Ensemble, ks: Sequence[int]) -> Ints:
    """(m, ks) labels of patterns by GP-MGLA, cut into several numbers of clusters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = GPMGLA(min(2, ens.n_clusters)).solve(ens).answers(ks)
        return np.stack([answers[k].labels for k in ks], axis=1)


def cuts_of_rows(ens: Ensemble) -> dict[int, Labels]:
    """Return the labels of all rows by GP-MGLA, by number of clusters."""
    ks = [k for k in KS if k <= min(ens.n_clusters, ens.n_patterns)]
    if not ks:
        raise InputError("The members contain a single cluster: there is no gap to test.")
    rows = ens.row_pattern
    return {k: labels[rows] for k, labels in zip(ks, cuts(ens, ks).T, strict=True)}
