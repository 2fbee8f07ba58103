"""MCLA."""

import numpy as np
import pytest

from quorate.algorithms.partition import meta_votes
from quorate.ensemble import Ensemble


def test_votes_for_groups_of_clusters_on_the_running_example(running_example):
    ens = Ensemble(running_example)
    votes = meta_votes(ens.incidence, np.ones(7), np.array([0, 1, 0, 1, 1, 0, 1]), 2)[ens.row_pattern]
    assert votes[:, 0] == pytest.approx([1, 1, 2 / 3, 1 / 3, 0, 0])
    assert votes[:, 1] == pytest.approx([0, 0, 0.25, 0.5, 0.75, 0.75])
