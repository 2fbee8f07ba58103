"""Labeling any rows by members fitted before, all of them in one pass over the rows.

Members that put a row to its nearest center (k-means, RPCL) are labeled together: a block of rows is read once and
compared with the centers of all of them, in float32 and in threads. Nothing of the size rows x centers is ever held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, MiniBatchKMeans

from quorate import _kernels
from quorate._runtime import threads
from quorate._utils.array_types import Floats, Ints
from quorate.features.clusterers.feature_checks import nearest
from quorate.features.clusterers.rpcl import RPCL
from quorate.features.clusterers.uspec import USPEC, LandmarkLabeler
from quorate.features.scaling import Scaling

Codes = NDArray[np.unsignedinteger[Any]]
"""Labels from 0, in the smallest type that holds them."""

_TASK = 1 << 14


class Centers(NamedTuple):
    """What a row is compared with: the label of the nearest center is the row's label."""

    points: Floats
    """(k, d)"""
    labels: Ints
    """(k,) labels of the centers."""

    def predict(self, X: Any) -> Ints:
        """Return the label of each row."""
        return self.labels[nearest(np.asarray(X, dtype=np.float64), self.points)]


def centres_of(model: Any) -> Centers | None:
    """Return the centers of a model that labels a row by the nearest of them; None for any other model."""
    if isinstance(model, Centers):
        return model
    if isinstance(model, Merged):
        # Merged clusters are centers with the same label.
        inner = centres_of(model.model)
        return None if inner is None else Centers(inner.points, model.new_label[inner.labels])
    if isinstance(model, KMeans | MiniBatchKMeans | RPCL):
        points = np.asarray(model.cluster_centers_, dtype=np.float64)
        return Centers(points, np.arange(len(points)))
    return None


@dataclass(frozen=True)
class Merged:
    """A model some of whose clusters are made one."""

    model: Any
    new_label: Ints
    """(k,) the new label of each cluster."""

    def predict(self, X: Any) -> Ints:
        """Return the label of each row."""
        return self.new_label[self.model.predict(X)]


@dataclass(frozen=True)
class Nearest:
    """The centers of several members, laid out for the kernel."""

    shift: Floats
    factor: Floats
    """(d,) a row is compared as (x - shift) * factor, of about the size 1."""
    factors: NDArray[np.float32]
    constants: NDArray[np.float32]
    names: NDArray[np.float32]
    """(centers,) label of each; whole numbers, since values and names are chosen by the same lanes."""
    first: Ints

    @classmethod
    def of(cls, members: Sequence[Centers], scaling: Scaling | None) -> Nearest:
        """Lay out centers, which are compared with rows on their own scale, or brought there by `scaling`."""
        points = np.concatenate([member.points for member in members])
        middle = points.mean(axis=0)
        size = float(np.abs(points - middle).max()) or 1.0
        n_features = points.shape[1]
        # Padded to vectors of four features, or two for the plane.
        width = 2 if n_features <= 2 else -(-n_features // 4) * 4
        lengths = np.array([-(-len(member.points) // 4) * 4 for member in members])
        first = np.concatenate([[0], np.cumsum(lengths)])
        factors = np.zeros((first[-1], width), dtype=np.float32)
        # Padding centers are farther than any row, so that they never win.
        constants = np.full(first[-1], np.finfo(np.float32).max, dtype=np.float32)
        names = np.zeros(first[-1], dtype=np.float32)
        for member, start in zip(members, first[:-1], strict=True):
            # Centered and scaled: float32 keeps its digits near 0.
            near = (member.points - middle) / size
            rows = slice(start, start + len(near))
            factors[rows, :n_features] = -2 * near
            constants[rows] = (near**2).sum(axis=1)
            names[rows] = member.labels
        shift, factor = middle, np.full(n_features, 1 / size)
        if scaling is not None:
            shift, factor = scaling.before(shift, factor)
        return cls(shift, factor, factors, constants, names, first)

    def label(self, X: NDArray[Any], out: Codes) -> None:
        """Write the labels of the rows of X, (members, n)."""

        def label_block(rows: slice) -> None:
            centers = (self.factors, self.constants, self.names, self.first)
            _kernels.nearest_centers.label_rows(
                X, self.shift, self.factor, *centers, rows.start, rows.stop, out[:, rows]
            )

        threads.in_threads(label_block, threads.blocks(len(X), _TASK))


@dataclass(frozen=True)
class Crew:
    """Fitted members that label rows together.

    Parameters
    ----------
    models : sequence
        Clusterers with `predict`.
    scaling : Scaling, optional
        How rows are brought to the scale on which the models were fitted.
    """

    models: tuple[Any, ...]
    scaling: Scaling | None = None

    @cached_property
    def _centers(self) -> dict[int, Centers]:
        centers_of_models = {j: centres_of(model) for j, model in enumerate(self.models)}
        return {j: centers for j, centers in centers_of_models.items() if centers is not None}

    @cached_property
    def _nearest(self) -> Nearest:
        return Nearest.of(list(self._centers.values()), self.scaling)

    @cached_property
    def _landmarks(self) -> dict[int, LandmarkLabeler]:
        return {j: model.labeler() for j, model in enumerate(self.models) if isinstance(model, USPEC)}

    def label(self, X: Any) -> NDArray[Any]:
        """Return (members, n) labels of the rows of X, an array of float32 or float64, or a sparse matrix."""
        if not isinstance(X, np.ndarray):
            return np.array([model.predict(X) for model in self.models])
        labels = np.empty((len(self.models), len(X)), dtype=self._type)
        # All members with centers are compared in one pass over the rows.
        together = list(self._centers)
        if len(together) == len(labels):
            self._nearest.label(X, labels)
            return labels
        if together:
            part = np.empty((len(together), len(X)), dtype=self._type)
            self._nearest.label(X, part)
            labels[together] = part
        # Other clusterers label by their own method, on their own scale.
        alone = [j for j in range(len(self.models)) if j not in self._centers and j not in self._landmarks]
        rows = X if not alone or self.scaling is None else self.scaling.apply(X)
        for j in alone:
            labels[j] = self.models[j].predict(rows)
        self._label_by_landmarks(X, labels)
        return labels

    def _label_by_landmarks(self, X: NDArray[Any], labels: NDArray[Any]) -> None:
        """Write the labels of spectral members: rows near each other, one after the other, need the same tables."""
        if not self._landmarks:
            return
        order = next(iter(self._landmarks.values())).order(X, self.scaling)
        rows, labels_in_order = X[order], np.empty(len(X), dtype=labels.dtype)
        for j, labeler in self._landmarks.items():
            labeler.label(rows, self.scaling, labels_in_order)
            labels[j, order] = labels_in_order

    @cached_property
    def _type(self) -> np.dtype[Any]:
        """The smallest type that holds all labels; with a sign where a clusterer may know noise."""
        largest_labels = [centers.labels.max() for centers in self._centers.values()]
        largest_labels += [len(model.cluster_centers_) - 1 for model in self.models if isinstance(model, USPEC)]
        return (
            np.dtype(np.int32)
            if len(largest_labels) < len(self.models)
            else np.min_scalar_type(int(max(largest_labels)))
        )
