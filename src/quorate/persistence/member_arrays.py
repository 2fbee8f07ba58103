"""Fitted members as plain arrays, for saved models: by centers (k-means, RPCL) or by landmarks (U-SPEC)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from quorate.errors import InputError
from quorate.features.clusterers.uspec import USPEC, Landmarks
from quorate.features.labeling import Centers, centres_of
from quorate.persistence.archive import Archive, Arrays, require


def pack_members(models: Sequence[Any]) -> Arrays:
    """Return the arrays of members, each under the number of its member."""
    return {f"member_{j}_{name}": values for j, model in enumerate(models) for name, values in _pack(model).items()}


def unpack_members(arrays: Arrays, n_features: int) -> tuple[Any, ...]:
    """Return the members, after checking that their arrays fit each other."""
    members = []
    # Members are numbered without gaps; the first missing number ends the list.
    for j in count():
        if not any(name.startswith(f"member_{j}_") for name in arrays):
            break
        start = f"member_{j}_"
        part = {name.removeprefix(start): values for name, values in arrays.items() if name.startswith(start)}
        members.append(_centers(part, n_features) if "points" in part else _landmarks(part, n_features))
    return tuple(members)


def _pack(model: Any) -> Arrays:
    centers = centres_of(model)
    if centers is not None:
        return {"points": centers.points, "labels": centers.labels}
    if isinstance(model, USPEC):
        return model.to_arrays()
    raise InputError(
        f"Members of {type(model).__name__} cannot be saved.",
        code="not-savable",
        hint="Members of kmeans, rpcl and spectral can be saved.",
    )


def _centers(part: Arrays, n_features: int) -> Centers:
    points, labels = part["points"], part["labels"]
    require(points.shape == (len(labels), n_features), labels.ndim == 1, labels.min() >= 0, np.isfinite(points).all())
    return Centers(points.astype(np.float64), labels.astype(np.int64))


def _landmarks(part: Arrays, n_features: int) -> USPEC:
    points, group, vectors = part["landmarks"], part["group"], part["vectors"]
    require(
        points.ndim == vectors.ndim == part["centers"].ndim == part["group_centers"].ndim == 2,
        points.shape[1] == part["group_centers"].shape[1] == n_features,
        group.shape == (len(points),) and group.min() >= 0 and group.max() < len(part["group_centers"]),
        len(vectors) == len(points) and part["centers"].shape[1] == vectors.shape[1],
        part["links"].shape == (2,) and 1 <= part["links"][0] <= len(points),
    )
    points, vectors = points.astype(np.float64), vectors.astype(np.float64)
    model = USPEC(len(part["centers"]))
    model.landmarks_ = Landmarks(points, group.astype(np.int64), part["group_centers"], int(part["links"][0]))
    model.sigma_, model.vectors_, model.cluster_centers_ = float(part["links"][1]), vectors, part["centers"]
    model.n_features_in_ = n_features
    return model


def unpack_uspec(archive: Archive) -> USPEC:
    """Return a U-SPEC that was saved."""
    manifest, arrays = archive
    (model,) = unpack_members(arrays, int(manifest["n_features"]))
    require(isinstance(model, USPEC))
    model.set_params(**manifest["parameters"])
    model.labels_, model.eigenvalues_, model.n_iter_ = arrays["labels"], arrays["eigenvalues"], int(manifest["n_iter"])
    return model
