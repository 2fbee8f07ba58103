"""`quorate generate`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._utils.checks import check_choice
from quorate.cli.output import console, note, print_json, table
from quorate.cli.table_source import Source, say_guesses
from quorate.datasets import NAMES, load
from quorate.errors import QuorateError
from quorate.features import draw_pool
from quorate.features.generators import GENERATORS
from quorate.features.pool import SCALERS, PoolMember
from quorate.tables.io import STREAM, LabelTable, check_output, connect, quote_name, write_table
from quorate.tables.io import output_format as output_format_of

_MEMBERS_SHOWN = 40


@dataclass(frozen=True)
class Drawing:
    """Which members to draw."""

    n_members: int
    methods: tuple[str, ...]
    scale: str
    seed: int
    jobs: int | None
    fit_rows: int | str | None = "auto"
    k_range: tuple[int, int] | str = "auto"


@dataclass(frozen=True)
class Features:
    """Rows to cluster, and the columns that go with them to the output."""

    values: NDArray[np.float64]
    beside: dict[str, Any]


def run_generate(
    source: Source,
    drawing: Drawing,
    output: str | None,
    output_format: str | None,
    *,
    force: bool,
    quiet: bool,
    json: bool,
) -> None:
    """Cluster features many times, write the labels and print what was drawn."""
    for method in drawing.methods:
        check_choice("method", method, tuple(GENERATORS))
    check_choice("scale", drawing.scale, (*SCALERS, "none"))
    if output == STREAM and json:
        raise QuorateError("Only one result can go to standard output. Write the labels to a file.")
    check_output(output, force=force, source=None if _is_packaged(source) else source.file)
    if output is not None:
        output_format_of(output, output_format)
    features = _read_features(source, quiet=quiet)
    labels, drawn = draw_members(features.values, drawing, quiet=quiet)
    if output is not None:
        _write_labels({**features.beside, **labels}, output, output_format, force=force)
    if json:
        print_json([_described(member) for member in drawn])
    elif output is None or not quiet:
        out = console(stderr=output == STREAM)
        rows = [(m.name, m.n_clusters, _params(m)) for m in drawn[:_MEMBERS_SHOWN]]
        out.print(
            table(f"{len(drawn)} members of {len(features.values):,} rows", ("member", "clusters", "drawn"), rows)
        )
    if output not in (None, STREAM):
        note(f"Written: {output}", quiet=quiet)


def draw_members(
    features: NDArray[np.float64], drawing: Drawing, *, quiet: bool
) -> tuple[dict[str, NDArray[Any]], list[PoolMember]]:
    """Return the label vectors and descriptions of members drawn by the methods in turn."""
    methods = tuple(dict.fromkeys(drawing.methods))
    each = -(-drawing.n_members // len(methods))
    pool = draw_pool(
        features,
        per_method=each,
        methods=methods,
        scale=None if drawing.scale == "none" else drawing.scale,
        random_state=drawing.seed,
        n_jobs=drawing.jobs,
        fit_rows=drawing.fit_rows,
        k_range=drawing.k_range,
        progress=False if quiet else None,
    )
    # The pool holds all members of one method, then all of the next; in turn means one of each.
    order = [m * each + i for i in range(each) for m in range(len(methods))][: drawing.n_members]
    order.sort()
    members = [pool.members[j] for j in order]
    return {member.name: pool.labels[:, j] for member, j in zip(members, order, strict=True)}, members


def _is_packaged(source: Source) -> bool:
    return source.file in NAMES and not Path(source.file).exists()


def _read_features(source: Source, *, quiet: bool) -> Features:
    """Read a table of numbers, or a packaged dataset."""
    if _is_packaged(source):
        if source.members is not None or source.id_column is not None or source.truth is not None:
            raise QuorateError(
                f"{source.file} is a packaged dataset, whose features and classes are known. Leave out --features, "
                "--id and --truth."
            )
        data = load(source.file)
        beside = {} if data.classes is None else {"class": np.asarray(data.classes)}
        return Features(data.features, beside)
    with source.open() as opened:
        columns = source.choose(opened, labels=False)
        _check_features(opened, columns.members)
        say_guesses(columns, quiet=quiet)
        values = [_numbers(opened, name) for name in columns.members]
        beside = {name: _plain(opened.fetch(_one(opened.raw(name), opened))) for name in columns.keep}
    for name in beside:
        if name in {f"{method}_{i}" for method in GENERATORS for i in range(1000)}:
            raise QuorateError(f"Column {name!r} of {source.file} has the name of a member. Rename it first.")
    return Features(np.column_stack(values), beside)


def _one(cell: str, opened: LabelTable) -> str:
    return f"SELECT {cell} AS cell FROM {opened.view}"


def _plain(found: dict[str, Any]) -> NDArray[Any]:
    cells = found["cell"]
    return np.asarray(np.ma.filled(cells.astype(object), None) if np.ma.isMaskedArray(cells) else cells)


def _check_features(opened: LabelTable, names: Sequence[str]) -> None:
    """Refuse columns that are no features, all at once."""
    kinds = {name: opened.profile[name].kind for name in names}
    text = [name for name, kind in kinds.items() if kind not in ("integer", "number", "boolean")]
    gaps = [f"{name!r} ({opened.profile[name].n_missing:,})" for name in names if opened.profile[name].n_missing]
    if text:
        raise QuorateError(
            f"{_named(text)} of {opened.path} {'is' if len(text) == 1 else 'are'} text, not a feature. Name the "
            "features with members=, or name a column with id= or truth=."
        )
    if gaps:
        raise QuorateError(
            f"Missing values are in these columns of {opened.path}: {', '.join(gaps)}. Fill them in, or name the other "
            "columns with members=."
        )


def _named(names: Sequence[str]) -> str:
    listed = ", ".join(map(repr, names))
    return f"Column {listed}" if len(names) == 1 else f"Columns {listed}"


def _numbers(opened: LabelTable, name: str) -> NDArray[np.float64]:
    return np.asarray(opened.fetch(_one(opened.label(name), opened))["cell"], dtype=np.float64)


def _write_labels(columns: dict[str, Any], output: str, output_format: str | None, *, force: bool) -> None:
    with ExitStack() as resources:
        connection = connect(resources)
        connection.register("members", {f"c{j}": values for j, values in enumerate(columns.values())})
        named = ", ".join(f"c{j} AS {quote_name(name)}" for j, name in enumerate(columns))
        write_table(connection.sql(f"SELECT {named} FROM members"), output, format=output_format, force=force)


def _described(member: PoolMember) -> dict[str, Any]:
    return {
        "name": member.name,
        "method": member.method,
        "clusters": member.n_clusters,
        "parameters": {name: float(value) for name, value in member.params.items()},
        "seed": member.seed,
    }


def _params(member: PoolMember) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in member.params.items())
