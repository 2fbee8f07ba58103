"""Accept a result, a fitted estimator or an ensemble wherever a figure or a report takes one."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from quorate.algorithms.base import ConsensusMethod
from quorate.algorithms.registry import ConsensusResult
from quorate.ensemble import Ensemble, as_ensemble
from quorate.errors import InputError
from quorate.features.consensus_clustering import ConsensusClustering

Fitted = ConsensusMethod | ConsensusClustering | ConsensusResult
"""The result of `quorate.consensus`, or a fitted estimator."""


def fitted_method(source: Fitted) -> ConsensusMethod:
    """Return the fitted consensus method of a result or an estimator."""
    if isinstance(source, ConsensusResult):
        return source.estimator
    if not isinstance(source, ConsensusMethod | ConsensusClustering):
        raise InputError(
            f"A fitted consensus is required; got {type(source).__name__}.",
            code="not-a-consensus",
            hint="Pass the result of quorate.consensus(labels), or an estimator after fit.",
        )
    check_is_fitted(source)
    return source.consensus_ if isinstance(source, ConsensusClustering) else source


def ensemble_of(source: Any) -> Ensemble:
    """Return the ensemble of a result or a fitted estimator, or of anything `Ensemble` accepts."""
    is_fitted = isinstance(source, ConsensusMethod | ConsensusClustering | ConsensusResult)
    return fitted_method(source).ensemble_ if is_fitted else as_ensemble(source)
