"""Pools of members, generated as in the paper (section 7.3), and corrupted pools (section 7.4.3)."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from quorate._runtime.checkpoints import Store, fingerprint, pack, unpack
from quorate._runtime.progress import track
from quorate._utils.array_types import Floats
from quorate._utils.checks import check_choice, check_integer, check_jobs, check_number
from quorate.columns.column_heuristics import LARGEST_FEATURE
from quorate.datasets import load
from quorate.errors import InputError
from quorate.features.generators import GENERATORS, METHODS, Member, member_seed
from quorate.features.labeling import Crew
from quorate.features.member_fitting import AllRows, SampledRows, TrainingRows, fit_members, training_rows

VERSION = 1  # of the way members are drawn: a file of another version is not resumed
_LABEL_TOGETHER = 20  # members that label all rows in one pass
SCALERS = {"standard": StandardScaler, "minmax": MinMaxScaler}


@dataclass(frozen=True)
class PoolMember:
    """How one member of a pool came about."""

    name: str
    method: str
    params: dict[str, float | int]
    seed: int
    n_clusters: int
    redraws: int
    """Trivial clusterings drawn, and drawn again, before this one."""
    seconds: float


@dataclass(frozen=True, repr=False)
class Pool:
    """Many clusterings of the same rows."""

    labels: NDArray[np.int32]
    """(n, M), one column per member."""
    members: tuple[PoolMember, ...]
    features: Floats
    """(n, d), scaled, as the members saw them."""
    scale: str | None

    @property
    def names(self) -> tuple[str, ...]:
        """The members' names, as for `Ensemble`."""
        return tuple(member.name for member in self.members)

    @property
    def table(self) -> dict[str, list[Any]]:
        """One column per fact about members, ready for any data frame."""
        facts = ("name", "method", "params", "seed", "n_clusters", "redraws", "seconds")
        return {fact: [getattr(member, fact) for member in self.members] for fact in facts}

    def __repr__(self) -> str:
        methods = dict.fromkeys(member.method for member in self.members)
        return f"Pool({self.labels.shape[0]} rows, {len(self.members)} members: {', '.join(methods)})"


def scale_features(X: Floats, scale: str | None) -> Floats:
    """Return the features on a common scale; constant columns become 0."""
    if scale is None:
        return X
    return SCALERS[check_choice("scale", scale, tuple(SCALERS))]().fit_transform(X)


def draw_pool(
    X: Any,
    per_method: int = 100,
    methods: Sequence[str] = METHODS,
    *,
    scale: str | None = "standard",
    random_state: int = 0,
    fit_rows: int | str | None = "auto",
    k_range: tuple[int, int] | str = "auto",
    n_jobs: int | None = None,
    path: str | PathLike[str] | None = None,
    progress: bool | None = None,
) -> Pool:
    """Draw a pool of members as in the paper.

    k-means and RPCL get k uniform in [2, 2 sqrt(n)], HMAC a random level of a random hierarchy, OD-ISVC a random kernel
    width and trade-off. A clustering into one cluster, or into more than half as many as rows, is drawn again.

    Parameters
    ----------
    X : array, frame, file, Dataset or name
        The features, or whatever `datasets.load` takes without `classes`.
    per_method : int, default=100
        Members of each method.
    methods : sequence of str, default=("kmeans", "rpcl", "hmac", "od-isvc")
        Which generators to use; "ill" gives the paper's heavily imbalanced clusterings.
    scale : {"standard", "minmax"} or None, default="standard"
        How features are scaled first.
    random_state : int, default=0
        Every member has a seed of its own, made from this, the method and its number: the same members come out for
        any `n_jobs`, and a larger pool contains the smaller one.
    fit_rows : int, "auto" or None, default="auto"
        How many rows each member is fitted on; it then labels all rows. "auto": all rows up to 20,000, otherwise
        10,000. None: all rows.
    k_range : (int, int) or "auto", default="auto"
        Fewest and most clusters of k-means and spectral members and units of RPCL. "auto": 2 to 2 sqrt(n) where members
        are fitted on all rows, as in the paper, otherwise 2 to 100; 20 to 60 for spectral members.
    n_jobs : int or None, default=None
        Members fitted at the same time, as in joblib; where they are fitted on a part of the rows, None is all cores.
    path : str or path, optional
        A file that keeps finished members. An interrupted pool goes on from there; a file of other data, scaling, seed
        or version is refused.
    progress : bool or None, default=None
        Show a progress bar; None: if standard error is a terminal.

    Returns
    -------
    Pool
        The label matrix and the metadata of each member.

    Examples
    --------
    >>> from quorate import features
    >>> pool = features.draw_pool("iris", per_method=2, methods=("kmeans", "rpcl"))
    >>> pool
    Pool(150 rows, 4 members: kmeans, rpcl)
    >>> pool.labels.shape, pool.names
    ((150, 4), ('kmeans_0', 'kmeans_1', 'rpcl_0', 'rpcl_1'))
    """
    per_method = check_integer("per_method", per_method, low=1)
    random_state = check_integer("random_state", random_state, low=0)
    n_jobs = check_jobs(n_jobs)
    methods = _check_methods(methods)
    features = scale_features(check_pool_features(load(X).features), scale)
    # Names determine seeds, so that a larger pool contains the smaller one.
    tasks = {
        f"{method}_{i}": (method, member_seed(random_state, method, i)) for method in methods for i in range(per_method)
    }
    rows = training_rows(features, fit_rows, k_range, random_state)
    # What the members depend on: a file of other values is not continued.
    about = {
        "kind": "pool",
        "version": VERSION,
        "data": f"{features.shape[0]} x {features.shape[1]}, {fingerprint(features)}",
        "scale": scale,
        "random_state": random_state,
        **_how_fitted(rows),
    }
    with nullcontext() if path is None else Store(path, about) as store:
        pieces = {} if store is None else dict(store)
        todo = {name: task for name, task in tasks.items() if name not in pieces}
        drawn = _draw_all(features, rows, todo, n_jobs)
        for name, piece in track(drawn, len(todo), "Drawing members", progress):
            pieces[name] = piece
            if store is not None:
                store.add(name, piece)
    members = tuple(_as_member(name, method, pieces[name]) for name, (method, _) in tasks.items())
    labels = np.column_stack([unpack(pieces[name]["labels"]) for name in tasks])
    return Pool(labels.astype(np.int32), members, features, scale)


def _how_fitted(rows: TrainingRows) -> dict[str, Any]:
    """Return what members depend on besides the data, but for the paper's way of drawing them."""
    if isinstance(rows, SampledRows):
        return {"fit_rows": rows.fit_rows, "k_range": rows.k_range}
    k_range = rows.data(0).k_range
    return {} if k_range is None else {"k_range": k_range}


def _check_methods(methods: Sequence[str]) -> tuple[str, ...]:
    """Return the requested methods, each once."""
    if isinstance(methods, str) or not methods:
        raise InputError(
            f"must be a sequence of one or more of {', '.join(GENERATORS)}; got {methods!r}.",
            code="generators",
            parameter="methods",
        )
    return tuple(dict.fromkeys(check_choice("methods", method, tuple(GENERATORS)) for method in methods))


def check_pool_features(X: Floats) -> Floats:
    """Refuse features in which no member could be found."""
    usable = np.abs(X) <= LARGEST_FEATURE  # false for NaN
    if not usable.all():
        row, column = np.argwhere(~usable)[0]
        raise InputError(
            f"must be finite and at most {LARGEST_FEATURE:g}; got {X[row, column]} in row {row}, column {column}.",
            code="features",
            parameter="X",
            hint="Fill in, replace or drop such values.",
        )
    if len(X) < 4:
        raise InputError(f"must have at least 4 rows; got n_samples = {len(X)}.", code="few-rows", parameter="X")
    if not np.ptp(X, axis=0).any():
        raise InputError(
            "All rows of X are the same: there are no clusters to find. Check the columns of X.", code="equal-rows"
        )
    return X


def _draw_all(
    features: Floats, rows: TrainingRows, tasks: dict[str, tuple[str, int]], n_jobs: int | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield members as they are finished, in any order, as plain values under their names.

    Members that were fitted on a part of the rows label all of them some members at a time, in one pass over the rows.
    """
    if isinstance(rows, AllRows):
        for name, member in fit_members(tasks, rows, n_jobs):
            yield name, _as_piece(member, member.draw.labels)
        return
    names = list(tasks)
    for start in range(0, len(names), _LABEL_TOGETHER):
        batch = {name: tasks[name] for name in names[start : start + _LABEL_TOGETHER]}
        fitted = dict(fit_members(batch, rows, n_jobs))
        labels = Crew(tuple(member.draw.model for member in fitted.values())).label(features)
        for (name, member), column in zip(fitted.items(), labels, strict=True):
            yield name, _as_piece(member, column)


def _as_piece(member: Member, labels: NDArray[Any]) -> dict[str, Any]:
    # Most labels fit into 16 bits, which halves the file.
    few = member.n_clusters < np.iinfo(np.int16).max
    return {
        "params": member.draw.params,
        "seed": member.seed,
        "n_clusters": member.n_clusters,
        "redraws": member.redraws,
        "seconds": member.seconds,
        "labels": pack(labels.astype(np.int16 if few else np.int32)),
    }


def _as_member(name: str, method: str, piece: dict[str, Any]) -> PoolMember:
    facts = {fact: piece[fact] for fact in ("params", "seed", "n_clusters", "redraws", "seconds")}
    return PoolMember(name, method, **facts)


def ill_clusterings(X: Any, n_clusterings: int, *, scale: str | None = "standard", random_state: int = 0) -> Pool:
    """Draw heavily imbalanced clusterings (paper, section 7.4.3).

    k-means with k uniform in [sqrt(n), 2 sqrt(n)], then a proportion uniform in (0.7, 0.99) of its clusters made one.
    Parameters are those of `draw_pool`.

    Examples
    --------
    >>> from quorate import features
    >>> features.ill_clusterings("iris", 3)
    Pool(150 rows, 3 members: ill)
    """
    return draw_pool(X, n_clusterings, ("ill",), scale=scale, random_state=random_state, progress=False)


def replace_with_ill(pool: Pool, ratio: float, random_state: int = 0) -> Pool:
    """Return the pool with a share `ratio` of its members, chosen uniformly, replaced by ill (corrupted) clusterings.

    Examples
    --------
    >>> from quorate import features
    >>> pool = features.draw_pool("iris", per_method=10, methods=("kmeans",))
    >>> [member.method for member in features.replace_with_ill(pool, 0.2).members].count("ill")
    2
    """
    n_ill = round(check_number("ratio", ratio, low=0, high=1) * len(pool.members))
    if n_ill == 0:
        return pool
    # The features are scaled already.
    ill = ill_clusterings(pool.features, n_ill, scale=None, random_state=random_state)
    replaced = np.random.default_rng(random_state).choice(len(pool.members), n_ill, replace=False)
    labels, members = pool.labels.copy(), list(pool.members)
    labels[:, replaced] = ill.labels
    for position, member in zip(replaced, ill.members, strict=True):
        members[position] = member
    return replace(pool, labels=labels, members=tuple(members))
