"""How near a clustering comes to known classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate.crowd import agreement
from quorate.ensemble import Ensemble
from quorate.errors import QuorateError


@dataclass(frozen=True)
class Scores:
    """Agreement of a clustering with known classes; 1 is perfect."""

    nmi_sqrt: float
    """Normalised mutual information, over the geometric mean of the entropies (equation 16)."""
    nmi_max: float
    """Normalised mutual information, over the larger entropy (the authors' program)."""
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
        Negative integers are a cluster like any other; None and NaN are missing.

    Examples
    --------
    >>> import quorate as qt
    >>> qt.evaluate([0, 0, 1, 1], ["a", "a", "b", "b"])
    Scores(nmi_sqrt=1.0, nmi_max=1.0, ari=1.0, ami=1.0, purity=1.0)
    """
    from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

    pair = Ensemble([labels, truth], names=["labels", "truth"], noise="cluster")
    both = np.flatnonzero(np.all(pair.patterns >= 0, axis=1))
    if len(both) == 0:
        raise QuorateError("labels and truth have no row in common where both are known; nothing can be scored.")
    table = pair.cooccurrence.toarray()[pair.cluster_member == 0][:, pair.cluster_member == 1]
    row_pattern = pair.require_rows("evaluate")
    found, classes = pair.patterns[row_pattern[np.isin(row_pattern, both)]].T
    return Scores(
        nmi_sqrt=float(agreement(pair, "sqrt")[0, 1]),
        nmi_max=float(agreement(pair, "max")[0, 1]),
        ari=float(adjusted_rand_score(classes, found)),
        ami=float(adjusted_mutual_info_score(classes, found)),
        purity=float(table.max(axis=1).sum() / table.sum()),
    )
