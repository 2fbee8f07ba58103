"""The pools from which ensembles are drawn, stored in the results folder, with the paper's ill clusterings."""

from __future__ import annotations

import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._runtime.checkpoints import peek
from quorate.datasets import load
from quorate.errors import QuorateError
from quorate.features import draw_pool
from quorate.paper.spec import Spec

Labels = NDArray[np.int32]
POOLS = "pools"
"""The subfolder of a results folder with the pools."""


@dataclass(frozen=True)
class DatasetPool:
    """The pool of one dataset, generated or read when it is first needed."""

    spec: Spec
    dataset: str
    folder: Path
    n_jobs: int
    progress: bool | None = field(default=None, compare=False)

    @property
    def path(self) -> Path:
        """The file with the members."""
        return self.folder / f"{self.dataset}.sqlite"

    @cached_property
    def classes(self) -> NDArray[Any]:
        """(n,) the class of each row."""
        classes = load(self.dataset).classes
        assert classes is not None
        return classes

    @property
    def n_classes(self) -> int:
        """The number of classes, true k."""
        return len(np.unique(self.classes))

    def draw(self, ill: bool) -> None:
        """Generate the members in all processes, before any run begins."""
        _ = self.ill if ill else self.members

    def _draw(self, n: int, methods: tuple[str, ...]) -> Labels:
        spec = self.spec
        pool = draw_pool(
            self.dataset,
            n,
            methods,
            scale=spec.scale,
            random_state=spec.seed,
            n_jobs=self.n_jobs,
            path=self.path,
            progress=self.progress,
        )
        return pool.labels

    @cached_property
    def members(self) -> Labels:
        """(n, members) labels of the pool."""
        return self._draw(self.spec.per_generator, self.spec.generators)

    @cached_property
    def ill(self) -> Labels:
        """(n, ill clusterings) labels, enough for the largest ratio."""
        return self._draw(round(max(self.spec.ill_ratios) * self.members.shape[1]), ("ill",))

    def with_ill(self, ratio: float) -> Labels:
        """Return the pool with a share of its members, chosen uniformly, replaced by ill clusterings.

        The labels equal those of `features.replace_with_ill`, but the ill clusterings are generated only once.
        """
        n_ill = round(ratio * self.members.shape[1])
        if n_ill == 0:
            return self.members
        # The same members are replaced in every run, as in the paper.
        replaced = np.random.default_rng(self.spec.seed).choice(self.members.shape[1], n_ill, replace=False)
        labels = self.members.copy()
        labels[:, replaced] = self.ill[:, :n_ill]
        return labels

    def chosen(self, run: int) -> NDArray[np.int64]:
        """Return the (M,) members of the pool in the ensemble of a run, the same for every ratio of ill clusterings."""
        # Chosen by dataset and run only: every ratio of ill clusterings uses the same members.
        rng = np.random.default_rng([self.spec.seed, zlib.crc32(self.dataset.encode()), run])
        return rng.choice(self.members.shape[1], self.spec.n_members, replace=False)


def sample_rows(spec: Spec, n_rows: int) -> NDArray[np.int64]:
    """Return a sample of rows of the dataset of the timing experiment."""
    n_all = len(load(spec.timing.dataset).features)
    order = np.random.default_rng([spec.seed, n_all]).permutation(n_all)
    return np.sort(order[:n_rows])


def sample_members(spec: Spec, n_rows: int, folder: Path, n_jobs: int) -> Labels:
    """Return (n_rows, members) labels of a small pool on a sample, whose numbers of clusters fit the sample size."""
    features = load(spec.timing.dataset).features[sample_rows(spec, n_rows)]
    pool = draw_pool(
        features,
        spec.timing.per_method,
        spec.generators,
        scale=spec.scale,
        random_state=spec.seed,
        n_jobs=n_jobs,
        path=folder / f"{spec.timing.dataset}_{n_rows}.sqlite",
        progress=False,
    )
    return pool.labels


def drawing_seconds(folder: Path) -> float:
    """Return the total seconds that generating all members of a results folder took, each in one process."""
    seconds = 0.0
    for path in sorted((folder / POOLS).glob("*.sqlite")):
        with suppress(QuorateError):  # an incomplete file has no members
            seconds += sum(member["seconds"] for member in peek(path)[1].values())
    return seconds
