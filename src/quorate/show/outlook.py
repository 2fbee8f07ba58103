"""Clusters as plain values, and in words: how firm they are beside chance, what would merge next and what split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quorate.consensus.clusters import ConsensusCluster, Split, next_merge


def cluster_values(cluster: ConsensusCluster, total: float) -> dict[str, Any]:
    """Return what there is to say about a cluster, as values ready for JSON; `total` is the size of all rows."""
    return {
        "label": cluster.label,
        "size": cluster.size,
        "share": round(cluster.size / total, 6),
        "stability": round(cluster.stability, 4),
        "chance": round(cluster.chance, 4),
        "cohesion": round(cluster.cohesion, 4),
        "nearest": cluster.nearest if cluster.nearest >= 0 else None,
        "merge_cost": round(cluster.merge_cost, 4),
        "opponents": [[name, round(share, 4)] for name, share in cluster.opponents],
    }


def outlook(clusters: Sequence[ConsensusCluster], split: Split | None) -> dict[str, Any]:
    """Return which clusters would merge next and which would split, as values and in sentences."""
    merge = next_merge(tuple(clusters))
    told: dict[str, Any] = {"merge": None, "split": None, "sentences": []}
    if merge is not None:
        one, other = sorted(merge[:2])
        told["merge"] = {"clusters": [one, other], "cost": round(merge[2], 4)}
        told["sentences"].append(
            f"Clusters {one} and {other} would merge first: {_apart(merge[2], 'rows of the two')}."
        )
    elif len(clusters) > 1:
        told["sentences"].append("No two clusters would merge: no member puts rows of different clusters together.")
    if split is not None:
        told["split"] = {"cluster": split.label, "sizes": list(split.sizes), "cost": round(split.merge_cost, 4)}
        sizes = " and ".join(f"{size:,.0f}" if size.is_integer() else f"{size:,.1f}" for size in split.sizes)
        apart = _apart(split.merge_cost, "rows of the two parts")
        told["sentences"].append(f"Cluster {split.label} would split first, into {sizes} rows: {apart}.")
    if merge is not None and split is not None and split.merge_cost >= merge[2]:
        told["sentences"].append("More clusters would be told apart as well as these: nothing holds at this number.")
    return told


def _apart(cost: float, rows: str) -> str:
    """Return in words how much less often rows of two clusters are together than those of the looser one."""
    if cost >= 0.995:
        return f"{rows} are hardly ever together"
    if cost < 0.005:
        return f"{rows} are together as often as those of the looser one"
    return f"{rows} are together {cost:.0%} less often than those of the looser one"


def beside_chance(mean_confidence: float, by_chance: float) -> str:
    """Return what the mean confidence means, beside what it would be for rows picked at random."""
    return (
        f"Two rows of a cluster are together in {mean_confidence:.0%} of the members, by weight (mean confidence); two "
        f"rows picked at random are in {by_chance:.0%}."
    )
