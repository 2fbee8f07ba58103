"""How much memory agreement between members takes, told by the numbers of an ensemble before anything large is made.

Every term is an array that is there at the peak; docs/memory.md has forecasts beside what was measured.
"""

from typing import NamedTuple

from quorate._runtime.memory import require_memory
from quorate._runtime.progress import report_progress

# An entry of a sparse matrix: a value of 8 bytes and an index of 4.
ENTRY = 12.0
NUMBER = 8.0
# The patterns of a cluster, looked up by cluster: an index of 4 bytes and a sign of 1.
_LISTED = 5.0
# What allocators keep of smaller arrays that were let go, and what libraries take beside them.
_SLACK, _MOST_SLACK = 0.25, 20e6


class EnsembleSize(NamedTuple):
    """What all sizes come from."""

    rows: float
    """Rows that get an answer of their own in memory."""
    patterns: float
    """m, of one block"""
    members: float
    clusters: float
    overlaps: float
    """Pairs of clusters that share rows."""
    dense_counting: bool
    """Whether overlaps are counted in a dense matrix."""
    keeps_cooccurrence: bool
    """Whether they are kept for agreement."""

    @property
    def labels(self) -> float:
        """m M"""
        return self.patterns * self.members


def kept_by_agreement(size: EnsembleSize) -> float:
    """Lists of the patterns of clusters where these are many, what members say of clusters, overlaps if kept."""
    by_label = 0.0 if size.dense_counting else _LISTED
    kept = ENTRY * size.overlaps if size.keeps_cooccurrence else 0.0
    return by_label * size.labels + NUMBER * size.clusters * size.members + kept


def counting(size: EnsembleSize) -> float:
    """Where clusters are few overlaps are counted first of all, in half a dense matrix, and their columns listed."""
    return (NUMBER + 4.0) * size.clusters**2 / 2 + ENTRY * size.overlaps if size.dense_counting else 0.0


def passed_by_agreement(size: EnsembleSize) -> float:
    """What is there for a while: about eight matrices over members."""
    return 8 * NUMBER * size.members**2


def with_slack(needed: float) -> float:
    """Return how much more than arrays is resident at their peak."""
    return needed + min(_SLACK * needed, _MOST_SLACK)


def require_agreement(size: EnsembleSize) -> None:
    """Refuse agreement between members that there is no room for; if there is, tell that it begins."""
    what = f"The agreement of {size.members:,.0f} members with {size.clusters:,.0f} clusters"
    report_progress(what)
    needed = max(counting(size), kept_by_agreement(size) + passed_by_agreement(size))
    require_memory(with_slack(needed), what, "Use fewer members.")
