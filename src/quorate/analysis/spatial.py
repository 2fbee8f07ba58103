"""Results over coordinates: smooth the labels of rows by those of their neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from quorate._utils.array_types import Floats, Labels
from quorate._utils.checks import check_integer, check_number
from quorate.algorithms.registry import ConsensusResult, check_result
from quorate.errors import InputError


def smooth_labels(result: ConsensusResult, neighbors: Any, *, n_neighbors: int = 6, weight: float = 0.5) -> Labels:
    """Return the labels of a result after a vote of each row and its neighbors, weighted by confidence.

    A row votes for its own cluster with weight 1 - `weight`, and all its neighbors together with `weight`, each vote
    times the confidence of the voter. The row takes the cluster with most votes; ties leave it where it is. So firm
    rows stay and uncertain rows follow their surroundings. Nothing is smoothed unless this function is called. Do not
    use it for cells that are expected alone among others: these are what it removes.

    Parameters
    ----------
    result : ConsensusResult
    neighbors : (n, d) array of coordinates, or (n, n) sparse matrix
        Coordinates of the rows, such as `adata.obsm["spatial"]`, or a graph of neighbors with weights, such as
        `adata.obsp["spatial_connectivities"]`.
    n_neighbors : int, default 6
        Number of nearest neighbors, with coordinates.
    weight : float in [0, 1], default 0.5
        Weight of the neighbors together.

    Returns
    -------
    (n,) labels
        -1 stays -1.

    Examples
    --------
    >>> import quorate as qt
    >>> result = qt.consensus([[0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 1, 1], [0, 1, 0, 1, 1, 0]], 2)
    >>> qt.smooth_labels(result, [[0], [1], [2], [10], [11], [12]], n_neighbors=2).tolist()
    [1, 1, 1, 0, 0, 0]
    """
    check_result(result)
    weight = check_number("weight", weight, low=0, high=1)
    labels = result.labels
    graph = _neighbor_graph(neighbors, len(labels), n_neighbors)
    clusters, codes = np.unique(labels, return_inverse=True)
    rows = np.arange(len(labels))
    cast = np.where(labels >= 0, result.confidence, 0.0)
    ballots = sp.csr_array((cast, (rows, codes)), shape=(len(labels), len(clusters)))
    votes = sp.csr_array((1 - weight) * ballots + weight * (graph @ ballots))
    votes.data = votes.data.round(12)  # so that ties do not depend on the order of additions
    best = votes.argmax(axis=1).ravel()
    moves = (labels >= 0) & (votes[rows, best] > votes[rows, codes])
    return np.where(moves, clusters[best], labels)


def _neighbor_graph(neighbors: Any, n_rows: int, n_neighbors: int) -> sp.csr_array:
    """(n, n) weights of the neighbors of each row; each row sums to 1, or 0 without neighbors."""
    if not sp.issparse(neighbors):
        n_neighbors = check_integer("n_neighbors", n_neighbors, low=1, high=max(1, n_rows - 1))
        points = check_points("neighbors", neighbors, n_rows, n_columns=None)
        neighbors = NearestNeighbors(n_neighbors=n_neighbors).fit(points).kneighbors_graph()
    graph = sp.csr_array(neighbors, dtype=np.float64)
    if graph.shape != (n_rows, n_rows):
        raise InputError(
            f"must have one row and one column for each of {n_rows:,} rows; got shape {graph.shape}.",
            code="length",
            parameter="neighbors",
        )
    if not np.all(np.isfinite(graph.data)) or np.any(graph.data < 0):
        raise InputError("must have finite weights of at least 0.", code="not-finite", parameter="neighbors")
    graph.setdiag(0.0)
    total = graph.sum(axis=1)
    return sp.csr_array(sp.diags_array(np.divide(1.0, total, out=np.zeros(n_rows), where=total > 0)) @ graph)


def check_points(parameter: str, points: Any, n_rows: int, *, n_columns: int | None = 2) -> Floats:
    """Return finite coordinates with one line for each row; raise an error that names what is wrong."""
    try:
        values = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "must be numeric.", code="not-numeric", parameter=parameter, hint="Drop the text columns."
        ) from None
    if values.ndim != 2 or len(values) != n_rows:
        raise InputError(
            f"must have one line for each of {n_rows:,} rows; got "
            f"{f'{len(values):,}' if values.ndim == 2 else f'shape {values.shape}'}.",
            code="length",
            parameter=parameter,
        )
    if not np.all(np.isfinite(values)):
        raise InputError(
            "must be finite.", code="not-finite", parameter=parameter, hint="Fill or drop missing values first."
        )
    if n_columns is not None and values.shape[1] != n_columns:
        raise InputError(f"must have two columns; got {values.shape[1]}.", code="two-columns", parameter=parameter)
    return values
