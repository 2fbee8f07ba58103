"""Is there anything to find? Whether clusters are apart in the features, by the dip between neighbors.

Two clusters that are one look unimodal along the line that parts them best; two that are apart do not. The dip of
Hartigan and Hartigan (1985) measures how far a sample is from having one mode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from quorate import _kernels
from quorate._utils.array_types import Floats, Labels
from quorate.errors import QuorateError

_LEAST_SHRINKAGE = 0.02  # so that features that say the same thing twice do no harm
# More rows find more than clusters: with thousands, any cloud that was cut in cells shows where. So a table counts as
# one of so many rows, of which two clusters have their share, or as many as they need to be told apart.
_MOST_ROWS, _ROWS_OF_A_PAIR = 600, 150
_FEWEST_ROWS = 16  # of two clusters together; fewer cannot have two modes worth the name
_PARTS = 20  # seen each along the line that the others draw
_NEAR = 0.7  # the share of rows nearest to the line, which have to show two modes on their own
_TINY = 1e-9
LEVEL = 0.05
"""The level at which structure counts as shown."""


def dip(sample: Any) -> float:
    """Return the dip of a sample: the largest distance of its distribution from the nearest with one mode.

    J. A. Hartigan, P. M. Hartigan: The Dip Test of Unimodality. Annals of Statistics 13 (1985).

    Examples
    --------
    >>> from quorate.analysis.structure.feature_structure import dip
    >>> round(dip([0, 1, 2, 3]), 3), round(dip([0, 0.01, 1, 1.01]), 3)
    (0.125, 0.247)
    """
    values, counts = np.unique(np.asarray(sample, dtype=np.float64), return_counts=True)
    upto = np.cumsum(counts).astype(np.float64)
    return float(_kernels.dip.dip(values, upto - counts, upto) / (2 * upto[-1]))


@cache
def _quantiles() -> tuple[Floats, Floats, Floats]:
    """Return sizes of samples, probabilities, and the quantiles of sqrt(n) dip of uniform samples (tools/dips.py)."""
    with (files("quorate.analysis.structure") / "dip_quantiles.npz").open("rb") as file:
        table = np.load(file)
        return table["sizes"].astype(np.float64), table["probabilities"], table["quantiles"]


def dip_p_value(value: float, n: int) -> float:
    """Return how often the dip of n uniform draws is as large, the least favorable case of one mode.

    Between the simulated sizes quantiles are interpolated in 1 / sqrt(n). Less than the smallest simulated probability
    is never claimed.
    """
    sizes, probabilities, quantiles = _quantiles()
    at = np.array([np.interp(-1 / np.sqrt(n), -1 / np.sqrt(sizes), column) for column in quantiles.T])
    scaled = np.sqrt(n) * value
    if scaled <= at[0]:
        return 1.0 if scaled < at[0] else float(probabilities[0])
    return float(np.exp(np.interp(scaled, at, np.log(probabilities))))


@dataclass(frozen=True)
class Boundary:
    """Two neighboring clusters, and whether anything parts them."""

    first: int
    second: int
    p_value: float
    """How often two clusters that are one would look as far apart; already multiplied by the number of tests."""

    @property
    def real(self) -> bool:
        """Whether the two are apart beyond doubt."""
        return self.p_value < LEVEL


@dataclass(frozen=True)
class Structure:
    """Whether the features have clusters at all, and which boundaries between them are real."""

    p_value: float
    """How often rows without clusters would look as clustered; Simes over boundaries and numbers of clusters."""
    boundaries: tuple[Boundary, ...]
    """Each cluster of the answer with its nearest neighbor."""
    n_clusters: int
    """Clusters of the answer."""
    sampled: bool
    """Whether large clusters were tested on a part of their rows."""
    testable: bool = True
    """Whether any two neighboring clusters have enough rows for a test."""

    @property
    def sentence(self) -> str:
        """What it means, in plain words."""
        if not self.testable:
            return "There are too few rows to tell whether there are clusters."
        if self.p_value >= LEVEL:
            said = "Nothing speaks for clusters here: no boundary is clearer than one group of rows would show it "
            said += f"(p = {self.p_value:.2g})."
        else:
            doubtful = [boundary for boundary in self.boundaries if not boundary.real]
            said = f"There are clusters here (p = {max(self.p_value, 1e-4):.2g})."
            if not doubtful:
                said += " Every cluster of the answer is apart from its nearest."
            else:
                pairs = ", ".join(f"{b.first} and {b.second}" for b in doubtful[:5])
                more = ", ..." if len(doubtful) > 5 else ""
                said += f" Clusters {pairs}{more} may be one: nothing parts them."
        return said + (" Large clusters were tested on a part of their rows." if self.sampled else "")


def examine(X: Floats, partitions: Mapping[int, Labels], answer: int) -> Structure:
    """Return whether anything parts the clusters of some partitions of the rows of X.

    Parameters
    ----------
    X : (n, d)
    partitions : mapping from numbers of clusters to (n,) labels
        Rows labeled -1 are left out.
    answer : int
        The partition whose boundaries are told one by one.
    """
    found = {k: _neighbors(X, labels) for k, labels in partitions.items()}
    n_tests = sum(len(pairs) for pairs in found.values())
    tested: dict[int, list[Boundary]] = {}
    p_values = []
    sampled = testable = False
    for k, pairs in found.items():
        tested[k] = []
        for first, second in pairs:
            one, two = X[partitions[k] == first], X[partitions[k] == second]
            most = max(_ROWS_OF_A_PAIR, _MOST_ROWS * (len(one) + len(two)) // len(X))
            sampled |= len(one) + len(two) > most
            testable |= _enough(one, two)
            p_values.append(_boundary_p_value(one, two, most))
            tested[k].append(Boundary(first, second, min(1.0, n_tests * p_values[-1])))
    n_clusters = int(partitions[answer].max(initial=-1)) + 1
    return Structure(simes(p_values), tuple(tested[answer]), n_clusters, sampled, testable)


def simes(p_values: Sequence[float]) -> float:
    """Return one p-value for several tests: the least of n p_(j) / j, p_(j) the j-th smallest of n (Simes 1986)."""
    ascending = np.sort(p_values)
    n = len(ascending)
    return min([1.0, *(n * ascending / np.arange(1, n + 1)).tolist()])


def _neighbors(X: Floats, labels: Labels) -> list[tuple[int, int]]:
    """Return each cluster with the one of the nearest mean, every pair once."""
    present = np.unique(labels[labels >= 0])
    if len(present) < 2:
        return []
    means = np.stack([X[labels == label].mean(axis=0) for label in present])
    squared = ((means[:, None] - means[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    nearest = squared.argmin(axis=1)
    pairs = {tuple(sorted((int(present[i]), int(present[j])))) for i, j in enumerate(nearest)}
    return sorted((a, b) for a, b in pairs)


def _boundary_p_value(one: Floats, two: Floats, most: int) -> float:
    """Return the dip test of the rows of two clusters along the line that parts them best, on at most so many rows.

    A line drawn by the very rows that are tested parts any cloud of many features, so each of twenty parts of the rows
    is seen along the line that the others draw. And two neighboring cells of an even cloud are narrow where they meet,
    so two modes have to show without the rows farthest from the line as well: the larger p-value counts.
    """
    if not _enough(one, two):
        return 1.0
    step = -(-(len(one) + len(two)) // most)
    clusters = [_in_order(rows)[:: step if len(rows) >= 4 * step else 1] for rows in (one, two)]
    seen = [_seen_by_others(clusters, part) for part in range(_PARTS)]
    along, away = (np.concatenate(parts) for parts in zip(*seen, strict=True))
    near = along[away <= np.quantile(away, _NEAR) + _TINY]
    return max(dip_p_value(dip(rows), len(rows)) for rows in (along, near))


def _enough(one: Floats, two: Floats) -> bool:
    """Tell whether two clusters have rows enough for a test."""
    return len(one) + len(two) >= _FEWEST_ROWS and min(len(one), len(two)) >= 4


def _seen_by_others(clusters: Sequence[Floats], part: int) -> tuple[Floats, Floats]:
    """Return where every twentieth row of two clusters lies along the line that parts the others, and how far from it.

    Both in standard deviations within the others' clusters, from the middle between their means.
    """
    one, two = (rows[np.arange(len(rows)) % _PARTS != part] for rows in clusters)
    within, apart = spread_within(one, two), two.mean(axis=0) - one.mean(axis=0)
    rows = np.concatenate([rows[part::_PARTS] for rows in clusters]) - (one.mean(axis=0) + two.mean(axis=0)) / 2
    line = np.linalg.solve(within, apart)
    along = rows @ line / max(np.sqrt(apart @ line), _TINY)
    squared = np.einsum("ij,ji->i", rows, np.linalg.solve(within, rows.T))
    return along, np.sqrt(np.maximum(squared - along**2, 0.0))


def _in_order(rows: Floats) -> Floats:
    """Return rows in an order of their own, so that theirs does not matter."""
    return rows[np.lexsort(rows.T[::-1])]


def spread_within(one: Floats, two: Floats) -> Floats:
    """(d, d) W, the pooled covariance within two clusters, shrunk towards its mean diagonal.

    The fewer rows there are beside features, the more: by the share of its distance from that diagonal that is noise.
    O. Ledoit, M. Wolf: A Well-Conditioned Estimator for Large-Dimensional Covariance Matrices. Journal of Multivariate
    Analysis 88 (2004).
    """
    centered = np.concatenate([rows - rows.mean(axis=0) for rows in (one, two)])
    n, d = centered.shape
    within = centered.T @ centered / max(n - 2, 1)
    scale = float(np.trace(within)) / d
    if scale <= 0:  # each cluster is one point
        return np.eye(d)
    squared = np.sum(within**2)
    distance = squared - d * scale**2
    noise = np.sum(np.sum(centered**2, axis=1) ** 2) / n**2 - squared / n
    share = float(np.clip(noise / distance, _LEAST_SHRINKAGE, 1.0)) if distance > _TINY * squared else 1.0
    return (1 - share) * within + share * scale * np.eye(d)


def check_rows(X: Any, n_rows: int) -> Floats:
    """Return features as a matrix of numbers with one line per row, or say what is wrong."""
    try:
        matrix = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise QuorateError("X must hold numbers, rows x features. Leave out columns of text.") from None
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2 or len(matrix) != n_rows:
        raise QuorateError(f"X must have one line for each of the {n_rows} rows; got shape {matrix.shape}.")
    if not np.isfinite(matrix).all():
        raise QuorateError("X must be finite; fill or drop missing and infinite values first.")
    return matrix
