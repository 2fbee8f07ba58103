"""EAC."""

import numpy as np
import pytest
from hypothesis import given, settings

import oracles
import quorate as qt
from method_checks import similarity_of
from quorate.ensemble import Ensemble
from quorate.numerics.linkage import LINKS


def test_evidence_accumulation_on_the_running_example(running_example):
    assert similarity_of(qt.EAC, Ensemble(running_example))[[0, 0, 3], [2, 3, 4]] == pytest.approx(
        [2 / 3, 1 / 3, 1 / 3]
    )
    heights = {
        link: qt.EAC(n_clusters=3, linkage=link).fit(running_example).dendrogram_.to_scipy(rows=True)[:, 2]
        for link in LINKS
    }
    assert heights["single"] == pytest.approx([0, 0, 1 / 3, 1 / 3, 2 / 3])
    assert heights["complete"] == pytest.approx([0, 0, 1 / 3, 2 / 3, 1])
    assert heights["average"] == pytest.approx([0, 0, 1 / 3, 5 / 9, 11 / 12]) or heights["average"] == pytest.approx(
        [0, 0, 1 / 3, 1 / 2, 11 / 12]
    )
    tied = qt.EAC(n_clusters=3, linkage="single").fit(running_example)
    assert tied.n_clusters_ == 3
    assert tied.dendrogram_.lifetimes == pytest.approx([1 / 3, 0, 1 / 3])
    assert qt.EAC(n_clusters="auto").fit(running_example).n_clusters_ == 2


few = settings(max_examples=25)


@pytest.mark.parametrize("link", LINKS)
@given(labels=oracles.label_matrices(missing=True))
@few
def test_evidence_accumulation_is_weac_without_weights(link, labels):
    members = list(labels.T)
    eac = qt.EAC(n_clusters=1, linkage=link).fit(members)
    weac = qt.WEAC(n_clusters=1, linkage=link, beta=0).fit(members)
    assert np.array_equal(eac.dendrogram_.heights, weac.dendrogram_.heights)
    assert np.array_equal(eac.dendrogram_.merges, weac.dendrogram_.merges)
    assert np.array_equal(eac.sweep(range(1, 8)), weac.sweep(range(1, 8)))


def test_evidence_accumulation_is_weac_without_weights_on_a_generated_ensemble(generated):
    labels = generated
    ks = range(2, 31)
    assert np.array_equal(
        qt.EAC(n_clusters=2).fit(labels).sweep(ks), qt.WEAC(n_clusters=2, beta=0).fit(labels).sweep(ks)
    )
