"""AnnData, MuData and SpatialData: clusterings are read from `obs`; results are written to `obs` and `uns`.

The conventions are those of scanpy: `key_added`, `copy`, categories that are text, `uns[key]["params"]` and
`uns[key + "_colors"]`. None of the three packages is imported here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quorate._utils.checks import nearest_name
from quorate._utils.palette import cluster_colors
from quorate.errors import InputError

_PACKAGES = {"AnnData": "anndata", "MuData": "mudata", "SpatialData": "spatialdata"}


def is_annotated(thing: object) -> bool:
    """Return whether an object is an AnnData, MuData or SpatialData object, without importing these packages."""
    return _kind(thing) is not None


def _kind(thing: object) -> str | None:
    """Return "AnnData", "MuData" or "SpatialData" for such an object and for objects of derived classes."""
    for base in type(thing).__mro__:
        if _PACKAGES.get(base.__name__) == base.__module__.split(".")[0]:
            return base.__name__
    return None


def annotated_table(data: Any) -> Any:
    """Return the object with `obs` and `uns`: the only table of a SpatialData object, any other object itself."""
    if _kind(data) != "SpatialData":
        return data
    tables = dict(data.tables)
    if len(tables) != 1:
        raise InputError(
            f"A SpatialData object must have one table; this one has {', '.join(map(repr, tables)) or 'none'}.",
            code="spatialdata-tables",
            hint="Pass one of its tables, such as sdata.tables['table'].",
        )
    return next(iter(tables.values()))


def candidate_keys(obs: Any) -> list[str]:
    """Return the columns of `obs` that may be clusterings: the categorical ones, as scanpy writes them."""
    return [str(name) for name, kind in obs.dtypes.items() if str(kind) == "category"]


def ask_for_keys(data: Any) -> InputError:
    """Return the error for an AnnData object without the names of its clusterings."""
    candidates = list(_candidates(annotated_table(data)))
    listed = ", ".join(map(repr, candidates)) or "none; cluster first, as with scanpy.tl.leiden"
    example = candidates[:3] or ["leiden_0.5", "leiden_1.0"]
    return InputError(
        f"{_kind(data)} needs keys, the columns of obs with clusterings. Its categorical columns: {listed}.",
        code="anndata-keys",
        hint=f"Call consensus(adata, keys={example!r}).",
    )


def _candidates(table: Any) -> list[str]:
    """Return the categorical columns of `obs`; those of a modality have its name and a colon in front."""
    own = candidate_keys(table.obs)
    return own + [
        f"{name}:{key}"
        for name, modality in _modalities(table).items()
        for key in candidate_keys(modality.obs)
        if f"{name}:{key}" not in own
    ]


def _modalities(table: Any) -> Mapping[str, Any]:
    return dict(table.mod) if _kind(table) == "MuData" else {}


def clusterings_of(data: Any, keys: Sequence[str] | str | None) -> dict[str, Any]:
    """Return columns of `obs` by name. In MuData, "rna:leiden" is `obs["leiden"]` of the modality "rna".

    Cells that a modality does not contain have no label in its columns.
    """
    if keys is None:
        raise ask_for_keys(data)
    table = annotated_table(data)
    return {key: _column(table, key) for key in ([keys] if isinstance(keys, str) else keys)}


def _column(table: Any, key: str) -> Any:
    if key in table.obs.columns:
        return table.obs[key]
    name, _, column = key.partition(":")
    modality = _modalities(table).get(name)
    if modality is not None and column in modality.obs.columns:
        # Cells that the modality lacks get a missing label.
        return modality.obs[column].reindex(table.obs_names)
    candidates = _candidates(table)
    raise InputError(
        f"must be columns of obs; there is no {key!r}.{nearest_name(key, candidates)} "
        f"Categorical columns: {', '.join(map(repr, candidates)) or 'none'}.",
        code="unknown-column",
        parameter="keys",
    )


def writable_table(data: Any, key_added: str, keys: Sequence[str], *, copy: bool) -> Any:
    """Return the object to write results to, a copy if requested; refuse a key that would overwrite a member."""
    if key_added in keys:
        raise InputError(
            f"must not be one of the keys; got {key_added!r}, which would be overwritten.",
            code="key-added",
            parameter="key_added",
        )
    table = annotated_table(data)
    if copy and getattr(table, "isbacked", False):
        raise InputError(
            "cannot be made of an object in backed mode.",
            code="backed-copy",
            parameter="copy",
            hint="Use copy=False, which only adds columns to obs in memory, or pass adata.to_memory().",
        )
    return table.copy() if copy else table


def write_consensus(table: Any, key_added: str, result: Any, params: Mapping[str, Any]) -> None:
    """Write a consensus to `obs` and `uns`, as scanpy writes its clusterings. Everything is written at the end."""
    import numpy as np

    import quorate

    # Parameters that AnnData can save; anything else is not written.
    metadata = {
        "params": {name: value for name, value in params.items() if isinstance(value, str | int | float | np.ndarray)},
        "n_clusters": result.n_clusters,
        "ncai": result.ncai,
        "trust": result.trust,
        "weights": result.member_weights,
        "version": quorate.__version__,
    }
    # Colors belong to cluster ids, which may have gaps.
    clusters = np.arange(result.n_clusters) if result.ids is None else np.sort(result.ids)
    _write_labels(table, key_added, result.labels, clusters)
    for name in ("confidence", "margin", "entropy"):
        table.obs[f"{key_added}_{name}"] = getattr(result, name)
    _write_labels(table, f"{key_added}_runner_up", result.runner_up, clusters)
    table.uns[key_added] = metadata


def _write_labels(table: Any, key: str, labels: Any, clusters: Any) -> None:
    """Write labels (-1: none) as categories that are text, and the color of each of the `clusters`, ascending."""
    import numpy as np
    import pandas as pd

    # Objects, because not every version of AnnData can save the text type of newer pandas.
    texts = pd.Index([str(label) for label in clusters], dtype=object)
    codes = np.where(labels >= 0, np.searchsorted(clusters, labels), -1)
    table.obs[key] = pd.Categorical.from_codes(codes, categories=texts)
    colors = cluster_colors(int(clusters.max(initial=-1)) + 1)
    table.uns[f"{key}_colors"] = np.array([colors[label] for label in clusters], dtype=object)
