"""The model of named features: members and their consensus, ready for new rows, in memory and in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._utils.array_types import Floats
from quorate.column_roles import features_told, quoted
from quorate.errors import QuorateError
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

    Made by `cluster_file` and `cluster_frame`; `save` keeps it in a file, `quorate.load` brings it back.
    """

    features: tuple[str, ...]
    fill: Floats | None
    """What stands for a missing number of each feature; None: rows with missing numbers get no cluster."""
    clusters: RowClusters
    names: tuple[str, ...]
    """The members."""
    ncai: Floats
    member_weights: Floats
    n_clusters: int

    def assign(self, X: NDArray[Any]) -> Assigned:
        """Return the cluster of rows (n, features) and how firm it is; -1 and 0 where a number is missing."""
        values = np.array(X, dtype=np.float64, order="C")
        gaps = ~np.isfinite(values)
        if not gaps.any():
            return self.clusters.assign(values)
        rows, columns = np.nonzero(gaps)
        values[rows, columns] = 0.0 if self.fill is None else self.fill[columns]
        found = self.clusters.assign(values)
        if self.fill is None:
            found.forget(rows)
        return found

    def save(self, path: str | Path) -> None:
        """Write the model to a file (NPZ, arrays only), whole or not at all; `quorate.load` brings it back."""
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
            raise QuorateError(f"X lacks features that the model knows: {quoted(absent)}. Add these columns.")
        X = frame.select(*names).to_native()
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise QuorateError(features_told(X) or "X must hold numbers, one column per feature.") from None
    if values.ndim != 2 or values.shape[1] != len(names):
        raise QuorateError(f"X must have the {len(names)} columns of features the model knows; got {values.shape}.")
    return values


def save_model(model: FeatureModel, path: str | Path, *, force: bool = True) -> None:
    """Write a model to a file, whole or not at all."""
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
    """Return the model in a file, or say why it is none."""
    found = read_model(path, unpack_model)
    assert isinstance(found, FeatureModel)
    return found


def read_model(path: str | Path, unpack: Callable[[Archive], Any]) -> Any:
    """Return what `unpack` makes of a file, or say why it holds no model."""
    if not Path(path).exists():
        raise QuorateError(f"There is no file {path}. Check its name and folder.")
    if Path(path).is_dir():
        raise QuorateError(f"{path} is a folder, not a model. Name the file.")
    try:
        arrays = load_npz(Path(path), str(path))
    except QuorateError:
        raise damaged(path) from None
    return open_archive(path, arrays, unpack)


def unpack_model(archive: Archive) -> FeatureModel:
    """Return a model that was saved, after checking that its parts fit each other."""
    manifest, arrays = archive
    if manifest["kind"] != "features":
        raise QuorateError(
            f"This file holds a model of the kind {manifest['kind']!r}, which does not know features by name. Use what "
            "`quorate cluster --model` or `FeatureModel.save` wrote."
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
