"""`quorate generate`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._utils.checks import check_choice, nearest_name
from quorate.cli.output import console, count, print_json, table
from quorate.cli.output_files import Outputs
from quorate.cli.table_source import Source, note_roles
from quorate.datasets import NAMES, load
from quorate.errors import InputError, Setting
from quorate.features import draw_pool
from quorate.features.generators import GENERATORS
from quorate.features.pool import SCALERS, PoolMember
from quorate.tables.io import STREAM, LabelTable, connect, quote_name, write_table

_MEMBERS_SHOWN = 40


@dataclass(frozen=True)
class Drawing:
    """Which members to generate."""

    n_members: int
    generators: tuple[str, ...]
    scale: str
    seed: int
    jobs: int | None
    fit_rows: int | str | None = "auto"
    k_range: tuple[int, int] | str = "auto"


@dataclass(frozen=True)
class Features:
    """The rows to cluster, and the columns that are copied to the output."""

    values: NDArray[np.float64]
    copied: dict[str, Any]


def parse_range(text: str) -> tuple[int, int]:
    """Parse the smallest and largest number of clusters of members: "20:60"."""
    low, colon, high = (part.strip() for part in text.partition(":"))
    if not (colon and low.isdigit() and high.isdigit()):
        raise InputError(
            f"must be two numbers of clusters such as 20:60; got {text!r}.", code="k-range", parameter="k_range"
        )
    if int(low) > int(high):
        raise InputError(f"must be LOW:HIGH with LOW <= HIGH; got {text}.", code="k-range", parameter="k_range")
    return int(low), int(high)


def run_generate(source: Source, drawing: Drawing, outputs: Outputs, *, quiet: bool, json: bool) -> None:
    """Cluster features many times, write the labels and print the members."""
    for generator in drawing.generators:
        check_choice("members", generator, tuple(GENERATORS))
    check_choice("scale", drawing.scale, (*SCALERS, "none"))
    # Before the output is compared with the file, which would only say that there is none.
    _suggest_dataset(source.file)
    # A packaged dataset is no file that could be overwritten.
    outputs.check(STREAM if _is_packaged(source) else source.file, json=json)
    features = _read_features(source, quiet=quiet)
    _check_k_range(drawing.k_range, len(features.values))
    labels, members = draw_members(features.values, drawing, quiet=quiet)
    if outputs.output is not None:
        _write_labels({**features.copied, **labels}, outputs)
    if json:
        print_json([_as_json(member) for member in members])
    elif outputs.output is None or not quiet:
        rows = [(m.name, m.n_clusters, _params(m)) for m in members[:_MEMBERS_SHOWN]]
        title = f"{count(len(members), 'member')} of {count(len(features.values), 'row')}"
        if len(members) > len(rows):
            title += f" (the first {len(rows)})"
        console(stderr=outputs.output == STREAM).print(table(title, ("member", "clusters", "parameters"), rows))
    outputs.note_written(quiet=quiet)


def _check_k_range(k_range: tuple[int, int] | str, n_rows: int) -> None:
    """Refuse more clusters than half of the rows: such members are rejected as trivial."""
    most = max(2, n_rows // 2)
    if not isinstance(k_range, str) and k_range[0] > most:
        raise InputError(
            f"is {k_range[0]}:{k_range[1]}, but {count(n_rows, 'row')} allow at most {most} clusters.",
            code="k-range",
            parameter="k_range",
        )


def draw_members(
    features: NDArray[np.float64], drawing: Drawing, *, quiet: bool
) -> tuple[dict[str, NDArray[Any]], list[PoolMember]]:
    """Return the label vectors and descriptions of members made by the generators in turn."""
    generators = tuple(dict.fromkeys(drawing.generators))
    # Rounded up; surplus members are dropped below.
    each = -(-drawing.n_members // len(generators))
    pool = draw_pool(
        features,
        per_method=each,
        methods=generators,
        scale=None if drawing.scale == "none" else drawing.scale,
        random_state=drawing.seed,
        n_jobs=drawing.jobs,
        fit_rows=drawing.fit_rows,
        k_range=drawing.k_range,
        progress=False if quiet else None,
    )
    # The pool lists all members of the first generator, then those of the next. Taking turns drops the last ones.
    order = sorted([g * each + i for i in range(each) for g in range(len(generators))][: drawing.n_members])
    members = [pool.members[j] for j in order]
    return {member.name: pool.labels[:, j] for member, j in zip(members, order, strict=True)}, members


def _is_packaged(source: Source) -> bool:
    return source.file in NAMES and not Path(source.file).exists()


def _read_features(source: Source, *, quiet: bool) -> Features:
    """Read the numeric columns of a table, or an included dataset."""
    if _is_packaged(source):
        if source.members is not None or source.id_column is not None or source.truth is not None:
            raise InputError(
                f"{source.file} is an included dataset, whose features and classes are fixed.",
                code="included-dataset",
                hint=("Remove ", Setting("features"), ", ", Setting("id"), " and ", Setting("truth"), "."),
            )
        data = load(source.file)
        return Features(data.features, {} if data.classes is None else {"class": np.asarray(data.classes)})
    with source.open() as opened:
        columns = source.choose_features(opened)
        names = columns.members
        _check_complete(opened, names)
        note_roles(columns, quiet=quiet)
        values = [_numbers(opened, name) for name in names]
        copied = {name: _values(opened.fetch(_column(opened.raw(name), opened))) for name in columns.keep}
    member_names = {f"{generator}_{i}" for generator in GENERATORS for i in range(1000)}
    for name in copied:
        if name in member_names:
            raise InputError(
                f"Column {name!r} of {source.file} has the name of a generated member.",
                code="column-name-taken",
                hint="Rename it first.",
            )
    return Features(np.column_stack(values), copied)


def _suggest_dataset(file: str) -> None:
    """Raise an error that suggests a dataset, if `file` does not exist and is spelled almost like one."""
    suggestion = "" if file in NAMES else nearest_name(file, NAMES)
    if suggestion and file != STREAM and not Path(file).exists() and not Path(file).suffix:
        raise InputError(f"There is no file {file!r}.{suggestion.replace('mean', 'mean the dataset')}", code="no-file")


def _column(cell: str, opened: LabelTable) -> str:
    return f"SELECT {cell} AS cell FROM {opened.view}"


def _values(columns: dict[str, Any]) -> NDArray[Any]:
    cells = columns["cell"]
    return np.asarray(np.ma.filled(cells.astype(object), None) if np.ma.isMaskedArray(cells) else cells)


def _check_complete(opened: LabelTable, names: Sequence[str]) -> None:
    """Raise an error that lists the feature columns with missing values."""
    gaps = [f"{name!r} ({opened.profile[name].n_missing:,})" for name in names if opened.profile[name].n_missing]
    if gaps:
        raise InputError(
            f"Columns of {opened.path} with missing values: {', '.join(gaps)}.",
            code="missing-values",
            hint=("Fill them in, or list the other columns with ", Setting("features"), "."),
        )


def _numbers(opened: LabelTable, name: str) -> NDArray[np.float64]:
    return np.asarray(opened.fetch(_column(opened.number(name), opened))["cell"], dtype=np.float64)


def _write_labels(columns: dict[str, Any], outputs: Outputs) -> None:
    with ExitStack() as resources:
        connection = connect(resources)
        connection.register("members", {f"c{j}": values for j, values in enumerate(columns.values())})
        selected = ", ".join(f"c{j} AS {quote_name(name)}" for j, name in enumerate(columns))
        relation = connection.sql(f"SELECT {selected} FROM members")
        write_table(relation, str(outputs.output), format=outputs.output_format, force=outputs.force)


def _as_json(member: PoolMember) -> dict[str, Any]:
    return {
        "name": member.name,
        "generator": member.method,
        "clusters": member.n_clusters,
        "parameters": {name: float(value) for name, value in member.params.items()},
        "seed": member.seed,
    }


def _params(member: PoolMember) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in member.params.items())
