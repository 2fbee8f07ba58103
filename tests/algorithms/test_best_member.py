"""The best member."""

import pytest

import quorate as qt


def test_best_member_predicts_its_missing_labels():
    fitted = qt.BestMember(weights=[1, 0.1]).fit([[0, 0, 0, 1, 1, None], [0, 0, 0, 0, 1, 1]])
    assert fitted.best_member_ == "member_0"
    assert fitted.distances_ * 0.55 == pytest.approx([11 + 1.9, 19])
    assert fitted.labels_.tolist() == [1, 1, 1, 0, 0, 0]
