"""Copies and families of members: which are found, how much they count, and families that are given."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

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
    assert qt.ensemble_trust([*members, *sources, *copies]).copies == (family,)


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


def runs_of_one_clusterer(n_runs, seed=5):
    """Return eight nested clusterings of one structure, and noisy runs of another one."""
    random = np.random.default_rng(seed)
    rows, other = np.arange(800), np.random.default_rng(seed + 1).integers(6, size=800)
    good = [redraw(rows // size, 0.05, 800 // size, random) for size in (400, 200, 160, 100, 80, 50, 40, 25)]
    return good, [redraw(other, 0.15, 6, random) for _ in range(n_runs)]


def test_runs_of_one_clusterer_are_a_family():
    good, runs = runs_of_one_clusterer(40)
    ens = qt.Ensemble([*good, *runs])
    found = qt.families(ens)
    # They are no copies of each other.
    same = sameness(ens)
    assert same[8:, 8:][~np.eye(40, dtype=bool)].max() < 0.8
    assert found.similar == tuple(range(8, 48))
    assert found.groups == (found.similar,)
    assert found.kind(found.similar) == "similar"
    diversity, of_others = (1 / np.mean(part**2) for part in (same[8:, 8:], same[:8, :8]))
    assert of_others > 1.1 * diversity
    assert found.counts[8:] == pytest.approx(np.full(40, 40**-0.8))
    assert found.counts[:8].tolist() == [1.0] * 8
    assert qt.families(ens, [*range(8), *[8] * 40]).counts[8:].sum() == pytest.approx(1)


def test_families_do_not_depend_on_order_names_or_duplicated_rows():
    good, runs = runs_of_one_clusterer(12)
    labels = np.stack([*good, *runs])
    counts = qt.families(list(labels)).counts
    assert counts.min() < 0.5
    random = np.random.default_rng(6)
    order = random.permutation(len(labels))
    renamed = [random.permutation(labels[j].max() + 1)[labels[j]] for j in order]
    assert qt.families(renamed).counts == pytest.approx(counts[order], rel=1e-9)
    weight = random.integers(1, 4, size=labels.shape[1])
    weighted = qt.Ensemble(list(labels), row_weights=weight)
    assert qt.families(weighted).counts == pytest.approx(qt.families(list(np.repeat(labels, weight, axis=1))).counts)


def test_random_or_poor_members_do_not_make_a_family_of_the_good_ones():
    random = np.random.default_rng(7)
    truth = random.integers(4, size=600)
    good = [redraw(truth, 0.15, 4, random) for _ in range(8)]
    coarse = random.integers(3, size=600)
    for others in (
        [random.integers(5, size=600) for _ in range(4)],
        [redraw(coarse, 0.7, 3, random) for _ in range(4)],
    ):
        found = qt.families([*good, *others])
        assert found.similar == ()
        assert found.counts.tolist() == [1.0] * 12


@pytest.mark.parametrize(
    "members",
    [
        [[0, 0, 1, 1], [0, 1, 0, 1]],
        [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 0, 1]],
        [[-1, -1, -1, -1], [0, 0, 1, 1], [0, 1, -1, -1], [-1, -1, 0, 1], [0, 1, 1, 1]],
        [[0, 1, 2, 3]],
    ],
)
def test_degenerate_members_have_counts(members):
    found = qt.families(members)
    assert found.similar == ()
    assert np.all((found.counts > 0) & (found.counts <= 1))


def test_many_runs_of_a_poor_clusterer_do_not_move_the_default():
    good, runs = runs_of_one_clusterer(60)
    alone, together = (qt.consensus(some, 8).labels for some in (good, [*good, *runs]))
    assert adjusted_rand_score(alone, together) > 0.98
    undiscounted = qt.consensus([*good, *runs], 8, groups=list(range(68))).labels
    assert adjusted_rand_score(alone, undiscounted) < 0.5


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
    assert fitted.ensemble_trust_.families.counts.tolist() == [0.5, 0.5, 1, 1]


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
