"""Label columns of unusual numeric types."""

import numpy as np
import pytest

import quorate as qt
from quorate.labels import encode

CODES = np.arange(30) % 3
OTHER = CODES // 2


@pytest.mark.parametrize("kind", [">i2", ">i4", ">i8", ">u4", ">f4", ">f8"])
def test_big_endian_numbers(kind):
    matrix = np.stack([CODES, OTHER], axis=1)
    expected, found = qt.Ensemble(matrix), qt.Ensemble(matrix.astype(kind))
    np.testing.assert_array_equal(found.patterns, expected.patterns)
    np.testing.assert_array_equal(found.row_pattern, expected.row_pattern)
    assert all(levels.dtype.isnative for levels in found.levels)
    result = qt.consensus(matrix.astype(kind), 2)
    assert result.labels.tolist() == qt.consensus(matrix, 2).labels.tolist()
    assert result.predict(matrix.astype(kind)).tolist() == result.labels.tolist()


def test_masked_big_endian_numbers():
    masked = np.ma.MaskedArray(CODES.astype(">i4"), mask=CODES == 2)
    assert qt.Ensemble([masked]).levels[0].tolist() == [0, 1]


@pytest.mark.parametrize("digits", [300, 4_000, 5_000])
def test_integers_of_any_length(digits):
    big = 10**digits
    ens = qt.Ensemble([[big, big + 1, big, 7, -1]])
    assert ens.levels[0].tolist() == ["7", f"1{'0' * digits}", f"1{'0' * (digits - 1)}1"]
    assert ens.patterns[ens.row_pattern, 0].tolist() == [1, 2, 1, 0, -1]


def test_half_precision_does_not_overflow():
    labels = CODES.astype(np.float16)
    labels[0] = np.nan
    with np.errstate(all="raise"):
        column = encode(labels, "a", "missing")
    assert column.levels.tolist() == [0, 1, 2]
    assert column.digits(slice(4)).tolist() == [-1, 1, 2, 0]


@pytest.mark.parametrize(
    "value", [10**400, 10**5000, -(10**5000), 1e400, "x" * 10_000], ids=["400", "5000", "-5000", "inf", "text"]
)
def test_huge_parameters_are_named_briefly(value):
    with pytest.raises(qt.QuorateError) as caught:
        qt.WEAC(value).fit([CODES, OTHER])
    assert len(str(caught.value)) < 400
    with pytest.raises(qt.QuorateError) as caught:
        qt.WEAC(2, beta=value, weights="ncai").fit([CODES, OTHER])
    assert caught.value.parameter == "beta"
    assert len(str(caught.value)) < 400
