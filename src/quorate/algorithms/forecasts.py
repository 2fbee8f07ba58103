"""How much memory a fit takes, told by the numbers of an ensemble before anything large is made.

Every term is an array that is there at the peak; docs/memory.md has forecasts beside what was measured.
"""

from __future__ import annotations

from quorate._runtime.memory import require_memory
from quorate._runtime.memory_forecast import (
    ENTRY,
    NUMBER,
    EnsembleSize,
    counting,
    kept_by_agreement,
    passed_by_agreement,
    with_slack,
)
from quorate.ensemble import Clusterings, ensemble_size
from quorate.numerics.average_link import NEAR_LIST_LENGTH
from quorate.numerics.block_lanczos import max_basis_size
from quorate.numerics.linkage import CHAIN_GROUPS, SIMILARITIES_PER_LABEL
from quorate.numerics.transfer_cut import DENSE_NODES, EIGENVECTOR_BATCH


def graph_cut(size: EnsembleSize, k: int, *, while_made: float, kept: float, dense_matrices: int) -> float:
    """A graph over clusters, its eigenvectors, and the embedded patterns.

    `while_made` and `kept` are numbers of bytes for every two clusters that share rows, beside the overlaps;
    `dense_matrices` are those that a dense eigensolver needs.
    """
    wanted = EIGENVECTOR_BATCH * -(-k // EIGENVECTOR_BATCH)
    vectors = dense_matrices * size.clusters if size.clusters <= DENSE_NODES else max_basis_size(wanted) + 2 * wanted
    links = NUMBER * size.labels
    embedded = links + max(links, size.patterns * NUMBER * (2 * k + 8))
    overlaps = 0.0 if size.keeps_cooccurrence else ENTRY * size.overlaps
    after = kept * size.overlaps + max(NUMBER * size.clusters * vectors, embedded)
    return overlaps + max(while_made * size.overlaps, after)


def sparse_linkage(size: EnsembleSize, *, lists: bool) -> float:
    """Histograms of groups, inverted lists, some numbers of each group; room for more and `lists` of near groups."""
    if lists:
        return 4 * ENTRY * size.labels + (20.0 * NEAR_LIST_LENGTH + 10 * NUMBER) * size.patterns
    return max(28.0 * size.labels, 2 * ENTRY * size.labels + 15 * NUMBER * size.patterns)


def linkage_through_clusters(size: EnsembleSize) -> float:
    """Lists of clusters of all groups, anew when some are joined, some numbers of each, and a matrix of the last."""
    last = min(size.patterns**2, max(CHAIN_GROUPS**2, SIMILARITIES_PER_LABEL * size.labels))
    return 3 * ENTRY * size.labels + 12 * NUMBER * size.patterns + NUMBER * last


def similarities(size: EnsembleSize) -> float:
    """A matrix over patterns."""
    return NUMBER * size.patterns**2


def require_fit(name: str, ens: Clusterings, own: float, advice: str) -> None:
    """Refuse a fit that there is no room for; `own` is what the method takes beside what agreement keeps."""
    size = ensemble_size(ens)
    needed = max(counting(size), kept_by_agreement(size) + max(passed_by_agreement(size), own))
    needed += 2 * NUMBER * size.rows
    what = f"{name} of {ens.n_patterns:,} patterns by {ens.n_members:,} members with {ens.n_clusters:,} clusters"
    require_memory(with_slack(needed), what, advice)
