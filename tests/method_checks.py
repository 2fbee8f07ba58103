"""Comparisons that several tests of methods share."""

import numpy as np
import scipy.cluster.hierarchy as sch
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score

import quorate as qt
from quorate.algorithms.srs import simrank_similarity
from quorate.algorithms.wct import triple_similarity


def assert_same_partitions(found, expected, comparable=None):
    """Columns of labels are the same partitions, where they can be compared."""
    comparable = np.ones(found.shape[1], dtype=bool) if comparable is None else comparable
    for j in np.flatnonzero(comparable):
        assert adjusted_rand_score(found[:, j], expected[:, j]) == 1.0


def within(cuts, groups, counts):
    """Sum of the distances of patterns to their own groups."""
    groups = np.array(groups)
    return counts @ cuts.distances(groups, groups.max() + 1)[np.arange(len(groups)), groups]


def over_rows(ens, similarity):
    """(n, n) of a similarity over patterns; a row is similar to itself by 1."""
    full = similarity[np.ix_(ens.row_pattern, ens.row_pattern)]
    np.fill_diagonal(full, 1.0)
    return full


def scipy_heights(similarity, link):
    return sch.linkage(squareform(1 - similarity, checks=False), link)[:, 2]


def similarity_of(method, ens, weights=None):
    """(n, n) similarity of rows that a baseline links."""
    weights = np.ones(ens.n_members) if weights is None else weights
    patterns = np.arange(ens.n_patterns)
    if method is qt.EAC:
        return qt.coassociation(ens, weights, rows=True)
    if method is qt.WCT:
        return over_rows(ens, triple_similarity(ens, weights, 0.8, patterns).matrix())
    return over_rows(ens, simrank_similarity(ens, weights, 0.8, 5, patterns))
