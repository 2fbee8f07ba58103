"""WEAC."""

import numpy as np

import quorate as qt


def test_trivial_member_has_no_influence_in_weac(noisy_blobs):
    trivial = np.column_stack([noisy_blobs, np.zeros(200)])
    with_it, without = (qt.WEAC(n_clusters=5).fit(labels) for labels in (trivial, noisy_blobs))
    assert with_it.ncai_[-1] == 0
    assert np.array_equal(with_it.labels_, without.labels_)
