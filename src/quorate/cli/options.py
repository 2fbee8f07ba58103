"""The options that several commands share. Arguments are named like the parameters of the library (see `flags.py`)."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

_reading = partial(typer.Option, rich_help_panel="Reading")
_writing = partial(typer.Option, rich_help_panel="Writing")

Table = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="Table: CSV, TSV, Parquet, Arrow, NPY, NPZ, Excel, JSON lines or AnnData; - for standard input.",
    ),
]
Tables = Annotated[list[str], typer.Argument(metavar="FILE", help=Table.__metadata__[0].help)]
Members = Annotated[
    list[str] | None,
    _reading(
        "--members",
        metavar="A,B,...",
        help="Columns to combine: names or patterns such as 'kmeans_*'; repeatable. "
        "Default: every column that looks like a clustering; ignored columns are listed.",
    ),
]
Soft = Annotated[
    list[str] | None,
    _reading(
        "--soft",
        metavar="A,B,...",
        help="Membership columns of one soft member: names or a pattern such as 'gmm_*'. Each row must sum to 1. "
        "Repeat the option for further members.",
    ),
]
Id = Annotated[
    str | None,
    _reading(
        "--id",
        metavar="COLUMN",
        help="Column of row identifiers. Default: the first column, if it is named like an ID or unique in every row.",
    ),
]
Truth = Annotated[
    str | None,
    _reading(
        "--truth",
        metavar="COLUMN",
        help="Column of known classes, used for scores only. Default: a column named class or target, or with true or "
        "truth in its name.",
    ),
]
IgnoredTruth = Annotated[
    str | None,
    _reading(
        "--truth",
        metavar="COLUMN",
        help="Column of known classes, not used as a member. Default: a column named class or target, or with true or "
        "truth in its name.",
    ),
]
Keep = Annotated[
    list[str] | None,
    _writing("--keep", metavar="A,B,...", help="Additional columns to copy to the output; repeatable."),
]
Noise = Annotated[
    str, _reading("--noise", metavar="KIND", help="How to treat negative labels: missing, or cluster (one cluster).")
]
Format = Annotated[
    str | None, _reading("--format", metavar="FORMAT", help="File format, if not clear from the extension.")
]
Delimiter = Annotated[str | None, _reading("--delimiter", metavar="CHAR", help="Column delimiter of a text file.")]
Header = Annotated[
    bool | None, _reading("--header/--no-header", help="Whether the first line holds column names. Default: detected.")
]
Encoding = Annotated[
    str | None, _reading("--encoding", metavar="NAME", help="Encoding of a text file. Default: UTF-8.")
]
Sheet = Annotated[
    str | None, _reading("--sheet", metavar="NAME", help="Sheet of an Excel workbook. Default: the first.")
]
MemoryLimit = Annotated[
    str | None, _reading("--memory-limit", metavar="SIZE", help="Memory limit, such as 2GB; larger data spill to disk.")
]
NMembers = Annotated[int, typer.Option("--n-members", "-m", metavar="N", min=1, help="Number of members to generate.")]
Generators = Annotated[
    list[str] | None,
    typer.Option(
        "--generator",
        metavar="NAME",
        help="Clusterer that makes members; repeatable, used in turn (see `quorate methods`). Default: kmeans.",
    ),
]
Jobs = Annotated[int, typer.Option("--jobs", metavar="N", min=1, help="Number of processes.")]
Method = Annotated[str, typer.Option("--method", metavar="NAME", help="Consensus method; see `quorate methods`.")]
Features = Annotated[
    list[str] | None,
    typer.Option(
        "--features",
        metavar="A,B,...",
        help="Feature columns; repeatable. Default: all numeric columns except IDs and known classes.",
    ),
]
Scale = Annotated[str, typer.Option("--scale", metavar="KIND", help="Feature scaling: standard, minmax or none.")]
KnownClasses = Annotated[
    str | None, typer.Option("--truth", metavar="COLUMN", help="Column of known classes, copied to the output.")
]
Report = Annotated[str | None, _writing("--report", metavar="FILE", help="Write an HTML report.")]
Summary = Annotated[str | None, _writing("--summary", metavar="FILE", help="Write the data of the report as JSON.")]
FitRows = Annotated[
    int | None,
    typer.Option(
        "--fit-rows",
        metavar="N",
        min=4,
        help="Rows used to fit each member. Default: all rows, or a sample of tables of more than 20,000 rows.",
    ),
]
KRange = Annotated[
    str | None,
    typer.Option(
        "--k-range",
        metavar="LOW:HIGH",
        help="Range of the number of clusters of each member. Default: 2 to 2 sqrt(rows), or 2:100 on samples.",
    ),
]
Output = Annotated[str | None, _writing("--output", "-o", metavar="FILE", help="Output file; - for standard output.")]
OutputFormat = Annotated[
    str | None, _writing("--output-format", metavar="FORMAT", help="Output format, if not clear from the extension.")
]
Force = Annotated[bool, _writing("--force", help="Overwrite existing files.")]
Seed = Annotated[
    int | None, typer.Option("--seed", metavar="N", min=0, help="Random seed; the same seed gives the same result.")
]
Like = Annotated[
    str | None,
    typer.Option(
        "--like",
        metavar="FILE",
        help="Keep the cluster ids of an earlier result (its column consensus). Rows are matched by the ID column.",
    ),
]
Abstain = Annotated[
    float | None,
    typer.Option("--abstain", metavar="SHARE", help="Write -1 for rows with a confidence below this, such as 0.9."),
]
Layers = Annotated[
    str | None,
    typer.Option(
        "--layers",
        metavar="K,K,...",
        help="Also write nested partitions of these numbers of clusters, such as 5,20,80, one column each.",
    ),
]
Core = Annotated[
    float | None,
    typer.Option(
        "--core",
        metavar="SHARE",
        help="Also write consensus_core: the cluster of rows on which members with this share of the weight agree "
        "exactly, -1 for other rows.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="PATTERN",
        help="Families of members; each counts as one member. A pattern such as '{tool}_*', or a=tool1,b=tool1,...",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Hide progress, notes and warnings.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]

READING = {
    "format": Format,
    "delimiter": Delimiter,
    "header": Header,
    "encoding": Encoding,
    "sheet": Sheet,
    "memory_limit": MemoryLimit,
}
"""The options by which a table is read, named like the fields of `Source`."""


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options by which a table is read to a command, which receives them as `**reading`."""
    signature = inspect.signature(command)
    own = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    added = [inspect.Parameter(name, own[-1].kind, default=None, annotation=kind) for name, kind in READING.items()]
    # typer reads options from the signature and from the annotations.
    command.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    command.__annotations__ |= READING
    return command
