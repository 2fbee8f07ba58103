"""Scores of many clusterings of patterns at once, from their contingency tables with the classes."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate._support.typing import Floats
from quorate.crowd import normalised_mutual_information
from quorate.ensemble import Ensemble

SCORES = ("sqrt", "max")
"""The normalisations of NMI that results are scored with: the paper's equation, and the authors' program."""


def class_counts(ens: Ensemble, classes: NDArray[Any]) -> Floats:
    """(m, classes) number of rows of each pattern in each class."""
    code = np.unique(classes, return_inverse=True)[1]
    n_classes = int(code.max()) + 1
    cell = ens.require_rows("class_counts").astype(np.int64) * n_classes + code
    counts = np.bincount(cell, minlength=ens.n_patterns * n_classes)
    return counts.reshape(ens.n_patterns, n_classes).astype(np.float64)


def score_columns(labels: NDArray[Any], counts: Floats) -> dict[str, Floats]:
    """Return the NMI of each column of labels with the classes, in each normalisation (equation 16).

    Parameters
    ----------
    labels : (m, columns) array of non-negative integers
        Clusterings of the patterns.
    counts : (m, classes) array
        As from `class_counts`.
    """
    n_patterns, n_columns = labels.shape
    widths = labels.max(axis=0).astype(np.int64) + 1
    offsets = np.concatenate([[0], np.cumsum(widths)])
    # One sparse product gives the contingency tables of all columns, one below the other.
    cluster = (labels + offsets[:-1]).T.ravel()
    pattern = np.tile(np.arange(n_patterns), n_columns)
    ones = np.ones(len(cluster))
    tables = sp.csr_array((ones, (cluster, pattern)), shape=(offsets[-1], n_patterns)) @ counts
    column = np.repeat(np.arange(n_columns), widths)
    total, of_class = counts.sum(), counts.sum(axis=0)
    size = tables.sum(axis=1)
    independent = size[:, None] * of_class / total
    terms = tables / total * np.log(np.divide(tables, independent, out=np.ones_like(tables), where=tables > 0))
    mutual: Floats = np.bincount(column, weights=terms.sum(axis=1), minlength=n_columns).astype(np.float64)
    entropy: Floats = np.bincount(column, weights=_entropy_terms(size / total), minlength=n_columns).astype(np.float64)
    class_entropy = np.full(n_columns, _entropy_terms(of_class / total).sum())
    return {norm: normalised_mutual_information(mutual, entropy, class_entropy, norm) for norm in SCORES}


def _entropy_terms(share: Floats) -> Floats:
    """Return -p log p with 0 log 0 = 0."""
    return -share * np.log(share, out=np.zeros_like(share), where=share > 0)
