"""From features alone: 32 public data sets, the number of clusters given and found, against Genie, HDBSCAN and others.

Data: a half of gagolews/clustering-data-v1 (SoftwareX 20, 2022, 101270), read from `../shared/data/benchmark`. Each X
is divided by the standard deviation of the whole matrix; a score is the best ARI over the reference partitions (of the
given number of clusters when it is given), rows that these mark as noise left out. Where references have several
numbers of clusters, the score with the number given is the mean over them.

`python -m benchmarks.public_sets [--members kmeans]` prints one line per data set and seed as it goes, `--alone` what
each kind of members reaches without the others, and `--spectral` which part of U-SPEC members loses to one graph cut.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

import quorate as qt
from benchmarks.measure import Result
from quorate.features.clusterers.spanning_tree import Genie, spanning_tree
from quorate.features.clusterers.spectral import cut_embedding
from quorate.features.clusterers.uspec import embed_landmarks, find_landmarks, link_weights, link_width
from quorate.features.kinds import DiverseClusterings

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "benchmark"
SEEDS = range(12)  # the mean ARI of a seed varies by 0.013
MOST_ROWS = 2500


class PublicSet(NamedTuple):
    """Rows, and one or more reference partitions (0: noise)."""

    name: str
    X: np.ndarray
    references: list[np.ndarray]

    @property
    def numbers(self) -> list[int]:
        """The numbers of clusters of the references."""
        return sorted({len(np.unique(reference[reference > 0])) for reference in self.references})

    def score(self, labels: np.ndarray, k: int | None = None) -> float:
        """Return the best ARI over the references, or over those of k clusters."""
        masks = [(reference, reference > 0) for reference in self.references]
        return max(
            float(adjusted_rand_score(reference[mask], labels[mask]))
            for reference, mask in masks
            if k is None or len(np.unique(reference[mask])) == k
        )


def public_sets() -> Iterator[PublicSet]:
    """Yield the data sets in order of their names; none where the folder is absent."""
    for path in sorted(FOLDER.glob("*.npz")):
        with np.load(path) as file:
            X = file["X"].astype(np.float64)
            X = X[:, np.ptp(X, axis=0) > 0]
            references = [file[name] for name in sorted(file.files) if name.startswith("labels")]
        yield PublicSet(path.stem, X / X.std(), references)


def with_noise_assigned(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return labels with noise (-1) in the cluster of the nearest row that has one."""
    noise = labels < 0
    if noise.all() or not noise.any():
        return labels
    nearest = NearestNeighbors(n_neighbors=1).fit(X[~noise]).kneighbors(X[noise], return_distance=False)[:, 0]
    labels = labels.copy()
    labels[noise] = labels[~noise][nearest]
    return labels


class Line(NamedTuple):
    """What was found in one data set with one seed."""

    given: float
    automatic: float
    exact: bool
    near: bool


def measure(one: PublicSet, seed: int, members: str) -> Line:
    """Return the scores of `ConsensusClustering`."""
    start = time.perf_counter()
    given = [
        one.score(qt.ConsensusClustering(k, members=members, random_state=seed).fit(one.X).labels_, k)
        for k in one.numbers
    ]
    found = qt.ConsensusClustering("auto", members=members, random_state=seed).fit(one.X)
    nearest = min(abs(found.n_clusters_ - k) for k in one.numbers)
    line = Line(float(np.mean(given)), one.score(found.labels_), nearest == 0, nearest <= 1)
    seconds = time.perf_counter() - start
    shown = f"{one.name:24} seed {seed}  k = {one.numbers}: {line.given:.3f}  automatic k = {found.n_clusters_}: "
    print(f"{shown}{line.automatic:.3f}  ({seconds:.1f} s)", flush=True)
    return line


def others() -> dict[str, tuple[float, float]]:
    """Return the mean ARI of Genie with k given, of HDBSCAN with its own k, and the share of exact numbers."""
    genie, density, assigned, exact = [], [], [], []
    for one in public_sets():
        merges = Genie.fit(spanning_tree(one.X), 0.3)
        genie.append(np.mean([one.score(merges.cut(k), k) for k in one.numbers]))
        labels = HDBSCAN(min_cluster_size=max(5, len(one.X) // 100), copy=True).fit_predict(one.X)
        density.append(one.score(labels))
        assigned.append(one.score(with_noise_assigned(one.X, labels)))
        exact.append(len(np.unique(labels[labels >= 0])) in one.numbers)
    share = float(np.mean(exact))
    return {
        "Genie 0.3, k given": (float(np.mean(genie)), np.nan),
        "HDBSCAN": (float(np.mean(density)), share),
        "HDBSCAN, noise to the nearest cluster": (float(np.mean(assigned)), share),
    }


def alone() -> dict[str, list[float]]:
    """Return the ARI of each member and of their consensus on every set, the number of clusters given (seed 0)."""
    scores: dict[str, list[float]] = {}
    for one in public_sets():
        of_set: dict[str, list[float]] = {}
        for k in one.numbers:
            model = qt.ConsensusClustering(k, random_state=0).fit(one.X)
            ens = model.ensemble_
            members = dict(zip(ens.names, ens.patterns[ens.row_pattern].T, strict=True))
            for name, labels in {**members, "consensus": model.labels_}.items():
                of_set.setdefault(name, []).append(one.score(labels, k))
        for name, values in of_set.items():
            scores.setdefault(name, []).append(float(np.mean(values)))
    return scores


def spectral() -> dict[str, list[float]]:
    """Return the ARI of cuts of one graph, of U-SPEC and of its variants, on the sets of up to 2,500 rows."""
    scores: dict[str, list[float]] = {}
    for one in public_sets():
        if len(one.X) > MOST_ROWS:
            continue
        of_set: dict[str, list[float]] = {}
        for k in one.numbers:
            for name, labels in _spectral_clusterings(one.X, k):
                of_set.setdefault(name, []).append(one.score(labels, k))
        for name, values in of_set.items():
            scores.setdefault(name, []).append(float(np.mean(values)))
    return scores


def _spectral_clusterings(X: np.ndarray, k: int) -> Iterator[tuple[str, np.ndarray]]:
    yield "graph of 10 neighbors, QR", DiverseClusterings(X, [], 0).spectral([k])[k]
    for name, settings in {
        "U-SPEC: 1,000 landmarks, 5 links": {},
        "... 10 links": {"n_neighbors": 10},
        "... 100 landmarks": {"n_landmarks": 100},
        "... 20 starts of k-means": {"n_init": 20},
    }.items():
        yield name, qt.USPEC(k, random_state=0, **{"n_neighbors": 5, **settings}).fit(X).labels_
    landmarks = find_landmarks(X, min(1000, len(X)), 5, np.random.RandomState(0))
    index, distances = landmarks.neighbors(X)
    for name, sigma in {
        "... QR instead of k-means": link_width(distances),
        "... QR and a width per row": np.maximum(distances[:, -1:], np.finfo(np.float64).tiny),
    }.items():
        links = link_weights(distances, sigma)
        yield name, cut_embedding(embed_landmarks(index, links, len(landmarks.points), k).rows(index, links))
    for name, k_range in {
        "20 U-SPEC members of 20 to 60 clusters": "auto",
        "20 U-SPEC members of k to 2 k clusters": (k, 2 * k),
        "20 U-SPEC members of k clusters": (k, k),
    }.items():
        model = qt.ConsensusClustering(k, members="spectral", k_range=k_range, random_state=0)
        yield name, model.fit(X).labels_


def show_means(scores: dict[str, list[float]]) -> None:
    """Print the mean of every line."""
    for name, values in scores.items():
        print(f"{name}: {np.nanmean(values):.3f} ({len(values)} sets)")


def run(members: str = "diverse") -> list[Result]:
    """Print all lines and the means, and return whether the bars are reached."""
    sets = list(public_sets())
    if not sets:
        print(f"Skipped: there are no data sets in {FOLDER}.")
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = {seed: [measure(one, seed, members) for one in sets] for seed in SEEDS}
        for name, (ari, share) in others().items():
            print(f"{name}: mean ARI {ari:.3f}" + ("" if np.isnan(share) else f", number exact {share:.0%}"))
    for seed, of_seed in lines.items():
        given, automatic, exact, near = np.mean(of_seed, axis=0)
        print(f"seed {seed}: k given {given:.3f}, automatic {automatic:.3f}, exact {exact:.0%}, within one {near:.0%}")
    given, automatic, exact, _ = np.mean([line for of_seed in lines.values() for line in of_seed], axis=0)
    return [
        Result("32 public sets, k given: mean ARI", given, 1.0, "ARI", given, ">= 0.81", given >= 0.81),
        Result("32 public sets, automatic: mean ARI", automatic, 1.0, "ARI", automatic, ">= 0.75", automatic >= 0.75),
        Result("32 public sets: number exact", exact, 1.0, "", exact, ">= 0.5", exact >= 0.5),
    ]


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "--alone" in sys.argv:
            show_means(alone())
        elif "--spectral" in sys.argv:
            show_means(spectral())
        else:
            for result in run(sys.argv[-1] if "--members" in sys.argv else "diverse"):
                print(result)
