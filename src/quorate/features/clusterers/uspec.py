"""U-SPEC: spectral clustering through landmarks (Huang, Wang, Wu, Lai and Kwoh 2020), with labels for new rows."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from quorate import _kernels
from quorate._runtime import threads
from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_integer
from quorate.errors import InputError
from quorate.features.clusterers.feature_checks import check_features, nearest, same_everywhere
from quorate.numerics.transfer_cut import ReducedGraph, leading_spectrum
from quorate.persistence.archive import Arrays, plain_parameters, write_archive

_ROWS_PER_LANDMARK = 10  # rows from which landmarks are made
_LINKS, _LINKS_OF_FEW_ROWS = 5, 10
_DECIMALS = 9
_CANDIDATES_PER_NEIGHBOUR = 10
_MOST_IN_CELL = 64  # landmarks near one cell of the grid over the plane
_SMALLEST_LINK = 2.220446049250313e-16
_TASK = 1 << 13


@dataclass(frozen=True)
class Landmarks:
    """Points that stand for the rows, in groups through which the nearest ones are found."""

    points: Floats
    """(p, d)"""
    group: Ints
    """(p,) group of each point."""
    group_centers: Floats
    n_neighbors: int
    """Landmarks to which a row is linked."""

    @cached_property
    def candidates(self) -> NDArray[np.int32]:
        """(p, c) the landmarks near each, itself included, ascending: where the neighbors of a row are sought."""
        n_candidates = min(_CANDIDATES_PER_NEIGHBOUR * self.n_neighbors + 1, len(self.points))
        squares = (self.points**2).sum(axis=1)
        distances = squares[:, None] + squares - 2 * self.points @ self.points.T
        # Each landmark is its own first candidate, also among equal ones.
        np.fill_diagonal(distances, -1.0)
        # Rounding: ties do not depend on the order of summation.
        near = np.argpartition(np.round(distances, _DECIMALS), n_candidates - 1, axis=1)[:, :n_candidates]
        return np.sort(near, axis=1).astype(np.int32)

    @cached_property
    def _layout(self) -> tuple[Any, ...]:
        """What the kernels take: a shift and a factor to bring rows near 0, the points there, groups, candidates."""
        # float32 in the kernels: near 0 and of size 1, distances keep their digits.
        shift = self.points.mean(axis=0)
        size = float(np.abs(self.points - shift).max()) or 1.0
        order = np.argsort(self.group, kind="stable")
        first = np.concatenate([[0], np.cumsum(np.bincount(self.group, minlength=len(self.group_centers)))])
        near, centers = (((points - shift) / size).astype(np.float32) for points in (self.points, self.group_centers))
        factor = np.full(len(shift), 1 / size)
        return shift, factor, near, centers, first, order, self.candidates, *_grid(near, self.n_neighbors)

    @property
    def size(self) -> float:
        """The unit of the distances that `neighbors` and the kernels find."""
        return float(1 / self._layout[1][0])

    def neighbors(self, X: NDArray[Any]) -> tuple[Ints, Floats]:
        """Return (n, K) nearest landmarks of each row, nearest first, and their distances."""
        index = np.zeros((len(X), self.n_neighbors), dtype=np.int64)
        squared = np.empty(index.shape, dtype=np.float32)
        threads.in_threads(
            lambda rows: _kernels.landmarks.find_nearest(X, *self._layout, rows.start, rows.stop, index, squared),
            threads.blocks(len(X), _TASK),
        )
        return index, np.sqrt(squared.astype(np.float64)) * self.size


def _grid(points: NDArray[np.float32], n_neighbors: int) -> tuple[Any, ...]:
    """Return the landmarks near each cell of a grid over the plane; without cells where rows have not two features."""
    if points.shape[1] != 2 or np.ptp(points) == 0:
        return np.zeros(2, dtype=np.float32), np.float32(0), np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.int32)
    n_cells = _kernels.landmarks.TILES * _kernels.landmarks.IN_TILE
    corner = points.min(axis=0)
    # Slightly larger, so that the largest coordinate is inside the last cell.
    size = np.float32(np.ptp(points, axis=0).max() * 1.0001 / n_cells)
    first = np.empty(n_cells**2 + 1, dtype=np.int32)
    near = np.empty(n_cells**2 * _MOST_IN_CELL, dtype=np.int32)
    _kernels.landmarks.near_cells(points, corner, size, n_neighbors, _MOST_IN_CELL, first, near)
    return corner, np.float32(1 / size), first, near[: first[-1]].copy()


def find_landmarks(X: NDArray[Any], n_landmarks: int, n_neighbors: int, random: np.random.RandomState) -> Landmarks:
    """Return the centers of a short k-means of some random rows, and groups of them (hybrid selection)."""
    n_rows = min(_ROWS_PER_LANDMARK * n_landmarks, len(X))
    # Rows in their own order, which reads memory forwards.
    sample = np.asarray(X[np.sort(random.choice(len(X), n_rows, replace=False))], dtype=np.float64)
    points = _kmeans(sample, n_landmarks, 10, random).cluster_centers_ if n_rows > n_landmarks else sample
    groups = _kmeans(points, max(1, int(np.sqrt(len(points)))), 20, random)
    return Landmarks(points, groups.labels_.astype(np.int64), groups.cluster_centers_, min(n_neighbors, len(points)))


def _kmeans(
    X: Floats, k: int, rounds: int, random: np.random.RandomState, n_init: int = 1, init: str = "random"
) -> KMeans:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # repeated rows give repeated landmarks, which do no harm
        return KMeans(k, init=init, n_init=n_init, max_iter=rounds, tol=0, random_state=random).fit(X)


def link_width(distances: Floats) -> float:
    """Return sigma, the mean distance of rows to their landmarks; 1 if all are 0."""
    return float(distances.mean()) or 1.0


def link_weights(distances: Floats, sigma: float) -> Floats:
    """Return exp(-d^2 / 2 sigma^2), and the smallest number where that is 0."""
    return np.maximum(np.exp(-(distances**2) / (2 * sigma**2)), _SMALLEST_LINK)


@dataclass(frozen=True)
class LandmarkEmbedding:
    """Landmarks in the leading eigenvectors of the graph that links rows to landmarks."""

    eigenvalues: Floats
    vectors: Floats
    """(p, k); 0 for a landmark that is near no row."""

    def rows(self, index: Ints, links: Floats) -> Floats:
        """Return (n, k) rows as means of their landmarks, at unit length."""
        share = links / links.sum(axis=1, keepdims=True)
        points = np.einsum("na,nak->nk", share, self.vectors[index])
        return points / (np.linalg.norm(points, axis=1, keepdims=True) + 1e-10)


def embed_landmarks(index: Ints, links: Floats, n_landmarks: int, k: int) -> LandmarkEmbedding:
    """Cut the graph of rows and landmarks through the landmarks: k leading eigenvectors of B' diag(1 / B1) B."""
    n_rows, n_neighbors = index.shape
    starts = np.arange(0, n_rows * n_neighbors + 1, n_neighbors)
    graph = sp.csr_array((links.ravel(), index.ravel(), starts), shape=(n_rows, n_landmarks))
    # A landmark that is near no row has no link, and no place in the graph.
    used = np.flatnonzero(np.bincount(index.ravel(), minlength=n_landmarks))
    graph = sp.csr_array(graph[:, used])
    through_rows = sp.csr_array(graph.T @ sp.diags_array(1 / links.sum(axis=1)) @ graph)
    through_rows.sort_indices()
    degrees = np.asarray(graph.sum(axis=0))
    component = sp.csgraph.connected_components(through_rows, directed=False)[1].astype(np.int64)
    spectrum = leading_spectrum(ReducedGraph(through_rows, degrees, component), k)
    vectors = np.zeros((n_landmarks, min(k, spectrum.vectors.shape[1])))
    vectors[used] = spectrum.vectors[:, :k]
    return LandmarkEmbedding(spectrum.values[:k], vectors)


@dataclass(frozen=True)
class LandmarkLabeler:
    """What puts a row to the nearest of some centers in the embedding, laid out for the kernel."""

    landmarks: Landmarks
    tables: tuple[Any, ...]
    """The arguments of the kernel other than the landmarks."""

    @classmethod
    def of(cls, landmarks: Landmarks, vectors: Floats, centers: Floats, sigma: float) -> LandmarkLabeler:
        """Lay out landmarks' vectors (p, k) and centers among them."""
        lengths = np.linalg.norm(vectors, axis=1)
        unit = vectors / np.where(lengths > 0, lengths, 1.0)[:, None]
        own = np.where(lengths > 0, nearest(unit, centers), -1)  # a landmark near no row has no cluster
        *_, cells, near = landmarks._layout
        cell_label = np.empty(len(cells) - 1, dtype=np.int32)
        _kernels.landmarks.label_cells(cells, near, own, cell_label)
        parts = (vectors, vectors @ centers.T, (centers**2).sum(axis=1))
        single = (np.ascontiguousarray(part, dtype=np.float32) for part in parts)
        # Distances of the kernels are in units of `size`.
        width = np.float32(landmarks.size**2 / (2 * sigma**2))
        return cls(landmarks, (landmarks.n_neighbors, width, *single, own, cell_label))

    def label(self, X: NDArray[Any], scaling: Any, out: NDArray[Any]) -> None:
        """Write the cluster of each row of X, which `scaling` brings to the scale of the landmarks, to out (n,)."""
        shift, factor, landmarks = self._layout(scaling)

        def label_block(rows: slice) -> None:
            _kernels.landmarks.label_rows(X, shift, factor, *landmarks, *self.tables, rows.start, rows.stop, out[rows])

        threads.in_threads(label_block, threads.blocks(len(X), _TASK))

    def order(self, X: NDArray[Any], scaling: Any) -> Ints:
        """Return an order in which rows of the same cell of the plane follow each other; as they are without cells."""
        shift, factor, (*_, corner, per_unit, cells, _) = self._layout(scaling)
        if len(cells) == 1:
            return np.arange(len(X))
        cell = np.empty(len(X), dtype=np.uint16)
        _kernels.landmarks.find_cells(X, shift, factor, corner, per_unit, 0, len(X), cell)
        return np.argsort(cell, kind="stable")

    def _layout(self, scaling: Any) -> tuple[Floats, Floats, list[Any]]:
        shift, factor, *landmarks = self.landmarks._layout
        return (shift, factor, landmarks) if scaling is None else (*scaling.before(shift, factor), landmarks)


@dataclass(eq=False, repr=False)
class USPEC(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Ultra-scalable spectral clustering: groups of any shape, through landmarks, with labels for new rows.

    Some rows are summarized by landmarks, the centers of a short k-means. Every row is linked to its nearest landmarks,
    the graph of rows and landmarks is cut (a transfer cut through the landmarks), and the rows are clustered in its
    leading eigenvectors. A new row is embedded through its own nearest landmarks.

    Parameters
    ----------
    n_clusters : int, default=8
    n_landmarks : int, default=1000
        Landmarks, at most as many as rows.
    n_neighbors : int or "auto", default="auto"
        Landmarks to which a row is linked. They are sought among those near the nearest one. "auto" is 5, as published,
        and 10 if there are fewer than ten rows for each landmark: landmarks are then barely fewer than the rows
        themselves, and 5 links leave groups in pieces.
    n_init, max_iter : int, default=3, 100
        Random starts of the k-means of the embedded rows, and its rounds.
    fit_rows : int or None, default=50000
        Rows from which the graph is made; all others are labeled as new rows are. None: all rows.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
    landmarks_ : Landmarks
    eigenvalues_ : ndarray of shape (n_clusters,)
        Of the graph over landmarks, descending.
    cluster_centers_ : ndarray of shape (n_clusters, n_clusters)
        Centers of the k-means, among the embedded rows.
    n_iter_ : int
        Its rounds.
    n_features_in_ : int

    References
    ----------
    D. Huang, C.-D. Wang, J.-S. Wu, J.-H. Lai, C.-K. Kwoh. Ultra-scalable spectral clustering and ensemble clustering.
    IEEE Transactions on Knowledge and Data Engineering 32 (2020) 1212-1226.

    Examples
    --------
    >>> import numpy as np
    >>> import quorate as qt
    >>> angle = np.linspace(0, 2 * np.pi, 300, endpoint=False)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = qt.USPEC(2, n_landmarks=100, random_state=0).fit(np.concatenate([circle, 3 * circle]))
    >>> len(set(model.labels_[:300])), len(set(model.labels_[300:]))
    (1, 1)
    >>> model.predict([[0.0, 1.1], [2.8, 0.0]]) == model.labels_[[0, 300]]
    array([ True,  True])
    """

    n_clusters: int = 8
    _: KW_ONLY
    n_landmarks: int = 1000
    n_neighbors: int | str = "auto"
    n_init: int = 3
    max_iter: int = 100
    fit_rows: int | None = 50_000
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters of X, of shape (n_rows, n_features); y is ignored."""
        X = check_features(self, X, fitting=True, single=True)
        self._check(len(X))
        random = check_random_state(self.random_state)
        same_everywhere(X)
        n_landmarks = min(self.n_landmarks, len(X))
        self.landmarks_ = find_landmarks(X, n_landmarks, self._n_links(len(X), n_landmarks), random)
        sample = X
        if self.fit_rows is not None and self.fit_rows < len(X):
            sample = X[np.sort(random.choice(len(X), self.fit_rows, replace=False))]
        rows = self._embed(sample)
        # Equal rows differ by rounding errors in the embedding: more clusters than distinct rows would split these.
        k = min(self.n_clusters, len(np.unique(rows.round(_DECIMALS), axis=0)))
        # Groups that no link joins are orthogonal in the embedding: starts far apart find all, random ones may not. But
        # where rows are few, there are almost as many landmarks as rows, and starts far apart are outliers.
        many = len(sample) >= _ROWS_PER_LANDMARK * len(self.landmarks_.points)
        clusters = _kmeans(rows, k, self.max_iter, random, self.n_init, init="k-means++" if many else "random")
        self.cluster_centers_, self.n_iter_ = clusters.cluster_centers_, clusters.n_iter_
        self.labels_ = self._label(X)
        return self

    def _n_links(self, n_rows: int, n_landmarks: int) -> int:
        """Return the number of landmarks to which a row is linked."""
        if isinstance(self.n_neighbors, str):
            return _LINKS if n_rows >= _ROWS_PER_LANDMARK * n_landmarks else _LINKS_OF_FEW_ROWS
        return self.n_neighbors

    def _check(self, n_rows: int) -> None:
        k = check_integer("n_clusters", self.n_clusters, low=1)
        for name in ("n_landmarks", "n_neighbors", "n_init", "max_iter"):
            if (name, getattr(self, name)) != ("n_neighbors", "auto"):
                check_integer(name, getattr(self, name), low=1)
        if self.fit_rows is not None:
            check_integer("fit_rows", self.fit_rows, low=2)
        most = min(self.n_landmarks, n_rows, n_rows if self.fit_rows is None else self.fit_rows)
        if k > most:
            raise InputError(
                f"must be at most {most}, the number of landmarks or of rows fitted; got {k} with n_samples={n_rows}.",
                code="few-rows",
                parameter="n_clusters",
                hint="Use fewer clusters, or more landmarks.",
            )

    def _embed(self, sample: NDArray[Any]) -> Floats:
        """Cut the graph of some rows; remember the landmarks' vectors and return the rows'."""
        index, distances = self.landmarks_.neighbors(sample)
        self.sigma_ = link_width(distances)
        links = link_weights(distances, self.sigma_)
        embedding = embed_landmarks(index, links, len(self.landmarks_.points), self.n_clusters)
        self.eigenvalues_, self.vectors_ = embedding.eigenvalues, embedding.vectors
        return embedding.rows(index, links)

    def _label(self, X: NDArray[Any]) -> Ints:
        labels = np.empty(len(X), dtype=np.int64)
        self.labeler().label(X, None, labels)
        return labels

    def labeler(self) -> LandmarkLabeler:
        """Return what labels rows, laid out for that."""
        return LandmarkLabeler.of(self.landmarks_, self.vectors_, self.cluster_centers_, self.sigma_)

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a file (NPZ, arrays only), whole or not at all; `quorate.load` brings it back."""
        check_is_fitted(self)
        manifest = {
            "kind": "uspec",
            "parameters": plain_parameters(self.get_params(), "USPEC"),
            "n_features": self.n_features_in_,
            "n_iter": self.n_iter_,
        }
        arrays = {f"member_0_{name}": values for name, values in self.to_arrays().items()}
        write_archive(path, (manifest, {"labels": self.labels_, "eigenvalues": self.eigenvalues_, **arrays}))

    def to_arrays(self) -> Arrays:
        """Return what labels rows, under the names it has in a file."""
        landmarks = self.landmarks_
        return {
            "landmarks": landmarks.points,
            "group": landmarks.group,
            "group_centers": landmarks.group_centers,
            "vectors": self.vectors_,
            "centers": self.cluster_centers_,
            "links": np.array([landmarks.n_neighbors, self.sigma_]),
        }

    def predict(self, X: Any) -> Ints:
        """Return the cluster of each row of X, embedded through its nearest landmarks."""
        check_is_fitted(self)
        return self._label(check_features(self, X, fitting=False, single=True))
