"""The model of named features: members and their consensus for new rows, in memory and in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._utils.array_types import Floats
from quorate.columns.column_messages import feature_problem, quoted
from quorate.errors import DamagedFileError, InputError
from quorate.features.labeling import Crew
from quorate.features.out_of_sample import Assigned, RowClusters
from quorate.persistence.archive import Archive, Arrays, damaged, fill_archive, open_archive, require
from quorate.persistence.fitted_methods import unpack_row_clusters, unpack_scaling
from quorate.persistence.member_arrays import pack_members, unpack_members
from quorate.tables.io import writing
from quorate.tables.io.untrusted_files import load_npz


@dataclass(frozen=True)
class FeatureModel:
    """Members and their consensus, for rows of named features.

    `cluster_file` and `cluster_frame` return it; `save` writes it to a file, and `quorate.load` reads it.
    """

    features: tuple[str, ...]
    fill: Floats | None
    """Replacement for a missing number of each feature; None: rows with missing numbers get no cluster."""
    clusters: RowClusters
    names: tuple[str, ...]
    """The members."""
    ncai: Floats
    member_weights: Floats
    n_clusters: int

    def assign(self, X: NDArray[Any]) -> Assigned:
        """Return the cluster of rows (n, features) and its certainty; -1 and 0 where a number is missing."""
        # A copy, because gaps are filled in place.
        values = np.array(X, dtype=np.float64, order="C")
        gaps = ~np.isfinite(values)
        if not gaps.any():
            return self.clusters.assign(values)
        # Rows with gaps are labeled like all others, and forgotten afterwards if they have no fill.
        rows, columns = np.nonzero(gaps)
        values[rows, columns] = 0.0 if self.fill is None else self.fill[columns]
        assigned = self.clusters.assign(values)
        if self.fill is None:
            assigned.forget(rows)
        return assigned

    def save(self, path: str | Path) -> None:
        """Write the model to a file (NPZ, arrays only), completely or not at all; `quorate.load` reads it."""
        save_model(self, path)

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the cluster of each row of X, an array of the features or a frame that has them."""
        return self.assign(_matrix(X, self.features)).labels


def _matrix(X: Any, names: Sequence[str]) -> NDArray[Any]:
    if not isinstance(X, np.ndarray) and hasattr(X, "columns"):
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        absent = [name for name in names if name not in frame.columns]
        if absent:
            raise InputError(
                f"has no columns {quoted(absent)}, which are features of the model.",
                code="missing-columns",
                parameter="X",
            )
        X = frame.select(*names).to_native()
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise feature_problem(X) or InputError(
            "must hold numbers, one column per feature.", code="features", parameter="X"
        ) from None
    if values.ndim != 2 or values.shape[1] != len(names):
        raise InputError(
            f"must have {len(names)} columns, the features of the model; got shape {values.shape}.",
            code="array-shape",
            parameter="X",
        )
    return values


def save_model(model: FeatureModel, path: str | Path, *, force: bool = True) -> None:
    """Write a model to a file, completely or not at all."""
    scaling = model.clusters.crew.scaling
    arrays: Arrays = {
        "ncai": model.ncai,
        "member_weights": model.member_weights,
        **model.clusters.to_arrays(),
        **pack_members(model.clusters.crew.models),
    }
    if model.fill is not None:
        arrays["fill"] = model.fill
    if scaling is not None:
        arrays |= scaling.to_arrays()
    manifest = {
        "kind": "features",
        "features": list(model.features),
        "members": list(model.names),
        "n_clusters": model.n_clusters,
    }
    with writing(path, force=force) as temporary, open(temporary, "wb") as file:
        fill_archive(file, (manifest, arrays))


def load_model(path: str | Path) -> FeatureModel:
    """Return the model of named features in a file."""
    model = read_model(path, unpack_model)
    assert isinstance(model, FeatureModel)
    return model


def read_model(path: str | Path, unpack: Callable[[Archive], Any]) -> Any:
    """Return what `unpack` builds from a file; raise an error if it is not a saved model."""
    if not Path(path).exists():
        raise InputError(f"There is no file {path}.", code="no-file", hint="Check its name and folder.")
    if Path(path).is_dir():
        raise InputError(f"{path} is a folder, not a model.", code="no-file", hint="Pass the file.")
    try:
        arrays = load_npz(Path(path), str(path))
    except DamagedFileError:
        raise damaged(path) from None
    return open_archive(path, arrays, unpack)


def unpack_model(archive: Archive) -> FeatureModel:
    """Return a model that was saved, after checking that its parts fit each other."""
    manifest, arrays = archive
    if manifest["kind"] != "features":
        raise InputError(
            f"This file has a model of the kind {manifest['kind']!r}, which has no names of features.",
            code="model-kind",
            hint="Use a file written by `quorate cluster --model` or `FeatureModel.save`.",
        )
    features, members = tuple(map(str, manifest["features"])), tuple(map(str, manifest["members"]))
    crew = Crew(unpack_members(arrays, len(features)), unpack_scaling(arrays, len(features)))
    clusters = unpack_row_clusters(arrays, crew, int(manifest["n_clusters"]))
    require(
        members,
        arrays["ncai"].shape == arrays["member_weights"].shape == (len(members),),
        "fill" not in arrays or arrays["fill"].shape == (len(features),),
    )
    return FeatureModel(
        features,
        arrays.get("fill"),
        clusters,
        members,
        arrays["ncai"],
        arrays["member_weights"],
        int(manifest["n_clusters"]),
    )
