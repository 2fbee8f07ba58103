"""Saved ensembles: a folder with one documented Parquet file.

`patterns.parquet` has one line per pattern. One column per member, under the member's name, holds the label (a number
or text; NULL where it is missing). The column `rows` holds the number of rows with these labels, and `weight` their
total weight, in units of `quorate_weight_unit`, if the ensemble has row weights. The key-value metadata of the file are
the version of the format (`quorate_format`), the members in order (`quorate_members`, JSON), how negative labels are
treated (`quorate_noise`), and the row weight that counts as one row (`quorate_weight_unit`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np

from quorate._utils.optional_imports import import_extra
from quorate.ensemble import Ensemble, counted_labels, from_counted_labels
from quorate.errors import DamagedFileError, InputError
from quorate.labels import CountedLabels, Noise
from quorate.soft_ensemble import refuse_soft
from quorate.tables.engines.frame_engine import unused_name
from quorate.tables.io import escaped, explained, make_folder, quote_name, quote_text, writing

PATTERNS = "patterns.parquet"
_FORMAT = "1"


def write_ensemble(folder: str | Path, ens: Ensemble) -> None:
    """Write the patterns of an ensemble to a folder."""
    refuse_soft(ens, "save")
    write_lines(folder, counted_labels(ens), ens.noise)


def read_ensemble(folder: str | Path) -> Ensemble:
    """Return the ensemble that was saved in a folder."""
    lines, noise = read_lines(folder)
    return from_counted_labels(lines, noise=noise)[0]


def write_lines(folder: str | Path, lines: CountedLabels, noise: Noise) -> None:
    """Write counted labels to a folder, which is created if necessary; a saved ensemble is replaced atomically."""
    duckdb = import_extra("duckdb", "Saving an ensemble")
    target = make_folder(folder)
    # Registered under short names, because members may have any name.
    arrays: dict[str, Any] = {}
    columns = []
    for j, (name, vector) in enumerate(zip(lines.names, lines.vectors, strict=True)):
        # The mask is a column of its own, because DuckDB before 2.0 ignores the masks of arrays.
        arrays |= {f"m{j}": np.ma.getdata(vector), f"missing{j}": np.ma.getmaskarray(vector)}
        label = f"CAST(m{j} AS VARCHAR)" if vector.dtype.kind == "O" else f"m{j}"
        columns.append(f"CASE WHEN NOT missing{j} THEN {label} END AS {quote_name(name)}")
    for stem, values in (("rows", lines.row_counts), ("weight", lines.weights)):
        if values is not None:
            arrays[f"quorate_{stem}"] = values
            columns.append(f"quorate_{stem} AS {quote_name(unused_name(stem, lines.names))}")
    metadata = {
        "quorate_format": _FORMAT,
        "quorate_members": json.dumps(list(lines.names)),
        "quorate_noise": noise,
        "quorate_weight_unit": repr(lines.weight_unit),
    }
    options = ", ".join(f"{key}: {quote_text(value)}" for key, value in metadata.items())
    # In this order: the file is renamed only after DuckDB has closed it without an error.
    with duckdb.connect() as connection, writing(target / PATTERNS) as temporary, explained(str(target / PATTERNS)):
        connection.register("lines", arrays)
        connection.execute(
            f"COPY (SELECT {', '.join(columns)} FROM lines) TO {quote_text(str(temporary))} "
            f"(FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{options}}})"
        )


def read_lines(folder: str | Path) -> tuple[CountedLabels, Noise]:
    """Return the counted labels saved in a folder, and how negative labels are treated."""
    duckdb = import_extra("duckdb", "Loading an ensemble")
    file = Path(folder) / PATTERNS
    if not file.is_file():
        raise InputError(
            f"{folder} has no saved ensemble: there is no {PATTERNS} in it.",
            code="no-file",
            hint="Check the name of the folder.",
        )
    with duckdb.connect() as connection, explained(str(file)):
        pairs = connection.execute("SELECT key, value FROM parquet_kv_metadata($1)", [escaped(file)]).fetchall()
        names, noise, unit = _read_metadata(file, dict(pairs))
        fetched = connection.execute("SELECT * FROM read_parquet($1)", [escaped(file)]).fetchnumpy()
    # By position, because DuckDB does not distinguish names that differ only in case.
    columns = list(fetched.values())
    vectors, numbers = columns[: len(names)], columns[len(names) :]
    if len(numbers) not in (1, 2) or not all(_are_counts(column) for column in numbers):
        raise _damaged(file, "the numbers of rows must be positive")
    rows, *weights = numbers
    if rows.dtype.kind not in "iu":
        raise _damaged(file, "the numbers of rows must be integers")
    return CountedLabels(
        tuple(names),
        vectors,
        np.asarray(rows, dtype=np.int64),
        np.asarray(weights[0], dtype=np.float64) if weights else None,
        unit,
    ), noise


def _read_metadata(file: Path, pairs: dict[bytes, bytes]) -> tuple[list[str], Noise, float]:
    """Return the names of the members, how negative labels are treated and the unit of weights, after checks."""
    version = pairs[b"quorate_format"].decode(errors="replace") if b"quorate_format" in pairs else None
    if version != _FORMAT:
        raise DamagedFileError(
            f"{file} is not an ensemble saved in format {_FORMAT}; its format is {version!r}.",
            code="saved-format",
            hint="Read a table of labels with ensemble_from_frame instead.",
        )
    try:
        names, noise = json.loads(pairs[b"quorate_members"]), pairs[b"quorate_noise"].decode()
        unit = float(pairs[b"quorate_weight_unit"])
    except (KeyError, ValueError):
        raise _damaged(file, "its metadata cannot be read") from None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _damaged(file, "the names of its members are not a list of text")
    if noise not in get_args(Noise):
        raise _damaged(file, f"its value of noise is {noise!r}")
    if not 0 < unit < np.inf:
        raise _damaged(file, f"its unit of weights is {unit}")
    return names, cast(Noise, noise), unit


def _are_counts(column: Any) -> bool:
    """Return whether all are positive, finite numbers."""
    if np.ma.getmaskarray(column).any() or column.dtype.kind not in "iuf":
        return False
    return bool(np.all(np.isfinite(column)) and np.all(column > 0))


def _damaged(file: Path, why: str) -> DamagedFileError:
    return DamagedFileError(f"{file} is damaged: {why}.", code="damaged-file", hint="Save the ensemble again.")
