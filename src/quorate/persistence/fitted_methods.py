"""Read fitted consensus methods from the arrays of `method_arrays`, after checking them."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from sklearn.base import clone

from quorate.algorithms.answer import Answer
from quorate.algorithms.base import ConsensusMethod
from quorate.algorithms.registry import methods
from quorate.ensemble import Ensemble, from_counted_labels, with_rows
from quorate.errors import InputError
from quorate.features.consensus_clustering import ConsensusClustering
from quorate.features.kinds import unpack_choice
from quorate.features.labeling import Crew
from quorate.features.out_of_sample import Assigned, KnownRows, RowClusters, Votes
from quorate.features.outliers import Outliers
from quorate.features.scaling import Scaling
from quorate.labels import CountedLabels, Noise, Vector
from quorate.persistence.archive import Archive, Arrays, array_text, require
from quorate.persistence.member_arrays import unpack_members


def unpack_method(archive: Archive) -> ConsensusMethod:
    """Return a saved consensus method, after checking that its parts fit each other."""
    manifest, arrays = archive
    classes = {method.name: method.estimator for method in methods()}
    if manifest["method"] not in classes:
        raise InputError(
            f"There is no method {manifest['method']!r}.",
            code="unknown-method",
            hint="Methods that are not part of this package cannot be loaded.",
        )
    fitted: ConsensusMethod = classes[manifest["method"]]().set_params(**manifest["parameters"])
    ens, order = _unpack_ensemble(arrays)
    labels = arrays["pattern_labels"].astype(np.int64)
    weights, requested = arrays["member_weights"].astype(np.float64), manifest["requested"]
    require(weights.shape == (ens.n_members,), isinstance(requested, int), requested >= 1)
    require(labels.shape == (ens.n_patterns,), labels.min() >= -1)
    # numbered from 0 without gaps
    require(len(np.unique(labels[labels >= 0])) == labels.max() + 1)
    return fitted.restore(Answer(ens, requested, labels[order], weights))


def _unpack_ensemble(arrays: Arrays) -> tuple[Ensemble, Any]:
    """Return the ensemble, and the position of each of its patterns in the file."""
    names, noise, codes = array_text(arrays["names"]), array_text(arrays["noise"]), arrays["codes"]
    counts = arrays["row_counts"].astype(np.int64)
    weights = arrays["weights"].astype(np.float64) if "weights" in arrays else None
    require(noise in get_args(Noise), codes.ndim == 2, codes.shape == (len(counts), len(names)), (counts > 0).all())
    require(weights is None or (weights.shape == counts.shape and (weights > 0).all()))
    unit = float(arrays["weight_unit"]) if weights is not None else 1.0
    require(0 < unit < np.inf)
    # Labels, not codes, go through the usual encoding, so that a file cannot create an inconsistent ensemble.
    vectors = [_labels(arrays, j, codes[:, j]) for j in range(len(names))]
    lines = CountedLabels(tuple(map(str, names)), vectors, counts, weights, unit)
    ens, pattern_of_line = from_counted_labels(lines, noise=noise)
    require(ens.n_patterns == len(counts))
    if "row_pattern" in arrays:
        row_pattern = arrays["row_pattern"]
        require(row_pattern.ndim == 1, row_pattern.min() >= 0)
        # Every pattern must have as many rows as it counts.
        require(np.array_equal(np.bincount(row_pattern, minlength=len(counts)), counts))
        ens = with_rows(ens, pattern_of_line[row_pattern])
    return ens, np.argsort(pattern_of_line)


def _labels(arrays: Arrays, j: int, codes: Any) -> Vector:
    """Return the labels of a member, masked where one is missing."""
    levels: Any = arrays[f"levels_{j}"]
    if arrays[f"text_{j}"].all():
        levels = np.array([str(level) for level in array_text(levels)] or [""], dtype=object)
    require(levels.ndim == 1, codes.min(initial=-1) >= -1, codes.max(initial=-1) < max(len(levels), 1))
    if not len(levels) or (codes < 0).all():
        return np.full(len(codes), None, dtype=object)
    return np.ma.MaskedArray(levels[np.maximum(codes, 0)], mask=codes < 0)


def unpack_clustering(archive: Archive) -> ConsensusClustering:
    """Return a saved `ConsensusClustering`, after checking that its parts fit each other."""
    manifest, arrays = archive
    fitted = ConsensusClustering(**manifest["parameters"])
    consensus = unpack_method((manifest["method"], arrays))
    n_features, features = int(manifest["n_features"]), manifest["features"]
    members = unpack_members(arrays, n_features)
    scaling = unpack_scaling(arrays, n_features)
    labels, examined = arrays["labels"].astype(np.int64), arrays["examined"]
    require(labels.ndim == 1, examined.ndim == 2, examined.shape[1] == n_features)
    require(len(features) in (0, n_features))
    clusters = None
    if "votes_first" in arrays:
        clusters = unpack_row_clusters(arrays, Crew(members, scaling), consensus.n_clusters_)
    assigned = _unpack_assigned(arrays, len(labels)) if "confidence" in arrays else None
    if manifest["own_method"]:
        fitted.method = clone(consensus)
    choice = None if manifest["choice"] is None else unpack_choice(manifest["choice"])
    fitted.restore(consensus, list(members), clusters, examined, scaling, choice, assigned=assigned)
    fitted.labels_ = labels
    fitted.n_features_in_ = n_features
    if features:
        fitted.feature_names_in_ = np.array(features, dtype=object)
    return fitted


def unpack_scaling(arrays: Arrays, n_features: int) -> Scaling | None:
    """Return how features are scaled, or None if they are not."""
    if "scale_shift" not in arrays:
        return None
    scaling = Scaling(arrays["scale_shift"], arrays["scale_factor"])
    require(scaling.shift.shape == scaling.factor.shape == (n_features,))
    return scaling


def unpack_row_clusters(arrays: Arrays, crew: Crew, n_clusters: int) -> RowClusters:
    """Return what labels any rows, after checking that its tables fit the members."""
    votes, known_rows = unpack_votes(arrays, len(crew.models), n_clusters), None
    if "known_hashes" in arrays:
        hashes = arrays["known_hashes"].astype(np.uint64)
        require(hashes.ndim == 1, len(hashes) > 0, (np.diff(hashes) > 0).all())
        known_rows = KnownRows(hashes, _unpack_assigned(arrays, len(hashes), "known_"))
    return RowClusters(crew, votes, known_rows, _unpack_outliers(arrays, n_clusters))


def _unpack_outliers(arrays: Arrays, n_clusters: int) -> Outliers | None:
    """Return which rows are left without a cluster, or None if all rows have one."""
    if "outlier_rows" not in arrays:
        return None
    outliers = Outliers(arrays["outlier_rows"], arrays["outlier_limits"])
    require(outliers.rows.ndim == 2, len(outliers.rows) > 0, np.isfinite(outliers.rows).all())
    require(outliers.limits.shape == (n_clusters,))
    return outliers


def _unpack_assigned(arrays: Arrays, n_rows: int, prefix: str = "") -> Assigned:
    """Return the clusters of rows and their certainty."""
    # The names and types of `Assigned` decide what must be there.
    assigned = Assigned.empty(n_rows)
    for name, values in assigned._asdict().items():
        require(arrays[prefix + name].shape == values.shape)
        values[:] = arrays[prefix + name]
    return assigned


def unpack_votes(arrays: Arrays, n_members: int, n_clusters: int) -> Votes:
    """Return the votes of the members' clusters, after checking that the tables have a line for each of them."""
    first, votes, evidence = arrays["votes_first"], arrays["votes_votes"], arrays["votes_evidence"]
    require(first.shape == (n_members + 1,), int(first[0]) == 0, (np.diff(first) >= 0).all())
    require(votes.shape == evidence.shape == (int(first[-1]), n_clusters))
    return Votes(first.astype(np.int64), votes.astype(np.float32), evidence.astype(np.float32))
