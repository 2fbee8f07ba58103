"""The rows on which members agree exactly with the consensus."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quorate as qt
from support import raises

# Small random ensembles trigger warnings that are beside the point here.
pytestmark = pytest.mark.filterwarnings("ignore::quorate.QuorateWarning")

ensembles = (
    st.integers(2, 5)
    .flatmap(
        lambda n_members: st.lists(
            st.lists(st.sampled_from([0, 1, 2, None]), min_size=n_members, max_size=n_members), min_size=4, max_size=25
        )
    )
    .filter(lambda rows: all(any(label is not None for label in row) for row in rows))
)


def noisy_members(random, classes, n_members, share):
    k = classes.max() + 1
    noise = random.random((len(classes), n_members)) < share
    return np.where(noise, random.integers(0, k, noise.shape), classes[:, None])


def agrees(member, labels):
    """Whether a member's partition of the labeled rows equals the consensus, up to renaming."""
    pairs = {(a, b) for a, b in zip(member, labels, strict=True) if b >= 0 and a is not None}
    return len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)


@given(ensembles, st.sampled_from([0.4, 0.6, 0.9, 1.0]))
def test_members_of_the_required_weight_agree_exactly_on_the_core(rows, required):
    columns = [list(column) for column in zip(*rows, strict=True)]
    result = qt.consensus(columns, 2, method="eac")
    kept = qt.core(result, required)
    agreeing = [agrees(column, kept.labels) for column in columns]
    assert result.member_weights[agreeing].sum() >= required - 1e-9
    assert np.isin(kept.labels, [-1, *result.labels]).all()
    assert (kept.labels[kept.labels >= 0] == result.labels[kept.labels >= 0]).all()
    assert kept.share == pytest.approx(np.mean(kept.labels >= 0))


@given(ensembles)
def test_less_agreement_keeps_more_rows(rows):
    columns = [list(column) for column in zip(*rows, strict=True)]
    curve = qt.core(qt.consensus(columns, 2, method="eac")).curve
    shares, levels = [point.share for point in curve], [point.agreement for point in curve]
    assert shares == sorted(shares)
    assert levels == sorted(levels, reverse=True)
    assert levels[0] == 1.0


def test_duplicated_rows_count_as_weights_and_order_does_not_matter():
    random = np.random.default_rng(0)
    labels = noisy_members(random, random.integers(0, 3, 200), 8, 0.1)
    whole = qt.core(qt.consensus(labels, 3, method="eac"), 0.7)
    order = random.permutation(200)
    shuffled = qt.core(qt.consensus(labels[order], 3, method="eac"), 0.7)
    np.testing.assert_array_equal(shuffled.labels, whole.labels[order])
    doubled = qt.core(qt.consensus(np.repeat(labels, 2, axis=0), 3, method="eac"), 0.7)
    np.testing.assert_array_equal(doubled.labels, np.repeat(whole.labels, 2))
    assert doubled.curve == whole.curve


def test_rows_of_the_core_are_right():
    random = np.random.default_rng(1)
    for _ in range(10):
        classes = random.integers(0, 4, 1000)
        labels = noisy_members(random, classes, 10, 0.03)
        kept = qt.core(labels, 0.9, n_clusters=4)
        table = qt.match(classes[kept.labels >= 0], kept.labels[kept.labels >= 0])
        assert sum(pair.n_shared for pair in table if pair.relation == "same") >= 0.99 * np.sum(kept.labels >= 0)
        assert kept.share > 0.5


def test_the_required_agreement_is_checked():
    with raises("number", "agreement"):
        qt.core([[0, 1], [0, 1]], 1.5)
