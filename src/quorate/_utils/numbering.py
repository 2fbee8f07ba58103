"""Numbering of consensus clusters."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def number_by_size(groups: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.int64]:
    """Number groups of patterns by decreasing size, ties by their smallest pattern; negative groups become -1.

    Parameters
    ----------
    groups : (m,) integers
        Group of each pattern, in any numbering; negative for no group.
    counts : (m,)
        Number of rows (or their weight) of each pattern.
    """
    labels = np.full(len(groups), -1, dtype=np.int64)
    grouped = groups >= 0
    _, first, position = np.unique(groups[grouped], return_index=True, return_inverse=True)
    sizes = np.bincount(position, weights=counts[grouped])
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.lexsort((first, -sizes))] = np.arange(len(first))
    labels[grouped] = rank[position]
    return labels
