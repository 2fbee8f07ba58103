"""`quorate combine`."""

from __future__ import annotations

import ast
import json as json_format
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quorate.cli.columns import Columns, Source, choose_columns, count_members, note_id
from quorate.cli.output import bar, console, note, print_json, progress, table
from quorate.consensus.base import ConsensusMethod
from quorate.consensus.registry import make_method, methods
from quorate.errors import QuorateError
from quorate.evidence import confidence
from quorate.scale.counted import CountedTable
from quorate.scale.files import STREAM, check_output, output_format, write_table, write_text
from quorate.show import KnownClasses, Origin, render_report, summarise

_MEMBERS_SHOWN = 20
_CLUSTERS_SHOWN = 30


@dataclass(frozen=True)
class Request:
    """What was asked for."""

    source: Source
    k: str
    method: str
    settings: tuple[str, ...]
    seed: int | None
    output: str | None
    output_format: str | None
    confidence: bool
    report: str | None
    summary: str | None
    force: bool


def run_combine(request: Request, *, quiet: bool, json: bool) -> None:
    """Read, combine, write and print."""
    ks = parse_ks(request.k)
    estimator = make_method(request.method, "auto" if len(ks) > 1 else ks[0] if ks else "auto", _parameters(request))
    _check_outputs(request, json)
    with request.source.open() as opened, progress("Combining", quiet=quiet):
        columns = choose_columns(opened, request.source)
        counted = count_members(opened, columns, request.source.noise)
        fitted = fit_best(estimator, counted, ks)
        if request.output is not None:
            answers = answer_columns(fitted, ks, with_confidence=request.confidence)
            write_table(counted.answered(answers, columns.keep), request.output, format=request.output_format)
        summary = summarise(fitted, _origin(request, counted, columns), n_clusters=_swept(request, ks, fitted))
    _write_reports(request, summary)
    if json:
        print_json(summary)
    elif request.output is None or not quiet:
        print_summary(summary, to_stderr=STREAM in (request.output, request.report, request.summary))
    note_id(columns, quiet=quiet)
    for written in (request.output, request.report, request.summary):
        if written is not None and written != STREAM:
            note(f"Written: {written}", quiet=quiet)


def parse_ks(text: str) -> list[int]:
    """Return the numbers of clusters: "3", "2:20" (both ends included) or "2,5,9"; none for "auto"."""
    if text.strip().lower() == "auto":
        return []
    try:
        if ":" in text:
            low, high = (int(part) for part in text.split(":"))
            ks = list(range(low, high + 1))
        else:
            ks = [int(part) for part in text.split(",")]
    except ValueError:
        ks = []
    if not ks or min(ks) < 1 or len(set(ks)) < len(ks):
        raise QuorateError(
            f"-k must be a number of clusters such as 3, several such as 2:20 or 2,5,9, or auto; got {text!r}."
        )
    return ks


def _parameters(request: Request) -> dict[str, Any]:
    """Return the parameters of the method from NAME=VALUE pairs, and the seed where the method takes one."""
    parameters: dict[str, Any] = {}
    for pair in request.settings:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise QuorateError(f"--set takes NAME=VALUE, such as --set beta=3; got {pair!r}.")
        try:
            parameters[name.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            parameters[name.strip()] = value.strip()
    known = {method.name: method.parameters for method in methods()}.get(request.method, {})
    if request.seed is not None and "random_state" in known:
        parameters.setdefault("random_state", request.seed)
    return parameters


def _check_outputs(request: Request, json: bool) -> None:
    """Refuse, before any work, what could not be written in the end."""
    outputs = [path for path in (request.output, request.report, request.summary) if path is not None]
    for path in outputs:
        check_output(path, force=request.force, inputs=[request.source.file])
    if len({str(Path(path).resolve()) for path in outputs if path != STREAM}) < len(
        [path for path in outputs if path != STREAM]
    ):
        raise QuorateError("Two outputs have the same name. Write each to a file of its own.")
    if [*outputs, *([STREAM] if json else [])].count(STREAM) > 1:
        raise QuorateError("Only one result can go to standard output. Write the others to files.")
    if request.output is not None:
        output_format(request.output, request.output_format)


def fit_best(estimator: ConsensusMethod, counted: CountedTable, ks: Sequence[int]) -> ConsensusMethod:
    """Fit; of several numbers of clusters, at the automatic choice or, if it is none of them, at the nearest."""
    fitted = estimator.fit(counted.ensemble)
    if len(ks) > 1 and fitted.n_clusters_ not in ks:
        nearest = min(ks, key=lambda k: (abs(k - fitted.n_clusters_), k))
        fitted = estimator.set_params(n_clusters=nearest).fit(counted.ensemble)
    return fitted


def answer_columns(fitted: ConsensusMethod, ks: Sequence[int], *, with_confidence: bool) -> dict[str, Any]:
    """Return the columns to write, for each pattern: the consensus, or one for each k; confidence if wanted."""
    if len(ks) <= 1:
        answers: dict[str, Any] = {"consensus": fitted.pattern_labels_}
        return {**answers, "confidence": fitted.pattern_confidence_} if with_confidence else answers
    cuts = {k: fitted._answer_at(k) for k in sorted(ks, reverse=True)}  # the largest first serves the others
    answers = {f"consensus_{k}": cuts[k][0] for k in ks}
    if with_confidence:
        for k in ks:
            labels, weights = cuts[k]
            answers[f"confidence_{k}"] = confidence(fitted.ensemble_, weights, labels)
    return answers


def _swept(request: Request, ks: Sequence[int], fitted: ConsensusMethod) -> Sequence[int] | None:
    """Return the numbers of clusters to describe: those asked for, the usual ones in a report, or just the answer."""
    if len(ks) > 1:
        return ks
    return None if request.report or request.summary else [fitted.n_clusters_]


def _origin(request: Request, counted: CountedTable, columns: Columns) -> Origin:
    wanted = request.report is not None or request.summary is not None
    return Origin(
        name="standard input" if request.source.file == STREAM else Path(request.source.file).name,
        id_column=columns.id,
        classes=None if columns.truth is None else KnownClasses(columns.truth, *counted.class_counts()),
        command=shlex.join(["quorate", *sys.argv[1:]]) if sys.argv[1:] else None,
        examples=(lambda patterns: counted.examples(patterns, columns.id)) if wanted else None,
    )


def _write_reports(request: Request, summary: dict[str, Any]) -> None:
    if request.report is not None:
        write_text(request.report, render_report(summary))
    if request.summary is not None:
        write_text(request.summary, json_format.dumps(summary, allow_nan=False))


def print_summary(summary: dict[str, Any], *, to_stderr: bool = False) -> None:
    """Print what was combined, the clusters, and whom to trust."""
    out = console(stderr=to_stderr)
    source, choice = summary["source"], summary["choice"]
    answer = next(answer for answer in summary["answers"] if answer["k"] == choice["k"])
    out.print(
        f"{source['rows']:,} rows, {source['members']} members, {source['clusters']:,} clusters in all -> "
        f"{answer['k']} clusters by {summary['method']['name']}",
        markup=False,
    )
    out.print(choice["explanation"], markup=False)
    if answer["scores"]:
        scores = ", ".join(f"{name} {value:.3f}" for name, value in answer["scores"].items())
        out.print(f"Against {source['truth']}: {scores}", markup=False)
    out.print()
    out.print(_cluster_table(answer))
    out.print()
    out.print(member_table(summary["members"]))


def _cluster_table(answer: dict[str, Any]) -> Any:
    rows = [
        (c["label"], c["size"], f"{c['share']:.1%}", f"{c['stability']:.3f} {bar(c['stability'], 8)}")
        for c in answer["clusters"][:_CLUSTERS_SHOWN]
    ]
    left = len(answer["clusters"]) - len(rows)
    title = "Clusters" + (f" (the largest {len(rows)} of {left + len(rows)})" if left else "")
    return table(title, ("cluster", "rows", "share", "stability"), rows)


def member_table(members: Sequence[dict[str, Any]], most: int = _MEMBERS_SHOWN) -> Any:
    """Return the table of members by NCAI; of many, those at both ends."""
    ranked = sorted(members, key=lambda member: -member["ncai"])
    shown = ranked if len(ranked) <= most else ranked[: most // 2] + ranked[-most // 2 :]
    words = {"trusted": "trusted", "partly": "partly trusted", "hardly": "hardly trusted"}
    rows = [
        (
            member["name"],
            f"{member['ncai']:.3f} {bar(member['ncai'])}",
            float(np.round(member["weight"], 3)),
            float(np.round(member["agreement"], 3)),
            member["n_clusters"],
            words[member["trust"]],
        )
        for member in shown
    ]
    title = "Members" + ("" if len(shown) == len(ranked) else f" (the first and the last of {len(ranked)})")
    return table(title, ("member", "NCAI", "weight", "agreement", "clusters", "trust"), rows)
