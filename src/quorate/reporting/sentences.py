"""Sentences about results: the finding first, then the figure with its name.

Every function takes records or the plain values of a summary and returns text. Nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.algorithms.portfolio import NEAR_TIE
from quorate.analysis.choose_k import Choice
from quorate.reporting.member_views import MemberRow

_NAMES_SHOWN = 5
_FAMILY_SHOWN = 12
_SIZES_SHOWN = 4
_LONGEST_NAME = 40

_EVIDENCE = {
    ("labels", "clear"): "Evidence for clusters is strong (consensus stability {value}, labels only).",
    ("labels", "weak"): "Evidence for clusters is weak (consensus stability {value}); features allow a stronger test.",
    ("labels", "none"): "The labels show no evidence of these clusters (consensus stability {value}).",
    ("labels", "unknown"): "The labels alone cannot show whether there are clusters.",
    ("features", "clear"): "The features support separate clusters (p = {p_value}).",
    ("features", "none"): "The features show no significant separation of clusters (p = {p_value}).",
    ("features", "unknown"): "There are too few rows to test the features for clusters.",
}
"""How strong the evidence for clusters is, by what was examined and the verdict."""

_REASONS = {
    "agrees": "Agrees with the others",
    "agrees in part": "Partly agrees with the others",
    "agrees little": "Low agreement with the others",
    "no agreement": "Agrees with no other member more than a random clustering would",
    "agrees with copies only": "Agrees only with its own family",
    "no labels": "Labels no row",
    "one cluster": "Has a single cluster, so it carries no information",
    "too few rows": "Too few rows to test its agreement",
    "only member": "There is no other member to compare with",
    "weight 0": "Agrees with the others, but its weight was set to 0",
}
"""Why a member is reliable or not, by the reason code of `quorate.reliability.member_reliability`."""


def headline(summary: dict[str, Any]) -> str:
    """Return the headline: clusters and sizes, then the strength of evidence, then the unreliable members."""
    result = next(answer for answer in summary["answers"] if answer["k"] == summary["choice"]["k"])
    return " ".join(
        [
            result["finding"],
            *_agreement_by_chance(summary["reliability"]),
            evidence_sentence(summary["structure"]),
            *([summary["camps"]["sentence"]] if summary["camps"] else []),
            *member_sentences(summary["members"]),
        ]
    )


def found_clusters(sizes: Sequence[float], n_members: int) -> str:
    """Return the number of clusters, their sizes and the number of clusterings: the finding."""
    source = f"from {count(n_members, 'clustering')}"
    if len(sizes) < 2:
        return f"One cluster {source}."
    if len(sizes) <= _SIZES_SHOWN:
        spread = f"{joined([rows(size) for size in sizes])} rows"
    else:
        spread = f"{rows(max(sizes))} rows in the largest, {rows(min(sizes))} in the smallest"
    return f"{len(sizes)} clusters ({spread}) {source}."


def _agreement_by_chance(reliability: dict[str, Any]) -> list[str]:
    by_chance = reliability["verdict"] == "no more than chance"
    return ["The members agree no better than random clusterings."] if by_chance else []


def evidence_sentence(structure: dict[str, Any]) -> str:
    """Return how strong the evidence for clusters is, and how many gaps between them are not significant."""
    text = _EVIDENCE[structure["from"], structure["verdict"]]
    p_value, value = structure["p_value"] or 0.0, structure["value"] or 0.0
    text = text.format(p_value=f"{max(p_value, 1e-4):.2g}", value=f"{value:.2f}")
    uncertain = sum(node["verdict"] != "separated" for node in structure["nodes"])
    if structure["verdict"] == "clear" and uncertain:
        verb = "is" if uncertain == 1 else "are"
        text += f" {uncertain} of {count(len(structure['nodes']), 'gap')} between clusters {verb} not significant."
    return text


def member_sentences(members: Sequence[dict[str, Any]]) -> list[str]:
    """Return which members are ignored, unreliable or only partly reliable; nothing about a single member."""
    if len(members) < 2:
        return []
    ignored = [member["name"] for member in members if member["status"] == "ignored"]
    unreliable = [member["name"] for member in members if member["status"] == "unreliable"]
    sentences = []
    if ignored:
        verb = "has" if len(ignored) == 1 else "have"
        sentences.append(f"{_named(ignored, len(members))} {verb} no weight.")
    if unreliable:
        verb = "is" if len(unreliable) == 1 else "are"
        sentences.append(f"{_named(unreliable, len(members))} {verb} unreliable but {_counts(len(unreliable))} weight.")
    partly = [member["name"] for member in members if member["status"] == "partly reliable"]
    if partly:
        verb = "agrees" if len(partly) == 1 else "agree"
        sentences.append(f"{_named(partly, len(members))} {verb} only partly with the others.")
    tested = all(member["status"] != "not tested" for member in members)
    return sentences or (["No member is an outlier."] if tested else [])


def _counts(n: int) -> str:
    return "has" if n == 1 else "have"


def _named(names: Sequence[str], n_members: int) -> str:
    """Return a few quoted names, or the number of members."""
    few = len(names) <= 3
    return joined([quoted(name) for name in names]) if few else f"{len(names)} of {n_members} members"


def member_sentence(row: MemberRow) -> str:
    """Return why a member is reliable or not, and its weight relative to the largest."""
    reason = _REASONS[row.reason_code]
    if row.coverage < 0.5 and row.reason_code.startswith("agrees"):
        reason += f" on the {row.coverage:.0%} of rows it labels"
    if row.reason_code == "only member":
        return f"{reason}."
    if row.weight == 0:
        return f"{reason}; weight 0."
    share = f"{row.relative_weight:.0%} of the largest"
    weight = "largest weight" if row.relative_weight > 0.9995 else f"weight is {share}"
    return f"{reason}; {weight}."


def family_sentences(families: Sequence[dict[str, Any]]) -> list[str]:
    """Return one sentence per family of members: which members, why, and their summed weight."""
    return [
        f"{listed(family['members'], _FAMILY_SHOWN)} {_kinship(family)}; their weights sum to {family['weight']:.0%}."
        for family in families
    ]


def _kinship(family: dict[str, Any]) -> str:
    """Return why members are a family; of copies, also the share of rows on which they are the same."""
    if family["kind"] == "given":
        return "are one family"
    if family["kind"] == "similar":
        return "look like runs of one clusterer (they agree more with each other, and are less diverse)"
    if family["same_rows"] == 1.0:
        return "are identical"
    # Rounded down: "100%" would mean identical.
    share = f"{np.floor(100 * family['same_rows']):.0f}% of the rows"
    return f"are nearly identical (the same clusters for {'at least ' * (len(family['members']) > 2)}{share})"


def candidate_sentence(candidates: Sequence[dict[str, Any]]) -> str:
    """Return which of the candidates of the default was taken and why, with their agreement with the members."""
    chosen = next(candidate for candidate in candidates if candidate["chosen"])
    comparable = [other for other in candidates if other["n_clusters"] == chosen["n_clusters"]]
    tied = [other["method"] for other in comparable if abs(other["agreement"] - chosen["agreement"]) <= NEAR_TIE]
    figures = ", ".join(f"{candidate['method']} {candidate['agreement']:.3f}" for candidate in candidates)
    if len(tied) > 1:
        finding = f"{joined(tied)} agree equally well with the members; the result of {tied[0]} is taken"
    elif len(comparable) < len(candidates):
        others = joined([other["method"] for other in candidates if other not in comparable])
        finding = f"The result of {chosen['method']} is taken; {others} found fewer clusters"
    else:
        finding = f"The result of {chosen['method']} agrees best with the members"
    return f"{finding} (root mean square AMI: {figures})."


def camp_sentence(sizes: Sequence[int]) -> str:
    """Return how many members each group has; `Camps.sentence_about` also says what they support."""
    return f"The members fall into groups of {joined([str(size) for size in sizes])} that agree more among themselves."


def ball_sentence(n_inside: int, n_weighted: int, radius: float, outermost: Sequence[str]) -> str:
    """Return how many of the members with weight lie within the 95 % credible ball of the result, and its edge."""
    edge = listed([quoted(name) for name in outermost])
    return (
        f"{n_inside} of {count(n_weighted, 'member')} with weight are within {radius:.2f} bits of the result "
        f"(variation of information), the ball that holds 95% of the weight. Outermost: {edge}."
    )


def choice_sentence(k: int, choice: Choice | None, *, automatic: bool, requested: Sequence[int] = ()) -> str:
    """Return why there are k clusters; for a requested number, also what the automatic choice would be."""
    if automatic and choice is not None:
        return choice.sentence
    text = f"{count(k, 'cluster')} requested."
    if len(requested) > 1:
        text = f"{min(requested)} to {max(requested)} clusters were requested; this is the result for {k}."
    return text if choice is None else f"{text} Automatic choice: {choice.sentence}"


def outlook_sentences(
    merge: dict[str, Any] | None,
    split: dict[str, Any] | None,
    sizes: Sequence[float],
    ids: Sequence[int] | None = None,
) -> list[str]:
    """Return which two clusters would merge first, which would split first, and whether k stands out.

    `merge` and `split` are the plain values of `outlook`; `sizes` are the rows of each cluster; `ids` are their ids, by
    default their positions.
    """
    ids = range(len(sizes)) if ids is None else ids
    sentences = []
    if merge is not None:
        first, second = sorted(ids[cluster] for cluster in merge["clusters"])
        pairs = _pairs("across the two clusters", merge["cost"])
        sentences.append(f"Clusters {first} and {second} would merge first: {pairs}.")
    elif len(sizes) > 1:
        sentences.append("No two clusters would merge: no member groups rows of different clusters.")
    if split is not None:
        label, parts = split["cluster"], [rows(size) for size in split["sizes"]]
        pairs = _pairs("across the two parts", split["cost"])
        split_first = f"Cluster {ids[label]} ({rows(sizes[label])} rows) would split first; its two largest parts have "
        # A single cluster is not the first of several.
        lead = split_first if len(sizes) > 1 else "Two clusters would have "
        sentences.append(f"{lead}{joined(parts)} rows: {pairs}.")
    if merge is not None and split is not None and split["cost"] >= merge["cost"]:
        sentences.append("A finer solution is equally well supported; the data do not favor this number of clusters.")
    return sentences


def _pairs(which: str, cost: float) -> str:
    """Return how much less often members group such pairs of rows than pairs within the less cohesive side."""
    if cost >= 0.995:
        return f"members almost never group rows {which}"
    if cost < 0.005:
        return f"members group rows {which} as often as rows within the less cohesive one"
    return f"members group rows {which} {cost:.0%} less often than rows within the less cohesive one"


def confidence_sentence(mean_confidence: float, chance_confidence: float, n_outvoted: float, n_rows: float) -> str:
    """Return what the mean confidence means, compared with random rows, and for how many rows the runner-up leads."""
    text = (
        f"On average, the cluster of a row gets {mean_confidence:.0%} of the members' weighted votes "
        f"({chance_confidence:.0%} for random rows)."
    )
    if n_outvoted:
        text += f" For {rows(n_outvoted)} of {rows(n_rows)} rows another cluster gets more votes (negative margin)."
    return text


def lowered_agreement_sentence(n_alone: int) -> str:
    """Return why agreement scores are low where some members agree with no other."""
    which = "One member agrees" if n_alone == 1 else f"{n_alone} members agree"
    return f"{which} with no other. This lowers every agreement score; the reliability labels take it into account."


def listed(names: Sequence[str], shown: int = _NAMES_SHOWN) -> str:
    """Return the first few names, and how many more there are."""
    more = len(names) - shown
    return joined(names) if more <= 0 else f"{', '.join(names[:shown])} and {more} more"


def joined(parts: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def quoted(name: str) -> str:
    """Return a name in quotation marks, shortened if it is long."""
    return f"“{name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + '…'}”"


def rows(size: float) -> str:
    """Return a number of rows as text; row weights may make it fractional."""
    return f"{size:,.0f}" if float(size).is_integer() else f"{size:,.1f}"


def count(n: int, noun: str) -> str:
    """Return a number and its noun, in the plural unless there is one."""
    return f"{n:,} " + (noun if n == 1 else f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s")
