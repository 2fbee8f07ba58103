"""The dip, its p-values, and p-values of several tests together."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from quorate.analysis.structure.dip_test import dip, dip_p_value, holm, simes


def least_distance(sample):
    """Return the dip by its definition: the least distance to any distribution with one mode.

    For a mode at each of the distinct values: values left of it are convex, right of it concave, with a jump at it.
    """
    x, counts = np.unique(sample, return_counts=True)
    upto = np.cumsum(counts) / len(sample)
    below, m = upto - counts / len(sample), len(x)
    return max(1 / (2 * len(sample)), min(_with_mode(x, below, upto, m, mode) for mode in range(m)))


def _with_mode(x, below, upto, m, mode):
    lines, bounds, d = [], [], 2 * m

    def at_most(bound, **terms):
        line = np.zeros(2 * m + 1)
        for name, factor in terms.items():
            line[int(name[1:])] += factor
        lines.append(line)
        bounds.append(bound)

    def near(place, value):
        at_most(value, **{f"v{place}": 1, f"v{d}": -1})
        at_most(-value, **{f"v{place}": -1, f"v{d}": -1})

    for i in range(m):
        if i <= mode:
            near(i, below[i])
        if i < mode:
            near(i, upto[i])
        if i >= mode:
            near(m + i, upto[i])
        if i > mode:
            near(m + i, below[i])
    at_most(0, **{f"v{mode}": 1, f"v{m + mode}": -1})
    for offset, first, last, sign in ((0, 0, mode, 1), (m, mode, m - 1, -1)):
        for a in range(first, last - 1):
            left, right = x[a + 1] - x[a], x[a + 2] - x[a + 1]
            middle = {f"v{offset + a}": -sign / left, f"v{offset + a + 1}": sign / left + sign / right}
            at_most(0, **middle, **{f"v{offset + a + 2}": -sign / right})
        for a in range(first, last):
            at_most(0, **{f"v{offset + a}": 1, f"v{offset + a + 1}": -1})
    target = np.zeros(2 * m + 1)
    target[d] = 1
    return linprog(target, A_ub=np.array(lines), b_ub=np.array(bounds), bounds=(0, 1), method="highs").fun


@pytest.mark.parametrize("seed", range(12))
def test_the_dip_is_what_it_is_defined_as(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 11))
    samples = [
        random.random(n),
        np.concatenate([random.normal(0, 0.1, n), random.normal(1, 0.1, 2)]),
        random.integers(0, 5, n),
    ]
    for sample in samples:
        assert dip(sample) == pytest.approx(least_distance(sample), abs=1e-9)


def test_the_dip_of_two_points_far_apart_is_a_quarter():
    assert dip(np.repeat([0.0, 1.0], 500)) == pytest.approx(0.25)
    assert dip(np.arange(1000)) == pytest.approx(1 / 2000)


def test_the_dip_does_not_depend_on_place_and_scale():
    sample = np.random.default_rng(0).random(40)
    assert dip(3 + 100 * sample) == pytest.approx(dip(sample), abs=1e-9)
    assert dip(-sample) == pytest.approx(dip(sample), abs=1e-9)


def test_p_values_of_uniform_samples_are_uniform():
    random = np.random.default_rng(1)
    found = np.array([dip_p_value(dip(random.random(60)), 60) for _ in range(800)])
    for level in (0.5, 0.2, 0.1, 0.05):
        assert abs((found <= level).mean() - level) < 3.5 * np.sqrt(level * (1 - level) / 800)


def test_p_values_fall_with_the_dip():
    found = [dip_p_value(value, 100) for value in (0.01, 0.04, 0.05, 0.06, 0.2)]
    assert found[0] == 1.0
    assert all(a >= b for a, b in itertools.pairwise(found))
    assert found[-1] == pytest.approx(1e-4)


def test_several_tests_together():
    assert simes([]) == 1.0
    assert simes([0.4, 0.03]) == pytest.approx(0.06)
    assert simes([0.02, 0.02, 0.02]) == pytest.approx(0.02)  # 0.06 if each counted alone


def test_adjusted_p_values_of_several_tests():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.01, 0.9], 2) == pytest.approx([0.04, 1.0])
    assert holm([]) == []
