"""Forecasts of the memory of a fit, from the size of an ensemble, before anything large is allocated.

Every term is an array that exists at the peak; docs/memory.md compares forecasts with measurements.
"""

from __future__ import annotations

from quorate._runtime.memory import require_memory
from quorate._runtime.memory_forecast import (
    ENTRY,
    NUMBER,
    EnsembleSize,
    counting,
    passed_by_agreement,
    retained_by_agreement,
    with_slack,
)
from quorate.ensemble import Clusterings, ensemble_size
from quorate.numerics.average_link import NEAR_LIST_LENGTH
from quorate.numerics.block_lanczos import max_basis_size
from quorate.numerics.linkage import CHAIN_GROUPS, SIMILARITIES_PER_LABEL
from quorate.numerics.transfer_cut import DENSE_NODES, EIGENVECTOR_BATCH


def graph_cut(size: EnsembleSize, k: int, *, while_made: float, retained: float, dense_matrices: int) -> float:
    """Return the bytes of a graph over clusters, its eigenvectors, and the embedded patterns.

    `while_made` and `retained` are bytes per pair of clusters that share rows, in addition to the overlaps.
    `dense_matrices` is the number of matrices that a dense eigensolver needs.
    """
    # Eigenvectors are computed in batches, so that k is rounded up.
    n_vectors = EIGENVECTOR_BATCH * -(-k // EIGENVECTOR_BATCH)
    is_dense = size.clusters <= DENSE_NODES
    vectors = dense_matrices * size.clusters if is_dense else max_basis_size(n_vectors) + 2 * n_vectors
    links = NUMBER * size.labels
    # k-means holds the embedded patterns twice, and some vectors per pattern.
    embedded = links + max(links, size.patterns * NUMBER * (2 * k + 8))
    overlaps = 0.0 if size.keeps_cooccurrence else ENTRY * size.overlaps
    after = retained * size.overlaps + max(NUMBER * size.clusters * vectors, embedded)
    return overlaps + max(while_made * size.overlaps, after)


def sparse_linkage(size: EnsembleSize, *, lists: bool) -> float:
    """Return the bytes of histograms of groups, inverted lists, numbers of each group, and `lists` of near groups."""
    if lists:
        return 4 * ENTRY * size.labels + (20.0 * NEAR_LIST_LENGTH + 10 * NUMBER) * size.patterns
    return max(28.0 * size.labels, 2 * ENTRY * size.labels + 15 * NUMBER * size.patterns)


def linkage_through_clusters(size: EnsembleSize) -> float:
    """Return the bytes of lists of clusters of all groups and their copies, and of a matrix of the last groups."""
    last = min(size.patterns**2, max(CHAIN_GROUPS**2, SIMILARITIES_PER_LABEL * size.labels))
    return 3 * ENTRY * size.labels + 12 * NUMBER * size.patterns + NUMBER * last


def similarities(size: EnsembleSize) -> float:
    """Return the bytes of a matrix over patterns."""
    return NUMBER * size.patterns**2


def require_fit(name: str, ens: Clusterings, own: float, advice: str) -> None:
    """Raise an error if the memory is too small; `own` is what the method needs besides the agreement matrices."""
    size = ensemble_size(ens)
    needed = max(counting(size), retained_by_agreement(size) + max(passed_by_agreement(size), own))
    # Labels and confidence of each row come in addition.
    needed += 2 * NUMBER * size.rows
    what = f"{name} of {ens.n_patterns:,} patterns by {ens.n_members:,} members with {ens.n_clusters:,} clusters"
    require_memory(with_slack(needed), what, advice)
