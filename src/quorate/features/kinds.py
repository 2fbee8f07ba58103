"""Clusterings of different kinds of the same rows, and the number of clusters that they agree on.

Clusterings of one kind repeat each other on any rows, whether these fall into clusters or not. Where algorithms that
work in different ways find the same clusters, that is evidence.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from quorate._utils.array_types import Floats, Ints, Labels
from quorate.algorithms.lwgp import LWGP
from quorate.analysis.choose_k import MOST_CLUSTERS, Candidate, Choice
from quorate.analysis.scores import adjusted_rand
from quorate.analysis.structure.feature_structure import LEVEL, structure, thinned
from quorate.analysis.structure.separation import spread_ties
from quorate.ensemble import Ensemble
from quorate.errors import QuorateWarning
from quorate.features.clusterers.spanning_tree import Genie, SpanningTree, density_clusters, spanning_tree
from quorate.features.clusterers.spectral import cut_embedding, neighbor_graph, spectral_embedding
from quorate.features.sampling import hash_rows

GINI_THRESHOLDS = (0.1, 0.3, 0.5)
"""How uneven the cluster sizes of Genie may become before only the smallest clusters merge."""
MOST_MIXTURE_COLUMNS = 50
"""Gaussian mixtures are not used for tables with more columns, and where a cluster would have fewer rows than
parameters per column: a covariance matrix cannot be estimated there."""
PRINCIPAL_KINDS = ("k-means", "Genie 0.3", "spectral")
CLEAR_AGREEMENT = 0.75
"""Mean ARI between principal kinds from which on there is more than one cluster, whatever the dip test says."""
_NEIGHBORS = 10
_SMALLEST_DENSITY_CLUSTER, _DENSITY_CLUSTER_SHARE = 5, 0.01
_MIXTURE_STARTS, _MIXTURE_STEPS, _MIXTURE_FLOOR = 2, 60, 1e-6
_MEMBERS_TO_HALVE = 4
_CANDIDATES = 3
_MOST_COMPARED, _ROWS_PER_CLUSTER = 128, 20
_CLOSE = 0.95
_HIGH_AGREEMENT, _ABOUT_AS_GOOD = 0.85, 0.1
_SAME_AS_DENSITY = 0.9


@dataclass(frozen=True)
class DiverseClusterings:
    """Clusterings of the same rows by k-means, Genie, a spectral method, Gaussian mixtures and HDBSCAN."""

    X: Floats
    """(n, d)"""
    kmeans: Sequence[Labels] = field(repr=False)
    """Clusterings by k-means with random numbers of clusters. Their consensus counts as one or two members."""
    seed: int

    @cached_property
    def _values(self) -> tuple[int, Ints]:
        """The number of distinct rows, and (n,) which of them each row is."""
        # Equal rows must get equal labels, whatever a clusterer makes of them.
        hashes, which = np.unique(hash_rows(self.X, 0), return_inverse=True)
        return len(hashes), which

    @cached_property
    def _points(self) -> Floats:
        """(n, d) the rows; where most of them repeat others, tied values are spread evenly.

        Without it, neighbors of a row would be its copies, and every distinct row a cluster.
        """
        if 2 * self._values[0] > len(self.X):
            return self.X
        return spread_ties(self.X)

    @cached_property
    def _neighbors(self) -> tuple[Floats, Labels]:
        """(n, 10) distances and numbers of the nearest rows, the row itself included."""
        n_neighbors = min(_NEIGHBORS, len(self.X))
        distances, rows = NearestNeighbors(n_neighbors=n_neighbors).fit(self._points).kneighbors(self._points)
        return distances, rows.astype(np.int64)

    @cached_property
    def _tree(self) -> SpanningTree:
        return spanning_tree(self._points)

    @cached_property
    def _genie(self) -> dict[float, Genie]:
        return {threshold: Genie.fit(self._tree, threshold) for threshold in GINI_THRESHOLDS}

    def _at_rows(self, labels: Labels) -> Labels:
        """Return labels with equal rows in the same cluster: that of most of them."""
        n_distinct, which = self._values
        # Without repeated rows there is nothing to unify.
        if n_distinct == len(labels):
            return labels
        n_labels = int(labels.max()) + 1
        # The label that most copies of a row have.
        counts = np.bincount(which * n_labels + labels, minlength=n_labels * n_distinct)
        return counts.reshape(-1, n_labels).argmax(axis=1)[which]

    @cached_property
    def density(self) -> Labels | None:
        """(n,) clusters of HDBSCAN, -1 for noise, at its own number of clusters; None with fewer than two."""
        smallest = max(_SMALLEST_DENSITY_CLUSTER, int(len(self.X) * _DENSITY_CLUSTER_SHARE))
        if smallest > len(self.X):
            return None
        # The core distance is that to the tenth neighbor, the row itself included.
        labels = density_clusters(spanning_tree(self._points, self._neighbors[0][:, -1]), smallest)
        labels = self._at_rows(labels + 1) - 1
        return labels if len(np.unique(labels[labels >= 0])) > 1 else None

    def consensus_of_kmeans(self, members: Sequence[Labels], ks: Sequence[int]) -> dict[int, Labels]:
        """Return the consensus (n,) of k-means clusterings at several numbers of clusters."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QuorateWarning)  # about these members alone
            ens = Ensemble(list(members))
            answers = LWGP(2, weights="trust", beta=4.0, theta=0.8).solve(ens).answers(ks)
            return {k: answer.labels[ens.row_pattern] for k, answer in answers.items()}

    @cached_property
    def _graph(self) -> sp.csr_array:
        return neighbor_graph(self._neighbors[1], self._tree)

    @cached_property
    def _embedding(self) -> Floats | None:
        """(n, 32) the rows in eigenvectors for all usual numbers of clusters; None if these do not converge."""
        return self._embed(MOST_CLUSTERS)

    def _embed(self, n_vectors: int) -> Floats | None:
        try:
            return spectral_embedding(self._graph, min(n_vectors, len(self.X)))
        except ArpackNoConvergence:
            return None

    def spectral(self, ks: Sequence[int]) -> dict[int, Labels]:
        """Return spectral clusterings (n,); none where the eigenvectors do not converge."""
        # Eigenvectors for the usual numbers of clusters are computed once; more are rare.
        vectors = self._embedding if max(ks) <= MOST_CLUSTERS else self._embed(max(ks))
        return {} if vectors is None else {k: self._at_rows(cut_embedding(vectors[:, :k])) for k in ks}

    def mixture(self, k: int, number: int) -> Labels | None:
        """Return the clusters (n,) of a mixture of k Gaussians with full covariances, if there are rows enough."""
        n, d = self.X.shape
        # A full covariance needs more rows than columns in every cluster.
        if d > MOST_MIXTURE_COLUMNS or n < k * (d + 1):
            return None
        model = GaussianMixture(
            k,
            n_init=_MIXTURE_STARTS,
            max_iter=_MIXTURE_STEPS,
            reg_covar=_MIXTURE_FLOOR * float(self._points.var()),
            random_state=np.random.RandomState([self.seed, number]),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the last step is good enough for one of nine members
            return self._at_rows(model.fit_predict(self._points).astype(np.int64))

    @property
    def numbers(self) -> range:
        """The numbers of clusters that are compared."""
        return range(2, max(2, min(MOST_CLUSTERS, self._values[0] // 2)) + 1)

    def numbers_after(self, k: int) -> range:
        """Return the numbers above k, up to twice as many, that clusters of enough rows allow; none above 128."""
        return range(k + 1, min(2 * k, _MOST_COMPARED, self._values[0] // _ROWS_PER_CLUSTER) + 1)

    def sweep(self, ks: Sequence[int]) -> dict[str, dict[int, Labels]]:
        """Return the clusterings of five kinds at several numbers of clusters, by kind."""
        with threadpool_limits(1):  # the last bits of sums depend on the number of threads
            clusterings = {"k-means": self.consensus_of_kmeans(self.kmeans, ks)}
            for threshold, genie in self._genie.items():
                clusterings[f"Genie {threshold}"] = {k: self._at_rows(genie.cut(k)) for k in ks}
            clusterings["spectral"] = self.spectral(ks)
        return {kind: labels for kind, labels in clusterings.items() if labels}

    def members(self, k: int) -> dict[str, Labels]:
        """Return the clusterings into k clusters that are combined, by name; HDBSCAN has its own number of clusters."""
        with threadpool_limits(1):
            middle = len(self.kmeans) // 2
            halves = [self.kmeans[:middle], self.kmeans[middle:]]
            # Too few members to halve: one consensus counts once.
            if len(self.kmeans) < _MEMBERS_TO_HALVE:
                halves = [self.kmeans]
            clusterings: dict[str, Labels | None] = {
                f"k-means {number}": self.consensus_of_kmeans(half, [k])[k] for number, half in enumerate(halves, 1)
            }
            for threshold, genie in self._genie.items():
                clusterings[f"Genie {threshold}"] = self._at_rows(genie.cut(k))
            clusterings["spectral"] = self.spectral([k]).get(k)
            for number in (1, 2):
                clusterings[f"Gaussian mixture {number}"] = self.mixture(k, number)
            clusterings["HDBSCAN"] = self.density
        return {name: labels for name, labels in clusterings.items() if labels is not None}


@dataclass(frozen=True)
class KindCandidate(Candidate):
    """A number of clusters, and how far clusterings of different kinds agree on it."""

    agreement: float
    """Mean adjusted Rand index (ARI) between k-means, Genie (the threshold that agrees best) and spectral."""
    density: float
    """Median over kinds of the ARI with HDBSCAN on the rows that it labels, times their share; 0 without clusters."""
    support: dict[str, float]
    """Mean ARI of each kind with the others."""


def choose_by_kinds(clusterings: DiverseClusterings) -> Choice:
    """Return the number of clusters on which kinds agree most; one if there is no evidence of more.

    The score of k is the agreement of kinds, the mean ARI between clusterings into k clusters by k-means, Genie and the
    spectral method, plus the median of their ARI with the clusters of HDBSCAN. The largest of ties is chosen. A number
    on which most kinds find the clusters of HDBSCAN (median ARI times the share of its rows from 0.9 on) wins. Where
    kinds agree almost as well on more clusters, and all of these are separated (dip test), these are chosen. There is
    one cluster if k-means, Genie and spectral clusterings agree on no k (mean ARI below 0.75) and the dip test finds no
    clusters either. Numbers up to 32 are compared, and twice as many as long as the largest number is the best.
    """
    ks = clusterings.numbers
    sweep = clusterings.sweep(ks)
    curve = _curve(sweep, clusterings.density)
    X = thinned(clusterings.X)
    principal = [sweep[kind] for kind in PRINCIPAL_KINDS if kind in sweep]
    agreement = max(float(np.mean([_ari(a[k], b[k]) for a, b in combinations(principal, 2)])) for k in ks)
    # No kind agrees with another: only then is the slower test of structure needed.
    if agreement < CLEAR_AGREEMENT:
        p_value = structure(X, Ensemble([thinned(labels) for labels in clusterings.kmeans])).p_value
        if p_value >= LEVEL:
            return _one_cluster(curve, p_value)
    # The best number is the largest one compared: look further.
    while best_candidates(curve)[0] is curve[-1] and (more := clusterings.numbers_after(curve[-1].n_clusters)):
        finer = clusterings.sweep(more)
        curve += _curve(finer, clusterings.density)
        sweep["k-means"] |= finer["k-means"]
    kmeans = {k: thinned(labels) for k, labels in sweep["k-means"].items()}
    agreed = best_candidates(curve)[0]
    first = _separated_further(agreed, curve, X, kmeans)
    best = best_candidates(curve, first)
    return Choice(first.n_clusters, best, curve, _sentence(best, _why_not_highest(first, agreed, curve)))


def _curve(sweep: dict[str, dict[int, Labels]], density: Labels | None) -> tuple[KindCandidate, ...]:
    """Return how far kinds agree on each number of clusters."""
    return tuple(_candidate(k, {kind: labels[k] for kind, labels in sweep.items()}, density) for k in sweep["k-means"])


def _one_cluster(curve: tuple[KindCandidate, ...], p_value: float) -> Choice:
    """Return one cluster as the choice, with the candidates that were rejected."""
    best = best_candidates(curve)
    # That of the curve, which is shown next to it.
    agreement = max(candidate.agreement for candidate in curve)
    text = (
        f"One cluster: no evidence of more. No gap between clusters is significant (p = {p_value:.2g}), and different "
        f"kinds of clusterings agree too little (mean ARI at most {agreement:.2f}). If you need several clusters, "
        f"request a number; the best candidate is {best[0].n_clusters}."
    )
    return Choice(1, best, curve, text)


def _separated_further(
    best: KindCandidate, curve: Sequence[KindCandidate], X: Floats, kmeans: dict[int, Labels]
) -> KindCandidate:
    """Return the largest number of clusters on which kinds agree about as well, if all its clusters are separated.

    Kinds agree on pairs of clusters that are close together too, which HDBSCAN joins.
    """
    if best.agreement < _HIGH_AGREEMENT:
        return best
    for finer in reversed(curve):
        # From the finest down; the best candidate itself ends the search.
        if finer.n_clusters <= best.n_clusters:
            return best
        if finer.agreement >= best.agreement - _ABOUT_AS_GOOD and all(
            node.verdict == "separated" for node in structure(X, kmeans[finer.n_clusters]).nodes
        ):
            return finer
    return best


def best_candidates(curve: Sequence[KindCandidate], first: KindCandidate | None = None) -> tuple[KindCandidate, ...]:
    """Return the three best numbers of clusters, best first; `first` leads.

    Numbers on which most kinds find the clusters of HDBSCAN precede the others: k-means does not find rings, so that
    all kinds agree better on pieces of them. Otherwise the highest score is best, and the largest of ties.
    """
    best = sorted(
        curve,
        key=lambda candidate: (
            candidate is not first,
            candidate.density < _SAME_AS_DENSITY,
            -round(candidate.score, 9),
            -candidate.n_clusters,
        ),
    )
    return tuple(best[:_CANDIDATES])


def _candidate(k: int, kinds: dict[str, Labels], density: Labels | None) -> KindCandidate:
    between = np.eye(len(kinds))
    for (i, a), (j, b) in combinations(enumerate(kinds.values()), 2):
        between[i, j] = between[j, i] = _ari(a, b)
    # Genie with several thresholds counts as one kind, by its best agreement.
    family = np.array([kind.split()[0] for kind in kinds])
    pairs = combinations(dict.fromkeys(family), 2)
    agreement = float(np.mean([between[np.ix_(family == first, family == second)].max() for first, second in pairs]))
    with_density = 0.0
    if density is not None:
        labeled = density >= 0
        with_density = float(np.median([_ari(labels[labeled], density[labeled]) for labels in kinds.values()]))
        with_density *= float(labeled.mean())
    support = dict(zip(kinds, ((between.sum(axis=1) - 1) / (len(kinds) - 1)).tolist(), strict=True))
    return KindCandidate(k, agreement + with_density, np.nan, np.nan, agreement, with_density, support)


def _ari(a: Labels, b: Labels) -> float:
    width = int(b.max()) + 1
    table = np.bincount(a * width + b, minlength=(int(a.max()) + 1) * width).reshape(-1, width)
    return adjusted_rand(table.astype(np.float64))


def _why_not_highest(first: KindCandidate, agreed: KindCandidate, curve: Sequence[KindCandidate]) -> str:
    """Return why a number of clusters was chosen although another one has a higher score; empty if it has the highest.

    first, agreed : KindCandidate
        The number that was chosen, and the best one before the test of separation.
    """
    highest = max(curve, key=lambda candidate: candidate.score)
    if round(first.score, 9) >= round(highest.score, 9):
        return ""
    reason = (
        f"{first.n_clusters} clusters of k-means are all significantly separated"
        if first is not agreed
        else f"most kinds find the clusters of HDBSCAN at {first.n_clusters}"
    )
    return f" {highest.n_clusters} clusters have a higher score, but {reason}."


def _sentence(best: Sequence[KindCandidate], reason: str) -> str:
    first = best[0]
    text = f"{first.n_clusters} clusters: different kinds of clusterings agree on them (mean ARI "
    text += f"{first.agreement:.2f}; with HDBSCAN {first.density:.2f}).{reason}"
    others = [str(other.n_clusters) for other in best[1:] if other.score > _CLOSE * first.score]
    if others:
        text += f" The choice is close: consider {' and '.join(others)} as well."
    elif len(best) > 1:
        text += f" Next: {best[1].n_clusters} (mean ARI {best[1].agreement:.2f}; with HDBSCAN {best[1].density:.2f})."
    return text


def pack_choice(choice: Choice) -> dict[str, Any]:
    """Return a choice of kinds as plain values."""
    keys = ("n_clusters", "score", "agreement", "density", "support")
    curve = [{key: getattr(candidate, key) for key in keys} for candidate in choice.curve]
    first = choice.candidates[0].n_clusters
    return {"n_clusters": choice.n_clusters, "first": first, "sentence": choice.sentence, "curve": curve}


def unpack_choice(packed: dict[str, Any]) -> Choice:
    """Return a choice from plain values."""
    curve = tuple(KindCandidate(eigengap=np.nan, stability=np.nan, **values) for values in packed["curve"])
    first = next(candidate for candidate in curve if candidate.n_clusters == packed["first"])
    return Choice(int(packed["n_clusters"]), best_candidates(curve, first), curve, str(packed["sentence"]))
