"""The options that several commands share."""

from typing import Annotated

import typer

_IN, _OUT = "Reading", "Writing"

Table = Annotated[
    str, typer.Argument(metavar="FILE", help="A table: CSV, TSV, Parquet, Arrow, NPY or NPZ; - for standard input.")
]
Members = Annotated[
    str | None,
    typer.Option(
        "--members",
        metavar="A,B,...",
        rich_help_panel=_IN,
        help="Columns that hold clusterings: names or patterns such as 'kmeans_*'. "
        "Default: all but the id, the truth and what is kept.",
    ),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        rich_help_panel=_IN,
        help="Column that names the rows. Default: a first column named so, or whose values all differ.",
    ),
]
Truth = Annotated[
    str | None,
    typer.Option(
        "--truth",
        metavar="COLUMN",
        rich_help_panel=_IN,
        help="Column of known classes: scores are shown, the answer does not depend on it.",
    ),
]
Keep = Annotated[
    str | None,
    typer.Option("--keep", metavar="A,B,...", rich_help_panel=_OUT, help="Further columns to copy to the output."),
]
Noise = Annotated[
    str,
    typer.Option(
        "--noise",
        metavar="KIND",
        rich_help_panel=_IN,
        help="What negative labels are: missing, or one cluster.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="FORMAT", rich_help_panel=_IN, help="Format of FILE, if its name does not tell."),
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", metavar="SIGN", rich_help_panel=_IN, help="What splits the columns of a text table."),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", rich_help_panel=_IN, help="Whether the first line names the columns."),
]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", rich_help_panel=_OUT, help="Where to write; - for standard output."),
]
OutputFormat = Annotated[
    str | None,
    typer.Option(
        "--output-format", metavar="FORMAT", rich_help_panel=_OUT, help="Format of the output, if not by its name."
    ),
]
Force = Annotated[bool, typer.Option("--force", rich_help_panel=_OUT, help="Replace outputs that exist.")]
Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", min=0, help="Seed of what is random; the same seed gives the same answer."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, notes or warnings.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of tables.")]
