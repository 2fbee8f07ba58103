"""SimRank-based similarity (Iam-On, Boongoen, Garrett 2008): similar rows are in similar clusters, and the reverse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np
import scipy.sparse as sp

from quorate._runtime.memory import USE_NO_MATRIX
from quorate._runtime.memory_forecast import EnsembleSize
from quorate._utils.array_types import Floats, Ints
from quorate._utils.checks import check_integer, check_number
from quorate.algorithms.forecasts import similarities
from quorate.algorithms.tree import LinkageMethod
from quorate.ensemble import Ensemble
from quorate.graphs import row_links
from quorate.numerics.linkage import Dendrogram, Link, link_similarity
from quorate.random_walks import simrank
from quorate.reliability import Normalize
from quorate.row_similarity import ThroughClusters, covering_weight


def simrank_similarity(ens: Ensemble, influence: Floats, decay: float, n_iterations: int, leaves: Ints) -> Floats:
    """(leaves, leaves) SimRank of two different rows: decay times the mean similarity of their clusters.

    The diagonal is the similarity of two rows of one pattern, below 1: SimRank does not make equal rows identical.
    """
    phi = row_links(ens, influence[ens.cluster_member])
    of_clusters = simrank(ens, phi, decay, n_iterations)
    similarity = ThroughClusters.of_all(sp.csr_array(phi[leaves]), of_clusters).matrix()
    similarity *= decay
    return similarity


class SRS(LinkageMethod):
    """SimRank-based similarity: rows are similar if their clusters are, and clusters if their rows are.

    What is known: updates, decay and number of iterations are those of LinkCluE. What is chosen: under `weights` a
    row's clusters count by the weight of their member; where labels are missing, by the weight among the members that
    label the row.

    Rows of one pattern are not identical to SimRank. Where they are closer to another pattern than to each other, they
    are linked one by one, as the original does; they still get one label, that of the first of them.

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        Number of clusters; "auto" takes the one the members speak for (`choose_k`).
    linkage : {"average", "complete", "single"}, default "average"
        How the similarity of two groups follows from that of their rows.
    decay : float in [0, 1], default 0.8
        What a step over the graph of rows and clusters keeps of a similarity.
    n_iterations : int >= 2, default 5
        R in LinkCluE, which starts from the identity and makes R - 1 updates.
    weights : {"equal", "ncai", "trust"} or (M,) array, default "equal"
        Weights of the members: all equal (the original), by crowd agreement, by `trust`, or given.
    beta : float, default 2.0
        How strongly agreement with the crowd counts in the weight of a member, for weights "ncai" and "trust".
    normalize : {"sqrt", "max", "arithmetic", "min"}, default "sqrt"
        How mutual information is normalized, as in `agreement`.

    Attributes
    ----------
    labels_ : (n,) array
        Consensus label of each row; 0 is the largest cluster.
    n_clusters_ : int
    dendrogram_ : Dendrogram
    confidence_, margin_, runner_up_, clusters_, ncai_, member_weights_, ensemble_, pattern_labels_, pattern_confidence_
        As in `WEAC`.

    References
    ----------
    N. Iam-On, T. Boongoen, S. Garrett: Refining Pairwise Similarity Matrix for Cluster Ensemble Problem with Cluster
    Relations. Discovery Science (2008). N. Iam-On, S. Garrett: LinkCluE. Journal of Statistical Software 36 (2010).

    Examples
    --------
    >>> import quorate as qt
    >>> members = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]
    >>> qt.SRS(n_clusters=2).fit_predict(members)
    array([0, 0, 0, 0, 1, 1])
    """

    name: ClassVar[str] = "srs"
    idea: ClassVar[str] = "Similar rows are in similar clusters, and the reverse (SimRank); agglomerate them."
    equation: ClassVar[str] = "S = decay Phi C Phi', C = decay H'SH / (s s'), in turn"
    strength: ClassVar[str] = "Uses indirect links of any length."
    weakness: ClassVar[str] = "A matrix over patterns; slow for many clusters."
    when: ClassVar[str] = "A baseline for indirect links."
    citation: ClassVar[str] = "Iam-On, Boongoen, Garrett 2008"
    cost: ClassVar[str] = "n_c^2 per neighbor and iteration + m^2 M; memory m^2 + n_c^2"
    exact: ClassVar[str] = "dendrogram of all rows; a pattern whose rows part gets the label of its first row"
    exceptions: ClassVar[Mapping[str, str]] = {
        **LinkageMethod.exceptions,
        "repeated rows": "a row is similar to itself by 1, to its repetitions by less",
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        linkage: Link = "average",
        decay: float = 0.8,
        n_iterations: int = 5,
        weights: Any = "equal",
        beta: float = 2.0,
        normalize: Normalize = "sqrt",
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.decay = decay
        self.n_iterations = n_iterations
        self.weights = weights
        self.beta = beta
        self.normalize = normalize

    def _check(self) -> None:
        super()._check()
        check_number("decay", self.decay, low=0, high=1)
        check_integer("n_iterations", self.n_iterations, low=2)

    def _memory(self, size: EnsembleSize, k: int) -> float:
        """Four matrices over clusters; then one over clusters and one over patterns."""
        of_clusters = 8.0 * size.clusters**2
        return max(4 * of_clusters, of_clusters + similarities(size))

    def _advice(self) -> str:
        return USE_NO_MATRIX

    def _solve(self, ens: Ensemble, influence: Floats) -> Dendrogram:
        leaves = np.flatnonzero(covering_weight(ens.patterns, influence) > 0)
        similarity = simrank_similarity(ens, influence, self.decay, self.n_iterations, leaves)
        return link_similarity(ens, similarity, cast(Link, self.linkage), leaves)
