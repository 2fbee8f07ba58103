"""Structure judged by labels alone."""

import numpy as np
import pytest

import quorate as qt
from support import raises


def noisy(random, truth, n_members, noise):
    """Return members that redraw a share of the labels of the truth."""
    return [np.where(random.random(len(truth)) < noise, random.permutation(truth), truth) for _ in range(n_members)]


@pytest.mark.parametrize("k", [2, 3, 9, 20, 32])
@pytest.mark.parametrize("noise", [0.03, 0.2])
def test_planted_clusters_are_clear_whatever_their_number(k, noise):
    """Only 2 to 8 clusters were checked: 20 clear groups were called none, and 2 to 15 doubtful."""
    truth = np.repeat(np.arange(k), 40)
    found = qt.label_structure(noisy(np.random.default_rng(k), truth, 12, noise))
    assert (found.verdict, found.n_clusters) == ("clear", k)
    assert found.sentence.endswith(f"at {k} clusters).")


def test_labels_are_checked_at_the_number_that_was_given():
    truth = np.repeat(np.arange(9), 40)
    members = noisy(np.random.default_rng(0), truth, 10, 0.05)
    assert qt.label_structure(members, 9).stability > 0.99
    wrong = qt.label_structure(members, 4)
    assert wrong.n_clusters == 4
    assert wrong.stability < 0.99
    with raises("integer", "n_clusters"):
        qt.label_structure(members, 0)


def test_uneven_groups_are_clear():
    truth = np.repeat(np.arange(4), [960, 20, 10, 10])
    assert qt.label_structure(noisy(np.random.default_rng(0), truth, 10, 0.1), 4).verdict == "clear"


def test_random_labels_show_no_structure():
    random = np.random.default_rng(0)
    for k in (2, 5, 20):
        found = qt.label_structure(random.integers(0, k, (300, 10)))
        assert found.verdict == "none"
        assert found.sentence.startswith("No evidence of these clusters, judged by labels only")


def test_what_labels_cannot_show_is_a_record_with_a_reason():
    """Three members gave None."""
    truth = np.repeat([0, 1, 2], 50)
    random = np.random.default_rng(0)
    few = qt.label_structure([truth] * 3)
    assert (few.verdict, few.stability, few.reason, few.n_clusters) == ("unknown", None, "too few members", 3)
    assert few.sentence == "Labels cannot show whether there are clusters: there are fewer than four members."
    assert qt.label_structure([np.zeros(90, dtype=int)] * 4).reason == "one cluster"
    assert qt.label_structure([[0, 0, 1]] * 4).reason == "too few rows"
    dice = [random.integers(0, 4, 150) for _ in range(20)]
    assert qt.label_structure([*noisy(random, truth, 3, 0.02), *dice]).reason == "too few agreeing members"


def test_random_members_do_not_make_clear_clusters_doubtful():
    rng = np.random.default_rng(0)
    good = noisy(rng, np.repeat(np.arange(4), 60), 6, 0.01)
    junk = [rng.integers(0, k, 240) for k in (4, 30, 80)]
    dice = [rng.integers(0, rng.integers(2, 9), 240) for _ in range(24)]
    assert qt.label_structure([*good, *junk], 4).verdict == "clear"
    among = qt.label_structure([*good, *dice], 4)
    assert (among.verdict, among.n_members) == ("clear", 6)


def test_labels_alone_do_not_depend_on_the_order_of_rows():
    random = np.random.default_rng(3)
    labels = random.integers(0, 3, (80, 6))
    shuffled = labels[random.permutation(80)]
    assert qt.label_structure(shuffled).stability == pytest.approx(qt.label_structure(labels).stability)
