"""From features of any size to a model: one pass over the rows profiles them, and members are fitted to a sample.

The pass collects, block by block and in any order, the moments for scaling and a sample of the rows. Members and their
consensus are computed on the sample. The resulting `FeatureModel` labels any rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._utils.array_types import Floats
from quorate.columns.column_heuristics import LARGEST_FEATURE
from quorate.columns.column_messages import subject
from quorate.errors import InputError, Setting, warn
from quorate.features.consensus_clustering import ROWS_LOOKED_AT, ConsensusClustering, warn_of_labels
from quorate.features.labeling import Crew
from quorate.features.sampling import FIT_ROWS, Sample, Sketch
from quorate.features.scaling import SMALLEST_DIFFERENCE, Moments, choose_scaling
from quorate.persistence.feature_models import FeatureModel

MISSING = ("error", "drop", "mean")


class FeatureProfile:
    """Statistics from one pass over the rows: moments of the columns, missing and infinite cells, and a sample.

    Parameters
    ----------
    names : sequence of str
        The features.
    missing : {"error", "drop", "mean"}
        How rows with missing numbers are treated: with "drop", they are not in the sample.
    fit_rows : int
        Number of rows that a member is fitted to.
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
        # Everything that is not a finite number becomes the same NaN, whose bits are hashed.
        values = plain_values(block)
        gaps = np.isnan(values)
        moments = Moments.of(values)
        self.moments = moments if self.moments is None else self.moments + moments
        numbers = np.arange(self.n_rows, self.n_rows + len(values))
        self.n_rows += len(values)
        # Rows with gaps are not in the sample, but counted.
        if self.missing == "drop":
            complete = ~gaps.any(axis=1)
            values, numbers = values[complete], numbers[complete]
        self.n_used += len(values)
        self._sketch.add(values, numbers)

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
        """The sample of the rows, without scaling."""
        return self._sketch.sample


def plain_values(block: NDArray[Any]) -> Floats:
    """Return a copy of some rows as float64, with the same NaN for everything that is not a finite number."""
    values = np.array(block, dtype=np.float64, order="C")
    # Written this way, NaN fails the comparison, too.
    values[~(np.abs(values) <= LARGEST_FEATURE)] = np.nan
    return values


def sample_size(fit_rows: Any) -> int:
    """Return the number of rows of a member for which the sample is drawn; "auto" is decided after counting rows."""
    return FIT_ROWS if fit_rows is None or isinstance(fit_rows, str) else int(fit_rows)


def fit_profile(profile: FeatureProfile, estimator: ConsensusClustering) -> FeatureModel:
    """Fit members and their consensus to the sample of a table, without its constant features."""
    moments = _check_profile(profile)
    constant = ~(moments.low < moments.high)
    if constant.all():
        raise InputError(
            "All features are constant or empty, so there are no clusters to find.",
            code="constant-features",
            hint="Check the columns.",
        )
    names, tiny = np.array(profile.names), ~constant & (moments.deviation == 0)
    if constant.any():
        warn(f"{subject(names[constant].tolist())} constant or empty, and ignored.", code="constant-features")
    if tiny.any() and not (constant | tiny).all():
        varies = subject(names[tiny].tolist(), "varies", "vary")
        warn(f"{varies} by less than {SMALLEST_DIFFERENCE:g}, and ignored.", code="tiny-features")
    sample = profile.sample
    warn_of_labels(
        sample.draw(ROWS_LOOKED_AT, 0),
        "The columns of the table",
        "`quorate combine`, qt.consensus_file or qt.consensus_frame",
    )
    scaling = choose_scaling(estimator.scale, moments)
    # Gaps are filled with the mean in the sample, also where rows with gaps get no cluster later.
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
    """Refuse features that cannot be clustered."""
    moments = profile.moments
    if moments is None or profile.n_rows == 0:
        raise InputError("The table has no rows.", code="no-rows", hint="Pass one row per instance.")
    infinite = _counted(profile.names, profile.infinite)
    if infinite:
        raise InputError(
            f"Features must be finite and at most {LARGEST_FEATURE:g}; others are in {infinite} of "
            f"{profile.n_rows:,} rows.",
            code="infinite-features",
            hint=("Replace them, or leave the columns out of ", Setting("features"), "."),
        )
    gaps = profile.n_rows - moments.n
    empty = [name for name, n in zip(profile.names, moments.n, strict=True) if n == 0]
    if empty and profile.missing == "drop":
        raise InputError(
            f"{subject(empty)} empty in every row.",
            code="empty-features",
            hint=("Leave such columns out of ", Setting("features"), "."),
        )
    incomplete = _counted(profile.names, np.where(gaps < profile.n_rows, gaps, 0))
    if profile.missing == "error" and incomplete:
        raise InputError(
            f"Features have missing values: {incomplete} of {profile.n_rows:,} rows.",
            code="missing-features",
            hint=(
                "Pass ",
                Setting("missing", "drop"),
                " to leave such rows without a cluster, or ",
                Setting("missing", "mean"),
                " to fill in the mean.",
            ),
        )
    if profile.n_used < 4:
        raise InputError(
            f"At least 4 rows without missing numbers are needed; got {profile.n_used}.", code="too-few-rows"
        )
    return moments


def _counted(names: Sequence[str], counts: NDArray[Any]) -> str:
    """Return the features with a count, and the counts, for a message."""
    return ", ".join(f"{name!r} in {n:,}" for name, n in zip(names, counts, strict=True) if n)
