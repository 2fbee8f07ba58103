"""EM iterations of a mixture of classes in which every member has its own label probabilities."""

import numpy as np

from quorate._kernels._jit import jit


@jit
def joint_logarithms(indptr, indices, values, logarithms, shares, start, stop, out, largest):
    """Write for patterns start..stop the logarithm of the joint probability with each class, minus the largest of them.

    indptr, indices, values : the clusters of each pattern and its membership in them (1 for labels), in CSR form
    logarithms : (n_clusters, k) of the probability of each label
    shares : (k,) logarithms of the shares of the classes
    out, largest : (m, k), (m,) written in the rows of these patterns
    """
    for i in range(start, stop):
        total = out[i]
        total[:] = 0.0
        # Labels are independent given the class: logarithms add up, and missing labels add nothing.
        for e in range(indptr[i], indptr[i + 1]):
            part = logarithms[indices[e]]
            for g in range(len(total)):
                total[g] += values[e] * part[g]
        # The largest is subtracted, so that no exponential underflows for all classes together.
        most = -np.inf
        for g in range(len(total)):
            total[g] += shares[g]
            most = max(most, total[g])
        for g in range(len(total)):
            total[g] -= most
        largest[i] = most


@jit
def normalize(start, stop, joint, total):
    """Divide the rows start..stop of `joint` (m, k) by their sums, which are written to `total` (m,)."""
    for i in range(start, stop):
        row = joint[i]
        total[i] = 0.0
        for g in range(len(row)):
            total[i] += row[g]
        for g in range(len(row)):
            row[g] /= total[i]


@jit
def add_memberships(indptr, indices, values, counts, memberships, start, stop, of_class, of_cluster):
    """Add up the number of rows of patterns start..stop in each class, and in each class and cluster.

    indptr, indices, values : the clusters of each pattern and its membership in them (1 for labels), in CSR form
    counts, memberships : (m,), (m, k)
    of_class, of_cluster : (k,), (n_clusters, k) added to
    """
    weighted = np.empty(memberships.shape[1], dtype=np.float64)
    for i in range(start, stop):
        for g in range(len(weighted)):
            weighted[g] = counts[i] * memberships[i, g]
            of_class[g] += weighted[g]
        for e in range(indptr[i], indptr[i + 1]):
            total = of_cluster[indices[e]]
            for g in range(len(weighted)):
                total[g] += values[e] * weighted[g]
