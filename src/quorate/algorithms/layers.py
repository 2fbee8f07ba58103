"""Nested partitions: a consensus at several numbers of clusters, each a refinement of the next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from quorate._runtime.memory import require_memory
from quorate._utils.array_types import Floats, Ints, Labels
from quorate._utils.checks import brief_repr, check_integer
from quorate._utils.numbering import number_by_size
from quorate.certainty import Groups
from quorate.ensemble import Ensemble
from quorate.errors import InputError
from quorate.numerics.linkage import cut_merges, link_groups
from quorate.row_similarity import group_sizes


@dataclass(frozen=True)
class Layers:
    """Nested partitions of the same rows, the finest first: every cluster is part of one cluster of the next layer.

    `result.layers` returns them. `cluster_layers_` and `cluster_tree_` have the form that EVoC gives and Toponymy
    takes; DataMapPlot takes the layers in this order.

    Examples
    --------
    >>> import quorate as qt
    >>> result = qt.consensus([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1]], 3, method="weac")
    >>> layers = result.layers([2, 3])
    >>> layers.n_clusters
    (3, 2)
    >>> layers.parents  # clusters 1 and 2 are merged into cluster 0 of the coarser layer
    (array([1, 0, 0]),)
    """

    ensemble: Ensemble
    """The ensemble that was combined."""
    pattern_layers: tuple[Labels, ...] = field(repr=False)
    """Per layer (m,) cluster of each pattern (distinct row of labels); 0 is the largest, -1 for no cluster."""
    exact: bool
    """Whether each layer is the answer of the method for its number of clusters: cuts of one tree are nested."""

    @cached_property
    def n_clusters(self) -> tuple[int, ...]:
        """Number of clusters of each layer."""
        return tuple(int(labels.max(initial=-1)) + 1 for labels in self.pattern_layers)

    @cached_property
    def sizes(self) -> tuple[Floats, ...]:
        """Per layer (k,) number of rows (or their weight) of each cluster."""
        unit = self.ensemble.weight_unit
        return tuple(group_sizes(self.ensemble, labels) * unit for labels in self.pattern_layers)

    @cached_property
    def parents(self) -> tuple[Ints, ...]:
        """Per layer but the last (k,) the cluster of the next layer that contains each cluster."""
        return tuple(
            coarse[_first_of_each(fine)]
            for fine, coarse in zip(self.pattern_layers, self.pattern_layers[1:], strict=False)
        )

    @property
    def cluster_layers_(self) -> list[Labels]:
        """Per layer (n,) cluster of each row; -1 where no member labels the row."""
        return [labels[self.ensemble.row_pattern] for labels in self.pattern_layers]

    @property
    def cluster_tree_(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """The children of each cluster: (layer, cluster) to a list of (layer, cluster).

        Layer 0 is the finest. The root is (number of layers, 0).
        """
        n_layers = len(self.pattern_layers)
        parents = [*self.parents, np.zeros(self.n_clusters[-1], dtype=np.int64)]
        tree: dict[tuple[int, int], list[tuple[int, int]]] = {(n_layers, 0): []}
        # The last layer hangs below the root.
        for layer, of_cluster in enumerate(parents):
            for cluster, parent in enumerate(of_cluster.tolist()):
                tree.setdefault((layer + 1, parent), []).append((layer, cluster))
        return tree


def _first_of_each(labels: Labels) -> Ints:
    """(k,) the first pattern of each cluster."""
    labeled = np.flatnonzero(labels >= 0)
    return labeled[np.unique(labels[labeled], return_index=True)[1]]


def check_layers(n_clusters: Any) -> list[int]:
    """Return the numbers of clusters of layers, the largest first and each once."""
    if isinstance(n_clusters, str) or not isinstance(n_clusters, Iterable):
        n_clusters = [n_clusters]
    ks = {check_integer("n_clusters", k, low=1) for k in n_clusters}
    if not ks:
        raise InputError(
            f"must list at least one number of clusters; got {brief_repr(n_clusters)}.",
            code="no-layers",
            parameter="n_clusters",
        )
    return sorted(ks, reverse=True)


def merge_clusters(ens: Ensemble, weights: Floats, finest: Labels, ks: Iterable[int]) -> tuple[Labels, ...]:
    """Return per k (m,) labels of patterns: the clusters `finest` merged by average link on their co-association.

    The similarity of two clusters is the mean co-association of their rows, as for single rows in EAC.
    """
    groups = Groups.of(ens, weights, finest)
    n = len(groups.sizes)
    require_memory(24.0 * n**2, f"The co-association of {n:,} clusters", "Use fewer clusters in the finest layer.")
    # The mean co-association of two clusters is an inner product of their mean histograms.
    means = sp.csr_array(sp.diags_array(1.0 / groups.sizes) @ groups.histogram)
    weighted = sp.diags_array((weights / weights.sum())[ens.cluster_member]) @ means.T
    similarity = (means @ weighted).toarray()
    # Symmetric to the last bit, so that ties do not depend on the order.
    merges = link_groups((similarity + similarity.T) / 2, groups.sizes.copy())
    tops = (np.append(cut_merges(merges, k), -1) for k in ks)  # label -1 takes the last
    return tuple(number_by_size(top[finest], ens.counts) for top in tops)
