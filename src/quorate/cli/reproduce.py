"""`quorate reproduce`: one command for each experiment of the paper, one for all, and one for the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from quorate._utils.checks import check_choice, nearest_name
from quorate.cli import options as opt
from quorate.errors import InputError

COMMANDS = {
    "all": "Run all experiments, one after the other.",
    "compare": "Tables 6 and 7: 18 methods at the best and at the true number of clusters.",
    "parameters": "Tables 2 and 3: WEAC and GP-MGLA with other parameters.",
    "base": "Figure 2: the consensus compared with its members.",
    "wins": "Tables 4 and 5: how many members the consensus beats.",
    "ill": "Figure 3: 0 to 50 % corrupted (ill) clusterings in the pool.",
    "time": "Figure 4: run time by number of rows.",
}


class Experiments(TyperGroup):
    """A group of experiments; the error for an unknown one lists the experiments."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of the first argument."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            raise InputError(
                f"There is no experiment {args[0]!r}.{nearest_name(args[0], self.commands)}",
                code="no-such-experiment",
                hint=f"The commands are {', '.join(self.commands)}.",
            )
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="reproduce",
    cls=Experiments,
    help="Run the experiments of the paper and compare the results with the published numbers.",
    no_args_is_help=True,
    epilog="Start with: quorate reproduce all results --quick",
)

Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="Results folder; an interrupted run continues.")]


@dataclass(frozen=True)
class Request:
    """The options of `quorate reproduce`."""

    folder: str
    experiments: tuple[str, ...] | None
    datasets: tuple[str, ...] | None
    methods: tuple[str, ...] | None
    quick: bool
    scale: str | None
    generators: tuple[str, ...] | None
    jobs: int


def _command(name: str) -> Callable[..., None]:
    """Return the command of one experiment, or of all."""

    def command(
        folder: Folder,
        quick: Annotated[
            bool, typer.Option("--quick", help="Run on three small datasets only: about two minutes.")
        ] = False,
        dataset: Annotated[
            list[str] | None, typer.Option(metavar="NAME", help="Only this dataset; repeatable. Default: all.")
        ] = None,
        method: Annotated[
            list[str] | None, typer.Option(metavar="NAME", help="Only this method; repeatable. Default: all.")
        ] = None,
        scale: Annotated[
            str | None,
            typer.Option(metavar="KIND", help="Feature scaling: minmax (default), standard or none."),
        ] = None,
        generator: Annotated[
            list[str] | None, typer.Option(metavar="NAME", help="Only this generator; repeatable. Default: all.")
        ] = None,
        n_jobs: opt.Jobs = 2,
        quiet: opt.Quiet = False,
        json: opt.Json = False,
    ) -> None:
        experiments = None if name == "all" else (name,)
        chosen = [tuple(names) if names else None for names in (dataset, method, generator)]
        request = Request(folder, experiments, chosen[0], chosen[1], quick, scale, chosen[2], n_jobs)
        run_reproduce(request, quiet=quiet, json=json)

    command.__doc__ = (
        f"{COMMANDS[name]}\n\nAn interrupted run continues when the same command is started again. Tables, figures and "
        "the page report.md are written to the folder at the end."
    )
    return command


for _name in COMMANDS:
    app.command(_name)(_command(_name))


@app.command()
def report(
    folder: Folder,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="PAGE", help="Path of the page. Default: report.md in FOLDER."),
    ] = None,
    compare_with: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FOLDER", help="Results with other scaling or generators, shown for comparison; repeatable."
        ),
    ] = None,
    best_k: Annotated[
        str, typer.Option(metavar="KIND", help="Choose the best k of each run, or of each dataset (run, dataset).")
    ] = "run",
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Write tables, figures and the page from the results in the folder, complete or not."""
    from quorate.paper import write_report

    page = write_report(folder, output, compare_with=compare_with or (), best_k=best_k)  # type: ignore[arg-type]
    print_findings(folder, str(page), quiet=quiet, json=json)


def run_reproduce(request: Request, *, quiet: bool, json: bool) -> None:
    """Run the experiments, write the page and print the main results."""
    from quorate.paper import reproduce, write_report

    reproduce(
        request.folder,
        make_spec(request),
        experiments=request.experiments,
        datasets=request.datasets,
        methods=request.methods,
        n_jobs=request.jobs,
        progress=False if quiet else None,
    )
    page = write_report(request.folder)
    print_findings(request.folder, str(page), quiet=quiet, json=json)


def make_spec(request: Request) -> Any:
    """Return the requested protocol."""
    from quorate.features.generators import GENERATORS
    from quorate.features.pool import SCALERS
    from quorate.paper import FULL, QUICK

    spec = QUICK if request.quick else FULL
    if request.scale is not None:
        check_choice("scale", request.scale, (*SCALERS, "none"))
        spec = replace(spec, scale=None if request.scale == "none" else request.scale)
    if request.generators is not None:
        for name in request.generators:
            check_choice("generator", name, tuple(GENERATORS))
        spec = replace(spec, generators=request.generators)
    return spec


def print_findings(folder: str, page: str, *, quiet: bool, json: bool) -> None:
    """Print the differences to the published numbers, and which claims hold."""
    from quorate.cli.output import console, note, print_json, table
    from quorate.paper.claims import check_claims
    from quorate.paper.reproduction_page import read_results
    from quorate.paper.summaries import agreements, summarize

    summaries = summarize(read_results(folder))
    compared = [row for row in agreements(summaries["compare"]) if row.columns]
    claims = check_claims(summaries)
    if json:
        agreement = [{**row._asdict(), "rank_correlation": row.rank_correlation} for row in compared]
        print_json({"page": page, "agreement": agreement, "claims": [claim._asdict() for claim in claims]})
        return
    if not quiet:
        out = console()
        columns = ("NCAI normalization", "score", "columns", "GP-MGLA", "WEAC-AL", "rank correlation")
        rows = [(r.preset, r.score, r.columns, r.gp_mgla, r.weac_al, r.rank_correlation) for r in compared]
        if rows:
            out.print(table("Mean absolute difference to the published numbers", columns, rows))
            out.print()
        out.print(
            table("Claims", ("claim of the paper", "verdict"), [(claim.statement, claim.verdict) for claim in claims])
        )
    note(f"Written: {page}", quiet=quiet)
