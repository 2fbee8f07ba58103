"""Every method and engine compared with the dense oracles on random ensembles."""

import pytest

from differential import CASES, check_case


@pytest.mark.parametrize("first", range(0, 30, 10))
def test_random_ensembles(first):
    for seed in range(first, first + 10):
        check_case(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(30, CASES, 1000))
def test_very_many_random_ensembles(first):
    for seed in range(first, first + 1000):
        check_case(seed)
