"""Figures of the members: the order of the heat map."""

import numpy as np

from quorate.reporting.member_views import agreement_view


def test_similar_members_are_neighbors():
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 4, 200), rng.integers(0, 4, 200)
    view = agreement_view([one, other, one, other, one])
    assert sorted("".join("a" if j % 2 == 0 else "b" for j in view.order)) == list("aaabb")
    assert "".join("a" if j % 2 == 0 else "b" for j in view.order) in ("aaabb", "bbaaa")
