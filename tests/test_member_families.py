"""Copies and families of members: which are found, how much they count, and families that are given."""

import numpy as np
import pytest

import quorate as qt
from quorate.member_families import given_families, sameness


def redraw(labels, share, k, random):
    """Return labels of which a share is drawn at random."""
    return np.where(random.random(len(labels)) < share, random.integers(k, size=len(labels)), labels)


def test_sameness_by_hand():
    one = np.repeat([0, 1, 2], [4, 4, 2])
    moved = np.array([0, 0, 0, 1, 1, 1, 1, 1, 2, 2])  # one of ten rows is elsewhere, the largest cluster has 5
    merged = np.repeat([0, 1], [4, 6])  # matched the other way round, only 4 + 4 rows are in matched clusters
    constant = np.zeros(10)
    expected = [
        [1, (0.9 - 0.5) / 0.5, (0.8 - 0.6) / 0.4, 0],
        [(0.9 - 0.5) / 0.5, 1, (0.7 - 0.6) / 0.4, 0],
        [(0.8 - 0.6) / 0.4, (0.7 - 0.6) / 0.4, 1, 0],
        [0, 0, 0, 1],
    ]
    assert sameness(qt.Ensemble([one, moved, merged, constant])) == pytest.approx(np.array(expected))


def test_rows_that_one_member_does_not_label_are_not_the_same():
    whole = np.repeat([0, 1], 50)
    part = np.where(np.arange(100) % 2, whole, -1)
    assert sameness(qt.Ensemble([whole, part]))[0, 1] == pytest.approx((0.5 - 0.25) / 0.75)


@pytest.mark.parametrize("k", [2, 3, 5, 10])
@pytest.mark.parametrize("fidelity", [0.95, 0.98, 0.99, 1.0])
@pytest.mark.parametrize("of_random", [False, True])
def test_near_copies_are_found_and_named(k, fidelity, of_random):
    random = np.random.default_rng(0)
    truth = random.integers(k, size=2000)
    members = [redraw(truth, 0.2, k, random) for _ in range(5)]
    source = random.integers(k, size=2000) if of_random else members[0]
    copies = [redraw(source, 1 - fidelity, k, random) for _ in range(3)]
    sources = [source] if of_random else []
    found = qt.families([*members, *sources, *copies])
    family = (5, 6, 7, 8) if of_random else (0, 5, 6, 7)
    assert found.groups == (family,)
    assert found.counts[list(family)].sum() == pytest.approx(4**0.25, abs=0.15)
    assert qt.crowd_trust([*members, *sources, *copies]).copies == (family,)


def test_the_effective_number_of_members():
    """With growth 0 it is the diversity of order 0 of Leinster and Cobbold: exact copies count as one."""
    random = np.random.default_rng(1)
    members = [random.integers(4, size=500) for _ in range(3)]
    alone = qt.families(members)
    assert alone.effective_members == 3
    assert alone.groups == ()
    copied = qt.families([*members, members[0], members[0], members[1]])
    assert copied.groups == ((0, 3, 4), (1, 5))
    assert copied.effective_members == pytest.approx(3**0.2 + 2**0.2 + 1)
    given = qt.families([*members, members[0], members[0], members[1]], groups=[0, 1, 2, 0, 0, 1])
    assert given.effective_members == pytest.approx(3)
    hundred = qt.families([members[0]] * 100 + members[1:])
    assert hundred.effective_members == pytest.approx(100**0.2 + 2)


def test_trust_without_copies_is_the_mean_agreement():
    random = np.random.default_rng(2)
    truth = random.integers(4, size=600)
    members = [redraw(truth, share, 4, random) for share in (0.3, 0.4, 0.5, 0.6)]
    agreement = qt.agreement(members, measure="ami")
    assert qt.trust(members) == pytest.approx((agreement.sum(axis=1) - 1) / 3)
    # A copy of the first member: it hardly changes the trust of the others, and not at all what the copies have.
    copied = qt.trust([*members, members[0]])
    assert copied[0] == copied[4]
    beyond_one = 2**0.2 - 1
    others = agreement[0, 1:].sum()
    assert copied[0] == pytest.approx((others + beyond_one) / (3 + beyond_one))
    count = 2**-0.8
    expected = (agreement[1, [2, 3]].sum() + 2 * count * agreement[0, 1]) / (2 + 2 * count)
    assert copied[1] == pytest.approx(expected)


def test_families_can_be_given():
    names = ["kmeans_1", "kmeans_2", "ward_1", "single"]
    assert given_families(["a", "a", "b", "c"], names).tolist() == [0, 0, 1, 2]
    by_name = given_families({"kmeans_1": "x", "ward_1": "x"}, names)
    assert by_name[0] == by_name[2]
    assert len(set(by_name)) == 3
    by_pattern = given_families("{tool}_*", names)
    assert by_pattern[0] == by_pattern[1]
    assert len(set(by_pattern)) == 3
    random = np.random.default_rng(3)
    labels = {name: random.integers(3, size=300) for name in names}
    ens = qt.Ensemble(list(labels.values()), names=names)
    assert qt.families(ens, "{tool}_*").counts.tolist() == [0.5, 0.5, 1, 1]
    fitted = qt.consensus(ens, 3, groups="{tool}_*").estimator
    assert fitted.crowd_.families.counts.tolist() == [0.5, 0.5, 1, 1]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a", "b"], "groups must hold one family for each of the 3 members; got 2"),
        ({"d": 1}, "groups names 'd', which is not a member; the members are a, b, c"),
        ("tool_*", "groups must mark the family in the pattern"),
        ("{tool}_*", "groups matches no member: got '{tool}_*'"),
    ],
)
def test_groups_that_cannot_be_used_are_refused(groups, message):
    ens = qt.Ensemble([[0, 0, 1], [0, 1, 1], [0, 1, 2]], names=["a", "b", "c"])
    with pytest.raises(qt.QuorateError) as caught:
        qt.families(ens, groups)
    assert str(caught.value).startswith(message)
