"""Saved models: one NPZ file of plain arrays with a manifest; nothing in it is ever executed.

The array `manifest` is JSON in UTF-8: `format` ("quorate-model"), `version`, and what the model is. All other arrays
are numbers: `scale_*` how features are scaled, `votes_*` what members' clusters say, and `member_J_*` the centres, or
the landmarks, of each member.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._support.typing import Floats
from quorate.consensus.extension import Assigned, RowClusters, Votes
from quorate.errors import QuorateError
from quorate.members.labelling import Centres, Crew, Scaling, centres_of
from quorate.members.uspec import USPEC, Landmarks
from quorate.scale.files import writing
from quorate.scale.files.untrusted import load_npz

FORMAT, VERSION = "quorate-model", 1


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
        """Return the cluster and the confidence of rows (n, features); -1 and 0 where a number is missing."""
        values = np.array(X, dtype=np.float64, order="C")
        gaps = ~np.isfinite(values)
        if not gaps.any():
            return self.clusters.assign(values)
        rows, columns = np.nonzero(gaps)
        values[rows, columns] = 0.0 if self.fill is None else self.fill[columns]
        labels, confidence = self.clusters.assign(values)
        if self.fill is None:
            labels[rows], confidence[rows] = -1, 0.0
        return Assigned(labels, confidence)

    def save(self, path: str | Path) -> None:
        """Write the model to a file (NPZ, arrays only), whole or not at all; `quorate.load` brings it back."""
        save_model(self, path)

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the cluster of each row of X, an array of the features or a frame that has them."""
        return self.assign(_matrix(X, self.features)).labels


def _matrix(X: Any, names: Sequence[str]) -> NDArray[Any]:
    if not isinstance(X, np.ndarray) and hasattr(X, "columns"):
        import narwhals as nw

        X = nw.from_native(X, eager_only=True).select(*names).to_numpy()
    values = np.asarray(X, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != len(names):
        raise QuorateError(f"X must have the {len(names)} columns of features the model knows; got {values.shape}.")
    return values


def save_model(model: FeatureModel, path: str | Path, *, force: bool = True) -> None:
    """Write a model to a file, whole or not at all."""
    scaling, votes = model.clusters.crew.scaling, model.clusters.votes
    arrays: dict[str, NDArray[Any]] = {
        "ncai": model.ncai,
        "member_weights": model.member_weights,
        "votes_first": votes.first,
        "votes_votes": votes.votes,
        "votes_evidence": votes.evidence,
    }
    if model.fill is not None:
        arrays["fill"] = model.fill
    if scaling is not None:
        arrays |= {"scale_shift": scaling.shift, "scale_factor": scaling.factor}
    for j, member in enumerate(model.clusters.crew.models):
        arrays |= {f"member_{j}_{name}": values for name, values in _pack(member).items()}
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "features": list(model.features),
        "members": list(model.names),
        "n_clusters": model.n_clusters,
    }
    text = np.frombuffer(json.dumps(manifest).encode(), dtype=np.uint8)
    with writing(path, force=force) as temporary, open(temporary, "wb") as file:
        np.savez(file, allow_pickle=False, manifest=text, **arrays)


def load_model(path: str | Path) -> FeatureModel:
    """Return the model in a file, or say why it is none."""
    arrays = _read(path)
    try:
        manifest = json.loads(arrays.pop("manifest").tobytes())
        if manifest["format"] != FORMAT or manifest["version"] != VERSION:
            raise QuorateError(
                f"{path} is no model in version {VERSION} of the format {FORMAT} (it says {manifest['format']!r}, "
                f"{manifest['version']!r}). Save it again with this version of Quorate."
            )
        return _assemble(manifest, arrays)
    except QuorateError:
        raise
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise _damaged(path) from error


def _read(path: str | Path) -> dict[str, NDArray[Any]]:
    if not Path(path).exists():
        raise QuorateError(f"There is no file {path}. Check its name and folder.")
    if Path(path).is_dir():
        raise QuorateError(f"{path} is a folder, not a model. Name the file.")
    try:
        arrays = load_npz(Path(path), str(path))
    except QuorateError:
        raise _damaged(path) from None
    if not all(array.dtype.kind in "iuf" and np.isfinite(array).all() for array in arrays.values()):
        raise _damaged(path)
    return arrays


def _damaged(path: str | Path) -> QuorateError:
    return QuorateError(f"{path} is no saved model, or it is damaged. Save the model again.")


def _assemble(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> FeatureModel:
    """Put a model together, after checking that its parts fit each other."""
    features, members = tuple(map(str, manifest["features"])), tuple(map(str, manifest["members"]))
    models = tuple(_unpack(j, arrays, len(features)) for j in range(len(members)))
    scaling = Scaling(arrays["scale_shift"], arrays["scale_factor"]) if "scale_shift" in arrays else None
    tables = (arrays[f"votes_{name}"].astype(np.float32) for name in ("votes", "evidence"))
    votes = Votes(arrays["votes_first"].astype(np.int64), *tables)
    n_clusters = int(manifest["n_clusters"])
    shapes = [
        arrays["ncai"].shape == (len(members),),
        arrays["member_weights"].shape == (len(members),),
        votes.first.shape == (len(members) + 1,),
        votes.votes.shape == votes.evidence.shape == (int(votes.first[-1]), n_clusters),
        bool((np.diff(votes.first) >= 0).all()) and int(votes.first[0]) == 0,
        scaling is None or scaling.shift.shape == scaling.factor.shape == (len(features),),
        "fill" not in arrays or arrays["fill"].shape == (len(features),),
    ]
    if not all(shapes) or not members:
        raise ValueError
    return FeatureModel(
        features,
        arrays.get("fill"),
        RowClusters(Crew(models, scaling), votes),
        members,
        arrays["ncai"],
        arrays["member_weights"],
        n_clusters,
    )


def _pack(model: Any) -> dict[str, NDArray[Any]]:
    """Return the arrays of a member."""
    centres = centres_of(model)
    if centres is not None:
        return {"points": centres.points, "labels": centres.labels}
    if isinstance(model, USPEC):
        landmarks = model.landmarks_
        return {
            "landmarks": landmarks.points,
            "group": landmarks.group,
            "group_centres": landmarks.group_centres,
            "vectors": model.vectors_,
            "centres": model.cluster_centers_,
            "links": np.array([landmarks.n_neighbours, model.sigma_]),
        }
    raise QuorateError(f"Members of {type(model).__name__} cannot be saved; those of kmeans, rpcl and spectral can.")


def _unpack(j: int, arrays: dict[str, NDArray[Any]], n_features: int) -> Any:
    """Return a member, of centres or of landmarks."""
    part = {name.split("_", 2)[2]: values for name, values in arrays.items() if name.startswith(f"member_{j}_")}
    if "points" in part:
        if part["points"].shape != (len(part["labels"]), n_features) or part["labels"].min() < 0:
            raise ValueError
        return Centres(part["points"].astype(np.float64), part["labels"].astype(np.int64))
    points, group, vectors = part["landmarks"].astype(np.float64), part["group"], part["vectors"].astype(np.float64)
    fits = points.shape[1] == part["group_centres"].shape[1] == n_features
    fits &= group.shape == (len(points),) and group.min() >= 0 and group.max() < len(part["group_centres"])
    fits &= len(vectors) == len(points) and part["centres"].shape[1] == vectors.shape[1]
    if not fits or not 1 <= part["links"][0] <= len(points):
        raise ValueError
    model = USPEC(len(part["centres"]))
    model.landmarks_ = Landmarks(points, group.astype(np.int64), part["group_centres"], int(part["links"][0]))
    model.sigma_, model.vectors_, model.cluster_centers_ = float(part["links"][1]), vectors, part["centres"]
    model.n_features_in_ = n_features
    return model
