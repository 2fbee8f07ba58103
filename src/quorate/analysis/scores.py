"""How near a clustering comes to known classes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.ensemble import Ensemble
from quorate.errors import InputError
from quorate.numerics.mutual_information import normalized_mutual_information


@dataclass(frozen=True)
class Scores:
    """Agreement of a clustering with known classes; 1 is perfect."""

    nmi_sqrt: float
    """Normalized mutual information, over the geometric mean of the entropies (equation 16)."""
    nmi_max: float
    """Normalized mutual information, over the larger entropy (the authors' program)."""
    ari: float
    """Adjusted Rand index."""
    ami: float
    """Adjusted mutual information."""
    purity: float
    """Share of rows whose class is the most frequent one of their cluster."""


def evaluate(labels: Any, truth: Any) -> Scores:
    """Score a clustering against known classes, over the rows where both are known.

    Parameters
    ----------
    labels, truth : label vectors of the same length
        Negative integers are a cluster like any other; None and NaN are missing. `labels` may also be the result of
        `consensus` or a fitted estimator.

    Examples
    --------
    >>> import quorate as qt
    >>> qt.evaluate([0, 0, 1, 1], ["a", "a", "b", "b"])
    Scores(nmi_sqrt=1.0, nmi_max=1.0, ari=1.0, ami=1.0, purity=1.0)
    """
    # Results and estimators are accepted in place of their labels.
    if isinstance(getattr(labels, "ensemble", None), Ensemble):
        labels = labels.labels
    labels = getattr(labels, "labels_", labels)
    for what, vector in (("labels", labels), ("truth", truth)):
        if not isinstance(vector, Iterable):
            raise InputError(
                f"must be a label vector; got {type(vector).__name__}.",
                code="label-vector",
                parameter=what,
                hint="Pass its labels.",
            )
        if len(getattr(vector, "shape", (0,))) != 1:
            raise InputError(
                "must be one label vector; got a table.",
                code="label-vector",
                parameter=what,
                hint="Score its columns one by one.",
            )
    sizes = [len(vector) for vector in (labels, truth) if hasattr(vector, "__len__")]
    if len(set(sizes)) > 1:
        raise InputError(
            f"labels and truth must be of the same rows; got {sizes[0]:,} labels and {sizes[1]:,} classes.",
            code="row-count",
        )
    pair = Ensemble([labels, truth], names=["labels", "truth"], noise="cluster")
    return score_table(pair.cooccurrence[pair.cluster_member == 0][:, pair.cluster_member == 1].toarray())


def score_table(table: NDArray[Any]) -> Scores:
    """Return the scores of a clustering from its contingency table: clusters x classes, the rows they share."""
    from sklearn.metrics.cluster import expected_mutual_information

    table = np.asarray(table, dtype=np.float64)
    n = table.sum()
    if n == 0:
        raise InputError(
            "labels and truth have no row in common where both are known; nothing can be scored.", code="no-common-rows"
        )
    # Empty rows and columns would divide by 0.
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    mutual, entropies = _information(table)
    same = table.size == 1
    expected = 0.0 if same else float(expected_mutual_information(table.astype(np.int64), int(n)))
    return Scores(
        nmi_sqrt=_nmi(mutual, entropies, "sqrt"),
        nmi_max=_nmi(mutual, entropies, "max"),
        ari=adjusted_rand(table),
        ami=1.0 if same else _adjusted(mutual, expected, float(entropies.mean())),
        purity=float(table.max(axis=1).sum() / n),
    )


def _information(table: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return mutual information and both entropies from a contingency table without empty rows or columns."""
    n, rows, columns = table.sum(), table.sum(axis=1), table.sum(axis=0)
    filled = table > 0
    mutual = max(float(np.sum(table[filled] / n * np.log((table * n / np.outer(rows, columns))[filled]))), 0.0)
    return mutual, np.array([-np.sum(side / n * np.log(side / n)) for side in (rows, columns)])


def _nmi(mutual: float, entropies: NDArray[np.float64], normalize: str) -> float:
    return float(normalized_mutual_information(np.array(mutual), entropies[0], entropies[1], normalize))


def _adjusted(value: float, expected: float, largest: float) -> float:
    """Return a score with what chance would give taken off; where chance gives all there is, 1 if it was reached."""
    room = largest - expected
    if abs(room) > 1e-12:
        return (value - expected) / room
    return 1.0 if value > largest - 1e-12 else 0.0


def adjusted_rand(table: NDArray[np.float64]) -> float:
    """Return the adjusted Rand index of a contingency table."""
    return adjusted_rand_of(table, table.sum(axis=1), table.sum(axis=0))


def adjusted_rand_of(shared: NDArray[Any], first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return the adjusted Rand index from the entries of a contingency table that are not 0, and its margins."""
    shared, first, second = (counts.astype(np.float64) for counts in (shared, first, second))
    n = float(first.sum())
    together, in_first, in_second = (float(np.sum(counts * (counts - 1))) for counts in (shared, first, second))
    pairs = n * (n - 1)
    # Both partitions trivial or equal: perfect agreement by convention.
    if pairs == 0 or in_first == in_second == together:
        return 1.0
    expected = in_first * in_second / pairs
    return (together - expected) / ((in_first + in_second) / 2 - expected)
