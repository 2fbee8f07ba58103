"""Saved ensembles: a folder with one documented Parquet file.

`patterns.parquet` has one line per pattern. A column per member, under the member's name, holds the label (a number or
text; NULL where the member says nothing), the column `rows` how many rows share these labels, and `weight` what they
weigh together if the ensemble was built with row weights. The file's key-value metadata name the version of the format
(`quorate_format`), the members in order (`quorate_members`, JSON) and what negative labels mean (`quorate_noise`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np

from quorate.algorithms.base import ConsensusMethod
from quorate.algorithms.registry import ConsensusResult
from quorate.ensemble import Ensemble, counted_labels, from_counted_labels
from quorate.errors import QuorateError
from quorate.features.clusterers.uspec import USPEC
from quorate.features.consensus_clustering import ConsensusClustering
from quorate.labels import CountedLabels, Noise
from quorate.persistence.archive import Archive
from quorate.persistence.feature_models import FeatureModel, read_model, unpack_model
from quorate.persistence.fitted_methods import unpack_clustering, unpack_method
from quorate.persistence.member_arrays import unpack_uspec
from quorate.tables.engines.label_engines import unused_name
from quorate.tables.io import escaped, explained, make_folder, quote_name, writing

PATTERNS = "patterns.parquet"
Saved = FeatureModel | ConsensusClustering | ConsensusMethod | ConsensusResult | USPEC
"""What is saved as one file."""
_FORMAT = "1"


def save(ens: Ensemble | Saved, folder: str | Path) -> None:
    """Write the patterns of an ensemble to a folder, as Parquet; what was saved there before is replaced at once.

    The folder then holds `patterns.parquet`: a column of labels per member, and how many `rows` share them (and their
    `weight`, if rows were weighted). Rows are not saved, so an ensemble that was loaded has no `row_pattern`. A fitted
    model or consensus function is written to one file of that name, as NPZ, as by its own `save`.
    """
    if isinstance(ens, Saved):
        ens.save(folder)
    else:
        write_lines(folder, counted_labels(ens), ens.noise)


def load(folder: str | Path) -> Any:
    """Return the ensemble that was saved in a folder, or the model or consensus function that was saved in a file.

    Examples
    --------
    >>> import tempfile
    >>> import quorate as qt
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     qt.save(qt.Ensemble([[1, 1, 2, 2], ["a", None, "b", "b"]]), folder)
    ...     qt.load(folder)
    Ensemble(n_rows=4, n_members=2, n_clusters=4, n_patterns=3)
    """
    if Path(folder).is_file():
        return read_model(folder, lambda archive: _KINDS[archive[0]["kind"]](archive))
    lines, noise = read_lines(folder)
    return from_counted_labels(lines, noise=noise)[0]


_KINDS: dict[str, Callable[[Archive], Any]] = {
    "features": unpack_model,
    "clustering": unpack_clustering,
    "consensus": unpack_method,
    "uspec": unpack_uspec,
}


def write_lines(folder: str | Path, lines: CountedLabels, noise: Noise) -> None:
    """Write counted lines of labels to a folder, made if need be; what was saved there is replaced at once."""
    import duckdb

    target = make_folder(folder)
    held: dict[str, Any] = {f"m{j}": vector for j, vector in enumerate(lines.vectors)}
    types = ["VARCHAR" if vector.dtype.kind == "O" else "" for vector in lines.vectors]
    columns = [
        f"CAST(m{j} AS {type}) AS {quote_name(name)}" if type else f"m{j} AS {quote_name(name)}"
        for j, (name, type) in enumerate(zip(lines.names, types, strict=True))
    ]
    for stem, values in (("rows", lines.row_counts), ("weight", lines.weights)):
        if values is not None:
            held[f"quorate_{stem}"] = values
            columns.append(f"quorate_{stem} AS {quote_name(unused_name(stem, lines.names))}")
    metadata = {"quorate_format": _FORMAT, "quorate_members": json.dumps(list(lines.names)), "quorate_noise": noise}
    options = ", ".join(f"{key}: {_text(value)}" for key, value in metadata.items())
    with duckdb.connect() as connection, writing(target / PATTERNS) as temporary, explained(str(target / PATTERNS)):
        connection.register("held", held)
        connection.execute(
            f"COPY (SELECT {', '.join(columns)} FROM held) TO {_text(str(temporary))} "
            f"(FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{options}}})"
        )


def read_lines(folder: str | Path) -> tuple[CountedLabels, Noise]:
    """Return the counted lines of labels saved in a folder, and what negative labels mean there."""
    import duckdb

    file = Path(folder) / PATTERNS
    if not file.is_file():
        raise QuorateError(f"{folder} holds no saved ensemble: there is no {PATTERNS} in it. Check the folder's name.")
    with duckdb.connect() as connection, explained(str(file)):
        pairs = connection.execute("SELECT key, value FROM parquet_kv_metadata($1)", [escaped(file)]).fetchall()
        names, noise = _read_metadata(file, dict(pairs))
        found = connection.execute("SELECT * FROM read_parquet($1)", [escaped(file)]).fetchnumpy()
    # By position: names that differ only in case are the same to the engine.
    columns = list(found.values())
    vectors, numbers = columns[: len(names)], columns[len(names) :]
    if len(numbers) not in (1, 2) or not all(_are_counts(column) for column in numbers):
        raise _damaged(file, "it must count the rows of each pattern in positive numbers")
    rows, *weights = numbers
    if rows.dtype.kind not in "iu":
        raise _damaged(file, "rows must be whole numbers")
    return CountedLabels(
        tuple(names),
        vectors,
        np.asarray(rows, dtype=np.int64),
        np.asarray(weights[0], dtype=np.float64) if weights else None,
    ), noise


def _read_metadata(file: Path, pairs: dict[bytes, bytes]) -> tuple[list[str], Noise]:
    """Return the names of the members and what negative labels mean, if the file tells both as it should."""
    version = pairs[b"quorate_format"].decode(errors="replace") if b"quorate_format" in pairs else None
    if version != _FORMAT:
        raise QuorateError(
            f"{file} is not an ensemble saved in format {_FORMAT} (it says {version!r}). "
            "Read a table of labels with ensemble_from_frame instead."
        )
    try:
        names, noise = json.loads(pairs[b"quorate_members"]), pairs[b"quorate_noise"].decode()
    except (KeyError, ValueError):
        raise _damaged(file, "its metadata cannot be read") from None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _damaged(file, "it does not name its members")
    if noise not in get_args(Noise):
        raise _damaged(file, f"it says that noise is {noise!r}")
    return names, cast(Noise, noise)


def _are_counts(column: Any) -> bool:
    """Return whether all are positive, finite numbers."""
    if np.ma.getmaskarray(column).any() or column.dtype.kind not in "iuf":
        return False
    return bool(np.all(np.isfinite(column)) and np.all(column > 0))


def _damaged(file: Path, why: str) -> QuorateError:
    return QuorateError(f"{file} is damaged: {why}. Save the ensemble again.")


def _text(value: str) -> str:
    """Return text quoted for SQL."""
    return "'" + value.replace("'", "''") + "'"
