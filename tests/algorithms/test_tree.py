"""EAC, WCT and SRS: similarities and dendrograms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

import baseline_oracles as dense
import oracles
import quorate as qt
from method_checks import scipy_heights, similarity_of
from quorate.ensemble import Ensemble
from quorate.numerics.linkage import LINKS
from support import raises


@pytest.mark.parametrize(("key", "method"), [("eac", qt.EAC), ("cts", qt.WCT), ("srs", qt.SRS)])
def test_similarities_agree_with_the_reference_programs(baseline_reference, key, method):
    answers, ens = baseline_reference
    similarity = similarity_of(method, ens)
    assert np.allclose(similarity[0], answers[f"{key}_similarity_row0"], rtol=0, atol=1e-12)
    off_diagonal = similarity[~np.eye(len(similarity), dtype=bool)]
    summary = [similarity.sum(), off_diagonal.min(), off_diagonal.max()]
    assert np.allclose(summary, answers[f"{key}_similarity_summary"], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("key", "method"), [("eac", qt.EAC), ("cts", qt.WCT), ("srs", qt.SRS)])
@pytest.mark.parametrize("link", LINKS)
def test_heights_and_labels_agree_with_the_reference_programs(baseline_reference, key, method, link):
    answers, ens = baseline_reference
    fitted = method(n_clusters=4, linkage=link).fit(ens)
    if link == "single" or answers[f"{key}_{link}_heights_tiefree"]:
        found = fitted.dendrogram_.to_scipy(rows=True)[-100:, 2]
        assert np.allclose(found, answers[f"{key}_{link}_heights"], rtol=0, atol=1e-12)
    if link == "average":
        sweep = fitted.sweep(answers["ks"])
        for j in np.flatnonzero(answers[f"{key}_average_labels_tiefree"]):
            assert adjusted_rand_score(sweep[:, j], answers[f"{key}_average_labels"][:, j]) == 1.0


few = settings(max_examples=25)


@st.composite
def weighted_ensembles(draw):
    labels = draw(oracles.label_matrices(missing=True, max_rows=12, max_members=4, max_clusters=3))
    weights = np.array(draw(st.lists(st.sampled_from([0.25, 0.5, 1.0]), min_size=4, max_size=4)))[: labels.shape[1]]
    return labels, weights / weights.max()


@pytest.mark.parametrize("method", [qt.WCT, qt.SRS])
@given(data=st.data())
@few
def test_similarities_agree_with_the_dense_oracle(method, data):
    labels, weights = data.draw(weighted_ensembles())
    ens = Ensemble(list(labels.T))
    expected = (dense.triples if method is qt.WCT else dense.simrank)(labels, weights)
    assert np.allclose(similarity_of(method, ens, weights), expected, atol=1e-12)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("method", [qt.WCT, qt.SRS])
@given(data=st.data())
@few
def test_every_merge_of_rows_joins_the_most_similar_groups(method, link, data):
    labels = data.draw(dense.nearly_unanimous(10) | oracles.label_matrices(max_rows=10))
    weights = np.ones(labels.shape[1])
    similarity = (dense.triples if method is qt.WCT else dense.simrank)(labels, weights)
    tree = method(n_clusters=1, linkage=link).fit(list(labels.T)).dendrogram_.to_scipy(rows=True)
    oracles.replay(similarity, np.ones(len(labels)), tree[:, :2].astype(int), tree[:, 2], link)


@pytest.mark.parametrize("method", [qt.EAC, qt.WCT, qt.SRS])
@pytest.mark.parametrize("link", LINKS)
def test_heights_equal_those_over_all_rows(generated, method, link):
    ens = Ensemble(generated)
    expected = scipy_heights(similarity_of(method, ens), link)
    tree = method(n_clusters=4, linkage=link).fit(ens).dendrogram_.to_scipy(rows=True)
    if method is qt.EAC and link != "single":  # ties: heights are not unique
        rounded = np.round(expected, 9)
        expected, tree = expected[rounded == 0], tree[rounded == 0]
    assert np.allclose(tree[:, 2], expected, rtol=0, atol=1e-9)


def test_tree_needs_at_least_one_cluster(running_example):
    tree = qt.WEAC(2).fit(running_example).dendrogram_
    for k in (0, -3, 1.5):
        with raises("integer", "k"):
            tree.cut(k)
