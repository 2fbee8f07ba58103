"""Features of any size to clusters: what one pass over the rows tells, and the model that labels them in another.

One pass gathers, block by block and in any order, what scaling needs and a sample of the rows. Members and consensus
are found on the sample. What comes out, a `FeatureModel`, labels any rows, wherever they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._utils.array_types import Floats
from quorate.column_roles import LARGEST_FEATURE
from quorate.errors import QuorateError, warn
from quorate.features.consensus_clustering import ROWS_LOOKED_AT, ConsensusClustering, warn_of_labels
from quorate.features.labeling import Crew
from quorate.features.sampling import FIT_ROWS, Sample, Sketch
from quorate.features.scaling import Moments, choose_scaling
from quorate.persistence.feature_models import FeatureModel

MISSING = ("error", "drop", "mean")


class FeatureProfile:
    """What one pass over rows tells: moments of the columns, missing and infinite cells, and a sample of the rows.

    Parameters
    ----------
    names : sequence of str
        The features.
    missing : {"error", "drop", "mean"}
        What happens to rows with missing numbers: with "drop", they are in no sample.
    fit_rows : int
        How many rows a member is fitted on.
    seed : int
    """

    def __init__(self, names: Sequence[str], missing: str, fit_rows: int, seed: int) -> None:
        self.names, self.missing = tuple(names), missing
        self.n_rows = self.n_used = 0
        self.moments: Moments | None = None
        self.infinite = np.zeros(len(names), dtype=np.int64)
        self._sketch = Sketch(fit_rows, seed)

    def add(self, block: NDArray[Any]) -> None:
        """Add some rows (b, d), NaN where a number is missing."""
        self.infinite += (np.abs(block) > LARGEST_FEATURE).sum(axis=0)
        values = plain_values(block)
        gaps = np.isnan(values)
        moments = Moments.of(values)
        self.moments = moments if self.moments is None else self.moments + moments
        self.n_rows += len(values)
        if self.missing == "drop":
            values = values[~gaps.any(axis=1)]
        self.n_used += len(values)
        self._sketch.add(values)

    def merge(self, other: FeatureProfile) -> None:
        """Add the profile of other rows."""
        if other.moments is None:
            return
        self.moments = other.moments if self.moments is None else self.moments + other.moments
        self.infinite += other.infinite
        self.n_rows += other.n_rows
        self.n_used += other.n_used
        self._sketch.merge(other.sample)

    @property
    def sample(self) -> Sample:
        """The sample of the rows, as they are."""
        return self._sketch.sample


def plain_values(block: NDArray[Any]) -> Floats:
    """Return a copy of some rows as float64, with one NaN, of the many there are, for all that is no number."""
    values = np.array(block, dtype=np.float64, order="C")
    values[~(np.abs(values) <= LARGEST_FEATURE)] = np.nan
    return values


def sample_size(fit_rows: Any) -> int:
    """Return for how many rows of a member a sample is made; "auto" and None decide when the rows are counted."""
    return FIT_ROWS if fit_rows is None or isinstance(fit_rows, str) else int(fit_rows)


def fit_profile(profile: FeatureProfile, estimator: ConsensusClustering) -> FeatureModel:
    """Fit members to the sample of a table and find their consensus; features that say nothing are left out of it."""
    moments = _check_profile(profile)
    useless = moments.deviation == 0
    if useless.all():
        raise QuorateError(
            "All rows have the same features, or none at all: there are no clusters to find. Check the columns."
        )
    if useless.any():
        names = [name for name, one in zip(profile.names, useless, strict=True) if one]
        warn(f"{_columns(names)} the same number in every row, or none at all: no clusters show there.")
    sample = profile.sample
    warn_of_labels(
        sample.draw(ROWS_LOOKED_AT, 0),
        "The columns of the table",
        "`quorate combine`, qt.consensus_file or qt.consensus_frame",
    )
    scaling = choose_scaling(estimator.scale, moments)
    rows = np.where(np.isnan(sample.rows), moments.center, sample.rows)
    scaled = replace(sample, rows=scaling.apply(rows))
    clusters = estimator.fit_sample(scaled, profile.n_used)
    return FeatureModel(
        profile.names,
        moments.center if profile.missing == "mean" else None,
        replace(clusters, crew=Crew(clusters.crew.models, scaling)),
        tuple(estimator.ensemble_.names),
        estimator.ncai_,
        estimator.consensus_.member_weights_,
        estimator.n_clusters_,
    )


def _check_profile(profile: FeatureProfile) -> Moments:
    """Refuse features in which no clusters can be found."""
    moments = profile.moments
    if moments is None or profile.n_rows == 0:
        raise QuorateError("The table has no rows. Pass a table with one row per instance.")
    infinite = _counted(profile.names, profile.infinite)
    if infinite:
        raise QuorateError(
            f"Some features hold infinite values, or values beyond {LARGEST_FEATURE:g}: {infinite} of "
            f"{profile.n_rows:,} rows. Replace them, or leave the columns out with features=."
        )
    gaps = profile.n_rows - moments.n
    empty = [name for name, n in zip(profile.names, moments.n, strict=True) if n == 0]
    if empty and profile.missing == "drop":
        raise QuorateError(f"{_columns(empty)} no number in any row. Leave that out with features=.")
    some = _counted(profile.names, np.where(gaps < profile.n_rows, gaps, 0))
    if profile.missing == "error" and some:
        raise QuorateError(
            f'Some features have missing values: {some} of {profile.n_rows:,} rows. Pass missing="drop" to leave such '
            'rows without a cluster, or missing="mean" to fill in the mean.'
        )
    if profile.n_used < 4:
        raise QuorateError(f"Clusters need at least 4 rows with all features; got {profile.n_used}.")
    return moments


def _counted(names: Sequence[str], counts: NDArray[Any]) -> str:
    """Return the features with a count, and the counts, for a message."""
    return ", ".join(f"{name!r} in {n:,}" for name, n in zip(names, counts, strict=True) if n)


def _columns(names: Sequence[str]) -> str:
    listed = ", ".join(repr(name) for name in names[:8]) + (" and others" if len(names) > 8 else "")
    return f"Column {listed} holds" if len(names) == 1 else f"Columns {listed} hold"
