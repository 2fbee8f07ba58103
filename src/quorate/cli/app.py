"""The commands: each parses its options, calls the library and prints. The work is in the other modules of `cli`."""

import inspect
import re
from typing import Annotated, Any

import typer

from quorate.cli import options as opt
from quorate.cli import reproduce

app = typer.Typer(
    name="quorate",
    help="Combine many clusterings of the same rows into one, and find out which of them are reliable.",
    epilog="Start with: quorate demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
)


def _examples(*lines: str) -> str:
    return "Examples:\n\n" + "\n\n".join(lines)


def _show_version(requested: bool) -> None:
    if requested:
        from quorate import __version__

        print(f"quorate {__version__}")
        raise typer.Exit


@app.callback()
def quorate(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Combine many clusterings of the same rows into one, and find out which of them are reliable."""


@app.command(
    epilog=_examples(
        "quorate combine labels.csv -k 3 -o consensus.csv --report report.html",
        "quorate combine labels.parquet --members 'kmeans_*,dbscan' --id cell -o consensus.parquet",
        "quorate combine labels.csv -k 2:20 --method weac -o consensus.csv",
        "quorate combine alice.csv bob.csv carol.csv --id sample -o consensus.csv",
        "quorate combine labels.csv --layers 5,20,80 -o layers.csv --report report.html",
        "quorate combine labels.csv -k 4 --sql consensus.sql --dialect postgres",
        "quorate combine february.csv --like january_consensus.csv --id customer -o february_consensus.csv",
        "cat labels.csv | quorate combine - -o - > consensus.csv",
    )
)
@opt.reads_table
def combine(
    files: opt.Tables,
    n_clusters: Annotated[
        str,
        typer.Option(
            "--clusters", "-k", metavar="K", help="Number of clusters: 3, a range 2:20, a list 2,5,9, or auto."
        ),
    ] = "auto",
    method: opt.Method = "auto",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Parameter of the method, such as beta=3; repeatable."),
    ] = None,
    groups: opt.Groups = None,
    like: opt.Like = None,
    abstain: opt.Abstain = None,
    layers: opt.Layers = None,
    core: opt.Core = None,
    members: opt.Members = None,
    soft: opt.Soft = None,
    id: opt.Id = None,
    truth: opt.Truth = None,
    noise: opt.Noise = "missing",
    out: opt.Output = None,
    output_format: opt.OutputFormat = None,
    keep: opt.Keep = None,
    confidence: Annotated[
        bool,
        typer.Option(
            "--confidence",
            rich_help_panel="Writing",
            help="Also write how certain each row is: confidence, margin, runner_up.",
        ),
    ] = False,
    report: opt.Report = None,
    summary: opt.Summary = None,
    sql: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel="Writing", help="Write SQL that labels new rows in a warehouse."),
    ] = None,
    dialect: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            rich_help_panel="Writing",
            help="Dialect of the SQL: duckdb, postgres, bigquery, snowflake, spark or sqlite.",
        ),
    ] = "duckdb",
    force: opt.Force = False,
    random_state: opt.Seed = None,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
    **reading: Any,
) -> None:
    """Combine the clusterings in the columns of a table into one.

    Several tables are joined by their row IDs first.

    Writes the row ID (if there is one) and the consensus cluster of each row, and prints the clusters and how
    reliable each member is. Cluster 0 is the largest. With -o and -q it prints nothing.
    """
    from quorate.cli.combine import Request, run_combine
    from quorate.cli.output_files import Outputs
    from quorate.cli.table_source import Source

    file, *others = files
    source = Source(file, members, id, truth, keep, noise, others=tuple(others), soft=soft, **reading)
    outputs = Outputs(out, output_format, report, summary, sql=sql, force=force)
    request = Request(
        source,
        n_clusters,
        method,
        tuple(set_ or ()),
        random_state,
        confidence,
        outputs,
        groups,
        like,
        abstain,
        layers,
        core,
        dialect,
    )
    run_combine(request, quiet=quiet, json=json)


@app.command(epilog=_examples("quorate weigh labels.csv", "quorate weigh labels.parquet --members 'kmeans_*' --json"))
@opt.reads_table
def weigh(
    file: opt.Table,
    beta: Annotated[
        float | None,
        typer.Option(help="Exponent of trust in the weights; 0 gives equal weights.", show_default="as in combine"),
    ] = None,
    members: opt.Members = None,
    id: opt.Id = None,
    truth: opt.IgnoredTruth = None,
    noise: opt.Noise = "missing",
    quiet: opt.Quiet = False,
    json: opt.Json = False,
    **reading: Any,
) -> None:
    """Rank the members by their chance-corrected agreement (AMI) with the other members, and show their weights."""
    from quorate.cli.table_source import Source
    from quorate.cli.weigh import run_weigh

    source = Source(file, members, id, truth, None, noise, **reading)
    run_weigh(source, beta, quiet=quiet, json=json)


@app.command(
    epilog=_examples(
        "quorate evaluate consensus.csv --truth class",
        "quorate evaluate consensus.csv --truth class --truth-file classes.csv",
    )
)
@opt.reads_table
def evaluate(
    file: opt.Table,
    truth: Annotated[str, typer.Option(metavar="COLUMN", help="Column of known classes.")],
    truth_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Table with the known classes, rows in the same order. Default: FILE."),
    ] = None,
    members: Annotated[
        list[str] | None,
        typer.Option(
            "--members",
            metavar="A,B,...",
            help="Clusterings to score; repeatable. Default: all columns except the ID and the known classes.",
        ),
    ] = None,
    id: opt.Id = None,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
    **reading: Any,
) -> None:
    """Score clusterings against known classes: NMI (both normalizations), ARI, AMI and purity."""
    from quorate.cli.evaluate import run_evaluate
    from quorate.cli.table_source import Source

    source = Source(file, members, id, truth, None, "cluster", **reading)
    run_evaluate(source, truth_file, quiet=quiet, json=json)


@app.command(
    epilog=_examples(
        "quorate compare january.csv february.csv --id customer",
        "quorate compare old.parquet new.parquet --label segment --json",
        "quorate compare labels.csv labels.csv --label analyst,kmeans   (two columns of one table)",
    )
)
@opt.reads_table
def compare(
    old: Annotated[str, typer.Argument(metavar="OLD", help="Table with the earlier clusters.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Table with the later clusters.")],
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of cluster labels, or one for OLD and one for NEW: a,b. Default: consensus."
        ),
    ] = None,
    id: opt.Id = None,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
    **reading: Any,
) -> None:
    """Compare two clusterings: which clusters persist, split or merge, and which rows moved.

    Rows are matched by the ID column, so they may come and go. Without one, rows must be in the same order.
    """
    from quorate.cli.compare_tables import run_compare
    from quorate.cli.table_source import Source

    source = Source(old, None, id, None, None, "cluster", **reading)
    run_compare(source, new, label, quiet=quiet, json=json)


@app.command(
    epilog=_examples(
        "quorate generate data.csv -m 20 -o labels.parquet",
        "quorate generate data.csv -m 40 --generator kmeans --generator hmac --truth class -o labels.csv",
        "quorate generate seeds -o labels.csv   (a dataset included in Quorate)",
    )
)
@opt.reads_table
def generate(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Table of features, or the name of an included dataset.")],
    n_members: opt.NMembers = 20,
    members: opt.Generators = None,
    features: opt.Features = None,
    scale: opt.Scale = "standard",
    fit_rows: opt.FitRows = None,
    k_range: opt.KRange = None,
    id: opt.Id = None,
    truth: opt.KnownClasses = None,
    out: opt.Output = None,
    output_format: opt.OutputFormat = None,
    n_jobs: Annotated[int | None, typer.Option("--jobs", metavar="N", help="Number of processes.")] = None,
    force: opt.Force = False,
    random_state: opt.Seed = None,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
    **reading: Any,
) -> None:
    """Cluster a table of features many times, to make members for a consensus."""
    from quorate.cli.generate import Drawing, parse_range, run_generate
    from quorate.cli.output_files import Outputs
    from quorate.cli.table_source import Source

    source = Source(file, features, id, truth, None, "cluster", **reading)
    drawing = Drawing(
        n_members,
        tuple(members or ("kmeans",)),
        scale,
        random_state or 0,
        n_jobs,
        fit_rows or "auto",
        "auto" if k_range is None else parse_range(k_range),
    )
    run_generate(source, drawing, Outputs(out, output_format, force=force), quiet=quiet, json=json)


@app.command(
    epilog=_examples(
        "quorate cluster features.csv -k 5 -o clusters.csv --report report.html",
        "quorate cluster rows.parquet -k 8 --generator spectral --model model.npz -o clusters.parquet",
        "cat features.csv | quorate cluster - -k 3 -o - > clusters.csv",
    )
)
@opt.reads_table
def cluster(
    file: opt.Table,
    n_clusters: Annotated[
        str, typer.Option("--clusters", "-k", metavar="K", help="Number of clusters, or auto.")
    ] = "auto",
    features: opt.Features = None,
    scale: Annotated[
        str,
        typer.Option(
            "--scale",
            metavar="KIND",
            help="Feature scaling: auto (standard for columns in different units), standard, minmax or none.",
        ),
    ] = "auto",
    missing: Annotated[
        str, typer.Option(metavar="KIND", help="Rows with missing numbers: error, drop (no cluster) or mean (fill in).")
    ] = "error",
    members: Annotated[
        list[str] | None,
        typer.Option(
            "--generator",
            metavar="NAME",
            help="Clusterer that makes members; repeatable, used in turn. Default: diverse (nine of different kinds).",
        ),
    ] = None,
    n_members: opt.NMembers = 20,
    method: opt.Method = "auto",
    fit_rows: opt.FitRows = None,
    k_range: opt.KRange = None,
    outliers: Annotated[
        bool, typer.Option("--outliers", help="Write -1 for outliers: rows that fit no cluster well.")
    ] = False,
    id: opt.Id = None,
    truth: opt.KnownClasses = None,
    keep: opt.Keep = None,
    out: opt.Output = None,
    output_format: opt.OutputFormat = None,
    report: opt.Report = None,
    plane: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            rich_help_panel="Writing",
            help="Two columns used as the axes of the report's plot. Default: principal components.",
        ),
    ] = None,
    summary: opt.Summary = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel="Writing", help="Save a model that `quorate assign` can use."),
    ] = None,
    force: opt.Force = False,
    random_state: opt.Seed = None,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
    **reading: Any,
) -> None:
    """Cluster a table of features of any size by the consensus of many clusterings.

    Writes the row ID (if there is one), the cluster of each row and how certain it is.
    """
    from quorate.cli.cluster import parse_k, run_cluster
    from quorate.cli.generate import parse_range
    from quorate.cli.output_files import Outputs
    from quorate.cli.table_source import Source
    from quorate.tables.clustering import Recipe

    source = Source(file, features, id, truth, keep, "cluster", **reading)
    how = {
        "members": members if members and len(members) > 1 else (members or ["diverse"])[0],
        "n_members": n_members,
        "method": method,
        "fit_rows": fit_rows or "auto",
        "k_range": "auto" if k_range is None else parse_range(k_range),
        "outliers": outliers,
    }
    recipe = Recipe.of(parse_k(n_clusters), scale, missing, random_state or 0, how)
    outputs = Outputs(out, output_format, report, summary, model, force)
    run_cluster(source, recipe, outputs, plane, quiet=quiet, json=json)


@app.command(epilog=_examples("quorate assign new.csv --model model.npz -o clusters.csv"))
@opt.reads_table
def assign(
    file: opt.Table,
    model: Annotated[str, typer.Option(metavar="FILE", help="Model saved by `quorate cluster --model`.")],
    id: opt.Id = None,
    keep: opt.Keep = None,
    out: opt.Output = None,
    output_format: opt.OutputFormat = None,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
    **reading: Any,
) -> None:
    """Assign new rows to the clusters of a model saved by `quorate cluster`."""
    from quorate.cli.cluster import run_assign
    from quorate.cli.output_files import Outputs
    from quorate.cli.table_source import Source

    source = Source(file, None, id, None, keep, "cluster", **reading)
    run_assign(source, model, Outputs(out, output_format, force=force), quiet=quiet, json=json)


@app.command(
    epilog=_examples(
        "quorate bench pools --method lwea --method gp-mgla --draws 20 -o results",
        "quorate bench pools --method weac --method 'single=weac linkage=single' --method vote.py:vote -o results",
        "quorate bench iris wine seeds --n-members 10,20 --best-k -o results   (members are generated by k-means)",
    )
)
def bench(
    pools: Annotated[
        list[str],
        typer.Argument(
            metavar="POOLS...",
            help="Tables of clusterings with known classes, folders of such tables, or names of included datasets.",
        ),
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]METHOD",
            help="Method with parameters, FILE.py:FUNCTION, or a program with {labels} {output} {k}; repeatable. "
            "Default: all methods.",
        ),
    ] = None,
    out: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Results folder; an interrupted run continues.")
    ] = "bench",
    n_members: Annotated[
        str, typer.Option("--n-members", "-m", metavar="M", help="Members per ensemble: 10, or 10,20.")
    ] = "10",
    draws: Annotated[int, typer.Option(metavar="N", min=1, help="Ensembles drawn from each pool.")] = 20,
    best_k: Annotated[bool, typer.Option("--best-k", help="Also try 2 to 30 clusters.")] = False,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="Time limit of a method on one ensemble.")] = 600.0,
    truth: opt.Truth = None,
    generator: opt.Generators = None,
    n_jobs: opt.Jobs = 2,
    seed: opt.Seed = None,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Compare consensus methods, including your own, on pools of clusterings with known classes.

    An interrupted run continues when the same command is started again. Tables (Markdown, LaTeX, CSV), rank diagrams
    and the page report.html are written to the folder at the end.
    """
    from quorate.cli.bench import parse_sizes, run_bench

    settings = {"n_members": parse_sizes(n_members), "draws": draws, "best_k": best_k, "seed": seed or 0}
    settings |= {"timeout": timeout, "truth": truth, "n_jobs": n_jobs}
    run_bench(pools, method or (), generator or (), out, settings, quiet=quiet, json=json)


@app.command(
    epilog=_examples(
        "quorate explore labels.csv --truth class",
        "quorate explore labels.parquet --xy umap1,umap2",
        "quorate explore labels.csv --features data.csv",
    )
)
@opt.reads_table
def explore(
    file: opt.Table,
    features: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Table of features, rows in the same order, for a plot of the rows (PCA)."),
    ] = None,
    xy: Annotated[
        str | None, typer.Option(metavar="X,Y", help="Columns of coordinates for the plot, such as umap1,umap2.")
    ] = None,
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Port to listen on; 0: any free port.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    members: opt.Members = None,
    soft: opt.Soft = None,
    id: opt.Id = None,
    truth: opt.Truth = None,
    noise: opt.Noise = "missing",
    quiet: opt.Quiet = False,
    **reading: Any,
) -> None:
    """Explore a table of clusterings in the browser: switch members, methods and k, and compare the results.

    The page is available on this machine only, at an address with a secret token, until Ctrl-C.
    """
    from quorate.cli.explore import run_explore
    from quorate.cli.table_source import Source

    source = Source(file, members, id, truth, None, noise, soft=soft, **reading)
    run_explore(source, features, xy, port, browser=browser, quiet=quiet)


@app.command(epilog=_examples("quorate methods", "quorate methods --json"))
def methods(json: opt.Json = False) -> None:
    """List the consensus methods and the generators of members."""
    from quorate.cli.list_methods import run_methods

    run_methods(json=json)


@app.command(epilog=_examples("quorate demo", "quorate demo --folder results"))
def demo(
    folder: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Output folder. Default: a new temporary folder.")
    ] = None,
    random_state: opt.Seed = None,
    quiet: opt.Quiet = False,
) -> None:
    """Run the full workflow on a small dataset with two deliberately corrupted members."""
    from quorate.cli.demo import run_demo

    run_demo(folder, seed=random_state, quiet=quiet)


app.add_typer(reproduce.app)

# Typer keeps the line ends of a docstring, which tear sentences apart on a narrower screen.
for command in app.registered_commands:
    command.help = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.getdoc(command.callback) or "")
