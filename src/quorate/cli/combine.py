"""`quorate combine`."""

from __future__ import annotations

import ast
import csv
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from quorate._utils.array_types import Ints
from quorate._utils.checks import check_choice, check_number
from quorate._utils.optional_imports import require_extra
from quorate.algorithms.base import ConsensusMethod
from quorate.algorithms.registry import make_method, method_title, methods
from quorate.algorithms.sql_export import DIALECTS
from quorate.analysis.compare import integer_labels
from quorate.cli.compare_tables import print_change
from quorate.cli.output import bar, console, count, note, print_json, progress, table
from quorate.cli.output_files import Outputs
from quorate.cli.repeat_command import labels_command
from quorate.cli.table_source import Source, note_roles
from quorate.columns.column_roles import ColumnRoles
from quorate.errors import InputError, MemoryLimitError
from quorate.features.generators import GENERATORS
from quorate.reporting import KnownClasses, Origin, summarize
from quorate.reporting.row_facts import RowFacts, facts_in_memory
from quorate.reporting.summary import summarize_blocks
from quorate.reporting.table_facts import facts_in_table
from quorate.tables.combining import TableConsensus, combine_table
from quorate.tables.comparing import read_partition
from quorate.tables.counted_table import StoredPartition
from quorate.tables.io import STREAM, open_table, write_text
from quorate.tables.out_of_core.block_consensus import BlockedConsensus

_MEMBERS_SHOWN = 20
_FEATURES_SHOWN, _SPLITS_SHOWN = 3, 3
_LEAST_DIFFERENCE = 0.5  # standard deviations; smaller ones do not distinguish a cluster
_CLUSTERS_SHOWN = 30
_MOST_KS = 1000


@dataclass(frozen=True)
class Request:
    """The options of `quorate combine`."""

    source: Source
    k: str
    method: str
    settings: tuple[str, ...]
    seed: int | None
    confidence: bool
    outputs: Outputs
    groups: str | None = None
    like: str | None = None
    abstain: float | None = None
    layers: str | None = None
    core: float | None = None
    dialect: str = "duckdb"


def run_combine(request: Request, *, quiet: bool, json: bool) -> None:
    """Read, combine, write and print."""
    ks = parse_ks(request.k)
    layers = _layers(request)
    check_consensus_method(request.method)
    # Several numbers: solve once, and choose the one to show afterwards.
    estimator = make_method(request.method, "auto" if len(ks) > 1 else ks[0] if ks else "auto", _parameters(request))
    outputs = request.outputs
    # Before any row is read, because writing may fail after hours.
    outputs.check(request.source.file, *request.source.others, json=json)
    if outputs.sql is not None:
        check_choice("dialect", request.dialect, DIALECTS)
        require_extra("sqlglot", "--sql")
    with request.source.open() as opened, progress("Combining", quiet=quiet):
        columns = request.source.choose(opened)
        consensus = combine_table(
            opened,
            columns,
            estimator,
            noise=request.source.checked_noise,
            n_clusters=ks,
            with_confidence=request.confidence,
            like=_earlier(request, columns),
            abstain=None if request.abstain is None else check_number("abstain", request.abstain, low=0, high=1),
            layers=layers,
            core=_core_agreement(request, ks),
            whole=next((f"{name}=" for name in ("report", "summary", "sql") if getattr(outputs, name)), None),
        )
        if outputs.sql is not None:
            write_text(outputs.sql, str(consensus.to_sql(request.dialect)), force=outputs.force)
        if outputs.output is not None:
            consensus.write(outputs.output, format=outputs.output_format, force=outputs.force)
        printed = json or outputs.output is None or not quiet
        summary = too_large = None
        if printed or outputs.described:
            try:
                summary = _summary(request, consensus, ks)
            except MemoryLimitError as error:
                # Labels of many tiny clusters are written although the clusters cannot be described.
                if json or outputs.described:
                    raise
                too_large = error
    if too_large is not None:
        ens = consensus.ensemble
        console(stderr=STREAM in outputs.files).print(
            f"{count(consensus.n_clusters, 'cluster')} by {method_title(estimator.name)} from "
            f"{size_line(ens.n_rows, ens.n_members, ens.n_clusters)}",
            markup=False,
        )
        note(str(too_large), quiet=quiet)
    if summary is not None:
        outputs.describe(summary)
    if json:
        print_json(summary)
    elif printed and summary is not None:
        print_summary(summary, to_stderr=STREAM in outputs.files)
    note_roles(columns, quiet=quiet)
    outputs.note_written(quiet=quiet)


def _core_agreement(request: Request, ks: Sequence[int]) -> float | None:
    """Return the required agreement of the core, if one is to be written."""
    if request.core is None:
        return None
    if len(ks) > 1:
        raise InputError("needs a single number of clusters.", code="core-of-several", parameter="core")
    return check_number("core", request.core, above=0, high=1)


def _layers(request: Request) -> Sequence[int]:
    """Return the requested numbers of clusters of nested layers."""
    return () if request.layers is None else _listed_ks(request.layers, "layers", "be numbers such as 5,20,80")


def _earlier(request: Request, columns: ColumnRoles) -> StoredPartition | None:
    """Return the earlier partition whose cluster ids to keep, if one was given."""
    if request.like is None:
        return None
    with open_table(request.like) as opened:
        old = read_partition(opened, id=columns.id, hint="Rename the column of cluster labels to consensus.")
    integer_labels("like", old.labels)
    return old


def check_consensus_method(method: str) -> None:
    """Raise an error for a generator of members, which users of other packages may expect here."""
    if method in GENERATORS:
        raise InputError(
            f"must be a consensus method; {method} makes members.",
            code="generator-as-method",
            parameter="method",
            hint="See `quorate generate` and `quorate methods`.",
        )


def parse_ks(text: str) -> Sequence[int]:
    """Parse numbers of clusters: "3", "2:20" (both ends included) or "2,5,9"; return none for "auto"."""
    if text.strip().lower() == "auto":
        return ()
    return _listed_ks(text, "n_clusters", "be a number of clusters such as 3, several such as 2:20 or 2,5,9, or auto")


def _listed_ks(text: str, parameter: str, required: str) -> Sequence[int]:
    """Parse the numbers of clusters of an option: a number, a range or a list."""
    ks: Sequence[int] = ()
    # Anything that is not a number is refused with one message below.
    with suppress(ValueError):
        if ":" in text:
            low, high = (int(part) for part in text.split(":"))
            ks = range(low, high + 1)
        else:
            ks = [int(part) for part in text.split(",")]
    if len(ks) > _MOST_KS:
        raise InputError(
            f"must list at most {_MOST_KS:,} numbers of clusters; {text!r} lists {len(ks):,}.",
            code="too-many-k",
            parameter=parameter,
        )
    if not ks or min(ks) < 1 or len(set(ks)) < len(ks):
        raise InputError(f"must {required}; got {text!r}.", code="k", parameter=parameter)
    return ks


def _parameters(request: Request) -> dict[str, Any]:
    """Return the parameters of the method from NAME=VALUE pairs, and the seed if the method has one."""
    parameters: dict[str, Any] = {}
    for pair in request.settings:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputError(
                f"takes NAME=VALUE, such as --set beta=3; got {pair!r}.", code="name-value", parameter="set_"
            )
        # Values are Python literals where possible, else text.
        try:
            parameters[name.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            parameters[name.strip()] = value.strip()
    accepted = {method.name: method.parameters for method in methods()}.get(request.method, {})
    if request.seed is not None and "random_state" in accepted:
        parameters.setdefault("random_state", request.seed)
    if request.groups is not None:
        parameters["groups"] = parse_groups(request.groups)
    return parameters


def parse_groups(text: str) -> str | dict[str, str]:
    """Return families of members: a pattern such as "{tool}_*", or a mapping from pairs "member=family,..."."""
    if "{" in text:
        return text
    # CSV quoting, so that names may contain commas.
    pairs = [part.partition("=") for part in next(csv.reader([text], skipinitialspace=True), [])]
    if not pairs or any(not (member and equals and family) for member, equals, family in pairs):
        raise InputError(
            f"takes a pattern such as '{{tool}}_*', or pairs such as a=tool1,b=tool1; got {text!r}.",
            code="invalid-groups",
            parameter="groups",
        )
    return {member.strip(): family.strip() for member, _, family in pairs}


def _summary(request: Request, consensus: TableConsensus, ks: Sequence[int]) -> dict[str, Any]:
    """Return the summary; parts of it are empty if the patterns were read in blocks."""
    if isinstance(consensus.result, BlockedConsensus):
        classes = None if consensus.columns.truth is None else consensus.counted.class_table()
        return summarize_blocks(consensus.result, _origin(request, consensus, ks), classes)
    return summarize(
        consensus.result, _origin(request, consensus, ks), n_clusters=_swept(request, ks, consensus.result)
    )


def _swept(request: Request, ks: Sequence[int], fitted: ConsensusMethod) -> Sequence[int] | None:
    """Return the numbers of clusters to describe; None stands for the usual ones of a report."""
    if len(ks) > 1:
        return ks
    return None if request.outputs.described else [fitted.n_clusters_]


def _origin(request: Request, consensus: TableConsensus, ks: Sequence[int]) -> Origin:
    columns, counted = consensus.columns, consensus.counted
    described = tuple(name for name in columns.keep if name not in (columns.id, columns.truth))

    # The classes of patterns that were read in blocks are not in memory; `summarize_blocks` gets a table of classes.
    no_counts = (), sp.csr_array((0, 0))
    class_counts = no_counts if columns.truth is None or consensus.fitted is None else counted.class_counts()

    def row_facts(patterns: Ints, most: int) -> RowFacts:
        return facts_in_table(counted, patterns, most, id_column=columns.id, columns=described)

    return Origin(
        name=request.source.name,
        id_column=columns.id,
        classes=None if columns.truth is None else KnownClasses(columns.truth, *class_counts),
        earlier=consensus.earlier,
        command=shlex.join(["quorate", *sys.argv[1:]]) if sys.argv[1:] else None,
        requested=ks if len(ks) > 1 else (),
        layers=_layers(request),
        command_at=lambda k: labels_command(
            request.source,
            request.method,
            request.settings,
            request.seed,
            k,
            {
                "--groups": request.groups,
                "--like": request.like,
                "--abstain": request.abstain,
                "--layers": request.layers,
                "--core": request.core,
            },
        ),
        row_facts=row_facts
        if request.outputs.described
        else lambda patterns, most: facts_in_memory(counted.ensemble, patterns, most),
    )


def print_summary(summary: dict[str, Any], *, to_stderr: bool = False) -> None:
    """Print the clusters, how well they are supported, and how reliable each member is."""
    out = console(stderr=to_stderr)
    source, choice = summary["source"], summary["choice"]
    answer = next(answer for answer in summary["answers"] if answer["k"] == choice["k"])
    out.print(
        f"{count(answer['k'], 'cluster')} by {summary['method']['title']} from "
        f"{size_line(source['rows'], source['members'], source['clusters'])}",
        markup=False,
    )
    if summary["features"] is not None and not summary["features"].get("whole", True):
        sample = count(summary["features"]["sample"], "row")
        out.print(f"The consensus was computed on a sample of {sample}; then all rows were labeled.", markup=False)
    if summary["method"]["candidates"] and len(answer["clusters"]) > 1:  # candidates of one cluster do not differ
        out.print(summary["method"]["choice"], markup=False)
    out.print(choice["explanation"], markup=False)
    print_structure(out, summary["structure"])
    if summary["reliability"]["sentence"]:
        out.print(summary["reliability"]["sentence"], markup=False)
    if choice["candidates"]:
        out.print()
        out.print(_candidate_table(choice["candidates"]))
    if answer["scores"]:
        scores = ", ".join(f"{name} {value:.3f}" for name, value in answer["scores"].items())
        out.print(f"Against {source['truth']}: {scores}", markup=False)
    out.print()
    out.print(_cluster_table(answer))
    if answer["unlabeled"]:
        out.print(f"No cluster (-1): {count(round(answer['unlabeled']), 'row')}.", markup=False)
    for sentence in (*answer["outlook"]["sentences"], answer.get("confidence_sentence")):
        if sentence:
            out.print(sentence, markup=False)
    if summary["features"] is not None and len(answer["clusters"]) > 1:
        _print_features(out, answer, summary["features"])
    if answer["change"] is not None:
        out.print()
        print_change(out, answer["change"])
    out.print()
    out.print(member_table(summary["members"]))
    if summary["camps"]:
        out.print(summary["camps"]["sentence"], markup=False)
    for sentence in summary["reliability"]["notes"]:
        out.print(sentence, markup=False)


def _print_features(out: Any, answer: dict[str, Any], features: dict[str, Any]) -> None:
    """Print the features that distinguish the clusters, and which clusters a single feature separates."""
    rows = []
    for cluster, described in zip(answer["clusters"], features["distinctive"].get(str(answer["k"]), ()), strict=False):
        texts = [
            feature["text"]
            for feature in described[:_FEATURES_SHOWN]
            if abs(feature["difference"]) >= _LEAST_DIFFERENCE
        ]
        rows.append((cluster["id"], "; ".join(texts) or "none"))
    if rows:
        title = "Columns that distinguish the clusters (mean, or share of a value)"
        out.print()
        out.print(table(title, ("cluster", "columns"), rows[:_CLUSTERS_SHOWN]))
    for sentence in features["splits"].get(str(answer["k"]), [])[:_SPLITS_SHOWN]:
        out.print(sentence, markup=False)


def print_structure(out: Any, structure: dict[str, Any]) -> None:
    """Print how strong the evidence for clusters is, and the limits of this check."""
    out.print(" ".join(part for part in (structure["sentence"], structure["limits"]) if part), markup=False)


def _candidate_table(candidates: Sequence[dict[str, Any]]) -> Any:
    """Return the table of the best-supported numbers of clusters."""
    largest = max(candidate["score"] for candidate in candidates) or 1.0
    parts = {"eigengap": "eigengap", "stability": "tree stability"}
    if candidates[0]["agreement"] is not None:
        parts = {"agreement": "agreement of kinds (ARI)", "density": "with HDBSCAN (ARI)"}
    rows = [
        (
            candidate["k"],
            f"{candidate['score']:.3f} {bar(candidate['score'] / largest, 8)}",
            *("" if candidate[part] is None else f"{candidate[part]:.3f}" for part in parts),
        )
        for candidate in candidates
    ]
    return table("Numbers of clusters", ("clusters", "score", *parts.values()), rows)


def _cluster_table(answer: dict[str, Any]) -> Any:
    ids = {c["label"]: c["id"] for c in answer["clusters"]}
    named = any(c["label_shares"] for c in answer["clusters"])
    rows = [
        (
            c["id"],
            _whole(c["size"]),
            f"{c['share']:.1%}",
            f"{c['stability']:.3f} {bar(c['stability'], 8)}",
            "" if c["nearest"] is None else ids[c["nearest"]],
            "" if c["nearest"] is None else f"{c['merge_cost']:.0%}",
            *([_name(c["label_shares"])] if named else []),
        )
        for c in answer["clusters"][:_CLUSTERS_SHOWN]
    ]
    left = len(answer["clusters"]) - len(rows)
    title = "Clusters" + (f" (the largest {len(rows)} of {left + len(rows):,})" if left else "")
    columns = ["cluster", "rows", "share", "stability", "nearest", "merge cost"]
    return table(title, [*columns, "common label"] if named else columns, rows)


def _name(label_shares: Sequence[tuple[str, float]]) -> str:
    """Return the most frequent text label of a cluster's rows with its share."""
    return f"{label_shares[0][0]} {label_shares[0][1]:.0%}" if label_shares else ""


def _whole(size: float) -> int | float:
    return int(size) if float(size).is_integer() else size


def size_line(rows: int, members: int, clusters: int) -> str:
    """Return the size of an ensemble as text."""
    return f"{count(members, 'member')} of {count(rows, 'row')} ({count(clusters, 'cluster')} in total)"


def member_table(members: Sequence[dict[str, Any]], most: int = _MEMBERS_SHOWN, *, ncai: bool = False) -> Any:
    """Return the table of members, most reliable first; of many, only the first and the last.

    NCAI, the paper's index, is not corrected for chance, so it is shown only if requested.
    """
    ranked = sorted(members, key=lambda member: -member["trust"])
    shown = ranked if len(ranked) <= most else ranked[: most // 2] + ranked[-most // 2 :]
    rows = [
        (
            member["name"],
            f"{member['trust']:.3f} {bar(member['trust'])}",
            float(np.round(member["weight"], 3)),
            *([float(np.round(member["ncai"], 3))] if ncai else []),
            f"{member['coverage']:.0%}",
            member["n_clusters"],
            member["status"],
        )
        for member in shown
    ]
    title = "Members" + ("" if len(shown) == len(ranked) else f" (the first and the last of {len(ranked)})")
    columns = ("member", "agreement (AMI)", "weight", *(["NCAI"] if ncai else []), "rows", "clusters", "reliability")
    return table(title, columns, rows)
