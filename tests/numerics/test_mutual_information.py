from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

import oracles
import quorate as qt
from quorate._kernels import chance
from support import raises

SKLEARN = {"sqrt": "geometric", "max": "max", "arithmetic": "arithmetic", "min": "min"}


@pytest.mark.parametrize("normalize", SKLEARN)
@given(labels=oracles.label_matrices(missing=True))
def test_agreement_is_nmi_over_common_rows(normalize, labels):
    found = qt.agreement(list(labels.T), normalize)
    n_members = labels.shape[1]
    for i in range(n_members):
        for j in range(n_members):
            both = (labels[:, i] >= 0) & (labels[:, j] >= 0)
            expected = 1.0 if i == j else 0.0
            if i != j and both.any():
                x, y = labels[both, i], labels[both, j]
                one_each = len(np.unique(x)) == len(np.unique(y)) == 1
                either = len(np.unique(x)) == 1 or len(np.unique(y)) == 1
                expected = (
                    1.0
                    if one_each
                    else 0.0
                    if either
                    else normalized_mutual_info_score(x, y, average_method=SKLEARN[normalize])
                )
            assert found[i, j] == pytest.approx(expected, abs=1e-9)


def test_bad_normalize_names_the_nearest(running_example):
    with raises("choice", "normalize"):
        qt.agreement(running_example, normalize="arithmetical")


def brute_chance(a, b, n):
    """Mean and variance of what a cell adds to n MI, by all counts and exact fractions."""
    mu = a * b / n
    values = range(max(0, a + b - n), min(a, b) + 1)
    p = np.array([float(Fraction(comb(a, x) * comb(n - a, b - x), comb(n, b))) for x in values])
    g = np.array([(x * np.log(x / mu) if x else 0.0) - x + mu for x in values])
    return p @ g, p @ g**2 - (p @ g) ** 2


@pytest.mark.parametrize(
    ("a", "b", "n"), [(3, 4, 10), (5, 5, 6), (1, 9, 10), (10, 10, 10), (50, 70, 200), (1, 1, 2), (300, 500, 1000)]
)
def test_chance_is_exact(a, b, n):
    assert chance.chance(float(a), float(b), float(n)) == pytest.approx(brute_chance(a, b, n), abs=1e-11)


@pytest.mark.parametrize(
    ("a", "b", "n"),
    [(2000, 1000, 1e4), (400, 600, 1000), (201, 1e6, 1e6 + 500), (3000, 5000, 7000), (2e4, 3e4, 1e5), (1e5, 1e5, 1e6)],
)
def test_large_means_keep_the_proven_bound(a, b, n):
    mu = a * b / n
    summed, approximate = chance.by_sum(float(a), float(b), float(n)), chance.by_moments(float(a), float(b), float(n))
    bound = chance.central_moments(float(a), float(b), float(n))[10] / (9 * mu**9)
    assert bound < 111 / mu**4
    assert abs(summed[0] - approximate[0]) < bound + 1e-11  # rounding
    assert approximate[1] == pytest.approx(summed[1], rel=2e-3)


@pytest.mark.parametrize("normalize", SKLEARN)
@given(labels=oracles.label_matrices(missing=True, max_clusters=8))
def test_adjusted_agreement_is_that_of_scikit_learn(normalize, labels):
    found = qt.agreement(list(labels.T), normalize, measure="ami")
    for i in range(labels.shape[1]):
        for j in range(i):
            both = (labels[:, i] >= 0) & (labels[:, j] >= 0)
            x, y = labels[both, i], labels[both, j]
            if both.any() and 1 < len(np.unique(x)) < len(x) and 1 < len(np.unique(y)) < len(y):
                expected = adjusted_mutual_info_score(x, y, average_method=SKLEARN[normalize])
                assert found[i, j] == found[j, i] == pytest.approx(expected, abs=1e-9)


@given(oracles.label_matrices(missing=True, min_rows=4), st.data())
def test_what_members_say_of_each_other_goes_over_to_fewer_members(labels, data):
    ens = qt.Ensemble(list(labels.T))
    qt.trust(ens)  # known from now on
    members = data.draw(st.lists(st.integers(0, ens.n_members - 1), min_size=1, unique=True))
    if any(len(ens.levels[j]) == 0 for j in members):
        return
    selected, anew = ens.select(members), qt.Ensemble([labels[:, j] for j in members])
    names = {name for name, _ in selected.derived.items()}
    assert {"information", "chance"} <= names or members != sorted(members)
    assert np.array_equal(selected.coverage, anew.coverage)
    assert np.array_equal(qt.agreement(selected), qt.agreement(anew))
    assert np.array_equal(qt.agreement(selected, measure="ami"), qt.agreement(anew, measure="ami"))
    assert np.array_equal(qt.ncai(selected), qt.ncai(anew))
    assert np.array_equal(qt.trust(selected), qt.trust(anew))
