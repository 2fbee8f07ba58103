"""What a new user does: ten scikit-learn datasets, ten ordinary clusterers each, one consensus.

`python -m benchmarks.ordinary` prints the ARI at the true number of clusters and the automatic number of clusters. The
datasets and the members' settings were fixed before anything was measured.
"""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

import quorate as qt
from benchmarks.measure import Result
from quorate._utils.array_types import Floats, Ints
from quorate.analysis.choose_k import MOST_CLUSTERS
from quorate.benchmarking.comparison_tables import markdown_table
from quorate.benchmarking.contestants import make_contestant

KEPT = Path(".cache/trust/ordinary")
N = 500
METHODS = (
    "gp-mgla",
    "gp-mgla weights=trust",
    "gp-mgla weights=local",
    "gp-mgla init=k-means++",
    "lwgp",
    "lwgp weights=trust",
    "lwgp weights=trust beta=4",
    "lwgp weights=trust beta=4 theta=0.8",
    "hbgf",
    "hbgf weights=trust",
    "hbgf weights=trust beta=4",
    "weac",
    "weac beta=8",
    "weac weights=trust",
    "lwea",
    "lwea weights=trust",
    "best-member",
)


def sets() -> dict[str, tuple[Floats, Ints]]:
    """Return rows and classes: scikit-learn's four real sets, and the shapes of its page on clustering."""
    bent = datasets.make_blobs(N, random_state=170)
    return {
        "iris": datasets.load_iris(return_X_y=True),
        "wine": datasets.load_wine(return_X_y=True),
        "breast cancer": datasets.load_breast_cancer(return_X_y=True),
        "digits": datasets.load_digits(return_X_y=True),
        "blobs": datasets.make_blobs(N, random_state=30),
        "ten blobs": datasets.make_blobs(N, n_features=5, centers=10, random_state=30),
        "varied blobs": datasets.make_blobs(N, cluster_std=[1.0, 2.5, 0.5], random_state=170),
        "anisotropic blobs": (bent[0] @ [[0.6, -0.6], [-0.4, 0.8]], bent[1]),
        "moons": datasets.make_moons(N, noise=0.05, random_state=30),
        "circles": datasets.make_circles(N, factor=0.5, noise=0.05, random_state=30),
    }


def members(X: Floats, k: int) -> dict[str, Ints]:
    """Return ten clusterings that anybody would try, of standardized features; noise is -1."""
    radius = np.quantile(NearestNeighbors(n_neighbors=5).fit(X).kneighbors()[0][:, -1], 0.9)
    makers = {
        **{f"k-means {j}": KMeans(j, n_init=10, random_state=0) for j in (k, k + 1, 2 * k)},
        **{link: AgglomerativeClustering(k, linkage=link) for link in ("ward", "average", "single")},
        "Gaussian mixture": GaussianMixture(k, random_state=0),
        "spectral": SpectralClustering(k, affinity="nearest_neighbors", random_state=0),
        "DBSCAN": DBSCAN(eps=radius),
        "HDBSCAN": HDBSCAN(copy=True),
    }
    return {name: maker.fit_predict(X) for name, maker in makers.items()}


@cache
def ensembles() -> dict[str, tuple[qt.Ensemble, Ints]]:
    """Return the ensemble and the classes of every dataset; members are kept, as they take time."""
    KEPT.mkdir(parents=True, exist_ok=True)
    found = {}
    for name, (X, classes) in sets().items():
        path = KEPT / f"{name}.npz"
        if not path.exists():
            made = members(StandardScaler().fit_transform(X), len(np.unique(classes)))
            np.savez_compressed(path, names=list(made), labels=np.stack(list(made.values()), axis=1))
        with np.load(path) as kept:
            found[name] = qt.Ensemble(kept["labels"], names=kept["names"].tolist()), classes
    return found


def at_true_k() -> dict[str, dict[str, float]]:
    """Return the ARI of every method, and of the default, on every dataset at its number of classes."""
    scores: dict[str, dict[str, float]] = {}
    for name, (ens, classes) in ensembles().items():
        k = len(np.unique(classes))
        for method in METHODS:
            labels = make_contestant(method).answer(ens, [k], 0)[:, 0]
            scores.setdefault(method, {})[name] = float(adjusted_rand_score(classes, labels))
        scores.setdefault("the default", {})[name] = float(adjusted_rand_score(classes, qt.consensus(ens, k).labels))
    return scores


def automatic() -> dict[str, tuple[int, int]]:
    """Return the true and the automatic number of clusters of every dataset."""
    return {n: (len(np.unique(classes)), qt.consensus(ens).n_clusters) for n, (ens, classes) in ensembles().items()}


def run() -> list[Result]:
    """Print the table, and return whether the bars are reached."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores, chosen = at_true_k(), automatic()
    means = {name: float(np.mean(list(of.values()))) for name, of in scores.items()}
    lines = [[name, *(f"{ari:.2f}" for ari in of.values()), f"{means[name]:.3f}"] for name, of in scores.items()]
    print(markdown_table(["method", *chosen, "mean"], lines))
    numbers = zip(*chosen.values(), strict=True)
    rows = [[name, *map(str, ks)] for name, ks in zip(("true k", "automatic k"), numbers, strict=True)]
    print(markdown_table(["", *chosen], rows))
    ours, central = means["the default"], means["best-member"]
    near = sum(abs(true - found) <= 1 for true, found in chosen.values())
    most = max(found for _, found in chosen.values())
    return [
        Result("ten datasets, true k: ARI of the default", ours, 1.0, "ARI", ours, ">= 0.84", ours >= 0.84),
        Result("ahead of the most central member", ours, central, "ARI", ours / central, "> 1", ours > central),
        Result("automatic k within 1 of the truth", near, 10, "sets", near / 10, ">= 0.6", near >= 6),
        Result("largest automatic k", most, MOST_CLUSTERS, "", most / MOST_CLUSTERS, "<= 1", most <= MOST_CLUSTERS),
    ]


if __name__ == "__main__":
    run()
