"""Fixtures: the running example, a generated ensemble, published ensembles."""

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from reference_answers import PATH as GENERATED
from reference_answers import generated_labels
from support import SHARED

settings.register_profile("quorate", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quorate")


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
def generated():
    """(n, members) labels of an ensemble made by nearest-row partitions of points in the plane."""
    return generated_labels()


@pytest.fixture(scope="session")
def published():
    """Return a loader of published ensembles and reference answers, as dictionaries of arrays.

    The name "generated" stands for the generated ensemble and the answers of our own oracles.
    """

    def load(folder, name):
        path = GENERATED if name == "generated" else SHARED / folder / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"needs the published file {folder}/{name}.npz in a folder `shared` next to the repository")
        with np.load(path) as archive:
            return dict(archive)

    return load
