"""The options that several commands share."""

import re
from typing import Annotated

import typer

_IN, _OUT = "Reading", "Writing"

Table = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A table: CSV, TSV, Parquet, Arrow, NPY, NPZ, Excel, JSON lines or AnnData; - for standard input.",
    ),
]
Members = Annotated[
    list[str] | None,
    typer.Option(
        "--members",
        metavar="A,B,...",
        rich_help_panel=_IN,
        help="Columns that hold clusterings: names or patterns such as 'kmeans_*'; repeatable. "
        "Default: all but ids, known classes, features, earlier answers and what is kept; what is left out is said.",
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
        help="Column of known classes: scores are shown, the answer does not depend on it. "
        "Default: a column named class, truth, target or the like.",
    ),
]
LeftOutTruth = Annotated[
    str | None,
    typer.Option(
        "--truth",
        metavar="COLUMN",
        rich_help_panel=_IN,
        help="Column of known classes, which is no member. Default: a column named class, truth, target or the like.",
    ),
]
Keep = Annotated[
    list[str] | None,
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
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding", metavar="NAME", rich_help_panel=_IN, help="Encoding of a text table, if it is not UTF-8."
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        "--memory-limit",
        metavar="SIZE",
        rich_help_panel=_IN,
        help="Memory to keep to, such as 2GB; disk is used beyond.",
    ),
]
Method = Annotated[str, typer.Option("--method", metavar="NAME", help="How to combine; see: quorate methods.")]
Scale = Annotated[str, typer.Option("--scale", metavar="KIND", help="standard, minmax or none.")]
KnownClasses = Annotated[
    str | None, typer.Option("--truth", metavar="COLUMN", help="Column of known classes, copied to the output.")
]
Report = Annotated[
    str | None, typer.Option("--report", metavar="FILE", rich_help_panel=_OUT, help="Write an HTML report.")
]
Summary = Annotated[
    str | None, typer.Option("--summary", metavar="FILE", rich_help_panel=_OUT, help="Write the report's data as JSON.")
]
FitRows = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=4, help="Rows each member is fitted on. Default: all, or 10,000 if there are over 20,000."
    ),
]
KRange = Annotated[
    str | None,
    typer.Option(
        metavar="LOW:HIGH",
        help="Clusters of members, drawn from this range. Default: 2 to 2 sqrt(rows), on samples 2:100.",
    ),
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

FLAGS = {
    "members": "--members",
    "id": "--id",
    "truth": "--truth",
    "keep": "--keep",
    "noise": "--noise",
    "format": "--format",
    "delimiter": "--delimiter",
    "encoding": "--encoding",
    "memory_limit": "--memory-limit",
    "report": "--report",
    "summary": "--summary",
    "n_clusters": "-k",
    "beta": "--beta",
    "method": "--method",
    "scale": "--scale",
    "n_jobs": "--jobs",
    "features": "--features",
    "missing": "--missing",
    "fit_rows": "--fit-rows",
    "k_range": "--k-range",
    "n_members": "--number",
}
"""The options by the library's names of parameters."""
_OTHER_FLAGS = {
    "combine": {"beta": "--set beta"},
    "evaluate": {"members": "--labels"},
    "generate": {"members": "--features"},
}
_SWITCHES = {"header=False": "--no-header", "header=True": "--header", "force=True": "--force"}


def in_flags(message: str, command: str = "") -> str:
    """Return a message of the library with its parameters, written `name=`, as the options of a command."""
    flags = {**FLAGS, **_OTHER_FLAGS.get(command, {})}
    for words, flag in _SWITCHES.items():
        message = message.replace(words, flag)
    names = "|".join(flags)
    message = re.sub(rf"^({names})(?= (?:must|names|may) )", lambda found: flags[found[1]], message)
    message = re.sub(rf"\b({names})=(?=['\"\w])", lambda found: flags[found[1]] + " ", message)
    return re.sub(rf"\b({names})=", lambda found: flags[found[1]], message)
