"""Tests of differences between methods over many pools (Demsar 2006).

J. Demsar: Statistical Comparisons of Classifiers over Multiple Data Sets. JMLR 7 (2006).
All functions take complete (pools, methods) scores; larger is better.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from quorate._utils.array_types import Floats, Ints

_DECIMALS = 9  # scores that differ only in their last bits are ties


def ranks(scores: Floats) -> Floats:
    """Return the (pools, methods) rank of each method on each pool: 1 is best, ties share a rank."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(-np.round(scores, _DECIMALS), axis=1))


class Friedman(NamedTuple):
    """Friedman's test of whether any method differs from the others."""

    statistic: float
    p_value: float


def friedman(scores: Floats) -> Friedman | None:
    """Return Friedman's test; None with fewer than three methods or two pools, or if all methods tie."""
    from scipy.stats import friedmanchisquare

    n_pools, n_methods = scores.shape
    if n_methods < 3 or n_pools < 2 or np.ptp(ranks(scores)) == 0:
        return None
    statistic, p_value = friedmanchisquare(*np.round(scores, _DECIMALS).T)
    return Friedman(float(statistic), float(p_value))


def critical_difference(n_methods: int, n_pools: int, alpha: float = 0.05) -> float:
    """Return the smallest difference of mean ranks that is significant at level alpha (Nemenyi).

    CD = q sqrt(k (k + 1) / (6 N)), with q the quantile of the studentized range over sqrt(2).
    """
    from scipy.stats import studentized_range

    quantile = studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_pools)))


def cliques(mean_ranks: Floats, difference: float) -> list[tuple[int, int]]:
    """Return the longest runs (first, last) of methods, by ascending mean rank, that a critical difference covers."""
    ordered = np.sort(mean_ranks)
    runs: list[tuple[int, int]] = []
    for first, rank in enumerate(ordered):
        last = int(np.searchsorted(ordered, rank + difference, side="right")) - 1
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def wilcoxon_holm(scores: Floats) -> Floats:
    """Return the (methods, methods) p-values of Wilcoxon's signed-rank test, adjusted by Holm's step-down rule."""
    from scipy.stats import wilcoxon

    n_methods = scores.shape[1]
    first, second = np.triu_indices(n_methods, 1)
    differences = np.round(scores[:, first] - scores[:, second], _DECIMALS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy 1.13 warns about few pools
        plain = np.array([wilcoxon(d, zero_method="zsplit").pvalue if np.any(d) else 1.0 for d in differences.T])
    order = np.argsort(plain, kind="stable")
    steps = plain[order] * np.arange(len(plain), 0, -1)
    adjusted = np.empty_like(plain)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    table = np.ones((n_methods, n_methods))
    table[first, second] = table[second, first] = adjusted
    return table


def wins_ties_losses(scores: Floats) -> Ints:
    """Return (methods, methods, 3): on how many pools the first method wins, ties and loses against the second."""
    difference = np.round(scores[:, :, None] - scores[:, None, :], _DECIMALS)
    ahead, behind = (difference > 0).sum(axis=0), (difference < 0).sum(axis=0)
    return np.stack([ahead, len(scores) - ahead - behind, behind], axis=-1).astype(np.int64)
