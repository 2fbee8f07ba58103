"""The paper's generators compared with k-means on Letters, and the gain of a consensus over its members.

Alone: `python -m benchmarks.members`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import MinMaxScaler

import quorate as qt
from benchmarks.measure import Result, median_seconds, save, share, show
from quorate.features.generators import Data, draw_od_isvc
from quorate.features.pool import scale_features

SMALL = ("breast_cancer", "image_segmentation", "iris", "seeds", "yeast", "wine")


def run() -> Iterator[Result]:
    """Yield all results."""
    return one_member()


def one_member() -> Iterator[Result]:
    """Compare one member of each kind on Letters (20,000 x 16) with one k-means of k = 200."""
    X = scale_features(qt.datasets.load("letters").features, "standard")
    data = Data(X)
    kmeans = median_seconds(lambda: KMeans(200, n_init=1, random_state=0).fit(X), 3)
    rpcl = median_seconds(lambda: qt.RPCL(200, random_state=0).fit(X), 3)
    yield share("one RPCL member, 200 units, against k-means", rpcl, kmeans, 20)
    hmac = median_seconds(lambda: qt.HMAC(random_state=0).fit(X), 1)
    yield share("a full HMAC hierarchy against k-means", hmac, kmeans, 150)
    draws = [median_seconds(lambda seed=seed: draw_od_isvc(data, np.random.default_rng(seed)), 1) for seed in range(5)]
    yield share("one OD-ISVC member (slowest of five draws) against k-means", max(draws), kmeans, 60)


def consensus_scores(random_state: int) -> list[dict[str, Any]]:
    """Return the NMI at the number of classes, features scaled to [0, 1]: consensus, mean member, one k-means."""
    rows = []
    for name in SMALL:
        data = qt.datasets.load(name)
        X, k = MinMaxScaler().fit_transform(data.features), data.n_classes
        model = qt.ConsensusClustering(k, members="kmeans", random_state=random_state).fit(X)
        single = KMeans(k, n_init=1, random_state=random_state).fit(X)
        members = [qt.evaluate(member.labels_, data.classes).nmi_sqrt for member in model.members_]
        rows.append(
            {
                "dataset": name,
                "consensus": qt.evaluate(model.labels_, data.classes).nmi_sqrt,
                "members": float(np.mean(members)),
                "kmeans": qt.evaluate(single.labels_, data.classes).nmi_sqrt,
            }
        )
    return rows


def show_consensus_scores(random_state: int = 0) -> None:
    """Print the scores as the table of the documentation."""
    rows = consensus_scores(random_state)
    means = {what: float(np.mean([row[what] for row in rows])) for what in ("consensus", "members", "kmeans")}
    print("| dataset | consensus | its members, mean | one k-means |\n|---|---:|---:|---:|")
    for row in [*rows, {"dataset": "mean", **means}]:
        print(f"| {row['dataset']} | {row['consensus']:.3f} | {row['members']:.3f} | {row['kmeans']:.3f} |")


if __name__ == "__main__":
    results = list(run())
    show(results)
    save("members", results)
    show_consensus_scores()
