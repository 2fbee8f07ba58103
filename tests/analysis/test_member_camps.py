"""Camps of members, and the credible ball around a consensus."""

import numpy as np
import polars as pl
import pytest

import quorate as qt
from support import raises


def noisy(random, classes, share):
    return np.where(random.random(len(classes)) < share, random.integers(0, classes.max() + 1, len(classes)), classes)


def nested_classes(random, n_rows):
    """Three classes, and seven that split the first and the last of them."""
    coarse = random.integers(0, 3, n_rows)
    fine = np.choose(coarse, [random.integers(0, 3, n_rows), np.full(n_rows, 3), 4 + random.integers(0, 3, n_rows)])
    return coarse, fine


@pytest.mark.parametrize("sizes", [(12, 8), (15, 5)])
def test_two_planted_camps_are_found(sizes):
    random = np.random.default_rng(0)
    for _ in range(10):
        coarse, fine = nested_classes(random, 500)
        members = [noisy(random, coarse, 0.1) for _ in range(sizes[0])]
        members += [noisy(random, fine, 0.1) for _ in range(sizes[1])]
        groups = qt.camps(members)
        assert [camp.members.tolist() for camp in groups.camps] == [
            list(range(sizes[0])),
            list(range(sizes[0], sum(sizes))),
        ]
    found = (
        f"The members fall into two groups: {sizes[0]} support 3 clusters, {sizes[1]} support 7 clusters that split "
    )
    assert groups.sentence.startswith(found)
    assert len(groups.differences[0].split) == 2


def test_camps_with_equal_numbers_of_clusters_are_distinguished():
    rows = np.arange(120)
    groups = qt.camps([rows // 40] * 3 + [(rows + 12) % 120 // 40] * 3)
    assert groups.sentence.endswith("3 support 3 clusters, 3 support 3 clusters with other boundaries.")


def test_single_members_between_two_camps_do_not_hide_them():
    random = np.random.default_rng(3)
    for n_between in (1, 2) * 5:
        coarse, fine = nested_classes(random, 500)
        between = np.where(coarse == 0, fine, coarse + 2)
        members = [noisy(random, coarse, 0.1) for _ in range(11)] + [noisy(random, fine, 0.1) for _ in range(8)]
        groups = qt.camps(members + [noisy(random, between, 0.1) for _ in range(n_between)])
        planted = [camp.members[camp.members < 19].tolist() for camp in groups.camps]
        assert sorted(planted) == [list(range(11)), list(range(11, 19))]


def test_members_of_one_opinion_are_one_camp():
    random = np.random.default_rng(1)
    for _ in range(20):
        classes = random.integers(0, 5, 400)
        groups = qt.camps([noisy(random, classes, random.uniform(0.02, 0.3)) for _ in range(20)])
        assert len(groups.camps) == 1
    assert groups.sentence == "The 20 members form one group: no subgroups with different partitions."
    assert np.isnan(groups.silhouette)


def test_camps_need_no_rows():
    """Counted tables have patterns only; the camps and their comparison are the same."""
    random = np.random.default_rng(4)
    coarse, fine = nested_classes(random, 300)
    members = [noisy(random, coarse, 0.1) for _ in range(6)] + [noisy(random, fine, 0.1) for _ in range(4)]
    with_rows = qt.camps(members)
    counted = qt.camps(qt.ensemble_from_frame(pl.DataFrame(dict(zip("abcdefghij", members, strict=True))).lazy()))
    assert counted.sentence == with_rows.sentence
    assert counted.differences[0].split == with_rows.differences[0].split
    labels = with_rows.camps[1].pattern_labels[qt.Ensemble(members).row_pattern]
    np.testing.assert_array_equal(labels, with_rows.camps[1].consensus.labels)


def test_the_weight_of_camps_is_that_of_the_result():
    random = np.random.default_rng(5)
    coarse, fine = nested_classes(random, 300)
    members = [noisy(random, coarse, 0.1) for _ in range(6)] + [noisy(random, fine, 0.1) for _ in range(4)]
    result = qt.consensus(members, 3)
    weights = [camp.weight for camp in qt.camps(result).camps]
    np.testing.assert_allclose(weights, [result.member_weights[:6].sum(), result.member_weights[6:].sum()])
    assert [camp.weight for camp in qt.camps(members).camps] == pytest.approx([0.6, 0.4])


def test_random_members_are_outliers_and_no_camp():
    random = np.random.default_rng(2)
    classes = random.integers(0, 3, 500)
    members = [noisy(random, classes, 0.05) for _ in range(6)] + [random.integers(0, 3, 500) for _ in range(2)]
    groups = qt.camps(members)
    assert len(groups.camps) == 1
    assert groups.outliers == ("member_6", "member_7")
    assert groups.sentence.endswith("2 members agree with no other member.")


def test_two_members_are_one_camp():
    assert len(qt.camps([[0, 0, 1, 1], [0, 1, 0, 1]]).camps) == 1


def test_the_ball_holds_the_share_of_the_weight():
    random = np.random.default_rng(3)
    classes = random.integers(0, 3, 300)
    result = qt.consensus([noisy(random, classes, share) for share in np.linspace(0, 0.5, 10)], 3)
    ball = qt.credible_ball(result, 0.8)
    inside = [result.ensemble.names.index(name) for name in ball.inside]
    assert result.member_weights[inside].sum() >= 0.8
    assert (ball.distances[inside] <= ball.radius).all()
    assert set(ball.outermost) <= set(ball.inside)


def test_distances_are_the_variation_of_information():
    result = qt.consensus([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1]], 2)
    np.testing.assert_allclose(qt.credible_ball(result).distances, [0, 0, 2])  # H = 1 bit each, nothing shared


def test_the_ball_needs_a_result_and_a_share():
    members = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1]]
    with raises("not-a-result", "result"):
        qt.credible_ball(members)
    for level in (0, 1.5):
        with raises("number", "level"):
            qt.credible_ball(qt.consensus(members, 2), level)
