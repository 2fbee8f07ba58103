"""Save and load: an ensemble as a folder with a Parquet file, everything else as one NPZ file of plain arrays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from quorate.algorithms.base import ConsensusMethod
from quorate.algorithms.registry import ConsensusResult
from quorate.ensemble import Ensemble
from quorate.errors import InputError
from quorate.features.clusterers.uspec import USPEC
from quorate.features.consensus_clustering import ConsensusClustering
from quorate.persistence.archive import Archive
from quorate.persistence.ensemble_files import read_ensemble, write_ensemble
from quorate.persistence.feature_models import FeatureModel, read_model, unpack_model
from quorate.persistence.fitted_methods import unpack_clustering, unpack_method
from quorate.persistence.member_arrays import unpack_uspec

Saved = FeatureModel | ConsensusClustering | ConsensusMethod | ConsensusResult | USPEC
"""What is saved as one file."""


def save(fitted: Ensemble | Saved, path: str | Path) -> None:
    """Write an ensemble to a folder, or a fitted object to a file; an earlier one is replaced atomically.

    Parameters
    ----------
    fitted : Ensemble, consensus method, ConsensusResult, ConsensusClustering, FeatureModel or USPEC
        An ensemble is saved without its rows: the folder then has `patterns.parquet`, with one column of labels per
        member and the number of `rows` that share them. A `ConsensusResult` is saved as its estimator. Files are NPZ
        archives of plain arrays; loading them executes nothing.
    path : str or Path
        The folder or file to write.

    Examples
    --------
    >>> import tempfile
    >>> import quorate as qt
    >>> result = qt.consensus([[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]], 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     qt.save(result, f"{folder}/model.npz")
    ...     qt.load(f"{folder}/model.npz").predict([[1, 2], [1, 3], [1, 2]])
    array([0, 1])
    """
    if isinstance(fitted, Ensemble):
        write_ensemble(path, fitted)
    elif isinstance(fitted, Saved):
        fitted.save(path)
    else:
        raise InputError(
            f"must be an ensemble or something fitted by this package; got {type(fitted).__name__}.",
            code="not-savable",
            parameter="fitted",
        )


def load(path: str | Path) -> Any:
    """Return the ensemble that was saved in a folder, or the fitted object that was saved in a file.

    Parameters
    ----------
    path : str or Path
        The folder or file that `save` wrote.

    Examples
    --------
    >>> import tempfile
    >>> import quorate as qt
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     qt.save(qt.Ensemble([[1, 1, 2, 2], ["a", None, "b", "b"]]), folder)
    ...     qt.load(folder)
    Ensemble(n_rows=4, n_members=2, n_clusters=4, n_patterns=3)
    """
    if Path(path).is_file():
        return read_model(path, lambda archive: _KINDS[archive[0]["kind"]](archive))
    return read_ensemble(path)


_KINDS: dict[str, Callable[[Archive], Any]] = {
    "features": unpack_model,
    "clustering": unpack_clustering,
    "consensus": unpack_method,
    "uspec": unpack_uspec,
}
