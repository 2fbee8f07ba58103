"""Fitting members: on all rows, or each on its own part of a sample."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from quorate._runtime import threads
from quorate._utils.array_types import Floats, Ints
from quorate.errors import InputError
from quorate.features.generators import Data, Draw, Member, draw_member
from quorate.features.sampling import SAMPLE_TIMES, Sample, check_fit_rows, check_k_range, sample_rows
from quorate.features.scaling import Scaling

Source = Any
"""Where a member comes from: a generator's name, or a clusterer that is copied."""


class TrainingRows(Protocol):
    """The rows that members are fitted on."""

    @property
    def together(self) -> tuple[Any, Ints]:
        """The rows of all members, and how often each occurs."""

    def data(self, seed: int) -> Data:
        """Return the rows for the member of a seed."""


@dataclass(frozen=True)
class AllRows:
    """Every member is fitted on all rows."""

    all: Data

    @property
    def together(self) -> tuple[Any, Ints]:
        """All rows, each once."""
        return self.all.X, np.ones(self.all.n_rows, dtype=np.int64)

    def data(self, seed: int) -> Data:
        """Return all rows."""
        return self.all


@dataclass(frozen=True)
class SampledRows:
    """Every member is fitted on its own part of a sample."""

    sample: Sample
    fit_rows: int
    k_range: tuple[int, int] | None
    is_part: bool = True
    """Whether there are more rows than a member is fitted on."""

    @property
    def together(self) -> tuple[Floats, Ints]:
        """All rows of the sample, and how often each occurs."""
        return self.sample.rows, self.sample.counts

    def data(self, seed: int) -> Data:
        """Return the part of the member of a seed."""
        return Data(self.sample.draw(self.fit_rows, seed), self.k_range, self.is_part)

    def shared(self, seed: int) -> SampledRows:
        """Return the part of the member of a seed, for all members."""
        return replace(self, sample=self.sample.part(self.fit_rows, seed))


@dataclass(frozen=True)
class SparseRows:
    """Every member is fitted on some of a sample of rows of a sparse matrix."""

    sample: Any
    fit_rows: int
    k_range: tuple[int, int] | None

    @property
    def together(self) -> tuple[Any, Ints]:
        """All rows of the sample, each once."""
        return self.sample, np.ones(self.sample.shape[0], dtype=np.int64)

    def data(self, seed: int) -> Data:
        """Return the rows of the member of a seed."""
        return Data(draw_rows(self.sample, self.fit_rows, seed), self.k_range, is_part=True)


def draw_rows(X: Any, n: int, seed: int) -> Any:
    """Return n random rows of a sparse matrix, or all where there are fewer."""
    # The seed of a member and a constant: its rows do not depend on other draws of the same seed.
    chosen = np.random.default_rng([seed, 1]).choice(X.shape[0], min(n, X.shape[0]), replace=False)
    return X[np.sort(chosen)]


def training_rows(X: Any, fit_rows: Any, k_range: Any, seed: int) -> AllRows | SampledRows | SparseRows:
    """Return the training rows of members of X, by `fit_rows` and `k_range`."""
    fit_rows = check_fit_rows(fit_rows, X.shape[0])
    k_range = check_k_range(k_range, fit_rows)
    if fit_rows is None:
        return AllRows(Data(X if sp.issparse(X) else np.asarray(X, dtype=np.float64), k_range))
    if sp.issparse(X):
        return SparseRows(draw_rows(X, SAMPLE_TIMES * fit_rows, seed), fit_rows, k_range)
    return SampledRows(sample_rows(X, fit_rows, seed), fit_rows, k_range)


def scale_rows(rows: AllRows | SampledRows | SparseRows, scaling: Scaling | None) -> TrainingRows:
    """Return the rows on another scale; sparse rows are taken as they are."""
    if scaling is None or isinstance(rows, SparseRows):
        return rows
    if isinstance(rows, AllRows):
        return AllRows(replace(rows.all, X=scaling.apply(rows.all.X)))
    return replace(rows, sample=replace(rows.sample, rows=scaling.apply(rows.sample.rows)))


def fit_member(source: Source, data: Data, seed: int) -> Member:
    """Draw a member with a generator of that name, or fit a copy of a clusterer with a seed of its own."""
    if isinstance(source, str):
        return draw_member(source, data, seed)
    start, model = time.perf_counter(), clone(source)
    # Clusterers inside pipelines have their own random state.
    random = {name: seed % 2**32 for name in model.get_params() if name.split("__")[-1] == "random_state"}
    with threadpool_limits(1):
        labels = np.asarray(model.set_params(**random).fit_predict(data.X))
    seconds = time.perf_counter() - start
    return Member(Draw(labels, {}, model), seed, len(np.unique(labels)), 0, seconds)


def fit_in_order(sources: Mapping[str, Source], rows: TrainingRows, seed: int, n_jobs: int | None) -> list[Member]:
    """Fit one member per name, each with its own seed made from `seed`."""
    seeds = [int(sequence.generate_state(1)[0]) for sequence in np.random.SeedSequence(seed).spawn(len(sources))]
    tasks = {name: (source, own) for (name, source), own in zip(sources.items(), seeds, strict=True)}
    fitted = dict(fit_members(tasks, rows, n_jobs))
    return [fitted[name] for name in sources]


def fit_members(
    tasks: Mapping[str, tuple[Source, int]], rows: TrainingRows, n_jobs: int | None
) -> Iterator[tuple[str, Member]]:
    """Yield members as they are finished, in any order, under the names of their tasks (source and seed)."""
    # Large fits in processes, because clusterers of scikit-learn hold the interpreter lock.
    if isinstance(rows, AllRows):
        jobs = (delayed(_fit_named)(name, source, rows, seed) for name, (source, seed) in tasks.items())
        yield from Parallel(n_jobs=n_jobs, return_as="generator_unordered")(jobs)
        return
    # Small fits share the machine best as threads, each with linear algebra of one thread; limits are those of all.
    jobs = (delayed(_fit_named)(name, source, rows, seed) for name, (source, seed) in tasks.items())
    with threadpool_limits(1):
        workers = Parallel(n_jobs=n_jobs or threads.n_threads(), prefer="threads", return_as="generator_unordered")
        yield from workers(jobs)


def _fit_named(name: str, source: Source, rows: TrainingRows, seed: int) -> tuple[str, Member]:
    return name, fit_member(source, rows.data(seed), seed)


def check_labels_new_rows(sources: list[Source], fit_rows: int | None) -> None:
    """Refuse clusterers that cannot label rows they were not fitted on where members see only some rows."""
    for source in sources:
        if fit_rows is not None and not isinstance(source, str) and not hasattr(source, "predict"):
            raise InputError(
                f"{type(source).__name__} cannot label rows it was not fitted on, so it must be fitted on all rows. "
                "Pass fit_rows=None, or use members that can predict.",
                code="cannot-label-rows",
            )
