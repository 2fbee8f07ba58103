"""Choosing a resolution: simulated hierarchies with known types, and data without structure.

`python -m benchmarks.choose_member deciding` (or `confirming`) clusters each set by Leiden on a graph of 15 neighbors
at ten resolutions and by k-means at ten numbers of clusters, with one or three seeds. It prints the ARI of the chosen
member with the true types and the regret: the ARI of the best member minus that of the chosen one. The rule was chosen
on the deciding half.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

import quorate as qt
from quorate._utils.array_types import Floats, Ints
from quorate.benchmarking.comparison_tables import markdown_table

N, REPEATS = 1000, 6
# Groups, types in each, dimensions, mean distance of types and of groups in standard deviations.
HIERARCHIES = (
    (1, 4, 10, 6, 0),
    (1, 8, 10, 7, 0),
    (3, 3, 10, 6, 18),
    (4, 3, 10, 6, 20),
    (2, 6, 10, 6.5, 18),
    (1, 12, 10, 8, 0),
    (3, 1, 5, 0, 8),
    (5, 2, 10, 5, 15),
)
NULLS: tuple[Callable[[np.random.Generator], Floats], ...] = (
    lambda rng: rng.normal(size=(N, 2)),
    lambda rng: rng.normal(size=(N, 10)),
    lambda rng: rng.uniform(size=(N, 2)),
    lambda rng: rng.standard_t(4, size=(N, 3)),
)
RESOLUTIONS = np.geomspace(0.05, 6, 10).round(3)
NUMBERS = (2, 3, 4, 6, 8, 10, 13, 16, 20, 25)


def hierarchy(
    rng: np.random.Generator, groups: int, types: int, d: int, near: float, far: float
) -> tuple[Floats, Ints]:
    """Return rows of Gaussian types within groups, and their types; sizes differ."""
    unit = np.sqrt(2 * d)
    tops = rng.normal(size=(groups, d)) * far / unit
    centers = tops if types == 1 else np.concatenate([top + rng.normal(size=(types, d)) * near / unit for top in tops])
    k = groups * types
    sizes = rng.multinomial(N - 10 * k, rng.dirichlet(np.full(k, 4.0))) + 10
    labels = np.repeat(np.arange(k), sizes)
    return centers[labels] + rng.normal(size=(N, d)), labels


def leiden(X: Floats, seeds: range) -> dict[str, Ints]:
    """Return Leiden clusterings of the graph of nearest neighbors."""
    from sknetwork.clustering import Leiden

    near = kneighbors_graph(X, 15)
    graph = ((near + near.T) > 0).astype(float).tocsr()
    return {
        f"leiden_{r:g}_{seed}": Leiden(float(r), random_state=seed, shuffle_nodes=True).fit_predict(graph)
        for r in RESOLUTIONS
        for seed in seeds
    }


def kmeans(X: Floats, seeds: range) -> dict[str, Ints]:
    """Return k-means clusterings."""
    return {f"k{k}_{s}": KMeans(k, n_init=1, random_state=s).fit_predict(X) for k in NUMBERS for s in seeds}


def cases(half: int) -> Iterator[tuple[str, dict[str, Ints], Ints | None]]:
    """Yield the kind of members, the members, and the types (None: no structure)."""
    for repeat in range(REPEATS):
        seeds = range(1) if repeat % 2 else range(3)
        for c, config in enumerate(HIERARCHIES):
            X, types = hierarchy(np.random.default_rng(1000 * half + 10 * repeat + c + 7), *config)
            yield "Leiden", leiden(X, seeds), types
            yield "k-means", kmeans(X, seeds), types
        for c, draw in enumerate(NULLS):
            X = draw(np.random.default_rng(1000 * half + 10 * repeat + c + 507))
            yield "Leiden", leiden(X, seeds), None
            yield "k-means", kmeans(X, seeds), None


def rules(members: dict[str, Ints]) -> dict[str, str]:
    """Return the member that each rule chooses."""
    names = list(members)
    mean = {measure: qt.agreement(members, measure=measure).sum(axis=1) for measure in ("nmi", "ami")}
    return {
        "choose_member": qt.choose_member(members).key,
        "largest mean AMI": names[int(np.argmax(mean["ami"]))],
        "largest mean NMI": names[int(np.argmax(mean["nmi"]))],
    }


def main(half: str) -> None:
    """Print both tables."""
    warnings.simplefilter("ignore")
    scores: dict[tuple[str, str], list[tuple[float, float]]] = {}
    supported: dict[tuple[str, bool], list[bool]] = {}
    for kind, members, types in cases(("deciding", "confirming").index(half)):
        try:
            supported.setdefault((kind, types is not None), []).append(qt.choose_member(members).supported)
        except qt.QuorateError:  # every member has one cluster
            supported.setdefault((kind, False), []).append(False)
        if types is None:
            continue
        ari = {key: adjusted_rand_score(types, labels) for key, labels in members.items()}
        for rule, key in rules(members).items():
            scores.setdefault((rule, kind), []).append((ari[key], max(ari.values()) - ari[key]))
    kinds = ("Leiden", "k-means")
    header = ["rule", *(f"{kind}: {figure}" for kind in kinds for figure in ("ARI", "regret", "worst regret"))]
    lines = []
    for rule in ("choose_member", "largest mean AMI", "largest mean NMI"):
        columns = [np.array(scores[rule, kind]).T for kind in kinds]
        lines.append([rule, *(f"{x:.3f}" for ari, lost in columns for x in (ari.mean(), lost.mean(), lost.max()))])
    print(markdown_table(header, lines))
    shares = [[kind, *(f"{np.mean(supported[kind, real]):.2f}" for real in (True, False))] for kind in kinds]
    print(markdown_table(["members", "supported, with types", "supported, no structure"], shares))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "deciding")
