"""What the tests share: the running example, published ensembles, random ensembles."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

settings.register_profile("quorate", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quorate")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session", autouse=True)
def _one_thread_of_linear_algebra():
    """Test processes share the cores; threads that wait for each other would take most of their time."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture
def running_example():
    """The example E1: six rows, three members, seven clusters."""
    return np.array([[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]).T


@pytest.fixture(scope="session")
def published():
    """Return a loader of published ensembles and reference answers, as dictionaries of arrays."""

    def load(folder, name):
        path = SHARED / folder / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"the published files are not here ({folder}/{name}.npz)")
        with np.load(path) as archive:
            return dict(archive)

    return load
