"""Memory of the agreement between members, forecast from the sizes of an ensemble before anything large is allocated.

Forecasts keep the quadratic terms and the linear ones that dominate; docs/memory.md compares them with measurements.
"""

from typing import NamedTuple

from quorate._runtime.memory import require_memory
from quorate._runtime.progress import report_progress

# An entry of a sparse matrix: a value of 8 bytes and an index of 4.
ENTRY = 12.0
NUMBER = 8.0
# An entry of the lists of patterns by cluster: an index of 4 bytes and a value of 1.
_LISTED = 5.0
# Memory that allocators keep after arrays are freed, and that libraries need.
_SLACK, _MOST_SLACK = 0.25, 20e6


class EnsembleSize(NamedTuple):
    """The sizes on which forecasts depend."""

    rows: float
    """Rows that get results of their own in memory."""
    patterns: float
    """m, of one block"""
    members: float
    clusters: float
    overlaps: float
    """Pairs of clusters that share rows."""
    dense_counting: bool
    """Whether overlaps are counted in a dense matrix."""
    keeps_cooccurrence: bool
    """Whether the co-occurrence stays in memory for agreement."""

    @property
    def labels(self) -> float:
        """m M"""
        return self.patterns * self.members


def retained_by_agreement(size: EnsembleSize) -> float:
    """Return the bytes that stay: the patterns of clusters if these are many, coverage, and the co-occurrence if
    kept.
    """
    by_label = 0.0 if size.dense_counting else _LISTED
    cooccurrence = ENTRY * size.overlaps if size.keeps_cooccurrence else 0.0
    return by_label * size.labels + NUMBER * size.clusters * size.members + cooccurrence


def counting(size: EnsembleSize) -> float:
    """Return the bytes of counting overlaps in half a dense matrix, if clusters are few, and of their column lists."""
    return (NUMBER + 4.0) * size.clusters**2 / 2 + ENTRY * size.overlaps if size.dense_counting else 0.0


def passed_by_agreement(size: EnsembleSize) -> float:
    """Return the bytes that are needed temporarily: about eight matrices over members."""
    return 8 * NUMBER * size.members**2


def with_slack(needed: float) -> float:
    """Return the bytes resident at the peak of arrays of the given bytes."""
    return needed + min(_SLACK * needed, _MOST_SLACK)


def require_agreement(size: EnsembleSize) -> None:
    """Raise an error if there is not enough memory for the agreement of members; report that it starts otherwise."""
    what = f"The agreement of {size.members:,.0f} members with {size.clusters:,.0f} clusters"
    report_progress(what)
    needed = max(counting(size), retained_by_agreement(size) + passed_by_agreement(size))
    require_memory(with_slack(needed), what, "Use fewer members.")
