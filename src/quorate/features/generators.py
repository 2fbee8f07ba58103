"""Generators of one random member: the four of the paper, and its ill (corrupted) members (sections 7.3, 7.4.3)."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from quorate._utils.array_types import Ints
from quorate.errors import InputError
from quorate.features.clusterers.feature_checks import spread
from quorate.features.clusterers.hmac import HMAC
from quorate.features.clusterers.od_isvc import ODISVC, tenth_neighbor_distance
from quorate.features.clusterers.rpcl import RPCL
from quorate.features.clusterers.uspec import USPEC
from quorate.features.labeling import Merged

MOST_CLUSTERS = 100
"""The most clusters of a member that is fitted on a part of the rows, unless told otherwise."""
SPECTRAL_CLUSTERS = (20, 60)
"""Fewest and most clusters of spectral members, unless told otherwise."""
MAX_DRAWS = 100  # of one member before giving up; all but one are trivial


@dataclass(frozen=True)
class Data:
    """The features members are drawn for, and what the ranges of their parameters are read off."""

    X: Any
    """(n, d) array; sparse if only k-means is requested."""
    k_range: tuple[int, int] | None = None
    """Fewest and most clusters of k-means and units of RPCL; None for what each generator draws by itself."""
    is_part: bool = False
    """Whether these are only some of the rows to be labeled."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @cached_property
    def n_distinct(self) -> int:
        """Number of distinct rows, or of rows if X is sparse."""
        return len(np.unique(self.X, axis=0)) if isinstance(self.X, np.ndarray) else self.n_rows

    @cached_property
    def spread(self) -> float:
        """The largest standard deviation of a column."""
        return spread(self.X)

    @cached_property
    def diameter(self) -> float:
        """A bound on the largest distance between rows: twice that from the mean."""
        return float(2 * np.linalg.norm(self.X - self.X.mean(axis=0), axis=1).max())

    @cached_property
    def neighbor_distance(self) -> float:
        """The median distance to the tenth neighbor; a thousandth of the spread where rows repeat too much."""
        return tenth_neighbor_distance(self.X) or self.spread / 1000

    def number_of_clusters(self, rng: np.random.Generator, low: float) -> int:
        """Draw k uniformly from the range, but not below `low`, as far as there are rows enough."""
        most = int(2 * np.sqrt(self.n_rows))
        # The range of the paper on all rows; on a part of them, at most 100.
        least, most = self.k_range or (2, min(most, MOST_CLUSTERS) if self.is_part else most)
        most = min(most, self.n_distinct)
        return int(rng.integers(min(max(least, int(np.ceil(low))), most), most + 1))


class Draw(NamedTuple):
    """One clustering with the parameters that made it, and the fitted model, which labels new rows."""

    labels: Ints
    params: dict[str, float | int]
    model: Any


def draw_seed(rng: np.random.Generator) -> int:
    """Return a seed for scikit-learn."""
    return int(rng.integers(2**31))


def draw_kmeans(data: Data, rng: np.random.Generator, low: float = 2) -> Draw:
    """Run k-means once from random rows; k uniform in [2, 2 sqrt(n)] or in the requested range, from `low` on."""
    k = data.number_of_clusters(rng, low)
    model = KMeans(k, init="random", n_init=1, max_iter=100, random_state=draw_seed(rng)).fit(data.X)
    return Draw(model.labels_, {"n_clusters": k}, model)


def draw_rpcl(data: Data, rng: np.random.Generator) -> Draw:
    """Run RPCL with a number of units uniform in [2, 2 sqrt(n)] or in the requested range."""
    k = data.number_of_clusters(rng, 2)
    model = RPCL(k, random_state=draw_seed(rng)).fit(data.X)
    return Draw(model.labels_, {"n_units": k}, model)


def draw_hmac(data: Data, rng: np.random.Generator) -> Draw:
    """Build a hierarchy over a random ladder and show a level, uniform among those with 2 to 2 sqrt(n) clusters.

    The ladder has ten rungs from [0.1, 0.5] to [1, 2] times the largest deviation of a column, both ends log-uniform.
    """
    low, high = data.spread * log_uniform(rng, 0.1, 0.5), data.spread * log_uniform(rng, 1.0, 2.0)
    model = HMAC(np.geomspace(low, high, 10), random_state=draw_seed(rng)).fit(data.X)
    # Levels with one cluster, or with more than the paper allows, are not shown.
    fair = (model.n_clusters_by_level_ >= 2) & (model.n_clusters_by_level_ <= 2 * np.sqrt(data.n_rows))
    if fair.any():
        model.show(int(rng.choice(np.flatnonzero(fair))))
    return Draw(model.labels_, {"lowest": low, "highest": high, "level": model.level_}, model)


def draw_od_isvc(data: Data, rng: np.random.Generator) -> Draw:
    """Run OD-ISVC with a log-uniform kernel width and an outlier fraction uniform in [0, 0.2].

    The width runs from 1 / diameter^2 to 4 / (median distance to the tenth neighbor)^2.
    """
    q = log_uniform(rng, 1 / data.diameter**2, 4 / data.neighbor_distance**2)
    fraction = float(rng.uniform(0, 0.2))
    chunk_size = max(500, data.n_rows // 10)
    model = ODISVC(q, outlier_fraction=fraction, chunk_size=chunk_size, random_state=draw_seed(rng)).fit(data.X)
    return Draw(model.labels_, {"q": q, "outlier_fraction": fraction}, model)


def draw_ill(data: Data, rng: np.random.Generator) -> Draw:
    """Return a heavily imbalanced clustering: k-means, k in [sqrt(n), 2 sqrt(n)], with most clusters made one.

    A proportion uniform in (0.7, 0.99) of the clusters is merged: at least two of them, and never all.
    """
    clustering = draw_kmeans(data, rng, low=np.sqrt(data.n_rows) if data.k_range is None else data.k_range[1] / 2)
    k = int(clustering.labels.max()) + 1
    # At least two clusters become one, and at least one stays apart.
    n_merged = int(np.clip(round(rng.uniform(0.7, 0.99) * k), min(2, k - 1), k - 1))
    merged = rng.choice(k, n_merged, replace=False)
    new_label = np.arange(len(clustering.model.cluster_centers_))
    new_label[merged] = merged.min()
    new_label = np.unique(new_label, return_inverse=True)[1]
    model = Merged(clustering.model, new_label)
    return Draw(new_label[clustering.labels], {"n_clusters": k, "n_merged": n_merged}, model)


def draw_uspec(data: Data, rng: np.random.Generator) -> Draw:
    """Run U-SPEC as a member of U-SENC: k uniform in [20, 60] or in the requested range, five iterations of k-means."""
    least, most = data.k_range or SPECTRAL_CLUSTERS
    most = min(most, max(2, data.n_distinct // 2))
    k = int(rng.integers(min(least, most), most + 1))
    model = USPEC(k, n_init=1, max_iter=5, fit_rows=None, random_state=draw_seed(rng)).fit(data.X)
    return Draw(model.labels_, {"n_clusters": k}, model)


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw a number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


Generator = Callable[[Data, np.random.Generator], Draw]
GENERATORS: dict[str, Generator] = {
    "kmeans": draw_kmeans,
    "rpcl": draw_rpcl,
    "hmac": draw_hmac,
    "od-isvc": draw_od_isvc,
    "ill": draw_ill,
    "uspec": draw_uspec,
}
METHODS = ("kmeans", "rpcl", "hmac", "od-isvc")


class Member(NamedTuple):
    """A member drawn: its clustering, and how it came about."""

    draw: Draw
    seed: int
    n_clusters: int
    redraws: int
    seconds: float


def member_seed(random_state: int, method: str, number: int) -> int:
    """Return the seed of a member: it depends on nothing else that is drawn."""
    # The position in the table is part of the key: reordering generators would change members.
    key = (tuple(GENERATORS).index(method), number)
    low, high = np.random.SeedSequence(random_state, spawn_key=key).generate_state(2)
    return int(low) + (int(high) << 32)


def draw_member(method: str, data: Data, seed: int) -> Member:
    """Draw a member that is not trivial: more than one cluster, and at most half as many as rows."""
    start, rng = time.perf_counter(), np.random.default_rng(seed)
    most = max(2, data.n_rows // 2)
    # the last bits of sums in several threads vary, and with them the clustering
    with threadpool_limits(1):
        for redraws in range(MAX_DRAWS):
            draw = GENERATORS[method](data, rng)
            n_clusters = len(np.unique(draw.labels))
            if 2 <= n_clusters <= most:
                return Member(draw, seed, n_clusters, redraws, time.perf_counter() - start)
    raise InputError(
        f"{method} found only trivial clusterings (one cluster, or more than {most}) in {MAX_DRAWS} draws. Check the "
        f"scale of the features, or leave {method} out.",
        code="trivial-clusterings",
    )
