"""Scores of many clusterings of patterns in one pass, from their contingency tables with the classes."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from quorate._utils.array_types import Floats
from quorate.ensemble import Ensemble
from quorate.numerics.mutual_information import normalized_mutual_information

SCORES = ("sqrt", "max")
"""The normalizations of NMI: sqrt (the equation of the paper) and max (the authors' program)."""


def class_counts(ens: Ensemble, classes: NDArray[Any]) -> Floats:
    """Return the (m, classes) number of rows of each pattern in each class."""
    code = np.unique(classes, return_inverse=True)[1]
    n_classes = int(code.max()) + 1
    # One number per pattern and class, counted in one pass.
    cell = ens.row_pattern.astype(np.int64) * n_classes + code
    counts = np.bincount(cell, minlength=ens.n_patterns * n_classes)
    return counts.reshape(ens.n_patterns, n_classes).astype(np.float64)


def score_columns(labels: NDArray[Any], counts: Floats) -> dict[str, Floats]:
    """Return the scores of each column of labels against the classes: NMI in each normalization (equation 16), ARI.

    Parameters
    ----------
    labels : (m, columns) array of non-negative integers
        Clusterings of the patterns.
    counts : (m, classes) array
        As from `class_counts`.
    """
    n_patterns, n_columns = labels.shape
    cluster, column = _stacked(labels)
    pattern = np.tile(np.arange(n_patterns), n_columns)
    entries = np.ones(len(cluster))
    tables = sp.csr_array((entries, (cluster, pattern)), shape=(len(column), n_patterns)) @ counts
    return _score_tables(tables, column, n_columns)


def score_rows(labels: NDArray[Any], classes: NDArray[np.int64]) -> dict[str, Floats]:
    """Return the scores of (n, columns) labels against (n,) classes of rows; rows without a label are one cluster."""
    # Rows without a label become one cluster more.
    labels = labels - np.minimum(labels.min(axis=0), 0)
    n_classes = int(classes.max()) + 1
    cluster, column = _stacked(labels)
    cell = cluster * n_classes + np.tile(classes, labels.shape[1])
    tables = np.bincount(cell, minlength=len(column) * n_classes).reshape(-1, n_classes)
    return _score_tables(tables.astype(np.float64), column, labels.shape[1])


def _stacked(labels: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return labels that are unique over all columns, column after column, and the column of each label."""
    widths = labels.max(axis=0).astype(np.int64) + 1
    # Clusters of all columns are numbered one after the other, so that one product gives all tables.
    offsets = np.concatenate([[0], np.cumsum(widths)])
    return (labels + offsets[:-1]).T.ravel().astype(np.int64), np.repeat(np.arange(labels.shape[1]), widths)


def _score_tables(tables: Floats, column: NDArray[np.int64], n_columns: int) -> dict[str, Floats]:
    """Return the scores of stacked contingency tables; `column` is the clustering of each line."""

    def sum_by_column(terms: Floats) -> Floats:
        return np.bincount(column, weights=terms, minlength=n_columns).astype(np.float64)

    size = tables.sum(axis=1)
    total, of_class = size[column == 0].sum(), tables[column == 0].sum(axis=0)
    independent = size[:, None] * of_class / total
    terms = tables / total * np.log(np.divide(tables, independent, out=np.ones_like(tables), where=tables > 0))
    mutual, entropy = sum_by_column(terms.sum(axis=1)), sum_by_column(_entropy_terms(size / total))
    class_entropy = np.full(n_columns, _entropy_terms(of_class / total).sum())
    scores = {norm: normalized_mutual_information(mutual, entropy, class_entropy, norm) for norm in SCORES}
    together, pairs = sum_by_column(_pairs(tables).sum(axis=1)), sum_by_column(_pairs(size))
    of_classes, all_pairs = _pairs(of_class).sum(), max(float(_pairs(total)), 1.0)
    expected, most = pairs * of_classes / all_pairs, (pairs + of_classes) / 2
    # Where chance gives all there is, the score is 1 by convention.
    apart = most - expected
    scores["ari"] = np.divide(together - expected, apart, out=np.ones(n_columns), where=np.abs(apart) > 1e-12 * most)
    return scores


def _pairs(sizes: Any) -> Any:
    return sizes * (sizes - 1) / 2


def _entropy_terms(share: Floats) -> Floats:
    """Return -p log p with 0 log 0 = 0."""
    return -share * np.log(share, out=np.zeros_like(share), where=share > 0)
