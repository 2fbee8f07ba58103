"""The commands: each parses its options, calls the library and prints. The work is in the modules beside this one."""

from typing import Annotated

import typer

from quorate.cli import options as opt
from quorate.cli import reproduce

app = typer.Typer(
    name="quorate",
    help="Combine many clusterings of the same rows into one, and learn which of them to trust.",
    epilog="Start with: quorate demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
)


def _examples(*lines: str) -> str:
    return "Examples:\n\n" + "\n\n".join(lines)


def _show_version(wanted: bool) -> None:
    if wanted:
        from quorate import __version__

        print(f"quorate {__version__}")
        raise typer.Exit


@app.callback()
def quorate(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Combine many clusterings of the same rows into one, and learn which of them to trust."""


@app.command(
    epilog=_examples(
        "quorate combine labels.csv -k 3 -o consensus.csv --report report.html",
        "quorate combine labels.parquet --members 'kmeans_*,dbscan' --id cell -o consensus.parquet",
        "quorate combine labels.csv -k 2:20 --method weac -o consensus.csv",
        "cat labels.csv | quorate combine - -o - > consensus.csv",
    )
)
def combine(
    file: opt.Table,
    k: Annotated[
        str,
        typer.Option("--clusters", "-k", metavar="K", help="Number of clusters: 3, or 2:20, or 2,5,9, or auto."),
    ] = "auto",
    method: opt.Method = "auto",
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method; repeatable.")
    ] = None,
    members: opt.Members = None,
    id_column: opt.Id = None,
    truth: opt.Truth = None,
    noise: opt.Noise = "missing",
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    encoding: opt.Encoding = None,
    memory_limit: opt.MemoryLimit = None,
    output: opt.Output = None,
    output_format: opt.OutputFormat = None,
    keep: opt.Keep = None,
    confidence: Annotated[
        bool,
        typer.Option(
            "--confidence",
            rich_help_panel="Writing",
            help="Write how certain each row is, too: confidence, margin, runner_up.",
        ),
    ] = False,
    report: opt.Report = None,
    summary: opt.Summary = None,
    force: opt.Force = False,
    seed: opt.Seed = None,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Combine the clusterings in the columns of a table into one.

    Writes the row id (if there is one) with the consensus beside it, and prints what came out and which clusterings
    were trusted. Cluster 0 is the largest. With -o and -q it prints nothing.
    """
    from quorate.cli.combine import Request, run_combine
    from quorate.cli.output_files import Outputs
    from quorate.cli.table_source import Source

    source = Source(file, members, id_column, truth, keep, noise, format, delimiter, header, encoding, memory_limit)
    outputs = Outputs(output, output_format, report, summary, force=force)
    request = Request(source, k, method, tuple(set_ or ()), seed, confidence, outputs)
    run_combine(request, quiet=quiet, json=json)


@app.command(epilog=_examples("quorate weigh labels.csv", "quorate weigh labels.parquet --members 'kmeans_*' --json"))
def weigh(
    file: opt.Table,
    beta: Annotated[
        float | None,
        typer.Option(help="How strongly trust counts in a weight.", show_default="as in combine"),
    ] = None,
    members: opt.Members = None,
    id_column: opt.Id = None,
    truth: opt.LeftOutTruth = None,
    noise: opt.Noise = "missing",
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    encoding: opt.Encoding = None,
    memory_limit: opt.MemoryLimit = None,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Rank clusterings by how far they agree with the others beyond chance, and so by how far to trust them."""
    from quorate.cli.table_source import Source
    from quorate.cli.weigh import run_weigh

    source = Source(file, members, id_column, truth, None, noise, format, delimiter, header, encoding, memory_limit)
    run_weigh(source, beta, quiet=quiet, json=json)


@app.command(
    epilog=_examples(
        "quorate evaluate consensus.csv --truth class",
        "quorate evaluate consensus.csv --truth class --truth-file classes.csv",
    )
)
def evaluate(
    file: opt.Table,
    truth: Annotated[str, typer.Option(metavar="COLUMN", help="Column of known classes.")],
    truth_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Table that holds it, row for row. Default: FILE itself.")
    ] = None,
    members: Annotated[
        list[str] | None,
        typer.Option(
            "--labels",
            metavar="A,B,...",
            help="Clusterings to score; repeatable. Default: all columns but id and truth.",
        ),
    ] = None,
    id_column: opt.Id = None,
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    encoding: opt.Encoding = None,
    memory_limit: opt.MemoryLimit = None,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Score clusterings against known classes: NMI (both normalizations), ARI, AMI and purity."""
    from quorate.cli.evaluate import run_evaluate
    from quorate.cli.table_source import Source

    source = Source(file, members, id_column, truth, None, "cluster", format, delimiter, header, encoding, memory_limit)
    run_evaluate(source, truth_file, quiet=quiet, json=json)


@app.command(
    epilog=_examples(
        "quorate generate data.csv -m 20 -o labels.parquet",
        "quorate generate data.csv -m 40 --method kmeans --method hmac --truth class -o labels.csv",
        "quorate generate seeds -o labels.csv   (a dataset that comes with Quorate)",
    )
)
def generate(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A table of features, or a packaged dataset.")],
    n_members: Annotated[int, typer.Option("--number", "-m", metavar="N", min=1, help="How many clusterings.")] = 20,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Generator (see: quorate methods); repeatable, used in turn. Default: kmeans."
        ),
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,...", help="Columns of features; repeatable. Default: all but the id and known classes."
        ),
    ] = None,
    scale: opt.Scale = "standard",
    fit_rows: opt.FitRows = None,
    k_range: opt.KRange = None,
    id_column: opt.Id = None,
    truth: opt.KnownClasses = None,
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    encoding: opt.Encoding = None,
    memory_limit: opt.MemoryLimit = None,
    output: opt.Output = None,
    output_format: opt.OutputFormat = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Processes to use.")] = None,
    force: opt.Force = False,
    seed: opt.Seed = None,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Cluster a table of features many times, as members for a consensus."""
    from quorate.cli.combine import parse_range
    from quorate.cli.generate import Drawing, run_generate
    from quorate.cli.table_source import Source

    source = Source(
        file, features, id_column, truth, None, "cluster", format, delimiter, header, encoding, memory_limit
    )
    drawing = Drawing(
        n_members,
        tuple(method or ("kmeans",)),
        scale,
        seed or 0,
        jobs,
        fit_rows or "auto",
        "auto" if k_range is None else parse_range(k_range),
    )
    run_generate(source, drawing, output, output_format, force=force, quiet=quiet, json=json)


@app.command(
    epilog=_examples(
        "quorate cluster features.csv -k 5 -o clusters.csv --report report.html",
        "quorate cluster rows.parquet -k 8 --member spectral --model model.npz -o clusters.parquet",
        "cat features.csv | quorate cluster - -k 3 -o - > clusters.csv",
    )
)
def cluster(
    file: opt.Table,
    k: Annotated[str, typer.Option("--clusters", "-k", metavar="K", help="Number of clusters: 3, or auto.")] = "auto",
    features: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,...", help="Columns of features; repeatable. Default: all numbers but ids and known classes."
        ),
    ] = None,
    scale: opt.Scale = "standard",
    missing: Annotated[
        str, typer.Option(metavar="KIND", help="Rows with missing numbers: error, drop (no cluster) or mean.")
    ] = "error",
    member: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="kmeans, rpcl or spectral; repeatable, used in turn. Default: kmeans."),
    ] = None,
    n_members: Annotated[int, typer.Option("--number", "-m", metavar="N", min=1, help="How many members.")] = 20,
    method: opt.Method = "auto",
    fit_rows: opt.FitRows = None,
    k_range: opt.KRange = None,
    id_column: opt.Id = None,
    truth: opt.KnownClasses = None,
    keep: opt.Keep = None,
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    encoding: opt.Encoding = None,
    memory_limit: opt.MemoryLimit = None,
    output: opt.Output = None,
    output_format: opt.OutputFormat = None,
    report: opt.Report = None,
    plane: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            rich_help_panel="Writing",
            help="Two columns by which the report draws rows. Default: main directions.",
        ),
    ] = None,
    summary: opt.Summary = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel="Writing", help="Save what labels new rows, for: quorate assign."),
    ] = None,
    force: opt.Force = False,
    seed: opt.Seed = None,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Cluster a table of features of any size, by the consensus of many clusterings.

    Writes the row id (if there is one) with the cluster beside it, and how certain that is.
    """
    from quorate.cli.cluster import run_cluster
    from quorate.cli.combine import parse_range
    from quorate.cli.output_files import Outputs
    from quorate.cli.table_source import Source
    from quorate.tables.clustering import Recipe

    source = Source(
        file, features, id_column, truth, keep, "cluster", format, delimiter, header, encoding, memory_limit
    )
    how = {
        "members": member or "kmeans",
        "n_members": n_members,
        "method": method,
        "fit_rows": fit_rows or "auto",
        "k_range": "auto" if k_range is None else parse_range(k_range),
    }
    recipe = Recipe.of(int(k) if k.isdigit() else k, scale, missing, seed or 0, how)
    outputs = Outputs(output, output_format, report, summary, model, force)
    run_cluster(source, recipe, outputs, plane, quiet=quiet, json=json)


@app.command(epilog=_examples("quorate assign new.csv --model model.npz -o clusters.csv"))
def assign(
    file: opt.Table,
    model: Annotated[str, typer.Option(metavar="FILE", help="What `quorate cluster --model` saved.")],
    id_column: opt.Id = None,
    keep: opt.Keep = None,
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    encoding: opt.Encoding = None,
    memory_limit: opt.MemoryLimit = None,
    output: opt.Output = None,
    output_format: opt.OutputFormat = None,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Put new rows into the clusters that `quorate cluster` found."""
    from quorate.cli.cluster import run_assign
    from quorate.cli.output_files import Outputs
    from quorate.cli.table_source import Source

    source = Source(file, None, id_column, None, keep, "cluster", format, delimiter, header, encoding, memory_limit)
    run_assign(source, model, Outputs(output, output_format, force=force), quiet=quiet, json=json)


@app.command(
    epilog=_examples(
        "quorate bench pools --method lwea --method gp-mgla --draws 20 -o results",
        "quorate bench pools --method weac --method 'single=weac linkage=single' --method vote.py:vote -o results",
        "quorate bench iris wine seeds --members 10,20 --best-k -o results   (members are drawn by k-means)",
    )
)
def bench(
    pools: Annotated[
        list[str],
        typer.Argument(metavar="POOLS...", help="Files of clusterings with classes, folders of them, or datasets."),
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]METHOD",
            help="A method with parameters, FILE.py:FUNCTION, or a program with {labels} {output} {k}; repeatable. "
            "Default: all.",
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Results folder; what is finished there is kept.")
    ] = "bench",
    members: Annotated[str, typer.Option(metavar="M", help="Members of an ensemble: 10, or 10,20.")] = "10",
    draws: Annotated[int, typer.Option(metavar="N", min=1, help="Ensembles drawn from each pool.")] = 20,
    best_k: Annotated[bool, typer.Option("--best-k", help="Try 2 to 30 clusters besides the classes.")] = False,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="What a method has for one ensemble.")] = 600.0,
    truth: opt.Truth = None,
    generator: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="How members of a dataset are drawn; repeatable.")
    ] = None,
    jobs: Annotated[int, typer.Option(metavar="N", min=1, help="Processes to use.")] = 2,
    seed: opt.Seed = None,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Compare consensus functions, yours among them, on pools of clusterings with known classes.

    Interrupted at any moment and started again, it goes on where it stopped. Tables (Markdown, LaTeX, CSV), rank
    diagrams and the page report.html are written to the folder at the end.
    """
    from quorate.cli.bench import Request, run_bench

    try:
        sizes = tuple(int(part) for part in members.split(","))
    except ValueError:
        raise typer.BadParameter(f"--members takes numbers such as 10 or 10,20; got {members!r}.") from None
    run_bench(
        Request(
            tuple(pools),
            tuple(method or ()),
            output,
            sizes,
            draws,
            best_k,
            seed or 0,
            timeout,
            truth,
            tuple(generator or ()),
            jobs,
        ),
        quiet=quiet,
        json=json,
    )


@app.command(
    epilog=_examples(
        "quorate explore labels.csv --truth class",
        "quorate explore labels.parquet --xy umap1,umap2",
        "quorate explore labels.csv --features data.csv",
    )
)
def explore(
    file: opt.Table,
    features: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Table of features, row for row: rows are drawn along its main directions."),
    ] = None,
    xy: Annotated[
        str | None, typer.Option(metavar="X,Y", help="Columns of coordinates, such as umap1,umap2, to draw rows by.")
    ] = None,
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Port to listen to; 0: a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open the page.")] = True,
    members: opt.Members = None,
    id_column: opt.Id = None,
    truth: opt.Truth = None,
    noise: opt.Noise = "missing",
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    encoding: opt.Encoding = None,
    memory_limit: opt.MemoryLimit = None,
    quiet: opt.Quiet = False,
) -> None:
    """Open a live page over the clusterings in a table: which members, which method, which k, and what of it.

    The page is served to this machine only, at an address with a secret in it, until Ctrl-C.
    """
    from quorate.cli.explore import run_explore
    from quorate.cli.table_source import Source

    source = Source(file, members, id_column, truth, None, noise, format, delimiter, header, encoding, memory_limit)
    run_explore(source, features, xy, port, browser=browser, quiet=quiet)


@app.command(epilog=_examples("quorate methods", "quorate methods --json"))
def methods(json: opt.Json = False) -> None:
    """List the ways to combine clusterings, and to make them."""
    from quorate.cli.list_methods import run_methods

    run_methods(json=json)


@app.command(epilog=_examples("quorate demo", "quorate demo --folder results"))
def demo(
    folder: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Where to write. Default: a new temporary folder.")
    ] = None,
    seed: opt.Seed = None,
    quiet: opt.Quiet = False,
) -> None:
    """See the whole way on a small dataset: members good and ill, whom to trust, the consensus, and a report."""
    from quorate.cli.demo import run_demo

    run_demo(folder, seed=seed, quiet=quiet)


app.add_typer(reproduce.app)
