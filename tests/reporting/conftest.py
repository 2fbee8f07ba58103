import pytest

from support import noisy_consensus


@pytest.fixture(scope="module", params=[(3, 5), (40, 100)], ids=["3 clusters, 5 members", "40 clusters, 100 members"])
def answer(request):
    """Return classes and a fitted method."""
    return noisy_consensus(*request.param)
