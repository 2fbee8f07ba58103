"""Hybrid bipartite graph formulation (Fern and Brodley 2004), by its spectral version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

import numpy as np
import scipy.sparse as sp

from quorate._utils.array_types import Floats
from quorate._utils.checks import check_choice, check_integer
from quorate.algorithms.graph import BipartiteMethod
from quorate.ensemble import Ensemble
from quorate.numerics.kmeans import Init, Key, Points, least_similar
from quorate.numerics.transfer_cut import ReducedGraph, SingularCut, unit_rows
from quorate.reliability import Normalize

_STARTS = ("ward", "heaviest", "random")


@dataclass(frozen=True)
class JointCut(SingularCut):
    """The cut of HBGF: rows and clusters are embedded by singular vectors and clustered together."""

    @property
    def spread(self) -> Key:
        """How centers of k-means spread out where they do not start otherwise."""
        return least_similar

    def cluster_embedding(self, k: int) -> Floats:
        """(n_clusters, k) unit rows of the right singular vectors, one row per cluster."""
        vectors = self.spectrum(k).vectors[:, :k] * np.sqrt(self.graph.degrees)[:, None]
        return unit_rows(np.where(np.isinf(self._singular_values(k)), 0.0, vectors))

    def companions(self, k: int) -> tuple[Points, ...]:
        """Return the embedded clusters, each of which weighs as much as one row."""
        nodes = self.cluster_embedding(k)
        return (Points(nodes, np.full(len(nodes), self.ensemble.total_weight / self.ensemble.n_rows), fixed=True),)


class HBGF(BipartiteMethod):
    """Hybrid bipartite graph formulation: cut the graph that links every row to its clusters.

    What is known: the spectral version by the authors' program, which divides the columns of the row-cluster matrix by
    the square roots of the cluster sizes, takes its leading singular vectors, scales rows and clusters to unit length
    and clusters them together; centers start at a random row and go on to rows of least absolute cosine to those
    chosen. What is chosen: k-means starts from merged seeds by default, so that neither rows nor luck matter, and a
    cluster in which no row remains is re-seeded at the farthest row. The other version, with METIS, is not here.

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of clusters, at most the number of clusters of all members; "auto" takes the one the members speak for
        (`choose_k`).
    init : {"ward", "heaviest", "random"}, default "ward"
        Where k-means starts: from many seeds merged by Ward's criterion, as good as the others and without luck
        (docs/starts.md); at the heaviest pattern and those of least cosine; or at a random row and those of least
        cosine (the original), the best of `n_init`.
    n_init : int, default 10
        Number of random starts, for "random".
    random_state : int, Generator or None
        Seed, for "random".
    weights : {"equal", "ncai", "trust", "local"} or (M,) array, default "equal"
        Weights of a member's links: all equal (the original), by crowd agreement, by `trust`, or given; "local" lets
        the links of each cluster count by its own certainty instead (`cluster_certainty`).
    beta : float, default 2.0
        How strongly agreement with the crowd counts in the weight of a member, for weights "ncai" and "trust".
    normalize : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        How mutual information is normalized, as in `agreement`.

    Attributes
    ----------
    labels_ : (n,) array
        Consensus label of each row; 0 is the largest cluster.
    n_clusters_ : int
    eigenvalues_, singular_values_ : arrays
        Of the reduced graph, and of the row-cluster matrix.
    confidence_, margin_, runner_up_, clusters_, ncai_, member_weights_, ensemble_, pattern_labels_, pattern_confidence_
        As in `GPMGLA`.

    References
    ----------
    X. Z. Fern, C. E. Brodley: Solving Cluster Ensemble Problems by Bipartite Graph Partitioning. ICML (2004).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.HBGF(n_clusters=3).fit_predict(members)
    array([0, 0, 1, 1, 2, 2])
    """

    name: ClassVar[str] = "hbgf"
    idea: ClassVar[str] = "Cut the graph that links every row to its clusters, rows and clusters together."
    equation: ClassVar[str] = "leading singular vectors of H diag(s)^-1/2, k-means of rows and clusters"
    strength: ClassVar[str] = "Fast however many rows there are."
    weakness: ClassVar[str] = "All members count the same; behind weighted methods."
    when: ClassVar[str] = "A baseline for graph methods."
    citation: ClassVar[str] = "Fern, Brodley 2004"
    cost: ClassVar[str] = "m M^2 + n_c M per eigenvector step + m k^2 per k-means step; memory m M + m k"
    exact: ClassVar[str] = "graph and embedding of all rows; k-means of all rows and clusters"
    exceptions: ClassVar[Mapping[str, str]] = {
        "repeated rows": "clusters are clustered along with the rows, each with the weight of a mean row: of rows that "
        "are repeated there are more, of rows with weights there are not",
    }
    local_weights: ClassVar[bool] = True

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        init: Literal["ward", "heaviest", "random"] = "ward",
        n_init: int = 10,
        random_state: Any = None,
        weights: Any = "equal",
        beta: float = 2.0,
        normalize: Normalize = "sqrt",
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.random_state = random_state
        self.weights = weights
        self.beta = beta
        self.normalize = normalize

    def _check(self) -> None:
        check_choice("init", self.init, _STARTS)
        check_integer("n_init", self.n_init, low=1)

    def _transfer_cut(self, ens: Ensemble, graph: ReducedGraph, links: sp.csr_array) -> JointCut:
        return JointCut(ens, graph, links, cast(Init, self.init), self.n_init, self.random_state)

    @property
    def singular_values_(self) -> Floats:
        """The leading singular values, descending, of the row-cluster matrix over the square roots of cluster sizes.

        Their squares are the eigenvalues times the number of members (the sum of their influences).
        """
        scale = self.member_weights_.sum() / self.member_weights_.max()
        return np.sqrt(self.eigenvalues_ * scale)
