"""`quorate weigh`."""

from __future__ import annotations

from quorate._utils.checks import check_number
from quorate.algorithms.portfolio import Portfolio
from quorate.analysis.structure.label_structure import label_structure
from quorate.cli.combine import member_table, print_structure, size_line
from quorate.cli.output import console, print_json, progress
from quorate.cli.table_source import Source, note_roles
from quorate.reliability import ensemble_trust, resolve_influence
from quorate.reporting.member_views import member_rows
from quorate.reporting.plain_values import camp_sentences, member_values, reliability_values, structure_values


def run_weigh(source: Source, beta: float | None, *, quiet: bool, json: bool) -> None:
    """Rank members by their chance-corrected agreement, and print the table with their weights."""
    beta = check_number("beta", Portfolio().beta if beta is None else beta, low=0)
    with source.open() as opened, progress("Weighing", quiet=quiet):
        columns = source.choose(opened)
        ens = source.count(opened, columns).ensemble
        influence = resolve_influence(ens, "trust", beta)
        weights = influence / influence.sum()
        rows = member_rows(ens, weights)
        reliability = reliability_values(ensemble_trust(ens), ens.names, weights)
        structure = structure_values(label_structure(ens))
        groups = camp_sentences(ens)
    note_roles(columns, quiet=quiet)
    ranked = sorted(rows, key=lambda row: -row.trust)
    members = [member_values(row) for row in ranked]
    if json:
        print_json({"rows": ens.n_rows, "reliability": reliability, "structure": structure, "members": members})
        return
    out = console()
    out.print(size_line(ens.n_rows, ens.n_members, ens.n_clusters), markup=False)
    print_structure(out, structure)
    if reliability["sentence"]:
        out.print(reliability["sentence"], markup=False)
    out.print(member_table(members, most=len(members), ncai=True))
    for sentence in (*groups, *reliability["notes"]):
        out.print(sentence, markup=False)
