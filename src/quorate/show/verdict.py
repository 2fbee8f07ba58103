"""What a consensus comes to, in one sentence that needs no knowledge of the method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SAID_FIRST = {
    "none to be seen": "Nothing speaks for clusters here.",
    "doubtful": "Whether there are clusters here is doubtful.",
}
"""What is said of noise, and where labels cannot tell."""
_NAMED = 3
_HARDLY = 0.25  # of what the member that counts most counts


def verdict(summary: dict[str, Any]) -> str:
    """Return one sentence: how many clusters, how they share the rows, whether they are clear, and whom to doubt.

    Where members agree no more than chance would, or clusters are doubtful, that is said first.
    """
    crowd, structure = summary["crowd"], summary["structure"]
    said_first = [crowd["sentence"]] if crowd["verdict"] == "no more than chance" else []
    if structure["verdict"] in SAID_FIRST:
        said_first.append(SAID_FIRST[structure["verdict"]])
    answer = next(answer for answer in summary["answers"] if answer["k"] == summary["choice"]["k"])
    sizes = [cluster["size"] for cluster in answer["clusters"]]
    members = summary["members"]
    parts = [f"{_count(len(members), 'clustering')} combined {_sizes(sizes)}"]
    parts += _clarity(structure)
    doubted = [member for member in members if member["trust"] == "hardly"]
    if doubted and len(members) > 1:
        parts.append(_doubt(doubted, len(members)))
    elif len(members) > 1:
        parts.append("no member stands apart from the others")
    return " ".join([*said_first, "; ".join(parts) + "."])


def _clarity(structure: dict[str, Any]) -> list[str]:
    """Return whether the clusters are clear; nothing where doubt is said first, or nothing is known."""
    if structure["verdict"] != "clear":
        return []
    merged = sum(not boundary["real"] for boundary in structure["boundaries"])
    return [f"there are clusters, but {_count(merged, 'boundary')} may not be real" if merged else "they are clear"]


def _sizes(sizes: Sequence[float]) -> str:
    if len(sizes) == 1:
        return "make one cluster: they do not tell any groups of rows apart"
    share = max(sizes) / sum(sizes)
    spread = f"the largest with {share:.0%} of the rows"
    if len(sizes) <= 4:
        spread = "of " + _joined([_rows(size) for size in sizes]) + " rows"
    return f"make {len(sizes)} clusters, {spread}" if len(sizes) > 4 else f"make {len(sizes)} clusters {spread}"


def _doubt(doubted: Sequence[dict[str, Any]], n_members: int) -> str:
    """Return who agrees with hardly any other, and whether that keeps them from counting."""
    named = _joined([_quoted(member["name"]) for member in doubted])
    who = named if len(doubted) <= _NAMED else f"{len(doubted)} of the {n_members}"
    agree, count = ("agrees", "counts") if len(doubted) == 1 else ("agree", "count")
    hardly = max(member["influence"] for member in doubted) < _HARDLY
    return f"{who} {agree} with hardly any other " + (f"and hardly {count}" if hardly else f"but {count} all the same")


def _quoted(name: str) -> str:
    return f"“{name if len(name) <= 40 else name[:39] + '…'}”"


def _rows(size: float) -> str:
    return f"{size:,.0f}" if float(size).is_integer() else f"{size:,.1f}"


def _count(n: int, noun: str) -> str:
    return f"{n:,} " + (noun if n == 1 else f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s")


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
