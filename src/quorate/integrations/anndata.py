"""AnnData objects: clusterings are read from `obs`, and the consensus is written to `obs` and `uns`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quorate._utils.checks import nearest_name
from quorate.errors import InputError


def is_annotated(thing: object) -> bool:
    """Return whether an object is an AnnData object, without importing AnnData."""
    return any(
        kind.__name__ == "AnnData" and kind.__module__.split(".")[0] == "anndata" for kind in type(thing).__mro__
    )


def candidate_keys(obs: Any) -> list[str]:
    """Return the columns of `obs` that may be clusterings: the categorical ones, as scanpy writes them."""
    return [str(name) for name, kind in obs.dtypes.items() if str(kind) == "category"]


def ask_for_keys(adata: Any) -> InputError:
    """Return the error for an AnnData object without the names of its clusterings."""
    candidates = candidate_keys(adata.obs)
    listed = ", ".join(map(repr, candidates)) or "none; cluster first, as with scanpy.tl.leiden"
    example = candidates[:3] or ["leiden_0.5", "leiden_1.0"]
    return InputError(
        f"An AnnData object needs keys, the columns of obs with clusterings. Its categorical columns: {listed}.",
        code="anndata-keys",
        hint=f"Call consensus(adata, keys={example!r}).",
    )


def clusterings_of(adata: Any, keys: Sequence[str] | None, key_added: str) -> dict[str, Any]:
    """Return the columns of `obs` to combine, by name."""
    if keys is None:
        raise ask_for_keys(adata)
    keys = [keys] if isinstance(keys, str) else list(keys)
    for key in keys:
        if key not in adata.obs.columns:
            candidates = candidate_keys(adata.obs)
            raise InputError(
                f"must be columns of obs; there is no {key!r}.{nearest_name(key, candidates)} "
                f"Categorical columns: {', '.join(map(repr, candidates)) or 'none'}.",
                code="unknown-column",
                parameter="keys",
            )
    if key_added in keys:
        raise InputError(
            f"must not be one of the keys; got {key_added!r}, which would be overwritten.",
            code="key-added",
            parameter="key_added",
        )
    return {key: adata.obs[key] for key in keys}


def write_consensus(adata: Any, key_added: str, result: Any) -> None:
    """Write a consensus to `obs` and `uns`, as scanpy writes its clusterings. Everything is written at the end."""
    import numpy as np
    import pandas as pd

    import quorate

    # Objects, because not every version of AnnData can save the text type of newer pandas.
    texts = pd.Index([str(label) for label in range(result.n_clusters)], dtype=object)
    params = {
        name: value for name, value in result.estimator.get_params().items() if isinstance(value, str | int | float)
    }
    metadata = {
        "method": result.method,
        "params": params,
        "n_clusters": result.n_clusters,
        "keys": np.array(result.ensemble.names, dtype=object),
        "ncai": result.ncai,
        "trust": result.trust,
        "weights": result.member_weights,
        "version": quorate.__version__,
    }
    adata.obs[key_added] = pd.Categorical.from_codes(result.labels, categories=texts)
    adata.obs[f"{key_added}_confidence"] = result.confidence
    adata.obs[f"{key_added}_margin"] = result.margin
    adata.obs[f"{key_added}_runner_up"] = pd.Categorical.from_codes(result.runner_up, categories=texts)
    adata.uns[key_added] = metadata
