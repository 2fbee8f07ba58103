"""WCT."""

import numpy as np
import pytest

import quorate as qt
from method_checks import similarity_of
from quorate.algorithms.wct import triple_similarity
from quorate.cluster_similarity import weighted_triples
from quorate.ensemble import Ensemble


def test_connected_triples_on_the_running_example(running_example):
    ens = Ensemble(running_example)
    raw = weighted_triples(ens, np.ones(3)) * 3 / 4
    found = raw[[0, 2, 2, 3, 5], [1, 3, 4, 4, 6]]
    assert found == pytest.approx([5 / 12, 3 / 4, 0, 1 / 4, 1 / 6])
    similarity = similarity_of(qt.WCT, ens)
    assert similarity[[0, 0, 0, 2, 3], [2, 3, 4, 3, 4]] == pytest.approx(
        [0.9333, 0.7481, 0.2074, 0.8148, 0.4815], abs=5e-5
    )


def test_without_decay_triples_are_coassociation(generated):
    ens = Ensemble(generated)
    similarity = triple_similarity(ens, np.ones(ens.n_members), 0.0, np.arange(ens.n_patterns)).matrix()
    assert np.allclose(similarity, qt.coassociation(ens), atol=1e-12)
