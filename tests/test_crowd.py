import numpy as np
import pytest
from hypothesis import given
from sklearn.metrics import normalized_mutual_info_score

import oracles
import quorate as qt

SKLEARN = {"sqrt": "geometric", "max": "max", "arithmetic": "arithmetic", "min": "min"}


@pytest.mark.parametrize(
    ("normalise", "pairs", "ncai", "weights"),
    [
        ("sqrt", [0.529541, 0.479139, 0.761170], [0.7815, 1, 0.9610], [0.2410, 0.3946, 0.3644]),
        ("max", [0.420620, 0.459148, 0.579380], [0.8471, 0.9629, 1], [0.2713, 0.3506, 0.3781]),
    ],
)
def test_running_example(running_example, normalise, pairs, ncai, weights):
    assert qt.agreement(running_example, normalise)[np.triu_indices(3, 1)] == pytest.approx(pairs, abs=5e-7)
    assert qt.ncai(running_example, normalise) == pytest.approx(ncai, abs=5e-5)
    assert qt.member_weights(running_example, normalise=normalise) == pytest.approx(weights, abs=5e-5)


@pytest.mark.parametrize("normalise", SKLEARN)
@given(labels=oracles.label_matrices(missing=True))
def test_agreement_is_nmi_over_common_rows(normalise, labels):
    found = qt.agreement(list(labels.T), normalise)
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
                    else normalized_mutual_info_score(x, y, average_method=SKLEARN[normalise])
                )
            assert found[i, j] == pytest.approx(expected, abs=1e-9)


@given(oracles.label_matrices(missing=True))
def test_cai_counts_agreement_by_the_rows_tested(labels):
    members = list(labels.T)
    similarity = qt.agreement(members)
    n_rows, n_members = labels.shape
    expected = np.ones(1)
    if n_members > 1:
        common = (labels >= 0).T.astype(float) @ (labels >= 0) / n_rows
        expected = [
            sum(common[i, j] * similarity[i, j] for j in range(n_members) if j != i) / (n_members - 1)
            for i in range(n_members)
        ]
    assert qt.cai(members) == pytest.approx(expected)
    assert np.all((qt.ncai(members) >= 0) & (qt.ncai(members) <= 1))


def test_degenerate_members():
    two_groups, one_group, apart = [0, 0, 1, 1], [0, 0, 0, 0], [0, 1, 2, 3]
    assert qt.ncai([two_groups]).tolist() == [1.0]
    assert qt.ncai([two_groups, two_groups, two_groups]) == pytest.approx([1, 1, 1])
    assert qt.ncai([two_groups, two_groups, one_group]).tolist() == [1.0, 1.0, 0.0]
    assert qt.ncai([one_group, one_group]).tolist() == [1.0, 1.0]
    assert qt.ncai([two_groups, one_group]).tolist() == [1.0, 1.0]
    assert qt.ncai([apart, apart]) == pytest.approx([1, 1])
    assert qt.agreement([two_groups, one_group])[0, 1] == 0.0


def test_no_common_rows_count_nothing():
    labels = [[0, 1, None, None], [None, None, 0, 1], [0, 1, 0, 1]]
    assert qt.agreement(labels)[0, 1] == 0.0
    assert qt.ncai(labels) == pytest.approx([0.5, 0.5, 1.0])


def test_beta_zero_gives_equal_weights_even_to_a_useless_member():
    labels = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0]]
    assert qt.member_weights(labels, beta=0) == pytest.approx([1 / 3] * 3)
    assert qt.member_weights(labels, beta=2).tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("beta", [-1, np.nan, np.inf, "2", None, True])
def test_bad_beta_is_refused(running_example, beta):
    with pytest.raises(qt.QuorateError, match="beta must be a finite number of at least 0; got"):
        qt.member_weights(running_example, beta=beta)


def test_bad_normalise_names_the_nearest(running_example):
    with pytest.raises(qt.QuorateError, match="normalise must be one of.*Did you mean 'arithmetic'"):
        qt.agreement(running_example, normalise="arithmetical")
